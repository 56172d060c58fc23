/* Images that a program makes for itself in a context with interop, in a format that few devices have: 2D and 3D, in parts, and
 * with arguments that are refused. What such an image gives is the same on a device that has the format. */
#include "below.h"
#include "sharing.h"

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

/* What a program gives; 0: what follows from the rest. */
struct pitches {
    size_t row, slice;
};

/* From one row to the next in the program's memory, and from one slice to the next. */
static struct pitches strides(struct pitches given, const size_t *region)
{
    const size_t row = given.row ? given.row : region[0] * TEXEL;
    return (struct pitches){row, given.slice ? given.slice : row * region[1]};
}

/* Copies a region between memory that begins with it and the whole image, tightly packed. */
static void move_region(const struct shape *shape, unsigned char *memory, struct pitches stride, unsigned char *image,
                        const size_t *origin, const size_t *region, bool to_image)
{
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++) {
            unsigned char *there = memory + z * stride.slice + y * stride.row;
            unsigned char *here =
                image + (((origin[2] + z) * shape->extent[1] + origin[1] + y) * shape->extent[0] + origin[0]) * TEXEL;
            memcpy(to_image ? here : there, to_image ? there : here, region[0] * TEXEL);
        }
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

/* A part that begins in no corner. */
static void part_of(const struct shape *shape, size_t *origin, size_t *region)
{
    for (int i = 0; i < 3; i++) {
        origin[i] = shape->extent[i] / 2;
        region[i] = shape->extent[i] - origin[i];
    }
}

/* Each test for both shapes, with pitches that these can have. */
static void each_shape(const struct rig *rig, void (*test)(const struct rig *, const struct shape *, struct pitches))
{
    static const struct pitches all[] = {{0, 0}, {20, 0}, {0, 80}, {20, 120}};
    for (int s = 0; s < SHAPES; s++)
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
            const int before = atomic_load(&tap_case.failures);
            if (all[i].slice && !has_layers(&shapes[s]))
                continue;
            test(rig, &shapes[s], all[i]);
            if (atomic_load(&tap_case.failures) != before)
                printf("# %s, pitches %zu and %zu\n", shapes[s].name, all[i].row, all[i].slice);
        }
}

/* An image with these bytes, or with any if NULL. */
static cl_mem make_image(const struct rig *rig, const struct shape *shape, cl_image_format of, const void *bytes)
{
    const cl_image_desc desc = desc_of(shape);
    cl_int status = 1;
    cl_mem image = clCreateImage(rig->context, 0, &of, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (bytes)
        CHECK_INT(
            clEnqueueWriteImage(rig->queue, image, CL_TRUE, no_origin(), shape->extent, 0, 0, bytes, 0, NULL, NULL),
            CL_SUCCESS);
    return image;
}

/* ---- what an image tells ---- */

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

SHARING_CASE("what an image tells of itself", tells, 0)
{
    for (int s = 0; s < SHAPES; s++) {
        const struct shape *shape = &shapes[s];
        const struct pitches tight = strides((struct pitches){0, 0}, shape->extent);
        void *host = &host;
        cl_image_format declared = {0, 0};
        cl_mem_object_type type = 0;
        cl_mem_flags flags = 0;
        size_t size = 0;
        cl_mem image = make_image(rig, shape, format, NULL);
        CHECK_INT(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(declared), &declared, NULL), CL_SUCCESS);
        CHECK_MEM(&declared, &format, sizeof(format));
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), CL_SUCCESS);
        CHECK_INT(flags, CL_MEM_READ_WRITE);
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
        CHECK_INT(size, bytes_of(shape));
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
        CHECK_INT(type, shape->type);
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_HOST_PTR, sizeof(host), &host, NULL), CL_SUCCESS);
        CHECK(host == NULL);
        is_number(image, CL_IMAGE_WIDTH, shape->extent[0]);
        is_number(image, CL_IMAGE_ROW_PITCH, tight.row);
        is_number(image, CL_IMAGE_SLICE_PITCH, has_layers(shape) ? tight.slice : 0);
        is_number(image, CL_IMAGE_ELEMENT_SIZE, TEXEL);
        CHECK_INT(clRetainMemObject(image), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
        is_number(image, CL_IMAGE_ELEMENT_SIZE, TEXEL);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
}

