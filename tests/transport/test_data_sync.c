/* Data that is right only if acquire and release wait for what comes before them: nothing here waits where the
 * extension does it. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

/* ---- a kernel that takes its time ---- */

/* Flips the bytes after some work that no compiler can leave out. */
static const char flip_source[] = "kernel void flip(global uint *words, uint rounds)\n"
                                  "{\n"
                                  "    uint x = words[get_global_id(0)], y = x;\n"
                                  "    for (uint i = 0; i < rounds; i++)\n"
                                  "        y = y * 1664525u + 1013904223u;\n"
                                  "    words[get_global_id(0)] = y == 0x12345678u && rounds == 1 ? y : ~x;\n"
                                  "}\n";

enum { BUFFER_BYTES = 1 << 18, ROUNDS = 150 };

static const struct rig_desc buffer_desc = {.width = BUFFER_BYTES, .bind = D3D11_BIND_VERTEX_BUFFER};

/* A buffer and the kernel that flips it. */
struct slow {
    struct shared s;
    cl_kernel kernel;
};

static bool slow_open(struct slow *slow, const struct rig *rig)
{
    const cl_uint rounds = ROUNDS;
    if (!shared_open(&slow->s, rig, &buffer_desc, 0, CL_MEM_READ_WRITE))
        return false;
    slow->kernel = rig_kernel(rig, flip_source, "flip");
    if (!slow->kernel) {
        shared_close(&slow->s);
        return false;
    }
    CHECK_INT(clSetKernelArg(slow->kernel, 0, sizeof(cl_mem), &slow->s.memory), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(slow->kernel, 1, sizeof(rounds), &rounds), CL_SUCCESS);
    return true;
}

static void slow_close(struct slow *slow)
{
    clReleaseKernel(slow->kernel);
    shared_close(&slow->s);
}

static void slow_run(struct slow *slow)
{
    static const size_t count = BUFFER_BYTES / 4;
    CHECK_INT(clEnqueueNDRangeKernel(slow->s.queue, slow->kernel, 1, NULL, &count, NULL, 0, NULL, NULL), CL_SUCCESS);
}

static void expect_flipped(struct shared *s, unsigned seed)
{
    unsigned char *expected = shared_pattern(s, seed);
    for (size_t i = 0; i < s->bytes; i++)
        expected[i] = (unsigned char)~expected[i];
    shared_d3d_expect_bytes(s, expected);
    free(expected);
}

/* ---- what Direct3D 11 and 10 have in common is tried with one of them ---- */

