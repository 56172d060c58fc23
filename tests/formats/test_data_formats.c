/* Every format of the extensions' table, 2D and 3D, through the commands of OpenCL that take images. */
#include "common/shared.h"
#include "driver_bugs.h"

#include <stdlib.h>
#include <string.h>

/* ---- all values ---- */

/* Every value of a channel of 8 or 16 bits; of 32 bits many, among them the odd ones of floats. `step` is odd. */
static void *all_values(const struct shared *s, const struct format *format, cl_uint step)
{
    static const cl_uint special[] = {0,          0x80000000, 1,          0x80000001, 0x007FFFFF,
                                      0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
                                      0xFFBFFFFF, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF};
    unsigned char *bytes = malloc(s->bytes);
    const UINT size = format->channel_bytes;
    rig_pattern(bytes, s->bytes, step);
    for (size_t i = 0; i < s->bytes / size; i++) {
        cl_uint value = (cl_uint)i * step;
        if (size == 4 && i % 16 < sizeof(special) / sizeof(special[0]))
            value = special[(i % 16 + step) % (sizeof(special) / sizeof(special[0]))];
        else if (size == 4)
            continue;
        for (UINT b = 0; b < size; b++)
            bytes[i * size + b] = (unsigned char)(value >> 8 * b);
    }
    return bytes;
}

/* What Direct3D itself makes of bytes that it gets and gives back. It may write them in another way. */
static void *as_direct3d_keeps(struct shared *s, const void *bytes)
{
    void *kept = calloc(1, s->bytes);
    rig_write(s->rig, s->resource, &s->desc, s->subresource, bytes);
    rig_read(s->rig, s->resource, &s->desc, s->subresource, kept);
    return kept;
}

/* No copy changes a bit, whatever it means: NaN, -128 of SNORM. */
static void values_of(struct shared *s, const struct format *format)
{
    void *in = all_values(s, format, 3), *out = all_values(s, format, 5), *found = calloc(1, s->bytes);
    void *kept_out = as_direct3d_keeps(s, out);
    shared_prepare(s, 1);
    void *kept_in = as_direct3d_keeps(s, in);
    shared_acquire(s);
    shared_cl_read(s, found);
    CHECK_MEM(found, kept_in, s->bytes);
    shared_release(s);
    shared_d3d_expect_bytes(s, kept_in);

    shared_acquire(s);
    shared_cl_write(s, out);
    shared_cl_read(s, found);
    CHECK_MEM(found, out, s->bytes);
    shared_release(s);
    shared_d3d_expect_bytes(s, kept_out);
    free(kept_in);
    free(kept_out);
    free(found);
    free(out);
    free(in);
}

/* Rows of 256 texels that hold every value of a channel of 8 or 16 bits. One format has 1 MiB, which is copied in parts. */
static UINT value_rows(const struct format *format)
{
    if (format->dxgi == DXGI_FORMAT_R32G32B32A32_UINT)
        return 256;
    return format->channel_bytes == 2 ? 256 / format->channels : 16;
}

static void values(struct shared *like, const struct format *format)
{
    enum { SLICES = 8 };
    const bool deep = like->desc.depth;
    struct rig_desc desc = like->desc;
    struct shared s;
    desc.width = 256;
    desc.height = value_rows(format) / (deep ? SLICES : 1);
    desc.depth = deep ? SLICES : 0;
    if (shared_open(&s, like->rig, &desc, 0, CL_MEM_READ_WRITE)) {
        values_of(&s, format);
        shared_close(&s);
    }
}

/* ---- parts of an image ---- */

/* A part of an image that leaves a border on each side, and memory for it whose rows have gaps. */
struct part {
    size_t origin[3], region[3];
    size_t row_pitch, slice_pitch; /* slice_pitch 0 for a 2D image */
    size_t size;
    unsigned char *memory;
};

enum { GAP = 0xC5 };

/* Between two rows: whole texels; less than one, so that the row pitch is no multiple of them; nothing. */
enum gap { WHOLE_GAP, ODD_GAP, NO_GAP, GAPS };

static struct part part_of(const struct shared *s, enum gap gap)
{
    const bool deep = s->extent[2] > 1;
    const size_t texel = s->row / s->extent[0];
    struct part part = {.origin = {2, 1, deep ? 1 : 0},
                        .region = {s->extent[0] - 5, s->extent[1] - 2, deep ? s->extent[2] - 2 : 1}};
    if (deep)
        part.region[2] = s->extent[2] - 1;
    const size_t bytes[GAPS] = {[WHOLE_GAP] = 2 * texel, [ODD_GAP] = 3};
    part.row_pitch = part.region[0] * texel + bytes[gap];
    part.slice_pitch = deep ? part.row_pitch * (part.region[1] + 1) : 0;
    part.size = deep ? part.slice_pitch * part.region[2] : part.row_pitch * part.region[1];
    part.memory = malloc(part.size);
    memset(part.memory, GAP, part.size);
    return part;
}

