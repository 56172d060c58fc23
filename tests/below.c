/* A layer below cld3d that does what a driver may, for test_create, test_emulated, test_like_nvidia, test_names and others: it has no
 * memory, lets a launch wait for another one, lacks formats, takes rows for rows without gaps, gives the status of a blocking command's
 * event, gives core functions by name, and functions that set pointers as arguments, and is one of OpenCL 1.2. Threads may be in all
 * its functions at once. */
#include "below.h"

#include "layer_entry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_uint until_failure, launches, buffers;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static unsigned expected, there;
static cl_uint hold, held;                                     /* which command, and that there is one */
static cl_uint next_gate;                                      /* of the next copy of a buffer to an image; 0: none */
static cl_event gates[BELOW_GATES], before_gates[BELOW_GATES]; /* and what the copy waits for besides, or NULL */

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    if (atomic_load(&until_failure) == 0 || atomic_fetch_sub(&until_failure, 1) != 1) {
        cl_mem buffer = below->clCreateBuffer(context, flags, size, host, status);
        atomic_fetch_add(&buffers, buffer != NULL);
        return buffer;
    }
    if (status)
        *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

static int is_buffer(cl_mem memory)
{
    cl_mem_object_type type = 0;
    return below->clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof(type), &type, NULL) == CL_SUCCESS &&
           type == CL_MEM_OBJECT_BUFFER;
}

static cl_int CL_API_CALL retain_memory(cl_mem memory)
{
    const int counts = is_buffer(memory);
    const cl_int status = below->clRetainMemObject(memory);
    atomic_fetch_add(&buffers, counts && status == CL_SUCCESS);
    return status;
}

static cl_int CL_API_CALL release_memory(cl_mem memory)
{
    const int counts = is_buffer(memory);
    const cl_int status = below->clReleaseMemObject(memory);
    atomic_fetch_sub(&buffers, counts && status == CL_SUCCESS);
    return status;
}

static struct timespec in_a_minute(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    return end;
}

static void be_held(cl_uint which)
{
    const struct timespec end = in_a_minute();
    pthread_mutex_lock(&lock);
    if (hold == which && !held) {
        held = 1;
        while (hold == which && pthread_cond_timedwait(&arrived, &lock, &end) == 0)
            continue;
        held = 0;
    }
    pthread_mutex_unlock(&lock);
}

static void meet(void)
{
    const struct timespec end = in_a_minute();
    pthread_mutex_lock(&lock);
    there++;
    pthread_cond_broadcast(&arrived);
    int waited = 0;
    while (there < expected && waited == 0)
        waited = pthread_cond_timedwait(&arrived, &lock, &end);
    if (waited)
        expected = 0; /* nobody else shall wait */
    pthread_mutex_unlock(&lock);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint wait_count, const cl_event *wait,
                                 cl_event *event)
{
    atomic_fetch_add(&launches, 1);
    meet();
    be_held(BELOW_HOLD_BEFORE);
    return below->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, wait_count, wait, event);
}

/* PoCL loses a command that fails before what else it waits for is over. A gate is opened once: there is none if no command was enqueued
 * behind it. */
static cl_int open_gate(cl_uint at, bool fail)
{
    const cl_event gate = gates[at], before = before_gates[at];
    gates[at] = before_gates[at] = NULL;
    if (!gate)
        return CL_INVALID_EVENT;
    if (fail && before) {
        const struct timespec some_milliseconds = {0, 10000000}; /* until PoCL's thread has left that command */
        below->clWaitForEvents(1, &before);
        nanosleep(&some_milliseconds, NULL);
    }
    if (before)
        below->clReleaseEvent(before);
    below->clSetUserEventStatus(gate, fail ? -5 : CL_COMPLETE);
    return below->clReleaseEvent(gate);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info name, size_t room, void *to,
                                         size_t *size_ret)
{
    cl_uint *value = to;
    switch (name) {
    case BELOW_FAIL_BUFFER: atomic_store(&until_failure, *value); return CL_SUCCESS;
    case BELOW_LAUNCHES: *value = atomic_load(&launches); return CL_SUCCESS;
    case BELOW_BUFFERS: *value = atomic_load(&buffers); return CL_SUCCESS;
    case BELOW_MEET:
    case BELOW_MET:
        pthread_mutex_lock(&lock);
        if (name == BELOW_MEET)
            expected = 2, there = 0;
        else
            *value = expected == 2 && there >= 2;
        pthread_mutex_unlock(&lock);
        return CL_SUCCESS;
    case BELOW_HOLD:
    case BELOW_HELD:
        pthread_mutex_lock(&lock);
        if (name == BELOW_HOLD)
            hold = *value;
        else
            *value = held;
        pthread_cond_broadcast(&arrived);
        pthread_mutex_unlock(&lock);
        return CL_SUCCESS;
    case BELOW_GATE: next_gate = *value; return CL_SUCCESS;
    case BELOW_OPEN:
    case BELOW_FAIL: return open_gate(*value - 1, name == BELOW_FAIL);
    default: return below->clGetCommandQueueInfo(queue, name, room, to, size_ret);
    }
}

