/* The rules of cl_khr_dx9_media_sharing: what its functions check, and what can be asked. Bytes are in test_dx9_data.c,
 * lifetimes in test_dx9_lifetime.c. */
#include "common/dx9.h"
#include "sharing.h"

#include <CL/cl_d3d11.h>
#include <CL/cl_gl.h>

enum { MOST_DEVICES = 32, WIDTH = 64, HEIGHT = 48 };

#define NV12 (&dx9_formats[0])
#define YV12 (&dx9_formats[1])
#define BGRA8 (dx9_format_of(D3DFMT_A8R8G8B8))
#define BAD_SURFACE CL_INVALID_DX9_MEDIA_SURFACE_KHR
#define BAD_ADAPTER CL_INVALID_DX9_MEDIA_ADAPTER_KHR

/* ---- the device query ---- */

static cl_int ask(const struct dx9 *dx9, cl_uint count, const cl_uint *types, void *const *adapters, cl_uint set,
                  cl_device_id *devices, cl_uint *found)
{
    return dx9->get_device_ids(dx9->rig.platform, count, (cl_dx9_media_adapter_type_khr *)types, (void *)adapters, set,
                               devices ? MOST_DEVICES : 0, devices, found);
}

/* Asks for the count first and for the list then, as programs do. */
static cl_uint list(const struct dx9 *dx9, cl_uint adapter_count, const cl_uint *types, void *const *adapters, cl_uint set,
                    cl_device_id devices[MOST_DEVICES])
{
    cl_uint count = 0, again = 0;
    if (!CHECK_INT(ask(dx9, adapter_count, types, adapters, set, NULL, &count), CL_SUCCESS))
        return 0;
    CHECK(count >= 1 && count <= MOST_DEVICES);
    CHECK_INT(ask(dx9, adapter_count, types, adapters, set, devices, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    return count;
}

static bool has(const cl_device_id *devices, cl_uint count, cl_device_id device)
{
    for (cl_uint i = 0; i < count; i++)
        if (devices[i] == device)
            return true;
    return false;
}

static const cl_uint all_set = CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
                     preferred_set = CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR;

DX9_CASE(device_sets, RIG_NO_CONTEXT)
{
    cl_device_id all[MOST_DEVICES], preferred[MOST_DEVICES];
    void *adapter = dx9->device;
    const cl_uint count = list(dx9, 1, &dx9->adapter_type, &adapter, all_set, all);
    const cl_uint preferred_count = list(dx9, 1, &dx9->adapter_type, &adapter, preferred_set, preferred);
    CHECK(has(all, count, dx9->rig.cl_device));
    CHECK(preferred_count <= count);
    for (cl_uint i = 0; i < preferred_count; i++)
        CHECK(has(all, count, preferred[i]));
    /* Room for one: one is written, all are counted. */
    cl_device_id few[2] = {NULL, NULL};
    cl_uint counted = 0;
    CHECK_INT(dx9->get_device_ids(dx9->rig.platform, 1, &dx9->adapter_type, &adapter, all_set, 1, few, &counted),
              CL_SUCCESS);
    CHECK(few[0] == all[0] && few[1] == NULL);
    CHECK_INT(counted, count);
    CHECK_INT(ask(dx9, 1, &dx9->adapter_type, &adapter, all_set, few, NULL), CL_SUCCESS);
}

/* FFmpeg names every device as an extended one. */
DX9_CASE(device_types, RIG_NO_CONTEXT)
{
    const cl_uint types[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_D3D9EX_KHR};
    cl_device_id devices[MOST_DEVICES];
    void *adapter = dx9->device;
    for (size_t i = 0; i < 2; i++) {
        const cl_uint count = list(dx9, 1, &types[i], &adapter, all_set, devices);
        CHECK(has(devices, count, dx9->rig.cl_device));
    }
}

/* What is given are arrays: of types, and of adapters. */
DX9_CASE(device_arrays, RIG_NO_CONTEXT)
{
    const cl_uint types[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_D3D9EX_KHR};
    cl_device_id one[MOST_DEVICES], both[MOST_DEVICES];
    IDirect3DDevice9 *second = dx9_make_device(!dx9->extended);
    if (!second)
        return;
    void *adapters[] = {dx9->device, second};
    const cl_uint count = list(dx9, 1, types, adapters, all_set, one);
    CHECK_INT(list(dx9, 2, types, adapters, all_set, both), count);
    CHECK_MEM(both, one, count * sizeof(one[0]));
    CHECK(list(dx9, 2, types, adapters, preferred_set, both) <= count);
    /* Each entry is looked at. */
    const cl_uint bad_type[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_DXVA_KHR + 1};
    void *bad_adapter[] = {dx9->device, NULL};
    CHECK_INT(ask(dx9, 2, bad_type, adapters, all_set, one, NULL), CL_INVALID_VALUE);
    CHECK_INT(ask(dx9, 2, types, bad_adapter, all_set, one, NULL), CL_INVALID_VALUE);
    rig_release(second);
}

DX9_CASE(device_arguments, RIG_NO_CONTEXT)
{
    const cl_uint bad_sets[] = {0, 1, CL_ADAPTER_D3D9_KHR, preferred_set - 1, all_set + 1, 0x4024, 0xFFFFFFFFu};
    const cl_uint type = dx9->adapter_type, bad_types[] = {0, CL_ADAPTER_D3D9_KHR - 1, CL_ADAPTER_DXVA_KHR + 1, 0x4022,
                                                           0xFFFFFFFFu};
    cl_device_id device, untouched = (cl_device_id)&device;
    cl_uint count = 4711;
    void *adapter = dx9->device;
    clGetDeviceIDsFromDX9MediaAdapterKHR_fn get = dx9->get_device_ids;
    cl_platform_id platform = dx9->rig.platform;
    device = untouched;
    CHECK_INT(get(NULL, 1, (cl_uint *)&type, &adapter, all_set, 1, &device, &count), CL_INVALID_PLATFORM);
    CHECK_INT(get((cl_platform_id)dx9->rig.cl_device, 1, (cl_uint *)&type, &adapter, all_set, 1, &device, &count),
              CL_INVALID_PLATFORM);
    CHECK_INT(get(platform, 0, (cl_uint *)&type, &adapter, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, NULL, &adapter, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, (cl_uint *)&type, NULL, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, (cl_uint *)8, &adapter, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, (cl_uint *)&type, (void *)8, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 0x7FFFFFFF, (cl_uint *)&type, &adapter, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, (cl_uint *)&type, &adapter, all_set, 0, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, (cl_uint *)&type, &adapter, all_set, 0, NULL, NULL), CL_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(bad_sets) / sizeof(bad_sets[0]); i++)
        CHECK_INT(get(platform, 1, (cl_uint *)&type, &adapter, bad_sets[i], 1, &device, &count), CL_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(bad_types) / sizeof(bad_types[0]); i++)
        CHECK_INT(get(platform, 1, (cl_uint *)&bad_types[i], &adapter, all_set, 1, &device, &count), CL_INVALID_VALUE);
    CHECK(device == untouched);
    CHECK_INT(count, 4711);
}

/* Things that are no adapters, each with a type that it does not have. */
DX9_CASE(device_adapters, RIG_NO_CONTEXT)
{
    static size_t number = 4711;
    struct dx9_surface s;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    void *const bad[] = {NULL, &number, (void *)8, s.surface, dx9->d3d9};
    const ULONG device_refs = rig_refs(dx9->device), d3d_refs = rig_refs(dx9->d3d9);
    for (cl_uint type = CL_ADAPTER_D3D9_KHR; type <= CL_ADAPTER_DXVA_KHR; type++)
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            CHECK_INT(ask(dx9, 1, &type, &bad[i], all_set, NULL, (cl_uint[1]){0}), CL_INVALID_VALUE);
    const cl_uint dxva = CL_ADAPTER_DXVA_KHR;
    void *adapter = dx9->device;
    CHECK_INT(ask(dx9, 1, &dxva, &adapter, all_set, NULL, (cl_uint[1]){0}), CL_INVALID_VALUE);
    CHECK_INT(ask(dx9, 1, &dx9->adapter_type, &adapter, all_set, NULL, (cl_uint[1]){0}), CL_SUCCESS);
    CHECK_INT(rig_refs(dx9->device), device_refs);
    CHECK_INT(rig_refs(dx9->d3d9), d3d_refs);
    dx9_close_surface(&s);
}

/* A platform without devices: there is one where all that are installed can be asked. */
DX9_CASE(device_not_found, RIG_NO_CONTEXT)
{
    cl_platform_id platforms[16];
    cl_uint count = 0, empty = 0;
    void *adapter = dx9->device;
    CHECK_INT(clGetPlatformIDs(16, platforms, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 16; i++) {
        cl_uint devices = 0, found = 4711;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) == CL_SUCCESS && devices)
            continue;
        CHECK_INT(dx9->get_device_ids(platforms[i], 1, &dx9->adapter_type, &adapter, all_set, 0, NULL, &found),
                  CL_DEVICE_NOT_FOUND);
        CHECK_INT(dx9->get_device_ids(platforms[i], 1, &dx9->adapter_type, &adapter, preferred_set, 0, NULL, &found),
                  CL_DEVICE_NOT_FOUND);
        empty++;
    }
    if (!empty)
        SKIP("every platform here has a device");
}

#ifndef _WIN32
static void device_not_found_again(void)
{
    if (!run_again("devices: none is found", "OCL_ICD_VENDORS", "/etc/OpenCL/vendors"))
        SKIP("every platform installed has a device");
}
#endif

static void dxva_devices(struct dx9 *dx9)
{
    const cl_uint type = CL_ADAPTER_DXVA_KHR;
    cl_device_id by_device[MOST_DEVICES], by_dxva[MOST_DEVICES];
    void *device = dx9->device;
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    void *adapter = dxva;
    if (!dxva)
        return;
    const ULONG refs = rig_refs(dxva), device_refs = rig_refs(dx9->device);
    for (cl_uint set = preferred_set; set <= all_set; set++) {
        const cl_uint count = list(dx9, 1, &dx9->adapter_type, &device, set, by_device);
        CHECK_INT(list(dx9, 1, &type, &adapter, set, by_dxva), count);
        CHECK_MEM(by_dxva, by_device, count * sizeof(by_device[0]));
    }
    CHECK_INT(ask(dx9, 1, &dx9->adapter_type, &adapter, all_set, by_dxva, NULL), CL_INVALID_VALUE);
    CHECK_INT(rig_refs(dxva), refs);
    CHECK_INT(rig_refs(dx9->device), device_refs);
#ifndef _WIN32
    /* The adapter is the one of the Direct3D device behind it. */
    fake_d3d_reset();
    list(dx9, 1, &type, &adapter, preferred_set, by_dxva);
    CHECK(fake_d3d_calls("IDirect3D9::GetAdapterIdentifier") > 0);
#endif
    rig_release(dxva);
}

/* ---- contexts ---- */

enum { MOST_PROPERTIES = 12 };

/* Makes a context in both ways, with these properties behind those of the platform. On success the device has one
 * reference more, and the properties come back. */
static void try_context(const struct dx9 *dx9, void *counted, const cl_context_properties *properties, size_t count,
                        cl_int expected)
{
    cl_context_properties full[MOST_PROPERTIES + 3] = {CL_CONTEXT_PLATFORM, (cl_context_properties)dx9->rig.platform};
    memcpy(full + 2, properties, count * sizeof(properties[0]));
    for (int by_type = 0; by_type < 2; by_type++) {
        cl_int status = 1;
        const ULONG refs = rig_refs(counted);
        cl_context context = by_type ? clCreateContextFromType(full, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                                     : clCreateContext(full, 1, &dx9->rig.cl_device, NULL, NULL, &status);
        CHECK_INT(status, expected);
        CHECK_INT(context != NULL, expected == CL_SUCCESS);
        if (context) {
            cl_context_properties echo[MOST_PROPERTIES + 3] = {0};
            size_t size = 0;
            CHECK_INT(rig_refs(counted), refs + 1);
            CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(echo), echo, &size), CL_SUCCESS);
            CHECK_INT(size, (count + 3) * sizeof(echo[0]));
            CHECK_MEM(echo, full, (count + 3) * sizeof(echo[0]));
            CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        }
        CHECK_INT(rig_refs(counted), refs);
    }
}

