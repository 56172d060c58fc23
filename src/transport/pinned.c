#include "transport/pinned.h"

#include "emulate/emulate.h"
#include "log.h"
#include "track/track.h"

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
    cl_device_id devices[64];
    size_t size = 0;
    if (underlying.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size) != CL_SUCCESS)
        return NULL;
    for (size_t i = 0; i < size / sizeof(devices[0]); i++) {
        cl_bool unified = CL_TRUE;
        underlying.clGetDeviceInfo(devices[i], CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
        if (!unified)
            return devices[i];
    }
    return NULL;
}

void pinning_open(struct pinning *pinning, cl_context context)
{
    *pinning = (struct pinning){.context = context, .lock = OS_MUTEX_INIT, .device = device_with_memory(context)};
}

void pinning_close(struct pinning *pinning)
{
    os_lock(&pinning->lock);
    cl_command_queue queue = pinning->queue;
    pinning->queue = NULL;
    pinning->device = NULL;
    os_unlock(&pinning->lock);
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
    queue = own_queue_make(pinning->context, device, 0, status);
    os_lock(&pinning->lock);
    if (*status == CL_SUCCESS && pinning->device && !pinning->queue &&
        underlying.clRetainCommandQueue(queue) == CL_SUCCESS)
        pinning->queue = queue;
    os_unlock(&pinning->lock);
    return queue;
}

/* ---- memory ---- */

static bool reserve(struct pinning *pinning, size_t size)
{
    os_lock(&pinning->lock);
    const bool fits = pinning->device && size <= PINNED_MOST - pinning->bytes;
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

/* Also of one whose map has failed. */
static void unpin(void *allocation)
{
    struct pinned *pinned = allocation;
    if (pinned->bytes)
        underlying.clEnqueueUnmapMemObject(pinned->queue, pinned->buffer, pinned->bytes, 0, NULL, NULL);
    if (pinned->queue)
        underlying.clFlush(pinned->queue);
    if (pinned->buffer)
        underlying.clReleaseMemObject(pinned->buffer);
    own_queue_put(pinned->queue);
    end_reservation(pinned->pinning, pinned->size);
    free(pinned);
}

/* The queue has maps of such buffers alone, so that no command of the application is waited for. */
static cl_int map(struct pinned *pinned)
{
    cl_int status;
    pinned->queue = take_queue(pinned->pinning, &status);
    if (!pinned->queue)
        return status == CL_SUCCESS ? CL_OUT_OF_RESOURCES : status;
    pinned->buffer = underlying.clCreateBuffer(pinned->pinning->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                               pinned->size, NULL, &status);
    if (status == CL_SUCCESS)
        pinned->bytes =
            underlying.clEnqueueMapBuffer(pinned->queue, pinned->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                          pinned->size, 0, NULL, NULL, &status);
    return status;
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
