/* Direct3D 9. */
#include "selftest.h"

#include <pthread.h>
#include <string.h>

#include <d3d9.h>

#define NV12 ((D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'))
#define YV12 ((D3DFORMAT)MAKEFOURCC('Y', 'V', '1', '2'))

/* One device; extended, or used as a plain one. */
struct rig9 {
    IDirect3D9 *d3d9;
    IDirect3DDevice9 *device;
};

static struct rig9 rig9_create(bool extended, DWORD flags)
{
    struct rig9 rig = {NULL, NULL};
    D3DPRESENT_PARAMETERS parameters = {.Windowed = TRUE, .SwapEffect = D3DSWAPEFFECT_DISCARD};

    fake_d3d_reset();
    if (extended)
        CHECK_INT(Direct3DCreate9Ex(D3D_SDK_VERSION, (IDirect3D9Ex **)&rig.d3d9), S_OK);
    else
        rig.d3d9 = Direct3DCreate9(D3D_SDK_VERSION);
    CHECK_INT(IDirect3D9_CreateDevice(rig.d3d9, 0, D3DDEVTYPE_HAL, NULL, D3DCREATE_HARDWARE_VERTEXPROCESSING | flags,
                                      &parameters, &rig.device),
              D3D_OK);
    return rig;
}

static void rig9_destroy(struct rig9 *rig)
{
    CHECK_INT(IDirect3DDevice9_Release(rig->device), 0);
    CHECK_INT(IDirect3D9_Release(rig->d3d9), 0);
    selftest_end();
}

/* NULL where the device refuses. */
static IDirect3DSurface9 *plain9(struct rig9 *rig, D3DFORMAT format, UINT width, UINT height, D3DPOOL pool)
{
    IDirect3DSurface9 *surface = NULL;

    IDirect3DDevice9_CreateOffscreenPlainSurface(rig->device, width, height, format, pool, &surface, NULL);
    return surface;
}

static IDirect3DSurface9 *target9(struct rig9 *rig, D3DFORMAT format, UINT width, UINT height, BOOL lockable)
{
    IDirect3DSurface9 *surface = NULL;

    IDirect3DDevice9_CreateRenderTarget(rig->device, width, height, format, D3DMULTISAMPLE_NONE, 0, lockable, &surface,
                                        NULL);
    return surface;
}

/* Rows of `row` bytes each, by a lock. */
static void write9(IDirect3DSurface9 *surface, const void *bytes, unsigned row, unsigned rows)
{
    D3DLOCKED_RECT locked;
    unsigned i;

    if (!CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, NULL, 0), D3D_OK))
        return;
    for (i = 0; i < rows; i++)
        memcpy((char *)locked.pBits + (size_t)i * (unsigned)locked.Pitch, (const char *)bytes + i * row, row);
    CHECK_INT(IDirect3DSurface9_UnlockRect(surface), D3D_OK);
}

static void expect9(IDirect3DSurface9 *surface, const char *text, int line)
{
    char seen[64] = "";

    tap_check_int((long long)fake_d3d_peek(surface, 0, seen, sizeof seen), (long long)strlen(text),
                  "size of the contents", __FILE__, line);
    tap_check_mem(seen, text, strlen(text), "contents", __FILE__, line);
}
#define EXPECT9(surface, text) expect9(surface, text, __LINE__)