#define TRY_CONTEXT(counted, expected, ...)                                                                            \
    do {                                                                                                               \
        const cl_context_properties given_[] = {__VA_ARGS__};                                                          \
        try_context(dx9, (counted), given_, sizeof(given_) / sizeof(given_[0]), (expected));                           \
    } while (0)

DX9_CASE(contexts, RIG_NO_CONTEXT)
{
    const cl_context_properties device = (cl_context_properties)dx9->device, plain = CL_CONTEXT_ADAPTER_D3D9_KHR,
                                extended = CL_CONTEXT_ADAPTER_D3D9EX_KHR, sync = CL_CONTEXT_INTEROP_USER_SYNC;
    TRY_CONTEXT(dx9->device, CL_SUCCESS, plain, device);
    TRY_CONTEXT(dx9->device, CL_SUCCESS, extended, device);
    TRY_CONTEXT(dx9->device, CL_SUCCESS, plain, device, sync, CL_TRUE);
    TRY_CONTEXT(dx9->device, CL_SUCCESS, sync, CL_FALSE, extended, device);
    /* NULL means that this interop is not asked for. */
    TRY_CONTEXT(dx9->device, CL_SUCCESS, plain, device, extended, 0, CL_CONTEXT_ADAPTER_DXVA_KHR, 0);
    TRY_CONTEXT(dx9->device, CL_SUCCESS, CL_CONTEXT_ADAPTER_DXVA_KHR, 0, extended, device, plain, 0);
    TRY_CONTEXT(dx9->device, CL_INVALID_PROPERTY, plain, device, plain, device);
    TRY_CONTEXT(dx9->device, CL_INVALID_PROPERTY, extended, device, sync, CL_TRUE, sync, CL_TRUE);
    TRY_CONTEXT(dx9->device, CL_INVALID_PROPERTY, plain, device, sync, 2);
}