/* Copies the part between an image's bytes and its own memory. */
static void move_part(const struct shared *s, const struct part *part, unsigned char *image, bool to_image)
{
    const size_t texel = s->row / s->extent[0];
    for (size_t z = 0; z < part->region[2]; z++) {
        for (size_t y = 0; y < part->region[1]; y++) {
            unsigned char *in_part = part->memory + z * part->slice_pitch + y * part->row_pitch;
            unsigned char *in_image = image + (part->origin[0]) * texel +
                                      ((part->origin[2] + z) * s->extent[1] + part->origin[1] + y) * s->row;
            memcpy(to_image ? in_image : in_part, to_image ? in_part : in_image, part->region[0] * texel);
        }
    }
}

static void read_part(struct shared *s, enum gap gap)
{
    struct part expected = part_of(s, gap), actual = part_of(s, gap);
    unsigned char *image = shared_pattern(s, 1);
    move_part(s, &expected, image, false);
    CHECK_INT(clEnqueueReadImage(s->queue, s->memory, CL_TRUE, actual.origin, actual.region, actual.row_pitch,
                                 actual.slice_pitch, actual.memory, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_MEM(actual.memory, expected.memory, expected.size);
    free(image);
    free(actual.memory);
    free(expected.memory);
}

/* Fills a part's memory with the rows of another image. */
static void fill_part(const struct shared *s, const struct part *part, unsigned seed)
{
    unsigned char *other = shared_pattern(s, seed);
    move_part(s, part, other, false);
    free(other);
}

static void write_part(struct shared *s, enum gap gap)
{
    struct part part = part_of(s, gap);
    unsigned char *expected = shared_pattern(s, 1);
    fill_part(s, &part, 2);
    move_part(s, &part, expected, true);
    CHECK_INT(clEnqueueWriteImage(s->queue, s->memory, CL_TRUE, part.origin, part.region, part.row_pitch,
                                  part.slice_pitch, part.memory, 0, NULL, NULL),
              CL_SUCCESS);
    shared_release(s);
    shared_d3d_expect_bytes(s, expected);
    free(expected);
    free(part.memory);
}

static void parts(struct shared *s, const struct format *format)
{
    (void)format;
    for (int gap = 0; gap < GAPS; gap++) {
        shared_prepare(s, 1);
        shared_acquire(s);
        read_part(s, (enum gap)gap);
        write_part(s, (enum gap)gap);
    }
}

/* ---- mapped ---- */

/* Reads or writes a part of an image through clEnqueueMapImage: `bytes` is the image that it is part of. */
static void map_part(struct shared *s, cl_map_flags flags, unsigned seed, unsigned char *bytes)
{
    struct part part = part_of(s, WHOLE_GAP);
    size_t row_pitch = 0, slice_pitch = 0;
    cl_int status;
    free(part.memory);
    unsigned char *mapped = clEnqueueMapImage(s->queue, s->memory, CL_TRUE, flags, part.origin, part.region, &row_pitch,
                                              &slice_pitch, 0, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !CHECK(mapped != NULL))
        return;
    part.row_pitch = row_pitch;
    part.slice_pitch = part.region[2] > 1 ? slice_pitch : 0;
    part.memory = mapped;
    if (flags & CL_MAP_READ) {
        unsigned char *found = shared_pattern(s, seed);
        memcpy(found, bytes, s->bytes);
        move_part(s, &part, found, true);
        CHECK_MEM(found, bytes, s->bytes);
        free(found);
    }
    if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) {
        fill_part(s, &part, seed);
        move_part(s, &part, bytes, true);
    }
    CHECK_INT(clEnqueueUnmapMemObject(s->queue, s->memory, mapped, 0, NULL, NULL), CL_SUCCESS);
}

static void map(struct shared *s, const struct format *format)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE,
                                         CL_MAP_WRITE_INVALIDATE_REGION};
    (void)format;
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        const int before = failures();
        unsigned char *expected = shared_pattern(s, 1);
        shared_prepare(s, 1);
        shared_acquire(s);
        map_part(s, flags[i], 10 + i, expected);
        shared_release(s);
        shared_d3d_expect_bytes(s, expected);
        free(expected);
        remark_failures(before, "map flags 0x%x", (unsigned)flags[i]);
    }
}

/* ---- copied ---- */

