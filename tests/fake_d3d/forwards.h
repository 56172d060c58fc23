/* What the methods of both versions call (FORWARDS of gen_stubs.py), with the object in place of the interface. Pointers are to what either
 * version has. */
#ifndef FAKE_FORWARDS_H
#define FAKE_FORWARDS_H

#include "fake_internal.h"

#define FORWARD(name, ...) fake_##name(struct fake_object *object, enum fake_method method, __VA_ARGS__)
#define FORWARD0(name) fake_##name(struct fake_object *object, enum fake_method method)
/* The stub is in the device, which is not lost. */
#define ENTERED(name, ...) fake_##name(struct fake_device *device, enum fake_method method, __VA_ARGS__)
#define ENTERED0(name) fake_##name(struct fake_device *device, enum fake_method method)
HRESULT fake_enter1x(struct fake_call *call, struct fake_object *object, enum fake_method method);

/* ---- device1x.c ---- */

HRESULT FORWARD(create_buffer, const void *given, const void *data, void *out);
HRESULT FORWARD(create_texture1d, const void *given, const void *data, void *out);
HRESULT FORWARD(create_texture2d, const void *given, const void *data, void *out);
HRESULT FORWARD(create_texture3d, const void *given, const void *data, void *out);
HRESULT FORWARD(create_query, const void *given, void *out);
HRESULT FORWARD(create_predicate, const void *given, void *out);
HRESULT FORWARD(check_format_support, DXGI_FORMAT id, UINT *support);
HRESULT FORWARD(open_shared, HANDLE handle, REFIID iid, void **out);
HRESULT FORWARD(open_shared1, HANDLE handle, REFIID iid, void **out);
unsigned FORWARD0(feature_level);
HRESULT FORWARD0(removed_reason);
void FORWARD(immediate_context, ID3D11DeviceContext **out);

/* ---- work1x.c ---- */

void ENTERED(work_copy_region, const void *target, UINT target_subresource, UINT x, UINT y, UINT z, const void *source,
             UINT source_subresource, const void *box);
void ENTERED(work_update, const void *target, UINT subresource, const void *box, const void *data, UINT pitch,
             UINT slice);
void ENTERED0(work_flush);
void ENTERED(work_set_predication, const void *predicate, BOOL value);
void FORWARD(work_get_predication, void *predicate, BOOL *value);
HRESULT FORWARD(work_map, const void *target, UINT subresource, D3D11_MAP type, UINT flags,
                D3D11_MAPPED_SUBRESOURCE *out);
void FORWARD(work_unmap, const void *target, UINT subresource);
void ENTERED(work_begin, const void *query);
void ENTERED(work_end, const void *query);
HRESULT ENTERED(work_data, const void *query, void *data, UINT size, UINT flags);

/* Direct3D 10's objects do these themselves. */
HRESULT FORWARD(map_buffer, D3D10_MAP type, UINT flags, void **out);
HRESULT FORWARD(map_texture2d, UINT subresource, D3D10_MAP type, UINT flags, D3D10_MAPPED_TEXTURE2D *out);
HRESULT FORWARD(map_texture3d, UINT subresource, D3D10_MAP type, UINT flags, D3D10_MAPPED_TEXTURE3D *out);
void FORWARD0(unmap_buffer);
void FORWARD(unmap_texture, UINT subresource);

/* ---- resource1x.c ---- */

void FORWARD(child_get_device, void *out);
void FORWARD(describe_buffer, void *out);
void FORWARD(describe_texture2d, void *out);
void FORWARD(describe_texture3d, void *out);

#endif