static void check_adapter(cl_context context, cl_context_info name, const void *expected)
{
    void *device = NULL;
    size_t size = 0;
    CHECK_INT(clGetContextInfo(context, name, sizeof(device), &device, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(device));
    CHECK(device == expected);
    CHECK_INT(clGetContextInfo(context, name, sizeof(device) - 1, &device, NULL), CL_INVALID_VALUE);
}

/* Two adapters side by side: the context holds both and takes the surfaces of both. */
DX9_CASE(contexts_of_two, RIG_NO_CONTEXT)
{
    cl_int status = 1;
    struct dx9_surface of_first, of_second;
    struct dx9 second;
    if (!dx9_open(&second, !dx9->extended, RIG_NO_CONTEXT))
        return;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)dx9->rig.platform,
                                                dx9->property, (cl_context_properties)dx9->device,
                                                second.property, (cl_context_properties)second.device, 0};
    cl_context context = clCreateContext(properties, 1, &dx9->rig.cl_device, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        check_adapter(context, (cl_context_info)dx9->property, dx9->device);
        check_adapter(context, (cl_context_info)second.property, second.device);
        CHECK(dx9_make(&of_first, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT));
        CHECK(dx9_make(&of_second, &second, NV12, DX9_PLAIN, WIDTH, HEIGHT));
        of_first.context = of_second.context = context;
        dx9_share(&of_first, CL_MEM_READ_WRITE);
        dx9_share(&of_second, CL_MEM_READ_WRITE);
        dx9_close_surface(&of_first);
        dx9_close_surface(&of_second);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
    dx9_close(&second);
}

DX9_CASE(contexts_with_bad_adapters, RIG_NO_CONTEXT)
{
    static size_t number = 4711;
    struct dx9_surface s;
    struct rig d3d11;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)) || !rig_open(&d3d11, &rig_d3d11, RIG_NO_CONTEXT))
        return;
    void *const bad[] = {&number, (void *)8, s.surface, dx9->d3d9, d3d11.device};
    const cl_context_properties names[] = {CL_CONTEXT_ADAPTER_D3D9_KHR, CL_CONTEXT_ADAPTER_D3D9EX_KHR,
                                           CL_CONTEXT_ADAPTER_DXVA_KHR};
    for (size_t n = 0; n < 3; n++)
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            TRY_CONTEXT(dx9->device, BAD_ADAPTER, names[n], (cl_context_properties)bad[i]);
    TRY_CONTEXT(dx9->device, BAD_ADAPTER, CL_CONTEXT_ADAPTER_DXVA_KHR, (cl_context_properties)dx9->device);
    /* The good one before it is given back. */
    TRY_CONTEXT(dx9->device, BAD_ADAPTER, CL_CONTEXT_ADAPTER_D3D9_KHR, (cl_context_properties)dx9->device,
                CL_CONTEXT_ADAPTER_DXVA_KHR, (cl_context_properties)&number);
    /* Direct3D 11 wants to be alone. */
    TRY_CONTEXT(dx9->device, CL_INVALID_OPERATION, CL_CONTEXT_ADAPTER_D3D9_KHR, (cl_context_properties)dx9->device,
                CL_CONTEXT_D3D11_DEVICE_KHR, (cl_context_properties)d3d11.device);
    TRY_CONTEXT(dx9->device, CL_INVALID_OPERATION, CL_CONTEXT_D3D11_DEVICE_KHR, (cl_context_properties)d3d11.device,
                CL_CONTEXT_ADAPTER_D3D9_KHR, (cl_context_properties)dx9->device);
    rig_close(&d3d11);
    dx9_close_surface(&s);
}

