/* Whose turn it is in a queue, over a driver that does nothing: a wait for one queue holds up no other queue, and what the program
 * and the Vulkan layer put into one queue goes there by turns. */
#include "host/vulkan.h"
#include "host/vulkan_layer.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = 2, QUEUES, PATIENCE = 5000, SHORT = 100 }; /* milliseconds */

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
static bool submitted[QUEUES];

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

static void open_device(void)
{
    memset(&device, 0, sizeof(device));
    memset(submitted, 0, sizeof(submitted));
    waiting = released = false;
    instance.queue_families = driver_families;
    device.handle = (VkDevice)(void *)&device_handle;
    device.instance = &instance;
    device.calls.get_queue = driver_get_queue;
    device.calls.submit = driver_submit;
    device.calls.queue_idle = driver_queue_idle;
    device.calls.device_idle = driver_device_idle;
    vulkan_device_add(&device);
    for (uint32_t i = 0; i < QUEUES; i++) {
        VkQueue queue = (VkQueue)(void *)&queue_handles[i];
        queue_handles[i] = &table;
        if (i < KNOWN)
            vulkan_get_queue(device.handle, i, 0, &queue);
    }
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
    vulkan_device_remove(&device);
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

static const struct tap_test tests[] = {
    {"a wait for one queue holds up no other", other_queue},
    {"in one queue one call comes after the other", same_queue},
    {"a wait for the device takes all its queues", whole_device},
    {"a queue that the layer does not know", unknown_queue},
};

TAP_MAIN(tests)
