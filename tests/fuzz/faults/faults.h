/* Faults in what cld3d stands on: memory and the OpenCL below, each call by its number.
 *
 * OPENCL_LAYERS=libfaults.so:libcld3d_faults.so. The first is a layer below cld3d that wraps the functions of OpenCL; the second is
 * cld3d with its malloc, calloc, realloc and free counted. Without them nothing is struck. All functions may be called from any
 * thread. */
#ifndef CLD3D_TESTS_FAULTS_H
#define CLD3D_TESTS_FAULTS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_ALLOCATION, /* the nth malloc, calloc or realloc of cld3d gives NULL */
    FAULT_OPENCL, /* the nth call into the OpenCL below fails with a code of its function; a release does its work and
                            fails none the less */
    FAULT_OPENCL_MEMORY, /* with CL_OUT_OF_HOST_MEMORY */
    FAULT_OPENCL_SLOW,   /* takes 5 ms */
    FAULT_EVENT_FAILS, /* the nth enqueued command is taken, does nothing, and its event ends in an error when somebody has
                            asked for its status, or waits; so do the commands that wait for that event. A blocking one and a
                            map fail in the call */
    FAULT_EVENT_LATE, /* the nth enqueued command begins when somebody waits: in an out-of-order queue after later ones */
    FAULT_LAYER_KINDS
};

/* The nth next call that the kind can strike is struck, once. n = 0: none is. */
void layer_arm(enum fault_kind kind, unsigned n);
/* What was struck, as text that lives until the next layer_arm, or NULL. */
const char *layer_struck(void);
/* While on, what the calling thread calls is its own affair: nothing is counted or struck. */
void layer_own(bool on);
/* Ends the events that are to fail or come late. */
void layer_settle(void);
/* The same, and no event of those answers as that of a command any more. */
void layer_forget(void);

/* What is alive: references to objects of the OpenCL below by their kind, and blocks of cld3d's memory. */
enum live { LIVE_CONTEXTS, LIVE_QUEUES, LIVE_MEMORIES, LIVE_PROGRAMS, LIVE_KERNELS, LIVE_EVENTS, LIVE_BLOCKS, LIVES };
int layer_live(enum live what);

#endif
