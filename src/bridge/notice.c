#define _GNU_SOURCE /* syscall */
#include "bridge/host.h"
#include "os/os.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct notice {
    enum bridge_notice_kind kind;
    uint64_t function, data;                /* the program's */
    uint32_t (*number)(const void *handle); /* of the program's handles, or NULL */
    void *keeps;                            /* retained, or NULL */
    const void *queue, *context;            /* whose releases wait for it; only compared */
    struct notice *after;                   /* in the list of those that are due */
    struct notice **place, *later;          /* in the list of events that have not ended */
    unsigned references;                    /* the registering call's, the host's, and the list's; guarded by `lock` */
    bool told;                              /* guarded by `lock` */

    /* what the host has told */
    void *object;
    cl_int status;
    cl_uint count; /* of the pointers, or of the bytes of `info` */
    void *const *pointers;
    char texts[]; /* of a copy for NOTICE_CONTEXT: BRIDGE_NOTE bytes of text, and as many of info */
};

/* Guards the lists and `running`. */
static os_mutex lock = OS_MUTEX_INIT;
static struct notice *first, **last = &first; /* due */
static struct notice *awaited;                /* events that have not ended */
static const struct notice *running;
static atomic_uint arrivals, departures; /* words that are waited for */

static _Thread_local bool delivers;

/* The kernel's own wait: unlike the C library's it leaves nothing behind if the waiting thread is ended. Until the word is not `seen`
 * any more, `nanoseconds` at most, or for ever if that is 0; it may return earlier. */
