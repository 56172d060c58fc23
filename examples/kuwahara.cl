// An anisotropic Kuwahara filter: it makes a picture look painted.
//
// Around each pixel lies an ellipse, stretched along the edge that runs through the pixel. The ellipse is divided into
// eight sectors. The calm ones (with little variance in colour) decide the new colour: flat areas become flatter, edges
// stay sharp.

// The direction of each sector's middle. All eight sectors are computed together, one in each component of a float8.
#define DIAGONAL M_SQRT1_2_F
constant float8 middle_x = (float8)(1, DIAGONAL, 0, -DIAGONAL, -1, -DIAGONAL, 0, DIAGONAL);
constant float8 middle_y = (float8)(0, DIAGONAL, 1, DIAGONAL, 0, -DIAGONAL, -1, -DIAGONAL);

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

float3 colour_at(read_only image2d_t picture, int2 at)
{
    return read_imagef(picture, nearest, at).xyz;
}

// How the colour changes at each pixel, as the structure tensor (xx, xy, yy) of the Sobel gradients.
kernel void find_edges(read_only image2d_t picture, global float4 *tensors)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    const int2 size = get_image_dim(picture);
    if (at.x >= size.x || at.y >= size.y)
        return;

    const float3 upper_left = colour_at(picture, at + (int2)(-1, -1));
    const float3 upper_right = colour_at(picture, at + (int2)(1, -1));
    const float3 lower_left = colour_at(picture, at + (int2)(-1, 1));
    const float3 lower_right = colour_at(picture, at + (int2)(1, 1));
    const float3 left = upper_left + 2 * colour_at(picture, at + (int2)(-1, 0)) + lower_left;
    const float3 right = upper_right + 2 * colour_at(picture, at + (int2)(1, 0)) + lower_right;
    const float3 upper = upper_left + 2 * colour_at(picture, at + (int2)(0, -1)) + upper_right;
    const float3 lower = lower_left + 2 * colour_at(picture, at + (int2)(0, 1)) + lower_right;

    const float3 across = (right - left) / 4;
    const float3 down = (lower - upper) / 4;
    tensors[at.y * size.x + at.x] = (float4)(dot(across, across), dot(across, down), dot(down, down), 0);
}

// The weighted sum of the tensors around a pixel: one pixel's gradient alone is mostly noise.
float4 smooth_tensor(global const float4 *tensors, int2 size, int2 at)
{
    float4 sum = 0;
    for (int y = -3; y <= 3; y++) {
        for (int x = -3; x <= 3; x++) {
            const int2 near = clamp(at + (int2)(x, y), (int2)(0, 0), size - 1);
            sum += tensors[near.y * size.x + near.x] * exp(-(x * x + y * y) / 8.0f);
        }
    }
    return sum;
}

float sum8(float8 values)
{
    const float4 four = values.lo + values.hi;
    const float2 two = four.lo + four.hi;
    return two.x + two.y;
}

kernel void paint(read_only image2d_t picture, global const float4 *tensors, float radius,
                  write_only image2d_t painting)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    const int2 size = get_image_dim(picture);
    if (at.x >= size.x || at.y >= size.y)
        return;

    // The tensor's eigenvalues give the strength of the edge (0: none, 1: only an edge), its eigenvectors its direction.
    const float4 tensor = smooth_tensor(tensors, size, at);
    const float total = tensor.x + tensor.z;
    const float spread = sqrt((tensor.x - tensor.z) * (tensor.x - tensor.z) + 4 * tensor.y * tensor.y);
    const float strength = total > 0 ? spread / total : 0;
    const float angle = 0.5f * atan2(2 * tensor.y, tensor.x - tensor.z) + M_PI_2_F;
    const float2 along = (float2)(cos(angle), sin(angle));
    const float long_axis = radius * (1 + strength);
    const float short_axis = radius / (1 + strength);

    float8 red = 0, green = 0, blue = 0, squares = 0, weights = 0;
    const int reach_x = (int)sqrt(pown(long_axis * along.x, 2) + pown(short_axis * along.y, 2));
    const int reach_y = (int)sqrt(pown(long_axis * along.y, 2) + pown(short_axis * along.x, 2));
    for (int y = -reach_y; y <= reach_y; y++) {
        for (int x = -reach_x; x <= reach_x; x++) {
            // The position in the ellipse, mapped to the unit circle
            const float u = (x * along.x + y * along.y) / long_axis;
            const float v = (y * along.x - x * along.y) / short_axis;
            const float distance2 = u * u + v * v;
            if (distance2 > 1)
                continue;

            // Each sector overlaps its neighbours a little and fades towards its sides and outwards
            const float8 forward = u * middle_x + v * middle_y;
            const float8 sideward = v * middle_x - u * middle_y;
            const float8 depth = fmax(forward + 0.33f - 3.3f * sideward * sideward, 0.0f);
            const float8 weight = depth * depth * exp(-3 * distance2);

            const float3 colour = colour_at(picture, at + (int2)(x, y));
            red += weight * colour.x;
            green += weight * colour.y;
            blue += weight * colour.z;
            squares += weight * dot(colour, colour);
            weights += weight;
        }
    }

    red /= weights;
    green /= weights;
    blue /= weights;
    const float8 variance = fabs(squares / weights - red * red - green * green - blue * blue);
    const float8 calm = 1 / (1 + pown(3600 * variance, 4));
    const float3 colour = (float3)(sum8(red * calm), sum8(green * calm), sum8(blue * calm)) / sum8(calm);
    const float alpha = read_imagef(picture, nearest, at).w;
    write_imagef(painting, at, (float4)(colour, alpha));
}
