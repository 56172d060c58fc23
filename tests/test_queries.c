/* What can be asked: devices for a Direct3D device or adapter, contexts with interop and their properties, objects,
 * extension strings, functions by name. */
#include "sharing.h"

/* ---- devices ---- */

/* Another face of the device, at another address than the one that is named to OpenCL. */
static IDXGIDevice *dxgi_device_of(const struct rig *rig)
{
    static const GUID iid = {0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
    IDXGIDevice *dxgi = NULL;
    CHECK_INT(IUnknown_QueryInterface((IUnknown *)rig->device, &iid, (void **)&dxgi), S_OK);
    return dxgi;
}

static IDXGIAdapter *adapter_of(const struct rig *rig)
{
    IDXGIDevice *dxgi = dxgi_device_of(rig);
    IDXGIAdapter *adapter = NULL;
    if (!dxgi)
        return NULL;
    CHECK_INT(IDXGIDevice_GetAdapter(dxgi, &adapter), S_OK);
    rig_release(dxgi);
    return adapter;
}

enum { MOST_DEVICES = 32 };

/* Asks count first and list then, as programs do, and checks that both agree. Returns the count. */
static cl_uint ask(const struct rig *rig, cl_uint source, void *object, cl_uint set, cl_device_id devices[MOST_DEVICES])
{
    cl_uint count = 0, again = 0;
    if (!CHECK_INT(rig->get_device_ids(rig->platform, source, object, set, 0, NULL, &count), CL_SUCCESS))
        return 0;
    CHECK(count >= 1 && count <= MOST_DEVICES);
    CHECK_INT(rig->get_device_ids(rig->platform, source, object, set, MOST_DEVICES, devices, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    return count;
}

static bool listed(const cl_device_id *list, cl_uint count, cl_device_id device)
{
    for (cl_uint i = 0; i < count; i++)
        if (list[i] == device)
            return true;
    return false;
}

static void check_subset(const cl_device_id *part, cl_uint part_count, const cl_device_id *whole, cl_uint whole_count)
{
    CHECK(part_count <= whole_count);
    for (cl_uint i = 0; i < part_count; i++) {
        CHECK(listed(whole, whole_count, part[i]));
        CHECK(!listed(part, i, part[i]));
    }
}

SHARING_CASE(device_sets, RIG_NO_CONTEXT)
{
    cl_device_id all[MOST_DEVICES], preferred[MOST_DEVICES], by_adapter[MOST_DEVICES];
    IDXGIAdapter *adapter = adapter_of(rig);
    if (!adapter)
        return;
    const cl_uint all_count = ask(rig, rig->api->device_source, rig->device, rig->api->all_set, all);
    /* The machine of the tests has no GPU: its CPU device is what lies nearest to Direct3D. */
    const cl_uint preferred_count = ask(rig, rig->api->device_source, rig->device, rig->api->preferred_set, preferred);
    CHECK(listed(all, all_count, rig->cl_device));
    check_subset(all, all_count, all, all_count);
    check_subset(preferred, preferred_count, all, all_count);

    cl_uint count = ask(rig, rig->api->adapter_source, adapter, rig->api->all_set, by_adapter);
    CHECK_INT(count, all_count);
    check_subset(all, all_count, by_adapter, count);
    count = ask(rig, rig->api->adapter_source, adapter, rig->api->preferred_set, by_adapter);
    CHECK_INT(count, preferred_count);
    check_subset(preferred, preferred_count, by_adapter, count);
    rig_release(adapter);
}

/* Every device with images may interoperate, through the host's memory at least; no other one has all of it. */
SHARING_CASE(device_set_all, RIG_NO_CONTEXT)
{
    cl_device_id all[MOST_DEVICES], of_platform[MOST_DEVICES];
    cl_uint count = 0;
    const cl_uint all_count = ask(rig, rig->api->device_source, rig->device, rig->api->all_set, all);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, of_platform, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count; i++) {
        cl_bool images = CL_FALSE;
        CHECK_INT(clGetDeviceInfo(of_platform[i], CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL), CL_SUCCESS);
        CHECK_INT(listed(all, all_count, of_platform[i]), images);
    }
    check_subset(all, all_count, of_platform, count);
}

SHARING_CASE(device_room, RIG_NO_CONTEXT)
{
    const cl_uint sets[] = {rig->api->preferred_set, rig->api->all_set};
    cl_device_id guard = (cl_device_id)&guard;
    for (size_t s = 0; s < 2; s++) {
        cl_device_id devices[MOST_DEVICES];
        cl_uint count = 0;
        const cl_uint whole = ask(rig, rig->api->device_source, rig->device, sets[s], devices);
        if (whole == 0) /* ask() has told */
            continue;
        /* Room for one: one is written and all are counted. */
        cl_device_id few[3] = {guard, guard, guard};
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, sets[s], 1, few, &count),
                  CL_SUCCESS);
        CHECK_INT(count, whole);
        CHECK(few[0] == devices[0]);
        CHECK(few[1] == guard);
        /* Nobody has to want the count. */
        few[0] = guard;
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, sets[s], 1, few, NULL),
                  CL_SUCCESS);
        CHECK(few[0] == devices[0]);
        CHECK(few[1] == guard);
        /* More room than devices: the rest stays. */
        cl_device_id many[MOST_DEVICES + 1];
        for (int i = 0; i <= MOST_DEVICES; i++)
            many[i] = guard;
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, sets[s], MOST_DEVICES, many,
                                      NULL), CL_SUCCESS);
        CHECK(many[whole - 1] == devices[whole - 1]);
        CHECK(many[whole] == guard);
    }
}

