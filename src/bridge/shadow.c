/* Maps of 32-bit programs in a 64-bit Wine. The host maps memory above 4 GiB, which the program cannot address: so it gets
 * memory of its own, a shadow, that is filled when the map has ended and written back in the unmap. A map has two calls, since
 * only the Windows side can allocate there: the map itself, and BRIDGE_SHADOW.
 *
 * A map that does not block must be filled before its event ends. So its event is that of a marker behind a user event, which
 * the bridge sets when it has filled the shadow. In a queue in order, later commands wait for that too. */
#include "bridge/wow64.h"

#include "log.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

struct shadow {
    struct shadow *after;
    cl_command_queue queue; /* only used in the two calls of the map */
    cl_mem memory;          /* only compared */
    char *host, *copy;
    size_t row, rows, row_pitch, slices, slice_pitch; /* bytes that are copied; one row for a buffer */
    bool reads, writes, blocks;
    cl_command_type type;    /* what its event says */
    cl_event mapped, filled; /* while the map runs: the driver's event, and the user event, or NULL */
    bool pending;            /* it will be filled when the map ends; guarded by `lock` */
    bool gone;               /* it is unmapped, and whoever fills it frees it; guarded by `lock` */
};

/* Guards the list of what is mapped, and shadows that are filled. */
static os_mutex lock = OS_MUTEX_INIT;
static struct shadow *list;

static void copy_rows(const struct shadow *shadow, char *to, const char *from)
{
    for (size_t z = 0; z < shadow->slices; z++)
        for (size_t y = 0; y < shadow->rows; y++) {
            const size_t at = z * shadow->slice_pitch + y * shadow->row_pitch;
            memcpy(to + at, from + at, shadow->row);
        }
}

static size_t size_of(const struct shadow *shadow)
{
    return (shadow->slices - 1) * shadow->slice_pitch + (shadow->rows - 1) * shadow->row_pitch + shadow->row;
}

/* ---- the map ---- */

/* What both maps do with the driver's answer. `shape`: the rows that are mapped. Returns the address for the program, or 0. */
static uint32_t answer_map(struct shadow *shape, const void *host, cl_event event, bool wants_event, cl_int status,
                           uint32_t event_address, uint32_t errcode_address, struct bridge_map *outside)
{
    give_code((cl_int *)(uintptr_t)errcode_address, status);
    if (status != CL_SUCCESS)
        return 0;
    shape->host = (char *)host;
    shape->mapped = event;
    if ((uintptr_t)host + size_of(shape) <= UINT32_MAX) {
        if (wants_event)
            *(uint32_t *)(uintptr_t)event_address = wow64_id(event);
        else
            next.clReleaseEvent(event);
        return (uint32_t)(uintptr_t)host;
    }
    struct shadow *shadow = malloc(sizeof(*shadow));
    if (!shadow) {
        next.clEnqueueUnmapMemObject(shape->queue, shape->memory, shape->host, 0, NULL, NULL);
        next.clReleaseEvent(event);
        give_code((cl_int *)(uintptr_t)errcode_address, CL_OUT_OF_HOST_MEMORY);
        return 0;
    }
    *shadow = *shape;
    *outside = (struct bridge_map){(uintptr_t)shadow, size_of(shadow)};
    return 0;
}

