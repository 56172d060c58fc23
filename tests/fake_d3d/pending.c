/* Keeps the stubs linkable until Direct3D 10 and 9 are here. */
#include "fake_internal.h"

void fake_child10_get_device(struct fake_object *object, enum fake_method method,
                             ID3D10Device **out)
{
    (void)object;
    (void)method;
    *out = NULL;
}

void fake_resource10_get_type(struct fake_object *object, enum fake_method method,
                              D3D10_RESOURCE_DIMENSION *type)
{
    (void)object;
    (void)method;
    *type = 0;
}

HRESULT fake_child9_get_device(struct fake_object *object, enum fake_method method,
                               IDirect3DDevice9 **out)
{
    (void)object;
    (void)method;
    *out = NULL;
    return E_NOTIMPL;
}
