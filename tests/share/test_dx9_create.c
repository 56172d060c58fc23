/* The rules by which cl_khr_dx9_media_sharing makes objects of surfaces. */
#include "common/dx9.h"
#include "sharing.h"

enum { WIDTH = 64, HEIGHT = 48 };

#define NV12 (&dx9_formats[0])
#define BAD_SURFACE CL_INVALID_DX9_MEDIA_SURFACE_KHR

/* ---- creation ---- */

/* What the rules for one surface are tried with. */
struct attempt {
    cl_context context;
    cl_mem_flags flags;
    cl_uint type;
    void *info;
    cl_uint plane;
};

/* Fails with the code, gives nothing and keeps nothing. */
static void is_refused(const struct dx9 *dx9, const struct attempt *a, void *counted, cl_int code)
{
    cl_int status = 1;
    const ULONG refs = counted ? rig_refs(counted) : 0, device_refs = rig_refs(dx9->device);
    cl_mem object = dx9->create(a->context, a->flags, a->type, a->info, a->plane, &status);
    CHECK_INT(status, code);
    CHECK(object == NULL);
    CHECK(dx9->create(a->context, a->flags, a->type, a->info, a->plane, NULL) == NULL);
    if (counted)
        CHECK_INT(rig_refs(counted), refs);
    CHECK_INT(rig_refs(dx9->device), device_refs);
}

static void is_accepted(const struct dx9 *dx9, const struct attempt *a, void *counted)
{
    cl_int status = 1;
    const ULONG refs = rig_refs(counted);
    cl_mem object = dx9->create(a->context, a->flags, a->type, a->info, a->plane, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (!CHECK(object != NULL))
        return;
    CHECK_INT(rig_refs(counted), refs + 1);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    CHECK_INT(rig_refs(counted), refs);
    object = dx9->create(a->context, a->flags, a->type, a->info, a->plane, NULL);
    CHECK(object != NULL);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
}

static struct attempt attempt_of(const struct dx9 *dx9, cl_dx9_surface_info_khr *info)
{
    return (struct attempt){dx9->rig.context, CL_MEM_READ_WRITE, dx9->adapter_type, info, 0};
}

/* Of the surface of the case: changes one thing and puts it right again. */
DX9_CASE("creation: contexts, adapter types and flags", creation_arguments, 0)
{
    static size_t garbage[16];
    static const cl_uint bad_types[] = {0,
                                        1,
                                        CL_ADAPTER_D3D9_KHR - 1,
                                        CL_ADAPTER_DXVA_KHR + 1,
                                        0xFFFFFFFFu,
                                        CL_ADAPTER_DXVA_KHR /* the context has no such adapter */};
    static const cl_mem_flags good[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    static const cl_mem_flags bad[] = {CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
                                       CL_MEM_READ_WRITE | CL_MEM_READ_ONLY,
                                       CL_MEM_USE_HOST_PTR,
                                       CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                       CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
                                       (cl_mem_flags)1 << 40};
    struct dx9_surface s;
    struct rig d3d11;
    cl_context plain = plain_context(&dx9->rig);
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)) || !rig_open(&d3d11, &rig_d3d11, 0))
        return;
    cl_dx9_surface_info_khr info = {s.surface, NULL};
    struct attempt a = attempt_of(dx9, &info);
    const struct {
        cl_context context;
        cl_int code;
    } contexts[] = {{NULL, CL_INVALID_CONTEXT},
                    {(cl_context)garbage, CL_INVALID_CONTEXT},
                    {plain, CL_INVALID_OPERATION},
                    {d3d11.context, CL_INVALID_OPERATION}};
    for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
        a.context = contexts[i].context;
        is_refused(dx9, &a, s.surface, contexts[i].code);
    }
    a.context = dx9->rig.context;
    for (size_t i = 0; i < sizeof(bad_types) / sizeof(bad_types[0]); i++) {
        a.type = bad_types[i];
        is_refused(dx9, &a, s.surface, CL_INVALID_OPERATION);
    }
    for (a.type = CL_ADAPTER_D3D9_KHR; a.type <= CL_ADAPTER_D3D9EX_KHR; a.type++)
        is_accepted(dx9, &a, s.surface);
    a.type = dx9->adapter_type;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cl_mem_flags flags = 0;
        a.flags = good[i];
        is_accepted(dx9, &a, s.surface);
        cl_mem object = dx9->create(a.context, a.flags, a.type, a.info, a.plane, NULL);
        CHECK_INT(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), CL_SUCCESS);
        CHECK_INT(flags, good[i] ? good[i] : CL_MEM_READ_WRITE);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        a.flags = bad[i];
        is_refused(dx9, &a, s.surface, CL_INVALID_VALUE);
    }
    rig_close(&d3d11);
    dx9_close_surface(&s);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