static cl_int context_status(const struct dx9 *dx9, const cl_context_properties *properties)
{
    cl_int status = 1;
    cl_context context = clCreateContext(properties, 1, &dx9->rig.cl_device, NULL, NULL, &status);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status;
}

/* Unlike Direct3D 10 and 11 the extension forbids no other graphics API beside it: what the driver says counts. */
DX9_CASE(contexts_beside_opengl, RIG_NO_CONTEXT)
{
    const cl_context_properties graphics[] = {CL_GL_CONTEXT_KHR, CL_EGL_DISPLAY_KHR, CL_GLX_DISPLAY_KHR, CL_WGL_HDC_KHR,
                                              CL_CGL_SHAREGROUP_KHR};
    const cl_context_properties platform = (cl_context_properties)dx9->rig.platform,
                                device = (cl_context_properties)dx9->device;
    const ULONG refs = rig_refs(dx9->device);
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++) {
        const cl_context_properties alone[] = {CL_CONTEXT_PLATFORM, platform, graphics[i], 0x1234, 0};
        const cl_context_properties beside[] = {CL_CONTEXT_PLATFORM, platform, dx9->property, device, graphics[i], 0x1234,
                                                0};
        CHECK_INT(context_status(dx9, beside), context_status(dx9, alone));
    }
    CHECK_INT(rig_refs(dx9->device), refs);
}

static void dxva_contexts(struct dx9 *dx9)
{
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva)
        return;
    const cl_context_properties device = (cl_context_properties)dxva, name = CL_CONTEXT_ADAPTER_DXVA_KHR;
    TRY_CONTEXT(dxva, CL_SUCCESS, name, device);
    TRY_CONTEXT(dxva, CL_SUCCESS, name, device, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE);
    TRY_CONTEXT(dxva, CL_SUCCESS, CL_CONTEXT_ADAPTER_D3D9EX_KHR, (cl_context_properties)dx9->device, name, device,
                CL_CONTEXT_ADAPTER_D3D9_KHR, (cl_context_properties)dx9->device);
    TRY_CONTEXT(dxva, BAD_ADAPTER, CL_CONTEXT_ADAPTER_D3D9_KHR, device);
    TRY_CONTEXT(dxva, BAD_ADAPTER, CL_CONTEXT_ADAPTER_D3D9EX_KHR, device);
    rig_release(dxva);
}

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

DX9_CASE(creation_contexts, 0)
{
    static size_t garbage[16];
    struct dx9_surface s;
    struct rig d3d11;
    cl_context plain = plain_context(&dx9->rig);
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    cl_dx9_surface_info_khr info = {s.surface, NULL};
    struct attempt a = attempt_of(dx9, &info);
    is_accepted(dx9, &a, s.surface);
    a.context = NULL;
    is_refused(dx9, &a, s.surface, CL_INVALID_CONTEXT);
    a.context = (cl_context)garbage;
    is_refused(dx9, &a, s.surface, CL_INVALID_CONTEXT);
    a.context = plain;
    is_refused(dx9, &a, s.surface, CL_INVALID_OPERATION);
    if (rig_open(&d3d11, &rig_d3d11, 0)) {
        a.context = d3d11.context;
        is_refused(dx9, &a, s.surface, CL_INVALID_OPERATION);
        rig_close(&d3d11);
    }
    dx9_close_surface(&s);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

DX9_CASE(creation_types, 0)
{
    const cl_uint bad[] = {0, 1, CL_ADAPTER_D3D9_KHR - 1, CL_ADAPTER_DXVA_KHR + 1, 0xFFFFFFFFu};
    struct dx9_surface s;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    cl_dx9_surface_info_khr info = {s.surface, NULL};
    struct attempt a = attempt_of(dx9, &info);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        a.type = bad[i];
        is_refused(dx9, &a, s.surface, CL_INVALID_VALUE);
    }
    a.type = CL_ADAPTER_DXVA_KHR; /* the context has no such adapter */
    is_refused(dx9, &a, s.surface, CL_INVALID_OPERATION);
    for (a.type = CL_ADAPTER_D3D9_KHR; a.type <= CL_ADAPTER_D3D9EX_KHR; a.type++)
        is_accepted(dx9, &a, s.surface);
    dx9_close_surface(&s);
}

DX9_CASE(creation_flags, 0)
{
    static const cl_mem_flags good[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    static const cl_mem_flags bad[] = {CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY,
                                       CL_MEM_USE_HOST_PTR, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
                                       (cl_mem_flags)1 << 40};
    struct dx9_surface s;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    cl_dx9_surface_info_khr info = {s.surface, NULL};
    struct attempt a = attempt_of(dx9, &info);
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
    dx9_close_surface(&s);
}

DX9_CASE(creation_planes, 0)
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

DX9_CASE(creation_structures, 0)
{
    static size_t number = 4711;
    cl_dx9_surface_info_khr info = {NULL, NULL};
    struct attempt a = attempt_of(dx9, &info);
    IDirect3DTexture9 *texture = NULL;
    CHECK_INT(IDirect3DDevice9_CreateTexture(dx9->device, WIDTH, HEIGHT, 1, 0, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT, &texture,
                                             NULL), D3D_OK);
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
DX9_CASE(creation_pools, 0)
{
    const D3DPOOL pools[] = {D3DPOOL_SYSTEMMEM, D3DPOOL_SCRATCH};
    for (size_t i = 0; i < 2; i++) {
        IDirect3DSurface9 *surface = NULL;
        CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, pools[i],
                                                               &surface, NULL), D3D_OK);
        refused_surface(dx9, surface, BAD_SURFACE);
        refused_surface(dx9, level_in_pool(dx9, pools[i]), BAD_SURFACE);
    }
    if (!dx9->extended)
        refused_surface(dx9, level_in_pool(dx9, D3DPOOL_MANAGED), BAD_SURFACE);
}