void test_identity9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DDevice9 *same = NULL;
    IDirect3D9 *d3d9 = NULL;
    D3DDEVICE_CREATION_PARAMETERS parameters;
    D3DCAPS9 caps;
    void *out;

    CHECK(Direct3DCreate9(1) == NULL);
    CHECK_INT(IDirect3D9_QueryInterface(rig.d3d9, &IID_IDirect3D9Ex, &out), E_NOINTERFACE);
    CHECK_INT(IDirect3DDevice9_QueryInterface(rig.device, &IID_IDirect3DDevice9Ex, &out), E_NOINTERFACE);
    CHECK_INT(IDirect3DDevice9_GetDirect3D(rig.device, &d3d9), D3D_OK);
    CHECK(d3d9 == rig.d3d9);
    CHECK_INT(IDirect3D9_Release(d3d9), 2);
    CHECK_INT(IDirect3DDevice9_GetCreationParameters(rig.device, &parameters), D3D_OK);
    CHECK_INT(parameters.BehaviorFlags, D3DCREATE_HARDWARE_VERTEXPROCESSING);
    CHECK_INT(IDirect3DDevice9_GetDeviceCaps(rig.device, &caps), D3D_OK);
    CHECK_INT(caps.DeviceType, D3DDEVTYPE_HAL);
    rig9_destroy(&rig);

    rig = rig9_create(true, 0);
    CHECK_INT(IDirect3DDevice9_QueryInterface(rig.device, &IID_IDirect3DDevice9Ex, &out), S_OK);
    CHECK_INT(IDirect3DDevice9Ex_QueryInterface((IDirect3DDevice9Ex *)out, &IID_IDirect3DDevice9, (void **)&same),
              S_OK);
    CHECK(same == rig.device);
    IDirect3DDevice9_Release(same);
    CHECK_INT(IDirect3DDevice9_Release(same), 1);
    rig9_destroy(&rig);
}

void test_adapters9(void)
{
    static const struct fake_d3d_adapter two[] = {
        {"First", 0x1234, 0x11, {7, 1}},
        {"Second", 0x5678, 0x22, {8, 2}},
    };
    IDirect3D9Ex *d3d9 = NULL;
    D3DADAPTER_IDENTIFIER9 identifier;
    LUID luid;

    fake_d3d_reset();
    fake_d3d_set_adapters(2, two);
    CHECK_INT(Direct3DCreate9Ex(D3D_SDK_VERSION, &d3d9), S_OK);
    CHECK_INT(IDirect3D9Ex_GetAdapterCount(d3d9), 2);
    CHECK_INT(IDirect3D9Ex_GetAdapterIdentifier(d3d9, 1, 0, &identifier), D3D_OK);
    CHECK_STR(identifier.Description, "Second");
    CHECK_INT(identifier.VendorId, 0x5678);
    CHECK_INT(identifier.DeviceIdentifier.Data1, 0);
    fake_d3d_set_identifier((GUID){.Data1 = 0x9abc});
    CHECK_INT(IDirect3D9Ex_GetAdapterIdentifier(d3d9, 0, 0, &identifier), D3D_OK);
    CHECK_INT(identifier.DeviceIdentifier.Data1, 0x9abc);
    CHECK_INT(IDirect3D9Ex_GetAdapterLUID(d3d9, 1, &luid), D3D_OK);
    CHECK_INT(luid.LowPart, 8);
    CHECK_INT(luid.HighPart, 2);
    CHECK_INT(IDirect3D9Ex_GetAdapterLUID(d3d9, 2, &luid), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3D9Ex_CheckDeviceFormat(d3d9, 0, D3DDEVTYPE_HAL, D3DFMT_X8R8G8B8, 0, D3DRTYPE_SURFACE, NV12),
              D3D_OK);
    CHECK_INT(IDirect3D9Ex_CheckDeviceFormat(d3d9, 0, D3DDEVTYPE_HAL, D3DFMT_X8R8G8B8, D3DUSAGE_RENDERTARGET,
                                             D3DRTYPE_SURFACE, D3DFMT_L16),
              D3DERR_NOTAVAILABLE);
    CHECK_INT(IDirect3D9Ex_Release(d3d9), 0);
    fake_d3d_reset();
}

