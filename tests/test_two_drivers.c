/* Two OpenCL drivers in one process: devices, contexts, objects, transports and workarounds are those of the driver that they belong
 * to, one that has Direct3D sharing of its own among them. */
#include "own_sharing.h"
#include "two_drivers.h"

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL), CL_SUCCESS);
    return platform;
}

static cl_device_id device_of(cl_context context)
{
    cl_device_id device = NULL;
    CHECK_INT(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL), CL_SUCCESS);
    return device;
}

/* ---- devices and contexts ---- */

/* Each platform tells devices of its own for the Direct3D device that both can share with. */
BOTH_CASE(own_devices, RIG_NO_CONTEXT)
{
    IDXGIAdapter *adapter = adapter_of(sides);
    if (!adapter)
        return;
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i];
        const struct rig_api *api = rig->api;
        const cl_uint sets[] = {api->all_set, api->preferred_set};
        for (int s = 0; s < 4; s++) {
            cl_device_id devices[MOST_DEVICES];
            cl_uint count = 0;
            const cl_int status =
                rig->get_device_ids(rig->platform, s < 2 ? api->device_source : api->adapter_source,
                                    s < 2 ? rig->device : adapter, sets[s % 2], MOST_DEVICES, devices, &count);
            /* On a machine with a GPU one of them may have none that is preferred. */
            if (status == CL_DEVICE_NOT_FOUND && sets[s % 2] == api->preferred_set)
                continue;
            CHECK_INT(status, CL_SUCCESS);
            CHECK(count >= 1 && count <= MOST_DEVICES);
            for (cl_uint d = 0; d < count && d < MOST_DEVICES; d++)
                CHECK(platform_of(devices[d]) == rig->platform);
        }
    }
    rig_release(adapter);
}

/* Makes a context, on devices or by type; checks that it is refused, and that nothing holds the Direct3D device. */
static void refuse_context(const struct rig *rig, const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *devices)
{
    const ULONG refs = rig_refs(rig->device);
    cl_int status = CL_SUCCESS;
    cl_context context = clCreateContext(properties, count, devices, NULL, NULL, &status);
    CHECK(context == NULL);
    CHECK(status != CL_SUCCESS);
    CHECK_INT(rig_refs(rig->device), refs);
}

BOTH_CASE(mixed_contexts, RIG_NO_CONTEXT)
{
    const cl_device_id devices[SIDES] = {sides[FIRST].cl_device, sides[SECOND].cl_device};
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i], *other = &sides[!i];
        const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                                    rig->api->context_device, (cl_context_properties)rig->device, 0};
        const cl_device_id turned[SIDES] = {rig->cl_device, other->cl_device};
        refuse_context(rig, properties, SIDES, devices);
        refuse_context(rig, properties, SIDES, turned);
    }
}

/* The devices say which driver is meant where no platform is named; by a type, the first has to do. */
BOTH_CASE(contexts_without_platform, RIG_NO_CONTEXT)
{
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i];
        const cl_context_properties properties[] = {rig->api->context_device, (cl_context_properties)rig->device, 0};
        const cl_context_properties named[] = {rig->api->context_device, (cl_context_properties)rig->device,
                                               CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform, 0};
        cl_int status = 1;
        cl_context context = clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        if (!CHECK(context != NULL))
            continue;
        CHECK(device_of(context) == rig->cl_device);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        context = clCreateContextFromType(named, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        if (!CHECK(context != NULL))
            continue;
        CHECK(platform_of(device_of(context)) == rig->platform);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
}

/* ---- objects ---- */

BOTH_CASE(own_objects, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared[SIDES];
        if (!open_both(sides, (enum kind)kind, 1, shared))
            return;
        for (int i = 0; i < SIDES; i++) {
            cl_context context = NULL;
            void *resource = NULL;
            CHECK_INT(clGetMemObjectInfo(shared[i].object, CL_MEM_CONTEXT, sizeof(context), &context, NULL),
                      CL_SUCCESS);
            CHECK(context == sides[i].context);
            CHECK_INT(
                clGetMemObjectInfo(shared[i].object, sides[i].api->mem_resource, sizeof(resource), &resource, NULL),
                CL_SUCCESS);
            CHECK(resource == shared[i].resource);
        }
        for (unsigned turn = 0; turn < 6; turn++)
            round_trip(&sides[turn % 2], &shared[turn % 2], 1 + turn, 3 + turn);
        close_both(shared);
    }
}

