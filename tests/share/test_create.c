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

/* ---- contexts and flags ---- */

SHARING_CASE("contexts and flags", contexts_and_flags, 0)
{
    static const cl_mem_flags good[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    static const cl_mem_flags bad[] = {
        CL_MEM_READ_WRITE | CL_MEM_READ_ONLY,
        CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY,
        CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
        CL_MEM_USE_HOST_PTR,
        CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
        CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
        CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
        CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
        CL_MEM_HOST_WRITE_ONLY,
        CL_MEM_READ_WRITE | (cl_mem_flags)1 << 40,
        ~(cl_mem_flags)0,
    };
    cl_context plain = plain_context(rig);
    struct rig other;
    if (!rig_open(&other, other_api(rig), 0))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        refused(rig, NULL, 0, (enum kind)kind, shared.resource, 0, CL_INVALID_CONTEXT);
        refused(rig, plain, 0, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
        refused(rig, other.context, 0, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            refused(rig, rig->context, bad[i], (enum kind)kind, shared.resource, 0, CL_INVALID_VALUE);
        /* None of these refusals took the subresource. Nobody has to want the code. */
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
            cl_mem_flags flags = 12345;
            cl_mem object = kind_create(rig, rig->context, good[i], (enum kind)kind, shared.resource, 0, NULL);
            CHECK(kind_create(rig, rig->context, good[i], (enum kind)kind, shared.resource, 0, NULL) == NULL);
            CHECK_INT(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), CL_SUCCESS);
            CHECK_INT(flags, good[i] ? good[i] : CL_MEM_READ_WRITE);
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        }
        shared_close(&shared);
    }
    rig_close(&other);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

/* ---- resources ---- */

/* By each function but that of the kind `but`. */
static void refused_by_all(const struct rig *rig, void *resource, enum kind but)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != (int)but)
            refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, rig->api->invalid_resource);
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

/* Buffers, 2D and 3D textures are not mixed up. The extensions have no function for a 1D texture: none of the three takes it. */
SHARING_CASE("resources of other kinds, other APIs and other devices", other_resources, 0)
{
    struct rig other;
    struct rig second = rig_on(rig, rig_another_device(rig));
    void *texture = make_texture_1d(rig);
    if (texture)
        refused_by_all(rig, texture, KINDS);
    else
        printf("# this Direct3D makes no 1D textures\n");
    rig_release(texture);
    if (!rig_open(&other, other_api(rig), RIG_NO_CONTEXT))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (shared_resource(rig, (enum kind)kind, 1, &shared)) {
            refused_by_all(rig, shared.resource, (enum kind)kind);
            shared_close(&shared);
        }
        if (shared_resource(&other, (enum kind)kind, 1, &shared)) {
            refused_by_all(rig, shared.resource, KINDS);
            shared_close(&shared);
        }
        /* In the context of its own device it is welcome. */
        if (shared_open(&second, (enum kind)kind, 1, &shared)) {
            refused_by_all(rig, shared.resource, KINDS);
            shared_close(&shared);
        }
    }
    rig_close(&other);
    rig_close(&second);
}

SHARING_CASE("immutable resources and multisampled textures", immutable_and_multisampled, 0)
{
    static const char zeros[SHARED_BYTES];
    struct rig_desc desc = {
        .format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 8, .height = 4, .samples = 4, .bind = D3D11_BIND_RENDER_TARGET};
    void *resource = rig_make(rig, rig->device, &desc, NULL);
    if (resource)
        refused_by_all(rig, resource, KINDS);
    else
        printf("# this Direct3D makes no textures with 4 samples\n");
    rig_release(resource);
    for (int kind = 0; kind < KINDS; kind++) {
        desc = kind_desc((enum kind)kind);
        desc.usage = RIG_IMMUTABLE;
        desc.bind = D3D11_BIND_SHADER_RESOURCE;
        desc.initial = zeros;
        resource = rig_make(rig, rig->device, &desc, NULL);
        if (!CHECK(resource != NULL))
            continue;
        refused(rig, rig->context, CL_MEM_READ_ONLY, (enum kind)kind, resource, 0, rig->api->invalid_resource);
        refused_by_all(rig, resource, KINDS);
        rig_release(resource);
    }
}

/* ---- subresources ---- */

/* It tells of itself. The sizes are those of the level. */
static void check_subresource(const struct rig *rig, const struct rig_desc *desc, cl_mem object, void *texture, UINT at)
{
    static const cl_image_info names[] = {CL_IMAGE_WIDTH, CL_IMAGE_HEIGHT, CL_IMAGE_DEPTH, CL_IMAGE_ROW_PITCH};
    UINT level[3], index = 4711;
    void *resource = NULL;
    rig_level(desc, at, &level[0], &level[1], &level[2]);
    const size_t expected[] = {level[0], level[1], desc->depth ? level[2] : 0,
                               level[0] * rig_texel_bytes(desc->format)};
    for (int i = 0; i < 4; i++) {
        size_t found = 77;
        CHECK_INT(clGetImageInfo(object, names[i], sizeof(found), &found, NULL), CL_SUCCESS);
        CHECK_INT(found, expected[i]);
    }
    CHECK_INT(clGetImageInfo(object, rig->api->image_subresource, sizeof(index), &index, NULL), CL_SUCCESS);
    CHECK_INT(index, at);
    CHECK_INT(clGetMemObjectInfo(object, rig->api->mem_resource, sizeof(resource), &resource, NULL), CL_SUCCESS);
    CHECK(resource == texture);
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
            check_subresource(rig, desc, objects[i], texture, i);
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

/* How many of a list Direct3D has. */
static unsigned format_rows(struct rig *rig, const struct format *rows, size_t count, enum kind kind)
{
    unsigned made = 0;
    for (size_t i = 0; i < count; i++) {
        const int failures = atomic_load(&tap_case.failures);
        made += format_row(rig, &rows[i], kind);
        if (atomic_load(&tap_case.failures) != failures)
            printf("# with %s\n", rows[i].name);
    }
    return made;
}

SHARING_CASE("all formats of the table, and beyond it", formats_made, 0)
{
    CHECK(format_rows(rig, formats, FORMAT_COUNT, KIND_2D) > 30);
    CHECK(format_rows(rig, formats, FORMAT_COUNT, KIND_3D) > 30);
    CHECK(format_rows(rig, beyond, sizeof(beyond) / sizeof(beyond[0]), KIND_2D) >= 2);
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

/* What Direct3D maps has gaps between its rows. Of PoCL's devices alone: the workaround is PoCL's. */
CASE("a remote device takes rows without gaps alone", no_gaps)
{
    cl_platform_id platform = NULL;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    if (!is_pocl(platform) || getenv("CLD3D_TRANSPORT")) {
        SKIP("another driver, or another transport than the host's");
        return;
    }
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv("CLD3D_TRANSPORT", "host");
    test_setenv(BELOW_NO_GAPS, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "each kind of resource"), 2);
    test_setenv(BELOW_NO_GAPS, NULL);
    test_setenv("CLD3D_TRANSPORT", NULL);
}

TAP_MAIN
