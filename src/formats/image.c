/* Emulated images: creation, lifetimes and queries; and the conversions between an emulated image and declared
 * texels. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"
#include "next/query.h"

#include <stdlib.h>
#include <string.h>

struct image_record *image_get(cl_mem image)
{
    return registry_get(RECORD_IMAGE, image);
}

const struct converter *image_host_converter(cl_mem handle)
{
    struct image_record *image = image_get(handle);
    const struct converter *converter = image && image->converter->on_host ? image->converter : NULL;
    record_release(image);
    return converter;
}

/* Returns the event that the record no longer keeps, for the caller to put. */
static cl_event set_unquantized_locked(struct image_record *image, bool unquantized)
{
    cl_event requantized = image->requantized;
    image->requantized = NULL;
    image->unquantized = unquantized;
    image->written++;
    return requantized;
}

void image_set_unquantized(struct image_record *image, bool unquantized)
{
    os_lock(&registry_lock);
    cl_event requantized = set_unquantized_locked(image, unquantized);
    os_unlock(&registry_lock);
    event_put(requantized);
}

bool image_is_unquantized(struct image_record *image)
{
    os_lock(&registry_lock);
    const bool unquantized = image->unquantized;
    os_unlock(&registry_lock);
    return unquantized;
}

unsigned image_written(struct image_record *image)
{
    os_lock(&registry_lock);
    const unsigned written = image->written;
    os_unlock(&registry_lock);
    return written;
}

void image_keep_requantized(struct image_record *image, cl_event requantized, cl_command_queue in, unsigned written,
                            bool pending)
{
    cl_event put = requantized;
    os_lock(&registry_lock);
    if (image->written == written && pending) {
        put = image->requantized;
        image->requantized = requantized;
        image->requantized_in = in;
    } else if (image->written == written) {
        image->unquantized = false;
    }
    os_unlock(&registry_lock);
    event_put(put);
}

static void set_quantized(struct image_record *image, unsigned written)
{
    os_lock(&registry_lock);
    cl_event requantized = image->written == written ? set_unquantized_locked(image, false) : NULL;
    os_unlock(&registry_lock);
    event_put(requantized);
}

void image_requantized_by(struct image_record *image, cl_event event, cl_command_queue in, unsigned written)
{
    if (image_command_counts(event))
        set_quantized(image, written);
    else if (image_is_unquantized(image) && image_command_may_count(event) && next.clRetainEvent(event) == CL_SUCCESS)
        image_keep_requantized(image, event, in, written, true);
}

bool image_command_may_count(cl_event event)
{
    return !blockers_possible() && event_status(event) >= CL_COMPLETE;
}

bool image_command_counts(cl_event event)
{
    if (blockers_possible())
        return false;
    const bool failed = atomic_load(&events_failed);
    const cl_int status = event_status(event);
    return failed ? status == CL_COMPLETE : status >= CL_COMPLETE;
}

void image_overwritten(cl_mem handle)
{
    struct image_record *image = blockers_possible() ? NULL : image_get(handle);
    if (image)
        image_set_unquantized(image, false);
    record_release(image);
}

static void destroy(struct record *record)
{
    struct image_record *image = (struct image_record *)record;
    while (image->mappings) {
        struct image_mapping *mapping = image->mappings;
        image->mappings = mapping->after;
        event_put(mapping->collected);
        if (mapping->narrow)
            next.clReleaseMemObject(mapping->narrow);
        free(mapping);
    }
    event_put(image->requantized);
    record_release(image->context);
    free(image);
}

/* ---- regions ---- */

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

/* ---- creation ---- */

static void set_extent(struct image_record *image)
{
    const cl_image_desc *desc = &image->desc;
    const size_t layers = desc->image_array_size;
    image->extent[0] = desc->image_width;
    image->extent[1] = image->type == CL_MEM_OBJECT_IMAGE1D         ? 1
                       : image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? layers
                                                                    : desc->image_height;
    image->extent[2] = image->type == CL_MEM_OBJECT_IMAGE3D         ? desc->image_depth
                       : image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? layers
                                                                    : 1;
}