void test_references9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *surface = plain9(&rig, D3DFMT_L8, 4, 4, D3DPOOL_DEFAULT), *level = NULL;
    IDirect3DTexture9 *texture = NULL, *container = NULL;
    IDirect3DDevice9 *device = NULL;

    CHECK_INT(fake_d3d_refs(rig.device), 2);
    CHECK_INT(IDirect3DSurface9_GetContainer(surface, &IID_IDirect3DDevice9, (void **)&device), S_OK);
    CHECK(device == rig.device);
    CHECK_INT(IDirect3DDevice9_Release(device), 2);
    CHECK_INT(IDirect3DSurface9_GetDevice(surface, &device), D3D_OK);
    CHECK_INT(IDirect3DDevice9_Release(device), 2);
    CHECK_INT(IDirect3DSurface9_Release(surface), 0);

    CHECK_INT(IDirect3DDevice9_CreateTexture(rig.device, 8, 4, 0, 0, D3DFMT_L8, D3DPOOL_MANAGED, &texture, NULL),
              D3D_OK);
    CHECK_INT(IDirect3DTexture9_GetLevelCount(texture), 4);
    CHECK_INT(IDirect3DTexture9_GetSurfaceLevel(texture, 4, &level), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DTexture9_GetSurfaceLevel(texture, 1, &level), D3D_OK);
    CHECK_INT(fake_d3d_refs(texture), 2);
    CHECK_INT(fake_d3d_refs(level), 2);
    CHECK_INT(IDirect3DTexture9_Release(texture), 1);
    CHECK_INT(IDirect3DSurface9_GetContainer(level, &IID_IDirect3DTexture9, (void **)&container), S_OK);
    CHECK(container == texture);
    CHECK_INT(IDirect3DTexture9_Release(container), 1);
    CHECK_INT(fake_d3d_refs(rig.device), 2);
    CHECK_INT(IDirect3DSurface9_Release(level), 0);
    CHECK_INT(fake_d3d_refs(rig.device), 1);
    rig9_destroy(&rig);
}

static void expect_plain(struct rig9 *rig, D3DFORMAT format, UINT width, D3DPOOL pool, bool made, int line)
{
    IDirect3DSurface9 *surface = plain9(rig, format, width, 4, pool);

    tap_check((surface != NULL) == made, "creation as expected", __FILE__, line);
    if (surface)
        IDirect3DSurface9_Release(surface);
}
#define EXPECT_PLAIN(format, width, pool, made) expect_plain(&rig, format, width, pool, made, __LINE__)

void test_surfaces9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    D3DSURFACE_DESC desc;
    IDirect3DSurface9 *surface;

    EXPECT_PLAIN(D3DFMT_A8R8G8B8, 4, D3DPOOL_DEFAULT, true);
    EXPECT_PLAIN(D3DFMT_A8R8G8B8, 4, D3DPOOL_SYSTEMMEM, true);
    EXPECT_PLAIN(D3DFMT_A8R8G8B8, 4, D3DPOOL_MANAGED, false);
    EXPECT_PLAIN(D3DFMT_UNKNOWN, 4, D3DPOOL_DEFAULT, false);
    EXPECT_PLAIN(D3DFMT_A8R8G8B8, 0, D3DPOOL_DEFAULT, false);
    EXPECT_PLAIN(NV12, 4, D3DPOOL_DEFAULT, true);
    EXPECT_PLAIN(NV12, 5, D3DPOOL_DEFAULT, false);
    EXPECT_PLAIN(D3DFMT_YUY2, 4, D3DPOOL_DEFAULT, true);
    CHECK(!target9(&rig, D3DFMT_L16, 4, 4, FALSE));
    CHECK(!target9(&rig, D3DFMT_UYVY, 4, 4, FALSE));
    CHECK_INT(IDirect3DDevice9_CreateRenderTarget(rig.device, 4, 4, D3DFMT_A8R8G8B8, D3DMULTISAMPLE_4_SAMPLES, 0, TRUE,
                                                  &surface, NULL),
              D3DERR_INVALIDCALL);
    surface = target9(&rig, D3DFMT_R32F, 6, 5, FALSE);
    CHECK_INT(IDirect3DSurface9_GetDesc(surface, &desc), D3D_OK);
    CHECK_INT(desc.Format, D3DFMT_R32F);
    CHECK_INT(desc.Usage, D3DUSAGE_RENDERTARGET);
    CHECK_INT(desc.Pool, D3DPOOL_DEFAULT);
    CHECK_INT(desc.Width, 6);
    CHECK_INT(desc.Height, 5);
    CHECK_INT(IDirect3DSurface9_GetType(surface), D3DRTYPE_SURFACE);
    IDirect3DSurface9_Release(surface);
    rig9_destroy(&rig);
}

