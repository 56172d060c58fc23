/* The rig of the tests of cl_khr_dx9_media_sharing: one Direct3D 9 device, plain or extended, one OpenCL device, and
 * surfaces with an object for each plane.
 *
 * A case is written once and runs over a plain and over an extended device:
 *
 *     DX9_CASE("surfaces can be acquired", acquires, 0)
 *     {
 *         CHECK(dx9->rig.queue != NULL);
 *     }
 *
 * The bytes of a surface are handed around without gaps: the rows of plane 0, then those of plane 1 and 2. For YV12 that
 * is Y, V, U. */
#ifndef CLD3D_TESTS_DX9_H
#define CLD3D_TESTS_DX9_H

#include "formats.h"
#include "rig.h"
#include "tap.h"

#include <CL/cl_dx9_media_sharing.h>
#include <CL/cl_ext.h>
#include <dxvahd.h>

#ifndef _WIN32
/* The header has it for Windows only. */
typedef struct {
    IDirect3DSurface9 *resource;
    HANDLE shared_handle;
} cl_dx9_surface_info_khr;
#endif

/* ---- the rig ---- */

struct dx9 {
    struct rig rig; /* platform, OpenCL device, context and queue, for the functions of rig.h that need no Direct3D */
    bool extended;
    cl_uint adapter_type;
    cl_context_properties property;
    HWND window; /* the device's; NULL over the fake Direct3D */
    IDirect3D9 *d3d9;
    IDirect3DDevice9 *device;
    clGetDeviceIDsFromDX9MediaAdapterKHR_fn get_device_ids;
    clCreateFromDX9MediaSurfaceKHR_fn create;
    clEnqueueAcquireDX9MediaSurfacesKHR_fn acquire;
    clEnqueueReleaseDX9MediaSurfacesKHR_fn release;
};

/* A flag beside those of rig.h: the device is made with D3DCREATE_MULTITHREADED. */
enum { DX9_MULTITHREADED = 0x100 };

/* `flags`: RIG_USER_SYNC, RIG_PROFILING, RIG_OUT_OF_ORDER, RIG_NO_CONTEXT, DX9_MULTITHREADED. False: why is a failed check, and nothing is
 * owned. */
bool dx9_open(struct dx9 *dx9, bool extended, unsigned flags);
/* Nothing but the rig may hold the device any more. */
void dx9_close(struct dx9 *dx9);
/* Opens, runs, closes; over the fake Direct3D no rule of Direct3D may have been broken and nothing may be left. */
void dx9_run(bool extended, unsigned flags, void (*body)(struct dx9 *));

