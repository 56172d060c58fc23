#include "world.h"

#include "driver_bugs.h"
#include "fake_d3d.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static bool is_nine(const struct world *w)
{
    return w->family == D3D9 || w->family == D3D9EX;
}

/* ---- codes ---- */

static bool harmless(enum fault_kind kind)
{
    return kind == FAULT_DIRECT3D_SLOW || kind == FAULT_OPENCL_SLOW || kind == FAULT_EVENT_LATE;
}

static bool of_direct3d(enum fault_kind kind)
{
    return kind == FAULT_DIRECT3D || kind == FAULT_DIRECT3D_MEMORY || kind == FAULT_DIRECT3D_LOST;
}

/* A command of the driver that imports: it may have failed in the call, or in what follows from it. */
static bool struck_import(const struct world *w)
{
    return w->armed && of_direct3d(w->kind) && fault_struck() && strncmp(fault_struck(), "external", 8) == 0;
}

static bool lost(const struct world *w)
{
    return w->armed && w->kind == FAULT_DIRECT3D_LOST && fault_struck();
}

static cl_int not_acquired(const struct world *w)
{
    return is_nine(w) ? CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR : w->rig.api->not_acquired;
}

static bool any_doubtful(const struct world *w)
{
    bool any = false;
    for (unsigned i = 0; i < w->object_count; i++)
        any = any || w->objects[i].doubtful;
    return any;
}

static bool allowed(const struct world *w, enum step step, cl_int status)
{
    const bool direct3d = of_direct3d(w->kind);
    if (status == not_acquired(w))
        return (step == STEP_ANY || step == STEP_OWNER) && any_doubtful(w);
    switch (status) {
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY: return true;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return step != STEP_OWNER; /* no code of acquires and releases */
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        return step == STEP_EVENT || step == STEP_ANY || step == STEP_OWNER || step == STEP_MAP;
    case CL_DEVICE_NOT_AVAILABLE: return step == STEP_CONTEXT;
    case CL_MAP_FAILURE: return step == STEP_MAP;
    case CL_BUILD_PROGRAM_FAILURE: return step == STEP_BUILD;
    case CL_INVALID_VALUE:
        return step == STEP_DEVICES && direct3d; /* an object that does not tell what it is is no device */
    case CL_INVALID_DX9_MEDIA_SURFACE_KHR: return step == STEP_OBJECT && direct3d && is_nine(w);
    case CL_INVALID_DX9_MEDIA_ADAPTER_KHR: return step == STEP_CONTEXT && direct3d && is_nine(w);
    default:
        return direct3d && !is_nine(w) &&
               ((step == STEP_CONTEXT && status == w->rig.api->invalid_device) ||
                (step == STEP_OBJECT && status == w->rig.api->invalid_resource));
    }
}

bool went(const struct world *w, enum step step, cl_int status, const char *what)
{
    char remark[160];
    if (status == CL_SUCCESS)
        return true;
    if (!CHECK(w->armed && fault_struck() && !harmless(w->kind) && allowed(w, step, status))) {
        snprintf(remark, sizeof(remark), "# %s gave %d", what, status);
        tap_line(remark);
    }
    return false;
}

/* ---- contents ---- */

void pattern(const struct object *object, unsigned seed, void *bytes)
{
    if (object->surface->shape == SHAPE_BUFFER)
        rig_pattern(bytes, object->bytes, seed);
    else
        rig_pattern_for(object->format, bytes, object->bytes, seed + 10 * object->index);
}

bool among(const struct object *object, const void *bytes, unsigned seeds, const char *side)
{
    unsigned char expected[MOST_BYTES];
    char remark[160];
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        pattern(object, seed, expected);
        if (seeds & 1u << seed && memcmp(bytes, expected, object->bytes) == 0)
            return CHECK(true);
    }
    unsigned found = SEEDS;
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        pattern(object, seed, expected);
        if (memcmp(bytes, expected, object->bytes) == 0)
            found = seed;
    }
    snprintf(remark, sizeof(remark), "# %s: object %p of shape %d, plane %u: seeds %x are allowed, found %s%u", side,
             (const void *)object->memory, object->surface->shape, object->index, seeds,
             found == SEEDS ? "no seed: " : "", found);
    tap_line(remark);
    return CHECK(!"the bytes are right");
}

