/* The host's conversion of texels against one that goes byte by byte: every channel type, rows of any length that begin
 * anywhere in a cache line, and no byte beyond. And its copies. Each as on this processor and as on any, through the caches and
 * past them. */
#include "formats/storage.h"
#include "tap.h"

#include "d3d/formats.h"

enum { EACH_TEXELS = 70, MOST_TEXELS = 1100, MARGIN = 64, ROOM = MOST_TEXELS * 16 + 2 * MARGIN };

static bool stream; /* as callers of the functions say */

static const cl_channel_type types[] = {CL_SNORM_INT8,     CL_SNORM_INT16,    CL_UNORM_INT8,   CL_UNORM_INT16,
                                        CL_SIGNED_INT8,    CL_SIGNED_INT16,   CL_SIGNED_INT32, CL_UNSIGNED_INT8,
                                        CL_UNSIGNED_INT16, CL_UNSIGNED_INT32, CL_HALF_FLOAT,   CL_FLOAT};

static struct converter converter_of(cl_channel_order order, cl_channel_type type)
{
    const cl_image_format declared = {order, type}, stored = {CL_RGBA, type};
    return (struct converter){.declared = declared,
                              .stored = stored,
                              .narrow_texel = cl_format_texel_bytes(declared),
                              .wide_texel = cl_format_texel_bytes(stored)};
}

static void widen_by_bytes(const struct converter *c, unsigned char *to, const unsigned char *from, size_t texels)
{
    const size_t channel = c->wide_texel / 4;
    const uint64_t alpha = storage_alpha(c->declared.image_channel_data_type);
    for (size_t i = 0; i < texels; i++) {
        for (size_t byte = 0; byte < c->wide_texel; byte++) {
            const size_t of_alpha = byte - 3 * channel;
            const unsigned char other = byte < 3 * channel ? 0 : (unsigned char)(alpha >> 8 * of_alpha);
            to[i * c->wide_texel + byte] = byte < c->narrow_texel ? from[i * c->narrow_texel + byte] : other;
        }
    }
}

static void narrow_by_bytes(const struct converter *c, unsigned char *to, const unsigned char *from, size_t texels)
{
    for (size_t i = 0; i < texels * c->narrow_texel; i++)
        to[i] = from[i / c->narrow_texel * c->wide_texel + i % c->narrow_texel];
}

/* The bytes that so many texels and what is around them may have. */
static size_t bytes_around(size_t texels)
{
    return texels * 16 + 2 * MARGIN;
}

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
}

/* One way over `texels` texels between bytes that begin `at` one place and as far before another. */
static bool same(const struct converter *c, bool widens, size_t texels, size_t at)
{
    _Alignas(64) unsigned char from[ROOM], to[ROOM], expected[ROOM];
    fill(from, bytes_around(texels), 1);
    fill(to, bytes_around(texels), 2);
    fill(expected, bytes_around(texels), 2);
    (widens ? widen_by_bytes : narrow_by_bytes)(c, expected + at, from + MARGIN - at, texels);
    (widens ? texels_widen : texels_narrow)(c, to + at, from + MARGIN - at, texels, stream);
    return CHECK_MEM(to, expected, bytes_around(texels));
}

static void each_type(cl_channel_order order, bool widens)
{
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        const struct converter c = converter_of(order, types[t]);
        CHECK(texels_convertible(&c));
        for (size_t texels = 0; texels <= MOST_TEXELS; texels += texels < EACH_TEXELS ? 1 : 103)
            for (size_t at = 0; at <= MARGIN; at += at % 16 ? 11 : 5) /* aligned to 16 bytes or not at all */
                if (!same(&c, widens, texels, at)) {
                    printf("# channel type 0x%x, %zu texels, byte %zu\n", types[t], texels, at);
                    return;
                }
    }
}

/* Lengths and beginnings on both sides of those of a cache line and of a page. */
static void copies(void)
{
    enum { PAGES = 3 * 4096, MOST = PAGES + 80, SPACE = MOST + 160 };
    static unsigned char from[SPACE], to[SPACE], expected[SPACE];
    static const size_t lengths[] = {0, 1, 63, 64, 200, PAGES - 1, PAGES, PAGES + 1, MOST};
    for (size_t i = 0; i < SPACE; i++)
        from[i] = (unsigned char)(i * 7 + (i >> 8));
    for (size_t length = 0; length < sizeof(lengths) / sizeof(lengths[0]); length++) {
        for (size_t at = 0; at <= 80; at++) {
            memset(to, 0xcc, SPACE);
            memset(expected, 0xcc, SPACE);
            memcpy(expected + at, from + 80 - at, lengths[length]);
            texels_copy(to + at, from + 80 - at, lengths[length], stream);
            if (!CHECK_MEM(to, expected, SPACE))
                return;
        }
    }
}

/* On this processor and on any, through the caches and past them. */
CASE("each channel type into RGBA and back, and copies", each_way)
{
    for (int way = 0; way < 4; way++) {
        texels_processor = way & 1 ? TEXELS_ANY : TEXELS_OWN;
        stream = way & 2;
        for (int widens = 0; widens < 2; widens++) {
            each_type(CL_R, widens);
            each_type(CL_RG, widens);
        }
        copies();
    }
    texels_processor = TEXELS_OWN;
}

/* In 32 bits an image may have more bytes than there are: none of fewer may be made for it. */
CASE("bytes that a size_t can't hold", region_bytes)
{
    static const size_t half = SIZE_MAX / 2 + 1;
    static const size_t regions[][3] = {
        {half, 2, 1}, {half / 2, 2, 2}, {4, half / 4, 3}, {SIZE_MAX, 1, 2}, {1, 2, half}};
    for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++)
        CHECK(cl_region_bytes(regions[i], 1) == SIZE_MAX);
    CHECK(cl_region_bytes((const size_t[]){half / 8, 1, 1}, 16) == SIZE_MAX);
    CHECK(cl_region_bytes((const size_t[]){half / 16, 1, 1}, 16) == half);
    CHECK(cl_region_bytes((const size_t[]){7, 5, 3}, 4) == 420);
    CHECK(cl_region_bytes((const size_t[]){7, 0, SIZE_MAX}, 4) == 0);
}

/* Of formats whose texels are no channels of whole bytes nothing is converted, and none is shared. */
CASE("formats without whole channels", no_whole_channels)
{
    CHECK_INT(cl_format_texel_bytes((cl_image_format){CL_RGBA, CL_UNORM_INT16}), 8);
    CHECK_INT(cl_format_texel_bytes((cl_image_format){CL_RGB, CL_UNORM_INT8}), 0);
    CHECK_INT(cl_format_texel_bytes((cl_image_format){CL_R, CL_UNORM_SHORT_565}), 0);
}

TAP_MAIN
