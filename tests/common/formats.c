#include "formats.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define ROW(name, order, type, channels, bytes)                              \
    {                                                                        \
#name, DXGI_FORMAT_##name, {CL_##order, CL_##type }, channels, bytes \
    }

const struct format formats[FORMAT_COUNT] = {
    ROW(R32G32B32A32_FLOAT, RGBA, FLOAT, 4, 4),
    ROW(R32G32B32A32_UINT, RGBA, UNSIGNED_INT32, 4, 4),
    ROW(R32G32B32A32_SINT, RGBA, SIGNED_INT32, 4, 4),
    ROW(R16G16B16A16_FLOAT, RGBA, HALF_FLOAT, 4, 2),
    ROW(R16G16B16A16_UNORM, RGBA, UNORM_INT16, 4, 2),
    ROW(R16G16B16A16_UINT, RGBA, UNSIGNED_INT16, 4, 2),
    ROW(R16G16B16A16_SNORM, RGBA, SNORM_INT16, 4, 2),
    ROW(R16G16B16A16_SINT, RGBA, SIGNED_INT16, 4, 2),
    ROW(B8G8R8A8_UNORM, BGRA, UNORM_INT8, 4, 1),
    ROW(R8G8B8A8_UNORM, RGBA, UNORM_INT8, 4, 1),
    ROW(R8G8B8A8_UINT, RGBA, UNSIGNED_INT8, 4, 1),
    ROW(R8G8B8A8_SNORM, RGBA, SNORM_INT8, 4, 1),
    ROW(R8G8B8A8_SINT, RGBA, SIGNED_INT8, 4, 1),
    ROW(R32G32_FLOAT, RG, FLOAT, 2, 4),
    ROW(R32G32_UINT, RG, UNSIGNED_INT32, 2, 4),
    ROW(R32G32_SINT, RG, SIGNED_INT32, 2, 4),
    ROW(R16G16_FLOAT, RG, HALF_FLOAT, 2, 2),
    ROW(R16G16_UNORM, RG, UNORM_INT16, 2, 2),
    ROW(R16G16_UINT, RG, UNSIGNED_INT16, 2, 2),
    ROW(R16G16_SNORM, RG, SNORM_INT16, 2, 2),
    ROW(R16G16_SINT, RG, SIGNED_INT16, 2, 2),
    ROW(R8G8_UNORM, RG, UNORM_INT8, 2, 1),
    ROW(R8G8_UINT, RG, UNSIGNED_INT8, 2, 1),
    ROW(R8G8_SNORM, RG, SNORM_INT8, 2, 1),
    ROW(R8G8_SINT, RG, SIGNED_INT8, 2, 1),
    ROW(R32_FLOAT, R, FLOAT, 1, 4),
    ROW(R32_UINT, R, UNSIGNED_INT32, 1, 4),
    ROW(R32_SINT, R, SIGNED_INT32, 1, 4),
    ROW(R16_FLOAT, R, HALF_FLOAT, 1, 2),
    ROW(R16_UNORM, R, UNORM_INT16, 1, 2),
    ROW(R16_UINT, R, UNSIGNED_INT16, 1, 2),
    ROW(R16_SNORM, R, SNORM_INT16, 1, 2),
    ROW(R16_SINT, R, SIGNED_INT16, 1, 2),
    ROW(R8_UNORM, R, UNORM_INT8, 1, 1),
    ROW(R8_UINT, R, UNSIGNED_INT8, 1, 1),
    ROW(R8_SNORM, R, SNORM_INT8, 1, 1),
    ROW(R8_SINT, R, SIGNED_INT8, 1, 1),
};

const struct format *format_named(DXGI_FORMAT dxgi)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].dxgi == dxgi)
            return &formats[i];
    return NULL;
}

UINT format_texel(const struct format *format)
{
    return format->channels * format->channel_bytes;
}