void test_textures9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DTexture9 *texture = NULL;
    IDirect3DSurface9 *level = NULL;
    D3DLOCKED_RECT locked;
    D3DSURFACE_DESC desc;

    CHECK_INT(IDirect3DDevice9_CreateTexture(rig.device, 4, 4, 2, D3DUSAGE_DYNAMIC, D3DFMT_L8, D3DPOOL_DEFAULT,
                                             &texture, NULL),
              D3D_OK);
    CHECK_INT(IDirect3DTexture9_GetLevelDesc(texture, 1, &desc), D3D_OK);
    CHECK_INT(desc.Width, 2);
    CHECK_INT(desc.Usage, D3DUSAGE_DYNAMIC);
    CHECK_INT(IDirect3DTexture9_LockRect(texture, 1, &locked, NULL, D3DLOCK_DISCARD), D3D_OK);
    CHECK_INT(*(unsigned char *)locked.pBits, FAKE_D3D_UNDEFINED);
    memcpy(locked.pBits, "ab", 2);
    memcpy((char *)locked.pBits + locked.Pitch, "cd", 2);
    CHECK_INT(IDirect3DTexture9_UnlockRect(texture, 1), D3D_OK);
    CHECK_INT(IDirect3DTexture9_GetSurfaceLevel(texture, 1, &level), D3D_OK);
    EXPECT9(level, "abcd");
    IDirect3DSurface9_Release(level);
    IDirect3DTexture9_Release(texture);

    CHECK_INT(IDirect3DDevice9_CreateTexture(rig.device, 4, 4, 1, 0, D3DFMT_L8, D3DPOOL_DEFAULT, &texture, NULL),
              D3D_OK);
    CHECK_INT(IDirect3DTexture9_LockRect(texture, 0, &locked, NULL, 0), D3DERR_INVALIDCALL);
    IDirect3DTexture9_Release(texture);
    CHECK_INT(IDirect3DDevice9_CreateTexture(rig.device, 4, 4, 1, 0, NV12, D3DPOOL_DEFAULT, &texture, NULL),
              D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_CreateTexture(rig.device, 4, 4, 9, 0, D3DFMT_L8, D3DPOOL_DEFAULT, &texture, NULL),
              D3DERR_INVALIDCALL);
    rig9_destroy(&rig);
}

void test_locks9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *surface = plain9(&rig, D3DFMT_L16, 3, 2, D3DPOOL_DEFAULT), *hidden;
    RECT corner = {1, 1, 3, 2}, outside = {1, 1, 4, 2};
    D3DLOCKED_RECT locked;

    write9(surface, "abcdefghijkl", 6, 2);
    EXPECT9(surface, "abcdefghijkl");
    CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, &corner, 0), D3D_OK);
    CHECK(locked.Pitch > 256);
    memcpy(locked.pBits, "WXYZ", 4);
    CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, NULL, 0), D3DERR_INVALIDCALL);
    EXPECT_VIOLATION("already locked");
    CHECK_INT(IDirect3DSurface9_UnlockRect(surface), D3D_OK);
    EXPECT9(surface, "abcdefghWXYZ");
    CHECK_INT(IDirect3DSurface9_UnlockRect(surface), D3DERR_INVALIDCALL);
    EXPECT_VIOLATION("not locked");
    CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, &outside, 0), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, NULL, D3DLOCK_DISCARD), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, NULL, D3DLOCK_READONLY), D3D_OK);
    *(unsigned char *)locked.pBits = 'x';
    CHECK_INT(IDirect3DSurface9_UnlockRect(surface), D3D_OK);
    EXPECT_VIOLATION("mapped for reading");
    EXPECT9(surface, "abcdefghWXYZ");

    hidden = target9(&rig, D3DFMT_L8, 4, 4, FALSE);
    CHECK_INT(IDirect3DSurface9_LockRect(hidden, &locked, NULL, 0), D3DERR_INVALIDCALL);
    IDirect3DSurface9_Release(hidden);
    hidden = target9(&rig, D3DFMT_L8, 4, 4, TRUE);
    CHECK_INT(IDirect3DSurface9_LockRect(hidden, &locked, NULL, 0), D3D_OK);
    CHECK_INT(IDirect3DSurface9_UnlockRect(hidden), D3D_OK);
    IDirect3DSurface9_Release(hidden);
    IDirect3DSurface9_Release(surface);
    rig9_destroy(&rig);
}

