#include "emulate/fence.h"

#include "emulate/watch.h"
#include "log.h"
#include "next/query.h"
#include "os/os.h"

#include <stdlib.h>

/* A queue that the application holds, or the end of one that it has released. */
struct queue {
    cl_command_queue handle; /* NULL when the driver has been given the last release */
    cl_context context;      /* only compared */
    unsigned references;     /* of the application; 0 with a handle: released, but it has no end yet */
    cl_event end;            /* behind its last command, one reference; NULL while there is a handle */
    struct queue *after;
};

struct fence {
    unsigned count;
    struct stop {
        cl_command_queue queue; /* while the fence is made, one reference; or NULL: it has been released */
        cl_event event;         /* one reference; NULL: the queue accepts no commands, and so runs none */
    } stops[];
};

/* Guards the list. The driver is called under it to retain and query listed objects, which another thread may be about
 * to release. */
static os_mutex lock = OS_MUTEX_INIT;
static struct queue *queues;
static unsigned ending_count; /* queues that the application has released */

/* The functions below, set at installation. */
static cl_icd_dispatch beneath;
/* Whether fences may be needed at all: set by fence_counted_below, whose callers may make one. */
static atomic_bool any_wanted;

/* ---- what is listed ---- */

static bool ended(cl_event event)
{
    cl_int status = CL_QUEUED;
    const cl_int asked =
        underlying.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return asked == CL_SUCCESS ? status <= CL_COMPLETE : !driver_short(asked);
}

static struct queue **place_locked(cl_command_queue handle)
{
    struct queue **place = &queues;
    while (*place && (!handle || (*place)->handle != handle))
        place = &(*place)->after;
    return place;
}

static cl_event marker_behind_all(cl_command_queue queue, cl_int *status)
{
    cl_event event = NULL;
    *status = underlying.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    if (*status == CL_SUCCESS)
        underlying.clFlush(queue);
    return event;
}

static cl_int release_last(cl_command_queue handle, cl_context context);

/* Polls while there are ends: each keeps its context alive. */
static unsigned look_for_ends(void)
{
    enum { PAUSE_MS = 16 };
    struct queue *taken = NULL, kept = {0};
    os_lock(&lock);
    for (struct queue **place = &queues, *queue; (queue = *place);) {
        if (queue->handle && !queue->references)
            kept = *queue;
        if (queue->handle || !ended(queue->end)) {
            place = &queue->after;
            continue;
        }
        *place = queue->after;
        queue->after = taken;
        taken = queue;
        ending_count--;
    }
    const bool any_left = ending_count != 0;
    os_unlock(&lock);
    for (struct queue *queue = taken, *after; queue; queue = after) { /* without the lock: this may end a context */
        after = queue->after;
        underlying.clReleaseEvent(queue->end);
        free(queue);
    }
    if (kept.handle)
        release_last(kept.handle, kept.context);
    return any_left ? PAUSE_MS : 0;
}

static struct watch ends_watch = {.poll = look_for_ends};

static cl_command_queue add(cl_command_queue handle, cl_context context, cl_int *errcode_ret)
{
    struct queue *queue = handle ? malloc(sizeof(*queue)) : NULL;
    if (handle && !queue) {
        beneath.clReleaseCommandQueue(handle);
        give_code(errcode_ret,
                  log_refuse("clCreateCommandQueue", CL_OUT_OF_HOST_MEMORY, "no memory to track the queue"));
    }
    if (!queue)
        return NULL;
    os_lock(&lock);
    *queue = (struct queue){.handle = handle, .context = context, .references = 1, .after = queues};
    queues = queue;
    const bool any_ending = ending_count != 0;
    os_unlock(&lock);
    if (any_ending) /* if its thread could not be started at the release */
        watch_start(&ends_watch);
    return handle;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *errcode_ret)
{
    return add(beneath.clCreateCommandQueue(context, device, properties, errcode_ret), context, errcode_ret);
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
                                                      const cl_queue_properties *properties, cl_int *errcode_ret)
{
    return add(beneath.clCreateCommandQueueWithProperties(context, device, properties, errcode_ret), context,
               errcode_ret);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
    cl_int status = CL_SUCCESS;
    os_lock(&lock);
    struct queue *queue = *place_locked(handle);
    if (queue && !queue->references) /* the driver's reference is the application's again */
        ending_count--;
    else if (queue)
        status = beneath.clRetainCommandQueue(handle);
    if (queue && status == CL_SUCCESS)
        queue->references++;
    os_unlock(&lock);
    if (queue)
        return status;
    /* It has been released, but an event has kept it alive. */
    cl_context context = NULL;
    status = beneath.clRetainCommandQueue(handle);
    if (status == CL_SUCCESS &&
        underlying.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS)
        add(handle, context, &status);
    return status;
}

/* Gives the driver the last release, after which another queue may have the address. A queue that refuses the marker for
 * lack of memory is kept until look_for_ends gets one: objects that its commands use would otherwise be considered
 * unused. Meanwhile the application may retain it again, and release it once more. */
static cl_int release_last(cl_command_queue handle, cl_context context)
{
    cl_int status = CL_SUCCESS;
    cl_event end = fence_counted_below(context) ? NULL : marker_behind_all(handle, &status);
    os_lock(&lock);
    struct queue **place = place_locked(handle), *queue = *place;
    const bool goes = queue && !queue->references && !memory_short(status);
    if (goes && end) {
        queue->handle = NULL;
        queue->end = end;
    } else if (goes) {
        *place = queue->after;
        ending_count--;
        free(queue);
    }
    const bool any_ending = ending_count != 0;
    os_unlock(&lock);
    if (end && !goes)
        underlying.clReleaseEvent(end);
    if (any_ending && !os_process_ends())
        watch_start(&ends_watch);
    return goes ? beneath.clReleaseCommandQueue(handle) : CL_SUCCESS;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    const bool wanted = atomic_load_explicit(&any_wanted, memory_order_relaxed);
    os_lock(&lock);
    struct queue **place = place_locked(handle), *queue = *place;
    const bool last = queue && queue->references && --queue->references == 0;
    const cl_context context = last ? queue->context : NULL;
    if (last && wanted)
        ending_count++;
    else if (last)
        *place = queue->after;
    os_unlock(&lock);
    if (last && wanted)
        return release_last(handle, context);
    if (last)
        free(queue);
    return beneath.clReleaseCommandQueue(handle);
}

