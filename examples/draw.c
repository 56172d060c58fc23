#define COBJMACROS
#include "draw.h"

#include "report.h"
#include "side-by-side.hlsl.h"

#include <d3dcompiler.h>
#include <string.h>

static ID3DBlob *compile(const char *entry, const char *target)
{
    ID3DBlob *code = NULL, *messages = NULL;
    HRESULT result = D3DCompile(side_by_side_hlsl, strlen(side_by_side_hlsl), "side-by-side.hlsl", NULL, NULL, entry,
                                target, 0, 0, &code, &messages);
    if (FAILED(result) && messages)
        step("%s", (const char *)ID3D10Blob_GetBufferPointer(messages));
    check_d3d(result, "D3DCompile", "this d3dcompiler_47.dll can't compile the demo's shaders; try a newer one");
    if (messages)
        ID3D10Blob_Release(messages);
    return code;
}

/* Binds what all drawing shares: shaders, sampler, and the triangle topology. */
static void bind_pipeline(ID3D11Device *device, ID3D11DeviceContext *context)
{
    ID3DBlob *code = compile("vertex_main", "vs_4_0");
    ID3D11VertexShader *vertex_shader = NULL;
    check_d3d(ID3D11Device_CreateVertexShader(device, ID3D10Blob_GetBufferPointer(code), ID3D10Blob_GetBufferSize(code),
                                              NULL, &vertex_shader),
              "CreateVertexShader", "the Direct3D driver refuses the demo's shader");
    ID3D10Blob_Release(code);

    code = compile("pixel_main", "ps_4_0");
    ID3D11PixelShader *pixel_shader = NULL;
    check_d3d(ID3D11Device_CreatePixelShader(device, ID3D10Blob_GetBufferPointer(code), ID3D10Blob_GetBufferSize(code),
                                             NULL, &pixel_shader),
              "CreatePixelShader", "the Direct3D driver refuses the demo's shader");
    ID3D10Blob_Release(code);

    D3D11_SAMPLER_DESC nearest = {
        .Filter = D3D11_FILTER_MIN_MAG_MIP_POINT,
        .AddressU = D3D11_TEXTURE_ADDRESS_CLAMP,
        .AddressV = D3D11_TEXTURE_ADDRESS_CLAMP,
        .AddressW = D3D11_TEXTURE_ADDRESS_CLAMP,
        .ComparisonFunc = D3D11_COMPARISON_NEVER,
    };
    ID3D11SamplerState *sampler = NULL;
    check_d3d(ID3D11Device_CreateSamplerState(device, &nearest, &sampler), "CreateSamplerState",
              "the Direct3D driver refuses a plain sampler");

    ID3D11DeviceContext_IASetPrimitiveTopology(context, D3D11_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
    ID3D11DeviceContext_VSSetShader(context, vertex_shader, NULL, 0);
    ID3D11DeviceContext_PSSetShader(context, pixel_shader, NULL, 0);
    ID3D11DeviceContext_PSSetSamplers(context, 0, 1, &sampler);

    /* The context holds what is bound to it */
    ID3D11VertexShader_Release(vertex_shader);
    ID3D11PixelShader_Release(pixel_shader);
    ID3D11SamplerState_Release(sampler);
}

static void draw_at(ID3D11DeviceContext *context, ID3D11ShaderResourceView *view, unsigned x, unsigned width,
                    unsigned height)
{
    D3D11_VIEWPORT place = {.TopLeftX = (float)x, .Width = (float)width, .Height = (float)height, .MaxDepth = 1};
    ID3D11DeviceContext_RSSetViewports(context, 1, &place);
    ID3D11DeviceContext_PSSetShaderResources(context, 0, 1, &view);
    ID3D11DeviceContext_Draw(context, 3, 0);
}

/* Waits for the drawing: the staging texture can be mapped only when all earlier work is done. */
static struct picture read_back(ID3D11DeviceContext *context, ID3D11Texture2D *target, ID3D11Texture2D *staging)
{
    D3D11_TEXTURE2D_DESC desc;
    ID3D11Texture2D_GetDesc(staging, &desc);
    struct picture drawn = picture_alloc(desc.Width, desc.Height);

    ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)staging, (ID3D11Resource *)target);
    D3D11_MAPPED_SUBRESOURCE mapped;
    check_d3d(ID3D11DeviceContext_Map(context, (ID3D11Resource *)staging, 0, D3D11_MAP_READ, 0, &mapped), "Map",
              "the drawn picture cannot be read back; was the graphics driver reset?");
    size_t row_bytes = (size_t)desc.Width * 4;
    for (unsigned y = 0; y < desc.Height; y++) {
        const unsigned char *row = (const unsigned char *)mapped.pData + (size_t)y * mapped.RowPitch;
        memcpy(drawn.pixels + y * row_bytes, row, row_bytes);
    }
    ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)staging, 0);
    return drawn;
}

