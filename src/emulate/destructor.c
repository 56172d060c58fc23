/* clSetMemObjectDestructorCallback, clSetContextDestructorCallback and clSetProgramReleaseCallback.
 *
 * cld3d holds a reference to an object with such functions. The object is unused when only that reference is left:
 * drivers also count its kernels and children, and the functions must not be called before these are gone, because an
 * application frees its own memory when it is called. Drivers do not report when they drop a reference, so after a
 * release by the application the count is polled regularly. Some drivers do not count queued commands. With these, all
 * commands that the context's queues had at the last release must have ended; commands enqueued after it may wait for
 * the function. */
#include "emulate/emulate.h"
#include "emulate/delivery.h"
#include "emulate/fence.h"
#include "log.h"
#include "os/os.h"

#include <stdlib.h>

enum kind { KIND_MEMORY, KIND_CONTEXT, KIND_PROGRAM };

typedef void(CL_CALLBACK *function)(void *object, void *data);

struct destructor {
    function notify;
    void *data;
    struct destructor *before; /* the one that was registered before and is called after this one */
};

struct watched {
    struct delivery delivery;
    enum kind kind;
    void *handle; /* one reference */
    struct destructor *last;
    bool released;       /* the application has released it, or holds no reference */
    unsigned releasing;  /* threads in a release by the application: the record is kept meanwhile */
    struct fence *begun; /* made in the release that left only cld3d's reference, if commands are not counted */
    struct fence *fence; /* the same, for the watch's thread alone */
    struct watched *after;
};

enum { SHORTEST_POLL_MS = 1, LONGEST_POLL_MS = 64 };

static os_mutex lock = OS_MUTEX_INIT;
static struct watched *all;
static unsigned leaving;       /* objects that are no longer in the list, and whose functions are yet to be called */
static atomic_uint unreleased; /* contexts and programs in the list that are not `released` */
static atomic_uint looks_left; /* how often the watch's thread has yet to look at those */

