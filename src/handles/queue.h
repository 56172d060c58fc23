/* Command queues of contexts with interop: their records, flushing, and their order. */
#ifndef CLD3D_HANDLES_QUEUE_H
#define CLD3D_HANDLES_QUEUE_H

#include "handles/handle_set.h"
#include "handles/registry.h"

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct blocker;
struct context_record;

/* A queue that the driver has created for the application in `call`, which may fail for lack of memory: then the queue
 * is released, and `errcode_ret` (NULL is allowed) gets the code. `handle` may be NULL. */
cl_command_queue queue_followed(const char *call, cl_context context, cl_command_queue handle, cl_int *errcode_ret);
/* A queue of cld3d's own; NULL on failure, with the driver's code in `*status` (`status` may be NULL). Unlike
 * clReleaseCommandQueue, own_queue_put delivers no callbacks of the application first. It accepts NULL. */
cl_command_queue own_queue_make(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                cl_int *status);
void own_queue_put(cl_command_queue queue);

struct queue_record {
    struct record head;             /* while it is weak, the driver's queue is released together with the record */
    struct context_record *context; /* retained */
    _Atomic(cl_command_queue_properties) properties; /* clSetCommandQueueProperty changes them */

    /* Guarded by registry_lock. */
    struct handle_set awaits; /* other queues, not flushed, with commands that this queue's commands wait for */
    unsigned blocked,
        blocked_barriers;           /* blocked commands (blocker.c), and those of them that all later ones come after */
    unsigned stuck, stuck_barriers; /* the same, during one pass */
    unsigned entered;               /* see queue_enter */
    atomic_ullong precedence_until; /* until then (os_nanoseconds) threads that can wait do not enter; 0: no request */
    const struct blocker *turn;     /* see blocker_turn; NULL: no command has the turn */

    /* commands that may have failed: in total, and when the order was last restored */
    atomic_uint failures, failures_seen;
    _Atomic(uintptr_t) thread; /* the only one that has enqueued commands; otherwise see queue_emptying.c */
    atomic_bool being_emptied; /* see queue_begin_emptying */
    atomic_ulong emptier;      /* os_thread_id of the thread that waits */
    /* With QUIRK_RUSTICL_FLUSH_WAITS, guarded by registry_lock. */
    unsigned finishing; /* threads that are in clFinish or a blocking command */
    unsigned flushing;  /* threads that flush it */
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
/* How many queues are tracked. */
extern atomic_uint queue_count;

/* ---- flushing (queue_flush.c) ---- */

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
/* For the records: a queue is freed, or has been flushed by the driver. */
void queue_awaits_none(struct queue_record *queue);
void queue_was_flushed(cl_command_queue handle);

/* ---- commands that fail (queue_order.c) ---- */

/* PoCL, up to 6.0, loses the order of an in-order queue when its last command fails. For such queues: waits until the
 * queue is empty if one of its commands may have failed since the last time. Nothing may block the queue. */
void queue_restore_order(struct queue_record *queue);
/* The same before any command, for a queue that nothing blocks. A blocked one cannot be waited for: its later commands
 * may overtake those before the failed one. */
void queue_keep_order(cl_command_queue queue);
/* Whether an event has been set to an error: commands behind it may fail, and with NVIDIA's driver those behind them in
 * their queues. Never reset. Set before the driver learns of the error. */
extern atomic_bool events_failed;
/* The number of deferred commands that have yet to do something: while there are any, queue_keep_order waits for no
 * queue. */
extern atomic_uint queue_deferred;
/* Whether the driver loses the queue's order when a command fails (QUIRK_POCL_ORDER). */
bool queue_loses_order(const struct queue_record *queue);
/* An event is about to be set to an error: notes for which queues that may make untracked commands fail. */
void queues_lose_unseen(cl_event event);

/* ---- waiting until a queue is empty (queue_emptying.c) ---- */

/* The calling thread is about to enqueue a command. */
void queue_note_thread(struct queue_record *queue);
/* Other threads may enqueue commands in these queues from now on, unseen; handles that are no queues do nothing. */
void queues_note_several_threads(cl_uint count, const cl_command_queue *handles);
/* Whether the calling thread may wait until its queue is empty, instead of enqueueing a marker: then queue_end_emptying
 * must follow. False: other threads may use the queue, a user event may block it, commands may fail, or the driver
 * gains nothing by it. */
bool queue_begin_emptying(struct queue_record *queue);
/* Waits until the queue is empty, for the program's call `call`; then other threads may use the queue again. Returns the
 * driver's code. */
cl_int queue_end_emptying(const char *call, struct queue_record *queue);
/* From now on no thread waits until a queue is empty, because the driver may call functions of the program, which may
 * enqueue commands, or a kernel may wait for the host. Waits that have begun are awaited. */
void queue_emptying_stop(void);

#endif
