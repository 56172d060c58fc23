/* Whose turn it is in a queue, over a driver that does nothing: a wait for one queue holds up no other queue, and what the program
 * and the Vulkan layer put into one queue goes there by turns. Images wait for the layer's commands that name them. */
#include "vulkan_layer/layer.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOVE(number, of_layout, of_family)                             \
    {                                                                  \
        .name = (number), .layout = (of_layout), .family = (of_family) \
    }

enum { QUEUES = 2, IMAGES = 2, PATIENCE = 5000, SHORT = 100 }; /* milliseconds */

/* What handles point to begins with the loader's table, of which the address alone counts. The layer submits to the first queue. */
static char table;
static void *device_handle = &table, *queue_handles[QUEUES] = {&table, &table};
static struct vulkan_device device;

/* ---- the driver ---- */

static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;
static bool waiting, released; /* a thread waits in the driver; it may go on */
static bool submitted[QUEUES], destroyed[IMAGES];
static VkResult failure; /* of the next wait for a fence */
static unsigned changes; /* barriers with an image */

static bool await(const bool *wanted, unsigned milliseconds)
{
    const unsigned long long end = os_nanoseconds() + milliseconds * 1000000ull;
    os_lock(&lock);
    while (!*wanted && os_nanoseconds() < end)
        os_wait(&changed, &lock, milliseconds);
    const bool got = *wanted;
    os_unlock(&lock);
    return got;
}

static void set(bool *what)
{
    os_lock(&lock);
    *what = true;
    os_wake_all(&changed);
    os_unlock(&lock);
}

