#include "d3d/formats.h"
#include "log.h"
#include "next/query.h"
#include "handles/handles.h"
#include "transport/surface_image.h"
#include "transport/vulkan_object.h"

#include <CL/cl_ext.h>
#include <string.h>

/* ---- what the devices can ---- */

enum { ASSUME_LINEAR_IMAGES = 0x2052 }; /* CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR */

/* The handle types that a list names, as bits of enum vulkan_rows_kind. `silent`: the result if the device does not answer. */
static uint32_t listed(cl_device_id device, cl_device_info list, uint32_t silent)
{
    cl_uint types[16];
    size_t size = 0;
    uint32_t found = 0;
    if (below()->clGetDeviceInfo(device, list, sizeof(types), types, &size) != CL_SUCCESS)
        return silent;
    for (size_t i = 0; i < size / sizeof(types[0]); i++)
        found |= types[i] == CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR ? 1u << VULKAN_ROWS_IMAGE
                 : types[i] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR ? 1u << VULKAN_ROWS_DMA_BUF
                                                                     : 0;
    return found;
}

void vulkan_examine(struct vulkan_context *c)
{
    const uint32_t files = 1u << VULKAN_ROWS_IMAGE;
    struct device_list devices;
    cl_platform_id platform = NULL;
    devices_of_context(below(), c->context, &devices);
    c->alignment = 1;
    c->count = devices.count;
    c->device = devices.count ? devices.at[0] : NULL;
    c->imports = UINT32_MAX;
    c->why = devices.count ? NULL : "the devices of the context are unknown";
    for (cl_uint i = 0; i < devices.count && !c->why; i++) {
        cl_device_id device = devices.at[i];
        const struct gpu gpu = gpu_of_device(below(), device);
        cl_uint bits = 0;
        if (!gpu_same(&gpu, &gpu) ||
            below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS)
            c->why = "an OpenCL device reports neither its UUID nor its PCI address";
        else if (i && !gpu_same(&gpu, &c->gpu))
            c->why = "the context has several OpenCL devices";
        c->gpu = gpu;
        c->imports &= listed(device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, files);
        c->linear = c->linear || (listed(device, ASSUME_LINEAR_IMAGES, 0) & files);
        below()->clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL);
        c->alignment = bits / 8 > c->alignment ? bits / 8 : c->alignment;
    }
    c->imports = c->why ? 0 : c->imports;
    if (!c->why && !(c->imports & files))
        c->why = "an OpenCL device cannot import opaque file descriptors"; /* without an answer it is tried */
    if (!c->imports)
        return;
    c->acquire = (external_function)next_by_name(&next, platform, "clEnqueueAcquireExternalMemObjectsKHR");
    c->release = (external_function)next_by_name(&next, platform, "clEnqueueReleaseExternalMemObjectsKHR");
    if (c->acquire && c->release)
        return;
    c->imports = 0;
    c->why = "the OpenCL below has no functions for external memory";
}

/* ---- an import ---- */

/* The requirements for an imported image: a driver assumes one level and one slice, at the beginning of its memory. An
 * array with levels has other gaps between its slices than the driver would expect. NULL: the image meets them. */
static const char *why_not(const struct vulkan_object *o, const struct vulkan_image *image)
{
    enum { TILING_OPTIMAL = 0 };
    const struct surface_desc *desc = &o->base.surface.desc;
    const struct vulkan_memory *memory = &image->memory;
    const uint64_t texel = desc->format ? desc->format->texel_bytes : 1;
    if (o->context->why)
        return o->context->why;
    if (!gpu_same(&o->context->gpu, &memory->gpu))
        return "the OpenCL device is not Direct3D's device";
    if (!memory->exportable)
        return "the memory cannot be exported";
    if (memory->size < texel * desc->width * desc->height * desc->depth || memory->size > memory->memory_size ||
        memory->offset > memory->memory_size - memory->size)
        return "the resource is larger than its memory";
    if (desc->kind == SURFACE_BUFFER)
        return memory->offset % o->context->alignment ? "the OpenCL device does not allow a buffer at this offset"
                                                      : NULL;
    if (o->context->linear)
        return "the OpenCL device treats imported images as linear";
    if (image->tiling != TILING_OPTIMAL)
        return "the image is linear";
    if (!memory->dedicated || memory->offset)
        return "the image has no dedicated memory";
    if (desc->format && desc->format->planes > 1)
        return "a plane cannot be imported";
    if (o->at.native.level || o->at.native.layer)
        return "only the first level and slice of an image can be imported";
    if (image->levels > 1 && (image->layers > 1 || desc->kind == SURFACE_IMAGE_3D))
        return "an image of several levels and slices cannot be imported";
    return NULL;
}

/* Imports the image, or for a buffer the memory in which it lies, of which the object is a part. The file descriptor
 * belongs to the driver if it creates an object from it. */
