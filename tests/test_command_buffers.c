/* Command buffers (cl_khr_command_buffer) over shared objects and emulated images: recorded commands follow the rules of those that
 * are enqueued. They are recorded at any time, and checked when they are enqueued.
 *
 * The functions changed with version 0.9.5 of the extension. The cases run over the driver's own; once more in a process of its own
 * over a layer that turns an older driver into a newer one (newer_buffers.c). */
#include "newer_buffers.h"
#include "sharing.h"
#include "unquantized.h"

enum { INVALID_COMMAND_BUFFER = -1138, COMMAND_COMMAND_BUFFER = 0x12A8, SIMULTANEOUS_FLAG = 1, MUTABLE_FLAG = 2 };

/* Capabilities of the device. */
enum { SIMULTANEOUS_USE = 4, OUT_OF_ORDER = 8 };

/* ---- the extension's functions ---- */

typedef void *command_buffer;
typedef void (*function)(void);

enum call {
    CREATE,
    FINALIZE,
    RETAIN,
    RELEASE,
    ENQUEUE,
    COPY_BUFFER,
    COPY_BUFFER_RECT,
    COPY_BUFFER_TO_IMAGE,
    COPY_IMAGE,
    COPY_IMAGE_TO_BUFFER,
    FILL_BUFFER,
    FILL_IMAGE,
    KERNEL,
    CALLS
};

static const char *const names[CALLS] = {
    "clCreateCommandBufferKHR",      "clFinalizeCommandBufferKHR",    "clRetainCommandBufferKHR",
    "clReleaseCommandBufferKHR",     "clEnqueueCommandBufferKHR",     "clCommandCopyBufferKHR",
    "clCommandCopyBufferRectKHR",    "clCommandCopyBufferToImageKHR", "clCommandCopyImageKHR",
    "clCommandCopyImageToBufferKHR", "clCommandFillBufferKHR",        "clCommandFillImageKHR",
    "clCommandNDRangeKernelKHR",
};

static function functions[CALLS];
static bool newer;           /* each command takes properties */
static void (*inside)(void); /* is called once, while the next command is being recorded: as another thread would */
static cl_ulong inside_when = NEWER_INSIDE;

static const cl_ulong *command_properties(void)
{
    static cl_ulong with_inside[] = {NEWER_PROPERTY, 7, NEWER_INSIDE, 0, 0};
    if (!inside)
        return newer_properties();
    with_inside[2] = inside_when;
    with_inside[3] = (cl_ulong)(uintptr_t)inside;
    inside = NULL;
    return with_inside;
}

typedef command_buffer(CL_API_CALL *create_fn)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
typedef command_buffer(CL_API_CALL *remap_fn)(command_buffer, cl_bool, cl_uint, const cl_command_queue *, cl_uint,
                                              void *const *, void **, cl_int *);
typedef cl_int(CL_API_CALL *count_fn)(command_buffer);
typedef cl_int(CL_API_CALL *enqueue_fn)(cl_uint, cl_command_queue *, command_buffer, cl_uint, const cl_event *,
                                        cl_event *);

/* Records a command: its number, its parameters' types and its arguments. */
#define PLACE cl_uint, const cl_uint *, cl_uint *, void **
#define NOWHERE 0, NULL, NULL, NULL
#define UNPACK(...) __VA_ARGS__
#define RECORD(number, buffer, types, ...)                                                                             \
    (newer                                                                                                             \
         ? ((cl_int(CL_API_CALL *)(command_buffer, cl_command_queue, const cl_ulong *, UNPACK types,                   \
                                   PLACE))functions[number])(buffer, NULL, command_properties(), __VA_ARGS__, NOWHERE) \
         : ((cl_int(CL_API_CALL *)(command_buffer, cl_command_queue, UNPACK types, PLACE))functions[number])(          \
               buffer, NULL, __VA_ARGS__, NOWHERE))

static bool can(const struct rig *rig, cl_ulong capability)
{
    cl_ulong all = 0;
    return clGetDeviceInfo(rig->cl_device, 0x12A9 /* CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR */, sizeof(all), &all,
                           NULL) == CL_SUCCESS &&
           (all & capability) != 0;
}

/* False and the case skipped: the driver lacks the extension. */
static bool has_buffers(const struct rig *rig)
{
    const cl_version version = rig_extension_version(rig, "cl_khr_command_buffer");
    if (!version || !can(rig, SIMULTANEOUS_USE)) {
        SKIP("the driver has no command buffers of the kind");
        return false;
    }
    newer = version >= CL_MAKE_VERSION(0, 9, 5);
    for (int i = 0; i < CALLS; i++) {
        void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, names[i]);
        memcpy(&functions[i], &address, sizeof(address));
        if (!CHECK(address != NULL))
            return false;
    }
    return true;
}

/* It may be enqueued again at any time: when drivers take it for over is theirs to say. */
static command_buffer make_buffer_with(const struct rig *rig, cl_ulong flags)
{
    const cl_ulong properties[] = {0x1293 /* CL_COMMAND_BUFFER_FLAGS_KHR */, SIMULTANEOUS_FLAG | flags, 0};
    cl_int status = 1;
    command_buffer buffer = ((create_fn)functions[CREATE])(1, &rig->queue, properties, &status);
    CHECK_INT(status, CL_SUCCESS);
    return buffer;
}

