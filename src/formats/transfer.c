/* Host-side commands on emulated images: read, write, fill and the copies. Each is a short chain of the driver's commands
 * that the application sees as one, with one event. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"
#include "handles/handle_kind.h"

#include <string.h>

/* The host memory of a read or write, in the terms of clEnqueueReadBufferRect. */
struct host_rows {
    size_t rows[3]; /* bytes, rows, slices */
    size_t row_pitch, slice_pitch;
};

/* In a 1D array the slice pitch is the distance of the layers, which are the rows of the rectangle. */
static cl_int host_rows(const char *call, const struct image_record *image, const size_t *region, size_t row_pitch,
                        size_t slice_pitch, struct host_rows *host)
{
    const size_t bytes = region[0] * image->converter->narrow_texel;
    if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
        row_pitch = slice_pitch ? slice_pitch : row_pitch;
        slice_pitch = 0;
    }
    if (row_pitch && row_pitch < bytes)
        return log_refuse(call, CL_INVALID_VALUE, "the row pitch of %zu bytes is less than a row of %zu bytes",
                          row_pitch, bytes);
    *host = (struct host_rows){{bytes, region[1], region[2]}, row_pitch ? row_pitch : bytes, 0};
    if (slice_pitch && slice_pitch < host->row_pitch * region[1])
        return log_refuse(call, CL_INVALID_VALUE, "the slice pitch of %zu bytes is less than a slice of %zu bytes",
                          slice_pitch, host->row_pitch * region[1]);
    host->slice_pitch = region[2] > 1 ? slice_pitch : 0;
    return CL_SUCCESS;
}

static cl_int refuse_region(const char *call, const size_t *extent)
{
    return log_refuse(call, CL_INVALID_VALUE, "the region is empty or outside the image of %zux%zux%zu texels",
                      extent[0], extent[1], extent[2]);
}

static cl_int check_region(const char *call, const struct image_part *p)
{
    return image_part_valid(p) ? CL_SUCCESS : refuse_region(call, p->image->extent);
}

static cl_int check_host(const char *call, const struct image_part *p, cl_mem_flags forbidden, size_t row_pitch,
                         size_t slice_pitch, const void *ptr, struct host_rows *host)
{
    cl_int status = image_check_access(call, p, forbidden | CL_MEM_HOST_NO_ACCESS);
    if (status == CL_SUCCESS)
        status = check_region(call, p);
    if (status != CL_SUCCESS)
        return status;
    return ptr ? host_rows(call, p->image, p->region, row_pitch, slice_pitch, host)
               : log_refuse(call, CL_INVALID_VALUE, "ptr is NULL");
}

/* ---- read and write ---- */

/* The first and last command of one transfer between a buffer and host memory, owned by the caller: each command waits
 * for the previous one. A single command is both. */
struct span {
    cl_event first, last;
};

static void span_add(struct span *span, cl_event event)
{
    if (!span->first)
        span->first = event;
    else if (span->last != span->first)
        event_put(span->last);
    span->last = event;
}

/* Keeps the last event if `last`, otherwise the first one, and puts the other. */
static cl_event span_keep(struct span *span, bool last)
{
    if (span->last != span->first)
        event_put(last ? span->first : span->last);
    return last ? span->last : span->first;
}

/* The slice pitch of an image need not be a multiple of the row pitch, but that of a buffer must; then each slice is
 * moved separately. */
static cl_int move_rows(const struct image_part *p, bool write, cl_bool blocking, cl_mem narrow,
                        const struct host_rows *host, void *ptr, struct span *span)
{
    static const size_t zero[3] = {0, 0, 0};
    const bool at_once = host->slice_pitch % host->row_pitch == 0;
    const size_t rows[3] = {host->rows[0], host->rows[1], at_once ? host->rows[2] : 1};
    const size_t count = at_once ? 1 : host->rows[2], slice_pitch = at_once ? host->slice_pitch : 0;
    cl_int status = CL_SUCCESS;
    for (size_t z = 0; z < count && status == CL_SUCCESS; z++) {
        const size_t origin[3] = {0, 0, z};
        char *slice = (char *)ptr + z * host->slice_pitch;
        const cl_uint before_count = span->last ? 1 : p->wait_count;
        const cl_event *before = span->last ? &span->last : p->wait;
        cl_event event = NULL;
        status = write
                     ? next.clEnqueueWriteBufferRect(p->queue, narrow, blocking, origin, zero, rows, 0, 0,
                                                     host->row_pitch, slice_pitch, slice, before_count, before, &event)
                     : next.clEnqueueReadBufferRect(p->queue, narrow, blocking, origin, zero, rows, 0, 0,
                                                    host->row_pitch, slice_pitch, slice, before_count, before, &event);
        if (status == CL_SUCCESS || (blocking && event))
            span_add(span, event);
        status = image_outcome(blocking, status, event);
    }
    return status;
}

