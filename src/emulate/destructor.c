/* clSetMemObjectDestructorCallback.
 *
 * cld3d holds a reference to an object with such functions, and polls the driver's count from the application's first
 * release on: the functions are called when only that reference is left, because an application frees its own memory
 * then. Drivers also count what is made of an object. Some do not count queued commands: with these, everything that
 * the context's queues had at the last release of the object, or of a part of it, must have ended too. */
#include "emulate/emulate.h"

#include "emulate/delivery.h"
#include "emulate/fence.h"
#include "log.h"
#include "os/os.h"

#include <stdlib.h>

typedef void(CL_CALLBACK *memory_function)(cl_mem, void *);

struct destructor {
    memory_function notify;
    void *data;
    struct destructor *before; /* the one that was registered before and is called after this one */
};

struct watched {
    struct delivery delivery;
    cl_mem memory; /* one reference */
    struct destructor *last;
    bool counted;        /* the driver counts queued commands */
    bool released;       /* the application has released it at least once */
    struct fence *fence; /* of the last release; NULL if one could not be made */
    struct watched *after;
};

/* Guards the records. */
static os_mutex lock = OS_MUTEX_INIT;
enum { LISTS = 4096 };
static struct watched *lists[LISTS]; /* by handle */
static atomic_uint watched_count;

static cl_uint references(cl_mem memory)
{
    cl_uint count = 0;
    const cl_int status = underlying.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    return status == CL_SUCCESS ? count : 0;
}

static struct watched **place_locked(const void *memory)
{
    struct watched **place = &lists[(uintptr_t)memory / 16 % LISTS];
    while (*place && (*place)->memory != memory)
        place = &(*place)->after;
    return place;
}

/* ---- the end of an object ---- */

static bool is_unused(struct delivery *delivery)
{
    struct watched *watched = (struct watched *)delivery;
    if (references(watched->memory) != 1)
        return false;
    if (watched->counted)
        return true;
    os_lock(&lock); /* it was written by the application's thread */
    struct fence *fence = watched->fence;
    os_unlock(&lock);
    if (!fence)
        fence = watched->fence = fence_make(delivery->context);
    return fence && fence_passed(fence);
}

static void call(struct delivery *delivery)
{
    struct watched *watched = (struct watched *)delivery;
    const cl_mem memory = watched->memory;
    os_lock(&lock);
    *place_locked(memory) = watched->after;
    os_unlock(&lock);
    atomic_fetch_sub(&watched_count, 1);
    underlying.clReleaseMemObject(memory);
    for (struct destructor *d = watched->last, *before; d; d = before) {
        before = d->before;
        d->notify(memory, d->data);
        free(d);
    }
    fence_free(watched->fence);
    free(watched);
}

/* Before a release by the application, which holds the object or a part of it: its functions are not called meanwhile. */
static void begin_release(cl_mem memory)
{
    os_lock(&lock);
    struct watched *watched = *place_locked(memory);
    const bool is_first = watched && !watched->released;
    if (watched)
        watched->released = true;
    os_unlock(&lock);
    if (!watched)
        return;
    struct fence *fence = watched->counted ? NULL : fence_make(watched->delivery.context), *former;
    os_lock(&lock);
    former = watched->fence;
    watched->fence = fence;
    os_unlock(&lock);
    fence_free(former);
    if (is_first)
        deliver(&watched->delivery, true);
}

static cl_int CL_API_CALL release_mem_object(cl_mem memobj)
{
    if (atomic_load(&watched_count)) {
        cl_mem part = memobj, whole = NULL;
        do
            begin_release(part);
        while (underlying.clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(whole), &whole, NULL) ==
                   CL_SUCCESS &&
               (part = whole));
        delivery_retry();
    }
    return underlying.clReleaseMemObject(memobj);
}

/* ---- registration ---- */

static cl_int CL_API_CALL set_mem_object_destructor_callback(cl_mem memobj, memory_function pfn_notify, void *user_data)
{
    static const char name[] = "clSetMemObjectDestructorCallback";
    cl_context context = NULL;
    cl_int status = memobj ? underlying.clGetMemObjectInfo(memobj, CL_MEM_CONTEXT, sizeof(context), &context, NULL)
                           : CL_INVALID_MEM_OBJECT;
    if (status != CL_SUCCESS)
        return log_refuse(name, status, "%p is not a memory object, or unknown", (void *)memobj);
    if (!pfn_notify)
        return log_refuse(name, CL_INVALID_VALUE, "the callback function is NULL");
    struct watched *fresh = calloc(1, sizeof(*fresh));
    struct destructor *destructor = malloc(sizeof(*destructor));
    status = fresh && destructor ? underlying.clRetainMemObject(memobj) : CL_OUT_OF_HOST_MEMORY;
    if (status != CL_SUCCESS) {
        free(fresh);
        free(destructor);
        return log_refuse(name, status, "no memory for the callback");
    }
    *fresh = (struct watched){.delivery = {.due = is_unused, .run = call, .context = context}, .memory = memobj};
    fresh->counted = fence_counted_below(context);
    os_lock(&lock);
    struct watched **place = place_locked(memobj), *watched = *place;
    if (!watched) {
        *place = watched = fresh;
        atomic_fetch_add(&watched_count, 1);
    }
    *destructor = (struct destructor){pfn_notify, user_data, watched->last};
    watched->last = destructor;
    os_unlock(&lock);
    if (watched != fresh) { /* cld3d already has a reference to it */
        underlying.clReleaseMemObject(memobj);
        free(fresh);
    }
    return CL_SUCCESS;
}

/* cld3d's reference is hidden from the application. */
static cl_int CL_API_CALL get_mem_object_info(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
                                              void *param_value, size_t *param_value_size_ret)
{
    const cl_int status =
        underlying.clGetMemObjectInfo(memobj, param_name, param_value_size, param_value, param_value_size_ret);
    if (status == CL_SUCCESS && param_name == CL_MEM_REFERENCE_COUNT && param_value && atomic_load(&watched_count)) {
        os_lock(&lock);
        *(cl_uint *)param_value -= *place_locked(memobj) != NULL;
        os_unlock(&lock);
    }
    return status;
}

void destructor_install(cl_icd_dispatch *table)
{
    table->clSetMemObjectDestructorCallback = set_mem_object_destructor_callback;
    table->clGetMemObjectInfo = get_mem_object_info;
    table->clReleaseMemObject = release_mem_object;
}
