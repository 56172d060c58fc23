/* Direct3D 9 objects over time: who holds what until when, devices that are lost, and who touches a device that is not
 * protected against other threads. */
#include "common/dx9.h"
#include "sharing.h"

enum { WIDTH = 64, HEIGHT = 48 };

#define NV12 (&dx9_formats[0])
#define BGRA8 (dx9_format_of(D3DFMT_A8R8G8B8))

/* ---- references ---- */

/* The context holds its device: test_contexts.c. */
DX9_CASE("an object holds its surface", object_counts, 0)
{
    struct dx9_surface s;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    const ULONG refs = rig_refs(s.surface), device_refs = rig_refs(dx9->device);
    dx9_share(&s, CL_MEM_READ_WRITE);
    CHECK_INT(clRetainMemObject(s.planes[0]), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(s.planes[0]), CL_SUCCESS);
    CHECK_INT(rig_refs(s.surface), refs + 2);
    /* Frames leave nothing behind. */
    for (int i = 0; i < 20; i++) {
        dx9_acquire(&s);
        CHECK_INT(rig_refs(s.surface), refs + 2);
        dx9_release(&s);
    }
    for (UINT p = 0; p < 2; p++) {
        CHECK_INT(clReleaseMemObject(s.planes[p]), CL_SUCCESS);
        CHECK_INT(rig_refs(s.surface), refs + 1 - p);
        s.planes[p] = NULL;
    }
    CHECK_INT(rig_refs(dx9->device), device_refs);
    dx9_close_surface(&s);
}

/* ---- objects that are made again for each frame ---- */

static void frame_of_new_objects(struct dx9_surface *s, unsigned seed)
{
    if (!dx9_share(s, CL_MEM_READ_WRITE))
        return;
    dx9_frame(s, seed);
    for (UINT plane = 0; plane < s->format->plane_count; plane++) {
        CHECK_INT(clReleaseMemObject(s->planes[plane]), CL_SUCCESS);
        s->planes[plane] = NULL;
    }
}

/* Surfaces of one size and of all kinds take turns: what a context keeps of one never serves another. */
DX9_CASE("objects made again for each frame", made_again, 0)
{
    struct dx9_surface surfaces[2 * DX9_KINDS + 2];
    unsigned count = 0;
    for (unsigned i = 0; i < 2 * DX9_KINDS; i++)
        count += dx9_make(&surfaces[count], dx9, BGRA8, (enum dx9_kind)(i / 2), WIDTH, HEIGHT);
    for (unsigned i = 0; i < 2; i++)
        count += dx9_make(&surfaces[count], dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT);
    CHECK(count >= 4);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < count; i++) {
            struct dx9_surface *s = &surfaces[turn % 2 ? count - 1 - i : i];
            const int before = dx9_failures();
            const ULONG device_refs = rig_refs(dx9->device);
            frame_of_new_objects(s, 10 * i + turn);
            CHECK_INT(rig_refs(dx9->device), device_refs); /* what is kept is no resource of Direct3D's */
            CHECK_INT(rig_refs(s->surface), 1);
            dx9_remark(before, "%s, kind %d", s->format->name, (int)s->kind);
        }
    }
    while (count > 0)
        dx9_close_surface(&surfaces[--count]);
}

#ifndef _WIN32

/* ---- lost devices ---- */

static const struct {
    enum dx9_kind kind;
    bool planar;
} lost_kinds[] = {
    {DX9_PLAIN, true}, {DX9_PLAIN, false}, {DX9_TARGET, false}, {DX9_LEVEL, false}, {DX9_DYNAMIC_LEVEL, false}};

enum { LOST_KINDS = sizeof(lost_kinds) / sizeof(lost_kinds[0]) };

static bool open_kind(struct dx9 *dx9, unsigned i, struct dx9_surface *s)
{
    return dx9_open_surface(s, dx9, lost_kinds[i].planar ? NV12 : BGRA8, lost_kinds[i].kind, WIDTH, HEIGHT);
}

