#define _GNU_SOURCE /* syscall */
#include "bridge/waits.h"

#include "bridge/futex.h"
#include "bridge/signals.h"
#include "next/next.h"
#include "os/os.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* What a wait shares with those who end it. Whoever is last puts it back: the callbacks of an ended thread come later. */
struct gathering {
    atomic_uint left; /* events that have not ended; below 0 where the driver's wait ends before its callbacks come */
    atomic_uint references;
    struct gathering *after;
};

static os_mutex lock = OS_MUTEX_INIT; /* guards the list */
static struct gathering *unused;

static struct gathering *get(cl_uint count)
{
    os_lock(&lock);
    struct gathering *gathering = unused;
    if (gathering)
        unused = gathering->after;
    os_unlock(&lock);
    if (!gathering)
        gathering = malloc(sizeof(*gathering));
    if (gathering) {
        atomic_init(&gathering->left, count);
        atomic_init(&gathering->references, 1);
    }
    return gathering;
}

static void put(struct gathering *gathering)
{
    if (atomic_fetch_sub(&gathering->references, 1) != 1)
        return;
    os_lock(&lock);
    gathering->after = unused;
    unused = gathering;
    os_unlock(&lock);
}

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    struct gathering *gathering = data;
    (void)event;
    (void)status;
    atomic_fetch_sub(&gathering->left, 1);
    futex_wake(&gathering->left);
    put(gathering);
}

static cl_int status_of(cl_event event)
{
    cl_int status = CL_QUEUED;
    const cl_int asked = next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return asked == CL_SUCCESS ? status : asked;
}

static bool all_ended(cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; i < count; i++)
        if (status_of(events[i]) > CL_COMPLETE)
            return false;
    return true;
}

/* ---- the driver's wait ---- */

struct driver_wait {
    struct gathering *gathering;
    cl_uint count;
    cl_event events[]; /* retained */
};

static void *wait_in_driver(void *data)
{
    struct driver_wait *wait = data;
    next.clWaitForEvents(wait->count, wait->events);
    atomic_store(&wait->gathering->left, 0);
    futex_wake(&wait->gathering->left);
    put(wait->gathering);
    for (cl_uint i = 0; i < wait->count; i++)
        next.clReleaseEvent(wait->events[i]);
    free(wait);
    return NULL;
}

/* Some drivers end commands only in their own wait, or submit there what an event depends on in other queues. So a thread of the
 * host's does that, which no program ends. False: there is no memory or no thread. */
static bool wait_elsewhere(struct gathering *gathering, cl_uint count, const cl_event *events)
{
    struct driver_wait *wait = malloc(sizeof(*wait) + count * sizeof(*events));
    sigset_t all, before;
    pthread_t thread;
    if (!wait)
        return false;
    atomic_fetch_add(&gathering->references, 1);
    wait->gathering = gathering;
    wait->count = 0;
    for (cl_uint i = 0; i < count; i++)
        if (next.clRetainEvent(events[i]) == CL_SUCCESS)
            wait->events[wait->count++] = events[i];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* Wine's signals are for its own threads */
    const bool started = pthread_create(&thread, NULL, wait_in_driver, wait) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_detach(thread);
        return true;
    }
    put(gathering);
    for (cl_uint i = 0; i < wait->count; i++)
        next.clReleaseEvent(wait->events[i]);
    free(wait);
    return false;
}

/* ---- waits ---- */

/* As a wait in the driver does. `device`: that of the last event. */
static void flush(cl_uint count, const cl_event *events, cl_device_id *device)
{
    for (cl_uint i = 0; i < count; i++) {
        cl_command_queue queue = NULL;
        if (next.clGetEventInfo(events[i], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) == CL_SUCCESS &&
            queue) {
            next.clFlush(queue);
            next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(*device), device, NULL);
        }
    }
}

/* A small command takes less time than a thread needs to fall asleep and wake up. A processor's may need the core of this
 * thread. */
static bool spin(cl_uint count, const cl_event *events, bool is_cpu)
{
    enum { GPU_NS = 100000, CPU_NS = 20000 };
    const unsigned long long end = os_nanoseconds() + (is_cpu ? CPU_NS : GPU_NS);
    while (os_nanoseconds() < end) {
        if (all_ended(count, events))
            return true;
        if (is_cpu)
            sched_yield();
    }
    return false;
}

static bool is_cpu(cl_device_id device)
{
    cl_device_type type = CL_DEVICE_TYPE_CPU;
    if (device)
        next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0;
}

/* `calls_back`: the driver's callbacks are used, which are faster where a thread is slow to wake. Some do not come after failures,
 * and some before the state says so. Others never leave a context that is released before its callbacks have come: without
 * them the wait is the driver's own. */
static cl_int sleep_until_ended(cl_uint count, const cl_event *events, bool calls_back)
{
    enum { LOOK_NS = 10000000, LOOKS = 2 };
    struct gathering *gathering = get(count);
    bool in_driver = false;
    if (!gathering)
        return CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; i < count && calls_back; i++) {
        atomic_fetch_add(&gathering->references, 1);
        if (next.clSetEventCallback(events[i], CL_COMPLETE, on_end, gathering) != CL_SUCCESS)
            put(gathering); /* the looks remain */
    }
    for (unsigned left, looks = calls_back ? 0 : LOOKS;
         (int)(left = atomic_load(&gathering->left)) > 0 && (in_driver || !all_ended(count, events)); looks++) {
        if (looks == LOOKS)
            in_driver = wait_elsewhere(gathering, count, events);
        else
            futex_wait(&gathering->left, left, LOOK_NS);
    }
    put(gathering);
    return CL_SUCCESS;
}

/* Events that have ended, and what is no event, are left to the driver, which knows their codes. */
cl_int CL_API_CALL waits_for_events(cl_uint num_events, const cl_event *event_list)
{
    cl_device_id device = NULL;
    if (num_events && event_list && !all_ended(num_events, event_list)) {
        flush(num_events, event_list, &device);
        const bool on_cpu = is_cpu(device);
        if (!spin(num_events, event_list, on_cpu)) {
            const cl_int status = sleep_until_ended(num_events, event_list, on_cpu);
            if (status != CL_SUCCESS)
                return status;
        }
        signals_restore();
    }
    return next.clWaitForEvents(num_events, event_list);
}

cl_int CL_API_CALL waits_finish(cl_command_queue command_queue)
{
    cl_event marker = NULL;
    if (next.clEnqueueMarkerWithWaitList(command_queue, 0, NULL, &marker) == CL_SUCCESS) {
        waits_for_events(1, &marker);
        next.clReleaseEvent(marker);
    }
    return next.clFinish(command_queue);
}

cl_int blocking_end(struct blocking *wait, cl_int status)
{
    if (wait->waits && status == CL_SUCCESS)
        status = waits_for_events(1, wait->event);
    if (wait->own)
        next.clReleaseEvent(wait->own);
    return status;
}
