/* The functions of the Vulkan layer, as a client gets them: through the companion's channel, which the OpenCL loader's libcld3d.so
 * opens because the process looks like one of Wine's (fake_ntdll.c). The Vulkan loader has loaded the same file. */
#ifndef CLD3D_TESTS_VULKAN_SIDE_H
#define CLD3D_TESTS_VULKAN_SIDE_H

#include "../src/companion/channel.h"
#include "../src/vulkan_layer/vulkan.h"
#include "sharing.h"

#include <dirent.h>
#include <dlfcn.h>

static struct vulkan_side side;
static char side_why[VULKAN_WHY];
static cl_device_id side_device;

static inline uint64_t side_ask(const char *name)
{
    struct channel_request request = {.version = CHANNEL_VERSION, .action = CHANNEL_VULKAN};
    request.arguments[0] = (uint64_t)(uintptr_t)name;
    request.result = 1;
    CHECK_INT(clGetDeviceInfo(side_device, CHANNEL_QUERY, sizeof(request), &request, NULL), CL_SUCCESS);
    return request.result;
}

/* Opens the channel, once. */
static inline bool side_channel(void)
{
    static bool open;
    cl_platform_id platform;
    if (!open)
        open = CHECK(dlopen(getenv("CLD3D_TEST_NTDLL"), RTLD_NOW) != NULL) &&
               CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS) &&
               CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &side_device, NULL), CL_SUCCESS);
    return open;
}

/* Finds the functions; there must be a layer. */
static inline bool side_open(void)
{
    static const struct {
        const char *name;
        void *place;
    } functions[] = {
#define X(name) {#name, &side.name},
        VULKAN_SIDE_FUNCTIONS(X)
#undef X
    };
    if (!side_channel() || !CHECK_INT(side_ask("version"), VULKAN_SIDE_VERSION))
        return false;
    bool found = true;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        const uint64_t address = side_ask(functions[i].name);
        memcpy(functions[i].place, &address, sizeof(address));
        found = CHECK(address != 0) && found;
    }
    return found;
}

#define HANDLE_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

/* Refused, with words. */
#define CHECK_REFUSED(call)         \
    do {                            \
        side_why[0] = '\0';         \
        CHECK_INT((call), 0);       \
        CHECK(side_why[0] != '\0'); \
    } while (0)

/* Done; says why not if it is not. */
static inline bool side_done(uint64_t result)
{
    if (!CHECK_INT(result, 1))
        printf("# %s\n", side_why);
    return result == 1;
}

static inline unsigned side_files(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* Bytes that are different everywhere. */
static inline void side_fill(unsigned char *bytes, size_t size, unsigned seed)
{
    uint32_t x = seed * 2654435761u + 12345;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(x >> 24);
    }
}

#endif
