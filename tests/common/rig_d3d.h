/* What the rig calls differently in Direct3D 10 and 11. Only for the rig itself. */
#ifndef CLD3D_TESTS_RIG_D3D_H
#define CLD3D_TESTS_RIG_D3D_H

#include "rig.h"

enum rig_map { RIG_MAP_READ, RIG_MAP_WRITE, RIG_MAP_DISCARD };

/* Memory of one subresource, mapped or to be uploaded; same layout as D3D10_SUBRESOURCE_DATA and
 * D3D11_SUBRESOURCE_DATA. */
struct rig_rows {
    const void *data;
    UINT row_pitch, slice_pitch;
};

struct rig_ops {
    HRESULT (*open)(UINT flags, void **device);
    /* The device of a resource, with a reference. */
    void *(*owner)(void *resource);
    /* `initial` NULL or an entry for each subresource. */
    HRESULT (*make)(void *device, const struct rig_desc *desc, const struct rig_rows *initial, void **resource);
    /* clang-format off */
    HRESULT (*map)(void *device, void *resource, const struct rig_desc *desc, UINT subresource, enum rig_map mode,
            struct rig_rows *mapped);
    /* clang-format on */
    void (*unmap)(void *device, void *resource, const struct rig_desc *desc, UINT subresource);
    void (*update)(void *device, void *resource, UINT subresource, const struct rig_rows *rows);
    void (*copy)(void *device, void *to, UINT to_subresource, void *from, UINT subresource);
    void (*flush)(void *device);
    /* Puts an event query behind all work so far and waits until it is reached. */
    HRESULT (*finish)(void *device);
};

extern const struct rig_ops rig_ops_d3d10, rig_ops_d3d11;

#endif
