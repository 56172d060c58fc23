/* The functions of the Vulkan layer, as Windows code gets them: by the Windows side's code, which is compiled with the test, through
 * the table of the bridge in libcld3d.so. The Vulkan loader has loaded the same file. */
#ifndef CLD3D_TESTS_VULKAN_SIDE_H
#define CLD3D_TESTS_VULKAN_SIDE_H

#include "../src/bridge/client.h"
#include "../src/bridge/vulkan_access.h"
#include "sharing.h"
#include "vulkan_rig.h"

#include <dirent.h>
#include <dlfcn.h>

#define MOVE(number, of_layout, of_family)                             \
    {                                                                  \
        .name = (number), .layout = (of_layout), .family = (of_family) \
    }

static struct vulkan_side side;
static char side_why[VULKAN_WHY];

static int32_t dispatch(uint64_t of, unsigned code, void *arguments)
{
    typedef int (*const *calls)(void *);
    static calls table;
    char path[1024];
    snprintf(path, sizeof(path), "%s/libcld3d.so", getenv("CLD3D_TEST_VULKAN_LAYER"));
    (void)of;
    void *library = table ? NULL : dlopen(path, RTLD_NOW);
    if (library)
        table = (calls)dlsym(library, "__wine_unix_call_funcs");
    return CHECK(table != NULL) ? table[code](arguments) : INT32_MIN;
}

int32_t (*client_dispatch)(uint64_t, unsigned, void *) = dispatch;
uint64_t client_library;

/* Finds the functions; there must be a layer. */
static inline bool side_open(void)
{
    const struct vulkan_side *found = vulkan_access(side_why);
    if (!CHECK(found != NULL)) {
        printf("# %s\n", side_why);
        return false;
    }
    side = *found;
    return true;
}

/* A device with the layer, and its functions. */
static inline bool open_layer(struct vulkan_rig *rig)
{
    if (!vulkan_open(rig, true))
        return false;
    if (side_open())
        return true;
    vulkan_close(rig);
    return false;
}

#define HANDLE_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

/* Refused, with words. */
#define CHECK_REFUSED(call)         \
    do {                            \
        side_why[0] = '\0';         \
        CHECK_INT((call), 0);       \
        CHECK(side_why[0] != '\0'); \
    } while (0)

/* An image that is known, to be copied, and not shared. */
static inline void check_only_recorded(uint64_t image)
{
    struct vulkan_image found = {.memory = {.memory = 1}};
    CHECK_INT(side.find_image(image, &found, side_why), 1);
    CHECK_INT(found.memory.memory, 0);
    CHECK(!found.memory.exportable && !found.memory.mapped);
}

/* Done; says why not if it is not. */
static inline bool side_done(uint64_t result)
{
    if (!CHECK_INT(result, 1))
        printf("# %s\n", side_why);
    return result == 1;
}

/* An image, and what the layer tells of it. */
static inline bool side_make_image(struct vulkan_rig *rig, const VkImageCreateInfo *info, VkDeviceSize offset,
                                   struct vulkan_thing *made, struct vulkan_image *found)
{
    return vulkan_make_image(rig, info, offset, made) &&
           side_done(side.find_image(HANDLE_NUMBER(made->image), found, side_why));
}

/* Of images that the program itself shares. */
static const VkExternalMemoryImageCreateInfo by_file = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, NULL,
                                                        VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};

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
