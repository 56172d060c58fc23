/* Host-side commands on emulated images: read, write, fill and the copies. Each is a short chain of the driver's commands
 * that the application sees as one, with one event. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"
#include "handles/handle_kind.h"

/* The other side of a read, write or copy: the host's memory in the terms of clEnqueueReadBufferRect, or a buffer. */
struct host_rows {
    char *data;     /* NULL: a buffer */
    size_t rows[3]; /* bytes, rows, slices */
    size_t row_pitch, slice_pitch;
    cl_mem buffer;
    size_t offset; /* in it */
};

static const size_t zero[3] = {0, 0, 0};

static cl_int host_rows(const char *call, const struct image_part *p, size_t row_pitch, size_t slice_pitch,
                        const void *data, struct host_rows *host)
{
    const cl_int status = image_check_part(call, p);
    if (status != CL_SUCCESS)
        return status;
    const size_t bytes = p->region[0] * p->image->converter->narrow_texel, row = row_pitch ? row_pitch : bytes;
    if (!data)
        return log_refuse(call, CL_INVALID_VALUE, "ptr is NULL");
    if (row < bytes)
        return log_refuse(call, CL_INVALID_VALUE, "the row pitch of %zu bytes is less than a row of %zu bytes", row,
                          bytes);
    if (slice_pitch && (slice_pitch < row * p->region[1] || slice_pitch % row))
        return log_refuse(call, CL_INVALID_VALUE,
                          "the slice pitch of %zu bytes is less than a slice, or not a multiple of the row pitch, %zu",
                          slice_pitch, row);
    *host = (struct host_rows){.data = (char *)data, .rows = {bytes, p->region[1], p->region[2]}, .row_pitch = row};
    host->slice_pitch = p->region[2] > 1 ? slice_pitch : 0;
    return CL_SUCCESS;
}

/* ---- read and write ---- */

/* The steps of a read or a copy from the image, whose events the caller owns. On failure there are none, and nothing uses
 * the host's memory. */
static cl_int read_steps(const struct image_part *p, const struct host_rows *host, cl_event *first, cl_event *done)
{
    cl_int status;
    cl_event packed = NULL;
    *first = *done = NULL;
    cl_mem narrow = image_narrow_buffer(p->image, 0, p->region, &status);
    if (!narrow)
        return status;
    status = image_to_narrow(p, narrow, first, &packed);
    if (status == CL_SUCCESS)
        status = host->data
                     ? next.clEnqueueReadBufferRect(p->queue, narrow, CL_FALSE, zero, zero, host->rows, 0, 0,
                                                    host->row_pitch, host->slice_pitch, host->data, 1, &packed, done)
                     : next.clEnqueueCopyBuffer(p->queue, narrow, host->buffer, 0, host->offset,
                                                image_region_bytes(p->image, p->region), 1, &packed, done);
    if (status != CL_SUCCESS) {
        event_put(*first);
        *first = NULL;
    }
    event_put(packed);
    next.clReleaseMemObject(narrow);
    return status;
}

/* The steps of a write or a copy to the image, whose events the caller owns. On failure `first` is the event of a command
 * that still reads the host's memory, or NULL. */
static cl_int write_steps(const struct image_part *p, const struct host_rows *host, cl_event *first, cl_event *done)
{
    cl_int status;
    *first = *done = NULL;
    cl_mem narrow = image_narrow_buffer(p->image, 0, p->region, &status);
    if (!narrow)
        return status;
    status =
        host->data
            ? next.clEnqueueWriteBufferRect(p->queue, narrow, CL_FALSE, zero, zero, host->rows, 0, 0, host->row_pitch,
                                            host->slice_pitch, host->data, p->wait_count, p->wait, first)
            : next.clEnqueueCopyBuffer(p->queue, host->buffer, narrow, host->offset, 0,
                                       image_region_bytes(p->image, p->region), p->wait_count, p->wait, first);
    if (status == CL_SUCCESS) {
        const struct image_part behind = image_part_behind(p, first);
        status = image_from_narrow(&behind, narrow, done);
    }
    next.clReleaseMemObject(narrow);
    return status;
}

