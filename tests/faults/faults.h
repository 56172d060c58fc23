/* Faults in what cld3d stands on: memory, Direct3D and the OpenCL below, each call in turn.
 *
 * A program that wants them is linked with faults.c, the fake Direct3D and the shared library of layer.c, and runs with
 * OPENCL_LAYERS=libfaults.so:libcld3d_faults.so. The first is a layer below cld3d that wraps every function of OpenCL; the
 * second is cld3d with its malloc, calloc, realloc and free counted. Native alone.
 *
 *     fault_arm(FAULT_OPENCL, 3);      the third call into the OpenCL below, from now on, fails
 *     ...
 *     fault_disarm();                  nothing fails any more
 *     fault_struck()                   "clEnqueueReadImage", or NULL if there were fewer calls
 *
 * One fault is armed at a time, for all threads. All functions may be called from any thread. */
#ifndef CLD3D_TESTS_FAULTS_H
#define CLD3D_TESTS_FAULTS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_ALLOCATION,      /* the nth malloc, calloc or realloc of cld3d gives NULL */
    FAULT_DIRECT3D,        /* the nth call of Direct3D with a result fails with E_FAIL */
    FAULT_DIRECT3D_MEMORY, /* with E_OUTOFMEMORY */
    FAULT_DIRECT3D_LOST,   /* the device is lost from the nth call on */
    FAULT_DIRECT3D_SLOW,   /* the nth call takes 5 ms */
    FAULT_OPENCL, /* the nth call into the OpenCL below fails with a code of its function; a release does its work
                              and fails none the less */
    FAULT_OPENCL_MEMORY, /* with CL_OUT_OF_HOST_MEMORY */
    FAULT_OPENCL_SLOW,   /* takes 5 ms */
    FAULT_EVENT_FAILS,   /* the nth enqueued command is taken, does nothing, and its event ends in an error, 1 ms later
                              and in another thread; so do the commands that wait for that event. A blocking one and a map
                              fail in the call */
    FAULT_EVENT_LATE,    /* the nth enqueued command begins 3 ms late: in an out-of-order queue after later ones */
    FAULT_KINDS
};

const char *fault_name(enum fault_kind kind);

/* The nth next call that the kind can strike is struck, once. n = 0: none is, but calls are counted. Counts begin again. */
void fault_arm(enum fault_kind kind, unsigned n);
void fault_disarm(void);

/* The calls since the last fault_arm that a kind could have struck, of all kinds alike whatever is armed. */
unsigned fault_count(enum fault_kind kind);

/* What the armed fault has struck, as text that lives on, or NULL. */
const char *fault_struck(void);
/* The place in cld3d's code where an allocation was struck: its library's offset for addr2line. 0: none was. */
unsigned long fault_place(void);

/* While on, what the calling thread calls is its own affair: nothing is counted or struck. Returns what it was. */
bool fault_own(bool on);
/* Whether devices say that they have memory of their own. */
void fault_own_memory(bool on);

/* Waits until the events that fail or come late are over. */
void fault_settle(void);

/* What is alive: blocks of cld3d's memory, references to objects of the OpenCL below by their kind. */
enum fault_handle {
    FAULT_CONTEXTS,
    FAULT_QUEUES,
    FAULT_MEMORIES,
    FAULT_SAMPLERS,
    FAULT_PROGRAMS,
    FAULT_KERNELS,
    FAULT_EVENTS,
    FAULT_HANDLES
};
int fault_live_blocks(void);
int fault_live(enum fault_handle handle);
/* Callbacks of events that the OpenCL below was asked for and has not called: it keeps them, and what they are to get. */
int fault_callbacks_due(void);
/* Does the unmaps that the OpenCL below was not given since their events failed: it would keep what is mapped for ever. */
void fault_unmap(void);
const char *fault_handle_name(enum fault_handle handle);

#endif