/* The rule that a resource has one object is a context's. */
BOTH_CASE(one_resource, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared[SIDES];
        if (!shared_open(&sides[FIRST], (enum kind)kind, 1, &shared[FIRST]))
            return;
        if (join(&sides[SECOND], &shared[FIRST], &shared[SECOND])) {
            for (unsigned turn = 0; turn < 6; turn++)
                round_trip(&sides[turn % 2], &shared[turn % 2], 1 + turn, 2 + turn);
            shared_close(&shared[SECOND]);
        }
        round_trip(&sides[FIRST], &shared[FIRST], 7, 8);
        shared_close(&shared[FIRST]);
    }
}

/* Formats that one driver has, and another lacks or reads wrongly. */
BOTH_CASE(one_texture_of_each_format, 0)
{
    static const struct {
        DXGI_FORMAT format;
        cl_uint texel;
    } formats[] = {{DXGI_FORMAT_R16_FLOAT, 2}, {DXGI_FORMAT_R8G8_UNORM, 2}, {DXGI_FORMAT_R8_SNORM, 1}};
    static const size_t region[3] = {8, 4, 1};
    unsigned char bytes[SHARED_BYTES], expected[SHARED_BYTES];
    for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
        const struct rig_desc desc = {.format = formats[f].format, .width = 8, .height = 4};
        const size_t size = (size_t)8 * 4 * formats[f].texel;
        void *resource = rig_make(sides, sides->device, &desc, NULL);
        cl_mem objects[SIDES] = {NULL};
        if (!CHECK(resource != NULL))
            return;
        for (int i = 0; i < SIDES; i++)
            objects[i] = sides[i].create_2d(sides[i].context, CL_MEM_READ_WRITE, resource, 0, NULL);
        rig_pattern_for(formats[f].format, expected, size, 1);
        rig_write(sides, resource, &desc, 0, expected);
        for (unsigned turn = 0; turn < 4 && CHECK(objects[FIRST] && objects[SECOND]); turn++) {
            const struct rig *rig = &sides[turn % 2];
            cl_mem object = objects[turn % 2];
            CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
            CHECK_INT(clEnqueueReadImage(rig->queue, object, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
                      CL_SUCCESS);
            CHECK_MEM(bytes, expected, size);
            rig_pattern_for(formats[f].format, expected, size, 2 + turn);
            CHECK_INT(
                clEnqueueWriteImage(rig->queue, object, CL_TRUE, no_origin(), region, 0, 0, expected, 0, NULL, NULL),
                CL_SUCCESS);
            CHECK_INT(release_one(rig, object), CL_SUCCESS);
            rig_read(rig, resource, &desc, 0, bytes);
            CHECK_MEM(bytes, expected, size);
        }
        for (int i = 0; i < SIDES; i++)
            if (objects[i])
                CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
        rig_release(resource);
    }
}

/* ---- transports and workarounds ---- */

/* What cld3d tells of the way of the object that was made last. */
static const char *last_way(void)
{
    const char *(CL_API_CALL * report)(const char *);
    void *address = clGetExtensionFunctionAddress("cld3d_report");
    memcpy(&report, &address, sizeof(report));
    return CHECK(report != NULL) ? report("way") : "";
}

/* The ways of both devices, of which the second's object is made first in the process that the case below starts. */
static bool find_ways(const struct rig *sides, bool turned, char ways[SIDES][256])
{
    for (int turn = 0; turn < 2 * SIDES; turn++) {
        const int side = (turn % 2) ^ turned;
        struct shared shared;
        if (!shared_open(&sides[side], KIND_2D, 1, &shared))
            return false;
        if (turn < SIDES)
            snprintf(ways[side], sizeof(ways[side]), "%.255s", last_way());
        CHECK(strncmp(last_way(), ways[side], sizeof(ways[side]) - 1) == 0);
        shared_close(&shared);
    }
    return true;
}

