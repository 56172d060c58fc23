/* An acquire or release on its way: what acquire.c and deferred.c share. */
#ifndef CLD3D_SHARE_COMMAND_H
#define CLD3D_SHARE_COMMAND_H

#include "share/share.h"

enum { COMMAND_INLINE = 8 }; /* objects of a call, for which no memory is allocated */

/* The checked arguments of one call. Not to be copied while `objects` is in the structure itself. */
struct command {
    const struct d3d_api *api;
    const char *call;
    cl_command_type type;
    struct queue_record *queue; /* retained */
    cl_uint count;
    struct object_record **objects; /* `count` of them, held; those of one transport stand side by side */
    struct transfer **transfers;    /* theirs, in the same order */
    struct object_record *inline_objects[COMMAND_INLINE];
    struct transfer *inline_transfers[COMMAND_INLINE];
    cl_uint wait_count;
    const cl_event *wait;    /* the application's */
    cl_event *event;         /* where the application wants the event, or NULL */
    cl_event first;          /* owned; the marker with which the command begins, or NULL */
    struct blocker *blocker; /* blocker_end is due; NULL: nothing blocks the command, or it has been called */
};

/* ---- arguments ---- */

/* Checks the arguments of a call in the order of the specification; command_end is due in either case. */
cl_int command_begin(struct command *command, cl_command_queue queue, cl_uint count, const cl_mem *objects);
void command_end(struct command *command);
/* What of the command is blocked was enqueued as `event`, or nothing was, by `status`. command_end says that nothing was. */
void command_blocker_end(struct command *command, cl_int status, cl_event event);
/* Copies the lists of a command into memory of their own. False: memory is short, and command_lists_free is due. */
bool command_lists_copy(struct command *copy, const struct command *command);
void command_lists_free(struct command *command);

/* ---- ownership ---- */

/* Takes all objects from one state to another for a command, or none: an object that stands twice in the list is in the
 * wrong state the second time. Returns the first object that could not be taken, or NULL. `behind` tells whether another
 * command on one of the objects is on its way. */
const struct object_record *command_take(const struct command *command, enum object_state from, enum object_state to,
                                         bool *behind);
/* The objects show `state` from now on, though the command is still on its way. */
void command_show_locked(const struct command *command, enum object_state state);
/* The objects are OpenCL's from now on, or Direct3D's. */
void command_set_owner(const struct command *command, bool opencl);
/* Whether all objects are OpenCL's, or all are Direct3D's. */
bool command_owner_is(const struct command *command, bool opencl);
/* The command is over. Objects without another command on their way show who has them; the others stay as they are, or with
 * `restore` show `state` again. */
void command_finish(const struct command *command, bool restore, enum object_state state);

/* ---- the steps of the transports, for all objects ---- */

/* Direct3D gives all objects, or none. */
bool command_d3d_give(const struct command *command);
/* OpenCL takes the objects, or gives the first `end`: the list gets the events of what was enqueued, after a failure too. */
cl_int command_cl_take(const struct command *command, const struct enqueueing *to);
cl_int command_cl_give(const struct command *command, cl_uint end, const struct enqueueing *to);
/* OpenCL keeps the first `end` objects, whose release has failed. */
void command_cl_keep(const struct command *command, cl_uint end);
/* Direct3D takes the first `end` objects. False if it fails for one of them. */
bool command_d3d_take(const struct command *command, cl_uint end);
/* The objects from `first` on are Direct3D's again, as it gave them. */
void command_undo(const struct command *command, cl_uint first);

/* Puts the objects in front that a release can't leave out, and tells how many they are. */
cl_uint command_sort_written(struct command *command);

/* The event that ends the command is the application's, or given back. */
void command_publish(struct command *command, cl_event event);

/* Makes what follows in an out-of-order queue come after all that is in it. */
cl_int command_barrier(const struct command *command);

/* PoCL ends the process if a command fails at the moment at which another one ends that it waits for (QUIRK_POCL_ENDS). Gives that
 * other one a few milliseconds to be through; `ours` are the references to its event that are cld3d's. */
void command_let_end(cl_event event, cl_uint ours);

#endif
