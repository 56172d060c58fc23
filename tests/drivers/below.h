/* Orders to below.c, by clGetCommandQueueInfo with a value of these: what the layer below cld3d does with the calls that come
 * after. */
#ifndef CLD3D_TESTS_BELOW_H
#define CLD3D_TESTS_BELOW_H

/* The nth next clCreateBuffer fails, `n` being what *value is, a cl_uint; 0: none does. */
#define BELOW_FAIL_BUFFER 0x7E60
/* The next two launches meet: each waits in the driver until the other is there too, but no longer than a minute. */
#define BELOW_MEET 0x7E61
/* *value becomes 1 if they have met. */
#define BELOW_MET 0x7E62
/* *value becomes the number of launches so far. */
#define BELOW_LAUNCHES 0x7E63
/* The next copy of a buffer to an image, which has one event to wait for at most, waits besides until it is opened. No user event is seen
 * above. For one thread. */
#define BELOW_GATE 0x7E64
#define BELOW_OPEN 0x7E65
/* A variable: while it is set, the device has for 3D images no format with fewer than four channels, and none of fractions in 8
 * bits or of halves, so that a format may be stored in one way in 2D and in another one in 3D. As "all" no image of the device has fewer
 * than four channels: then those are emulated with any driver. */
#define BELOW_FEW_FORMATS "CLD3D_TEST_BELOW_FEW_FORMATS"

/* A variable: while it is set, reads and writes of images take the host's rows for rows without gaps, as PoCL's remote driver does,
 * and the device's version names that driver. */
#define BELOW_NO_GAPS "CLD3D_TEST_BELOW_NO_GAPS"

#endif
