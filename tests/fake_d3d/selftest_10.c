/* Direct3D 10: what differs from Direct3D 11. */
#include "selftest.h"

#include <pthread.h>
#include <string.h>

#include <d3d10_1.h>
#include <dxgi.h>

#define READ_WRITE (D3D10_CPU_ACCESS_READ | D3D10_CPU_ACCESS_WRITE)
#define AS_RESOURCE(object) ((ID3D10Resource *)(object))

static ID3D10Device *device10_create(UINT flags)
{
    ID3D10Device *device = NULL;

    fake_d3d_reset();
    CHECK_INT(D3D10CreateDevice(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, flags, D3D10_SDK_VERSION, &device), S_OK);
    return device;
}

static void device10_destroy(ID3D10Device *device)
{
    CHECK_INT(ID3D10Device_Release(device), 0);
    selftest_end();
}

static ID3D10Texture2D *texture10(ID3D10Device *device, DXGI_FORMAT format, UINT width, UINT height, D3D10_USAGE usage,
                                  UINT cpu)
{
    D3D10_TEXTURE2D_DESC desc = {
        .Width = width,
        .Height = height,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = format,
        .SampleDesc = {1, 0},
        .Usage = usage,
        .CPUAccessFlags = cpu,
        .BindFlags = usage == D3D10_USAGE_STAGING ? 0 : D3D10_BIND_SHADER_RESOURCE,
    };
    ID3D10Texture2D *texture = NULL;

    ID3D10Device_CreateTexture2D(device, &desc, NULL, &texture);
    return texture;
}

static ID3D10Buffer *buffer10(ID3D10Device *device, UINT size, D3D10_USAGE usage, UINT cpu)
{
    D3D10_BUFFER_DESC desc = {
        .ByteWidth = size,
        .Usage = usage,
        .CPUAccessFlags = cpu,
        .BindFlags = usage == D3D10_USAGE_STAGING ? 0 : D3D10_BIND_VERTEX_BUFFER,
    };
    ID3D10Buffer *buffer = NULL;

    ID3D10Device_CreateBuffer(device, &desc, NULL, &buffer);
    return buffer;
}

void test_identity10(void)
{
    ID3D10Device *device = device10_create(0), *same = NULL;
    ID3D10Device1 *device1 = NULL;
    ID3D10Texture2D *texture;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    DXGI_ADAPTER_DESC desc;
    void *out;

    CHECK_INT(ID3D10Device_QueryInterface(device, &IID_ID3D11Device, &out), E_NOINTERFACE);
    CHECK_INT(ID3D10Device_QueryInterface(device, &IID_ID3D10Device1, &out), E_NOINTERFACE);
    CHECK_INT(ID3D10Device_QueryInterface(device, &IID_IDXGIDevice, (void **)&dxgi), S_OK);
    CHECK_INT(IDXGIDevice_GetAdapter(dxgi, &adapter), S_OK);
    CHECK_INT(IDXGIAdapter_GetDesc(adapter, &desc), S_OK);
    CHECK_INT(desc.AdapterLuid.LowPart, 0x2a);
    IDXGIAdapter_Release(adapter);
    CHECK_INT(IDXGIDevice_Release(dxgi), 1);
    texture = texture10(device, DXGI_FORMAT_R8_UNORM, 4, 4, D3D10_USAGE_DEFAULT, 0);
    CHECK_INT(fake_d3d_refs(device), 2);
    CHECK_INT(ID3D10Texture2D_QueryInterface(texture, &IID_ID3D11Texture2D, &out), E_NOINTERFACE);
    ID3D10Texture2D_GetDevice(texture, &same);
    CHECK(same == device);
    CHECK_INT(ID3D10Device_Release(same), 2);
    CHECK_INT(ID3D10Texture2D_Release(texture), 0);
    device10_destroy(device);

    CHECK_INT(D3D10CreateDevice1(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_FEATURE_LEVEL_10_1,
                                 D3D10_1_SDK_VERSION, &device1),
              S_OK);
    CHECK_INT(ID3D10Device1_GetFeatureLevel(device1), D3D10_FEATURE_LEVEL_10_1);
    CHECK_INT(ID3D10Device1_QueryInterface(device1, &IID_ID3D10Device, (void **)&device), S_OK);
    CHECK_INT(ID3D10Device1_Release(device1), 1);
    device10_destroy(device);
}

