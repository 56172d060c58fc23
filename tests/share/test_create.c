/* The rules for clCreateFromD3D1xBufferKHR, ...Texture2DKHR and ...Texture3DKHR: what they take, what they refuse and with
 * which code, and that a refusal leaves nothing behind. */
#include "below.h"
#include "common/formats.h"
#include "sharing.h"

/* ---- what is taken ---- */

SHARING_CASE("each kind of resource makes an object", each_kind, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_open(rig, (enum kind)kind, 7, &shared))
            continue;
        CHECK(round_trip(rig, &shared, 7, 8));
        shared_close(&shared);
    }
}

SHARING_CASE("the three access flags and none", valid_flags, 0)
{
    static const struct {
        cl_mem_flags given, answered;
    } cases[] = {
        {0, CL_MEM_READ_WRITE},
        {CL_MEM_READ_WRITE, CL_MEM_READ_WRITE},
        {CL_MEM_READ_ONLY, CL_MEM_READ_ONLY},
        {CL_MEM_WRITE_ONLY, CL_MEM_WRITE_ONLY},
    };
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            cl_int status = 1;
            cl_mem_flags flags = 12345;
            cl_mem object =
                kind_create(rig, rig->context, cases[i].given, (enum kind)kind, shared.resource, 0, &status);
            if (!CHECK_INT(status, CL_SUCCESS))
                continue;
            CHECK_INT(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), CL_SUCCESS);
            CHECK_INT(flags, cases[i].answered);
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        }
        shared_close(&shared);
    }
}

SHARING_CASE("the place for the code may be NULL", no_place_for_the_code, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        shared.object = kind_create(rig, rig->context, CL_MEM_READ_ONLY, (enum kind)kind, shared.resource, 0, NULL);
        CHECK(shared.object != NULL);
        /* A refusal without a place for its code is NULL and no crash. */
        CHECK(kind_create(rig, rig->context, CL_MEM_READ_ONLY, (enum kind)kind, shared.resource, 0, NULL) == NULL);
        CHECK(kind_create(rig, NULL, CL_MEM_READ_ONLY, (enum kind)kind, shared.resource, 0, NULL) == NULL);
        shared_close(&shared);
    }
}

/* ---- contexts and flags ---- */

SHARING_CASE("the context must be one with this interop", context_must_fit, 0)
{
    cl_context plain = plain_context(rig);
    struct rig other;
    const bool has_other = rig_open(&other, other_api(rig), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        refused(rig, NULL, CL_MEM_READ_WRITE, (enum kind)kind, shared.resource, 0, CL_INVALID_CONTEXT);
        refused(rig, plain, CL_MEM_READ_WRITE, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
        if (has_other)
            refused(rig, other.context, CL_MEM_READ_WRITE, (enum kind)kind, shared.resource, 0,
                    rig->api->invalid_resource);
        shared_close(&shared);
    }
    if (has_other)
        rig_close(&other);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

SHARING_CASE("other flags are refused", bad_flags, 0)
{
    static const cl_mem_flags bad[] = {
        CL_MEM_READ_WRITE | CL_MEM_READ_ONLY,
        CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY,
        CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
        CL_MEM_USE_HOST_PTR,
        CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
        CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
        CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
        CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
        CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY,
        CL_MEM_HOST_WRITE_ONLY,
        CL_MEM_READ_WRITE | (cl_mem_flags)1 << 40,
        (cl_mem_flags)1 << 20,
        ~(cl_mem_flags)0,
    };
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            refused(rig, rig->context, bad[i], (enum kind)kind, shared.resource, 0, CL_INVALID_VALUE);
        /* None of these refusals took the subresource. */
        shared.object = kind_create(rig, rig->context, 0, (enum kind)kind, shared.resource, 0, NULL);
        CHECK(shared.object != NULL);
        shared_close(&shared);
    }
}

/* ---- resources ---- */

SHARING_CASE("buffers, 2D and 3D textures are not mixed up", kinds_are_not_mixed, 0)
{
    for (int is = 0; is < KINDS; is++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)is, 1, &shared))
            continue;
        for (int as = 0; as < KINDS; as++)
            if (as != is)
                refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)as, shared.resource, 0,
                        rig->api->invalid_resource);
        shared_close(&shared);
    }
}