/* The pitches of the application's memory. The layers of a 1D array take the place of a 2D image's rows. */
static void set_host_pitches(struct image_record *image)
{
    const bool layers_are_rows = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const size_t row = image->desc.image_row_pitch, slice = image->desc.image_slice_pitch;
    const size_t given = layers_are_rows && slice ? slice : row;
    image->host_row = given ? given : image->extent[0] * image->converter->narrow_texel;
    image->host_slice = slice && !layers_are_rows ? slice : image->host_row * image->extent[1];
}

/* The driver's image is always read-write, because conversions need both directions. The driver never gets the pitches.
 * `texels`: in the driver's format, for one of `flags`, or NULL. */
static cl_mem create_below(const struct image_record *image, cl_mem_flags flags, void *texels, cl_int *status)
{
    cl_image_desc desc = image->desc;
    desc.image_row_pitch = desc.image_slice_pitch = 0;
    return next.clCreateImage(image->context->head.handle, CL_MEM_READ_WRITE | flags, &image->converter->stored, &desc,
                              texels, status);
}

/* Replaces the driver's image, whose creation has shown that the sizes are valid, by one that contains the
 * application's bytes. This waits for no command, so it also works in a callback. */
static cl_int make_filled(struct image_record *image, const char *bytes)
{
    const struct converter *c = image->converter;
    const size_t *extent = image->extent;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    char *wide = malloc(cl_region_bytes(extent, c->wide_texel));
    for (size_t z = 0; wide && z < extent[2]; z++)
        for (size_t y = 0; y < extent[1]; y++)
            texels_widen(c, wide + (z * extent[1] + y) * extent[0] * c->wide_texel,
                         bytes + z * image->host_slice + y * image->host_row, extent[0], false);
    cl_mem filled = wide ? create_below(image, CL_MEM_COPY_HOST_PTR, wide, &status) : NULL;
    free(wide);
    if (filled) {
        next.clReleaseMemObject(image->head.handle);
        image->head.handle = filled;
    }
    return log_next("clCreateImage", "clCreateImage with converted texels", status);
}

/* Uploads the application's bytes to a new image, through cld3d's own queue. */
static cl_int upload(struct image_record *image, const void *bytes)
{
    cl_int status;
    struct device_list devices;
    const size_t origin[3] = {0, 0, 0};
    const size_t rows[3] = {image->extent[0] * image->converter->narrow_texel, image->extent[1], image->extent[2]};
    cl_event done = NULL;
    status = devices_of_context(&next, image->context->head.handle, &devices);
    cl_command_queue queue = NULL;
    if (status == CL_SUCCESS)
        queue = next.clCreateCommandQueue(image->context->head.handle, devices.at[0], 0, &status);
    cl_mem narrow = queue ? image_narrow_buffer(image, image->extent, &status) : NULL;
    if (narrow)
        status = next.clEnqueueWriteBufferRect(queue, narrow, CL_TRUE, origin, origin, rows, 0, 0, image->host_row,
                                               image->extent[2] > 1 ? image->host_slice : 0, bytes, 0, NULL, NULL);
    if (narrow && status == CL_SUCCESS)
        status =
            image_from_narrow(&(struct image_part){image, origin, image->extent, queue, 0, NULL}, narrow, NULL, &done);
    if (done && !event_await(done))
        status = CL_OUT_OF_RESOURCES;
    event_put(done);
    if (narrow)
        next.clReleaseMemObject(narrow);
    if (queue)
        next.clReleaseCommandQueue(queue);
    return log_next("clCreateImage", "the copy of the application's memory", status);
}

static cl_int check_pairs(const cl_image_format *format, const cl_image_desc *desc)
{
    if (!cl_order_packed_yuv(format->image_channel_order) || desc->image_width % 2 == 0)
        return CL_SUCCESS;
    return log_refuse("clCreateImage", CL_INVALID_IMAGE_SIZE, "the width of a packed YUV image is %zu; it must be even",
                      desc->image_width);
}

static cl_int check_flags(cl_mem_flags flags)
{
    static const cl_mem_flags alternatives[] = {
        CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
        CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
        CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
        CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR,
    };
    cl_mem_flags known = 0;
    bool valid = true;
    for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
        const cl_mem_flags given = flags & alternatives[i];
        valid = valid && !(given & (given - 1));
        known |= alternatives[i];
    }
    return valid && !(flags & ~known)
               ? CL_SUCCESS
               : log_refuse("clCreateImage", CL_INVALID_VALUE, "the flags 0x%lx are invalid or contradict each other",
                            (unsigned long)flags);
}