void test_rules10(void)
{
    ID3D10Device *device = device10_create(D3D10_CREATE_DEVICE_BGRA_SUPPORT);
    D3D10_TEXTURE2D_DESC desc = {
        .Width = 8,
        .Height = 8,
        .MipLevels = 0,
        .ArraySize = 6,
        .Format = DXGI_FORMAT_R8_UNORM,
        .SampleDesc = {1, 0},
        .BindFlags = D3D10_BIND_SHADER_RESOURCE,
        .MiscFlags = D3D10_RESOURCE_MISC_TEXTURECUBE,
    };
    D3D10_RESOURCE_DIMENSION type;
    ID3D10Texture2D *texture = NULL;

    CHECK_INT(ID3D10Device_GetCreationFlags(device), D3D10_CREATE_DEVICE_BGRA_SUPPORT);
    CHECK_INT(ID3D10Device_GetDeviceRemovedReason(device), S_OK);
    CHECK_INT(ID3D10Device_CreateTexture2D(device, &desc, NULL, &texture), S_OK);
    ID3D10Texture2D_GetDesc(texture, &desc);
    CHECK_INT(desc.MipLevels, 4);
    CHECK_INT(desc.MiscFlags, D3D10_RESOURCE_MISC_TEXTURECUBE);
    ID3D10Texture2D_GetType(texture, &type);
    CHECK_INT(type, D3D10_RESOURCE_DIMENSION_TEXTURE2D);
    ID3D10Texture2D_Release(texture);
    CHECK(!texture10(device, DXGI_FORMAT_R8_UNORM, 8193, 8, D3D10_USAGE_DEFAULT, 0));
    CHECK(!texture10(device, DXGI_FORMAT_R8_UNORM, 8, 8, D3D10_USAGE_IMMUTABLE, 0));
    CHECK(!texture10(device, DXGI_FORMAT_R8_UNORM, 8, 8, D3D10_USAGE_DYNAMIC, READ_WRITE));
    desc.MiscFlags = D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX | D3D10_RESOURCE_MISC_SHARED;
    CHECK_INT(ID3D10Device_CreateTexture2D(device, &desc, NULL, NULL), E_INVALIDARG);
    device10_destroy(device);
}

void test_maps10(void)
{
    ID3D10Device *device = device10_create(0);
    ID3D10Texture2D *texture = texture10(device, DXGI_FORMAT_R16_UNORM, 3, 2, D3D10_USAGE_STAGING, READ_WRITE);
    ID3D10Buffer *buffer = buffer10(device, 4, D3D10_USAGE_DYNAMIC, D3D10_CPU_ACCESS_WRITE);
    D3D10_MAPPED_TEXTURE2D mapped;
    unsigned char seen[12];
    void *bytes;

    CHECK_INT(ID3D10Texture2D_Map(texture, 0, D3D10_MAP_WRITE, 0, &mapped), S_OK);
    CHECK(mapped.RowPitch > 256);
    memcpy(mapped.pData, "abcdef", 6);
    memcpy((char *)mapped.pData + mapped.RowPitch, "ghijkl", 6);
    CHECK_INT(ID3D10Texture2D_Map(texture, 0, D3D10_MAP_WRITE, 0, &mapped), E_INVALIDARG);
    EXPECT_VIOLATION("already mapped");
    ID3D10Texture2D_Unmap(texture, 0);
    ID3D10Texture2D_Unmap(texture, 0);
    EXPECT_VIOLATION("not mapped");
    fake_d3d_peek(texture, 0, seen, sizeof seen);
    CHECK_MEM(seen, "abcdefghijkl", 12);
    CHECK_INT(ID3D10Texture2D_Map(texture, 1, D3D10_MAP_READ, 0, &mapped), E_INVALIDARG);
    CHECK(mapped.pData == NULL);
    CHECK_INT(ID3D10Buffer_Map(buffer, D3D10_MAP_WRITE_DISCARD, 0, &bytes), S_OK);
    memcpy(bytes, "wxyz", 4);
    ID3D10Buffer_Unmap(buffer);
    CHECK_INT(ID3D10Buffer_Map(buffer, D3D10_MAP_READ, 0, &bytes), E_INVALIDARG);
    fake_d3d_peek(buffer, 0, seen, 4);
    CHECK_MEM(seen, "wxyz", 4);
    ID3D10Texture2D_Release(texture);
    ID3D10Buffer_Release(buffer);
    device10_destroy(device);
}