static void *make_texture_1d(const struct rig *rig)
{
    void *texture = NULL;
    if (rig->api->version == 11) {
        const D3D11_TEXTURE1D_DESC desc = {
            16, 1, 1, DXGI_FORMAT_R8G8B8A8_UNORM, D3D11_USAGE_DEFAULT, D3D11_BIND_SHADER_RESOURCE, 0, 0};
        ID3D11Device_CreateTexture1D((ID3D11Device *)rig->device, &desc, NULL, (ID3D11Texture1D **)&texture);
    } else {
        const D3D10_TEXTURE1D_DESC desc = {
            16, 1, 1, DXGI_FORMAT_R8G8B8A8_UNORM, D3D10_USAGE_DEFAULT, D3D10_BIND_SHADER_RESOURCE, 0, 0};
        ID3D10Device_CreateTexture1D((ID3D10Device *)rig->device, &desc, NULL, (ID3D10Texture1D **)&texture);
    }
    return texture;
}

/* The extensions have no function for it: none of the three takes it. */
SHARING_CASE("1D textures are refused", texture_1d, 0)
{
    void *texture = make_texture_1d(rig);
    if (!texture) {
        SKIP("this Direct3D makes no 1D textures");
        return;
    }
    for (int kind = 0; kind < KINDS; kind++)
        refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, texture, 0, rig->api->invalid_resource);
    rig_release(texture);
}

SHARING_CASE("resources of the other API are refused", other_api_resource, 0)
{
    struct rig other;
    if (!rig_open(&other, other_api(rig), RIG_NO_CONTEXT))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(&other, (enum kind)kind, 1, &shared))
            continue;
        refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
        shared_close(&shared);
    }
    rig_close(&other);
}

SHARING_CASE("resources of another device are refused", other_device, 0)
{
    void *device = rig_another_device(rig);
    if (!device)
        return;
    cl_int status = 1;
    cl_context context = rig_make_context(rig, device, false, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        for (int kind = 0; kind < KINDS; kind++) {
            const struct rig_desc desc = kind_desc((enum kind)kind);
            void *resource = rig_make(rig, device, &desc, NULL);
            if (!CHECK(resource != NULL))
                continue;
            refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, rig->api->invalid_resource);
            /* In the context of its own device it is welcome. */
            cl_mem object = kind_create(rig, context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, &status);
            CHECK_INT(status, CL_SUCCESS);
            if (object)
                CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
            rig_release(resource);
        }
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
    rig_release(device);
}

SHARING_CASE("immutable resources are refused", immutable, 0)
{
    static const char zeros[SHARED_BYTES];
    for (int kind = 0; kind < KINDS; kind++) {
        struct rig_desc desc = kind_desc((enum kind)kind);
        desc.usage = RIG_IMMUTABLE;
        desc.bind = D3D11_BIND_SHADER_RESOURCE;
        desc.initial = zeros;
        void *resource = rig_make(rig, rig->device, &desc, NULL);
        if (!CHECK(resource != NULL))
            continue;
        refused(rig, rig->context, CL_MEM_READ_ONLY, (enum kind)kind, resource, 0, rig->api->invalid_resource);
        refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, rig->api->invalid_resource);
        rig_release(resource);
    }
}

SHARING_CASE("multisampled textures are refused", multisampled, 0)
{
    const struct rig_desc desc = {
        .format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 8, .height = 4, .samples = 4, .bind = D3D11_BIND_RENDER_TARGET};
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    if (!texture) {
        SKIP("this Direct3D makes no textures with 4 samples");
        return;
    }
    refused(rig, rig->context, CL_MEM_READ_WRITE, KIND_2D, texture, 0, rig->api->invalid_resource);
    refused(rig, rig->context, CL_MEM_READ_ONLY, KIND_2D, texture, 0, rig->api->invalid_resource);
    rig_release(texture);
}

/* ---- subresources ---- */

static void check_extents(const struct rig_desc *desc, cl_mem object, UINT subresource)
{
    UINT expected[3];
    size_t width = 0, height = 0, depth = 77;
    rig_level(desc, subresource, &expected[0], &expected[1], &expected[2]);
    CHECK_INT(clGetImageInfo(object, CL_IMAGE_WIDTH, sizeof(width), &width, NULL), CL_SUCCESS);
    CHECK_INT(clGetImageInfo(object, CL_IMAGE_HEIGHT, sizeof(height), &height, NULL), CL_SUCCESS);
    CHECK_INT(clGetImageInfo(object, CL_IMAGE_DEPTH, sizeof(depth), &depth, NULL), CL_SUCCESS);
    CHECK_INT(width, expected[0]);
    CHECK_INT(height, expected[1]);
    CHECK_INT(depth, desc->depth ? expected[2] : 0);
}

