/* Inside libfaults.so: what the wrappers of calls.c share. */
#ifndef CLD3D_TESTS_FAULTS_LAYER_H
#define CLD3D_TESTS_FAULTS_LAYER_H

#include "faults.h"

#include <CL/cl_icd.h>

/* The OpenCL below. */
extern const cl_icd_dispatch *below __attribute__((visibility("hidden")));

/* Counts a call. Not CL_SUCCESS: it is to fail with that, which is `code` or CL_OUT_OF_HOST_MEMORY. */
cl_int fault_call(const char *name, cl_int code);
/* Counts what is alive. */
void fault_count(enum live what, int change);

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

/* Answers for the event of a doomed command as the driver would for a command's. False: it is another event. */
bool fault_event_info(cl_event event, cl_event_info name, size_t room, void *to, size_t *size_ret);
bool fault_is_doomed(cl_event event);

/* For allocations.c: whether an allocation, called from `caller`, is to fail. */
bool fault_allocation(const char *name, const void *caller);

#endif
