/* Images through the bridge: of all kinds, with their descriptions, and mapped. Commands with parts of them are those of data_formats. */
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
    const struct {
        cl_image_info name;
        size_t right;
    } sizes[] = {{CL_IMAGE_WIDTH, WIDTH},
                 {CL_IMAGE_HEIGHT, kind->desc.image_height},
                 {CL_IMAGE_DEPTH, kind->desc.image_depth},
                 {CL_IMAGE_ARRAY_SIZE, kind->desc.image_array_size}};
    cl_image_format format = {0, 0};
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL), CL_SUCCESS);
    CHECK_MEM(&format, &rgba, sizeof(format));
    for (unsigned i = 0; i < COUNT(sizes); i++) {
        size_t size = UNSET;
        CHECK_INT(clGetImageInfo(image, sizes[i].name, sizeof(size), &size, NULL), CL_SUCCESS);
        CHECK_INT(size, sizes[i].right);
    }
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

BASE_CASE("images of all kinds, mapped whole and in parts", maps)
{
    static const size_t zero[3];
    cl_int status = UNSET;
    for (unsigned i = 0; i < COUNT(kinds); i++) {
        printf("# %s\n", kinds[i].name);
        make_pattern(texels, sizeof(texels), i);
        cl_mem image = i % 2
                           ? clCreateImage(base->context, CL_MEM_COPY_HOST_PTR, &rgba, &kinds[i].desc, texels, &status)
                           : clCreateImageWithProperties(base->context, NULL, CL_MEM_COPY_HOST_PTR, &rgba,
                                                         &kinds[i].desc, texels, &status);
        if (!CHECK_INT(status, CL_SUCCESS))
            continue;
        image_is(image, &kinds[i]);
        map_image(base, &kinds[i], image, zero, kinds[i].region, false);
        map_image(base, &kinds[i], image, kinds[i].from, kinds[i].part, true);
        image_has(base, image, &kinds[i], texels);
        map_image(base, &kinds[i], image, zero, kinds[i].region, true);
        image_has(base, image, &kinds[i], texels);
        release_memory(image);
    }
}

/* ---- others ---- */

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

TAP_MAIN
