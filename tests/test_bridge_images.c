/* Images through the bridge: of all kinds, with descriptions, formats, parts and pitches. */
#include "bridge.h"

enum { BYTES = 4096 };

static const cl_image_format rgba = {CL_RGBA, CL_UNSIGNED_INT8};

enum { WIDTH = 33, HEIGHT = 17, DEPTH = 3, TEXEL = 4, TEXELS = WIDTH * HEIGHT * DEPTH };

/* Each kind of image of the device: its description, and its texels in a row. */
static const struct kind {
    const char *name;
    cl_image_desc desc;
    size_t region[3], from[3], part[3];
} kinds[] = {
    {"1D", {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = WIDTH}, {WIDTH, 1, 1}, {5, 0, 0}, {11, 1, 1}},
    {"2D",
     {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT},
     {WIDTH, HEIGHT, 1},
     {5, 3, 0},
     {11, 7, 1}},
    {"3D",
     {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = WIDTH, .image_height = HEIGHT, .image_depth = DEPTH},
     {WIDTH, HEIGHT, DEPTH},
     {5, 3, 1},
     {11, 7, 2}},
    {"2D array",
     {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
      .image_width = WIDTH,
      .image_height = HEIGHT,
      .image_array_size = DEPTH},
     {WIDTH, HEIGHT, DEPTH},
     {5, 3, 1},
     {11, 7, 2}},
};

static void image_is(cl_mem image, const struct kind *kind)
{
    const size_t array = kind->desc.image_array_size;
    cl_image_format format = {0, 0};
    size_t width = 0, height = UNSET, layers = UNSET, depth = UNSET;
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL), CL_SUCCESS);
    CHECK_MEM(&format, &rgba, sizeof(format));
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof(width), &width, NULL), CL_SUCCESS);
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_HEIGHT, sizeof(height), &height, NULL), CL_SUCCESS);
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_DEPTH, sizeof(depth), &depth, NULL), CL_SUCCESS);
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_ARRAY_SIZE, sizeof(layers), &layers, NULL), CL_SUCCESS);
    CHECK_INT(width, WIDTH);
    CHECK_INT(height, kind->desc.image_height);
    CHECK_INT(depth, kind->desc.image_depth);
    CHECK_INT(layers, array);
}

