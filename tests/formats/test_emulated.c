/* What a driver may do below the conversion of an emulated image: have no memory for it, or take its time in an enqueue. Each
 * case is run again over a layer that does so (below.c). */
#include "driver_bugs.h"
#include "below.h"
#include "sharing.h"
#include "unquantized.h"

/* A format that few devices have. */
static const cl_image_format format = {CL_RG, CL_UNORM_INT8};

static bool device_has_it(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_image_format has[256];
    cl_uint count = 0;
    bool found = false;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    CHECK_INT(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256, has, &count),
              CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 256; i++)
        found = found || memcmp(&has[i], &format, sizeof(format)) == 0;
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return found;
}

static cl_mem make_image(const struct rig *rig)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    cl_int status = 1;
    cl_mem image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return image;
}

static cl_int write_image(cl_command_queue queue, cl_mem image)
{
    static const size_t region[3] = {WIDTH, HEIGHT, 1};
    unsigned char bytes[2 * TEXELS];
    memset(bytes, 7, sizeof(bytes));
    return clEnqueueWriteImage(queue, image, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL);
}

/* Whether the layer is there, and the image emulated: then a write to it launches a kernel. */
static bool emulated(const struct rig *rig, cl_mem image)
{
    const cl_uint before = order_below(rig->queue, BELOW_LAUNCHES, 0);
    if (!CHECK_INT(write_image(rig->queue, image), CL_SUCCESS))
        return false;
    if (order_below(rig->queue, BELOW_LAUNCHES, 0) > before)
        return true;
    SKIP("the device has the format itself");
    return false;
}

static bool device_goes_out_of_order(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties offered = 0;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(offered), &offered, NULL), CL_SUCCESS);
    return offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

CASE("over a layer that fails and waits", again)
{
    if (device_has_it()) {
        SKIP("the device has the format itself");
        return;
    }
    CHECK_INT(run_child_over("CLD3D_TEST_BELOW", "over the layer: ", "CLD3D_TEST_BELOW_EMULATED"),
              device_goes_out_of_order() ? 16 : 14);
}