SHARING_CASE(device_arguments, RIG_NO_CONTEXT)
{
    const struct rig_api *api = rig->api, *other = other_api(rig);
    const cl_uint bad_sources[] = {0, api->device_source + 0x1000, api->preferred_set, api->all_set, other->device_source,
                                   other->adapter_source, 0xFFFFFFFFu};
    const cl_uint bad_sets[] = {0, 1, api->device_source, api->adapter_source, other->preferred_set, other->all_set,
                                0xFFFFFFFFu};
    cl_device_id device, untouched = (cl_device_id)&device;
    cl_uint count = 4711;
    device = untouched;
    CHECK_INT(rig->get_device_ids(NULL, api->device_source, rig->device, api->all_set, 1, &device, &count),
              CL_INVALID_PLATFORM);
    CHECK_INT(rig->get_device_ids(NULL, bad_sources[0], NULL, bad_sets[0], 0, &device, NULL), CL_INVALID_PLATFORM);
    CHECK_INT(rig->get_device_ids((cl_platform_id)rig->cl_device, api->device_source, rig->device, api->all_set, 1, &device,
                                  &count), CL_INVALID_PLATFORM);
    for (size_t i = 0; i < sizeof(bad_sources) / sizeof(bad_sources[0]); i++)
        CHECK_INT(rig->get_device_ids(rig->platform, bad_sources[i], rig->device, api->all_set, 1, &device, &count),
                  CL_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(bad_sets) / sizeof(bad_sets[0]); i++)
        CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, bad_sets[i], 1, &device, &count),
                  CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 0, &device, &count),
              CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 0, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 1, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK(device == untouched);
    CHECK_INT(count, 4711);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 1, NULL, &count),
              CL_SUCCESS);
    CHECK(count >= 1 && count != 4711);
}

static cl_int ask_one(const struct rig *rig, cl_uint source, void *object)
{
    cl_device_id device;
    return rig->get_device_ids(rig->platform, source, object, rig->api->all_set, 1, &device, NULL);
}

/* The object must be what the source says. */
SHARING_CASE(device_objects, RIG_NO_CONTEXT)
{
    struct rig other;
    struct shared shared;
    IDXGIAdapter *adapter = adapter_of(rig);
    IDXGIDevice *dxgi = dxgi_device_of(rig);
    if (!adapter || !dxgi)
        return;
    CHECK_INT(ask_one(rig, rig->api->device_source, dxgi), CL_INVALID_VALUE);
    rig_release(dxgi);
    CHECK_INT(ask_one(rig, rig->api->device_source, NULL), CL_INVALID_VALUE);
    CHECK_INT(ask_one(rig, rig->api->adapter_source, NULL), CL_INVALID_VALUE);
    CHECK_INT(ask_one(rig, rig->api->device_source, adapter), CL_INVALID_VALUE);
    CHECK_INT(ask_one(rig, rig->api->adapter_source, rig->device), CL_INVALID_VALUE);
    if (shared_resource(rig, KIND_2D, 1, &shared)) {
        CHECK_INT(ask_one(rig, rig->api->device_source, shared.resource), CL_INVALID_VALUE);
        CHECK_INT(ask_one(rig, rig->api->adapter_source, shared.resource), CL_INVALID_VALUE);
        shared_close(&shared);
    }
    if (rig_open(&other, other_api(rig), RIG_NO_CONTEXT)) {
        CHECK_INT(ask_one(rig, rig->api->device_source, other.device), CL_INVALID_VALUE);
        rig_close(&other);
    }
    rig_release(adapter);
}

/* Queries leave the counts of references alone, those that fail as well. */
SHARING_CASE(device_references, RIG_NO_CONTEXT)
{
    IDXGIAdapter *adapter = adapter_of(rig);
    if (!adapter)
        return;
    const ULONG device_refs = rig_refs(rig->device), adapter_refs = rig_refs(adapter);
    for (int i = 0; i < 10; i++) {
        cl_device_id devices[MOST_DEVICES];
        ask(rig, rig->api->device_source, rig->device, rig->api->all_set, devices);
        ask(rig, rig->api->device_source, rig->device, rig->api->preferred_set, devices);
        ask(rig, rig->api->adapter_source, adapter, rig->api->all_set, devices);
        CHECK_INT(ask_one(rig, rig->api->adapter_source, rig->device), CL_INVALID_VALUE);
        CHECK_INT(ask_one(rig, rig->api->device_source, adapter), CL_INVALID_VALUE);
    }
    CHECK_INT(rig_refs(rig->device), device_refs);
    CHECK_INT(rig_refs(adapter), adapter_refs);
    rig_release(adapter);
}