static void d3d_has(const struct object *object)
{
    unsigned char bytes[MOST_BYTES];
    const struct surface *surface = object->surface;
    const cl_uint subresource = surface->planes > 1 ? 0 : surface->subresource;
    CHECK_INT(fake_d3d_peek(surface->resource, subresource, bytes, sizeof(bytes)), surface->bytes);
    among(object, bytes + object->offset, object->in_d3d, "Direct3D");
}

/* ---- making ---- */

bool world_open(struct world *w, enum family family)
{
    const bool before = fault_own(true);
    bool opened;
    *w = (struct world){.family = family};
    if (is_nine(w)) {
        opened = dx9_open(&w->nine, family == D3D9EX, RIG_NO_CONTEXT);
        w->rig = w->nine.rig;
        w->rig.acquire = (rig_enqueue)w->nine.acquire;
        w->rig.release = (rig_enqueue)w->nine.release;
    } else {
        opened = rig_open(&w->rig, family == D3D11 ? &rig_d3d11 : &rig_d3d10, RIG_NO_CONTEXT);
    }
    fault_own(before);
    return opened;
}

bool world_context(struct world *w)
{
    cl_int status = 1;
    w->context = is_nine(w) ? dx9_make_context(&w->nine, w->nine.property, w->nine.device, &status)
                            : rig_make_context(&w->rig, w->rig.device, false, &status);
    CHECK_INT(w->context != NULL, status == CL_SUCCESS);
    return went(w, STEP_CONTEXT, status, "clCreateContext");
}

bool world_queues(struct world *w, cl_command_queue_properties properties)
{
    cl_command_queue *const queues[] = {&w->queue, &w->second};
    for (int i = 0; i < 2; i++) {
        cl_int status = 1;
        *queues[i] = clCreateCommandQueue(w->context, w->rig.cl_device, properties, &status);
        CHECK_INT(*queues[i] != NULL, status == CL_SUCCESS);
        if (!went(w, STEP_ANY, status, "clCreateCommandQueue"))
            return false;
    }
    return true;
}

static const struct rig_desc descs[SHAPES] = {
    [SHAPE_BUFFER] = {.width = 250},
    [SHAPE_FLAT] = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 13, .height = 7},
    [SHAPE_LEVEL] = {.format = DXGI_FORMAT_R16_UNORM, .width = 10, .height = 6, .levels = 2, .slices = 2},
    [SHAPE_DEEP] = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 5, .height = 3, .depth = 3},
    [SHAPE_EMULATED] = {.format = DXGI_FORMAT_R32G32_FLOAT, .width = 13, .height = 7},
    [SHAPE_EMULATED_DEEP] = {.format = DXGI_FORMAT_R16G16_FLOAT, .width = 5, .height = 3, .depth = 2},
    [SHAPE_DYNAMIC] = {.format = DXGI_FORMAT_R8G8B8A8_UINT,
                       .width = 9,
                       .height = 4,
                       .usage = RIG_DYNAMIC,
                       .bind = D3D11_BIND_SHADER_RESOURCE},
    [SHAPE_NV12] = {.format = DXGI_FORMAT_NV12, .width = 16, .height = 8},
};

/* The formats of the same shapes in Direct3D 9, which has no others. */
static const struct dx9_format *format_of(enum shape shape)
{
    switch (shape) {
    case SHAPE_FLAT:
    case SHAPE_DYNAMIC: return dx9_format_of(D3DFMT_A8R8G8B8);
    case SHAPE_EMULATED: return dx9_format_of(D3DFMT_G32R32F);
    case SHAPE_NV12: return &dx9_formats[0];
    case SHAPE_PACKED: return &dx9_beyond[1];
    default: return NULL;
    }
}

