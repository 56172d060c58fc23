/* What the rows beside a mapped surface need: pinned memory, and threads that copy them. The OpenCL below is this
 * program's. */
#include "next/next.h"
#include "os/os.h"
#include "tap.h"
#include "transport/parallel.h"
#include "transport/pinned.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- pinned memory ---- */

/* An OpenCL of one device, which hands out memory and counts what is held. */
static struct pinning_driver {
    cl_ulong memory;
    int queues, buffers, maps, events;
} driver;

static char handles[4], mapped[1];

static cl_int CL_API_CALL context_info(cl_context context, cl_context_info name, size_t room, void *to, size_t *size)
{
    cl_device_id device = (cl_device_id)&handles[0];
    (void)context, (void)name, (void)room;
    memcpy(to, &device, sizeof(device));
    *size = sizeof(device);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size)
{
    (void)device, (void)room, (void)size;
    const cl_bool unified = CL_FALSE;
    if (name == CL_DEVICE_GLOBAL_MEM_SIZE)
        memcpy(to, &driver.memory, sizeof(driver.memory));
    else
        memcpy(to, &unified, sizeof(unified));
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *status)
{
    (void)context, (void)properties;
    CHECK(device == (cl_device_id)&handles[0]);
    driver.queues++;
    *status = CL_SUCCESS;
    return (cl_command_queue)&handles[1];
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    (void)queue;
    driver.queues++;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    CHECK(queue == (cl_command_queue)&handles[1]);
    driver.queues--;
    return CL_SUCCESS;
}

static cl_mem CL_API_CALL create_pinned(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    (void)context, (void)size;
    CHECK(flags & CL_MEM_ALLOC_HOST_PTR && host == NULL);
    driver.buffers++;
    *status = CL_SUCCESS;
    return (cl_mem)&handles[2];
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
    CHECK(buffer == (cl_mem)&handles[2]);
    driver.buffers--;
    CHECK(driver.maps <= driver.buffers);
    return CL_SUCCESS;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                                    cl_event *event, cl_int *status)
{
    (void)queue, (void)buffer, (void)offset, (void)size, (void)wait_count, (void)wait;
    CHECK(!blocking && flags == (CL_MAP_READ | CL_MAP_WRITE));
    driver.maps++;
    driver.events++;
    *event = (cl_event)&handles[3];
    *status = CL_SUCCESS;
    return mapped;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void *at, cl_uint wait_count,
                                const cl_event *wait, cl_event *event)
{
    (void)queue, (void)memory, (void)wait_count, (void)wait, (void)event;
    CHECK(at == mapped);
    driver.maps--;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for_map(cl_uint count, const cl_event *events)
{
    CHECK(count == 1 && events[0] == (cl_event)&handles[3]);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL map_status(cl_event event, cl_event_info name, size_t room, void *to, size_t *size)
{
    (void)event, (void)name, (void)room, (void)size;
    const cl_int ended = CL_COMPLETE;
    memcpy(to, &ended, sizeof(ended));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_map_event(cl_event event)
{
    CHECK(event == (cl_event)&handles[3]);
    driver.events--;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

static void driver_open(struct pinning *pinning)
{
    driver = (struct pinning_driver){.memory = (cl_ulong)8 << 30};
    next.clGetContextInfo = context_info;
    next.clGetDeviceInfo = device_info;
    next.clCreateCommandQueue = create_queue;
    next.clRetainCommandQueue = retain_queue;
    next.clReleaseCommandQueue = release_queue;
    next.clCreateBuffer = create_pinned;
    next.clReleaseMemObject = release_buffer;
    next.clEnqueueMapBuffer = map_buffer;
    next.clEnqueueUnmapMemObject = unmap;
    next.clFlush = next.clFinish = flush;
    next.clWaitForEvents = wait_for_map;
    next.clGetEventInfo = map_status;
    next.clReleaseEvent = release_map_event;
    pinning_open(pinning, NULL);
}

static void driver_holds(int memories, int queues)
{
    CHECK_INT(driver.buffers, memories);
    CHECK_INT(driver.maps, memories);
    CHECK_INT(driver.events, 0);
    CHECK_INT(driver.queues, queues);
}

/* It outlives the end of its context, which ends the queue with the last memory. */
CASE("pinned memory: it is mapped until it is freed, also after its context", pinned_lives)
{
    struct pinning pinning;
    driver_open(&pinning);
    struct aligned_memory one = pinned_memory_make(&pinning, 100), two = pinned_memory_make(&pinning, 200);
    CHECK(one.bytes == mapped && two.bytes == mapped);
    driver_holds(2, 3);
    aligned_memory_free(&one);
    CHECK(one.bytes == NULL && one.allocation == NULL);
    driver_holds(1, 2);
    pinning_close(&pinning);
    driver_holds(1, 1);
    CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
    aligned_memory_free(&two);
    driver_holds(0, 0);
    pinning_close(&pinning);
    driver_holds(0, 0);
}

CASE("pinned memory: not more than the limit", pinned_limit)
{
    struct pinning pinning;
    driver_open(&pinning);
    struct aligned_memory most = pinned_memory_make(&pinning, PINNED_MOST - 1);
    CHECK(most.bytes != NULL);
    CHECK(pinned_memory_make(&pinning, 2).bytes == NULL);
    CHECK(pinned_memory_make(&pinning, SIZE_MAX).bytes == NULL);
    struct aligned_memory last = pinned_memory_make(&pinning, 1);
    CHECK(last.bytes != NULL);
    aligned_memory_free(&last);
    aligned_memory_free(&most);
    most = pinned_memory_make(&pinning, PINNED_MOST);
    CHECK(most.bytes != NULL);
    aligned_memory_free(&most);
    pinning_close(&pinning);
    driver_holds(0, 0);
    driver.memory = 1000 * PINNED_SHARE;
    pinning_open(&pinning, NULL);
    CHECK(pinned_memory_make(&pinning, 1001).bytes == NULL);
    most = pinned_memory_make(&pinning, 1000);
    CHECK(most.bytes != NULL);
    aligned_memory_free(&most);
    pinning_close(&pinning);
    driver_holds(0, 0);
}

/* ---- parts of a job ---- */

enum { PARTS = 70 };

struct counted_job {
    atomic_uint calls[PARTS], all;
    atomic_uint elsewhere; /* on other threads */
    uintptr_t thread;
};

static void count_part(void *data, unsigned index)
{
    struct counted_job *counted = data;
    atomic_fetch_add(&counted->calls[index], 1);
    atomic_fetch_add(&counted->all, 1);
    if (os_thread() != counted->thread)
        atomic_fetch_add(&counted->elsewhere, 1);
}

/* Returns how many parts other threads have run. */
static unsigned run_parts(unsigned parts, void (*part)(void *data, unsigned index))
{
    struct counted_job counted = {.thread = os_thread()};
    parallel_run(parts, part, &counted);
    CHECK_INT(counted.all, parts);
    for (unsigned i = 0; i < parts; i++)
        CHECK_INT(counted.calls[i], 1);
    return counted.elsewhere;
}

static void *run_many(void *unused)
{
    for (int i = 0; i < 200; i++)
        run_parts(1 + (unsigned)i % PARTS, count_part);
    return unused;
}

CASE("jobs of several threads at the same time", parts_of_threads)
{
    pthread_t threads[3];
    parallel_processors = 16;
    for (int i = 0; i < 3; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    run_many(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

TAP_MAIN