DX9_CASE("creation: planes", creation_planes, 0)
{
    for (unsigned i = 0; i < DX9_FORMAT_COUNT; i++) {
        struct dx9_surface s;
        const int before = dx9_failures();
        if (!CHECK(dx9_make(&s, dx9, &dx9_formats[i], DX9_PLAIN, WIDTH, HEIGHT)))
            continue;
        cl_dx9_surface_info_khr info = {s.surface, NULL};
        struct attempt a = attempt_of(dx9, &info);
        for (a.plane = 0; a.plane < dx9_formats[i].plane_count; a.plane++)
            is_accepted(dx9, &a, s.surface);
        is_refused(dx9, &a, s.surface, CL_INVALID_VALUE);
        a.plane = 0xFFFFFFFFu;
        is_refused(dx9, &a, s.surface, CL_INVALID_VALUE);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", dx9_formats[i].name);
    }
}

DX9_CASE("creation: what is no surface", creation_structures, 0)
{
    static size_t number = 4711;
    cl_dx9_surface_info_khr info = {NULL, NULL};
    struct attempt a = attempt_of(dx9, &info);
    IDirect3DTexture9 *texture = NULL;
    CHECK_INT(IDirect3DDevice9_CreateTexture(dx9->device, WIDTH, HEIGHT, 1, 0, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                             &texture, NULL),
              D3D_OK);
    void *const bad[] = {NULL, &number, (void *)8, (void *)~(size_t)7, dx9->device, dx9->d3d9, texture};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        info.resource = bad[i];
        is_refused(dx9, &a, texture, BAD_SURFACE);
    }
    a.info = NULL;
    is_refused(dx9, &a, texture, BAD_SURFACE);
    a.info = (void *)8;
    is_refused(dx9, &a, texture, BAD_SURFACE);
    rig_release(texture);
}

static void refused_surface(const struct dx9 *dx9, IDirect3DSurface9 *surface, cl_int code)
{
    cl_dx9_surface_info_khr info = {surface, NULL};
    const struct attempt a = attempt_of(dx9, &info);
    if (!CHECK(surface != NULL))
        return;
    is_refused(dx9, &a, surface, code);
    rig_release(surface);
}

static IDirect3DSurface9 *level_in_pool(const struct dx9 *dx9, D3DPOOL pool)
{
    IDirect3DTexture9 *texture = NULL;
    IDirect3DSurface9 *level = NULL;
    if (FAILED(IDirect3DDevice9_CreateTexture(dx9->device, WIDTH, HEIGHT, 1, 0, D3DFMT_A8R8G8B8, pool, &texture, NULL)))
        return NULL;
    CHECK_INT(IDirect3DTexture9_GetSurfaceLevel(texture, 0, &level), D3D_OK);
    rig_release(texture);
    return level;
}