/* From a shared image to an ordinary one, and a part of that to another place of the shared one. */
static void copy_image(struct shared *s, const struct format *format)
{
    static const size_t zero[3] = {0, 0, 0};
    struct part part = part_of(s, WHOLE_GAP);
    unsigned char *expected = shared_pattern(s, 1), *bytes = shared_pattern(s, 2);
    const cl_image_desc desc = {.image_type = s->desc.depth ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                                .image_width = s->extent[0],
                                .image_height = s->extent[1],
                                .image_depth = s->desc.depth ? s->extent[2] : 0};
    struct shared ordinary = *s;
    cl_int status;
    ordinary.memory = clCreateImage(s->context, CL_MEM_READ_WRITE, &format->cl, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    shared_prepare(s, 1);
    shared_cl_write(&ordinary, bytes);
    shared_acquire(s);
    CHECK_INT(clEnqueueCopyImage(s->queue, s->memory, ordinary.memory, zero, zero, s->extent, 0, NULL, NULL),
              CL_SUCCESS);
    shared_cl_expect(&ordinary, 1);

    shared_cl_write(&ordinary, bytes);
    CHECK_INT(clEnqueueCopyImage(s->queue, ordinary.memory, s->memory, part.origin, zero, part.region, 0, NULL, NULL),
              CL_SUCCESS);
    shared_release(s);
    move_part(s, &part, bytes, false);
    memset(part.origin, 0, sizeof(part.origin));
    move_part(s, &part, expected, true);
    shared_d3d_expect_bytes(s, expected);

    clReleaseMemObject(ordinary.memory);
    free(part.memory);
    free(bytes);
    free(expected);
}

enum { BUFFER_OFFSET = 48 };

/* The tight rows of a part to a buffer, and others back. */
static void copy_buffer(struct shared *s, const struct format *format)
{
    struct part part = part_of(s, WHOLE_GAP);
    unsigned char *expected = shared_pattern(s, 1), *found = calloc(1, part.size);
    const size_t offset = copy_offset(s->context, s->queue, BUFFER_OFFSET);
    cl_int status;
    part.row_pitch = part.region[0] * format_texel(format);
    part.slice_pitch = part.row_pitch * part.region[1];
    part.size = part.slice_pitch * part.region[2];
    cl_mem buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE, BUFFER_OFFSET + part.size + 16, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    shared_prepare(s, 1);
    shared_acquire(s);
    CHECK_INT(clEnqueueCopyImageToBuffer(s->queue, s->memory, buffer, part.origin, part.region, offset, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(s->queue, buffer, CL_TRUE, offset, part.size, found, 0, NULL, NULL), CL_SUCCESS);
    fill_part(s, &part, 1);
    CHECK_MEM(found, part.memory, part.size);
    fill_part(s, &part, 2);
    CHECK_INT(clEnqueueWriteBuffer(s->queue, buffer, CL_TRUE, BUFFER_OFFSET, part.size, part.memory, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(
        clEnqueueCopyBufferToImage(s->queue, buffer, s->memory, BUFFER_OFFSET, part.origin, part.region, 0, NULL, NULL),
        CL_SUCCESS);
    shared_release(s);
    move_part(s, &part, expected, true);
    shared_d3d_expect_bytes(s, expected);
    clReleaseMemObject(buffer);
    free(found);
    free(expected);
    free(part.memory);
}

/* ---- filled ---- */

/* Fills a part with the colour of a texel that the pattern has. */
static void fill(struct shared *s, const struct format *format)
{
    const size_t texel = format_texel(format);
    struct part part = part_of(s, WHOLE_GAP);
    unsigned char *expected = shared_pattern(s, 1), *other = shared_pattern(s, 2);
    const union colour colour = format_colour(format, other);
    shared_prepare(s, 1);
    shared_acquire(s);
    CHECK_INT(clEnqueueFillImage(s->queue, s->memory, &colour, part.origin, part.region, 0, NULL, NULL), CL_SUCCESS);
    shared_release(s);
    for (size_t i = texel; i < s->bytes; i += texel)
        memcpy(other + i, other, texel);
    move_part(s, &part, other, false);
    move_part(s, &part, expected, true);
    shared_d3d_expect_bytes(s, expected);
    free(other);
    free(expected);
    free(part.memory);
}

/* ---- the cases ---- */

FORMAT_CASES("each format with every value", values, true)
FORMAT_CASES("each format read and written in part, with gaps between rows", parts, true)
FORMAT_CASES("each format mapped", map, true)
FORMAT_CASES("each format copied to and from an ordinary image", copy_image, true)
FORMAT_CASES("each format copied to a buffer and back", copy_buffer, true)
FORMAT_CASES("each format filled with a colour", fill, true)

TAP_MAIN
