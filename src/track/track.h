/* The basis of the extension and of the emulated formats: records of contexts, queues, events and kernel arguments, and
 * the functions of src/track/ for one another and for the layers above.
 *
 * Nothing here knows Direct3D. Unless stated otherwise a function may be called from any thread with no lock held, and
 * a cl_int result is an OpenCL error code that has already been logged. */
#ifndef CLD3D_TRACK_TRACK_H
#define CLD3D_TRACK_TRACK_H

#include "next/query.h"
#include "track/event_list.h"
#include "track/blocker.h"
#include "track/quirks.h"
#include "track/reaper.h"
#include "track/registry.h"
#include "track/tiers.h"

#include <stdint.h>

struct prerequisites;

/* ---- contexts ---- */

/* A context with properties that the driver need not know. Created and destroyed by share/context.c. */
struct context_record {
    struct record head;
    bool interop;     /* with Direct3D */
    bool video;       /* with Direct3D 9, whose video formats are images there */
    unsigned quirks;  /* that are active in it, one bit each (quirks.h) */
    atomic_bool lost; /* commands of a lost device were abandoned: what they use stays with the driver forever */
    struct common_formats
        *common_formats;          /* of formats/common_formats.c; constant, owned. NULL: what the driver lists */
    struct converter *converters; /* of formats/storage.c; guarded by registry_lock */
};

static inline bool context_has(const struct context_record *context, enum quirk quirk)
{
    return (context->quirks >> quirk & 1) != 0;
}

/* ---- the tiers above ---- */

/* Commands that the extension has deferred until nothing blocks them. */
struct deferral {
    /* Marks the gates of the commands that depend on the marked user event `user`, which may be a gate itself, and no others
     * (blocker.h). */
    void (*mark_locked)(const struct blocker *user);
    /* Assigns to a thread the commands that depend on the marked user event (blocker.h), which the thread is about to
     * set: no other thread starts them. Returns the thread's number for this event, a new one for 0. deferral.run must
     * follow. */
    unsigned (*claim_locked)(unsigned owner);
    /* Runs the commands that nothing blocks any longer and that have no owner or this one. Waits until the owner's
     * commands have ended; those that are still blocked are released from the owner. 0: no owner. In a callback, which
     * claims nothing, they are started, and end when their OpenCL part has. */
    void (*run)(unsigned owner);
};

/* Set before the first call of the application. */
extern struct deferral deferral;

/* Something may write to objects unseen: from now on it is not known which objects were written (writes.c). */
void writes_hidden(const char *why);
bool writes_known(void);

/* ---- queues and what blocks them (queue.c) ---- */

/* A queue that the driver has created for the application in `call`, which may fail for lack of memory: then the queue
 * is released, and `errcode_ret` (NULL is allowed) gets the code. `handle` may be NULL. */
cl_command_queue queue_followed(const char *call, cl_context context, cl_command_queue handle, cl_int *errcode_ret);
/* A queue of cld3d's own. Unlike clReleaseCommandQueue, own_queue_put delivers no callbacks of the application first.
 * NULL is allowed. */
cl_command_queue own_queue_make(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                cl_int *status);
void own_queue_put(cl_command_queue queue);

/* A set of OpenCL handles, for comparisons and lookups. */
struct handles {
    void **list;
    unsigned count, capacity;
};

struct queue_record {
    struct record head;             /* while it is weak, the driver's queue is released together with the record */
    struct context_record *context; /* retained */
    _Atomic(cl_command_queue_properties) properties; /* clSetCommandQueueProperty changes them */

    /* Guarded by registry_lock. */
    struct handles awaits; /* other queues, not flushed, with commands that this queue's commands wait for */
    unsigned blocked,
        blocked_barriers;           /* blocked commands (blocker.c), and those of them that all later ones come after */
    unsigned stuck, stuck_barriers; /* the same, during one pass */
    unsigned entered;               /* see queue_enter */
    atomic_ullong precedence_until; /* until then (os_nanoseconds) threads that can wait do not enter; 0: no request */
    const struct blocker *turn;     /* see blocker_turn; NULL: no command has the turn */

