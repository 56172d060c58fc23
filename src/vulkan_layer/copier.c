/* The layer's own commands on the GPU, in the program's queue: one list of them at a time for each device. */
#include "vulkan_layer/layer.h"

/* Only one thread at a time has the copier. It holds no lock meanwhile, because it may wait for the program's next
 * action, and images may be destroyed that its commands do not name. */
static os_condition changed = OS_CONDITION_INIT;

VkResult vulkan_copier_begin(struct vulkan_device *device)
{
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    os_lock(&vulkan_lock);
    while (device->copying)
        os_wait(&changed, &vulkan_lock, 1000);
    device->copying = true;
    os_unlock(&vulkan_lock);
    VkResult result = vulkan_copier_wait(device);
    if (result == VK_SUCCESS)
        result = device->calls.ResetCommandPool(device->handle, device->pool, 0);
    if (result != VK_SUCCESS)
        return result;
    os_lock(&vulkan_lock);
    device->begun++;
    os_unlock(&vulkan_lock);
    return device->calls.BeginCommandBuffer(device->commands, &once);
}

VkResult vulkan_copier_submit(struct vulkan_device *device)
{
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &device->commands};
    VkResult result = device->calls.EndCommandBuffer(device->commands);
    if (result == VK_SUCCESS)
        result = device->calls.ResetFences(device->handle, 1, &device->fence);
    if (result != VK_SUCCESS)
        return result;
    os_lock(&device->queue_lock);
    result = device->calls.QueueSubmit(device->queue, 1, &submit, device->fence);
    os_unlock(&device->queue_lock);
    device->runs = result == VK_SUCCESS;
    return result;
}

/* An ownership transfer usually takes microseconds, too short for a thread to sleep. */
static VkResult wait_for_fence(const struct vulkan_device *device)
{
    enum { SPIN_NANOSECONDS = 200000 };
    const unsigned long long began = os_nanoseconds();
    VkResult result = device->calls.GetFenceStatus(device->handle, device->fence);
    while (result == VK_NOT_READY && os_nanoseconds() - began < SPIN_NANOSECONDS)
        result = device->calls.GetFenceStatus(device->handle, device->fence);
    return result == VK_NOT_READY ? device->calls.WaitForFences(device->handle, 1, &device->fence, VK_TRUE, UINT64_MAX)
                                  : result;
}

/* After another error than the loss of the device, the commands may still run: the next wait tries again. */
VkResult vulkan_copier_wait(struct vulkan_device *device)
{
    const VkResult result = device->runs ? wait_for_fence(device) : VK_SUCCESS;
    if (result != VK_SUCCESS)
        log_write(LOG_WARN, "the Vulkan layer: a wait for the GPU failed: VkResult %d", (int)result);
    device->runs = result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST;
    os_lock(&vulkan_lock);
    if (!device->runs)
        device->over = device->begun;
    os_wake_all(&changed);
    os_unlock(&vulkan_lock);
    return result;
}

void vulkan_copier_end(struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    device->copying = false;
    os_wake_all(&changed);
    os_unlock(&vulkan_lock);
}

/* A thread that has the copier and waits for later commands has already seen that these have ended. */
void vulkan_copier_quiet(struct vulkan_device *device, uint64_t used)
{
    os_lock(&vulkan_lock);
    while (device->over < used && device->copying)
        os_wait(&changed, &vulkan_lock, 1000);
    const bool runs = device->over < used;
    device->copying = device->copying || runs;
    os_unlock(&vulkan_lock);
    if (!runs)
        return;
    vulkan_copier_wait(device);
    vulkan_copier_end(device);
}
