/* The image formats of the sharing extensions: the 37 rows of the specification's table, and what the tests compute with
 * their texels. */
#ifndef CLD3D_TESTS_FORMATS_H
#define CLD3D_TESTS_FORMATS_H

#include "rig.h"

/* The functions that read and write a format in a kernel: read_imagef, read_imagei, read_imageui. */
enum format_class { FORMAT_F, FORMAT_I, FORMAT_UI };

struct format {
    const char *name; /* without DXGI_FORMAT_ */
    DXGI_FORMAT dxgi;
    cl_image_format cl;
    UINT channels, channel_bytes;
};

enum { FORMAT_COUNT = 37 };
extern const struct format formats[FORMAT_COUNT];

const struct format *format_named(DXGI_FORMAT dxgi);
UINT format_texel(const struct format *format);
enum format_class format_class(const struct format *format);

/* A colour as a kernel has it: four floats or four integers in 16 bytes. */
union colour {
    float f[4];
    cl_int i[4];
    cl_uint ui[4];
};

/* What read_image gives for a texel: red first, missing channels 0, 0, 1. */
union colour format_colour(const struct format *format, const void *texel);
/* Whether a colour is the one that read_image must give; normalised channels may be off by a rounding. */
bool format_is_colour(const struct format *format, const union colour *actual, const union colour *expected);

/* The exact computation of the tests, the same for each channel: 1 - x for UNORM, -x for SNORM and floats, x ^ 42 for
 * integers. No result needs rounding. As a kernel would, written in C over the stored bytes. */
void format_compute(const struct format *format, void *texels, size_t size);

#endif