static cl_uint references(enum kind kind, void *handle)
{
    cl_uint count = 0;
    cl_int status;
    if (kind == KIND_MEMORY)
        status = underlying.clGetMemObjectInfo(handle, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    else if (kind == KIND_CONTEXT)
        status = underlying.clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL);
    else
        status = underlying.clGetProgramInfo(handle, CL_PROGRAM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    return status == CL_SUCCESS ? count : 0;
}

static cl_int retain(enum kind kind, void *handle)
{
    return kind == KIND_MEMORY    ? underlying.clRetainMemObject(handle)
           : kind == KIND_CONTEXT ? underlying.clRetainContext(handle)
                                  : underlying.clRetainProgram(handle);
}

static cl_int let_go(enum kind kind, void *handle)
{
    return kind == KIND_MEMORY    ? underlying.clReleaseMemObject(handle)
           : kind == KIND_CONTEXT ? underlying.clReleaseContext(handle)
                                  : underlying.clReleaseProgram(handle);
}

/* ---- the end of an object ---- */

static void look_later(void);

static void run(struct delivery *delivery)
{
    struct watched *watched = (struct watched *)delivery;
    let_go(watched->kind, watched->handle);
    look_later();
    for (struct destructor *d = watched->last, *before; d; d = before) {
        before = d->before;
        d->notify(watched->handle, d->data);
        free(d);
    }
    if (watched->begun)
        fence_free(watched->begun);
    free(watched);
    os_lock(&lock);
    leaving--;
    os_unlock(&lock);
}

static struct watched **find_locked(enum kind kind, const void *handle)
{
    struct watched **place = &all;
    while (*place && ((*place)->kind != kind || (*place)->handle != handle))
        place = &(*place)->after;
    return place;
}

/* The context whose commands may use the object; NULL for a program, because its commands have their own copy of the
 * code. */
static cl_context context_of(enum kind kind, void *handle)
{
    cl_context context = NULL;
    if (kind == KIND_MEMORY)
        underlying.clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
    return kind == KIND_CONTEXT ? handle : context;
}

/* Whether only cld3d holds the object, except perhaps commands in queues. Then there is a fence behind these, unless
 * memory is short. */
static bool is_ours(const struct watched *watched, bool *counted, struct fence **fence)
{
    if (references(watched->kind, watched->handle) != 1 ||
        (watched->kind == KIND_CONTEXT &&
         fence_keeps(watched->handle, true))) /* NVIDIA's driver does not count queues */
        return false;
    cl_context context = context_of(watched->kind, watched->handle);
    if (watched->kind == KIND_MEMORY && !context)
        return false; /* the driver is out of resources */
    *counted = !context || fence_counted_below(context);
    *fence = *counted ? NULL : fence_make(context);
    return true;
}

/* Whether only cld3d holds the object, and no command in a queue uses it. */
static bool is_dead(struct watched *watched)
{
    bool counted;
    if (!watched->fence) {
        if (!is_ours(watched, &counted, &watched->fence))
            return false;
        if (counted)
            return true;
    }
    if (!watched->fence || !fence_passed(watched->fence)) /* if there was no memory for one, checked later */
        return false;
    fence_free(watched->fence);
    watched->fence = NULL;
    return true;
}

/* Removes one object that was released and is dead. The driver is queried without the lock. The object survives that,
 * because only this function drops cld3d's reference. */
static bool deliver_one(unsigned *left)
{
    os_lock(&lock);
    *left = 0;
    for (struct watched *watched = all; watched; watched = watched->after) {
        if (!watched->released || watched->releasing)
            continue;
        if (!watched->fence) {
            watched->fence = watched->begun;
            watched->begun = NULL;
        }
        os_unlock(&lock);
        const bool dead = is_dead(watched);
        os_lock(&lock);
        if (dead && !watched->releasing) {
            *find_locked(watched->kind, watched->handle) = watched->after;
            leaving++;
            os_unlock(&lock);
            deliver(&watched->delivery);
            return true;
        }
        ++*left;
    }
    os_unlock(&lock);
    return false;
}

static bool may_come_from_query(const struct watched *watched)
{
    return watched->kind != KIND_MEMORY && !watched->released;
}

static void set_released_locked(struct watched *watched)
{
    if (may_come_from_query(watched))
        atomic_fetch_sub(&unreleased, 1);
    watched->released = true;
}

/* A context or program that the application has obtained by a query is never released by it. It ends when the last
 * object goes that has kept it. */
static void look_at_unreleased(void)
{
    if (!atomic_load(&unreleased))
        return;
    os_lock(&lock);
    for (struct watched *watched = all; watched; watched = watched->after) {
        if (!may_come_from_query(watched))
            continue;
        watched->releasing++;
        os_unlock(&lock);
        const bool unused = references(watched->kind, watched->handle) == 1;
        os_lock(&lock);
        watched->releasing--;
        if (unused)
            set_released_locked(watched);
    }
    os_unlock(&lock);
}

/* The passes of the watch's thread through the list; guarded by `lock`. */
static unsigned long long passes_begun, passes_ended;
static os_condition pass_ended = OS_CONDITION_INIT;

static void count_pass(unsigned long long *passes)
{
    os_lock(&lock);
    ++*passes;
    os_wake_all(&pass_ended);
    os_unlock(&lock);
}

static unsigned poll_destructors(void)
{
    static unsigned pause = SHORTEST_POLL_MS;
    unsigned left;
    bool moved = false;
    count_pass(&passes_begun);
    const unsigned looks = atomic_load(&looks_left);
    if (looks) {
        look_at_unreleased();
        atomic_compare_exchange_strong(&looks_left, &(unsigned){looks}, looks - 1);
    }
    while (deliver_one(&left))
        moved = true;
    count_pass(&passes_ended);
    pause = moved ? SHORTEST_POLL_MS : pause * 2 > LONGEST_POLL_MS ? LONGEST_POLL_MS : pause * 2;
    return left || (looks > 1 && atomic_load(&unreleased)) ? pause : 0;
}

static struct watch watch = {.poll = poll_destructors};

/* A release could not start the watch. */
static atomic_bool unwatched;

static void watch_again(void)
{
    atomic_store(&unwatched, false);
    if (!watch_start(&watch))
        atomic_store(&unwatched, true);
}

/* After the release of any object, which may have been the last one to keep a context or program. The driver may keep
 * the object for a moment longer, so this is looked at several times. */
static void look_later(void)
{
    enum { LOOKS = 16 };
    if (!atomic_load(&unreleased))
        return;
    atomic_store(&looks_left, LOOKS);
    watch_again();
}

/* Programs that end in order release their queues and contexts last: functions of objects that are unused by then are
 * called before such a release returns, unless that takes too long. */
static void deliver_due(void)
{
    enum { LONGEST_MS = 1000 };
    const unsigned long long end = os_nanoseconds() + LONGEST_MS * 1000000ull;
    if (delivery_here() || os_process_ends())
        return;
    os_lock(&lock);
    bool any = leaving != 0;
    for (const struct watched *watched = all; watched && !any; watched = watched->after)
        any = watched->released;
    const unsigned long long before = passes_begun;
    os_unlock(&lock);
    if (!any)
        return;
    watch_again();
    os_lock(&lock);
    while (passes_ended <= before && !atomic_load(&unwatched) && os_nanoseconds() < end)
        os_wait(&pass_ended, &lock, 1);
    os_unlock(&lock);
    delivery_drain();
    watches_drain();
}

static struct watched *begin_release(enum kind kind, const void *handle)
{
    os_lock(&lock);
    struct watched *watched = *find_locked(kind, handle);
    if (watched)
        watched->releasing++;
    os_unlock(&lock);
    return watched;
}

static cl_int end_release(struct watched *watched, cl_int status)
{
    bool counted;
    struct fence *begun = NULL;
    if (!watched) {
        if (atomic_load(&unwatched))
            watch_again();
        look_later();
        return status;
    }
    if (status == CL_SUCCESS)
        is_ours(watched, &counted, &begun);
    os_lock(&lock);
    struct fence *former = begun ? watched->begun : NULL;
    if (begun)
        watched->begun = begun;
    if (status == CL_SUCCESS)
        set_released_locked(watched);
    watched->releasing--;
    os_unlock(&lock);
    if (former)
        fence_free(former);
    watch_again();
    look_later();
    return status;
}

/* ---- registration ---- */

static struct watched *add_locked(enum kind kind, void *handle, struct watched *fresh)
{
    struct watched **place = find_locked(kind, handle);
    const bool is_new = !*place;
    if (is_new)
        *place = fresh;
    if (is_new && may_come_from_query(fresh))
        atomic_fetch_add(&unreleased, 1);
    return *place;
}

static cl_int add(const char *call, enum kind kind, void *handle, cl_int invalid, function notify, void *data)
{
    if (!handle || references(kind, handle) == 0)
        return log_refuse(call, invalid, "%p is not an object of this kind", handle);
    if (!notify)
        return log_refuse(call, CL_INVALID_VALUE, "the callback function is NULL");
    struct watched *fresh = calloc(1, sizeof(*fresh));
    struct destructor *destructor = malloc(sizeof(*destructor));
    cl_int status = fresh && destructor && delivery_ready() ? retain(kind, handle) : CL_OUT_OF_HOST_MEMORY;
    if (status != CL_SUCCESS) {
        free(fresh);
        free(destructor);
        return log_refuse(call, status, "no memory or thread to call the callback");
    }
    *fresh = (struct watched){.delivery.run = run, .kind = kind, .handle = handle};
    cl_context context = context_of(kind, handle);
    if (context)
        fence_counted_below(
            context); /* now, not in one of cld3d's threads, and so that ends of queues are seen from now on */
    os_lock(&lock);
    struct watched *watched = add_locked(kind, handle, fresh);
    *destructor = (struct destructor){notify, data, watched->last};
    watched->last = destructor;
    os_unlock(&lock);
    if (watched != fresh) { /* cld3d already has a reference to it */
        let_go(kind, handle);
        free(fresh);
    }
    return CL_SUCCESS;
}

/* The functions differ only in the type of the handle, which is always a pointer to a structure. */
static cl_int CL_API_CALL set_mem_object_destructor_callback(cl_mem memobj,
                                                             void(CL_CALLBACK *pfn_notify)(cl_mem, void *),
                                                             void *user_data)
{
    return add("clSetMemObjectDestructorCallback", KIND_MEMORY, memobj, CL_INVALID_MEM_OBJECT,
               (function)(void (*)(void))pfn_notify, user_data);
}

static cl_int CL_API_CALL set_context_destructor_callback(cl_context context,
                                                          void(CL_CALLBACK *pfn_notify)(cl_context, void *),
                                                          void *user_data)
{
    return add("clSetContextDestructorCallback", KIND_CONTEXT, context, CL_INVALID_CONTEXT,
               (function)(void (*)(void))pfn_notify, user_data);
}

static cl_int CL_API_CALL set_program_release_callback(cl_program program,
                                                       void(CL_CALLBACK *pfn_notify)(cl_program, void *),
                                                       void *user_data)
{
    return add("clSetProgramReleaseCallback", KIND_PROGRAM, program, CL_INVALID_PROGRAM,
               (function)(void (*)(void))pfn_notify, user_data);
}

/* ---- cld3d's reference, hidden from the application ---- */

static cl_int without_ours(enum kind kind, void *handle, cl_int status, void *count)
{
    os_lock(&lock);
    if (status == CL_SUCCESS && count && *find_locked(kind, handle))
        --*(cl_uint *)count;
    os_unlock(&lock);
    return status;
}

static cl_int CL_API_CALL get_mem_object_info(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
                                              void *param_value, size_t *param_value_size_ret)
{
    const cl_int status =
        underlying.clGetMemObjectInfo(memobj, param_name, param_value_size, param_value, param_value_size_ret);
    return param_name == CL_MEM_REFERENCE_COUNT ? without_ours(KIND_MEMORY, memobj, status, param_value) : status;
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info param_name, size_t param_value_size,
                                           void *param_value, size_t *param_value_size_ret)
{
    const cl_int status =
        underlying.clGetContextInfo(context, param_name, param_value_size, param_value, param_value_size_ret);
    return param_name == CL_CONTEXT_REFERENCE_COUNT ? without_ours(KIND_CONTEXT, context, status, param_value) : status;
}

static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info param_name, size_t param_value_size,
                                           void *param_value, size_t *param_value_size_ret)
{
    const cl_int status =
        underlying.clGetProgramInfo(program, param_name, param_value_size, param_value, param_value_size_ret);
    return param_name == CL_PROGRAM_REFERENCE_COUNT ? without_ours(KIND_PROGRAM, program, status, param_value) : status;
}

