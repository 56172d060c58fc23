/* What Direct3D 11 has beside its immediate context and its usual devices: command lists, generated levels, fences, textures of
 * decoders, and devices in software. */
#include "sharing.h"

#include <initguid.h> /* mingw-w64's libraries lack the identifiers of these headers */

#include <d3d11_4.h>

#define D3D11_CASE(name)                  \
    static void name(struct rig *rig);    \
    static void name##_d3d11(void)        \
    {                                     \
        sharing_run(&rig_d3d11, 0, name); \
    }                                     \
    static void name(struct rig *rig)

static ID3D11DeviceContext *immediate_of(const struct rig *rig)
{
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)rig->device, &context);
    return context;
}

static bool open_bound(const struct rig *rig, const struct rig_desc *desc, UINT level, struct shared *shared)
{
    cl_int status = 1;
    *shared = (struct shared){KIND_2D, *desc, rig_make(rig, rig->device, desc, NULL), NULL};
    if (!CHECK(shared->resource != NULL))
        return false;
    shared->object = rig->create_2d(rig->context, CL_MEM_READ_WRITE, shared->resource, level, &status);
    return CHECK_INT(status, CL_SUCCESS);
}

D3D11_CASE(of_a_decoder)
{
    struct rig_desc desc = kind_desc(KIND_2D);
    struct shared shared;
    desc.bind = D3D11_BIND_DECODER;
    if (open_bound(rig, &desc, 0, &shared)) {
        d3d_fill(rig, &shared, 1);
        CHECK(round_trip(rig, &shared, 1, 2));
    }
    shared_close(&shared);
}

/* A list of one copy, recorded at once and to be executed later. */
static ID3D11CommandList *record_copy(const struct rig *rig, void *to, void *from)
{
    ID3D11DeviceContext *deferred = NULL;
    ID3D11CommandList *list = NULL;
    if (!CHECK_INT(ID3D11Device_CreateDeferredContext((ID3D11Device *)rig->device, 0, &deferred), S_OK))
        return NULL;
    ID3D11DeviceContext_CopyResource(deferred, (ID3D11Resource *)to, (ID3D11Resource *)from);
    CHECK_INT(ID3D11DeviceContext_FinishCommandList(deferred, FALSE, &list), S_OK);
    rig_release(deferred);
    return list;
}

/* Lists that are recorded before the acquire, and while OpenCL has the texture, take part where they are executed. */
D3D11_CASE(command_lists)
{
    struct shared shared, from, to;
    ID3D11DeviceContext *immediate = immediate_of(rig);
    if (shared_open(rig, KIND_2D, 1, &shared) && shared_resource(rig, KIND_2D, 2, &from) &&
        shared_resource(rig, KIND_2D, 3, &to)) {
        for (unsigned seed = 10; seed < 14; seed += 2) {
            ID3D11CommandList *over = record_copy(rig, shared.resource, from.resource);
            d3d_fill(rig, &from, seed);
            ID3D11DeviceContext_ExecuteCommandList(immediate, over, FALSE);
            CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
            ID3D11CommandList *back = record_copy(rig, to.resource, shared.resource);
            unsigned char bytes[SHARED_BYTES];
            rig_pattern(bytes, sizeof(bytes), seed + 1);
            CHECK(cl_has(rig->queue, &shared, seed));
            CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
            CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
            ID3D11DeviceContext_ExecuteCommandList(immediate, back, FALSE);
            CHECK(d3d_has(rig, &to, seed + 1));
            rig_release(back);
            rig_release(over);
        }
        shared_close(&to);
        shared_close(&from);
        shared_close(&shared);
    }
    rig_release(immediate);
}

/* OpenCL writes the first level and reads the others. One colour stays the same by any filter. */
D3D11_CASE(generated_levels)
{
    enum { LEVELS = 3, SIZE = 16 };
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                  .width = SIZE,
                                  .height = SIZE,
                                  .levels = LEVELS,
                                  .bind = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET,
                                  .misc = D3D11_RESOURCE_MISC_GENERATE_MIPS};
    const size_t region[3] = {SIZE, SIZE, 1}, one[3] = {1, 1, 1};
    cl_uint texels[SIZE * SIZE];
    struct shared shared;
    cl_mem objects[LEVELS] = {NULL};
    ID3D11ShaderResourceView *view = NULL;
    ID3D11DeviceContext *immediate = immediate_of(rig);
    if (open_bound(rig, &desc, 0, &shared) &&
        CHECK_INT(ID3D11Device_CreateShaderResourceView((ID3D11Device *)rig->device, (ID3D11Resource *)shared.resource,
                                                        NULL, &view),
                  S_OK)) {
        for (UINT level = 0; level < LEVELS; level++)
            objects[level] =
                level ? rig->create_2d(rig->context, CL_MEM_READ_WRITE, shared.resource, level, NULL) : shared.object;
        for (cl_uint colour = 0x10203040; colour < 0x60000000; colour += 0x20202020) {
            for (int i = 0; i < SIZE * SIZE; i++)
                texels[i] = colour;
            CHECK_INT(acquire_one(rig, objects[0]), CL_SUCCESS);
            CHECK_INT(
                clEnqueueWriteImage(rig->queue, objects[0], CL_FALSE, no_origin(), region, 0, 0, texels, 0, NULL, NULL),
                CL_SUCCESS);
            CHECK_INT(release_one(rig, objects[0]), CL_SUCCESS);
            ID3D11DeviceContext_GenerateMips(immediate, view);
            CHECK_INT(rig->acquire(rig->queue, LEVELS, objects, 0, NULL, NULL), CL_SUCCESS);
            for (int level = 0; level < LEVELS; level++) {
                const size_t last[3] = {(SIZE >> level) - 1, (SIZE >> level) - 1, 0};
                cl_uint found = 0;
                CHECK_INT(
                    clEnqueueReadImage(rig->queue, objects[level], CL_TRUE, last, one, 0, 0, &found, 0, NULL, NULL),
                    CL_SUCCESS);
                CHECK_INT(found, colour);
            }
            CHECK_INT(rig->release(rig->queue, LEVELS, objects, 0, NULL, NULL), CL_SUCCESS);
        }
        for (int level = 1; level < LEVELS; level++)
            CHECK_INT(clReleaseMemObject(objects[level]), CL_SUCCESS);
    }
    rig_release(view);
    rig_release(immediate);
    shared_close(&shared);
}

