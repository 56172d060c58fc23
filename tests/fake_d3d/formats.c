/* The formats that the fake knows, and where the texels of an image lie. */
#include "fake_internal.h"

#include <string.h>

#define TEXTURE                                                                                         \
    (D3D11_FORMAT_SUPPORT_TEXTURE1D | D3D11_FORMAT_SUPPORT_TEXTURE2D | D3D11_FORMAT_SUPPORT_TEXTURE3D | \
     D3D11_FORMAT_SUPPORT_TEXTURECUBE | D3D11_FORMAT_SUPPORT_MIP | D3D11_FORMAT_SUPPORT_CPU_LOCKABLE)
#define SAMPLED (TEXTURE | D3D11_FORMAT_SUPPORT_SHADER_LOAD | D3D11_FORMAT_SUPPORT_SHADER_SAMPLE)
#define COLOUR                                                                               \
    (SAMPLED | D3D11_FORMAT_SUPPORT_RENDER_TARGET | D3D11_FORMAT_SUPPORT_MIP_AUTOGEN |       \
     D3D11_FORMAT_SUPPORT_MULTISAMPLE_RENDERTARGET | D3D11_FORMAT_SUPPORT_MULTISAMPLE_LOAD | \
     D3D11_FORMAT_SUPPORT_BUFFER)
#define VIEWED (COLOUR | D3D11_FORMAT_SUPPORT_TYPED_UNORDERED_ACCESS_VIEW)
#define TYPELESS (TEXTURE | D3D11_FORMAT_SUPPORT_CAST_WITHIN_BIT_LAYOUT)
#define DEPTH (D3D11_FORMAT_SUPPORT_TEXTURE2D | D3D11_FORMAT_SUPPORT_MIP | D3D11_FORMAT_SUPPORT_DEPTH_STENCIL)
#define BLOCKS SAMPLED
#define VIDEO                                                                                                \
    (D3D11_FORMAT_SUPPORT_TEXTURE2D | D3D11_FORMAT_SUPPORT_CPU_LOCKABLE | D3D11_FORMAT_SUPPORT_SHADER_LOAD | \
     D3D11_FORMAT_SUPPORT_SHADER_SAMPLE | D3D11_FORMAT_SUPPORT_DECODER_OUTPUT |                              \
     D3D11_FORMAT_SUPPORT_VIDEO_PROCESSOR_INPUT)

#define DXGI(name) "DXGI_FORMAT_" #name, DXGI_FORMAT_##name
#define FAMILY(name) DXGI_FORMAT_##name##_TYPELESS