    /* commands that may have failed: in total, and when the order was last restored */
    atomic_uint failures, failures_seen;
    _Atomic(uintptr_t) thread; /* of queue_emptying.c: which has enqueued commands */
    atomic_bool being_emptied; /* see queue_begin_emptying */
    /* With QUIRK_RUSTICL_FLUSH_WAITS, guarded by registry_lock. */
    unsigned finishing; /* threads that are in clFinish or a blocking command */
    unsigned pushing;   /* threads that flush it */
    bool owed;          /* a flush was left to a thread that finishes it */
};

/* The record of a queue, retained, or NULL: it is not a queue of a context with a record. A queue that the application
 * has released, and obtained again from an event that keeps it, gets a record for as long as something holds that
 * record. */
struct queue_record *queue_get(cl_command_queue handle);
/* The application has obtained a queue, or NULL, from an event. */
void queue_obtained(cl_event event, cl_command_queue handle);

bool queue_out_of_order(const struct queue_record *queue);
bool queue_profiles(const struct queue_record *queue);
/* Calls again, a few times, if the driver is out of resources. */
cl_int queue_insist(cl_int(CL_API_CALL *call)(cl_command_queue), cl_command_queue handle);
/* Flushes a queue of the driver. If the driver is out of resources it is asked again, because a thread waits for the
 * queue's commands. */
void queue_flush_alone(cl_command_queue handle);
/* Flushes a queue, and first those that its commands wait for, so that waiting for them cannot starve. */
void queue_flush(struct queue_record *queue);
/* The same for the queue of an event's command. */
void queue_flush_for(cl_event event);
/* Flushes only those that a queue's commands wait for. Before a command that the driver may execute while it is enqueued. */
void queue_flush_awaited(cl_command_queue queue);
/* A call of the application is about to flush a queue and wait for it. Until it returns no other thread flushes the queue, if that would
 * have to wait as long (QUIRK_RUSTICL_FLUSH_WAITS). The queue, held for queue_end_finish, or NULL. */
struct queue_record *queue_begin_finish(cl_command_queue handle);
void queue_end_finish(struct queue_record *queue);
/* Whether another thread is in such a call for the queue of an event: a wait for the event would last as long as that call, which may
 * last until the caller has set a user event. */
bool queue_is_finished(cl_event event);
/* Notes that commands of `queue` wait for events: their queues must be flushed with it. */
void queue_waits(cl_command_queue queue, cl_uint count, const cl_event *events);

/* PoCL, up to 6.0, loses the order of an in-order queue when its last command fails. For such
 * queues: waits until the queue is empty if one of its commands may have failed since the last time. Nothing may block
 * the queue. */
void queue_restore_order(struct queue_record *queue);
/* The same before any command, for a queue that nothing blocks. A blocked one cannot be waited for: its later commands
 * may overtake those before the failed one. */
void queue_keep_order(cl_command_queue queue);
/* Whether an event has been set to an error: commands behind it may fail, and with NVIDIA's driver those behind them in
 * their queues. Never reset. Set before the driver learns of the error. */
extern atomic_bool events_failed;
/* Number of deferred commands that have yet to do something: while there are any, no queue is waited for there. */
extern atomic_uint queue_deferred;
bool queue_loses_order(const struct queue_record *queue);
/* How many queues are tracked. */
extern atomic_uint queue_count;
/* An event is about to be set to an error: notes for which queues that may make untracked commands fail. */
void queues_lose_unseen(cl_event event);

/* ---- waiting until a queue is empty (queue_emptying.c) ---- */

/* The calling thread is about to enqueue a command. */
void queue_note_thread(struct queue_record *queue);
/* Instead of enqueueing a marker, a thread may wait until its queue is empty, if no other thread uses the queue: queue_end_emptying must
 * follow. False: other threads may use it, a user event may block it, commands may fail, or the driver gains nothing by it. */
bool queue_begin_emptying(struct queue_record *queue);
/* Waits, in `call`. False: the driver refuses to. */
bool queue_end_emptying(const char *call, struct queue_record *queue);
/* The driver may call functions of the application from now on, which may enqueue commands. */
void queues_call_back(void);

/* ---- user events (user_event_calls.c) ---- */

/* Sets the gate of a deferred command. If the driver refuses it is asked again, because commands wait for the gate. */
void gate_open(const char *call, cl_event gate, bool done);

/* ---- events (event.c) ---- */