/* A case over the layer that gets an image, where that is emulated. */
#define LAYER_CASE(text, name, flags)                          \
    static void name(struct rig *rig, cl_mem image);           \
    SHARING_CASE("over the layer: " text, name##_there, flags) \
    {                                                          \
        with_image(rig, name);                                 \
    }                                                          \
    static void name(struct rig *rig, cl_mem image)

static void with_image(struct rig *rig, void (*body)(struct rig *, cl_mem))
{
    if (!is_child("CLD3D_TEST_BELOW_EMULATED"))
        return;
    cl_mem image = make_image(rig);
    if (emulated(rig, image))
        body(rig, image);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

/* ---- no memory ---- */

/* One kernel leaves more in the image than its format holds; another reads it, and there is no memory to requantize it. */
static void read_without_memory(const struct rig *rig, const struct unquantized *u)
{
    enum { BUFFERS = 3 }; /* that the requantization takes */
    for (cl_uint nth = 1; nth <= BUFFERS; nth++) {
        CHECK_INT(unquantized_launch(rig, u->leave), CL_SUCCESS);
        order_below(rig->queue, BELOW_FAIL_BUFFER, nth);
        CHECK_INT(unquantized_launch(rig, u->look), CL_MEM_OBJECT_ALLOCATION_FAILURE);
        order_below(rig->queue, BELOW_FAIL_BUFFER, 0);
        CHECK_INT(unquantized_launch(rig, u->look), CL_SUCCESS);
        unquantized_expect_quantized(rig, u->seen);
    }
}

LAYER_CASE("a kernel whose image can't be converted is refused, the next one runs right", no_memory, 0)
{
    const struct unquantized unquantized = unquantized_open(rig, image);
    read_without_memory(rig, &unquantized);
    unquantized_close(&unquantized);
}

/* ---- behind a user event ---- */

static cl_int launch_behind(cl_command_queue queue, cl_kernel kernel, cl_event wait)
{
    static const size_t size[2] = {WIDTH, HEIGHT};
    return clEnqueueNDRangeKernel(queue, kernel, 2, NULL, size, NULL, 1, &wait, NULL);
}

/* What would have requantized the image fails, or comes later: the next kernel reads it as its format has it all the same. */
static void read_meanwhile(const struct rig *rig, const struct unquantized *u, cl_mem image)
{
    enum { WRITTEN, REQUANTIZED, LATER, TURNS }; /* less is relied on once an event has failed */
    static const size_t origin[3], region[3] = {WIDTH, HEIGHT, 1};
    static const unsigned char bytes[2 * TEXELS];
    cl_command_queue other = make_queue(rig, rig->context, 0);
    /* A failure ends the process with PoCL 3.1. */
    for (int turn = is_pocl(rig->platform) ? LATER : WRITTEN; turn < TURNS; turn++) {
        cl_event user = user_event(rig->context);
        CHECK_INT(unquantized_launch(rig, u->leave), CL_SUCCESS);
        queue_wait(rig->queue);
        if (turn == WRITTEN)
            CHECK_INT(clEnqueueWriteImage(other, image, CL_FALSE, origin, region, 0, 0, bytes, 1, &user, NULL),
                      CL_SUCCESS);
        else
            CHECK_INT(launch_behind(other, u->look, user), CL_SUCCESS);
        if (turn != LATER)
            CHECK_INT(clSetUserEventStatus(user, -5), CL_SUCCESS);
        CHECK_INT(unquantized_launch(rig, u->look), CL_SUCCESS);
        unquantized_expect_quantized(rig, u->seen);
        if (turn == LATER)
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        queue_wait(other);
        CHECK_INT(unquantized_launch(rig, u->look), CL_SUCCESS);
        unquantized_expect_quantized(rig, u->seen);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    }
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
}

/* Two kernels that read it one after the other, in one queue and in two; and a third after one that writes again. */
static void read_again(const struct rig *rig, const struct unquantized *u)
{
    struct rig second = *rig;
    second.queue = make_queue(rig, rig->context, 0);
    for (int turn = 0; turn < 3; turn++) {
        CHECK_INT(unquantized_launch(rig, u->leave), CL_SUCCESS);
        if (turn)
            queue_wait(rig->queue);
        CHECK_INT(unquantized_launch(rig, u->look), CL_SUCCESS);
        CHECK_INT(unquantized_launch(turn == 1 ? &second : rig, u->look), CL_SUCCESS);
        queue_wait(rig->queue);
        unquantized_expect_quantized(&second, u->seen);
    }
    CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
}

/* A kernel that writes to a shared image behind an acquire, which brings its bytes later. */
SHARING_CASE("over the layer: a kernel behind an acquire that a user event blocks", later_acquire, 0)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8_UNORM, .width = WIDTH, .height = HEIGHT};
    cl_int status = 1;
    if (!is_child("CLD3D_TEST_BELOW_EMULATED"))
        return;
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    cl_mem image = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(acquire_one(rig, image), CL_SUCCESS);
    const struct unquantized unquantized = unquantized_open(rig, image);
    cl_event user = user_event(rig->context);
    CHECK_INT(rig->release(rig->queue, 1, &image, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, image), CL_SUCCESS);
    CHECK_INT(unquantized_launch(rig, unquantized.leave), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(unquantized_launch(rig, unquantized.look), CL_SUCCESS);
    unquantized_expect_quantized(rig, unquantized.seen);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(release_one(rig, image), CL_SUCCESS);
    unquantized_close(&unquantized);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    rig_release(texture);
}

/* The buffer of a map goes with the image. */
SHARING_CASE("over the layer: an image that goes while it is mapped", goes_mapped, 0)
{
    static const size_t region[3] = {WIDTH, HEIGHT, 1};
    if (!is_child("CLD3D_TEST_BELOW_EMULATED"))
        return;
    const cl_uint before = order_below(rig->queue, BELOW_BUFFERS, 0);
    cl_mem image = make_image(rig);
    if (emulated(rig, image)) {
        size_t row;
        cl_int status = 1;
        CHECK(clEnqueueMapImage(rig->queue, image, CL_TRUE, CL_MAP_READ, no_origin(), region, &row, NULL, 0, NULL, NULL,
                                &status) != NULL);
        CHECK_INT(status, CL_SUCCESS);
        CHECK(order_below(rig->queue, BELOW_BUFFERS, 0) > before);
    }
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    CHECK_INT(order_below(rig->queue, BELOW_BUFFERS, 0), before);
}

static cl_event launch_after(const struct rig *rig, cl_kernel kernel, cl_event wait)
{
    static const size_t size[2] = {WIDTH, HEIGHT};
    cl_event event = NULL;
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 2, NULL, size, NULL, 1, &wait, &event), CL_SUCCESS);
    return event;
}

