/* Shared between the files of Direct3D 9. */
#ifndef CLD3D_D3D_D3D9_H
#define CLD3D_D3D_D3D9_H

#include "d3d/d3d_types.h"
#include "d3d/native.h"
#include "d3d/staging.h"

/* Whether a surface belongs to a container of that kind. */
bool d3d9_is_in(IDirect3DSurface9 *surface, const GUID *kind);

/* The device of a surface, with a reference, or NULL. */
IDirect3DDevice9 *d3d9_device_of(void *resource);

/* The device of a surface, for use by this thread until d3d9_leave; NULL: there is none. d3d9_leave is called only
 * after a device was returned; it returns whether the device is not lost and has taken what was written. */
IDirect3DDevice9 *d3d9_enter(void *surface);
bool d3d9_leave(void);

/* An event query behind everything that the device has queued, with one reference. While it exists the device cannot be
 * reset. *query is NULL on failure. */
HRESULT d3d9_issue_event(IDirect3DDevice9 *device, IDirect3DQuery9 **query);
/* S_OK: the device has reached the query; S_FALSE: not yet. Submits what is queued. */
HRESULT d3d9_poll_event(IDirect3DQuery9 *query);

extern const struct staging_ops d3d9_staging;
extern const struct native_ops d3d9_native;

#endif
