/* Textures and buffers of Direct3D 11. */
#define COBJMACROS
#include "surface.h"

#include <string.h>

ID3D11Device *d3d11_open(void)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    ID3D11Device *device = NULL;
    check_d3d(
        D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION, &device, NULL, NULL),
        "D3D11CreateDevice", "a graphics driver with Direct3D 11 is needed");
    return device;
}

/* One reference fewer than the name suggests: the device holds it too, and lives as long as the program. */
static ID3D11DeviceContext *context_of(const struct surface *surface)
{
    ID3D11DeviceContext *context;
    ID3D11Device_GetImmediateContext((ID3D11Device *)surface->device, &context);
    ID3D11DeviceContext_Release(context);
    return context;
}

static void wait(struct surface *surface)
{
    static const D3D11_QUERY_DESC desc = {.Query = D3D11_QUERY_EVENT};
    ID3D11DeviceContext *context = context_of(surface);
    ID3D11Query *query;
    BOOL done;
    check_d3d(ID3D11Device_CreateQuery((ID3D11Device *)surface->device, &desc, &query), "CreateQuery", "no queries");
    ID3D11DeviceContext_End(context, (ID3D11Asynchronous *)query);
    ID3D11DeviceContext_Flush(context);
    while (ID3D11DeviceContext_GetData(context, (ID3D11Asynchronous *)query, &done, sizeof(done), 0) == S_FALSE)
        SwitchToThread();
    ID3D11Query_Release(query);
}

static bool is_planar(const struct surface *surface)
{
    return surface->plane_count > 1;
}

static void map(struct surface *surface, bool over, bool back, struct rows rows[MOST_PLANES]);
static void unmap(struct surface *surface, bool back);

/* No target has planes. */
static void upload(struct surface *surface, float value)
{
    struct rows rows[MOST_PLANES];
    map(surface, false, true, rows);
    for (unsigned i = 0; i < surface->plane_count; i++)
        memset(rows[i].data, (int)(value * 255 + 0.5f), rows[i].pitch * surface->planes[i].height);
    unmap(surface, true);
}

static void draw(struct surface *surface, float value)
{
    ID3D11DeviceContext *context = context_of(surface);
    ID3D11RenderTargetView *view = NULL;
    const float color[4] = {value, value, value, 1};
    if (surface->is_buffer) {
        unsigned char bytes[256];
        const D3D11_BOX box = {0, 0, 0, sizeof(bytes), 1, 1};
        memset(bytes, (int)(value * 255 + 0.5f), sizeof(bytes));
        ID3D11DeviceContext_UpdateSubresource(context, surface->resource, 0, &box, bytes, 0, 0);
    } else if (is_planar(surface)) {
        upload(surface, value);
    } else {
        check_d3d(ID3D11Device_CreateRenderTargetView((ID3D11Device *)surface->device, surface->resource, NULL, &view),
                  "CreateRenderTargetView", "this format cannot be drawn to");
        /* DXVK puts a clear off until the texture is used: here, so that no way has to pay for it. */
        const D3D11_BOX box = {0, 0, 0, 1, 1, 1};
        ID3D11DeviceContext_ClearRenderTargetView(context, view, color);
        ID3D11DeviceContext_CopySubresourceRegion(context, surface->pixel, 0, 0, 0, 0, surface->resource, 0, &box);
        ID3D11RenderTargetView_Release(view);
    }
    wait(surface);
}

static void map(struct surface *surface, bool over, bool back, struct rows rows[MOST_PLANES])
{
    ID3D11DeviceContext *context = context_of(surface);
    D3D11_MAPPED_SUBRESOURCE mapped = {0};
    if (over)
        ID3D11DeviceContext_CopySubresourceRegion(context, surface->staging, 0, 0, 0, 0, surface->resource, 0, NULL);
    check_d3d(ID3D11DeviceContext_Map(context, surface->staging, 0,
                                      over && back ? D3D11_MAP_READ_WRITE
                                      : over       ? D3D11_MAP_READ
                                                   : D3D11_MAP_WRITE,
                                      0, &mapped),
              "Map", "the staging copy cannot be read");
    rows[0] = (struct rows){mapped.pData, surface->is_buffer ? BUFFER_PITCH : mapped.RowPitch};
    if (is_planar(surface))
        rows[1] = (struct rows){(char *)mapped.pData + surface->planes[0].height * mapped.RowPitch, mapped.RowPitch};
}

static void unmap(struct surface *surface, bool back)
{
    ID3D11DeviceContext *context = context_of(surface);
    ID3D11DeviceContext_Unmap(context, surface->staging, 0);
    if (!back)
        return;
    ID3D11DeviceContext_CopySubresourceRegion(context, surface->resource, 0, 0, 0, 0, surface->staging, 0, NULL);
    ID3D11DeviceContext_Flush(context);
}

static float half_value(unsigned short bits)
{
    float value = (float)(1024 + (bits & 1023)) / 1024;
    for (int exponent = bits >> 10 & 31; exponent < 15; exponent++)
        value /= 2;
    return value;
}

