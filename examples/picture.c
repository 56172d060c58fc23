#include "picture.h"

#include "report.h"

#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <stdlib.h>

struct picture picture_load(const char *path, unsigned max_width, unsigned max_height)
{
    int width, height, channels;
    if (!stbi_info(path, &width, &height, &channels))
        fail("%s cannot be read (%s): pass a PNG or JPEG file", path, stbi_failure_reason());
    if ((unsigned)width > max_width || (unsigned)height > max_height)
        fail("%s has %d x %d pixels and at most %u x %u fit twice into one Direct3D 11 texture: use a smaller one",
             path, width, height, max_width, max_height);

    unsigned char *pixels = stbi_load(path, &width, &height, &channels, STBI_rgb_alpha);
    if (!pixels)
        fail("%s cannot be decoded (%s): is the file complete?", path, stbi_failure_reason());
    return (struct picture){(unsigned)width, (unsigned)height, pixels};
}

struct picture picture_alloc(unsigned width, unsigned height)
{
    unsigned char *pixels = malloc((size_t)width * height * 4);
    if (!pixels)
        fail("no memory for a picture of %u x %u pixels: take a smaller one", width, height);
    return (struct picture){width, height, pixels};
}

void picture_save_png(const struct picture *picture, const char *path)
{
    int row_bytes = (int)picture->width * 4;
    if (!stbi_write_png(path, (int)picture->width, (int)picture->height, 4, picture->pixels, row_bytes))
        fail("%s cannot be written: does its folder exist, and is it writable?", path);
}

void picture_free(struct picture *picture)
{
    free(picture->pixels);
    picture->pixels = NULL;
}
