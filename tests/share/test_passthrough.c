/* Where the driver has Direct3D sharing of its own, cld3d leaves all of it to the driver, and with CLD3D_FORCE=1 replaces
 * all of it: never half of each, since two sets of objects and functions must not meet.
 *
 * The driver is a real one under a layer (own_sharing.c). The cases with "own" in their names need it below cld3d; the
 * first two run this program again with it, in both settings. */
#include "common/dx9.h"
#include "own_sharing.h"
#include "sharing.h"

static bool under_own_sharing(void)
{
    const char *layers = getenv("OPENCL_LAYERS");
    if (layers && strstr(layers, "own_sharing"))
        return true;
    SKIP("only as a part of the cases above");
    return false;
}

/* With another layer between it and cld3d, or NULL. */
static unsigned run_over_own_sharing(const char *cases, const char *between)
{
    char layers[1024];
    const char *before = getenv("OPENCL_LAYERS"), *own = getenv("CLD3D_TEST_OWN_SHARING");
    if (!CHECK(before != NULL) || !CHECK(own != NULL) || strstr(before, "own_sharing"))
        return 0;
    /* The first is the lowest. Loaders cut the text behind it. */
    snprintf(layers, sizeof(layers), "%s%s%s:%s", own, between ? ":" : "", between ? between : "", before);
    return run_again(cases, "OPENCL_LAYERS", layers);
}

CASE("a driver that shares by itself is left alone", steps_aside)
{
    CHECK_INT(run_over_own_sharing("own sharing,", NULL), 9);
    CHECK_INT(run_over_own_sharing("own sharing,", getenv("CLD3D_TEST_SPARSE")), 9);
}

CASE("CLD3D_FORCE=1 replaces it wholly", is_forced)
{
    test_setenv("CLD3D_FORCE", "1");
    CHECK_INT(run_over_own_sharing("own sharing replaced", NULL), 6);
    test_setenv("CLD3D_FORCE", NULL);
}

static unsigned times_listed(const struct rig *rig, const char *word)
{
    static char text[65536];
    unsigned times = 0;
    CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        times++;
    return times;
}

/* ---- left to the driver ---- */

#define OWN_CASE(text, name)                               \
    static void name(struct rig *rig);                     \
    CASE(text, name##_alone)                               \
    {                                                      \
        if (under_own_sharing())                           \
            sharing_run(&rig_d3d11, RIG_NO_CONTEXT, name); \
    }                                                      \
    static void name(struct rig *rig)

OWN_CASE("own sharing, extension strings", own_strings)
{
    CHECK_INT(times_listed(rig, "cl_khr_d3d11_sharing"), 1);
    CHECK_INT(times_listed(rig, "cl_khr_dx9_media_sharing"), 1);
    CHECK_INT(times_listed(rig, "cl_khr_d3d10_sharing"), 0);
    CHECK_INT(times_listed(rig, "cl_nv_d3d11_sharing"), 0);
}

OWN_CASE("own sharing, devices", own_devices)
{
    cl_uint count = 0;
    void *adapters[] = {rig->device};
    cl_dx9_media_adapter_type_khr types[] = {CL_ADAPTER_D3D9_KHR};
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 0, NULL, &count),
        CL_SUCCESS);
    CHECK_INT(count, OWN_DEVICE_COUNT);
    const clGetDeviceIDsFromDX9MediaAdapterKHR_fn of_media =
        (clGetDeviceIDsFromDX9MediaAdapterKHR_fn)(size_t)clGetExtensionFunctionAddressForPlatform(
            rig->platform, "clGetDeviceIDsFromDX9MediaAdapterKHR");
    if (!CHECK(of_media != NULL))
        return;
    CHECK_INT(of_media(rig->platform, 1, types, adapters, CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR, 0, NULL, &count),
              CL_SUCCESS);
    CHECK_INT(count, OWN_DEVICE_COUNT + 1);
}

