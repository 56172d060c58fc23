/* Every command of OpenCL that uses a memory object, in each of the roles that the object can have in it, for the tests that
 * go through all of them. */
#ifndef CLD3D_TESTS_COMMANDS_H
#define CLD3D_TESTS_COMMANDS_H

#include "sharing.h"

/* What the commands of a case work with: one object of each kind under test and plain ones of the same sizes. */
struct scene {
    struct rig *rig;
    struct shared shared[KINDS];
    cl_mem plain[KINDS];
};

static inline bool scene_open(struct rig *rig, struct scene *scene)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc flat = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    const cl_image_desc deep = {
        .image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 4, .image_height = 4, .image_depth = 2};
    scene->rig = rig;
    if (!shared_open_all(rig, 1, scene->shared))
        return false;
    scene->plain[KIND_BUFFER] = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL);
    scene->plain[KIND_2D] = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &flat, NULL, NULL);
    scene->plain[KIND_3D] = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &deep, NULL, NULL);
    return CHECK(scene->plain[0] && scene->plain[1] && scene->plain[2]);
}

static inline void scene_close(struct scene *scene)
{
    queue_wait(scene->rig->queue);
    for (int i = 0; i < KINDS; i++)
        CHECK_INT(clReleaseMemObject(scene->plain[i]), CL_SUCCESS);
    shared_close_all(scene->shared);
}

/* A case that gets a scene. */
#define SCENE_CASE(text, name, flags)                       \
    static void name(struct rig *rig, struct scene *scene); \
    SHARING_CASE(text, name##_seen, flags)                  \
    {                                                       \
        struct scene scene;                                 \
        if (scene_open(rig, &scene)) {                      \
            name(rig, &scene);                              \
            scene_close(&scene);                            \
        }                                                   \
    }                                                       \
    static void name(struct rig *rig, struct scene *scene)

/* An image over the beginning of a buffer, if the driver has them, by either function; `of` may be a sub-buffer. */
static inline cl_mem image_of(const struct rig *rig, cl_mem of, size_t width, bool with_properties)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = width, .mem_object = of};
    cl_int status = 1;
    return with_properties
               ? clCreateImageWithProperties(rig->context, NULL, CL_MEM_READ_WRITE, &format, &desc, NULL, &status)
               : clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
}

/* ---- every command ---- */

/* A command that uses `object` in one of its roles; `plain` is another object of the same kind, `buffer` a plain buffer. */
typedef cl_int (*command)(const struct scene *scene, cl_mem object, enum kind kind, cl_event *event);

static char scratch[4 * SHARED_BYTES];

static const size_t rect[3] = {8, 4, 1};

#define COMMAND(name, call)                                                                          \
    static inline cl_int name(const struct scene *s, cl_mem object, enum kind kind, cl_event *event) \
    {                                                                                                \
        (void)kind;                                                                                  \
        return call;                                                                                 \
    }

/* clang-format off */
COMMAND(read_buffer, clEnqueueReadBuffer(s->rig->queue, object, CL_TRUE, 0, SHARED_BYTES, scratch, 0, NULL, event))
COMMAND(write_buffer, clEnqueueWriteBuffer(s->rig->queue, object, CL_TRUE, 0, SHARED_BYTES, scratch, 0, NULL, event))
COMMAND(read_buffer_rect, clEnqueueReadBufferRect(s->rig->queue, object, CL_TRUE, no_origin(), no_origin(), rect, 16, 0, 16, 0,
    scratch, 0, NULL, event))
COMMAND(write_buffer_rect, clEnqueueWriteBufferRect(s->rig->queue, object, CL_TRUE, no_origin(), no_origin(), rect, 16, 0, 16, 0,
    scratch, 0, NULL, event))
COMMAND(copy_buffer_from, clEnqueueCopyBuffer(s->rig->queue, object, s->plain[kind], 0, 0, 64, 0, NULL, event))
COMMAND(copy_buffer_to, clEnqueueCopyBuffer(s->rig->queue, s->plain[kind], object, 0, 0, 64, 0, NULL, event))
COMMAND(copy_buffer_rect_from, clEnqueueCopyBufferRect(s->rig->queue, object, s->plain[kind], no_origin(), no_origin(), rect, 16,
    0, 16, 0, 0, NULL, event))