enum format_class format_class(const struct format *format)
{
    switch (format->cl.image_channel_data_type) {
    case CL_SIGNED_INT8:
    case CL_SIGNED_INT16:
    case CL_SIGNED_INT32: return FORMAT_I;
    case CL_UNSIGNED_INT8:
    case CL_UNSIGNED_INT16:
    case CL_UNSIGNED_INT32: return FORMAT_UI;
    default: return FORMAT_F;
    }
}

/* ---- colours ---- */

/* The stored bits of a channel, without sign extension. */
static uint32_t bits_of(const struct format *format, const unsigned char *channel)
{
    uint32_t bits = 0;
    for (UINT i = 0; i < format->channel_bytes; i++)
        bits |= (uint32_t)channel[i] << 8 * i;
    return bits;
}

static int32_t extend(const struct format *format, uint32_t bits)
{
    switch (format->channel_bytes) {
    case 1: return (int8_t)bits;
    case 2: return (int16_t)bits;
    default: return (int32_t)bits;
    }
}

/* Only normal numbers and zero: the patterns hold nothing else. */
static float half_to_float(uint32_t half)
{
    if (!(half & 0x7FFF))
        return half ? -0.0f : 0.0f;
    const float size = ldexpf((float)((half & 0x3FF) | 0x400), (int)(half >> 10 & 31) - 25);
    return half & 0x8000 ? -size : size;
}

static float float_of(const struct format *format, uint32_t bits)
{
    float f;
    const int32_t i = extend(format, bits);
    switch (format->cl.image_channel_data_type) {
    case CL_UNORM_INT8: return (float)bits / 255.0f;
    case CL_UNORM_INT16: return (float)bits / 65535.0f;
    case CL_SNORM_INT8: return i < -127 ? -1.0f : (float)i / 127.0f;
    case CL_SNORM_INT16: return i < -32767 ? -1.0f : (float)i / 32767.0f;
    case CL_HALF_FLOAT: return half_to_float(bits);
    default: memcpy(&f, &bits, sizeof(f)); return f;
    }
}

union colour format_colour(const struct format *format, const void *texel)
{
    const bool real = format_class(format) == FORMAT_F, swapped = format->cl.image_channel_order == CL_BGRA;
    union colour colour = {.ui = {0, 0, 0, 1}};
    if (real)
        colour.f[3] = 1.0f;
    for (UINT c = 0; c < format->channels; c++) {
        const uint32_t bits = bits_of(format, (const unsigned char *)texel + c * format->channel_bytes);
        const UINT to = swapped && c < 3 ? 2 - c : c;
        if (real)
            colour.f[to] = float_of(format, bits);
        else if (format_class(format) == FORMAT_I)
            colour.i[to] = extend(format, bits);
        else
            colour.ui[to] = bits;
    }
    return colour;
}

bool format_is_colour(const struct format *format, const union colour *actual, const union colour *expected)
{
    const cl_channel_type type = format->cl.image_channel_data_type;
    if (format_class(format) != FORMAT_F || type == CL_FLOAT || type == CL_HALF_FLOAT)
        return memcmp(actual, expected, sizeof(*actual)) == 0;
    for (int i = 0; i < 4; i++)
        if (!(fabsf(actual->f[i] - expected->f[i]) <= 1e-6f))
            return false;
    return true;
}

/* ---- the computation ---- */

static uint32_t compute(const struct format *format, uint32_t bits)
{
    switch (format->cl.image_channel_data_type) {
    case CL_UNORM_INT8:
    case CL_UNORM_INT16: return ~bits;
    case CL_SNORM_INT8:
    case CL_SNORM_INT16: return 0u - bits;
    case CL_HALF_FLOAT: return bits ^ 0x8000u;
    case CL_FLOAT: return bits ^ 0x80000000u;
    default: return bits ^ 42u;
    }
}

void format_compute(const struct format *format, void *texels, size_t size)
{
    unsigned char *channel = texels;
    for (unsigned char *end = channel + size; channel < end; channel += format->channel_bytes) {
        const uint32_t bits = compute(format, bits_of(format, channel));
        for (UINT i = 0; i < format->channel_bytes; i++)
            channel[i] = (unsigned char)(bits >> 8 * i);
    }
}