/* A program that waits for a fence behind the release sees what OpenCL has written; and Direct3D's own waits are before an acquire. */
D3D11_CASE(fences)
{
    struct shared shared;
    ID3D11DeviceContext *immediate = immediate_of(rig);
    ID3D11DeviceContext4 *context = NULL;
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    IUnknown_QueryInterface((IUnknown *)rig->device, &IID_ID3D11Device5, (void **)&device);
    ID3D11DeviceContext_QueryInterface(immediate, &IID_ID3D11DeviceContext4, (void **)&context);
    if (!device || !context) {
        SKIP("this Direct3D has no fences");
    } else if (CHECK_INT(ID3D11Device5_CreateFence(device, 0, D3D11_FENCE_FLAG_NONE, &IID_ID3D11Fence, (void **)&fence),
                         S_OK) &&
               shared_open(rig, KIND_2D, 1, &shared)) {
        for (unsigned turn = 1; turn < 9; turn += 2) {
            HANDLE reached = CreateEventA(NULL, FALSE, FALSE, NULL);
            d3d_fill(rig, &shared, turn);
            CHECK_INT(ID3D11DeviceContext4_Signal(context, fence, turn), S_OK);
            CHECK_INT(ID3D11DeviceContext4_Wait(context, fence, turn), S_OK);
            CHECK(round_trip(rig, &shared, turn, turn + 1));
            CHECK_INT(ID3D11Fence_SetEventOnCompletion(fence, turn + 1, reached), S_OK);
            CHECK_INT(ID3D11DeviceContext4_Signal(context, fence, turn + 1), S_OK);
            ID3D11DeviceContext_Flush(immediate);
            CHECK_INT(WaitForSingleObject(reached, 60000), WAIT_OBJECT_0);
            CHECK_INT(ID3D11Fence_GetCompletedValue(fence), turn + 1);
            CloseHandle(reached);
        }
        shared_close(&shared);
    }
    rig_release(fence);
    rig_release(context);
    rig_release(device);
    rig_release(immediate);
}

static void in_software(const struct rig *rig, D3D_DRIVER_TYPE type)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    struct rig other = *rig;
    struct shared all[KINDS];
    cl_device_id devices[8];
    cl_uint count = 0;
    cl_int status = 1;
    other.device = NULL;
    if (FAILED(D3D11CreateDevice(NULL, type, NULL, 0, &level, 1, D3D11_SDK_VERSION, (ID3D11Device **)&other.device,
                                 NULL, NULL))) {
        SKIP("this Direct3D has no such device");
        return;
    }
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, other.device, rig->api->all_set, 8, devices,
                                  &count),
              CL_SUCCESS);
    CHECK(count >= 1 && devices[0] == rig->cl_device);
    other.context = rig_make_context(rig, other.device, false, &status);
    CHECK_INT(status, CL_SUCCESS);
    other.queue = make_queue(rig, other.context, 0);
    if (shared_open_all(&other, 1, all)) {
        for (unsigned kind = 0; kind < KINDS; kind++)
            CHECK(round_trip(&other, &all[kind], 1 + kind, 20 + kind));
        shared_close_all(all);
    }
    rig_close(&other);
}

D3D11_CASE(warp)
{
    in_software(rig, D3D_DRIVER_TYPE_WARP);
}

D3D11_CASE(reference)
{
    in_software(rig, D3D_DRIVER_TYPE_REFERENCE);
}

static const struct tap_test tests[] = {
    {"a texture that is bound to a decoder alone", of_a_decoder_d3d11},
    {"command lists of deferred contexts", command_lists_d3d11},
    {"levels that Direct3D generates", generated_levels_d3d11},
    {"fences", fences_d3d11},
    {"a WARP device", warp_d3d11},
    {"a reference device", reference_d3d11},
};

TAP_MAIN(tests)
