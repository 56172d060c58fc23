#include "bridge/fallback.h"

#include "log.h"
#include "next/handle.h"
#include "next/query.h"
#include "os/os.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Wine's own functions. */
static cl_icd_dispatch wine;

/* ---- callbacks of events: one thread polls ---- */

struct waiter {
    cl_event event; /* one reference */
    cl_int type, status;
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    struct waiter *after;
};

/* Guards the list. */
static os_mutex lock = OS_MUTEX_INIT;
static os_condition added = OS_CONDITION_INIT;
static struct waiter *first;

/* Execution states are numbers that fall from CL_QUEUED to CL_COMPLETE and to errors. */
static bool is_due(struct waiter *waiter)
{
    cl_int state = CL_QUEUED;
    const cl_int asked =
        wine.clGetEventInfo(waiter->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    if (asked != CL_SUCCESS && !driver_short(asked))
        state = asked;
    waiter->status = state < 0 ? state : waiter->type;
    return state <= waiter->type;
}

/* Removes and returns the first that is due, or NULL. */
static struct waiter *take_due_locked(void)
{
    struct waiter **place = &first, *found = NULL;
    while (*place && !is_due(*place))
        place = &(*place)->after;
    found = *place;
    if (found)
        *place = found->after;
    return found;
}

static void poll_events(void *unused)
{
    enum { PAUSE_MS = 2, REST_MS = 60000 };
    (void)unused;
    os_lock(&lock);
    for (;;) {
        struct waiter *due = take_due_locked();
        if (!due) {
            os_wait(&added, &lock, first ? PAUSE_MS : REST_MS);
            continue;
        }
        os_unlock(&lock);
        due->notify(due->event, due->status, due->data);
        wine.clReleaseEvent(due->event);
        free(due);
        os_lock(&lock);
    }
}

static bool add(const struct waiter *waiter)
{
    static bool runs;
    struct waiter *made = malloc(sizeof(*made));
    os_stay_loaded();
    os_lock(&lock);
    runs = runs || os_thread_start(poll_events, NULL);
    if (runs && made) {
        struct waiter **last = &first;
        while (*last)
            last = &(*last)->after;
        *made = *waiter;
        *last = made;
        made = NULL;
        os_wake_all(&added);
    }
    const bool is_added = runs && !made;
    os_unlock(&lock);
    free(made);
    return is_added;
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int command_exec_callback_type,
                                             void(CL_CALLBACK *pfn_notify)(cl_event, cl_int, void *), void *user_data)
{
    static const char name[] = "clSetEventCallback";
    const struct waiter waiter = {event, command_exec_callback_type, CL_QUEUED, pfn_notify, user_data, NULL};
    if (!pfn_notify || command_exec_callback_type < CL_COMPLETE || command_exec_callback_type > CL_SUBMITTED)
        return log_refuse(name, CL_INVALID_VALUE, "the callback function is %s, the execution status %d",
                          pfn_notify ? "given" : "NULL", command_exec_callback_type);
    const cl_int status = wine.clRetainEvent(event);
    if (status != CL_SUCCESS)
        return log_refuse(name, CL_INVALID_EVENT, "%p is not an event", (void *)event);
    if (add(&waiter))
        return CL_SUCCESS;
    wine.clReleaseEvent(event);
    return log_refuse(name, CL_OUT_OF_HOST_MEMORY, "no memory or no thread to call the callback");
}

/* Without the function Wine's call returns when the build is done. */
static cl_int CL_API_CALL build_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                        const char *options, void(CL_CALLBACK *pfn_notify)(cl_program, void *),
                                        void *user_data)
{
    const cl_int status =
        wine.clBuildProgram(program, num_devices, device_list, options, NULL, pfn_notify ? NULL : user_data);
    if (pfn_notify && (status == CL_SUCCESS || status == CL_BUILD_PROGRAM_FAILURE))
        pfn_notify(program, user_data);
    return status;
}

/* Wine 8 changes the value in the result buffer without checking that there is one. */
static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    cl_device_exec_capabilities capabilities = 0;
    if (param_name != CL_DEVICE_EXECUTION_CAPABILITIES)
        return wine.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_int status = wine.clGetDeviceInfo(device, param_name, sizeof(capabilities), &capabilities, NULL);
    return status == CL_SUCCESS ? answer("clGetDeviceInfo", &capabilities, sizeof(capabilities), param_value_size,
                                         param_value, param_value_size_ret)
                                : status;
}

bool fallback_is_wines(const void *library)
{
    static const char mark[] = "Wine builtin DLL"; /* behind the DOS header */
    return memcmp((const char *)library + sizeof(IMAGE_DOS_HEADER), mark, sizeof(mark) - 1) == 0;
}

void fallback_load(void *library, const char *why)
{
    /* Wine's accept functions and never call them, or always fail. */
    static const char *const useless[] = {"clSetMemObjectDestructorCallback", "clCompileProgram", "clLinkProgram",
                                          "clEnqueueNativeKernel"};
    next_load(library);
    log_write(LOG_WARN, "Wine's own opencl.dll is used, which has OpenCL 1.2 at most: the bridge to the host's is %s",
              why);
    for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++)
        next_remove(useless[i]);
    next_remedy = "Wine's own opencl.dll has no more; start the program with 'cld3d-setup run'";
    handles_are_checked = sizeof(void *) == sizeof(uint64_t);
    wine = next;
    next.clSetEventCallback = set_event_callback;
    next.clBuildProgram = build_program;
    next.clGetDeviceInfo = get_device_info;
}