#define DX9_CASE(text, name, flags)                \
    static void name(struct dx9 *dx9);             \
    static void name##_plain(void)                 \
    {                                              \
        dx9_run(false, (flags), name);             \
    }                                              \
    TAP_LIST("Direct3D 9: " text, name##_plain, 0) \
    DX9EX_CASE("Direct3D 9Ex: " text, name, flags)

/* The same for an extended device alone. */
#define DX9EX_CASE(text, name, flags)  \
    static void name(struct dx9 *dx9); \
    static void name##_extended(void)  \
    {                                  \
        dx9_run(true, (flags), name);  \
    }                                  \
    TAP_LIST(text, name##_extended, 1) \
    static void name(struct dx9 *dx9)

/* A DXVA-HD device on the rig's, which must be extended: under Wine that of dxva2.c, over the fake Direct3D its own. NULL with
 * a failed check. */
IDXVAHD_Device *dx9_make_dxva(const struct dx9 *dx9);

/* A device beside the rig's, with a Direct3D object of its own that lives as long; NULL with a failed check. */
IDirect3DDevice9 *dx9_make_device(bool extended);
/* A context with interop for one adapter. */
cl_context dx9_make_context(const struct dx9 *dx9, cl_context_properties property, void *device, cl_int *status);

/* ---- formats ---- */

struct dx9_format {
    const char *name;
    D3DFORMAT d3d;
    UINT plane_count;
    bool x8;                 /* the fourth byte of a texel means nothing to Direct3D, which may lose it */
    struct format planes[3]; /* with the DXGI format of the same texels */
};

enum { DX9_FORMAT_COUNT = 18, DX9_MOST_PLANES = 3 };
/* NV12 is the first, YV12 the second. */
extern const struct dx9_format dx9_formats[DX9_FORMAT_COUNT];

/* P010 and packed YUV. They are in no table of the extension. */
enum { DX9_BEYOND_COUNT = 5 };
extern const struct dx9_format dx9_beyond[DX9_BEYOND_COUNT];

const struct dx9_format *dx9_format_of(D3DFORMAT d3d);

/* ---- surfaces ---- */

enum dx9_kind {
    DX9_PLAIN,           /* off-screen plain */
    DX9_TARGET,          /* a render target that can't be locked */
    DX9_LOCKABLE_TARGET, /* one that can */
    DX9_LEVEL,           /* level 1 of a texture */
    DX9_TARGET_LEVEL,    /* level 1 of a texture that is a render target */
    DX9_DYNAMIC_LEVEL,   /* level 1 of a dynamic texture */
    DX9_KINDS
};

struct dx9_surface {
    const struct dx9 *dx9;
    const struct dx9_format *format;
    enum dx9_kind kind;
    UINT width, height;
    IDirect3DSurface9 *surface; /* one reference */
    cl_context context;
    cl_command_queue queue;
    cl_mem planes[DX9_MOST_PLANES]; /* owned; NULL before dx9_share */
    size_t bytes;
    bool x_lost; /* Direct3D itself does not keep the fourth bytes of an X8 format here */
};

/* Makes a surface in D3DPOOL_DEFAULT of the rig's device; false, without a failed check, where Direct3D has no such. */
bool dx9_make(struct dx9_surface *s, const struct dx9 *dx9, const struct dx9_format *format, enum dx9_kind kind,
              UINT width, UINT height);
/* A surface as a video processor has for its input or its output. NULL with a failed check. */
IDirect3DSurface9 *dx9_dxva_surface(IDXVAHD_Device *dxva, const struct dx9_format *format, bool output, UINT width,
                                    UINT height);
/* Makes the objects of all planes in the rig's context; false with a failed check. */
bool dx9_share(struct dx9_surface *s, cl_mem_flags flags);
/* Both, with a failed check. */
bool dx9_open_surface(struct dx9_surface *s, const struct dx9 *dx9, const struct dx9_format *format, enum dx9_kind kind,
                      UINT width, UINT height);
void dx9_close_surface(struct dx9_surface *s);

/* Whether a surface may be made with a handle of its own. */
static inline bool dx9_gives_handles(const struct dx9 *dx9)
{
    return dx9->extended && rig_shares_textures();
}

/* The object of one plane, with shared_handle NULL. */
cl_mem dx9_create(const struct dx9 *dx9, cl_context context, cl_mem_flags flags, IDirect3DSurface9 *surface,
                  cl_uint plane, cl_int *status);

/* Where a plane lies in the bytes, its size in bytes and in texels. */
size_t dx9_offset(const struct dx9_surface *s, UINT plane);
size_t dx9_plane_bytes(const struct dx9_surface *s, UINT plane);
UINT dx9_plane_width(const struct dx9_surface *s, UINT plane);
UINT dx9_plane_height(const struct dx9_surface *s, UINT plane);

/* All planes through Direct3D: by a lock where that is possible, else through surfaces in system memory. */
bool dx9_write(struct dx9_surface *s, const void *bytes);
bool dx9_read(struct dx9_surface *s, void *bytes);
/* Whether Direct3D gives back what it got, without any sharing. Sets x_lost. */
bool dx9_keeps(struct dx9_surface *s);

/* Memory with a pattern without NaN. Seeds that differ by less than 100 give planes that differ in their first byte. */
unsigned char *dx9_pattern(const struct dx9_surface *s, unsigned seed);
/* Direct3D writes the pattern of a seed; Direct3D must find it, or these bytes. */
void dx9_fill(struct dx9_surface *s, unsigned seed);
void dx9_expect(struct dx9_surface *s, unsigned seed);
void dx9_expect_bytes(struct dx9_surface *s, const unsigned char *expected);

/* All planes in one call. */
void dx9_acquire(struct dx9_surface *s);
void dx9_release(struct dx9_surface *s);
/* One plane. */
void dx9_acquire_plane(struct dx9_surface *s, UINT plane);
void dx9_release_plane(struct dx9_surface *s, UINT plane);

/* Whole transfers of an acquired plane, done when they return. `bytes`: of the surface. */
void dx9_cl_write(struct dx9_surface *s, UINT plane, const unsigned char *bytes);
void dx9_cl_read(struct dx9_surface *s, UINT plane, unsigned char *bytes);
/* All planes. */
void dx9_cl_fill(struct dx9_surface *s, unsigned seed);
void dx9_cl_expect(struct dx9_surface *s, unsigned seed);

/* Says that the case goes without a format. */
void dx9_left_out(const struct dx9_format *format, const char *why);

/* Direct3D writes `seed`, OpenCL finds it and writes the next one, which Direct3D finds. */
void dx9_frame(struct dx9_surface *s, unsigned seed);
/* The same, and once more into what OpenCL had: uses the seeds up to `seed` + 2, and leaves the last one in Direct3D. The other one
 * begins with seed 1. */
void dx9_round_trip_from(struct dx9_surface *s, unsigned seed);
void dx9_round_trip(struct dx9_surface *s);

/* How many checks of the case have failed; and says, if some did since `before`, what they were about. */
int dx9_failures(void);
void dx9_remark(int before, const char *text, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Runs a test for each format that Direct3D has in this kind of surface, with fresh objects of all planes. Names the
 * others. Returns how many ran. */
unsigned dx9_each_format(const struct dx9 *dx9, enum dx9_kind kind, UINT width, UINT height,
                         void (*test)(struct dx9_surface *));

#endif
