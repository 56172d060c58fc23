#include "emulate/fence.h"

#include "emulate/delivery.h"
#include "log.h"
#include "next/query.h"
#include "os/os.h"

#include <stdlib.h>

/* A queue that the application holds, or the end of one that it has released. */
struct queue {
    cl_command_queue handle;    /* NULL after the last release */
    cl_context context;         /* only compared */
    unsigned references;        /* of the application and of cld3d */
    unsigned long long put_off; /* nanoseconds of os.h: since when the last release has been put off; 0: it is not */
    cl_event end;               /* behind its last command, one reference; NULL while the application holds the queue */
    struct queue *after;
};

/* The event at the end of a queue's current commands, with one reference; or the queue itself, with one reference, as
 * long as it accepts no marker. */
struct stop {
    cl_event event;
    cl_command_queue queue;
};

struct fence {
    unsigned long long made; /* nanoseconds of os.h */
    unsigned count;
    struct stop stops[];
};

/* Guards the list. The driver is called under it to retain and query listed objects, which another thread may be about
 * to release. */
static os_mutex lock = OS_MUTEX_INIT;
static struct queue *queues;
/* How many queues have a release that was put off, and how many have lost their handles. There may be many queues,
 * usually without any of these. */
static unsigned put_off_count, gone_count;

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
    while (*place && (*place)->handle != handle)
        place = &(*place)->after;
    return place;
}

static void put_off_locked(struct queue *queue, unsigned long long since)
{
    put_off_count -= queue->put_off != 0;
    put_off_count += since != 0;
    queue->put_off = since;
}

static void lose_handle_locked(struct queue *queue, cl_event end)
{
    put_off_locked(queue, 0);
    queue->handle = NULL;
    queue->end = end;
    gone_count++;
}

/* Removes the queues that have ended from the list, for `forget`. */
static struct queue *take_ended_locked(void)
{
    struct queue *taken = NULL;
    for (struct queue **place = &queues, *queue; gone_count && (queue = *place);) {
        if (queue->handle || (queue->end && !ended(queue->end))) {
            place = &queue->after;
            continue;
        }
        *place = queue->after;
        queue->after = taken;
        taken = queue;
        gone_count--;
    }
    return taken;
}

/* Called without the lock: releasing an event may release its context. */
static void forget(struct queue *taken)
{
    for (struct queue *queue = taken, *after; queue; queue = after) {
        after = queue->after;
        if (queue->end)
            underlying.clReleaseEvent(queue->end);
        free(queue);
    }
}

static unsigned look_for_ends(void)
{
    enum { PAUSE_MS = 64 };
    os_lock(&lock);
    struct queue *taken = take_ended_locked();
    const bool any_left = gone_count != 0;
    os_unlock(&lock);
    forget(taken);
    return any_left ? PAUSE_MS : 0;
}

/* Polls while there are ends: each keeps its context alive, and perhaps no other queue is ever created or released. */
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
    struct queue *taken = take_ended_locked();
    os_unlock(&lock);
    forget(taken);
    return handle;
}

static cl_event marker_behind_all(cl_command_queue queue, cl_int *status)
{
    cl_event event = NULL;
    *status = underlying.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    if (*status != CL_SUCCESS)
        return NULL;
    underlying.clFlush(queue);
    return event;
}

/* Tries again to obtain an end for a queue whose release was put off. The markers of a fence do so for a whole
 * context. */
static void end_put_off(void)
{
    os_lock(&lock);
    const struct queue *queue = put_off_count ? queues : NULL;
    while (queue && !queue->put_off)
        queue = queue->after;
    const struct queue found = queue ? *queue : (struct queue){0};
    os_unlock(&lock);
    struct fence *fence = queue ? fence_make(found.context) : NULL;
    if (fence) {
        fence->made = found.put_off;
        fence_passed(fence);
        fence_free(fence);
    }
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *errcode_ret)
{
    end_put_off();
    return add(beneath.clCreateCommandQueue(context, device, properties, errcode_ret), context, errcode_ret);
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
                                                      const cl_queue_properties *properties, cl_int *errcode_ret)
{
    end_put_off();
    return add(beneath.clCreateCommandQueueWithProperties(context, device, properties, errcode_ret), context,
               errcode_ret);
}

/* If the queue's release was put off, the driver's reference that was still to be dropped becomes the application's
 * again. */
static cl_int retain_listed_locked(struct queue *queue)
{
    const cl_int status = queue->put_off ? CL_SUCCESS : beneath.clRetainCommandQueue(queue->handle);
    put_off_locked(queue, 0);
    queue->references += status == CL_SUCCESS;
    return status;
}