DX9_CASE(creation_multisampled, 0)
{
    IDirect3DSurface9 *surface = NULL;
    if (FAILED(IDirect3DDevice9_CreateRenderTarget(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, D3DMULTISAMPLE_4_SAMPLES, 0,
                                                   FALSE, &surface, NULL))) {
        SKIP("Direct3D makes no multisampled target");
        return;
    }
    refused_surface(dx9, surface, BAD_SURFACE);
}

DX9_CASE(creation_other_device, 0)
{
    struct dx9 other;
    struct dx9_surface s;
    if (!dx9_open(&other, dx9->extended, RIG_NO_CONTEXT))
        return;
    if (CHECK(dx9_make(&s, &other, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        refused_surface(dx9, s.surface, BAD_SURFACE);
    dx9_close(&other);
}

DX9_CASE(creation_formats, 0)
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
DX9_CASE(creation_odd_sizes, 0)
{
    static const UINT odd[][2] = {{65, 48}, {64, 49}, {65, 49}};
    unsigned tried = 0;
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

/* A surface with a shared handle, where Direct3D gives any; otherwise a handle of Windows. */
static IDirect3DSurface9 *with_handle(const struct dx9 *dx9, enum dx9_kind kind, HANDLE *handle)
{
    IDirect3DSurface9 *surface = NULL;
    IDirect3DTexture9 *texture = NULL;
    *handle = NULL;
    switch (kind) {
    case DX9_PLAIN:
        IDirect3DDevice9_CreateOffscreenPlainSurface(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                                     &surface, handle);
        break;
    case DX9_TARGET:
        IDirect3DDevice9_CreateRenderTarget(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, D3DMULTISAMPLE_NONE, 0, FALSE,
                                            &surface, handle);
        break;
    default:
        if (SUCCEEDED(IDirect3DDevice9_CreateTexture(dx9->device, WIDTH, HEIGHT, 3,
                                                     kind == DX9_TARGET_LEVEL ? D3DUSAGE_RENDERTARGET : 0,
                                                     D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT, &texture, handle)))
            IDirect3DTexture9_GetSurfaceLevel(texture, 1, &surface);
        rig_release(texture);
    }
    return surface;
}

static void check_info(const struct dx9 *dx9, const struct attempt *a)
{
    cl_dx9_surface_info_khr echo;
    cl_int status = 1;
    cl_mem object = dx9->create(a->context, a->flags, a->type, a->info, a->plane, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    memset(&echo, 0xEE, sizeof(echo));
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(echo), &echo, NULL), CL_SUCCESS);
    CHECK_MEM(&echo, a->info, sizeof(echo));
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
}

static void try_handles(struct dx9 *dx9, enum dx9_kind kind)
{
    HANDLE given = NULL;
    IDirect3DSurface9 *surface = dx9->extended ? with_handle(dx9, kind, &given) : NULL;
    struct dx9_surface s = {0};
    if (!surface && CHECK(dx9_make(&s, dx9, BGRA8, kind, WIDTH, HEIGHT)))
        surface = s.surface;
    HANDLE valid = given;
#ifdef _WIN32
    if (!valid)
        valid = CreateEventA(NULL, FALSE, FALSE, NULL); /* Wine's Direct3D gives no handles */
#endif
    cl_dx9_surface_info_khr info = {surface, NULL};
    const struct attempt a = attempt_of(dx9, &info);
    static void *const bad[] = {(void *)1, (void *)0xDEADBEEC, (void *)~(size_t)0xFFFF};
    is_accepted(dx9, &a, surface);
    check_info(dx9, &a);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        info.shared_handle = bad[i];
        is_refused(dx9, &a, surface, BAD_SURFACE);
    }
    info.shared_handle = valid;
    if (valid) {
        is_accepted(dx9, &a, surface);
        check_info(dx9, &a);
    }
#ifdef _WIN32
    if (valid != given)
        CloseHandle(valid);
#else
    CHECK_INT(valid != NULL, dx9->extended);
#endif
    rig_release(surface);
}

DX9_CASE(creation_handles, 0)
{
    static const enum dx9_kind kinds[] = {DX9_PLAIN, DX9_TARGET, DX9_LEVEL, DX9_TARGET_LEVEL};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const int before = dx9_failures();
        try_handles(dx9, kinds[i]);
        dx9_remark(before, "with surfaces of kind %d", (int)kinds[i]);
    }
}

/* There is no rule against several objects of one surface, in one context or in two. */
DX9_CASE(creation_twice, 0)
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
static void dxva_surfaces(struct dx9 *dx9)
{
    cl_int status = 1;
    struct dx9 dxva_side = *dx9, other;
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
    /* A surface that the device behind it does not have. */
    struct dx9_surface s;
    if (dx9_open(&other, true, RIG_NO_CONTEXT)) {
        if (CHECK(dx9_make(&s, &other, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
            refused_surface(&dxva_side, s.surface, BAD_SURFACE);
        dx9_close(&other);
    }
    CHECK_INT(clReleaseContext(dxva_side.rig.context), CL_SUCCESS);
    rig_release(dxva);
}

/* ---- queries ---- */

#define CHECK_QUERY(get, object, name, type, expected)                                                                 \
    do {                                                                                                               \
        const type expected_ = (expected);                                                                             \
        type found_[2];                                                                                                \
        size_t size_ = 0;                                                                                              \
        memset(found_, 0xEE, sizeof(found_));                                                                          \
        CHECK_INT(get((object), (name), 0, NULL, &size_), CL_SUCCESS);                                                 \
        CHECK_INT(size_, sizeof(type));                                                                                \
        CHECK_INT(get((object), (name), sizeof(type), found_, NULL), CL_SUCCESS);                                      \
        CHECK_MEM(&found_[0], &expected_, sizeof(type));                                                               \
        CHECK_INT(*(unsigned char *)&found_[1], 0xEE);                                                                 \
        CHECK_INT(get((object), (name), sizeof(type) - 1, found_, NULL), CL_INVALID_VALUE);                            \
    } while (0)

static void check_plane(struct dx9_surface *s, UINT p)
{
    const size_t width = dx9_plane_width(s, p), height = dx9_plane_height(s, p);
    const size_t texel = format_texel(&s->format->planes[p]);
    const cl_dx9_surface_info_khr info = {s->surface, NULL};
    cl_mem object = s->planes[p];
    cl_dx9_surface_info_khr found;
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, s->dx9->adapter_type);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, cl_dx9_surface_info_khr, info);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(found), &found, NULL), CL_SUCCESS);
    CHECK(found.shared_handle == NULL);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_DX9_MEDIA_PLANE_KHR, cl_uint, p);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_TYPE, cl_mem_object_type, CL_MEM_OBJECT_IMAGE2D);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_FLAGS, cl_mem_flags, CL_MEM_READ_WRITE);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_CONTEXT, cl_context, s->context);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_REFERENCE_COUNT, cl_uint, 1);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_ASSOCIATED_MEMOBJECT, cl_mem, NULL);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_OFFSET, size_t, 0);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_FORMAT, cl_image_format, s->format->planes[p].cl);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ELEMENT_SIZE, size_t, texel);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_WIDTH, size_t, width);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_HEIGHT, size_t, height);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ROW_PITCH, size_t, width * texel);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_DEPTH, size_t, 0);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_SLICE_PITCH, size_t, 0);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ARRAY_SIZE, size_t, 0);
}

