/* The Vulkan layer inside libcld3d.so, and what its files share.
 *
 * The Vulkan loader calls vkNegotiateLoaderLayerInterfaceVersion, gets the layer's vkGetInstanceProcAddr and
 * vkGetDeviceProcAddr, and from then on its functions come before those of the next layer or of the driver. They change
 * as little as possible: images, buffers and memory that a transport may share are created shareable, and recorded.
 * Anything that fails with these changes is repeated as the program requested it.
 *
 * There are two methods. On a GPU what is shared is made exportable (VULKAN_EXPORT). On a device that is the CPU images
 * are linear, in host-visible memory (VULKAN_MAPPED). A device that supports neither is left alone.
 *
 * One lock guards the lists of instances, devices and records; no Vulkan function is called under it. */
#ifndef CLD3D_VULKAN_LAYER_LAYER_H
#define CLD3D_VULKAN_LAYER_LAYER_H

#include "vulkan_layer/definitions.h"
#include "log.h"
#include "os/os.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static_assert(sizeof(void *) == 8, "handles are pointers: the host's side has 64 bits");

/* ---- instances and devices ---- */

struct vulkan_instance {
    struct vulkan_instance *chain;
    void *key; /* the loader's table, with which an instance and its physical devices begin */
    VkInstance handle;
    bool usable; /* created for Vulkan 1.1 or later, which includes what the layer needs */
    PFN_vkGetInstanceProcAddr get;
    PFN_vkDestroyInstance destroy;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
    PFN_vkGetPhysicalDeviceProperties2 properties;
    PFN_vkGetPhysicalDeviceMemoryProperties memory_properties;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties queue_families;
    PFN_vkGetPhysicalDeviceFormatProperties format_properties;
    PFN_vkGetPhysicalDeviceImageFormatProperties2 image_properties;
    PFN_vkGetPhysicalDeviceExternalBufferProperties buffer_properties;
};

enum vulkan_method { VULKAN_NONE, VULKAN_MAPPED, VULKAN_EXPORT };

/* The functions of the next layer that this layer calls: member name, type, and the function's names. The first group
 * is replaced for devices that share; the replacements are named vulkan_ and the member's name. */