static void image_has(const struct base *base, cl_mem image, const struct kind *kind, const unsigned char *expected)
{
    static const size_t zero[3];
    static unsigned char found[TEXELS * TEXEL];
    const size_t size = kind->region[0] * kind->region[1] * kind->region[2] * TEXEL;
    memset(found, 0xEE, sizeof(found));
    CHECK_INT(clEnqueueReadImage(base->queue, image, CL_TRUE, zero, kind->region, 0, 0, found, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_MEM(found, expected, size);
}

/* What a command on a part of the image does to the texels. */
static void put_part(unsigned char *to, const struct kind *kind, const size_t *to_at, const unsigned char *from,
                     size_t from_row, size_t from_slice)
{
    static const size_t zero[3];
    const size_t bytes[3] = {kind->part[0] * TEXEL, kind->part[1], kind->part[2]};
    const size_t at[3] = {to_at[0] * TEXEL, to_at[1], to_at[2]};
    copy_box(to, at, kind->region[0] * TEXEL, kind->region[0] * kind->region[1] * TEXEL, from, zero, from_row,
             from_slice, bytes);
}

/* Reads, writes, fills and copies of parts. */
static void part_commands(const struct base *base, cl_mem image, cl_mem other, cl_mem buffer, const struct kind *kind,
                          unsigned char *texels, unsigned char *others)
{
    enum { ROW = 64, SLICE = 640, OFFSET = 64 };
    static const size_t zero[3];
    static const cl_uint colour[4] = {1, 2, 3, 4};
    static unsigned char host[BYTES], found[BYTES], expected[BYTES];
    const size_t slice = kind->desc.image_type == CL_MEM_OBJECT_IMAGE1D ? 0 : SLICE;
    const size_t used_slice = kind->part[2] > 1 ? slice : 0, row = slice ? ROW : 0;
    const size_t bytes[3] = {kind->part[0] * TEXEL, kind->part[1], kind->part[2]};
    make_pattern(host, sizeof(host), 9);
    CHECK_INT(
        clEnqueueWriteImage(base->queue, image, CL_TRUE, kind->from, kind->part, row, used_slice, host, 0, NULL, NULL),
        CL_SUCCESS);
    put_part(texels, kind, kind->from, host, ROW, SLICE);
    image_has(base, image, kind, texels);
    memset(found, 0x55, sizeof(found));
    memset(expected, 0x55, sizeof(expected));
    CHECK_INT(
        clEnqueueReadImage(base->queue, image, CL_TRUE, kind->from, kind->part, row, used_slice, found, 0, NULL, NULL),
        CL_SUCCESS);
    copy_box(expected, zero, ROW, SLICE, host, zero, ROW, SLICE, bytes);
    CHECK_MEM(found, expected, sizeof(found));
    CHECK_INT(clEnqueueCopyImage(base->queue, image, other, kind->from, zero, kind->part, 0, NULL, NULL), CL_SUCCESS);
    put_part(others, kind, zero, host, ROW, SLICE);
    image_has(base, other, kind, others);
    const size_t offset = copy_offset(base->context, base->queue, OFFSET);
    CHECK_INT(clEnqueueCopyImageToBuffer(base->queue, image, buffer, kind->from, kind->part, offset, 0, NULL, NULL),
              CL_SUCCESS);
    read_all(base, buffer, found, BYTES);
    memcpy(expected, found, BYTES);
    copy_box(expected + offset, zero, bytes[0], bytes[0] * bytes[1], host, zero, ROW, SLICE, bytes);
    CHECK_MEM(found, expected, BYTES);
    CHECK_INT(clEnqueueCopyBufferToImage(base->queue, buffer, other, offset, kind->from, kind->part, 0, NULL, NULL),
              CL_SUCCESS);
    put_part(others, kind, kind->from, host, ROW, SLICE);
    image_has(base, other, kind, others);
    CHECK_INT(clEnqueueFillImage(base->queue, image, colour, kind->from, kind->part, 0, NULL, NULL), CL_SUCCESS);
    for (unsigned i = 0; i < BYTES; i++)
        host[i] = (unsigned char)(1 + i % 4);
    put_part(texels, kind, kind->from, host, ROW, SLICE);
    image_has(base, image, kind, texels);
}

CASE("images of all kinds, whole and in parts", images)
{
    static unsigned char texels[TEXELS * TEXEL], others[TEXELS * TEXEL];
    struct base base;
    cl_int status = UNSET;
    if (!open_base(&base))
        return;
    for (unsigned i = 0; i < COUNT(kinds); i++) {
        printf("# %s\n", kinds[i].name);
        make_pattern(texels, sizeof(texels), i);
        make_pattern(others, sizeof(others), i + 100);
        cl_mem image = clCreateImage(base.context, CL_MEM_COPY_HOST_PTR, &rgba, &kinds[i].desc, texels, &status);
        CHECK_INT(status, CL_SUCCESS);
        cl_mem other = clCreateImageWithProperties(base.context, NULL, CL_MEM_COPY_HOST_PTR, &rgba, &kinds[i].desc,
                                                   others, &status);
        CHECK_INT(status, CL_SUCCESS);
        cl_mem buffer = make_buffer(&base, BYTES, NULL);
        if (CHECK(image && other)) {
            image_is(image, &kinds[i]);
            image_has(&base, image, &kinds[i], texels);
            part_commands(&base, image, other, buffer, &kinds[i], texels, others);
        }
        release_memory(buffer);
        release_memory(other);
        release_memory(image);
    }
    close_base(&base);
}

/* Those of OpenCL 1.1 have sizes and pitches as arguments. */
CASE("images as OpenCL 1.1 made them", older_images)
{
    enum { GAP = 32, ROW = WIDTH * TEXEL + GAP, SLICE = ROW * (HEIGHT + 1) };
    static unsigned char texels[TEXELS * TEXEL], rows[SLICE * DEPTH];
    static const size_t zero[3], bytes[3] = {WIDTH * TEXEL, HEIGHT, DEPTH};
    struct base base;
    cl_int status = UNSET;
    if (!open_base(&base))
        return;
    make_pattern(rows, sizeof(rows), 10);
    copy_box(texels, zero, WIDTH * TEXEL, WIDTH * HEIGHT * TEXEL, rows, zero, ROW, SLICE, bytes);
    cl_mem flat = clCreateImage2D(base.context, CL_MEM_COPY_HOST_PTR, &rgba, WIDTH, HEIGHT, ROW, rows, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        image_has(&base, flat, &kinds[1], texels);
    cl_mem deep =
        clCreateImage3D(base.context, CL_MEM_COPY_HOST_PTR, &rgba, WIDTH, HEIGHT, DEPTH, ROW, SLICE, rows, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        image_has(&base, deep, &kinds[2], texels);
    release_memory(deep);
    release_memory(flat);
    close_base(&base);
}

/* The description of an image holds the handle of its buffer. */
CASE("an image of a buffer", image_of_buffer)
{
    unsigned char bytes[BYTES];
    struct base base;
    cl_int status = UNSET;
    cl_mem buffer = NULL, found = NULL;
    if (!open_base(&base))
        return;
    make_pattern(bytes, BYTES, 11);
    buffer = make_buffer(&base, BYTES, bytes);
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = WIDTH, .mem_object = buffer};
    cl_mem image = clCreateImage(base.context, CL_MEM_READ_WRITE, &rgba, &desc, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        CHECK_INT(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(found), &found, NULL), CL_SUCCESS);
        CHECK(found == buffer);
        image_has(&base, image, &kinds[0], bytes);
        release_memory(image);
    }
    release_memory(buffer);
    close_base(&base);
}

CASE("images that are refused", refused_images)
{
    const cl_mem_properties unknown[] = {0x4711, 1, 0};
    const cl_image_format bad = {CL_RGBA, 0x4711};
    const cl_image_desc none = {.image_type = CL_MEM_OBJECT_IMAGE2D};
    struct base base;
    cl_int status = UNSET;
    if (!open_base(&base))
        return;
    CHECK(clCreateImage(base.context, 0, &bad, &kinds[1].desc, NULL, &status) == NULL);
    CHECK(status < 0); /* PoCL 3.1 has codes of its own for this and the next one */
    status = UNSET;
    CHECK(clCreateImage(base.context, 0, &rgba, &none, NULL, &status) == NULL);
    CHECK(status < 0);
    CHECK(clCreateImageWithProperties(base.context, unknown, 0, &rgba, &kinds[1].desc, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_PROPERTY);
    close_base(&base);
}

CASE("formats of images", formats)
{
    cl_image_format all[256], some[256];
    struct base base;
    cl_uint count = 0, again = 0;
    if (!open_base(&base))
        return;
    CHECK_INT(clGetSupportedImageFormats(base.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256, all, &count),
              CL_SUCCESS);
    CHECK(count > 1 && count < 256);
    memset(some, 0x55, sizeof(some));
    CHECK_INT(clGetSupportedImageFormats(base.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 2, some, &again),
              CL_SUCCESS);
    CHECK_INT(again, count);
    CHECK_MEM(some, all, 2 * sizeof(*all));
    if (!is_rusticl(&base)) /* 22.3 writes more than there is room for */
        CHECK_INT(some[2].image_channel_order, 0x55555555);
    bool found = false;
    for (cl_uint i = 0; i < count && i < 256; i++)
        found = found || memcmp(&all[i], &rgba, sizeof(rgba)) == 0;
    CHECK(found);
    close_base(&base);
}

TAP_MAIN
