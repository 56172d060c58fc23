/* What tests step around in drivers, found by a trial without sharing. What is found is printed, and stands in docs/quirks.md. */
#ifndef CLD3D_TEST_DRIVER_BUGS_H
#define CLD3D_TEST_DRIVER_BUGS_H

#include "tap.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <string.h>

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
