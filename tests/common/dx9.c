#include "dx9.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- formats ---- */

#define PLANE(dxgi, order, type, channels, bytes)                            \
    {                                                                        \
#dxgi, DXGI_FORMAT_##dxgi, {CL_##order, CL_##type }, channels, bytes \
    }
#define R8 PLANE(R8_UNORM, R, UNORM_INT8, 1, 1)
#define ROW(name, x8, ...)           \
    {                                \
#name, D3DFMT_##name, 1, x8, \
        {                            \
            PLANE(__VA_ARGS__)       \
        }                            \
    }

const struct dx9_format dx9_formats[DX9_FORMAT_COUNT] = {
    {"NV12", (D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'), 2, false, {R8, PLANE(R8G8_UNORM, RG, UNORM_INT8, 2, 1)}},
    {"YV12", (D3DFORMAT)MAKEFOURCC('Y', 'V', '1', '2'), 3, false, {R8, R8, R8}},
    ROW(R32F, false, R32_FLOAT, R, FLOAT, 1, 4),
    ROW(R16F, false, R16_FLOAT, R, HALF_FLOAT, 1, 2),
    ROW(L16, false, R16_UNORM, R, UNORM_INT16, 1, 2),
    ROW(A8, false, A8_UNORM, A, UNORM_INT8, 1, 1),
    ROW(L8, false, R8_UNORM, R, UNORM_INT8, 1, 1),
    ROW(G32R32F, false, R32G32_FLOAT, RG, FLOAT, 2, 4),
    ROW(G16R16F, false, R16G16_FLOAT, RG, HALF_FLOAT, 2, 2),
    ROW(G16R16, false, R16G16_UNORM, RG, UNORM_INT16, 2, 2),
    ROW(A8L8, false, R8G8_UNORM, RG, UNORM_INT8, 2, 1),
    ROW(A32B32G32R32F, false, R32G32B32A32_FLOAT, RGBA, FLOAT, 4, 4),
    ROW(A16B16G16R16F, false, R16G16B16A16_FLOAT, RGBA, HALF_FLOAT, 4, 2),
    ROW(A16B16G16R16, false, R16G16B16A16_UNORM, RGBA, UNORM_INT16, 4, 2),
    ROW(A8B8G8R8, false, R8G8B8A8_UNORM, RGBA, UNORM_INT8, 4, 1),
    ROW(X8B8G8R8, true, R8G8B8A8_UNORM, RGBA, UNORM_INT8, 4, 1),
    ROW(A8R8G8B8, false, B8G8R8A8_UNORM, BGRA, UNORM_INT8, 4, 1),
    ROW(X8R8G8B8, true, B8G8R8A8_UNORM, BGRA, UNORM_INT8, 4, 1),
};

#define FOURCC_OF(a, b, c, d) (D3DFORMAT) MAKEFOURCC(a, b, c, d)
#define PACKED(name, a, b, c, d, order)                \
    {                                                  \
        name, FOURCC_OF(a, b, c, d), 1, false,         \
        {                                              \
            PLANE(R8G8_UNORM, order, UNORM_INT8, 2, 1) \
        }                                              \
    }

const struct dx9_format dx9_beyond[DX9_BEYOND_COUNT] = {
    {"P010",
     FOURCC_OF('P', '0', '1', '0'),
     2,
     false,
     {PLANE(R16_UNORM, R, UNORM_INT16, 1, 2), PLANE(R16G16_UNORM, RG, UNORM_INT16, 2, 2)}},
    PACKED("YUY2", 'Y', 'U', 'Y', '2', YUYV_INTEL),
    PACKED("UYVY", 'U', 'Y', 'V', 'Y', UYVY_INTEL),
    PACKED("YVYU", 'Y', 'V', 'Y', 'U', YVYU_INTEL),
    PACKED("VYUY", 'V', 'Y', 'U', 'Y', VYUY_INTEL),
};

const struct dx9_format *dx9_format_of(D3DFORMAT d3d)
{
    for (unsigned i = 0; i < DX9_FORMAT_COUNT; i++)
        if (dx9_formats[i].d3d == d3d)
            return &dx9_formats[i];
    return NULL;
}

/* ---- the rig ---- */

/* Each device has its own, which is never shown: DXVK can't present to the desktop's, and Wine 10.0 corrupts the heap if two devices
 * of DXVK have the same (docs/worlds.md). */
static HWND make_window(void)
{
#ifdef _WIN32
    return CreateWindowA("STATIC", "test", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, NULL, NULL, NULL, NULL);
#else
    return NULL;
#endif
}

static IDirect3D9 *make_d3d(bool extended)
{
    IDirect3D9 *d3d9 = NULL;
    if (extended)
        CHECK_INT(Direct3DCreate9Ex(D3D_SDK_VERSION, (IDirect3D9Ex **)&d3d9), S_OK);
    else
        d3d9 = Direct3DCreate9(D3D_SDK_VERSION);
    return d3d9;
}

#ifdef _WIN32
/* For Direct3D 9 and 9Ex, to the end of the process: for each new one Wine examines OpenGL's formats for 0.2 s, while a device takes
 * 4 ms. */
static void *kept[2];

/* With a reference. Any thread. */
static IDirect3D9 *get_d3d(bool extended)
{
    IDirect3D9 *made = kept[extended] ? NULL : make_d3d(extended);
    if (made && InterlockedCompareExchangePointer(&kept[extended], made, NULL))
        IDirect3D9_Release(made); /* another thread was there before */
    if (kept[extended])
        IDirect3D9_AddRef((IDirect3D9 *)kept[extended]);
    return kept[extended];
}

static void close_d3d(const struct dx9 *dx9)
{
    IDirect3D9_Release(dx9->d3d9); /* threads may have it too; dx9_run counts */
    CHECK(DestroyWindow(dx9->window));
}

static void check_kept(void)
{
    for (int i = 0; i < 2; i++)
        if (kept[i])
            CHECK_INT(rig_refs(kept[i]), 1);
}
#else
#define get_d3d make_d3d

static void close_d3d(const struct dx9 *dx9)
{
    CHECK_INT(IDirect3D9_Release(dx9->d3d9), 0);
}

static void check_kept(void)
{
}
#endif

static bool open_d3d(bool extended, DWORD more_flags, HWND window, IDirect3D9 **d3d9, IDirect3DDevice9 **device)
{
    D3DPRESENT_PARAMETERS parameters = {.BackBufferWidth = 64,
                                        .BackBufferHeight = 64,
                                        .Windowed = TRUE,
                                        .BackBufferFormat = D3DFMT_X8R8G8B8,
                                        .SwapEffect = D3DSWAPEFFECT_DISCARD,
                                        .hDeviceWindow = window};
    const DWORD flags = D3DCREATE_HARDWARE_VERTEXPROCESSING | D3DCREATE_FPU_PRESERVE | more_flags;
    *device = NULL;
    *d3d9 = get_d3d(extended);
    if (!CHECK(*d3d9 != NULL))
        return false;
    const HRESULT made = extended
                             ? IDirect3D9Ex_CreateDeviceEx((IDirect3D9Ex *)*d3d9, 0, D3DDEVTYPE_HAL, window, flags,
                                                           &parameters, NULL, (IDirect3DDevice9Ex **)device)
                             : IDirect3D9_CreateDevice(*d3d9, 0, D3DDEVTYPE_HAL, window, flags, &parameters, device);
    if (CHECK_INT(made, D3D_OK) && CHECK(*device != NULL))
        return true;
    IDirect3D9_Release(*d3d9);
    *d3d9 = NULL;
    return false;
}

IDirect3DDevice9 *dx9_make_device(bool extended)
{
    IDirect3D9 *d3d9;
    IDirect3DDevice9 *device;
    if (!open_d3d(extended, 0, make_window(), &d3d9, &device))
        return NULL;
    IDirect3D9_Release(d3d9); /* the device holds it */
    return device;
}

static bool find_functions(struct dx9 *dx9)
{
    return rig_find_function(&dx9->rig, "clGetDeviceIDsFromDX9MediaAdapterKHR", &dx9->get_device_ids) &&
           rig_find_function(&dx9->rig, "clCreateFromDX9MediaSurfaceKHR", &dx9->create) &&
           rig_find_function(&dx9->rig, "clEnqueueAcquireDX9MediaSurfacesKHR", &dx9->acquire) &&
           rig_find_function(&dx9->rig, "clEnqueueReleaseDX9MediaSurfacesKHR", &dx9->release);
}

cl_context dx9_make_context(const struct dx9 *dx9, cl_context_properties property, void *device, cl_int *status)
{
    return rig_make_context_with(&dx9->rig, property, device, false, status);
}

bool dx9_open(struct dx9 *dx9, bool extended, unsigned flags)
{
    *dx9 = (struct dx9){.extended = extended,
                        .adapter_type = extended ? CL_ADAPTER_D3D9EX_KHR : CL_ADAPTER_D3D9_KHR,
                        .property = extended ? CL_CONTEXT_ADAPTER_D3D9EX_KHR : CL_CONTEXT_ADAPTER_D3D9_KHR,
                        .window = make_window()};
    const DWORD device_flags = flags & DX9_MULTITHREADED ? D3DCREATE_MULTITHREADED : 0;
    if (open_d3d(extended, device_flags, dx9->window, &dx9->d3d9, &dx9->device) &&
        CHECK(rig_find_device(&dx9->rig, NULL)) && find_functions(dx9) &&
        (flags & RIG_NO_CONTEXT || rig_open_context(&dx9->rig, dx9->property, dx9->device, flags)))
        return true;
    dx9_close(dx9);
    return false;
}

void dx9_close(struct dx9 *dx9)
{
    if (dx9->rig.queue)
        CHECK_INT(clReleaseCommandQueue(dx9->rig.queue), CL_SUCCESS);
    if (dx9->rig.context)
        CHECK_INT(clReleaseContext(dx9->rig.context), CL_SUCCESS);
    if (dx9->device)
        CHECK_INT(IDirect3DDevice9_Release(dx9->device), 0);
    if (dx9->d3d9)
        close_d3d(dx9);
    *dx9 = (struct dx9){0};
}

void dx9_run(bool extended, unsigned flags, void (*body)(struct dx9 *))
{
    struct dx9 dx9;
    const unsigned before = rig_begin();
    if (!dx9_open(&dx9, extended, flags))
        return;
    body(&dx9);
    dx9_close(&dx9);
    check_kept();
    rig_end(NULL, before);
}

/* ---- DXVA-HD ---- */

typedef HRESULT(WINAPI *create_dxva)(IDirect3DDevice9Ex *, const DXVAHD_CONTENT_DESC *, DXVAHD_DEVICE_USAGE, void *,
                                     IDXVAHD_Device **);

static create_dxva find_dxva(void)
{
#ifdef _WIN32
    create_dxva create = NULL;
    HMODULE library = LoadLibraryA("dxva2.dll");
    FARPROC address = library ? GetProcAddress(library, "DXVAHD_CreateDevice") : NULL;
    memcpy(&create, &address, sizeof(create));
    return create;
#else
    return DXVAHD_CreateDevice;
#endif
}

IDXVAHD_Device *dx9_make_dxva(const struct dx9 *dx9)
{
    const DXVAHD_CONTENT_DESC content = {DXVAHD_FRAME_FORMAT_PROGRESSIVE, {25, 1}, 64, 64, {25, 1}, 64, 64};
    const create_dxva create = find_dxva();
    IDXVAHD_Device *dxva = NULL;
    if (CHECK(create != NULL))
        CHECK_INT(create((IDirect3DDevice9Ex *)dx9->device, &content, DXVAHD_DEVICE_USAGE_PLAYBACK_NORMAL, NULL, &dxva),
                  S_OK);
    return dxva;
}

IDirect3DSurface9 *dx9_dxva_surface(IDXVAHD_Device *dxva, const struct dx9_format *format, bool output, UINT width,
                                    UINT height)
{
    IDirect3DSurface9 *surface = NULL;
    CHECK_INT(IDXVAHD_Device_CreateVideoSurface(
                  dxva, width, height, format->d3d, D3DPOOL_DEFAULT, 0,
                  output ? DXVAHD_SURFACE_TYPE_VIDEO_OUTPUT : DXVAHD_SURFACE_TYPE_VIDEO_INPUT, 1, &surface, NULL),
              S_OK);
    return surface;
}

/* ---- geometry ---- */

UINT dx9_plane_width(const struct dx9_surface *s, UINT plane)
{
    return plane ? (s->width + 1) / 2 : s->width;
}

UINT dx9_plane_height(const struct dx9_surface *s, UINT plane)
{
    return plane ? (s->height + 1) / 2 : s->height;
}

static size_t row_bytes(const struct dx9_surface *s, UINT plane)
{
    return (size_t)dx9_plane_width(s, plane) * format_texel(&s->format->planes[plane]);
}

size_t dx9_plane_bytes(const struct dx9_surface *s, UINT plane)
{
    return row_bytes(s, plane) * dx9_plane_height(s, plane);
}

size_t dx9_offset(const struct dx9_surface *s, UINT plane)
{
    return plane ? dx9_offset(s, plane - 1) + dx9_plane_bytes(s, plane - 1) : 0;
}

/* ---- making ---- */

static IDirect3DSurface9 *make_level(const struct dx9_surface *s)
{
    const DWORD usage = s->kind == DX9_TARGET_LEVEL    ? D3DUSAGE_RENDERTARGET
                        : s->kind == DX9_DYNAMIC_LEVEL ? D3DUSAGE_DYNAMIC
                                                       : 0;
    IDirect3DTexture9 *texture = NULL;
    IDirect3DSurface9 *level = NULL;
    if (FAILED(IDirect3DDevice9_CreateTexture(s->dx9->device, 2 * s->width, 2 * s->height, 2, usage, s->format->d3d,
                                              D3DPOOL_DEFAULT, &texture, NULL)))
        return NULL;
    CHECK_INT(IDirect3DTexture9_GetSurfaceLevel(texture, 1, &level), D3D_OK);
    IDirect3DTexture9_Release(texture); /* its level holds it */
    return level;
}

static IDirect3DSurface9 *make_surface(const struct dx9_surface *s)
{
    IDirect3DSurface9 *surface = NULL;
    HRESULT made;
    switch (s->kind) {
    case DX9_PLAIN:
        made = IDirect3DDevice9_CreateOffscreenPlainSurface(s->dx9->device, s->width, s->height, s->format->d3d,
                                                            D3DPOOL_DEFAULT, &surface, NULL);
        break;
    case DX9_TARGET:
    case DX9_LOCKABLE_TARGET:
        made =
            IDirect3DDevice9_CreateRenderTarget(s->dx9->device, s->width, s->height, s->format->d3d,
                                                D3DMULTISAMPLE_NONE, 0, s->kind == DX9_LOCKABLE_TARGET, &surface, NULL);
        break;
    default: return make_level(s);
    }
    return SUCCEEDED(made) ? surface : NULL;
}

bool dx9_make(struct dx9_surface *s, const struct dx9 *dx9, const struct dx9_format *format, enum dx9_kind kind,
              UINT width, UINT height)
{
    *s = (struct dx9_surface){.dx9 = dx9,
                              .format = format,
                              .kind = kind,
                              .width = width,
                              .height = height,
                              .context = dx9->rig.context,
                              .queue = dx9->rig.queue};
    s->bytes = dx9_offset(s, format->plane_count - 1) + dx9_plane_bytes(s, format->plane_count - 1);
    s->surface = make_surface(s);
    return s->surface != NULL;
}

cl_mem dx9_create(const struct dx9 *dx9, cl_context context, cl_mem_flags flags, IDirect3DSurface9 *surface,
                  cl_uint plane, cl_int *status)
{
    cl_dx9_surface_info_khr info = {surface, NULL};
    return dx9->create(context, flags, dx9->adapter_type, &info, plane, status);
}

bool dx9_share(struct dx9_surface *s, cl_mem_flags flags)
{
    bool made = true;
    for (UINT p = 0; p < s->format->plane_count; p++) {
        cl_int status = 1;
        s->planes[p] = dx9_create(s->dx9, s->context, flags, s->surface, p, &status);
        made = CHECK_INT(status, CL_SUCCESS) && CHECK(s->planes[p] != NULL) && made;
    }
    return made;
}

bool dx9_open_surface(struct dx9_surface *s, const struct dx9 *dx9, const struct dx9_format *format, enum dx9_kind kind,
                      UINT width, UINT height)
{
    if (!CHECK(dx9_make(s, dx9, format, kind, width, height)))
        return false;
    if (dx9_share(s, CL_MEM_READ_WRITE))
        return true;
    dx9_close_surface(s);
    return false;
}

void dx9_close_surface(struct dx9_surface *s)
{
    for (UINT p = 0; p < DX9_MOST_PLANES; p++) {
        if (s->planes[p])
            CHECK_INT(clReleaseMemObject(s->planes[p]), CL_SUCCESS);
        s->planes[p] = NULL;
    }
    rig_release(s->surface);
    s->surface = NULL;
}

/* ---- bytes through Direct3D ---- */

/* A plane in a locked surface: chroma follows the luma, with its pitch (NV12) or with half of it (YV12). */
static unsigned char *locked_plane(const struct dx9_surface *s, const D3DLOCKED_RECT *locked, UINT plane, size_t *pitch)
{
    unsigned char *at = locked->pBits;
    *pitch = (size_t)locked->Pitch;
    if (!plane)
        return at;
    at += *pitch * s->height;
    if (s->format->plane_count == 3)
        *pitch /= 2;
    return at + (plane - 1) * *pitch * dx9_plane_height(s, plane);
}

static bool copy_locked(const struct dx9_surface *s, IDirect3DSurface9 *surface, unsigned char *bytes, bool to_surface)
{
    D3DLOCKED_RECT locked;
    if (!CHECK_INT(IDirect3DSurface9_LockRect(surface, &locked, NULL, to_surface ? 0 : D3DLOCK_READONLY), D3D_OK))
        return false;
    for (UINT p = 0; p < s->format->plane_count; p++) {
        size_t pitch;
        const size_t row = row_bytes(s, p);
        unsigned char *at = locked_plane(s, &locked, p, &pitch);
        for (UINT y = 0; y < dx9_plane_height(s, p); y++, at += pitch, bytes += row)
            memcpy(to_surface ? at : bytes, to_surface ? bytes : at, row);
    }
    return CHECK_INT(IDirect3DSurface9_UnlockRect(surface), D3D_OK);
}

static bool can_lock(const struct dx9_surface *s)
{
    return s->kind == DX9_PLAIN || s->kind == DX9_DYNAMIC_LEVEL || s->kind == DX9_LOCKABLE_TARGET;
}

static IDirect3DSurface9 *make_memory(const struct dx9_surface *s)
{
    IDirect3DSurface9 *memory = NULL;
    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(s->dx9->device, s->width, s->height, s->format->d3d,
                                                           D3DPOOL_SYSTEMMEM, &memory, NULL),
              D3D_OK);
    return memory;
}

bool dx9_write(struct dx9_surface *s, const void *bytes)
{
    if (can_lock(s))
        return copy_locked(s, s->surface, (unsigned char *)bytes, true);
    IDirect3DSurface9 *memory = make_memory(s);
    const bool done = memory && copy_locked(s, memory, (unsigned char *)bytes, true) &&
                      CHECK_INT(IDirect3DDevice9_UpdateSurface(s->dx9->device, memory, NULL, s->surface, NULL), D3D_OK);
    rig_release(memory);
    return done;
}

/* A texture that is no render target can be read only by drawing it into one. */
static IDirect3DSurface9 *readable(const struct dx9_surface *s)
{
    IDirect3DSurface9 *target = NULL;
    if (s->kind != DX9_LEVEL) {
        IDirect3DSurface9_AddRef(s->surface);
        return s->surface;
    }
    if (FAILED(IDirect3DDevice9_CreateRenderTarget(s->dx9->device, s->width, s->height, s->format->d3d,
                                                   D3DMULTISAMPLE_NONE, 0, FALSE, &target, NULL)))
        return NULL;
    if (SUCCEEDED(IDirect3DDevice9_StretchRect(s->dx9->device, s->surface, NULL, target, NULL, D3DTEXF_NONE)))
        return target;
    rig_release(target);
    return NULL;
}

bool dx9_read(struct dx9_surface *s, void *bytes)
{
    if (can_lock(s))
        return copy_locked(s, s->surface, bytes, false);
    IDirect3DSurface9 *memory = make_memory(s), *source = readable(s);
    const bool done = memory && source &&
                      CHECK_INT(IDirect3DDevice9_GetRenderTargetData(s->dx9->device, source, memory), D3D_OK) &&
                      copy_locked(s, memory, bytes, false);
    rig_release(memory);
    rig_release(source);
    return done;
}

/* Gives the fourth bytes of one memory to another. */
static void copy_x(size_t bytes, unsigned char *to, const unsigned char *from)
{
    for (size_t i = 3; i < bytes; i += 4)
        to[i] = from[i];
}

bool dx9_keeps(struct dx9_surface *s)
{
    unsigned char *expected = dx9_pattern(s, 90), *found = calloc(1, s->bytes);
    bool kept = dx9_write(s, expected) && dx9_read(s, found);
    if (kept && s->format->x8 && memcmp(found, expected, s->bytes) != 0) {
        s->x_lost = true;
        copy_x(s->bytes, found, expected);
    }
    kept = kept && memcmp(found, expected, s->bytes) == 0;
    free(found);
    free(expected);
    return kept;
}

/* ---- patterns ---- */

unsigned char *dx9_pattern(const struct dx9_surface *s, unsigned seed)
{
    unsigned char *bytes = malloc(s->bytes);
    for (UINT p = 0; p < s->format->plane_count; p++)
        rig_pattern_for(s->format->planes[p].dxgi, bytes + dx9_offset(s, p), dx9_plane_bytes(s, p), seed + 1000 * p);
    return bytes;
}

void dx9_fill(struct dx9_surface *s, unsigned seed)
{
    unsigned char *bytes = dx9_pattern(s, seed);
    dx9_write(s, bytes);
    free(bytes);
}

void dx9_frame(struct dx9_surface *s, unsigned seed)
{
    dx9_fill(s, seed);
    dx9_acquire(s);
    dx9_cl_expect(s, seed);
    dx9_cl_fill(s, seed + 1);
    dx9_release(s);
    dx9_expect(s, seed + 1);
}

void dx9_round_trip_from(struct dx9_surface *s, unsigned seed)
{
    dx9_frame(s, seed);
    dx9_fill(s, seed + 2);
    dx9_acquire(s);
    dx9_cl_expect(s, seed + 2);
    dx9_release(s);
    dx9_expect(s, seed + 2);
}

void dx9_round_trip(struct dx9_surface *s)
{
    dx9_round_trip_from(s, 1);
}

static void expect_planes(const char *side, struct dx9_surface *s, unsigned char *found, const unsigned char *expected)
{
    if (s->x_lost)
        copy_x(s->bytes, found, expected);
    for (UINT p = 0; p < s->format->plane_count; p++) {
        const size_t at = dx9_offset(s, p);
        const int before = dx9_failures();
        CHECK_MEM(found + at, expected + at, dx9_plane_bytes(s, p));
        dx9_remark(before, "in %s, plane %u", side, p);
    }
}

void dx9_expect_bytes(struct dx9_surface *s, const unsigned char *expected)
{
    unsigned char *found = calloc(1, s->bytes);
    if (dx9_read(s, found))
        expect_planes("Direct3D", s, found, expected);
    free(found);
}

void dx9_expect(struct dx9_surface *s, unsigned seed)
{
    unsigned char *expected = dx9_pattern(s, seed);
    dx9_expect_bytes(s, expected);
    free(expected);
}

/* ---- OpenCL ---- */

void dx9_acquire(struct dx9_surface *s)
{
    CHECK_INT(s->dx9->acquire(s->queue, s->format->plane_count, s->planes, 0, NULL, NULL), CL_SUCCESS);
}

void dx9_release(struct dx9_surface *s)
{
    CHECK_INT(s->dx9->release(s->queue, s->format->plane_count, s->planes, 0, NULL, NULL), CL_SUCCESS);
}

void dx9_acquire_plane(struct dx9_surface *s, UINT plane)
{
    CHECK_INT(s->dx9->acquire(s->queue, 1, &s->planes[plane], 0, NULL, NULL), CL_SUCCESS);
}

void dx9_release_plane(struct dx9_surface *s, UINT plane)
{
    CHECK_INT(s->dx9->release(s->queue, 1, &s->planes[plane], 0, NULL, NULL), CL_SUCCESS);
}

void dx9_cl_write(struct dx9_surface *s, UINT plane, const unsigned char *bytes)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {dx9_plane_width(s, plane), dx9_plane_height(s, plane), 1};
    CHECK_INT(clEnqueueWriteImage(s->queue, s->planes[plane], CL_TRUE, origin, region, 0, 0,
                                  bytes + dx9_offset(s, plane), 0, NULL, NULL),
              CL_SUCCESS);
}