static command_buffer make_buffer(const struct rig *rig)
{
    return make_buffer_with(rig, 0);
}

static cl_int count(enum call which, command_buffer buffer)
{
    return ((count_fn)functions[which])(buffer);
}

static cl_int enqueue(command_buffer buffer, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    return ((enqueue_fn)functions[ENQUEUE])(0, NULL, buffer, wait_count, wait, event);
}

static void finish_and_drop(const struct rig *rig, command_buffer buffer)
{
    queue_wait(rig->queue);
    CHECK_INT(count(RELEASE, buffer), CL_SUCCESS);
}

/* ---- commands ---- */

/* Records a command between the whole of `object`, or of the plain object beside it, of a kind, and a plain object. */
typedef cl_int (*recorder)(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind);

static cl_int buffer_from(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    (void)kind;
    return RECORD(COPY_BUFFER, buffer, (cl_mem, cl_mem, size_t, size_t, size_t), object, plain, 0, 0, SHARED_BYTES);
}

static cl_int buffer_to(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    return buffer_from(buffer, plain, object, kind);
}

static cl_int rect_from(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    static const size_t region[3] = {SHARED_BYTES / 4, 4, 1};
    (void)kind;
    return RECORD(COPY_BUFFER_RECT, buffer,
                  (cl_mem, cl_mem, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t),
                  object, plain, no_origin(), no_origin(), region, region[0], 0, region[0], 0);
}

static cl_int rect_to(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    return rect_from(buffer, plain, object, kind);
}

static cl_int image_to_buffer(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    return RECORD(COPY_IMAGE_TO_BUFFER, buffer, (cl_mem, cl_mem, const size_t *, const size_t *, size_t), object, plain,
                  no_origin(), kind_region(kind), 0);
}

static cl_int image_of_buffer(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    return RECORD(COPY_BUFFER_TO_IMAGE, buffer, (cl_mem, cl_mem, size_t, const size_t *, const size_t *), plain, object,
                  0, no_origin(), kind_region(kind));
}

/* Between a buffer and a plain image. */
static cl_int buffer_of_image(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    (void)kind;
    return image_to_buffer(buffer, plain, object, KIND_2D);
}

static cl_int buffer_to_image(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    (void)kind;
    return image_of_buffer(buffer, plain, object, KIND_2D);
}

static cl_int fill_buffer(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    static const cl_uchar pattern[4] = {7, 7, 7, 7};
    (void)plain;
    (void)kind;
    return RECORD(FILL_BUFFER, buffer, (cl_mem, const void *, size_t, size_t, size_t), object, pattern, 4, 0,
                  SHARED_BYTES);
}

static cl_int fill_image(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    static const cl_uint color[4] = {7, 7, 7, 7};
    (void)plain;
    return RECORD(FILL_IMAGE, buffer, (cl_mem, const void *, const size_t *, const size_t *), object, color,
                  no_origin(), kind_region(kind));
}

static cl_int image_to_image(command_buffer buffer, cl_mem from, cl_mem to, enum kind kind)
{
    return RECORD(COPY_IMAGE, buffer, (cl_mem, cl_mem, const size_t *, const size_t *, const size_t *), from, to,
                  no_origin(), no_origin(), kind_region(kind));
}

static cl_int image_of_image(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind)
{
    return image_to_image(buffer, plain, object, kind);
}

static cl_int launch(command_buffer buffer, cl_kernel kernel, size_t width, size_t height)
{
    const size_t size[2] = {width, height};
    typedef cl_int(CL_API_CALL * kernel_fn)(command_buffer, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint,
                                            const size_t *, const size_t *, const size_t *, PLACE);
    return ((kernel_fn)functions[KERNEL])(buffer, NULL, newer ? command_properties() : NULL, kernel, 2, NULL, size,
                                          NULL, NOWHERE);
}

/* ---- between objects and host memory ---- */

enum host_call { READ_BUFFER, READ_RECT, READ_IMAGE, WRITE_BUFFER, WRITE_RECT, WRITE_IMAGE, HOST_CALLS };

static function host_functions[HOST_CALLS]; /* NULL: the driver lacks it */
static unsigned char host_bytes[SHARED_BYTES];

static void find_host_functions(const struct rig *rig)
{
    static const char *const host_names[HOST_CALLS] = {
        "clCommandReadBufferPOCL",  "clCommandReadBufferRectPOCL",  "clCommandReadImagePOCL",
        "clCommandWriteBufferPOCL", "clCommandWriteBufferRectPOCL", "clCommandWriteImagePOCL",
    };
    for (int i = 0; i < HOST_CALLS; i++) {
        void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, host_names[i]);
        memcpy(&host_functions[i], &address, sizeof(address));
    }
}

static cl_int host_buffer(enum host_call which, command_buffer buffer, cl_mem object)
{
    typedef cl_int(CL_API_CALL * host_fn)(command_buffer, cl_command_queue, cl_mem, size_t, size_t, void *, PLACE);
    return ((host_fn)host_functions[which])(buffer, NULL, object, 0, SHARED_BYTES, host_bytes, NOWHERE);
}

