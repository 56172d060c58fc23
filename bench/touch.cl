// Kernels that hardly compute, so that the way of the bytes is what takes the time: each work item touches one texel, or
// one byte, of STEP x STEP. They stand for kernels that touch all.

#define STEP 16

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

size_t item(void)
{
    return get_global_id(1) * get_global_size(0) + get_global_id(0);
}

kernel void read_image(read_only image2d_t from, global float *result)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1)) * STEP;
    result[item()] = read_imagef(from, nearest, at).x;
}

kernel void write_image(write_only image2d_t to, float value)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1)) * STEP;
    write_imagef(to, at, (float4)(value));
}

// A plane in a buffer, as rows of `pitch` bytes.
kernel void read_bytes(global const uchar *from, global float *result, uint pitch)
{
    result[item()] = from[(size_t)get_global_id(1) * STEP * pitch + get_global_id(0) * STEP] / 255.0f;
}

kernel void write_bytes(global uchar *to, float value, uint pitch)
{
    to[(size_t)get_global_id(1) * STEP * pitch + get_global_id(0) * STEP] = convert_uchar_sat_rte(value * 255.0f);
}