/* A platform without devices is there to be asked too. Of those that are installed with the tests' OpenCL some have
 * none, but the other cases are run with one platform. */
SHARING_CASE(device_not_found, RIG_NO_CONTEXT)
{
    cl_platform_id platforms[16];
    cl_uint count = 0, empty = 0;
    CHECK_INT(clGetPlatformIDs(16, platforms, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 16; i++) {
        cl_uint devices = 0, found = 4711;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) == CL_SUCCESS && devices)
            continue;
        CHECK_INT(rig->get_device_ids(platforms[i], rig->api->device_source, rig->device, rig->api->all_set, 0, NULL,
                                      &found), CL_DEVICE_NOT_FOUND);
        CHECK_INT(rig->get_device_ids(platforms[i], rig->api->device_source, rig->device, rig->api->preferred_set, 0, NULL,
                                      &found), CL_DEVICE_NOT_FOUND);
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

/* ---- making contexts ---- */

enum { MOST_PROPERTIES = 16 };

/* Creates a context in both ways and checks the code, the echo of the properties and the reference on the device. */
static void try_context(const struct rig *rig, const cl_context_properties *properties, size_t count, cl_int expected)
{
    const ULONG refs = rig_refs(rig->device);
    for (int by_type = 0; by_type < 2; by_type++) {
        cl_int status = 1;
        cl_context context =
            by_type ? clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                    : clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, expected);
        if (expected != CL_SUCCESS) {
            CHECK(context == NULL);
            CHECK_INT(rig_refs(rig->device), refs);
        }
        if (!context)
            continue;
        cl_context_properties echo[MOST_PROPERTIES + 1] = {0};
        size_t size = 0;
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, 0, NULL, &size), CL_SUCCESS);
        CHECK_INT(size, count * sizeof(properties[0]));
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(echo), echo, &size), CL_SUCCESS);
        CHECK_INT(size, count * sizeof(properties[0]));
        CHECK_MEM(echo, properties, count * sizeof(properties[0]));
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, size - 1, echo, NULL), CL_INVALID_VALUE);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        CHECK_INT(rig_refs(rig->device), refs);
    }
}

#define TRY_CONTEXT(rig, expected, ...)                                                                                \
    do {                                                                                                               \
        const cl_context_properties properties_[] = {__VA_ARGS__};                                                     \
        try_context((rig), properties_, sizeof(properties_) / sizeof(properties_[0]), (expected));                     \
    } while (0)

SHARING_CASE(context_properties, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, name, device, CL_CONTEXT_PLATFORM, platform, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, name, device, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, CL_CONTEXT_PLATFORM, platform, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE, 0);
    /* NULL means that this interop is not asked for, also beside another. */
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, 0, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, device, other_api(rig)->context_device, 0, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, other_api(rig)->context_device, 0, name, device, 0);
}

/* Legal where one platform can be chosen: with one installed there is no doubt. */
SHARING_CASE(context_without_platform, RIG_NO_CONTEXT)
{
    cl_uint platforms = 0;
    CHECK_INT(clGetPlatformIDs(0, NULL, &platforms), CL_SUCCESS);
    if (platforms != 1) {
        SKIP("there are several platforms");
        return;
    }
    TRY_CONTEXT(rig, CL_SUCCESS, rig->api->context_device, (cl_context_properties)rig->device, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, rig->api->context_device, (cl_context_properties)rig->device,
                CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
}

SHARING_CASE(context_device_counts, RIG_NO_CONTEXT)
{
    cl_int status = 1;
    const ULONG refs = rig_refs(rig->device);
    cl_context context = rig_make_context(rig, rig->device, true, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    CHECK_INT(rig_refs(rig->device), refs + 1);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK_INT(rig_refs(rig->device), refs);
    context = rig_make_context(rig, NULL, true, &status);
    CHECK_INT(rig_refs(rig->device), refs);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

SHARING_CASE(context_properties_twice, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, name, device, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, name, device, CL_CONTEXT_PLATFORM, platform, name, 0, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, CL_CONTEXT_PLATFORM, platform, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, name,
                device, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE,
                CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
}

SHARING_CASE(context_property_values, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    static const cl_context_properties bad_sync[] = {2, -1, 0x10001};
    for (size_t i = 0; i < sizeof(bad_sync) / sizeof(bad_sync[0]); i++) {
        TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, CL_CONTEXT_INTEROP_USER_SYNC,
                    bad_sync[i], 0);
        TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, bad_sync[i],
                    0);
    }
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, 0x7654, 1, 0);
}