/* What kernels may do with an image is no limit for the host. */
SHARING_CASE("images that kernels only read, or only write", kernel_access, 0)
{
    static const cl_mem_flags flags[] = {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    const cl_image_desc desc = desc_of(&shapes[FLAT]);
    unsigned char bytes[MOST];
    for (int i = 0; i < 2; i++) {
        cl_mem_flags told = 0;
        cl_int status = 1;
        cl_mem image = clCreateImage(rig->context, flags[i], &format, &desc, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        rig_pattern(bytes, sizeof(bytes), 3 + (unsigned)i);
        CHECK_INT(clEnqueueWriteImage(rig->queue, image, CL_TRUE, no_origin(), shapes[FLAT].extent, 0, 0, bytes, 0,
                                      NULL, NULL),
                  CL_SUCCESS);
        image_is(rig, &shapes[FLAT], image, bytes);
        CHECK_INT(clGetMemObjectInfo(image, CL_MEM_FLAGS, sizeof(told), &told, NULL), CL_SUCCESS);
        CHECK_INT(told, flags[i]);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
}

/* ---- maps ---- */

/* Maps a part of an image and checks and changes it there. `expected` is the image before and after. */
static void map_part(const struct rig *rig, const struct shape *shape, cl_mem image, cl_map_flags flags,
                     unsigned char *expected)
{
    unsigned char seen[MOST];
    size_t origin[3], region[3], row = 1, slice = 1;
    cl_int status = 1;
    part_of(shape, origin, region);
    const struct pitches tight = strides((struct pitches){0, 0}, region);
    unsigned char *mapped =
        clEnqueueMapImage(rig->queue, image, CL_TRUE, flags, origin, region, &row, &slice, 0, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    CHECK_INT(row, tight.row);
    CHECK_INT(slice, has_layers(shape) ? tight.slice : 0);
    if (!(flags & CL_MAP_WRITE_INVALIDATE_REGION)) {
        memcpy(seen, expected, sizeof(seen));
        move_region(shape, mapped, tight, seen, origin, region, true);
        CHECK_MEM(seen, expected, bytes_of(shape));
    }
    if (!(flags & CL_MAP_READ)) {
        rig_pattern(seen, sizeof(seen), 20 + (unsigned)flags);
        move_region(shape, mapped, tight, seen, origin, region, false);
        move_region(shape, mapped, tight, expected, origin, region, true);
    }
    CHECK_INT(clEnqueueUnmapMemObject(rig->queue, image, mapped, 0, NULL, NULL), CL_SUCCESS);
    image_is(rig, shape, image, expected);
}

SHARING_CASE("a part is mapped", maps, 0)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    unsigned char expected[MOST];
    for (int s = 0; s < SHAPES; s++) {
        rig_pattern(expected, sizeof(expected), 1);
        cl_mem image = make_image(rig, &shapes[s], format, expected);
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            map_part(rig, &shapes[s], image, flags[i], expected);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
}

/* ---- reads and writes ---- */

static void in_parts(const struct rig *rig, const struct shape *shape, struct pitches pitches)
{
    unsigned char memory[MOST], found[MOST], expected[MOST] = {0};
    size_t origin[3], region[3];
    cl_mem image = make_image(rig, shape, format, expected);
    part_of(shape, origin, region);
    const struct pitches stride = strides(pitches, region);
    rig_pattern(memory, sizeof(memory), 3);
    CHECK_INT(clEnqueueWriteImage(rig->queue, image, CL_TRUE, origin, region, pitches.row, pitches.slice, memory, 0,
                                  NULL, NULL),
              CL_SUCCESS);
    move_region(shape, memory, stride, expected, origin, region, true);
    image_is(rig, shape, image, expected);
    /* Gaps stay as they are. */
    memset(memory, 0xC5, sizeof(memory));
    memset(found, 0xC5, sizeof(found));
    move_region(shape, memory, stride, expected, origin, region, false);
    CHECK_INT(clEnqueueReadImage(rig->queue, image, CL_TRUE, origin, region, pitches.row, pitches.slice, found, 0, NULL,
                                 NULL),
              CL_SUCCESS);
    CHECK_MEM(found, memory, sizeof(memory));
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

SHARING_CASE("parts of images of each type are read and written", reads_and_writes, 0)
{
    each_shape(rig, in_parts);
}

/* ---- copies ---- */

/* From the lower corner of one image to a place inside of another. */
static void copied_elsewhere(const struct rig *rig, const struct shape *from, const struct shape *to)
{
    unsigned char source[MOST], expected[MOST], part[MOST];
    const size_t region[3] = {3, 2, 1};
    const size_t at[3] = {4, 2, has_layers(from) ? 2 : 0}, into[3] = {1, 3, has_layers(to) ? 1 : 0};
    const struct pitches tight = {region[0] * TEXEL, 0};
    rig_pattern(source, sizeof(source), 1);
    rig_pattern(expected, sizeof(expected), 2);
    cl_mem images[2] = {make_image(rig, from, format, source), make_image(rig, to, format, expected)};
    CHECK_INT(clEnqueueCopyImage(rig->queue, images[0], images[1], at, into, region, 0, NULL, NULL), CL_SUCCESS);
    image_is(rig, from, images[0], source);
    move_region(from, part, tight, source, at, region, false);
    move_region(to, part, tight, expected, into, region, true);
    image_is(rig, to, images[1], expected);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseMemObject(images[i]), CL_SUCCESS);
}

SHARING_CASE("a copy to another place", copies, 0)
{
    copied_elsewhere(rig, &shapes[FLAT], &shapes[FLAT]);
    copied_elsewhere(rig, &shapes[DEEP], &shapes[FLAT]);
    copied_elsewhere(rig, &shapes[FLAT], &shapes[DEEP]);
    copied_elsewhere(rig, &shapes[DEEP], &shapes[DEEP]);
}

/* ---- what kernels see ---- */

static const char look_source[] =
    "constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "kernel void look(read_only image2d_t from, global COLOUR *to) { *to = LOOK(from, at, (int2)(0, 0)); }\n";

/* The colour of the first texel, for kernels: 4 floats or 4 whole numbers. */
static void look(const struct rig *rig, cl_mem image, bool whole, cl_uint *colour)
{
    char source[512];
    snprintf(source, sizeof(source), "#define COLOUR %s\n#define LOOK read_image%s\n%s", whole ? "uint4" : "float4",
             whole ? "ui" : "f", look_source);
    cl_kernel kernel = rig_kernel(rig, source, "look");
    cl_mem seen = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 16, NULL, NULL);
    const size_t one = 1;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(image), &image), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(seen), &seen), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, seen, CL_TRUE, 0, 16, colour, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(seen), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
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
                         const size_t *region, struct pitches pitches, void *memory)
{
    size_t row, slice;
    cl_int status = 1;
    switch (which) {
    case 0:
        return clEnqueueReadImage(rig->queue, image, CL_TRUE, origin, region, pitches.row, pitches.slice, memory, 0,
                                  NULL, NULL);
    case 1:
        return clEnqueueWriteImage(rig->queue, image, CL_TRUE, origin, region, pitches.row, pitches.slice, memory, 0,
                                   NULL, NULL);
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
            CHECK_INT(
                use_region(rig, which, image, buffer, all[i].origin, all[i].region, (struct pitches){0, 0}, memory),
                CL_INVALID_VALUE);
    for (int which = 0; which < 2; which++) {
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, (struct pitches){0, 0}, NULL),
                  CL_INVALID_VALUE);
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, (struct pitches){13, 0}, memory),
                  CL_INVALID_VALUE);
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, (struct pitches){0, 69}, memory),
                  CL_INVALID_VALUE);
        CHECK_INT(use_region(rig, which, image, buffer, no_origin(), whole, (struct pitches){0, 75}, memory),
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

/* A kernel would read again what it has written beyond an emulated format. So such a kernel is offered the driver's formats alone. */
SHARING_CASE("formats: those of kernels that read and write an image", read_write_kernels, 0)
{
    cl_image_format formats[2][256];
    cl_uint counts[2] = {0, 0};
    cl_context plain = plain_context(rig);
    const cl_context contexts[2] = {rig->context, plain};
    for (int i = 0; i < 2; i++)
        CHECK_INT(clGetSupportedImageFormats(contexts[i], CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_OBJECT_IMAGE2D, 256,
                                             formats[i], &counts[i]),
                  CL_SUCCESS);
    CHECK_INT(counts[0], counts[1]);
    CHECK_MEM(formats[0], formats[1], counts[1] * sizeof(formats[0][0]));
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

TAP_MAIN