void dx9_cl_read(struct dx9_surface *s, UINT plane, unsigned char *bytes)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {dx9_plane_width(s, plane), dx9_plane_height(s, plane), 1};
    CHECK_INT(clEnqueueReadImage(s->queue, s->planes[plane], CL_TRUE, origin, region, 0, 0,
                                 bytes + dx9_offset(s, plane), 0, NULL, NULL),
              CL_SUCCESS);
}

void dx9_cl_fill(struct dx9_surface *s, unsigned seed)
{
    unsigned char *bytes = dx9_pattern(s, seed);
    for (UINT p = 0; p < s->format->plane_count; p++)
        dx9_cl_write(s, p, bytes);
    free(bytes);
}

void dx9_cl_expect(struct dx9_surface *s, unsigned seed)
{
    unsigned char *expected = dx9_pattern(s, seed), *found = calloc(1, s->bytes);
    for (UINT p = 0; p < s->format->plane_count; p++)
        dx9_cl_read(s, p, found);
    expect_planes("OpenCL", s, found, expected);
    free(found);
    free(expected);
}

/* ---- cases ---- */

int dx9_failures(void)
{
    return atomic_load(&tap_case.failures);
}

void dx9_remark(int before, const char *text, ...)
{
    char line[256] = "# ";
    va_list arguments;
    if (dx9_failures() == before)
        return;
    va_start(arguments, text);
    vsnprintf(line + 2, sizeof(line) - 2, text, arguments);
    va_end(arguments);
    tap_line(line);
}