/* Every subresource of a texture makes an object, all alive together, and the first index behind them none. */
static void take_all(struct rig *rig, const struct rig_desc *desc, enum kind kind)
{
    enum { MOST = 32 };
    cl_mem objects[MOST];
    const UINT count = rig_subresources(desc);
    void *texture = rig_make(rig, rig->device, desc, NULL);
    if (!CHECK(texture != NULL) || !CHECK(count <= MOST))
        return;
    for (UINT i = 0; i < count; i++) {
        cl_int status = 1;
        objects[i] = kind_create(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, i, &status);
        if (CHECK_INT(status, CL_SUCCESS))
            check_extents(desc, objects[i], i);
    }
    refused(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, count, CL_INVALID_VALUE);
    refused(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, count + 1, CL_INVALID_VALUE);
    refused(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, 0x80000000u, CL_INVALID_VALUE);
    refused(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, 0xFFFFFFFFu, CL_INVALID_VALUE);
    for (UINT i = 0; i < count; i++)
        if (objects[i])
            CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
    rig_release(texture);
}

SHARING_CASE("every subresource and none beyond", subresources, 0)
{
    /* Odd sizes: levels are rounded down, to 1 at least. */
    const struct rig_desc descs[] = {
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 8, .height = 4},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT,
         .width = 13,
         .height = 7,
         .levels = 4,
         .bind = D3D11_BIND_SHADER_RESOURCE},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 8, .height = 4, .slices = 5, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT,
         .width = 11,
         .height = 2,
         .slices = 4,
         .levels = 3,
         .bind = D3D11_BIND_SHADER_RESOURCE},
    };
    for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
        take_all(rig, &descs[i], KIND_2D);
    const struct rig_desc volume = {.format = DXGI_FORMAT_R8G8B8A8_UINT,
                                    .width = 9,
                                    .height = 5,
                                    .depth = 8,
                                    .levels = 3,
                                    .bind = D3D11_BIND_SHADER_RESOURCE};
    take_all(rig, &volume, KIND_3D);
}

/* ---- one object for a subresource, function and context ---- */

OBJECTS_CASE("a resource has one object at a time", duplicates, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        void *resource = all[kind].resource;
        refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, rig->api->invalid_resource);
        /* Other flags make no other subresource. */
        refused(rig, rig->context, CL_MEM_READ_ONLY, (enum kind)kind, resource, 0, rig->api->invalid_resource);
        /* A second reference keeps the object, and with it the subresource. */
        CHECK_INT(clRetainMemObject(all[kind].object), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(all[kind].object), CL_SUCCESS);
        refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, rig->api->invalid_resource);
        CHECK_INT(clReleaseMemObject(all[kind].object), CL_SUCCESS);
        cl_int status = 1;
        all[kind].object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, &status);
        CHECK_INT(status, CL_SUCCESS);
    }
}

/* Releasing one subresource's object frees that one alone. */
SHARING_CASE("a subresource has one object at a time", duplicates_by_subresource, 0)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 8, .height = 4, .slices = 3};
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    cl_mem objects[3];
    if (!CHECK(texture != NULL))
        return;
    for (UINT i = 0; i < 3; i++)
        CHECK((objects[i] = rig->create_2d(rig->context, 0, texture, i, NULL)) != NULL);
    CHECK_INT(clReleaseMemObject(objects[1]), CL_SUCCESS);
    refused(rig, rig->context, 0, KIND_2D, texture, 0, rig->api->invalid_resource);
    refused(rig, rig->context, 0, KIND_2D, texture, 2, rig->api->invalid_resource);
    CHECK((objects[1] = rig->create_2d(rig->context, 0, texture, 1, NULL)) != NULL);
    for (UINT i = 0; i < 3; i++)
        CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
    rig_release(texture);
}