static void stays(cl_event event)
{
    enum { STAY_MS = 200 };
    pause_ms(STAY_MS);
    CHECK(rig_event_status(event) > CL_COMPLETE);
}

/* Two kernels that read it, while it is requantized for the first one, which waits. */
static void read_while_requantized(const struct rig *rig, const struct unquantized *u)
{
    CHECK_INT(unquantized_launch(rig, u->leave), CL_SUCCESS);
    queue_wait(rig->queue);
    cl_event marker = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marker), CL_SUCCESS);
    order_below(rig->queue, BELOW_GATE, 1);
    const cl_event looked[2] = {launch_after(rig, u->look, marker), launch_after(rig, u->look, marker)};
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    stays(looked[0]);
    order_below(rig->queue, BELOW_OPEN, 1);
    queue_wait(rig->queue);
    unquantized_expect_quantized(rig, u->seen);
    CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseEvent(looked[i]), CL_SUCCESS);
}

LAYER_CASE("kernels out of order wait for what requantizes", behind_requantization, RIG_OUT_OF_ORDER)
{
    const struct unquantized unquantized = unquantized_open(rig, image);
    read_while_requantized(rig, &unquantized);
    unquantized_close(&unquantized);
}

/* ---- two at once ---- */

struct writer {
    cl_command_queue queue;
    cl_mem image;
};

static void write_one(void *data)
{
    const struct writer *writer = data;
    CHECK_INT(write_image(writer->queue, writer->image), CL_SUCCESS);
}

/* A driver may take its time in an enqueue, and even wait there for what another thread enqueues. */
SHARING_CASE("over the layer: two threads convert at once, whatever the driver does in an enqueue", two_at_once, 0)
{
    if (!is_child("CLD3D_TEST_BELOW_EMULATED"))
        return;
    struct writer writers[2] = {{rig->queue, make_image(rig)}, {make_queue(rig, rig->context, 0), make_image(rig)}};
    if (emulated(rig, writers[0].image)) {
        struct test_job jobs[2] = {{write_one, &writers[0]}, {write_one, &writers[1]}};
        test_thread threads[2];
        order_below(rig->queue, BELOW_MEET, 0);
        for (int i = 0; i < 2; i++)
            test_thread_start(&threads[i], &jobs[i]);
        for (int i = 0; i < 2; i++)
            test_thread_join(threads[i]);
        CHECK_INT(order_below(rig->queue, BELOW_MET, 0), 1);
    }
    CHECK_INT(clReleaseCommandQueue(writers[1].queue), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseMemObject(writers[i].image), CL_SUCCESS);
}

/* What the driver takes its time with, and what is enqueued meanwhile. The image is not quantized after any of the two. */
static const struct meanwhile_case {
    const char *name;
    enum { HELD_LEAVE, HELD_WRITE } held;
    enum { WRITES_IT, READS_IT, LEAVES_IN_IT } meanwhile;
} meanwhile_cases[] = {
    {"a kernel, a write", HELD_LEAVE, WRITES_IT},
    {"a kernel, a kernel that reads", HELD_LEAVE, READS_IT},
    {"a write that is enqueued, a kernel", HELD_WRITE, LEAVES_IN_IT},
};

struct meanwhile {
    struct rig rig;
    struct unquantized unquantized;
    cl_mem image;
    const struct meanwhile_case *what;
};

static void enqueue_held(void *data)
{
    const struct meanwhile *m = data;
    if (m->what->held == HELD_LEAVE)
        CHECK_INT(unquantized_launch(&m->rig, m->unquantized.leave), CL_SUCCESS);
    else
        CHECK_INT(write_image(m->rig.queue, m->image), CL_SUCCESS);
}

static void enqueue_meanwhile(const struct meanwhile *m)
{
    switch (m->what->meanwhile) {
    case WRITES_IT: CHECK_INT(write_image(m->rig.queue, m->image), CL_SUCCESS); break;
    case READS_IT:
        CHECK_INT(unquantized_launch(&m->rig, m->unquantized.look), CL_SUCCESS);
        queue_wait(m->rig.queue);
        break;
    case LEAVES_IN_IT: CHECK_INT(unquantized_launch(&m->rig, m->unquantized.leave), CL_SUCCESS); break;
    }
}

