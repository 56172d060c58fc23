#include "d3d/formats.h"

/* clang-format off */
#define TABLE(name, order, type, bytes)  {#name, DXGI_FORMAT_##name, {CL_##order, CL_##type}, bytes, 0, 1, 0, false}
#define BEYOND(name, order, type, bytes) {#name, DXGI_FORMAT_##name, {CL_##order, CL_##type}, bytes, 0, 1, 0, true}
#define PLANE(name, plane, shift, order, type, bytes) \
    {#name, DXGI_FORMAT_##name, {CL_##order, CL_##type}, bytes, plane, 2, shift, true}

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

    /* sRGB textures are shared as the bytes that they hold: OpenCL 1.2 has no sRGB images. */
    BEYOND(R8G8B8A8_UNORM_SRGB,     RGBA, UNORM_INT8,      4),
    BEYOND(R8G8B8A8_TYPELESS,       RGBA, UNORM_INT8,      4),
    BEYOND(B8G8R8A8_UNORM_SRGB,     BGRA, UNORM_INT8,      4),
    BEYOND(B8G8R8A8_TYPELESS,       BGRA, UNORM_INT8,      4),
    BEYOND(B8G8R8X8_UNORM,          BGRA, UNORM_INT8,      4),
    BEYOND(B8G8R8X8_UNORM_SRGB,     BGRA, UNORM_INT8,      4),
    BEYOND(B8G8R8X8_TYPELESS,       BGRA, UNORM_INT8,      4),
    BEYOND(A8_UNORM,                A,    UNORM_INT8,      1),

    /* Video: luma, then interleaved chroma at half the width and height (cl_intel_d3d11_nv12_media_sharing). */
    PLANE(NV12, 0, 0,               R,    UNORM_INT8,      1),
    PLANE(NV12, 1, 1,               RG,   UNORM_INT8,      2),
    PLANE(P010, 0, 0,               R,    UNORM_INT16,     2),
    PLANE(P010, 1, 1,               RG,   UNORM_INT16,     4),
    PLANE(P016, 0, 0,               R,    UNORM_INT16,     2),
    PLANE(P016, 1, 1,               RG,   UNORM_INT16,     4),
};
#undef TABLE
#undef BEYOND
#undef PLANE
/* clang-format on */

const unsigned dxgi_format_count = sizeof(dxgi_formats) / sizeof(dxgi_formats[0]);

const struct format_row *format_from_dxgi(DXGI_FORMAT format, unsigned plane)
{
    for (unsigned i = 0; i < dxgi_format_count; i++)
        if (dxgi_formats[i].dxgi == format && dxgi_formats[i].plane == plane)
            return &dxgi_formats[i];
    return NULL;
}

unsigned cl_order_channels(cl_channel_order order)
{
    switch (order) {
    case CL_R:
    case CL_A:
    case CL_INTENSITY:
    case CL_LUMINANCE:
        return 1;
    case CL_RG:
    case CL_RA:
        return 2;
    case CL_RGBA:
    case CL_BGRA:
    case CL_ARGB:
        return 4;
    default:
        return 0;
    }
}

unsigned cl_type_bytes(cl_channel_type type)
{
    switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
        return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
        return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
        return 4;
    default:
        return 0;
    }
}

size_t cl_format_texel_bytes(cl_image_format format)
{
    return (size_t)cl_order_channels(format.image_channel_order) * cl_type_bytes(format.image_channel_data_type);
}