static cl_int CL_API_CALL release_mem_object(cl_mem memobj)
{
    struct watched *watched = begin_release(KIND_MEMORY, memobj);
    return end_release(watched, underlying.clReleaseMemObject(memobj));
}

/* The next in line for these, set at installation. */
static cl_int(CL_API_CALL *release_kernel_below)(cl_kernel);
static cl_int(CL_API_CALL *release_sampler_below)(cl_sampler);
static cl_int(CL_API_CALL *release_event_below)(cl_event);
static cl_int(CL_API_CALL *release_context_below)(cl_context);
static cl_int(CL_API_CALL *release_queue_below)(cl_command_queue);

static cl_int CL_API_CALL release_context(cl_context context)
{
    struct watched *watched = begin_release(KIND_CONTEXT, context);
    const bool has_queue = fence_keeps(context, true);
    const cl_int status = end_release(watched, release_context_below(context));
    if (!has_queue)
        deliver_due();
    return status;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    const cl_int status = release_queue_below(queue);
    look_at_unreleased();
    if (!fence_keeps(queue, false))
        deliver_due();
    look_later();
    return status;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    struct watched *watched = begin_release(KIND_PROGRAM, program);
    return end_release(watched, underlying.clReleaseProgram(program));
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    const cl_int status = release_kernel_below(kernel);
    look_later();
    return status;
}