#define DATA_CASE11(text, name)                                                  \
    static void name(const struct rig *rig, ID3D11DeviceContext *context);       \
    static void name##_with(const struct rig *rig)                               \
    {                                                                            \
        ID3D11DeviceContext *context = NULL;                                     \
        ID3D11Device_GetImmediateContext((ID3D11Device *)rig->device, &context); \
        name(rig, context);                                                      \
        ID3D11DeviceContext_Release(context);                                    \
    }                                                                            \
    CASE("Direct3D 11: " text, name##_d3d11)                                     \
    {                                                                            \
        with_rig(&rig_d3d11, 0, name##_with);                                    \
    }                                                                            \
    static void name(const struct rig *rig, ID3D11DeviceContext *context)

/* What the program's next draws depend on is no business of acquire and release, which copy all the same. */
DATA_CASE11("a predicate that lets nothing be drawn is set", predicated)
{
    static const struct rig_desc descs[] = {
        {.width = 100, .bind = D3D11_BIND_VERTEX_BUFFER},
        {.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 9, .height = 5},
        {.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 9, .height = 5, .depth = 3},
    };
    const D3D11_QUERY_DESC desc = {D3D11_QUERY_OCCLUSION_PREDICATE, 0};
    ID3D11Predicate *predicate = NULL, *found = NULL;
    if (!CHECK_INT(ID3D11Device_CreatePredicate((ID3D11Device *)rig->device, &desc, &predicate), S_OK))
        return;
    ID3D11DeviceContext_Begin(context, (ID3D11Asynchronous *)predicate);
    ID3D11DeviceContext_End(context, (ID3D11Asynchronous *)predicate);
    for (int i = 0; i < (int)(sizeof(descs) / sizeof(descs[0])); i++) {
        BOOL value = !(i % 2);
        struct shared s;
        if (!shared_open(&s, rig, &descs[i], 0, CL_MEM_READ_WRITE))
            continue;
        unsigned char *bytes = shared_pattern(&s, 60);
        shared_prepare(&s, 50);
        ID3D11DeviceContext_SetPredication(context, predicate, i % 2);
        shared_acquire(&s);
        shared_cl_expect(&s, 50);
        shared_cl_write(&s, bytes);
        shared_release(&s);
        ID3D11DeviceContext_GetPredication(context, &found, &value);
        CHECK(found == predicate);
        CHECK_INT(value, i % 2);
        if (found)
            rig_release(found);
        ID3D11DeviceContext_SetPredication(context, NULL, FALSE);
        shared_d3d_expect(&s, 60);
        free(bytes);
        shared_close(&s);
    }
    rig_release(predicate);
}

/* A Direct3D may put a clear off until the texture is used next, beyond a flush and an event query. */
DATA_CASE11("Direct3D clears a render target right before the acquire", clears)
{
    static const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                         .width = 96,
                                         .height = 48,
                                         .bind = D3D11_BIND_RENDER_TARGET | D3D11_BIND_SHADER_RESOURCE};
    unsigned char texels[96 * 48 * 4], expected[96 * 48 * 4];
    ID3D11RenderTargetView *view = NULL;
    struct shared s;
    if (!shared_open(&s, rig, &desc, 0, CL_MEM_READ_WRITE))
        return;
    ID3D11Device_CreateRenderTargetView((ID3D11Device *)rig->device, s.resource, NULL, &view);
    if (!view)
        SKIP("this Direct3D has no views");
    for (int i = 0; i < 8 && view; i++) {
        const unsigned value = 30u + 20u * (unsigned)i;
        const float part = (float)value / 255, color[4] = {part, part, part, part};
        ID3D11DeviceContext_ClearRenderTargetView(context, view, color);
        if (i % 2)
            rig_finish(rig, rig->device);
        shared_acquire(&s);
        shared_cl_read(&s, texels);
        memset(expected, (int)value, sizeof(expected));
        CHECK_MEM(texels, expected, sizeof(expected));
        memset(texels, (int)value + 7, sizeof(texels));
        shared_cl_write(&s, texels);
        shared_release(&s);
        shared_d3d_expect_bytes(&s, texels);
    }
    if (view)
        ID3D11RenderTargetView_Release(view);
    shared_close(&s);
}

/* ---- one queue ---- */

/* No flush and no event: Direct3D's write right before, its read right after. */
DATA_CASE("Direct3D writes right before the acquire and reads right after the release", frames, 0)
{
    struct slow slow;
    if (!slow_open(&slow, rig))
        return;
    for (unsigned frame = 0; frame < 5; frame++) {
        shared_d3d_write(&slow.s, 20 + frame);
        shared_acquire(&slow.s);
        slow_run(&slow);
        shared_release(&slow.s);
        expect_flipped(&slow.s, 20 + frame);
    }
    slow_close(&slow);
}

/* Direct3D's own work is queued, too: copies from resource to resource on both sides. */
DATA_CASE("Direct3D copies are queued before the acquire and after the release", queued_copies, 0)
{
    enum { COPIES = 8 };
    struct slow slow;
    struct shared steps[COPIES];
    unsigned made = 0;
    if (!slow_open(&slow, rig))
        return;
    while (made < COPIES && shared_open(&steps[made], rig, &buffer_desc, 0, CL_MEM_READ_WRITE))
        made++;
    if (made == COPIES) {
        for (unsigned i = 0; i < COPIES; i++) {
            shared_d3d_write(&steps[i], 30 + i);
            rig_copy(rig, slow.s.resource, steps[i].resource, 0);
        }
        shared_acquire(&slow.s);
        slow_run(&slow);
        shared_release(&slow.s);
        rig_copy(rig, steps[0].resource, slow.s.resource, 0);
        for (unsigned i = 1; i < COPIES; i++)
            rig_copy(rig, steps[i].resource, steps[i - 1].resource, 0);
        shared_d3d_write(&slow.s, 50);
        expect_flipped(&steps[COPIES - 1], 30 + COPIES - 1);
    }
    while (made)
        shared_close(&steps[--made]);
    slow_close(&slow);
}

/* ---- the application waits by itself ---- */

DATA_CASE("user sync: the application waits for Direct3D and for OpenCL", user_sync, RIG_USER_SYNC)
{
    struct slow slow;
    if (!slow_open(&slow, rig))
        return;
    for (unsigned i = 0; i < 4; i++) {
        cl_event released = NULL;
        shared_d3d_write(&slow.s, 10 + i);
        if (!rig_finish(rig, rig->device))
            break;
        shared_acquire(&slow.s);
        slow_run(&slow);
        CHECK_INT(rig->release(rig->queue, 1, &slow.s.memory, 0, NULL, &released), CL_SUCCESS);
        CHECK_INT(i % 2 ? clFinish(rig->queue) : clWaitForEvents(1, &released), CL_SUCCESS);
        expect_flipped(&slow.s, 10 + i);
        clReleaseEvent(released);
    }
    slow_close(&slow);
}

TAP_MAIN