SHARING_CASE(context_device_is_none, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device;
    const cl_int code = rig->api->invalid_device;
    struct rig other;
    struct shared shared;
    IDXGIAdapter *adapter = adapter_of(rig);
    IDXGIDevice *dxgi = dxgi_device_of(rig);
    if (adapter)
        TRY_CONTEXT(rig, code, CL_CONTEXT_PLATFORM, platform, name, (cl_context_properties)adapter, 0);
    if (dxgi)
        TRY_CONTEXT(rig, code, CL_CONTEXT_PLATFORM, platform, name, (cl_context_properties)dxgi, 0);
    rig_release(adapter);
    rig_release(dxgi);
    if (shared_resource(rig, KIND_BUFFER, 1, &shared)) {
        TRY_CONTEXT(rig, code, CL_CONTEXT_PLATFORM, platform, name, (cl_context_properties)shared.resource, 0);
        shared_close(&shared);
    }
    if (rig_open(&other, other_api(rig), RIG_NO_CONTEXT)) {
        const ULONG refs = rig_refs(other.device);
        TRY_CONTEXT(rig, code, CL_CONTEXT_PLATFORM, platform, name, (cl_context_properties)other.device, 0);
        CHECK_INT(rig_refs(other.device), refs);
        rig_close(&other);
    }
}

/* Interop with two graphics APIs at once is the one thing that the text forbids expressly. */
SHARING_CASE(context_two_apis, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    static const cl_context_properties graphics[] = {0x2008, 0x2009, 0x200A, 0x200B, 0x200C}; /* CL_GL_CONTEXT_KHR... */
    struct rig other;
    if (rig_open(&other, other_api(rig), RIG_NO_CONTEXT)) {
        const ULONG refs = rig_refs(other.device);
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, name, device, other.api->context_device,
                    (cl_context_properties)other.device, 0);
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, other.api->context_device, (cl_context_properties)other.device,
                    CL_CONTEXT_PLATFORM, platform, name, device, 0);
        CHECK_INT(rig_refs(other.device), refs);
        rig_close(&other);
    }
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++) {
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, name, device, graphics[i], 0x1234, 0);
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, graphics[i], 0x1234, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    }
}

static cl_int context_status(const struct rig *rig, const cl_context_properties *properties)
{
    cl_int status = 1;
    cl_context context = clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status;
}

/* OpenGL's properties without a value ask for no interop: what the driver says about them counts. */
SHARING_CASE(context_null_opengl, RIG_NO_CONTEXT)
{
    static const cl_context_properties graphics[] = {0x2008, 0x2009, 0x200A, 0x200B, 0x200C}; /* CL_GL_CONTEXT_KHR... */
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++) {
        const cl_context_properties alone[] = {CL_CONTEXT_PLATFORM, platform, graphics[i], 0, 0},
                                    beside[] = {CL_CONTEXT_PLATFORM, platform, graphics[i], 0, name, device, 0};
        CHECK_INT(context_status(rig, beside), context_status(rig, alone));
    }
}

