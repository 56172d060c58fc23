#include "d3d/formats.h"

#include "d3d/d3d_types.h"

/* clang-format off */
#define TABLE(name, order, type, bytes)  {#name, DXGI_FORMAT_##name, {CL_##order, CL_##type}, bytes, 0, 1, 0, 0, 0, 0}
#define PLANE(name, plane, shift_x, shift_y, begin, order, type, bytes) \
    {#name, DXGI_FORMAT_##name, {CL_##order, CL_##type}, bytes, plane, 2, shift_x, shift_y, 0, begin}

const struct format_row dxgi_formats[] = {
    TABLE(R32G32B32A32_FLOAT,       RGBA, FLOAT,          16),
    TABLE(R32G32B32A32_UINT,        RGBA, UNSIGNED_INT32, 16),
    TABLE(R32G32B32A32_SINT,        RGBA, SIGNED_INT32,   16),
    TABLE(R16G16B16A16_FLOAT,       RGBA, HALF_FLOAT,      8),
    TABLE(R16G16B16A16_UNORM,       RGBA, UNORM_INT16,     8),
    TABLE(R16G16B16A16_UINT,        RGBA, UNSIGNED_INT16,  8),
    TABLE(R16G16B16A16_SNORM,       RGBA, SNORM_INT16,     8),
    TABLE(R16G16B16A16_SINT,        RGBA, SIGNED_INT16,    8),
    TABLE(B8G8R8A8_UNORM,           BGRA, UNORM_INT8,      4),
    TABLE(R8G8B8A8_UNORM,           RGBA, UNORM_INT8,      4),
    TABLE(R8G8B8A8_UINT,            RGBA, UNSIGNED_INT8,   4),
    TABLE(R8G8B8A8_SNORM,           RGBA, SNORM_INT8,      4),
    TABLE(R8G8B8A8_SINT,            RGBA, SIGNED_INT8,     4),
    TABLE(R32G32_FLOAT,             RG,   FLOAT,           8),
    TABLE(R32G32_UINT,              RG,   UNSIGNED_INT32,  8),
    TABLE(R32G32_SINT,              RG,   SIGNED_INT32,    8),
    TABLE(R16G16_FLOAT,             RG,   HALF_FLOAT,      4),
    TABLE(R16G16_UNORM,             RG,   UNORM_INT16,     4),
    TABLE(R16G16_UINT,              RG,   UNSIGNED_INT16,  4),
    TABLE(R16G16_SNORM,             RG,   SNORM_INT16,     4),
    TABLE(R16G16_SINT,              RG,   SIGNED_INT16,    4),
    TABLE(R8G8_UNORM,               RG,   UNORM_INT8,      2),
    TABLE(R8G8_UINT,                RG,   UNSIGNED_INT8,   2),
    TABLE(R8G8_SNORM,               RG,   SNORM_INT8,      2),
    TABLE(R8G8_SINT,                RG,   SIGNED_INT8,     2),
    TABLE(R32_FLOAT,                R,    FLOAT,           4),
    TABLE(R32_UINT,                 R,    UNSIGNED_INT32,  4),
    TABLE(R32_SINT,                 R,    SIGNED_INT32,    4),
    TABLE(R16_FLOAT,                R,    HALF_FLOAT,      2),
    TABLE(R16_UNORM,                R,    UNORM_INT16,     2),
    TABLE(R16_UINT,                 R,    UNSIGNED_INT16,  2),
    TABLE(R16_SNORM,                R,    SNORM_INT16,     2),
    TABLE(R16_SINT,                 R,    SIGNED_INT16,    2),
    TABLE(R8_UNORM,                 R,    UNORM_INT8,      1),
    TABLE(R8_UINT,                  R,    UNSIGNED_INT8,   1),
    TABLE(R8_SNORM,                 R,    SNORM_INT8,      1),
    TABLE(R8_SINT,                  R,    SIGNED_INT8,     1),

    /* Beyond the specification's tables. sRGB textures are shared as their bytes: OpenCL 1.2 has no sRGB images. */
    TABLE(R8G8B8A8_UNORM_SRGB,      RGBA, UNORM_INT8,      4),
    TABLE(R8G8B8A8_TYPELESS,        RGBA, UNORM_INT8,      4),
    TABLE(B8G8R8A8_UNORM_SRGB,      BGRA, UNORM_INT8,      4),
    TABLE(B8G8R8A8_TYPELESS,        BGRA, UNORM_INT8,      4),
    TABLE(B8G8R8X8_UNORM,           BGRA, UNORM_INT8,      4),
    TABLE(B8G8R8X8_UNORM_SRGB,      BGRA, UNORM_INT8,      4),
    TABLE(B8G8R8X8_TYPELESS,        BGRA, UNORM_INT8,      4),
    TABLE(A8_UNORM,                 A,    UNORM_INT8,      1),

    /* Video: luma, then interleaved chroma at half the width and height (cl_intel_d3d11_nv12_media_sharing). */
    PLANE(NV12, 0, 0, 0, 0,         R,    UNORM_INT8,      1),
    PLANE(NV12, 1, 1, 1, 4,         RG,   UNORM_INT8,      2),
    PLANE(P010, 0, 0, 0, 0,         R,    UNORM_INT16,     2),
    PLANE(P010, 1, 1, 1, 4,         RG,   UNORM_INT16,     4),
    PLANE(P016, 0, 0, 0, 0,         R,    UNORM_INT16,     2),
    PLANE(P016, 1, 1, 1, 4,         RG,   UNORM_INT16,     4),
};
#undef TABLE
#undef PLANE

#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TABLE(name, order, type, bytes)  {#name, D3DFMT_##name, {CL_##order, CL_##type}, bytes, 0, 1, 0, 0, 0, 0}
#define PLANE(name, code, plane, planes, shift_x, shift_y, pitch, begin, order, type, bytes) \
    {name, code, {CL_##order, CL_##type}, bytes, plane, planes, shift_x, shift_y, pitch, begin}
#define PACKED(name, code, order)        {name, code, {CL_##order, CL_UNORM_INT8}, 2, 0, 1, 0, 0, 0, 0}

const struct format_row d3d9_formats[] = {
    PLANE("NV12", FOURCC('N', 'V', '1', '2'), 0, 2, 0, 0, 0, 0, R,  UNORM_INT8, 1),
    PLANE("NV12", FOURCC('N', 'V', '1', '2'), 1, 2, 1, 1, 0, 4, RG, UNORM_INT8, 2),
    /* Plane 1 is V and plane 2 is U: the order in memory. */
    PLANE("YV12", FOURCC('Y', 'V', '1', '2'), 0, 3, 0, 0, 0, 0, R,  UNORM_INT8, 1),
    PLANE("YV12", FOURCC('Y', 'V', '1', '2'), 1, 3, 1, 1, 1, 4, R,  UNORM_INT8, 1),
    PLANE("YV12", FOURCC('Y', 'V', '1', '2'), 2, 3, 1, 1, 1, 5, R,  UNORM_INT8, 1),
    /* Beyond the specification's tables, as packed YUV is. */
    PLANE("P010", FOURCC('P', '0', '1', '0'), 0, 2, 0, 0, 0, 0, R,  UNORM_INT16, 2),
    PLANE("P010", FOURCC('P', '0', '1', '0'), 1, 2, 1, 1, 0, 4, RG, UNORM_INT16, 4),

    /* Kernels read V, Y, U, 1 as of the images of cl_intel_packed_yuv. A texel is one luma, two of them are a pair. */
    PACKED("YUY2", FOURCC('Y', 'U', 'Y', '2'), YUYV_INTEL),
    PACKED("UYVY", FOURCC('U', 'Y', 'V', 'Y'), UYVY_INTEL),
    PACKED("YVYU", FOURCC('Y', 'V', 'Y', 'U'), YVYU_INTEL),
    PACKED("VYUY", FOURCC('V', 'Y', 'U', 'Y'), VYUY_INTEL),

    TABLE(R32F,          R,    FLOAT,        4),
    TABLE(R16F,          R,    HALF_FLOAT,   2),
    TABLE(L16,           R,    UNORM_INT16,  2),
    TABLE(A8,            A,    UNORM_INT8,   1),
    TABLE(L8,            R,    UNORM_INT8,   1),
    TABLE(G32R32F,       RG,   FLOAT,        8),
    TABLE(G16R16F,       RG,   HALF_FLOAT,   4),
    TABLE(G16R16,        RG,   UNORM_INT16,  4),
    TABLE(A8L8,          RG,   UNORM_INT8,   2),
    TABLE(A32B32G32R32F, RGBA, FLOAT,       16),
    TABLE(A16B16G16R16F, RGBA, HALF_FLOAT,   8),
    TABLE(A16B16G16R16,  RGBA, UNORM_INT16,  8),
    TABLE(A8B8G8R8,      RGBA, UNORM_INT8,   4),
    TABLE(X8B8G8R8,      RGBA, UNORM_INT8,   4),
    TABLE(A8R8G8B8,      BGRA, UNORM_INT8,   4),
    TABLE(X8R8G8B8,      BGRA, UNORM_INT8,   4),
};
#undef TABLE
#undef PLANE
#undef PACKED
/* clang-format on */

const unsigned dxgi_format_count = sizeof(dxgi_formats) / sizeof(dxgi_formats[0]);
const unsigned d3d9_format_count = sizeof(d3d9_formats) / sizeof(d3d9_formats[0]);

static const struct format_row *find(const struct format_row *rows, unsigned count, uint32_t code, unsigned plane)
{
    for (unsigned i = 0; i < count; i++)
        if (rows[i].code == code && rows[i].plane == plane)
            return &rows[i];
    return NULL;
}

const struct format_row *format_from_dxgi(uint32_t format, unsigned plane)
{
    return find(dxgi_formats, dxgi_format_count, (uint32_t)format, plane);
}

const struct format_row *format_from_d3d9(uint32_t format, unsigned plane)
{
    return find(d3d9_formats, d3d9_format_count, (uint32_t)format, plane);
}

/* The planes of a format are adjacent in the tables. */
const struct format_row *format_last_plane(const struct format_row *row)
{
    return row + (row->planes - 1 - row->plane);
}

/* Wine also creates surfaces of odd sizes. Their planes do not fit together with Direct3D 10 and 11, and with Direct3D
 * 9 there is no memory for the last rows of chroma. */
bool format_cuts_chroma(const struct format_row *row, uint32_t width, uint32_t height)
{
    const struct format_row *last = format_last_plane(row);
    const uint32_t pair_x = cl_order_packed_yuv(row->cl.image_channel_order) ? 2 : 1u << last->shift_x;
    return width % pair_x || height % (1u << last->shift_y);
}

size_t format_plane_begin(const struct format_row *row, size_t first_pitch, size_t first_rows)
{
    return first_pitch * first_rows * row->begin / 4;
}

unsigned cl_order_channels(cl_channel_order order)
{
    switch (order) {
    case CL_R:
    case CL_A: return 1;
    case CL_RG:
    case CL_YUYV_INTEL:
    case CL_UYVY_INTEL:
    case CL_YVYU_INTEL:
    case CL_VYUY_INTEL: return 2;
    case CL_RGBA:
    case CL_BGRA: return 4;
    default: return 0;
    }
}

bool cl_order_packed_yuv(cl_channel_order order)
{
    return order == CL_YUYV_INTEL || order == CL_UYVY_INTEL || order == CL_YVYU_INTEL || order == CL_VYUY_INTEL;
}

/* Bytes of one channel of a channel type that is not packed; 0 for others. */
static unsigned type_bytes(cl_channel_type type)
{
    switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8: return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT: return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT: return 4;
    default: return 0;
    }
}

bool cl_format_equal(cl_image_format a, cl_image_format b)
{
    return a.image_channel_order == b.image_channel_order && a.image_channel_data_type == b.image_channel_data_type;
}

size_t cl_format_texel_bytes(cl_image_format format)
{
    return (size_t)cl_order_channels(format.image_channel_order) * type_bytes(format.image_channel_data_type);
}

size_t cl_region_bytes(const size_t *region, size_t texel_bytes)
{
    size_t bytes = texel_bytes;
    for (int i = 0; i < 3; i++) {
        if (region[i] && bytes > SIZE_MAX / region[i])
            return SIZE_MAX;
        bytes *= region[i];
    }
    return bytes;
}