static void hold_one(struct meanwhile *m)
{
    const struct rig *rig = &m->rig;
    struct test_job job = {enqueue_held, m};
    test_thread thread;
    CHECK_INT(write_image(rig->queue, m->image), CL_SUCCESS);
    order_below(rig->queue, BELOW_HOLD, m->what->held == HELD_WRITE ? BELOW_HOLD_AFTER : BELOW_HOLD_BEFORE);
    test_thread_start(&thread, &job);
    held_below(rig->queue);
    enqueue_meanwhile(m);
    order_below(rig->queue, BELOW_HOLD, BELOW_HOLD_NONE);
    test_thread_join(thread);
    CHECK_INT(unquantized_launch(rig, m->unquantized.look), CL_SUCCESS);
    unquantized_expect_quantized(rig, m->unquantized.seen);
}

/* An image is known to be quantized only if nothing else got to it while that was found out. */
SHARING_CASE("over the layer: what requantizes an image while the driver takes its time", requantized_meanwhile, 0)
{
    if (!is_child("CLD3D_TEST_BELOW_EMULATED"))
        return;
    struct meanwhile m = {*rig, {NULL, NULL, NULL}, make_image(rig), NULL};
    if (emulated(rig, m.image)) {
        m.unquantized = unquantized_open(rig, m.image);
        for (size_t i = 0; i < sizeof(meanwhile_cases) / sizeof(meanwhile_cases[0]); i++) {
            const int failures = atomic_load(&tap_case.failures);
            m.what = &meanwhile_cases[i];
            hold_one(&m);
            if (atomic_load(&tap_case.failures) != failures)
                printf("# %s\n", m.what->name);
        }
        unquantized_close(&m.unquantized);
    }
    CHECK_INT(clReleaseMemObject(m.image), CL_SUCCESS);
}

/* ---- copies ---- */

enum { PART_WIDTH = 3, PART_HEIGHT = 2 };

static cl_mem filled_image(const struct rig *rig, cl_image_format of, bool deep, const void *bytes)
{
    const size_t region[3] = {WIDTH, HEIGHT, deep ? 2 : 1};
    const cl_image_desc desc = {.image_type = deep ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                                .image_width = WIDTH,
                                .image_height = HEIGHT,
                                .image_depth = deep ? 2 : 0};
    cl_int status = 1;
    cl_mem image = clCreateImage(rig->context, 0, &of, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clEnqueueWriteImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
              CL_SUCCESS);
    return image;
}

