/* The Vulkan layer inside libcld3d.so, and what its files share.
 *
 * The Vulkan loader calls vkNegotiateLoaderLayerInterfaceVersion and from then on calls the layer's functions before
 * those of the next layer or of the driver. They change as little as possible: images, buffers and memory that a
 * transport may share are created shareable, and recorded. If that fails, the program gets what it requested, and
 * nothing is recorded.
 *
 * There are three methods. On NVIDIA's GPUs what is shared is made exportable (VULKAN_EXPORT). On a device that is the CPU
 * images are linear, in host-visible memory (VULKAN_MAPPED). On others nothing is changed, and images are recorded, so that
 * they can be copied to rows and back (VULKAN_RECORD); so are those that the other methods leave as they are.
 *
 * One lock guards the lists of instances, devices and records; no Vulkan function is called under it. A device is not
 * destroyed while another function uses it: that is Vulkan's rule for programs, and the transports keep Direct3D's
 * device alive. */
#ifndef CLD3D_VULKAN_LAYER_LAYER_H
#define CLD3D_VULKAN_LAYER_LAYER_H

#include "log.h"
#include "os/os.h"
#include "vulkan_layer/vulkan.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static_assert(sizeof(void *) == 8, "handles are pointers: the host's side has 64 bits");

/* ---- instances and devices ---- */

/* The functions of the next layer that this layer calls, by their names without vk. The program's calls of the first
 * group of a device's functions go to this layer, for devices that share. */
/* clang-format off */
#define VULKAN_INSTANCE_CALLS(X)                                                                                \
    X(DestroyInstance) X(EnumerateDeviceExtensionProperties) X(GetPhysicalDeviceProperties2)                    \
    X(GetPhysicalDeviceMemoryProperties) X(GetPhysicalDeviceQueueFamilyProperties)                              \
    X(GetPhysicalDeviceFormatProperties) X(GetPhysicalDeviceImageFormatProperties2)                             \
    X(GetPhysicalDeviceExternalBufferProperties)
#define VULKAN_OURS(X)                                                                                          \
    X(AllocateMemory) X(FreeMemory) X(MapMemory) X(UnmapMemory)                                                 \
    X(CreateImage) X(DestroyImage) X(BindImageMemory)                                                           \
    X(GetImageMemoryRequirements2) X(GetDeviceImageMemoryRequirements)                                          \
    X(CreateBuffer) X(DestroyBuffer) X(BindBufferMemory) X(GetBufferDeviceAddress)                              \
    X(QueueSubmit) X(QueueSubmit2) X(QueueBindSparse) X(QueuePresentKHR) X(QueueWaitIdle) X(DeviceWaitIdle)
#define VULKAN_CALLS(X)                                                                                         \
    VULKAN_OURS(X)                                                                                              \
    X(DestroyDevice) X(GetDeviceQueue) X(GetMemoryFdKHR) X(GetImageMemoryRequirements)                          \
    X(GetImageSubresourceLayout) X(CreateCommandPool) X(DestroyCommandPool) X(ResetCommandPool)                 \
    X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) X(CmdPipelineBarrier)                   \
    X(CmdCopyImageToBuffer) X(CmdCopyBufferToImage) X(CmdCopyImage)                                             \
    X(GetBufferMemoryRequirements) X(GetMemoryHostPointerPropertiesEXT)                                         \
    X(CreateFence) X(DestroyFence) X(ResetFences) X(GetFenceStatus) X(WaitForFences)
/* clang-format on */

/* The first member of both. */
struct vulkan_listed {
    struct vulkan_listed *chain;
    void *key; /* the loader's table, with which the handle, its physical devices and its queues begin */
};

struct vulkan_instance {
    struct vulkan_listed listed;
    VkInstance handle;
    bool usable; /* created for Vulkan 1.1 or later, which includes what the layer needs */
    PFN_vkGetInstanceProcAddr get;
#define X(name) PFN_vk##name name;
    VULKAN_INSTANCE_CALLS(X)
#undef X
};

enum vulkan_method { VULKAN_NONE, VULKAN_RECORD, VULKAN_MAPPED, VULKAN_EXPORT };

