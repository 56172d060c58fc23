/* NV12 and RGBA8 surfaces of Direct3D 9Ex. The CPU gets at them by a lock, so there is no copy by Direct3D. */
#define COBJMACROS
#include "surface.h"

#define FORMAT_NV12 ((D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'))

void *d3d9_open(void)
{
    IDirect3D9Ex *d3d = NULL;
    IDirect3DDevice9Ex *device = NULL;
    HWND window = CreateWindowA("static", "bench", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, NULL, NULL, NULL, NULL);
    D3DPRESENT_PARAMETERS parameters = {
        .BackBufferWidth = 64,
        .BackBufferHeight = 64,
        .BackBufferFormat = D3DFMT_X8R8G8B8,
        .BackBufferCount = 1,
        .SwapEffect = D3DSWAPEFFECT_DISCARD,
        .hDeviceWindow = window,
        .Windowed = TRUE,
    };
    check_d3d(Direct3DCreate9Ex(D3D_SDK_VERSION, &d3d), "Direct3DCreate9Ex", "a newer Direct3D 9 is needed");
    check_d3d(IDirect3D9Ex_CreateDeviceEx(d3d, D3DADAPTER_DEFAULT, D3DDEVTYPE_HAL, window,
                                          D3DCREATE_HARDWARE_VERTEXPROCESSING | D3DCREATE_MULTITHREADED, &parameters,
                                          NULL, &device),
              "CreateDeviceEx", "a graphics driver with Direct3D 9 is needed");
    IDirect3D9Ex_Release(d3d);
    return device;
}

/* The chroma rows follow the luma rows with the same pitch. */
static void map(struct surface *surface, bool over, bool back, struct rows rows[MOST_PLANES])
{
    D3DLOCKED_RECT locked;
    (void)over;
    check_d3d(
        IDirect3DSurface9_LockRect((IDirect3DSurface9 *)surface->resource, &locked, NULL, back ? 0 : D3DLOCK_READONLY),
        "LockRect", "this graphics driver does not allow locking such surfaces");
    rows[0] = (struct rows){locked.pBits, (size_t)locked.Pitch};
    if (surface->plane_count == 1)
        return;
    rows[1] =
        (struct rows){(char *)locked.pBits + (size_t)locked.Pitch * surface->planes[0].height, (size_t)locked.Pitch};
}

static void unmap(struct surface *surface, bool back)
{
    (void)back;
    check_d3d(IDirect3DSurface9_UnlockRect((IDirect3DSurface9 *)surface->resource), "UnlockRect", "the frame is lost");
}

static void draw(struct surface *surface, float value)
{
    struct rows rows[MOST_PLANES];
    map(surface, true, true, rows);
    *(unsigned char *)rows[0].data = (unsigned char)(value * 255 + 0.5f);
    unmap(surface, true);
}

static float look(struct surface *surface)
{
    struct rows rows[MOST_PLANES];
    map(surface, true, false, rows);
    const float value = (float)*(unsigned char *)rows[0].data / 255;
    unmap(surface, false);
    return value;
}

static void wait(struct surface *surface)
{
    (void)surface; /* an unlocked surface is ready */
}

static cl_mem share(struct surface *surface, const struct opencl *cl, cl_mem_flags flags, unsigned plane)
{
    cl_dx9_surface_info_khr info = {.resource = surface->resource};
    cl_int code;
    cl_mem object = cl->from_surface(cl->context, flags, CL_ADAPTER_D3D9EX_KHR, &info, plane, &code);
    check_cl(code, "clCreateFromDX9MediaSurfaceKHR", "this OpenCL cannot share such surfaces");
    return object;
}

static void close(struct surface *surface)
{
    IDirect3DSurface9_Release((IDirect3DSurface9 *)surface->resource);
}

static const struct surface_ops ops = {draw, map, unmap, wait, look, share, close};

/* Gives a description its surface. */
static struct surface with_surface(struct surface surface, D3DFORMAT format)
{
    IDirect3DSurface9 *made = NULL;
    surface.ops = &ops;
    surface.is_video = true;
    check_d3d(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(
                  (IDirect3DDevice9Ex *)surface.device, (UINT)surface.planes[0].width, (UINT)surface.planes[0].height,
                  format, D3DPOOL_DEFAULT, &made, NULL),
              "CreateOffscreenPlainSurface", "no memory?");
    surface.resource = made;
    return surface;
}

struct surface d3d9_nv12(void *device, unsigned width, unsigned height)
{
    const struct surface surface = {
        .bytes = (size_t)width * height * 3 / 2,
        .plane_count = 2,
        .planes = {{width, height, 1, {CL_R, CL_UNORM_INT8}}, {width / 2, height / 2, 2, {CL_RG, CL_UNORM_INT8}}},
        .device = device,
    };
    return with_surface(surface, FORMAT_NV12);
}

struct surface d3d9_rgba8(void *device, unsigned width, unsigned height)
{
    const struct surface surface = {
        .bytes = (size_t)width * height * 4,
        .plane_count = 1,
        .planes = {{width, height, 4, {CL_RGBA, CL_UNORM_INT8}}},
        .device = device,
    };
    return with_surface(surface, D3DFMT_A8B8G8R8);
}
