/* The layer's own commands on the GPU, in the program's queue. */
#include "vulkan_layer/copier.h"
#include "log.h"

/* ---- checks ---- */

struct vulkan_queue *vulkan_copier_queue(struct vulkan_device *device, uint32_t family, char *why)
{
    struct vulkan_queue *found = NULL;
    os_lock(&vulkan_lock);
    for (unsigned i = 0; i < device->queue_count && !found; i++)
        if (family == VULKAN_ANY_FAMILY ? device->queues[i].draws : device->queues[i].family == family)
            found = &device->queues[i];
    os_unlock(&vulkan_lock);
    if (!found)
        vulkan_refuse(why, "the program has no queue of family %u", family);
    return found;
}

bool vulkan_has_contents(const struct vulkan_move *move, char *why)
{
    if (move->layout == VK_IMAGE_LAYOUT_UNDEFINED || move->layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        return vulkan_refuse(why, "the image has no contents: its layout is undefined");
    return true;
}

/* ---- waits ---- */

/* An ownership transfer usually takes microseconds, too short for a thread to sleep. */
static VkResult wait_for_fence(const struct vulkan_device *device, VkFence fence)
{
    enum { SPIN_NANOSECONDS = 200000 };
    const unsigned long long began = os_nanoseconds();
    VkResult result = device->calls.fence_status(device->handle, fence);
    while (result == VK_NOT_READY && os_nanoseconds() - began < SPIN_NANOSECONDS)
        result = device->calls.fence_status(device->handle, fence);
    return result == VK_NOT_READY ? device->calls.wait_fences(device->handle, 1, &fence, VK_TRUE, UINT64_MAX) : result;
}

/* A wait that fails for lack of memory says nothing about the commands. Whatever they use must be kept until they have
 * ended, so the driver is asked again without a limit. After any other error the driver cannot be asked; the commands
 * count as ended, as for a lost device. */
static VkResult wait_until_over(const struct vulkan_device *device, VkFence fence)
{
    VkResult result = wait_for_fence(device, fence);
    if (result != VK_SUCCESS)
        log_write(LOG_WARN, "the Vulkan layer: a wait for the GPU failed: VkResult %d", (int)result);
    while (result > VK_SUCCESS || result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        os_sleep_shortly();
        result = wait_for_fence(device, fence);
    }
    return result == VK_SUCCESS ? VK_SUCCESS : VK_ERROR_DEVICE_LOST;
}

/* Only one thread at a time uses the copier. It holds no lock meanwhile, because it may wait for the program's next
 * action. */
static os_condition changed = OS_CONDITION_INIT;

static void take_copier(struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    while (device->copying)
        os_wait(&changed, &vulkan_lock, 1000);
    device->copying = true;
    os_unlock(&vulkan_lock);
}

static void give_copier(struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    device->copying = false;
    os_wake_all(&changed);
    os_unlock(&vulkan_lock);
}

/* Waits until the commands have ended: VK_SUCCESS, or VK_ERROR_DEVICE_LOST. The caller has the copier. */
static VkResult wait_for_commands(struct vulkan_device *device)
{
    struct vulkan_copier *copier = &device->copier;
    const VkResult result = copier->runs ? wait_until_over(device, copier->fence) : VK_SUCCESS;
    copier->runs = false;
    os_lock(&vulkan_lock);
    device->commands_over = device->commands_begun;
    os_wake_all(&changed);
    os_unlock(&vulkan_lock);
    return result;
}

/* ---- the Vulkan objects ---- */

static void close_copier(struct vulkan_device *device)
{
    struct vulkan_copier *copier = &device->copier;
    wait_for_commands(device);
    if (copier->pool)
        device->calls.destroy_pool(device->handle, copier->pool, NULL);
    if (copier->fence)
        device->calls.destroy_fence(device->handle, copier->fence, NULL);
    *copier = (struct vulkan_copier){0};
}

/* Command buffers that the loader has not seen created must be announced to it. */
static VkResult make_commands(struct vulkan_device *device)
{
    struct vulkan_copier *copier = &device->copier;
    const VkCommandBufferAllocateInfo commands = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, copier->pool,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    const VkResult result = device->calls.allocate_commands(device->handle, &commands, &copier->commands);
    if (result != VK_SUCCESS)
        return result;
    return device->set_loader_data ? device->set_loader_data(device->handle, copier->commands)
                                   : VK_ERROR_INITIALIZATION_FAILED;
}

static VkResult make_copier(struct vulkan_device *device, uint32_t family)
{
    struct vulkan_copier *copier = &device->copier;
    const VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
                                          VK_COMMAND_POOL_CREATE_TRANSIENT_BIT, family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    copier->family = family;
    VkResult result = device->calls.create_pool(device->handle, &pool, NULL, &copier->pool);
    if (result == VK_SUCCESS)
        result = make_commands(device);
    if (result == VK_SUCCESS)
        result = device->calls.create_fence(device->handle, &fence, NULL, &copier->fence);
    return result;
}

/* The caller has the copier. */
static VkResult open_copier(struct vulkan_device *device, uint32_t family)
{
    const struct vulkan_copier *copier = &device->copier;
    VkResult result = wait_for_commands(device);
    if (result != VK_SUCCESS)
        return result;
    if (copier->pool && copier->family == family)
        return device->calls.reset_pool(device->handle, copier->pool, 0);
    close_copier(device);
    result = make_copier(device, family);
    if (result != VK_SUCCESS)
        close_copier(device);
    return result;
}

/* ---- a list of commands ---- */

VkResult vulkan_copier_begin(struct vulkan_device *device, uint32_t family)
{
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    take_copier(device);
    const VkResult result = open_copier(device, family);
    if (result != VK_SUCCESS)
        return result;
    os_lock(&vulkan_lock);
    device->commands_begun++;
    os_unlock(&vulkan_lock);
    return device->calls.begin(device->copier.commands, &once);
}

bool vulkan_copier_uses(const struct vulkan_device *device, VkImage used, uint64_t serial, char *why)
{
    os_lock(&vulkan_lock);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(used), NULL);
    const bool there = image && (serial == VULKAN_ANY_SERIAL || image->serial == serial);
    struct vulkan_memory_record *memory = there ? vulkan_memory_locked(image->where.memory) : NULL;
    if (there)
        image->used = device->commands_begun;
    if (memory)
        memory->used = device->commands_begun;
    os_unlock(&vulkan_lock);
    return there || vulkan_refuse(why, "the image has been destroyed");
}

