/* The parts of Direct3D 9. */
#ifndef FAKE_DEVICE9_H
#define FAKE_DEVICE9_H

#include "fake_internal.h"

struct fake_d3d9 {
    struct fake_object object;
    FAKE_IFACE(IDirect3D9Ex) face;
    bool extended; /* made by Direct3DCreate9Ex */
    unsigned count;
    DXGI_ADAPTER_DESC1 adapters[FAKE_D3D_MAX_ADAPTERS];
};

struct fake_device9 {
    struct fake_device base;
    FAKE_IFACE(IDirect3DDevice9Ex) face;
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
    FAKE_IFACE(IDirect3DSurface9) face;
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
    FAKE_IFACE(IDirect3DTexture9) face;
    struct fake_iface interop; /* vulkan.c */
    struct fake_traits9 traits;
    struct fake_store *store;
    struct fake_surface9 levels[];
};

/* device9.c */
HRESULT fake_device9_create(struct fake_d3d9 *d3d9, UINT adapter, D3DDEVTYPE type, HWND window, DWORD flags,
                            struct fake_device9 **out);

/* As fake_enter, for methods that succeed on a lost device too, without effect: `lost` tells. */
HRESULT fake_enter9(struct fake_call *call, struct fake_device *device, enum fake_method method, bool *lost);

/* surface9.c; locked. The store is taken over, also when it fails (NULL). */
struct fake_surface9 *fake_surface9_create(struct fake_device9 *device, const struct fake_traits9 *traits,
                                           struct fake_store *store);
struct fake_texture9 *fake_texture9_create(struct fake_device9 *device, const struct fake_traits9 *traits,
                                           struct fake_store *store);
/* The surface of an interface pointer that a program passes, if it is one of this device; otherwise
 * NULL. */
struct fake_surface9 *fake_surface9_check(struct fake_device *device, IDirect3DSurface9 *iface);

/* resources9.c: the device's methods that make things. work9.c: those that do work. */
HRESULT STDMETHODCALLTYPE fake_device9_CreateTexture(IDirect3DDevice9Ex *iface, UINT width, UINT height, UINT levels,
                                                     DWORD usage, D3DFORMAT format, D3DPOOL pool,
                                                     IDirect3DTexture9 **out, HANDLE *handle);
HRESULT STDMETHODCALLTYPE fake_device9_CreateRenderTarget(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                          D3DFORMAT format, D3DMULTISAMPLE_TYPE samples, DWORD quality,
                                                          BOOL lockable, IDirect3DSurface9 **out, HANDLE *handle);
HRESULT STDMETHODCALLTYPE fake_device9_CreateOffscreenPlainSurface(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                                   D3DFORMAT format, D3DPOOL pool,
                                                                   IDirect3DSurface9 **out, HANDLE *handle);
HRESULT STDMETHODCALLTYPE fake_device9_CreateRenderTargetEx(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                            D3DFORMAT format, D3DMULTISAMPLE_TYPE samples,
                                                            DWORD quality, BOOL lockable, IDirect3DSurface9 **out,
                                                            HANDLE *handle, DWORD usage);
HRESULT STDMETHODCALLTYPE fake_device9_CreateOffscreenPlainSurfaceEx(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                                     D3DFORMAT format, D3DPOOL pool,
                                                                     IDirect3DSurface9 **out, HANDLE *handle,
                                                                     DWORD usage);
HRESULT STDMETHODCALLTYPE fake_device9_CreateQuery(IDirect3DDevice9Ex *iface, D3DQUERYTYPE type, IDirect3DQuery9 **out);

HRESULT STDMETHODCALLTYPE fake_device9_GetRenderTargetData(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
                                                           IDirect3DSurface9 *target);
HRESULT STDMETHODCALLTYPE fake_device9_UpdateSurface(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
                                                     const RECT *rect, IDirect3DSurface9 *target, const POINT *point);
HRESULT STDMETHODCALLTYPE fake_device9_StretchRect(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
                                                   const RECT *source_rect, IDirect3DSurface9 *target,
                                                   const RECT *target_rect, D3DTEXTUREFILTERTYPE filter);
HRESULT STDMETHODCALLTYPE fake_device9_ColorFill(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *surface,
                                                 const RECT *rect, D3DCOLOR colour);

#endif