void dx9_left_out(const struct dx9_format *format, const char *why)
{
    char line[128];
    snprintf(line, sizeof(line), "# left out: %s: %s", format->name, why);
    tap_line(line);
}

unsigned dx9_each_format(const struct dx9 *dx9, enum dx9_kind kind, UINT width, UINT height,
                         void (*test)(struct dx9_surface *))
{
    unsigned ran = 0;
    for (unsigned i = 0; i < DX9_FORMAT_COUNT; i++) {
        const struct dx9_format *format = &dx9_formats[i];
        const int before = dx9_failures();
        struct dx9_surface s;
        if (!dx9_make(&s, dx9, format, kind, width, height)) {
            dx9_left_out(format, "Direct3D makes no such surface");
            continue;
        }
        IDirect3DSurface9 *source = kind == DX9_LEVEL ? readable(&s) : NULL;
        if (kind == DX9_LEVEL && !source) {
            dx9_left_out(format, "Direct3D has no way to read it back");
        } else if (!dx9_keeps(&s)) {
            dx9_left_out(format, "Direct3D itself does not give back what it got");
        } else if (dx9_share(&s, CL_MEM_READ_WRITE)) {
            test(&s);
            ran++;
        }
        rig_release(source);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", format->name);
    }
    return ran;
}
