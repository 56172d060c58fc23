/* Converts texels between the declared format of an image and the storage format, from buffer to buffer, so
 * that equal channel types keep every bit: NaNs, -128 of SNORM.
 *
 * Built with: NARROW, WIDE    storage types of a channel (uchar, ushort, uint, float)
 *             CHANNELS        channels of the declared format
 *             ORDER           0: R, RG, RGBA; 1: A; 2: BGRA; 3: packed YUV
 *             YUV             of packed YUV: where in the four bytes of a pair are the first Y, U, V, as (int3)
 *             ALPHA           what a texel without alpha has there, as WIDE
 *             ENCODE, DECODE  names of the functions below */

#if ORDER == 1
#define PLACE(i) 3
#elif ORDER == 2
#define PLACE(i) ((i) == 3 ? 3 : 2 - (i))
#else
#define PLACE(i) (i)
#endif

uchar keep_uchar(uchar x) { return x; }
ushort keep_ushort(ushort x) { return x; }
uint keep_uint(uint x) { return x; }

/* SNORM in a FLOAT: the value that a kernel shall read. The lowest code means -1 like the one above it; so that it comes
 * back as it was, it is the float next below -1, which is within the precision that OpenCL asks of such a read. */
#define BELOW_MINUS_ONE as_float(0xBF800001u)

float snorm8_to_float(uchar x)
{
    const char c = as_char(x);
    return c == -128 ? BELOW_MINUS_ONE : (float)c / 127.0f;
}

/* In whole ints: some compilers of drivers crash on a choice between chars. */
uchar float_to_snorm8(float x)
{
    const int c = isnan(x) ? 0 : convert_int_rte(clamp(x * 127.0f, -128.0f, 127.0f));
    return as_uchar((char)(x == BELOW_MINUS_ONE ? -128 : c));
}

float snorm16_to_float(ushort x)
{
    const short c = as_short(x);
    return c == -32768 ? BELOW_MINUS_ONE : (float)c / 32767.0f;
}

ushort float_to_snorm16(float x)
{
    const short c = x == BELOW_MINUS_ONE ? -32768 : convert_short_sat_rte(x * 32767.0f);
    return as_ushort(c);
}

float unorm8_to_float(uchar x) { return (float)x / 255.0f; }
uchar float_to_unorm8(float x) { return convert_uchar_sat_rte(x * 255.0f); }
float unorm16_to_float(ushort x) { return (float)x / 65535.0f; }
ushort float_to_unorm16(float x) { return convert_ushort_sat_rte(x * 65535.0f); }

/* NaNs keep their bits by hand; hardware makes signalling ones quiet. */
float half_to_float(ushort x)
{
    if ((x & 0x7C00) == 0x7C00)
        return as_float((uint)(x & 0x8000) << 16 | 0x7F800000u | (uint)(x & 0x3FF) << 13);
    return vload_half(0, (const half *)&x);
}

ushort float_to_half(float f)
{
    const uint x = as_uint(f);
    if ((x & 0x7F800000u) == 0x7F800000u && (x & 0x7FFFFF))
        return (ushort)(x >> 16 & 0x8000) | 0x7C00 | max((ushort)(x >> 13 & 0x3FF), (ushort)1);
    ushort h;
    vstore_half_rte(f, 0, (half *)&h);
    return h;
}

#if ORDER == 3

/* Two texels have one U and one V: U, or V, of the texel that lies in its place comes back. Kernels read (V, Y, U, 1). */
kernel void widen(global const NARROW *from, global WIDE *to)
{
    const size_t texel = get_global_id(0), pair = texel / 2 * 4;
    const int3 place = YUV;
    to[texel * 4] = ENCODE(from[pair + place.z]);
    to[texel * 4 + 1] = ENCODE(from[pair + place.x + texel % 2 * 2]);
    to[texel * 4 + 2] = ENCODE(from[pair + place.y]);
    to[texel * 4 + 3] = ALPHA;
}

kernel void narrow(global const WIDE *from, global NARROW *to)
{
    const size_t texel = get_global_id(0), second = texel % 2, pair = texel / 2 * 4;
    const int3 place = YUV;
    to[pair + place.x + second * 2] = DECODE(from[texel * 4 + 1]);
    if ((place.y > place.z) == second)
        to[pair + place.y] = DECODE(from[texel * 4 + 2]);
    else
        to[pair + place.z] = DECODE(from[texel * 4]);
}

#else

/* Without an array of its own: some compilers of drivers crash on one of uchar. */
kernel void widen(global const NARROW *from, global WIDE *to)
{
    const size_t texel = get_global_id(0);
    for (int i = 0; i < 4; i++)
        to[texel * 4 + i] = i == 3 ? ALPHA : 0;
    for (int i = 0; i < CHANNELS; i++)
        to[texel * 4 + PLACE(i)] = ENCODE(from[texel * CHANNELS + i]);
}

kernel void narrow(global const WIDE *from, global NARROW *to)
{
    const size_t texel = get_global_id(0);
    for (int i = 0; i < CHANNELS; i++)
        to[texel * CHANNELS + i] = DECODE(from[texel * 4 + PLACE(i)]);
}

#endif