static bool make_nine(struct world *w, struct surface *surface)
{
    const struct dx9_format *format = format_of(surface->shape);
    unsigned char *bytes;
    /* A dynamic texture stands for what can't be locked. */
    const enum dx9_kind kind = surface->shape == SHAPE_DYNAMIC ? DX9_TARGET : DX9_PLAIN;
    const bool made = format && dx9_make(&surface->nine, &w->nine, format, kind, 16, 8);
    CHECK(made || lost(w));
    if (!made)
        return false;
    surface->resource = surface->nine.surface;
    surface->bytes = surface->nine.bytes;
    surface->planes = format->plane_count;
    bytes = calloc(1, surface->bytes);
    for (unsigned i = 0; i < surface->planes; i++) {
        struct object object = {.surface = surface,
                                .index = i,
                                .format = format->planes[i].dxgi,
                                .bytes = dx9_plane_bytes(&surface->nine, i)};
        pattern(&object, SEED_FIRST, bytes + dx9_offset(&surface->nine, i));
    }
    const bool written = CHECK(dx9_write(&surface->nine, bytes) || lost(w));
    free(bytes);
    return written;
}

static bool make_ten(struct world *w, struct surface *surface)
{
    unsigned char bytes[MOST_BYTES];
    surface->desc = descs[surface->shape];
    surface->subresource = surface->shape == SHAPE_LEVEL ? 3 : 0;
    surface->resource = rig_make(&w->rig, w->rig.device, &surface->desc, NULL);
    surface->bytes = rig_bytes(&surface->desc, surface->subresource);
    surface->planes = surface->shape == SHAPE_NV12 ? 2 : 1;
    CHECK(surface->resource != NULL || lost(w));
    if (!surface->resource)
        return false;
    struct object object = {.surface = surface, .format = surface->desc.format, .bytes = surface->bytes};
    if (surface->planes > 1) {
        object.bytes = surface->bytes / 3 * 2;
        object.format = DXGI_FORMAT_R8_UNORM;
    }
    pattern(&object, SEED_FIRST, bytes);
    object.index = 1;
    object.bytes /= 2;
    if (surface->planes > 1)
        pattern(&object, SEED_FIRST, bytes + object.bytes * 2);
    rig_write(&w->rig, surface->resource, &surface->desc, surface->subresource, bytes);
    return true;
}

static void place_nine(struct object *object)
{
    const struct dx9_surface *nine = &object->surface->nine;
    object->format = nine->format->planes[object->index].dxgi;
    object->extent[0] = dx9_plane_width(nine, object->index);
    object->extent[1] = dx9_plane_height(nine, object->index);
    object->bytes = dx9_plane_bytes(nine, object->index);
    object->offset = dx9_offset(nine, object->index);
}

static void place_ten(struct object *object)
{
    const struct surface *surface = object->surface;
    UINT width, height, depth;
    rig_level(&surface->desc, surface->subresource, &width, &height, &depth);
    object->extent[0] = width;
    object->extent[1] = height;
    object->extent[2] = depth;
    object->bytes = surface->bytes;
    object->format = surface->desc.format;
    if (surface->planes == 1)
        return;
    object->format = DXGI_FORMAT_R8_UNORM;
    object->extent[0] >>= object->index;
    object->extent[1] >>= object->index;
    object->bytes = surface->bytes / 3 * (object->index ? 1 : 2);
    object->offset = object->index ? surface->bytes / 3 * 2 : 0;
}

