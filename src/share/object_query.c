/* Queries of shared objects and their children. */
#include "share/object.h"

#include "d3d/formats.h"
#include "log.h"
#include "share/passthrough.h"
#include "handles/handle_kind.h"

/* The API to whose family a query belongs, or NULL. The first API represents its family. */
static const struct d3d_api *asked_api(const struct object_record *object, cl_uint name, bool image)
{
    const struct d3d_api *found = NULL;
    for (unsigned i = 0; i < d3d_api_count && name; i++) {
        const struct d3d_api *api = d3d_apis[i];
        const bool asked =
            image ? name == api->image_subresource
                  : name == api->mem_resource || name == api->mem_adapter_type || name == api->mem_shared_handle;
        if (asked && (!found || (object && object->transfer && object->transfer->surface.api == api)))
            found = api;
    }
    return found;
}

/* The same for an object without a record, whose driver may share by itself: then the query is that driver's. */
static const struct d3d_api *asked_of_us(const struct object_record *object, cl_mem handle, cl_uint name, bool image)
{
    const struct d3d_api *api = asked_api(object, name, image);
    return api && !object && passthrough_memory(handle) ? NULL : api;
}

/* Whether a handle cannot be a memory object: the driver is not asked about such a handle. */
static bool is_none(const struct object_record *object, cl_mem handle)
{
    return !object && (!handle_may_be(handle, clGetMemObjectInfo) || handle_is_other(HANDLE_MEMORY, handle));
}

static cl_int foreign(const char *call, const struct d3d_api *api, cl_mem handle)
{
    cl_mem_object_type type;
    const cl_int status = below()->clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof(type), &type, NULL);
    if (status != CL_SUCCESS)
        return status;
    return log_refuse(call, api->invalid_resource, "the object was not created from a %s resource", api->extension);
}

static bool made_by(const struct object_record *object, const struct d3d_api *api)
{
    return object && !object->parent && object->transfer->surface.api == api;
}

