/* What flushes.c answers to clGetCommandQueueInfo: how often a queue has been flushed from above, a cl_uint. */
#define FLUSHES_OF_QUEUE 0x7E57
