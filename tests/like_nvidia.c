/* A layer that makes the driver below behave as NVIDIA's for Linux does (580) where that differs from others:
 *
 *  - an object's count of references holds what the application and layers hold, and no queued command;
 *  - a context's count of references holds none for its programs, though they keep it;
 *  - a context from a type needs its platform named (CL_INVALID_PLATFORM);
 *  - waiting for a failed event is no error;
 *  - a marker behind events ends at the time 0;
 *  - a context does not go after a user event that went without being set: the driver waits for ever, and this fails;
 *  - nor does any after one that has a destructor callback and made user events, if the driver is named NVIDIA's;
 *  - with -cl-kernel-arg-info no program is built that has a kernel without arguments;
 *  - setting the event of a command is CL_INVALID_VALUE, and a user event can be set again, which changes nothing;
 *  - a query of a queue or context answers for handles of other kinds too, as for a platform's with a device that is none, about
 *    which a query ends the process, as do queries of events, devices and programs that get a platform, a context or a buffer;
 *  - of an array of 1D images only the first is copied to a buffer or from one, the rest is CL_INVALID_VALUE.
 *
 * While CLD3D_TEST_COPIES_FAIL is set each copy of a buffer to an image fails, which has one event to wait for at most. */

#include "layer_entry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Stands for all that the driver does not know. */

/* ---- counts ---- */

enum { MOST = 4096 };
static struct {
    cl_mem handle;
    cl_uint references;
} counted[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Adds to an object's count and gives it; an object that is not known begins, one without references ends. */
static cl_uint count(cl_mem handle, int change, int fresh)
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

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    cl_mem buffer = below->clCreateBuffer(context, flags, size, host, status);
    if (buffer)
        count(buffer, 1, 1);
    return buffer;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                            const void *info, cl_int *status)
{
    cl_mem part = below->clCreateSubBuffer(buffer, flags, type, info, status);
    if (part)
        count(part, 1, 1);
    return part;
}

static cl_int CL_API_CALL retain(cl_mem object)
{
    const cl_int status = below->clRetainMemObject(object);
    if (status == CL_SUCCESS)
        count(object, 1, 0);
    return status;
}

static cl_int CL_API_CALL release(cl_mem object)
{
    if (object)
        count(object, -1, 0);
    return below->clReleaseMemObject(object);
}

static cl_int CL_API_CALL get_mem_info(cl_mem object, cl_mem_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_int status = below->clGetMemObjectInfo(object, name, room, to, size_ret);
    const cl_uint references = status == CL_SUCCESS && name == CL_MEM_REFERENCE_COUNT && to ? count(object, 0, 0) : 0;
    if (references)
        memcpy(to, &references, sizeof(references));
    return status;
}

/* ---- handles of other kinds ---- */

/* Looks like an object of the driver. */
static void *no_device[64];

static cl_int answer_for_platform(void *platform, size_t room, void *to, size_t *size_ret)
{
    const void *const device = no_device;
    memcpy(no_device, platform, sizeof(no_device[0])); /* the table of functions */
    const size_t size = room < sizeof(device) ? room : sizeof(device);
    return give_answer(&device, size, size, to, size_ret);
}

static int is_platform(const void *handle)
{
    cl_platform_id platform = NULL;
    return below->clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS && platform == handle;
}

/* A platform, or what is counted: a context or a buffer. */
static int is_of_other_kind(const void *handle)
{
    return handle && (is_platform(handle) || count((cl_mem)handle, 0, 0) != 0);
}

static void end_for_other_kind(const void *handle)
{
    if (is_of_other_kind(handle))
        abort();
}

static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info name, size_t room, void *to,
                                           size_t *size_ret)
{
    end_for_other_kind(program);
    return below->clGetProgramInfo(program, name, room, to, size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    if (device == (cl_device_id)no_device)
        abort();
    end_for_other_kind(device);
    return below->clGetDeviceInfo(device, name, room, to, size_ret);
}

/* ---- programs, which keep their context and are not counted ---- */

static struct {
    cl_program handle;
    cl_context context;
} programs[MOST];

static cl_program CL_API_CALL create_program(cl_context context, cl_uint text_count, const char **texts,
                                             const size_t *lengths, cl_int *status)
{
    cl_program program = below->clCreateProgramWithSource(context, text_count, texts, lengths, status);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; program && i < MOST; i++)
        if (!programs[i].handle) {
            programs[i].handle = program;
            programs[i].context = context;
            break;
        }
    pthread_mutex_unlock(&lock);
    return program;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    cl_uint references = 0;
    below->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; references == 1 && i < MOST; i++)
        if (programs[i].handle == program)
            programs[i].handle = NULL;
    pthread_mutex_unlock(&lock);
    return below->clReleaseProgram(program);
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info name, size_t room, void *to,
                                           size_t *size_ret)
{
    if (is_platform(context))
        return answer_for_platform(context, room, to, size_ret);
    const cl_int status = below->clGetContextInfo(context, name, room, to, size_ret);
    cl_uint references;
    if (status != CL_SUCCESS || name != CL_CONTEXT_REFERENCE_COUNT || !to)
        return status;
    memcpy(&references, to, sizeof(references));
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST; i++)
        references -= programs[i].handle && programs[i].context == context;
    pthread_mutex_unlock(&lock);
    memcpy(to, &references, sizeof(references));
    return status;
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

