/* Mapping of emulated images: the application gets memory with the declared texels, either cld3d's own mapped buffer or
 * the memory that it gave with CL_MEM_USE_HOST_PTR. */
#include "formats/image.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

/* The arguments of one clEnqueueMapImage. */
struct map_call {
    struct image_part part;
    cl_bool blocking;
    cl_map_flags flags;
};

static bool writes(cl_map_flags flags)
{
    return (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
}

/* A command that does nothing behind a wait list. A marker without one would wait for all of its queue. */
static cl_int enqueue_nothing(const struct image_part *p, cl_event *done)
{
    static const cl_uchar zero;
    cl_int status;
    cl_mem byte = image_buffer(p->image, CL_MEM_READ_WRITE, sizeof(zero), &status);
    if (!byte)
        return status;
    status =
        next.clEnqueueFillBuffer(p->queue, byte, &zero, sizeof(zero), 0, sizeof(zero), p->wait_count, p->wait, done);
    next.clReleaseMemObject(byte);
    return status;
}

/* The map of bytes that the application will overwrite completely. */
static cl_int map_nothing(const struct map_call *m, cl_event *done)
{
    const cl_int status = enqueue_nothing(&m->part, done);
    if (status != CL_SUCCESS || !m->blocking || event_await(*done))
        return status;
    event_put(*done);
    *done = NULL;
    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

/* Copies the current bytes of the region to `narrow`. If the application will overwrite them completely, there is
 * nothing to do, and no event is returned. */
static cl_int fill_narrow(const struct map_call *m, cl_mem narrow, cl_event *first, cl_event *filled)
{
    if (m->flags & CL_MAP_WRITE_INVALIDATE_REGION)
        return CL_SUCCESS;
    return image_to_narrow(&m->part, narrow, first, filled);
}

static void *map_buffer(const struct map_call *m, cl_mem narrow, cl_event *done, cl_int *status)
{
    const struct image_part *p = &m->part;
    const cl_map_flags flags = m->flags & CL_MAP_WRITE_INVALIDATE_REGION ? m->flags : m->flags | CL_MAP_READ;
    return next.clEnqueueMapBuffer(p->queue, narrow, m->blocking, flags, 0, image_region_bytes(p->image, p->region),
                                   p->wait_count, p->wait, done, status);
}

/* Maps the application's own memory: the texels are stored at their place in the image. */
static void *map_host(const struct map_call *m, cl_mem narrow, cl_event *done, cl_int *status)
{
    static const size_t zero[3] = {0, 0, 0};
    const struct image_part *p = &m->part;
    const struct image_record *image = p->image;
    const size_t texel = image->converter->narrow_texel;
    const size_t rows[3] = {p->region[0] * texel, p->region[1], p->region[2]};
    char *pointer =
        (char *)image->host + p->origin[0] * texel + p->origin[1] * image->host_row + p->origin[2] * image->host_slice;
    if (m->flags & CL_MAP_WRITE_INVALIDATE_REGION) {
        *status = map_nothing(m, done);
    } else {
        *status = next.clEnqueueReadBufferRect(p->queue, narrow, m->blocking, zero, zero, rows, 0, 0, image->host_row,
                                               p->region[2] > 1 ? image->host_slice : 0, pointer, p->wait_count,
                                               p->wait, done);
    }
    return *status == CL_SUCCESS ? pointer : NULL;
}

/* The map of `narrow`, or the read from it. A blocking map that has failed is undone. */
static void *map_filled(const struct map_call *m, cl_mem narrow, cl_event *done, cl_int *status)
{
    const bool own = m->part.image->host != NULL;
    void *pointer = own ? map_host(m, narrow, done, status) : map_buffer(m, narrow, done, status);
    *status = image_outcome(m->blocking, *status, *done);
    if (*status == CL_SUCCESS)
        return pointer;
    if (!own && pointer)
        next.clEnqueueUnmapMemObject(m->part.queue, narrow, pointer, 0, NULL, NULL);
    event_put(*done);
    *done = NULL;
    return NULL;
}

static void add_mapping(struct image_record *image, struct image_mapping *mapping)
{
    os_lock(&registry_lock);
    mapping->after = image->mappings;
    image->mappings = mapping;
    os_unlock(&registry_lock);
}

static void remember(const struct map_call *m, struct image_mapping *mapping)
{
    mapping->writes = writes(m->flags);
    memcpy(mapping->origin, m->part.origin, sizeof(mapping->origin));
    memcpy(mapping->region, m->part.region, sizeof(mapping->region));
    add_mapping(m->part.image, mapping);
}

static void *map_emulated(const struct map_call *m, cl_event *event, cl_int *status)
{
    const struct image_record *image = m->part.image;
    cl_event first = NULL, filled = NULL, done = NULL;
    struct image_mapping *mapping = calloc(1, sizeof(*mapping));
    if (!mapping) {
        *status = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    cl_mem narrow = image_buffer(image, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                 image_region_bytes(image, m->part.region), status);
    if (narrow)
        *status = fill_narrow(m, narrow, &first, &filled);
    if (narrow && *status == CL_SUCCESS) {
        struct map_call behind = *m;
        if (filled)
            behind.part = image_part_behind(&m->part, &filled);
        mapping->pointer = map_filled(&behind, narrow, &done, status);
        if (*status == CL_SUCCESS)
            event_put(filled);
        else
            image_give_up(&m->part, filled);
    }
    if (narrow && (image->host || *status != CL_SUCCESS))
        next.clReleaseMemObject(narrow);
    else
        mapping->narrow = narrow;
    void *pointer = mapping->pointer;
    if (*status == CL_SUCCESS) {
        remember(m, mapping);
        image_publish(m->part.queue, CL_COMMAND_MAP_IMAGE, first, done, event);
        return pointer;
    }
    event_put(first);
    free(mapping);
    return NULL;
}

/* The flags with which the image must not have been created. */
static cl_mem_flags forbidden(cl_map_flags flags)
{
    return (flags ? CL_MEM_HOST_NO_ACCESS : 0) | (flags & CL_MAP_READ ? CL_MEM_HOST_WRITE_ONLY : 0) |
           (writes(flags) ? CL_MEM_HOST_READ_ONLY : 0);
}

static cl_int check_map(const struct map_call *m, const size_t *row_pitch, const size_t *slice_pitch)
{
    const cl_map_flags known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    const cl_mem_object_type type = m->part.image->type;
    const bool layered =
        type == CL_MEM_OBJECT_IMAGE3D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (!image_part_valid(&m->part))
        return log_refuse("clEnqueueMapImage", CL_INVALID_VALUE, "the region is empty or outside the image");
    if ((m->flags & ~known) ||
        ((m->flags & CL_MAP_WRITE_INVALIDATE_REGION) && (m->flags & (CL_MAP_READ | CL_MAP_WRITE))))
        return log_refuse("clEnqueueMapImage", CL_INVALID_VALUE, "the map flags 0x%lx are invalid",
                          (unsigned long)m->flags);
    if (!row_pitch || (layered && !slice_pitch))
        return log_refuse("clEnqueueMapImage", CL_INVALID_VALUE, "image_row_pitch or image_slice_pitch is NULL");
    return image_check_access("clEnqueueMapImage", &m->part, forbidden(m->flags));
}

static void report_pitches(const struct map_call *m, size_t *row_pitch, size_t *slice_pitch)
{
    const struct image_record *image = m->part.image;
    const size_t row = image->host ? image->host_row : m->part.region[0] * image->converter->narrow_texel;
    const size_t slice = image->host ? image->host_slice : row * m->part.region[1];
    const bool layered = image->type == CL_MEM_OBJECT_IMAGE3D || image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    *row_pitch = row;
    if (slice_pitch)
        *slice_pitch = layered ? slice : image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? row : 0;
}

static void *CL_API_CALL map_image(cl_command_queue command_queue, cl_mem handle, cl_bool blocking_map,
                                   cl_map_flags map_flags, const size_t *origin, const size_t *region,
                                   size_t *image_row_pitch, size_t *image_slice_pitch, cl_uint num_events_in_wait_list,
                                   const cl_event *event_wait_list, cl_event *event, cl_int *errcode_ret)
{
    struct image_record *image = image_get(handle);
    if (!image)
        return next.clEnqueueMapImage(command_queue, handle, blocking_map, map_flags, origin, region, image_row_pitch,
                                      image_slice_pitch, num_events_in_wait_list, event_wait_list, event, errcode_ret);
    const struct map_call m = {
        {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list}, blocking_map, map_flags};
    cl_int status = check_map(&m, image_row_pitch, image_slice_pitch);
    void *pointer = status == CL_SUCCESS ? map_emulated(&m, event, &status) : NULL;
    if (pointer)
        report_pitches(&m, image_row_pitch, image_slice_pitch);
    record_release(image);
    give_code(errcode_ret, status);
    return pointer;
}

/* ---- unmap ---- */

static struct image_mapping *take_mapping(struct image_record *image, const void *pointer)
{
    os_lock(&registry_lock);
    struct image_mapping **place = &image->mappings;
    while (*place && (*place)->pointer != pointer)
        place = &(*place)->after;
    struct image_mapping *mapping = *place;
    if (mapping)
        *place = mapping->after;
    os_unlock(&registry_lock);
    return mapping;
}

/* Collects the texels that the application may have written in a buffer: cld3d's buffer, unmapped, or a new one filled
 * from the application's memory. */
static cl_int collect(const struct image_part *p, struct image_mapping *mapping, cl_event *first)
{
    static const size_t zero[3] = {0, 0, 0};
    const struct image_record *image = p->image;
    const size_t rows[3] = {p->region[0] * image->converter->narrow_texel, p->region[1], p->region[2]};
    cl_int status;
    if (mapping->narrow)
        return next.clEnqueueUnmapMemObject(p->queue, mapping->narrow, mapping->pointer, p->wait_count, p->wait, first);
    if (!mapping->writes)
        return enqueue_nothing(p, first);
    mapping->narrow = image_narrow_buffer(image, p->region, &status);
    if (!mapping->narrow)
        return status;
    /* Not blocking: the application must not use the memory until it maps it again. */
    return next.clEnqueueWriteBufferRect(p->queue, mapping->narrow, CL_FALSE, zero, zero, rows, 0, 0, image->host_row,
                                         p->region[2] > 1 ? image->host_slice : 0, mapping->pointer, p->wait_count,
                                         p->wait, first);
}

/* If the unmap is refused, the memory stays mapped, and the application may try again. */
static cl_int collect_or_keep(const struct image_part *p, struct image_mapping *mapping)
{
    cl_mem before = mapping->narrow;
    const cl_int status = collect(p, mapping, &mapping->collected);
    if (status == CL_SUCCESS)
        return CL_SUCCESS;
    if (mapping->narrow != before)
        next.clReleaseMemObject(mapping->narrow);
    mapping->narrow = before;
    add_mapping(p->image, mapping);
    return status;
}

/* The first part was enqueued by an earlier call, so the driver has not checked the wait list of this call. */
static cl_int check_or_keep(const struct image_part *p, struct image_mapping *mapping)
{
    const cl_int status =
        event_check_list("clEnqueueUnmapMemObject", p->image->context->head.handle, p->wait_count, p->wait);
    if (status != CL_SUCCESS)
        add_mapping(p->image, mapping);
    return status;
}

/* The second part, behind the first one. If an earlier call enqueued the first part (`again`), the second part also
 * waits for this call's wait list. */
static cl_int write_back(const struct image_part *p, const struct image_mapping *mapping, bool again, cl_event *done)
{
    const cl_uint wait_count = again ? p->wait_count : 0;
    cl_event *all = calloc((size_t)wait_count + 1, sizeof(*all));
    if (!all)
        return CL_OUT_OF_HOST_MEMORY;
    all[0] = mapping->collected;
    if (wait_count)
        memcpy(&all[1], p->wait, wait_count * sizeof(*all));
    const struct image_part behind = {p->image, p->origin, p->region, p->queue, wait_count + 1, all};
    const cl_int status = image_from_narrow(&behind, mapping->narrow, NULL, done);
    free(all);
    return status;
}

/* Keeps the mapping, so that the application may try again. Its own memory is then collected again. */
static void keep(struct image_record *image, struct image_mapping *mapping)
{
    if (image->host) {
        event_put(mapping->collected);
        next.clReleaseMemObject(mapping->narrow);
        mapping->collected = NULL;
        mapping->narrow = NULL;
    }
    add_mapping(image, mapping);
}

static cl_int unmap_emulated(const struct image_part *p, struct image_mapping *mapping, cl_event *event)
{
    const bool again = mapping->collected != NULL;
    cl_event done = NULL;
    cl_int status = again ? check_or_keep(p, mapping) : collect_or_keep(p, mapping);
    if (status != CL_SUCCESS)
        return status;
    if (mapping->writes)
        status = write_back(p, mapping, again, &done);
    if (status != CL_SUCCESS) {
        if (next.clRetainEvent(mapping->collected) == CL_SUCCESS)
            image_give_up(p, mapping->collected);
        keep(p->image, mapping);
        return status;
    }
    image_publish(p->queue, CL_COMMAND_UNMAP_MEM_OBJECT, mapping->writes ? mapping->collected : NULL,
                  mapping->writes ? done : mapping->collected, event);
    if (mapping->narrow)
        next.clReleaseMemObject(mapping->narrow);
    free(mapping);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL unmap_mem_object(cl_command_queue command_queue, cl_mem memobj, void *mapped_ptr,
                                           cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                           cl_event *event)
{
    struct image_record *image = image_get(memobj);
    if (!image)
        return next.clEnqueueUnmapMemObject(command_queue, memobj, mapped_ptr, num_events_in_wait_list, event_wait_list,
                                            event);
    struct image_mapping *mapping = take_mapping(image, mapped_ptr);
    cl_int status;
    if (mapping)
        status = unmap_emulated(&(struct image_part){image, mapping->origin, mapping->region, command_queue,
                                                     num_events_in_wait_list, event_wait_list},
                                mapping, event);
    else
        status = log_refuse("clEnqueueUnmapMemObject", CL_INVALID_VALUE, "%p is not a mapped pointer of image %p",
                            mapped_ptr, (void *)memobj);
    record_release(image);
    return status;
}

void map_install(cl_icd_dispatch *table)
{
    table->clEnqueueMapImage = map_image;
    table->clEnqueueUnmapMemObject = unmap_mem_object;
}