void test_planar9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *nv12 = plain9(&rig, NV12, 4, 2, D3DPOOL_DEFAULT);
    IDirect3DSurface9 *yv12 = plain9(&rig, YV12, 4, 4, D3DPOOL_DEFAULT);
    D3DLOCKED_RECT locked;
    size_t pitch;

    write9(nv12, "lumaLUMAuvUV", 4, 3);
    EXPECT9(nv12, "lumaLUMAuvUV");

    /* Four rows of luma, then two each of V and U with half the pitch. */
    CHECK_INT(IDirect3DSurface9_LockRect(yv12, &locked, NULL, 0), D3D_OK);
    pitch = (unsigned)locked.Pitch;
    memset(locked.pBits, 'y', 4);
    memset((char *)locked.pBits + pitch, 'Y', 4);
    memset((char *)locked.pBits + 2 * pitch, 'y', 4);
    memset((char *)locked.pBits + 3 * pitch, 'Y', 4);
    memcpy((char *)locked.pBits + 4 * pitch, "v1", 2);
    memcpy((char *)locked.pBits + 4 * pitch + pitch / 2, "v2", 2);
    memcpy((char *)locked.pBits + 5 * pitch, "u1", 2);
    memcpy((char *)locked.pBits + 5 * pitch + pitch / 2, "u2", 2);
    CHECK_INT(IDirect3DSurface9_UnlockRect(yv12), D3D_OK);
    EXPECT9(yv12, "yyyyYYYYyyyyYYYYv1v2u1u2");
    IDirect3DSurface9_Release(nv12);
    IDirect3DSurface9_Release(yv12);
    rig9_destroy(&rig);
}

void test_copies9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *memory = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_SYSTEMMEM);
    IDirect3DSurface9 *target = target9(&rig, D3DFMT_L8, 2, 2, FALSE);
    IDirect3DSurface9 *plain = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_DEFAULT);
    RECT top = {0, 0, 2, 1};
    POINT second = {0, 1};
    D3DLOCKED_RECT locked;

    write9(memory, "abcd", 2, 2);
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, memory, NULL, target, NULL), D3D_OK);
    EXPECT9(target, "abcd");
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, memory, &top, target, &second), D3D_OK);
    EXPECT9(target, "abab");
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, memory, NULL, plain, NULL), D3D_OK);
    CHECK_INT(IDirect3DDevice9_StretchRect(rig.device, plain, NULL, target, NULL, D3DTEXF_NONE), D3D_OK);
    EXPECT9(target, "abcd");
    write9(memory, "    ", 2, 2);

    /* A lock waits for the copy. */
    fake_d3d_delay(20);
    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, target, memory), D3D_OK);
    EXPECT9(memory, "    ");
    fake_d3d_hold(true);
    CHECK_INT(IDirect3DSurface9_LockRect(memory, &locked, NULL, D3DLOCK_READONLY | D3DLOCK_DONOTWAIT),
              D3DERR_WASSTILLDRAWING);
    fake_d3d_hold(false);
    CHECK_INT(IDirect3DSurface9_LockRect(memory, &locked, NULL, D3DLOCK_READONLY), D3D_OK);
    CHECK_MEM(locked.pBits, "ab", 2);
    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, target, memory), D3DERR_INVALIDCALL);
    EXPECT_VIOLATION("locked");
    CHECK_INT(IDirect3DSurface9_UnlockRect(memory), D3D_OK);
    EXPECT9(memory, "abcd");
    IDirect3DSurface9_Release(memory);
    IDirect3DSurface9_Release(target);
    IDirect3DSurface9_Release(plain);
    rig9_destroy(&rig);
}

void test_copy_rules9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *memory = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_SYSTEMMEM);
    IDirect3DSurface9 *other = plain9(&rig, D3DFMT_A8, 2, 2, D3DPOOL_SYSTEMMEM);
    IDirect3DSurface9 *large = plain9(&rig, D3DFMT_L8, 4, 2, D3DPOOL_SYSTEMMEM);
    IDirect3DSurface9 *target = target9(&rig, D3DFMT_L8, 2, 2, FALSE);
    IDirect3DSurface9 *plain = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_DEFAULT);
    IDirect3DSurface9 *all[] = {memory, other, large, target, plain};
    POINT beyond = {1, 0};
    unsigned i;

    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, plain, memory), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, target, plain), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, target, other), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, target, large), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, plain, NULL, target, NULL), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, other, NULL, target, NULL), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, memory, NULL, target, &beyond), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_StretchRect(rig.device, target, NULL, plain, NULL, D3DTEXF_NONE), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_StretchRect(rig.device, memory, NULL, target, NULL, D3DTEXF_NONE), D3DERR_INVALIDCALL);
    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        IDirect3DSurface9_Release(all[i]);
    rig9_destroy(&rig);
}

