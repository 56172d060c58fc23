/* Which devices cl_khr_dx9_media_sharing gives for media adapters, and the contexts that are made with them. */
#include "common/dx9.h"
#include "sharing.h"

#include <CL/cl_d3d11.h>
#include <CL/cl_gl.h>

enum { MOST_DEVICES = 32, WIDTH = 64, HEIGHT = 48 };

#define NV12 (&dx9_formats[0])
#define BAD_ADAPTER CL_INVALID_DX9_MEDIA_ADAPTER_KHR

/* ---- the device query ---- */

static cl_int ask(const struct dx9 *dx9, cl_uint count, const cl_uint *types, void *const *adapters, cl_uint set,
                  cl_device_id *devices, cl_uint *found)
{
    return dx9->get_device_ids(dx9->rig.platform, count, (cl_dx9_media_adapter_type_khr *)types, (void *)adapters, set,
                               devices ? MOST_DEVICES : 0, devices, found);
}

/* Asks for the count first and for the list then, as programs do. */
static cl_uint list(const struct dx9 *dx9, cl_uint adapter_count, const cl_uint *types, void *const *adapters,
                    cl_uint set, cl_device_id devices[MOST_DEVICES])
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

DX9_CASE("devices: both sets", device_sets, RIG_NO_CONTEXT)
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
DX9_CASE("devices: a device by either type", device_types, RIG_NO_CONTEXT)
{
    const cl_uint types[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_D3D9EX_KHR};
    cl_device_id devices[MOST_DEVICES];
    void *adapter = dx9->device;
    for (size_t i = 0; i < 2; i++) {
        const cl_uint count = list(dx9, 1, &types[i], &adapter, all_set, devices);
        CHECK(has(devices, count, dx9->rig.cl_device));
    }
}

/* AMD's RapidFire passes the device where an array is specified, and one type with a count of three. */
DX9_CASE("devices: a device instead of an array", device_itself, RIG_NO_CONTEXT)
{
    cl_device_id devices[MOST_DEVICES], same[MOST_DEVICES];
    void *adapter = dx9->device;
    const cl_uint count = list(dx9, 1, &dx9->adapter_type, &adapter, all_set, devices);
    for (cl_uint asked = 1; asked <= 3; asked += 2) {
        CHECK_INT(list(dx9, asked, &dx9->adapter_type, (void *const *)dx9->device, all_set, same), count);
        CHECK(memcmp(same, devices, count * sizeof(*same)) == 0);
    }
}

/* What is given are arrays: of types, and of adapters. */
DX9_CASE("devices: arrays of types and adapters", device_arrays, RIG_NO_CONTEXT)
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

DX9_CASE("devices: bad arguments", device_arguments, RIG_NO_CONTEXT)
{
    const cl_uint bad_sets[] = {0, 1, CL_ADAPTER_D3D9_KHR, preferred_set - 1, all_set + 1, 0x4024, 0xFFFFFFFFu};
    const cl_uint type = dx9->adapter_type,
                  bad_types[] = {0, CL_ADAPTER_D3D9_KHR - 1, CL_ADAPTER_DXVA_KHR + 1, 0x4022, 0xFFFFFFFFu};
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
DX9_CASE("devices: what is no adapter", device_adapters, RIG_NO_CONTEXT)
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

DX9EX_CASE("DXVA-HD: devices", dxva_devices, RIG_NO_CONTEXT)
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

#define TRY_CONTEXT(counted, expected, ...)                                                  \
    do {                                                                                     \
        const cl_context_properties given_[] = {__VA_ARGS__};                                \
        try_context(dx9, (counted), given_, sizeof(given_) / sizeof(given_[0]), (expected)); \
    } while (0)

DX9_CASE("contexts: properties", contexts, RIG_NO_CONTEXT)
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
    CHECK_INT(clGetContextInfo(context, 0, sizeof(device), &device, NULL), CL_INVALID_VALUE);
}

/* Two adapters side by side: the context holds both and takes the surfaces of both. */
DX9_CASE("contexts: two adapters", contexts_of_two, RIG_NO_CONTEXT)
{
    cl_int status = 1;
    struct dx9_surface of_first, of_second;
    struct dx9 second;
    if (!dx9_open(&second, !dx9->extended, RIG_NO_CONTEXT))
        return;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)dx9->rig.platform,
                                                dx9->property,
                                                (cl_context_properties)dx9->device,
                                                second.property,
                                                (cl_context_properties)second.device,
                                                0};
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

DX9_CASE("contexts: what is no adapter", contexts_with_bad_adapters, RIG_NO_CONTEXT)
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
DX9_CASE("contexts: OpenGL beside it", contexts_beside_opengl, RIG_NO_CONTEXT)
{
    const cl_context_properties graphics[] = {CL_GL_CONTEXT_KHR, CL_EGL_DISPLAY_KHR, CL_GLX_DISPLAY_KHR, CL_WGL_HDC_KHR,
                                              CL_CGL_SHAREGROUP_KHR};
    const cl_context_properties platform = (cl_context_properties)dx9->rig.platform,
                                device = (cl_context_properties)dx9->device;
    const ULONG refs = rig_refs(dx9->device);
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++) {
        const cl_context_properties alone[] = {CL_CONTEXT_PLATFORM, platform, graphics[i], 0x1234, 0};
        const cl_context_properties beside[] = {
            CL_CONTEXT_PLATFORM, platform, dx9->property, device, graphics[i], 0x1234, 0};
        CHECK_INT(context_status(dx9, beside), context_status(dx9, alone));
    }
    CHECK_INT(rig_refs(dx9->device), refs);
}

DX9EX_CASE("DXVA-HD: contexts", dxva_contexts, RIG_NO_CONTEXT)
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

/* ---- names ---- */

static void names_of(cl_platform_id platform, cl_device_id device)
{
    static char text[65536];
    CHECK_INT(device ? clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL)
                     : clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL),
              CL_SUCCESS);
    CHECK(strstr(text, "cl_khr_dx9_media_sharing") != NULL);
    CHECK(strstr(text, "cl_intel_dx9_media_sharing") != NULL);
}

DX9_CASE("the extension is listed, and by Intel's name", names, RIG_NO_CONTEXT)
{
    names_of(dx9->rig.platform, NULL);
    names_of(dx9->rig.platform, dx9->rig.cl_device);
}

TAP_MAIN