void test_texture3d_10(void)
{
    ID3D10Device *device = device10_create(0);
    D3D10_TEXTURE3D_DESC desc = {
        .Width = 2,
        .Height = 2,
        .Depth = 2,
        .MipLevels = 1,
        .Format = DXGI_FORMAT_R8_UNORM,
        .Usage = D3D10_USAGE_STAGING,
        .CPUAccessFlags = READ_WRITE,
    };
    D3D10_SUBRESOURCE_DATA data = {"ab..cd......ef..gh", 4, 12};
    D3D10_TEXTURE1D_DESC line_desc = {
        .Width = 4,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = DXGI_FORMAT_R8_UNORM,
        .Usage = D3D10_USAGE_STAGING,
        .CPUAccessFlags = READ_WRITE,
    };
    ID3D10Texture3D *texture = NULL;
    ID3D10Texture1D *line = NULL;
    D3D10_MAPPED_TEXTURE3D mapped;
    unsigned char seen[8];
    void *bytes;

    CHECK_INT(ID3D10Device_CreateTexture3D(device, &desc, &data, &texture), S_OK);
    fake_d3d_peek(texture, 0, seen, 8);
    CHECK_MEM(seen, "abcdefgh", 8);
    CHECK_INT(ID3D10Texture3D_Map(texture, 0, D3D10_MAP_READ, 0, &mapped), S_OK);
    CHECK_MEM((char *)mapped.pData + mapped.DepthPitch + mapped.RowPitch, "gh", 2);
    ID3D10Texture3D_Unmap(texture, 0);
    ID3D10Texture3D_GetDesc(texture, &desc);
    CHECK_INT(desc.Depth, 2);
    ID3D10Texture3D_Release(texture);
    CHECK_INT(ID3D10Device_CreateTexture1D(device, &line_desc, NULL, &line), S_OK);
    CHECK_INT(ID3D10Texture1D_Map(line, 0, D3D10_MAP_WRITE, 0, &bytes), S_OK);
    memcpy(bytes, "line", 4);
    ID3D10Texture1D_Unmap(line, 0);
    fake_d3d_peek(line, 0, seen, 4);
    CHECK_MEM(seen, "line", 4);
    ID3D10Texture1D_Release(line);
    device10_destroy(device);
}

void test_work10(void)
{
    ID3D10Device *device = device10_create(0);
    ID3D10Texture2D *a = texture10(device, DXGI_FORMAT_R8_UNORM, 2, 2, D3D10_USAGE_DEFAULT, 0);
    ID3D10Texture2D *b = texture10(device, DXGI_FORMAT_R8_UNORM, 2, 2, D3D10_USAGE_STAGING, READ_WRITE);
    D3D10_BOX corner = {1, 1, 0, 2, 2, 1};
    D3D10_MAPPED_TEXTURE2D mapped;
    unsigned char seen[4];

    fake_d3d_delay(20);
    ID3D10Device_UpdateSubresource(device, AS_RESOURCE(a), 0, NULL, "abcd", 2, 0);
    ID3D10Device_UpdateSubresource(device, AS_RESOURCE(a), 0, &corner, "X", 1, 0);
    ID3D10Device_CopyResource(device, AS_RESOURCE(b), AS_RESOURCE(a));
    ID3D10Device_CopySubresourceRegion(device, AS_RESOURCE(b), 0, 0, 0, 0, AS_RESOURCE(a), 0, &corner);
    fake_d3d_peek(b, 0, seen, 4);
    CHECK_INT(seen[0], FAKE_D3D_UNDEFINED);
    ID3D10Device_Flush(device);
    fake_d3d_hold(true);
    CHECK_INT(ID3D10Texture2D_Map(b, 0, D3D10_MAP_READ, D3D10_MAP_FLAG_DO_NOT_WAIT, &mapped),
              DXGI_ERROR_WAS_STILL_DRAWING);
    fake_d3d_hold(false);
    CHECK_INT(ID3D10Texture2D_Map(b, 0, D3D10_MAP_READ, 0, &mapped), S_OK);
    CHECK_MEM(mapped.pData, "Xb", 2);
    CHECK_MEM((char *)mapped.pData + mapped.RowPitch, "cX", 2);
    ID3D10Device_CopyResource(device, AS_RESOURCE(a), AS_RESOURCE(b));
    EXPECT_VIOLATION("ID3D10Device::CopyResource: the source is mapped");
    ID3D10Texture2D_Unmap(b, 0);
    fake_d3d_remove(device, DXGI_ERROR_DEVICE_HUNG);
    CHECK_INT(ID3D10Texture2D_Map(b, 0, D3D10_MAP_READ, 0, &mapped), DXGI_ERROR_DEVICE_REMOVED);
    CHECK_INT(ID3D10Device_GetDeviceRemovedReason(device), DXGI_ERROR_DEVICE_HUNG);
    ID3D10Texture2D_Release(a);
    ID3D10Texture2D_Release(b);
    device10_destroy(device);
}