/* What queries of one of cld3d's events return instead of the driver's values. */
struct event_record {
    struct record head;
    cl_command_type type;
    cl_command_queue queue;
    struct queue_record *kept; /* retained; the queue, if the driver's event is not one of its events. Otherwise NULL */
    cl_event first;            /* owned; the command starts with this event's. NULL: with the event itself */
    atomic_int failure;        /* the status to report if the command failed: negative */
    atomic_bool failed;        /* the command has failed, even if the driver reports that it is complete */
};

/* Makes `event` report a command of `type` in `queue`. Takes over `first`. */
void event_track(cl_event event, cl_command_type type, const struct queue_record *queue, cl_event first);
/* Creates the event of a command that has already failed with the negative status `failure`. */
cl_int event_make_failed(const char *call, cl_command_type type, struct queue_record *queue, cl_int failure,
                         cl_event *event);
/* What one of cld3d's events reports where the driver reports `status`. */
cl_int event_reported(const struct event_record *event, cl_int status);
/* The event of a command that has failed, though the driver may report its end. */
void event_fail(cl_event event);
/* Whether the event belongs to a context with interop whose driver has the quirk. False for NULL. */
bool event_context_has(cl_event event, enum quirk quirk);
/* A user event is released that was never set, and for which nothing waits: it is set to an error if the driver needs
 * that (QUIRK_NVIDIA_UNSET_EVENTS). NULL is allowed. */
void event_set_unset(cl_event event);
/* Whether the driver's event belongs to a command and is not a user event. False if the driver does not report it. */
bool event_is_command(cl_event event);
/* Whether a command has ended, or a user event has been set. False if the driver does not report it. */
bool event_is_over(cl_event event);
/* The driver's execution status, or its error about the event, which is negative too. CL_QUEUED if the driver is out of
 * resources: such a query says nothing about the command. */
cl_int event_status(cl_event event);
/* The queue of the event's command; NULL for a user event, and if the driver does not report it. */
cl_command_queue event_queue(cl_event event);
/* Waits until the event has ended, even if the driver's own wait fails. False: the event failed, or its device was lost
 * and did not come back (QUIRK_POCL_SERVER_LOST). */
bool event_await(cl_event event);
/* A context with QUIRK_POCL_SERVER_LOST was created: from now on devices may be lost. */
void event_devices_go(void);
/* CL_INVALID_EVENT_WAIT_LIST or CL_INVALID_CONTEXT for an invalid list. */
cl_int event_check_list(const char *call, cl_context context, cl_uint count, const cl_event *events);
/* Whether an event of the list has failed. */
bool event_list_failed(cl_uint count, const cl_event *events);
/* ---- references to events (event_release.c) ---- */

/* Drops cld3d's reference to a driver's event, NULL is allowed; postponed if PoCL needs the event for longer. */
void event_put(cl_event event);
/* The same for the event of a command that waited for `prerequisites`, which it takes over; NULL is allowed: see
 * prerequisites.h. */
void event_put_with_prerequisites(cl_event event, struct prerequisites *prerequisites);
/* The same for the event of an acquire, which PoCL may need for longer although it is complete. */
void event_put_late(cl_event event);
/* Takes over a reference of the application if PoCL needs it for longer. False: the event can be released. */
bool event_keep(cl_event event);
/* A context with QUIRK_POCL_EVENTS was created: from now on its events may have to be kept. */
void event_keep_begin(void);
/* A context is released: drops its completed events, and those of contexts released before, that are kept for a moment
 * longer. */
void event_drop_recent(cl_context context);

/* ---- callbacks (callback.c) ---- */

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
/* The same, if the thread may be one of the driver's, which runs the commands that the program's call would wait for, or if a command
 * ends only after the function that runs here. */
bool callback_runs_commands(void);
/* Whether the calling thread is in a callback that reports the end of `event`, and with which status. The driver must
 * not be queried about that event: rusticl 22.3 runs callbacks with it locked. */
bool callback_reports_end(cl_event event, cl_int *status);
/* The same for a callback that reports any status of it. */
bool callback_reports(cl_event event, cl_int *status);

/* ---- the parts of the tier: each replaces its functions in the table ---- */

void queue_install(cl_icd_dispatch *table);
void user_event_install(cl_icd_dispatch *table);
void event_install(cl_icd_dispatch *table);
void callback_install(cl_icd_dispatch *table);
void host_function_install(cl_icd_dispatch *table); /* comes after guard_install */
void kernel_install(cl_icd_dispatch *table);

#endif
