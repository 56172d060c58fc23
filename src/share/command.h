/* An acquire or release in progress. */
#ifndef CLD3D_SHARE_COMMAND_H
#define CLD3D_SHARE_COMMAND_H

#include "defer/deferred.h"
#include "share/share.h"

/* The checked arguments of one call. */
struct command {
    const struct d3d_api *api;
    const char *call;
    cl_command_type type;
    struct queue_record *queue; /* retained */
    cl_uint count;
    struct object_record **objects; /* `count` of them, retained; those of one transport are adjacent */
    struct transfer **transfers;    /* theirs, in the same order */
    cl_uint wait_count;
    const cl_event *wait; /* the application's */
    cl_event *event;      /* where the application wants the event stored, or NULL */
};

/* ---- arguments ---- */

/* Checks the arguments of a call in the order of the specification; command_end must follow in either case. */
cl_int command_begin(struct command *command, cl_command_queue queue, cl_uint count, const cl_mem *objects);
void command_end(struct command *command);
/* Makes room for the lists of `count` objects. False: out of memory, and command_end must follow. */
bool command_lists_make(struct command *command, cl_uint count);
/* Whether the queue is one of a driver that shares by itself; then the call is passed on, with its result in `*status`. */
bool command_passes(const struct command *command, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                    cl_int *status);

/* ---- events ---- */

/* Passes the command's last event to the application, or releases it. */
void command_publish(const struct command *command, cl_event event);
/* Direct3D or a wait list made the command fail. Its event reports the failure, or without an event, the call. */
cl_int command_fail(const struct command *command, cl_int failure);
/* The command has no objects: it does nothing, but provides an event if requested. */
cl_int command_empty(const struct command *command);

/* ---- ownership ---- */

/* Moves all objects from one state to another for a command, or none: an object that occurs twice in the list is in the
 * wrong state the second time. Returns the first object that could not be moved, or NULL. */
const struct object_record *command_change_state(const struct command *command, enum object_state from,
                                                 enum object_state to);
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
/* Direct3D takes the first `end` objects; no command uses the others either. False if it fails for one of them. */
bool command_d3d_take(const struct command *command, cl_uint end);
/* Direct3D owns the objects from `first` on again, with the contents that it gave. */
void command_undo(const struct command *command, cl_uint first);
/* Moves the objects that a release cannot skip to the front, and returns their number. */
cl_uint command_sort_written(struct command *command);

/* ---- deferred commands (deferred.c) ---- */

/* What blocks the command because earlier deferred ones are on its objects, or on the same surfaces; 0: nothing. */
pending_mask command_follows(const struct command *command);
/* Defers the command: it runs when nothing blocks it. For use after pending_begin; ends that. On success it is pending,
 * and its objects show the state behind it; otherwise nothing has happened, and they show the state before it. */
cl_int command_defer(struct command *command, struct pending_command *pending, bool release);

#endif
