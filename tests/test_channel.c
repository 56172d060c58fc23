/* The companion's channel: it exists in processes that Wine runs, and nowhere else; and what is no request of its version
 * is refused. A process that looks as if Wine ran it is another one (fake_ntdll.c): the first case runs the third one so. */
#include "../src/companion/channel.h"
#include "sharing.h"

#include <dlfcn.h>

static cl_device_id device;

static unsigned calls;

static void called(void)
{
    calls++;
}

static bool find_device(void)
{
    cl_platform_id platform;
    return CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS) &&
           CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
}

/* Sends a request and tells what it gave; `room` is the size that the query names. */
static cl_int request(uint32_t version, uint32_t action, size_t room, uint64_t *result)
{
    struct channel_request request = {.version = version, .action = action};
    void (*const function)(void) = called;
    memcpy(&request.address, &function, sizeof(function));
    const cl_int status = clGetDeviceInfo(device, CHANNEL_QUERY, room, &request, NULL);
    *result = request.result;
    return status;
}

static void under_wine(void)
{
    if (getenv("CLD3D_TEST_LIKE_WINE")) {
        SKIP("runs the case below");
        return;
    }
    CHECK_INT(run_again("looks like Wine's", "CLD3D_TEST_LIKE_WINE", "1"), 1);
}

static void without_wine(void)
{
    static const uint32_t actions[] = {CHANNEL_HELLO, CHANNEL_FIND, CHANNEL_EXTEND, CHANNEL_CALL, CHANNEL_VULKAN, 99};
    uint64_t result;
    if (!find_device())
        return;
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        CHECK_INT(request(CHANNEL_VERSION, actions[i], sizeof(struct channel_request), &result), CL_INVALID_VALUE);
        CHECK_INT(result, 0);
    }
    CHECK_INT(calls, 0);
}

static void like_wines(void)
{
    const size_t size = sizeof(struct channel_request);
    uint64_t result;
    if (!getenv("CLD3D_TEST_LIKE_WINE")) {
        SKIP("only as a part of the case above");
        return;
    }
    if (!CHECK(dlopen(getenv("CLD3D_TEST_NTDLL"), RTLD_NOW) != NULL) || !find_device())
        return;
    CHECK_INT(request(CHANNEL_VERSION + 1, CHANNEL_HELLO, size, &result), CL_SUCCESS);
    CHECK_INT(result, CHANNEL_VERSION);
    CHECK_INT(request(CHANNEL_VERSION + 1, CHANNEL_CALL, size, &result), CL_INVALID_VALUE);
    CHECK_INT(request(0, CHANNEL_CALL, size, &result), CL_INVALID_VALUE);
    CHECK_INT(request(CHANNEL_VERSION, CHANNEL_VULKAN + 1, size, &result), CL_INVALID_VALUE);
    CHECK_INT(request(CHANNEL_VERSION + 1, CHANNEL_VULKAN, size, &result), CL_INVALID_VALUE);
    CHECK_INT(request(CHANNEL_VERSION, CHANNEL_VULKAN, size, &result), CL_SUCCESS);
    CHECK_INT(result, 0); /* there is no Vulkan here */
    CHECK_INT(request(CHANNEL_VERSION, CHANNEL_CALL, size - 1, &result), CL_INVALID_VALUE);
    CHECK_INT(request(CHANNEL_VERSION, CHANNEL_CALL, 0, &result), CL_INVALID_VALUE);
    CHECK_INT(clGetDeviceInfo(device, CHANNEL_QUERY, size, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(calls, 0);
    CHECK_INT(request(CHANNEL_VERSION, CHANNEL_CALL, size, &result), CL_SUCCESS);
    CHECK_INT(calls, 1);
}

static const struct tap_test tests[] = {
    {"the channel in a process of Wine's", under_wine},
    {"no channel in any other process", without_wine},
    {"a process that looks like Wine's", like_wines},
};

TAP_MAIN(tests)
