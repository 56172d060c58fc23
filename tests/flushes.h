/* What flushes.c answers to clGetCommandQueueInfo: how often a queue has been flushed from above, a cl_uint. */
#define FLUSHES_OF_QUEUE 0x7E57
/* And how many commands that move nothing have been enqueued in it: markers, barriers, migrations. */
#define IDLE_COMMANDS_OF_QUEUE 0x7E58
/* A marker without a wait list takes so many milliseconds to be enqueued in a queue of this property. */
#define FLUSHES_SLOW_MS 30
#define FLUSHES_SLOW_PROPERTY CL_QUEUE_PROFILING_ENABLE
/* A variable: while it is set, no queue can be flushed, as if all were on a device. */
#define FLUSHES_FAIL "CLD3D_TEST_FLUSHES_FAIL"
