/* Parts of emulated images: checks, and the conversions between an image and declared texels. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"

size_t image_region_bytes(const struct image_record *image, const size_t *region)
{
    return cl_region_bytes(region, image->converter->narrow_texel);
}

cl_int image_check_part(const char *call, const struct image_part *p)
{
    const size_t *extent = p->image->extent, *origin = p->origin, *region = p->region;
    bool inside = origin && region;
    for (int i = 0; i < 3 && inside; i++)
        inside = region[i] && origin[i] <= extent[i] && region[i] <= extent[i] - origin[i];
    if (!inside)
        return log_refuse(call, CL_INVALID_VALUE, "the region is empty or outside the image of %zux%zux%zu texels",
                          extent[0], extent[1], extent[2]);
    if (cl_order_packed_yuv(p->image->converter->declared.image_channel_order) && (origin[0] % 2 || region[0] % 2))
        return log_refuse(call, CL_INVALID_VALUE,
                          "two texels of packed YUV share their chroma: x and width must be even");
    return CL_SUCCESS;
}

cl_int image_part_await(const char *call, struct image_part *p)
{
    const cl_int status = event_check_list(call, p->image->context->head.handle, p->wait_count, p->wait);
    bool all = true;
    for (cl_uint i = 0; i < p->wait_count && status == CL_SUCCESS; i++)
        all = event_await(p->wait[i]) && all;
    p->wait_count = 0;
    p->wait = NULL;
    return all ? status : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

static cl_mem make_buffer(const struct image_record *image, cl_mem_flags flags, const size_t *region, size_t texel,
                          cl_int *status)
{
    cl_mem buffer =
        next.clCreateBuffer(image->context->head.handle, flags, cl_region_bytes(region, texel), NULL, status);
    log_next("a command on an image in an emulated format", "clCreateBuffer", *status);
    if (*status == CL_INVALID_BUFFER_SIZE) /* commands on images do not return this */
        *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return buffer;
}

cl_mem image_narrow_buffer(const struct image_record *image, cl_mem_flags flags, const size_t *region, cl_int *status)
{
    return make_buffer(image, CL_MEM_READ_WRITE | flags, region, image->converter->narrow_texel, status);
}

cl_int image_to_narrow(const struct image_part *p, cl_mem narrow, cl_event *first, cl_event *done)
{
    const size_t texels = p->region[0] * p->region[1] * p->region[2];
    cl_int status;
    cl_event copied = NULL;
    *done = NULL;
    cl_mem wide = make_buffer(p->image, CL_MEM_READ_WRITE, p->region, p->image->converter->wide_texel, &status);
    if (!wide)
        return status;
    status = next.clEnqueueCopyImageToBuffer(p->queue, p->image->head.handle, wide, p->origin, p->region, 0,
                                             p->wait_count, p->wait, &copied);
    if (status == CL_SUCCESS)
        status = converter_enqueue(p->image->converter, false, p->queue, wide, narrow, texels, 1, &copied, done);
    next.clReleaseMemObject(wide); /* the driver keeps it until its commands have ended */
    if (first && status == CL_SUCCESS)
        *first = copied;
    else
        event_put(copied);
    return status;
}

cl_int image_from_narrow(const struct image_part *p, cl_mem narrow, cl_event *done)
{
    const size_t texels = p->region[0] * p->region[1] * p->region[2];
    cl_int status;
    cl_event converted = NULL;
    *done = NULL;
    cl_mem wide = make_buffer(p->image, CL_MEM_READ_WRITE, p->region, p->image->converter->wide_texel, &status);
    if (!wide)
        return status;
    status = converter_enqueue(p->image->converter, true, p->queue, narrow, wide, texels, p->wait_count, p->wait,
                               &converted);
    if (status == CL_SUCCESS)
        status = next.clEnqueueCopyBufferToImage(p->queue, wide, p->image->head.handle, 0, p->origin, p->region, 1,
                                                 &converted, done);
    next.clReleaseMemObject(wide);
    event_put(converted);
    return status;
}

cl_int image_copy(const struct image_part *from, const struct image_part *to, cl_event *first, cl_event *done)
{
    cl_int status;
    cl_event packed = NULL;
    cl_mem narrow = image_narrow_buffer(from->image, 0, from->region, &status);
    if (!narrow)
        return status;
    status = image_to_narrow(from, narrow, first, &packed);
    if (status == CL_SUCCESS) {
        const struct image_part behind = image_part_behind(to, &packed);
        status = image_from_narrow(&behind, narrow, done);
    }
    event_put(packed);
    next.clReleaseMemObject(narrow);
    return status;
}

cl_int image_publish(const struct image_part *p, cl_int status, bool blocking, cl_command_type type, cl_event first,
                     cl_event done, cl_event *event)
{
    /* Not all drivers report the failure of a blocking command. */
    if (status == CL_SUCCESS && blocking && !event_await(done))
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    if (event && status == CL_SUCCESS) {
        struct queue_record *queue = registry_get(RECORD_QUEUE, p->queue);
        if (queue)
            event_track(done, type, queue);
        record_release(queue);
        *event = done;
    } else {
        event_put(done);
    }
    event_put(first);
    return status;
}