static cl_int CL_API_CALL set_destructor(cl_context context, void(CL_CALLBACK *notify)(cl_context, void *), void *data)
{
    static atomic_uint next;
    told[atomic_fetch_add(&next, 1) % MOST] = context;
    return below->clSetContextDestructorCallback(context, notify, data);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *status)
{
    cl_event event = below->clCreateUserEvent(context, status);
    for (unsigned i = 0; i < MOST; i++)
        if (told[i] == context)
            atomic_store(&stuck, 1);
    if (event && below->clRetainEvent(event) == CL_SUCCESS)
        replace_unset(NULL, event, context);
    return event;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
    cl_command_type type = CL_COMMAND_USER;
    if (event)
        below->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    if (type != CL_COMMAND_USER)
        return CL_INVALID_VALUE;
    const cl_int set = below->clSetUserEventStatus(event, status);
    if (set == CL_SUCCESS) {
        replace_unset(event, NULL, NULL);
        below->clReleaseEvent(event);
    }
    return set == CL_INVALID_OPERATION ? CL_SUCCESS : set;
}

static int has_unset(cl_context context)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST; i++)
        found = found || (unset[i].handle && unset[i].context == context);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Counted here, since a driver's own count may have its events in it. */
static cl_context count_context(cl_context context)
{
    if (context)
        count((cl_mem)context, 1, 1);
    return context;
}

static cl_int CL_API_CALL retain_context(cl_context context)
{
    const cl_int status = below->clRetainContext(context);
    if (status == CL_SUCCESS)
        count((cl_mem)context, 1, 0);
    return status;
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    const int last = context && count((cl_mem)context, -1, 0) == 0;
    return last && (has_unset(context) || (atomic_load(&stuck) && getenv("CLD3D_TEST_NAMED_NVIDIA")))
               ? CL_OUT_OF_RESOURCES
               : below->clReleaseContext(context);
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t room, void *to,
                                            size_t *size_ret)
{
    static const char text[] = "NVIDIA CUDA";
    if (name == CL_PLATFORM_NAME && getenv("CLD3D_TEST_NAMED_NVIDIA"))
        return give_answer(text, sizeof(text), room, to, size_ret);
    return below->clGetPlatformInfo(platform, name, room, to, size_ret);
}

/* ---- queues ---- */

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 const cl_queue_properties *properties, cl_int *status)
{
    if (!is_of_other_kind(device))
        return below->clCreateCommandQueueWithProperties(context, device, properties, status);
    if (status)
        *status = CL_INVALID_DEVICE;
    return NULL;
}

/* ---- arrays of 1D images ---- */

static int beyond_first(cl_mem image, const size_t *origin, const size_t *region)
{
    cl_mem_object_type type = 0;
    below->clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL);
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY && origin && region && (origin[1] > 0 || region[1] > 1);
}

static cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                               const size_t *origin, const size_t *region, size_t offset, cl_uint count,
                                               const cl_event *wait, cl_event *event)
{
    return beyond_first(image, origin, region)
               ? CL_INVALID_VALUE
               : below->clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, offset, count, wait, event);
}

/* An event for a command to wait for besides, which is to be set. */
static cl_event event_of_queue(cl_command_queue queue)
{
    cl_context context = NULL;
    below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    return below->clCreateUserEvent(context, NULL);
}

static cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                               const size_t *origin, const size_t *region, cl_uint count,
                                               const cl_event *wait, cl_event *event)
{
    if (beyond_first(image, origin, region))
        return CL_INVALID_VALUE;
    if (!getenv("CLD3D_TEST_COPIES_FAIL"))
        return below->clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, count, wait, event);
    const cl_event both[2] = {event_of_queue(queue), count ? *wait : NULL};
    const cl_int status =
        below->clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, count ? 2 : 1, both, event);
    if (count)
        below->clWaitForEvents(1, wait); /* PoCL loses a command that fails before what else it waits for is over */
    below->clSetUserEventStatus(both[0], -5);
    below->clReleaseEvent(both[0]);
    return status;
}