static cl_int check_host(cl_mem_flags flags, const void *host)
{
    const bool wanted = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
    if (wanted != (host != NULL))
        return log_refuse("clCreateImage", CL_INVALID_HOST_PTR, "host_ptr is %p, but the flags are 0x%lx", host,
                          (unsigned long)flags);
    return CL_SUCCESS;
}

/* Checks the pitches, which the driver never gets; the driver itself refuses an image without a width. The slice pitch
 * is ignored for images without slices. */
static cl_int check_pitches(const cl_image_format *format, const cl_image_desc *desc, const void *host)
{
    const bool lines = desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const bool layered =
        lines || desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY || desc->image_type == CL_MEM_OBJECT_IMAGE3D;
    const size_t texel = cl_format_texel_bytes(*format), row = desc->image_row_pitch;
    const size_t slice = layered ? desc->image_slice_pitch : 0, bytes = desc->image_width * texel;
    const size_t stride = row ? row : bytes;
    const bool fits = !row || (row >= bytes && row % texel == 0);
    if ((host || (!row && !slice)) && fits &&
        (!slice || !stride ||
         (slice >= stride * (lines ? 1 : desc->image_height) && (lines ? slice % texel : slice % stride) == 0)))
        return CL_SUCCESS;
    return log_refuse("clCreateImage", CL_INVALID_IMAGE_DESCRIPTOR,
                      "the pitches of %zu and %zu bytes do not fit %zux%zu texels of %zu bytes with host_ptr %p", row,
                      slice, desc->image_width, desc->image_height, texel, host);
}

static struct image_record *new_image(struct context_record *context, struct converter *converter,
                                      const cl_image_desc *desc, cl_mem_flags flags, void *host)
{
    struct image_record *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->head = (struct record){.kind = RECORD_IMAGE, .destroy = destroy};
    record_retain(context);
    image->context = context;
    image->converter = converter;
    image->type = desc->image_type;
    image->desc = *desc;
    image->flags =
        flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_READ_WRITE) ? flags : flags | CL_MEM_READ_WRITE;
    image->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
    set_extent(image);
    set_host_pitches(image);
    return image;
}

/* Creates the driver's image. `bytes`: the application's, or NULL. `memory`: for the driver's texels, or NULL. */
static cl_int make_below(struct image_record *image, const void *bytes, void *memory)
{
    cl_int status;
    image->head.handle = create_below(image, memory ? CL_MEM_USE_HOST_PTR : 0, memory, &status);
    if (status != CL_SUCCESS)
        return log_next("clCreateImage", "clCreateImage in the wider format", status);
    if (bytes)
        status = texels_convertible(image->converter) ? make_filled(image, bytes) : upload(image, bytes);
    if (status == CL_SUCCESS && !registry_add(&image->head))
        status = CL_OUT_OF_HOST_MEMORY;
    if (status != CL_SUCCESS)
        next.clReleaseMemObject(image->head.handle);
    return status;
}

/* Creates an emulated image if the format needs it; false if the driver is to create the image. `memory`: for the
 * driver's texels, or NULL. */
static bool make_emulated(cl_context handle, cl_mem_flags flags, const cl_image_format *format,
                          const cl_image_desc *desc, void *host, void *memory, cl_int *status, cl_mem *made)
{
    struct context_record *context = format && desc && !desc->mem_object ? registry_get(RECORD_CONTEXT, handle) : NULL;
    cl_image_format stored;
    *made = NULL;
    *status = CL_SUCCESS;
    if (!context || !storage_choose(context, *format, desc->image_type, &stored, status)) {
        record_release(context);
        return *status != CL_SUCCESS;
    }
    struct converter *converter = NULL;
    struct image_record *image = NULL;
    *status = check_flags(flags);
    if (*status == CL_SUCCESS)
        *status = check_pairs(format, desc);
    if (*status == CL_SUCCESS)
        *status = check_host(flags, host);
    if (*status == CL_SUCCESS && !memory)
        *status = check_pitches(format, desc, host);
    if (*status == CL_SUCCESS)
        converter = converter_get(context, *format, stored, status);
    if (converter) {
        image = new_image(context, converter, desc, flags, host);
        *status = image ? make_below(image, host, memory) : CL_OUT_OF_HOST_MEMORY;
    }
    if (image && *status == CL_SUCCESS)
        *made = image->head.handle;
    else if (image)
        destroy(&image->head);
    record_release(context);
    return true;
}