OWN_CASE("own sharing, contexts", own_contexts)
{
    char seen[32];
    cl_int status = 1;
    const ULONG refs = rig_refs(rig->device);
    test_setenv(OWN_SEEN_VARIABLE, "");
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    CHECK_INT(status, CL_SUCCESS);
    snprintf(seen, sizeof(seen), "%llx", (unsigned long long)(size_t)rig->device);
    CHECK_STR(getenv(OWN_SEEN_VARIABLE), seen);
    CHECK_INT(rig_refs(rig->device), refs); /* cld3d holds nothing */
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* A driver that refuses CL_CONTEXT_INTEROP_USER_SYNC gets the rest of the list, and the program its list back. */
OWN_CASE("own sharing, CL_CONTEXT_INTEROP_USER_SYNC", own_sync)
{
    enum { COUNT = 9, NO_VALUE = 2, TWICE = 3, CREATIONS = 2 * (TWICE + 1) };
    for (int i = 0; i < CREATIONS; i++) { /* by devices, and by their type */
        const cl_context_properties value = i / 2;
        const cl_context_properties name = CL_CONTEXT_INTEROP_USER_SYNC, device = (cl_context_properties)rig->device,
                                    again = value == TWICE ? name : 0,
                                    properties[COUNT] = {name,
                                                         value == TWICE ? CL_TRUE : value,
                                                         CL_CONTEXT_PLATFORM,
                                                         (cl_context_properties)rig->platform,
                                                         rig->api->context_device,
                                                         device,
                                                         again,
                                                         again ? CL_TRUE : 0,
                                                         0};
        cl_context_properties echo[COUNT] = {0};
        cl_mem none[1] = {NULL};
        cl_int status = 1;
        cl_context context = i % 2 ? clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                                   : clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, value < NO_VALUE ? CL_SUCCESS : CL_INVALID_PROPERTY);
        if (!context)
            continue;
        CHECK_INT(clRetainContext(context), CL_SUCCESS);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(echo), echo, NULL), CL_SUCCESS);
        CHECK_MEM(echo, properties, sizeof(echo));
        cl_command_queue queue = make_queue(rig, context, 0);
        CHECK_INT(rig->acquire(queue, 1, none, 0, NULL, NULL), OWN_ACQUIRE_CODE - 1); /* the driver's, as before */
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
}

static size_t bytes_of(cl_mem memory)
{
    size_t bytes = 0;
    CHECK_INT(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(memory), CL_SUCCESS);
    return bytes;
}