#define VULKAN_OURS(X)                                                                                         \
    X(allocate, PFN_vkAllocateMemory, "vkAllocateMemory", NULL)                                                \
    X(free, PFN_vkFreeMemory, "vkFreeMemory", NULL)                                                            \
    X(map, PFN_vkMapMemory, "vkMapMemory", NULL)                                                               \
    X(unmap, PFN_vkUnmapMemory, "vkUnmapMemory", NULL)                                                         \
    X(map2, PFN_vkMapMemory2KHR, "vkMapMemory2", "vkMapMemory2KHR")                                            \
    X(unmap2, PFN_vkUnmapMemory2KHR, "vkUnmapMemory2", "vkUnmapMemory2KHR")                                    \
    X(create_image, PFN_vkCreateImage, "vkCreateImage", NULL)                                                  \
    X(destroy_image, PFN_vkDestroyImage, "vkDestroyImage", NULL)                                               \
    X(image_needs, PFN_vkGetImageMemoryRequirements, "vkGetImageMemoryRequirements", NULL)                     \
    X(image_needs2, PFN_vkGetImageMemoryRequirements2, "vkGetImageMemoryRequirements2",                        \
      "vkGetImageMemoryRequirements2KHR")                                                                      \
    X(future_image_needs, PFN_vkGetDeviceImageMemoryRequirements, "vkGetDeviceImageMemoryRequirements",        \
      "vkGetDeviceImageMemoryRequirementsKHR")                                                                 \
    X(future_layout, PFN_vkGetDeviceImageSubresourceLayoutKHR, "vkGetDeviceImageSubresourceLayout",            \
      "vkGetDeviceImageSubresourceLayoutKHR")                                                                  \
    X(bind_image, PFN_vkBindImageMemory, "vkBindImageMemory", NULL)                                            \
    X(bind_image2, PFN_vkBindImageMemory2, "vkBindImageMemory2", "vkBindImageMemory2KHR")                      \
    X(create_buffer, PFN_vkCreateBuffer, "vkCreateBuffer", NULL)                                               \
    X(destroy_buffer, PFN_vkDestroyBuffer, "vkDestroyBuffer", NULL)                                            \
    X(future_buffer_needs, PFN_vkGetDeviceBufferMemoryRequirements, "vkGetDeviceBufferMemoryRequirements",     \
      "vkGetDeviceBufferMemoryRequirementsKHR")                                                                \
    X(bind_buffer, PFN_vkBindBufferMemory, "vkBindBufferMemory", NULL)                                         \
    X(bind_buffer2, PFN_vkBindBufferMemory2, "vkBindBufferMemory2", "vkBindBufferMemory2KHR")                  \
    X(buffer_address, PFN_vkGetBufferDeviceAddress, "vkGetBufferDeviceAddress", "vkGetBufferDeviceAddressKHR") \
    X(buffer_address_ext, PFN_vkGetBufferDeviceAddress, "vkGetBufferDeviceAddressEXT", NULL)                   \
    X(get_queue, PFN_vkGetDeviceQueue, "vkGetDeviceQueue", NULL)                                               \
    X(get_queue2, PFN_vkGetDeviceQueue2, "vkGetDeviceQueue2", NULL)                                            \
    X(submit, PFN_vkQueueSubmit, "vkQueueSubmit", NULL)                                                        \
    X(submit2, PFN_vkQueueSubmit2, "vkQueueSubmit2", "vkQueueSubmit2KHR")                                      \
    X(bind_sparse, PFN_vkQueueBindSparse, "vkQueueBindSparse", NULL)                                           \
    X(present, PFN_vkQueuePresentKHR, "vkQueuePresentKHR", NULL)                                               \
    X(queue_idle, PFN_vkQueueWaitIdle, "vkQueueWaitIdle", NULL)                                                \
    X(device_idle, PFN_vkDeviceWaitIdle, "vkDeviceWaitIdle", NULL)

#define VULKAN_CALLS(X)                                                                       \
    VULKAN_OURS(X)                                                                            \
    X(destroy_device, PFN_vkDestroyDevice, "vkDestroyDevice", NULL)                           \
    X(get_fd, PFN_vkGetMemoryFdKHR, "vkGetMemoryFdKHR", NULL)                                 \
    X(layout, PFN_vkGetImageSubresourceLayout, "vkGetImageSubresourceLayout", NULL)           \
    X(buffer_needs, PFN_vkGetBufferMemoryRequirements, "vkGetBufferMemoryRequirements", NULL) \
    X(create_pool, PFN_vkCreateCommandPool, "vkCreateCommandPool", NULL)                      \
    X(destroy_pool, PFN_vkDestroyCommandPool, "vkDestroyCommandPool", NULL)                   \
    X(reset_pool, PFN_vkResetCommandPool, "vkResetCommandPool", NULL)                         \
    X(allocate_commands, PFN_vkAllocateCommandBuffers, "vkAllocateCommandBuffers", NULL)      \
    X(begin, PFN_vkBeginCommandBuffer, "vkBeginCommandBuffer", NULL)                          \
    X(end, PFN_vkEndCommandBuffer, "vkEndCommandBuffer", NULL)                                \
    X(barrier, PFN_vkCmdPipelineBarrier, "vkCmdPipelineBarrier", NULL)                        \
    X(copy_image, PFN_vkCmdCopyImage, "vkCmdCopyImage", NULL)                                 \
    X(create_fence, PFN_vkCreateFence, "vkCreateFence", NULL)                                 \
    X(destroy_fence, PFN_vkDestroyFence, "vkDestroyFence", NULL)                              \
    X(reset_fences, PFN_vkResetFences, "vkResetFences", NULL)                                 \
    X(fence_status, PFN_vkGetFenceStatus, "vkGetFenceStatus", NULL)                           \
    X(wait_fences, PFN_vkWaitForFences, "vkWaitForFences", NULL)

