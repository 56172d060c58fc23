/* What is shared: a texture, a buffer or a video surface of Direct3D, and the copies of it that Direct3D makes for whoever
 * knows nothing but Direct3D. */
#ifndef BENCH_SURFACE_H
#define BENCH_SURFACE_H

#include "opencl.h"

enum { MOST_PLANES = 2 };

struct plane {
    size_t width, height; /* texels; of a buffer bytes and rows, with PITCH bytes to a row */
    size_t texel;         /* bytes */
    cl_image_format format;
};

/* Memory of Direct3D that the CPU may touch now. */
struct rows {
    void *data;
    size_t pitch;
};

struct surface;

struct surface_ops {
    /* Direct3D makes a new frame whose first texel is `value`, and has it when the call returns. */
    void (*draw)(struct surface *surface, float value);
    /* Maps the CPU's copy; with `over` what Direct3D has is brought there first. `back` says that it will be written. */
    void (*map)(struct surface *surface, bool over, bool back, struct rows rows[MOST_PLANES]);
    /* Unmaps it; with `back` Direct3D gets it. */
    void (*unmap)(struct surface *surface, bool back);
    /* Waits until Direct3D has done all that it was told. */
    void (*wait)(struct surface *surface);
    /* The first texel as Direct3D has it. */
    float (*look)(struct surface *surface);
    /* A new shared object for one plane, in a context of the surface's device. */
    cl_mem (*share)(struct surface *surface, const struct opencl *cl, cl_mem_flags flags, unsigned plane);
    void (*close)(struct surface *surface);
};

struct surface {
    const struct surface_ops *ops;
    bool is_buffer;
    bool is_video; /* of Direct3D 9 */
    size_t bytes;  /* of all planes */
    unsigned plane_count;
    struct plane planes[MOST_PLANES];
    void *device, *resource, *staging, *pixel; /* Direct3D's; staging and pixel as far as there are any */
};

enum { BUFFER_PITCH = 4096 };

/* Direct3D 11. */
ID3D11Device *d3d11_open(void);
struct surface d3d11_texture(ID3D11Device *device, DXGI_FORMAT format, unsigned width, unsigned height);
bool d3d11_has_nv12(ID3D11Device *device); /* as a texture; Wine's own Direct3D has not */
struct surface d3d11_nv12(ID3D11Device *device, unsigned width, unsigned height);
struct surface d3d11_buffer(ID3D11Device *device, size_t bytes);

/* Direct3D 9Ex, with a window that nobody sees. */
void *d3d9_open(void);
struct surface d3d9_nv12(void *device, unsigned width, unsigned height);
struct surface d3d9_rgba8(void *device, unsigned width, unsigned height);

#endif
