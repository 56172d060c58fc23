// Removes the noise from one plane of a video. Where the picture does not move, each pixel becomes the mean of its
// values in the last frames; where it moves, it is left unchanged.
//
// The history holds for each pixel its clean value (one component for luma, two for chroma) and, as its last
// component, how many frames it covers. It consists of two images, one to read and one to write.

#define GROUP 16   // a work group's square of pixels
#define REACH 2    // how far around a pixel motion is searched
#define TILE (GROUP + 2 * REACH)
#define LONGEST 24 // the most frames in a mean

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

// By how much a pixel differs from its history, in units of the difference that noise alone causes: 1 on average if
// nothing moves.
float change_at(read_only image2d_t frame, read_only image2d_t before, int2 at, float variance)
{
    const float4 old = read_imagef(before, nearest, at);
    const float2 difference = read_imagef(frame, nearest, at).xy - old.xy;
    const float frames = fmax(old.w, 1.0f);
    return dot(difference, difference) / (variance * (1 + 1 / frames));
}

// `variance` is that of the noise, over all components of a pixel.
kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))
void denoise(read_only image2d_t frame, read_only image2d_t before, float variance, write_only image2d_t after,
             write_only image2d_t result)
{
    local float changes[TILE][TILE];
    const int2 place = (int2)(get_local_id(0), get_local_id(1));
    const int2 corner = (int2)(get_group_id(0), get_group_id(1)) * GROUP - REACH;
    for (int y = place.y; y < TILE; y += GROUP)
        for (int x = place.x; x < TILE; x += GROUP)
            changes[y][x] = change_at(frame, before, corner + (int2)(x, y), variance);
    barrier(CLK_LOCAL_MEM_FENCE);

    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    const int2 size = get_image_dim(frame);
    if (at.x >= size.x || at.y >= size.y)
        return;

    float change = 0;
    for (int y = 0; y <= 2 * REACH; y++)
        for (int x = 0; x <= 2 * REACH; x++)
            change += changes[place.y + y][place.x + x];
    change /= (2 * REACH + 1) * (2 * REACH + 1);

    const float4 old = read_imagef(before, nearest, at);
    const float4 new = read_imagef(frame, nearest, at);
    const float stillness = 1 - smoothstep(1.6f, 3.0f, change);
    const float frames = 1 + stillness * fmin(old.w, LONGEST - 1.0f);
    const float2 clean = mix(old.xy, new.xy, 1 / frames);
    write_imagef(after, at, (float4)(clean, 0, frames));
    write_imagef(result, at, (float4)(clean, 0, 1));
}