struct vulkan_calls {
#define X(member, type, name, alias) type member;
    VULKAN_CALLS(X)
#undef X
};

/* A cached query result for images of one kind: programs create many alike. */
struct vulkan_answer {
    bool known;
    VkFormat format;
    VkImageType type;
    VkImageTiling tiling;
    VkImageUsageFlags usage;
    VkImageCreateFlags flags;
    bool possible;
    VkExtent3D largest;
    uint32_t levels, layers;
};

enum { VULKAN_ANSWERS = 64 };

/* A queue that the program has obtained. It keeps its address as long as its device lives. The lock is held while the
 * queue is used, because the program does not know that this layer uses it too. Several locks are taken in the order of
 * the list. */
struct vulkan_queue {
    VkQueue handle;
    uint32_t family;
    bool draws;
    os_mutex lock;
};

enum { VULKAN_QUEUES = 32 };

/* The Vulkan objects used for copies. */
struct vulkan_copier {
    uint32_t family;
    VkCommandPool pool; /* VK_NULL_HANDLE: none of them exists */
    VkCommandBuffer commands;
    VkFence fence;
    bool runs; /* the commands may still run: the fence was not awaited */
};

/* Lives from vkCreateDevice to vkDestroyDevice. Its variable parts are guarded by the lock. */
struct vulkan_device {
    struct vulkan_device *chain;
    void *key; /* the loader's table, with which the device begins */
    VkDevice handle;
    VkPhysicalDevice physical;
    const struct vulkan_instance *instance;
    enum vulkan_method method;
    PFN_vkGetDeviceProcAddr get;
    struct vulkan_calls calls;
    uint8_t uuid[VK_UUID_SIZE];
    VkPhysicalDeviceMemoryProperties types;
    bool adds_export;         /* the program has not asked for the extension that export needs */
    bool exports_buffers;     /* whether memory that buffers share is made exportable ... */
    uint32_t chunk_types;     /* ... of which types, as bits ... */
    bool marks_buffers;       /* ... and whether these buffers are declared to the driver */
    VkDeviceSize granularity; /* bufferImageGranularity */
    uint64_t smallest;        /* bytes of the smallest image that is made exportable */
    unsigned busy;            /* threads that are freeing memory or copies of the device */
    struct vulkan_answer answers[VULKAN_ANSWERS];
    PFN_vkSetDeviceLoaderData set_loader_data; /* for the layer's own command buffers */
    struct vulkan_queue queues[VULKAN_QUEUES];
    unsigned queue_count;
    struct vulkan_copier copier;
    bool copying;            /* a thread uses the copier, until its copy is done */
    uint64_t commands_begun; /* how often this layer's commands were started: the number of the last ones ... */
    uint64_t commands_over;  /* ... and of the last ones that have ended */
};

extern os_mutex vulkan_lock;

/* NULL if the layer has not seen the handle created. */
struct vulkan_instance *vulkan_instance_of(const void *dispatchable);
struct vulkan_device *vulkan_device_of(const void *dispatchable);
/* For the functions that create and destroy them. */
void vulkan_instance_add(struct vulkan_instance *instance);
void vulkan_instance_remove(struct vulkan_instance *instance);
void vulkan_device_add(struct vulkan_device *device);
/* Waits for threads that free its memory, and removes all its records. Memory that is still held is never freed. */
void vulkan_device_remove(struct vulkan_device *device);
/* Called by a thread that has counted itself in `busy`, when it is done. */
void vulkan_device_quiet(struct vulkan_device *device);

