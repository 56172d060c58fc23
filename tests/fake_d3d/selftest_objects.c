/* Identity, references, creation. */
#include "selftest.h"

#include <string.h>

#include <d3d10_1.h>
#include <dxgi.h>

void test_identity11(void)
{
    struct rig11 rig = rig11_create(0);
    IUnknown *unknown = NULL, *other = NULL;
    IDXGIDevice *dxgi = NULL;
    ID3D11Device *device = NULL;
    ID3D10Multithread *multithread = NULL;

    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_IUnknown, (void **)&unknown), S_OK);
    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_IDXGIDevice, (void **)&dxgi), S_OK);
    CHECK_INT(IDXGIDevice_QueryInterface(dxgi, &IID_IUnknown, (void **)&other), S_OK);
    CHECK(unknown == other);
    CHECK_INT(IDXGIDevice_QueryInterface(dxgi, &IID_ID3D11Device, (void **)&device), S_OK);
    CHECK(device == rig.device);
    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_ID3D10Multithread, (void **)&multithread), S_OK);
    CHECK_INT(ID3D10Multithread_Release(multithread), 6);
    CHECK_INT(ID3D11DeviceContext_QueryInterface(rig.context, &IID_ID3D10Multithread, (void **)&multithread), S_OK);
    CHECK_INT(ID3D10Multithread_Release(multithread), 1);
    IUnknown_Release(unknown);
    IUnknown_Release(other);
    IDXGIDevice_Release(dxgi);
    ID3D11Device_Release(device);
    rig11_destroy(&rig);
}

void test_references11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Texture2D *texture;
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    IDXGIResource *resource;

    texture = texture11(&rig, DXGI_FORMAT_R8_UNORM, 4, 4, D3D11_USAGE_DEFAULT, 0);
    CHECK_INT(fake_d3d_refs(rig.device), 3);
    ID3D11Texture2D_AddRef(texture);
    CHECK_INT(fake_d3d_refs(rig.device), 3);
    CHECK_INT(fake_d3d_refs(texture), 2);
    CHECK_INT(ID3D11Texture2D_QueryInterface(texture, &IID_IDXGIResource, (void **)&resource), S_OK);
    CHECK_INT(fake_d3d_refs(resource), 3);
    CHECK_INT(IDXGIResource_Release(resource), 2);
    CHECK_INT(ID3D11Texture2D_Release(texture), 1);
    ID3D11Texture2D_GetDevice(texture, &device);
    CHECK(device == rig.device);
    CHECK_INT(ID3D11Device_Release(device), 3);

    ID3D11Device_GetImmediateContext(rig.device, &context);
    CHECK(context == rig.context);
    CHECK_INT(fake_d3d_refs(rig.device), 3);
    CHECK_INT(ID3D11DeviceContext_Release(context), 1);
    CHECK_INT(ID3D11DeviceContext_Release(context), 0);
    CHECK_INT(fake_d3d_refs(rig.device), 2);
    CHECK_INT(fake_d3d_live_of("ID3D11DeviceContext"), 0);

    /* The child outlives the program's reference on the device. */
    CHECK_INT(ID3D11Device_Release(rig.device), 1);
    ID3D11Texture2D_GetDevice(texture, &rig.device);
    CHECK_INT(ID3D11Texture2D_Release(texture), 0);
    CHECK_INT(fake_d3d_refs(texture), 0);
    ID3D11Device_GetImmediateContext(rig.device, &rig.context);
    rig11_destroy(&rig);
}

