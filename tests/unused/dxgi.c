/* Has the name of DXVK's native DXGI, and tells that it was loaded and which factory it was asked for. It makes none. */
#include <stdlib.h>

int CreateDXGIFactory(const void *iid, void **factory), CreateDXGIFactory1(const void *iid, void **factory);

enum { NOT_IMPLEMENTED = -0x7FFFBFFF }; /* E_NOTIMPL */

__attribute__((constructor)) static void tell(void)
{
    setenv("CLD3D_TEST_DXGI_LOADED", "1", 1);
}

int CreateDXGIFactory(const void *iid, void **factory)
{
    (void)iid;
    *factory = NULL;
    setenv("CLD3D_TEST_DXGI_FACTORY", "1.0", 1);
    return NOT_IMPLEMENTED;
}

int CreateDXGIFactory1(const void *iid, void **factory)
{
    (void)iid;
    *factory = NULL;
    setenv("CLD3D_TEST_DXGI_FACTORY", "1.1", 1);
    return NOT_IMPLEMENTED;
}