/* Drivers count kernel arguments and sub-buffers as references. For the rule only the application's own count. */
OBJECT_CASE("only the application's references keep a subresource taken", duplicates_and_the_drivers_count, 0,
            KIND_BUFFER)
{
    cl_int status = 1;
    cl_kernel kernel = rig_kernel(rig, "kernel void touch(global uchar *b) { b[get_global_id(0)] += 1; }", "touch");
    const cl_buffer_region region = {0, 16};
    cl_mem part = clCreateSubBuffer(shared->object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (CHECK(kernel != NULL)) {
        CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared->object), CL_SUCCESS);
        refused(rig, rig->context, 0, KIND_BUFFER, shared->resource, 0, rig->api->invalid_resource);
        CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
        shared->object = rig->create_buffer(rig->context, 0, shared->resource, &status);
        CHECK_INT(status, CL_SUCCESS);
        refused(rig, rig->context, 0, KIND_BUFFER, shared->resource, 0, rig->api->invalid_resource);
        CHECK(round_trip(rig, shared, 1, 2));
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        /* The end of the old object must not free what the new one has. */
        CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
        part = NULL;
        refused(rig, rig->context, 0, KIND_BUFFER, shared->resource, 0, rig->api->invalid_resource);
    }
    if (part)
        CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
}

/* ---- formats ---- */

static void left_out(const struct format *row, const char *why)
{
    char line[128];
    snprintf(line, sizeof(line), "# left out: %s: %s", row->name, why);
    tap_line(line);
}

/* Checks one row with one kind of texture. Returns whether Direct3D has such textures. */
static bool format_row(struct rig *rig, const struct format *row, enum kind kind)
{
    struct rig_desc desc = kind_desc(kind);
    desc.format = row->dxgi;
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    if (!texture) {
        left_out(row, "Direct3D makes no such texture");
        return false;
    }
    if (!rig_has_format(rig, row->cl, kind == KIND_3D ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D)) {
        left_out(row, "the device lacks the format");
        refused(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, 0, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    } else {
        cl_int status = 1;
        cl_image_format format = {0, 0};
        size_t element = 0;
        cl_mem image = kind_create(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, 0, &status);
        if (CHECK_INT(status, CL_SUCCESS)) {
            CHECK_INT(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL), CL_SUCCESS);
            CHECK_INT(format.image_channel_order, row->cl.image_channel_order);
            CHECK_INT(format.image_channel_data_type, row->cl.image_channel_data_type);
            CHECK_INT(clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL), CL_SUCCESS);
            CHECK_INT(element, rig_texel_bytes(row->dxgi));
            CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
        }
    }
    rig_release(texture);
    return true;
}

static void format_table(struct rig *rig, enum kind kind)
{
    unsigned made = 0;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const int failures = atomic_load(&tap_case.failures);
        made += format_row(rig, &formats[i], kind);
        if (atomic_load(&tap_case.failures) != failures)
            printf("# with %s\n", formats[i].name);
    }
    CHECK(made > 30);
}

SHARING_CASE("all formats of the table, 2D", formats_2d, 0)
{
    format_table(rig, KIND_2D);
}

SHARING_CASE("all formats of the table, 3D", formats_3d, 0)
{
    format_table(rig, KIND_3D);
}

/* Shared beyond the table: the bytes of 8-bit formats that differ from a row in what they mean alone. */
#define ROW(name, order)                                              \
    {                                                                 \
#name, DXGI_FORMAT_##name, {CL_##order, CL_UNORM_INT8 }, 0, 0 \
    }
static const struct format beyond[] = {
    ROW(R8G8B8A8_UNORM_SRGB, RGBA), ROW(R8G8B8A8_TYPELESS, RGBA),
    ROW(B8G8R8A8_UNORM_SRGB, BGRA), ROW(B8G8R8A8_TYPELESS, BGRA),
    ROW(B8G8R8X8_UNORM, BGRA),      ROW(B8G8R8X8_UNORM_SRGB, BGRA),
    ROW(B8G8R8X8_TYPELESS, BGRA),   ROW(A8_UNORM, A),
};

SHARING_CASE("formats beyond the table", formats_beyond, 0)
{
    unsigned made = 0;
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        const int failures = atomic_load(&tap_case.failures);
        made += format_row(rig, &beyond[i], KIND_2D);
        if (atomic_load(&tap_case.failures) != failures)
            printf("# with %s\n", beyond[i].name);
    }
    CHECK(made >= 2);
}

