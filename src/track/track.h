/* The ground floor of the extension and of the emulated formats: records of contexts, queues, events and kernels' arguments,
 * and the functions of src/track/ for one another and for what stands above.
 *
 * Nothing here knows Direct3D. Unless said otherwise a function may be called from any thread with no lock held, and a cl_int
 * result is an OpenCL error code that has been logged already. */
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

struct besides;

/* ---- contexts ---- */

/* A context with properties that the driver need not know of. Made and destroyed by share/context.c. */
struct context_record {
    struct record head;
    bool interop;     /* with Direct3D */
    bool video;       /* with Direct3D 9, whose video formats are images there */
    unsigned quirks;  /* that are on in it, a bit for each (quirks.h) */
    atomic_bool lost; /* commands of a device that went were given up: what they use is the driver's for good */
    struct converter *converters; /* of formats/storage.c; guarded by registry_lock */
};

static inline bool context_has(const struct context_record *context, enum quirk quirk)
{
    return (context->quirks >> quirk & 1) != 0;
}

/* ---- what stands above ---- */

/* Commands that the extension has deferred until nothing blocks them. */
struct deferral {
    /* Gives those to a thread that depend on the user event that is marked (blocker.h), which the thread is about to set: no other
     * thread begins them. Returns the thread's number for this event, a new one for 0. deferral.run is due then. */
    unsigned (*claim_locked)(unsigned owner);
    /* Runs those that nothing blocks any longer and that are nobody's or the owner's, and waits until the owner's are over that
     * come to their end; the others are nobody's again. 0: there is no owner. In a callback, which claims nothing, they are begun,
     * and end when their OpenCL part has. */
    void (*run)(unsigned owner);
};

/* Set before the first call of the application. */
extern struct deferral deferral;

/* Something may write to objects in ways that are not seen: what has been written to is not known any more (writes.c). */
void writes_hidden(const char *why);
bool writes_known(void);

/* ---- queues and what blocks them (queue.c) ---- */

/* A set of OpenCL handles, to compare and to look up. */
struct handles {
    void **list;
    unsigned count, capacity;
};

struct queue_record {
    struct record head;             /* while it rests the driver's queue is ours to release, with the record */
    struct context_record *context; /* retained */
    cl_command_queue_properties properties;

    /* Guarded by registry_lock. */
    struct handles awaits; /* other queues, not flushed, with commands that those of this one wait for */
    unsigned blocked,
        blocked_barriers; /* commands that are blocked (blocker.c), and those of them that all later ones come after */
    unsigned stuck, stuck_barriers; /* the same in one look through them */
    unsigned entered;               /* see queue_enter */
    const struct blocker *turn;     /* see blocker_turn; NULL: nobody has it */

    atomic_uint failures,
        failures_seen; /* commands that may have failed: in all, and as of the last time that the order was restored */
};

/* The record of a queue, retained, or NULL: it is no queue of a context of ours. One that the application has released, and has
 * again from an event that keeps it, gets a record for as long as somebody holds that. */
struct queue_record *queue_get(cl_command_queue handle);
/* The same once there may be such a queue; NULL before. */
struct queue_record *queue_hold(cl_command_queue handle);
/* The application has a queue, or NULL, from an event. */
void queue_told(cl_command_queue handle);

bool queue_out_of_order(const struct queue_record *queue);
bool queue_profiles(const struct queue_record *queue);
/* Flushes a queue of the driver's. A driver that is short of something is asked again: somebody waits for what is in the queue. */
void queue_push(cl_command_queue handle);
/* Flushes a queue, and before it those that its commands wait for, so that a wait for them can't starve. */
void queue_flush(struct queue_record *queue);
/* The same for the queue of an event's command. */
void queue_flush_for(cl_event event);

/* Notes that commands of `queue` wait for events: which queues have to be flushed with it. */
void queue_waits(cl_command_queue queue, cl_uint count, const cl_event *events);

/* PoCL, up to 6.0, forgets what the next command of an in-order queue has to follow when the last one fails. For such queues:
 * waits until the queue is empty if one of its commands may have failed since the last time. Nothing may hold the queue. */
void queue_restore_order(struct queue_record *queue);
/* The same before any command, for a queue that nothing holds. A held one can't be waited for: its later commands may go past those
 * before the one that has failed. */
void queue_keep_order(cl_command_queue queue);
/* Whether an event has been set to an error: commands behind it may fail, and with NVIDIA's driver those behind them in their queues. It
 * stays so. Set before the driver hears of the error. */
