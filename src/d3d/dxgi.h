/* What the implementations of Direct3D 10 and 11 share: COM, DXGI adapters, the geometry of subresources. */
#ifndef CLD3D_D3D_DXGI_H
#define CLD3D_D3D_DXGI_H

#include "d3d/d3d.h"
#include "d3d/d3d_types.h"
#include "d3d/staging.h"
#include "log.h"

/* The single place that reports Direct3D's errors: logs which call on which API failed, and how. Returns whether it
 * succeeded. */
bool d3d_check(const char *call, HRESULT result);

/* Writes to `why` why a resource cannot be shared, and returns `status`. */
enum describe_status describe_refuse(enum describe_status status, char *why, size_t why_size, const char *format, ...)
    LOG_FORMAT(4, 5);

/* The interface `iid` of an object, with one reference; NULL if it has none or if `object` is NULL. */
void *com_query(void *object, const GUID *iid);
/* The same, but NULL also if that interface has another address than the given object. */
void *com_query_same(void *object, const GUID *iid);

/* d3d_ops.adapter for both. */
bool dxgi_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter);

/* Whether an adapter is known to be a software rasteriser. */
bool dxgi_software(const struct d3d_adapter *adapter);

/* Turns on protection against use from several threads, if the device supports it. */
void dxgi_protect(void *device);

/* Enters the device's critical section: the result, which may be NULL, is for dxgi_unlock. If protection is off, the
 * application lets only one thread at a time use the device. Also staging_ops.enter and leave for both. */
void *dxgi_lock(void *device);
void dxgi_unlock(void *section);

/* A resource as both APIs describe it; dimensions that it lacks are 1. The width of a buffer is its size in bytes. */
struct resource_facts {
    DXGI_FORMAT format;
    UINT width, height, depth, levels, slices, samples;
    UINT usage, bind, access; /* D3D11_USAGE, D3D11_BIND_FLAG, D3D11_CPU_ACCESS_FLAG */
};

/* The rules that the two APIs share: finds plane, slice and level of `index` and fills `desc`. */
enum describe_status dxgi_describe(const struct resource_facts *facts, enum surface_kind kind, uint32_t index,
                                   struct surface_desc *desc, char *why, size_t why_size);

/* Whether the device belongs to a Direct3D implementation whose staging copies are known to keep their memory. */
bool dxgi_staging_stays(void *device);

/* staging_ops.unstage for both: the staging copy is one COM object, fully determined by its description. */
void dxgi_unstage(struct surface *surface);

/* Width and height of the staging copy: the whole texture level if the surface is one plane of it. */
uint32_t dxgi_staging_width(const struct surface_desc *desc);
uint32_t dxgi_staging_height(const struct surface_desc *desc);

/* The plane of `desc` in a mapped level that begins at `data`. */
struct mapped_surface dxgi_mapped_plane(const struct surface_desc *desc, void *data, size_t row_pitch,
                                        size_t depth_pitch);

/* Copies all bytes of a level (all planes of a planar one) between two mappings of the same size; pitches in bytes. */
void dxgi_copy_level(const struct surface_desc *desc, void *to, size_t to_row, size_t to_depth, const void *from,
                     size_t from_row, size_t from_depth);

#endif
