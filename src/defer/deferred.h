/* Commands that wait until the user events are set that block them: one FIFO for each context.
 *
 * The program's call must not wait for a user event, because the program may set it right afterwards. So the call
 * enqueues a marker, which ends when the commands before it have ended, and behind it a gate: a user event of cld3d's,
 * which blocks later commands of the queue. Between the two a deferred command runs on the thread that sets the last
 * user event that blocks it, or in a callback on a thread of cld3d's. */
#ifndef CLD3D_DEFER_DEFERRED_H
#define CLD3D_DEFER_DEFERRED_H

#include "defer/pending.h"

/* The beginning of a deferred command. What is not named here belongs to deferred.c. */
struct deferred {
    struct queue_record *queue; /* retained */
    const char *call;           /* the application's call, for messages */
    cl_event event;             /* owned; the command's event, which ends when the gate is set */
    /* Runs the command when everything before it has ended. `failed`: some of it has failed. False: the command has
     * failed. */
    bool (*run)(struct deferred *deferred, bool failed);
    /* Frees the command, after its gate has been set. */
    void (*free)(struct deferred *deferred);

    struct event_list waits; /* the marker, and other events that must end before */
    cl_event gate;
    struct user_event *gate_record;
    pending_mask mask; /* guarded by registry_lock, like what follows */
    unsigned long long number;
    uintptr_t runner; /* the thread that runs it: the one that ended its last block; 0: it is blocked */
    bool begun;
    bool failed; /* an earlier command of its queue in order has failed */
    struct deferred *after;
};

/* Enqueues the marker and the gate of a command, whose `queue`, `call`, `run` and `free` are set, between pending_hold
 * and pending_end. `waits` may have events already. `event` is that of the gate. On failure nothing runs. */
cl_int deferred_enqueue(struct deferred *deferred, cl_uint wait_count, const cl_event *wait);
/* Releases what deferred_enqueue has made. */
void deferred_close(struct deferred *deferred);
/* Adds it to the FIFO, which takes it over, before pending_end. `mask` blocks it in addition to what blocks its queue
 * and its wait list. deferred_run must follow. */
void deferred_append_locked(struct deferred *deferred, const struct pending_command *command, pending_mask mask);
/* The bit of its gate, for the `mask` of commands that must follow it. */
pending_mask deferred_gate_locked(const struct deferred *deferred);
/* The first one, or NULL; `after` leads to the others. Those that have ended are gone. */
struct deferred *deferred_first_locked(void);

/* Runs the commands that the calling thread has unblocked; in a callback a thread of cld3d's does. Call it with no lock
 * held, after deferred_append_locked too. */
void deferred_run(void);

/* For pending.c: clears a bit in all masks; assigns the commands that nothing blocks any longer to the calling thread,
 * for deferred_run; all masks together. */
void deferred_clear_locked(pending_mask bit);
void deferred_assign_locked(void);
pending_mask deferred_masks_locked(void);

#endif