/* An object of the driver's sharing answers for itself, and the driver's query of formats for its contexts. */
OWN_CASE("own sharing, queries of objects", own_queries)
{
    cl_int status = 1;
    int resource; /* the driver's functions look at none */
    void *got = NULL;
    cl_uint number = 0;
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    if (!CHECK(context != NULL))
        return;
    cl_mem object = rig->create_2d(context, CL_MEM_READ_WRITE, &resource, 3, &status);
    CHECK_INT(clGetMemObjectInfo(object, rig->api->mem_resource, sizeof(got), &got, NULL), CL_SUCCESS);
    CHECK_INT((size_t)got, OWN_RESOURCE);
    CHECK_INT(clGetImageInfo(object, rig->api->image_subresource, sizeof(number), &number, NULL), CL_SUCCESS);
    CHECK_INT(number, OWN_SUBRESOURCE);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

OWN_CASE("own sharing, objects", own_objects)
{
    cl_int status = 1;
    int resource; /* the driver's functions look at none */
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    if (!CHECK(context != NULL))
        return;
    CHECK_INT(bytes_of(rig->create_buffer(context, CL_MEM_READ_WRITE, &resource, &status)), OWN_BUFFER_BYTES);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(bytes_of(rig->create_2d(context, CL_MEM_READ_WRITE, &resource, 3, &status)), OWN_BUFFER_BYTES + 3);
    /* The driver has no such function, and ours would make an object that the driver's can't acquire. */
    CHECK(rig->create_3d(context, CL_MEM_READ_WRITE, &resource, 0, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* Each argument gets to where the driver's function has it. */
OWN_CASE("own sharing, surfaces of Direct3D 9", own_surfaces)
{
    const size_t expected = OWN_BUFFER_BYTES + 1 + 3 * OWN_RESOURCE_BYTES + 5 * OWN_HANDLE_BYTES;
    int three = 3, five = 5;
    cl_dx9_surface_info_khr info = {(IDirect3DSurface9 *)&three, &five};
    clCreateFromDX9MediaSurfaceKHR_fn create;
    clCreateFromDX9MediaSurfaceINTEL_fn create_intel;
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clCreateFromDX9MediaSurfaceKHR");
    void *intel = clGetExtensionFunctionAddressForPlatform(rig->platform, "clCreateFromDX9MediaSurfaceINTEL");
    cl_context context = rig_make_context(rig, rig->device, false, NULL);
    cl_int status = 1;
    if (!CHECK(context != NULL) || !CHECK(address != NULL) || !CHECK(intel != NULL))
        return;
    memcpy(&create, &address, sizeof(create));
    memcpy(&create_intel, &intel, sizeof(create_intel));
    CHECK_INT(bytes_of(create(context, CL_MEM_READ_WRITE, CL_ADAPTER_D3D9EX_KHR, &info, 1, &status)), expected);
    CHECK_INT(status, CL_SUCCESS);
    /* A kind of adapter that the driver alone knows, and its structure. */
    CHECK_INT(bytes_of(create(context, CL_MEM_READ_WRITE, OWN_ADAPTER_TYPE, &five, 2, &status)), OWN_BUFFER_BYTES + 7);
    CHECK_INT(status, CL_SUCCESS);
    status = 1;
    CHECK_INT(bytes_of(create_intel(context, CL_MEM_READ_WRITE, info.resource, &five, 1, &status)), expected);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

OWN_CASE("own sharing, commands", own_commands)
{
    cl_int status = 1;
    cl_mem none[3] = {NULL};
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    cl_command_queue queue = context ? make_queue(rig, context, 0) : NULL;
    if (!CHECK(queue != NULL))
        return;
    CHECK_INT(rig->acquire(queue, 3, none, 0, NULL, NULL), OWN_ACQUIRE_CODE - 3);
    CHECK_INT(rig->release(queue, 2, none, 0, NULL, NULL), OWN_RELEASE_CODE - 2);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* Functions that the driver does not have are not replaced by ours, whose objects it could not use. */
static void own_missing_with(struct rig *rig)
{
    clGetDeviceIDsFromDX9INTEL_fn of_intel;
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clGetDeviceIDsFromDX9INTEL");
    cl_mem none[1] = {NULL};
    cl_uint count = 77;
    cl_context context = plain_context(rig);
    cl_command_queue queue = make_queue(rig, context, 0);
    CHECK_INT(rig->acquire(queue, 1, none, 0, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(rig->release(queue, 1, none, 0, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 0, NULL, &count),
        CL_INVALID_OPERATION);
    if (CHECK(address != NULL)) {
        memcpy(&of_intel, &address, sizeof(of_intel));
        CHECK_INT(
            of_intel(rig->platform, CL_D3D9_DEVICE_INTEL, rig->device, CL_ALL_DEVICES_FOR_DX9_INTEL, 0, NULL, &count),
            CL_INVALID_OPERATION);
    }
    CHECK_INT(count, 77);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

CASE("own sharing, functions that the driver lacks", own_missing)
{
    if (under_own_sharing())
        sharing_run(&rig_d3d10, RIG_NO_CONTEXT, own_missing_with);
}

/* ---- replaced ---- */

#define REPLACED_CASE(text, name, flags)                                               \
    static void name(struct rig *rig);                                                 \
    FOR_EACH_API(text, name, if (under_own_sharing()) sharing_run(api, (flags), name)) \
    static void name(struct rig *rig)

REPLACED_CASE("own sharing replaced: strings", replaced_strings, RIG_NO_CONTEXT)
{
    CHECK_INT(times_listed(rig, "cl_khr_d3d11_sharing"), 1);
    CHECK_INT(times_listed(rig, "cl_khr_d3d10_sharing"), 1);
    CHECK_INT(times_listed(rig, "cl_khr_dx9_media_sharing"), 1);
    CHECK_INT(times_listed(rig, "cl_nv_d3d11_sharing"), 1);
}

REPLACED_CASE("own sharing replaced: data", replaced_trips, 0)
{
    struct shared all[KINDS];
    test_setenv(OWN_SEEN_VARIABLE, "");
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 20 + (unsigned)kind));
    shared_close_all(all);
    CHECK_STR(getenv(OWN_SEEN_VARIABLE), "");
}

REPLACED_CASE("own sharing replaced: devices", replaced_devices, RIG_NO_CONTEXT)
{
    cl_uint count = 0, all = 0;
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 0, NULL, &all), CL_SUCCESS);
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 0, NULL, &count),
        CL_SUCCESS);
    CHECK_INT(count, all);
}

TAP_MAIN