/* clang-format off */
static const struct fake_format dxgi_formats[] = {
    /* name and number               family                 bytes, block, layout     support */
    {DXGI(R32G32B32A32_TYPELESS),   FAMILY(R32G32B32A32),  16, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R32G32B32A32_FLOAT),      FAMILY(R32G32B32A32),  16, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32G32B32A32_UINT),       FAMILY(R32G32B32A32),  16, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32G32B32A32_SINT),       FAMILY(R32G32B32A32),  16, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32G32B32_TYPELESS),      FAMILY(R32G32B32),     12, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R32G32B32_FLOAT),         FAMILY(R32G32B32),     12, 1, 1, FAKE_PACKED, SAMPLED},
    {DXGI(R32G32B32_UINT),          FAMILY(R32G32B32),     12, 1, 1, FAKE_PACKED, SAMPLED},
    {DXGI(R32G32B32_SINT),          FAMILY(R32G32B32),     12, 1, 1, FAKE_PACKED, SAMPLED},
    {DXGI(R16G16B16A16_TYPELESS),   FAMILY(R16G16B16A16),   8, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R16G16B16A16_FLOAT),      FAMILY(R16G16B16A16),   8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16B16A16_UNORM),      FAMILY(R16G16B16A16),   8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16B16A16_UINT),       FAMILY(R16G16B16A16),   8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16B16A16_SNORM),      FAMILY(R16G16B16A16),   8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16B16A16_SINT),       FAMILY(R16G16B16A16),   8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32G32_TYPELESS),         FAMILY(R32G32),         8, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R32G32_FLOAT),            FAMILY(R32G32),         8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32G32_UINT),             FAMILY(R32G32),         8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32G32_SINT),             FAMILY(R32G32),         8, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R10G10B10A2_TYPELESS),    FAMILY(R10G10B10A2),    4, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R10G10B10A2_UNORM),       FAMILY(R10G10B10A2),    4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R10G10B10A2_UINT),        FAMILY(R10G10B10A2),    4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R11G11B10_FLOAT),         0,                      4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8B8A8_TYPELESS),       FAMILY(R8G8B8A8),       4, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R8G8B8A8_UNORM),          FAMILY(R8G8B8A8),       4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8B8A8_UNORM_SRGB),     FAMILY(R8G8B8A8),       4, 1, 1, FAKE_PACKED, COLOUR},
    {DXGI(R8G8B8A8_UINT),           FAMILY(R8G8B8A8),       4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8B8A8_SNORM),          FAMILY(R8G8B8A8),       4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8B8A8_SINT),           FAMILY(R8G8B8A8),       4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16_TYPELESS),         FAMILY(R16G16),         4, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R16G16_FLOAT),            FAMILY(R16G16),         4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16_UNORM),            FAMILY(R16G16),         4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16_UINT),             FAMILY(R16G16),         4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16_SNORM),            FAMILY(R16G16),         4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16G16_SINT),             FAMILY(R16G16),         4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32_TYPELESS),            FAMILY(R32),            4, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(D32_FLOAT),               FAMILY(R32),            4, 1, 1, FAKE_PACKED, DEPTH},
    {DXGI(R32_FLOAT),               FAMILY(R32),            4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32_UINT),                FAMILY(R32),            4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R32_SINT),                FAMILY(R32),            4, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(D24_UNORM_S8_UINT),       FAMILY(R24G8),          4, 1, 1, FAKE_PACKED, DEPTH},
    {DXGI(R8G8_TYPELESS),           FAMILY(R8G8),           2, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R8G8_UNORM),              FAMILY(R8G8),           2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8_UINT),               FAMILY(R8G8),           2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8_SNORM),              FAMILY(R8G8),           2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8G8_SINT),               FAMILY(R8G8),           2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16_TYPELESS),            FAMILY(R16),            2, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R16_FLOAT),               FAMILY(R16),            2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(D16_UNORM),               FAMILY(R16),            2, 1, 1, FAKE_PACKED, DEPTH},
    {DXGI(R16_UNORM),               FAMILY(R16),            2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16_UINT),                FAMILY(R16),            2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16_SNORM),               FAMILY(R16),            2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R16_SINT),                FAMILY(R16),            2, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8_TYPELESS),             FAMILY(R8),             1, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(R8_UNORM),                FAMILY(R8),             1, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8_UINT),                 FAMILY(R8),             1, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8_SNORM),                FAMILY(R8),             1, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R8_SINT),                 FAMILY(R8),             1, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(A8_UNORM),                0,                      1, 1, 1, FAKE_PACKED, VIEWED},
    {DXGI(R9G9B9E5_SHAREDEXP),      0,                      4, 1, 1, FAKE_PACKED, SAMPLED},
    {DXGI(B5G6R5_UNORM),            0,                      2, 1, 1, FAKE_PACKED, COLOUR},
    {DXGI(B8G8R8A8_TYPELESS),       FAMILY(B8G8R8A8),       4, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(B8G8R8A8_UNORM),          FAMILY(B8G8R8A8),       4, 1, 1, FAKE_PACKED, COLOUR},
    {DXGI(B8G8R8A8_UNORM_SRGB),     FAMILY(B8G8R8A8),       4, 1, 1, FAKE_PACKED, COLOUR},
    {DXGI(B8G8R8X8_TYPELESS),       FAMILY(B8G8R8X8),       4, 1, 1, FAKE_PACKED, TYPELESS},
    {DXGI(B8G8R8X8_UNORM),          FAMILY(B8G8R8X8),       4, 1, 1, FAKE_PACKED, COLOUR},
    {DXGI(B8G8R8X8_UNORM_SRGB),     FAMILY(B8G8R8X8),       4, 1, 1, FAKE_PACKED, COLOUR},
    {DXGI(BC1_UNORM),               FAMILY(BC1),            8, 4, 4, FAKE_PACKED, BLOCKS},
    {DXGI(BC3_UNORM),               FAMILY(BC3),           16, 4, 4, FAKE_PACKED, BLOCKS},
    {DXGI(YUY2),                    0,                      4, 2, 1, FAKE_PACKED, VIDEO},
    {DXGI(NV12),                    0,                      1, 2, 2, FAKE_NV,     VIDEO},
    {DXGI(P010),                    0,                      2, 2, 2, FAKE_NV,     VIDEO},
    {DXGI(P016),                    0,                      2, 2, 2, FAKE_NV,     VIDEO},
    {"bytes of a buffer", DXGI_FORMAT_UNKNOWN, 0,           1, 1, 1, FAKE_PACKED, 0},
};

