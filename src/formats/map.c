/* Mapping of emulated images: the application gets a mapped buffer with the declared texels. */
#include "formats/image.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

static void add_mapping(struct image_record *image, struct image_mapping *mapping)
{
    os_lock(&registry_lock);
    mapping->after = image->mappings;
    image->mappings = mapping;
    os_unlock(&registry_lock);
}

/* Maps a buffer behind the copy of the region's texels, which is left out if the application will overwrite them all. */
static cl_int map_part(const struct image_part *p, bool blocking, cl_map_flags flags, struct image_mapping *mapping,
                       cl_event *event)
{
    const bool overwrites = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    cl_event first = NULL, filled = NULL, done = NULL;
    cl_int status;
    mapping->narrow = image_narrow_buffer(p->image, CL_MEM_ALLOC_HOST_PTR, p->region, &status);
    if (!mapping->narrow)
        return status;
    if (!overwrites)
        status = image_to_narrow(p, mapping->narrow, &first, &filled);
    if (status == CL_SUCCESS) {
        const struct image_part behind = filled ? image_part_behind(p, &filled) : *p;
        mapping->pointer = next.clEnqueueMapBuffer(
            p->queue, mapping->narrow, CL_FALSE, overwrites ? flags : flags | CL_MAP_READ, 0,
            image_region_bytes(p->image, p->region), behind.wait_count, behind.wait, &done, &status);
    }
    event_put(filled);
    if (status == CL_SUCCESS && blocking && !event_await(done)) {
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        next.clEnqueueUnmapMemObject(p->queue, mapping->narrow, mapping->pointer, 0, NULL, NULL);
    }
    if (status != CL_SUCCESS)
        next.clReleaseMemObject(mapping->narrow);
    return image_publish(p, status, false, CL_COMMAND_MAP_IMAGE, first, done, event);
}

static cl_int check_map(const struct image_part *p, cl_map_flags flags, const size_t *row_pitch,
                        const size_t *slice_pitch)
{
    static const char call[] = "clEnqueueMapImage";
    const cl_map_flags known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    if ((flags & ~known) || ((flags & CL_MAP_WRITE_INVALIDATE_REGION) && (flags & (CL_MAP_READ | CL_MAP_WRITE))))
        return log_refuse(call, CL_INVALID_VALUE, "the map flags 0x%lx are invalid", (unsigned long)flags);
    if (!row_pitch || (p->image->deep && !slice_pitch))
        return log_refuse(call, CL_INVALID_VALUE, "image_row_pitch or image_slice_pitch is NULL");
    return image_check_part(call, p);
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
    struct image_part part = {image, origin, region, command_queue, num_events_in_wait_list, event_wait_list};
    void *pointer = NULL;
    struct image_mapping *mapping = NULL;
    cl_int status = check_map(&part, map_flags, image_row_pitch, image_slice_pitch);
    if (status == CL_SUCCESS && blocking_map)
        status = image_part_await("clEnqueueMapImage", &part);
    if (status == CL_SUCCESS) {
        mapping = calloc(1, sizeof(*mapping));
        status = mapping ? map_part(&part, blocking_map, map_flags, mapping, event) : CL_OUT_OF_HOST_MEMORY;
    }
    if (status == CL_SUCCESS) {
        pointer = mapping->pointer;
        mapping->writes = (map_flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
        memcpy(mapping->origin, origin, sizeof(mapping->origin));
        memcpy(mapping->region, region, sizeof(mapping->region));
        *image_row_pitch = region[0] * image->converter->narrow_texel;
        if (image_slice_pitch)
            *image_slice_pitch = image->deep ? *image_row_pitch * region[1] : 0;
        add_mapping(image, mapping);
    } else {
        free(mapping);
    }
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

/* Unmaps the buffer, and copies what the application has written from there. */
static cl_int unmap_part(const struct image_part *p, struct image_mapping *mapping, cl_event *event)
{
    cl_event first = NULL, done = NULL;
    cl_int status =
        next.clEnqueueUnmapMemObject(p->queue, mapping->narrow, mapping->pointer, p->wait_count, p->wait, &first);
    if (status != CL_SUCCESS) { /* it can be tried again */
        add_mapping(p->image, mapping);
        return status;
    }
    if (mapping->writes) {
        const struct image_part behind = first ? image_part_behind(p, &first) : *p;
        status = image_from_narrow(&behind, mapping->narrow, &done);
    }
    status =
        image_publish(p, status, false, CL_COMMAND_UNMAP_MEM_OBJECT, done ? first : NULL, done ? done : first, event);
    next.clReleaseMemObject(mapping->narrow);
    free(mapping);
    return status;
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
        status = unmap_part(&(struct image_part){image, mapping->origin, mapping->region, command_queue,
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