/* A queue that is not listed has been released, but an event has kept it alive. */
static cl_int retain_unlisted(cl_command_queue handle)
{
    cl_context context = NULL;
    cl_int status = beneath.clRetainCommandQueue(handle);
    if (status == CL_SUCCESS &&
        underlying.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS)
        add(handle, context, &status);
    return status;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
    os_lock(&lock);
    struct queue *queue = *place_locked(handle);
    const cl_int status = queue ? retain_listed_locked(queue) : CL_SUCCESS;
    os_unlock(&lock);
    return queue ? status : retain_unlisted(handle);
}

/* In an idle queue the marker ends at once, and then it keeps nothing alive. */
static cl_event end_of(cl_command_queue handle, cl_int *status)
{
    enum { TIMES = 5 };
    cl_event end = marker_behind_all(handle, status);
    for (int i = 0; i < TIMES && end && !ended(end); i++)
        os_sleep_shortly();
    return end;
}

/* After the last release another queue may have the address. If there is no memory for the end, the release is put off;
 * otherwise objects that the queue's commands use would be considered unused. Meanwhile another thread may retain the
 * queue again, and release it once more. */
static cl_int release_last(cl_command_queue handle, cl_context context)
{
    cl_int status = CL_SUCCESS;
    cl_event end = fence_counted_below(context) ? NULL : end_of(handle, &status);
    os_lock(&lock);
    struct queue *queue = *place_locked(handle), *taken = NULL;
    const bool goes = queue && queue->references == 0 && !queue->put_off, put_off = goes && memory_short(status);
    if (put_off) {
        put_off_locked(queue, os_nanoseconds());
    } else if (goes) {
        lose_handle_locked(queue, end);
        end = NULL;
        taken = take_ended_locked();
    }
    const bool any_left = gone_count != 0;
    os_unlock(&lock);
    forget(taken);
    if (any_left && !os_process_ends())
        watch_start(&ends_watch);
    if (end)
        underlying.clReleaseEvent(end);
    return put_off ? CL_SUCCESS : beneath.clReleaseCommandQueue(handle);
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    const bool wanted = atomic_load_explicit(&any_wanted, memory_order_relaxed);
    os_lock(&lock);
    struct queue **place = place_locked(handle), *queue = *place;
    const bool last = queue && --queue->references == 0;
    const cl_context context = last ? queue->context : NULL;
    if (last && !wanted)
        *place = queue->after;
    os_unlock(&lock);
    if (last && wanted)
        return release_last(handle, context);
    if (last)
        free(queue);
    return beneath.clReleaseCommandQueue(handle);
}

/* Performs the release that was put off, if there is one. `end` is NULL if no command of the queue is running. */
static void release_at_last(cl_command_queue handle, cl_event end)
{
    os_lock(&lock);
    struct queue *queue = *place_locked(handle);
    const bool put_off = queue && queue->put_off && (!end || underlying.clRetainEvent(end) == CL_SUCCESS);
    if (put_off)
        lose_handle_locked(queue, end);
    os_unlock(&lock);
    if (!put_off)
        return;
    beneath.clReleaseCommandQueue(handle);
    watch_start(&ends_watch);
}

/* ---- what the driver counts ---- */

/* A command that waits for the gate would keep its queue, and a context with an event that is never set may never end. */
static void set(cl_event gate)
{
    enum { TRIES = 10 };
    for (int i = 0; i < TRIES && underlying.clSetUserEventStatus(gate, CL_COMPLETE) != CL_SUCCESS; i++)
        os_sleep_shortly();
}

/* The reference count of a buffer to which one of cld3d's commands is going to write; 0 if out of memory. Nothing here
 * waits for a command, because callbacks may call it. */
