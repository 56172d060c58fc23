/* An acquire or release on its way: what acquire.c and deferred.c share. */
#ifndef CLD3D_SHARE_COMMAND_H
#define CLD3D_SHARE_COMMAND_H

#include "share/share.h"

enum { FEW = 8 }; /* objects of a call, for which no memory is allocated */

/* A list with one entry per object of a call. */
struct event_list {
    cl_event *events; /* all NULL at first; NULL: memory was short */
    cl_event few[FEW];
};

/* The checked arguments of one call. Not to be copied while `objects` is `few`. */
struct command {
    const struct d3d_api *api;
    const char *call;
    cl_command_type type;
    struct queue_record *queue;     /* held */
    cl_uint count;
    struct object_record **objects; /* `count` of them, held */
    struct object_record *few[FEW];
    cl_uint moving;                 /* of a release that is not deferred: so many of them, the first, have been written to */
    cl_uint wait_count;
    const cl_event *wait;           /* the application's */
    cl_event *event;                /* where the application wants the event, or NULL */
    cl_event first;                 /* owned; the marker with which the command begins, or NULL */
};

/* Room for `count` events; false, with a line in the log, if memory is short. */
bool event_list_open(struct event_list *list, const char *call, cl_uint count);
void event_list_close(struct event_list *list);

/* Sets the state of all objects. */
void command_set_state(const struct command *command, enum object_state state);
/* Ends the transfers of the first `count` objects without moving anything. */
void command_abandon(const struct command *command, cl_uint count);

/* Direct3D's part of an acquire: the bytes of all objects are mapped, or of none. */
bool command_fetch(const struct command *command);
/* Direct3D's part of a release: the first `moving` objects give it their bytes, the others are as they were. False if
 * Direct3D fails. */
bool command_store(const struct command *command, cl_uint moving);

/* Tells the transfers of the first `count` objects whether the way back is stored in this call or later. */
void command_set_rows(const struct command *command, cl_uint count, bool later);

/* Enqueues the transfers of the first `count` objects in one direction: `events` gets `count` events. On failure what was enqueued is
 * complete and its events are released. */
cl_int command_transfer(const struct command *command, cl_uint count, bool to_opencl, cl_command_queue queue,
                        cl_uint wait_count, const cl_event *wait, cl_event *events);

/* Makes what follows in an out-of-order queue come after all that is in it. */
cl_int command_barrier(const struct command *command);

/* The queue is held: defers the command until the user events that hold it are set. On success both have set the state of
 * the objects, which the end of the command may change again before they return. */
cl_int deferred_release(struct command *command);
/* A deferred command on one of the objects is pending: the acquire comes after it. */
cl_int deferred_acquire(struct command *command);

#endif
