/* The target of libFuzzer for the companion's channel: any bytes are a request, with a name behind it. The process looks like one
 * of Wine's (fake_ntdll.c, by CLD3D_TEST_NTDLL). A CALL would run what the bytes name, as it has to: only that of a function
 * that does nothing is made. What may come of a request is in channel.h. */
#include "../../src/companion/channel.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_device_id device;

/* What a CALL runs. */
static void nothing(void)
{
}

static void fail(const char *what)
{
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

static cl_int ask(struct channel_request *request, size_t size)
{
    return clGetDeviceInfo(device, CHANNEL_QUERY, size, request, NULL);
}

static void open_channel(void)
{
    struct channel_request request = {.version = CHANNEL_VERSION, .action = CHANNEL_HELLO};
    const char *ntdll = getenv("CLD3D_TEST_NTDLL");
    cl_platform_id platform;
    if (!ntdll || !dlopen(ntdll, RTLD_NOW))
        fail("CLD3D_TEST_NTDLL names no library");
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        fail("there is no device");
    if (ask(&request, sizeof(request)) || !request.result)
        fail("there is no channel");
}

/* What the pointers of a request point to is the client's: a name that ends. */
static void point(struct channel_request *request, const char *name)
{
    request->arguments[0] =
        request->action == CHANNEL_FIND || request->action == CHANNEL_VULKAN ? (uint64_t)(uintptr_t)name : 0;
    request->arguments[1] = (uint64_t)(uintptr_t)name;
    request->address = (uint64_t)(uintptr_t)nothing;
}

static cl_int right_code(const struct channel_request *request, size_t size)
{
    if (size != sizeof(*request))
        return CL_INVALID_VALUE; /* the driver's: an unknown query */
    if (request->action == CHANNEL_HELLO)
        return CL_SUCCESS;
    return request->version == CHANNEL_VERSION && request->action <= CHANNEL_VULKAN && request->action != 3
               ? CL_SUCCESS
               : CL_INVALID_VALUE;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct channel_request request = {0};
    char name[128] = "";
    const uint8_t head[4] = {size > 0 ? bytes[0] : 0, size > 1 ? bytes[1] : 0, size > 2 ? bytes[2] : 0,
                             size > 3 ? bytes[3] : 0};
    if (!device)
        open_channel();
    request.version = head[0] % 4;
    request.action = head[1] < 128 ? head[1] % 8 : head[1] * 0x01010101u;
    const size_t room = head[2] % 4 ? sizeof(request) : head[3];
    if (size > sizeof(head))
        snprintf(name, sizeof(name), "%.*s", (int)(size - sizeof(head)), (const char *)bytes + sizeof(head));
    point(&request, name);
    const struct channel_request before = request;
    if (ask(&request, room) != right_code(&before, room))
        fail("a request gives another code");
    if (room == sizeof(request) && before.action == CHANNEL_HELLO && request.result != CHANNEL_VERSION)
        fail("the companion tells no version");
    if (room == sizeof(request) && before.action == CHANNEL_VULKAN && request.result)
        fail("there is no Vulkan layer in this process");
    request.result = before.result;
    if (before.action != CHANNEL_CALL && memcmp(&request, &before, sizeof(request)) != 0)
        fail("a request has changed");
    return 0;
}