static cl_int host_rect(enum host_call which, command_buffer buffer, cl_mem object)
{
    static const size_t region[3] = {SHARED_BYTES / 4, 4, 1};
    typedef cl_int(CL_API_CALL * host_fn)(command_buffer, cl_command_queue, cl_mem, const size_t *, const size_t *,
                                          const size_t *, size_t, size_t, size_t, size_t, void *, PLACE);
    return ((host_fn)host_functions[which])(buffer, NULL, object, no_origin(), no_origin(), region, region[0], 0,
                                            region[0], 0, host_bytes, NOWHERE);
}

static cl_int host_image(enum host_call which, command_buffer buffer, cl_mem object, enum kind kind)
{
    const size_t *region = kind_region(kind), row = SHARED_BYTES / (region[1] * region[2]);
    typedef cl_int(CL_API_CALL * host_fn)(command_buffer, cl_command_queue, cl_mem, const size_t *, const size_t *,
                                          size_t, size_t, void *, PLACE);
    return ((host_fn)host_functions[which])(buffer, NULL, object, no_origin(), region, row,
                                            region[2] > 1 ? row * region[1] : 0, host_bytes, NOWHERE);
}

#define HOST_RECORDER(name, call)                                                          \
    static cl_int name(command_buffer buffer, cl_mem object, cl_mem plain, enum kind kind) \
    {                                                                                      \
        (void)plain;                                                                       \
        (void)kind;                                                                        \
        return call;                                                                       \
    }
HOST_RECORDER(read_buffer, host_buffer(READ_BUFFER, buffer, object))
HOST_RECORDER(write_buffer, host_buffer(WRITE_BUFFER, buffer, object))
HOST_RECORDER(read_rect, host_rect(READ_RECT, buffer, object))
HOST_RECORDER(write_rect, host_rect(WRITE_RECT, buffer, object))
HOST_RECORDER(read_image, host_image(READ_IMAGE, buffer, object, kind))
HOST_RECORDER(write_image, host_image(WRITE_IMAGE, buffer, object, kind))

enum effect { READS, COPIES_IN, FILLS, READS_TO_HOST };

static const struct {
    const char *name;
    recorder record;
    bool of_images;
    enum effect effect;
    enum { BUFFER, IMAGE, HOST } other; /* the other side of the command */
} recorders[] = {
    {"clCommandCopyBufferKHR, source", buffer_from, false, READS, BUFFER},
    {"clCommandCopyBufferKHR, destination", buffer_to, false, COPIES_IN, BUFFER},
    {"clCommandCopyBufferRectKHR, source", rect_from, false, READS, BUFFER},
    {"clCommandCopyBufferRectKHR, destination", rect_to, false, COPIES_IN, BUFFER},
    {"clCommandFillBufferKHR", fill_buffer, false, FILLS, BUFFER},
    {"clCommandCopyImageToBufferKHR, source", image_to_buffer, true, READS, BUFFER},
    {"clCommandCopyImageToBufferKHR, destination", buffer_of_image, false, COPIES_IN, IMAGE},
    {"clCommandCopyBufferToImageKHR, source", buffer_to_image, false, READS, IMAGE},
    {"clCommandCopyBufferToImageKHR, destination", image_of_buffer, true, COPIES_IN, BUFFER},
    {"clCommandCopyImageKHR, source", image_to_image, true, READS, IMAGE},
    {"clCommandCopyImageKHR, destination", image_of_image, true, COPIES_IN, IMAGE},
    {"clCommandFillImageKHR", fill_image, true, FILLS, BUFFER},
    {"clCommandReadBufferPOCL", read_buffer, false, READS_TO_HOST, HOST},
    {"clCommandReadBufferRectPOCL", read_rect, false, READS_TO_HOST, HOST},
    {"clCommandReadImagePOCL", read_image, true, READS_TO_HOST, HOST},
    {"clCommandWriteBufferPOCL", write_buffer, false, COPIES_IN, HOST},
    {"clCommandWriteBufferRectPOCL", write_rect, false, COPIES_IN, HOST},
    {"clCommandWriteImagePOCL", write_image, true, COPIES_IN, HOST},
};
enum { RECORDERS = sizeof(recorders) / sizeof(recorders[0]) };

/* ---- what is acquired ---- */

static cl_mem plain_buffer(const struct rig *rig, unsigned seed)
{
    unsigned char bytes[SHARED_BYTES];
    cl_int status = 1;
    rig_pattern(bytes, sizeof(bytes), seed);
    cl_mem buffer =
        clCreateBuffer(rig->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(bytes), bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    return buffer;
}

static bool plain_has(const struct rig *rig, cl_mem buffer, unsigned seed)
{
    unsigned char bytes[SHARED_BYTES], expected[SHARED_BYTES];
    rig_pattern(expected, sizeof(expected), seed);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, buffer, CL_TRUE, 0, sizeof(bytes), bytes, 0, NULL, NULL), CL_SUCCESS);
    return CHECK_MEM(bytes, expected, sizeof(bytes));
}

/* An image of a kind, or of two dimensions beside a buffer. */
static cl_mem plain_image(const struct rig *rig, enum kind kind, unsigned seed)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const size_t *region = kind_region(kind == KIND_3D ? KIND_3D : KIND_2D);
    const cl_image_desc desc = {.image_type = kind == KIND_3D ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                                .image_width = region[0],
                                .image_height = region[1],
                                .image_depth = region[2]};
    unsigned char bytes[SHARED_BYTES];
    cl_int status = 1;
    rig_pattern(bytes, sizeof(bytes), seed);
    cl_mem image =
        clCreateImage(rig->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    return image;
}

