/* Maps, copies, updates, shared memory. */
#include "selftest.h"

#include <stdlib.h>
#include <string.h>

#include <dxgi.h>

#define READ_WRITE (D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE)
#define AS_RESOURCE(object) ((ID3D11Resource *)(object))

static HRESULT map11(struct rig11 *rig, void *resource, D3D11_MAP type, D3D11_MAPPED_SUBRESOURCE *mapped)
{
    return ID3D11DeviceContext_Map(rig->context, resource, 0, type, 0, mapped);
}

static void unmap11(struct rig11 *rig, void *resource)
{
    ID3D11DeviceContext_Unmap(rig->context, resource, 0);
}

static bool may_map(struct rig11 *rig, void *resource, D3D11_MAP type)
{
    D3D11_MAPPED_SUBRESOURCE mapped;
    HRESULT hr = map11(rig, resource, type, &mapped);

    CHECK(hr == S_OK || hr == E_INVALIDARG);
    CHECK((hr == S_OK) == (mapped.pData != NULL));
    if (hr == S_OK)
        unmap11(rig, resource);
    return hr == S_OK;
}

void test_map_rules11(void)
{
    struct rig11 rig = rig11_create(0);
    const DXGI_FORMAT format = DXGI_FORMAT_R8_UNORM;
    void *still = texture11(&rig, format, 8, 8, D3D11_USAGE_DEFAULT, 0);
    void *reads = texture11(&rig, format, 8, 8, D3D11_USAGE_STAGING, D3D11_CPU_ACCESS_READ);
    void *writes = texture11(&rig, format, 8, 8, D3D11_USAGE_STAGING, D3D11_CPU_ACCESS_WRITE);
    void *both = texture11(&rig, format, 8, 8, D3D11_USAGE_STAGING, READ_WRITE);
    void *dynamic = texture11(&rig, format, 8, 8, D3D11_USAGE_DYNAMIC, D3D11_CPU_ACCESS_WRITE);
    void *vertices = buffer11(&rig, 8, D3D11_USAGE_DYNAMIC, D3D11_CPU_ACCESS_WRITE);
    void *all[] = {still, reads, writes, both, dynamic, vertices};
    D3D11_MAPPED_SUBRESOURCE mapped;
    unsigned i;

    CHECK(!may_map(&rig, still, D3D11_MAP_READ));
    CHECK(may_map(&rig, reads, D3D11_MAP_READ));
    CHECK(!may_map(&rig, reads, D3D11_MAP_WRITE));
    CHECK(!may_map(&rig, reads, D3D11_MAP_READ_WRITE));
    CHECK(!may_map(&rig, writes, D3D11_MAP_READ));
    CHECK(may_map(&rig, writes, D3D11_MAP_WRITE));
    CHECK(!may_map(&rig, writes, D3D11_MAP_WRITE_DISCARD));
    CHECK(may_map(&rig, both, D3D11_MAP_READ_WRITE));
    CHECK(!may_map(&rig, dynamic, D3D11_MAP_WRITE));
    CHECK(may_map(&rig, dynamic, D3D11_MAP_WRITE_DISCARD));
    CHECK(!may_map(&rig, dynamic, D3D11_MAP_WRITE_NO_OVERWRITE));
    CHECK(may_map(&rig, vertices, D3D11_MAP_WRITE_NO_OVERWRITE));
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, both, 1, D3D11_MAP_READ, 0, &mapped), E_INVALIDARG);
    for (i = 0; i < 6; i++)
        ID3D11Texture2D_Release((ID3D11Texture2D *)all[i]);
    rig11_destroy(&rig);
}

