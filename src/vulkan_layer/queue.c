/* Queues. The program must ensure that only one thread uses a queue at a time. Because cld3d submits copies to the
 * program's queues, its calls and the program's take turns here. They do so separately for each queue, because a call
 * may wait in the driver for what another thread submits to another queue. */
#include "vulkan_layer/layer.h"

/* NULL for a queue to which cld3d submits nothing. */
static struct vulkan_queue *find_queue(struct vulkan_device *device, VkQueue handle)
{
    struct vulkan_queue *found = NULL;
    os_lock(&vulkan_lock);
    for (unsigned i = 0; i < device->queue_count && !found; i++)
        if (device->queues[i].handle == handle)
            found = &device->queues[i];
    os_unlock(&vulkan_lock);
    return found;
}

static struct vulkan_queue *enter(struct vulkan_device *device, VkQueue handle)
{
    struct vulkan_queue *queue = find_queue(device, handle);
    if (queue)
        os_lock(&queue->lock);
    return queue;
}

static VkResult leave(struct vulkan_queue *queue, VkResult result)
{
    if (queue)
        os_unlock(&queue->lock);
    return result;
}

static bool draws(const struct vulkan_device *device, uint32_t family)
{
    VkQueueFamilyProperties list[VULKAN_QUEUES];
    uint32_t count = VULKAN_QUEUES;
    device->instance->queue_families(device->physical, &count, list);
    return family < count && (list[family].queueFlags & VK_QUEUE_GRAPHICS_BIT);
}

static void note(struct vulkan_device *device, VkQueue handle, uint32_t family)
{
    const bool drawing = draws(device, family);
    os_lock(&vulkan_lock);
    bool known = !handle;
    for (unsigned i = 0; i < device->queue_count && !known; i++)
        known = device->queues[i].handle == handle;
    if (!known && device->queue_count < VULKAN_QUEUES)
        device->queues[device->queue_count++] = (struct vulkan_queue){handle, family, drawing, OS_MUTEX_INIT};
    os_unlock(&vulkan_lock);
}

VKAPI_ATTR void VKAPI_CALL vulkan_get_queue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *queue)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    device->calls.get_queue(handle, family, index, queue);
    note(device, *queue, family);
}

/* A queue with flags is protected, and is not used for copies. */
VKAPI_ATTR void VKAPI_CALL vulkan_get_queue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *queue)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    device->calls.get_queue2(handle, info, queue);
    if (!info->flags)
        note(device, *queue, info->queueFamilyIndex);
}

/* Calls that only take their turn. */
#define TAKES_TURNS(member, parameters, ...)                      \
    VKAPI_ATTR VkResult VKAPI_CALL vulkan_##member parameters     \
    {                                                             \
        struct vulkan_device *device = vulkan_device_of(queue);   \
        struct vulkan_queue *entered = enter(device, queue);      \
        return leave(entered, device->calls.member(__VA_ARGS__)); \
    }
TAKES_TURNS(submit, (VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence), queue, count, infos,
            fence)
TAKES_TURNS(submit2, (VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence), queue, count, infos,
            fence)
TAKES_TURNS(bind_sparse, (VkQueue queue, uint32_t count, const VkBindSparseInfo *infos, VkFence fence), queue, count,
            infos, fence)
TAKES_TURNS(present, (VkQueue queue, const VkPresentInfoKHR *info), queue, info)
TAKES_TURNS(queue_idle, (VkQueue queue), queue)
#undef TAKES_TURNS

/* The call uses all queues of the device, so it takes the turns of all. No other function takes more than one of the
 * locks. */
VKAPI_ATTR VkResult VKAPI_CALL vulkan_device_idle(VkDevice handle)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&vulkan_lock);
    const unsigned count = device->queue_count; /* entries never move; a queue added later has no work yet */
    os_unlock(&vulkan_lock);
    for (unsigned i = 0; i < count; i++)
        os_lock(&device->queues[i].lock);
    const VkResult result = device->calls.device_idle(handle);
    for (unsigned i = count; i-- > 0;)
        os_unlock(&device->queues[i].lock);
    return result;
}