void test_queries10(void)
{
    ID3D10Device *device = device10_create(0);
    D3D10_QUERY_DESC desc = {D3D10_QUERY_EVENT, 0};
    ID3D10Query *query = NULL;
    BOOL data = FALSE;

    CHECK_INT(ID3D10Device_CreateQuery(device, &desc, &query), S_OK);
    CHECK_INT(ID3D10Query_GetData(query, &data, sizeof data, 0), DXGI_ERROR_INVALID_CALL);
    fake_d3d_hold(true);
    ID3D10Query_End(query);
    CHECK_INT(ID3D10Query_GetData(query, &data, sizeof data, 0), S_FALSE);
    fake_d3d_hold(false);
    CHECK_INT(ID3D10Query_GetData(query, &data, sizeof data, D3D10_ASYNC_GETDATA_DONOTFLUSH), S_OK);
    CHECK_INT(data, TRUE);
    ID3D10Query_Begin(query);
    EXPECT_VIOLATION("no beginning");
    CHECK_INT(ID3D10Query_Release(query), 0);
    device10_destroy(device);
}

static void *flush_often(void *device)
{
    int i;

    for (i = 0; i < 4; i++)
        ID3D10Device_Flush((ID3D10Device *)device);
    return NULL;
}

/* Up to so many times; returns whether the fake saw them meet. */
static bool threads_meet(ID3D10Device *device, int rounds)
{
    pthread_t thread;

    fake_d3d_slow_calls(5000);
    while (rounds-- && !fake_d3d_violations()) {
        pthread_create(&thread, NULL, flush_often, device);
        flush_often(device);
        pthread_join(thread, NULL);
    }
    fake_d3d_slow_calls(0);
    return fake_d3d_violations() > 0;
}

void test_threads10(void)
{
    ID3D10Device *device = device10_create(0);
    ID3D10Multithread *multithread = NULL;

    /* Protected from the beginning, */
    CHECK_INT(ID3D10Device_QueryInterface(device, &IID_ID3D10Multithread, (void **)&multithread), S_OK);
    CHECK_INT(ID3D10Multithread_GetMultithreadProtected(multithread), TRUE);
    CHECK(!threads_meet(device, 1));
    CHECK_INT(ID3D10Multithread_SetMultithreadProtected(multithread, FALSE), TRUE);
    CHECK(threads_meet(device, 50));
    fake_d3d_forget_violations();
    ID3D10Multithread_Release(multithread);
    device10_destroy(device);

    /* unless it said that there is one thread. */
    device = device10_create(D3D10_CREATE_DEVICE_SINGLETHREADED);
    CHECK(threads_meet(device, 1));
    fake_d3d_forget_violations();
    device10_destroy(device);
}

void test_shared10(void)
{
    ID3D10Device *device = device10_create(0);
    D3D10_TEXTURE2D_DESC desc = {
        .Width = 2,
        .Height = 2,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = DXGI_FORMAT_R8_UNORM,
        .SampleDesc = {1, 0},
        .MiscFlags = D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX,
    };
    D3D11_TEXTURE2D_DESC desc11;
    ID3D10Texture2D *texture = NULL;
    ID3D11Texture2D *texture11 = NULL;
    ID3D11Device *device11 = NULL;
    IDXGIResource *resource;
    HANDLE handle;
    unsigned char seen[4];

    D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &device11, NULL, NULL);
    CHECK_INT(ID3D10Device_CreateTexture2D(device, &desc, NULL, &texture), S_OK);
    ID3D10Texture2D_QueryInterface(texture, &IID_IDXGIResource, (void **)&resource);
    CHECK_INT(IDXGIResource_GetSharedHandle(resource, &handle), S_OK);
    IDXGIResource_Release(resource);
    CHECK_INT(ID3D11Device_OpenSharedResource(device11, handle, &IID_ID3D11Texture2D, (void **)&texture11), S_OK);
    ID3D11Texture2D_GetDesc(texture11, &desc11);
    CHECK_INT(desc11.MiscFlags, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX);
    fake_d3d_peek(texture11, 0, seen, 4);
    CHECK_INT(seen[3], FAKE_D3D_UNDEFINED);
    CHECK_INT(ID3D11Texture2D_Release(texture11), 0);
    CHECK_INT(ID3D11Device_Release(device11), 0);
    CHECK_INT(ID3D10Texture2D_Release(texture), 0);
    device10_destroy(device);
}
