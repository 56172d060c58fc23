/* Whose turn it is in a queue, over a driver that does nothing: a wait for one queue holds up no other queue, and what the program
 * and the Vulkan layer put into one queue goes there by turns. */
#include "vulkan_layer/vulkan.h"
#include "vulkan_layer/layer.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = 2, QUEUES, IMAGES = 2, PATIENCE = 5000, SHORT = 100 }; /* milliseconds */

/* What handles point to begins with the loader's table, of which the address alone counts. The program has the last queue from
 * elsewhere. Each queue is of a family of its own. */
static char table;
static void *device_handle = &table, *queue_handles[QUEUES];
static struct vulkan_instance instance;
static struct vulkan_device device;

/* ---- the driver ---- */

static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;
static bool waiting, released; /* a thread waits in the driver; it may go on */
static bool submitted[QUEUES], destroyed[IMAGES];
static VkResult failure; /* of the next wait for a fence */
static unsigned changes; /* barriers with an image */
static bool goes;        /* the first image is destroyed when the next commands begin */

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
    (void)count;
    (void)infos;
    (void)fence;
    set(&submitted[(void **)(void *)queue - queue_handles]);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL driver_get_queue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *queue)
{
    (void)handle;
    (void)index;
    *queue = (VkQueue)(void *)&queue_handles[family];
}

static VKAPI_ATTR void VKAPI_CALL driver_families(VkPhysicalDevice physical, uint32_t *count,
                                                  VkQueueFamilyProperties *list)
{
    (void)physical;
    *count = QUEUES;
    memset(list, 0, QUEUES * sizeof(*list));
}