/* The pointer is lost: the kernel keeps what it had, which these tests may use as well. */
static cl_int CL_API_CALL set_pointer(cl_kernel kernel, cl_uint index, const void *pointer)
{
    return kernel && index < 16 && pointer ? CL_SUCCESS : CL_INVALID_ARG_VALUE;
}

static void *CL_API_CALL get_address(cl_platform_id platform, const char *name)
{
    static cl_int(CL_API_CALL *const pointer)(cl_kernel, cl_uint, const void *) = set_pointer;
    void *address = NULL;
    if (strcmp(name, "clSetKernelArgMemPointerINTEL") == 0)
        memcpy(&address, &pointer, sizeof(address));
    else if (strcmp(name, "clEnqueueStrangeEXT") == 0 || strcmp(name, "clEnqueueSVMStrangeEXT") == 0 ||
             strcmp(name, "clConvertImageAMD") == 0 || strcmp(name, "clGetPlaneFromImageAMD") == 0 ||
             strcmp(name, "clCreateBufferFromImageAMD") == 0 || strcmp(name, "clCreateImageWithPropertiesINTEL") == 0)
        memcpy(&address, &pointer, sizeof(address)); /* to be asked for, not to be called */
    else if (strcmp(name, "clEnqueueReadBuffer") == 0)
        memcpy(&address, &below->clEnqueueReadBuffer, sizeof(address));
    else
        address = below->clGetExtensionFunctionAddressForPlatform(platform, name);
    return address;
}

static bool is_left_out(cl_image_format format, bool everywhere)
{
    const cl_channel_type type = format.image_channel_data_type;
    return ((type == CL_UNORM_INT8 || type == CL_HALF_FLOAT) && !everywhere) ||
           (format.image_channel_order != CL_RGBA && format.image_channel_order != CL_BGRA);
}

static cl_device_id last_device(void)
{
    cl_platform_id platform = NULL;
    cl_device_id devices[8] = {NULL};
    cl_uint count = 0;
    below->clGetPlatformIDs(1, &platform, NULL);
    below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, &count);
    return count && count <= 8 ? devices[count - 1] : NULL;
}

/* Of no other device. */
static bool of_last_device(cl_context context)
{
    cl_device_id devices[8] = {NULL};
    size_t size = 0;
    return below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size) == CL_SUCCESS &&
           size == sizeof(devices[0]) && devices[0] == last_device();
}

/* Whether the queue's device lacks the format of the image. */
static bool lacks_format(cl_command_queue queue, cl_mem image)
{
    const char *few = getenv(BELOW_FEW_FORMATS);
    cl_device_id device = NULL;
    cl_image_format format;
    return few && strcmp(few, "last") == 0 &&
           below->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) == CL_SUCCESS &&
           device == last_device() &&
           below->clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL) == CL_SUCCESS &&
           is_left_out(format, true);
}

static cl_int CL_API_CALL get_formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint room,
                                      cl_image_format *formats, cl_uint *count)
{
    cl_image_format all[256];
    cl_uint found = 0, kept = 0;
    const char *few = getenv(BELOW_FEW_FORMATS);
    const bool everywhere = few && (strcmp(few, "all") == 0 || (strcmp(few, "last") == 0 && of_last_device(context)));
    if (!few || (type != CL_MEM_OBJECT_IMAGE3D && !everywhere))
        return below->clGetSupportedImageFormats(context, flags, type, room, formats, count);
    const cl_int status = below->clGetSupportedImageFormats(context, flags, type, 256, all, &found);
    for (cl_uint i = 0; i < found && i < 256; i++) {
        if (is_left_out(all[i], everywhere))
            continue;
        if (formats && kept < room)
            formats[kept] = all[i];
        kept++;
    }
    if (count)
        *count = kept;
    return status;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    static const char remote[] = "OpenCL 3.0 PoCL HSTR: cpu HSTR: pocl-remote: cpu";
    if (name == CL_DEVICE_VERSION && getenv(BELOW_NO_GAPS))
        return give_answer(remote, sizeof(remote), room, to, size_ret);
    return below->clGetDeviceInfo(device, name, room, to, size_ret);
}