COMMAND(copy_buffer_rect_to, clEnqueueCopyBufferRect(s->rig->queue, s->plain[kind], object, no_origin(), no_origin(), rect, 16,
    0, 16, 0, 0, NULL, event))
COMMAND(fill_buffer, clEnqueueFillBuffer(s->rig->queue, object, scratch, 4, 0, 64, 0, NULL, event))
COMMAND(unmap, clEnqueueUnmapMemObject(s->rig->queue, object, scratch, 0, NULL, event))
COMMAND(read_image, clEnqueueReadImage(s->rig->queue, object, CL_TRUE, no_origin(), kind_region(kind), 0, 0, scratch, 0, NULL,
    event))
COMMAND(write_image, clEnqueueWriteImage(s->rig->queue, object, CL_TRUE, no_origin(), kind_region(kind), 0, 0, scratch, 0, NULL,
    event))
COMMAND(copy_image_from, clEnqueueCopyImage(s->rig->queue, object, s->plain[kind], no_origin(), no_origin(), kind_region(kind),
    0, NULL, event))
COMMAND(copy_image_to, clEnqueueCopyImage(s->rig->queue, s->plain[kind], object, no_origin(), no_origin(), kind_region(kind), 0,
    NULL, event))
COMMAND(copy_image_to_buffer, clEnqueueCopyImageToBuffer(s->rig->queue, object, s->plain[KIND_BUFFER], no_origin(),
    kind_region(kind), 0, 0, NULL, event))
COMMAND(copy_buffer_to_image, clEnqueueCopyBufferToImage(s->rig->queue, s->plain[KIND_BUFFER], object, 0, no_origin(),
    kind_region(kind), 0, NULL, event))
COMMAND(buffer_of_image_copy, clEnqueueCopyImageToBuffer(s->rig->queue, s->plain[KIND_2D], object, no_origin(),
    kind_region(KIND_2D), 0, 0, NULL, event))
COMMAND(buffer_to_plain_image, clEnqueueCopyBufferToImage(s->rig->queue, object, s->plain[KIND_2D], 0, no_origin(),
    kind_region(KIND_2D), 0, NULL, event))
/* clang-format on */

/* What a map gave; it is given back. */
static inline cl_int end_map(const struct scene *s, cl_mem object, void *mapped, cl_int status)
{
    CHECK_INT(mapped != NULL, status == CL_SUCCESS);
    if (mapped)
        CHECK_INT(clEnqueueUnmapMemObject(s->rig->queue, object, mapped, 0, NULL, NULL), CL_SUCCESS);
    return status;
}

static inline cl_int map_buffer(const struct scene *s, cl_mem object, enum kind kind, cl_event *event)
{
    cl_int status = 1;
    (void)kind;
    void *mapped = clEnqueueMapBuffer(s->rig->queue, object, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, event, &status);
    return end_map(s, object, mapped, status);
}

static inline cl_int fill_image(const struct scene *s, cl_mem object, enum kind kind, cl_event *event)
{
    static const cl_uint colour[4] = {1, 2, 3, 4};
    return clEnqueueFillImage(s->rig->queue, object, colour, no_origin(), kind_region(kind), 0, NULL, event);
}

static inline cl_int map_image(const struct scene *s, cl_mem object, enum kind kind, cl_event *event)
{
    cl_int status = 1;
    size_t row = 0, slice = 0;
    void *mapped = clEnqueueMapImage(s->rig->queue, object, CL_TRUE, CL_MAP_READ, no_origin(), kind_region(kind), &row,
                                     &slice, 0, NULL, event, &status);
    return end_map(s, object, mapped, status);
}

static inline cl_int migrate(const struct scene *s, cl_mem object, enum kind kind, cl_event *event)
{
    const cl_mem list[] = {s->plain[kind], object};
    return clEnqueueMigrateMemObjects(s->rig->queue, 2, list, 0, 0, NULL, event);
}

static inline void CL_CALLBACK native_body(void *arguments)
{
    (void)arguments;
}

