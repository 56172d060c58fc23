/* Host-side commands on emulated images: read, write, fill and the copies. Each is a short chain of the driver's commands
 * that the application sees as one, with one event. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"

#include <string.h>

/* The host memory of a read or write, in the terms of clEnqueueReadBufferRect. */
struct host_rows {
    size_t rows[3]; /* bytes, rows, slices */
    size_t row_pitch, slice_pitch;
};

/* In a 1D array the slice pitch goes from layer to layer, which are the rows of the rectangle. */
static cl_int host_rows(const char *call, const struct image_record *image, const size_t *region, size_t row_pitch,
                        size_t slice_pitch, struct host_rows *host)
{
    const size_t bytes = region[0] * image->converter->narrow_texel;
    if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
        row_pitch = slice_pitch ? slice_pitch : row_pitch;
        slice_pitch = 0;
    }
    if (row_pitch && row_pitch < bytes)
        return log_refuse(call, CL_INVALID_VALUE, "the row pitch is %zu, a row has %zu bytes", row_pitch, bytes);
    *host = (struct host_rows){{bytes, region[1], region[2]}, row_pitch ? row_pitch : bytes, 0};
    if (slice_pitch && slice_pitch < host->row_pitch * region[1])
        return log_refuse(call, CL_INVALID_VALUE, "the slice pitch is %zu, a slice has %zu bytes", slice_pitch,
                          host->row_pitch * region[1]);
    host->slice_pitch = region[2] > 1 ? slice_pitch : 0;
    return CL_SUCCESS;
}

static cl_int check_region(const char *call, const struct image_record *image, const size_t *origin,
                           const size_t *region)
{
    if (image_region_valid(image, origin, region))
        return CL_SUCCESS;
    return log_refuse(call, CL_INVALID_VALUE, "the region is empty or outside the image of %zux%zux%zu texels",
                      image->extent[0], image->extent[1], image->extent[2]);
}

static void loosen(struct image_record *image, bool loose)
{
    os_lock(&registry_lock);
    image->loose = image->loose || loose;
    os_unlock(&registry_lock);
}

/* ---- read and write ---- */

/* The commands of one move between a buffer and the host's memory, which the caller owns: each but the first waits for the one
 * before. One command is both. */
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

/* Puts the last one, so that the first one is left; or the other way round. */
static cl_event span_keep(struct span *span, bool last)
{
    if (span->last != span->first)
        event_put(last ? span->first : span->last);
    return last ? span->last : span->first;
}

/* A slice pitch of images need be no whole number of rows, as that of buffers must: then slice by slice. */
static cl_int move_rows(bool write, cl_command_queue queue, cl_bool blocking, cl_mem narrow,
                        const struct host_rows *host, void *ptr, cl_uint wait_count, const cl_event *wait,
                        struct span *span)
{
    static const size_t zero[3] = {0, 0, 0};
    const bool at_once = host->slice_pitch % host->row_pitch == 0;
    const size_t rows[3] = {host->rows[0], host->rows[1], at_once ? host->rows[2] : 1};
    const size_t count = at_once ? 1 : host->rows[2], slice_pitch = at_once ? host->slice_pitch : 0;
    cl_int status = CL_SUCCESS;
    for (size_t z = 0; z < count && status == CL_SUCCESS; z++) {
        const size_t origin[3] = {0, 0, z};
        char *slice = (char *)ptr + z * host->slice_pitch;
        const cl_uint before_count = span->last ? 1 : wait_count;
        const cl_event *before = span->last ? &span->last : wait;
        cl_event event = NULL;
        status = write
                     ? next.clEnqueueWriteBufferRect(queue, narrow, blocking, origin, zero, rows, 0, 0, host->row_pitch,
                                                     slice_pitch, slice, before_count, before, &event)
                     : next.clEnqueueReadBufferRect(queue, narrow, blocking, origin, zero, rows, 0, 0, host->row_pitch,
                                                    slice_pitch, slice, before_count, before, &event);
        if (status == CL_SUCCESS)
            span_add(span, event);
    }
    return status;
}