static VkResult wait_in_driver(void)
{
    set(&waiting);
    return await(&released, PATIENCE) ? VK_SUCCESS : VK_TIMEOUT;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_queue_idle(VkQueue queue)
{
    (void)queue;
    return wait_in_driver();
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_device_idle(VkDevice handle)
{
    (void)handle;
    return wait_in_driver();
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                    VkFence fence)
{
    (void)count, (void)infos, (void)fence;
    set(&submitted[(void **)(void *)queue - queue_handles]);
    return VK_SUCCESS;
}

/* Commands are over when a wait for them is. */
static VKAPI_ATTR VkResult VKAPI_CALL driver_reset_pool(VkDevice handle, VkCommandPool pool,
                                                        VkCommandPoolResetFlags flags)
{
    (void)handle, (void)pool, (void)flags;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    (void)commands, (void)info;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_end(VkCommandBuffer commands)
{
    (void)commands;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL driver_barrier(VkCommandBuffer commands, VkPipelineStageFlags before,
                                                 VkPipelineStageFlags after, VkDependencyFlags flags, uint32_t memories,
                                                 const VkMemoryBarrier *memory, uint32_t buffers,
                                                 const VkBufferMemoryBarrier *buffer, uint32_t images,
                                                 const VkImageMemoryBarrier *image)
{
    (void)commands, (void)before, (void)after, (void)flags, (void)memories;
    (void)memory, (void)buffers, (void)buffer, (void)image;
    changes += images;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_reset_fences(VkDevice handle, uint32_t count, const VkFence *fences)
{
    (void)handle, (void)count, (void)fences;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_fence_status(VkDevice handle, VkFence fence)
{
    (void)handle, (void)fence;
    return await(&released, 0) ? VK_SUCCESS : VK_NOT_READY;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_wait_fences(VkDevice handle, uint32_t count, const VkFence *fences,
                                                         VkBool32 all, uint64_t nanoseconds)
{
    (void)handle, (void)count, (void)fences, (void)all, (void)nanoseconds;
    const VkResult result = failure;
    failure = VK_SUCCESS;
    return result == VK_SUCCESS ? wait_in_driver() : result;
}

static VKAPI_ATTR void VKAPI_CALL driver_destroy_image(VkDevice handle, VkImage image,
                                                       const VkAllocationCallbacks *allocator)
{
    (void)handle, (void)allocator;
    set(&destroyed[VULKAN_NUMBER(image) - 1]);
}

/* The handles of images are 1 and 2. */
static void open_device(void)
{
    memset(&device, 0, sizeof(device));
    memset(submitted, 0, sizeof(submitted));
    memset(destroyed, 0, sizeof(destroyed));
    waiting = released = false;
    device.handle = (VkDevice)(void *)&device_handle;
    device.method = VULKAN_EXPORT;
    device.queue = (VkQueue)(void *)&queue_handles[0];
    device.queue_lock = (os_mutex)OS_MUTEX_INIT;
    device.calls.QueueSubmit = driver_submit;
    device.calls.QueueWaitIdle = driver_queue_idle;
    device.calls.DeviceWaitIdle = driver_device_idle;
    device.calls.ResetCommandPool = driver_reset_pool;
    device.calls.BeginCommandBuffer = driver_begin;
    device.calls.EndCommandBuffer = driver_end;
    device.calls.CmdPipelineBarrier = driver_barrier;
    device.calls.ResetFences = driver_reset_fences;
    device.calls.GetFenceStatus = driver_fence_status;
    device.calls.WaitForFences = driver_wait_fences;
    device.calls.DestroyImage = driver_destroy_image;
    vulkan_device_add(&device);
    for (uint64_t i = 1; i <= IMAGES; i++) {
        struct vulkan_image_record *image = calloc(1, sizeof(*image));
        image->bound.record = (struct vulkan_record){VULKAN_IMAGE, &device, i, NULL};
        os_lock(&vulkan_lock);
        vulkan_record_add_locked(&image->bound.record);
        os_unlock(&vulkan_lock);
    }
}

static void close_device(void)
{
    set(&released);
    CHECK_INT(vulkan_copier_wait(&device), VK_SUCCESS);
    vulkan_device_remove(&device);
}

/* ---- the cases ---- */

static void *wait_for_queue(void *queue)
{
    CHECK_INT(vulkan_QueueWaitIdle(queue), VK_SUCCESS);
    return NULL;
}

static void *wait_for_device(void *queue)
{
    (void)queue;
    CHECK_INT(vulkan_DeviceWaitIdle(device.handle), VK_SUCCESS);
    return NULL;
}

static void *submit(void *queue)
{
    CHECK_INT(vulkan_QueueSubmit(queue, 0, NULL, VK_NULL_HANDLE), VK_SUCCESS);
    return NULL;
}

/* One thread waits in the driver, another submits to a queue: whether it has done so before the wait is over, which takes
 * as long as this function looks. */
static bool submits_during(void *(*wait)(void *), unsigned waits, unsigned submits, unsigned milliseconds)
{
    pthread_t threads[2];
    bool got = false;
    open_device();
    if (CHECK(pthread_create(&threads[0], NULL, wait, &queue_handles[waits]) == 0)) {
        CHECK(await(&waiting, PATIENCE));
        if (CHECK(pthread_create(&threads[1], NULL, submit, &queue_handles[submits]) == 0)) {
            got = await(&submitted[submits], milliseconds);
            set(&released);
            pthread_join(threads[1], NULL);
            CHECK(await(&submitted[submits], 0));
        }
        set(&released);
        pthread_join(threads[0], NULL);
    }
    close_device();
    return got;
}

CASE("a wait for one queue holds up no other", other_queue)
{
    CHECK(submits_during(wait_for_queue, 0, 1, PATIENCE / 2));
    CHECK(submits_during(wait_for_queue, 1, 0, PATIENCE / 2));
    CHECK(submits_during(wait_for_queue, 1, 1, PATIENCE / 2)); /* the layer puts nothing there */
}

CASE("in one queue one call comes after the other", same_queue)
{
    CHECK(!submits_during(wait_for_queue, 0, 0, SHORT));
    CHECK(!submits_during(wait_for_device, 0, 0, SHORT));
}

/* Passes the first image, named as often as the list has places; back again without a wait. */
static void pass_list(uint64_t count, bool back)
{
    const struct vulkan_move moves[] = {MOVE(1, VK_IMAGE_LAYOUT_GENERAL, 0), MOVE(1, VK_IMAGE_LAYOUT_GENERAL, 0)};
    char why[VULKAN_WHY];
    if (!CHECK_INT(vulkan_pass(moves, count, back, why), 1))
        printf("# %s\n", why);
}

/* The layer's commands with the first image run then. */
static void pass_and_back(void)
{
    set(&released);
    pass_list(1, false);
    released = waiting = false;
    pass_list(1, true);
}

static void *destroy(void *image)
{
    vulkan_DestroyImage(device.handle, image, NULL);
    return NULL;
}

/* Whether the image is destroyed while the commands of the layer run still. */
static bool destroys_meanwhile(uintptr_t image, unsigned milliseconds)
{
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, destroy, (void *)image) == 0))
        return false;
    const bool got = await(&destroyed[image - 1], milliseconds);
    if (!got)
        set(&released);
    pthread_join(thread, NULL);
    return got;
}

CASE("an image is destroyed when the layer's commands with it are over", destroyed_behind)
{
    open_device();
    pass_and_back();
    CHECK(await(&submitted[0], 0));
    CHECK(destroys_meanwhile(2, PATIENCE / 2));
    CHECK(!destroys_meanwhile(1, SHORT));
    close_device();
}

/* The reason of a failure is the driver's, and the image is where it was: with the other API, or with Direct3D. */
CASE("a wait for the layer's commands fails", wait_fails)
{
    static const VkResult failures[] = {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_HOST_MEMORY};
    const struct vulkan_move move = MOVE(1, VK_IMAGE_LAYOUT_GENERAL, 0);
    char why[VULKAN_WHY] = "", expected[32];
    for (size_t i = 0; i < 2; i++) {
        snprintf(expected, sizeof(expected), "VkResult %d", failures[i]);
        open_device();
        pass_and_back();
        failure = failures[i];
        CHECK_INT(vulkan_pass(&move, 1, false, why), 0); /* it waits for what is queued */
        CHECK_STR(strstr(why, "VkResult"), expected);
        set(&released);
        pass_list(1, false);
        released = false;
        failure = failures[i];
        CHECK_INT(vulkan_pass(&move, 1, false, why), 0);
        CHECK_STR(strstr(why, "VkResult"), expected);
        set(&released);
        pass_list(1, true);
        CHECK_INT(vulkan_pass(&move, 1, true, why), 0); /* it is back */
        close_device();
    }
}

/* An image that is passed to several leaves Direct3D with the first and comes back with the last, also if one call names it
 * twice, as a list can with two objects of one surface of Direct3D 9. All calls wait for what is queued. */
CASE("an image that is passed to several", passed_to_several)
{
    static const struct step {
        bool back;
        uint64_t count;   /* how often the call names the image */
        unsigned changes; /* how many barriers there have been after it */
    } steps[] = {{false, 1, 1}, {false, 1, 1}, {true, 1, 1}, {false, 2, 1}, {true, 1, 1},  {true, 2, 2},  {false, 2, 3},
                 {true, 2, 4},  {false, 2, 5}, {true, 1, 5}, {true, 1, 6},  {false, 1, 7}, {false, 1, 7}, {true, 2, 8}};
    open_device();
    set(&released);
    changes = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        submitted[0] = false;
        pass_list(steps[i].count, steps[i].back);
        CHECK_INT(changes, steps[i].changes);
        CHECK(await(&submitted[0], 0));
    }
    close_device();
}

TAP_MAIN
