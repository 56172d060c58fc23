/* Queries of emulated images, and the list of formats with the emulated ones. */
#include "formats/image.h"

#include "next/query.h"

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

void image_query_install(cl_icd_dispatch *table)
{
    table->clGetSupportedImageFormats = get_supported_image_formats;
    table->clGetImageInfo = get_image_info;
    table->clGetMemObjectInfo = get_mem_object_info;
}