/* What the driver says about the other arguments is still said. */
SHARING_CASE(context_other_arguments, RIG_NO_CONTEXT)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                                rig->api->context_device, (cl_context_properties)rig->device, 0};
    const ULONG refs = rig_refs(rig->device);
    cl_int status = 1;
    CHECK(clCreateContext(properties, 0, &rig->cl_device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContext(properties, 1, NULL, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContextFromType(properties, CL_DEVICE_TYPE_ACCELERATOR, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_DEVICE_NOT_FOUND);
    CHECK(clCreateContext(properties, 0, NULL, NULL, NULL, NULL) == NULL);
    CHECK_INT(rig_refs(rig->device), refs);
}

/* ---- asking contexts ---- */

SHARING_CASE(context_info, 0)
{
    struct {
        cl_bool value;
        cl_uint behind;
    } prefer = {77, 4711};
    size_t size = 0;
    void *device = NULL;
    CHECK_INT(clGetContextInfo(rig->context, rig->api->prefer_shared, sizeof(prefer), &prefer, &size), CL_SUCCESS);
    CHECK_INT(prefer.value, CL_FALSE);
    CHECK_INT(prefer.behind, 4711);
    CHECK_INT(size, sizeof(cl_bool));
    size = 0;
    CHECK_INT(clGetContextInfo(rig->context, rig->api->prefer_shared, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(cl_bool));
    CHECK_INT(clGetContextInfo(rig->context, rig->api->prefer_shared, sizeof(cl_bool) - 1, &prefer, NULL),
              CL_INVALID_VALUE);

    const ULONG refs = rig_refs(rig->device);
    CHECK_INT(clGetContextInfo(rig->context, (cl_context_info)rig->api->context_device, sizeof(device), &device, &size),
              CL_SUCCESS);
    CHECK(device == rig->device);
    CHECK_INT(size, sizeof(void *));
    CHECK_INT(clGetContextInfo(rig->context, (cl_context_info)rig->api->context_device, sizeof(device) - 1, &device, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(rig_refs(rig->device), refs);
}

/* Everything else is the driver's answer. */
SHARING_CASE(context_info_of_the_driver, 0)
{
    cl_uint refs = 0, count = 0;
    cl_device_id device = NULL;
    size_t size = 0;
    CHECK_INT(clGetContextInfo(rig->context, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK_INT(clGetContextInfo(rig->context, CL_CONTEXT_DEVICES, sizeof(device), &device, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(device));
    CHECK(device == rig->cl_device);
    CHECK_INT(clGetContextInfo(rig->context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    CHECK(refs >= 1);
    CHECK_INT(clGetContextInfo(rig->context, 0x1234, sizeof(refs), &refs, NULL), CL_INVALID_VALUE);
    cl_context plain = plain_context(rig);
    CHECK_INT(clGetContextInfo(plain, (cl_context_info)rig->api->context_device, sizeof(device), &device, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

/* ---- asking objects ---- */

/* A query of a memory object or an image. */
typedef cl_int(CL_API_CALL *info_function)(cl_mem, cl_uint, size_t, void *, size_t *);

static void check_info(info_function info, cl_mem object, cl_uint name, const void *expected, size_t size)
{
    char value[32];
    size_t answered = 0;
    memset(value, 0x5A, sizeof(value));
    CHECK_INT(info(object, name, sizeof(value), value, &answered), CL_SUCCESS);
    CHECK_INT(answered, size);
    CHECK_MEM(value, expected, size);
    for (size_t i = size; i < sizeof(value); i++)
        if (value[i] != 0x5A && !CHECK(!"bytes behind the answer stay as they are"))
            break;
    answered = 0;
    CHECK_INT(info(object, name, 0, NULL, &answered), CL_SUCCESS);
    CHECK_INT(answered, size);
    CHECK_INT(info(object, name, size, value, NULL), CL_SUCCESS);
    CHECK_INT(info(object, name, size - 1, value, NULL), CL_INVALID_VALUE);
}

SHARING_CASE(object_queries, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        const ULONG refs = rig_refs(all[kind].resource);
        check_info(clGetMemObjectInfo, all[kind].object, rig->api->mem_resource, &all[kind].resource, sizeof(void *));
        CHECK_INT(rig_refs(all[kind].resource), refs);
        if (kind != KIND_BUFFER) {
            const cl_uint subresource = 0;
            check_info(clGetImageInfo, all[kind].object, rig->api->image_subresource, &subresource, sizeof(subresource));
        }
    }
    shared_close_all(all);
}

SHARING_CASE(subresource_queries, 0)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 8, .height = 4, .slices = 3, .levels = 2,
                                  .bind = D3D11_BIND_SHADER_RESOURCE};
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    if (!CHECK(texture != NULL))
        return;
    for (cl_uint i = 0; i < rig_subresources(&desc); i++) {
        cl_mem image = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, i, NULL);
        if (!CHECK(image != NULL))
            continue;
        check_info(clGetImageInfo, image, rig->api->image_subresource, &i, sizeof(i));
        check_info(clGetMemObjectInfo, image, rig->api->mem_resource, &texture, sizeof(texture));
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
    rig_release(texture);
}

static void no_resource(const struct rig_api *api, cl_mem object)
{
    void *resource = &resource;
    size_t size = 4711;
    CHECK_INT(clGetMemObjectInfo(object, api->mem_resource, sizeof(resource), &resource, &size), api->invalid_resource);
    CHECK(resource == (void *)&resource);
    CHECK_INT(size, 4711);
}

static void no_subresource(const struct rig_api *api, cl_mem object)
{
    cl_uint subresource = 4711;
    CHECK_INT(clGetImageInfo(object, api->image_subresource, sizeof(subresource), &subresource, NULL),
              api->invalid_resource);
    CHECK_INT(subresource, 4711);
}

static cl_mem plain_image(cl_context context)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    cl_int status = 1;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return image;
}

/* Programs ask any object and look at the code. */
static void ask_plain_objects(const struct rig *rig, cl_context context)
{
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL), image = plain_image(context);
    no_resource(rig->api, buffer);
    no_resource(rig->api, image);
    no_subresource(rig->api, image);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

SHARING_CASE(queries_of_other_objects, 0)
{
    struct shared all[KINDS];
    cl_context plain = plain_context(rig);
    ask_plain_objects(rig, plain);
    ask_plain_objects(rig, rig->context);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        no_resource(other_api(rig), all[kind].object);
        if (kind != KIND_BUFFER)
            no_subresource(other_api(rig), all[kind].object);
    }
    no_subresource(rig->api, all[KIND_BUFFER].object);
    const cl_buffer_region region = {0, 16};
    cl_mem part =
        clCreateSubBuffer(all[KIND_BUFFER].object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    if (CHECK(part != NULL)) {
        no_resource(rig->api, part);
        CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    }
    shared_close_all(all);
}

/* Before any context with interop, and so before any record of the library. */
SHARING_CASE(queries_without_interop, RIG_NO_CONTEXT)
{
    cl_context plain = plain_context(rig);
    ask_plain_objects(rig, plain);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

#define CHECK_INFO(info, object, name, type, expected)                                                                 \
    do {                                                                                                               \
        const type expected_ = (expected);                                                                             \
        check_info((info), (object), (name), &expected_, sizeof(expected_));                                           \
    } while (0)

static void check_mem_info(const struct rig *rig, const struct shared *shared)
{
    static const cl_mem_object_type types[] = {CL_MEM_OBJECT_BUFFER, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE3D};
    size_t size = 0;
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_TYPE, cl_mem_object_type, types[shared->kind]);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_FLAGS, cl_mem_flags, CL_MEM_READ_WRITE);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_HOST_PTR, void *, NULL);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_MAP_COUNT, cl_uint, 0);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_REFERENCE_COUNT, cl_uint, 1);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_CONTEXT, cl_context, rig->context);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_ASSOCIATED_MEMOBJECT, cl_mem, NULL);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_OFFSET, size_t, 0);
    CHECK_INT(clGetMemObjectInfo(shared->object, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
    CHECK(shared->kind == KIND_BUFFER ? size == SHARED_BYTES : size >= SHARED_BYTES);
    CHECK_INT(clGetMemObjectInfo(shared->object, 0x1234, sizeof(size), &size, NULL), CL_INVALID_VALUE);
}

static void check_image_info(const struct shared *shared)
{
    const size_t *region = kind_region(shared->kind);
    const bool deep = shared->kind == KIND_3D;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    size_t number = 0;
    check_info(clGetImageInfo, shared->object, CL_IMAGE_FORMAT, &format, sizeof(format));
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_ELEMENT_SIZE, size_t, 4);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_ROW_PITCH, size_t, region[0] * 4);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_SLICE_PITCH, size_t, deep ? region[0] * region[1] * 4 : 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_WIDTH, size_t, region[0]);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_HEIGHT, size_t, region[1]);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_DEPTH, size_t, deep ? region[2] : 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_ARRAY_SIZE, size_t, 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_BUFFER, cl_mem, NULL);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_NUM_MIP_LEVELS, cl_uint, 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_NUM_SAMPLES, cl_uint, 0);
    CHECK_INT(clGetImageInfo(shared->object, 0x1234, sizeof(number), &number, NULL), CL_INVALID_VALUE);
}

