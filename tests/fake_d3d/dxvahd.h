/* DXVA-HD as far as the fake Direct3D has it, for native builds: Wine's headers lack dxvahd.h. Windows builds
 * find the real one by the same name. */
#ifndef FAKE_DXVAHD_H
#define FAKE_DXVAHD_H

#include <d3d9.h>

typedef enum _DXVAHD_SURFACE_TYPE {
    DXVAHD_SURFACE_TYPE_VIDEO_INPUT = 0,
    DXVAHD_SURFACE_TYPE_VIDEO_INPUT_PRIVATE = 1,
    DXVAHD_SURFACE_TYPE_VIDEO_OUTPUT = 2
} DXVAHD_SURFACE_TYPE;

typedef enum _DXVAHD_DEVICE_USAGE { DXVAHD_DEVICE_USAGE_PLAYBACK_NORMAL = 0 } DXVAHD_DEVICE_USAGE;

typedef enum _DXVAHD_FRAME_FORMAT { DXVAHD_FRAME_FORMAT_PROGRESSIVE = 0 } DXVAHD_FRAME_FORMAT;

typedef struct _DXVAHD_RATIONAL {
    UINT Numerator;
    UINT Denominator;
} DXVAHD_RATIONAL;

typedef struct _DXVAHD_CONTENT_DESC {
    DXVAHD_FRAME_FORMAT InputFrameFormat;
    DXVAHD_RATIONAL InputFrameRate;
    UINT InputWidth;
    UINT InputHeight;
    DXVAHD_RATIONAL OutputFrameRate;
    UINT OutputWidth;
    UINT OutputHeight;
} DXVAHD_CONTENT_DESC;

typedef struct IDXVAHD_Device IDXVAHD_Device;

DEFINE_GUID(IID_IDXVAHD_Device, 0x95f12dfd, 0xd77e, 0x49be, 0x81, 0x5f, 0x57, 0xd5, 0x79, 0x63, 0x4d, 0x6d);

/* In the form that gen_stubs.py reads. What the fake does not have has pointers without types. */
typedef struct IDXVAHD_DeviceVtbl {
    /*** IUnknown methods ***/
    HRESULT(STDMETHODCALLTYPE *QueryInterface)(IDXVAHD_Device *This, REFIID riid, void **ppvObject);
    ULONG(STDMETHODCALLTYPE *AddRef)(IDXVAHD_Device *This);
    ULONG(STDMETHODCALLTYPE *Release)(IDXVAHD_Device *This);
    /*** IDXVAHD_Device methods ***/
    /* clang-format off */
    HRESULT(STDMETHODCALLTYPE *CreateVideoSurface)(IDXVAHD_Device *This, UINT Width, UINT Height, D3DFORMAT Format, D3DPOOL Pool, DWORD Usage,
            DXVAHD_SURFACE_TYPE Type, UINT NumSurfaces, IDirect3DSurface9 **ppSurfaces, HANDLE *pSharedHandle);
    /* clang-format on */
    HRESULT(STDMETHODCALLTYPE *GetVideoProcessorDeviceCaps)(IDXVAHD_Device *This, void *pCaps);
    HRESULT(STDMETHODCALLTYPE *GetVideoProcessorOutputFormats)(IDXVAHD_Device *This, UINT Count, D3DFORMAT *pFormats);
    HRESULT(STDMETHODCALLTYPE *GetVideoProcessorInputFormats)(IDXVAHD_Device *This, UINT Count, D3DFORMAT *pFormats);
    HRESULT(STDMETHODCALLTYPE *GetVideoProcessorCaps)(IDXVAHD_Device *This, UINT Count, void *pCaps);
    /* clang-format off */
    HRESULT(STDMETHODCALLTYPE *GetVideoProcessorCustomRates)(IDXVAHD_Device *This, const GUID *pVPGuid, UINT Count, void *pRates);
    /* clang-format on */
    HRESULT(STDMETHODCALLTYPE *GetVideoProcessorFilterRange)(IDXVAHD_Device *This, UINT Filter, void *pRange);
    /* clang-format off */
    HRESULT(STDMETHODCALLTYPE *CreateVideoProcessor)(IDXVAHD_Device *This, const GUID *pVPGuid, void **ppVideoProcessor);
    /* clang-format on */
} IDXVAHD_DeviceVtbl;

struct IDXVAHD_Device {
    IDXVAHD_DeviceVtbl *lpVtbl;
};

#define IDXVAHD_Device_Release(This) (This)->lpVtbl->Release(This)
#define IDXVAHD_Device_CreateVideoSurface(This, Width, Height, Format, Pool, Usage, Type, NumSurfaces, ppSurfaces, \
                                          pSharedHandle)                                                           \
    (This)->lpVtbl->CreateVideoSurface(This, Width, Height, Format, Pool, Usage, Type, NumSurfaces, ppSurfaces,    \
                                       pSharedHandle)

HRESULT WINAPI DXVAHD_CreateDevice(IDirect3DDevice9Ex *device, const DXVAHD_CONTENT_DESC *content,
                                   DXVAHD_DEVICE_USAGE usage, void *plugin, IDXVAHD_Device **out);

#endif
