/* Two OpenCL drivers in one process: devices, contexts, objects and transports are those of the driver that they belong to. */
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
BOTH_CASE("devices: each platform tells its own", own_devices, RIG_NO_CONTEXT)
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

/* The devices say which driver is meant where no platform is named; by a type, the first has to do. */
BOTH_CASE("contexts: the driver of the devices, without a platform", contexts_without_platform, RIG_NO_CONTEXT)
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

/* The rule that a resource has one object is a context's. */
BOTH_CASE("objects: one resource in a context of each, in turns", one_resource, 0)
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
BOTH_CASE("transports: each device's own", own_ways, 0)
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

TAP_MAIN
