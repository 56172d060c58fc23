/* Direct3D 9 fails once, in a call that decides how an object is read and written from then on. */
#include "common/dx9.h"
#include "fake_d3d.h"
#include "sharing.h"

enum { WIDTH = 64, HEIGHT = 48 };

#define BGRA8 (dx9_format_of(D3DFMT_A8R8G8B8))

/* ---- two objects of one surface that go different ways ---- */

static const size_t whole[3] = {WIDTH, HEIGHT, 1};

/* The first look whether the surface can be locked fails: the object goes through a render target of the library's. */
static void acquire_by_target(struct dx9_surface *s)
{
    CHECK(fake_d3d_fail("IDirect3DSurface9::LockRect", 1, E_FAIL) > 0);
    const unsigned before = fake_d3d_calls("IDirect3DDevice9::StretchRect");
    dx9_acquire(s);
    CHECK(fake_d3d_calls("IDirect3DDevice9::StretchRect") > before);
    dx9_cl_expect(s, 1);
    dx9_release(s);
}

/* Both in one list, in this order. What OpenCL writes to one of them goes back. */
static void both_ways(struct dx9_surface *s, const cl_mem objects[2], unsigned seed)
{
    const unsigned stretched = fake_d3d_calls("IDirect3DDevice9::StretchRect");
    unsigned char *bytes = dx9_pattern(s, seed), *found = calloc(1, s->bytes);
    dx9_fill(s, seed);
    CHECK_INT(s->dx9->acquire(s->queue, 2, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(fake_d3d_calls("IDirect3DDevice9::StretchRect"), stretched + 1);
    for (int i = 0; i < 2; i++) {
        memset(found, 0, s->bytes);
        CHECK_INT(clEnqueueReadImage(s->queue, objects[i], CL_TRUE, no_origin(), whole, 0, 0, found, 0, NULL, NULL),
                  CL_SUCCESS);
        CHECK_MEM(found, bytes, s->bytes);
    }
    free(bytes);
    bytes = dx9_pattern(s, seed + 1);
    CHECK_INT(clEnqueueWriteImage(s->queue, objects[seed % 2], CL_TRUE, no_origin(), whole, 0, 0, bytes, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(s->dx9->release(s->queue, 2, objects, 0, NULL, NULL), CL_SUCCESS);
    dx9_expect_bytes(s, bytes);
    free(found);
    free(bytes);
}

/* A surface that can be locked leaves its way to the next of its shape, which can't. */
DX9_CASE(not_lockable, 0)
{
    struct dx9_surface one, other;
    if (over_transport("import")) {
        SKIP("nothing is copied there");
        return;
    }
    if (!dx9_open_surface(&one, dx9, BGRA8, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    if (dx9_open_surface(&other, dx9, BGRA8, DX9_PLAIN, WIDTH, HEIGHT)) {
        dx9_fill(&one, 1);
        dx9_fill(&other, 2);
        dx9_acquire(&one);
        dx9_cl_expect(&one, 1);
        dx9_release(&one);
        fake_d3d_keep_unlocked(other.surface);
        for (unsigned i = 0; i < 2; i++) {
            dx9_acquire(&other);
            dx9_cl_expect(&other, 2);
            dx9_release(&other);
        }
        dx9_close_surface(&other);
    }
    dx9_close_surface(&one);
}

/* A surface that stays locked for one object can't be read back for the other. */
DX9_CASE(two_ways, 0)
{
    struct dx9_surface s;
    cl_int status = 1;
    if (over_transport("import")) {
        SKIP("nothing is copied there");
        return;
    }
    if (!dx9_open_surface(&s, dx9, BGRA8, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    dx9_fill(&s, 1);
    acquire_by_target(&s);
    cl_mem second = dx9_create(dx9, s.context, CL_MEM_READ_WRITE, s.surface, 0, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        const cl_mem orders[2][2] = {{s.planes[0], second}, {second, s.planes[0]}};
        for (unsigned turn = 0; turn < 4; turn++)
            both_ways(&s, orders[turn / 2], 10 + 5 * turn);
        CHECK_INT(clReleaseMemObject(second), CL_SUCCESS);
    }
    dx9_close_surface(&s);
}

/* ---- a surface that is locked at the first acquire ---- */

/* The program has it locked: Direct3D neither locks it nor copies from it. */
static void acquire_locked(struct dx9_surface *s)
{
    CHECK(fake_d3d_fail("IDirect3DSurface9::LockRect", 1, D3DERR_INVALIDCALL) > 0);
    CHECK(fake_d3d_fail("IDirect3DDevice9::StretchRect", 1, D3DERR_INVALIDCALL) > 0);
    CHECK_INT(s->dx9->acquire(s->queue, s->format->plane_count, s->planes, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
    fake_d3d_reset();
}

/* Surfaces that can be locked, one with a plane and one with two. */
static void each_lockable(const struct dx9 *dx9, void (*use)(struct dx9_surface *))
{
    const struct dx9_format *const formats[] = {BGRA8, &dx9_formats[0]};
    if (over_transport("import")) {
        SKIP("nothing is copied there");
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct dx9_surface s;
        if (!dx9_open_surface(&s, dx9, formats[i], DX9_PLAIN, WIDTH, HEIGHT))
            continue;
        use(&s);
        dx9_close_surface(&s);
    }
}

static void lock_later(struct dx9_surface *s)
{
    dx9_fill(s, 1);
    acquire_locked(s);
    const unsigned stretched = fake_d3d_calls("IDirect3DDevice9::StretchRect");
    dx9_frame(s, 2);
    CHECK_INT(fake_d3d_calls("IDirect3DDevice9::StretchRect"), stretched);
}

/* What can be locked later goes by a lock then, not through a render target for good. */
DX9_CASE(locked_once, 0)
{
    each_lockable(dx9, lock_later);
}

/* ---- a surface that does not take what was written ---- */

static void fail_to_unlock(struct dx9_surface *s)
{
    dx9_frame(s, 1);
    CHECK(fake_d3d_fail("IDirect3DSurface9::UnlockRect", 1, E_FAIL) > 0);
    dx9_acquire(s);
    dx9_cl_fill(s, 2);
    CHECK(fake_d3d_fail("IDirect3DSurface9::UnlockRect", 1, E_FAIL) > 0);
    CHECK_INT(s->dx9->release(s->queue, s->format->plane_count, s->planes, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
    dx9_frame(s, 3);
}

/* The release says so. What was only read is there in any case. */
DX9_CASE(unlock_fails, 0)
{
    each_lockable(dx9, fail_to_unlock);
}

/* ---- a target of a video processor ---- */

/* Some can be locked and not read back, and the other way round. */
DX9_CASE(packed_target, 0)
{
    const struct dx9_format *yuy2 = &dx9_beyond[1];
    const enum dx9_kind kinds[] = {DX9_LOCKABLE_TARGET, DX9_TARGET};
    if (over_transport("import")) {
        SKIP("nothing is copied there");
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct dx9_surface s;
        if (!dx9_open_surface(&s, dx9, yuy2, kinds[i], WIDTH, HEIGHT))
            continue;
        dx9_fill(&s, 1);
        if (kinds[i] == DX9_LOCKABLE_TARGET)
            CHECK(fake_d3d_fail("IDirect3DDevice9::GetRenderTargetData", 1, D3DERR_INVALIDCALL) > 0);
        dx9_acquire(&s);
        fake_d3d_reset();
        dx9_cl_expect(&s, 1);
        dx9_release(&s);
        dx9_close_surface(&s);
    }
}

/* ---- handles ---- */

static cl_int create_with_handle(const struct dx9_surface *s, HANDLE handle)
{
    cl_dx9_surface_info_khr info = {s->surface, handle};
    cl_int status = 1;
    cl_mem object = s->dx9->create(s->context, CL_MEM_READ_WRITE, s->dx9->adapter_type, &info, 0, &status);
    if (object)
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    return status;
}

/* Where Direct3D does not make another such surface, nothing is known of a handle. Plain Direct3D 9 has no handles. */
DX9_CASE(no_twin, 0)
{
    static const HANDLE any = (HANDLE)0xDEADBEEC;
    struct dx9_surface s;
    if (!dx9_make(&s, dx9, BGRA8, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK(fake_d3d_fail("IDirect3DDevice9::CreateOffscreenPlainSurface", 1, D3DERR_INVALIDCALL) > 0);
    CHECK_INT(create_with_handle(&s, any), dx9->extended ? CL_SUCCESS : CL_INVALID_DX9_MEDIA_SURFACE_KHR);
    fake_d3d_reset();
    CHECK_INT(create_with_handle(&s, any), CL_INVALID_DX9_MEDIA_SURFACE_KHR);
    /* The twin is made, but its own handle is not opened. */
    CHECK(fake_d3d_fail("IDirect3DDevice9::CreateOffscreenPlainSurface", 2, D3DERR_INVALIDCALL) > 0);
    CHECK_INT(create_with_handle(&s, any), dx9->extended ? CL_SUCCESS : CL_INVALID_DX9_MEDIA_SURFACE_KHR);
    fake_d3d_reset();
    dx9_close_surface(&s);
}

static const struct tap_test tests[] = {
    DX9_TESTS("two objects of a surface, one by a lock and one through a render target", two_ways),
    DX9_TESTS("a surface that can't be locked, after one of its shape that can", not_lockable),
    DX9_TESTS("a surface that is locked at the first acquire", locked_once),
    DX9_TESTS("a surface that does not take what was written", unlock_fails),
    DX9_TESTS("handles of surfaces that Direct3D does not make again", no_twin),
    DX9_TESTS("a packed target of a video processor", packed_target),
};

TAP_MAIN(tests)