/* A texture to draw into and one that the CPU can read, of the same size. */
static void create_targets(ID3D11Device *device, unsigned width, unsigned height, ID3D11Texture2D **target,
                           ID3D11Texture2D **staging)
{
    D3D11_TEXTURE2D_DESC desc = {
        .Width = width,
        .Height = height,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
        .SampleDesc.Count = 1,
        .Usage = D3D11_USAGE_DEFAULT,
        .BindFlags = D3D11_BIND_RENDER_TARGET,
    };
    check_d3d(ID3D11Device_CreateTexture2D(device, &desc, NULL, target), "CreateTexture2D (render target)",
              "take a smaller picture");
    desc.Usage = D3D11_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    check_d3d(ID3D11Device_CreateTexture2D(device, &desc, NULL, staging), "CreateTexture2D (staging)",
              "take a smaller picture");
}

static ID3D11ShaderResourceView *create_view(ID3D11Device *device, ID3D11Texture2D *texture)
{
    ID3D11ShaderResourceView *view = NULL;
    check_d3d(ID3D11Device_CreateShaderResourceView(device, (ID3D11Resource *)texture, NULL, &view),
              "CreateShaderResourceView", "the shared texture cannot be drawn with; was the graphics driver reset?");
    return view;
}

struct picture draw_side_by_side(ID3D11Device *device, ID3D11Texture2D *left, ID3D11Texture2D *right,
                                 double *milliseconds)
{
    D3D11_TEXTURE2D_DESC desc;
    ID3D11Texture2D_GetDesc(left, &desc);

    ID3D11Texture2D *target = NULL, *staging = NULL;
    create_targets(device, 2 * desc.Width + DRAW_GAP, desc.Height, &target, &staging);
    ID3D11RenderTargetView *target_view = NULL;
    check_d3d(ID3D11Device_CreateRenderTargetView(device, (ID3D11Resource *)target, NULL, &target_view),
              "CreateRenderTargetView", "the Direct3D driver can't draw into RGBA textures");
    ID3D11ShaderResourceView *left_view = create_view(device, left);
    ID3D11ShaderResourceView *right_view = create_view(device, right);
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext(device, &context);
    bind_pipeline(device, context);

    double start = clock_ms();
    static const float white[4] = {1, 1, 1, 1};
    ID3D11DeviceContext_ClearRenderTargetView(context, target_view, white);
    ID3D11DeviceContext_OMSetRenderTargets(context, 1, &target_view, NULL);
    draw_at(context, left_view, 0, desc.Width, desc.Height);
    draw_at(context, right_view, desc.Width + DRAW_GAP, desc.Width, desc.Height);
    struct picture drawn = read_back(context, target, staging);
    *milliseconds = clock_ms() - start;

    ID3D11DeviceContext_ClearState(context);
    ID3D11DeviceContext_Release(context);
    ID3D11ShaderResourceView_Release(left_view);
    ID3D11ShaderResourceView_Release(right_view);
    ID3D11RenderTargetView_Release(target_view);
    ID3D11Texture2D_Release(staging);
    ID3D11Texture2D_Release(target);
    return drawn;
}