/* The way of each object is that of its own device, whatever the other's is, and whichever came first. */
BOTH_CASE(own_ways, 0)
{
    static const char *const variables[SIDES] = {"CLD3D_TEST_FIRST_WAY", "CLD3D_TEST_SECOND_WAY"};
    const bool turned = getenv(variables[FIRST]) != NULL;
    char ways[SIDES][256], text[64];
    if (!find_ways(sides, turned, ways))
        return;
    for (int i = 0; i < SIDES; i++) {
        printf("# %s: %s\n", is_pocl(sides[i].platform) ? "PoCL" : "another driver", ways[i]);
        if (turned)
            CHECK_STR(ways[i], getenv(variables[i]));
        if (is_pocl(sides[i].platform) && !getenv("CLD3D_TRANSPORT") && !over_import())
            CHECK(strstr(ways[i], "in place") == ways[i]);
        if (!turned)
            test_setenv(variables[i], ways[i]);
    }
    if (turned)
        return;
    snprintf(text, sizeof(text), "Direct3D %d: transports: each", sides->api->version);
    CHECK_INT(run_again(text, "CLD3D_TEST_TURNED", "1"), 1);
    for (int i = 0; i < SIDES; i++)
        test_setenv(variables[i], NULL);
}

/* What the next case looks for in the log of this one: contexts of the first, of the second, of the first and of the second. */
BOTH_CASE(contexts_in_turns, RIG_NO_CONTEXT)
{
    if (!getenv("CLD3D_TEST_IN_TURNS")) {
        SKIP("only as a part of the case below");
        return;
    }
    for (int turn = 0; turn < 4; turn++) {
        const struct rig *rig = &sides[turn % 2];
        cl_int status = 1;
        cl_context context = rig_make_context(rig, rig->device, false, &status);
        CHECK_INT(status, CL_SUCCESS);
        printf("# a context of %s\n", is_pocl(rig->platform) ? "PoCL" : "another driver");
        if (context)
            CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
}

/* A workaround is on in the contexts of its driver alone. */
static void own_workarounds_of(struct rig *sides)
{
    static const char path[] = "two_drivers.log";
    const unsigned of_pocl = (is_pocl(sides[FIRST].platform) ? 2 : 0) + (is_pocl(sides[SECOND].platform) ? 2 : 0);
    remove(path);
    test_setenv("CLD3D_TEST_IN_TURNS", "1");
    test_setenv("CLD3D_LOG_FILE", path);
    CHECK_INT(run_again("Direct3D 11: contexts: in turns", "CLD3D_LOG", "debug"), 1);
    test_setenv("CLD3D_LOG_FILE", NULL);
    test_setenv("CLD3D_TEST_IN_TURNS", NULL);
    CHECK_INT(lines_with(path, "clCreateContext: context "), 4);
    CHECK_INT(lines_with(path, "workaround pocl-events is on"), of_pocl);
    CHECK_INT(lines_with(path, "workaround pocl-half-floats is on"), of_pocl);
    remove(path);
}

BOTH_CASE(own_workarounds, RIG_NO_CONTEXT)
{
    own_workarounds_of(sides);
}

/* Events of PoCL are kept longer than the application does; those of another driver would keep its objects, and so the resources of
 * Direct3D. */
BOTH_CASE(nothing_is_kept, 0)
{
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i], *other = &sides[!i];
        struct shared shared;
        cl_event pending = user_event(other->context), end = NULL;
        if (!shared_open(rig, KIND_2D, 1, &shared))
            return;
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &end), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
        CHECK(cl_has(rig->queue, &shared, 1));
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &end), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        for (int turn = 0; turn < 1000 && rig_refs(shared.resource) > 1; turn++) {
            rig_let_go(rig->cl_device);
            pause_ms(1);
        }
        CHECK_INT(rig_refs(shared.resource), 1);
        rig_release(shared.resource);
        CHECK_INT(clSetUserEventStatus(pending, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(pending), CL_SUCCESS);
    }
}

/* ---- one driver has Direct3D sharing of its own ---- */

#ifndef _WIN32
/* Which of the sides has, or -1: the case is a part of another. */
static int side_with_own(const struct rig *sides)
{
    char name[256] = "";
    const char *dressed = getenv(OWN_PLATFORM_VARIABLE);
    CHECK_INT(clGetPlatformInfo(sides[FIRST].platform, CL_PLATFORM_NAME, sizeof(name), name, NULL), CL_SUCCESS);
    if (!dressed)
        SKIP("only as a part of the cases above");
    return !dressed ? -1 : strcmp(dressed, name) == 0 ? FIRST : SECOND;
}

static cl_uint count_devices(const struct rig *rig)
{
    cl_uint count = 0;
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 0, NULL, &count),
        CL_SUCCESS);
    return count;
}

