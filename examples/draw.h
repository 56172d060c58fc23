/* The part of the demo that uses only Direct3D: it draws two textures and reads the result back. */
#ifndef DRAW_H
#define DRAW_H

#include "picture.h"

#include <d3d11.h>

/* Pixels between the two pictures. */
#define DRAW_GAP 4

/* Draws two textures of the same size side by side and returns what was drawn: 2 * width + DRAW_GAP pixels wide. The
 * time in milliseconds covers drawing and reading back, but not the creation of shaders and textures. */
struct picture draw_side_by_side(ID3D11Device *device, ID3D11Texture2D *left, ID3D11Texture2D *right,
                                 double *milliseconds);

#endif