static bool plain_image_has(const struct rig *rig, cl_mem image, enum kind kind, unsigned seed)
{
    const struct shared plain = {.kind = kind == KIND_3D ? KIND_3D : KIND_2D, .object = image};
    return cl_has(rig->queue, &plain, seed);
}

static bool d3d_is_filled(const struct rig *rig, const struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES], expected[SHARED_BYTES];
    memset(expected, 7, sizeof(expected));
    rig_read(rig, shared->resource, &shared->desc, 0, bytes);
    return CHECK_MEM(bytes, expected, sizeof(bytes));
}

static bool host_has(unsigned seed)
{
    unsigned char expected[SHARED_BYTES];
    rig_pattern(expected, sizeof(expected), seed);
    return CHECK_MEM(host_bytes, expected, sizeof(expected));
}

enum { THERE = 1, BESIDE = 51 }; /* the patterns of the object and of the plain one */

/* After its release. */
static bool effect_is_right(const struct rig *rig, const struct shared *shared, cl_mem plain, int i)
{
    switch (recorders[i].effect) {
    case READS:
        return recorders[i].other == IMAGE ? plain_image_has(rig, plain, shared->kind, THERE)
                                           : plain_has(rig, plain, THERE);
    case READS_TO_HOST: return host_has(THERE);
    case COPIES_IN: return d3d_has(rig, shared, BESIDE);
    default: return d3d_is_filled(rig, shared);
    }
}

static void run_refused(const struct rig *rig, command_buffer buffer)
{
    cl_event event = NULL;
    CHECK_INT(enqueue(buffer, 0, NULL, NULL), rig->api->not_acquired);
    CHECK_INT(enqueue(buffer, 0, NULL, &event), rig->api->not_acquired);
    CHECK(event == NULL);
}

/* An event is that of a command buffer, and every second one is wanted. */
static void run_well(command_buffer buffer, bool wants)
{
    cl_event event = NULL;
    if (!CHECK_INT(enqueue(buffer, 0, NULL, wants ? &event : NULL), CL_SUCCESS) || !wants)
        return;
    CHECK_INT(rig_event_type(event), COMMAND_COMMAND_BUFFER);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

static bool one_command(const struct rig *rig, enum kind kind, int i)
{
    struct shared shared;
    if (!shared_open(rig, kind, THERE, &shared))
        return false;
    cl_mem plain = recorders[i].other == IMAGE ? plain_image(rig, kind, BESIDE) : plain_buffer(rig, BESIDE);
    command_buffer buffer = make_buffer(rig);
    rig_pattern(host_bytes, sizeof(host_bytes), BESIDE);
    bool held = CHECK_INT(recorders[i].record(buffer, shared.object, plain, kind), CL_SUCCESS) &&
                CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    run_refused(rig, buffer);
    held = CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS) && held;
    run_well(buffer, i & 1);
    held = CHECK_INT(release_one(rig, shared.object), CL_SUCCESS) && held;
    run_refused(rig, buffer);
    held = effect_is_right(rig, &shared, plain, i) && held;
    if (i & 1) /* either may go first */
        shared_close(&shared);
    finish_and_drop(rig, buffer);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    shared_close(&shared);
    return held;
}

SHARING_CASE(acquired_when_enqueued, 0)
{
    if (!has_buffers(rig))
        return;
    find_host_functions(rig);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < RECORDERS; i++)
            if (recorders[i].of_images == (kind != KIND_BUFFER) && (recorders[i].other != HOST || host_functions[0]) &&
                !one_command(rig, (enum kind)kind, i))
                printf("# %s, kind %d\n", recorders[i].name, kind);
}

static const char double_source[] = "kernel void twice(global const uint *from, global uint *to)\n"
                                    "{\n"
                                    "    const size_t i = get_global_id(0);\n"
                                    "    to[i] = 2 * from[i];\n"
                                    "}\n";

static const char fill_source[] = "kernel void fill(global uchar *to)\n"
                                  "{\n"
                                  "    to[get_global_id(0)] = 7;\n"
                                  "}\n";

static bool d3d_is_doubled(const struct rig *rig, const struct shared *from, const struct shared *to)
{
    cl_uint values[SHARED_BYTES / 4], found[SHARED_BYTES / 4];
    rig_read(rig, from->resource, &from->desc, 0, values);
    rig_read(rig, to->resource, &to->desc, 0, found);
    for (size_t i = 0; i < SHARED_BYTES / 4; i++)
        values[i] *= 2;
    return CHECK_MEM(found, values, sizeof(values));
}

/* A command buffer whose kernel doubles one shared buffer into another. */
struct doubling {
    struct shared from, to;
    cl_kernel kernel;
    command_buffer buffer;
};