/* The rest of a command, whose arguments were checked with the result `status`. Takes over the image's record. */
static cl_int run(const char *call, cl_int status, struct image_part *p, const struct host_rows *host, bool write,
                  bool blocking, cl_command_type type, cl_event *event)
{
    cl_event first = NULL, done = NULL;
    if (status == CL_SUCCESS && blocking)
        status = image_part_await(call, p);
    if (status == CL_SUCCESS)
        status = (write ? write_steps : read_steps)(p, host, &first, &done);
    /* The application assumes that a failed command no longer uses its memory. There is no wait if a user event could make
     * it endless, or in a callback, where the driver may need this thread. */
    if (status != CL_SUCCESS && first && !user_event_pending() && !callback_runs_here())
        event_await(first);
    status = image_publish(p, status, blocking, type, first, done, event);
    record_release(p->image);
    return status;
}

static cl_int CL_API_CALL read_image(cl_command_queue command_queue, cl_mem handle, cl_bool blocking_read,
                                     const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
                                     void *ptr, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                     cl_event *event)
{
    static const char call[] = "clEnqueueReadImage";
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clEnqueueReadImage(command_queue, handle, blocking_read, origin, region, row_pitch, slice_pitch,
                                       ptr, num_events_in_wait_list, event_wait_list, event);
    struct image_part part = {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    struct host_rows host;
    const cl_int status = host_rows(call, &part, row_pitch, slice_pitch, ptr, &host);
    return run(call, status, &part, &host, false, blocking_read, CL_COMMAND_READ_IMAGE, event);
}

static cl_int CL_API_CALL write_image(cl_command_queue command_queue, cl_mem handle, cl_bool blocking_write,
                                      const size_t *origin, const size_t *region, size_t input_row_pitch,
                                      size_t input_slice_pitch, const void *ptr, cl_uint num_events_in_wait_list,
                                      const cl_event *event_wait_list, cl_event *event)
{
    static const char call[] = "clEnqueueWriteImage";
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clEnqueueWriteImage(command_queue, handle, blocking_write, origin, region, input_row_pitch,
                                        input_slice_pitch, ptr, num_events_in_wait_list, event_wait_list, event);
    struct image_part part = {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    struct host_rows host;
    const cl_int status = host_rows(call, &part, input_row_pitch, input_slice_pitch, ptr, &host);
    return run(call, status, &part, &host, true, blocking_write, CL_COMMAND_WRITE_IMAGE, event);
}

/* ---- for transports ---- */

static cl_int move_emulated(const struct image_part *p, bool write, const struct mapped_surface *rows,
                            struct event_list *events)
{
    struct host_rows host;
    cl_event first = NULL, done = NULL;
    cl_int status =
        host_rows("the acquire or release of an image", p, rows->row_pitch, rows->slice_pitch, rows->data, &host);
    if (status == CL_SUCCESS)
        status = write ? write_steps(p, &host, &first, &done) : read_steps(p, &host, &first, &done);
    event_list_add(events, first);
    event_list_add(events, done);
    return status;
}

static cl_int move_stored(cl_mem image, bool write, const size_t *origin, const size_t *region,
                          const struct mapped_surface *rows, const struct enqueueing *to)
{
    cl_event event = NULL;
    const cl_int status =
        write ? next.clEnqueueWriteImage(to->queue, image, CL_FALSE, origin, region, rows->row_pitch, rows->slice_pitch,
                                         rows->data, to->wait_count, to->wait, &event)
              : next.clEnqueueReadImage(to->queue, image, CL_FALSE, origin, region, rows->row_pitch, rows->slice_pitch,
                                        rows->data, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

cl_int image_move(cl_mem handle, bool stored, bool write, const size_t *origin, const size_t *region,
                  const struct mapped_surface *rows, const struct enqueueing *to)
{
    struct image_record *image = stored ? NULL : image_get(handle);
    const struct image_part part = {image, origin, region, to->queue, to->wait_count, to->wait};
    cl_int status;
    if (!event_list_reserve(to->done, 2))
        status =
            log_refuse("the acquire or release of an image", CL_OUT_OF_HOST_MEMORY, "no memory for a list of events");
    else if (image)
        status = move_emulated(&part, write, rows, to->done);
    else
        status = move_stored(handle, write, origin, region, rows, to);
    record_release(image);
    return status;
}

/* ---- fill ---- */

/* The driver fills with the colour as it is: the image counts as written by a kernel. */
static cl_int CL_API_CALL fill_image(cl_command_queue command_queue, cl_mem handle, const void *fill_color,
                                     const size_t *origin, const size_t *region, cl_uint num_events_in_wait_list,
                                     const cl_event *event_wait_list, cl_event *event)
{
    struct image_record *image = image_get(handle);
    cl_int status = CL_SUCCESS;
    if (image) {
        status = image_check_part("clEnqueueFillImage",
                                  &(struct image_part){.image = image, .origin = origin, .region = region});
        image_set_unquantized(image, true);
    }
    if (status == CL_SUCCESS)
        status = next.clEnqueueFillImage(command_queue, handle, fill_color, origin, region, num_events_in_wait_list,
                                         event_wait_list, event);
    record_release(image);
    return status;
}

/* ---- copies ---- */

/* The copy between two emulated images, which may be stored in different formats: through declared texels. */
static cl_int copy_emulated(const struct image_part *out, const struct image_part *in, cl_event *event)
{
    static const char call[] = "clEnqueueCopyImage";
    cl_event first = NULL, done = NULL;
    if (!cl_format_equal(out->image->converter->declared, in->image->converter->declared))
        return log_refuse(call, CL_IMAGE_FORMAT_MISMATCH, "the source and the destination have different formats");
    cl_int status = image_check_part(call, out);
    if (status == CL_SUCCESS)
        status = image_check_part(call, in);
    if (status == CL_SUCCESS)
        status = image_copy(out, in, &first, &done);
    return image_publish(in, status, false, CL_COMMAND_COPY_IMAGE, first, done, event);
}

/* Of a copy, only one object is an emulated image. */
static cl_int refuse_other(cl_mem other)
{
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    if (!handle_is_other(HANDLE_MEMORY, other))
        next.clGetMemObjectInfo(other, CL_MEM_TYPE, sizeof(type), &type, NULL);
    return type == CL_MEM_OBJECT_BUFFER
               ? log_refuse("clEnqueueCopyImage", CL_INVALID_MEM_OBJECT, "%p is not an image", (void *)other)
               : log_refuse("clEnqueueCopyImage", CL_IMAGE_FORMAT_MISMATCH,
                            "the format of image %p is not one that cld3d emulates", (void *)other);
}

static cl_int CL_API_CALL copy_image(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_image,
                                     const size_t *src_origin, const size_t *dst_origin, const size_t *region,
                                     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    struct image_record *from = image_get(src_image), *to = image_get(dst_image);
    const struct image_part out = {from, src_origin, region, command_queue, num_events_in_wait_list, event_wait_list},
                            in = {to, dst_origin, region, command_queue, 0, NULL};
    const cl_int status = from && to ? copy_emulated(&out, &in, event)
                          : from || to
                              ? refuse_other(from ? dst_image : src_image)
                              : next.clEnqueueCopyImage(command_queue, src_image, dst_image, src_origin, dst_origin,
                                                        region, num_events_in_wait_list, event_wait_list, event);
    record_release(from);
    record_release(to);
    return status;
}

static cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_buffer,
                                               const size_t *src_origin, const size_t *region, size_t dst_offset,
                                               cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                               cl_event *event)
{
    static const char call[] = "clEnqueueCopyImageToBuffer";
    struct image_record *image = image_get(src_image);
    if (!image)
        return next.clEnqueueCopyImageToBuffer(command_queue, src_image, dst_buffer, src_origin, region, dst_offset,
                                               num_events_in_wait_list, event_wait_list, event);
    struct image_part part = {image, src_origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    const struct host_rows to = {.buffer = dst_buffer, .offset = dst_offset};
    return run(call, image_check_part(call, &part), &part, &to, false, false, CL_COMMAND_COPY_IMAGE_TO_BUFFER, event);
}

static cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_image,
                                               size_t src_offset, const size_t *dst_origin, const size_t *region,
                                               cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                               cl_event *event)
{
    static const char call[] = "clEnqueueCopyBufferToImage";
    struct image_record *image = image_get(dst_image);
    if (!image)
        return next.clEnqueueCopyBufferToImage(command_queue, src_buffer, dst_image, src_offset, dst_origin, region,
                                               num_events_in_wait_list, event_wait_list, event);
    struct image_part part = {image, dst_origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    const struct host_rows from = {.buffer = src_buffer, .offset = src_offset};
    return run(call, image_check_part(call, &part), &part, &from, true, false, CL_COMMAND_COPY_BUFFER_TO_IMAGE, event);
}

void transfer_install(cl_icd_dispatch *table)
{
    table->clEnqueueReadImage = read_image;
    table->clEnqueueWriteImage = write_image;
    table->clEnqueueFillImage = fill_image;
    table->clEnqueueCopyImage = copy_image;
    table->clEnqueueCopyImageToBuffer = copy_image_to_buffer;
    table->clEnqueueCopyBufferToImage = copy_buffer_to_image;
}
