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

static void slow_run(struct slow *slow, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                     cl_event *event)
{
    static const size_t count = BUFFER_BYTES / 4;
    CHECK_INT(clEnqueueNDRangeKernel(queue, slow->kernel, 1, NULL, &count, NULL, wait_count, wait, event), CL_SUCCESS);
}

static void expect_flipped(struct shared *s, unsigned seed)
{
    unsigned char *expected = shared_pattern(s, seed);
    for (size_t i = 0; i < s->bytes; i++)
        expected[i] = (unsigned char)~expected[i];
    shared_d3d_expect_bytes(s, expected);
    free(expected);
}

static cl_command_queue another_queue(const struct rig *rig, cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(rig->context, rig->cl_device, properties, &status);
    CHECK_INT(status, CL_SUCCESS);
    return queue;
}

/* ---- predicates ---- */

/* Of whether something was drawn; nothing is. */
static void *make_predicate(const struct rig *rig)
{
    void *predicate = NULL;
    if (rig->api->version == 11) {
        const D3D11_QUERY_DESC desc = {D3D11_QUERY_OCCLUSION_PREDICATE, 0};
        CHECK_INT(ID3D11Device_CreatePredicate((ID3D11Device *)rig->device, &desc, (ID3D11Predicate **)&predicate),
                  S_OK);
    } else {
        const D3D10_QUERY_DESC desc = {D3D10_QUERY_OCCLUSION_PREDICATE, 0};
        CHECK_INT(ID3D10Device_CreatePredicate((ID3D10Device *)rig->device, &desc, (ID3D10Predicate **)&predicate),
                  S_OK);
    }
    return predicate;
}

static ID3D11DeviceContext *context_of(const struct rig *rig)
{
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)rig->device, &context);
    return context;
}

static void draw_nothing(const struct rig *rig, void *predicate)
{
    if (rig->api->version == 11) {
        ID3D11DeviceContext *context = context_of(rig);
        ID3D11DeviceContext_Begin(context, (ID3D11Asynchronous *)predicate);
        ID3D11DeviceContext_End(context, (ID3D11Asynchronous *)predicate);
        ID3D11DeviceContext_Release(context);
    } else {
        ID3D10Predicate_Begin((ID3D10Predicate *)predicate);
        ID3D10Predicate_End((ID3D10Predicate *)predicate);
    }
}

static void set_predicate(const struct rig *rig, void *predicate, BOOL value)
{
    if (rig->api->version == 11) {
        ID3D11DeviceContext *context = context_of(rig);
        ID3D11DeviceContext_SetPredication(context, predicate, value);
        ID3D11DeviceContext_Release(context);
    } else {
        ID3D10Device_SetPredication((ID3D10Device *)rig->device, predicate, value);
    }
}

static void predicate_is(const struct rig *rig, void *predicate, BOOL expected)
{
    void *found = NULL;
    BOOL value = !expected;
    if (rig->api->version == 11) {
        ID3D11DeviceContext *context = context_of(rig);
        ID3D11DeviceContext_GetPredication(context, (ID3D11Predicate **)&found, &value);
        ID3D11DeviceContext_Release(context);
    } else {
        ID3D10Device_GetPredication((ID3D10Device *)rig->device, (ID3D10Predicate **)&found, &value);
    }
    CHECK(found == predicate);
    CHECK_INT(value, expected);
    if (found)
        rig_release(found);
}