void test_fill9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *target = target9(&rig, D3DFMT_A8R8G8B8, 2, 1, FALSE);
    IDirect3DSurface9 *memory = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_SYSTEMMEM);
    IDirect3DSurface9 *wide = plain9(&rig, D3DFMT_L16, 2, 2, D3DPOOL_DEFAULT);
    RECT right = {1, 0, 2, 1};

    CHECK_INT(IDirect3DDevice9_ColorFill(rig.device, target, NULL, 0x61626364), D3D_OK);
    EXPECT9(target, "dcbadcba");
    CHECK_INT(IDirect3DDevice9_ColorFill(rig.device, target, &right, 0x65666768), D3D_OK);
    EXPECT9(target, "dcbahgfe");
    CHECK_INT(IDirect3DDevice9_ColorFill(rig.device, memory, NULL, 0), D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_ColorFill(rig.device, wide, NULL, 0), E_NOTIMPL);
    CHECK_STR(fake_d3d_last_stub(), "IDirect3DDevice9::ColorFill");
    IDirect3DSurface9_Release(target);
    IDirect3DSurface9_Release(memory);
    IDirect3DSurface9_Release(wide);
    fake_d3d_reset();
    rig9_destroy(&rig);
}

void test_shared9(void)
{
    struct rig9 rig = rig9_create(true, 0);
    IDirect3DSurface9 *first = NULL, *second = NULL;
    HANDLE handle = NULL;
    IDirect3DDevice9 *device = rig.device;

    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(device, 2, 2, D3DFMT_L8, D3DPOOL_DEFAULT, &first, &handle),
              D3D_OK);
    CHECK(handle != NULL);
    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(device, 2, 4, D3DFMT_L8, D3DPOOL_DEFAULT, &second, &handle),
              D3DERR_INVALIDCALL);
    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(device, 2, 2, D3DFMT_L8, D3DPOOL_DEFAULT, &second, &handle),
              D3D_OK);
    write9(first, "abcd", 2, 2);
    EXPECT9(second, "abcd");
    IDirect3DSurface9_Release(first);
    IDirect3DSurface9_Release(second);
    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(device, 2, 2, D3DFMT_L8, D3DPOOL_SYSTEMMEM, &first, &handle),
              D3DERR_INVALIDCALL);
    rig9_destroy(&rig);

    rig = rig9_create(false, 0);
    handle = NULL;
    CHECK_INT(
        IDirect3DDevice9_CreateOffscreenPlainSurface(rig.device, 2, 2, D3DFMT_L8, D3DPOOL_DEFAULT, &first, &handle),
        D3DERR_INVALIDCALL);
    rig9_destroy(&rig);
}

void test_queries9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DQuery9 *query = NULL;
    BOOL data = FALSE;

    CHECK_INT(IDirect3DDevice9_CreateQuery(rig.device, D3DQUERYTYPE_EVENT, NULL), D3D_OK);
    CHECK_INT(IDirect3DDevice9_CreateQuery(rig.device, D3DQUERYTYPE_OCCLUSION, NULL), D3DERR_NOTAVAILABLE);
    CHECK_INT(IDirect3DDevice9_CreateQuery(rig.device, D3DQUERYTYPE_EVENT, &query), D3D_OK);
    CHECK_INT(IDirect3DQuery9_GetType(query), D3DQUERYTYPE_EVENT);
    CHECK_INT(IDirect3DQuery9_Issue(query, D3DISSUE_BEGIN), D3DERR_INVALIDCALL);
    fake_d3d_hold(true);
    CHECK_INT(IDirect3DQuery9_Issue(query, D3DISSUE_END), D3D_OK);
    CHECK_INT(IDirect3DQuery9_GetData(query, &data, sizeof data, D3DGETDATA_FLUSH), S_FALSE);
    fake_d3d_hold(false);
    CHECK_INT(IDirect3DQuery9_GetData(query, &data, sizeof data, 0), S_OK);
    CHECK_INT(data, TRUE);
    fake_d3d_remove(rig.device, D3DERR_DEVICELOST);
    CHECK_INT(IDirect3DQuery9_GetData(query, &data, sizeof data, 0), D3DERR_DEVICELOST);
    CHECK_INT(IDirect3DQuery9_Release(query), 0);
    rig9_destroy(&rig);
}