/* The command fails, in its event or in the call, and the object is Direct3D's. */
static void fails(struct dx9_surface *s, rig_enqueue command, bool with_event)
{
    const cl_int not_acquired = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR;
    cl_event event = NULL;
    CHECK_INT(command(s->queue, s->format->plane_count, s->planes, 0, NULL, with_event ? &event : NULL),
              with_event ? CL_SUCCESS : CL_OUT_OF_RESOURCES);
    if (event) {
        CHECK_INT(rig_event_status(event), CL_OUT_OF_RESOURCES);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    for (UINT p = 0; p < s->format->plane_count; p++)
        CHECK_INT(s->dx9->release(s->queue, 1, &s->planes[p], 0, NULL, NULL), not_acquired);
}

static void lose(struct dx9_surface *s, bool with_event, HRESULT reason)
{
    const struct dx9 *dx9 = s->dx9;
    dx9_fill(s, 1);
    fake_d3d_remove(dx9->device, reason);
    fails(s, (rig_enqueue)dx9->acquire, with_event);
    fake_d3d_remove(dx9->device, D3D_OK);
    dx9_fill(s, 2);
    dx9_acquire(s);
    dx9_cl_expect(s, 2);
    fake_d3d_remove(dx9->device, reason);
    fails(s, (rig_enqueue)dx9->release, with_event);
    fake_d3d_remove(dx9->device, D3D_OK);
    /* As good as new when the device is. */
    dx9_fill(s, 3);
    dx9_acquire(s);
    dx9_cl_expect(s, 3);
    dx9_release(s);
}

DX9_CASE("a lost device fails the command", lost, 0)
{
    /* After the last one the device does not come back: the program must make another. */
    const HRESULT reasons[] = {D3DERR_DEVICELOST, D3DERR_DEVICENOTRESET, D3DERR_DRIVERINTERNALERROR};
    for (unsigned i = 0; i < 3 * 2 * LOST_KINDS; i++) {
        struct dx9_surface s;
        const int before = dx9_failures();
        if (!open_kind(dx9, i / 6, &s))
            continue;
        lose(&s, i % 2, reasons[i / 2 % 3]);
        dx9_close_surface(&s);
        dx9_remark(before, "with a surface of kind %d, event: %u", (int)lost_kinds[i / 6].kind, i % 2);
    }
}

static void lose_here(void *surface)
{
    lose(surface, false, D3DERR_DEVICELOST);
}

/* Direct3D tells only the thread that made the device whether it is lost. */
DX9_CASE("the loss on another thread than the device's", lost_elsewhere, 0)
{
    struct dx9_surface s;
    struct test_job job = {lose_here, &s};
    test_thread thread;
    if (!open_kind(dx9, 0, &s))
        return;
    fake_d3d_creator_asks(true);
    if (test_thread_start(&thread, &job))
        test_thread_join(thread);
    CHECK_INT(fake_d3d_live_of("IDirect3DQuery9"), 0); /* one would keep the device from a reset */
    fake_d3d_creator_asks(false);
    dx9_close_surface(&s);
}

/* A program's way out: give back what a reset does not survive, reset, make it again. */
DX9_CASE("a reset after the loss", reset, 0)
{
    D3DPRESENT_PARAMETERS parameters = {
        .BackBufferWidth = 64, .BackBufferHeight = 64, .Windowed = TRUE, .SwapEffect = D3DSWAPEFFECT_DISCARD};
    for (unsigned i = 0; i < LOST_KINDS; i++) {
        struct dx9_surface s;
        if (!open_kind(dx9, i, &s))
            continue;
        dx9_acquire(&s);
        fake_d3d_remove(dx9->device, D3DERR_DEVICENOTRESET);
        fails(&s, (rig_enqueue)dx9->release, true);
        dx9_close_surface(&s);
        CHECK_INT(IDirect3DDevice9_Reset(dx9->device, &parameters), D3D_OK);
        if (!open_kind(dx9, i, &s))
            continue;
        dx9_fill(&s, 1);
        dx9_acquire(&s);
        dx9_cl_expect(&s, 1);
        dx9_release(&s);
        dx9_close_surface(&s);
    }
}

/* ---- threads ---- */

/* A program with one thread uses its unprotected device whenever it likes: the fake tells of anybody else in there. */
DX9_CASE("one thread and an unprotected device", unprotected, 0)
{
    struct dx9_surface shared, own;
    if (!dx9_open_surface(&shared, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    if (CHECK(dx9_make(&own, dx9, BGRA8, DX9_PLAIN, WIDTH, HEIGHT))) {
        fake_d3d_slow_calls(300);
        for (unsigned i = 0; i < 20; i++) {
            cl_event acquired = NULL, released = NULL;
            CHECK_INT(dx9->acquire(shared.queue, 2, shared.planes, 0, NULL, &acquired), CL_SUCCESS);
            dx9_fill(&own, i);
            CHECK_INT(dx9->release(shared.queue, 2, shared.planes, 1, &acquired, &released), CL_SUCCESS);
            dx9_expect(&own, i);
            CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        }
        dx9_close_surface(&own);
    }
    dx9_close_surface(&shared);
}

struct worker {
    struct dx9_surface s;
    unsigned seed;
};

static void work(void *data)
{
    struct worker *w = data;
    for (unsigned i = 0; i < 10; i++) {
        dx9_fill(&w->s, w->seed + i);
        dx9_acquire(&w->s);
        dx9_cl_expect(&w->s, w->seed + i);
        dx9_cl_fill(&w->s, w->seed + i + 40);
        dx9_release(&w->s);
        dx9_expect(&w->s, w->seed + i + 40);
    }
}

/* With D3DCREATE_MULTITHREADED the program's own threads may all share. */
DX9_CASE("several threads and a protected device", protected_device, DX9_MULTITHREADED)
{
    enum { THREADS = 3 };
    struct worker workers[THREADS];
    test_thread threads[THREADS];
    struct test_job jobs[THREADS];
    fake_d3d_slow_calls(100);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(open_kind(dx9, i, &workers[i].s));
        workers[i].s.queue = make_queue(&dx9->rig, dx9->rig.context, 0);
        workers[i].seed = 100 * i;
        jobs[i] = (struct test_job){work, &workers[i]};
        test_thread_start(&threads[i], &jobs[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        test_thread_join(threads[i]);
        CHECK_INT(clReleaseCommandQueue(workers[i].s.queue), CL_SUCCESS);
        dx9_close_surface(&workers[i].s);
    }
}

#endif

TAP_MAIN