void test_map_pitches11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Texture2D *texture = texture11(&rig, DXGI_FORMAT_R8G8B8A8_UNORM, 5, 3, D3D11_USAGE_STAGING, READ_WRITE);
    D3D11_MAPPED_SUBRESOURCE mapped;
    unsigned char bytes[3 * 20], seen[3 * 20];
    unsigned row;
    UINT first;

    pattern(bytes, sizeof bytes, 2);
    CHECK_INT(map11(&rig, texture, D3D11_MAP_WRITE, &mapped), S_OK);
    first = mapped.RowPitch;
    CHECK(first > 256);
    CHECK(mapped.DepthPitch > 3 * first);
    CHECK_INT(((unsigned char *)mapped.pData)[20], FAKE_D3D_PADDING);
    for (row = 0; row < 3; row++)
        memcpy((char *)mapped.pData + row * first, bytes + row * 20, 20);
    unmap11(&rig, texture);
    CHECK_INT(fake_d3d_peek(texture, 0, seen, sizeof seen), sizeof seen);
    CHECK_MEM(seen, bytes, sizeof seen);

    CHECK_INT(map11(&rig, texture, D3D11_MAP_READ, &mapped), S_OK);
    CHECK(mapped.RowPitch != first);
    for (row = 0; row < 3; row++)
        CHECK_MEM((char *)mapped.pData + row * mapped.RowPitch, bytes + row * 20, 20);
    unmap11(&rig, texture);

    fake_d3d_tight_pitch(true);
    CHECK_INT(map11(&rig, texture, D3D11_MAP_READ, &mapped), S_OK);
    CHECK_INT(mapped.RowPitch, 20);
    CHECK_MEM(mapped.pData, bytes, sizeof bytes);
    unmap11(&rig, texture);
    ID3D11Texture2D_Release(texture);
    rig11_destroy(&rig);
}

void test_map_misuse11(void)
{
    struct rig11 rig = rig11_create(0), other;
    ID3D11Texture2D *texture = texture11(&rig, DXGI_FORMAT_R8_UNORM, 8, 8, D3D11_USAGE_STAGING, READ_WRITE);
    D3D11_MAPPED_SUBRESOURCE mapped;

    unmap11(&rig, texture);
    EXPECT_VIOLATION("not mapped");
    CHECK_INT(map11(&rig, texture, D3D11_MAP_READ, &mapped), S_OK);
    CHECK_INT(map11(&rig, texture, D3D11_MAP_READ, &mapped), E_INVALIDARG);
    EXPECT_VIOLATION("already mapped");
    unmap11(&rig, texture);
    CHECK_INT(map11(&rig, texture, D3D11_MAP_READ, &mapped), S_OK);
    ((unsigned char *)mapped.pData)[3] ^= 1;
    unmap11(&rig, texture);
    EXPECT_VIOLATION("mapped for reading");
    CHECK_INT(map11(&rig, NULL, D3D11_MAP_READ, &mapped), E_INVALIDARG);
    EXPECT_VIOLATION("no resource");

    other = rig11_create(0);
    CHECK_INT(map11(&other, texture, D3D11_MAP_READ, &mapped), E_INVALIDARG);
    EXPECT_VIOLATION("another device");
    CHECK_INT(ID3D11DeviceContext_Release(other.context), 0);
    CHECK_INT(ID3D11Device_Release(other.device), 0);
    /* A mapped one may be released. */
    CHECK_INT(map11(&rig, texture, D3D11_MAP_READ, &mapped), S_OK);
    CHECK_INT(ID3D11Texture2D_Release(texture), 0);
    rig11_destroy(&rig);
}

void test_discard11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Buffer *buffer = buffer11(&rig, 8, D3D11_USAGE_DYNAMIC, D3D11_CPU_ACCESS_WRITE);
    D3D11_MAPPED_SUBRESOURCE mapped;
    unsigned char seen[8];

    CHECK_INT(map11(&rig, buffer, D3D11_MAP_WRITE_DISCARD, &mapped), S_OK);
    CHECK_INT(mapped.RowPitch, 8);
    memset(mapped.pData, 1, 8);
    unmap11(&rig, buffer);
    /* What is not written again is gone, */
    CHECK_INT(map11(&rig, buffer, D3D11_MAP_WRITE_DISCARD, &mapped), S_OK);
    memset(mapped.pData, 2, 4);
    unmap11(&rig, buffer);
    fake_d3d_peek(buffer, 0, seen, 8);
    CHECK_INT(seen[3], 2);
    CHECK_INT(seen[4], FAKE_D3D_UNDEFINED);
    /* but not with this one. */
    CHECK_INT(map11(&rig, buffer, D3D11_MAP_WRITE_NO_OVERWRITE, &mapped), S_OK);
    ((unsigned char *)mapped.pData)[4] = 3;
    unmap11(&rig, buffer);
    fake_d3d_peek(buffer, 0, seen, 8);
    CHECK_INT(seen[3], 2);
    CHECK_INT(seen[4], 3);
    ID3D11Buffer_Release(buffer);
    rig11_destroy(&rig);
}