void test_interfaces(void)
{
    static const GUID unknown_guid = {1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}};
    struct rig11 rig = rig11_create(0);
    ID3D11Texture2D *texture;
    void *out = &rig;

    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &unknown_guid, &out), E_NOINTERFACE);
    CHECK(out == NULL);
    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_ID3D10Device, &out), E_NOINTERFACE);
    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_ID3D11DeviceContext, &out), E_NOINTERFACE);
    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_IUnknown, NULL), E_POINTER);
    texture = texture11(&rig, DXGI_FORMAT_R8_UNORM, 4, 4, D3D11_USAGE_DEFAULT, 0);
    CHECK_INT(ID3D11Texture2D_QueryInterface(texture, &IID_ID3D10Texture2D, &out), E_NOINTERFACE);
    CHECK_INT(ID3D11Texture2D_QueryInterface(texture, &IID_ID3D11Texture3D, &out), E_NOINTERFACE);
    CHECK_INT(ID3D11Texture2D_QueryInterface(texture, &IID_IDXGIKeyedMutex, &out), E_NOINTERFACE);
    CHECK_INT(ID3D11Texture2D_Release(texture), 0);

    /* What is not there says so. */
    CHECK_INT(ID3D11Device_CreateRasterizerState(rig.device, NULL, NULL), E_NOTIMPL);
    CHECK_INT(fake_d3d_stub_calls(), 1);
    CHECK_STR(fake_d3d_last_stub(), "ID3D11Device::CreateRasterizerState");
    ID3D11DeviceContext_Draw(rig.context, 3, 0);
    CHECK_INT(fake_d3d_stub_calls(), 2);
    fake_d3d_reset();
    rig11_destroy(&rig);
}

void test_private_data(void)
{
    static const GUID guid = {1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}};
    struct rig11 rig = rig11_create(0);
    ID3D11Buffer *buffer = buffer11(&rig, 16, D3D11_USAGE_DEFAULT, 0);
    IUnknown *held = NULL;
    UINT size = 4;
    char text[4];

    CHECK_INT(ID3D11Buffer_GetPrivateData(buffer, &guid, &size, text), DXGI_ERROR_NOT_FOUND);
    CHECK_INT(ID3D11Buffer_SetPrivateData(buffer, &guid, 4, "abc"), S_OK);
    size = 2;
    CHECK_INT(ID3D11Buffer_GetPrivateData(buffer, &guid, &size, text), DXGI_ERROR_MORE_DATA);
    CHECK_INT(ID3D11Buffer_GetPrivateData(buffer, &guid, &size, text), S_OK);
    CHECK_STR(text, "abc");
    CHECK_INT(ID3D11Buffer_SetPrivateDataInterface(buffer, &guid, (IUnknown *)rig.context), S_OK);
    CHECK_INT(fake_d3d_refs(rig.context), 2);
    size = sizeof held;
    CHECK_INT(ID3D11Buffer_GetPrivateData(buffer, &guid, &size, &held), S_OK);
    CHECK(held == (IUnknown *)rig.context);
    CHECK_INT(IUnknown_Release(held), 2);
    CHECK_INT(ID3D11Buffer_Release(buffer), 0);
    CHECK_INT(fake_d3d_refs(rig.context), 1);
    rig11_destroy(&rig);
}

void test_device_creation11(void)
{
    static const D3D_FEATURE_LEVEL levels[] = {D3D_FEATURE_LEVEL_10_1, D3D_FEATURE_LEVEL_9_1};
    ID3D11Device *device = NULL;
    D3D_FEATURE_LEVEL level = 0;

    fake_d3d_reset();
    CHECK_INT(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, D3D11_CREATE_DEVICE_BGRA_SUPPORT, levels, 2,
                                D3D11_SDK_VERSION, &device, &level, NULL),
              S_OK);
    CHECK_INT(level, D3D_FEATURE_LEVEL_10_1);
    CHECK_INT(ID3D11Device_GetFeatureLevel(device), D3D_FEATURE_LEVEL_10_1);
    CHECK_INT(ID3D11Device_GetCreationFlags(device), D3D11_CREATE_DEVICE_BGRA_SUPPORT);
    CHECK_INT(ID3D11Device_GetDeviceRemovedReason(device), S_OK);
    CHECK_INT(ID3D11Device_Release(device), 0);
    CHECK_INT(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, NULL, NULL, NULL),
              S_FALSE);
    CHECK_INT(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, 1, &device, NULL, NULL),
              E_INVALIDARG);
    CHECK_INT(fake_d3d_live(), 0);
}

