#include "share/leaving.h"

#include "defer/pending.h"
#include "share/object.h"

#include <stdlib.h>

static os_mutex lock = OS_MUTEX_INIT; /* guards the list, which may be found empty without it */
static struct object_record *_Atomic list;

/* Commands are references to the object. So are maps, which do not count: the application may never unmap. */
static bool is_used(cl_mem memory)
{
    cl_uint references = CL_UINT_MAX, maps = 0;
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(references), &references, NULL);
    next.clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(maps), &maps, NULL);
    return references > 1 + maps;
}

/* Another thread may free the object as soon as this is stored. */
static void CL_CALLBACK on_destroyed(cl_mem memory, void *object)
{
    (void)memory;
    atomic_store(&((struct object_record *)object)->leaving.unused, true);
}

/* A queue of the context behind `after` in the list, retained, or NULL. */
static struct queue_record *next_queue(const struct context_record *context, const struct queue_record *after)
{
    struct queue_record *found = NULL;
    os_lock(&registry_lock);
    for (struct queue_record *queue = after ? after->after : queue_list; queue && !found; queue = queue->after)
        if (queue->context == context)
            found = registry_get_locked(RECORD_QUEUE, queue->head.handle);
    os_unlock(&registry_lock);
    return found;
}

/* Puts a marker behind the commands of each queue of the context. False: memory is short, or a queue refuses it. */
static bool make_fence(struct event_list *fence, const struct context_record *context)
{
    bool all = true;
    event_list_open(fence);
    for (struct queue_record *queue = next_queue(context, NULL), *after; queue; queue = after) {
        cl_event marker = NULL;
        all = all && event_list_reserve(fence, 1) &&
              below()->clEnqueueMarkerWithWaitList(queue->head.handle, 0, NULL, &marker) == CL_SUCCESS;
        event_list_add(fence, marker);
        below()->clFlush(queue->head.handle);
        after = next_queue(context, queue);
        record_release(queue);
    }
    if (!all)
        event_list_close(fence);
    return all;
}

/* Whether the object's acquire has ended. `waits`: it is waited for, unless a user event may block it, or the call is in
 * a callback. */
static bool acquire_over(struct object_record *object, bool waits)
{
    const struct acquire_event *acquire = object->acquire; /* nobody else has the object */
    if (!acquire || event_status(acquire->event) <= CL_COMPLETE)
        return true;
    os_lock(&registry_lock);
    waits = waits && !pending_of_locked(acquire->event) && !callback_runs_here();
    os_unlock(&registry_lock);
    if (!waits)
        return false;
    queue_flush_for(acquire->event);
    event_await(acquire->event);
    return true;
}

/* Releases the driver's object, which the driver destroys when no command uses it. False: to be tried again. A driver may
 * count a command for a moment after its end, so only the `last` try takes that for a use. A release of the object that
 * handed it to Direct3D has waited for its commands: a fence is needed only without one. */
static bool let_go(struct object_record *object, bool last)
{
    const enum lending lends = object->head.weak && object->transfer ? object->transfer->lends : LENDS_NOTHING;
    cl_mem memory = object->head.handle;
    const bool used = lends == LENDS_COUNTED && is_used(memory),
               fenced = lends == LENDS_UNCOUNTED && object->opencl_owns;
    os_stay_loaded();
    if (object->transfer && object->transfer->transport->leave)
        object->transfer->transport->leave(object->transfer);
    if ((used && (!last || below()->clSetMemObjectDestructorCallback(memory, on_destroyed, object) != CL_SUCCESS)) ||
        (fenced && !make_fence(&object->leaving.fence, &object->context->base)))
        return false;
    if (!used && !object->leaving.fence.count)
        atomic_store(&object->leaving.unused, true);
    if (object->head.weak)
        below()->clReleaseMemObject(memory);
    return true;
}

/* Asks up to `pauses` times again, a millisecond later each time. */
static bool is_over(struct object_record *object, unsigned pauses)
{
    struct leaving *leaving = &object->leaving;
    if (!acquire_over(object, false))
        return false;
    for (;; pauses--) {
        leaving->let_go = leaving->let_go || let_go(object, pauses == 0);
        bool over = leaving->let_go && leaving->fence.count;
        for (cl_uint i = 0; i < leaving->fence.count && over; i++)
            over = event_status(leaving->fence.events[i]) <= CL_COMPLETE;
        over = over || atomic_load(&leaving->unused);
        if (over || pauses == 0)
            return over;
        os_sleep_shortly();
    }
}

static void put(struct object_record *object)
{
    os_lock(&lock);
    object->leaving.after = atomic_exchange(&list, object);
    os_unlock(&lock);
}

void leaving_begin(struct object_record *object)
{
    if ((object->transfer && callback_runs_commands()) || !acquire_over(object, true) || !is_over(object, 3))
        put(object);
    else
        object_free(object);
}

void leaving_run(void)
{
    if (!atomic_load_explicit(&list, memory_order_relaxed) || callback_runs_commands())
        return;
    os_lock(&lock);
    struct object_record *object = atomic_exchange(&list, NULL), *after;
    os_unlock(&lock);
    for (; object; object = after) {
        after = object->leaving.after;
        if (is_over(object, 0))
            object_free(object);
        else
            put(object);
    }
}
