#include "transport/pinned.h"

#include "error_name.h"
#include "log.h"
#include "next/query.h"
#include "handles/handles.h"

#include <stdint.h>
#include <stdlib.h>

struct aligned_memory aligned_memory_make(size_t size, size_t alignment)
{
    struct aligned_memory memory = {NULL, NULL, free};
    if (size > SIZE_MAX - alignment)
        return memory;
    memory.allocation = malloc(size + alignment);
    if (memory.allocation)
        memory.bytes = (void *)(((uintptr_t)memory.allocation + alignment - 1) / alignment * alignment);
    return memory;
}

void aligned_memory_free(struct aligned_memory *memory)
{
    if (memory->allocation)
        memory->give_back(memory->allocation);
    *memory = (struct aligned_memory){NULL, NULL, NULL};
}

struct pinned {
    struct pinning *pinning;
    cl_command_queue queue; /* owned */
    cl_mem buffer;          /* owned; mapped at `bytes` */
    void *bytes;
    size_t size;
};

/* ---- a context ---- */

/* The codes are set before each call, because a driver that crashes below Wine sets none. */
void pinning_open(struct pinning *pinning, cl_context context)
{
    struct device_list devices;
    *pinning = (struct pinning){.context = context, .lock = OS_MUTEX_INIT};
    devices_of_context(&next, context, &devices);
    for (cl_uint i = 0; i < devices.count && !pinning->queue; i++) {
        cl_bool unified = CL_TRUE;
        cl_ulong bytes = 0;
        cl_int status = CL_OUT_OF_RESOURCES;
        next.clGetDeviceInfo(devices.at[i], CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
        next.clGetDeviceInfo(devices.at[i], CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
        pinning->most = bytes / PINNED_SHARE < PINNED_MOST ? (size_t)(bytes / PINNED_SHARE) : PINNED_MOST;
        if (!unified)
            pinning->queue = next.clCreateCommandQueue(context, devices.at[i], 0, &status);
    }
}

void pinning_close(struct pinning *pinning)
{
    os_lock(&pinning->lock);
    cl_command_queue queue = pinning->queue;
    pinning->queue = NULL;
    os_unlock(&pinning->lock);
    if (queue && !callback_runs_here() && !os_process_ends())
        next.clFinish(queue); /* drivers may count its unmaps as references to the context */
    own_queue_put(queue);
}

/* The queue, with a reference for the caller, if memory of this size may be pinned, which counts from now on. */
static cl_command_queue reserve(struct pinning *pinning, size_t size)
{
    os_lock(&pinning->lock);
    cl_command_queue queue = size <= pinning->most - pinning->bytes ? pinning->queue : NULL;
    if (queue && next.clRetainCommandQueue(queue) != CL_SUCCESS)
        queue = NULL;
    pinning->bytes += queue ? size : 0;
    os_unlock(&pinning->lock);
    return queue;
}

/* ---- memory ---- */

/* Also frees memory whose map has failed. */
static void unpin(void *allocation)
{
    struct pinned *pinned = allocation;
    if (pinned->bytes)
        next.clEnqueueUnmapMemObject(pinned->queue, pinned->buffer, pinned->bytes, 0, NULL, NULL);
    next.clFlush(pinned->queue);
    if (pinned->buffer)
        next.clReleaseMemObject(pinned->buffer);
    own_queue_put(pinned->queue);
    os_lock(&pinned->pinning->lock);
    pinned->pinning->bytes -= pinned->size;
    os_unlock(&pinned->pinning->lock);
    free(pinned);
}

/* Not a blocking command: rusticl 22.3 lets one return early if another thread flushes its queue at that moment. The queue
 * has only maps and unmaps of such buffers, so no command of the application is waited for. */
static cl_int map(struct pinned *pinned)
{
    cl_int status = CL_OUT_OF_RESOURCES, ended = CL_COMPLETE;
    cl_event done = NULL;
    pinned->buffer = next.clCreateBuffer(pinned->pinning->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                         pinned->size, NULL, &status);
    if (!pinned->buffer)
        return status;
    status = CL_OUT_OF_RESOURCES;
    pinned->bytes = next.clEnqueueMapBuffer(pinned->queue, pinned->buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                            pinned->size, 0, NULL, &done, &status);
    if (!pinned->bytes)
        return status;
    status = next.clWaitForEvents(1, &done);
    if (status == CL_SUCCESS)
        status = next.clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(ended), &ended, NULL);
    next.clReleaseEvent(done);
    return status == CL_SUCCESS && ended < 0 ? ended : status;
}

/* A driver that fails once is not asked again: what it lacks is needed for the objects themselves. */
struct aligned_memory pinned_memory_make(struct pinning *pinning, size_t size)
{
    cl_command_queue queue = callback_runs_here() ? NULL : reserve(pinning, size);
    struct pinned *pinned = queue ? calloc(1, sizeof(*pinned)) : NULL;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!queue)
        return (struct aligned_memory){NULL, NULL, NULL};
    if (pinned) {
        *pinned = (struct pinned){.pinning = pinning, .queue = queue, .size = size};
        status = map(pinned);
    }
    if (status == CL_SUCCESS) {
        log_write(LOG_DEBUG, "%zu bytes of rows lie in pinned memory", size);
        return (struct aligned_memory){pinned->bytes, pinned, unpin};
    }
    log_write(LOG_INFO, "the driver provides no pinned memory of %zu bytes (%s): transfers take longer", size,
              cl_error_name(status));
    pinning_close(pinning);
    if (pinned)
        unpin(pinned);
    else
        own_queue_put(queue);
    return (struct aligned_memory){NULL, NULL, NULL};
}