static bool doubling_open(const struct rig *rig, struct doubling *d, cl_ulong flags)
{
    if (!shared_open(rig, KIND_BUFFER, 3, &d->from))
        return false;
    if (!shared_open(rig, KIND_BUFFER, 4, &d->to)) {
        shared_close(&d->from);
        return false;
    }
    d->kernel = rig_kernel(rig, double_source, "twice");
    CHECK_INT(clSetKernelArg(d->kernel, 0, sizeof(cl_mem), &d->from.object), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(d->kernel, 1, sizeof(cl_mem), &d->to.object), CL_SUCCESS);
    d->buffer = make_buffer_with(rig, flags);
    CHECK_INT(launch(d->buffer, d->kernel, SHARED_BYTES / 4, 1), CL_SUCCESS);
    CHECK_INT(launch(d->buffer, NULL, 1, 1), CL_INVALID_KERNEL);
    CHECK_INT(count(FINALIZE, d->buffer), CL_SUCCESS);
    return true;
}

static void doubling_close(const struct rig *rig, struct doubling *d)
{
    CHECK(d3d_is_doubled(rig, &d->from, &d->to));
    finish_and_drop(rig, d->buffer);
    CHECK_INT(clReleaseKernel(d->kernel), CL_SUCCESS);
    shared_close(&d->from);
    shared_close(&d->to);
}

/* Both objects of a kernel have to be acquired. */
SHARING_CASE(kernels, 0)
{
    struct doubling d;
    if (!has_buffers(rig) || !doubling_open(rig, &d, 0))
        return;
    run_refused(rig, d.buffer);
    CHECK_INT(acquire_one(rig, d.from.object), CL_SUCCESS);
    run_refused(rig, d.buffer);
    CHECK_INT(acquire_one(rig, d.to.object), CL_SUCCESS);
    run_well(d.buffer, true);
    CHECK_INT(release_one(rig, d.from.object), CL_SUCCESS);
    run_refused(rig, d.buffer);
    CHECK_INT(release_one(rig, d.to.object), CL_SUCCESS);
    doubling_close(rig, &d);
}

static command_buffer of_two;
static cl_mem second_object;

static void fill_second(void)
{
    CHECK_INT(fill_buffer(of_two, second_object, NULL, KIND_BUFFER), CL_SUCCESS);
}

/* Two threads may record into one command buffer. */
SHARING_CASE(recorded_meanwhile, 0)
{
    struct shared first, second;
    if (!has_buffers(rig))
        return;
    if (!newer) {
        SKIP("the layer of a newer driver calls back");
        return;
    }
    if (!shared_open(rig, KIND_BUFFER, THERE, &first) || !shared_open(rig, KIND_BUFFER, THERE, &second))
        return;
    of_two = make_buffer(rig);
    second_object = second.object;
    inside = fill_second;
    CHECK_INT(fill_buffer(of_two, first.object, NULL, KIND_BUFFER), CL_SUCCESS);
    CHECK(inside == NULL);
    CHECK_INT(count(FINALIZE, of_two), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, second.object), CL_SUCCESS);
    run_refused(rig, of_two);
    CHECK_INT(acquire_one(rig, first.object), CL_SUCCESS);
    run_well(of_two, true);
    CHECK_INT(release_one(rig, second.object), CL_SUCCESS);
    run_refused(rig, of_two);
    CHECK_INT(release_one(rig, first.object), CL_SUCCESS);
    CHECK(d3d_is_filled(rig, &first));
    CHECK(d3d_is_filled(rig, &second));
    finish_and_drop(rig, of_two);
    shared_close(&first);
    shared_close(&second);
}

/* Runs a recorded fill of the object, refused before its acquire, between that and the release. */
static void run_between(const struct rig *rig, const struct shared *shared, command_buffer buffer)
{
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    run_refused(rig, buffer);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    run_well(buffer, true);
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
    CHECK(d3d_is_filled(rig, shared));
}

/* What another command buffer has of the commands of a first one is checked as well. */
SHARING_CASE(remapped, 0)
{
    struct shared shared;
    cl_int status = 1;
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clRemapCommandBufferKHR");
    remap_fn remap;
    memcpy(&remap, &address, sizeof(remap));
    if (!has_buffers(rig))
        return;
    if (!newer || !remap) {
        SKIP("the driver can't remap command buffers");
        return;
    }
    if (!shared_open(rig, KIND_BUFFER, THERE, &shared))
        return;
    command_buffer first = make_buffer(rig);
    CHECK_INT(fill_buffer(first, shared.object, NULL, KIND_BUFFER), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, first), CL_SUCCESS);
    command_buffer buffer = remap(first, CL_TRUE, 1, &rig->queue, 0, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(remap(NULL, CL_TRUE, 1, &rig->queue, 0, NULL, NULL, &status) == NULL);
    CHECK_INT(status, INVALID_COMMAND_BUFFER);
    CHECK(remap(first, CL_TRUE, 0, NULL, 0, NULL, NULL, NULL) == NULL);
    CHECK_INT(count(RELEASE, first), CL_SUCCESS);
    run_between(rig, &shared, buffer);
    finish_and_drop(rig, buffer);
    shared_close(&shared);
}

