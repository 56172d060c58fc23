/* Images in a format that the device lacks, which natively a layer takes from it (below.c): what they tell of themselves, what kernels
 * and copies make of them, and what is refused. What such an image gives is the same on a device that has the format. The data of
 * shared ones is in test_data_formats.c and test_data_kernels.c. */
#include "below.h"
#include "sharing.h"

#include <CL/cl_ext.h>

enum { TEXEL = 2, MOST = 512 };

static const cl_image_format format = {CL_RG, CL_UNSIGNED_INT8};

struct shape {
    const char *name;
    cl_mem_object_type type;
    size_t extent[3];
};

static const struct shape shapes[] = {
    {"2D", CL_MEM_OBJECT_IMAGE2D, {7, 5, 1}},
    {"3D", CL_MEM_OBJECT_IMAGE3D, {7, 5, 3}},
};
enum { FLAT, DEEP, SHAPES };

static bool has_layers(const struct shape *shape)
{
    return shape->extent[2] > 1;
}

static cl_image_desc desc_of(const struct shape *shape)
{
    return (cl_image_desc){.image_type = shape->type,
                           .image_width = shape->extent[0],
                           .image_height = shape->extent[1],
                           .image_depth = has_layers(shape) ? shape->extent[2] : 0};
}

static size_t bytes_of(const struct shape *shape)
{
    return shape->extent[0] * shape->extent[1] * shape->extent[2] * TEXEL;
}

static void image_is(const struct rig *rig, const struct shape *shape, cl_mem image, const unsigned char *expected)
{
    unsigned char found[MOST] = {0};
    CHECK_INT(clEnqueueReadImage(rig->queue, image, CL_TRUE, no_origin(), shape->extent, 0, 0, found, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_MEM(found, expected, bytes_of(shape));
}

static void write_image(cl_command_queue queue, const struct shape *shape, cl_mem image, const void *bytes)
{
    CHECK_INT(clEnqueueWriteImage(queue, image, CL_TRUE, no_origin(), shape->extent, 0, 0, bytes, 0, NULL, NULL),
              CL_SUCCESS);
}

/* An image with these bytes, or with any if NULL. */
static cl_mem make_image(const struct rig *rig, const struct shape *shape, cl_image_format of, const void *bytes)
{
    const cl_image_desc desc = desc_of(shape);
    cl_int status = 1;
    cl_mem image = clCreateImage(rig->context, 0, &of, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (bytes)
        write_image(rig->queue, shape, image, bytes);
    return image;
}

static void is_number(cl_mem image, cl_image_info name, size_t expected)
{
    size_t value = 4711;
    CHECK_INT(clGetImageInfo(image, name, sizeof(value), &value, NULL), CL_SUCCESS);
    CHECK_INT(value, expected);
}

/* The same where the driver lists the format, which natively a layer takes from the list. Before the loader cuts OPENCL_LAYERS. */
CASE("half floats of one channel that the driver lists", half_floats_listed)
{
    CHECK(run_again("kernels read half floats", BELOW_FEW_FORMATS, "1") > 0);
}

/* What kernels may do with an image is no limit for the host. */
SHARING_CASE("what an image tells of itself", tells, 0)
{
    static const cl_mem_flags all_flags[] = {CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    for (int i = 0; i < 3 * SHAPES; i++) {
        const struct shape *shape = &shapes[i % SHAPES];
        const cl_mem_flags given = all_flags[i / SHAPES];
        const cl_image_desc desc = desc_of(shape);
        const size_t row = shape->extent[0] * TEXEL;
        unsigned char bytes[MOST];
        void *host = &host;
        cl_image_format declared = {0, 0};
        cl_mem_object_type type = 0;
        cl_mem_flags flags = 0;
        cl_int status = 1;
        size_t size = 0;
        cl_mem image = clCreateImage(rig->context, given, &format, &desc, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        rig_pattern(bytes, sizeof(bytes), (unsigned)i);
        write_image(rig->queue, shape, image, bytes);
        CHECK_INT(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(declared), &declared, NULL), CL_SUCCESS);
        CHECK_MEM(&declared, &format, sizeof(format));
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), CL_SUCCESS);
        CHECK_INT(flags, given);
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
        CHECK_INT(size, bytes_of(shape));
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
        CHECK_INT(type, shape->type);
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_HOST_PTR, sizeof(host), &host, NULL), CL_SUCCESS);
        CHECK(host == NULL);
        is_number(image, CL_IMAGE_WIDTH, shape->extent[0]);
        is_number(image, CL_IMAGE_ROW_PITCH, row);
        is_number(image, CL_IMAGE_SLICE_PITCH, has_layers(shape) ? row * shape->extent[1] : 0);
        CHECK_INT(clRetainMemObject(image), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
        is_number(image, CL_IMAGE_ELEMENT_SIZE, TEXEL);
        image_is(rig, shape, image, bytes);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
}

/* ---- what kernels see ---- */

static const char look_source[] =
    "constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "kernel void look(read_only image2d_t from, global COLOUR *to) { *to = LOOK(from, at, (int2)(0, 0)); }\n";

/* The colour of the first texel, for kernels: 4 floats or 4 whole numbers. Gives the buffer that gets it. Of the buffers that the
 * launch makes, the one of the number `failing` fails; 0: none does. */
static cl_mem start_look(const struct rig *rig, cl_mem image, bool whole, cl_uint failing, cl_event *event)
{
    char source[512];
    snprintf(source, sizeof(source), "#define COLOUR %s\n#define LOOK read_image%s\n%s", whole ? "uint4" : "float4",
             whole ? "ui" : "f", look_source);
    cl_kernel kernel = rig_kernel(rig, source, "look");
    cl_mem seen = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 16, NULL, NULL);
    const size_t one = 1;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(image), &image), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(seen), &seen), CL_SUCCESS);
    order_below(rig->queue, BELOW_FAIL_BUFFER, failing);
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, event),
              failing ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS);
    order_below(rig->queue, BELOW_FAIL_BUFFER, 0);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    return seen;
}