/* Waits for a failed command's step, because the application assumes that a failed command no longer uses its memory.
 * There is no wait if a user event could make it endless, or in a callback, where the driver may need this thread: the
 * step then still uses that memory once it runs (docs/behaviour.md). */
static void end_failed(cl_event event)
{
    if (event && !blockers_possible() && !callback_runs_here()) {
        queue_flush_for(event);
        event_await(event);
    }
    event_put(event);
}

/* The steps of a read, whose events the caller owns. On failure there are no events, and nothing writes to `ptr` unless
 * end_failed did not wait. */
static cl_int read_steps(const struct image_part *p, cl_bool blocking, const struct host_rows *host, void *ptr,
                         cl_event *first, cl_event *done)
{
    struct span span = {NULL, NULL};
    cl_int status;
    cl_event packed = NULL;
    *first = *done = NULL;
    cl_mem narrow = image_narrow_buffer(p->image, p->region, &status);
    if (!narrow)
        return status;
    status = image_to_narrow(p, narrow, first, &packed);
    if (status == CL_SUCCESS) {
        const struct image_part behind = image_part_behind(p, &packed);
        status = move_rows(&behind, false, blocking, narrow, host, ptr, &span);
        if (status == CL_SUCCESS)
            event_put(packed);
        else
            image_give_up(p, packed);
        *done = span_keep(&span, true);
    }
    if (status != CL_SUCCESS) {
        end_failed(*done);
        event_put(*first);
        *first = *done = NULL;
    }
    next.clReleaseMemObject(narrow);
    return status;
}

static cl_int read_emulated(const struct image_part *p, cl_bool blocking, size_t row_pitch, size_t slice_pitch,
                            void *ptr, cl_event *event)
{
    struct host_rows host;
    cl_event first, done;
    cl_int status = check_host("clEnqueueReadImage", p, CL_MEM_HOST_WRITE_ONLY, row_pitch, slice_pitch, ptr, &host);
    if (status == CL_SUCCESS)
        status = read_steps(p, blocking, &host, ptr, &first, &done);
    if (status == CL_SUCCESS)
        image_publish(p->queue, CL_COMMAND_READ_IMAGE, first, done, event);
    return status;
}