/* The pitches that it passes on. */
static size_t without_gaps(size_t pitch)
{
    return getenv(BELOW_NO_GAPS) ? 0 : pitch;
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                     const size_t *region, size_t row, size_t slice, void *to, cl_uint wait_count,
                                     const cl_event *wait, cl_event *event)
{
    if (lacks_format(queue, image))
        return CL_IMAGE_FORMAT_NOT_SUPPORTED;
    return below->clEnqueueReadImage(queue, image, blocking, origin, region, without_gaps(row), without_gaps(slice), to,
                                     wait_count, wait, event);
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                      const size_t *region, size_t row, size_t slice, const void *from,
                                      cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (lacks_format(queue, image))
        return CL_IMAGE_FORMAT_NOT_SUPPORTED;
    return below->clEnqueueWriteImage(queue, image, blocking, origin, region, without_gaps(row), without_gaps(slice),
                                      from, wait_count, wait, event);
}

static cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                                     const size_t *to_origin, const size_t *region, cl_uint wait_count,
                                     const cl_event *wait, cl_event *event)
{
    be_held(BELOW_HOLD_BEFORE);
    return below->clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, wait_count, wait, event);
}

/* Behind a user event besides, which nobody above knows. */
static cl_int copy_gated(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset, const size_t *origin,
                         const size_t *region, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    cl_context context = NULL;
    cl_event both[2] = {wait_count ? *wait : NULL, NULL}, *gate = &gates[next_gate - 1];
    before_gates[next_gate - 1] = wait_count && below->clRetainEvent(*wait) == CL_SUCCESS ? *wait : NULL;
    cl_int status = below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    next_gate = 0;
    *gate = status == CL_SUCCESS && wait_count < 2 ? below->clCreateUserEvent(context, &status) : NULL;
    both[wait_count ? 1 : 0] = *gate;
    return *gate ? below->clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, wait_count + 1, both,
                                                     event)
                 : CL_INVALID_EVENT_WAIT_LIST;
}

static cl_int CL_API_CALL copy_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                        const size_t *origin, const size_t *region, cl_uint wait_count,
                                        const cl_event *wait, cl_event *event)
{
    if (next_gate)
        return copy_gated(queue, buffer, image, offset, origin, region, wait_count, wait, event);
    const cl_int status =
        below->clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, wait_count, wait, event);
    be_held(BELOW_HOLD_AFTER);
    return status;
}

/* What a blocking command gives that gave `status` below. */
static cl_int own_status(cl_bool blocking, cl_int status, const cl_event *event)
{
    cl_int own = CL_COMPLETE;
    if (!getenv(BELOW_OWN_STATUS) || !blocking || !event || !*event)
        return status;
    below->clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(own), &own, NULL);
    return own < 0 ? own : status;
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *at,
                                    const size_t *host_at, const size_t *region, size_t row, size_t slice,
                                    size_t host_row, size_t host_slice, void *host, cl_uint wait_count,
                                    const cl_event *wait, cl_event *event)
{
    const cl_int status = below->clEnqueueReadBufferRect(queue, buffer, blocking, at, host_at, region, row, slice,
                                                         host_row, host_slice, host, wait_count, wait, event);
    return own_status(blocking, status, event);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *at,
                                     const size_t *host_at, const size_t *region, size_t row, size_t slice,
                                     size_t host_row, size_t host_slice, const void *host, cl_uint wait_count,
                                     const cl_event *wait, cl_event *event)
{
    const cl_int status = below->clEnqueueWriteBufferRect(queue, buffer, blocking, at, host_at, region, row, slice,
                                                          host_row, host_slice, host, wait_count, wait, event);
    return own_status(blocking, status, event);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                                    cl_event *event, cl_int *status)
{
    void *mapped =
        below->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, wait_count, wait, event, status);
    const cl_int own = mapped ? own_status(blocking, CL_SUCCESS, event) : CL_SUCCESS;
    if (own == CL_SUCCESS)
        return mapped;
    below->clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL);
    *status = own;
    return NULL;
}

static void replace(void)
{
    table.clEnqueueCopyImage = copy_image;
    table.clEnqueueCopyBufferToImage = copy_to_image;
    table.clEnqueueReadBufferRect = read_rect;
    table.clEnqueueWriteBufferRect = write_rect;
    table.clEnqueueMapBuffer = map_buffer;
    table.clEnqueueReadImage = read_image;
    table.clEnqueueWriteImage = write_image;
    table.clGetDeviceInfo = get_device_info;
    table.clGetSupportedImageFormats = get_formats;
    table.clCreateBuffer = create_buffer;
    table.clRetainMemObject = retain_memory;
    table.clReleaseMemObject = release_memory;
    table.clEnqueueNDRangeKernel = launch;
    table.clGetCommandQueueInfo = get_queue_info;
    table.clGetExtensionFunctionAddressForPlatform = get_address;
}