static void look(const struct rig *rig, cl_mem image, bool whole, cl_uint *colour)
{
    cl_mem seen = start_look(rig, image, whole, 0, NULL);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, seen, CL_TRUE, 0, 16, colour, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(seen), CL_SUCCESS);
}

/* A fill with all four channels leaves in the image what the format holds: kernels read 0 for colours and 1 for the alpha that
 * it lacks. */
SHARING_CASE("a fill leaves what the format holds", fills, 0)
{
    static const struct filled {
        cl_image_format format;
        bool whole;
        union colour {
            cl_float f[4];
            cl_uint u[4];
        } with, seen;
    } all[] = {
        {{CL_RG, CL_UNORM_INT8}, false, {{1, 0, 0.6f, 0.2f}}, {{1, 0, 0, 1}}},
        {{CL_R, CL_UNORM_INT16}, false, {{1, 0.4f, 0.6f, 0.2f}}, {{1, 0, 0, 1}}},
        {{CL_RG, CL_SNORM_INT8}, false, {{-1, 7, 0.6f, 0.2f}}, {{-1, 1, 0, 1}}},
        {{CL_RG, CL_SNORM_INT16}, false, {{-1, 7, 0.6f, 0.2f}}, {{-1, 1, 0, 1}}},
        {{CL_RG, CL_HALF_FLOAT}, false, {{0.5f, -2, 0.6f, 0.2f}}, {{0.5f, -2, 0, 1}}},
        {{CL_R, CL_HALF_FLOAT}, false, {{0.5f, -2, 0.6f, 0.2f}}, {{0.5f, 0, 0, 1}}},
        {{CL_RG, CL_FLOAT}, false, {{0.5f, -2, 0.6f, 0.2f}}, {{0.5f, -2, 0, 1}}},
        {{CL_RG, CL_UNSIGNED_INT8}, true, {.u = {7, 9, 11, 13}}, {.u = {7, 9, 0, 1}}},
        {{CL_RG, CL_SIGNED_INT32}, true, {.u = {7, 9, 11, 13}}, {.u = {7, 9, 0, 1}}},
        {{CL_A, CL_UNORM_INT8}, false, {{0.2f, 0.4f, 0.6f, 1}}, {{0, 0, 0, 1}}},
        {{CL_BGRA, CL_UNORM_INT8}, false, {{1, 0, 1, 0}}, {{1, 0, 1, 0}}},
    };
    const size_t *region = shapes[FLAT].extent;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const int before = atomic_load(&tap_case.failures);
        cl_uint seen[4] = {4711, 4711, 4711, 4711};
        cl_mem image = make_image(rig, &shapes[FLAT], all[i].format, NULL);
        CHECK_INT(clEnqueueFillImage(rig->queue, image, &all[i].with, no_origin(), region, 0, NULL, NULL), CL_SUCCESS);
        look(rig, image, all[i].whole, seen);
        CHECK_MEM(seen, &all[i].seen, sizeof(seen));
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
        if (atomic_load(&tap_case.failures) != before)
            printf("# format 0x%x, 0x%x\n", all[i].format.image_channel_order, all[i].format.image_channel_data_type);
    }
}