void test_nv12_11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Texture2D *still = texture11(&rig, DXGI_FORMAT_P010, 4, 4, D3D11_USAGE_DEFAULT, 0);
    ID3D11Texture2D *staging = texture11(&rig, DXGI_FORMAT_P010, 4, 4, D3D11_USAGE_STAGING, READ_WRITE);
    D3D11_MAPPED_SUBRESOURCE mapped;
    D3D11_BOX box = {2, 2, 0, 4, 4, 1};
    unsigned char bytes[6 * 8], more[3 * 4], seen[6 * 8];
    unsigned row;

    /* Four rows of luma, two of chroma. */
    pattern(bytes, sizeof bytes, 3);
    CHECK_INT(map11(&rig, staging, D3D11_MAP_WRITE, &mapped), S_OK);
    for (row = 0; row < 6; row++)
        memcpy((char *)mapped.pData + row * mapped.RowPitch, bytes + row * 8, 8);
    unmap11(&rig, staging);
    ID3D11DeviceContext_CopyResource(rig.context, AS_RESOURCE(still), AS_RESOURCE(staging));
    CHECK_INT(fake_d3d_peek(still, 0, seen, sizeof seen), sizeof seen);
    CHECK_MEM(seen, bytes, sizeof seen);

    /* A corner: two by two luma samples and one pair of chroma. */
    pattern(more, sizeof more, 4);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(still), 0, &box, more, 4, 0);
    memcpy(bytes + 2 * 8 + 4, more, 4);
    memcpy(bytes + 3 * 8 + 4, more + 4, 4);
    memcpy(bytes + 5 * 8 + 4, more + 8, 4);
    fake_d3d_peek(still, 0, seen, sizeof seen);
    CHECK_MEM(seen, bytes, sizeof seen);
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(staging), 0, 2, 2, 0, AS_RESOURCE(still), 0,
                                              &box);
    fake_d3d_peek(staging, 0, seen, sizeof seen);
    CHECK_MEM(seen, bytes, sizeof seen);
    box.left = 1;
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(still), 0, &box, more, 8, 0);
    EXPECT_VIOLATION("cuts blocks");
    ID3D11Texture2D_Release(still);
    ID3D11Texture2D_Release(staging);
    rig11_destroy(&rig);
}

static ID3D11Texture3D *texture3d(struct rig11 *rig, D3D11_USAGE usage, UINT cpu, UINT bind)
{
    D3D11_TEXTURE3D_DESC desc = {
        .Width = 4,
        .Height = 3,
        .Depth = 2,
        .MipLevels = 2,
        .Format = DXGI_FORMAT_R16_UINT,
        .Usage = usage,
        .CPUAccessFlags = cpu,
        .BindFlags = bind,
    };
    ID3D11Texture3D *texture = NULL;

    ID3D11Device_CreateTexture3D(rig->device, &desc, NULL, &texture);
    return texture;
}

