/* What Direct3D 10 and 11 allow a resource to be. */
#include "fake_internal.h"

#define TARGETS                                                                                                     \
    (D3D11_BIND_RENDER_TARGET | D3D11_BIND_DEPTH_STENCIL | D3D11_BIND_STREAM_OUTPUT | D3D11_BIND_UNORDERED_ACCESS | \
     D3D11_BIND_DECODER)
#define READ_WRITE (D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE)
#define MAX_DEPTH 2048

bool fake_desc_shared(const struct fake_desc *desc)
{
    return desc->misc & (D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX);
}

bool fake_desc_keyed(const struct fake_desc *desc)
{
    return desc->misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX;
}

static bool usage_allows(const struct fake_desc *desc, bool has_data)
{
    switch (desc->usage) {
    case D3D11_USAGE_DEFAULT: return desc->cpu == 0;
    case D3D11_USAGE_IMMUTABLE: return desc->cpu == 0 && has_data && desc->bind && !(desc->bind & TARGETS);
    case D3D11_USAGE_DYNAMIC:
        return desc->cpu == D3D11_CPU_ACCESS_WRITE && desc->bind && !(desc->bind & TARGETS) && desc->mips == 1 &&
               desc->layers == 1;
    case D3D11_USAGE_STAGING: return desc->cpu && !(desc->cpu & ~READ_WRITE) && desc->bind == 0;
    default: return false;
    }
}

static bool samples_allow(const struct fake_desc *desc, bool has_data)
{
    if (desc->samples == 1)
        return desc->quality == 0;
    if (desc->samples != 2 && desc->samples != 4 && desc->samples != 8)
        return false;
    return desc->kind == FAKE_TEXTURE2D && desc->usage == D3D11_USAGE_DEFAULT && desc->mips == 1 &&
           desc->quality == 0 && !has_data && !(desc->misc & D3D11_RESOURCE_MISC_TEXTURECUBE) &&
           desc->bind & (D3D11_BIND_RENDER_TARGET | D3D11_BIND_DEPTH_STENCIL);
}

static bool misc_allows(const struct fake_desc *desc)
{
    const unsigned generates = D3D11_BIND_RENDER_TARGET | D3D11_BIND_SHADER_RESOURCE;

    if (fake_desc_shared(desc) &&
        (desc->usage != D3D11_USAGE_DEFAULT || desc->kind == FAKE_TEXTURE3D || desc->kind == FAKE_TEXTURE1D))
        return false;
    if (fake_desc_keyed(desc) && (desc->kind != FAKE_TEXTURE2D || desc->misc & D3D11_RESOURCE_MISC_SHARED))
        return false;
    if (desc->misc & D3D11_RESOURCE_MISC_TEXTURECUBE &&
        (desc->kind != FAKE_TEXTURE2D || desc->layers % 6 || desc->width != desc->height))
        return false;
    return !(desc->misc & D3D11_RESOURCE_MISC_GENERATE_MIPS) || (desc->bind & generates) == generates;
}

static bool format_allows(const struct fake_desc *desc)
{
    static const unsigned kinds[] = {
        [FAKE_TEXTURE1D] = D3D11_FORMAT_SUPPORT_TEXTURE1D,
        [FAKE_TEXTURE2D] = D3D11_FORMAT_SUPPORT_TEXTURE2D,
        [FAKE_TEXTURE3D] = D3D11_FORMAT_SUPPORT_TEXTURE3D,
    };
    const struct fake_format *format = desc->format;
    unsigned support = fake_format_support(format);
    bool typeless = support & D3D11_FORMAT_SUPPORT_CAST_WITHIN_BIT_LAYOUT;

    if (!(support & kinds[desc->kind]))
        return false;
    if ((format->layout == FAKE_PACKED || !fake_knob_odd_planes()) &&
        (desc->width % format->block_width || desc->height % format->block_height))
        return false;
    if (format->layout != FAKE_PACKED && desc->mips != 1)
        return false;
    /* What a typeless format is good for depends on the views, which are not made here. */
    if (typeless)
        return true;
    if (desc->bind & D3D11_BIND_RENDER_TARGET && !(support & D3D11_FORMAT_SUPPORT_RENDER_TARGET) &&
        format->layout == FAKE_PACKED)
        return false;
    return !(desc->bind & D3D11_BIND_DEPTH_STENCIL) || support & D3D11_FORMAT_SUPPORT_DEPTH_STENCIL;
}

unsigned fake_full_chain(unsigned size)
{
    unsigned mips = 0;

    for (; size; size >>= 1)
        mips++;
    return mips;
}

static HRESULT check_buffer(const struct fake_desc *desc, bool has_data)
{
    if (!desc->width || !usage_allows(desc, has_data) || !misc_allows(desc))
        return E_INVALIDARG;
    if (desc->bind & D3D11_BIND_CONSTANT_BUFFER && desc->width % 16)
        return E_INVALIDARG;
    return S_OK;
}

HRESULT fake_desc_check(struct fake_desc *desc, bool has_data, unsigned max_size)
{
    unsigned chain;

    if (!desc->format)
        return E_INVALIDARG;
    if (desc->kind == FAKE_BUFFER)
        return check_buffer(desc, has_data);
    if (!desc->width || !desc->height || !desc->depth || !desc->layers)
        return E_INVALIDARG;
    if (desc->kind == FAKE_TEXTURE3D)
        max_size = MAX_DEPTH;
    if (desc->width > max_size || desc->height > max_size || desc->depth > MAX_DEPTH || desc->layers > MAX_DEPTH)
        return E_INVALIDARG;
    chain = fake_full_chain(desc->width | desc->height | desc->depth);
    if (!desc->mips)
        desc->mips = chain;
    if (desc->mips > chain)
        return E_INVALIDARG;
    if (!format_allows(desc) || !usage_allows(desc, has_data) || !samples_allow(desc, has_data) || !misc_allows(desc))
        return E_INVALIDARG;
    return S_OK;
}
