/* Inside libfaults.so: the wrappers of wrappers.c, what they share, and what faults.c needs of it. */
#ifndef CLD3D_TESTS_FAULTS_LAYER_H
#define CLD3D_TESTS_FAULTS_LAYER_H

#include "faults.h"

#include <CL/cl_icd.h>
#include <stddef.h>

/* The OpenCL below. */
extern const cl_icd_dispatch *fault_below;
/* Puts the wrappers into a table that holds the functions below. */
void fault_install(cl_icd_dispatch *table);

/* ---- for every wrapper ---- */

/* Counts a call. Not CL_SUCCESS: it is to fail with that, which is `code` or CL_OUT_OF_HOST_MEMORY. */
cl_int fault_call(const char *name, cl_int code);
/* A reference more or less. */
void fault_reference(enum fault_handle handle, int change);

/* ---- for commands ---- */

struct fault_enqueue {
    const char *name;
    cl_command_queue queue;
    cl_command_type type;
    bool at_once;       /* a blocking command or a map: can't fail later */
    cl_uint wait_count; /* in: the wait list of the call; out: the one to hand down */
    const cl_event *wait;
    bool doomed;    /* is taken, not handed down, and its event ends in an error */
    cl_event *copy; /* owned */
};

/* Counts the command. Not CL_SUCCESS: it fails in the call. */
cl_int fault_enqueue_begin(struct fault_enqueue *e, cl_int code);
/* Stands for the call into the OpenCL below where `doomed` is set. */
cl_int fault_enqueue_doomed(const struct fault_enqueue *e, cl_event *event);
void fault_enqueue_end(struct fault_enqueue *e, cl_int status, const cl_event *event);
/* How many commands of the calling thread were doomed. */
unsigned layer_doomed_here(void);

/* ---- events.c ---- */

/* An event of a command that ends in an error soon, with one reference; NULL if memory is short. */
cl_event doomed_make(cl_command_queue queue, cl_command_type type);
bool doomed_among(cl_uint count, const cl_event *events);
/* A user event of the queue's context that is complete soon, with a reference for the caller; NULL if memory is short. */
cl_event late_make(cl_command_queue queue);
/* Waits until no such event is pending. */
void events_settle(void);
/* Lets doomed events answer as those of commands. */
void events_install(cl_icd_dispatch *table);
int events_callbacks_due(void);
/* Does the unmaps that were doomed. */
void events_unmap(void);

/* ---- for faults.c: the kinds of this library ---- */

void layer_arm(enum fault_kind kind, unsigned n);
unsigned layer_count(enum fault_kind kind);
const char *layer_struck(void);
unsigned long layer_place(void);
bool layer_own(bool on);
void layer_own_memory(bool on);

/* ---- for allocations.c ---- */

/* Whether an allocation, called from `caller`, is to fail. */
bool fault_allocation(const char *name, const void *caller);
/* A block more or less. */
void fault_block(int change);

#endif
