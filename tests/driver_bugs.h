/* What tests step around in drivers, found by a trial without sharing. What is found is printed, and stands in docs/quirks.md. */
#ifndef CLD3D_TEST_DRIVER_BUGS_H
#define CLD3D_TEST_DRIVER_BUGS_H

#include "tap.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <string.h>

static inline bool is_named(cl_platform_id platform, const char *expected)
{
    char name[256] = "";
    CHECK_INT(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL), CL_SUCCESS);
    return strcmp(name, expected) == 0;
}

static inline bool is_pocl(cl_platform_id platform)
{
    return is_named(platform, "Portable Computing Language");
}

static inline bool is_nvidia(cl_platform_id platform)
{
    return is_named(platform, "NVIDIA CUDA");
}

/* Whether clEnqueueCopyImageToBuffer puts its bytes where it is asked to. rusticl 25.0 takes the offset for texels, and writes behind
 * the buffer's end without a word. */
static inline bool copies_at_offset(cl_context context, cl_command_queue queue)
{
    enum { TEXEL = 4, OFFSET = 8 };
    static const size_t origin[3] = {0, 0, 0}, region[3] = {1, 1, 1};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1, .image_height = 1};
    unsigned char texel[TEXEL] = {1, 2, 3, 4}, found[(OFFSET + 1) * TEXEL] = {0};
    cl_mem image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, texel, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(found), found, NULL);
    CHECK_INT(clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, OFFSET, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(found), found, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    return memcmp(found + OFFSET, texel, TEXEL) == 0;
}

/* Whether what a queue has before it ends well. Not by a marker: of NVIDIA's some are complete where barriers fail; nor by a wait, in
 * which that driver sees no error. */
static inline bool barrier_ends_well(cl_command_queue queue)
{
    cl_event barrier = NULL;
    cl_int status = 1;
    CHECK_INT(clEnqueueBarrierWithWaitList(queue, 0, NULL, &barrier), CL_SUCCESS);
    clWaitForEvents(1, &barrier);
    CHECK_INT(clGetEventInfo(barrier, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(barrier), CL_SUCCESS);
    return status == CL_COMPLETE;
}

/* Whether a queue goes on behind a marker that fails. A driver may refuse that, with the status of the event that it waits for:
 * NVIDIA's does. */
static inline bool queue_goes_on(cl_context context, cl_command_queue queue)
{
    cl_int status = 1;
    cl_event failed = clCreateUserEvent(context, &status), behind = NULL;
    CHECK_INT(clSetUserEventStatus(failed, -5), CL_SUCCESS);
    bool goes_on = clEnqueueMarkerWithWaitList(queue, 1, &failed, &behind) == CL_SUCCESS;
    if (goes_on) {
        clWaitForEvents(1, &behind);
        goes_on = barrier_ends_well(queue);
        CHECK_INT(clReleaseEvent(behind), CL_SUCCESS);
    }
    CHECK_INT(clReleaseEvent(failed), CL_SUCCESS);
    return goes_on;
}

/* Whether queues of a device go on behind a command that has failed. Those of rusticl 25.0 do not, and those of NVIDIA's driver do not
 * now and then: on a busy machine too rarely for a trial. PoCL's do, but never end a command that is enqueued behind an event that has failed before: the trial would hang. */
static inline bool device_queues_go_on(cl_device_id device)
{
    enum { TIMES = 64, WRITTEN = 1 << 20 };
    static const char bytes[WRITTEN];
    cl_int status = 1;
    cl_platform_id platform;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL), CL_SUCCESS);
    if (is_pocl(platform))
        return true;
    if (is_nvidia(platform))
        return false;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, WRITTEN, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    bool go_on = true;
    for (int i = 0; i < TIMES && go_on; i++) {
        cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
        if (i % 2) /* the command before ends at about that time */
            CHECK_INT(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, WRITTEN, bytes, 0, NULL, NULL), CL_SUCCESS);
        go_on = queue_goes_on(context, queue);
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return go_on;
}

/* The offset that copies of images to buffers can have. */
static inline size_t copy_offset(cl_context context, cl_command_queue queue, size_t wanted)
{
    static int right = -1;
    if (right < 0) {
        right = copies_at_offset(context, queue);
        if (!right)
            printf("# the driver copies images to a wrong place of a buffer: without an offset\n");
    }
    return right ? wanted : 0;
}

#endif