static bool share_plane(struct world *w, const struct surface *surface, unsigned plane)
{
    struct object *object = &w->objects[w->object_count];
    cl_int status = 1;
    *object = (struct object){.surface = surface, .index = plane, .extent = {1, 1, 1}, .in_d3d = 1u << SEED_FIRST};
    if (is_nine(w)) {
        place_nine(object);
        object->memory = dx9_create(&w->nine, w->context, CL_MEM_READ_WRITE, surface->resource, plane, &status);
    } else {
        place_ten(object);
        const UINT index = surface->planes > 1 ? plane : surface->subresource;
        object->memory = surface->shape == SHAPE_BUFFER
                             ? w->rig.create_buffer(w->context, CL_MEM_READ_WRITE, surface->resource, &status)
                         : surface->desc.depth
                             ? w->rig.create_3d(w->context, CL_MEM_READ_WRITE, surface->resource, index, &status)
                             : w->rig.create_2d(w->context, CL_MEM_READ_WRITE, surface->resource, index, &status);
    }
    CHECK_INT(object->memory != NULL, status == CL_SUCCESS);
    if (!went(w, STEP_OBJECT, status, "making an object"))
        return false;
    w->object_count++;
    return true;
}

bool world_share(struct world *w, enum shape shape)
{
    struct surface *surface = &w->surfaces[w->surface_count];
    const bool before = fault_own(true);
    surface->shape = shape;
    const bool made = is_nine(w) ? make_nine(w, surface) : make_ten(w, surface);
    fault_own(before);
    if (!made)
        return false;
    w->surface_count++;
    for (unsigned i = 0; i < surface->planes; i++)
        if (!share_plane(w, surface, i))
            return false;
    return true;
}

/* ---- acquire and release ---- */

static void list_objects(const struct world *w, cl_mem list[MOST_OBJECTS])
{
    for (unsigned i = 0; i < w->object_count; i++)
        list[i] = w->objects[i].memory;
}

cl_int end_of(const struct world *w, cl_event event)
{
    cl_int status = 1;
    const bool before = fault_own(true);
    (void)w;
    clWaitForEvents(1, &event);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    fault_own(before);
    return status;
}

/* Both orders and, where there is one, the event's end. `called` says whether the call itself succeeded. */
static bool order(struct world *w, rig_enqueue enqueue, unsigned how, cl_event wait, bool *called)
{
    cl_mem list[MOST_OBJECTS];
    cl_event event = NULL;
    list_objects(w, list);
    cl_int status = enqueue(how & IN_SECOND ? w->second : w->queue, w->object_count, list, wait != NULL,
                            wait ? &wait : NULL, how & WITH_EVENT ? &event : NULL);
    *called = status == CL_SUCCESS;
    CHECK_INT(event != NULL, status == CL_SUCCESS && how & WITH_EVENT);
    if (!went(w, STEP_OWNER, status, "acquire or release"))
        return false;
    return !event || went(w, STEP_EVENT, end_of(w, event), "the event of acquire or release");
}

bool acquire(struct world *w, unsigned how, cl_event wait)
{
    bool called;
    const bool acquired = order(w, w->rig.acquire, how, wait, &called);
    for (unsigned i = 0; i < w->object_count && acquired; i++) {
        w->objects[i].acquired = true;
        w->objects[i].in_opencl = w->objects[i].in_d3d;
        /* Nobody was told how the command ended. */
        if (w->armed && w->kind == FAULT_EVENT_FAILS && fault_struck() && !(how & WITH_EVENT)) {
            w->objects[i].doubtful = true;
            w->objects[i].in_opencl |= 1;
        }
    }
    return acquired;
}

bool release(struct world *w, unsigned how, cl_event wait)
{
    bool called;
    const bool released = order(w, w->rig.release, how, wait, &called), import = struck_import(w);
    const bool direct3d = w->armed && of_direct3d(w->kind) && !import;
    for (unsigned i = 0; i < w->object_count; i++) {
        struct object *object = &w->objects[i];
        if (released) {
            object->in_d3d = object->in_opencl;
            object->acquired = object->doubtful = false;
        } else if (direct3d) {
            /* Direct3D has it again, with the old bytes or the new ones. */
            object->in_d3d |= object->in_opencl;
            object->acquired = object->doubtful = false;
        } else if (called || import) {
            /* The driver's last marker failed, behind the release's own work or before it. */
            object->in_d3d |= object->in_opencl;
            object->doubtful = true;
        }
        /* Else OpenCL keeps it, and all its bytes. */
    }
    return released;
}

