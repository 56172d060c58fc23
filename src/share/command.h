/* An acquire or release in progress: shared by acquire.c and deferred.c. */
#ifndef CLD3D_SHARE_COMMAND_H
#define CLD3D_SHARE_COMMAND_H

#include "share/share.h"

enum { COMMAND_INLINE = 8 }; /* objects of a call that are stored without allocating memory */

/* The checked arguments of one call. Not to be copied while `objects` points into the structure itself. */
struct command {
    const struct d3d_api *api;
    const char *call;
    cl_command_type type;
    struct queue_record *queue; /* retained */
    cl_uint count;
    struct object_record **objects; /* `count` of them, retained; those of one transport are adjacent */
    struct transfer **transfers;    /* theirs, in the same order */
    struct object_record *inline_objects[COMMAND_INLINE];
    struct transfer *inline_transfers[COMMAND_INLINE];
    cl_uint wait_count;
    const cl_event *wait;    /* the application's */
    cl_event *event;         /* where the application wants the event stored, or NULL */
    cl_event first;          /* owned; the marker with which the command begins, or NULL */
    struct blocker *blocker; /* blocker_end is due; NULL: nothing blocks the command, or it has been called */
    bool entered;            /* command_leave must follow */
};

/* ---- arguments ---- */

/* Checks the arguments of a call in the order of the specification; command_end must follow in either case. */
cl_int command_begin(struct command *command, cl_command_queue queue, cl_uint count, const cl_mem *objects);
void command_end(struct command *command);
/* Call this right before the driver gets the part of the command that has this order relative to the others of its
 * queue. Other threads may be enqueueing: the part is tracked if a user event blocks it now; otherwise no blocked
 * command is enqueued before it until command_leave. Wait for nothing in between. Fails only with
 * CL_OUT_OF_HOST_MEMORY. */
cl_int command_enter(struct command *command, unsigned order);
void command_leave(struct command *command);
/* With CL_SUCCESS the blocked part of the command was enqueued, with `event`; otherwise nothing was. */
void command_blocker_end(struct command *command, cl_int status, cl_event event);
/* The driver has refused the blocked part. If the marker of the command's beginning (`first`) was enqueued, later commands still wait
 * for that. command_end implies this. */
void command_refused(struct command *command);
/* Copies the lists of a command into its own memory. False: out of memory, and command_lists_free must follow. */
bool command_lists_copy(struct command *copy, const struct command *command);
void command_lists_free(struct command *command);

/* ---- ownership ---- */

/* Moves all objects from one state to another for a command, or none: an object that occurs twice in the list is in the
 * wrong state the second time. Returns the first object that could not be moved, or NULL. `behind` says whether another
 * command on one of the objects is pending. */
const struct object_record *command_change_state(const struct command *command, enum object_state from,
                                                 enum object_state to, bool *behind);
/* The objects show `state` from now on, although the command is still pending. */
void command_set_state_locked(const struct command *command, enum object_state state);
/* OpenCL owns the objects from now on, or Direct3D does. */
void command_set_owner(const struct command *command, bool opencl);
/* Whether OpenCL owns all objects, or Direct3D owns all. */
bool command_owner_is(const struct command *command, bool opencl);
/* The command has ended. Objects without another pending command show their owner; the others stay as they are, or with
 * `restore` show `state` again. */
void command_finish(const struct command *command, bool restore, enum object_state state);

/* ---- the steps of the transports, for all objects ---- */

/* Direct3D gives up all objects, or none. */
bool command_d3d_give(const struct command *command);
/* OpenCL takes the objects, or gives up the first `end`: the list gets the events of what was enqueued, also after a
 * failure. */
cl_int command_cl_take(const struct command *command, const struct enqueueing *to);
cl_int command_cl_give(const struct command *command, cl_uint end, const struct enqueueing *to);
/* A marker behind the wait list, in the same way: for a command whose objects need no other. */
cl_int command_marker(const struct command *command, const struct enqueueing *to);
/* OpenCL keeps the first `end` objects, whose release has failed. */
void command_cl_keep(const struct command *command, cl_uint end);
/* Direct3D takes the first `end` objects; no command uses the others either. False if it fails for one of them. */
bool command_d3d_take(const struct command *command, cl_uint end);
/* Direct3D owns the objects from `first` on again, with the contents that it gave. */
void command_undo(const struct command *command, cl_uint first);

/* Moves the objects that a release cannot skip to the front, and returns their number. */
cl_uint command_sort_written(struct command *command);

/* Passes the command's last event to the application, or releases it. */
void command_publish(struct command *command, cl_event event);

/* Makes later commands of an out-of-order queue run after everything in it. `*passed` gets an event, which the caller
 * puts; NULL: no barrier was needed. */
cl_int command_barrier(const struct command *command, cl_event *passed);

/* The process ends with PoCL if a command fails at the moment when a command that it waits for ends (QUIRK_POCL_FAILURE_RACE).
 * Gives the command of `event`, which the other one waits for, a few milliseconds to finish; `ours` is the number of
 * cld3d's references to `event`. */
void command_let_end(cl_event event, cl_uint ours);

#endif
