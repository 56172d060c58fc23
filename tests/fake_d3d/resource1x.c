/* The classes of the resources and queries of Direct3D 10 and 11, and what they tell. */
#include "d3d1x.h"

#include "fake_stubs.h"

static const struct {
    unsigned misc10, misc11;
} misc_flags[] = {
    {D3D10_RESOURCE_MISC_GENERATE_MIPS, D3D11_RESOURCE_MISC_GENERATE_MIPS},
    {D3D10_RESOURCE_MISC_SHARED, D3D11_RESOURCE_MISC_SHARED},
    {D3D10_RESOURCE_MISC_TEXTURECUBE, D3D11_RESOURCE_MISC_TEXTURECUBE},
    {D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX},
    {D3D10_RESOURCE_MISC_GDI_COMPATIBLE, D3D11_RESOURCE_MISC_GDI_COMPATIBLE},
};

#define MISC_FLAGS (sizeof misc_flags / sizeof misc_flags[0])

unsigned fake_misc_from10(unsigned misc)
{
    unsigned result = 0;
    size_t i;

    for (i = 0; i < MISC_FLAGS; i++)
        result |= misc & misc_flags[i].misc10 ? misc_flags[i].misc11 : 0;
    return result;
}

/* As the version of the object has them. */
static unsigned misc_of(struct fake_object *object, unsigned misc)
{
    unsigned result = 0;
    size_t i;

    if (fake_device1x_of(object)->version == 11)
        return misc;
    for (i = 0; i < MISC_FLAGS; i++)
        result |= misc & misc_flags[i].misc11 ? misc_flags[i].misc10 : 0;
    return result;
}

void FORWARD(child_get_device, void *out)
{
    struct fake_device1x *device = fake_device1x_of(object);

    fake_touch(object, method);
    fake_object_ref(&device->base.object);
    *(void **)out = &device->face;
}

static const struct fake_desc *desc_of(struct fake_object *object, enum fake_method method)
{
    fake_touch(object, method);
    return &((struct fake_resource *)object)->store->desc;
}

void FORWARD(describe_buffer, void *out)
{
    const struct fake_desc *desc = desc_of(object, method);
    D3D11_BUFFER_DESC *to = out;

    to->ByteWidth = desc->width;
    to->Usage = desc->usage;
    to->BindFlags = desc->bind;
    to->CPUAccessFlags = desc->cpu;
    to->MiscFlags = misc_of(object, desc->misc);
    if (fake_device1x_of(object)->version == 11)
        to->StructureByteStride = desc->stride;
}

void FORWARD(describe_texture2d, void *out)
{
    const struct fake_desc *desc = desc_of(object, method);

    *(D3D11_TEXTURE2D_DESC *)out = (D3D11_TEXTURE2D_DESC){
        .Width = desc->width,
        .Height = desc->height,
        .MipLevels = desc->mips,
        .ArraySize = desc->layers,
        .Format = desc->format->id,
        .SampleDesc = {desc->samples, desc->quality},
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = misc_of(object, desc->misc),
    };
}

void FORWARD(describe_texture3d, void *out)
{
    const struct fake_desc *desc = desc_of(object, method);

    *(D3D11_TEXTURE3D_DESC *)out = (D3D11_TEXTURE3D_DESC){
        .Width = desc->width,
        .Height = desc->height,
        .Depth = desc->depth,
        .MipLevels = desc->mips,
        .Format = desc->format->id,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = misc_of(object, desc->misc),
    };
}

/* ---- classes ---- */

#define AT(member) offsetof(struct fake_resource, member)
#define QUERY offsetof(struct fake_query, face)

/* clang-format off */
#define RESOURCE(version, name)                                                                          \
    static const ID3D##version##name##Vtbl name##version##_vtbl = {FAKE_STUBS_ID3D##version##name};      \
    static const struct fake_iid name##version##_ifaces[] = {                                            \
        {&IID_IUnknown, AT(face)}, {&IID_ID3D##version##DeviceChild, AT(face)},                          \
        {&IID_ID3D##version##Resource, AT(face)}, {&IID_ID3D##version##name, AT(face)},                  \
        {&IID_IDXGIObject, AT(dxgi)}, {&IID_IDXGIDeviceSubObject, AT(dxgi)},                             \
        {&IID_IDXGIResource, AT(dxgi)}, {&IID_IDXGIResource1, AT(dxgi)},                                 \
        {&IID_IDXGIKeyedMutex, AT(keyed)}, {&fake_iid_interop, AT(interop)}, {NULL, 0}};                 \
    static const struct fake_class name##version##_class = {"ID3D" #version #name, name##version##_ifaces, \
                                                            fake_resource_destroy, false};
#define QUERIES(version)                                                                                 \
    static const ID3D##version##QueryVtbl query##version##_vtbl = {FAKE_STUBS_ID3D##version##Query};     \
    static const struct fake_iid query##version##_ifaces[] = {                                           \
        {&IID_IUnknown, QUERY}, {&IID_ID3D##version##DeviceChild, QUERY},                                \
        {&IID_ID3D##version##Asynchronous, QUERY}, {&IID_ID3D##version##Query, QUERY}, {NULL, 0}};       \
    static const struct fake_iid predicate##version##_ifaces[] = {                                       \
        {&IID_IUnknown, QUERY}, {&IID_ID3D##version##DeviceChild, QUERY},                                \
        {&IID_ID3D##version##Asynchronous, QUERY}, {&IID_ID3D##version##Query, QUERY},                   \
        {&IID_ID3D##version##Predicate, QUERY}, {NULL, 0}};                                              \
    static const struct fake_class query##version##_class = {"ID3D" #version "Query",                    \
                                                             query##version##_ifaces, fake_query_destroy, false}; \
    static const struct fake_class predicate##version##_class = {"ID3D" #version "Predicate",            \
                                                                 predicate##version##_ifaces, fake_query_destroy, false};
/* clang-format on */
#define VERSION(version)         \
    RESOURCE(version, Buffer)    \
    RESOURCE(version, Texture1D) \
    RESOURCE(version, Texture2D) \
    RESOURCE(version, Texture3D) \
    QUERIES(version)
VERSION(10)
VERSION(11)

#define TYPES(version, largest)                                                                \
    {                                                                                          \
        [FAKE_BUFFER] = {&Buffer##version##_class, &Buffer##version##_vtbl, 0},                \
        [FAKE_TEXTURE1D] = {&Texture1D##version##_class, &Texture1D##version##_vtbl, largest}, \
        [FAKE_TEXTURE2D] = {&Texture2D##version##_class, &Texture2D##version##_vtbl, largest}, \
        [FAKE_TEXTURE3D] = {&Texture3D##version##_class, &Texture3D##version##_vtbl, 2048},    \
    }

const struct fake_resource_type *fake_types(unsigned version)
{
    static const struct fake_resource_type types[2][FAKE_TEXTURE3D + 1] = {TYPES(10, 8192), TYPES(11, 16384)};

    return types[version - 10];
}

HRESULT fake_query_make(struct fake_device1x *device, bool predicate, const D3D11_QUERY_DESC *desc, void **out)
{
    static const struct fake_class *const classes[2][2] = {{&query10_class, &predicate10_class},
                                                           {&query11_class, &predicate11_class}};
    struct fake_query *query;

    if (!out)
        return S_FALSE;
    query = fake_query_create(&device->base, classes[device->version - 10][predicate], desc->Query, desc->MiscFlags);
    query->predicate = predicate;
    query->face.vtbl = device->version == 11 ? (const void *)&query11_vtbl : &query10_vtbl;
    *out = &query->face;
    return S_OK;
}