void test_adapters(void)
{
    static const struct fake_d3d_adapter two[] = {
        {"First", 0x1234, 0x11, {7, 1}},
        {"Second", 0x5678, 0x22, {8, 2}},
    };
    IDXGIFactory *factory = NULL, *parent = NULL;
    IDXGIAdapter *adapter = NULL, *same = NULL;
    IDXGIAdapter1 *adapter1 = NULL;
    DXGI_ADAPTER_DESC desc;
    DXGI_ADAPTER_DESC1 desc1;
    ID3D11Device *device;
    IDXGIDevice *dxgi;

    fake_d3d_reset();
    fake_d3d_set_adapters(2, two);
    CHECK_INT(CreateDXGIFactory(&IID_IDXGIFactory, (void **)&factory), S_OK);
    CHECK_INT(IDXGIFactory_EnumAdapters(factory, 2, &adapter), DXGI_ERROR_NOT_FOUND);
    CHECK_INT(IDXGIFactory_EnumAdapters(factory, 1, &adapter), S_OK);
    CHECK_INT(IDXGIAdapter_GetDesc(adapter, &desc), S_OK);
    CHECK_INT(desc.VendorId, 0x5678);
    CHECK_INT(desc.AdapterLuid.LowPart, 8);
    CHECK_INT(desc.AdapterLuid.HighPart, 2);
    CHECK_INT(desc.Description[0], 'S');
    CHECK_INT(IDXGIAdapter_QueryInterface(adapter, &IID_IDXGIAdapter1, (void **)&adapter1), S_OK);
    CHECK_INT(IDXGIAdapter1_GetDesc1(adapter1, &desc1), S_OK);
    CHECK_INT(desc1.DeviceId, 0x22);
    IDXGIAdapter1_Release(adapter1);
    CHECK_INT(IDXGIAdapter_GetParent(adapter, &IID_IDXGIFactory, (void **)&parent), S_OK);
    CHECK(parent == factory);
    IDXGIFactory_Release(parent);

    /* A device of this adapter, which needs the driver type "unknown". */
    CHECK_INT(
        D3D11CreateDevice(adapter, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &device, NULL, NULL),
        E_INVALIDARG);
    CHECK_INT(
        D3D11CreateDevice(adapter, D3D_DRIVER_TYPE_UNKNOWN, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &device, NULL, NULL),
        S_OK);
    CHECK_INT(ID3D11Device_QueryInterface(device, &IID_IDXGIDevice, (void **)&dxgi), S_OK);
    CHECK_INT(IDXGIDevice_GetAdapter(dxgi, &same), S_OK);
    CHECK(same == adapter);
    IDXGIAdapter_Release(same);
    IDXGIDevice_Release(dxgi);
    CHECK_INT(ID3D11Device_Release(device), 0);
    CHECK_INT(IDXGIAdapter_Release(adapter), 0);
    CHECK_INT(IDXGIFactory_Release(factory), 0);
    CHECK_INT(fake_d3d_live(), 0);
    fake_d3d_reset();
}

static HRESULT try_buffer(struct rig11 *rig, D3D11_BUFFER_DESC desc)
{
    return ID3D11Device_CreateBuffer(rig->device, &desc, NULL, NULL);
}