SHARING_CASE("formats outside the table are refused", formats_not_in_the_table, 0)
{
    static const struct {
        DXGI_FORMAT format;
        UINT bind;
    } outside[] = {
        {DXGI_FORMAT_R10G10B10A2_UNORM, 0},
        {DXGI_FORMAT_R10G10B10A2_UINT, 0},
        {DXGI_FORMAT_R11G11B10_FLOAT, 0},
        {DXGI_FORMAT_R9G9B9E5_SHAREDEXP, D3D11_BIND_SHADER_RESOURCE},
        {DXGI_FORMAT_BC1_UNORM, 0},
        {DXGI_FORMAT_BC3_UNORM, 0},
        {DXGI_FORMAT_R32G32B32_FLOAT, 0},
        {DXGI_FORMAT_R32_TYPELESS, 0},
        {DXGI_FORMAT_R16_TYPELESS, 0},
        {DXGI_FORMAT_R16G16B16A16_TYPELESS, 0},
        {DXGI_FORMAT_B5G6R5_UNORM, 0},
        {DXGI_FORMAT_D32_FLOAT, D3D11_BIND_DEPTH_STENCIL},
        {DXGI_FORMAT_D16_UNORM, D3D11_BIND_DEPTH_STENCIL},
        {DXGI_FORMAT_D24_UNORM_S8_UINT, D3D11_BIND_DEPTH_STENCIL},
    };
    unsigned made = 0;
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        const struct rig_desc desc = {.format = outside[i].format, .width = 8, .height = 4, .bind = outside[i].bind};
        void *texture = rig_make(rig, rig->device, &desc, NULL);
        if (!texture)
            continue;
        refused(rig, rig->context, CL_MEM_READ_WRITE, KIND_2D, texture, 0, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        rig_release(texture);
        made++;
    }
    CHECK(made >= 6);
    const struct rig_desc volume = {.format = DXGI_FORMAT_R10G10B10A2_UNORM, .width = 4, .height = 4, .depth = 2};
    void *texture = rig_make(rig, rig->device, &volume, NULL);
    if (CHECK(texture != NULL))
        refused(rig, rig->context, CL_MEM_READ_WRITE, KIND_3D, texture, 0, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    rig_release(texture);
}

/* The extensions have no code of their own for a driver that has no memory for an object. Nothing is left of that object: the next one
 * is no second one. */
SHARING_CASE("a driver without memory for an object", no_driver_memory, 0)
{
    if (!is_child("CLD3D_TEST_NO_DRIVER_MEMORY"))
        return;
    const struct rig_desc desc = kind_desc(KIND_BUFFER);
    void *buffer = rig_make(rig, rig->device, &desc, NULL);
    order_below(rig->queue, BELOW_FAIL_BUFFER, 1);
    refused(rig, rig->context, CL_MEM_READ_WRITE, KIND_BUFFER, buffer, 0, CL_OUT_OF_RESOURCES);
    cl_int status = 1;
    cl_mem object = rig->create_buffer(rig->context, CL_MEM_READ_WRITE, buffer, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    rig_release(buffer);
}

CASE("a driver without memory", no_driver_memory_below)
{
    if (getenv("CLD3D_TRANSPORT")) {
        SKIP("another transport than the host's");
        return;
    }
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv("CLD3D_TRANSPORT", "host");
    test_setenv("CLD3D_TEST_NO_DRIVER_MEMORY", "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "a driver without memory for an object"), 2);
    test_setenv("CLD3D_TEST_NO_DRIVER_MEMORY", NULL);
    test_setenv("CLD3D_TRANSPORT", NULL);
}

/* The first cases, over below.c, which does what the variable says. */
static void each_kind_over(const char *variable)
{
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv(variable, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "each kind of resource"), 2);
    test_setenv(variable, NULL);
}

/* What Direct3D maps has gaps between its rows. Of PoCL's devices alone: the workaround is PoCL's. */
CASE("a remote device takes rows without gaps alone", no_gaps)
{
    cl_platform_id platform = NULL;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    if (!is_pocl(platform) || getenv("CLD3D_TRANSPORT")) {
        SKIP("another driver, or another transport than the host's");
        return;
    }
    test_setenv("CLD3D_TRANSPORT", "host");
    each_kind_over(BELOW_NO_GAPS);
    test_setenv("CLD3D_TRANSPORT", NULL);
}

TAP_MAIN
