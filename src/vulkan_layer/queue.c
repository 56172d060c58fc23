/* Queues. The program ensures that only one thread at a time uses a queue, but it does not know that this layer submits
 * to one of them, too. So its calls with that queue and the layer's take turns. Calls with other queues do not, because
 * one may wait in the driver for what another thread submits to another queue. */
#include "vulkan_layer/layer.h"

#define TAKES_TURNS(name, parameters, ...)                       \
    VKAPI_ATTR VkResult VKAPI_CALL vulkan_##name parameters      \
    {                                                            \
        struct vulkan_device *device = vulkan_device_of(queue);  \
        const bool ours = queue == device->queue;                \
        if (ours)                                                \
            os_lock(&device->queue_lock);                        \
        const VkResult result = device->calls.name(__VA_ARGS__); \
        if (ours)                                                \
            os_unlock(&device->queue_lock);                      \
        return result;                                           \
    }
TAKES_TURNS(QueueSubmit, (VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence), queue, count, infos,
            fence)
TAKES_TURNS(QueueSubmit2, (VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence), queue, count,
            infos, fence)
TAKES_TURNS(QueueBindSparse, (VkQueue queue, uint32_t count, const VkBindSparseInfo *infos, VkFence fence), queue,
            count, infos, fence)
TAKES_TURNS(QueuePresentKHR, (VkQueue queue, const VkPresentInfoKHR *info), queue, info)
TAKES_TURNS(QueueWaitIdle, (VkQueue queue), queue)
#undef TAKES_TURNS

/* The call uses all queues of the device. */
VKAPI_ATTR VkResult VKAPI_CALL vulkan_DeviceWaitIdle(VkDevice handle)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&device->queue_lock);
    const VkResult result = device->calls.DeviceWaitIdle(handle);
    os_unlock(&device->queue_lock);
    return result;
}