void vulkan_copier_change(const struct vulkan_device *device, const struct vulkan_change *c)
{
    const VkImageMemoryBarrier barrier = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          NULL,
                                          c->before,
                                          c->after,
                                          c->from,
                                          c->to,
                                          c->family_before,
                                          c->family_after,
                                          c->image,
                                          c->range};
    device->calls.barrier(device->copier.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

VkResult vulkan_copier_run(struct vulkan_device *device, struct vulkan_queue *queue)
{
    struct vulkan_copier *copier = &device->copier;
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &copier->commands};
    VkResult result = device->calls.end(copier->commands);
    if (result == VK_SUCCESS)
        result = device->calls.reset_fences(device->handle, 1, &copier->fence);
    if (result != VK_SUCCESS)
        return result;
    os_lock(&queue->lock);
    result = device->calls.submit(queue->handle, 1, &submit, copier->fence);
    os_unlock(&queue->lock);
    copier->runs = result == VK_SUCCESS;
    return result;
}

uint64_t vulkan_copier_end(struct vulkan_device *device, VkResult result, bool wait, const char *what, char *why)
{
    if (result == VK_SUCCESS && wait)
        result = wait_for_commands(device);
    give_copier(device);
    return result == VK_SUCCESS ? 1 : vulkan_refuse(why, "%s on the GPU failed: VkResult %d", what, (int)result);
}

uint64_t vulkan_copier_abandon(struct vulkan_device *device)
{
    give_copier(device);
    return 0;
}

/* ---- ends ---- */

/* The thread that has the copier may be waiting for later commands: then it has already seen that these have ended. */
void vulkan_copier_quiet(struct vulkan_device *device, uint64_t used)
{
    os_lock(&vulkan_lock);
    while (device->commands_over < used && device->copying)
        os_wait(&changed, &vulkan_lock, 1000);
    const bool over = device->commands_over >= used;
    if (!over)
        device->copying = true;
    os_unlock(&vulkan_lock);
    if (over)
        return;
    wait_for_commands(device);
    give_copier(device);
}

void vulkan_copier_close(struct vulkan_device *device)
{
    take_copier(device);
    close_copier(device);
    give_copier(device);
}