/* ---- what the driver counts ---- */

/* The reference count of a buffer to which a command of cld3d is going to write; 0 if out of memory. Nothing here waits
 * for a command, because callbacks may call it. */
static cl_uint references_tried(cl_context context, cl_device_id device)
{
    enum { TRIES = 10 };
    static const cl_uint zero = 0;
    cl_int status;
    cl_uint count = 0;
    cl_event gate = underlying.clCreateUserEvent(context, &status), done = NULL;
    cl_mem buffer = underlying.clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(zero), NULL, &status);
    cl_command_queue queue = underlying.clCreateCommandQueue(context, device, 0, &status);
    if (gate && buffer && queue &&
        underlying.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(zero), &zero, 1, &gate, &done) == CL_SUCCESS)
        underlying.clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    /* A command that waits for the gate would keep its queue, and a context may never end whose event is never set. */
    for (int i = 0; gate && i < TRIES && underlying.clSetUserEventStatus(gate, CL_COMPLETE) != CL_SUCCESS; i++)
        ;
    if (done)
        underlying.clReleaseEvent(done);
    if (queue)
        underlying.clReleaseCommandQueue(queue);
    if (buffer)
        underlying.clReleaseMemObject(buffer);
    if (gate)
        underlying.clReleaseEvent(gate);
    return count;
}

bool fence_counted_below(cl_context context)
{
    enum { MOST = 16 };
    static struct {
        cl_platform_id platform;
        bool counted;
    } known[MOST]; /* guarded by `lock`; more platforms are tried each time */
    static unsigned known_count;
    struct device_list devices;
    cl_platform_id platform = NULL;
    atomic_store_explicit(&any_wanted, true, memory_order_relaxed);
    if (devices_of_context(&underlying, context, &devices) != CL_SUCCESS ||
        underlying.clGetDeviceInfo(devices.at[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS)
        return false;
    os_lock(&lock);
    unsigned i = 0;
    while (i < known_count && known[i].platform != platform)
        i++;
    const bool found = i < known_count, counted_before = found && known[i].counted;
    os_unlock(&lock);
    if (found)
        return counted_before;
    const cl_uint references = references_tried(context, devices.at[0]);
    const bool counted = references > 1;
    os_lock(&lock);
    if (references && known_count < MOST) { /* else the next call tries again */
        known[known_count].platform = platform;
        known[known_count++].counted = counted;
    }
    os_unlock(&lock);
    return counted;
}

/* ---- fences ---- */

/* A stop for each of the context's queues. */
static struct fence *collect(cl_context context, bool *all)
{
    size_t most = 0;
    os_lock(&lock);
    for (const struct queue *queue = queues; queue; queue = queue->after)
        most += queue->context == context;
    struct fence *fence = malloc(sizeof(*fence) + most * sizeof(fence->stops[0]));
    if (fence)
        fence->count = 0;
    for (const struct queue *queue = queues; fence && queue; queue = queue->after) {
        if (queue->context != context)
            continue;
        const cl_int status =
            queue->end ? underlying.clRetainEvent(queue->end) : underlying.clRetainCommandQueue(queue->handle);
        if (status == CL_SUCCESS)
            fence->stops[fence->count++] = (struct stop){queue->handle, queue->end};
        *all = *all && !memory_short(status);
    }
    os_unlock(&lock);
    return fence;
}

struct fence *fence_make(cl_context context)
{
    bool all = true;
    struct fence *fence = collect(context, &all);
    for (unsigned i = 0; fence && i < fence->count; i++) {
        struct stop *stop = &fence->stops[i];
        cl_int status = CL_SUCCESS;
        if (!stop->queue)
            continue;
        stop->event = marker_behind_all(stop->queue, &status);
        all = all && !memory_short(status);
        underlying.clReleaseCommandQueue(stop->queue);
    }
    if (!fence || all)
        return fence;
    fence_free(fence);
    return NULL;
}

bool fence_passed(const struct fence *fence)
{
    for (unsigned i = 0; i < fence->count; i++)
        if (fence->stops[i].event && !ended(fence->stops[i].event))
            return false;
    return true;
}

void fence_free(struct fence *fence)
{
    for (unsigned i = 0; fence && i < fence->count; i++)
        if (fence->stops[i].event)
            underlying.clReleaseEvent(fence->stops[i].event);
    free(fence);
}

/* ---- what the list proves ---- */

/* An entry loses its handle before the driver may destroy the queue. */
bool fence_keeps(const void *handle, bool as_context)
{
    bool found = false;
    os_lock(&lock);
    for (const struct queue *queue = queues; queue && !found; queue = queue->after)
        found = queue->handle && handle == (as_context ? (const void *)queue->context : (const void *)queue->handle);
    os_unlock(&lock);
    return found;
}

void fence_install(cl_icd_dispatch *table)
{
    beneath = *table;
    table->clCreateCommandQueue = create_queue;
    table->clCreateCommandQueueWithProperties = create_queue_with;
    table->clRetainCommandQueue = retain_queue;
    table->clReleaseCommandQueue = release_queue;
}
