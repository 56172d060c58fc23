/* A driver that does what it is told (below.h): it has no memory, lets a launch wait for another one, lacks formats, takes rows for rows
 * without gaps. And one that gives core functions by name, functions that set pointers as arguments, and others that nobody knows.
 * Threads may be in all its functions at once. */
#include "below.h"

#include "layer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_uint until_failure, launches;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static unsigned expected, there;
static bool gate_is_wanted; /* by the next copy of a buffer to an image; of one thread, as the gate is */
static cl_event gate;

REPLACES(clCreateBuffer)
{
    return atomic_load(&until_failure) && atomic_fetch_sub(&until_failure, 1) == 1
               ? refuse(errcode_ret, CL_MEM_OBJECT_ALLOCATION_FAILURE)
               : PASS(clCreateBuffer);
}

static void meet(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
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

REPLACES(clEnqueueNDRangeKernel)
{
    atomic_fetch_add(&launches, 1);
    meet();
    return PASS(clEnqueueNDRangeKernel);
}

/* Behind a user event besides, which nobody above knows. */
static cl_int copy_gated(PARAMETERS_clEnqueueCopyBufferToImage)
{
    cl_event both[2] = {make_user_event(command_queue), num_events_in_wait_list ? *event_wait_list : NULL};
    gate = both[0];
    event_wait_list = both;
    return num_events_in_wait_list++ < 2 ? PASS(clEnqueueCopyBufferToImage) : CL_INVALID_EVENT_WAIT_LIST;
}

REPLACES(clEnqueueCopyBufferToImage)
{
    if (gate_is_wanted) {
        gate_is_wanted = false;
        return copy_gated(ARGUMENTS_clEnqueueCopyBufferToImage);
    }
    return PASS(clEnqueueCopyBufferToImage);
}

/* There is no gate if no command was enqueued behind it. */
static cl_int open_gate(void)
{
    const cl_event opened = gate;
    gate = NULL;
    if (!opened)
        return CL_INVALID_EVENT;
    below->clSetUserEventStatus(opened, CL_COMPLETE);
    return below->clReleaseEvent(opened);
}

REPLACES(clGetCommandQueueInfo)
{
    cl_uint *value = param_value;
    cl_int status = CL_SUCCESS;
    pthread_mutex_lock(&lock);
    switch (param_name) {
    case BELOW_FAIL_BUFFER: atomic_store(&until_failure, *value); break;
    case BELOW_LAUNCHES: *value = atomic_load(&launches); break;
    case BELOW_MEET: expected = 2, there = 0; break;
    case BELOW_MET: *value = expected == 2 && there >= 2; break;
    case BELOW_GATE: gate_is_wanted = true; break;
    case BELOW_OPEN: status = open_gate(); break;
    default: pthread_mutex_unlock(&lock); return PASS(clGetCommandQueueInfo);
    }
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- functions by name ---- */

/* The pointer is lost: the kernel keeps what it had, which these tests may use as well. */
static cl_int CL_API_CALL set_pointer(cl_kernel kernel, cl_uint index, const void *pointer)
{
    return kernel && index < 16 && pointer ? CL_SUCCESS : CL_INVALID_ARG_VALUE;
}

REPLACES(clGetExtensionFunctionAddressForPlatform)
{
    static cl_int(CL_API_CALL *const pointer)(cl_kernel, cl_uint, const void *) = set_pointer;
    static const char *const names[] = {
        "clSetKernelArgMemPointerINTEL", /* and what is to be asked for, not to be called: */
        "clEnqueueStrangeEXT",           "clEnqueueSVMStrangeEXT",     "clConvertImageAMD",
        "clGetPlaneFromImageAMD",        "clCreateBufferFromImageAMD", "clCreateImageWithPropertiesINTEL",
    };
    void *address = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(function_name, names[i]) == 0)
            memcpy(&address, &pointer, sizeof(address));
    if (strcmp(function_name, "clEnqueueReadBuffer") == 0)
        memcpy(&address, &below->clEnqueueReadBuffer, sizeof(address));
    return address ? address : PASS(clGetExtensionFunctionAddressForPlatform);
}

/* ---- images ---- */

REPLACES(clGetSupportedImageFormats)
{
    cl_uint found = 0, kept = 0;
    const bool everywhere = is_set(BELOW_FEW_FORMATS, "all");
    cl_image_format all[256];
    if (!getenv(BELOW_FEW_FORMATS) || (image_type != CL_MEM_OBJECT_IMAGE3D && !everywhere))
        return PASS(clGetSupportedImageFormats);
    const cl_int status = below->clGetSupportedImageFormats(context, flags, image_type, 256, all, &found);
    for (cl_uint i = 0; i < found && i < 256; i++) {
        const cl_channel_type type = all[i].image_channel_data_type;
        if (((type == CL_UNORM_INT8 || type == CL_HALF_FLOAT) && !everywhere) ||
            (all[i].image_channel_order != CL_RGBA && all[i].image_channel_order != CL_BGRA))
            continue;
        if (image_formats && kept < num_entries)
            image_formats[kept] = all[i];
        kept++;
    }
    if (num_image_formats)
        *num_image_formats = kept;
    return status;
}

REPLACES(clGetDeviceInfo)
{
    return param_name == CL_DEVICE_VERSION && getenv(BELOW_NO_GAPS)
               ? ANSWER_TEXT("OpenCL 3.0 PoCL HSTR: cpu HSTR: pocl-remote: cpu")
               : PASS(clGetDeviceInfo);
}

/* Without the pitches. */
REPLACES(clEnqueueReadImage)
{
    if (getenv(BELOW_NO_GAPS))
        row_pitch = slice_pitch = 0;
    return PASS(clEnqueueReadImage);
}

REPLACES(clEnqueueWriteImage)
{
    if (getenv(BELOW_NO_GAPS))
        input_row_pitch = input_slice_pitch = 0;
    return PASS(clEnqueueWriteImage);
}