SHARING_CASE(ordinary_queries, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        check_mem_info(rig, &all[kind]);
        if (kind != KIND_BUFFER)
            check_image_info(&all[kind]);
        /* Acquired, they answer the same. */
        CHECK_INT(acquire_one(rig, all[kind].object), CL_SUCCESS);
        check_mem_info(rig, &all[kind]);
        if (kind != KIND_BUFFER)
            check_image_info(&all[kind]);
        CHECK_INT(release_one(rig, all[kind].object), CL_SUCCESS);
    }
    shared_close_all(all);
}

/* The sizes are those of the level. */
SHARING_CASE(sizes_of_levels, 0)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R32_UINT, .width = 13, .height = 3, .levels = 4,
                                  .bind = D3D11_BIND_SHADER_RESOURCE};
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    if (!CHECK(texture != NULL))
        return;
    for (cl_uint i = 0; i < 4; i++) {
        static const size_t widths[] = {13, 6, 3, 1}, heights[] = {3, 1, 1, 1};
        cl_mem image = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, i, NULL);
        if (!CHECK(image != NULL))
            continue;
        CHECK_INFO(clGetImageInfo, image, CL_IMAGE_WIDTH, size_t, widths[i]);
        CHECK_INFO(clGetImageInfo, image, CL_IMAGE_HEIGHT, size_t, heights[i]);
        CHECK_INFO(clGetImageInfo, image, CL_IMAGE_ROW_PITCH, size_t, widths[i] * 4);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
    rig_release(texture);
}

/* ---- extension strings ---- */

static unsigned count_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            found++;
    return found;
}

/* A platform's or a device's query, so that both are checked by the same code. */
struct subject {
    cl_platform_id platform;
    cl_device_id device; /* NULL: the platform */
};

static cl_int subject_info(const struct subject *s, size_t room, void *text, size_t *size)
{
    return s->device ? clGetDeviceInfo(s->device, CL_DEVICE_EXTENSIONS, room, text, size)
                     : clGetPlatformInfo(s->platform, CL_PLATFORM_EXTENSIONS, room, text, size);
}

/* The size that is told is the string's, to the byte: programs end themselves if it is not. */
static char *read_extensions(const struct subject *s)
{
    size_t size = 0, again = 0;
    if (!CHECK_INT(subject_info(s, 0, NULL, &size), CL_SUCCESS) || !CHECK(size > 1))
        return NULL;
    char *text = calloc(1, size + 16);
    memset(text, 'x', size + 15);
    CHECK_INT(subject_info(s, size, text, &again), CL_SUCCESS);
    CHECK_INT(again, size);
    CHECK_INT(strlen(text) + 1, size);
    CHECK_INT(text[size], 'x');
    CHECK_INT(subject_info(s, size - 1, text, NULL), CL_INVALID_VALUE);
    CHECK_INT(subject_info(s, size + 8, text, NULL), CL_SUCCESS);
    CHECK_INT(strlen(text) + 1, size);
    return text;
}

/* What a device that shares lists. The Khronos extensions have a version. */
static const struct {
    const char *name;
    cl_version version; /* 0: not looked at */
} shared_by_all[] = {
    {"cl_khr_d3d10_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_khr_d3d11_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_khr_dx9_media_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_nv_d3d10_sharing", 0},
    {"cl_nv_d3d11_sharing", 0},
    {"cl_intel_d3d11_nv12_media_sharing", 0},
    {"cl_intel_dx9_media_sharing", 0},
    {"cl_intel_sharing_format_query", 0},
};
enum { SHARED_BY_ALL = sizeof(shared_by_all) / sizeof(shared_by_all[0]) };

