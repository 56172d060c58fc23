#include "frames.h"

#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

/* Without this, the C library would change bytes that look like line ends. */
static FILE *binary(FILE *stream)
{
    _setmode(_fileno(stream), _O_BINARY);
    return stream;
}

FILE *frames_open_input(const char *path)
{
    FILE *input = strcmp(path, "-") == 0 ? binary(stdin) : fopen(path, "rb");
    if (!input)
        fail("%s cannot be read (%s): pass a file of raw NV12 frames", path, strerror(errno));
    return input;
}

FILE *frames_open_output(const char *path)
{
    FILE *output = strcmp(path, "-") == 0 ? binary(stdout) : fopen(path, "wb");
    if (!output)
        fail("%s cannot be written (%s): does its folder exist, and is it writable?", path, strerror(errno));
    return output;
}

bool frames_read(FILE *input, unsigned char *frame, size_t size)
{
    const size_t got = fread(frame, 1, size, input);
    if (ferror(input))
        fail("the video cannot be read (%s)", strerror(errno));
    if (got != 0 && got != size)
        fail("the video ends within a frame: it has another size, or is truncated");
    return got == size;
}

void frames_write(FILE *output, const unsigned char *frame, size_t size)
{
    if (fwrite(frame, 1, size, output) != size)
        fail("a frame cannot be written (%s): is the disk full, or has the reader ended?", strerror(errno));
}

void frames_close_output(FILE *output)
{
    if (fclose(output))
        fail("the last frames cannot be written (%s): is the disk full, or has the reader ended?", strerror(errno));
}

/* Noise is what remains of a block without its flat, sloping and curved parts: the mean absolute value of
 * Immerkaer's mask (1 -2 1, -2 4 -2, 1 -2 1). `step` is from one pixel to the next, `row` from one row. */
static float block_residue(const unsigned char *block, ptrdiff_t row, ptrdiff_t step, unsigned side)
{
    unsigned sum = 0;
    for (unsigned y = 1; y < side - 1; y++) {
        for (unsigned x = 1; x < side - 1; x++) {
            const unsigned char *at = block + y * row + x * step;
            const int corners = at[-row - step] + at[-row + step] + at[row - step] + at[row + step];
            const int sides = at[-row] + at[-step] + at[step] + at[row];
            sum += (unsigned)abs(corners - 2 * sides + 4 * at[0]);
        }
    }
    return (float)sum / (float)((side - 2) * (side - 2));
}

static int compare_floats(const void *left, const void *right)
{
    const float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

float frames_estimate_noise(const unsigned char *plane, unsigned width, unsigned height, unsigned channels)
{
    enum { SIDE = 16 };
    const unsigned columns = width / SIDE, rows = height / SIDE, count = columns * rows;
    if (!count)
        return 0;
    float *residues = malloc(count * sizeof(*residues));
    if (!residues)
        fail("no memory for %u numbers: close other programs", count);
    const ptrdiff_t step = (ptrdiff_t)channels, row = step * (ptrdiff_t)width;
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *block = plane + (i / columns * row + i % columns * step) * SIDE;
        residues[i] = block_residue(block, row, step, SIDE);
    }
    /* Most blocks contain some texture of the picture itself; the calmest fifth shows the noise */
    qsort(residues, count, sizeof(*residues), compare_floats);
    const float residue = residues[count / 5];
    free(residues);
    /* sqrt(pi / 2) turns a mean absolute value into a standard deviation; the mask makes it 6 times as large */
    return residue * 1.2533141f / 6 / 255;
}
