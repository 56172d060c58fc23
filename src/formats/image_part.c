/* Parts of emulated images: checks, and the conversions between an image and declared texels. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"

size_t image_region_bytes(const struct image_record *image, const size_t *region)
{
    return cl_region_bytes(region, image->converter->narrow_texel);
}

/* Packed YUV: two texels share their chroma, and can be moved only together. */
static bool in_pairs(const struct image_record *image)
{
    return cl_order_packed_yuv(image->converter->declared.image_channel_order);
}

bool image_region_inside(const size_t *extent, const size_t *origin, const size_t *region)
{
    if (!origin || !region)
        return false;
    for (int i = 0; i < 3; i++)
        if (region[i] == 0 || origin[i] > extent[i] || region[i] > extent[i] - origin[i])
            return false;
    return true;
}

bool image_part_valid(const struct image_part *p)
{
    return image_region_inside(p->image->extent, p->origin, p->region) &&
           (!in_pairs(p->image) || (p->origin[0] % 2 == 0 && p->region[0] % 2 == 0));
}

cl_int image_check_access(const char *call, const struct image_part *p, cl_mem_flags forbidden)
{
    if (!(p->image->flags & forbidden))
        return CL_SUCCESS;
    struct queue_record *queue = registry_get(RECORD_QUEUE, p->queue);
    const bool here = queue && queue->context == p->image->context;
    record_release(queue);
    return here ? log_refuse(call, CL_INVALID_OPERATION,
                             "the image was created with flags 0x%lx, which do not allow this access",
                             (unsigned long)p->image->flags)
                : CL_SUCCESS;
}

cl_mem image_buffer(const struct image_record *image, cl_mem_flags flags, size_t bytes, cl_int *status)
{
    cl_mem buffer = next.clCreateBuffer(image->context->head.handle, flags, bytes, NULL, status);
    log_next("a command on an image in an emulated format", "clCreateBuffer", *status);
    if (*status == CL_INVALID_BUFFER_SIZE) /* commands on images do not return this */
        *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return buffer;
}

cl_mem image_narrow_buffer(const struct image_record *image, const size_t *region, cl_int *status)
{
    return image_buffer(image, CL_MEM_READ_WRITE, image_region_bytes(image, region), status);
}

cl_mem image_wide_buffer(const struct image_record *image, const size_t *region, cl_int *status)
{
    return image_buffer(image, CL_MEM_READ_WRITE, cl_region_bytes(region, image->converter->wide_texel), status);
}

static size_t texels_of(const size_t *region)
{
    return region[0] * region[1] * region[2];
}

/* Ends a step of two commands: passes the events to the caller, or none after a failure. */
static cl_int end_steps(const struct image_part *p, cl_int status, cl_mem wide, cl_event begun, cl_event *first,
                        cl_event *done)
{
    next.clReleaseMemObject(wide); /* the driver keeps it until its commands have ended */
    if (status != CL_SUCCESS) {
        *done = NULL;
        image_give_up(p, begun);
    } else if (first) {
        *first = begun;
    } else {
        event_put(begun);
    }
    return status;
}

cl_int image_to_narrow(const struct image_part *p, cl_mem narrow, cl_event *first, cl_event *done)
{
    struct converter *c = p->image->converter;
    const size_t texels = texels_of(p->region);
    cl_int status;
    cl_event copied = NULL;
    cl_mem wide = image_wide_buffer(p->image, p->region, &status);
    if (!wide)
        return status;
    status = next.clEnqueueCopyImageToBuffer(p->queue, p->image->head.handle, wide, p->origin, p->region, 0,
                                             p->wait_count, p->wait, &copied);
    if (status == CL_SUCCESS)
        status = converter_enqueue(c, false, p->queue, wide, narrow, texels, 1, &copied, done);
    return end_steps(p, status, wide, copied, first, done);
}

cl_int image_from_narrow(const struct image_part *p, cl_mem narrow, cl_mem wide, cl_event *done)
{
    struct converter *c = p->image->converter;
    const size_t texels = texels_of(p->region);
    cl_int status;
    cl_event converted = NULL;
    if (!wide)
        wide = image_wide_buffer(p->image, p->region, &status);
    if (!wide)
        return status;
    status = converter_enqueue(c, true, p->queue, narrow, wide, texels, p->wait_count, p->wait, &converted);
    if (status == CL_SUCCESS)
        status = next.clEnqueueCopyBufferToImage(p->queue, wide, p->image->head.handle, 0, p->origin, p->region, 1,
                                                 &converted, done);
    return end_steps(p, status, wide, converted, NULL, done);
}

void image_publish(cl_command_queue queue, cl_command_type type, cl_event first, cl_event done, cl_event *event)
{
    struct queue_record *record = event ? registry_get(RECORD_QUEUE, queue) : NULL;
    if (record) {
        event_track(done, type, record, first);
        first = NULL;
    }
    if (event)
        *event = done;
    else
        event_put(done);
    event_put(first);
    record_release(record);
}