bool acquire_later(struct world *w, cl_event wait, cl_event *event)
{
    cl_mem list[MOST_OBJECTS];
    list_objects(w, list);
    const cl_int status = w->rig.acquire(w->queue, w->object_count, list, wait != NULL, wait ? &wait : NULL, event);
    if (!went(w, STEP_OWNER, status, "acquire"))
        return false;
    for (unsigned i = 0; i < w->object_count; i++) {
        w->objects[i].acquired = true;
        w->objects[i].in_opencl = w->objects[i].in_d3d;
    }
    return true;
}

bool release_later(struct world *w, cl_event wait, cl_event *event)
{
    cl_mem list[MOST_OBJECTS];
    list_objects(w, list);
    const cl_int status = w->rig.release(w->queue, w->object_count, list, wait != NULL, wait ? &wait : NULL, event);
    const bool gone = went(w, STEP_OWNER, status, "release");
    for (unsigned i = 0; i < w->object_count; i++) {
        struct object *object = &w->objects[i];
        if (gone)
            object->acquired = false;
        else if (w->armed && of_direct3d(w->kind))
            object->doubtful = true;
        object->in_d3d = gone ? object->in_opencl : object->in_d3d | object->in_opencl;
    }
    return gone;
}

/* A command that failed behind the call's back leaves what was before it or after it. */
void ended(struct world *w, cl_event event)
{
    if (!event)
        return;
    const cl_int status = end_of(w, event);
    if (status == CL_SUCCESS)
        return;
    for (unsigned i = 0; i < w->object_count; i++) {
        struct object *object = &w->objects[i];
        object->in_d3d |= object->in_opencl | 1u << SEED_FIRST | 1u << SEED_SECOND;
        object->in_opencl |= object->in_d3d;
        object->doubtful = true;
    }
}

/* ---- OpenCL's side ---- */

cl_int write_object(const struct object *object, cl_command_queue queue, cl_bool blocking, const void *bytes,
                    cl_event *event)
{
    static const size_t origin[3] = {0, 0, 0};
    if (object->surface->shape == SHAPE_BUFFER)
        return clEnqueueWriteBuffer(queue, object->memory, blocking, 0, object->bytes, bytes, 0, NULL, event);
    return clEnqueueWriteImage(queue, object->memory, blocking, origin, object->extent, 0, 0, bytes, 0, NULL, event);
}

static cl_int read_object(const struct object *object, cl_command_queue queue, void *bytes, cl_event *event)
{
    static const size_t origin[3] = {0, 0, 0};
    if (object->surface->shape == SHAPE_BUFFER)
        return clEnqueueReadBuffer(queue, object->memory, CL_FALSE, 0, object->bytes, bytes, 0, NULL, event);
    return clEnqueueReadImage(queue, object->memory, CL_FALSE, origin, object->extent, 0, 0, bytes, 0, NULL, event);
}

/* An object may be the surface's own memory: Direct3D sees at once what OpenCL writes. */
static bool may_be_direct(void)
{
    return getenv("FAKE_D3D_VULKAN") != NULL;
}

void wrote(struct object *object, unsigned seed, bool done)
{
    if (may_be_direct())
        object->in_d3d |= 1u << seed;
    object->in_opencl = done ? 1u << seed : object->in_opencl | 1u << seed;
}

bool write_all(struct world *w, unsigned seed)
{
    unsigned char bytes[MOST_BYTES];
    for (unsigned i = 0; i < w->object_count; i++) {
        cl_event event = NULL;
        pattern(&w->objects[i], seed, bytes);
        const cl_int status = write_object(&w->objects[i], w->queue, CL_FALSE, bytes, &event);
        const bool done =
            went(w, STEP_ANY, status, "a write") && went(w, STEP_EVENT, end_of(w, event), "a write's event");
        wrote(&w->objects[i], seed, done);
        if (!done)
            return false;
    }
    return true;
}

