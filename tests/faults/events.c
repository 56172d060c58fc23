/* Events that end in an error, or late: user events that a thread of ours sets. And what drivers keep of commands that fail. */
#include "layer.h"

#include "answer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A user event that stands for a command's. Drivers never see it in a wait list: what waits for it is doomed too. */
struct doomed {
    cl_event event;
    cl_command_queue queue; /* one reference, as a command's event has */
    cl_command_type type;
    unsigned refs; /* of those above */
    struct doomed *after;
};

/* A user event that is to be set. */
struct pending {
    cl_event event; /* one reference */
    cl_int status;
    unsigned milliseconds;
    struct pending *after;
};

/* Guards both lists. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct doomed *doomed;
static struct pending *pending;
static unsigned unset;
static bool running;

static const cl_icd_dispatch *above; /* wrapped functions without what this file adds */
static cl_icd_dispatch wrapped;

static void *run(void *data)
{
    (void)data;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct pending *first = pending;
        if (!first) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        pending = first->after;
        pthread_mutex_unlock(&lock);
        const struct timespec time = {0, (long)first->milliseconds * 1000000};
        nanosleep(&time, NULL);
        fault_below->clSetUserEventStatus(first->event, first->status);
        fault_below->clReleaseEvent(first->event);
        free(first);
        pthread_mutex_lock(&lock);
        unset--;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

/* Takes over a reference. */
static void set_later(struct pending *new, cl_event event, cl_int status, unsigned milliseconds)
{
    pthread_t thread;
    *new = (struct pending){event, status, milliseconds, NULL};
    pthread_mutex_lock(&lock);
    struct pending **place = &pending;
    while (*place)
        place = &(*place)->after;
    *place = new;
    unset++;
    if (!running && pthread_create(&thread, NULL, run, NULL) == 0) {
        pthread_detach(thread);
        running = true;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void events_settle(void)
{
    pthread_mutex_lock(&lock);
    while (unset)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static cl_event make(cl_command_queue queue, struct pending *setting, cl_int status, unsigned milliseconds)
{
    cl_context context = NULL;
    cl_int made = CL_OUT_OF_HOST_MEMORY;
    fault_below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    cl_event event = setting ? fault_below->clCreateUserEvent(context, &made) : NULL;
    if (made != CL_SUCCESS)
        return NULL;
    fault_below->clRetainEvent(event);
    set_later(setting, event, status, milliseconds);
    return event;
}

cl_event late_make(cl_command_queue queue)
{
    return make(queue, malloc(sizeof(struct pending)), CL_COMPLETE, 3);
}

cl_event doomed_make(cl_command_queue queue, cl_command_type type)
{
    struct doomed *new = malloc(sizeof(*new));
    struct pending *setting = malloc(sizeof(*setting));
    if (!new || !setting) {
        free(new);
        free(setting);
        return NULL;
    }
    fault_below->clRetainCommandQueue(queue);
    /* It is known as doomed before anything can wait for it. */
    pthread_mutex_lock(&lock);
    *new = (struct doomed){NULL, queue, type, 1, doomed};
    doomed = new;
    pthread_mutex_unlock(&lock);
    cl_event event = make(queue, setting, CL_OUT_OF_RESOURCES, 1);
    pthread_mutex_lock(&lock);
    new->event = event;
    pthread_mutex_unlock(&lock);
    return event;
}

static struct doomed *find_locked(cl_event event)
{
    struct doomed *d = doomed;
    while (d && (!event || d->event != event))
        d = d->after;
    return d;
}

bool doomed_among(cl_uint count, const cl_event *events)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (cl_uint i = 0; i < count && !found; i++)
        found = find_locked(events[i]) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- what they answer ---- */

static bool find(cl_event event, struct doomed *copy)
{
    pthread_mutex_lock(&lock);
    const struct doomed *d = find_locked(event);
    if (d)
        *copy = *d;
    pthread_mutex_unlock(&lock);
    return d != NULL;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t room, void *to, size_t *size_ret)
{
    struct doomed d;
    if (name == CL_EVENT_COMMAND_TYPE && find(event, &d))
        return give_answer(&d.type, sizeof(d.type), room, to, size_ret);
    if (name == CL_EVENT_COMMAND_QUEUE && find(event, &d))
        return give_answer(&d.queue, sizeof(d.queue), room, to, size_ret);
    return above->clGetEventInfo(event, name, room, to, size_ret);
}

static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info name, size_t room, void *to,
                                             size_t *size_ret)
{
    struct doomed d;
    if (find(event, &d))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return above->clGetEventProfilingInfo(event, name, room, to, size_ret);
}

/* Only commands' events that nobody holds any more are forgotten, so that their addresses can come again. */
static void count_reference(cl_event event, int change)
{
    cl_command_queue queue = NULL;
    pthread_mutex_lock(&lock);
    struct doomed *d = find_locked(event);
    if (d)
        d->refs += (unsigned)change;
    if (d && !d->refs) {
        struct doomed **place = &doomed;
        while (*place != d)
            place = &(*place)->after;
        *place = d->after;
        queue = d->queue;
        free(d);
    }
    pthread_mutex_unlock(&lock);
    if (queue)
        fault_below->clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
    const cl_int status = above->clRetainEvent(event);
    if (status == CL_SUCCESS)
        count_reference(event, 1);
    return status;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    count_reference(event, -1);
    return above->clReleaseEvent(event);
}

/* A queue is finished when its doomed commands have failed too. */
static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    const cl_int status = above->clFinish(queue);
    events_settle();
    return status;
}

/* ---- callbacks that are due ---- */

/* Those that the driver never calls stay in the list, where the leak checker finds them: they are counted, not lost. */
struct callback {
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    struct callback *before, *after;
};

static struct callback *callbacks; /* guarded by lock, like their number */
static int callbacks_due;

static void add_callback(struct callback *callback)
{
    pthread_mutex_lock(&lock);
    callback->after = callbacks;
    if (callbacks)
        callbacks->before = callback;
    callbacks = callback;
    callbacks_due++;
    pthread_mutex_unlock(&lock);
}

static void remove_callback(struct callback *callback)
{
    pthread_mutex_lock(&lock);
    *(callback->before ? &callback->before->after : &callbacks) = callback->after;
    if (callback->after)
        callback->after->before = callback->before;
    callbacks_due--;
    pthread_mutex_unlock(&lock);
}

static void CL_CALLBACK called(cl_event event, cl_int status, void *data)
{
    struct callback *callback = data;
    remove_callback(callback);
    callback->notify(event, status, callback->data);
    free(callback);
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                             void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    struct callback *callback = notify ? malloc(sizeof(*callback)) : NULL;
    if (!callback)
        return above->clSetEventCallback(event, type, notify, data);
    *callback = (struct callback){notify, data, NULL, NULL};
    add_callback(callback);
    const cl_int status = above->clSetEventCallback(event, type, called, callback);
    if (status != CL_SUCCESS) {
        remove_callback(callback);
        free(callback);
    }
    return status;
}

int events_callbacks_due(void)
{
    pthread_mutex_lock(&lock);
    const int due = callbacks_due;
    pthread_mutex_unlock(&lock);
    return due;
}

/* ---- unmaps that are doomed ---- */

struct mapped {
    cl_command_queue queue; /* one reference */
    cl_mem object;          /* one reference */
    void *pointer;
    struct mapped *after;
};

static struct mapped *mapped; /* guarded by lock */

static void keep_mapped(cl_command_queue queue, cl_mem object, void *pointer)
{
    struct mapped *new = malloc(sizeof(*new));
    if (!new)
        return;
    fault_below->clRetainCommandQueue(queue);
    fault_below->clRetainMemObject(object);
    pthread_mutex_lock(&lock);
    *new = (struct mapped){queue, object, pointer, mapped};
    mapped = new;
    pthread_mutex_unlock(&lock);
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue queue, cl_mem object, void *pointer, cl_uint count,
                                        const cl_event *wait, cl_event *event)
{
    const unsigned before = layer_doomed_here();
    const cl_int status = above->clEnqueueUnmapMemObject(queue, object, pointer, count, wait, event);
    if (status == CL_SUCCESS && layer_doomed_here() != before)
        keep_mapped(queue, object, pointer);
    return status;
}

/* The program may have unmapped it again: then the driver refuses. */
void events_unmap(void)
{
    pthread_mutex_lock(&lock);
    struct mapped *list = mapped;
    mapped = NULL;
    pthread_mutex_unlock(&lock);
    while (list) {
        struct mapped *after = list->after;
        fault_below->clEnqueueUnmapMemObject(list->queue, list->object, list->pointer, 0, NULL, NULL);
        fault_below->clFinish(list->queue);
        fault_below->clReleaseMemObject(list->object);
        fault_below->clReleaseCommandQueue(list->queue);
        free(list);
        list = after;
    }
}

void events_install(cl_icd_dispatch *table)
{
    wrapped = *table;
    above = &wrapped;
    table->clGetEventInfo = get_event_info;
    table->clGetEventProfilingInfo = get_profiling_info;
    table->clRetainEvent = retain_event;
    table->clReleaseEvent = release_event;
    table->clFinish = finish;
    table->clSetEventCallback = set_event_callback;
    table->clEnqueueUnmapMemObject = enqueue_unmap;
}
