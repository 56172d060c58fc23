/* What Direct3D 10 and 11 have in common behind their interfaces: COM, DXGI adapters, the geometry of subresources. */
#ifndef CLD3D_D3D_DXGI_H
#define CLD3D_D3D_DXGI_H

#include "d3d/d3d.h"
#include "d3d/d3d_types.h"
#include "d3d/staging.h"
#include "log.h"

/* The one funnel for Direct3D's errors: says which call on which API failed and how. Returns whether it succeeded. */
bool d3d_check(const char *call, HRESULT result);

/* Says in words why a resource can't be shared, and returns `status`. */
enum describe_status describe_refuse(enum describe_status status, char *why, size_t why_size, const char *format, ...)
    LOG_FORMAT(4, 5);

/* The interface `iid` of an address that an application gave, or NULL if there is no such object. One reference. */
void *com_query(void *object, const GUID *iid);
/* The object's IUnknown, to compare, without a reference; NULL if there is no object. */
const void *com_identity(void *object);
void com_add_ref(void *object);
void com_release(void *object);

/* d3d_ops.adapter for both. */
bool dxgi_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter);

/* Whether an adapter is a software rasteriser, by what is known of it. */
bool dxgi_software(const struct d3d_adapter *adapter);

/* Switches on protection against use from several threads, where the device has that. */
void dxgi_protect(void *device);

/* The device's critical section: what it gives is for dxgi_unlock, and may be NULL. */
void *dxgi_lock(void *device);
void dxgi_unlock(void *section);

/* staging_ops.enter and leave for both. Where protection is off, the application lets one thread at a time use the device. */
void dxgi_enter(const struct surface *surface);
void dxgi_leave(const struct surface *surface);

/* What the check of a resource needs of its API. */
struct child_facts {
    const GUID *kind;
    const char *kind_name;
    void *(*owner)(void *resource); /* its device, with one reference */
};

/* Whether `resource` is an object of the kind and of the device: DESCRIBED if it is. */
enum describe_status dxgi_describe_child(const struct child_facts *child, void *device, void *resource, char *why,
                                         size_t why_size);

/* A resource as both APIs describe it; what it does not have is 1. The width of a buffer is its bytes. */
struct resource_facts {
    DXGI_FORMAT format;
    UINT width, height, depth, levels, slices, samples;
    UINT usage, bind, access; /* D3D11_USAGE, D3D11_BIND_FLAG, D3D11_CPU_ACCESS_FLAG */
};

/* The rules that the two APIs share: finds plane, slice and level of `index` and fills `desc`. */
enum describe_status dxgi_describe(const struct resource_facts *facts, enum surface_kind kind, uint32_t index,
                                   struct surface_desc *desc, char *why, size_t why_size);

/* Whether the device is of a Direct3D whose staging copies are known to keep their memory. */
bool dxgi_staging_stays(void *device);

/* staging_ops.unstage for both: the staging copy is one COM object, of which the description tells all. */
void dxgi_unstage(struct surface *surface);

/* Width and height of the staging copy: the whole texture level where the surface is one plane of it. */
uint32_t dxgi_staging_width(const struct surface_desc *desc);
uint32_t dxgi_staging_height(const struct surface_desc *desc);

/* The plane of `desc` in a mapped level that begins at `data`. */
struct mapped_surface dxgi_mapped_plane(const struct surface_desc *desc, void *data, size_t row_pitch,
                                        size_t depth_pitch);

/* Copies all bytes of a level (all planes of a planar one) between two mapped places of the same size. */
void dxgi_copy_level(const struct surface_desc *desc, void *to, size_t to_row, size_t to_depth, const void *from,
                     size_t from_row, size_t from_depth);

#endif
