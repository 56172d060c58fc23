/* NVIDIA's driver for Linux (580), where it differs from others:
 *
 *  - an object's count of references holds what the application and layers hold, and no queued command;
 *  - a context from a type needs its platform named (CL_INVALID_PLATFORM);
 *  - waiting for a failed event is no error;
 *  - a context does not go after a user event that went without being set: the driver waits for ever, and this fails;
 *  - nor does any after one that has a destructor callback and made user events, if the driver is named NVIDIA's;
 *  - with -cl-kernel-arg-info no program is built that has a kernel without arguments;
 *  - setting the event of a command is CL_INVALID_VALUE, and a user event can be set again, which changes nothing;
 *  - a query of a queue or context answers for handles of other kinds too, as for a platform's with a device that is none, about
 *    which a query ends the process, as do queries of events, devices and programs that get a platform, a context or a buffer.
 *
 * With NAMED_NVIDIA in the environment it has the driver's name. */
#include "layer.h"

#include <pthread.h>
#include <stdatomic.h>

#define NAMED_NVIDIA "CLD3D_TEST_NAMED_NVIDIA"

/* ---- counts ---- */

enum { MOST = 4096 };
static struct {
    void *handle; /* of a context or a buffer */
    cl_uint references;
} counted[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards this and `unset` */

/* Adds to an object's count and gives it; an object that is not known begins, one without references ends. */
static cl_uint count(void *handle, int change, bool fresh)
{
    cl_uint references = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST; i++) {
        if (counted[i].handle != (fresh ? NULL : handle))
            continue;
        counted[i].handle = handle;
        references = counted[i].references += (cl_uint)change;
        if (references == 0)
            counted[i].handle = NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
    return references;
}

/* What the driver has made, with its first reference. */
static void *count_new(void *handle)
{
    if (handle)
        count(handle, 1, true);
    return handle;
}

REPLACES(clCreateBuffer)
{
    return count_new(PASS(clCreateBuffer));
}

REPLACES(clCreateSubBuffer)
{
    return count_new(PASS(clCreateSubBuffer));
}

REPLACES(clRetainMemObject)
{
    const cl_int status = PASS(clRetainMemObject);
    if (status == CL_SUCCESS)
        count(memobj, 1, false);
    return status;
}

REPLACES(clReleaseMemObject)
{
    if (memobj)
        count(memobj, -1, false);
    return PASS(clReleaseMemObject);
}

REPLACES(clGetMemObjectInfo)
{
    const cl_uint references = memobj && param_name == CL_MEM_REFERENCE_COUNT ? count(memobj, 0, false) : 0;
    return references ? ANSWER(references) : PASS(clGetMemObjectInfo);
}

/* ---- handles of other kinds ---- */

/* Looks like an object of the driver. */
static void *no_device[64];

static bool is_platform(const void *handle)
{
    cl_platform_id platform = NULL;
    return below->clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS && platform == handle;
}

static cl_int answer_for_platform(void *platform, size_t room, void *to, size_t *size_ret)
{
    const void *const device = no_device;
    memcpy(no_device, platform, sizeof(no_device[0])); /* the table of functions */
    const size_t size = room < sizeof(device) ? room : sizeof(device);
    return give_answer(&device, size, size, to, size_ret);
}

REPLACES(clGetContextInfo)
{
    return is_platform(context) ? answer_for_platform(context, param_value_size, param_value, param_value_size_ret)
                                : PASS(clGetContextInfo);
}

REPLACES(clGetCommandQueueInfo)
{
    return is_platform(command_queue)
               ? answer_for_platform(command_queue, param_value_size, param_value, param_value_size_ret)
               : PASS(clGetCommandQueueInfo);
}

/* A platform, or what is counted. */
static bool is_of_other_kind(void *handle)
{
    return handle && (is_platform(handle) || count(handle, 0, false) != 0);
}

REPLACES(clGetProgramInfo)
{
    return is_of_other_kind(program) ? abort(), 0 : PASS(clGetProgramInfo);
}

REPLACES(clGetDeviceInfo)
{
    return device == (cl_device_id)no_device || is_of_other_kind(device) ? abort(), 0 : PASS(clGetDeviceInfo);
}

REPLACES(clGetEventInfo)
{
    return is_of_other_kind(event) ? abort(), 0 : PASS(clGetEventInfo);
}

REPLACES(clCreateCommandQueueWithProperties)
{
    return is_of_other_kind(device) ? refuse(errcode_ret, CL_INVALID_DEVICE) : PASS(clCreateCommandQueueWithProperties);
}

REPLACES(clEnqueueMarkerWithWaitList)
{
    for (cl_uint i = 0; event_wait_list && i < num_events_in_wait_list; i++)
        if (is_of_other_kind(event_wait_list[i]))
            return CL_INVALID_EVENT_WAIT_LIST;
    return PASS(clEnqueueMarkerWithWaitList);
}

/* ---- user events, which a context holds until they are set, and waits for ---- */

static struct {
    cl_event handle;
    cl_context context;
} unset[MOST];

static void replace_unset(cl_event from, cl_event to, cl_context context)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST; i++)
        if (unset[i].handle == from) {
            unset[i].handle = to;
            unset[i].context = context;
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* That have a destructor callback. */
static cl_context told[MOST];
/* Whether such a context has made a user event. */
static atomic_int stuck;

REPLACES(clSetContextDestructorCallback)
{
    static atomic_uint next;
    told[atomic_fetch_add(&next, 1) % MOST] = context;
    return PASS(clSetContextDestructorCallback);
}

REPLACES(clCreateUserEvent)
{
    cl_event event = PASS(clCreateUserEvent);
    for (unsigned i = 0; i < MOST; i++)
        if (told[i] == context)
            atomic_store(&stuck, 1);
    if (event && below->clRetainEvent(event) == CL_SUCCESS)
        replace_unset(NULL, event, context);
    return event;
}

REPLACES(clSetUserEventStatus)
{
    cl_command_type type = CL_COMMAND_USER;
    if (event)
        below->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    if (type != CL_COMMAND_USER)
        return CL_INVALID_VALUE;
    const cl_int set = PASS(clSetUserEventStatus);
    if (set == CL_SUCCESS) {
        replace_unset(event, NULL, NULL);
        below->clReleaseEvent(event);
    }
    return set == CL_INVALID_OPERATION ? CL_SUCCESS : set;
}

REPLACES(clWaitForEvents)
{
    const cl_int status = PASS(clWaitForEvents);
    return status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : status;
}

/* ---- contexts, counted here, since a driver's own count may have its events in it ---- */

REPLACES(clCreateContext)
{
    return count_new(PASS(clCreateContext));
}

REPLACES(clCreateContextFromType)
{
    const cl_context_properties *named = properties;
    while (named && *named && *named != CL_CONTEXT_PLATFORM)
        named += 2;
    return named && *named ? count_new(PASS(clCreateContextFromType)) : refuse(errcode_ret, CL_INVALID_PLATFORM);
}

REPLACES(clRetainContext)
{
    const cl_int status = PASS(clRetainContext);
    if (status == CL_SUCCESS)
        count(context, 1, false);
    return status;
}

REPLACES(clReleaseContext)
{
    bool waits = atomic_load(&stuck) && getenv(NAMED_NVIDIA);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST; i++)
        waits = waits || (unset[i].handle && unset[i].context == context);
    pthread_mutex_unlock(&lock);
    return context && count(context, -1, false) == 0 && waits ? CL_OUT_OF_RESOURCES : PASS(clReleaseContext);
}

REPLACES(clGetPlatformInfo)
{
    return param_name == CL_PLATFORM_NAME && getenv(NAMED_NVIDIA) ? ANSWER_TEXT("NVIDIA CUDA")
                                                                  : PASS(clGetPlatformInfo);
}

/* ---- programs ---- */

/* In place of options that the driver takes and then fails with stand others. */
REPLACES(clBuildProgram)
{
    char source[4096] = "";
    if (is_of_other_kind(program))
        return CL_INVALID_PROGRAM;
    below->clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(source) - 1, source, NULL);
    if (options && strstr(options, "-cl-kernel-arg-info") && strstr(source, "(void)"))
        options = "-Dkernel=fails";
    return PASS(clBuildProgram);
}