static void check_planes(struct dx9_surface *s)
{
    const ULONG refs = rig_refs(s->surface);
    for (UINT p = 0; p < s->format->plane_count; p++)
        check_plane(s, p);
    CHECK_INT(rig_refs(s->surface), refs);
}

DX9_CASE(queries, 0)
{
    for (unsigned i = 0; i < DX9_FORMAT_COUNT; i++) {
        struct dx9_surface s;
        const int before = dx9_failures();
        if (!dx9_open_surface(&s, dx9, &dx9_formats[i], DX9_PLAIN, 66, 50))
            continue;
        check_planes(&s);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", dx9_formats[i].name);
    }
}

/* P010 and packed YUV, as far as Direct3D has them. */
DX9_CASE(queries_beyond, 0)
{
    unsigned made = 0;
    for (unsigned i = 0; i < DX9_BEYOND_COUNT; i++) {
        struct dx9_surface s;
        const int before = dx9_failures();
        if (!dx9_make(&s, dx9, &dx9_beyond[i], DX9_PLAIN, 66, 50))
            continue;
        if (dx9_share(&s, CL_MEM_READ_WRITE))
            check_planes(&s);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", dx9_beyond[i].name);
        made++;
    }
    if (!made)
        SKIP("Direct3D has none of these formats");
}

/* The type comes back as it was given, not as the device is. */
DX9_CASE(queries_of_types, 0)
{
    struct dx9_surface s;
    struct dx9 renamed = *dx9;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    s.dx9 = &renamed;
    for (cl_uint type = CL_ADAPTER_D3D9_KHR; type <= CL_ADAPTER_D3D9EX_KHR; type++) {
        renamed.adapter_type = type;
        dx9_share(&s, CL_MEM_READ_WRITE);
        CHECK_QUERY(clGetMemObjectInfo, s.planes[0], CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, type);
        CHECK_QUERY(clGetMemObjectInfo, s.planes[1], CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, type);
        CHECK_QUERY(clGetImageInfo, s.planes[1], CL_IMAGE_DX9_MEDIA_PLANE_KHR, cl_uint, 1);
        for (UINT p = 0; p < 2; p++)
            CHECK_INT(clReleaseMemObject(s.planes[p]), CL_SUCCESS);
        s.planes[0] = s.planes[1] = NULL;
    }
    dx9_close_surface(&s);
}

static void ask_foreign(cl_mem object, bool image)
{
    char answer[64];
    size_t size = 4711;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, sizeof(answer), answer, &size), BAD_SURFACE);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, &size), BAD_SURFACE);
    if (image)
        CHECK_INT(clGetImageInfo(object, CL_IMAGE_DX9_MEDIA_PLANE_KHR, sizeof(answer), answer, &size), BAD_SURFACE);
    CHECK_INT(size, 4711);
}

static cl_mem plain_image(cl_context context)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
}

DX9_CASE(queries_of_others, 0)
{
    struct rig d3d11;
    struct shared shared;
    char answer[64];
    cl_mem image = plain_image(dx9->rig.context);
    cl_mem buffer = clCreateBuffer(dx9->rig.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    ask_foreign(image, true);
    ask_foreign(buffer, false);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(NULL, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, NULL),
              CL_INVALID_MEM_OBJECT);
    CHECK_INT(clGetImageInfo(NULL, CL_IMAGE_DX9_MEDIA_PLANE_KHR, sizeof(answer), answer, NULL), CL_INVALID_MEM_OBJECT);
    if (!rig_open(&d3d11, &rig_d3d11, 0))
        return;
    if (shared_open(&d3d11, KIND_2D, 1, &shared)) {
        ask_foreign(shared.object, true);
        shared_close(&shared);
    }
    rig_close(&d3d11);
}