#define D3D9(name) "D3DFMT_" #name, D3DFMT_##name
#define TARGET D3D11_FORMAT_SUPPORT_RENDER_TARGET

/* Direct3D 9 asks of the support only whether a format can be a render target. Those of video processors can with some
 * drivers. */
static const struct fake_format d3d9_formats[] = {
    {D3D9(A8R8G8B8),        0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(X8R8G8B8),        0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A8B8G8R8),        0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(X8B8G8R8),        0,  4, 1, 1, FAKE_PACKED, 0},
    {D3D9(R5G6B5),          0,  2, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A2R10G10B10),     0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A2B10G10R10),     0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(G16R16),          0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A16B16G16R16),    0,  8, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A8),              0,  1, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(L8),              0,  1, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A8L8),            0,  2, 1, 1, FAKE_PACKED, 0},
    {D3D9(L16),             0,  2, 1, 1, FAKE_PACKED, 0},
    {D3D9(R16F),            0,  2, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(G16R16F),         0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A16B16G16R16F),   0,  8, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(R32F),            0,  4, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(G32R32F),         0,  8, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(A32B32G32R32F),   0, 16, 1, 1, FAKE_PACKED, TARGET},
    {D3D9(YUY2),            0,  4, 2, 1, FAKE_PACKED, TARGET},
    {D3D9(UYVY),            0,  4, 2, 1, FAKE_PACKED, 0},
    {"YVYU", MAKEFOURCC('Y', 'V', 'Y', 'U'), 0,  4, 2, 1, FAKE_PACKED, 0},
    {"VYUY", MAKEFOURCC('V', 'Y', 'U', 'Y'), 0,  4, 2, 1, FAKE_PACKED, 0},
    {D3D9(DXT1),            0,  8, 4, 4, FAKE_PACKED, 0},
    {D3D9(DXT5),            0, 16, 4, 4, FAKE_PACKED, 0},
    {"NV12", MAKEFOURCC('N', 'V', '1', '2'), 0,  1, 2, 2, FAKE_NV,     TARGET},
    {"P010", MAKEFOURCC('P', '0', '1', '0'), 0,  2, 2, 2, FAKE_NV,     TARGET},
    {"P016", MAKEFOURCC('P', '0', '1', '6'), 0,  2, 2, 2, FAKE_NV,     TARGET},
    {"YV12", MAKEFOURCC('Y', 'V', '1', '2'), 0,  1, 2, 2, FAKE_YV,     TARGET},
};
/* clang-format on */

#undef DXGI
#undef FAMILY
#undef D3D9
#undef TARGET

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct fake_format *find(const struct fake_format *formats, size_t count, unsigned id)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (formats[i].id == id)
            return &formats[i];
    return NULL;
}