extern atomic_bool events_failed;
/* Commands that the extension has deferred and that are not over: while there are any no queue is waited for there. */
extern atomic_uint queue_deferred;
bool queue_loses_order(const struct queue_record *queue);
/* Sets the gate of a deferred command. A driver that refuses is asked again: commands wait for it. */
void gate_open(const char *call, cl_event gate, bool done);

/* ---- events (event.c) ---- */

/* What an event of ours answers differently from the driver's. */
struct event_record {
    struct record head;
    cl_command_type type;
    cl_command_queue queue;
    struct queue_record *kept; /* retained; the queue, where the driver's event is none of its events. Else NULL */
    cl_context context;
    cl_event first;     /* owned; the command began with this event's. NULL: with the event itself */
    atomic_int failure; /* the status to report if the command failed: negative */
};

/* Makes `event` answer as a command of `type` in `queue`. Takes over `first`. */
void event_track(cl_event event, cl_command_type type, const struct queue_record *queue, cl_event first);
/* Makes the event of a command that has failed already with the negative status `failure`. */
cl_int event_make_failed(const char *call, cl_command_type type, struct queue_record *queue, cl_int failure,
                         cl_event *event);
/* The status that the event shows if its command fails; 0: it is no event of ours, and shows the driver's. */
cl_int event_failure(cl_event event);
/* A user event goes that nobody has set, and for which nothing waits: it is set to an error where the driver needs it
 * (QUIRK_NVIDIA_UNSET). NULL is allowed. */
void event_set_unset(cl_event event);
/* Whether the driver's event is a command's and no user event. False where the driver does not tell. */
bool event_is_command(cl_event event);
/* Whether a command has ended, or a user event has been set. False where the driver does not tell. */
bool event_is_over(cl_event event);
/* Whether a driver's code says that it could not answer, whatever it was asked. */
bool event_driver_short(cl_int status);
/* The driver's execution status, or its error about the event, which is negative too. CL_QUEUED where the driver is short of
 * something: such a query tells nothing of the command. */
cl_int event_status(cl_event event);
/* Waits until the event is over, even where the driver's own wait fails. False: the event failed, or its device went and did not
 * come back (QUIRK_POCL_GONE). */
bool event_await(cl_event event);
/* A context with QUIRK_POCL_GONE was made: from now on devices may go. */
void event_devices_go(void);
/* CL_INVALID_EVENT_WAIT_LIST or CL_INVALID_CONTEXT for a list that breaks the rules. */
cl_int event_check_list(const char *call, cl_context context, cl_uint count, const cl_event *events);
/* Whether an event of the list has failed. */
bool event_list_failed(cl_uint count, const cl_event *events);
/* ---- references to events (event_release.c) ---- */

/* Drops a reference of ours to a driver's event, NULL is allowed; postponed where PoCL needs the event for longer. */
void event_put(cl_event event);
/* The same for the event of a command that waited for `besides`, NULL is allowed, which it takes over: see besides.h. */
void event_put_besides(cl_event event, struct besides *besides);
/* The same for the event of an acquire, which PoCL may need for longer though it is complete. */
void event_put_late(cl_event event);
/* Takes over a reference of the application that PoCL needs for longer. False: the event can go. */
bool event_keep(cl_event event);
/* A context with QUIRK_POCL_EVENTS was made: from now on its events may have to be kept. */
void event_keep_begin(void);
/* Drops those that were over and are kept for a moment more: a context goes. */
void event_drop_recent(void);

/* ---- callbacks (callback.c) ---- */

/* A callback that runs now, of the application or of ours. */
struct callback_entry {
    uintptr_t thread;
    cl_event event;
    cl_int status;
    struct callback_entry *after;
};

/* A callback begins that tells of an event, or for NULL of the end of a memory object. */
void callback_enter(struct callback_entry *entry, cl_event event, cl_int status);
void callback_leave(struct callback_entry *entry);
/* Whether the calling thread is in a callback, where it must not wait for any command. */
bool callback_runs_here(void);
/* The same, where the thread may be one of the driver's, which runs the commands that the program's call would wait for. */
bool callback_runs_commands(void);
/* Whether the calling thread is in a callback that tells of the end of `event`, and with which status. The driver is not to be
 * asked about that event: rusticl 22.3 calls back with it locked. */
bool callback_tells(cl_event event, cl_int *status);

/* ---- the parts of the tier: each replaces its functions in the table ---- */

void queue_install(cl_icd_dispatch *table);
void event_install(cl_icd_dispatch *table);
void callback_install(cl_icd_dispatch *table);
void kernel_install(cl_icd_dispatch *table);

#endif