/* The driver answers for its platform, and cld3d for the other, whose objects never get to the driver. */
static void own_beside(struct rig *sides)
{
    const int own_side = side_with_own(sides);
    if (own_side < 0)
        return;
    struct rig *own = &sides[own_side], *ours = &sides[!own_side];
    struct shared shared;
    cl_int status = 1;
    CHECK_INT(count_devices(own), OWN_DEVICE_COUNT);
    CHECK_INT(count_devices(ours), 1);
    const ULONG refs = rig_refs(own->device);
    own->context = rig_make_context(own, own->device, false, &status);
    CHECK_INT(rig_refs(own->device), refs);
    ours->context = rig_make_context(ours, ours->device, false, &status);
    CHECK_INT(rig_refs(own->device), refs + 1);
    if (!CHECK(own->context != NULL) || !CHECK(ours->context != NULL))
        return;
    own->queue = make_queue(own, own->context, 0);
    ours->queue = make_queue(ours, ours->context, 0);
    if (shared_open(ours, KIND_BUFFER, 1, &shared)) {
        cl_mem theirs = own->create_buffer(own->context, CL_MEM_READ_WRITE, shared.resource, &status);
        const cl_mem mixed[] = {theirs, shared.object};
        CHECK_INT(own->acquire(own->queue, 1, &theirs, 0, NULL, NULL), OWN_ACQUIRE_CODE - 1);
        CHECK_INT(own->acquire(own->queue, 2, mixed, 0, NULL, NULL), CL_INVALID_CONTEXT);
        CHECK_INT(own->release(own->queue, 2, mixed, 0, NULL, NULL), CL_INVALID_CONTEXT);
        CHECK_INT(ours->acquire(ours->queue, 2, mixed, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
        round_trip(ours, &shared, 1, 2);
        CHECK_INT(clReleaseMemObject(theirs), CL_SUCCESS);
        shared_close(&shared);
    }
    for (int i = 0; i < SIDES; i++) {
        CHECK_INT(clReleaseCommandQueue(sides[i].queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(sides[i].context), CL_SUCCESS);
        sides[i].queue = NULL;
        sides[i].context = NULL;
    }
}

static void own_beside_with(struct rig *rig)
{
    with_both(rig, RIG_NO_CONTEXT, own_beside);
}

static void own_beside_d3d11(void)
{
    sharing_run(&rig_d3d11, RIG_NO_CONTEXT, own_beside_with);
}

static void each_has_own(struct rig *sides)
{
    char layers[1024], name[256] = "";
    const char *before = getenv("OPENCL_LAYERS"), *layer = getenv("CLD3D_TEST_OWN_SHARING");
    if (!CHECK(before != NULL) || !CHECK(layer != NULL))
        return;
    snprintf(layers, sizeof(layers), "%s:%s", layer, before); /* the first is the lowest */
    for (int i = 0; i < SIDES; i++) {
        CHECK_INT(clGetPlatformInfo(sides[i].platform, CL_PLATFORM_NAME, sizeof(name), name, NULL), CL_SUCCESS);
        test_setenv(OWN_PLATFORM_VARIABLE, name);
        CHECK_INT(run_again("own sharing: beside", "OPENCL_LAYERS", layers), 1);
        test_setenv(OWN_PLATFORM_VARIABLE, NULL);
    }
}

static void each_has_own_with(struct rig *rig)
{
    with_both(rig, RIG_NO_CONTEXT, each_has_own);
}

static void each_has_own_d3d11(void)
{
    sharing_run(&rig_d3d11, RIG_NO_CONTEXT, each_has_own_with);
}
#endif

static const struct tap_test tests[] = {
    BOTH_TESTS("devices: each platform tells its own", own_devices),
    BOTH_TESTS("contexts: none on devices of both", mixed_contexts),
    BOTH_TESTS("contexts: the driver of the devices, without a platform", contexts_without_platform),
    BOTH_TESTS("objects: each in its context, used in turns", own_objects),
    BOTH_TESTS("objects: one resource in a context of each, in turns", one_resource),
    BOTH_TESTS("objects: formats that one driver emulates", one_texture_of_each_format),
    BOTH_TESTS("transports: each device's own", own_ways),
    BOTH_TESTS("contexts: in turns", contexts_in_turns),
    BOTH_TESTS("workarounds: in contexts of their driver alone", own_workarounds),
    BOTH_TESTS("workarounds: events of the other are not kept", nothing_is_kept),
#ifndef _WIN32
    {"Direct3D 11: own sharing: of one driver", each_has_own_d3d11},
    {"Direct3D 11: own sharing: beside a driver without", own_beside_d3d11},
#endif
};

TAP_MAIN(tests)