void test_buffers11(void)
{
    struct rig11 rig = rig11_create(0);
    const UINT vertices = D3D11_BIND_VERTEX_BUFFER, constants = D3D11_BIND_CONSTANT_BUFFER;
    const UINT both = D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE;
    D3D11_RESOURCE_DIMENSION type;
    D3D11_BUFFER_DESC desc;
    ID3D11Buffer *buffer;

    /* Size, usage, bind flags, CPU access. */
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){5, D3D11_USAGE_DEFAULT, 0, 0, 0, 0}), S_FALSE);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){0, D3D11_USAGE_DEFAULT, 0, 0, 0, 0}), E_INVALIDARG);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_DEFAULT, 0, both, 0, 0}), E_INVALIDARG);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_STAGING, 0, both, 0, 0}), S_FALSE);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_STAGING, 0, 0, 0, 0}), E_INVALIDARG);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_STAGING, vertices, both, 0, 0}), E_INVALIDARG);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_IMMUTABLE, vertices, 0, 0, 0}), E_INVALIDARG);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_DYNAMIC, vertices, D3D11_CPU_ACCESS_WRITE, 0, 0}),
              S_FALSE);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_DYNAMIC, vertices, both, 0, 0}), E_INVALIDARG);
    CHECK_INT(try_buffer(&rig, (D3D11_BUFFER_DESC){8, D3D11_USAGE_DEFAULT, constants, 0, 0, 0}), E_INVALIDARG);
    buffer = buffer11(&rig, 20, D3D11_USAGE_DEFAULT, 0);
    ID3D11Buffer_GetDesc(buffer, &desc);
    CHECK_INT(desc.ByteWidth, 20);
    CHECK_INT(desc.BindFlags, vertices);
    ID3D11Buffer_GetType(buffer, &type);
    CHECK_INT(type, D3D11_RESOURCE_DIMENSION_BUFFER);
    CHECK_INT(ID3D11Buffer_GetEvictionPriority(buffer), DXGI_RESOURCE_PRIORITY_NORMAL);
    ID3D11Buffer_Release(buffer);
    rig11_destroy(&rig);
}

static const D3D11_TEXTURE2D_DESC usual = {
    .Width = 16,
    .Height = 16,
    .MipLevels = 1,
    .ArraySize = 1,
    .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
    .SampleDesc = {1, 0},
    .BindFlags = D3D11_BIND_SHADER_RESOURCE,
};

static HRESULT try_texture(struct rig11 *rig, const D3D11_TEXTURE2D_DESC *desc)
{
    return ID3D11Device_CreateTexture2D(rig->device, desc, NULL, NULL);
}

void test_texture_rules11(void)
{
    struct rig11 rig = rig11_create(0);
    D3D11_TEXTURE2D_DESC desc = usual;

    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc.BindFlags = 0;
    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc.Format = DXGI_FORMAT_UNKNOWN;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc = usual;
    desc.SampleDesc.Count = 0;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc.SampleDesc.Count = 4;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc.BindFlags = D3D11_BIND_RENDER_TARGET;
    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc.Format = DXGI_FORMAT_R32G32B32_FLOAT;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc = usual;
    desc.Usage = D3D11_USAGE_DYNAMIC;
    desc.CPUAccessFlags = D3D11_CPU_ACCESS_WRITE;
    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc.MipLevels = 2;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc = usual;
    desc.MiscFlags = D3D11_RESOURCE_MISC_SHARED;
    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc.Usage = D3D11_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc = usual;
    desc.MiscFlags = D3D11_RESOURCE_MISC_TEXTURECUBE;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc.ArraySize = 6;
    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc = usual;
    desc.Format = DXGI_FORMAT_NV12;
    CHECK_INT(try_texture(&rig, &desc), S_FALSE);
    desc.Width = 15;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    desc = usual;
    desc.Width = 16385;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    CHECK_INT(ID3D11Device_CreateTexture2D(rig.device, NULL, NULL, NULL), E_INVALIDARG);
    rig11_destroy(&rig);
}

void test_mips11(void)
{
    struct rig11 rig = rig11_create(0);
    D3D11_TEXTURE2D_DESC desc = usual;
    ID3D11Texture2D *texture = NULL;
    ID3D11Texture1D *line = NULL;
    D3D11_TEXTURE1D_DESC line_desc = {
        .Width = 9,
        .MipLevels = 0,
        .ArraySize = 2,
        .Format = DXGI_FORMAT_R8_UNORM,
        .BindFlags = D3D11_BIND_SHADER_RESOURCE,
    };

    desc.Width = 20;
    desc.MipLevels = 0;
    desc.ArraySize = 3;
    CHECK_INT(ID3D11Device_CreateTexture2D(rig.device, &desc, NULL, &texture), S_OK);
    ID3D11Texture2D_GetDesc(texture, &desc);
    CHECK_INT(desc.MipLevels, 5);
    /* Mip 2 of slice 1 is 5 by 4. */
    CHECK_INT(fake_d3d_peek(texture, 2 + 1 * 5, NULL, 0), 5 * 4 * 4);
    CHECK_INT(fake_d3d_peek(texture, 4 + 2 * 5, NULL, 0), 4);
    CHECK_INT(fake_d3d_peek(texture, 15, NULL, 0), 0);
    ID3D11Texture2D_Release(texture);
    desc.MipLevels = 6;
    CHECK_INT(try_texture(&rig, &desc), E_INVALIDARG);
    CHECK_INT(ID3D11Device_CreateTexture1D(rig.device, &line_desc, NULL, &line), S_OK);
    ID3D11Texture1D_GetDesc(line, &line_desc);
    CHECK_INT(line_desc.MipLevels, 4);
    ID3D11Texture1D_Release(line);
    rig11_destroy(&rig);
}