const struct fake_format *fake_format_dxgi(DXGI_FORMAT format)
{
    return find(dxgi_formats, COUNT(dxgi_formats), format);
}

const struct fake_format *fake_format_d3d9(D3DFORMAT format)
{
    return find(d3d9_formats, COUNT(d3d9_formats), format);
}

unsigned fake_format_support(const struct fake_format *format)
{
    return format->support;
}

unsigned fake_format_planes(const struct fake_format *format)
{
    return format->layout == FAKE_YV ? 3 : format->layout == FAKE_NV ? 2 : 1;
}

static size_t divide_up(size_t value, size_t by)
{
    return (value + by - 1) / by;
}

size_t fake_format_row_bytes(const struct fake_format *format, unsigned width)
{
    if (format->layout != FAKE_PACKED)
        return (size_t)width * format->bytes;
    return divide_up(width, format->block_width) * format->bytes;
}

size_t fake_format_rows(const struct fake_format *format, unsigned height)
{
    if (format->layout != FAKE_PACKED)
        return height + height / 2;
    return divide_up(height, format->block_height);
}

/* One plane of a view, in elements that each cover some texels. */
struct plane {
    size_t offset, pitch;
    unsigned width, height; /* texels of an element */
    unsigned bytes;         /* of an element */
};

static struct plane plane_of(const struct fake_format *format, unsigned number, const struct fake_view *view,
                             unsigned height)
{
    struct plane plane = {0, view->pitch, format->block_width, format->block_height, format->bytes};

    if (format->layout == FAKE_PACKED)
        return plane;
    if (number == 0) {
        plane.width = plane.height = 1;
        return plane;
    }
    plane.offset = view->pitch * height;
    if (format->layout == FAKE_NV) {
        plane.bytes = 2 * format->bytes;
        return plane;
    }
    plane.pitch = view->pitch / 2;
    plane.offset += (number - 1) * plane.pitch * (height / 2);
    return plane;
}

size_t fake_format_extent(const struct fake_format *format, unsigned width, unsigned height, unsigned depth,
                          size_t pitch, size_t slice)
{
    struct fake_view view = {NULL, pitch, slice};
    unsigned last = fake_format_planes(format) - 1;
    struct plane plane = plane_of(format, last, &view, height);
    size_t rows = divide_up(height, plane.height);
    size_t row_bytes = divide_up(width, plane.width) * plane.bytes;

    return slice * (depth - 1) + plane.offset + plane.pitch * (rows - 1) + row_bytes;
}

static bool on_block(unsigned at, unsigned block, unsigned end)
{
    return at % block == 0 || at == end;
}

bool fake_format_box_fits(const struct fake_format *format, const struct fake_box *box, unsigned width, unsigned height)
{
    return box->left % format->block_width == 0 && box->top % format->block_height == 0 &&
           on_block(box->right, format->block_width, width) && on_block(box->bottom, format->block_height, height);
}

void fake_format_copy(const struct fake_format *format, const struct fake_view *target, unsigned target_height,
                      unsigned x, unsigned y, unsigned z, const struct fake_view *source, unsigned source_height,
                      const struct fake_box *box)
{
    unsigned number, slice, row;

    for (number = 0; number < fake_format_planes(format); number++) {
        struct plane to = plane_of(format, number, target, target_height);
        struct plane from = plane_of(format, number, source, source_height);
        size_t bytes = divide_up(box->right - box->left, from.width) * from.bytes;
        unsigned rows = (unsigned)divide_up(box->bottom - box->top, from.height);

        to.offset += y / to.height * to.pitch + (size_t)(x / to.width) * to.bytes;
        from.offset += box->top / from.height * from.pitch + (size_t)(box->left / from.width) * from.bytes;
        for (slice = 0; slice < box->back - box->front; slice++)
            for (row = 0; row < rows; row++)
                memcpy(target->base + to.offset + (z + slice) * target->slice + row * to.pitch,
                       source->base + from.offset + (box->front + slice) * source->slice + row * from.pitch, bytes);
    }
}
