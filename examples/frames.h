/* Input and output of raw video frames, and the noise in them. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Open a file of raw frames; "-" is the standard input or output. */
FILE *frames_open_input(const char *path);
FILE *frames_open_output(const char *path);

/* Reads one frame of `size` bytes. False: there are no more. An input that ends within a frame ends the program. */
bool frames_read(FILE *input, unsigned char *frame, size_t size);

void frames_write(FILE *output, const unsigned char *frame, size_t size);

/* Ends the program if written frames can't be stored in the file. */
void frames_close_output(FILE *output);

/* How strong the noise in one plane is: its standard deviation, with 1 for the whole range of values. `width` and
 * `height` count the plane's pixels. Only the first of each pixel's `channels` bytes is used. */
float frames_estimate_noise(const unsigned char *plane, unsigned width, unsigned height, unsigned channels);

#endif