/* A command that only reads does not hide one before it that writes. */
SHARING_CASE(read_behind_a_write, 0)
{
    struct shared shared;
    unsigned char bytes[SHARED_BYTES] = {0}, expected[SHARED_BYTES];
    if (!has_buffers(rig) || !shared_open(rig, KIND_BUFFER, THERE, &shared))
        return;
    cl_mem plain = plain_buffer(rig, BESIDE);
    command_buffer buffer = make_buffer(rig);
    CHECK_INT(fill_buffer(buffer, shared.object, NULL, KIND_BUFFER), CL_SUCCESS);
    CHECK_INT(buffer_from(buffer, shared.object, plain, KIND_BUFFER), CL_SUCCESS);
    run_between(rig, &shared, buffer);
    memset(expected, 7, sizeof(expected));
    CHECK_INT(clEnqueueReadBuffer(rig->queue, plain, CL_TRUE, 0, sizeof(bytes), bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(bytes, expected, sizeof(bytes));
    finish_and_drop(rig, buffer);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    shared_close(&shared);
}

/* The application may give a part of a buffer back as soon as a command is recorded: the command uses the whole buffer. */
static void by_part(const struct rig *rig, bool kernel)
{
    const cl_buffer_region region = {0, SHARED_BYTES};
    struct shared shared;
    cl_int status = 1;
    if (!shared_open(rig, KIND_BUFFER, THERE, &shared))
        return;
    cl_kernel fill = rig_kernel(rig, fill_source, "fill");
    cl_mem part = clCreateSubBuffer(shared.object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clSetKernelArg(fill, 0, sizeof(part), &part), CL_SUCCESS);
    command_buffer buffer = make_buffer(rig);
    CHECK_INT(kernel ? launch(buffer, fill, SHARED_BYTES, 1) : fill_buffer(buffer, part, NULL, KIND_BUFFER),
              CL_SUCCESS);
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(fill), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    run_refused(rig, buffer);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    run_well(buffer, true);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK(d3d_is_filled(rig, &shared));
    finish_and_drop(rig, buffer);
    shared_close(&shared);
}

SHARING_CASE(parts, 0)
{
    for (int kernel = 0; kernel < 2 && has_buffers(rig); kernel++)
        by_part(rig, kernel);
}

/* ---- what is held ---- */

/* A release behind a command buffer that a user event blocks returns, and is there when the event is set. `named`: by the command
 * buffer's event, in another queue; else behind it in the queue, and nobody wants the event. */
static void release_behind(struct rig *rig, bool named)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, THERE, &shared))
        return;
    cl_mem plain = plain_buffer(rig, BESIDE);
    command_buffer buffer = make_buffer(rig);
    cl_command_queue other = make_queue(rig, rig->context, 0), queue = named ? other : rig->queue;
    CHECK_INT(image_of_buffer(buffer, shared.object, plain, KIND_2D), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    queue_wait(rig->queue);
    cl_event user = user_event(rig->context), run = NULL;
    CHECK_INT(enqueue(buffer, 1, &user, named ? &run : NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &shared.object, named, named ? &run : NULL, NULL), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, THERE));
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, BESIDE));
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    if (run)
        CHECK_INT(clReleaseEvent(run), CL_SUCCESS);
    finish_and_drop(rig, buffer);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE(held_in_its_queue, 0)
{
    if (has_buffers(rig))
        release_behind(rig, false);
}

SHARING_CASE(held_by_its_event, 0)
{
    if (has_buffers(rig))
        release_behind(rig, true);
}

/* The same behind one whose queue the application has given back: the command buffer keeps it. */
SHARING_CASE(held_in_a_released_queue, 0)
{
    struct shared shared;
    cl_int status = 1;
    if (!has_buffers(rig) || !shared_open(rig, KIND_BUFFER, THERE, &shared))
        return;
    const cl_ulong properties[] = {0x1293 /* CL_COMMAND_BUFFER_FLAGS_KHR */, SIMULTANEOUS_FLAG, 0};
    cl_command_queue other = make_queue(rig, rig->context, 0);
    command_buffer buffer = ((create_fn)functions[CREATE])(1, &other, properties, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(fill_buffer(buffer, shared.object, NULL, KIND_BUFFER), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    queue_wait(rig->queue);
    cl_event user = user_event(rig->context), run = NULL;
    CHECK_INT(enqueue(buffer, 1, &user, &run), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &run, NULL), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, THERE));
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(d3d_is_filled(rig, &shared));
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(run), CL_SUCCESS);
    finish_and_drop(rig, buffer);
    shared_close(&shared);
}

/* Without a user event the bytes are there when the release returns. */
SHARING_CASE(not_held, RIG_OUT_OF_ORDER)
{
    struct shared shared;
    if (!has_buffers(rig))
        return;
    if (!can(rig, OUT_OF_ORDER)) {
        SKIP("the driver has command buffers in order alone");
        return;
    }
    if (!shared_open(rig, KIND_2D, THERE, &shared))
        return;
    cl_event run = NULL, user = user_event(rig->context);
    command_buffer buffer = make_buffer(rig);
    CHECK_INT(fill_image(buffer, shared.object, NULL, KIND_2D), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(enqueue(buffer, 0, NULL, &run), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &run, NULL), CL_SUCCESS);
    CHECK(d3d_is_filled(rig, &shared));
    CHECK_INT(clReleaseEvent(run), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    finish_and_drop(rig, buffer);
    shared_close(&shared);
}

/* ---- emulated images ---- */

static const cl_image_format rare = {CL_RG, CL_UNORM_INT8};

/* Not asked of the rig's context, which emulates it. */
static bool device_has_it(const struct rig *rig)
{
    cl_context context = plain_context(rig);
    const bool found = images_have_format(context, CL_MEM_OBJECT_IMAGE2D, rare);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return found;
}

/* False and the case skipped: the device has the format itself. */
static bool is_emulated(const struct rig *rig)
{
    const bool found = device_has_it(rig);
    if (found)
        SKIP("the device has the format itself");
    return !found;
}

static cl_mem make_image(const struct rig *rig)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    cl_int status = 1;
    cl_mem image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &rare, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return image;
}

