/* What the methods of both versions call (FORWARDS of gen_stubs.py), with the object in place of the interface. Pointers are to what either
 * version has. */
#ifndef FAKE_FORWARDS_H
#define FAKE_FORWARDS_H

#include "fake_internal.h"

#define FORWARD(name, ...) fake_##name(struct fake_object *object, enum fake_method method, __VA_ARGS__)
#define FORWARD0(name) fake_##name(struct fake_object *object, enum fake_method method)

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
UINT FORWARD0(creation_flags);
HRESULT FORWARD0(removed_reason);
void FORWARD(immediate_context, ID3D11DeviceContext **out);

/* ---- work1x.c ---- */

void FORWARD(work_copy, const void *target, const void *source);
void FORWARD(work_copy_region, const void *target, UINT target_subresource, UINT x, UINT y, UINT z, const void *source,
             UINT source_subresource, const void *box);
void FORWARD(work_update, const void *target, UINT subresource, const void *box, const void *data, UINT pitch,
             UINT slice);
void FORWARD0(work_flush);
void FORWARD(work_set_predication, const void *predicate, BOOL value);
void FORWARD(work_get_predication, void *predicate, BOOL *value);
HRESULT FORWARD(work_map, const void *target, UINT subresource, D3D11_MAP type, UINT flags,
                D3D11_MAPPED_SUBRESOURCE *out);
void FORWARD(work_unmap, const void *target, UINT subresource);
void FORWARD(work_begin, const void *query);
void FORWARD(work_end, const void *query);
HRESULT FORWARD(work_data, const void *query, void *data, UINT size, UINT flags);

/* Direct3D 10's objects do these themselves. */
HRESULT FORWARD(map_buffer, D3D10_MAP type, UINT flags, void **out);
HRESULT FORWARD(map_texture2d, UINT subresource, D3D10_MAP type, UINT flags, D3D10_MAPPED_TEXTURE2D *out);
HRESULT FORWARD(map_texture3d, UINT subresource, D3D10_MAP type, UINT flags, D3D10_MAPPED_TEXTURE3D *out);
void FORWARD0(unmap_buffer);
void FORWARD(unmap_texture, UINT subresource);
void FORWARD0(query_begin10);
void FORWARD0(query_end10);
HRESULT FORWARD(query_data10, void *data, UINT size, UINT flags);

/* ---- resource1x.c ---- */

void FORWARD(child_get_device, void *out);
void FORWARD(describe_buffer, void *out);
void FORWARD(describe_texture2d, void *out);
void FORWARD(describe_texture3d, void *out);

#endif
