/* The Direct3D 9 of the video demo: surfaces with NV12 frames, and a window that shows them as RGB. */
#ifndef SCREEN_H
#define SCREEN_H

#include <d3d9.h>
#include <stdbool.h>

struct screen {
    unsigned width;
    unsigned height;
    HWND window;
    IDirect3DDevice9Ex *device;
    IDirect3DSurface9 *target;   /* the last shown frame as RGB */
    IDirect3DSurface9 *readable; /* a copy that the CPU can read */
    char adapter[MAX_DEVICE_IDENTIFIER_STRING];
};

/* Opens a window for frames of this size. Ends the program if the graphics driver can't show NV12. */
struct screen screen_open(unsigned width, unsigned height);
void screen_close(struct screen *screen);

/* An NV12 surface of the screen's size. The caller releases it. */
IDirect3DSurface9 *screen_create_surface(const struct screen *screen);

/* Writes a frame to a surface: `bytes` has the luma rows, then the chroma rows, without gaps. */
void screen_upload(const struct screen *screen, IDirect3DSurface9 *surface, const unsigned char *bytes);

/* Converts a surface to RGB and reads it: four bytes a pixel (blue, green, red and one unused), rows without gaps. */
void screen_read(const struct screen *screen, IDirect3DSurface9 *surface, unsigned char *pixels);

/* Shows in the window what was read last. False: the user has closed it. */
bool screen_present(const struct screen *screen);

#endif