/* Writes to the first texel more than two channels of 8 bits can hold. */
static void leave_more(const struct rig *rig, cl_mem image)
{
    static const char source[] = "kernel void leave(write_only image2d_t to)\n"
                                 "{ write_imageui(to, (int2)(0, 0), (uint4)(1, 2, 3, 4)); }\n";
    cl_kernel kernel = rig_kernel(rig, source, "leave");
    const size_t one = 1;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(image), &image), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* What a kernel leaves in an image beyond its format is not seen in a copy of it either, nor in an image of which another part is
 * copied to. */
SHARING_CASE("what a kernel leaves beyond the format stays out of copies", copies_of_more, 0)
{
    static const cl_uint expected[4] = {1, 2, 0, 1};
    const size_t whole[3] = {7, 5, 1}, right[3] = {4, 0, 0}, part[3] = {3, 5, 1};
    cl_mem from = make_image(rig, &shapes[FLAT], format, NULL), to = make_image(rig, &shapes[FLAT], format, NULL);
    cl_uint seen[4] = {0};
    leave_more(rig, from);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, no_origin(), no_origin(), whole, 0, NULL, NULL), CL_SUCCESS);
    look(rig, to, true, seen);
    CHECK_MEM(seen, expected, sizeof(seen));
    leave_more(rig, to);
    look(rig, from, true, seen);
    CHECK_MEM(seen, expected, sizeof(seen));
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, right, right, part, 0, NULL, NULL), CL_SUCCESS);
    memset(seen, 0, sizeof(seen));
    look(rig, to, true, seen);
    CHECK_MEM(seen, expected, sizeof(seen));
    CHECK_INT(clReleaseMemObject(from), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
}