/* Only D3DPOOL_DEFAULT is the adapter's; extended devices have no managed pool. */
DX9_CASE("creation: pools, samples and other devices", creation_surfaces, 0)
{
    const D3DPOOL pools[] = {D3DPOOL_SYSTEMMEM, D3DPOOL_SCRATCH};
    IDirect3DSurface9 *surface = NULL;
    struct dx9 other;
    struct dx9_surface s;
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, pools[i],
                                                               &surface, NULL),
                  D3D_OK);
        refused_surface(dx9, surface, BAD_SURFACE);
        refused_surface(dx9, level_in_pool(dx9, pools[i]), BAD_SURFACE);
    }
    if (!dx9->extended)
        refused_surface(dx9, level_in_pool(dx9, D3DPOOL_MANAGED), BAD_SURFACE);
    if (SUCCEEDED(IDirect3DDevice9_CreateRenderTarget(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8,
                                                      D3DMULTISAMPLE_4_SAMPLES, 0, FALSE, &surface, NULL)))
        refused_surface(dx9, surface, BAD_SURFACE);
    else
        printf("# Direct3D makes no multisampled target\n");
    if (!dx9_open(&other, dx9->extended, RIG_NO_CONTEXT))
        return;
    if (CHECK(dx9_make(&s, &other, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        refused_surface(dx9, s.surface, BAD_SURFACE);
    dx9_close(&other);
}

DX9_CASE("creation: formats that are not in the tables", creation_formats, 0)
{
    static const D3DFORMAT bad[] = {D3DFMT_R5G6B5, D3DFMT_A2R10G10B10, D3DFMT_A2B10G10R10, D3DFMT_DXT1, D3DFMT_DXT5};
    unsigned tried = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        IDirect3DSurface9 *surface = NULL;
        if (FAILED(IDirect3DDevice9_CreateOffscreenPlainSurface(dx9->device, WIDTH, HEIGHT, bad[i], D3DPOOL_DEFAULT,
                                                                &surface, NULL)))
            continue;
        refused_surface(dx9, surface, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        tried++;
    }
    CHECK(tried >= 2);
}

/* Wine makes planar surfaces of odd sizes, with too little memory for the chroma. */
DX9_CASE("creation: planar surfaces of odd sizes", creation_odd_sizes, 0)
{
    static const UINT odd[][2] = {{65, 48}, {64, 49}, {65, 49}};
    unsigned tried = 0;
#ifndef _WIN32
    fake_d3d_odd_planes(true);
#endif
    for (size_t i = 0; i < 2 * sizeof(odd) / sizeof(odd[0]); i++) {
        struct dx9_surface s;
        if (!dx9_make(&s, dx9, &dx9_formats[i % 2], DX9_PLAIN, odd[i / 2][0], odd[i / 2][1]))
            continue;
        refused_surface(dx9, s.surface, BAD_SURFACE);
        tried++;
    }
    if (!tried)
        SKIP("Direct3D makes no such surface");
}

static void check_info(const struct dx9 *dx9, const struct attempt *a)
{
    cl_dx9_surface_info_khr echo;
    cl_int status = 1;
    is_accepted(dx9, a, ((cl_dx9_surface_info_khr *)a->info)->resource);
    cl_mem object = dx9->create(a->context, a->flags, a->type, a->info, a->plane, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    memset(&echo, 0xEE, sizeof(echo));
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(echo), &echo, NULL), CL_SUCCESS);
    CHECK_MEM(&echo, a->info, sizeof(echo));
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
}

/* A surface with a handle of its own where Direct3D gives any: 9Ex does, but Wine's. */
DX9_CASE("creation: shared handles", creation_handles, 0)
{
    static void *const bad[] = {(void *)1, (void *)0xDEADBEEC, (void *)~(size_t)0xFFFF};
    HANDLE valid = NULL;
    cl_dx9_surface_info_khr info = {NULL, NULL};
    const struct attempt a = attempt_of(dx9, &info);
    CHECK_INT(IDirect3DDevice9_CreateRenderTarget(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, D3DMULTISAMPLE_NONE, 0,
                                                  FALSE, &info.resource, dx9_gives_handles(dx9) ? &valid : NULL),
              D3D_OK);
#ifndef _WIN32
    CHECK_INT(valid != NULL, dx9->extended);
#endif
    check_info(dx9, &a);
    info.shared_handle = valid;
    if (valid)
        check_info(dx9, &a);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]) && !dx9->extended; i++) {
        info.shared_handle = bad[i];
        is_refused(dx9, &a, info.resource, BAD_SURFACE);
    }
    rig_release(info.resource);
}

/* There is no rule against several objects of one surface, in one context or in two. */
DX9_CASE("creation: several objects of one surface", creation_twice, 0)
{
    cl_int status = 1;
    struct dx9_surface s;
    cl_context second = dx9_make_context(dx9, dx9->property, dx9->device, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    cl_mem again = dx9_create(dx9, dx9->rig.context, CL_MEM_READ_WRITE, s.surface, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem other = dx9_create(dx9, second, CL_MEM_READ_WRITE, s.surface, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(again && other && again != s.planes[0] && other != again);
    CHECK_INT(clReleaseMemObject(again), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(other), CL_SUCCESS);
    dx9_close_surface(&s);
    CHECK_INT(clReleaseContext(second), CL_SUCCESS);
}

/* Surfaces that a video processor makes, in a context for its device and in one for the Direct3D device. */
DX9EX_CASE("DXVA-HD: surfaces", dxva_surfaces, 0)
{
    cl_int status = 1;
    struct dx9 dxva_side = *dx9;
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva)
        return;
    dxva_side.adapter_type = CL_ADAPTER_DXVA_KHR;
    dxva_side.rig.context = dx9_make_context(dx9, CL_CONTEXT_ADAPTER_DXVA_KHR, dxva, &status);
    CHECK_INT(status, CL_SUCCESS);
    for (int output = 0; output < 2; output++) {
        IDirect3DSurface9 *surface = dx9_dxva_surface(dxva, NV12, output, WIDTH, HEIGHT);
        cl_dx9_surface_info_khr info = {surface, NULL};
        struct attempt a = attempt_of(&dxva_side, &info);
        for (a.plane = 0; a.plane < 2; a.plane++)
            is_accepted(dx9, &a, surface);
        is_refused(dx9, &a, surface, CL_INVALID_VALUE);
        a.plane = 0;
        a.type = CL_ADAPTER_D3D9EX_KHR;
        is_refused(dx9, &a, surface, CL_INVALID_OPERATION);
        a = attempt_of(dx9, &info);
        is_accepted(dx9, &a, surface);
        rig_release(surface);
    }
    CHECK_INT(clReleaseContext(dxva_side.rig.context), CL_SUCCESS);
    rig_release(dxva);
}

TAP_MAIN