cl_int image_storage_of(cl_context handle, const cl_image_format *format, cl_mem_object_type type,
                        enum image_storage *storage, const struct converter **converter)
{
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    cl_image_format stored;
    cl_int status = CL_SUCCESS;
    *storage = STORED_AS_DECLARED;
    *converter = NULL;
    if (context && storage_choose(context, *format, type, &stored, &status)) {
        const struct converter *found = converter_get(context, *format, stored, &status);
        *storage = found && found->on_host ? STORED_BY_CONVERTER : STORED_OTHERWISE;
        *converter = *storage == STORED_BY_CONVERTER ? found : NULL;
    }
    record_release(context);
    return status;
}

cl_mem image_create_over(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                         const cl_image_desc *desc, void *memory, cl_int *status)
{
    cl_mem image;
    if (make_emulated(context, flags, format, desc, NULL, memory, status, &image))
        return image;
    return next.clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, format, desc, memory, status);
}

/* The same for an image that the application creates. */
static bool emulated(cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
                     void *host, cl_int *errcode_ret, cl_mem *made)
{
    cl_int status;
    if (!registry_hot() || !make_emulated(context, flags, format, desc, host, NULL, &status, made))
        return false;
    give_code(errcode_ret, status);
    return true;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                       const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    cl_mem image;
    if (emulated(context, flags, image_format, image_desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
}

static cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties *properties,
                                                       cl_mem_flags flags, const cl_image_format *image_format,
                                                       const cl_image_desc *image_desc, void *host_ptr,
                                                       cl_int *errcode_ret)
{
    cl_mem image;
    const bool plain = !properties || !properties[0];
    if (plain && emulated(context, flags, image_format, image_desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImageWithProperties(context, properties, flags, image_format, image_desc, host_ptr,
                                            errcode_ret);
}

/* For the functions that are older than the image descriptor. */
static bool emulated_before_cl12(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                 const cl_image_desc *desc, void *host, cl_int *errcode_ret, cl_mem *made)
{
    cl_int status;
    if (!emulated(context, flags, format, desc, host, &status, made))
        return false;
    give_code(errcode_ret, status == CL_INVALID_IMAGE_DESCRIPTOR ? CL_INVALID_IMAGE_SIZE : status);
    return true;
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                          size_t image_width, size_t image_height, size_t image_row_pitch,
                                          void *host_ptr, cl_int *errcode_ret)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = image_width,
                                .image_height = image_height,
                                .image_row_pitch = image_row_pitch};
    cl_mem image;
    if (emulated_before_cl12(context, flags, image_format, &desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImage2D(context, flags, image_format, image_width, image_height, image_row_pitch, host_ptr,
                                errcode_ret);
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                          size_t image_width, size_t image_height, size_t image_depth,
                                          size_t image_row_pitch, size_t image_slice_pitch, void *host_ptr,
                                          cl_int *errcode_ret)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                                .image_width = image_width,
                                .image_height = image_height,
                                .image_depth = image_depth,
                                .image_row_pitch = image_row_pitch,
                                .image_slice_pitch = image_slice_pitch};
    cl_mem image;
    if (emulated_before_cl12(context, flags, image_format, &desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImage3D(context, flags, image_format, image_width, image_height, image_depth, image_row_pitch,
                                image_slice_pitch, host_ptr, errcode_ret);
}

/* ---- lifetimes ---- */

static cl_int CL_API_CALL retain_mem_object(cl_mem memobj)
{
    const cl_int status = next.clRetainMemObject(memobj);
    if (status == CL_SUCCESS)
        registry_app_retain(RECORD_IMAGE, memobj);
    return status;
}

static cl_int CL_API_CALL release_mem_object(cl_mem memobj)
{
    registry_app_release(RECORD_IMAGE, memobj);
    return next.clReleaseMemObject(memobj);
}

/* ---- queries ---- */

static cl_int CL_API_CALL get_supported_image_formats(cl_context context, cl_mem_flags flags,
                                                      cl_mem_object_type image_type, cl_uint num_entries,
                                                      cl_image_format *image_formats, cl_uint *num_image_formats)
{
    cl_uint native = 0;
    cl_int status = next.clGetSupportedImageFormats(context, flags, image_type, num_entries, image_formats, &native);
    /* A kernel that writes an image and reads it back would find values that the declared format cannot hold. */
    const bool listed = status == CL_SUCCESS && !(flags & CL_MEM_KERNEL_READ_AND_WRITE);
    struct context_record *record = listed ? registry_get(RECORD_CONTEXT, context) : NULL;
    if (record) {
        const cl_uint written = image_formats && native < num_entries ? native : num_entries;
        cl_uint emulated;
        status = storage_list(record, flags, image_type, image_formats ? num_entries - written : 0,
                              image_formats ? image_formats + written : NULL, &emulated);
        native += emulated;
    }
    record_release(record);
    if (status == CL_SUCCESS && num_image_formats)
        *num_image_formats = native;
    return status;
}

/* The declared sizes of an image. False: the driver's answer is correct. */
static bool number(const struct image_record *image, cl_image_info name, size_t *value)
{
    const size_t texel = image->converter->narrow_texel, row = image->host ? image->host_row : image->extent[0] * texel;
    const bool layered = image->type == CL_MEM_OBJECT_IMAGE3D || image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    switch (name) {
    case CL_IMAGE_ELEMENT_SIZE: *value = texel; return true;
    case CL_IMAGE_ROW_PITCH: *value = row; return true;
    case CL_IMAGE_SLICE_PITCH:
        *value = layered ? (image->host ? image->host_slice : row * image->extent[1])
                 : image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? row
                                                              : 0;
        return true;
    default: return false;
    }
}

static cl_int CL_API_CALL get_image_info(cl_mem handle, cl_image_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    struct image_record *image = image_get(handle);
    size_t value;
    cl_int status;
    if (image && param_name == CL_IMAGE_FORMAT)
        status = answer("clGetImageInfo", &image->converter->declared, sizeof(cl_image_format), param_value_size,
                        param_value, param_value_size_ret);
    else if (image && number(image, param_name, &value))
        status = answer("clGetImageInfo", &value, sizeof(value), param_value_size, param_value, param_value_size_ret);
    else
        status = next.clGetImageInfo(handle, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(image);
    return status;
}

static cl_int query_mem(struct image_record *image, cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    const size_t size = image_region_bytes(image, image->extent);
    cl_uint count = 0;
    switch (name) {
    case CL_MEM_FLAGS: return answer("clGetMemObjectInfo", &image->flags, sizeof(image->flags), capacity, to, size_ret);
    case CL_MEM_SIZE: return answer("clGetMemObjectInfo", &size, sizeof(size), capacity, to, size_ret);
    case CL_MEM_HOST_PTR:
        return answer("clGetMemObjectInfo", &image->host, sizeof(image->host), capacity, to, size_ret);
    case CL_MEM_MAP_COUNT:
        os_lock(&registry_lock);
        for (const struct image_mapping *m = image->mappings; m; m = m->after)
            count++;
        os_unlock(&registry_lock);
        return answer("clGetMemObjectInfo", &count, sizeof(count), capacity, to, size_ret);
    default: return next.clGetMemObjectInfo(image->head.handle, name, capacity, to, size_ret);
    }
}

static cl_int CL_API_CALL get_mem_object_info(cl_mem handle, cl_mem_info param_name, size_t param_value_size,
                                              void *param_value, size_t *param_value_size_ret)
{
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clGetMemObjectInfo(handle, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_int status = query_mem(image, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(image);
    return status;
}

void image_install(cl_icd_dispatch *table)
{
    table->clCreateImage = create_image;
    table->clCreateImageWithProperties = create_image_with_properties;
    table->clCreateImage2D = create_image_2d;
    table->clCreateImage3D = create_image_3d;
    table->clRetainMemObject = retain_mem_object;
    table->clReleaseMemObject = release_mem_object;
    table->clGetSupportedImageFormats = get_supported_image_formats;
    table->clGetImageInfo = get_image_info;
    table->clGetMemObjectInfo = get_mem_object_info;
}