/* The application believes that a command which failed leaves its memory alone. Only a user event could make that wait last
 * for ever. */
static void end_failed(cl_event event)
{
    if (event && !blockers_possible())
        next.clWaitForEvents(1, &event);
    event_put(event);
}

/* The steps of a read, whose events the caller owns. On failure there are none, and nothing writes to `ptr`. */
static cl_int read_steps(struct image_record *image, cl_command_queue queue, cl_bool blocking, const size_t *origin,
                         const size_t *region, const struct host_rows *host, void *ptr, cl_uint wait_count,
                         const cl_event *wait, cl_event *first, cl_event *done)
{
    struct span span = {NULL, NULL};
    cl_int status;
    cl_event packed = NULL;
    *first = *done = NULL;
    cl_mem narrow = image_buffer(image, CL_MEM_READ_WRITE, image_region_bytes(image, region), &status);
    if (!narrow)
        return status;
    status = image_to_narrow(image, queue, origin, region, narrow, wait_count, wait, first, &packed);
    if (status == CL_SUCCESS) {
        status = move_rows(false, queue, blocking, narrow, host, ptr, 1, &packed, &span);
        event_put(packed);
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

static cl_int read_emulated(struct image_record *image, cl_command_queue queue, cl_bool blocking, const size_t *origin,
                            const size_t *region, size_t row_pitch, size_t slice_pitch, void *ptr, cl_uint wait_count,
                            const cl_event *wait, cl_event *event)
{
    struct host_rows host;
    cl_event first, done;
    cl_int status = check_region("clEnqueueReadImage", image, origin, region);
    if (status == CL_SUCCESS)
        status = ptr ? host_rows("clEnqueueReadImage", image, region, row_pitch, slice_pitch, &host)
                     : log_refuse("clEnqueueReadImage", CL_INVALID_VALUE, "ptr is NULL");
    if (status == CL_SUCCESS)
        status = read_steps(image, queue, blocking, origin, region, &host, ptr, wait_count, wait, &first, &done);
    if (status == CL_SUCCESS)
        image_publish(queue, CL_COMMAND_READ_IMAGE, first, done, event);
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
    const cl_int status = read_emulated(image, command_queue, blocking_read, origin, region, row_pitch, slice_pitch,
                                        ptr, num_events_in_wait_list, event_wait_list, event);
    record_release(image);
    return status;
}

/* The steps of a write, whose events the caller owns. On failure `first` is that of a command which still reads `ptr`, or
 * NULL. */
static cl_int write_steps(struct image_record *image, cl_command_queue queue, cl_bool blocking, const size_t *origin,
                          const size_t *region, const struct host_rows *host, const void *ptr, cl_uint wait_count,
                          const cl_event *wait, cl_event *first, cl_event *done)
{
    struct span span = {NULL, NULL};
    cl_int status;
    *first = *done = NULL;
    cl_mem narrow = image_buffer(image, CL_MEM_READ_WRITE, image_region_bytes(image, region), &status);
    if (!narrow)
        return status;
    status = move_rows(true, queue, blocking, narrow, host, (void *)ptr, wait_count, wait, &span);
    if (status == CL_SUCCESS)
        status = image_from_narrow(image, queue, origin, region, narrow, 1, &span.last, NULL, done);
    *first = span_keep(&span, status != CL_SUCCESS);
    next.clReleaseMemObject(narrow);
    return status;
}

static cl_int write_emulated(struct image_record *image, cl_command_queue queue, cl_bool blocking, const size_t *origin,
                             const size_t *region, size_t row_pitch, size_t slice_pitch, const void *ptr,
                             cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct host_rows host;
    cl_event first, done;
    cl_int status = check_region("clEnqueueWriteImage", image, origin, region);
    if (status == CL_SUCCESS)
        status = ptr ? host_rows("clEnqueueWriteImage", image, region, row_pitch, slice_pitch, &host)
                     : log_refuse("clEnqueueWriteImage", CL_INVALID_VALUE, "ptr is NULL");
    if (status != CL_SUCCESS)
        return status;
    status = write_steps(image, queue, blocking, origin, region, &host, ptr, wait_count, wait, &first, &done);
    if (status != CL_SUCCESS) {
        end_failed(first);
        return status;
    }
    /* Programs rely on a blocking write to be over, for other queues too, as it is with every driver. */
    if (blocking && (next.clWaitForEvents(1, &done) != CL_SUCCESS || event_status(done) < 0))
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    image_publish(queue, CL_COMMAND_WRITE_IMAGE, first, done, event);
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
    const cl_int status = write_emulated(image, command_queue, blocking_write, origin, region, input_row_pitch,
                                         input_slice_pitch, ptr, num_events_in_wait_list, event_wait_list, event);
    if (status == CL_SUCCESS && memcmp(region, image->extent, sizeof(image->extent)) == 0)
        image_overwritten(handle);
    record_release(image);
    return status;
}

/* ---- for transports ---- */

static cl_int move_emulated(struct image_record *image, bool write, cl_command_queue queue, const size_t *origin,
                            const size_t *region, const struct image_rows *rows, cl_uint wait_count,
                            const cl_event *wait, struct event_list *done)
{
    struct host_rows host;
    cl_event first = NULL, last = NULL;
    cl_int status = host_rows("the handover of an image", image, region, rows->row_pitch, rows->slice_pitch, &host);
    if (status == CL_SUCCESS && write)
        status =
            write_steps(image, queue, CL_FALSE, origin, region, &host, rows->data, wait_count, wait, &first, &last);
    else if (status == CL_SUCCESS)
        status = read_steps(image, queue, CL_FALSE, origin, region, &host, rows->data, wait_count, wait, &first, &last);
    event_list_add(done, first);
    event_list_add(done, last);
    return status;
}

static cl_int move_stored(cl_mem image, bool write, cl_command_queue queue, const size_t *origin, const size_t *region,
                          const struct image_rows *rows, cl_uint wait_count, const cl_event *wait,
                          struct event_list *done)
{
    cl_event event = NULL;
    const cl_int status = write ? next.clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, rows->row_pitch,
                                                           rows->slice_pitch, rows->data, wait_count, wait, &event)
                                : next.clEnqueueReadImage(queue, image, CL_FALSE, origin, region, rows->row_pitch,
                                                          rows->slice_pitch, rows->data, wait_count, wait, &event);
    event_list_add(done, status == CL_SUCCESS ? event : NULL);
    return status;
}

cl_int image_move(cl_mem handle, bool stored, bool write, cl_command_queue queue, const size_t *origin,
                  const size_t *region, const struct image_rows *rows, cl_uint wait_count, const cl_event *wait,
                  struct event_list *done)
{
    struct image_record *image = stored ? NULL : image_get(handle);
    if (!event_list_reserve(done, 2)) {
        record_release(image);
        return log_refuse("the handover of an image", CL_OUT_OF_HOST_MEMORY, "no memory for a list of events");
    }
    const cl_int status = image ? move_emulated(image, write, queue, origin, region, rows, wait_count, wait, done)
                                : move_stored(handle, write, queue, origin, region, rows, wait_count, wait, done);
    record_release(image);
    return status;
}

/* ---- fill ---- */

static cl_int CL_API_CALL fill_image(cl_command_queue command_queue, cl_mem handle, const void *fill_color,
                                     const size_t *origin, const size_t *region, cl_uint num_events_in_wait_list,
                                     const cl_event *event_wait_list, cl_event *event)
{
    struct image_record *image = image_get(handle);
    cl_uint color[4];
    if (image && fill_color) {
        storage_fill_color(image->converter->declared, fill_color, color);
        fill_color = color;
    }
    record_release(image);
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
    /* PoCL 3.1 tells a format of buffers, too. */
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    const cl_int status = next.clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof(type), &type, NULL);
    if (status != CL_SUCCESS || type == CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    return next.clGetImageInfo(handle, CL_IMAGE_FORMAT, sizeof(*format), format, NULL);
}

static cl_int image_out(struct image_record *image, cl_mem handle, cl_command_queue queue, const size_t *origin,
                        const size_t *region, cl_mem buffer, cl_uint wait_count, const cl_event *wait, cl_event *done)
{
    return image ? image_to_narrow(image, queue, origin, region, buffer, wait_count, wait, NULL, done)
                 : next.clEnqueueCopyImageToBuffer(queue, handle, buffer, origin, region, 0, wait_count, wait, done);
}

static cl_int image_in(struct image_record *image, cl_mem handle, cl_command_queue queue, const size_t *origin,
                       const size_t *region, cl_mem buffer, const cl_event *wait, cl_event *done)
{
    return image ? image_from_narrow(image, queue, origin, region, buffer, 1, wait, NULL, done)
                 : next.clEnqueueCopyBufferToImage(queue, buffer, handle, 0, origin, region, 1, wait, done);
}

/* An image copy with its arguments; source or destination is emulated. */
struct image_copy {
    cl_command_queue queue;
    cl_mem from, to;
    struct image_record *emulated_from, *emulated_to;
    const size_t *from_origin, *to_origin, *region;
};

/* The size of an image of the driver's, as regions count. */
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

/* PoCL 3.1 does not look where a copy of an image to a buffer, or back, ends. */
static cl_int check_side(cl_mem handle, const struct image_record *image, const size_t *origin, const size_t *region)
{
    size_t extent[3];
    if (image)
        return check_region("clEnqueueCopyImage", image, origin, region);
    const cl_int status = extent_of(handle, extent);
    if (status != CL_SUCCESS)
        return log_next("clEnqueueCopyImage", "clGetImageInfo", status);
    if (image_region_inside(extent, origin, region))
        return CL_SUCCESS;
    return log_refuse("clEnqueueCopyImage", CL_INVALID_VALUE,
                      "the region is empty or outside the image of %zux%zux%zu texels", extent[0], extent[1],
                      extent[2]);
}

/* Only one side is emulated, or the two by different formats: through the declared texels. */
static cl_int copy_by_buffer(const struct image_copy *c, size_t texel, cl_uint wait_count, const cl_event *wait,
                             cl_event *event)
{
    struct image_record *emulated = c->emulated_from ? c->emulated_from : c->emulated_to;
    cl_int status;
    cl_event first = NULL, done = NULL;
    cl_mem buffer =
        image_buffer(emulated, CL_MEM_READ_WRITE, c->region[0] * c->region[1] * c->region[2] * texel, &status);
    if (!buffer)
        return status;
    status =
        image_out(c->emulated_from, c->from, c->queue, c->from_origin, c->region, buffer, wait_count, wait, &first);
    if (status == CL_SUCCESS)
        status = image_in(c->emulated_to, c->to, c->queue, c->to_origin, c->region, buffer, &first, &done);
    next.clReleaseMemObject(buffer);
    if (status == CL_SUCCESS)
        image_publish(c->queue, CL_COMMAND_COPY_IMAGE, first, done, event);
    else if (first)
        event_put(first);
    return status;
}

static cl_int copy_emulated(const struct image_copy *c, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    cl_image_format from, to;
    cl_int status = format_of(c->from, c->emulated_from, &from);
    if (status == CL_SUCCESS)
        status = format_of(c->to, c->emulated_to, &to);
    if (status != CL_SUCCESS)
        return log_refuse("clEnqueueCopyImage", CL_INVALID_MEM_OBJECT, "source or destination is no image");
    if (from.image_channel_order != to.image_channel_order ||
        from.image_channel_data_type != to.image_channel_data_type)
        return log_refuse("clEnqueueCopyImage", CL_IMAGE_FORMAT_MISMATCH,
                          "source and destination differ in their format");
    status = check_side(c->from, c->emulated_from, c->from_origin, c->region);
    if (status == CL_SUCCESS)
        status = check_side(c->to, c->emulated_to, c->to_origin, c->region);
    if (status != CL_SUCCESS)
        return status;
    if (c->emulated_from && c->emulated_to && c->emulated_from->converter == c->emulated_to->converter) {
        os_lock(&registry_lock);
        const bool loose = c->emulated_from->loose;
        os_unlock(&registry_lock);
        loosen(c->emulated_to, loose);
        return next.clEnqueueCopyImage(c->queue, c->from, c->to, c->from_origin, c->to_origin, c->region, wait_count,
                                       wait, event);
    }
    return copy_by_buffer(c, cl_format_texel_bytes(from), wait_count, wait, event);
}

static cl_int CL_API_CALL copy_image(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_image,
                                     const size_t *src_origin, const size_t *dst_origin, const size_t *region,
                                     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    const struct image_copy c = {command_queue,        src_image,  dst_image,  image_get(src_image),
                                 image_get(dst_image), src_origin, dst_origin, region};
    cl_int status;
    if (c.emulated_from || c.emulated_to)
        status = copy_emulated(&c, num_events_in_wait_list, event_wait_list, event);
    else
        status = next.clEnqueueCopyImage(command_queue, src_image, dst_image, src_origin, dst_origin, region,
                                         num_events_in_wait_list, event_wait_list, event);
    record_release(c.emulated_from);
    record_release(c.emulated_to);
    return status;
}

static cl_int copy_out(struct image_record *image, cl_command_queue queue, cl_mem to, const size_t *origin,
                       const size_t *region, size_t offset, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    cl_int status = check_region("clEnqueueCopyImageToBuffer", image, origin, region);
    cl_event first, packed, done;
    cl_mem narrow = NULL;
    if (status == CL_SUCCESS)
        narrow = image_buffer(image, CL_MEM_READ_WRITE, image_region_bytes(image, region), &status);
    if (!narrow)
        return status;
    status = image_to_narrow(image, queue, origin, region, narrow, wait_count, wait, &first, &packed);
    if (status == CL_SUCCESS) {
        status = next.clEnqueueCopyBuffer(queue, narrow, to, 0, offset, image_region_bytes(image, region), 1, &packed,
                                          &done);
        event_put(packed);
        if (status == CL_SUCCESS)
            image_publish(queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, first, done, event);
        else
            event_put(first);
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
    const cl_int status = copy_out(image, command_queue, dst_buffer, src_origin, region, dst_offset,
                                   num_events_in_wait_list, event_wait_list, event);
    record_release(image);
    return status;
}

static cl_int copy_in(struct image_record *image, cl_command_queue queue, cl_mem from, size_t offset,
                      const size_t *origin, const size_t *region, cl_uint wait_count, const cl_event *wait,
                      cl_event *event)
{
    cl_int status = check_region("clEnqueueCopyBufferToImage", image, origin, region);
    cl_event first, done;
    cl_mem narrow = NULL;
    if (status == CL_SUCCESS)
        narrow = image_buffer(image, CL_MEM_READ_WRITE, image_region_bytes(image, region), &status);
    if (!narrow)
        return status;
    status = next.clEnqueueCopyBuffer(queue, from, narrow, offset, 0, image_region_bytes(image, region), wait_count,
                                      wait, &first);
    if (status == CL_SUCCESS) {
        status = image_from_narrow(image, queue, origin, region, narrow, 1, &first, NULL, &done);
        if (status == CL_SUCCESS)
            image_publish(queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, first, done, event);
        else
            event_put(first);
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
    const cl_int status = copy_in(image, command_queue, src_buffer, src_offset, dst_origin, region,
                                  num_events_in_wait_list, event_wait_list, event);
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