/* Lives from vkCreateDevice to vkDestroyDevice. */
struct vulkan_device {
    struct vulkan_listed listed;
    VkDevice handle;
    VkPhysicalDevice physical;
    const struct vulkan_instance *instance;
    enum vulkan_method method;
    PFN_vkGetDeviceProcAddr get;
    PFN_vkSetDeviceLoaderData set_loader_data; /* for objects that the layer itself gets */
    struct {
#define X(name) PFN_vk##name name;
        VULKAN_CALLS(X)
#undef X
    } calls;
    struct gpu gpu;
    VkPhysicalDeviceMemoryProperties types;
    uint64_t smallest;     /* bytes of the smallest image that is made exportable, or goes by rows */
    uint32_t buffer_types; /* bits: the memory types in which buffers are made exportable */
    uint32_t shares;       /* bits: the kinds of rows that it has extensions for */

    /* For the layer's own commands (copier.c), in the program's queue. */
    bool can_copy; /* the program has a queue for them */
    uint32_t family;
    VkQueue queue;       /* NULL: there are none */
    os_mutex queue_lock; /* held while that queue is used: the program does not know of this user */
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    bool runs;      /* the fence was not awaited yet. Only the thread that has the copier uses these four */
    bool copying;   /* a thread has the copier; this and the rest are guarded by vulkan_lock */
    uint64_t begun; /* the number of the last list of commands that was begun ... */
    uint64_t over;  /* ... and of the last one that is known to have ended */
};

extern os_mutex vulkan_lock;

/* NULL if the layer has not seen the handle, or its device, created. */
struct vulkan_instance *vulkan_instance_of(const void *dispatchable);
struct vulkan_device *vulkan_device_of(const void *dispatchable);
/* For the functions that create and destroy them. Removing a device frees its records. */
void vulkan_instance_add(struct vulkan_instance *instance);
void vulkan_instance_remove(struct vulkan_instance *instance);
void vulkan_device_add(struct vulkan_device *device);
void vulkan_device_remove(struct vulkan_device *device);

/* Whether the layer is active in a Vulkan instance of this process. */
bool vulkan_layer_active(void);

/* The structure of a type in a chain, or NULL. */
const void *vulkan_chained(const void *chain, VkStructureType type);
/* The loader's structure with that function in a chain, or NULL. `type` is its type for an instance or for a device. */
void *vulkan_link(const void *chain, VkStructureType type, VkLayerFunction function);

/* ---- records ---- */

#define VULKAN_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

enum vulkan_kind { VULKAN_IMAGE, VULKAN_BUFFER, VULKAN_MEMORY, VULKAN_NAME, VULKAN_ROWS };

/* What is known about a handle of a device; the first member of the structures below. */
struct vulkan_record {
    enum vulkan_kind kind;
    struct vulkan_device *device;
    uint64_t handle;
    struct vulkan_record *chain;
};

/* An image or a buffer; the first member of both. */
struct vulkan_bound_record {
    struct vulkan_record record;
    uint64_t memory; /* the name of the memory to which it is bound; 0: of none that is recorded */
    VkDeviceSize offset;
};

/* An image that may be shared. */
struct vulkan_image_record {
    struct vulkan_bound_record bound;
    VkImageCreateInfo info; /* as passed to vkCreateImage; its pointers are not valid any more */
    bool changed;           /* created as planned, so that its own memory may be shared; else it can be copied */
    bool again;             /* and also if that memory is imported */
    uint64_t used;          /* the number of the layer's last commands that name it, or 0 */
    unsigned outside;       /* number of times that it was passed to another API and not back */
};

/* A buffer that may have an address. */
struct vulkan_buffer_record {
    struct vulkan_bound_record bound;
    VkDeviceSize size;
    VkDeviceAddress address; /* 0 until the program queries it */
    struct vulkan_buffer_record *after;
};

struct vulkan_memory_record {
    struct vulkan_record record; /* by its handle */
    struct vulkan_record name;   /* by its name: a number that is never used again */
    VkDeviceSize size;
    bool exportable, dedicated;
    void *base;     /* where the whole memory is mapped, or NULL */
    unsigned holds; /* of transports */
    bool freed;     /* by the program, while it was held */
};

/* All with the lock held. The record of a handle, or NULL; `device` NULL: any, but only one may have such a handle. */
void *vulkan_record_find_locked(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle);
/* Any record of a kind and device, or NULL. Takes long. */
void *vulkan_record_any_locked(enum vulkan_kind kind, const struct vulkan_device *device);
void vulkan_record_add_locked(struct vulkan_record *record);
void vulkan_record_remove_locked(struct vulkan_record *record);
/* Removes a buffer from those with addresses. */
void vulkan_address_forget_locked(struct vulkan_buffer_record *buffer);
/* Without the lock: records where an image or buffer is, if it has a record. */
void vulkan_note_place(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle,
                       VkDeviceMemory memory, VkDeviceSize offset);

/* ---- images (image.c) ---- */

