/* A layer below the bridge that calls functions of the program as drivers may, in threads of the host: the notify function of a context,
 * for each buffer that can't be made, and those of clSetProgramReleaseCallback, which no driver of the tests has. For one context. And
 * those of user events, after the driver's wait for them. */
#include "layer_entry.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef void(CL_CALLBACK *context_function)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *program_function)(cl_program, void *);

/* ---- contexts ---- */

static context_function notify;
static void *notify_data;

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices, context_function function, void *data,
                                             cl_int *status)
{
    notify = function;
    notify_data = data;
    return below->clCreateContext(properties, count, devices, function, data, status);
}

static void *tell_of_buffer(void *size)
{
    char text[32] = "there is no such buffer"; /* gone when this returns */
    notify(text, size, sizeof(size_t), notify_data);
    memset(text, 'x', sizeof(text));
    return NULL;
}

/* In a thread of its own, which has ended when the call returns. */
static void run(void *(*function)(void *), void *data)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, data) == 0)
        pthread_join(thread, NULL);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    cl_mem buffer = below->clCreateBuffer(context, flags, size, host, status);
    if (!buffer && notify)
        run(tell_of_buffer, &size);
    return buffer;
}

/* ---- programs ---- */

enum { MOST = 16 };
static struct {
    cl_program program;
    program_function function;
    void *data;
} ends[MOST];
static unsigned count; /* of one thread */

static cl_int CL_API_CALL set_release_callback(cl_program program, program_function function, void *data)
{
    if (!function || count == MOST)
        return CL_INVALID_VALUE;
    ends[count].program = program;
    ends[count].function = function;
    ends[count++].data = data;
    return CL_SUCCESS;
}

static void *tell_of_program(void *program)
{
    for (unsigned i = count; i-- > 0;)
        if (ends[i].program == program) {
            ends[i].program = NULL;
            ends[i].function(program, ends[i].data);
        }
    return NULL;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    cl_uint references = 0;
    if (below->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL) ==
            CL_SUCCESS &&
        references == 1)
        run(tell_of_program, program);
    return below->clReleaseProgram(program);
}

/* ---- user events ---- */

typedef void(CL_CALLBACK *event_function)(cl_event, cl_int, void *);

enum { MOST_LATE = 256 };
static struct {
    cl_event event;
    event_function function;
    void *data;
} late[MOST_LATE];
static unsigned late_count;    /* of one thread, before the wait */
static atomic_bool has_waited; /* until all have been called */

/* It is there already, so that it calls while the bridge looks at its count of events. */
static void *call_late(void *unused)
{
    while (!atomic_load(&has_waited))
        sched_yield();
    for (unsigned i = 0; i < late_count; i++)
        late[i].function(late[i].event, CL_COMPLETE, late[i].data);
    late_count = 0;
    atomic_store(&has_waited, false);
    return unused;
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int at, event_function function, void *data)
{
    cl_command_type type = 0;
    pthread_t thread;
    below->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    while (atomic_load(&has_waited))
        sched_yield();
    if (type != CL_COMMAND_USER || late_count == MOST_LATE)
        return below->clSetEventCallback(event, at, function, data);
    if (late_count == 0 && pthread_create(&thread, NULL, call_late, NULL) == 0)
        pthread_detach(thread);
    late[late_count].event = event;
    late[late_count].function = function;
    late[late_count++].data = data;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for_events(cl_uint number, const cl_event *events)
{
    const cl_int status = below->clWaitForEvents(number, events);
    if (late_count)
        atomic_store(&has_waited, true);
    return status;
}

static void replace(void)
{
    table.clSetEventCallback = set_event_callback;
    table.clWaitForEvents = wait_for_events;
    table.clCreateContext = create_context;
    table.clCreateBuffer = create_buffer;
    table.clSetProgramReleaseCallback = set_release_callback;
    table.clReleaseProgram = release_program;
}