static cl_int CL_API_CALL release_sampler(cl_sampler sampler)
{
    const cl_int status = release_sampler_below(sampler);
    look_later();
    return status;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    const cl_int status = release_event_below(event);
    look_later();
    return status;
}

void destructor_install(cl_icd_dispatch *table)
{
    fence_install(table);
    release_context_below = table->clReleaseContext;
    release_queue_below = table->clReleaseCommandQueue;
    release_kernel_below = table->clReleaseKernel;
    release_sampler_below = table->clReleaseSampler;
    release_event_below = table->clReleaseEvent;
    table->clSetMemObjectDestructorCallback = set_mem_object_destructor_callback;
    table->clSetContextDestructorCallback = set_context_destructor_callback;
    table->clSetProgramReleaseCallback = set_program_release_callback;
    table->clGetMemObjectInfo = get_mem_object_info;
    table->clGetContextInfo = get_context_info;
    table->clGetProgramInfo = get_program_info;
    table->clReleaseMemObject = release_mem_object;
    table->clReleaseContext = release_context;
    table->clReleaseCommandQueue = release_queue;
    table->clReleaseProgram = release_program;
    table->clReleaseKernel = release_kernel;
    table->clReleaseSampler = release_sampler;
    table->clReleaseEvent = release_event;
}