void test_loss9(void)
{
    struct rig9 rig = rig9_create(false, 0);
    IDirect3DSurface9 *surface = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_DEFAULT);
    IDirect3DSurface9 *memory = plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_SYSTEMMEM);
    IDirect3DSurface9 *target = target9(&rig, D3DFMT_L8, 2, 2, FALSE);
    D3DPRESENT_PARAMETERS parameters = {.Windowed = TRUE};
    D3DLOCKED_RECT locked;

    write9(surface, "abcd", 2, 2);
    CHECK_INT(IDirect3DDevice9_TestCooperativeLevel(rig.device), D3D_OK);
    fake_d3d_remove(rig.device, D3DERR_DEVICELOST);
    CHECK_INT(IDirect3DDevice9_TestCooperativeLevel(rig.device), D3DERR_DEVICELOST);
    CHECK_INT(IDirect3DDevice9_GetRenderTargetData(rig.device, target, memory), D3DERR_DEVICELOST);
    CHECK_INT(IDirect3DDevice9_UpdateSurface(rig.device, memory, NULL, target, NULL), D3D_OK);
    CHECK(!plain9(&rig, D3DFMT_L8, 2, 2, D3DPOOL_DEFAULT));
    /* A lock gives memory that nobody will see. */
    CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, NULL, 0), D3D_OK);
    CHECK_INT(*(unsigned char *)locked.pBits, FAKE_D3D_UNDEFINED);
    CHECK_INT(IDirect3DSurface9_UnlockRect(surface), D3D_OK);
    CHECK_INT(IDirect3DDevice9_Reset(rig.device, &parameters), D3DERR_DEVICELOST);
    fake_d3d_remove(rig.device, D3DERR_DEVICENOTRESET);
    CHECK_INT(IDirect3DDevice9_TestCooperativeLevel(rig.device), D3DERR_DEVICENOTRESET);
    CHECK_INT(IDirect3DDevice9_Reset(rig.device, &parameters), D3DERR_INVALIDCALL);
    IDirect3DSurface9_Release(surface);
    IDirect3DSurface9_Release(target);
    CHECK_INT(IDirect3DDevice9_Reset(rig.device, &parameters), D3D_OK);
    CHECK_INT(IDirect3DDevice9_TestCooperativeLevel(rig.device), D3D_OK);
    IDirect3DSurface9_Release(memory);
    rig9_destroy(&rig);

    rig = rig9_create(true, 0);
    fake_d3d_remove(rig.device, D3DERR_DEVICEHUNG);
    CHECK_INT(IDirect3DDevice9Ex_CheckDeviceState((IDirect3DDevice9Ex *)rig.device, NULL), D3DERR_DEVICEHUNG);
    CHECK_INT(IDirect3DDevice9_TestCooperativeLevel(rig.device), D3D_OK);
    rig9_destroy(&rig);
}

static void *test_often(void *device)
{
    int i;

    for (i = 0; i < 4; i++)
        IDirect3DDevice9_TestCooperativeLevel((IDirect3DDevice9 *)device);
    return NULL;
}

/* Up to so many times; returns whether the fake saw them meet. */
static bool threads_meet(struct rig9 *rig, int rounds)
{
    pthread_t thread;

    fake_d3d_slow_calls(5000);
    while (rounds-- && !fake_d3d_violations()) {
        pthread_create(&thread, NULL, test_often, rig->device);
        test_often(rig->device);
        pthread_join(thread, NULL);
    }
    fake_d3d_slow_calls(0);
    return fake_d3d_violations() > 0;
}

void test_threads9(void)
{
    struct rig9 rig = rig9_create(false, 0);

    CHECK(threads_meet(&rig, 50));
    fake_d3d_forget_violations();
    rig9_destroy(&rig);
    rig = rig9_create(false, D3DCREATE_MULTITHREADED);
    CHECK(!threads_meet(&rig, 1));
    rig9_destroy(&rig);
}
