/* Emulated images: their records, creation and queries. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"
#include "next/query.h"

#include <stdlib.h>

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

void image_set_unquantized(struct image_record *image, bool unquantized)
{
    os_lock(&registry_lock);
    image->unquantized = unquantized;
    os_unlock(&registry_lock);
}

void image_overwritten(cl_mem handle)
{
    struct image_record *image = user_event_pending() ? NULL : image_get(handle);
    if (image)
        image_set_unquantized(image, false);
    record_release(image);
}

/* ---- creation ---- */

static void destroy(struct record *record)
{
    struct image_record *image = (struct image_record *)record;
    while (image->mappings) {
        struct image_mapping *mapping = image->mappings;
        image->mappings = mapping->after;
        next.clReleaseMemObject(mapping->narrow);
        free(mapping);
    }
    record_release(image->context);
    free(image);
}

/* Creates the driver's image and its record. `memory`: for the driver's texels, or NULL. */
static cl_mem make(struct context_record *context, struct converter *converter, cl_mem_flags flags,
                   const cl_image_desc *desc, void *memory, cl_int *status)
{
    struct image_record *image = calloc(1, sizeof(*image));
    cl_image_desc stored = *desc;
    *status = CL_OUT_OF_HOST_MEMORY;
    if (!image)
        return NULL;
    stored.image_row_pitch = stored.image_slice_pitch = 0;
    cl_mem handle = next.clCreateImage(context->head.handle, flags | (memory ? CL_MEM_USE_HOST_PTR : 0),
                                       &converter->stored, &stored, memory, status);
    log_next("clCreateImage", "clCreateImage in the wider format", *status);
    if (*status == CL_SUCCESS) {
        const bool deep = desc->image_type == CL_MEM_OBJECT_IMAGE3D;
        record_retain(context);
        *image = (struct image_record){
            .head = {.kind = RECORD_IMAGE, .handle = handle, .destroy = destroy},
            .context = context,
            .converter = converter,
            .deep = deep,
            .extent = {desc->image_width, desc->image_height, deep ? desc->image_depth : 1},
        };
        if (registry_add(&image->head))
            return handle;
        *status = CL_OUT_OF_HOST_MEMORY;
        next.clReleaseMemObject(handle);
        record_release(context);
    }
    free(image);
    return NULL;
}

/* What the driver cannot check, because it gets neither the format nor the application's memory. */
static cl_int check(cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc, const void *host)
{
    static const char call[] = "clCreateImage";
    if (host || (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
        return log_refuse(call, CL_IMAGE_FORMAT_NOT_SUPPORTED,
                          "cld3d emulates the format, and then takes no host_ptr; write to the image instead");
    if (desc->image_row_pitch || desc->image_slice_pitch)
        return log_refuse(call, CL_INVALID_IMAGE_DESCRIPTOR, "a pitch is given without a host_ptr");
    if (cl_order_packed_yuv(format->image_channel_order) && desc->image_width % 2)
        return log_refuse(call, CL_INVALID_IMAGE_SIZE, "the width of a packed YUV image is %zu; it must be even",
                          desc->image_width);
    return CL_SUCCESS;
}

/* Creates an emulated image if the format needs it; false if the driver is to create the image. `memory`: for the
 * driver's texels, or NULL. */
static bool make_emulated(cl_context handle, cl_mem_flags flags, const cl_image_format *format,
                          const cl_image_desc *desc, const void *host, void *memory, cl_int *status, cl_mem *made)
{
    struct context_record *context = format && desc && !desc->mem_object ? registry_get(RECORD_CONTEXT, handle) : NULL;
    cl_image_format stored;
    *made = NULL;
    *status = CL_SUCCESS;
    const bool emulated = context && storage_choose(context, *format, desc->image_type, &stored, status);
    if (emulated && !memory)
        *status = check(flags, format, desc, host);
    if (emulated && *status == CL_SUCCESS) {
        struct converter *converter = converter_get(context, *format, stored, status);
        if (converter)
            *made = make(context, converter, flags, desc, memory, status);
    }
    record_release(context);
    return emulated || *status != CL_SUCCESS;
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

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                       const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    cl_int status;
    cl_mem image;
    if (!registry_hot() || !make_emulated(context, flags, image_format, image_desc, host_ptr, NULL, &status, &image))
        return next.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
    give_code(errcode_ret, status);
    return image;
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

static cl_int CL_API_CALL get_image_info(cl_mem handle, cl_image_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clGetImageInfo(handle, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_image_format format = image->converter->declared;
    const size_t texel = image->converter->narrow_texel, row = image->extent[0] * texel;
    const size_t slice = image->deep ? row * image->extent[1] : 0;
    record_release(image);
    const void *value;
    size_t size = sizeof(size_t);
    switch (param_name) {
    case CL_IMAGE_FORMAT: value = &format, size = sizeof(format); break;
    case CL_IMAGE_ELEMENT_SIZE: value = &texel; break;
    case CL_IMAGE_ROW_PITCH: value = &row; break;
    case CL_IMAGE_SLICE_PITCH: value = &slice; break;
    default: return next.clGetImageInfo(handle, param_name, param_value_size, param_value, param_value_size_ret);
    }
    return answer("clGetImageInfo", value, size, param_value_size, param_value, param_value_size_ret);
}

static cl_int CL_API_CALL get_mem_object_info(cl_mem handle, cl_mem_info param_name, size_t param_value_size,
                                              void *param_value, size_t *param_value_size_ret)
{
    struct image_record *image = param_name == CL_MEM_SIZE ? image_get(handle) : NULL;
    if (!image)
        return next.clGetMemObjectInfo(handle, param_name, param_value_size, param_value, param_value_size_ret);
    const size_t size = image_region_bytes(image, image->extent);
    record_release(image);
    return answer("clGetMemObjectInfo", &size, sizeof(size), param_value_size, param_value, param_value_size_ret);
}

void image_install(cl_icd_dispatch *table)
{
    table->clCreateImage = create_image;
    table->clRetainMemObject = retain_mem_object;
    table->clReleaseMemObject = release_mem_object;
    table->clGetSupportedImageFormats = get_supported_image_formats;
    table->clGetImageInfo = get_image_info;
    table->clGetMemObjectInfo = get_mem_object_info;
}