static void check_extensions(const struct subject *s, bool shares)
{
    char *text = read_extensions(s);
    if (!text)
        return;
    for (int i = 0; i < SHARED_BY_ALL; i++)
        if (!CHECK_INT(count_word(text, shared_by_all[i].name), shares))
            printf("# %s\n", shared_by_all[i].name);
    free(text);
}

static void extension_strings(void)
{
    cl_platform_id platforms[16];
    cl_uint platform_count = 0, checked = 0;
    CHECK_INT(clGetPlatformIDs(16, platforms, &platform_count), CL_SUCCESS);
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        cl_device_id devices[MOST_DEVICES];
        cl_uint count = 0;
        bool all = true;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count) != CL_SUCCESS)
            count = 0;
        for (cl_uint d = 0; d < count; d++) {
            cl_bool images = CL_FALSE;
            clGetDeviceInfo(devices[d], CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
            check_extensions(&(struct subject){.device = devices[d]}, images);
            all = all && images;
            checked++;
        }
        /* A platform has what all its devices have. */
        check_extensions(&(struct subject){.platform = platforms[p]}, all && count);
    }
    CHECK(checked >= 1);
}

#ifndef _WIN32
/* With those that have no devices, and so nothing to list. */
static void extension_strings_again(void)
{
    CHECK_INT(run_again("extensions: strings and their sizes", "OCL_ICD_VENDORS", "/etc/OpenCL/vendors"), 1);
}
#endif

static unsigned count_version(const cl_name_version *list, size_t count, const char *name, cl_version version)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) != 0)
            continue;
        found++;
        if (version)
            CHECK_INT(list[i].version, version);
    }
    return found;
}

/* The list with versions and the string name the same extensions. */
static bool check_versions(const struct subject *s)
{
    const cl_uint name = s->device ? CL_DEVICE_EXTENSIONS_WITH_VERSION : CL_PLATFORM_EXTENSIONS_WITH_VERSION;
    size_t size = 0, again = 0;
    cl_name_version list[256];
    const cl_int status = s->device ? clGetDeviceInfo(s->device, name, 0, NULL, &size)
                                    : clGetPlatformInfo(s->platform, name, 0, NULL, &size);
    if (status != CL_SUCCESS)
        return false;
    CHECK(size % sizeof(list[0]) == 0 && size <= sizeof(list));
    CHECK_INT(s->device ? clGetDeviceInfo(s->device, name, size, list, &again)
                        : clGetPlatformInfo(s->platform, name, size, list, &again), CL_SUCCESS);
    CHECK_INT(again, size);
    CHECK_INT(s->device ? clGetDeviceInfo(s->device, name, size - 1, list, NULL)
                        : clGetPlatformInfo(s->platform, name, size - 1, list, NULL), CL_INVALID_VALUE);
    for (int i = 0; i < SHARED_BY_ALL; i++)
        if (!CHECK_INT(count_version(list, size / sizeof(list[0]), shared_by_all[i].name, shared_by_all[i].version), 1))
            printf("# %s\n", shared_by_all[i].name);
    return true;
}

SHARING_CASE(extension_versions, RIG_NO_CONTEXT)
{
    const bool of_device = check_versions(&(struct subject){.device = rig->cl_device});
    const bool of_platform = check_versions(&(struct subject){.platform = rig->platform});
    char version[128] = "";
    CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_VERSION, sizeof(version), version, NULL), CL_SUCCESS);
    if (!of_device && !of_platform)
        SKIP("the OpenCL below has no list with versions");
    /* What is OpenCL 3.0 has both. Under Wine a device tells 3.0, but Wine's own functions stop at 1.2. */
#ifndef _WIN32
    if (strncmp(version, "OpenCL 3", 8) == 0)
        CHECK(of_device && of_platform);
#endif
}

/* ---- functions by name ---- */

SHARING_CASE(functions_by_name, RIG_NO_CONTEXT)
{
    static const char *const formats[] = {
        "clGetDeviceIDsFromD3D%dKHR",     "clCreateFromD3D%dBufferKHR",      "clCreateFromD3D%dTexture2DKHR",
        "clCreateFromD3D%dTexture3DKHR",  "clEnqueueAcquireD3D%dObjectsKHR", "clEnqueueReleaseD3D%dObjectsKHR",
    };
    void *found[6];
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof(name), formats[i], rig->api->version);
        found[i] = clGetExtensionFunctionAddressForPlatform(rig->platform, name);
        CHECK(found[i] != NULL);
        for (int k = 0; k < i; k++)
            CHECK(found[i] != found[k]);
        /* The deprecated way leads to the same function. */
        CHECK(clGetExtensionFunctionAddress(name) == found[i]);
        CHECK(clGetExtensionFunctionAddressForPlatform(NULL, name) == NULL);
    }
    CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, "clGetDeviceIDsFromD3D12KHR") == NULL);
    CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, "clCreateFromD3D11Texture1DKHR") == NULL);
    CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, "clGetDeviceIDsFromD3D11KH") == NULL);
    CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, "") == NULL);
    CHECK(clGetExtensionFunctionAddress("clNoSuchFunctionKHR") == NULL);
}