void test_texture3d_11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Texture3D *still = texture3d(&rig, D3D11_USAGE_DEFAULT, 0, D3D11_BIND_SHADER_RESOURCE);
    ID3D11Texture3D *staging = texture3d(&rig, D3D11_USAGE_STAGING, READ_WRITE, 0);
    D3D11_MAPPED_SUBRESOURCE mapped;
    D3D11_BOX box = {1, 1, 1, 3, 2, 2};
    unsigned char bytes[2 * 3 * 8], texels[4] = {1, 2, 3, 4};
    unsigned row, slice;

    pattern(bytes, sizeof bytes, 5);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(still), 0, NULL, bytes, 8, 24);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(still), 0, &box, texels, 4, 4);
    memcpy(bytes + 24 + 8 + 2, texels, 4);
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(staging), 0, 0, 0, 0, AS_RESOURCE(still), 0,
                                              NULL);
    CHECK_INT(map11(&rig, staging, D3D11_MAP_READ, &mapped), S_OK);
    CHECK(mapped.DepthPitch > 3 * mapped.RowPitch);
    for (slice = 0; slice < 2; slice++)
        for (row = 0; row < 3; row++)
            CHECK_MEM((char *)mapped.pData + slice * mapped.DepthPitch + row * mapped.RowPitch,
                      bytes + slice * 24 + row * 8, 8);
    unmap11(&rig, staging);
    CHECK_INT(fake_d3d_peek(still, 1, NULL, 0), 2 * 1 * 1 * 2);
    ID3D11Texture3D_Release(still);
    ID3D11Texture3D_Release(staging);
    rig11_destroy(&rig);
}

void test_copies11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Buffer *from = buffer11(&rig, 16, D3D11_USAGE_DEFAULT, 0);
    ID3D11Buffer *to = buffer11(&rig, 16, D3D11_USAGE_STAGING, READ_WRITE);
    ID3D11Texture2D *a = texture11(&rig, DXGI_FORMAT_R8G8B8A8_UNORM, 4, 4, D3D11_USAGE_DEFAULT, 0);
    ID3D11Texture2D *b = texture11(&rig, DXGI_FORMAT_R8G8B8A8_TYPELESS, 4, 4, D3D11_USAGE_DEFAULT, 0);
    D3D11_BOX some = {4, 0, 0, 12, 1, 1}, none = {4, 0, 0, 4, 1, 1};
    D3D11_BOX square = {0, 0, 0, 2, 2, 1};
    unsigned char bytes[64], seen[64];

    pattern(bytes, sizeof bytes, 6);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(from), 0, NULL, bytes, 0, 0);
    ID3D11DeviceContext_CopyResource(rig.context, AS_RESOURCE(to), AS_RESOURCE(from));
    fake_d3d_peek(to, 0, seen, sizeof seen);
    CHECK_MEM(seen, bytes, 16);
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(to), 0, 1, 0, 0, AS_RESOURCE(from), 0, &some);
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(to), 0, 0, 0, 0, AS_RESOURCE(from), 0, &none);
    fake_d3d_peek(to, 0, seen, sizeof seen);
    CHECK_MEM(seen + 1, bytes + 4, 8);
    CHECK_MEM(seen + 9, bytes + 9, 7);

    /* One family of formats, a piece into a corner. */
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(a), 0, NULL, bytes, 16, 0);
    ID3D11DeviceContext_CopyResource(rig.context, AS_RESOURCE(b), AS_RESOURCE(a));
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(b), 0, 2, 2, 0, AS_RESOURCE(a), 0, &square);
    memcpy(bytes + 2 * 16 + 8, bytes, 8);
    memcpy(bytes + 3 * 16 + 8, bytes + 16, 8);
    fake_d3d_peek(b, 0, seen, sizeof seen);
    CHECK_MEM(seen, bytes, sizeof seen);
    ID3D11Buffer_Release(from);
    ID3D11Buffer_Release(to);
    ID3D11Texture2D_Release(a);
    ID3D11Texture2D_Release(b);
    rig11_destroy(&rig);
}

static void expect_refused(struct rig11 *rig, void *to, void *from, const char *text)
{
    ID3D11DeviceContext_CopyResource(rig->context, to, from);
    EXPECT_VIOLATION(text);
}