/* Copies a part between a 2D and a 3D image of one format, which are not stored in the same one, to another place. */
static void copy_part(const struct rig *rig, cl_image_format of, size_t texel, bool from_deep)
{
    const size_t at[3] = {5, 2, from_deep ? 1 : 0}, into[3] = {2, 1, from_deep ? 0 : 1};
    const size_t region[3] = {PART_WIDTH, PART_HEIGHT, 1}, beyond[3] = {WIDTH - 1, 0, 0};
    const size_t whole[3] = {WIDTH, HEIGHT, from_deep ? 1 : 2};
    unsigned char source[2 * TEXELS * 4], expected[2 * TEXELS * 4], found[2 * TEXELS * 4];
    cl_event event = NULL;
    rig_pattern(source, sizeof(source), 1);
    rig_pattern(expected, sizeof(expected), 2);
    cl_mem from = filled_image(rig, of, from_deep, source), to = filled_image(rig, of, !from_deep, expected);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, beyond, into, region, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, at, beyond, region, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, at, into, region, 0, NULL, &event), CL_SUCCESS);
    for (size_t y = 0; y < PART_HEIGHT; y++)
        memcpy(expected + (((into[2] * HEIGHT + into[1] + y) * WIDTH) + into[0]) * texel,
               source + (((at[2] * HEIGHT + at[1] + y) * WIDTH) + at[0]) * texel, PART_WIDTH * texel);
    CHECK_INT(clEnqueueReadImage(rig->queue, to, CL_TRUE, no_origin(), whole, 0, 0, found, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(found, expected, whole[2] * TEXELS * texel);
    CHECK_INT(rig_event_type(event), CL_COMMAND_COPY_IMAGE);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(from), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
}

/* With both functions of the environment's layer: a rig of its own, for which 3D images lack formats. */
static bool open_few(const struct rig *rig, struct rig *own)
{
    *own = *rig;
    if (!is_child("CLD3D_TEST_BELOW_EMULATED"))
        return false;
    test_setenv(BELOW_FEW_FORMATS, "1");
    own->context = rig_make_context(rig, rig->device, false, NULL);
    own->queue = make_queue(rig, own->context, 0);
    return true;
}

static void close_few(struct rig *own)
{
    CHECK_INT(clReleaseCommandQueue(own->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(own->context), CL_SUCCESS);
    test_setenv(BELOW_FEW_FORMATS, NULL);
}

/* RG in fractions or halves is emulated in both, in 2D in its own type and in 3D in floats; R in whole numbers in 3D alone. */
SHARING_CASE("over the layer: copies between images that are stored in two formats", copies_between_types,
             RIG_NO_CONTEXT)
{
    static const size_t one[3] = {1, 1, 1};
    static const cl_uchar bytes[2 * TEXELS];
    struct rig own;
    if (!open_few(rig, &own))
        return;
    for (int from_deep = 0; from_deep < 2; from_deep++) {
        copy_part(&own, (cl_image_format){CL_RG, CL_UNORM_INT8}, 2, from_deep);
        copy_part(&own, (cl_image_format){CL_RG, CL_HALF_FLOAT}, 4, from_deep);
        const cl_uint before = order_below(own.queue, BELOW_LAUNCHES, 0);
        cl_mem flat = filled_image(&own, (cl_image_format){CL_R, CL_UNSIGNED_INT8}, false, bytes);
        const bool in_both = order_below(own.queue, BELOW_LAUNCHES, 0) > before; /* PoCL 7.1 has no R */
        cl_mem deep = filled_image(&own, (cl_image_format){CL_R, CL_UNSIGNED_INT8}, true, bytes);
        CHECK_INT(clEnqueueCopyImage(own.queue, from_deep ? deep : flat, from_deep ? flat : deep, no_origin(),
                                     no_origin(), one, 0, NULL, NULL),
                  in_both ? CL_SUCCESS : CL_IMAGE_FORMAT_MISMATCH);
        CHECK_INT(clReleaseMemObject(flat), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(deep), CL_SUCCESS);
    }
    close_few(&own);
}

/* ---- maps beside what is held ---- */

/* A command that nobody orders behind those that a user event blocks comes to its end. It is flushed, and has time. */
static void ends(const struct rig *rig, cl_event *event, const char *what)
{
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    for (int i = 0; i < 60000 && rig_event_status(*event) > CL_COMPLETE; i++)
        pause_ms(1);
    if (!CHECK_INT(rig_event_status(*event), CL_COMPLETE))
        printf("# %s\n", what);
    CHECK_INT(clReleaseEvent(*event), CL_SUCCESS);
}

static void map_both_ways(const struct rig *rig, cl_mem image, cl_map_flags flags)
{
    static const size_t region[3] = {WIDTH, HEIGHT, 1};
    cl_event event = NULL;
    cl_int status = 1;
    size_t pitch;
    void *mapped = clEnqueueMapImage(rig->queue, image, CL_FALSE, flags, no_origin(), region, &pitch, NULL, 0, NULL,
                                     &event, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    ends(rig, &event, "the map");
    CHECK_INT(clEnqueueUnmapMemObject(rig->queue, image, mapped, 0, NULL, &event), CL_SUCCESS);
    ends(rig, &event, "the unmap");
}

SHARING_CASE("out of order: maps wait for no command that they are not told to wait for", maps_alone, RIG_OUT_OF_ORDER)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    cl_mem image = make_image(rig), other = make_image(rig);
    cl_event held = user_event(rig->context);
    const cl_uint zero[4] = {0};
    const size_t region[3] = {WIDTH, HEIGHT, 1};
    CHECK_INT(clEnqueueFillImage(rig->queue, other, zero, no_origin(), region, 1, &held, NULL), CL_SUCCESS);
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
        map_both_ways(rig, image, flags[f]);
    CHECK_INT(clSetUserEventStatus(held, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

LAYER_CASE("kernels read it in turn, also where what requantizes it fails or comes later", user_events, 0)
{
    const struct unquantized unquantized = unquantized_open(rig, image);
    read_meanwhile(rig, &unquantized, image);
    read_again(rig, &unquantized);
    unquantized_close(&unquantized);
}

TAP_MAIN
