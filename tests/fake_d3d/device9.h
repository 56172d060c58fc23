/* The parts of Direct3D 9. */
#ifndef FAKE_DEVICE9_H
#define FAKE_DEVICE9_H

#include "fake_internal.h"

struct fake_d3d9 {
    struct fake_object object;
    struct fake_iface face;
    bool extended; /* made by Direct3DCreate9Ex */
    unsigned count;
    DXGI_ADAPTER_DESC1 adapters[FAKE_D3D_MAX_ADAPTERS];
};

struct fake_device9 {
    struct fake_device base;
    struct fake_iface face;
    struct fake_iface interop_queue; /* vulkan.c */
    struct fake_d3d9 *d3d9;          /* one reference */
    bool extended;
    D3DDEVICE_CREATION_PARAMETERS parameters;
    atomic_uint default_pool; /* objects that a reset does not survive */
};

/* What surfaces and textures are made of. */
struct fake_traits9 {
    const struct fake_format *format;
    UINT width, height, levels;
    DWORD usage;
    D3DPOOL pool;
    D3DMULTISAMPLE_TYPE samples;
    DWORD quality;
    bool plain; /* an off-screen plain surface */
    bool lockable;
};

/* A surface by itself, or a level in the memory of its texture. */
struct fake_surface9 {
    struct fake_object object;
    struct fake_iface face;
    struct fake_iface interop;     /* vulkan.c */
    struct fake_texture9 *texture; /* NULL: by itself, with a store of its own */
    struct fake_traits9 traits;
    struct fake_store *store;
    unsigned level;
    bool touched; /* a program has locked it, or Direct3D has written it; locked */
    GUID noted;   /* what SetPrivateData got, of this size; 0: nothing */
    unsigned char note[16];
    DWORD note_size;
};

struct fake_texture9 {
    struct fake_object object;
    struct fake_iface face;
    struct fake_iface interop; /* vulkan.c */
    struct fake_traits9 traits;
    struct fake_store *store;
    struct fake_surface9 levels[];
};

/* device9.c */
struct fake_device9 *fake_device9_create(struct fake_d3d9 *d3d9, UINT adapter, D3DDEVTYPE type, HWND window,
                                         DWORD flags);

/* As fake_enter, for methods that succeed on a lost device too, without effect: `lost` tells. */
HRESULT fake_enter9(struct fake_call *call, struct fake_device *device, enum fake_method method, bool *lost);

/* surface9.c; locked. The store is taken over. */
struct fake_surface9 *fake_surface9_create(struct fake_device9 *device, const struct fake_traits9 *traits,
                                           struct fake_store *store);
struct fake_texture9 *fake_texture9_create(struct fake_device9 *device, const struct fake_traits9 *traits,
                                           struct fake_store *store);
/* The surface of an interface pointer that a program passes, if it is one of this device; otherwise
 * NULL. */
struct fake_surface9 *fake_surface9_check(struct fake_device *device, IDirect3DSurface9 *iface);

/* device9.c: a method that DXVA-HD has use for, too. */
HRESULT STDMETHODCALLTYPE fake_device9_CreateOffscreenPlainSurface(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                                   D3DFORMAT format, D3DPOOL pool,
                                                                   IDirect3DSurface9 **out, HANDLE *handle);

#endif