void test_copy_misuse11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Texture2D *a = texture11(&rig, DXGI_FORMAT_R8_UNORM, 8, 8, D3D11_USAGE_DEFAULT, 0);
    ID3D11Texture2D *b = texture11(&rig, DXGI_FORMAT_R8_UNORM, 8, 8, D3D11_USAGE_STAGING, READ_WRITE);
    ID3D11Texture2D *dynamic = texture11(&rig, DXGI_FORMAT_R8_UNORM, 8, 8, D3D11_USAGE_DYNAMIC, D3D11_CPU_ACCESS_WRITE);
    ID3D11Texture2D *wide = texture11(&rig, DXGI_FORMAT_R16_UNORM, 8, 8, D3D11_USAGE_DEFAULT, 0);
    ID3D11Texture2D *flat = texture11(&rig, DXGI_FORMAT_R8_UNORM, 8, 4, D3D11_USAGE_DEFAULT, 0);
    ID3D11Buffer *buffer = buffer11(&rig, 64, D3D11_USAGE_DEFAULT, 0);
    D3D11_BOX outside = {0, 0, 0, 9, 8, 1};
    D3D11_MAPPED_SUBRESOURCE mapped;

    expect_refused(&rig, a, a, "the same");
    expect_refused(&rig, a, wide, "can't be copied");
    expect_refused(&rig, a, flat, "different sizes");
    expect_refused(&rig, a, buffer, "different kinds");
    expect_refused(&rig, dynamic, a, "dynamic");
    CHECK_INT(map11(&rig, b, D3D11_MAP_READ, &mapped), S_OK);
    expect_refused(&rig, a, b, "source is mapped");
    expect_refused(&rig, b, a, "target is mapped");
    unmap11(&rig, b);
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(a), 0, 0, 0, 0, AS_RESOURCE(b), 0, &outside);
    EXPECT_VIOLATION("beyond the source");
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(a), 0, 1, 0, 0, AS_RESOURCE(b), 0, NULL);
    EXPECT_VIOLATION("beyond the target");
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(a), 0, (UINT)-1, 0, 0, AS_RESOURCE(b), 0, NULL);
    EXPECT_VIOLATION("beyond the target");
    ID3D11DeviceContext_CopySubresourceRegion(rig.context, AS_RESOURCE(a), 1, 0, 0, 0, AS_RESOURCE(b), 0, NULL);
    EXPECT_VIOLATION("no such subresource");
    ID3D11Texture2D_Release(a);
    ID3D11Texture2D_Release(b);
    ID3D11Texture2D_Release(dynamic);
    ID3D11Texture2D_Release(wide);
    ID3D11Texture2D_Release(flat);
    ID3D11Buffer_Release(buffer);
    rig11_destroy(&rig);
}

void test_updates11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D11Buffer *buffer = buffer11(&rig, 8, D3D11_USAGE_DEFAULT, 0);
    ID3D11Buffer *dynamic = buffer11(&rig, 8, D3D11_USAGE_DYNAMIC, D3D11_CPU_ACCESS_WRITE);
    D3D11_BOX middle = {2, 0, 0, 4, 1, 1}, outside = {2, 0, 0, 9, 1, 1};
    unsigned char seen[8];

    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(buffer), 0, NULL, "abcdefgh", 0, 0);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(buffer), 0, &middle, "XY", 0, 0);
    fake_d3d_peek(buffer, 0, seen, 8);
    CHECK_MEM(seen, "abXYefgh", 8);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(buffer), 0, &outside, "abcdefgh", 0, 0);
    EXPECT_VIOLATION("beyond the target");
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(dynamic), 0, NULL, "abcdefgh", 0, 0);
    EXPECT_VIOLATION("dynamic");
    ID3D11Buffer_Release(buffer);
    ID3D11Buffer_Release(dynamic);
    rig11_destroy(&rig);
}

/* A shared texture of the first device and, through its handle, one of the second. */
static void open_shared(struct rig11 *first, struct rig11 *second, UINT misc, ID3D11Texture2D *texture[2])
{
    D3D11_TEXTURE2D_DESC desc = {
        .Width = 2,
        .Height = 2,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = DXGI_FORMAT_R8_UNORM,
        .SampleDesc = {1, 0},
        .BindFlags = D3D11_BIND_SHADER_RESOURCE,
        .MiscFlags = misc,
    };
    IDXGIResource *resource;
    HANDLE handle = NULL;

    texture[0] = texture[1] = NULL;
    CHECK_INT(ID3D11Device_CreateTexture2D(first->device, &desc, NULL, &texture[0]), S_OK);
    ID3D11Texture2D_QueryInterface(texture[0], &IID_IDXGIResource, (void **)&resource);
    CHECK_INT(IDXGIResource_GetSharedHandle(resource, &handle), S_OK);
    IDXGIResource_Release(resource);
    CHECK(handle != NULL);
    CHECK_INT(ID3D11Device_OpenSharedResource(second->device, handle, &IID_ID3D11Texture2D, (void **)&texture[1]),
              S_OK);
}

