/* Images through the bridge: of all kinds, with descriptions, formats, parts, pitches and maps. */
#include "bridge.h"

enum { BYTES = 4096 };

static const cl_image_format rgba = {CL_RGBA, CL_UNSIGNED_INT8};

enum { WIDTH = 33, HEIGHT = 17, DEPTH = 3, TEXEL = 4, TEXELS = WIDTH * HEIGHT * DEPTH };

static unsigned char texels[TEXELS * TEXEL];

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
                          unsigned char *others)
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

BASE_CASE("images of all kinds, whole and in parts", images)
{
    static unsigned char others[TEXELS * TEXEL];
    cl_int status = UNSET;
    for (unsigned i = 0; i < COUNT(kinds); i++) {
        printf("# %s\n", kinds[i].name);
        make_pattern(texels, sizeof(texels), i);
        make_pattern(others, sizeof(others), i + 100);
        cl_mem image = clCreateImage(base->context, CL_MEM_COPY_HOST_PTR, &rgba, &kinds[i].desc, texels, &status);
        CHECK_INT(status, CL_SUCCESS);
        cl_mem other = clCreateImageWithProperties(base->context, NULL, CL_MEM_COPY_HOST_PTR, &rgba, &kinds[i].desc,
                                                   others, &status);
        CHECK_INT(status, CL_SUCCESS);
        cl_mem buffer = make_buffer(base, BYTES, NULL);
        if (CHECK(image && other)) {
            image_is(image, &kinds[i]);
            image_has(base, image, &kinds[i], texels);
            part_commands(base, image, other, buffer, &kinds[i], others);
        }
        release_memory(buffer);
        release_memory(other);
        release_memory(image);
    }
}

/* Those of OpenCL 1.1 have sizes and pitches as arguments. */
BASE_CASE("images as OpenCL 1.1 made them", older_images)
{
    enum { GAP = 32, ROW = WIDTH * TEXEL + GAP, SLICE = ROW * (HEIGHT + 1) };
    static unsigned char rows[SLICE * DEPTH];
    static const size_t zero[3], bytes[3] = {WIDTH * TEXEL, HEIGHT, DEPTH};
    cl_int status = UNSET;
    make_pattern(rows, sizeof(rows), 10);
    copy_box(texels, zero, WIDTH * TEXEL, WIDTH * HEIGHT * TEXEL, rows, zero, ROW, SLICE, bytes);
    cl_mem flat = clCreateImage2D(base->context, CL_MEM_COPY_HOST_PTR, &rgba, WIDTH, HEIGHT, ROW, rows, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        image_has(base, flat, &kinds[1], texels);
    cl_mem deep =
        clCreateImage3D(base->context, CL_MEM_COPY_HOST_PTR, &rgba, WIDTH, HEIGHT, DEPTH, ROW, SLICE, rows, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        image_has(base, deep, &kinds[2], texels);
    release_memory(deep);
    release_memory(flat);
}

/* The description of an image holds the handle of its buffer. */
BASE_CASE("an image of a buffer", image_of_buffer)
{
    unsigned char bytes[BYTES];
    cl_int status = UNSET;
    cl_mem buffer = NULL, found = NULL;
    make_pattern(bytes, BYTES, 11);
    buffer = make_buffer(base, BYTES, bytes);
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = WIDTH, .mem_object = buffer};
    cl_mem image = clCreateImage(base->context, CL_MEM_READ_WRITE, &rgba, &desc, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        CHECK_INT(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(found), &found, NULL), CL_SUCCESS);
        CHECK(found == buffer);
        image_has(base, image, &kinds[0], bytes);
        release_memory(image);
    }
    release_memory(buffer);
}

