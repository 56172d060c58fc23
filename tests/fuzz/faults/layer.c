/* The layer below cld3d: what is armed, what is alive, and the events of commands that fail or come late. */
#define _GNU_SOURCE /* dladdr */
#include "layer.h"

#include "answer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- what is armed and alive ---- */

enum source { ALLOCATIONS, CALLS, COMMANDS };

static const enum source sources[FAULT_LAYER_KINDS] = {
    [FAULT_ALLOCATION] = ALLOCATIONS, [FAULT_OPENCL] = CALLS,         [FAULT_OPENCL_MEMORY] = CALLS,
    [FAULT_OPENCL_SLOW] = CALLS,      [FAULT_EVENT_FAILS] = COMMANDS, [FAULT_EVENT_LATE] = COMMANDS};

static _Atomic(enum fault_kind) armed;
static atomic_uint left; /* calls until the fault; 0: none is armed */
static _Atomic(const char *) struck;
static atomic_int live[LIVES];
static _Thread_local bool own;

void layer_arm(enum fault_kind kind, unsigned n)
{
    atomic_store(&left, 0);
    atomic_store(&struck, NULL);
    atomic_store(&armed, kind);
    atomic_store(&left, n);
}

const char *layer_struck(void)
{
    return atomic_load(&struck);
}

void layer_own(bool on)
{
    own = on;
}

static bool strikes(enum source source, const char *name)
{
    unsigned before = atomic_load(&left);
    if (own || sources[atomic_load(&armed)] != source)
        return false;
    while (before && !atomic_compare_exchange_weak(&left, &before, before - 1))
        continue;
    if (before == 1)
        atomic_store(&struck, name);
    return before == 1;
}

bool fault_allocation(const char *name, const void *caller)
{
    static char text[64]; /* for addr2line */
    Dl_info from = {0};
    if (!strikes(ALLOCATIONS, text))
        return false;
    dladdr(caller, &from);
    snprintf(text, sizeof(text), "%s at 0x%lx", name,
             (unsigned long)((const char *)caller - (const char *)from.dli_fbase));
    return true;
}

void fault_count(enum live what, int change)
{
    atomic_fetch_add(&live[what], change);
}

int layer_live(enum live what)
{
    return atomic_load(&live[what]);
}

cl_int fault_call(const char *name, cl_int code)
{
    const struct timespec slow = {0, 5000000};
    if (!strikes(CALLS, name))
        return CL_SUCCESS;
    if (atomic_load(&armed) == FAULT_OPENCL)
        return code;
    if (atomic_load(&armed) == FAULT_OPENCL_MEMORY)
        return CL_OUT_OF_HOST_MEMORY;
    nanosleep(&slow, NULL);
    return CL_SUCCESS;
}

/* ---- events that stand for those of commands, or hold them back ---- */

/* A user event, which drivers never see in a wait list if it is to fail: what waits for it is doomed too. */
struct stand_in {
    cl_event event;         /* a reference, so that the address does not come again */
    cl_command_queue queue; /* of a doomed command; NULL: it holds back a late one */
    cl_command_type type;
    bool ended;
    struct stand_in *after;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct stand_in *list;

/* With a reference for the caller, or NULL. */
static cl_event stand_in(cl_command_queue queue, bool doomed, cl_command_type type)
{
    cl_context context = NULL;
    cl_int made = CL_OUT_OF_HOST_MEMORY;
    struct stand_in *new = malloc(sizeof(*new));
    below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    cl_event event = new ? below->clCreateUserEvent(context, &made) : NULL;
    if (made != CL_SUCCESS) {
        free(new);
        return NULL;
    }
    below->clRetainEvent(event);
    pthread_mutex_lock(&lock);
    *new = (struct stand_in){event, doomed ? queue : NULL, type, false, list};
    list = new;
    pthread_mutex_unlock(&lock);
    return event;
}

static struct stand_in *find_locked(cl_event event)
{
    struct stand_in *s = list;
    while (s && (s->event != event || !s->queue))
        s = s->after;
    return s;
}

bool fault_is_doomed(cl_event event)
{
    pthread_mutex_lock(&lock);
    const bool doomed = find_locked(event) != NULL;
    pthread_mutex_unlock(&lock);
    return doomed;
}

bool fault_event_info(cl_event event, cl_event_info name, size_t room, void *to, size_t *size_ret)
{
    pthread_mutex_lock(&lock);
    const struct stand_in *s = find_locked(event);
    if (s && name == CL_EVENT_COMMAND_TYPE)
        give_answer(&s->type, sizeof(s->type), room, to, size_ret);
    else if (s && name == CL_EVENT_COMMAND_QUEUE)
        give_answer(&s->queue, sizeof(s->queue), room, to, size_ret);
    else
        s = NULL;
    pthread_mutex_unlock(&lock);
    return s != NULL;
}

static struct stand_in *take_unended(void)
{
    pthread_mutex_lock(&lock);
    struct stand_in *s = list;
    while (s && s->ended)
        s = s->after;
    if (s)
        s->ended = true;
    pthread_mutex_unlock(&lock);
    return s;
}

void layer_settle(void)
{
    for (struct stand_in *s = take_unended(); s; s = take_unended())
        below->clSetUserEventStatus(s->event, s->queue ? CL_OUT_OF_RESOURCES : CL_COMPLETE);
}

void layer_forget(void)
{
    layer_settle();
    pthread_mutex_lock(&lock);
    struct stand_in *old = list;
    list = NULL;
    pthread_mutex_unlock(&lock);
    while (old) {
        struct stand_in *after = old->after;
        below->clReleaseEvent(old->event);
        free(old);
        old = after;
    }
}

/* ---- commands ---- */

/* The command waits for one event more. */
static void begin_late(struct fault_enqueue *e)
{
    e->copy = calloc(e->wait_count + 1, sizeof(cl_event));
    cl_event late = e->copy ? stand_in(e->queue, false, e->type) : NULL;
    if (!late)
        return;
    for (cl_uint i = 0; i < e->wait_count; i++)
        e->copy[i] = e->wait[i];
    e->copy[e->wait_count++] = late;
    e->wait = e->copy;
}

cl_int fault_enqueue_begin(struct fault_enqueue *e, cl_int code)
{
    const cl_int status = fault_call(e->name, code);
    if (status != CL_SUCCESS)
        return status;
    if (e->at_once)
        layer_settle();
    const bool hit = strikes(COMMANDS, e->name), late = atomic_load(&armed) == FAULT_EVENT_LATE;
    if (hit && late && !e->at_once)
        begin_late(e);
    for (cl_uint i = 0; e->wait && i < e->wait_count && !e->doomed; i++)
        e->doomed = fault_is_doomed(e->wait[i]);
    if (e->doomed)
        return e->at_once ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
    e->doomed = hit && !late;
    return e->doomed && e->at_once ? code : CL_SUCCESS;
}

cl_int fault_enqueue_doomed(const struct fault_enqueue *e, cl_event *event)
{
    if (event)
        *event = stand_in(e->queue, true, e->type);
    return !event || *event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

void fault_enqueue_end(struct fault_enqueue *e, cl_int status, const cl_event *event)
{
    if (status == CL_SUCCESS && event)
        fault_count(LIVE_EVENTS, 1);
    if (e->copy && e->wait == e->copy)
        below->clReleaseEvent(e->copy[e->wait_count - 1]);
    free(e->copy);
}