/* The flags of a part of an object: the driver's, without those that come from how the transport created the object. */
static cl_int query_part_flags(const struct object_record *object, size_t capacity, void *to, size_t *size_ret)
{
    cl_mem_flags flags;
    const cl_int status = below()->clGetMemObjectInfo(object->head.handle, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
    if (status != CL_SUCCESS)
        return status;
    flags &= ~(cl_mem_flags)CL_MEM_USE_HOST_PTR;
    return answer("clGetMemObjectInfo", &flags, sizeof(flags), capacity, to, size_ret);
}

static size_t driver_offset(const struct object_record *object)
{
    size_t offset = 0;
    below()->clGetMemObjectInfo(object->head.handle, CL_MEM_OFFSET, sizeof(offset), &offset, NULL);
    return offset;
}

/* The driver may have created a part from a different object than the application's. */
static cl_int query_part(struct object_record *object, cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    const size_t own = name == CL_MEM_OFFSET ? driver_offset(object) : 0;
    const size_t base = own ? driver_offset(object_root(object)) : 0, offset = own >= base ? own - base : own;
    switch (name) {
    case CL_MEM_FLAGS: return query_part_flags(object, capacity, to, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return answer("clGetMemObjectInfo", &object->parent->head.handle, sizeof(cl_mem), capacity, to, size_ret);
    case CL_MEM_OFFSET: return answer("clGetMemObjectInfo", &offset, sizeof(offset), capacity, to, size_ret);
    default: return CL_INVALID_OPERATION;
    }
}

/* Queries of a shared object that cld3d answers itself; CL_INVALID_OPERATION: the driver's answer is correct. A
 * transport may have created the object over its own memory, which is hidden from the application. */
static cl_int query_mem(struct object_record *object, cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    static const void *const no_pointer = NULL;
    if (name == CL_MEM_HOST_PTR)
        return answer("clGetMemObjectInfo", &no_pointer, sizeof(no_pointer), capacity, to, size_ret);
    if (object->parent)
        return query_part(object, name, capacity, to, size_ret);
    os_lock(&registry_lock);
    const cl_uint refs = object->head.app_refs;
    os_unlock(&registry_lock);
    const struct surface_desc *desc = &object->transfer->surface.desc;
    const size_t bytes =
        (size_t)desc->width * desc->height * desc->depth * (desc->format ? desc->format->texel_bytes : 1);
    const size_t no_offset = 0;
    switch (name) {
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return answer("clGetMemObjectInfo", &no_pointer, sizeof(no_pointer), capacity, to, size_ret);
    case CL_MEM_OFFSET: return answer("clGetMemObjectInfo", &no_offset, sizeof(no_offset), capacity, to, size_ret);
    case CL_MEM_PROPERTIES: /* the application created it without properties */
        return answer("clGetMemObjectInfo", &no_pointer, 0, capacity, to, size_ret);
    case CL_MEM_REFERENCE_COUNT: return answer("clGetMemObjectInfo", &refs, sizeof(refs), capacity, to, size_ret);
    case CL_MEM_FLAGS:
        return answer("clGetMemObjectInfo", &object->flags, sizeof(object->flags), capacity, to, size_ret);
    case CL_MEM_SIZE: return answer("clGetMemObjectInfo", &bytes, sizeof(bytes), capacity, to, size_ret);
    default: return CL_INVALID_OPERATION;
    }
}

static cl_int query_extension(const struct object_record *object, cl_mem handle, const struct d3d_api *api,
                              cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    if (!made_by(object, api))
        return foreign("clGetMemObjectInfo", api, handle);
    if (name == api->mem_adapter_type)
        return answer("clGetMemObjectInfo", &api->adapter_type, sizeof(api->adapter_type), capacity, to, size_ret);
    if (name == api->mem_shared_handle)
        return answer("clGetMemObjectInfo", &object->given[1], sizeof(object->given[1]), capacity, to, size_ret);
    return answer("clGetMemObjectInfo", object->given, api->mem_resource_size, capacity, to, size_ret);
}

/* Whether this is a core query while nothing is shared, by far the most frequent case. */
static bool concerns_nothing(cl_uint name)
{
    return (name & ~0xFFu) == (CL_MEM_TYPE & ~0xFFu) && !atomic_load_explicit(&object_count, memory_order_relaxed);
}

static cl_int CL_API_CALL get_mem_object_info(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
                                              void *param_value, size_t *param_value_size_ret)
{
    if (concerns_nothing(param_name))
        return below()->clGetMemObjectInfo(memobj, param_name, param_value_size, param_value, param_value_size_ret);
    struct object_record *object = registry_get(RECORD_OBJECT, memobj);
    const struct d3d_api *api = asked_of_us(object, memobj, param_name, false);
    cl_int status = CL_INVALID_OPERATION;
    if (api && is_none(object, memobj))
        status = log_refuse("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, "%p is not a memory object", (void *)memobj);
    else if (api)
        status = query_extension(object, memobj, api, param_name, param_value_size, param_value, param_value_size_ret);
    else if (object)
        status = query_mem(object, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(object);
    if (status != CL_INVALID_OPERATION)
        return status;
    return below()->clGetMemObjectInfo(memobj, param_name, param_value_size, param_value, param_value_size_ret);
}

/* The sizes in an image's answers: a size_t for each, and drivers disagree about those that do not apply. */
static bool image_number(const struct object_record *object, cl_image_info name, size_t *number)
{
    const struct surface_desc *desc = &object->transfer->surface.desc;
    const bool deep = desc->kind == SURFACE_IMAGE_3D;
    const size_t texel = desc->format->texel_bytes, row = desc->width * texel;
    switch (name) {
    case CL_IMAGE_ELEMENT_SIZE: *number = texel; return true;
    case CL_IMAGE_ROW_PITCH: *number = row; return true;
    case CL_IMAGE_SLICE_PITCH: *number = deep ? row * desc->height : 0; return true;
    case CL_IMAGE_WIDTH: *number = desc->width; return true;
    case CL_IMAGE_HEIGHT: *number = desc->height; return true;
    case CL_IMAGE_DEPTH: *number = deep ? desc->depth : 0; return true;
    case CL_IMAGE_ARRAY_SIZE: *number = 0; return true;
    default: return false;
    }
}

static cl_int query_image(const struct object_record *object, cl_image_info name, size_t capacity, void *to,
                          size_t *size_ret)
{
    static const cl_mem no_buffer = NULL;
    const struct surface_desc *desc = &object->transfer->surface.desc;
    size_t number;
    if (name == CL_IMAGE_BUFFER) /* a transport may have created the image from one of its own */
        return answer("clGetImageInfo", &no_buffer, sizeof(no_buffer), capacity, to, size_ret);
    if (name == CL_IMAGE_FORMAT)
        return answer("clGetImageInfo", &desc->format->cl, sizeof(desc->format->cl), capacity, to, size_ret);
    if (image_number(object, name, &number))
        return answer("clGetImageInfo", &number, sizeof(number), capacity, to, size_ret);
    return CL_INVALID_OPERATION; /* the driver's answer is correct */
}

static cl_int CL_API_CALL get_image_info(cl_mem image, cl_image_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    struct object_record *object = registry_get(RECORD_OBJECT, image);
    const struct d3d_api *api = asked_of_us(object, image, param_name, true);
    const bool is_image = object && !object->parent && object->transfer->surface.desc.format;
    cl_int status = CL_INVALID_OPERATION;
    if (api && is_none(object, image))
        status = log_refuse("clGetImageInfo", CL_INVALID_MEM_OBJECT, "%p is not a memory object", (void *)image);
    else if (api && (!is_image || !made_by(object, api)))
        status = foreign("clGetImageInfo", api, image);
    else if (api)
        status = answer("clGetImageInfo", &object->index, sizeof(object->index), param_value_size, param_value,
                        param_value_size_ret);
    else if (is_image)
        status = query_image(object, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(object);
    if (status != CL_INVALID_OPERATION)
        return status;
    return below()->clGetImageInfo(image, param_name, param_value_size, param_value, param_value_size_ret);
}

void object_query_install(cl_icd_dispatch *table)
{
    table->clGetMemObjectInfo = get_mem_object_info;
    table->clGetImageInfo = get_image_info;
}
