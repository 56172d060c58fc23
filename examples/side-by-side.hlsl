// Fills the viewport with a picture, pixel for pixel.

struct corner {
    float4 position : SV_Position;
    float2 at : TEXCOORD0; // (0, 0) is the upper left corner of the picture
};

// One triangle that covers the viewport. Its corners are computed from the vertex numbers, so no vertex buffer is needed.
corner vertex_main(uint number : SV_VertexID)
{
    corner result;
    result.at = float2((number << 1) & 2, number & 2);
    result.position = float4(result.at.x * 2 - 1, 1 - result.at.y * 2, 0, 1);
    return result;
}

Texture2D picture;
SamplerState nearest;

float4 pixel_main(corner here) : SV_Target
{
    return picture.Sample(nearest, here.at);
}