/* A surface's object is none of Direct3D 11. */
DX9_CASE(queries_by_others, 0)
{
    struct dx9_surface s;
    char answer[64];
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK_INT(clGetMemObjectInfo(s.planes[0], CL_MEM_D3D11_RESOURCE_KHR, sizeof(answer), answer, NULL),
              CL_INVALID_D3D11_RESOURCE_KHR);
    CHECK_INT(clGetImageInfo(s.planes[0], CL_IMAGE_D3D11_SUBRESOURCE_KHR, sizeof(answer), answer, NULL),
              CL_INVALID_D3D11_RESOURCE_KHR);
    dx9_close_surface(&s);
}

/* ---- acquire and release ---- */

static rig_enqueue function_of(const struct dx9 *dx9, int which)
{
    return (rig_enqueue)(which ? dx9->release : dx9->acquire);
}

/* Both functions refuse these arguments and make no event. */
static void both_refuse(const struct dx9 *dx9, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                        cl_uint wait_count, const cl_event *wait, cl_int code)
{
    for (int which = 0; which < 2; which++) {
        cl_event event = (cl_event)&event;
        CHECK_INT(function_of(dx9, which)(queue, count, objects, wait_count, wait, &event), code);
        CHECK(event == (cl_event)&event);
        CHECK_INT(function_of(dx9, which)(queue, count, objects, wait_count, wait, NULL), code);
    }
}

DX9_CASE(lists, 0)
{
    struct dx9_surface s;
    for (int which = 0; which < 2; which++)
        CHECK_INT(function_of(dx9, which)(dx9->rig.queue, 0, NULL, 0, NULL, NULL), CL_SUCCESS);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    both_refuse(dx9, s.queue, 0, s.planes, 0, NULL, CL_INVALID_VALUE);
    both_refuse(dx9, s.queue, 2, NULL, 0, NULL, CL_INVALID_VALUE);
    both_refuse(dx9, s.queue, 2, s.planes, 1, NULL, CL_INVALID_EVENT_WAIT_LIST);
    const cl_event none = NULL;
    both_refuse(dx9, s.queue, 2, s.planes, 0, &none, CL_INVALID_EVENT_WAIT_LIST);
    both_refuse(dx9, s.queue, 2, s.planes, 1, &none, CL_INVALID_EVENT_WAIT_LIST);
    dx9_close_surface(&s);
}