/* How an image is created that may be shared. `info` points into the plan and into the program's structures. */
struct vulkan_plan {
    VkImageCreateInfo info;
    VkExternalMemoryImageCreateInfo external; /* if the program has none */
    bool again;
};

/* False: the image is created as requested (`plan->info`). */
bool vulkan_plan_image(const struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan);
/* Whether the driver supports exactly this image, exportable if `again` is not NULL: this gets whether imported memory of it can
 * be exported too. */
bool vulkan_supports_image(const struct vulkan_device *device, const VkImageCreateInfo *info, bool *again);
/* Creates an image as planned, and records it. */
VkResult vulkan_make_image(struct vulkan_device *device, const struct vulkan_plan *plan, bool changed,
                           const VkAllocationCallbacks *allocator, VkImage *made);
/* A copy of what is known about the image with that handle. False: `why` gives the reason. */
bool vulkan_look_up_image(uint64_t handle, struct vulkan_image_record *image, char *why);
/* The format of a subresource, of which `aspect` is colour or a plane; VK_FORMAT_UNDEFINED: there is none. */
VkFormat vulkan_subresource(const VkImageCreateInfo *info, uint64_t aspect, uint64_t level, uint64_t layer);

/* The bytes of a texel of such a format. */
uint32_t vulkan_texel_bytes(VkFormat format);
/* A subresource's extent; `aspect`: colour or a plane. */
VkExtent3D vulkan_extent(const VkImageCreateInfo *info, uint64_t aspect, uint64_t level);

/* ---- the layer's commands on the GPU (copier.c, pass.c, rows.c) ---- */

/* A barrier for a subresource of an image, with a change of its layout or owner. */
void vulkan_change(const struct vulkan_device *device, VkImage image, const VkImageSubresourceLayers *part,
                   VkImageLayout from, VkImageLayout to, VkAccessFlags before, VkAccessFlags after,
                   uint32_t family_before, uint32_t family_after);
/* Adds a move of rows to the list that was begun. */
bool vulkan_add_rows(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why);
/* The device is about to be destroyed: so are its rows. */
void vulkan_drop_all_rows(struct vulkan_device *device);

/* Begins a list of commands in device->commands. Waits until no other thread has the copier, and until the list before
 * has ended. vulkan_copier_end must follow, whatever the result is. */
VkResult vulkan_copier_begin(struct vulkan_device *device);
/* Submits the list without waiting. */
VkResult vulkan_copier_submit(struct vulkan_device *device);
/* Waits for the list that was submitted last: VK_SUCCESS if it has ended. */
VkResult vulkan_copier_wait(struct vulkan_device *device);
/* Gives up the copier. */
void vulkan_copier_end(struct vulkan_device *device);
/* Called before an image is destroyed that the layer's commands have `used`, unknown to the program: waits until these
 * have ended. Later ones may still run. */
void vulkan_copier_quiet(struct vulkan_device *device, uint64_t used);

/* ---- the functions of vulkan.h that are not in side.c ---- */

/* Writes the reason to `why`, and returns 0. */
uint64_t vulkan_refuse(char *why, const char *format, ...) LOG_FORMAT(2, 3);
/* Describes the memory of a resource that has `size` bytes at `offset`. */
uint64_t vulkan_describe(uint64_t memory, uint64_t offset, uint64_t size, struct vulkan_memory *found, char *why);
uint64_t vulkan_find_image(uint64_t image, struct vulkan_image *found, char *why);
uint64_t vulkan_find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why);
uint64_t vulkan_export(uint64_t memory, int32_t *file, char *why);
uint64_t vulkan_hold(uint64_t memory, char *why);
uint64_t vulkan_give_back(uint64_t memory);
uint64_t vulkan_pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);
uint64_t vulkan_make_rows(uint64_t image, struct vulkan_rows *rows, char *why);
uint64_t vulkan_drop_rows(uint64_t rows);
uint64_t vulkan_fit_rows(uint64_t rows, uint64_t image);
uint64_t vulkan_move_rows(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);

/* ---- the functions that the program calls ---- */

VKAPI_ATTR VkResult VKAPI_CALL vulkan_CreateDevice(VkPhysicalDevice, const VkDeviceCreateInfo *,
                                                   const VkAllocationCallbacks *, VkDevice *);
VKAPI_ATTR void VKAPI_CALL vulkan_DestroyDevice(VkDevice, const VkAllocationCallbacks *);

#define X(name) VKAPI_ATTR __typeof__(*(PFN_vk##name)0) vulkan_##name;
VULKAN_OURS(X)
#undef X

#endif