#ifdef _WIN32
/* Some programs ask the library and not OpenCL. */
SHARING_CASE(functions_of_the_library, RIG_NO_CONTEXT)
{
    static const char *const formats[] = {
        "clGetDeviceIDsFromD3D%dKHR",     "clCreateFromD3D%dBufferKHR",      "clCreateFromD3D%dTexture2DKHR",
        "clCreateFromD3D%dTexture3DKHR",  "clEnqueueAcquireD3D%dObjectsKHR", "clEnqueueReleaseD3D%dObjectsKHR",
    };
    HMODULE library = GetModuleHandleA("OpenCL.dll");
    CHECK(library != NULL);
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof(name), formats[i], rig->api->version);
        CHECK(GetProcAddress(library, name) != NULL);
    }
}
#endif

/* ---- programs ---- */

/* PoCL's kernels tell it only if the program was built for it; the others always do. */
static void tells_access(cl_program program)
{
    cl_int status;
    cl_kernel_arg_access_qualifier access = 0;
    cl_kernel kernel = clCreateKernel(program, "look", &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    CHECK_INT(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL), CL_SUCCESS);
    CHECK_INT(access, CL_KERNEL_ARG_ACCESS_READ_ONLY);
    clReleaseKernel(kernel);
}

SHARING_CASE(kernels_tell_their_access, 0)
{
    static const char *const options[] = {NULL, "", "-DX=1", "-cl-kernel-arg-info", "-DX=1 -cl-kernel-arg-info"};
    const char *source = "kernel void look(read_only image2d_t image, global float *to)"
                         "{ *to = read_imagef(image, (int2)(0, 0)).x; }";
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        cl_int status;
        char found[256] = "?";
        size_t size = 0;
        cl_program program = clCreateProgramWithSource(rig->context, 1, &source, NULL, &status);
        CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, options[i], NULL, NULL), CL_SUCCESS);
        tells_access(program);
        CHECK_INT(clGetProgramBuildInfo(program, rig->cl_device, CL_PROGRAM_BUILD_OPTIONS, sizeof(found), found, &size),
                  CL_SUCCESS);
        CHECK_STR(found, options[i] ? options[i] : "");
        CHECK_INT(size, strlen(found) + 1);
        clReleaseProgram(program);
    }
}

static const struct tap_test tests[] = {
    SHARING_TESTS("devices: the sets, from device and adapter", device_sets),
    SHARING_TESTS("devices: all that have images", device_set_all),
    SHARING_TESTS("devices: room for fewer and for more", device_room),
    SHARING_TESTS("devices: wrong arguments", device_arguments),
    SHARING_TESTS("devices: the object must be what the source says", device_objects),
    SHARING_TESTS("devices: no references are taken", device_references),
    SHARING_TESTS("devices: none is found", device_not_found),
#ifndef _WIN32
    {"devices: a platform without any", device_not_found_again},
#endif
    SHARING_TESTS("contexts: the properties come back as given", context_properties),
    SHARING_TESTS("contexts: no platform named", context_without_platform),
    SHARING_TESTS("contexts: one reference on the device", context_device_counts),
    SHARING_TESTS("contexts: no property twice", context_properties_twice),
    SHARING_TESTS("contexts: values that properties can't have", context_property_values),
    SHARING_TESTS("contexts: the device is no device of the API", context_device_is_none),
    SHARING_TESTS("contexts: no two graphics APIs at once", context_two_apis),
    SHARING_TESTS("contexts: OpenGL without a value", context_null_opengl),
    SHARING_TESTS("contexts: the driver's checks remain", context_other_arguments),
    SHARING_TESTS("contexts: queries of the extension", context_info),
    SHARING_TESTS("contexts: queries of OpenCL", context_info_of_the_driver),
    SHARING_TESTS("objects: resource and subresource", object_queries),
    SHARING_TESTS("objects: the subresource as it was given", subresource_queries),
    SHARING_TESTS("objects: no resource where there is none", queries_of_other_objects),
    SHARING_TESTS("objects: the same without any interop", queries_without_interop),
    SHARING_TESTS("objects: queries of OpenCL", ordinary_queries),
    SHARING_TESTS("objects: sizes of levels", sizes_of_levels),
    SHARING_TESTS("programs: kernels tell what they read, options are as given", kernels_tell_their_access),
    {"extensions: strings and their sizes", extension_strings},
#ifndef _WIN32
    {"all platforms: extension strings", extension_strings_again},
#endif
    SHARING_TESTS("extensions: the lists with versions", extension_versions),
    SHARING_TESTS("functions by name", functions_by_name),
#ifdef _WIN32
    SHARING_TESTS("functions exported by the library", functions_of_the_library),
#endif
};

TAP_MAIN(tests)