/* What the program's next draws depend on is no business of acquire and release, which copy all the same. */
DATA_CASE("a predicate that lets nothing be drawn is set", predicated, 0)
{
    static const struct rig_desc descs[] = {
        {.width = 100, .bind = D3D11_BIND_VERTEX_BUFFER},
        {.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 9, .height = 5},
        {.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 9, .height = 5, .depth = 3},
    };
    void *predicate = make_predicate(rig);
    if (!predicate)
        return;
    draw_nothing(rig, predicate);
    for (unsigned i = 0; i < sizeof(descs) / sizeof(descs[0]); i++) {
        struct shared s;
        if (!shared_open(&s, rig, &descs[i], 0, CL_MEM_READ_WRITE))
            continue;
        unsigned char *bytes = shared_pattern(&s, 60);
        shared_prepare(&s, 50);
        set_predicate(rig, predicate, i % 2);
        shared_acquire(&s);
        shared_cl_expect(&s, 50);
        shared_cl_write(&s, bytes);
        shared_release(&s);
        predicate_is(rig, predicate, i % 2);
        set_predicate(rig, NULL, FALSE);
        shared_d3d_expect(&s, 60);
        free(bytes);
        shared_close(&s);
    }
    rig_release(predicate);
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
        slow_run(&slow, rig->queue, 0, NULL, NULL);
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
        slow_run(&slow, rig->queue, 0, NULL, NULL);
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

/* ---- several queues and events ---- */

static bool has_out_of_order(const struct rig *rig)
{
    cl_command_queue_properties properties = 0;
    clGetDeviceInfo(rig->cl_device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return true;
    SKIP("the device has no out-of-order queues");
    return false;
}

/* In a queue without order, events alone say what comes first. */
DATA_CASE("acquired, used and released in an out-of-order queue", out_of_order, 0)
{
    struct slow slow;
    if (!has_out_of_order(rig) || !slow_open(&slow, rig))
        return;
    cl_command_queue queue = another_queue(rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    for (unsigned i = 0; i < 3; i++) {
        cl_event acquired = NULL, flipped[2] = {NULL, NULL};
        shared_prepare(&slow.s, 5 + i);
        CHECK_INT(rig->acquire(queue, 1, &slow.s.memory, 0, NULL, &acquired), CL_SUCCESS);
        slow_run(&slow, queue, 1, &acquired, &flipped[0]);
        slow_run(&slow, queue, 1, &flipped[0], &flipped[1]);
        clReleaseEvent(flipped[0]);
        slow_run(&slow, queue, 1, &flipped[1], &flipped[0]);
        CHECK_INT(rig->release(queue, 1, &slow.s.memory, 1, &flipped[0], NULL), CL_SUCCESS);
        expect_flipped(&slow.s, 5 + i);
        clReleaseEvent(acquired);
        clReleaseEvent(flipped[0]);
        clReleaseEvent(flipped[1]);
    }
    slow_close(&slow);
    clReleaseCommandQueue(queue);
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
        slow_run(&slow, rig->queue, 0, NULL, NULL);
        CHECK_INT(rig->release(rig->queue, 1, &slow.s.memory, 0, NULL, &released), CL_SUCCESS);
        CHECK_INT(i % 2 ? clFinish(rig->queue) : clWaitForEvents(1, &released), CL_SUCCESS);
        expect_flipped(&slow.s, 10 + i);
        clReleaseEvent(released);
    }
    slow_close(&slow);
}

/* Fills a render target; false where Direct3D has no views. */
static bool clear(const struct rig *rig, void *resource, const float color[4])
{
    if (rig->api->version == 11) {
        ID3D11DeviceContext *context;
        ID3D11RenderTargetView *view = NULL;
        if (FAILED(ID3D11Device_CreateRenderTargetView((ID3D11Device *)rig->device, resource, NULL, &view)))
            return false;
        ID3D11Device_GetImmediateContext((ID3D11Device *)rig->device, &context);
        ID3D11DeviceContext_ClearRenderTargetView(context, view, color);
        ID3D11RenderTargetView_Release(view);
        ID3D11DeviceContext_Release(context);
        return true;
    }
    ID3D10RenderTargetView *view = NULL;
    if (FAILED(ID3D10Device_CreateRenderTargetView((ID3D10Device *)rig->device, resource, NULL, &view)))
        return false;
    ID3D10Device_ClearRenderTargetView((ID3D10Device *)rig->device, view, color);
    ID3D10RenderTargetView_Release(view);
    return true;
}

/* A Direct3D may put a clear off until the texture is used next, beyond a flush and an event query. */
DATA_CASE("Direct3D clears a render target right before the acquire", clears, 0)
{
    static const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                         .width = 96,
                                         .height = 48,
                                         .bind = D3D11_BIND_RENDER_TARGET | D3D11_BIND_SHADER_RESOURCE};
    unsigned char texels[96 * 48 * 4], expected[96 * 48 * 4];
    struct shared s;
    if (!shared_open(&s, rig, &desc, 0, CL_MEM_READ_WRITE))
        return;
    for (int i = 0; i < 8; i++) {
        const unsigned value = 30u + 20u * (unsigned)i;
        const float color[4] = {(float)value / 255, (float)value / 255, (float)value / 255, (float)value / 255};
        if (!clear(rig, s.resource, color)) {
            SKIP("this Direct3D has no views");
            break;
        }
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
    shared_close(&s);
}

TAP_MAIN
