/* The formats that can be shared, one plain row each. Format properties are defined only here.
 *
 * Sources: the DXGI table of cl_khr_d3d10_sharing and cl_khr_d3d11_sharing, the two tables of cl_khr_dx9_media_sharing;
 * beyond them, marked as such, formats that Intel's and AMD's drivers share too and programs rely on. */
#ifndef CLD3D_D3D_FORMATS_H
#define CLD3D_D3D_FORMATS_H

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stdint.h>

struct format_row {
    const char *name;         /* without DXGI_FORMAT_ or D3DFMT_ */
    uint32_t code;            /* DXGI_FORMAT or D3DFORMAT */
    cl_image_format cl;       /* what OpenCL programs see of this plane */
    uint8_t texel_bytes;      /* of this plane */
    uint8_t plane;            /* 0 except for planar formats */
    uint8_t planes;           /* 1 except for planar formats */
    uint8_t shift_x, shift_y; /* this plane's width and height are the texture's shifted right by these */
    uint8_t pitch_shift;      /* in memory with all planes, its row pitch is the first plane's shifted right by this */
    uint8_t begin;            /* offset there, in quarters of the first plane's bytes */
};

extern const struct format_row dxgi_formats[];
extern const unsigned dxgi_format_count;
extern const struct format_row d3d9_formats[];
extern const unsigned d3d9_format_count;

/* The row of a plane of a DXGI_FORMAT or D3DFORMAT; NULL if the format is not in the table or has no such plane. */
const struct format_row *format_from_dxgi(uint32_t format, unsigned plane);
const struct format_row *format_from_d3d9(uint32_t format, unsigned plane);

/* The last plane of the same format. */
const struct format_row *format_last_plane(const struct format_row *row);
/* Whether an image of that size cuts chroma that belongs to pairs of texels: Direct3D demands even sizes. */
bool format_cuts_chroma(const struct format_row *row, uint32_t width, uint32_t height);
/* The offset of a plane in bytes, in memory with all planes, whose first plane has this many rows. */
size_t format_plane_begin(const struct format_row *row, size_t first_pitch, size_t first_rows);

bool cl_format_equal(cl_image_format a, cl_image_format b);
/* Bytes of one texel of an OpenCL image format; 0 if unknown. */
size_t cl_format_texel_bytes(cl_image_format format);
/* Bytes of a region of tightly packed texels; SIZE_MAX, which no allocation has, if a size_t cannot hold them (in 32
 * bits). */
size_t cl_region_bytes(const size_t *region, size_t texel_bytes);
/* Channels in memory of a channel order; 0 if unknown. Packed YUV: luma and one half of the pair's chroma. */
unsigned cl_order_channels(cl_channel_order order);
/* Whether texels come in pairs that share their chroma (cl_intel_packed_yuv). */
bool cl_order_packed_yuv(cl_channel_order order);

#endif