/* Whether the layer is active in a Vulkan instance of this process. */
bool vulkan_layer_active(void);

/* Whether buffers can be in exportable memory that is not dedicated to them. */
bool vulkan_exports_buffers(const struct vulkan_device *device, VkBufferCreateFlags flags, VkBufferUsageFlags usage);
/* The structure of a type in a chain, or NULL. */
const void *vulkan_chained(const void *chain, VkStructureType type);

/* ---- records ---- */

#define VULKAN_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

enum vulkan_kind { VULKAN_IMAGE, VULKAN_BUFFER, VULKAN_MEMORY, VULKAN_NAME, VULKAN_COPY };

/* What is known about a handle of a device; the first member of larger structures. */
struct vulkan_record {
    enum vulkan_kind kind;
    struct vulkan_device *device;
    uint64_t handle;
    struct vulkan_record *chain;
};

/* The memory to which an image or a buffer is bound. */
struct vulkan_where {
    uint64_t memory; /* the identifier of the memory, or 0 */
    VkDeviceSize offset;
};

/* An image or a buffer; the common first members of both. */
struct vulkan_bound_record {
    struct vulkan_record record;
    struct vulkan_where where;
};

/* An image that may be shared. */
struct vulkan_image_record {
    struct vulkan_record record;
    struct vulkan_where where;
    enum vulkan_method method;
    unsigned planes;
    VkImageCreateInfo info; /* as passed to vkCreateImage; its pointers are not valid any more */
    VkDeviceSize size;      /* the bytes that it needs; 0 until queried */
    uint64_t used;          /* the number of the layer's last commands that name it, or 0 */
    uint64_t serial;        /* not 0, and unique: handles are reused */
    unsigned outside;       /* number of times that it was passed to another API and not back */
};

struct vulkan_buffer_record {
    struct vulkan_record record;
    struct vulkan_where where;
    VkDeviceSize size;
    VkDeviceAddress address;                     /* 0 until queried */
    struct vulkan_buffer_record *after, **place; /* among those with addresses; NULL before */
};

struct vulkan_memory_record {
    struct vulkan_record record; /* by its handle */
    struct vulkan_record name;   /* by its identifier: a number that is never reused */
    VkDeviceSize size;
    bool exportable, dedicated;
    bool owned; /* the program has not freed it */
    unsigned holds;
    uint64_t used;    /* the number of the layer's last commands that use an image in it, or 0 */
    void *base;       /* where the whole memory is mapped, or NULL; guarded by the lock of vulkan_memory.c */
    bool shown;       /* a transport uses `base`; likewise */
    bool foreign_map; /* mapped at the program's request, not by the layer; likewise */
};

/* Our copy of a subresource of an image of the program. Its handle is an identifier. */
struct vulkan_copy_record {
    struct vulkan_record record;
    VkImage source, image;
    uint64_t source_serial; /* the program may destroy the source before its copy */
    VkDeviceMemory memory;
    VkImageSubresourceLayers subresource; /* of the source */
    VkExtent3D extent;
};

/* All with the lock held. */
void vulkan_record_add_locked(struct vulkan_record *record);
void vulkan_record_remove_locked(struct vulkan_record *record);
/* The record of a handle, or NULL. `device`: the handle's; NULL: any, and `*several` (may be NULL) then says whether
 * more than one device has such a handle. */
void *vulkan_record_find_locked(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle,
                                bool *several);
/* The handle of some record of the kind that is the device's, or 0. */
uint64_t vulkan_record_any_locked(enum vulkan_kind kind, const struct vulkan_device *device);
/* The address of a buffer that has a record. */
void vulkan_address_locked(struct vulkan_buffer_record *buffer, VkDeviceAddress address);
/* Only buffers with addresses: each acquire of a buffer searches them, and a game has many thousand other records. */
void vulkan_address_each_locked(void (*visit)(const struct vulkan_buffer_record *, void *), void *data);

