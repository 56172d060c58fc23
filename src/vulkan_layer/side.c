/* The functions through which the Vulkan layer informs transports (vulkan_layer/vulkan.h). */
#include "vulkan_layer/vulkan.h"

#include "vulkan_layer/layer.h"
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static_assert(VK_UUID_SIZE == sizeof(((struct vulkan_memory *)0)->device_uuid), "UUIDs are Vulkan's");

uint64_t vulkan_refuse(char *why, const char *format, ...)
{
    va_list arguments;
    if (!why)
        return 0;
    va_start(arguments, format);
    vsnprintf(why, VULKAN_WHY, format, arguments);
    va_end(arguments);
    return 0;
}

/* ---- memory ---- */

/* Describes memory that is held. The resource at `offset` has `size` bytes. */
static uint64_t describe(struct vulkan_memory_record *memory, uint64_t offset, uint64_t size,
                         struct vulkan_memory *found, char *why)
{
    const struct vulkan_device *device = memory->record.device;
    const char *base = vulkan_memory_base(memory);
    if (!base && !memory->exportable)
        return vulkan_refuse(why, "its memory is mapped in another way");
    *found = (struct vulkan_memory){.memory = memory->name.handle,
                                    .memory_size = memory->size,
                                    .offset = offset,
                                    .size = size,
                                    .mapped = base ? (uint64_t)(uintptr_t)(base + offset) : 0,
                                    .exportable = memory->exportable,
                                    .dedicated = memory->dedicated};
    memcpy(found->device_uuid, device->uuid, sizeof(found->device_uuid));
    return 1;
}

static uint64_t describe_by_name(uint64_t name, uint64_t offset, uint64_t size, struct vulkan_memory *found, char *why)
{
    struct vulkan_memory_record *memory = vulkan_memory_hold(name);
    if (!memory)
        return vulkan_refuse(why, "its memory can't be exported and is not host-visible, or there is none");
    const uint64_t good = describe(memory, offset, size, found, why);
    vulkan_memory_put(memory);
    return good;
}

/* ---- images ---- */

bool vulkan_look_up_image(uint64_t handle, struct vulkan_image_record *image, char *why)
{
    bool several;
    os_lock(&vulkan_lock);
    const struct vulkan_image_record *found = vulkan_record_find_locked(VULKAN_IMAGE, NULL, handle, &several);
    if (found)
        *image = *found;
    os_unlock(&vulkan_lock);
    if (!found)
        vulkan_refuse(why, "unknown to the Vulkan layer: too small, not a sharable kind, or created without the layer");
    else if (several)
        vulkan_refuse(why, "ambiguous: several devices have an image with this handle");
    return found && !several;
}

/* The memory requirements of an image do not change. */
static VkDeviceSize size_of(const struct vulkan_image_record *image)
{
    const struct vulkan_device *device = image->record.device;
    VkMemoryRequirements needs;
    if (image->size)
        return image->size;
    device->calls.image_needs(device->handle, (VkImage)(uintptr_t)image->record.handle, &needs);
    os_lock(&vulkan_lock);
    struct vulkan_image_record *kept = vulkan_record_find_locked(VULKAN_IMAGE, device, image->record.handle, NULL);
    if (kept)
        kept->size = needs.size;
    os_unlock(&vulkan_lock);
    return needs.size;
}

uint64_t vulkan_describe_image(uint64_t handle, struct vulkan_image *found, char *why)
{
    struct vulkan_image_record image;
    if (!vulkan_look_up_image(handle, &image, why))
        return 0;
    memset(found, 0, sizeof(*found));
    if (!describe_by_name(image.where.memory, image.where.offset, size_of(&image), &found->memory, why))
        return 0;
    found->type = (uint32_t)image.info.imageType;
    found->format = (uint32_t)image.info.format;
    found->width = image.info.extent.width;
    found->height = image.info.extent.height;
    found->depth = image.info.extent.depth;
    found->levels = image.info.mipLevels;
    found->layers = image.info.arrayLayers;
    found->samples = (uint32_t)image.info.samples;
    found->tiling = (uint32_t)image.info.tiling;
    found->usage = image.info.usage;
    found->flags = image.info.flags;
    found->outside = image.outside;
    return 1;
}

static bool has_aspect(const struct vulkan_image_record *image, uint64_t aspect)
{
    if (image->planes == 1)
        return aspect == VK_IMAGE_ASPECT_COLOR_BIT;
    return aspect == VK_IMAGE_ASPECT_PLANE_0_BIT || aspect == VK_IMAGE_ASPECT_PLANE_1_BIT ||
           (aspect == VK_IMAGE_ASPECT_PLANE_2_BIT && image->planes == 3);
}

bool vulkan_image_has(const struct vulkan_image_record *image, uint64_t aspect, uint64_t level, uint64_t layer)
{
    return has_aspect(image, aspect) && level < image->info.mipLevels && layer < image->info.arrayLayers;
}