static void futex_wait(atomic_uint *word, unsigned seen, long nanoseconds)
{
    const struct timespec pause = {.tv_nsec = nanoseconds};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, nanoseconds ? &pause : NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void put_locked(struct notice *notice)
{
    notice->after = NULL;
    *last = notice;
    last = &notice->after;
}

static void forget_locked(struct notice *notice)
{
    if (notice->place) {
        *notice->place = notice->later;
        if (notice->later)
            notice->later->place = notice->place;
        notice->place = NULL;
    }
}

static void drop_some(struct notice *notice, unsigned count)
{
    os_lock(&lock);
    notice->references -= count;
    const bool more = notice->references > 0;
    if (!more)
        forget_locked(notice);
    os_unlock(&lock);
    if (more)
        return;
    if (notice->keeps && notice->kind == NOTICE_EVENT)
        next.clReleaseEvent(notice->keeps);
    else if (notice->keeps)
        next.clReleaseProgram(notice->keeps);
    free(notice);
}

/* ---- the host calls ---- */

static void drop(struct notice *notice)
{
    drop_some(notice, 1);
}

/* Once. */
static void tell(struct notice *notice, void *object, cl_int status)
{
    os_lock(&lock);
    const bool is_first = !notice->told;
    if (is_first) {
        notice->object = object;
        notice->status = status;
        notice->told = true;
        notice->references++; /* the list's */
        forget_locked(notice);
        put_locked(notice);
    }
    os_unlock(&lock);
    if (is_first)
        futex_wake(&arrivals);
}

static void told(struct notice *notice, void *object, cl_int status)
{
    tell(notice, object, status);
    drop(notice); /* the host's reference */
}

/* The one behind `notice` in the list, or the first, with a reference for the caller. NULL: there is none, or `notice` has left the
 * list. */
static struct notice *awaited_behind(const struct notice *notice)
{
    os_lock(&lock);
    struct notice *found = !notice ? awaited : notice->place ? notice->later : NULL;
    if (found)
        found->references++;
    os_unlock(&lock);
    return found;
}

/* Some drivers do not call back for commands that fail. No lock is held in the query: a driver may call back with a lock
 * of the event's. */
static void look_for_failures(void)
{
    for (struct notice *notice = awaited_behind(NULL), *behind; notice; notice = behind) {
        cl_int status = CL_QUEUED;
        if (next.clGetEventInfo(notice->keeps, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) !=
            CL_SUCCESS)
            status = CL_QUEUED;
        behind = awaited_behind(notice);
        if (status < 0)
            tell(notice, notice->keeps, status);
        drop(notice);
    }
}

void CL_CALLBACK notice_on_event(cl_event event, cl_int status, void *notice)
{
    told(notice, event, status);
}

void CL_CALLBACK notice_on_program(cl_program program, void *notice)
{
    told(notice, program, CL_SUCCESS);
}

void CL_CALLBACK notice_on_memory(cl_mem memory, void *notice)
{
    told(notice, memory, CL_SUCCESS);
}

void CL_CALLBACK notice_on_context_end(cl_context context, void *notice)
{
    told(notice, context, CL_SUCCESS);
}

/* The command ends before the program's function has run: what it frees is the program's own. */
void CL_CALLBACK notice_on_svm_free(cl_command_queue queue, cl_uint count, void **pointers, void *data)
{
    struct notice *notice = data;
    void **copies = malloc(count * sizeof(*copies) + 1);
    notice->count = copies ? count : 0;
    if (copies)
        memcpy(copies, pointers, count * sizeof(*copies));
    notice->pointers = copies;
    told(notice, queue, CL_SUCCESS);
}

/* Any number of times. */
void CL_CALLBACK notice_on_context(const char *text, const void *info, size_t size, void *data)
{
    struct notice *copy = calloc(1, sizeof(*copy) + 2 * (size_t)BRIDGE_NOTE);
    if (!copy)
        return;
    memcpy(copy, data, sizeof(*copy));
    strncpy(copy->texts, text ? text : "", BRIDGE_NOTE - 1);
    copy->references = 1;
    copy->count = info ? (cl_uint)(size < BRIDGE_NOTE ? size : BRIDGE_NOTE) : 0;
    if (copy->count)
        memcpy(copy->texts + BRIDGE_NOTE, info, copy->count);
    os_lock(&lock);
    put_locked(copy);
    os_unlock(&lock);
    futex_wake(&arrivals);
}

static void CL_CALLBACK context_has_ended(cl_context context, void *notice)
{
    (void)context;
    drop(notice);
}

/* ---- registration ---- */

cl_int notice_open(struct notice **notice, enum bridge_notice_kind kind, uint64_t function, uint64_t data, void *of,
                   uint32_t (*number)(const void *handle))
{
    if (!function)
        return CL_SUCCESS;
    struct notice *made = calloc(1, sizeof(*made));
    if (!made)
        return CL_OUT_OF_HOST_MEMORY;
    made->kind = kind;
    made->function = function;
    made->data = data;
    made->number = number;
    made->references = 2;
    if (kind == NOTICE_EVENT) {
        next.clGetEventInfo(of, CL_EVENT_COMMAND_QUEUE, sizeof(made->queue), &made->queue, NULL);
        next.clGetEventInfo(of, CL_EVENT_CONTEXT, sizeof(made->context), &made->context, NULL);
        made->keeps = next.clRetainEvent(of) == CL_SUCCESS ? of : NULL;
    } else if (kind == NOTICE_MEMORY) {
        next.clGetMemObjectInfo(of, CL_MEM_CONTEXT, sizeof(made->context), &made->context, NULL);
    } else if (kind == NOTICE_PROGRAM && of) {
        made->keeps = next.clRetainProgram(of) == CL_SUCCESS ? of : NULL;
    }
    *notice = made;
    return CL_SUCCESS;
}

void notice_close(struct notice *notice, void *context, bool done)
{
    if (!notice)
        return;
    if (done && notice->kind == NOTICE_CONTEXT)
        next.clSetContextDestructorCallback(context, context_has_ended, notice);
    os_lock(&lock);
    const bool unused = !done && !notice->told;
    if (done && notice->kind == NOTICE_EVENT && notice->keeps && !notice->told) {
        notice->later = awaited;
        notice->place = &awaited;
        if (awaited)
            awaited->place = &notice->later;
        awaited = notice;
    }
    os_unlock(&lock);
    if (done && notice->kind == NOTICE_EVENT)
        futex_wake(&arrivals);         /* the thread looks at it */
    drop_some(notice, unused ? 2 : 1); /* the call's, and the host's */
}

/* ---- delivery ---- */

static void finish(struct notice *notice)
{
    os_lock(&lock);
    running = NULL;
    os_unlock(&lock);
    futex_wake(&departures);
    free((void *)notice->pointers);
    drop(notice);
}

static struct notice *take(void)
{
    enum { LOOK_NS = 16000000 };
    for (;;) {
        const unsigned seen = atomic_load(&arrivals);
        os_lock(&lock);
        struct notice *notice = first;
        if (notice)
            first = notice->after;
        if (!first)
            last = &first;
        running = notice;
        const bool awaits = awaited != NULL;
        os_unlock(&lock);
        if (notice)
            return notice;
        futex_wait(&arrivals, seen, awaits ? LOOK_NS : 0);
        if (awaits && atomic_load(&arrivals) == seen)
            look_for_failures();
    }
}

/* Some drivers call back with success for commands that have failed. */
static cl_int status_of(const struct notice *notice)
{
    cl_int status = CL_QUEUED;
    if (notice->kind == NOTICE_EVENT && notice->keeps && notice->status >= 0)
        next.clGetEventInfo(notice->keeps, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return status < 0 ? status : notice->status;
}

int host_next(void *arguments)
{
    struct bridge_notice *out = arguments;
    struct notice *previous = (struct notice *)(uintptr_t)out->previous;
    delivers = true;
    out->previous = 0;
    if (previous)
        finish(previous);
    const struct notice *notice = take();
    out->previous = (uintptr_t)notice;
    out->function = notice->function;
    out->data = notice->data;
    out->object = notice->number ? notice->number(notice->object) : (uintptr_t)notice->object;
    out->pointers = (uintptr_t)notice->pointers;
    out->kind = notice->kind;
    out->count = notice->count;
    out->status = status_of(notice);
    if (notice->kind == NOTICE_CONTEXT) {
        memcpy(out->text, notice->texts, BRIDGE_NOTE);
        memcpy(out->info, notice->texts + BRIDGE_NOTE, BRIDGE_NOTE);
    }
    return 0;
}

static bool has_any_locked(const void *owner)
{
    if (running && (running->queue == owner || running->context == owner))
        return true;
    for (const struct notice *notice = first; notice; notice = notice->after)
        if (notice->queue == owner || notice->context == owner)
            return true;
    return false;
}

void notice_settle(const void *owner)
{
    enum { LONGEST_MS = 100 };
    const unsigned long long end = os_nanoseconds() + LONGEST_MS * 1000000ull;
    while (!delivers && owner && os_nanoseconds() < end) {
        const unsigned seen = atomic_load(&departures);
        os_lock(&lock);
        const bool any = has_any_locked(owner);
        os_unlock(&lock);
        if (!any)
            return;
        futex_wait(&departures, seen, 10000000);
    }
}
