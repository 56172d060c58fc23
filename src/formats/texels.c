/* The conversion of texels by the host, where the device works in the host's memory anyway: what the kernels of convert.cl
 * do costs no command there, and no memory of the device. Only where bits are put beside others: R and RG in RGBA of the
 * same channel type. Little-endian, as all systems with Direct3D are. */
#include "formats/carrier.h"

#include "d3d/formats.h"

#include <string.h>

bool texels_convertible(const struct converter *c)
{
    const cl_channel_order order = c->declared.image_channel_order;
    return (order == CL_R || order == CL_RG) && c->carrier.image_channel_order == CL_RGBA &&
           c->declared.image_channel_data_type == c->carrier.image_channel_data_type;
}

/* Alpha's bits above those of a texel's other channels. */
static uint64_t alpha_bits(const struct converter *c)
{
    const unsigned channel = (unsigned)c->wide_texel * 2; /* bits of one of four channels */
    return carrier_alpha(c->declared.image_channel_data_type) << (channel < 32 ? 3 * channel : channel);
}

/* What Direct3D maps is aligned as it likes. */
static uint64_t load(const char *from, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, from, bytes);
    return bits;
}

/* Each with sizes that the compiler knows. */
static void widen_to_4(uint32_t *to, const char *from, size_t texels, size_t narrow, uint32_t alpha)
{
    if (narrow == 1)
        for (size_t i = 0; i < texels; i++)
            to[i] = alpha | (uint32_t)load(from + i, 1);
    else
        for (size_t i = 0; i < texels; i++)
            to[i] = alpha | (uint32_t)load(from + i * 2, 2);
}

static void widen_to_8(uint64_t *to, const char *from, size_t texels, size_t narrow, uint64_t alpha)
{
    if (narrow == 2)
        for (size_t i = 0; i < texels; i++)
            to[i] = alpha | load(from + i * 2, 2);
    else
        for (size_t i = 0; i < texels; i++)
            to[i] = alpha | load(from + i * 4, 4);
}

/* A wide texel has two parts: the declared channels, and blue and alpha. */
static void widen_to_16(uint64_t *to, const char *from, size_t texels, size_t narrow, uint64_t alpha)
{
    for (size_t i = 0; i < texels; i++) {
        to[i * 2] = narrow == 4 ? load(from + i * 4, 4) : load(from + i * 8, 8);
        to[i * 2 + 1] = alpha;
    }
}

void texels_widen(const struct converter *c, void *to, const void *from, size_t texels)
{
    const uint64_t alpha = alpha_bits(c);
    switch (c->wide_texel) {
    case 4: widen_to_4(to, from, texels, c->narrow_texel, (uint32_t)alpha); break;
    case 8: widen_to_8(to, from, texels, c->narrow_texel, alpha); break;
    default: widen_to_16(to, from, texels, c->narrow_texel, alpha); break;
    }
}

/* The declared channels are the first bytes. */
static void narrow_each(char *to, const char *from, size_t texels, size_t narrow, size_t wide)
{
    for (size_t i = 0; i < texels; i++)
        memcpy(to + i * narrow, from + i * wide, narrow);
}

void texels_narrow(const struct converter *c, void *to, const void *from, size_t texels)
{
    const size_t narrow = c->narrow_texel, wide = c->wide_texel;
    if (wide == 4 && narrow == 1)
        narrow_each(to, from, texels, 1, 4);
    else if (wide == 4)
        narrow_each(to, from, texels, 2, 4);
    else if (wide == 8 && narrow == 4)
        narrow_each(to, from, texels, 4, 8);
    else
        narrow_each(to, from, texels, narrow, wide);
}
