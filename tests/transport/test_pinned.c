/* Pinned memory for rows (transport/pinned.c): how long it lives, and how much of it there is. The OpenCL below is this program's: it
 * has one device, and counts what is held. */
#include "next/next.h"
#include "tap.h"
#include "transport/pinned.h"

#include <stdint.h>

static struct {
    cl_ulong memory;
    int queues, buffers, maps;
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
    const cl_bool unified = CL_FALSE;
    (void)device, (void)room, (void)size;
    if (name == CL_DEVICE_GLOBAL_MEM_SIZE)
        memcpy(to, &driver.memory, sizeof(driver.memory));
    else
        memcpy(to, &unified, sizeof(unified));
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *status)
{
    (void)context, (void)device, (void)properties;
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
    (void)queue;
    driver.queues--;
    return CL_SUCCESS;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    (void)context, (void)size;
    CHECK(flags & CL_MEM_ALLOC_HOST_PTR && host == NULL);
    driver.buffers++;
    *status = CL_SUCCESS;
    return (cl_mem)&handles[2];
}

/* A buffer that goes while it is mapped leaks with NVIDIA's driver. */
static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
    (void)buffer;
    driver.buffers--;
    CHECK(driver.maps <= driver.buffers);
    return CL_SUCCESS;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                                    cl_event *event, cl_int *status)
{
    (void)queue, (void)buffer, (void)blocking, (void)flags, (void)offset, (void)size, (void)wait_count, (void)wait;
    driver.maps++;
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

static cl_int CL_API_CALL of_queue(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events)
{
    (void)count, (void)events;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info name, size_t room, void *to, size_t *size)
{
    (void)event, (void)name, (void)size;
    memset(to, 0, room); /* CL_COMPLETE */
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

static void driver_open(struct pinning *pinning, cl_ulong memory)
{
    driver.memory = memory;
    next.clGetContextInfo = context_info;
    next.clGetDeviceInfo = device_info;
    next.clCreateCommandQueue = create_queue;
    next.clRetainCommandQueue = retain_queue;
    next.clReleaseCommandQueue = release_queue;
    next.clCreateBuffer = create_buffer;
    next.clReleaseMemObject = release_buffer;
    next.clEnqueueMapBuffer = map_buffer;
    next.clEnqueueUnmapMemObject = unmap;
    next.clFlush = next.clFinish = of_queue;
    next.clWaitForEvents = wait_for;
    next.clGetEventInfo = event_info;
    next.clReleaseEvent = release_event;
    pinning_open(pinning, NULL);
}

static void driver_holds(int memories, int queues)
{
    CHECK_INT(driver.buffers, memories);
    CHECK_INT(driver.maps, memories);
    CHECK_INT(driver.queues, queues);
}

/* It outlives the end of its context, which ends the queue with the last memory. */
CASE("it is mapped until it is freed, also after its context", lives)
{
    struct pinning pinning;
    driver_open(&pinning, (cl_ulong)8 << 30);
    struct aligned_memory one = pinned_memory_make(&pinning, 100), two = pinned_memory_make(&pinning, 200);
    CHECK(one.bytes == mapped && two.bytes == mapped);
    driver_holds(2, 3);
    aligned_memory_free(&one);
    driver_holds(1, 2);
    pinning_close(&pinning);
    CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
    driver_holds(1, 1);
    aligned_memory_free(&two);
    driver_holds(0, 0);
}

/* 256 MiB, or a sixteenth of the device's memory. What is freed is there again. */
CASE("not more than the limit", limit)
{
    static const struct {
        cl_ulong memory;
        size_t most;
    } devices[] = {{(cl_ulong)8 << 30, 256 << 20}, {16000, 1000}};
    for (int i = 0; i < 2; i++) {
        const size_t most = devices[i].most;
        struct pinning pinning;
        driver_open(&pinning, devices[i].memory);
        CHECK(pinned_memory_make(&pinning, most + 1).bytes == NULL);
        CHECK(pinned_memory_make(&pinning, SIZE_MAX).bytes == NULL);
        struct aligned_memory rest = pinned_memory_make(&pinning, most - 1);
        CHECK(pinned_memory_make(&pinning, 2).bytes == NULL);
        struct aligned_memory last = pinned_memory_make(&pinning, 1);
        CHECK(rest.bytes && last.bytes);
        aligned_memory_free(&last);
        aligned_memory_free(&rest);
        rest = pinned_memory_make(&pinning, most);
        CHECK(rest.bytes != NULL);
        aligned_memory_free(&rest);
        pinning_close(&pinning);
        driver_holds(0, 0);
    }
}

TAP_MAIN