static cl_int CL_API_CALL read_image(cl_command_queue command_queue, cl_mem handle, cl_bool blocking_read,
                                     const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
                                     void *ptr, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                     cl_event *event)
{
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clEnqueueReadImage(command_queue, handle, blocking_read, origin, region, row_pitch, slice_pitch,
                                       ptr, num_events_in_wait_list, event_wait_list, event);
    const struct image_part part = {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    const cl_int status = read_emulated(&part, blocking_read, row_pitch, slice_pitch, ptr, event);
    record_release(image);
    return status;
}

/* The steps of a write, whose events the caller owns. On failure `first` is the event of a command that still reads
 * `ptr`, or NULL. */
static cl_int write_steps(const struct image_part *p, cl_bool blocking, const struct host_rows *host, const void *ptr,
                          cl_event *first, cl_event *done)
{
    struct span span = {NULL, NULL};
    cl_int status;
    *first = *done = NULL;
    /* All memory is allocated before the first command that reads `ptr`. */
    cl_mem narrow = image_narrow_buffer(p->image, p->region, &status);
    if (!narrow)
        return status;
    cl_mem wide = image_wide_buffer(p->image, p->region, &status);
    if (wide)
        status = move_rows(p, true, blocking, narrow, host, (void *)ptr, &span);
    if (status == CL_SUCCESS) {
        const struct image_part behind = image_part_behind(p, &span.last);
        status = image_from_narrow(&behind, narrow, wide, done);
    } else if (wide) {
        next.clReleaseMemObject(wide);
    }
    *first = span_keep(&span, status != CL_SUCCESS);
    next.clReleaseMemObject(narrow);
    return status;
}

static cl_int write_emulated(const struct image_part *p, cl_bool blocking, size_t row_pitch, size_t slice_pitch,
                             const void *ptr, cl_event *event)
{
    struct host_rows host;
    cl_event first, done;
    cl_int status = check_host("clEnqueueWriteImage", p, CL_MEM_HOST_READ_ONLY, row_pitch, slice_pitch, ptr, &host);
    if (status != CL_SUCCESS)
        return status;
    const unsigned written = image_written(p->image);
    status = write_steps(p, blocking, &host, ptr, &first, &done);
    if (status != CL_SUCCESS) {
        if (first && next.clRetainEvent(first) == CL_SUCCESS)
            image_give_up(p, first);
        end_failed(first);
        return status;
    }
    /* Programs rely on a blocking write having ended, for other queues too; every driver behaves so. */
    if (blocking && !event_await(done))
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    else if (memcmp(p->region, p->image->extent, sizeof(p->image->extent)) == 0)
        image_requantized_by(p->image, done, p->queue, written);
    image_publish(p->queue, CL_COMMAND_WRITE_IMAGE, first, done, status == CL_SUCCESS ? event : NULL);
    return status;
}

static cl_int CL_API_CALL write_image(cl_command_queue command_queue, cl_mem handle, cl_bool blocking_write,
                                      const size_t *origin, const size_t *region, size_t input_row_pitch,
                                      size_t input_slice_pitch, const void *ptr, cl_uint num_events_in_wait_list,
                                      const cl_event *event_wait_list, cl_event *event)
{
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clEnqueueWriteImage(command_queue, handle, blocking_write, origin, region, input_row_pitch,
                                        input_slice_pitch, ptr, num_events_in_wait_list, event_wait_list, event);
    const struct image_part part = {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    const cl_int status = write_emulated(&part, blocking_write, input_row_pitch, input_slice_pitch, ptr, event);
    record_release(image);
    return status;
}

/* ---- for transports ---- */

static cl_int move_emulated(const struct image_part *p, bool write, const struct mapped_surface *rows,
                            struct event_list *done)
{
    struct host_rows host;
    cl_event first = NULL, last = NULL;
    cl_int status =
        host_rows("the acquire or release of an image", p->image, p->region, rows->row_pitch, rows->slice_pitch, &host);
    if (status == CL_SUCCESS)
        status = write ? write_steps(p, CL_FALSE, &host, rows->data, &first, &last)
                       : read_steps(p, CL_FALSE, &host, rows->data, &first, &last);
    event_list_add(done, first);
    event_list_add(done, last);
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
    if (!event_list_reserve(to->done, 2)) {
        record_release(image);
        return log_refuse("the acquire or release of an image", CL_OUT_OF_HOST_MEMORY,
                          "no memory for a list of events");
    }
    const struct image_part part = {image, origin, region, to->queue, to->wait_count, to->wait};
    const cl_int status =
        image ? move_emulated(&part, write, rows, to->done) : move_stored(handle, write, origin, region, rows, to);
    record_release(image);
    return status;
}

/* ---- fill ---- */

static cl_int CL_API_CALL fill_image(cl_command_queue command_queue, cl_mem handle, const void *fill_color,
                                     const size_t *origin, const size_t *region, cl_uint num_events_in_wait_list,
                                     const cl_event *event_wait_list, cl_event *event)
{
    struct image_record *image = image_get(handle);
    const struct image_part part = {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    cl_int status = CL_SUCCESS;
    cl_uint color[4];
    if (image && fill_color) {
        status = check_region("clEnqueueFillImage", &part);
        storage_fill_color(image->converter->declared, fill_color, color);
        fill_color = color;
    }
    record_release(image);
    if (status != CL_SUCCESS)
        return status;
    return next.clEnqueueFillImage(command_queue, handle, fill_color, origin, region, num_events_in_wait_list,
                                   event_wait_list, event);
}

/* ---- copies ---- */

static cl_int format_of(cl_mem handle, const struct image_record *image, cl_image_format *format)
{
    if (image) {
        *format = image->converter->declared;
        return CL_SUCCESS;
    }
    /* PoCL 3.1 also reports a format for buffers. */
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    if (handle_is_other(HANDLE_MEMORY, handle))
        return CL_INVALID_MEM_OBJECT;
    const cl_int status = next.clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof(type), &type, NULL);
    if (status != CL_SUCCESS || type == CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    return next.clGetImageInfo(handle, CL_IMAGE_FORMAT, sizeof(*format), format, NULL);
}

/* An image copy with its arguments; source or destination is emulated. */
struct image_copy {
    cl_mem from, to;
    struct image_part out, in; /* `image` NULL: the driver's image */
};

static cl_int image_out(const struct image_copy *c, cl_mem buffer, cl_event *done)
{
    const struct image_part *p = &c->out;
    return p->image ? image_to_narrow(p, buffer, NULL, done)
                    : next.clEnqueueCopyImageToBuffer(p->queue, c->from, buffer, p->origin, p->region, 0, p->wait_count,
                                                      p->wait, done);
}

static cl_int image_in(const struct image_copy *c, cl_mem buffer, const cl_event *wait, cl_event *done)
{
    const struct image_part p = image_part_behind(&c->in, wait);
    return p.image ? image_from_narrow(&p, buffer, NULL, done)
                   : next.clEnqueueCopyBufferToImage(p.queue, buffer, c->to, 0, p.origin, p.region, 1, wait, done);
}

/* The size of a driver's image, in the units of regions. */
static cl_int extent_of(cl_mem handle, size_t *extent)
{
    static const cl_image_info names[] = {CL_IMAGE_WIDTH, CL_IMAGE_HEIGHT, CL_IMAGE_DEPTH, CL_IMAGE_ARRAY_SIZE};
    size_t sizes[4] = {0, 0, 0, 0};
    cl_mem_object_type type = 0;
    cl_int status = next.clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof(type), &type, NULL);
    for (int i = 0; i < 4 && status == CL_SUCCESS; i++)
        status = next.clGetImageInfo(handle, names[i], sizeof(sizes[i]), &sizes[i], NULL);
    extent[0] = sizes[0];
    extent[1] = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? sizes[3] : sizes[1] ? sizes[1] : 1;
    extent[2] = type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? sizes[3] : sizes[2] ? sizes[2] : 1;
    return status;
}

/* PoCL 3.1 does not check the bounds of copies between images and buffers. */
static cl_int check_side(cl_mem handle, const struct image_part *p)
{
    static const char call[] = "clEnqueueCopyImage";
    size_t extent[3];
    if (p->image)
        return check_region(call, p);
    const cl_int status = extent_of(handle, extent);
    if (status != CL_SUCCESS)
        return log_next(call, "clGetImageInfo", status);
    return image_region_inside(extent, p->origin, p->region) ? CL_SUCCESS : refuse_region(call, extent);
}

/* If only one side is emulated, or both are emulated by different formats, the copy goes through declared texels. */
static cl_int copy_by_buffer(const struct image_copy *c, cl_event *event)
{
    const struct image_record *emulated = c->out.image ? c->out.image : c->in.image;
    cl_int status;
    cl_event first = NULL, done = NULL;
    cl_mem buffer = image_narrow_buffer(emulated, c->in.region, &status);
    if (!buffer)
        return status;
    status = image_out(c, buffer, &first);
    if (status == CL_SUCCESS)
        status = image_in(c, buffer, &first, &done);
    next.clReleaseMemObject(buffer);
    if (status == CL_SUCCESS)
        image_publish(c->in.queue, CL_COMMAND_COPY_IMAGE, first, done, event);
    else
        image_give_up(&c->out, first);
    return status;
}

static cl_int copy_emulated(const struct image_copy *c, cl_event *event)
{
    const struct image_part *out = &c->out;
    struct image_record *from_image = out->image, *to_image = c->in.image;
    cl_image_format from, to;
    cl_int status = format_of(c->from, from_image, &from);
    if (status == CL_SUCCESS)
        status = format_of(c->to, to_image, &to);
    if (status != CL_SUCCESS)
        return log_refuse("clEnqueueCopyImage", CL_INVALID_MEM_OBJECT, "the source or the destination is not an image");
    if (!cl_format_equal(from, to))
        return log_refuse("clEnqueueCopyImage", CL_IMAGE_FORMAT_MISMATCH,
                          "the source and the destination have different formats");
    status = check_side(c->from, out);
    if (status == CL_SUCCESS)
        status = check_side(c->to, &c->in);
    if (status != CL_SUCCESS)
        return status;
    if (!from_image || !to_image || from_image->converter != to_image->converter)
        return copy_by_buffer(c, event);
    const unsigned written = image_written(from_image);
    const bool unquantized = image_is_unquantized(from_image);
    if (unquantized)
        image_set_unquantized(to_image, true);
    status = next.clEnqueueCopyImage(out->queue, c->from, c->to, out->origin, c->in.origin, out->region,
                                     out->wait_count, out->wait, event);
    if (unquantized || image_written(from_image) != written)
        image_set_unquantized(to_image, true);
    return status;
}

static cl_int CL_API_CALL copy_image(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_image,
                                     const size_t *src_origin, const size_t *dst_origin, const size_t *region,
                                     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    struct image_record *from = image_get(src_image), *to = image_get(dst_image);
    const struct image_copy c = {
        src_image,
        dst_image,
        {from, src_origin, region, command_queue, num_events_in_wait_list, event_wait_list},
        {to, dst_origin, region, command_queue, num_events_in_wait_list, event_wait_list},
    };
    const cl_int status = from || to
                              ? copy_emulated(&c, event)
                              : next.clEnqueueCopyImage(command_queue, src_image, dst_image, src_origin, dst_origin,
                                                        region, num_events_in_wait_list, event_wait_list, event);
    record_release(from);
    record_release(to);
    return status;
}

static cl_int copy_out(const struct image_part *p, cl_mem to, size_t offset, cl_event *event)
{
    cl_int status = check_region("clEnqueueCopyImageToBuffer", p);
    cl_event first, packed, done;
    cl_mem narrow = status == CL_SUCCESS ? image_narrow_buffer(p->image, p->region, &status) : NULL;
    if (!narrow)
        return status;
    status = image_to_narrow(p, narrow, &first, &packed);
    if (status == CL_SUCCESS) {
        status = next.clEnqueueCopyBuffer(p->queue, narrow, to, 0, offset, image_region_bytes(p->image, p->region), 1,
                                          &packed, &done);
        if (status == CL_SUCCESS) {
            event_put(packed);
            image_publish(p->queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, first, done, event);
        } else {
            event_put(first);
            image_give_up(p, packed);
        }
    }
    next.clReleaseMemObject(narrow);
    return status;
}

static cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_buffer,
                                               const size_t *src_origin, const size_t *region, size_t dst_offset,
                                               cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                               cl_event *event)
{
    struct image_record *image = image_get(src_image);
    if (!image)
        return next.clEnqueueCopyImageToBuffer(command_queue, src_image, dst_buffer, src_origin, region, dst_offset,
                                               num_events_in_wait_list, event_wait_list, event);
    const struct image_part part = {image, src_origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    const cl_int status = copy_out(&part, dst_buffer, dst_offset, event);
    record_release(image);
    return status;
}

static cl_int copy_in(const struct image_part *p, cl_mem from, size_t offset, cl_event *event)
{
    cl_int status = check_region("clEnqueueCopyBufferToImage", p);
    cl_event first, done;
    cl_mem narrow = status == CL_SUCCESS ? image_narrow_buffer(p->image, p->region, &status) : NULL;
    if (!narrow)
        return status;
    status = next.clEnqueueCopyBuffer(p->queue, from, narrow, offset, 0, image_region_bytes(p->image, p->region),
                                      p->wait_count, p->wait, &first);
    if (status == CL_SUCCESS) {
        const struct image_part behind = image_part_behind(p, &first);
        status = image_from_narrow(&behind, narrow, NULL, &done);
        if (status == CL_SUCCESS)
            image_publish(p->queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, first, done, event);
        else
            image_give_up(p, first);
    }
    next.clReleaseMemObject(narrow);
    return status;
}

static cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_image,
                                               size_t src_offset, const size_t *dst_origin, const size_t *region,
                                               cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                               cl_event *event)
{
    struct image_record *image = image_get(dst_image);
    if (!image)
        return next.clEnqueueCopyBufferToImage(command_queue, src_buffer, dst_image, src_offset, dst_origin, region,
                                               num_events_in_wait_list, event_wait_list, event);
    const struct image_part part = {image, dst_origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    const cl_int status = copy_in(&part, src_buffer, src_offset, event);
    record_release(image);
    return status;
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
