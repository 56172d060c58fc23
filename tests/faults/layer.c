/* The layer below cld3d: what is armed, what was counted, and the part of the wrappers that is alike for all functions. */
#define _GNU_SOURCE /* dladdr1 */
#include "layer.h"

#include "layer_entry.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const cl_icd_dispatch *fault_below;

/* ---- what is armed and counted ---- */

enum source { ALLOCATIONS, CALLS, COMMANDS, SOURCES, ELSEWHERE };

static enum source source_of(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_ALLOCATION: return ALLOCATIONS;
    case FAULT_OPENCL:
    case FAULT_OPENCL_MEMORY:
    case FAULT_OPENCL_SLOW: return CALLS;
    case FAULT_EVENT_FAILS:
    case FAULT_EVENT_LATE: return COMMANDS;
    default: return ELSEWHERE;
    }
}

static atomic_uint counts[SOURCES];
static _Atomic(enum fault_kind) armed;
static atomic_uint nth;
static _Atomic(const char *) struck;
static atomic_ulong place;
static atomic_int live[FAULT_HANDLES], blocks;
static _Thread_local bool own;

void layer_arm(enum fault_kind kind, unsigned n)
{
    atomic_store(&nth, 0);
    for (int i = 0; i < SOURCES; i++)
        atomic_store(&counts[i], 0);
    atomic_store(&struck, NULL);
    atomic_store(&place, 0);
    atomic_store(&armed, kind);
    atomic_store(&nth, source_of(kind) == ELSEWHERE ? 0 : n);
}

unsigned layer_count(enum fault_kind kind)
{
    return atomic_load(&counts[source_of(kind)]);
}

const char *layer_struck(void)
{
    return atomic_load(&struck);
}

unsigned long layer_place(void)
{
    return atomic_load(&place);
}

bool layer_own(bool on)
{
    const bool before = own;
    own = on;
    return before;
}

static bool strikes(enum source source, const char *name)
{
    if (own)
        return false;
    const unsigned number = atomic_fetch_add(&counts[source], 1) + 1;
    if (number != atomic_load(&nth) || source_of(atomic_load(&armed)) != source)
        return false;
    atomic_store(&struck, name);
    return true;
}

bool fault_allocation(const char *name, const void *caller)
{
    Dl_info from;
    if (!strikes(ALLOCATIONS, name))
        return false;
    if (dladdr(caller, &from))
        atomic_store(&place, (unsigned long)((const char *)caller - (const char *)from.dli_fbase));
    return true;
}

void fault_block(int change)
{
    atomic_fetch_add(&blocks, change);
}

int fault_live_blocks(void)
{
    return atomic_load(&blocks);
}

void fault_reference(enum fault_handle handle, int change)
{
    atomic_fetch_add(&live[handle], change);
}

int fault_live(enum fault_handle handle)
{
    return atomic_load(&live[handle]);
}

const char *fault_handle_name(enum fault_handle handle)
{
    static const char *const names[FAULT_HANDLES] = {"contexts", "queues",  "memory objects", "samplers",
                                                     "programs", "kernels", "events"};
    return names[handle];
}

/* ---- calls ---- */

cl_int fault_call(const char *name, cl_int code)
{
    const struct timespec slow = {0, 5000000};
    if (!strikes(CALLS, name))
        return CL_SUCCESS;
    switch (atomic_load(&armed)) {
    case FAULT_OPENCL: return code;
    case FAULT_OPENCL_MEMORY: return CL_OUT_OF_HOST_MEMORY;
    default: nanosleep(&slow, NULL); return CL_SUCCESS;
    }
}

/* The command waits for one event more. */
static void begin_late(struct fault_enqueue *e)
{
    e->copy = calloc(e->wait_count + 1, sizeof(cl_event));
    cl_event late = e->copy ? late_make(e->queue) : NULL;
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
    const bool struck_now = strikes(COMMANDS, e->name), late = atomic_load(&armed) == FAULT_EVENT_LATE;
    if (struck_now && late)
        begin_late(e);
    if (e->wait && doomed_among(e->wait_count, e->wait)) {
        e->doomed = true;
        return e->at_once ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
    }
    e->doomed = struck_now && !late;
    return e->doomed && e->at_once ? code : CL_SUCCESS;
}

static _Thread_local unsigned doomed_here;

unsigned layer_doomed_here(void)
{
    return doomed_here;
}

cl_int fault_enqueue_doomed(const struct fault_enqueue *e, cl_event *event)
{
    doomed_here++;
    if (!event)
        return CL_SUCCESS;
    *event = doomed_make(e->queue, e->type);
    return *event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

void fault_enqueue_end(struct fault_enqueue *e, cl_int status, const cl_event *event)
{
    if (status == CL_SUCCESS && event)
        fault_reference(FAULT_EVENTS, 1);
    if (e->copy && e->wait == e->copy)
        fault_below->clReleaseEvent(e->copy[e->wait_count - 1]);
    free(e->copy);
}

/* ---- the layer ---- */

static atomic_bool own_memory;
static cl_api_clGetDeviceInfo faulty_device_info;

void layer_own_memory(bool on)
{
    atomic_store(&own_memory, on);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    static const cl_bool no = CL_FALSE;
    const cl_int status = faulty_device_info(device, name, room, to, size_ret);
    if (status == CL_SUCCESS && name == CL_DEVICE_HOST_UNIFIED_MEMORY && to && atomic_load(&own_memory))
        memcpy(to, &no, sizeof(no));
    return status;
}

static void replace(void)
{
    fault_below = below;
    fault_install(&table);
    events_install(&table);
    faulty_device_info = table.clGetDeviceInfo;
    table.clGetDeviceInfo = get_device_info;
}