/* What copies are made with: all of it is there at once, but commands are over when a wait for them is. */
static VKAPI_ATTR VkResult VKAPI_CALL driver_create_pool(VkDevice handle, const VkCommandPoolCreateInfo *info,
                                                         const VkAllocationCallbacks *allocator, VkCommandPool *made)
{
    (void)handle;
    (void)info;
    (void)allocator;
    *made = (VkCommandPool)(void *)&table;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL driver_destroy_pool(VkDevice handle, VkCommandPool pool,
                                                      const VkAllocationCallbacks *allocator)
{
    (void)handle;
    (void)pool;
    (void)allocator;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_reset_pool(VkDevice handle, VkCommandPool pool,
                                                        VkCommandPoolResetFlags flags)
{
    (void)handle;
    (void)pool;
    (void)flags;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_allocate_commands(VkDevice handle, const VkCommandBufferAllocateInfo *info,
                                                               VkCommandBuffer *made)
{
    (void)handle;
    (void)info;
    *made = (VkCommandBuffer)(void *)&device_handle;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL set_loader_data(VkDevice handle, void *object)
{
    (void)handle;
    (void)object;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    (void)commands;
    (void)info;
    if (goes)
        vulkan_destroy_image(device.handle, (VkImage)(void *)(uintptr_t)1, NULL);
    goes = false;
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

static VKAPI_ATTR VkResult VKAPI_CALL driver_create_fence(VkDevice handle, const VkFenceCreateInfo *info,
                                                          const VkAllocationCallbacks *allocator, VkFence *made)
{
    (void)handle;
    (void)info;
    (void)allocator;
    *made = (VkFence)(void *)&table;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL driver_destroy_fence(VkDevice handle, VkFence fence,
                                                       const VkAllocationCallbacks *allocator)
{
    (void)handle;
    (void)fence;
    (void)allocator;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_reset_fences(VkDevice handle, uint32_t count, const VkFence *fences)
{
    (void)handle;
    (void)count;
    (void)fences;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_fence_status(VkDevice handle, VkFence fence)
{
    (void)handle;
    (void)fence;
    return await(&released, 0) ? VK_SUCCESS : VK_NOT_READY;
}

static VKAPI_ATTR VkResult VKAPI_CALL driver_wait_fences(VkDevice handle, uint32_t count, const VkFence *fences,
                                                         VkBool32 all, uint64_t nanoseconds)
{
    (void)handle;
    (void)count;
    (void)fences;
    (void)all;
    (void)nanoseconds;
    const VkResult result = failure;
    failure = VK_SUCCESS;
    return result == VK_SUCCESS ? wait_in_driver() : result;
}

static VKAPI_ATTR void VKAPI_CALL driver_destroy_image(VkDevice handle, VkImage image,
                                                       const VkAllocationCallbacks *allocator)
{
    (void)handle;
    (void)allocator;
    set(&destroyed[VULKAN_NUMBER(image) - 1]);
}

/* The handles of images are 1 and 2. */
static void add_image(uint64_t handle)
{
    struct vulkan_image_record *image = calloc(1, sizeof(*image));
    image->record = (struct vulkan_record){VULKAN_IMAGE, &device, handle, NULL};
    image->method = VULKAN_EXPORT;
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(&image->record);
    os_unlock(&vulkan_lock);
}

static void open_device(void)
{
    memset(&device, 0, sizeof(device));
    memset(submitted, 0, sizeof(submitted));
    memset(destroyed, 0, sizeof(destroyed));
    waiting = released = false;
    instance.queue_families = driver_families;
    device.handle = (VkDevice)(void *)&device_handle;
    device.instance = &instance;
    device.calls.get_queue = driver_get_queue;
    device.calls.submit = driver_submit;
    device.calls.queue_idle = driver_queue_idle;
    device.calls.device_idle = driver_device_idle;
    device.calls.create_pool = driver_create_pool;
    device.calls.destroy_pool = driver_destroy_pool;
    device.calls.reset_pool = driver_reset_pool;
    device.calls.allocate_commands = driver_allocate_commands;
    device.calls.begin = driver_begin;
    device.calls.end = driver_end;
    device.calls.barrier = driver_barrier;
    device.calls.create_fence = driver_create_fence;
    device.calls.destroy_fence = driver_destroy_fence;
    device.calls.reset_fences = driver_reset_fences;
    device.calls.fence_status = driver_fence_status;
    device.calls.wait_fences = driver_wait_fences;
    device.calls.destroy_image = driver_destroy_image;
    device.set_loader_data = set_loader_data;
    vulkan_device_add(&device);
    for (uint64_t i = 1; i <= IMAGES; i++)
        add_image(i);
    for (uint32_t i = 0; i < QUEUES; i++) {
        VkQueue queue = (VkQueue)(void *)&queue_handles[i];
        queue_handles[i] = &table;
        if (i < KNOWN)
            vulkan_get_queue(device.handle, i, 0, &queue);
    }
}

static void close_device(void)
{
    vulkan_copy_close(&device);
    vulkan_device_remove(&device);
}

/* ---- the cases ---- */

static void *wait_for_queue(void *queue)
{
    CHECK_INT(vulkan_queue_idle(queue), VK_SUCCESS);
    return NULL;
}

static void *wait_for_device(void *queue)
{
    (void)queue;
    CHECK_INT(vulkan_device_idle(device.handle), VK_SUCCESS);
    return NULL;
}

static void *submit(void *queue)
{
    CHECK_INT(vulkan_submit(queue, 0, NULL, VK_NULL_HANDLE), VK_SUCCESS);
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

static void other_queue(void)
{
    CHECK(submits_during(wait_for_queue, 0, 1, PATIENCE / 2));
    CHECK(submits_during(wait_for_queue, 1, 0, PATIENCE / 2));
}

static void same_queue(void)
{
    for (unsigned i = 0; i < KNOWN; i++)
        CHECK(!submits_during(wait_for_queue, i, i, SHORT));
}

static void whole_device(void)
{
    for (unsigned i = 0; i < KNOWN; i++)
        CHECK(!submits_during(wait_for_device, 0, i, SHORT));
}

/* The layer puts nothing there. */
static void unknown_queue(void)
{
    CHECK(submits_during(wait_for_queue, 0, KNOWN, PATIENCE / 2));
    CHECK(submits_during(wait_for_queue, KNOWN, 0, PATIENCE / 2));
    CHECK(submits_during(wait_for_queue, KNOWN, KNOWN, PATIENCE / 2));
}

/* Passes the first image, named as often as the list has places; back again without a wait. */
static void pass_list(uint64_t count, bool back)
{
    const struct vulkan_move moves[] = {{1, VK_IMAGE_LAYOUT_GENERAL, 0}, {1, VK_IMAGE_LAYOUT_GENERAL, 0}};
    char why[VULKAN_WHY];
    CHECK_INT(vulkan_copy_pass(moves, count, back, why), 1);
}

static void pass(bool back)
{
    pass_list(1, back);
}

static void *pass_there(void *data)
{
    (void)data;
    pass(false);
    return NULL;
}

static void *destroy(void *image)
{
    vulkan_destroy_image(device.handle, image, NULL);
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

static void destroyed_behind(void)
{
    open_device();
    pass(true);
    CHECK(await(&submitted[0], 0));
    CHECK(destroys_meanwhile(2, PATIENCE / 2));
    CHECK(!destroys_meanwhile(1, SHORT));
    set(&released);
    close_device();
}

static void destroyed_during(void)
{
    pthread_t thread;
    open_device();
    if (CHECK(pthread_create(&thread, NULL, pass_there, NULL) == 0)) {
        CHECK(await(&waiting, PATIENCE));
        CHECK(destroys_meanwhile(2, PATIENCE / 2));
        set(&released);
        pthread_join(thread, NULL);
    }
    close_device();
}

/* A wait that fails tells nothing of the commands, unless the device is lost. */
static void wait_fails(void)
{
    open_device();
    pass(true);
    failure = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(!destroys_meanwhile(1, SHORT));
    close_device();
    open_device();
    pass(true);
    failure = VK_ERROR_DEVICE_LOST;
    CHECK(destroys_meanwhile(1, PATIENCE / 2));
    close_device();
}

static void *release_shortly(void *data)
{
    for (int i = 0; i < SHORT; i++)
        os_sleep_shortly();
    set(&released);
    return data;
}

/* What was submitted is passed, though the wait for it fails at first. */
static void wait_fails_for_once(void)
{
    pthread_t thread;
    open_device();
    failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (CHECK(pthread_create(&thread, NULL, release_shortly, NULL) == 0)) {
        pass(false);
        CHECK(await(&released, 0));
        pthread_join(thread, NULL);
    }
    close_device();
}

/* The reason of a failure is the driver's. */
static void lost_before(void)
{
    const struct vulkan_move move = {1, VK_IMAGE_LAYOUT_GENERAL, 0};
    char why[VULKAN_WHY] = "";
    open_device();
    pass(true);
    failure = VK_ERROR_DEVICE_LOST;
    CHECK_INT(vulkan_copy_pass(&move, 1, true, why), 0);
    CHECK_STR(strstr(why, "VkResult"), "VkResult -4");
    close_device();
}

/* An image that goes on the way is not named in the commands, which are not submitted then. */
static void gone_on_the_way(void)
{
    const struct vulkan_move moves[] = {{2, VK_IMAGE_LAYOUT_GENERAL, 0}, {1, VK_IMAGE_LAYOUT_GENERAL, 0}};
    char why[VULKAN_WHY] = "";
    open_device();
    goes = true;
    CHECK_INT(vulkan_copy_pass(moves, 2, true, why), 0);
    CHECK(why[0]);
    CHECK(!await(&submitted[0], 0));
    CHECK(destroys_meanwhile(2, PATIENCE / 2));
    close_device();
}

/* A call that names the first image once or twice, and how many barriers there have been after it. */
struct step {
    bool back;
    uint64_t count;
    unsigned changes;
};

/* All calls wait for what is queued. */
static void pass_steps(const struct step *steps, size_t count)
{
    open_device();
    set(&released);
    changes = 0;
    for (size_t i = 0; i < count; i++) {
        submitted[0] = false;
        pass_list(steps[i].count, steps[i].back);
        CHECK_INT(changes, steps[i].changes);
        CHECK(await(&submitted[0], 0));
    }
    close_device();
}

/* An image that is passed to two leaves Direct3D with the first and comes back with the last. */
static void passed_to_two(void)
{
    static const struct step steps[] = {{false, 1, 1}, {false, 1, 1}, {true, 1, 1},  {false, 1, 1},
                                        {true, 1, 1},  {true, 1, 2},  {false, 1, 3}, {true, 1, 4}};
    pass_steps(steps, sizeof(steps) / sizeof(steps[0]));
}

/* The same if one call names it twice, as a list can with two objects of one surface of Direct3D 9. */
static void named_twice(void)
{
    static const struct step together[] = {{false, 2, 1}, {true, 2, 2}, {false, 2, 3}, {true, 2, 4}},
                             there_alone[] = {{false, 1, 1}, {false, 1, 1}, {true, 2, 2}},
                             back_alone[] = {{false, 2, 1}, {true, 1, 1}, {true, 1, 2}},
                             third[] = {{false, 1, 1}, {false, 2, 1}, {true, 2, 1}, {true, 1, 2}};
    pass_steps(together, sizeof(together) / sizeof(together[0]));
    pass_steps(there_alone, sizeof(there_alone) / sizeof(there_alone[0]));
    pass_steps(back_alone, sizeof(back_alone) / sizeof(back_alone[0]));
    pass_steps(third, sizeof(third) / sizeof(third[0]));
}

static const struct tap_test tests[] = {
    {"a wait for one queue holds up no other", other_queue},
    {"in one queue one call comes after the other", same_queue},
    {"a wait for the device takes all its queues", whole_device},
    {"a queue that the layer does not know", unknown_queue},
    {"an image is destroyed when the layer's commands with it are over", destroyed_behind},
    {"an image is destroyed while the layer waits for another", destroyed_during},
    {"an image is destroyed before the layer's commands name it", gone_on_the_way},
    {"a wait for the layer's commands fails", wait_fails},
    {"a wait for the layer's commands fails for once", wait_fails_for_once},
    {"an image that is passed to two", passed_to_two},
    {"an image that one call names twice", named_twice},
    {"the device is lost before the layer's commands", lost_before},
};

TAP_MAIN(tests)