static cl_uint references_tried(cl_context context, cl_device_id device)
{
    static const cl_uint zero = 0;
    cl_int status;
    cl_uint count = 0;
    cl_event gate = underlying.clCreateUserEvent(context, &status), done = NULL;
    cl_mem buffer = underlying.clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(zero), NULL, &status);
    cl_command_queue queue = underlying.clCreateCommandQueue(context, device, 0, &status);
    if (gate && buffer && queue &&
        underlying.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(zero), &zero, 1, &gate, &done) == CL_SUCCESS)
        underlying.clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    if (gate)
        set(gate);
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
    static struct {
        cl_platform_id platform;
        bool counted;
    } known[16]; /* guarded by `lock`; more platforms are tried each time */
    static unsigned known_count;
    struct device_list devices;
    cl_platform_id platform = NULL;
    bool found = false, counted = false;
    atomic_store_explicit(&any_wanted, true, memory_order_relaxed);
    if (devices_of_context(&underlying, context, &devices) != CL_SUCCESS ||
        underlying.clGetDeviceInfo(devices.at[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS)
        return false;
    os_lock(&lock);
    for (unsigned i = 0; i < known_count && !found; i++) {
        found = known[i].platform == platform;
        counted = known[i].counted;
    }
    os_unlock(&lock);
    if (found)
        return counted;
    const cl_uint references = references_tried(context, devices.at[0]);
    if (references == 0)
        return false; /* the next call tries again */
    counted = references > 1;
    log_write(LOG_DEBUG, "the driver counts queued commands in the reference counts of objects: %s",
              counted ? "yes" : "no");
    os_lock(&lock);
    if (known_count < sizeof(known) / sizeof(known[0])) {
        known[known_count].platform = platform;
        known[known_count++].counted = counted;
    }
    os_unlock(&lock);
    return counted;
}

/* ---- fences ---- */

/* Creates a stop for each of the context's queues; each queue must have one. */
static struct fence *collect_locked(cl_context context, bool *all)
{
    size_t most = 0;
    for (const struct queue *queue = queues; queue; queue = queue->after)
        most += queue->context == context;
    struct fence *fence = malloc(sizeof(*fence) + most * sizeof(fence->stops[0]));
    if (!fence)
        return NULL;
    *fence = (struct fence){.made = os_nanoseconds()};
    for (const struct queue *queue = queues; queue; queue = queue->after) {
        if (queue->context != context || (!queue->end && !queue->handle))
            continue;
        const cl_int status =
            queue->end ? underlying.clRetainEvent(queue->end) : underlying.clRetainCommandQueue(queue->handle);
        if (status == CL_SUCCESS)
            fence->stops[fence->count++] = (struct stop){queue->end, queue->end ? NULL : queue->handle};
        *all = *all && !memory_short(status);
    }
    return fence;
}

struct fence *fence_make(cl_context context)
{
    bool all = true;
    os_lock(&lock);
    struct fence *fence = collect_locked(context, &all);
    os_unlock(&lock);
    if (fence && all) {
        fence_passed(fence); /* this enqueues the markers */
    } else if (fence) {
        fence_free(fence);
        fence = NULL;
    }
    return fence;
}

/* A queue that refuses a marker for lack of memory is tried again. The queue of a lost device may behave in the same
 * way, and never accepts one. Its commands no longer use anything, but a program may wait for what the fence delays. So
 * a queue that refuses for a minute is skipped, and so is, at once, a queue that refuses with another code. */
static bool passed(struct stop *stop, bool is_late)
{
    if (stop->queue) {
        cl_int status;
        stop->event = marker_behind_all(stop->queue, &status);
        if (memory_short(status) && !is_late)
            return false;
        release_at_last(stop->queue, stop->event);
        underlying.clReleaseCommandQueue(stop->queue);
        stop->queue = NULL;
    }
    return !stop->event || ended(stop->event);
}

bool fence_passed(struct fence *fence)
{
    const unsigned long long minute = 60 * 1000000000ULL;
    const bool is_late = os_nanoseconds() - fence->made > minute;
    bool all = true;
    for (unsigned i = 0; i < fence->count; i++)
        all = passed(&fence->stops[i], is_late) && all;
    return all;
}

void fence_free(struct fence *fence)
{
    for (unsigned i = 0; i < fence->count; i++)
        if (fence->stops[i].queue)
            underlying.clReleaseCommandQueue(fence->stops[i].queue);
        else if (fence->stops[i].event)
            underlying.clReleaseEvent(fence->stops[i].event);
    free(fence);
}

/* ---- what the list proves ---- */

cl_command_queue fence_follow(cl_command_queue handle, cl_context context, cl_int *errcode_ret)
{
    return beneath.clReleaseCommandQueue ? add(handle, context, errcode_ret) : handle;
}

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

/* The queue is queried under the lock and not retained: rusticl's release waits for a thread that is in clFinish. */
bool fence_in_order(cl_command_queue handle)
{
    cl_command_queue_properties properties = 0;
    os_lock(&lock);
    const bool known = handle && *place_locked(handle) &&
                       underlying.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
                                                        NULL) == CL_SUCCESS;
    os_unlock(&lock);
    return known && !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

void fence_install(cl_icd_dispatch *table)
{
    beneath = *table;
    table->clCreateCommandQueue = create_queue;
    table->clCreateCommandQueueWithProperties = create_queue_with;
    table->clRetainCommandQueue = retain_queue;
    table->clReleaseCommandQueue = release_queue;
}