DX9_CASE(queues, 0)
{
    struct dx9_surface s;
    struct rig d3d11;
    cl_context plain = plain_context(&dx9->rig);
    cl_command_queue queue = make_queue(&dx9->rig, plain, 0);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    both_refuse(dx9, NULL, 2, s.planes, 0, NULL, CL_INVALID_COMMAND_QUEUE);
    both_refuse(dx9, queue, 2, s.planes, 0, NULL, CL_INVALID_CONTEXT);
    if (rig_open(&d3d11, &rig_d3d11, 0)) {
        both_refuse(dx9, d3d11.queue, 2, s.planes, 0, NULL, CL_INVALID_CONTEXT);
        CHECK_INT(d3d11.acquire(d3d11.queue, 1, s.planes, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
        CHECK_INT(d3d11.acquire(dx9->rig.queue, 1, s.planes, 0, NULL, NULL), CL_INVALID_CONTEXT);
        rig_close(&d3d11);
    }
    dx9_close_surface(&s);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

DX9_CASE(objects, 0)
{
    struct dx9_surface s;
    cl_mem image = plain_image(dx9->rig.context);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    const cl_mem lists[][2] = {{s.planes[0], NULL}, {s.planes[0], image}, {image, s.planes[0]}};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        both_refuse(dx9, s.queue, 2, lists[i], 0, NULL, CL_INVALID_MEM_OBJECT);
        /* The good one was not acquired with it. */
        CHECK_INT(dx9->release(s.queue, 1, &s.planes[0], 0, NULL, NULL), CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    }
    dx9_close_surface(&s);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

DX9_CASE(states, 0)
{
    const cl_int already = CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR, not = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR;
    struct dx9_surface s;
    cl_command_queue second = make_queue(&dx9->rig, dx9->rig.context, 0);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    const cl_mem twice[] = {s.planes[0], s.planes[0]};
    CHECK_INT(dx9->release(s.queue, 2, s.planes, 0, NULL, NULL), not);
    CHECK_INT(dx9->acquire(s.queue, 2, twice, 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 1, s.planes, 0, NULL, NULL), not);
    CHECK_INT(dx9->acquire(s.queue, 1, &s.planes[1], 0, NULL, NULL), CL_SUCCESS);
    /* All or none. */
    CHECK_INT(dx9->acquire(s.queue, 2, s.planes, 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 2, s.planes, 0, NULL, NULL), not);
    CHECK_INT(dx9->acquire(s.queue, 1, &s.planes[0], 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(dx9->acquire(second, 1, &s.planes[0], 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 2, twice, 0, NULL, NULL), not);
    /* Another queue of the context may release. */
    CHECK_INT(dx9->release(second, 2, s.planes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(dx9->release(second, 2, s.planes, 0, NULL, NULL), not);
    dx9_close_surface(&s);
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
}

DX9_CASE(events, RIG_PROFILING)
{
    const cl_command_type types[] = {CL_COMMAND_ACQUIRE_DX9_MEDIA_SURFACES_KHR, CL_COMMAND_RELEASE_DX9_MEDIA_SURFACES_KHR};
    struct dx9_surface s;
    cl_event gate = user_event(dx9->rig.context);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    for (int which = 0; which < 2; which++) {
        cl_event event = NULL;
        cl_ulong start = 0, end = 0;
        CHECK_INT(function_of(dx9, which)(s.queue, 2, s.planes, 1, &gate, &event), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
        CHECK_INT(rig_event_type(event), types[which]);
        CHECK_INT(rig_event_status(event), CL_COMPLETE);
        CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL), CL_SUCCESS);
        CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL), CL_SUCCESS);
        CHECK(start <= end);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        CHECK_INT(function_of(dx9, which)(s.queue, 0, NULL, 0, NULL, &event), CL_SUCCESS);
        CHECK_INT(rig_event_type(event), types[which]);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    dx9_close_surface(&s);
}

/* ---- use without acquire ---- */

static const char use_source[] = "kernel void use(read_only image2d_t image, global float4 *to)\n"
                                 "{\n"
                                 "    to[0] = read_imagef(image, (int2)(0, 0));\n"
                                 "}\n";

static cl_int launch(struct dx9_surface *s, cl_kernel kernel)
{
    const size_t one = 1;
    return clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
}

/* The calls that use an object return `code`. */
static void use(struct dx9_surface *s, cl_kernel kernel, cl_int code)
{
    static const size_t origin[3] = {0, 0, 0}, region[3] = {4, 4, 1};
    static unsigned char bytes[64];
    const float colour[4] = {0, 0, 0, 1};
    size_t pitch;
    cl_int status = 1;
    cl_mem image = s->planes[1], buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    CHECK_INT(clEnqueueReadImage(s->queue, image, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueWriteImage(s->queue, image, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueFillImage(s->queue, image, colour, origin, region, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueCopyImageToBuffer(s->queue, image, buffer, origin, region, 0, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueCopyBufferToImage(s->queue, buffer, image, 0, origin, region, 0, NULL, NULL), code);
    void *mapped = clEnqueueMapImage(s->queue, image, CL_TRUE, CL_MAP_READ, origin, region, &pitch, NULL, 0, NULL, NULL,
                                     &status);
    CHECK_INT(status, code);
    if (mapped)
        CHECK_INT(clEnqueueUnmapMemObject(s->queue, image, mapped, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueMigrateMemObjects(s->queue, 1, &image, 0, 0, NULL, NULL), code);
    CHECK_INT(launch(s, kernel), code);
    dx9_wait(s->queue);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

DX9_CASE(uses, 0)
{
    struct dx9_surface s;
    cl_kernel kernel = rig_kernel(&dx9->rig, use_source, "use");
    cl_mem to = clCreateBuffer(dx9->rig.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    if (!CHECK(kernel != NULL) || !dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &s.planes[1]), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &to), CL_SUCCESS);
    use(&s, kernel, CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    dx9_acquire_plane(&s, 0); /* the other plane is another object */
    use(&s, kernel, CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    dx9_acquire_plane(&s, 1);
    use(&s, kernel, CL_SUCCESS);
    dx9_release(&s);
    use(&s, kernel, CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    dx9_close_surface(&s);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* ---- names ---- */

static void names_of(cl_platform_id platform, cl_device_id device)
{
    static char text[65536];
    CHECK_INT(device ? clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL)
                     : clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL),
              CL_SUCCESS);
    CHECK(strstr(text, "cl_khr_dx9_media_sharing") != NULL);
}

DX9_CASE(names, RIG_NO_CONTEXT)
{
    names_of(dx9->rig.platform, NULL);
    names_of(dx9->rig.platform, dx9->rig.cl_device);
}

#define DXVA_CASE(body, flags)                                                                                         \
    static void body##_case(void)                                                                                      \
    {                                                                                                                  \
        dx9_run(true, (flags), body);                                                                                  \
    }
DXVA_CASE(dxva_devices, RIG_NO_CONTEXT)
DXVA_CASE(dxva_contexts, RIG_NO_CONTEXT)
DXVA_CASE(dxva_surfaces, 0)

static const struct tap_test tests[] = {
    DX9_TESTS("devices: both sets", device_sets),
    DX9_TESTS("devices: a device by either type", device_types),
    DX9_TESTS("devices: arrays of types and adapters", device_arrays),
    DX9_TESTS("devices: bad arguments", device_arguments),
    DX9_TESTS("devices: what is no adapter", device_adapters),
    DX9_TESTS("devices: none is found", device_not_found),
#ifndef _WIN32
    {"all platforms: none is found", device_not_found_again},
#endif
    {"DXVA-HD: devices", dxva_devices_case},
    DX9_TESTS("contexts: properties", contexts),
    DX9_TESTS("contexts: two adapters", contexts_of_two),
    DX9_TESTS("contexts: what is no adapter", contexts_with_bad_adapters),
    DX9_TESTS("contexts: OpenGL beside it", contexts_beside_opengl),
    {"DXVA-HD: contexts", dxva_contexts_case},
    DX9_TESTS("creation: contexts", creation_contexts),
    DX9_TESTS("creation: adapter types", creation_types),
    DX9_TESTS("creation: flags", creation_flags),
    DX9_TESTS("creation: planes", creation_planes),
    DX9_TESTS("creation: what is no surface", creation_structures),
    DX9_TESTS("creation: pools", creation_pools),
    DX9_TESTS("creation: multisampled surfaces", creation_multisampled),
    DX9_TESTS("creation: surfaces of another device", creation_other_device),
    DX9_TESTS("creation: formats that are not in the tables", creation_formats),
    DX9_TESTS("creation: planar surfaces of odd sizes", creation_odd_sizes),
    DX9_TESTS("creation: shared handles", creation_handles),
    DX9_TESTS("creation: several objects of one surface", creation_twice),
    {"DXVA-HD: surfaces", dxva_surfaces_case},
    DX9_TESTS("queries: every plane of every format", queries),
    DX9_TESTS("queries: formats beyond the tables", queries_beyond),
    DX9_TESTS("queries: the type as it was given", queries_of_types),
    DX9_TESTS("queries of other objects", queries_of_others),
    DX9_TESTS("queries of other extensions", queries_by_others),
    DX9_TESTS("acquire and release: lists", lists),
    DX9_TESTS("acquire and release: queues", queues),
    DX9_TESTS("acquire and release: objects", objects),
    DX9_TESTS("acquire and release: who owns what", states),
    DX9_TESTS("acquire and release: events", events),
    DX9_TESTS("use of what is not acquired", uses),
    DX9_TESTS("the extension is listed", names),
};

TAP_MAIN(tests)