bool read_all(struct world *w)
{
    unsigned char bytes[MOST_BYTES];
    for (unsigned i = 0; i < w->object_count; i++) {
        cl_event event = NULL;
        const cl_int status = read_object(&w->objects[i], w->queue, bytes, &event);
        if (!went(w, STEP_ANY, status, "a read") || !went(w, STEP_EVENT, end_of(w, event), "a read's event"))
            return false;
        if (!w->objects[i].doubtful)
            among(&w->objects[i], bytes, w->objects[i].in_opencl, "OpenCL");
    }
    return true;
}

/* ---- the end ---- */

static cl_int already_acquired(const struct world *w)
{
    return is_nine(w) ? CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR : w->rig.api->already_acquired;
}

/* Without a device nothing can be right, but nothing may hang either. */
static void use_lost(struct world *w, struct object *object)
{
    const cl_int status = w->rig.acquire(w->queue, 1, &object->memory, 0, NULL, NULL);
    CHECK(status == CL_OUT_OF_RESOURCES || status == already_acquired(w));
    const cl_int back = w->rig.release(w->queue, 1, &object->memory, 0, NULL, NULL);
    CHECK(back == not_acquired(w) || back == CL_OUT_OF_RESOURCES || back == CL_SUCCESS);
}

/* Another queue, where the driver's go on no more behind a command that has failed. */
static void go_on(struct world *w)
{
    static int stops = -1;
    cl_int status = 1;
    if (stops < 0)
        stops = !device_queues_go_on(w->rig.cl_device);
    if (!stops || barrier_ends_well(w->queue))
        return;
    CHECK_INT(clReleaseCommandQueue(w->queue), CL_SUCCESS);
    w->queue = clCreateCommandQueue(w->context, w->rig.cl_device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
}

static void use_again(struct world *w, struct object *object)
{
    unsigned char bytes[MOST_BYTES];
    cl_event read = NULL;
    d3d_has(object);
    go_on(w);
    cl_int status = w->rig.acquire(w->queue, 1, &object->memory, 0, NULL, NULL);
    if (object->doubtful)
        CHECK(status == CL_SUCCESS || status == already_acquired(w));
    else
        CHECK_INT(status, object->acquired ? already_acquired(w) : CL_SUCCESS);
    if (status == CL_SUCCESS && !object->acquired)
        object->in_opencl = object->in_d3d;
    if (CHECK_INT(read_object(object, w->queue, bytes, &read), CL_SUCCESS)) {
        CHECK_INT(end_of(w, read), CL_COMPLETE);
        if (!object->doubtful)
            among(object, bytes, object->in_opencl, "OpenCL at the end");
    }
    pattern(object, SEED_END, bytes);
    CHECK_INT(write_object(object, w->queue, CL_TRUE, bytes, NULL), CL_SUCCESS);
    CHECK_INT(w->rig.release(w->queue, 1, &object->memory, 0, NULL, NULL), CL_SUCCESS);
    object->in_d3d = 1u << SEED_END;
    d3d_has(object);
}

static void give_back(struct world *w)
{
    for (unsigned i = 0; i < w->object_count; i++)
        went(w, STEP_ANY, clReleaseMemObject(w->objects[i].memory), "clReleaseMemObject");
    if (w->second)
        went(w, STEP_ANY, clReleaseCommandQueue(w->second), "clReleaseCommandQueue");
    if (w->queue)
        went(w, STEP_ANY, clReleaseCommandQueue(w->queue), "clReleaseCommandQueue");
    if (w->context)
        went(w, STEP_ANY, clReleaseContext(w->context), "clReleaseContext");
}

void world_end(struct world *w)
{
    fault_settle();
    const bool before = fault_own(true);
    for (unsigned i = 0; i < w->object_count && w->queue; i++) {
        if (lost(w))
            use_lost(w, &w->objects[i]);
        else
            use_again(w, &w->objects[i]);
    }
    fault_own(before);
    give_back(w);
    fault_settle();
    fault_own(true);
    for (unsigned i = 0; i < w->surface_count; i++)
        rig_release(w->surfaces[i].resource);
    if (is_nine(w))
        dx9_close(&w->nine);
    else
        rig_close(&w->rig);
    fault_own(before);
}