/* ---- programs ---- */

/* Options with which this program is not built: in place of those that the driver takes and then fails with. */
static const char *options_for(cl_program program, const char *options)
{
    char source[4096] = "";
    below->clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(source) - 1, source, NULL);
    return options && strstr(options, "-cl-kernel-arg-info") && strstr(source, "(void)") ? "-Dkernel=fails" : options;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint device_count, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    if (is_of_other_kind(program))
        return CL_INVALID_PROGRAM;
    return below->clBuildProgram(program, device_count, devices, options_for(program, options), notify, data);
}

static cl_int CL_API_CALL compile(cl_program program, cl_uint device_count, const cl_device_id *devices,
                                  const char *options, cl_uint header_count, const cl_program *headers,
                                  const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    return below->clCompileProgram(program, device_count, devices, options_for(program, options), header_count, headers,
                                   names, notify, data);
}

/* ---- codes ---- */

static int named(const cl_context_properties *properties, cl_context_properties name)
{
    for (const cl_context_properties *p = properties; p && *p; p += 2)
        if (*p == name)
            return 1;
    return 0;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint device_count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                             void *data, cl_int *status)
{
    return count_context(below->clCreateContext(properties, device_count, devices, notify, data, status));
}

static cl_context CL_API_CALL create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                                                       void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                                                 void *),
                                                       void *data, cl_int *status)
{
    if (named(properties, CL_CONTEXT_PLATFORM))
        return count_context(below->clCreateContextFromType(properties, type, notify, data, status));
    *status = CL_INVALID_PLATFORM;
    return NULL;
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info name, size_t room, void *to,
                                         size_t *size_ret)
{
    return is_platform(queue) ? answer_for_platform(queue, room, to, size_ret)
                              : below->clGetCommandQueueInfo(queue, name, room, to, size_ret);
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    for (cl_uint i = 0; wait && i < wait_count; i++)
        if (is_of_other_kind(wait[i]))
            return CL_INVALID_EVENT_WAIT_LIST;
    return below->clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t room, void *to, size_t *size_ret)
{
    end_for_other_kind(event);
    return below->clGetEventInfo(event, name, room, to, size_ret);
}

static cl_int CL_API_CALL wait_for(cl_uint event_count, const cl_event *events)
{
    const cl_int status = below->clWaitForEvents(event_count, events);
    return status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : status;
}

static cl_int CL_API_CALL get_profile(cl_event event, cl_profiling_info name, size_t room, void *to, size_t *size_ret)
{
    cl_command_type type = 0;
    const cl_int status = below->clGetEventProfilingInfo(event, name, room, to, size_ret);
    below->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    if (status == CL_SUCCESS && name == CL_PROFILING_COMMAND_END && type == CL_COMMAND_MARKER && to)
        memset(to, 0, sizeof(cl_ulong));
    return status;
}

/* ---- the layer ---- */

static void replace(void)
{
    table.clCreateBuffer = create_buffer;
    table.clCreateSubBuffer = create_sub_buffer;
    table.clRetainMemObject = retain;
    table.clReleaseMemObject = release;
    table.clGetMemObjectInfo = get_mem_info;
    table.clCreateProgramWithSource = create_program;
    table.clReleaseProgram = release_program;
    table.clGetProgramInfo = get_program_info;
    table.clBuildProgram = build;
    table.clCompileProgram = compile;
    table.clGetContextInfo = get_context_info;
    table.clCreateUserEvent = create_user_event;
    table.clSetUserEventStatus = set_user_event;
    table.clSetContextDestructorCallback = set_destructor;
    table.clRetainContext = retain_context;
    table.clReleaseContext = release_context;
    table.clGetPlatformInfo = get_platform_info;
    table.clCreateContext = create_context;
    table.clCreateContextFromType = create_context_from_type;
    table.clGetCommandQueueInfo = get_queue_info;
    table.clGetDeviceInfo = get_device_info;
    table.clEnqueueCopyImageToBuffer = copy_image_to_buffer;
    table.clEnqueueCopyBufferToImage = copy_buffer_to_image;
    table.clCreateCommandQueueWithProperties = create_queue;
    table.clEnqueueMarkerWithWaitList = marker;
    table.clWaitForEvents = wait_for;
    table.clGetEventInfo = get_event_info;
    table.clGetEventProfilingInfo = get_profile;
}