BASE_CASE("images that are refused", refused_images)
{
    const cl_mem_properties unknown[] = {0x4711, 1, 0};
    const cl_image_format bad = {CL_RGBA, 0x4711};
    const cl_image_desc none = {.image_type = CL_MEM_OBJECT_IMAGE2D};
    cl_int status = UNSET;
    CHECK(clCreateImage(base->context, 0, &bad, &kinds[1].desc, NULL, &status) == NULL);
    CHECK(status < 0); /* PoCL 3.1 has codes of its own for this and the next one */
    status = UNSET;
    CHECK(clCreateImage(base->context, 0, &rgba, &none, NULL, &status) == NULL);
    CHECK(status < 0);
    CHECK(clCreateImageWithProperties(base->context, unknown, 0, &rgba, &kinds[1].desc, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_PROPERTY);
}

/* ---- maps ---- */

/* Row by row: the texels are those of the whole image without gaps. */
static void look_at(const struct kind *kind, unsigned char *mapped, const size_t *from, const size_t *region,
                    size_t row, size_t slice, bool change)
{
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++) {
            unsigned char *there = mapped + z * slice + y * row;
            unsigned char *texel =
                texels + (((from[2] + z) * kind->region[1] + from[1] + y) * kind->region[0] + from[0]) * TEXEL;
            CHECK_MEM(there, texel, region[0] * TEXEL);
            for (size_t i = 0; change && i < region[0] * TEXEL; i++)
                texel[i] = there[i] = (unsigned char)(texel[i] * 3 + y + z);
        }
}

static void map_image(const struct base *base, const struct kind *kind, cl_mem image, const size_t *from,
                      const size_t *region, bool change)
{
    const cl_map_flags flags = change ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ;
    const bool deep = kind->desc.image_type == CL_MEM_OBJECT_IMAGE3D || kind->desc.image_array_size;
    size_t row = UNSET, slice = UNSET;
    cl_int status = UNSET;
    unsigned char *mapped = clEnqueueMapImage(base->queue, image, CL_TRUE, flags, from, region, &row,
                                              deep ? &slice : NULL, 0, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !CHECK(mapped != NULL))
        return;
    if (!is_rusticl(base) || kind->region[1] > 1) /* 22.3 has no pitch for a single row */
        CHECK(row >= region[0] * TEXEL && row != UNSET);
    CHECK(!deep || (slice >= region[1] * row && slice != UNSET));
    look_at(kind, mapped, from, region, row, deep ? slice : 0, change);
    CHECK_INT(clEnqueueUnmapMemObject(base->queue, image, mapped, 0, NULL, NULL), CL_SUCCESS);
}

BASE_CASE("maps of images of all kinds, whole and in parts", maps)
{
    static const size_t zero[3];
    cl_int status = UNSET;
    for (unsigned i = 0; i < COUNT(kinds); i++) {
        printf("# %s\n", kinds[i].name);
        make_pattern(texels, sizeof(texels), i);
        cl_mem image = clCreateImage(base->context, CL_MEM_COPY_HOST_PTR, &rgba, &kinds[i].desc, texels, &status);
        CHECK_INT(status, CL_SUCCESS);
        map_image(base, &kinds[i], image, zero, kinds[i].region, false);
        map_image(base, &kinds[i], image, kinds[i].from, kinds[i].part, true);
        image_has(base, image, &kinds[i], texels);
        map_image(base, &kinds[i], image, zero, kinds[i].region, true);
        image_has(base, image, &kinds[i], texels);
        release_memory(image);
    }
}

/* A part of an image is mapped behind a write to all of it that waits for the program, and written without a look. */
BASE_CASE("a map of an image that waits", images_behind_events)
{
    static const size_t zero[3];
    const struct kind *kind = &kinds[2];
    cl_int status = UNSET;
    cl_event event = NULL;
    size_t row = 0, slice = 0;
    make_pattern(texels, sizeof(texels), 60);
    cl_mem image = clCreateImage(base->context, CL_MEM_READ_WRITE, &rgba, &kind->desc, NULL, &status);
    cl_event gate = user_event(base);
    CHECK_INT(clEnqueueWriteImage(base->queue, image, CL_FALSE, zero, kind->region, 0, 0, texels, 1, &gate, NULL),
              CL_SUCCESS);
    unsigned char *mapped = clEnqueueMapImage(base->queue, image, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, kind->from,
                                              kind->part, &row, &slice, 0, NULL, &event, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    CHECK(event_status(event) > CL_COMPLETE);
    set_event(gate, CL_COMPLETE);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    if (CHECK(mapped != NULL)) {
        look_at(kind, mapped, kind->from, kind->part, row, slice, true);
        CHECK_INT(clEnqueueUnmapMemObject(base->queue, image, mapped, 0, NULL, NULL), CL_SUCCESS);
        image_has(base, image, kind, texels);
    }
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    release_memory(image);
}

TAP_MAIN
