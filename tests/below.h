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

#endif