/* Through a staging copy of one texel, so that the surface's own is as its last user left it. */
static float look(struct surface *surface)
{
    ID3D11DeviceContext *context = context_of(surface);
    const UINT size = is_planar(surface) ? 2 : 1;
    const D3D11_BOX box = {0, 0, 0, surface->is_buffer ? 4 : size, size, 1};
    D3D11_MAPPED_SUBRESOURCE mapped = {0};
    ID3D11DeviceContext_CopySubresourceRegion(context, surface->pixel, 0, 0, 0, 0, surface->resource, 0, &box);
    check_d3d(ID3D11DeviceContext_Map(context, surface->pixel, 0, D3D11_MAP_READ, 0, &mapped), "Map", "no staging");
    const float value = surface->planes[0].format.image_channel_data_type == CL_HALF_FLOAT
                            ? half_value(*(const unsigned short *)mapped.pData)
                            : (float)*(const unsigned char *)mapped.pData / 255;
    ID3D11DeviceContext_Unmap(context, surface->pixel, 0);
    return value;
}

static cl_mem share(struct surface *surface, const struct opencl *cl, cl_mem_flags flags, unsigned plane)
{
    cl_int code;
    cl_mem object = surface->is_buffer ? cl->from_buffer(cl->context, flags, surface->resource, &code)
                                       : cl->from_texture(cl->context, flags, surface->resource, plane, &code);
    check_cl(code, "clCreateFromD3D11...KHR", "this OpenCL cannot share such a resource");
    return object;
}

static void close(struct surface *surface)
{
    ID3D11Resource_Release((ID3D11Resource *)surface->pixel);
    ID3D11Resource_Release((ID3D11Resource *)surface->staging);
    ID3D11Resource_Release((ID3D11Resource *)surface->resource);
}

static const struct surface_ops ops = {draw, map, unmap, wait, look, share, close};

static void *make_texture(ID3D11Device *device, DXGI_FORMAT format, unsigned width, unsigned height, bool staging)
{
    const D3D11_TEXTURE2D_DESC desc = {
        .Width = width,
        .Height = height,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = format,
        .SampleDesc.Count = 1,
        .Usage = staging ? D3D11_USAGE_STAGING : D3D11_USAGE_DEFAULT,
        .BindFlags = staging                      ? 0
                     : format == DXGI_FORMAT_NV12 ? D3D11_BIND_SHADER_RESOURCE
                                                  : D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET,
        .CPUAccessFlags = staging ? D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE : 0,
    };
    ID3D11Texture2D *texture = NULL;
    check_d3d(ID3D11Device_CreateTexture2D(device, &desc, NULL, &texture), "CreateTexture2D", "no memory?");
    return texture;
}

struct surface d3d11_texture(ID3D11Device *device, DXGI_FORMAT format, unsigned width, unsigned height)
{
    const bool half = format == DXGI_FORMAT_R16G16B16A16_FLOAT;
    return (struct surface){
        .ops = &ops,
        .bytes = (size_t)width * height * (half ? 8 : 4),
        .plane_count = 1,
        .planes = {{width, height, half ? 8 : 4, {CL_RGBA, half ? CL_HALF_FLOAT : CL_UNORM_INT8}}},
        .device = device,
        .resource = make_texture(device, format, width, height, false),
        .staging = make_texture(device, format, width, height, true),
        .pixel = make_texture(device, format, 1, 1, true),
    };
}

bool d3d11_has_nv12(ID3D11Device *device)
{
    UINT support = 0;
    return SUCCEEDED(ID3D11Device_CheckFormatSupport(device, DXGI_FORMAT_NV12, &support)) &&
           (support & D3D11_FORMAT_SUPPORT_TEXTURE2D);
}

struct surface d3d11_nv12(ID3D11Device *device, unsigned width, unsigned height)
{
    return (struct surface){
        .ops = &ops,
        .bytes = (size_t)width * height * 3 / 2,
        .plane_count = 2,
        .planes = {{width, height, 1, {CL_R, CL_UNORM_INT8}}, {width / 2, height / 2, 2, {CL_RG, CL_UNORM_INT8}}},
        .device = device,
        .resource = make_texture(device, DXGI_FORMAT_NV12, width, height, false),
        .staging = make_texture(device, DXGI_FORMAT_NV12, width, height, true),
        .pixel = make_texture(device, DXGI_FORMAT_NV12, 2, 2, true),
    };
}

static void *make_buffer(ID3D11Device *device, size_t bytes, bool staging)
{
    const D3D11_BUFFER_DESC desc = {
        .ByteWidth = (UINT)bytes,
        .Usage = staging ? D3D11_USAGE_STAGING : D3D11_USAGE_DEFAULT,
        .BindFlags = staging ? 0 : D3D11_BIND_VERTEX_BUFFER,
        .CPUAccessFlags = staging ? D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE : 0,
    };
    ID3D11Buffer *buffer = NULL;
    check_d3d(ID3D11Device_CreateBuffer(device, &desc, NULL, &buffer), "CreateBuffer", "no memory?");
    return buffer;
}

struct surface d3d11_buffer(ID3D11Device *device, size_t bytes)
{
    return (struct surface){
        .ops = &ops,
        .is_buffer = true,
        .bytes = bytes,
        .plane_count = 1,
        .planes = {{BUFFER_PITCH, bytes / BUFFER_PITCH, 1, {0, 0}}},
        .device = device,
        .resource = make_buffer(device, bytes, false),
        .staging = make_buffer(device, bytes, true),
        .pixel = make_buffer(device, 16, true),
    };
}
