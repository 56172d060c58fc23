#define COBJMACROS
#include "screen.h"

#include "report.h"

#include <string.h>

#define FORMAT_NV12 ((D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'))
#define FORMAT_RGB D3DFMT_X8R8G8B8

static LRESULT CALLBACK handle_message(HWND window, UINT message, WPARAM word, LPARAM number)
{
    if (message != WM_CLOSE)
        return DefWindowProcA(window, message, word, number);
    PostQuitMessage(0); /* The window exists until Direct3D is done with it */
    return 0;
}

static HWND open_window(unsigned width, unsigned height)
{
    static const char name[] = "OpenCL and Direct3D 9";
    const DWORD style = WS_CAPTION | WS_SYSMENU | WS_MINIMIZEBOX;
    WNDCLASSA class = {
        .lpfnWndProc = handle_message,
        .hInstance = GetModuleHandleA(NULL),
        .hCursor = LoadCursorA(NULL, (LPCSTR)IDC_ARROW),
        .lpszClassName = name,
    };
    RegisterClassA(&class);
    RECT place = {0, 0, (LONG)width, (LONG)height};
    AdjustWindowRect(&place, style, FALSE);
    HWND window = CreateWindowA(name, name, style, CW_USEDEFAULT, CW_USEDEFAULT, place.right - place.left,
                                place.bottom - place.top, NULL, NULL, class.hInstance, NULL);
    if (!window)
        fail("CreateWindow failed with error %lu: is there a desktop?", GetLastError());
    ShowWindow(window, SW_SHOWNOACTIVATE);
    return window;
}

static void create_device(struct screen *screen, IDirect3D9Ex *direct3d)
{
    D3DPRESENT_PARAMETERS parameters = {
        .BackBufferWidth = screen->width,
        .BackBufferHeight = screen->height,
        .BackBufferFormat = FORMAT_RGB,
        .BackBufferCount = 1,
        .SwapEffect = D3DSWAPEFFECT_DISCARD,
        .hDeviceWindow = screen->window,
        .Windowed = TRUE,
        .PresentationInterval = D3DPRESENT_INTERVAL_IMMEDIATE,
    };
    /* OpenCL may use the device from its own threads */
    const DWORD flags = D3DCREATE_HARDWARE_VERTEXPROCESSING | D3DCREATE_MULTITHREADED;
    check_d3d(IDirect3D9Ex_CreateDeviceEx(direct3d, D3DADAPTER_DEFAULT, D3DDEVTYPE_HAL, screen->window, flags,
                                          &parameters, NULL, &screen->device),
              "CreateDeviceEx", "a graphics driver with Direct3D 9 is needed");
}

struct screen screen_open(unsigned width, unsigned height)
{
    struct screen screen = {.width = width, .height = height};
    IDirect3D9Ex *direct3d = NULL;
    check_d3d(Direct3DCreate9Ex(D3D_SDK_VERSION, &direct3d), "Direct3DCreate9Ex", "a newer Direct3D 9 is needed");
    check_d3d(
        IDirect3D9Ex_CheckDeviceFormatConversion(direct3d, D3DADAPTER_DEFAULT, D3DDEVTYPE_HAL, FORMAT_NV12, FORMAT_RGB),
        "CheckDeviceFormatConversion", "this graphics driver cannot show NV12 video");
    D3DADAPTER_IDENTIFIER9 identifier;
    check_d3d(IDirect3D9Ex_GetAdapterIdentifier(direct3d, D3DADAPTER_DEFAULT, 0, &identifier), "GetAdapterIdentifier",
              "this adapter has no description");
    memcpy(screen.adapter, identifier.Description, sizeof(screen.adapter));
    screen.adapter[sizeof(screen.adapter) - 1] = '\0';