void test_shared11(void)
{
    struct rig11 rig = rig11_create(0), other = rig11_create(0);
    ID3D11Texture2D *texture[2], *plain;
    IDXGIResource *resource;
    HANDLE handle;
    void *out;
    unsigned char seen[4];

    open_shared(&rig, &other, D3D11_RESOURCE_MISC_SHARED, texture);
    CHECK_INT(fake_d3d_refs(other.device), 3);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(texture[0]), 0, NULL, "abcd", 2, 0);
    fake_d3d_peek(texture[1], 0, seen, 4);
    CHECK_MEM(seen, "abcd", 4);
    ID3D11Texture2D_Release(texture[0]);
    fake_d3d_peek(texture[1], 0, seen, 4);
    CHECK_MEM(seen, "abcd", 4);
    ID3D11Texture2D_Release(texture[1]);

    plain = texture11(&rig, DXGI_FORMAT_R8_UNORM, 2, 2, D3D11_USAGE_DEFAULT, 0);
    ID3D11Texture2D_QueryInterface(plain, &IID_IDXGIResource, (void **)&resource);
    CHECK_INT(IDXGIResource_GetSharedHandle(resource, &handle), E_FAIL);
    CHECK(handle == NULL);
    IDXGIResource_Release(resource);
    ID3D11Texture2D_Release(plain);
    CHECK_INT(ID3D11Device_OpenSharedResource(rig.device, (HANDLE)(UINT_PTR)0x1234, &IID_ID3D11Texture2D, &out),
              E_INVALIDARG);
    CHECK_INT(ID3D11DeviceContext_Release(other.context), 0);
    CHECK_INT(ID3D11Device_Release(other.device), 0);
    rig11_destroy(&rig);
}

void test_keyed11(void)
{
    struct rig11 rig = rig11_create(0), other = rig11_create(0);
    ID3D11Texture2D *texture[2];
    IDXGIKeyedMutex *mutex[2];
    unsigned char seen[4];
    int i;

    open_shared(&rig, &other, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, texture);
    for (i = 0; i < 2; i++)
        CHECK_INT(ID3D11Texture2D_QueryInterface(texture[i], &IID_IDXGIKeyedMutex, (void **)&mutex[i]), S_OK);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(texture[0]), 0, NULL, "abcd", 2, 0);
    EXPECT_VIOLATION("keyed mutex");
    CHECK_INT(IDXGIKeyedMutex_AcquireSync(mutex[0], 0, 0), S_OK);
    CHECK_INT(IDXGIKeyedMutex_AcquireSync(mutex[1], 0, 1), WAIT_TIMEOUT);
    fake_d3d_delay(5);
    ID3D11DeviceContext_UpdateSubresource(rig.context, AS_RESOURCE(texture[0]), 0, NULL, "abcd", 2, 0);
    CHECK_INT(IDXGIKeyedMutex_ReleaseSync(mutex[0], 7), S_OK);
    CHECK_INT(IDXGIKeyedMutex_ReleaseSync(mutex[0], 7), E_FAIL);
    CHECK_INT(IDXGIKeyedMutex_AcquireSync(mutex[1], 7, 1), S_OK);
    fake_d3d_peek(texture[1], 0, seen, 4);
    CHECK_MEM(seen, "abcd", 4);
    CHECK_INT(IDXGIKeyedMutex_ReleaseSync(mutex[1], 0), S_OK);
    for (i = 0; i < 2; i++) {
        IDXGIKeyedMutex_Release(mutex[i]);
        CHECK_INT(ID3D11Texture2D_Release(texture[i]), 0);
    }
    CHECK_INT(ID3D11DeviceContext_Release(other.context), 0);
    CHECK_INT(ID3D11Device_Release(other.device), 0);
    rig11_destroy(&rig);
}
