/* What Direct3D 11 has beside its immediate context and its usual devices: command lists, generated levels, fences, textures of
 * decoders, and devices in software. */
#include "sharing.h"

#include <initguid.h> /* mingw-w64's libraries lack the identifiers of these headers */

#include <d3d11_4.h>

#define D3D11_CASE(text, name)                                                               \
    static void name(struct rig *rig, ID3D11Device *device, ID3D11DeviceContext *immediate); \
    static void name##_with(struct rig *rig)                                                 \
    {                                                                                        \
        ID3D11DeviceContext *immediate = NULL;                                               \
        ID3D11Device_GetImmediateContext((ID3D11Device *)rig->device, &immediate);           \
        name(rig, rig->device, immediate);                                                   \
        rig_release(immediate);                                                              \
    }                                                                                        \
    CASE(text, name##_d3d11)                                                                 \
    {                                                                                        \
        sharing_run(&rig_d3d11, 0, name##_with);                                             \
    }                                                                                        \
    static void name(struct rig *rig, ID3D11Device *device, ID3D11DeviceContext *immediate)

D3D11_CASE("a texture that is bound to a decoder alone", of_a_decoder)
{
    struct shared shared = {.kind = KIND_2D, .desc = kind_desc(KIND_2D)};
    (void)device, (void)immediate;
    shared.desc.bind = D3D11_BIND_DECODER;
    shared.resource = rig_make(rig, rig->device, &shared.desc, NULL);
    shared.object = rig->create_2d(rig->context, CL_MEM_READ_WRITE, shared.resource, 0, NULL);
    d3d_fill(rig, &shared, 1);
    CHECK(round_trip(rig, &shared, 1, 2));
    shared_close(&shared);
}

/* A list of one copy, recorded at once and to be executed later. */
static ID3D11CommandList *record_copy(ID3D11Device *device, void *to, void *from)
{
    ID3D11DeviceContext *deferred = NULL;
    ID3D11CommandList *list = NULL;
    if (!CHECK_INT(ID3D11Device_CreateDeferredContext(device, 0, &deferred), S_OK))
        return NULL;
    ID3D11DeviceContext_CopyResource(deferred, (ID3D11Resource *)to, (ID3D11Resource *)from);
    CHECK_INT(ID3D11DeviceContext_FinishCommandList(deferred, FALSE, &list), S_OK);
    rig_release(deferred);
    return list;
}

/* Lists that are recorded before the acquire, and while OpenCL has the texture, take part where they are executed. */
D3D11_CASE("command lists of deferred contexts", command_lists)
{
    struct shared all[3];
    for (unsigned i = 0; i < 3; i++)
        shared_open(rig, KIND_2D, i, &all[i]);
    for (unsigned seed = 10; seed < 14; seed += 2) {
        unsigned char bytes[SHARED_BYTES];
        ID3D11CommandList *over = record_copy(device, all[1].resource, all[0].resource);
        d3d_fill(rig, &all[0], seed);
        ID3D11DeviceContext_ExecuteCommandList(immediate, over, FALSE);
        CHECK_INT(acquire_one(rig, all[1].object), CL_SUCCESS);
        ID3D11CommandList *back = record_copy(device, all[2].resource, all[1].resource);
        rig_pattern(bytes, sizeof(bytes), seed + 1);
        CHECK(cl_has(rig->queue, &all[1], seed));
        CHECK_INT(cl_write(rig->queue, &all[1], bytes, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, all[1].object), CL_SUCCESS);
        ID3D11DeviceContext_ExecuteCommandList(immediate, back, FALSE);
        CHECK(d3d_has(rig, &all[2], seed + 1));
        rig_release(back);
        rig_release(over);
    }
    for (unsigned i = 0; i < 3; i++)
        shared_close(&all[i]);
}

/* OpenCL writes the first level and reads both. One colour stays the same by any filter. */
D3D11_CASE("levels that Direct3D generates", generated_levels)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                  .width = 16,
                                  .height = 16,
                                  .levels = 2,
                                  .bind = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET,
                                  .misc = D3D11_RESOURCE_MISC_GENERATE_MIPS};
    const size_t region[3] = {16, 16, 1}, texel[3] = {1, 1, 1};
    ID3D11Resource *texture = rig_make(rig, device, &desc, NULL);
    ID3D11ShaderResourceView *view = NULL;
    cl_mem levels[2];
    CHECK_INT(ID3D11Device_CreateShaderResourceView(device, texture, NULL, &view), S_OK);
    for (UINT i = 0; i < 2; i++)
        levels[i] = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, i, NULL);
    for (float part = 0; part < 1; part += 0.25f) {
        const cl_float4 colour = {{part, 1 - part, part, 1}};
        cl_uint found[2] = {1, 2};
        CHECK_INT(acquire_one(rig, levels[0]), CL_SUCCESS);
        CHECK_INT(clEnqueueFillImage(rig->queue, levels[0], &colour, no_origin(), region, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, levels[0]), CL_SUCCESS);
        ID3D11DeviceContext_GenerateMips(immediate, view);
        CHECK_INT(rig->acquire(rig->queue, 2, levels, 0, NULL, NULL), CL_SUCCESS);
        for (int i = 0; i < 2; i++)
            clEnqueueReadImage(rig->queue, levels[i], CL_TRUE, no_origin(), texel, 0, 0, &found[i], 0, NULL, NULL);
        CHECK_INT(found[1], found[0]);
        CHECK_INT(rig->release(rig->queue, 2, levels, 0, NULL, NULL), CL_SUCCESS);
    }
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseMemObject(levels[i]), CL_SUCCESS);
    rig_release(view);
    rig_release(texture);
}

