/* Functions of the program or of cld3d that a driver calls. */
#ifndef CLD3D_HANDLES_CALLBACK_H
#define CLD3D_HANDLES_CALLBACK_H

#include "handles/event.h"

#include <stdint.h>

/* A running callback, of the application or of cld3d. */
struct callback_entry {
    uintptr_t thread;
    cl_event event;
    cl_int status;
    bool of_command;
    struct event_record *record; /* of `event`, retained by the caller; NULL if it is not one of cld3d's */
    struct callback_entry *after;
};

/* A callback starts that reports an event, or for NULL the end of a memory object. */
void callback_enter(struct callback_entry *entry, cl_event event, cl_int status);
/* A function starts that is part of a command, which ends only after the function returns. */
void callback_enter_command(struct callback_entry *entry);
void callback_leave(struct callback_entry *entry);
/* The record of an event whose callback runs on the calling thread, retained, or NULL. */
struct event_record *callback_record(cl_event event);
/* Whether the calling thread is in a callback, where it must not wait for any command. */
bool callback_runs_here(void);
/* Whether commands may be unable to end until the calling thread returns: it is in a callback and may be one of the
 * driver's threads, which run the commands, or it is in a function that is part of a command. */
bool callback_runs_commands(void);
/* Whether the calling thread is in a callback that reports the end of `event`, and with which status. The driver must
 * not be queried about that event: rusticl 22.3 runs callbacks with it locked. */
bool callback_reports_end(cl_event event, cl_int *status);
/* The same for a callback that reports any status of it. */
bool callback_reports(cl_event event, cl_int *status);

#endif
