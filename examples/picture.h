/* Pictures in memory and in files. */
#ifndef PICTURE_H
#define PICTURE_H

/* Four bytes a pixel (red, green, blue, alpha), rows from the top without gaps. */
struct picture {
    unsigned width;
    unsigned height;
    unsigned char *pixels; /* from malloc */
};

/* Reads a PNG or JPEG file. Ends the program before decoding if the picture is wider or higher than the limits. */
struct picture picture_load(const char *path, unsigned max_width, unsigned max_height);

/* Memory for a picture of this size; the pixels are uninitialised. */
struct picture picture_alloc(unsigned width, unsigned height);

void picture_save_png(const struct picture *picture, const char *path);

void picture_free(struct picture *picture);

#endif
