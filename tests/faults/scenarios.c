#include "scenarios.h"

#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames ---- */

static void frame(struct world *w)
{
    if (!acquire(w, WITH_EVENT, NULL))
        return;
    read_all(w);
    write_all(w, SEED_SECOND);
    release(w, WITH_EVENT, NULL);
}

static void two_frames(struct world *w)
{
    frame(w);
    if (!w->objects[0].acquired && acquire(w, WITH_EVENT, NULL)) {
        write_all(w, SEED_THIRD);
        release(w, WITH_EVENT, NULL);
    }
}

static void frame_without_events(struct world *w)
{
    if (!acquire(w, 0, NULL))
        return;
    read_all(w);
    write_all(w, SEED_SECOND);
    release(w, 0, NULL);
}

static void nothing_written(struct world *w)
{
    if (acquire(w, WITH_EVENT, NULL) && read_all(w))
        release(w, WITH_EVENT, NULL);
}

static void released_elsewhere(struct world *w)
{
    if (acquire(w, WITH_EVENT, NULL) && write_all(w, SEED_SECOND))
        release(w, WITH_EVENT | IN_SECOND, NULL);
}

static void times(struct world *w)
{
    const cl_profiling_info names[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                       CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    cl_event event = NULL;
    if (!acquire_later(w, NULL, &event))
        return;
    clWaitForEvents(1, &event);
    for (int i = 0; i < 4; i++) {
        cl_ulong time = 0;
        const cl_int status = clGetEventProfilingInfo(event, names[i], sizeof(time), &time, NULL);
        CHECK(status == CL_SUCCESS || status == CL_PROFILING_INFO_NOT_AVAILABLE ||
              !went(w, STEP_ANY, status, "clGetEventProfilingInfo"));
    }
    ended(w, event);
}

/* ---- wait lists and user events ---- */

static cl_event make_user_event(struct world *w)
{
    cl_int status = 1;
    cl_event user = clCreateUserEvent(w->context, &status);
    CHECK_INT(user != NULL, status == CL_SUCCESS);
    went(w, STEP_ANY, status, "clCreateUserEvent");
    return user;
}

/* A program that is told that an event could not be set tries again. */
static void set(struct world *w, cl_event user, cl_int to)
{
    const cl_int status = clSetUserEventStatus(user, to);
    if (!went(w, STEP_ANY, status, "clSetUserEventStatus")) {
        const bool before = fault_own(true);
        clSetUserEventStatus(user, to);
        fault_own(before);
    }
    went(w, STEP_ANY, clReleaseEvent(user), "clReleaseEvent");
}

static void behind_user_event(struct world *w, cl_int end)
{
    cl_event acquired = NULL, user = make_user_event(w);
    if (!user)
        return;
    const bool taken = acquire_later(w, user, &acquired);
    set(w, user, end);
    if (taken && end < 0) {
        const cl_int status = end_of(w, acquired);
        CHECK(status < 0);
        for (unsigned i = 0; i < w->object_count; i++)
            w->objects[i].acquired = false;
    } else if (taken) {
        const unsigned was = w->objects[0].in_opencl;
        ended(w, acquired);
        if (w->objects[0].in_opencl == was && write_all(w, SEED_SECOND))
            release(w, WITH_EVENT, NULL);
    }
}

static void user_event_set(struct world *w)
{
    behind_user_event(w, CL_COMPLETE);
}

static void user_event_failed(struct world *w)
{
    behind_user_event(w, -7);
}

/* The barrier's event, to be given to end_of: PoCL 3.1 ends the process if a user event fails and a command behind it has
 * an event that nobody holds. */
static cl_event hold(struct world *w, cl_event user)
{
    cl_event held = NULL;
    went(w, STEP_ANY, clEnqueueBarrierWithWaitList(w->queue, 1, &user, &held), "clEnqueueBarrierWithWaitList");
    return held;
}

/* Releases and acquires in turn behind one user event. */
static void deferred(struct world *w, unsigned commands, cl_int end)
{
    cl_event events[4] = {NULL};
    if (!acquire(w, WITH_EVENT, NULL) || !write_all(w, SEED_SECOND))
        return;
    cl_event user = make_user_event(w);
    if (!user)
        return;
    cl_event held = hold(w, user);
    bool goes_on = true;
    for (unsigned i = 0; i < commands && goes_on; i++)
        goes_on = i % 2 ? acquire_later(w, NULL, &events[i]) : release_later(w, NULL, &events[i]);
    set(w, user, end);
    for (unsigned i = 0; i < commands; i++)
        ended(w, events[i]);
    if (held)
        end_of(w, held);
}

static void deferred_release(struct world *w)
{
    deferred(w, 1, CL_COMPLETE);
}

static void deferred_cycle(struct world *w)
{
    deferred(w, 3, CL_COMPLETE);
}

static void deferred_pair(struct world *w)
{
    deferred(w, 2, CL_COMPLETE);
}

/* More objects than a call has room for without memory. */
static bool share_many(struct world *w)
{
    for (int i = 0; i < 10; i++)
        if (!world_share(w, SHAPE_FLAT))
            return false;
    return true;
}

static void long_list(struct world *w)
{
    if (share_many(w))
        frame(w);
}

/* The user event is set in a callback of another event. */
struct setting {
    struct world *w;
    cl_event user;
    bool called;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static atomic_int callbacks_due;

int scenario_callbacks_due(void)
{
    return atomic_load(&callbacks_due);
}

static cl_int set_callback(cl_event event, void(CL_CALLBACK *notify)(cl_event, cl_int, void *), struct setting *setting)
{
    atomic_fetch_add(&callbacks_due, 1);
    const cl_int status = clSetEventCallback(event, CL_COMPLETE, notify, setting);
    if (status != CL_SUCCESS)
        atomic_fetch_sub(&callbacks_due, 1);
    return status;
}

static void await_callback(struct setting *setting)
{
    pthread_mutex_lock(&setting->lock);
    while (!setting->called)
        pthread_cond_wait(&setting->changed, &setting->lock);
    pthread_mutex_unlock(&setting->lock);
}

/* PoCL 3.1 and rusticl 22.3 call no callback for a command that fails. */
static bool tells(struct world *w, cl_event event)
{
    const bool before = fault_own(true);
    CHECK_INT(clRetainEvent(event), CL_SUCCESS);
    fault_own(before);
    return end_of(w, event) == CL_COMPLETE;
}

static void CL_CALLBACK note_callback(cl_event event, cl_int status, void *data)
{
    struct setting *setting = data;
    (void)event;
    (void)status;
    atomic_fetch_sub(&callbacks_due, 1);
    pthread_mutex_lock(&setting->lock);
    setting->called = true;
    pthread_cond_signal(&setting->changed);
    pthread_mutex_unlock(&setting->lock);
}

static void callbacks(struct world *w)
{
    struct setting setting = {w, NULL, false, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    cl_event event = NULL;
    if (!acquire_later(w, NULL, &event))
        return;
    if (went(w, STEP_ANY, set_callback(event, note_callback, &setting), "clSetEventCallback")) {
        went(w, STEP_ANY, clFlush(w->queue), "clFlush");
        if (tells(w, event))
            await_callback(&setting);
    }
    ended(w, event);
}

/* ---- commands on acquired objects ---- */

static struct object *object_of(struct world *w, enum shape shape)
{
    for (unsigned i = 0; i < w->object_count; i++)
        if (w->objects[i].surface->shape == shape)
            return &w->objects[i];
    return NULL;
}

static const size_t origin[3] = {0, 0, 0};

/* Maps, changes and unmaps; what comes back is what was written in between. An unmap that is refused can be tried again. */
static void map_one(struct world *w, struct object *object)
{
    unsigned char bytes[MOST_BYTES];
    cl_int status = 1;
    cl_event unmapped = NULL;
    size_t row = object->bytes / object->extent[1] / object->extent[2], pitch = row, slice = 0;
    pattern(object, SEED_SECOND, bytes);
    unsigned char *mapped = object->surface->shape == SHAPE_BUFFER
                                ? clEnqueueMapBuffer(w->queue, object->memory, CL_TRUE, CL_MAP_WRITE, 0, object->bytes,
                                                     0, NULL, NULL, &status)
                                : clEnqueueMapImage(w->queue, object->memory, CL_TRUE, CL_MAP_WRITE, origin,
                                                    object->extent, &pitch, &slice, 0, NULL, NULL, &status);
    CHECK_INT(mapped != NULL, status == CL_SUCCESS);
    if (!went(w, STEP_MAP, status, "a map"))
        return;
    for (size_t z = 0; z < object->extent[2]; z++)
        for (size_t y = 0; y < object->extent[1]; y++)
            memcpy(mapped + z * slice + y * pitch, bytes + (z * object->extent[1] + y) * row, row);
    status = clEnqueueUnmapMemObject(w->queue, object->memory, mapped, 0, NULL, &unmapped);
    if (!went(w, STEP_ANY, status, "an unmap")) {
        status = clEnqueueUnmapMemObject(w->queue, object->memory, mapped, 0, NULL, &unmapped);
        CHECK_INT(status, CL_SUCCESS);
    }
    const bool done = status == CL_SUCCESS && went(w, STEP_EVENT, end_of(w, unmapped), "an unmap's event");
    wrote(object, SEED_SECOND, done);
    if (!done)
        object->doubtful = true; /* a map that never ended leaves the driver's object in its own state */
}

static void maps(struct world *w)
{
    if (!acquire(w, WITH_EVENT, NULL))
        return;
    for (unsigned i = 0; i < w->object_count; i++)
        map_one(w, &w->objects[i]);
    read_all(w);
    release(w, WITH_EVENT, NULL);
}

/* From one object to another by way of a plain buffer; both have one format. */
static void copies(struct world *w)
{
    struct object *from = &w->objects[0];
    cl_int status = 1;
    cl_event event = NULL;
    if (!acquire(w, WITH_EVENT, NULL))
        return;
    cl_mem buffer = clCreateBuffer(w->context, CL_MEM_READ_WRITE, from->bytes, NULL, &status);
    if (!went(w, STEP_ANY, status, "clCreateBuffer"))
        return;
    if (write_all(w, SEED_SECOND)) {
        status = clEnqueueCopyImageToBuffer(w->queue, from->memory, buffer, origin, from->extent, 0, 0, NULL, &event);
        if (went(w, STEP_ANY, status, "a copy") && went(w, STEP_EVENT, end_of(w, event), "a copy's event")) {
            event = NULL;
            status =
                clEnqueueCopyBufferToImage(w->queue, buffer, from->memory, 0, origin, from->extent, 0, NULL, &event);
            wrote(from, SEED_SECOND,
                  went(w, STEP_ANY, status, "a copy") && went(w, STEP_EVENT, end_of(w, event), "a copy's event"));
        }
        read_all(w);
    }
    went(w, STEP_ANY, clReleaseMemObject(buffer), "clReleaseMemObject");
    release(w, WITH_EVENT, NULL);
}

/* Images of the program's own, of a format that the device may lack. */
static cl_mem plain_image(struct world *w)
{
    const cl_image_format format = {CL_RG, CL_FLOAT};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 13, .image_height = 7};
    cl_int status = 1;
    cl_mem image = clCreateImage(w->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(image != NULL, status == CL_SUCCESS);
    went(w, STEP_ANY, status, "clCreateImage");
    return image;
}

/* Whether a command was taken and came to its end. One that was not has no event, which nobody would give back. */
static bool done(struct world *w, cl_int status, const cl_event *event, const char *what)
{
    CHECK(status == CL_SUCCESS || !*event);
    return went(w, STEP_ANY, status, what) && went(w, STEP_EVENT, end_of(w, *event), what);
}

/* Fills one image, copies it to another and to the shared one, which has its format, and reads both. */
static void use_plain_images(struct world *w, cl_mem first, cl_mem second)
{
    static const float colour[4] = {0.5f, 0.25f, 0, 1};
    struct object *shared = object_of(w, SHAPE_EMULATED);
    const size_t region[3] = {13, 7, 1};
    float texels[13 * 7 * 2];
    cl_event event = NULL;
    if (!done(w, clEnqueueFillImage(w->queue, first, colour, origin, region, 0, NULL, &event), &event,
              "clEnqueueFillImage"))
        return;
    event = NULL;
    if (!done(w, clEnqueueCopyImage(w->queue, first, second, origin, origin, region, 0, NULL, &event), &event,
              "clEnqueueCopyImage"))
        return;
    event = NULL;
    if (done(w, clEnqueueReadImage(w->queue, second, CL_FALSE, origin, region, 0, 0, texels, 0, NULL, &event), &event,
             "clEnqueueReadImage"))
        for (int i = 0; i < 13 * 7; i++)
            CHECK(texels[2 * i] == 0.5f && texels[2 * i + 1] == 0.25f);
    unsigned char bytes[MOST_BYTES];
    pattern(shared, SEED_SECOND, bytes);
    event = NULL;
    if (!done(w, clEnqueueWriteImage(w->queue, second, CL_FALSE, origin, region, 0, 0, bytes, 0, NULL, &event), &event,
              "clEnqueueWriteImage"))
        return;
    event = NULL;
    if (!done(w, clEnqueueWriteImage(w->queue, second, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, &event), &event,
              "a blocking clEnqueueWriteImage"))
        return;
    event = NULL;
    if (!done(w, clEnqueueReadImage(w->queue, second, CL_TRUE, origin, region, 0, 0, texels, 0, NULL, &event), &event,
              "a blocking clEnqueueReadImage"))
        return;
    event = NULL;
    wrote(shared, SEED_SECOND,
          done(w, clEnqueueCopyImage(w->queue, second, shared->memory, origin, origin, region, 0, NULL, &event), &event,
               "clEnqueueCopyImage"));
}

static void plain_images(struct world *w)
{
    if (!acquire(w, WITH_EVENT, NULL))
        return;
    cl_mem first = plain_image(w), second = plain_image(w);
    if (first && second) {
        use_plain_images(w, first, second);
        read_all(w);
    }
    if (first)
        went(w, STEP_ANY, clReleaseMemObject(first), "clReleaseMemObject");
    if (second)
        went(w, STEP_ANY, clReleaseMemObject(second), "clReleaseMemObject");
    release(w, WITH_EVENT, NULL);
}

static float *map_all(struct world *w, cl_mem image, cl_map_flags flags)
{
    const size_t region[3] = {13, 7, 1};
    size_t pitch = 0;
    cl_int status = 1;
    float *mapped =
        clEnqueueMapImage(w->queue, image, CL_TRUE, flags, origin, region, &pitch, NULL, 0, NULL, NULL, &status);
    CHECK_INT(mapped != NULL, status == CL_SUCCESS);
    return went(w, STEP_MAP, status, "a map") ? mapped : NULL;
}

static bool unmap_all(struct world *w, cl_mem image, void *mapped)
{
    cl_event event = NULL;
    return went(w, STEP_ANY, clEnqueueUnmapMemObject(w->queue, image, mapped, 0, NULL, &event), "an unmap") &&
           went(w, STEP_EVENT, end_of(w, event), "an unmap's event");
}

/* A map whose bytes nobody wants waits for its wait list all the same: one that blocks and succeeds is over. */
static float *map_anew(struct world *w, cl_mem image)
{
    const size_t region[3] = {13, 7, 1};
    cl_int status = 1, end = CL_QUEUED;
    size_t pitch = 0;
    cl_event event = NULL;
    float *mapped = clEnqueueMapImage(w->queue, image, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, origin, region, &pitch,
                                      NULL, 0, NULL, &event, &status);
    CHECK_INT(event != NULL, status == CL_SUCCESS);
    if (!went(w, STEP_MAP, status, "a map of new bytes"))
        return NULL;
    const bool own = fault_own(true);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(end), &end, NULL), CL_SUCCESS);
    CHECK_INT(end, CL_COMPLETE);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    fault_own(own);
    return mapped;
}

/* What is written to the image while it is mapped is the image's. */
static void use_mapped(struct world *w, cl_mem image, float *mapped)
{
    for (int i = 0; mapped && i < 13 * 7 * 2; i++)
        mapped[i] = (float)i;
    if (!mapped || !unmap_all(w, image, mapped) || !(mapped = map_all(w, image, CL_MAP_READ)))
        return;
    bool same = true;
    for (int i = 0; i < 13 * 7 * 2; i++)
        same = same && mapped[i] == (float)i;
    CHECK(same);
    unmap_all(w, image, mapped);
}

static void mapped_images(struct world *w)
{
    cl_mem image = plain_image(w);
    if (!image)
        return;
    use_mapped(w, image, map_all(w, image, CL_MAP_WRITE));
    use_mapped(w, image, map_anew(w, image));
    went(w, STEP_ANY, clReleaseMemObject(image), "clReleaseMemObject");
}

static void retained_queue(struct world *w)
{
    if (!went(w, STEP_ANY, clRetainCommandQueue(w->queue), "clRetainCommandQueue"))
        return;
    if (went(w, STEP_ANY, clReleaseCommandQueue(w->queue), "clReleaseCommandQueue"))
        frame(w);
}

static void sub_buffer(struct world *w)
{
    struct object *object = object_of(w, SHAPE_BUFFER);
    const cl_buffer_region region = {128, object->bytes - 128};
    unsigned char bytes[MOST_BYTES];
    cl_int status = 1;
    cl_event event = NULL;
    cl_mem part = clCreateSubBuffer(object->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK_INT(part != NULL, status == CL_SUCCESS);
    if (!went(w, STEP_ANY, status, "clCreateSubBuffer"))
        return;
    if (acquire(w, WITH_EVENT, NULL)) {
        pattern(object, SEED_FIRST, bytes);
        done(w, clEnqueueWriteBuffer(w->queue, part, CL_FALSE, 0, region.size, bytes + region.origin, 0, NULL, &event),
             &event, "clEnqueueWriteBuffer");
        read_all(w);
        release(w, WITH_EVENT, NULL);
    }
    went(w, STEP_ANY, clReleaseMemObject(part), "clReleaseMemObject");
}

/* ---- kernels ---- */

static const char source[] = "kernel void fill(write_only image2d_t to, global const uchar4 *from)\n"
                             "{\n"
                             "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                             "    write_imageui(to, at, convert_uint4(from[at.y * get_global_size(0) + at.x]));\n"
                             "}\n";

static cl_kernel make_kernel(struct world *w, cl_program program)
{
    cl_int status = 1;
    if (!went(w, STEP_BUILD, clBuildProgram(program, 1, &w->rig.cl_device, "", NULL, NULL), "clBuildProgram"))
        return NULL;
    cl_kernel kernel = clCreateKernel(program, "fill", &status);
    CHECK_INT(kernel != NULL, status == CL_SUCCESS);
    went(w, STEP_ANY, status, "clCreateKernel");
    return kernel;
}

static void run_kernel(struct world *w, cl_kernel kernel, cl_mem bytes)
{
    struct object *object = &w->objects[0];
    cl_event event = NULL;
    if (!went(w, STEP_ANY, clSetKernelArg(kernel, 0, sizeof(cl_mem), &object->memory), "clSetKernelArg") ||
        !went(w, STEP_ANY, clSetKernelArg(kernel, 1, sizeof(cl_mem), &bytes), "clSetKernelArg"))
        return;
    if (!acquire(w, WITH_EVENT, NULL))
        return;
    wrote(object, SEED_SECOND,
          done(w, clEnqueueNDRangeKernel(w->queue, kernel, 2, NULL, object->extent, NULL, 0, NULL, &event), &event,
               "clEnqueueNDRangeKernel"));
    release(w, WITH_EVENT, NULL);
}

static void kernels(struct world *w)
{
    const char *text = source;
    unsigned char bytes[MOST_BYTES];
    cl_int status = 1;
    pattern(&w->objects[0], SEED_SECOND, bytes);
    cl_mem from = clCreateBuffer(w->context, CL_MEM_COPY_HOST_PTR, w->objects[0].bytes, bytes, &status);
    if (!went(w, STEP_ANY, status, "clCreateBuffer"))
        return;
    cl_program program = clCreateProgramWithSource(w->context, 1, &text, NULL, &status);
    CHECK_INT(program != NULL, status == CL_SUCCESS);
    if (went(w, STEP_ANY, status, "clCreateProgramWithSource")) {
        cl_kernel kernel = make_kernel(w, program);
        if (kernel) {
            run_kernel(w, kernel, from);
            went(w, STEP_ANY, clReleaseKernel(kernel), "clReleaseKernel");
        }
        went(w, STEP_ANY, clReleaseProgram(program), "clReleaseProgram");
    }
    went(w, STEP_ANY, clReleaseMemObject(from), "clReleaseMemObject");
}

/* ---- queries ---- */

static void ask_strings(struct world *w)
{
    char *text = malloc(16384);
    if (went(w, STEP_ANY, clGetPlatformInfo(w->rig.platform, CL_PLATFORM_EXTENSIONS, 16384, text, NULL),
             "clGetPlatformInfo"))
        CHECK(strstr(text, w->rig.api->extension) != NULL);
    if (went(w, STEP_ANY, clGetDeviceInfo(w->rig.cl_device, CL_DEVICE_EXTENSIONS, 16384, text, NULL),
             "clGetDeviceInfo"))
        CHECK(strstr(text, w->rig.api->extension) != NULL);
    free(text);
}

static void queries(struct world *w)
{
    void *given = NULL;
    cl_uint subresource = 99, number = 0;
    cl_context_properties properties[16];
    cl_image_format formats[256];
    ask_strings(w);
    if (went(w, STEP_ANY,
             clGetMemObjectInfo(w->objects[0].memory, w->rig.api->mem_resource, sizeof(given), &given, NULL),
             "clGetMemObjectInfo"))
        CHECK(given == w->surfaces[0].resource);
    if (went(w, STEP_ANY,
             clGetImageInfo(w->objects[0].memory, w->rig.api->image_subresource, sizeof(subresource), &subresource,
                            NULL),
             "clGetImageInfo"))
        CHECK_INT(subresource, 0);
    if (went(w, STEP_ANY, clGetContextInfo(w->context, CL_CONTEXT_PROPERTIES, sizeof(properties), properties, NULL),
             "clGetContextInfo"))
        CHECK_INT(properties[0], CL_CONTEXT_PLATFORM);
    if (went(w, STEP_ANY,
             clGetSupportedImageFormats(w->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256, formats, &number),
             "clGetSupportedImageFormats"))
        CHECK(number > 30);
    if (went(w, STEP_ANY,
             clGetMemObjectInfo(w->objects[0].memory, CL_MEM_REFERENCE_COUNT, sizeof(number), &number, NULL),
             "clGetMemObjectInfo"))
        CHECK_INT(number, 1);
}

/* No device of an adapter is found, or all are. */
static void devices(struct world *w)
{
    cl_device_id found[8];
    cl_uint count = 0;
    if (!w->rig.get_device_ids)
        return;
    const cl_uint sets[] = {w->rig.api->preferred_set, w->rig.api->all_set};
    for (int i = 0; i < 2; i++) {
        const cl_int status =
            w->rig.get_device_ids(w->rig.platform, w->rig.api->device_source, w->rig.device, sets[i], 8, found, &count);
        /* A device that does not tell what it is matches no adapter. */
        if (status == CL_DEVICE_NOT_FOUND && w->armed && fault_struck())
            continue;
        if (went(w, STEP_DEVICES, status, "clGetDeviceIDsFromD3D...KHR"))
            CHECK(count > 0);
    }
}

/* ---- the list ---- */

#define BIT(shape) (1u << SHAPE_##shape)

const struct scenario scenarios[] = {
    {"contexts and queues, Direct3D 11", D3D11, 0, 0, NULL},
    {"contexts and queues, Direct3D 9Ex", D3D9EX, 0, 0, NULL},
    {"objects of all shapes, Direct3D 10", D3D10, 0,
     BIT(BUFFER) | BIT(FLAT) | BIT(LEVEL) | BIT(DEEP) | BIT(EMULATED) | BIT(DYNAMIC), NULL},
    {"devices, Direct3D 11", D3D11, 0, BIT(FLAT), devices},
    {"queries, Direct3D 11", D3D11, 0, BIT(FLAT), queries},
    {"a buffer, Direct3D 11", D3D11, 0, BIT(BUFFER), frame},
    {"an image, Direct3D 10", D3D10, 0, BIT(FLAT), two_frames},
    {"a list of all shapes, Direct3D 11", D3D11, 0,
     BIT(BUFFER) | BIT(FLAT) | BIT(LEVEL) | BIT(DEEP) | BIT(EMULATED) | BIT(EMULATED_DEEP), frame},
    {"a list without events, Direct3D 10", D3D10, 0, BIT(BUFFER) | BIT(FLAT) | BIT(DEEP), frame_without_events},
    {"a long list, Direct3D 11", D3D11, 0, BIT(BUFFER), long_list},
    {"dynamic textures, Direct3D 11", D3D11, 0, BIT(DYNAMIC) | BIT(FLAT), two_frames},
    {"planes, Direct3D 11", D3D11, 0, BIT(NV12), two_frames},
    {"nothing written, Direct3D 11", D3D11, 0, BIT(FLAT) | BIT(LEVEL), nothing_written},
    {"surfaces, Direct3D 9", D3D9, 0, BIT(FLAT) | BIT(PACKED) | BIT(DYNAMIC), two_frames},
    {"planes, Direct3D 9Ex", D3D9EX, 0, BIT(NV12) | BIT(EMULATED), two_frames},
    {"rows in pinned memory, Direct3D 9Ex", D3D9EX, 0, SCENARIO_OWN_MEMORY | BIT(NV12) | BIT(EMULATED), two_frames},
    {"rows in pinned memory, Direct3D 11", D3D11, 0, SCENARIO_OWN_MEMORY | BIT(NV12) | BIT(EMULATED), two_frames},
    {"another queue, Direct3D 11", D3D11, 0, BIT(FLAT) | BIT(BUFFER), released_elsewhere},
    {"out of order, Direct3D 11", D3D11, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, BIT(FLAT) | BIT(LEVEL), two_frames},
    {"profiling, Direct3D 10", D3D10, CL_QUEUE_PROFILING_ENABLE, BIT(FLAT), times},
    {"a user event that is set, Direct3D 11", D3D11, 0, BIT(FLAT) | BIT(BUFFER), user_event_set},
    {"a user event that fails, Direct3D 11", D3D11, 0, BIT(FLAT) | BIT(BUFFER), user_event_failed},
    {"a deferred release, Direct3D 11", D3D11, 0, BIT(FLAT) | BIT(LEVEL), deferred_release},
    {"a deferred release, Direct3D 9Ex", D3D9EX, 0, BIT(NV12), deferred_release},
    {"deferred commands, Direct3D 11", D3D11, 0, BIT(FLAT) | BIT(LEVEL), deferred_cycle},
    {"deferred commands out of order, Direct3D 11", D3D11, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, BIT(FLAT),
     deferred_pair},
    {"callbacks, Direct3D 11", D3D11, 0, BIT(FLAT), callbacks},
    {"maps, Direct3D 11", D3D11, 0, BIT(BUFFER) | BIT(FLAT) | BIT(EMULATED_DEEP), maps},
    {"copies of an emulated format, Direct3D 11", D3D11, 0, BIT(EMULATED), copies},
    {"images of the program's own, Direct3D 11", D3D11, 0, BIT(EMULATED), plain_images},
    {"mapped images, Direct3D 11", D3D11, 0, BIT(EMULATED), mapped_images},
    {"a retained queue, Direct3D 11", D3D11, 0, BIT(FLAT), retained_queue},
    {"a sub-buffer, Direct3D 11", D3D11, 0, BIT(BUFFER), sub_buffer},
    {"kernels, Direct3D 11", D3D11, 0, BIT(FLAT), kernels},
    {"the first objects of a process, Direct3D 11", D3D11, 0, SCENARIO_FIRST | BIT(BUFFER) | BIT(FLAT) | BIT(EMULATED),
     frame},
    {"the first object of a process, Direct3D 9Ex", D3D9EX, 0, SCENARIO_FIRST | BIT(FLAT), frame},
};
const unsigned scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

static bool share_all(struct world *w, unsigned shapes)
{
    for (int shape = 0; shape < SHAPES; shape++)
        if (shapes & 1u << shape && !world_share(w, (enum shape)shape))
            return false;
    return true;
}

bool scenario_possible(const struct scenario *scenario)
{
    struct world *w = malloc(sizeof(*w));
    cl_command_queue_properties offered = 0;
    bool possible = true;
    if (world_open(w, scenario->family)) {
        const bool before = fault_own(true);
        CHECK_INT(clGetDeviceInfo(w->rig.cl_device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(offered), &offered, NULL),
                  CL_SUCCESS);
        fault_own(before);
        possible = (scenario->properties & ~offered) == 0;
        world_end(w);
    }
    free(w);
    return possible;
}

void scenario_run(const struct scenario *scenario, const enum fault_kind *armed)
{
    struct world *w = malloc(sizeof(*w));
    if (world_open(w, scenario->family)) {
        w->armed = armed != NULL;
        w->kind = armed ? *armed : FAULT_ALLOCATION;
        if (world_context(w) && world_queues(w, scenario->properties) && share_all(w, scenario->shapes) &&
            scenario->run)
            scenario->run(w);
        world_end(w);
    }
    free(w);
}
