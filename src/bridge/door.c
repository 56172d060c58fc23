/* libcld3d.dll: has Wine's mark and nothing else, so that Wine loads libcld3d.so for it (bridge.h). */
#include <windows.h>

BOOL WINAPI DllMainCRTStartup(HINSTANCE self, DWORD reason, LPVOID reserved);

BOOL WINAPI DllMainCRTStartup(HINSTANCE self, DWORD reason, LPVOID reserved)
{
    (void)self;
    (void)reason;
    (void)reserved;
    return TRUE;
}