/* A program that waits for a fence behind the release sees what OpenCL has written; and Direct3D's own waits are before an acquire. */
D3D11_CASE("fences", fences)
{
    struct shared shared;
    ID3D11DeviceContext4 *context = NULL;
    ID3D11Device5 *device5 = NULL;
    ID3D11Fence *fence = NULL;
    ID3D11Device_QueryInterface(device, &IID_ID3D11Device5, (void **)&device5);
    ID3D11DeviceContext_QueryInterface(immediate, &IID_ID3D11DeviceContext4, (void **)&context);
    if (!device5 || !context) {
        SKIP("this Direct3D has no fences");
        return;
    }
    CHECK_INT(ID3D11Device5_CreateFence(device5, 0, D3D11_FENCE_FLAG_NONE, &IID_ID3D11Fence, (void **)&fence), S_OK);
    for (unsigned turn = 1; fence && turn < 9 && shared_open(rig, KIND_2D, turn, &shared); turn += 2) {
        HANDLE reached = CreateEventA(NULL, FALSE, FALSE, NULL);
        CHECK_INT(ID3D11DeviceContext4_Signal(context, fence, turn), S_OK);
        CHECK_INT(ID3D11DeviceContext4_Wait(context, fence, turn), S_OK);
        CHECK(round_trip(rig, &shared, turn, turn + 1));
        CHECK_INT(ID3D11Fence_SetEventOnCompletion(fence, turn + 1, reached), S_OK);
        CHECK_INT(ID3D11DeviceContext4_Signal(context, fence, turn + 1), S_OK);
        ID3D11DeviceContext_Flush(immediate);
        CHECK_INT(WaitForSingleObject(reached, 60000), WAIT_OBJECT_0);
        CloseHandle(reached);
        shared_close(&shared);
    }
    rig_release(fence);
    rig_release(context);
    rig_release(device5);
}

D3D11_CASE("WARP and reference devices", in_software)
{
    static const D3D_DRIVER_TYPE types[] = {D3D_DRIVER_TYPE_WARP, D3D_DRIVER_TYPE_REFERENCE};
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    (void)immediate;
    for (int i = 0; i < 2; i++) {
        struct shared all[KINDS];
        cl_device_id first = NULL;
        device = NULL;
        if (FAILED(D3D11CreateDevice(NULL, types[i], NULL, 0, &level, 1, D3D11_SDK_VERSION, &device, NULL, NULL))) {
            SKIP(i ? "this Direct3D has no reference device" : "this Direct3D has no WARP device");
            continue;
        }
        rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->all_set, 1, &first, NULL);
        CHECK(first == rig->cl_device);
        struct rig other = rig_on(rig, device);
        if (shared_open_all(&other, 1, all)) {
            for (unsigned kind = 0; kind < KINDS; kind++)
                CHECK(round_trip(&other, &all[kind], 1 + kind, 20 + kind));
            shared_close_all(all);
        }
        rig_close(&other);
    }
}

TAP_MAIN
