/* DXVK's native build asks SDL about windows and displays: here is a machine with neither, for programs that draw into textures
 * alone. It has SDL's file name, so that no display server has to run for the tests. */
#include <stddef.h>

/* What DXVK calls while it makes a device. */
int SDL_Vulkan_LoadLibrary(const char *path)
{
    (void)path;
    return 0;
}

int SDL_Vulkan_GetInstanceExtensions(void *window, unsigned *count, const char **names)
{
    (void)window;
    (void)names;
    *count = 0;
    return 1;
}

int SDL_GetNumVideoDisplays(void)
{
    return 0;
}

const char *SDL_GetError(void)
{
    return "there is no display";
}

/* What it looks up besides, for windows and swap chains. Each fails, whatever its arguments. */
#define NONE(name)          \
    const void *name(void); \
    const void *name(void)  \
    {                       \
        return NULL;        \
    }
#define FAILS(name) \
    int name(void); \
    int name(void)  \
    {               \
        return -1;  \
    }
NONE(SDL_GetClosestDisplayMode)
NONE(SDL_GetWindowFlags)
NONE(SDL_GetWindowSize)
NONE(SDL_SetWindowSize)
NONE(SDL_Vulkan_CreateSurface)
FAILS(SDL_GetCurrentDisplayMode)
FAILS(SDL_GetDesktopDisplayMode)
FAILS(SDL_GetDisplayBounds)
FAILS(SDL_GetDisplayMode)
FAILS(SDL_GetWindowDisplayIndex)
FAILS(SDL_SetWindowDisplayMode)
FAILS(SDL_SetWindowFullscreen)