/* There is no memory to bring the image to its format. */
SHARING_CASE("a kernel is refused whose image can't be converted, and the next one is right", no_memory, 0)
{
    enum { BUFFERS = 3 }; /* that it takes */
    static const cl_uint expected[4] = {1, 2, 0, 1};
    cl_mem image = make_image(rig, &shapes[FLAT], format, NULL);
    for (cl_uint failing = 1; failing <= BUFFERS; failing++) {
        cl_uint seen[4] = {0};
        leave_more(rig, image);
        CHECK_INT(clReleaseMemObject(start_look(rig, image, true, failing, NULL)), CL_SUCCESS);
        look(rig, image, true, seen);
        CHECK_MEM(seen, expected, sizeof(seen));
    }
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

/* What brings the image to its format is held in the driver, and the kernel comes behind it in any queue. */
SHARING_CASE("kernels out of order see no more than the format holds", out_of_order, RIG_OUT_OF_ORDER)
{
    enum { STAY_MS = 200 };
    static const cl_uint expected[4] = {1, 2, 0, 1};
    cl_uint colour[4] = {0};
    cl_event looked = NULL;
    cl_mem image = make_image(rig, &shapes[FLAT], format, NULL);
    leave_more(rig, image);
    queue_wait(rig->queue);
    order_below(rig->queue, BELOW_GATE, 1);
    cl_mem seen = start_look(rig, image, true, 0, &looked);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    pause_ms(STAY_MS);
    CHECK(rig_event_status(looked) > CL_COMPLETE);
    order_below(rig->queue, BELOW_OPEN, 1);
    finish_event(looked);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, seen, CL_TRUE, 0, 16, colour, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(colour, expected, sizeof(colour));
    CHECK_INT(clReleaseMemObject(seen), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

/* PoCL 3.1 takes half floats of one channel for whole numbers. */
SHARING_CASE("kernels read half floats of one channel", half_floats, 0)
{
    static const cl_float expected[4] = {0.5f, 0, 0, 1};
    cl_ushort bytes[7 * 5];
    cl_uint seen[4] = {0};
    for (int i = 0; i < 7 * 5; i++)
        bytes[i] = 0x3800;
    cl_mem image = make_image(rig, &shapes[FLAT], (cl_image_format){CL_R, CL_HALF_FLOAT}, bytes);
    look(rig, image, false, seen);
    CHECK_MEM(seen, expected, sizeof(seen));
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

/* ---- two at once ---- */

struct writer {
    cl_command_queue queue;
    cl_mem image;
};

static void write_one(void *data)
{
    static const unsigned char bytes[MOST];
    const struct writer *writer = data;
    write_image(writer->queue, &shapes[FLAT], writer->image, bytes);
}

/* A driver may take its time in an enqueue, and even wait there for what another thread enqueues. */
SHARING_CASE("two threads convert at once, whatever the driver does in an enqueue", two_at_once, 0)
{
    struct writer writers[2];
    struct test_job jobs[2];
    test_thread threads[2];
    for (int i = 0; i < 2; i++) {
        writers[i] = (struct writer){make_queue(rig, rig->context, 0), make_image(rig, &shapes[FLAT], format, NULL)};
        jobs[i] = (struct test_job){write_one, &writers[i]};
    }
    order_below(rig->queue, BELOW_MEET, 0);
    for (int i = 0; i < 2; i++)
        test_thread_start(&threads[i], &jobs[i]);
    for (int i = 0; i < 2; i++)
        test_thread_join(threads[i]);
    CHECK_INT(order_below(rig->queue, BELOW_MET, 0), 1);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(clReleaseCommandQueue(writers[i].queue), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(writers[i].image), CL_SUCCESS);
    }
}

/* ---- copies between images that are stored in two formats ---- */

enum { PART_WIDTH = 3, PART_HEIGHT = 2 };

/* Copies a part between a 2D and a 3D image of one format to another place. */
static void copy_part(const struct rig *rig, cl_image_format of, size_t texel, bool from_deep)
{
    const struct shape *source_shape = &shapes[from_deep], *target_shape = &shapes[!from_deep];
    const size_t at[3] = {4, 2, from_deep ? 1 : 0}, into[3] = {2, 1, from_deep ? 0 : 1};
    const size_t region[3] = {PART_WIDTH, PART_HEIGHT, 1}, beyond[3] = {6, 0, 0};
    const size_t *from_size = source_shape->extent, *to_size = target_shape->extent;
    unsigned char source[MOST], expected[MOST], found[MOST];
    cl_event event = NULL;
    rig_pattern(source, sizeof(source), 1);
    rig_pattern(expected, sizeof(expected), 2);
    cl_mem from = make_image(rig, source_shape, of, source), to = make_image(rig, target_shape, of, expected);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, beyond, into, region, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, at, beyond, region, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueCopyImage(rig->queue, from, to, at, into, region, 0, NULL, &event), CL_SUCCESS);
    for (size_t y = 0; y < PART_HEIGHT; y++)
        memcpy(expected + ((into[2] * to_size[1] + into[1] + y) * to_size[0] + into[0]) * texel,
               source + ((at[2] * from_size[1] + at[1] + y) * from_size[0] + at[0]) * texel, PART_WIDTH * texel);
    CHECK_INT(clEnqueueReadImage(rig->queue, to, CL_TRUE, no_origin(), to_size, 0, 0, found, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_MEM(found, expected, to_size[0] * to_size[1] * to_size[2] * texel);
    CHECK_INT(rig_event_type(event), CL_COMMAND_COPY_IMAGE);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(from), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
}

/* On a device whose 3D images lack formats: RG in fractions or halves is stored in its own type in 2D and in floats in 3D; R in whole
 * numbers may be emulated in 3D alone, and what the device has in 2D is. Between an image of its own and an emulated one is no copy. */
SHARING_CASE("copies between images that are stored in two formats", copies_between_types, RIG_NO_CONTEXT)
{
    static const struct {
        cl_image_format format;
        size_t texel; /* bytes */
    } all[] = {{{CL_RG, CL_UNORM_INT8}, 2}, {{CL_RG, CL_HALF_FLOAT}, 4}, {{CL_R, CL_UNSIGNED_INT8}, 1}};
    static const size_t one[3] = {1, 1, 1};
    struct rig own = *rig;
    test_setenv(BELOW_FEW_FORMATS, "1");
    own.context = rig_make_context(rig, rig->device, false, NULL);
    own.queue = make_queue(rig, own.context, 0);
    cl_context plain = plain_context(rig);
    for (unsigned i = 0; i < 2 * sizeof(all) / sizeof(all[0]); i++) {
        const bool from_deep = i % 2;
        const cl_image_format format = all[i / 2].format;
        if (!images_have_format(plain, CL_MEM_OBJECT_IMAGE2D, format)) {
            copy_part(&own, format, all[i / 2].texel, from_deep);
            continue;
        }
        cl_mem images[2] = {make_image(&own, &shapes[FLAT], format, NULL),
                            make_image(&own, &shapes[DEEP], format, NULL)};
        CHECK_INT(clEnqueueCopyImage(own.queue, images[from_deep], images[!from_deep], no_origin(), no_origin(), one, 0,
                                     NULL, NULL),
                  CL_IMAGE_FORMAT_MISMATCH);
        for (int j = 0; j < 2; j++)
            CHECK_INT(clReleaseMemObject(images[j]), CL_SUCCESS);
    }
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(own.queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(own.context), CL_SUCCESS);
    test_setenv(BELOW_FEW_FORMATS, "all");
}

/* ---- what is refused ---- */

/* Over the program's memory, or with its bytes, no image is made in such a format. */
SHARING_CASE("refused: what an image is made of", creations_refused, 0)
{
    static unsigned char memory[MOST];
    static const struct {
        cl_mem_flags flags;
        cl_mem_object_type type;
        bool host;
        size_t row;
        cl_int code;
    } all[] = {
        {CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE2D, true, 0, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {CL_MEM_USE_HOST_PTR, CL_MEM_OBJECT_IMAGE2D, true, 0, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE3D, true, 0, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {(cl_mem_flags)1 << 40, CL_MEM_OBJECT_IMAGE2D, false, 0, CL_INVALID_VALUE},
        {CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_OBJECT_IMAGE2D, false, 0, CL_INVALID_VALUE},
        {0, CL_MEM_OBJECT_IMAGE2D, false, 20, CL_INVALID_IMAGE_DESCRIPTOR},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const cl_image_desc desc = {.image_type = all[i].type,
                                    .image_width = 7,
                                    .image_height = 5,
                                    .image_depth = 1,
                                    .image_array_size = 1,
                                    .image_row_pitch = all[i].row};
        cl_int status = 1;
        for (int with = 0; with < 2; with++)
            CHECK(clCreateImage(rig->context, all[i].flags, &format, &desc, all[i].host ? memory : NULL,
                                with ? &status : NULL) == NULL);
        if (!CHECK_INT(status, all[i].code))
            printf("# flags 0x%lx, type 0x%x\n", (unsigned long)all[i].flags, all[i].type);
    }
}

/* What is missing is the driver's to refuse. */
SHARING_CASE("refused: no format, no description", nothing_given, 0)
{
    const cl_image_desc flat = desc_of(&shapes[FLAT]);
    cl_int status = 1;
    CHECK(clCreateImage(rig->context, 0, NULL, &flat, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    CHECK(clCreateImage(rig->context, 0, &format, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_IMAGE_DESCRIPTOR);
}

/* Each command that takes a region of an image. */
static cl_int use_region(const struct rig *rig, int which, cl_mem image, cl_mem buffer, const size_t *origin,
                         const size_t *region, size_t row_pitch, size_t slice_pitch, void *memory)
{
    size_t row, slice;
    cl_int status = 1;
    switch (which) {
    case 0:
        return clEnqueueReadImage(rig->queue, image, CL_TRUE, origin, region, row_pitch, slice_pitch, memory, 0, NULL,
                                  NULL);
    case 1:
        return clEnqueueWriteImage(rig->queue, image, CL_TRUE, origin, region, row_pitch, slice_pitch, memory, 0, NULL,
                                   NULL);
    case 2: return clEnqueueCopyImageToBuffer(rig->queue, image, buffer, origin, region, 0, 0, NULL, NULL);
    case 3: return clEnqueueCopyBufferToImage(rig->queue, buffer, image, 0, origin, region, 0, NULL, NULL);
    default:
        CHECK(clEnqueueMapImage(rig->queue, image, CL_TRUE, CL_MAP_READ, origin, region, &row, &slice, 0, NULL, NULL,
                                &status) == NULL);
        return status;
    }
}

SHARING_CASE("refused: regions and pitches", regions_refused, 0)
{
    static const size_t whole[3] = {7, 5, 3}, corner[3] = {7, 5, 3}, beyond[3] = {0, 6, 0}, one[3] = {1, 1, 1};
    static const size_t wide[3] = {8, 1, 1}, empty[3] = {7, 0, 3};
    const struct {
        const size_t *origin, *region;
    } all[] = {{NULL, whole},        {no_origin(), NULL},         {corner, one}, {beyond, one}, {no_origin(), wide},
               {no_origin(), empty}, {(size_t[]){1, 0, 0}, whole}};
    unsigned char memory[MOST] = {0};
    cl_mem image = make_image(rig, &shapes[DEEP], format, NULL);
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, MOST, NULL, NULL);
    for (int which = 0; which < 5; which++)
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            CHECK_INT(use_region(rig, which, image, buffer, all[i].origin, all[i].region, 0, 0, memory),
                      CL_INVALID_VALUE);
    for (int which = 0; which < 2; which++) {
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, 0, 0, NULL), CL_INVALID_VALUE);
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, 13, 0, memory), CL_INVALID_VALUE);
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, 0, 69, memory), CL_INVALID_VALUE);
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, 0, 75, memory),
                  CL_INVALID_VALUE); /* no whole rows */
    }
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

SHARING_CASE("refused: maps", maps_refused, 0)
{
    static const struct {
        int shape;
        cl_map_flags flags;
        bool row, slice;
    } all[] = {
        {FLAT, (cl_map_flags)1 << 20, true, true},
        {FLAT, CL_MAP_WRITE_INVALIDATE_REGION | CL_MAP_READ, true, true},
        {FLAT, CL_MAP_WRITE_INVALIDATE_REGION | CL_MAP_WRITE, true, true},
        {FLAT, CL_MAP_READ, false, true},
        {DEEP, CL_MAP_READ, true, false},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct shape *shape = &shapes[all[i].shape];
        cl_mem image = make_image(rig, shape, format, NULL);
        size_t row = 0, slice = 0;
        cl_int status = 1;
        for (int with = 0; with < 2; with++)
            CHECK(clEnqueueMapImage(rig->queue, image, CL_TRUE, all[i].flags, no_origin(), shape->extent,
                                    all[i].row ? &row : NULL, all[i].slice ? &slice : NULL, 0, NULL, NULL,
                                    with ? &status : NULL) == NULL);
        CHECK_INT(status, CL_INVALID_VALUE);
        CHECK_INT(clEnqueueUnmapMemObject(rig->queue, image, &row, 0, NULL, NULL), CL_INVALID_VALUE);
        /* Without slices nobody needs their pitch. */
        if (all[i].shape == FLAT) {
            void *mapped = clEnqueueMapImage(rig->queue, image, CL_TRUE, CL_MAP_READ, no_origin(), shape->extent, &row,
                                             NULL, 0, NULL, NULL, NULL);
            CHECK(mapped != NULL);
            CHECK_INT(clEnqueueUnmapMemObject(rig->queue, image, mapped, 0, NULL, NULL), CL_SUCCESS);
            CHECK_INT(clEnqueueUnmapMemObject(rig->queue, image, mapped, 0, NULL, NULL), CL_INVALID_VALUE);
        }
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
}

SHARING_CASE("refused: copies", copies_refused, 0)
{
    static const size_t whole[3] = {7, 4, 1}, inside[3] = {1, 0, 0};
    cl_mem image = make_image(rig, &shapes[FLAT], format, NULL);
    cl_mem same = make_image(rig, &shapes[FLAT], format, NULL),
           other = make_image(rig, &shapes[FLAT], (cl_image_format){CL_RG, CL_SIGNED_INT8}, NULL);
    cl_mem four = make_image(rig, &shapes[FLAT], (cl_image_format){CL_RGBA, CL_UNSIGNED_INT8}, NULL);
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, MOST, NULL, NULL);
    const struct {
        cl_mem from, to;
        const size_t *from_origin, *to_origin, *region;
        cl_int code;
    } all[] = {
        {image, other, no_origin(), no_origin(), whole, CL_IMAGE_FORMAT_MISMATCH},
        {image, four, no_origin(), no_origin(), whole, CL_IMAGE_FORMAT_MISMATCH},
        {four, image, no_origin(), no_origin(), whole, CL_IMAGE_FORMAT_MISMATCH},
        {image, buffer, no_origin(), no_origin(), whole, CL_INVALID_MEM_OBJECT},
        {buffer, image, no_origin(), no_origin(), whole, CL_INVALID_MEM_OBJECT},
        {image, NULL, no_origin(), no_origin(), whole, CL_INVALID_MEM_OBJECT},
        {image, same, inside, no_origin(), whole, CL_INVALID_VALUE},
        {same, image, no_origin(), inside, whole, CL_INVALID_VALUE},
        {same, image, no_origin(), NULL, whole, CL_INVALID_VALUE},
        {same, image, no_origin(), no_origin(), NULL, CL_INVALID_VALUE},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        CHECK_INT(clEnqueueCopyImage(rig->queue, all[i].from, all[i].to, all[i].from_origin, all[i].to_origin,
                                     all[i].region, 0, NULL, NULL),
                  all[i].code);
    CHECK_INT(clEnqueueFillImage(rig->queue, image, NULL, no_origin(), whole, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueCopyImage(rig->queue, image, same, no_origin(), no_origin(), whole, 0, NULL, NULL), CL_SUCCESS);
    const cl_mem made[] = {image, same, other, four, buffer};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        CHECK_INT(clReleaseMemObject(made[i]), CL_SUCCESS);
}

/* A list that has less room than the driver's formats need has the first ones, and the number is that of all. */
SHARING_CASE("formats: a list without room for all", short_list, 0)
{
    cl_image_format all[256], some[3] = {{0, 0}, {0, 0}, {0x77, 0x77}};
    cl_uint count = 0, again = 0;
    CHECK_INT(clGetSupportedImageFormats(rig->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256, all, &count),
              CL_SUCCESS);
    CHECK(count > 2 && count <= 256);
    CHECK_INT(clGetSupportedImageFormats(rig->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 2, some, &again),
              CL_SUCCESS);
    CHECK_INT(again, count);
    CHECK_MEM(some, all, 2 * sizeof(some[0]));
    CHECK_INT(some[2].image_channel_order, 0x77);
}

/* The driver's alone: those of other types of images, and of kernels that read and write an image, which would read again what they have
 * written beyond an emulated format. */
SHARING_CASE("formats: the driver's alone, each once", drivers_formats, 0)
{
    static const struct {
        cl_mem_flags flags;
        cl_mem_object_type type;
        bool drivers;
    } all[] = {
        {CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_OBJECT_IMAGE2D, true}, {CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE1D, true},
        {CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D_ARRAY, true},      {CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, false},
        {CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE3D, false},
    };
    cl_context plain = plain_context(rig);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cl_image_format ours[256], drivers[256];
        cl_uint count = 0, drivers_count = 0;
        CHECK_INT(clGetSupportedImageFormats(rig->context, all[i].flags, all[i].type, 256, ours, &count), CL_SUCCESS);
        CHECK_INT(clGetSupportedImageFormats(plain, all[i].flags, all[i].type, 256, drivers, &drivers_count),
                  CL_SUCCESS);
        CHECK(all[i].drivers ? count == drivers_count : count > drivers_count);
        CHECK_MEM(ours, drivers, drivers_count * sizeof(ours[0]));
        for (cl_uint f = 0; f < count; f++) {
            CHECK(ours[f].image_channel_order != CL_YUYV_INTEL); /* those are for Direct3D 9 */
            for (cl_uint before = 0; before < f; before++)
                CHECK(memcmp(&ours[f], &ours[before], sizeof(ours[f])) != 0);
        }
    }
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

TAP_MAIN
