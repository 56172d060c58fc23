/* What Direct3D 10 and 11 have in common: the same resources and rules behind two sets of interfaces. d3d1x.c has the
 * operations, written once over a table of the calls that differ; d3d1x.inc creates the table, the operations and the
 * descriptor of one of the two. */
#ifndef CLD3D_D3D_D3D1X_H
#define CLD3D_D3D_D3D1X_H

#include "d3d/d3d.h"
#include "d3d/d3d_types.h"
#include "d3d/dxgi.h"
#include "d3d/native.h"
#include "d3d/staging.h"

/* A mapped subresource. A buffer is one row. */
struct d3d1x_level {
    void *data;
    UINT row_pitch, depth_pitch;
};

/* The calls. Structures and values of Direct3D 11 are used for both (d3d10.c asserts that they are equal). */
struct d3d1x_calls {
    const char *name; /* "ID3D11Device", for messages */
    const GUID *device;
    const GUID *kinds[3]; /* by enum surface_kind */
    const char *kind_names[3];

    UINT (*creation_flags)(void *device);
    HRESULT (*removed_reason)(void *device);
    void *(*owner)(void *resource); /* its device, with one reference */

    void (*buffer_desc)(void *buffer, D3D11_BUFFER_DESC *desc);
    void (*texture2d_desc)(void *texture, D3D11_TEXTURE2D_DESC *desc);
    void (*texture3d_desc)(void *texture, D3D11_TEXTURE3D_DESC *desc);
    HRESULT (*create_buffer)(void *device, const D3D11_BUFFER_DESC *desc, void **buffer);
    HRESULT (*create_texture2d)(void *device, const D3D11_TEXTURE2D_DESC *desc, void **texture);
    HRESULT (*create_texture3d)(void *device, const D3D11_TEXTURE3D_DESC *desc, void **texture);

    /* `part`: of the source; NULL: all of it. The application's predicate may suppress the copy (d3d1x_copy). */
    void (*copy)(void *device, void *to, UINT to_subresource, UINT to_x, void *from, UINT from_subresource,
                 const D3D11_BOX *part);
    /* clang-format off */
    HRESULT (*map)(void *device, const struct surface_desc *desc, void *resource, UINT subresource, D3D11_MAP mode,
            struct d3d1x_level *level);
    /* clang-format on */
    void (*unmap)(void *device, const struct surface_desc *desc, void *resource, UINT subresource);
    void (*flush)(void *device);

    /* The current predicate, with one reference, or NULL. */
    void *(*get_predicate)(void *device, BOOL *value);
    void (*set_predicate)(void *device, void *predicate, BOOL value);

    /* An event query behind everything that the device has queued. `reached` may submit that; positive: done, negative:
     * Direct3D failed. */
    HRESULT (*end_event)(void *device, void **query);
    int (*reached)(void *query);
};

/* The description of a resource of the kind. */
struct resource_facts d3d1x_facts(const struct d3d1x_calls *calls, void *resource, enum surface_kind kind);
/* Creates a resource of one level and one slice. */
HRESULT d3d1x_create(const struct d3d1x_calls *calls, void *device, enum surface_kind kind,
                     const struct resource_facts *facts, void **made);

/* calls->copy on the surface's device, regardless of any predicate. */
void d3d1x_copy(const struct d3d1x_calls *calls, const struct surface *surface, void *to, UINT to_subresource,
                UINT to_x, void *from, UINT from_subresource, const D3D11_BOX *part);

/* The operations of struct d3d_ops and struct staging_ops, with the calls to use. */
void *d3d1x_open_device(const struct d3d1x_calls *calls, void *object);
void *d3d1x_owner_of(const struct d3d1x_calls *calls, void *resource);
enum describe_status d3d1x_describe(const struct d3d1x_calls *calls, void *device, void *resource,
                                    enum surface_kind kind, uint32_t index, struct surface_desc *desc, char *why,
                                    size_t why_size);
bool d3d1x_stays(const struct d3d1x_calls *calls, void *device, enum surface_kind kind); /* stays.c */
bool d3d1x_stage(const struct d3d1x_calls *calls, struct surface *surface);
bool d3d1x_fetch(const struct d3d1x_calls *calls, struct surface *surface);
bool d3d1x_map(const struct d3d1x_calls *calls, struct surface *surface, bool write, struct mapped_surface *mapped);
void d3d1x_unmap(const struct d3d1x_calls *calls, struct surface *surface);
bool d3d1x_store(const struct d3d1x_calls *calls, struct surface *surface);

/* Those of struct native_ops (d3d1x_native.c). */
bool d3d1x_find(const struct d3d1x_calls *calls, const struct surface *surface, struct native_place *place, char *why,
                size_t why_size);
bool d3d1x_find_again(const struct surface *surface, struct native_place *place);
bool d3d1x_flush_deferred(const struct surface *surface, const struct native_place *place);
bool d3d1x_finish(const struct d3d1x_calls *calls, const struct surface *surface);
bool d3d1x_submit(const struct d3d1x_calls *calls, const struct surface *surface);
bool d3d1x_alive(const struct d3d1x_calls *calls, const struct surface *surface);
bool d3d1x_make_copy(const struct d3d1x_calls *calls, const struct surface *surface, struct surface *copy);
bool d3d1x_copy_from(const struct d3d1x_calls *calls, const struct surface *surface, const struct surface *copy);
bool d3d1x_copy_back(const struct d3d1x_calls *calls, const struct surface *surface, const struct surface *copy);
void *d3d1x_make_probe(const struct d3d1x_calls *calls, void *device, uint64_t *image);

/* The single place that reports Direct3D's errors, with the name of the API. */
bool d3d1x_check(const struct d3d1x_calls *calls, const char *call, HRESULT result);

#endif