/* No such command is recorded, and what else is recorded runs. */
SHARING_CASE(refused_images, 0)
{
    if (!has_buffers(rig) || !is_emulated(rig))
        return;
    cl_mem images[2] = {make_image(rig), make_image(rig)}, plain = plain_buffer(rig, 1), to = plain_buffer(rig, 2);
    command_buffer buffer = make_buffer(rig);
    CHECK_INT(image_to_buffer(buffer, images[0], plain, KIND_2D), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CHECK_INT(image_of_buffer(buffer, images[0], plain, KIND_2D), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CHECK_INT(image_to_image(buffer, images[0], images[1], KIND_2D), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CHECK_INT(fill_image(buffer, images[0], NULL, KIND_2D), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    find_host_functions(rig);
    if (host_functions[READ_IMAGE]) {
        CHECK_INT(read_image(buffer, images[0], NULL, KIND_2D), CL_IMAGE_FORMAT_NOT_SUPPORTED);
        CHECK_INT(write_image(buffer, images[0], NULL, KIND_2D), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    }
    CHECK_INT(buffer_from(buffer, plain, to, KIND_BUFFER), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseMemObject(images[i]), CL_SUCCESS);
    run_well(buffer, true);
    CHECK(plain_has(rig, to, 1));
    finish_and_drop(rig, buffer);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
}

static command_buffer recorded(const struct rig *rig, cl_kernel kernel)
{
    command_buffer buffer = make_buffer(rig);
    CHECK_INT(launch(buffer, kernel, WIDTH, HEIGHT), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
    return buffer;
}

/* One kernel leaves more in the image than its format holds, another reads it: each recorded, or alone. */
static void leave_and_look(const struct rig *rig, const struct unquantized *u)
{
    command_buffer leaving = recorded(rig, u->leave), looking = recorded(rig, u->look);
    for (int i = 0; i < 4; i++) {
        if (i & 1)
            run_well(leaving, true);
        else
            CHECK_INT(unquantized_launch(rig, u->leave), CL_SUCCESS);
        if (i & 2)
            run_well(looking, true);
        else
            CHECK_INT(unquantized_launch(rig, u->look), CL_SUCCESS);
        unquantized_expect_quantized(rig, u->seen);
    }
    finish_and_drop(rig, leaving);
    finish_and_drop(rig, looking);
}

/* In one command buffer nothing could requantize it between the two; the other way round nothing has to. */
static void look_and_leave(const struct rig *rig, const struct unquantized *u)
{
    command_buffer refused = make_buffer(rig), both = make_buffer(rig);
    CHECK_INT(launch(refused, u->leave, WIDTH, HEIGHT), CL_SUCCESS);
    CHECK_INT(launch(refused, u->look, WIDTH, HEIGHT), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CHECK_INT(launch(both, u->look, WIDTH, HEIGHT), CL_SUCCESS);
    CHECK_INT(launch(both, u->leave, WIDTH, HEIGHT), CL_SUCCESS);
    CHECK_INT(count(FINALIZE, both), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        run_well(both, true);
        unquantized_expect_quantized(rig, u->seen);
    }
    finish_and_drop(rig, refused);
    finish_and_drop(rig, both);
}

static const struct rig *looking_rig;
static cl_kernel looking;

static void look_meanwhile(void)
{
    CHECK_INT(unquantized_launch(looking_rig, looking), CL_SUCCESS);
    queue_wait(looking_rig->queue);
}

/* Another thread has the image read before the driver has the command buffer that writes to it. */
static void look_before(const struct rig *rig, const struct unquantized *u)
{
    looking_rig = rig;
    looking = u->look;
    inside = look_meanwhile;
    inside_when = NEWER_LATER;
    command_buffer leaving = recorded(rig, u->leave);
    inside_when = NEWER_INSIDE;
    run_well(leaving, true);
    CHECK_INT(unquantized_launch(rig, u->look), CL_SUCCESS);
    unquantized_expect_quantized(rig, u->seen);
    finish_and_drop(rig, leaving);
}

SHARING_CASE(image_kernels, 0)
{
    if (!has_buffers(rig) || !is_emulated(rig))
        return;
    cl_mem image = make_image(rig);
    const struct unquantized unquantized = unquantized_open(rig, image);
    leave_and_look(rig, &unquantized);
    look_and_leave(rig, &unquantized);
    if (newer)
        look_before(rig, &unquantized);
    unquantized_close(&unquantized);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

/* ---- handles ---- */

static void no_buffer(command_buffer buffer, cl_mem plain)
{
    cl_event event = NULL;
    CHECK_INT(enqueue(buffer, 0, NULL, &event), INVALID_COMMAND_BUFFER);
    CHECK_INT(fill_buffer(buffer, plain, NULL, KIND_BUFFER), INVALID_COMMAND_BUFFER);
    CHECK_INT(launch(buffer, NULL, 1, 1), INVALID_COMMAND_BUFFER);
    CHECK_INT(count(RETAIN, buffer), INVALID_COMMAND_BUFFER);
    CHECK_INT(count(RELEASE, buffer), INVALID_COMMAND_BUFFER);
    CHECK(event == NULL);
}

SHARING_CASE(handles, 0)
{
    const cl_command_queue none[1] = {NULL};
    void *const others[] = {rig->platform, rig->cl_device, rig->context};
    cl_mem plain = plain_buffer(rig, 1);
    cl_int status = CL_SUCCESS;
    if (has_buffers(rig)) {
        CHECK(((create_fn)functions[CREATE])(0, NULL, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_VALUE);
        CHECK(((create_fn)functions[CREATE])(2, NULL, NULL, NULL) == NULL);
        CHECK(((create_fn)functions[CREATE])(1, none, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_COMMAND_QUEUE);
        for (int i = 0; i < 3; i++) {
            const cl_command_queue queues[2] = {rig->queue, others[i]};
            CHECK(((create_fn)functions[CREATE])(1, &queues[1], NULL, &status) == NULL);
            CHECK_INT(status, CL_INVALID_COMMAND_QUEUE);
            CHECK(((create_fn)functions[CREATE])(2, queues, NULL, &status) == NULL);
            CHECK_INT(status, CL_INVALID_COMMAND_QUEUE);
        }
        command_buffer buffer = make_buffer(rig);
        CHECK_INT(count(RETAIN, buffer), CL_SUCCESS);
        CHECK_INT(count(RELEASE, buffer), CL_SUCCESS);
        CHECK_INT(fill_buffer(buffer, plain, NULL, KIND_BUFFER), CL_SUCCESS);
        CHECK(enqueue(buffer, 0, NULL, NULL) < 0); /* still open */
        CHECK_INT(count(FINALIZE, buffer), CL_SUCCESS);
        run_well(buffer, true);
        finish_and_drop(rig, buffer);
        no_buffer(buffer, plain);
        no_buffer(NULL, plain);
    }
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
}

/* ---- mutable command buffers ---- */

/* A kernel's objects may be others when it runs: what it was recorded with need not be acquired, and nobody knows what it writes. From
 * then on, in this process, every release brings all back. */
SHARING_CASE(mutable_kernels, 0)
{
    struct doubling d;
    if (!has_buffers(rig))
        return;
    if (!newer) {
        SKIP("the driver has no mutable command buffers");
        return;
    }
    if (!doubling_open(rig, &d, MUTABLE_FLAG))
        return;
    run_well(d.buffer, true);
    CHECK_INT(acquire_one(rig, d.from.object), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, d.to.object), CL_SUCCESS);
    run_well(d.buffer, true);
    CHECK_INT(release_one(rig, d.from.object), CL_SUCCESS);
    CHECK_INT(release_one(rig, d.to.object), CL_SUCCESS);
    doubling_close(rig, &d);
}

/* ---- a driver of a later version ---- */

/* How many of the cases above run there. */
static unsigned cases_that_run(void)
{
    enum { CASES = 28, OF_ANY_ORDER = 2, OF_IMAGES = 4 };
    struct rig rig;
    unsigned cases = 0;
    if (!rig_open(&rig, &rig_d3d11, 0))
        return 0;
    if (has_buffers(&rig))
        cases = CASES - (can(&rig, OUT_OF_ORDER) ? 0 : OF_ANY_ORDER) - (device_has_it(&rig) ? OF_IMAGES : 0);
    rig_close(&rig);
    return cases;
}

static void again(void)
{
    char layers[1024];
    const char *before = getenv("OPENCL_LAYERS"), *layer = getenv("CLD3D_TEST_NEWER_BUFFERS");
    if (!CHECK(before != NULL) || !CHECK(layer != NULL))
        return;
    if (strstr(before, layer)) {
        SKIP("runs the other cases");
        return;
    }
    snprintf(layers, sizeof(layers), "%s:%s", layer, before); /* the first is the lowest */
    CHECK_INT(run_again("Direct3D ", "OPENCL_LAYERS", layers), cases_that_run());
}

static const struct tap_test tests[] = {
    SHARING_TESTS("what a command buffer uses has to be acquired when it is enqueued", acquired_when_enqueued),
    SHARING_TESTS("what the kernels of a command buffer use has to be acquired", kernels),
    SHARING_TESTS("what two threads record has to be acquired", recorded_meanwhile),
    SHARING_TESTS("what a remapped command buffer uses has to be acquired", remapped),
    SHARING_TESTS("a fill and then a copy out in one command buffer", read_behind_a_write),
    SHARING_TESTS("a command buffer uses the buffer whose part it was recorded with", parts),
    SHARING_TESTS("a release behind a command buffer that is held", held_in_its_queue),
    SHARING_TESTS("a release that waits for a command buffer that is held", held_by_its_event),
    SHARING_TESTS("a release that waits for a held command buffer whose queue was given back",
                  held_in_a_released_queue),
    SHARING_TESTS("a release that waits for a command buffer that nothing holds", not_held),
    SHARING_TESTS("emulated images are neither copied nor filled in command buffers", refused_images),
    SHARING_TESTS("kernels of command buffers read emulated images right", image_kernels),
    SHARING_TESTS("handles of command buffers", handles),
    SHARING_TESTS("what the kernels of a mutable command buffer use may be others", mutable_kernels),
    {"over a driver of a later version", again},
};

TAP_MAIN(tests)
