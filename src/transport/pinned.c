#include "transport/pinned.h"

#include "emulate/emulate.h"
#include "error_name.h"
#include "log.h"
#include "next/query.h"
#include "handles/handles.h"

#include <stdbool.h>
#include <stdlib.h>

struct pinned {
    struct pinning *pinning;
    cl_command_queue queue; /* owned */
    cl_mem buffer;          /* owned; mapped at `bytes` */
    void *bytes;
    size_t size;
};

/* ---- a context ---- */

/* The first one that has its own memory. NULL: none has, or the driver does not tell. */
static cl_device_id device_with_memory(cl_context context)
{
    struct device_list devices;
    devices_of_context(&underlying, context, &devices);
    for (cl_uint i = 0; i < devices.count; i++) {
        cl_bool unified = CL_TRUE;
        underlying.clGetDeviceInfo(devices.at[i], CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
        if (!unified)
            return devices.at[i];
    }
    return NULL;
}

static size_t limit_of(cl_device_id device)
{
    cl_ulong bytes = 0;
    if (underlying.clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL) != CL_SUCCESS)
        return 0;
    return bytes / PINNED_SHARE < PINNED_MOST ? (size_t)(bytes / PINNED_SHARE) : PINNED_MOST;
}

void pinning_open(struct pinning *pinning, cl_context context)
{
    cl_device_id device = device_with_memory(context);
    *pinning = (struct pinning){
        .context = context, .lock = OS_MUTEX_INIT, .device = device, .most = device ? limit_of(device) : 0};
}

void pinning_close(struct pinning *pinning)
{
    os_lock(&pinning->lock);
    cl_command_queue queue = pinning->queue;
    pinning->queue = NULL;
    pinning->device = NULL;
    os_unlock(&pinning->lock);
    if (queue && !callback_runs_here() && !os_process_ends())
        underlying.clFinish(queue); /* drivers may count its unmaps as references to the context */
    own_queue_put(queue);
}

/* A reference for the caller. Two threads may make a queue at the same time: then one of them keeps its own. */
static cl_command_queue take_queue(struct pinning *pinning, cl_int *status)
{
    os_lock(&pinning->lock);
    cl_device_id device = pinning->device;
    cl_command_queue queue = pinning->queue;
    *status = queue ? underlying.clRetainCommandQueue(queue) : CL_SUCCESS;
    os_unlock(&pinning->lock);
    if (queue || !device)
        return *status == CL_SUCCESS ? queue : NULL;
    *status = CL_OUT_OF_RESOURCES; /* a driver that crashes below Wine sets none */
    queue = own_queue_make(pinning->context, device, 0, status);
    if (*status != CL_SUCCESS)
        return NULL;
    os_lock(&pinning->lock);
    if (pinning->device && !pinning->queue && underlying.clRetainCommandQueue(queue) == CL_SUCCESS)
        pinning->queue = queue;
    os_unlock(&pinning->lock);
    return queue;
}

void pinning_finish(struct pinning *pinning)
{
    os_lock(&pinning->lock);
    cl_command_queue queue = pinning->queue;
    const bool retained = queue && !callback_runs_here() && underlying.clRetainCommandQueue(queue) == CL_SUCCESS;
    os_unlock(&pinning->lock);
    if (retained) {
        underlying.clFinish(queue);
        own_queue_put(queue);
    }
}

/* ---- memory ---- */

static bool reserve(struct pinning *pinning, size_t size)
{
    os_lock(&pinning->lock);
    const bool fits = pinning->device && size <= pinning->most - pinning->bytes;
    pinning->bytes += fits ? size : 0;
    os_unlock(&pinning->lock);
    return fits;
}

static void end_reservation(struct pinning *pinning, size_t size)
{
    os_lock(&pinning->lock);
    pinning->bytes -= size;
    os_unlock(&pinning->lock);
}

/* Drivers keep memory that is not unmapped (NVIDIA, PoCL), so one that is short of something is asked again. */
static void unmap(const struct pinned *pinned)
{
    enum { TRIES = 10 };
    for (int i = 0; i < TRIES && underlying.clEnqueueUnmapMemObject(pinned->queue, pinned->buffer, pinned->bytes, 0,
                                                                    NULL, NULL) != CL_SUCCESS;
         i++)
        os_sleep_shortly();
}

/* Also frees memory whose map has failed. */
static void unpin(void *allocation)
{
    struct pinned *pinned = allocation;
    if (pinned->bytes)
        unmap(pinned);
    if (pinned->queue)
        underlying.clFlush(pinned->queue);
    if (pinned->buffer)
        underlying.clReleaseMemObject(pinned->buffer);
    own_queue_put(pinned->queue);
    end_reservation(pinned->pinning, pinned->size);
    free(pinned);
}

/* Not a blocking command: rusticl 22.3 lets one return early if another thread flushes its queue at that moment. */
static cl_int map_and_wait(struct pinned *pinned)
{
    cl_int status = CL_OUT_OF_RESOURCES, ended = CL_COMPLETE;
    cl_event done = NULL;
    void *bytes = underlying.clEnqueueMapBuffer(pinned->queue, pinned->buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                                pinned->size, 0, NULL, &done, &status);
    if (status != CL_SUCCESS || !bytes)
        return status == CL_SUCCESS ? CL_OUT_OF_RESOURCES : status;
    pinned->bytes = bytes;
    status = underlying.clWaitForEvents(1, &done);
    if (status == CL_SUCCESS)
        status = underlying.clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(ended), &ended, NULL);
    underlying.clReleaseEvent(done);
    return status == CL_SUCCESS && ended < 0 ? ended : status;
}

/* The queue has only maps and unmaps of such buffers, so no command of the application is waited for. The codes are set before each call,
 * because a driver that crashes below Wine sets none. */
static cl_int map(struct pinned *pinned)
{
    cl_int status = CL_OUT_OF_RESOURCES;
    pinned->queue = take_queue(pinned->pinning, &status);
    if (!pinned->queue)
        return status == CL_SUCCESS ? CL_OUT_OF_RESOURCES : status;
    status = CL_OUT_OF_RESOURCES;
    cl_mem buffer = underlying.clCreateBuffer(pinned->pinning->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                              pinned->size, NULL, &status);
    if (status != CL_SUCCESS)
        return status;
    pinned->buffer = buffer;
    return map_and_wait(pinned);
}

/* A driver that fails once is not asked again: what it lacks is needed for the objects themselves. */
static void give_up(struct pinned *pinned, cl_int status)
{
    log_write(LOG_INFO, "the driver provides no pinned memory of %zu bytes (%s): transfers take longer", pinned->size,
              cl_error_name(status));
    pinning_close(pinned->pinning);
    unpin(pinned);
}

struct aligned_memory pinned_memory_make(struct pinning *pinning, size_t size)
{
    static const struct aligned_memory none;
    if (callback_runs_here() || !reserve(pinning, size))
        return none;
    struct pinned *pinned = calloc(1, sizeof(*pinned));
    if (!pinned) {
        end_reservation(pinning, size);
        return none;
    }
    pinned->pinning = pinning;
    pinned->size = size;
    const cl_int status = map(pinned);
    if (status != CL_SUCCESS) {
        give_up(pinned, status);
        return none;
    }
    log_write(LOG_DEBUG, "%zu bytes of rows lie in pinned memory", size);
    return (struct aligned_memory){pinned->bytes, pinned, unpin};
}