static uint64_t find_place(uint64_t handle, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why)
{
    struct vulkan_image_record image;
    VkSubresourceLayout layout;
    if (!vulkan_look_up_image(handle, &image, why))
        return 0;
    if (image.info.tiling != VK_IMAGE_TILING_LINEAR)
        return vulkan_refuse(why, "the image is not linear");
    if (!vulkan_image_has(&image, aspect, level, layer))
        return vulkan_refuse(why, "the image has no such subresource");
    const VkImageSubresource subresource = {(VkImageAspectFlags)aspect, (uint32_t)level, (uint32_t)layer};
    const struct vulkan_device *device = image.record.device;
    device->calls.layout(device->handle, (VkImage)(uintptr_t)handle, &subresource, &layout);
    *found = (struct vulkan_place){layout.offset, layout.size, layout.rowPitch,
                                   image.info.imageType == VK_IMAGE_TYPE_3D ? layout.depthPitch : layout.arrayPitch};
    return 1;
}

/* ---- buffers ---- */

struct search {
    uint64_t address, size;
    uint64_t memory; /* 0: any */
    const struct vulkan_buffer_record *found;
    bool several;
};

static uint64_t offset_in(const struct vulkan_buffer_record *buffer, uint64_t address)
{
    return buffer->where.offset + (address - buffer->address);
}

/* Buffers may overlap in the same memory. */
static void visit(const struct vulkan_buffer_record *buffer, void *data)
{
    struct search *search = data;
    const struct vulkan_buffer_record *other = search->found;
    if (search->memory && buffer->where.memory != search->memory)
        return;
    if (search->address < buffer->address || search->address - buffer->address >= buffer->size ||
        buffer->size - (search->address - buffer->address) < search->size)
        return;
    if (other && (other->where.memory != buffer->where.memory ||
                  offset_in(other, search->address) != offset_in(buffer, search->address)))
        search->several = true;
    if (!other || buffer->address + buffer->size > other->address + other->size)
        search->found = buffer;
}

static uint64_t find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why)
{
    struct search search = {address, size, found->memory, NULL, false};
    uint64_t memory = 0, offset = 0, rest = 0;
    os_lock(&vulkan_lock);
    vulkan_address_each_locked(visit, &search);
    if (search.found) {
        memory = search.found->where.memory;
        offset = offset_in(search.found, address);
        rest = search.found->size - (address - search.found->address);
    }
    os_unlock(&vulkan_lock);
    if (!search.found)
        return vulkan_refuse(why, "the Vulkan layer knows no buffer with these addresses");
    if (search.several)
        return vulkan_refuse(why, "ambiguous: several buffers have these addresses");
    return describe_by_name(memory, offset, rest, found, why);
}

/* ---- file descriptors and holds ---- */

static uint64_t export(uint64_t name, int32_t *file, char *why)
{
    struct vulkan_memory_record *memory = vulkan_memory_hold(name);
    VkResult result = VK_ERROR_FEATURE_NOT_PRESENT;
    int got = -1;
    if (!memory)
        return vulkan_refuse(why, "no such memory, or it was freed");
    const struct vulkan_device *device = memory->record.device;
    const VkMemoryGetFdInfoKHR info = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL,
                                       (VkDeviceMemory)(uintptr_t)memory->record.handle,
                                       VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    if (memory->exportable && device->calls.get_fd)
        result = device->calls.get_fd(device->handle, &info, &got);
    vulkan_memory_put(memory);
    if (result == VK_ERROR_FEATURE_NOT_PRESENT)
        return vulkan_refuse(why, "the memory cannot be exported");
    if (result != VK_SUCCESS)
        return vulkan_refuse(why, "vkGetMemoryFdKHR failed: VkResult %d", (int)result);
    if (got < 0) /* lavapipe does not report it */
        return vulkan_refuse(why, "vkGetMemoryFdKHR returned no file descriptor: there may be none left");
    *file = got;
    return 1;
}

static uint64_t close_file(uint64_t file)
{
    return file <= INT32_MAX && close((int)file) == 0;
}

static uint64_t hold(uint64_t name, char *why)
{
    return vulkan_memory_hold(name) ? 1 : vulkan_refuse(why, "no such memory, or it was freed");
}

static uint64_t give_back(uint64_t name)
{
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *memory = vulkan_memory_locked(name);
    const bool held = memory && memory->holds;
    os_unlock(&vulkan_lock);
    if (held)
        vulkan_memory_put(memory);
    return held;
}

const struct vulkan_side *vulkan_side_here(void)
{
    static const struct vulkan_side side = {
        vulkan_describe_image, find_place,       find_buffer,      export,           close_file, hold, give_back,
        vulkan_copy_make,      vulkan_copy_move, vulkan_copy_drop, vulkan_copy_pass,
    };
    return vulkan_layer_active() ? &side : NULL;
}
