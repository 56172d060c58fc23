/* Direct3D 9 fails once, in a call that decides how an object is read and written from then on. */
#include "common/dx9.h"
#include "fake_d3d.h"
#include "sharing.h"

enum { WIDTH = 64, HEIGHT = 48 };

#define BGRA8 (dx9_format_of(D3DFMT_A8R8G8B8))

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
DX9_CASE("a surface that is locked at the first acquire", locked_once, 0)
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
DX9_CASE("a surface that does not take what was written", unlock_fails, 0)
{
    each_lockable(dx9, fail_to_unlock);
}

TAP_MAIN