void test_initial_data11(void)
{
    struct rig11 rig = rig11_create(0);
    D3D11_TEXTURE2D_DESC desc = usual;
    unsigned char bytes[2][4 * 40], expected[4 * 12], seen[4 * 12];
    D3D11_SUBRESOURCE_DATA data[2] = {{bytes[0], 40, 0}, {bytes[1], 20, 0}};
    ID3D11Texture2D *texture = NULL;
    unsigned row;

    pattern(bytes[0], sizeof bytes, 1);
    desc.Width = 3;
    desc.Height = 4;
    desc.MipLevels = 2;
    desc.Usage = D3D11_USAGE_IMMUTABLE;
    CHECK_INT(ID3D11Device_CreateTexture2D(rig.device, &desc, NULL, &texture), E_INVALIDARG);
    CHECK(texture == NULL);
    CHECK_INT(ID3D11Device_CreateTexture2D(rig.device, &desc, data, &texture), S_OK);
    for (row = 0; row < 4; row++)
        memcpy(expected + row * 12, bytes[0] + row * 40, 12);
    CHECK_INT(fake_d3d_peek(texture, 0, seen, sizeof seen), sizeof seen);
    CHECK_MEM(seen, expected, sizeof seen);
    for (row = 0; row < 2; row++)
        memcpy(expected + row * 4, bytes[1] + row * 20, 4);
    CHECK_INT(fake_d3d_peek(texture, 1, seen, sizeof seen), 8);
    CHECK_MEM(seen, expected, 8);
    ID3D11Texture2D_Release(texture);
    data[1].pSysMem = NULL;
    CHECK_INT(ID3D11Device_CreateTexture2D(rig.device, &desc, data, &texture), E_INVALIDARG);
    rig11_destroy(&rig);
}

void test_format_support11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Texture2D *texture;
    UINT support = 1;

    CHECK_INT(ID3D11Device_CheckFormatSupport(rig.device, DXGI_FORMAT_R8G8B8A8_UNORM, &support), S_OK);
    CHECK(support & D3D11_FORMAT_SUPPORT_TEXTURE2D);
    CHECK(support & D3D11_FORMAT_SUPPORT_RENDER_TARGET);
    CHECK_INT(ID3D11Device_CheckFormatSupport(rig.device, DXGI_FORMAT_V408, &support), E_FAIL);
    CHECK_INT(support, 0);
    fake_d3d_format_support(DXGI_FORMAT_NV12, 0x02000000);
    CHECK_INT(ID3D11Device_CheckFormatSupport(rig.device, DXGI_FORMAT_NV12, &support), S_OK);
    CHECK_INT(support, 0x02000000);
    CHECK(!texture11(&rig, DXGI_FORMAT_NV12, 16, 16, D3D11_USAGE_DEFAULT, 0));
    fake_d3d_format_support(DXGI_FORMAT_NV12, FAKE_D3D_SUPPORT_DEFAULT);
    texture = texture11(&rig, DXGI_FORMAT_NV12, 16, 16, D3D11_USAGE_DEFAULT, 0);
    if (CHECK(texture != NULL))
        ID3D11Texture2D_Release(texture);
    rig11_destroy(&rig);
}
