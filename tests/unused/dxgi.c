/* Has the name of DXVK's native DXGI, and tells that it was loaded. */
#include <stdlib.h>

__attribute__((constructor)) static void tell(void)
{
    setenv("CLD3D_TEST_DXGI_LOADED", "1", 1);
}
