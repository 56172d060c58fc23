/* The part of the demo that is Direct3D alone: it shows two textures and brings the drawn picture back. */
#ifndef DRAW_H
#define DRAW_H

#include "picture.h"

#include <d3d11.h>

/* Pixels between the two pictures. */
#define DRAW_GAP 4

/* Draws two textures of the same size side by side and returns what was drawn: 2 * width + DRAW_GAP pixels wide. The
 * time in milliseconds is that of the drawing and of reading it back, without the making of shaders and textures. */
struct picture draw_side_by_side(ID3D11Device *device, ID3D11Texture2D *left, ID3D11Texture2D *right,
                                 double *milliseconds);

#endif