/* The memory with an identifier, or NULL. */
struct vulkan_memory_record *vulkan_memory_locked(uint64_t name);
/* Records where the image or buffer with that handle is; in no memory if that is not tracked. Without the lock. */
void vulkan_note_place(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle,
                       VkDeviceMemory memory, VkDeviceSize offset);

/* ---- memory (vulkan_memory.c) ---- */

/* The host address of the first byte of the memory, or NULL: the host cannot see it, or the program has mapped it in
 * another way. The caller must hold the memory. */
void *vulkan_memory_base(struct vulkan_memory_record *memory);
/* Adds and drops a hold. The first returns NULL if the program has freed the memory, or there is none; the second then
 * frees it with the last hold. */
struct vulkan_memory_record *vulkan_memory_hold(uint64_t name);
void vulkan_memory_put(struct vulkan_memory_record *memory);
/* The memory's device is destroyed: memory without holds loses its identifier and its record, and true is returned.
 * With the lock held. */
bool vulkan_memory_abandon_locked(struct vulkan_memory_record *memory);

/* ---- images (vulkan_plan.c) ---- */

/* How an image will be created. `info` is the create info to use; it points into the plan and into the program's
 * structures. */
struct vulkan_plan {
    enum vulkan_method method;
    unsigned planes;
    VkImageCreateInfo info;
    VkExternalMemoryImageCreateInfo external;
};

/* VULKAN_NONE: as the program requested. The same parameters give the same plan. */
void vulkan_plan_image(struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan);
/* The same for the layer's own image, of any size. */
void vulkan_plan_own(struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan);
/* Creates an image as planned, and records it. */
VkResult vulkan_make_image(struct vulkan_device *device, const struct vulkan_plan *plan,
                           const VkAllocationCallbacks *allocator, VkImage *made);
/* A copy of what is known about the image with that handle. False: `why` gives the reason. */
bool vulkan_look_up_image(uint64_t handle, struct vulkan_image_record *image, char *why);
/* Whether it has such a subresource; `aspect` is colour, or a plane of an image that has planes. */
bool vulkan_image_has(const struct vulkan_image_record *image, uint64_t aspect, uint64_t level, uint64_t layer);
/* Writes the reason to `why`, and returns 0. */
uint64_t vulkan_refuse(char *why, const char *format, ...) LOG_FORMAT(2, 3);

/* ---- copies (vulkan_copy.c) and ownership transfers (vulkan_pass.c), as vulkan_layer/vulkan.h has them ---- */

struct vulkan_image;
struct vulkan_move;
uint64_t vulkan_copy_make(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, uint64_t *copy,
                          struct vulkan_image *made, char *why);
uint64_t vulkan_copy_move(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);
uint64_t vulkan_copy_pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);
uint64_t vulkan_copy_drop(uint64_t copy);
/* Called before an image or memory is destroyed that the layer's commands have `used`, unknown to the program: waits
 * until these have ended. Later ones may still run. */
void vulkan_copier_quiet(struct vulkan_device *device, uint64_t used);
/* Called before a device is destroyed: destroys the layer's objects in it. */
void vulkan_copy_close(struct vulkan_device *device);
/* The description of an image that find_image of vulkan_layer/vulkan.h returns. */
uint64_t vulkan_describe_image(uint64_t image, struct vulkan_image *found, char *why);

/* ---- our functions ---- */

VKAPI_ATTR VkResult VKAPI_CALL vulkan_create_device(VkPhysicalDevice, const VkDeviceCreateInfo *,
                                                    const VkAllocationCallbacks *, VkDevice *);
VKAPI_ATTR void VKAPI_CALL vulkan_destroy_device(VkDevice, const VkAllocationCallbacks *);

#define X(member, type, name, alias) VKAPI_ATTR __typeof__(*(type)0) vulkan_##member;
VULKAN_OURS(X)
#undef X

#endif