static inline cl_int native_kernel(const struct scene *s, cl_mem object, enum kind kind, cl_event *event)
{
    struct {
        void *a, *b;
    } arguments = {NULL, NULL};
    const void *places[] = {&arguments.a, &arguments.b};
    const cl_mem list[] = {s->plain[kind], object};
    return clEnqueueNativeKernel(s->rig->queue, native_body, &arguments, sizeof(arguments), 2, list, places, 0, NULL,
                                 event);
}

struct command_case {
    const char *name;
    command run;
    enum {
        ALWAYS,
        NEVER,    /* needs a mapping, which the case would have to make first */
        NO_PARTS, /* PoCL 3.1 crashes with sub-buffers */
        IF_NATIVE /* only devices that run native kernels */
    } tried;      /* with an object that is acquired */
    bool writes;  /* or might: then its bytes go back */
};

static const struct command_case buffer_commands[] = {
    {"clEnqueueReadBuffer", read_buffer, ALWAYS, false},
    {"clEnqueueWriteBuffer", write_buffer, ALWAYS, true},
    {"clEnqueueReadBufferRect", read_buffer_rect, ALWAYS, false},
    {"clEnqueueWriteBufferRect", write_buffer_rect, ALWAYS, true},
    {"clEnqueueCopyBuffer, source", copy_buffer_from, ALWAYS, false},
    {"clEnqueueCopyBuffer, destination", copy_buffer_to, ALWAYS, true},
    {"clEnqueueCopyBufferRect, source", copy_buffer_rect_from, NO_PARTS, false},
    {"clEnqueueCopyBufferRect, destination", copy_buffer_rect_to, NO_PARTS, true},
    {"clEnqueueFillBuffer", fill_buffer, ALWAYS, true},
    {"clEnqueueMapBuffer", map_buffer, ALWAYS, true},
    {"clEnqueueUnmapMemObject", unmap, NEVER, true},
    {"clEnqueueCopyImageToBuffer, destination", buffer_of_image_copy, NO_PARTS, true},
    {"clEnqueueCopyBufferToImage, source", buffer_to_plain_image, NO_PARTS, false},
    {"clEnqueueMigrateMemObjects", migrate, ALWAYS, true},
    {"clEnqueueNativeKernel", native_kernel, IF_NATIVE, true},
};

static const struct command_case image_commands[] = {
    {"clEnqueueReadImage", read_image, ALWAYS, false},
    {"clEnqueueWriteImage", write_image, ALWAYS, true},
    {"clEnqueueCopyImage, source", copy_image_from, ALWAYS, false},
    {"clEnqueueCopyImage, destination", copy_image_to, ALWAYS, true},
    {"clEnqueueCopyImageToBuffer, source", copy_image_to_buffer, ALWAYS, false},
    {"clEnqueueCopyBufferToImage, destination", copy_buffer_to_image, ALWAYS, true},
    {"clEnqueueFillImage", fill_image, ALWAYS, true},
    {"clEnqueueMapImage", map_image, ALWAYS, true},
    {"clEnqueueUnmapMemObject", unmap, NEVER, true},
    {"clEnqueueMigrateMemObjects", migrate, ALWAYS, true},
    {"clEnqueueNativeKernel", native_kernel, IF_NATIVE, true},
};

enum {
    BUFFER_COMMANDS = sizeof(buffer_commands) / sizeof(buffer_commands[0]),
    IMAGE_COMMANDS = sizeof(image_commands) / sizeof(image_commands[0])
};

static inline const struct command_case *commands_of(enum kind kind, size_t *count)
{
    *count = kind == KIND_BUFFER ? BUFFER_COMMANDS : IMAGE_COMMANDS;
    return kind == KIND_BUFFER ? buffer_commands : image_commands;
}

static inline bool runs_native_kernels(const struct rig *rig)
{
    cl_device_exec_capabilities can = 0;
    CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL), CL_SUCCESS);
    return (can & CL_EXEC_NATIVE_KERNEL) != 0;
}

static inline bool is_part(cl_mem object)
{
    cl_mem parent = NULL;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, NULL), CL_SUCCESS);
    return parent != NULL;
}

#endif