    screen.window = open_window(width, height);
    create_device(&screen, direct3d);
    check_d3d(IDirect3DDevice9Ex_CreateRenderTarget(screen.device, width, height, FORMAT_RGB, D3DMULTISAMPLE_NONE, 0,
                                                    FALSE, &screen.target, NULL),
              "CreateRenderTarget", "take a smaller video");
    check_d3d(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(screen.device, width, height, FORMAT_RGB,
                                                             D3DPOOL_SYSTEMMEM, &screen.readable, NULL),
              "CreateOffscreenPlainSurface (system memory)", "take a smaller video");
    IDirect3D9Ex_Release(direct3d);
    return screen;
}

void screen_close(struct screen *screen)
{
    IDirect3DSurface9_Release(screen->readable);
    IDirect3DSurface9_Release(screen->target);
    IDirect3DDevice9Ex_Release(screen->device);
    DestroyWindow(screen->window);
}

IDirect3DSurface9 *screen_create_surface(const struct screen *screen)
{
    IDirect3DSurface9 *surface = NULL;
    check_d3d(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(screen->device, screen->width, screen->height, FORMAT_NV12,
                                                             D3DPOOL_DEFAULT, &surface, NULL),
              "CreateOffscreenPlainSurface (NV12)", "take a smaller video");
    return surface;
}

void screen_upload(const struct screen *screen, IDirect3DSurface9 *surface, const unsigned char *bytes)
{
    D3DLOCKED_RECT locked;
    check_d3d(IDirect3DSurface9_LockRect(surface, &locked, NULL, 0), "LockRect",
              "this graphics driver does not allow writing NV12 surfaces");
    /* The chroma rows follow the luma rows, half as many, and both have the same pitch */
    for (unsigned y = 0; y < screen->height + screen->height / 2; y++)
        memcpy((unsigned char *)locked.pBits + (size_t)y * locked.Pitch, bytes + (size_t)y * screen->width,
               screen->width);
    check_d3d(IDirect3DSurface9_UnlockRect(surface), "UnlockRect", "the frame is lost; was the graphics driver reset?");
}

void screen_read(const struct screen *screen, IDirect3DSurface9 *surface, unsigned char *pixels)
{
    check_d3d(IDirect3DDevice9Ex_StretchRect(screen->device, surface, NULL, screen->target, NULL, D3DTEXF_NONE),
              "StretchRect (NV12 to RGB)", "this graphics driver cannot show NV12 video");
    check_d3d(IDirect3DDevice9Ex_GetRenderTargetData(screen->device, screen->target, screen->readable),
              "GetRenderTargetData", "the frame cannot be read back; was the graphics driver reset?");
    D3DLOCKED_RECT locked;
    check_d3d(IDirect3DSurface9_LockRect(screen->readable, &locked, NULL, D3DLOCK_READONLY), "LockRect",
              "the frame cannot be read back; was the graphics driver reset?");
    const size_t row_bytes = (size_t)screen->width * 4;
    for (unsigned y = 0; y < screen->height; y++)
        memcpy(pixels + y * row_bytes, (const unsigned char *)locked.pBits + (size_t)y * locked.Pitch, row_bytes);
    IDirect3DSurface9_UnlockRect(screen->readable);
}

bool screen_present(const struct screen *screen)
{
    IDirect3DSurface9 *back = NULL;
    check_d3d(IDirect3DDevice9Ex_GetBackBuffer(screen->device, 0, 0, D3DBACKBUFFER_TYPE_MONO, &back), "GetBackBuffer",
              "the window cannot be drawn; was the graphics driver reset?");
    check_d3d(IDirect3DDevice9Ex_StretchRect(screen->device, screen->target, NULL, back, NULL, D3DTEXF_NONE),
              "StretchRect (to the window)", "the window cannot be drawn; was the graphics driver reset?");
    IDirect3DSurface9_Release(back);
    check_d3d(IDirect3DDevice9Ex_PresentEx(screen->device, NULL, NULL, NULL, NULL, 0), "PresentEx",
              "the window cannot be drawn; was the graphics driver reset?");

    bool open = true;
    MSG message;
    while (PeekMessageA(&message, NULL, 0, 0, PM_REMOVE)) {
        open = open && message.message != WM_QUIT;
        DispatchMessageA(&message);
    }
    return open;
}