cl_int vulkan_import(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    const struct vulkan_image *image = &o->at.image;
    const struct surface_desc *desc = &request->surface.desc;
    const struct vulkan_memory *memory = &image->memory;
    const cl_buffer_region region = {(size_t)memory->offset, desc->width};
    const char *reason = why_not(o, image);
    int32_t file = -1;
    cl_int status = CL_SUCCESS;
    if (reason)
        return transport_refuse(why, CL_INVALID_OPERATION, "%s", reason);
    if (!o->side->export(memory->memory, &file, why))
        return CL_INVALID_OPERATION;
    const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, (cl_mem_properties)file, 0};
    if (desc->kind == SURFACE_BUFFER) {
        o->whole = below()->clCreateBufferWithProperties(request->context, properties, CL_MEM_READ_WRITE,
                                                         (size_t)memory->memory_size, NULL, &status);
        if (o->whole)
            o->base.memory =
                below()->clCreateSubBuffer(o->whole, request->flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    } else {
        const cl_image_desc described = surface_image(desc, 0, 0);
        o->base.memory = below()->clCreateImageWithProperties(request->context, properties, request->flags,
                                                              &desc->format->cl, &described, NULL, &status);
    }
    o->imported = o->base.memory != NULL;
    if (o->imported)
        return CL_SUCCESS;
    if (o->whole)
        below()->clReleaseMemObject(o->whole);
    else
        o->side->close((uint64_t)file);
    o->whole = NULL;
    return transport_refuse(why, status < 0 ? status : CL_OUT_OF_RESOURCES,
                            "the OpenCL below did not import the memory: error %d", status);
}

/* ---- parts of buffers ---- */

static cl_mem no_part(cl_int code, cl_int *status, const char *why)
{
    *status = log_refuse("clCreateSubBuffer", code, "%s", why);
    return NULL;
}

/* The part is created from the import, so the driver does not know the buffer's flags and size. */
cl_mem vulkan_create_part(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    const struct vulkan_object *o = (const struct vulkan_object *)transfer;
    const cl_buffer_region *asked = info;
    const size_t size = transfer->surface.desc.width;
    if (!o->whole || type != CL_BUFFER_CREATE_TYPE_REGION || !info || !asked->size)
        return below()->clCreateSubBuffer(o->whole ? o->whole : transfer->memory, flags, type, info, status);
    if ((o->flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)) && (flags & access) &&
        (flags & access) != (o->flags & access))
        return no_part(CL_INVALID_VALUE, status, "the buffer does not allow this access");
    if (asked->origin >= size || asked->size > size - asked->origin)
        return no_part(CL_INVALID_VALUE, status, "the sub-buffer is not within the buffer");
    const cl_buffer_region region = {(size_t)o->at.image.memory.offset + asked->origin, asked->size};
    return below()->clCreateSubBuffer(o->whole, flags & access ? flags : flags | o->flags, type, &region, status);
}

/* ---- commands ---- */

static bool must_change(const struct vulkan_object *o, bool acquire)
{
    return o->imported && o->acquired != acquire;
}

/* Drivers return their own numbers here (NVIDIA's 1 and 999). */
cl_int vulkan_external(const struct handover *handover, bool acquire, const struct enqueueing *to)
{
    enum { AT_ONCE = 64 };
    cl_mem memories[AT_ONCE];
    const struct vulkan_context *c = vulkan_object(handover->transfers[0])->context;
    for (cl_uint i = 0, count = 0, begin = 0; i < handover->count; i++) {
        const struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        cl_event event = NULL;
        if (must_change(o, acquire))
            memories[count++] = o->whole ? o->whole : o->base.memory;
        if (count == 0 || (count < AT_ONCE && i + 1 < handover->count))
            continue;
        if (!event_list_reserve(to->done, 1))
            return CL_OUT_OF_HOST_MEMORY;
        const cl_int status =
            (acquire ? c->acquire : c->release)(to->queue, count, memories, to->wait_count, to->wait, &event);
        if (status != CL_SUCCESS)
            return status > 0 ? CL_OUT_OF_RESOURCES : status;
        event_list_add(to->done, event);
        for (; begin <= i; begin++)
            vulkan_object(handover->transfers[begin])->acquired = acquire;
        count = 0;
    }
    return CL_SUCCESS;
}

cl_int vulkan_external_apart(const struct handover *handover, bool acquire)
{
    const struct vulkan_context *c = vulkan_object(handover->transfers[0])->context;
    struct event_list here;
    cl_int status = CL_SUCCESS;
    bool any = false;
    for (cl_uint i = 0; i < handover->count; i++)
        any = any || must_change(vulkan_object(handover->transfers[i]), acquire);
    cl_command_queue queue = any ? context_own_queue(c->context, &status) : NULL;
    if (!queue)
        return status;
    event_list_open(&here);
    status = vulkan_external(handover, acquire, &(struct enqueueing){.queue = queue, .done = &here});
    if (!event_list_await(&here) && status == CL_SUCCESS)
        status = CL_OUT_OF_RESOURCES;
    event_list_close(&here);
    return status;
}