static struct shadow begin(uint32_t queue, uint32_t memory, cl_bool blocks, cl_map_flags flags, cl_command_type type)
{
    return (struct shadow){.queue = wow64_handle(queue),
                           .memory = wow64_handle(memory),
                           .slices = 1,
                           .rows = 1,
                           .reads = !(flags & CL_MAP_WRITE_INVALIDATE_REGION),
                           .writes = (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0,
                           .blocks = blocks,
                           .type = type};
}

int wow64_on_clEnqueueMapBuffer(void *arguments)
{
    struct wow64_clEnqueueMapBuffer *p = host_enter(arguments);
    struct shadow shape = begin(p->command_queue, p->buffer, p->blocking_map, p->map_flags, CL_COMMAND_MAP_BUFFER);
    struct scratch s;
    cl_event event = NULL;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    scratch_begin(&s);
    p->outside = (struct bridge_map){0};
    void *const *waits = handles_in(&s, p->event_wait_list, p->num_events_in_wait_list);
    const void *host = NULL;
    if (!s.failed)
        host = host_table.clEnqueueMapBuffer(shape.queue, shape.memory, p->blocking_map, p->map_flags, p->offset, p->cb,
                                             p->num_events_in_wait_list, (void *)waits, &event, &status);
    scratch_end(&s);
    shape.row = shape.row_pitch = shape.slice_pitch = p->cb;
    p->result = answer_map(&shape, host, event, p->event != 0, status, p->event, p->errcode_ret, &p->outside);
    return 0;
}

int wow64_on_clEnqueueMapImage(void *arguments)
{
    struct wow64_clEnqueueMapImage *p = host_enter(arguments);
    struct shadow shape = begin(p->command_queue, p->image, p->blocking_map, p->map_flags, CL_COMMAND_MAP_IMAGE);
    struct scratch s;
    cl_event event = NULL;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    size_t texel = 0;
    scratch_begin(&s);
    p->outside = (struct bridge_map){0};
    void *const *waits = handles_in(&s, p->event_wait_list, p->num_events_in_wait_list);
    const size_t *origin = sizes_in(&s, p->origin, 3), *region = sizes_in(&s, p->region, 3);
    const void *host = NULL;
    if (!s.failed)
        host = host_table.clEnqueueMapImage(shape.queue, shape.memory, p->blocking_map, p->map_flags, origin, region,
                                            p->image_row_pitch ? &shape.row_pitch : NULL, &shape.slice_pitch,
                                            p->num_events_in_wait_list, (void *)waits, &event, &status);
    if (status == CL_SUCCESS) {
        next.clGetImageInfo(shape.memory, CL_IMAGE_ELEMENT_SIZE, sizeof(texel), &texel, NULL);
        shape.row = texel * region[0];
        /* An array of rows has only a slice pitch. */
        cl_mem_object_type type = 0;
        next.clGetMemObjectInfo(shape.memory, CL_MEM_TYPE, sizeof(type), &type, NULL);
        shape.rows = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : region[1];
        shape.slices = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? region[1] : region[2];
        size_back(p->image_row_pitch, shape.row_pitch, true);
        size_back(p->image_slice_pitch, shape.slice_pitch, true);
    }
    scratch_end(&s);
    p->result = answer_map(&shape, host, event, p->event != 0, status, p->event, p->errcode_ret, &p->outside);
    return 0;
}

/* ---- its shadow ---- */

static void CL_CALLBACK on_mapped(cl_event event, cl_int status, void *data)
{
    struct shadow *shadow = data;
    cl_event filled = shadow->filled;
    (void)event;
    os_lock(&lock);
    if (status == CL_COMPLETE && !shadow->gone)
        copy_rows(shadow, shadow->copy, shadow->host);
    shadow->pending = false;
    const bool gone = shadow->gone;
    os_unlock(&lock);
    if (gone)
        free(shadow);
    next.clSetUserEventStatus(filled, status);
    next.clReleaseEvent(filled);
}

/* Puts the marker behind the map whose event is the map's for the program. */
static cl_int fill_later(struct shadow *shadow, cl_event *behind)
{
    cl_context context = NULL;
    cl_int status = CL_OUT_OF_RESOURCES;
    next.clGetEventInfo(shadow->mapped, CL_EVENT_CONTEXT, sizeof(context), &context, NULL);
    shadow->filled = next.clCreateUserEvent(context, &status);
    if (!shadow->filled)
        return status;
    cl_event filled = shadow->filled;
    status = next.clEnqueueMarkerWithWaitList(shadow->queue, 1, &filled, behind);
    if (status == CL_SUCCESS) {
        shadow->pending = true;
        status = next.clSetEventCallback(shadow->mapped, CL_COMPLETE, on_mapped, shadow);
        if (status == CL_SUCCESS)
            return status; /* the callback sets and releases the user event */
        next.clReleaseEvent(*behind);
    }
    next.clSetUserEventStatus(filled, status);
    next.clReleaseEvent(filled);
    return status;
}

/* `pending`: whoever fills it frees it. */
static struct shadow *remove_shadow(cl_mem memory, uint32_t address, bool *pending)
{
    os_lock(&lock);
    struct shadow **place = &list;
    while (*place && ((*place)->copy != (char *)(uintptr_t)address || (*place)->memory != memory))
        place = &(*place)->after;
    struct shadow *found = *place;
    if (found) {
        *place = found->after;
        found->gone = true;
    }
    *pending = found && found->pending;
    os_unlock(&lock);
    return found;
}

int host_shadow(void *arguments)
{
    struct bridge_shadow *p = host_enter(arguments);
    struct shadow *shadow = (struct shadow *)(uintptr_t)p->map;
    const cl_event mapped = shadow->mapped;
    cl_event event = mapped;
    shadow->copy = (char *)(uintptr_t)p->address;
    p->status = shadow->copy ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    os_lock(&lock); /* in the list before it is filled: both may happen at once */
    shadow->after = list;
    list = shadow;
    os_unlock(&lock);
    if (p->status == CL_SUCCESS && shadow->reads && shadow->blocks)
        copy_rows(shadow, shadow->copy, shadow->host);
    else if (p->status == CL_SUCCESS && shadow->reads)
        p->status = fill_later(shadow, &event);
    if (p->status != CL_SUCCESS) {
        bool pending;
        remove_shadow(shadow->memory, (uint32_t)p->address, &pending);
        next.clEnqueueUnmapMemObject(shadow->queue, shadow->memory, shadow->host, 0, NULL, NULL);
        free(shadow);
    } else if (p->wants_event) {
        next.clRetainEvent(event);
        p->event = wow64_new_id(event, shadow->type);
    }
    if (p->status == CL_SUCCESS && event != mapped)
        next.clReleaseEvent(event);
    next.clReleaseEvent(mapped);
    return 0;
}

/* ---- the unmap ---- */

int wow64_on_clEnqueueUnmapMemObject(void *arguments)
{
    struct wow64_clEnqueueUnmapMemObject *p = host_enter(arguments);
    cl_mem memory = wow64_handle(p->memobj);
    struct scratch s;
    scratch_begin(&s);
    void *const *waits = handles_in(&s, p->event_wait_list, p->num_events_in_wait_list);
    void **event = handles_out(&s, p->event, 1);
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    p->freed = 0;
    bool pending = false;
    struct shadow *shadow = s.failed ? NULL : remove_shadow(memory, p->mapped_ptr, &pending);
    char *host = shadow ? shadow->host : (char *)(uintptr_t)p->mapped_ptr;
    if (shadow && shadow->writes && !pending)
        copy_rows(shadow, shadow->host, shadow->copy);
    if (!s.failed)
        status = host_table.clEnqueueUnmapMemObject(wow64_handle(p->command_queue), memory, host,
                                                    p->num_events_in_wait_list, (void *)waits, (void *)event);
    handles_back(p->event, event, 1, status == CL_SUCCESS);
    if (shadow && status != CL_SUCCESS && !pending) { /* it stays mapped */
        os_lock(&lock);
        shadow->gone = false;
        shadow->after = list;
        list = shadow;
        os_unlock(&lock);
    } else if (shadow) {
        p->freed = p->mapped_ptr;
        if (!pending)
            free(shadow);
    }
    scratch_end(&s);
    return status;
}
