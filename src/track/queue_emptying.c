/* Releases that wait until their queue is empty, instead of for a marker of their own: with PoCL each command costs the program's
 * processor, because it wakes threads (QUIRK_POCL_WAKES).
 *
 * Such a wait includes what other threads enqueue meanwhile. A command of theirs may wait for a user event that only the waiting thread
 * would set. So one thread alone must use the queue, and another one that comes meanwhile waits, too. Functions of the program that the
 * driver calls cannot wait: commands may end only after them. Once there may be such functions, no thread waits in this way. */
#include "track/track.h"

#include "log.h"

enum { NO_THREAD = 0, SEVERAL_THREADS = 1 }; /* os_thread gives neither */

static atomic_bool calls_back;

void queues_call_back(void)
{
    atomic_store_explicit(&calls_back, true, memory_order_relaxed);
}

/* A thread that was ended in the driver's call never comes back from it. */
static void give_up(struct queue_record *queue)
{
    atomic_store(&queue->being_emptied, false);
    log_write(LOG_WARN,
              "queue %p: a thread was ended in a release that waited for it, and is not waited for any longer",
              (void *)queue->head.handle);
}

/* However long it takes: the wait of the other thread would include what this one enqueues. */
static void await_emptying(struct queue_record *queue)
{
    enum { BETWEEN_CHECKS = 100 }; /* milliseconds at least */
    for (unsigned waited = 1; atomic_load(&queue->being_emptied) && !callback_runs_commands() && !os_process_ends();
         waited++)
        if (waited % BETWEEN_CHECKS == 0 && !os_thread_lives(atomic_load(&queue->emptier)))
            give_up(queue);
        else
            os_sleep_shortly();
}

static void note_another(struct queue_record *queue)
{
    const uintptr_t self = os_thread();
    os_lock(&registry_lock);
    const uintptr_t before = atomic_load(&queue->thread);
    if (before != self)
        atomic_store(&queue->thread, before == NO_THREAD ? self : SEVERAL_THREADS);
    os_unlock(&registry_lock);
    await_emptying(queue);
}

void queue_note_thread(struct queue_record *queue)
{
    const uintptr_t thread = atomic_load(&queue->thread);
    if (thread != os_thread() && (thread != SEVERAL_THREADS || atomic_load(&queue->being_emptied)))
        note_another(queue);
}

void queues_note_thread(cl_uint count, const cl_command_queue *handles)
{
    for (cl_uint i = 0; handles && i < count; i++) {
        struct queue_record *queue = registry_get(RECORD_QUEUE, handles[i]);
        if (queue)
            queue_note_thread(queue);
        record_release(queue);
    }
}

bool queue_begin_emptying(struct queue_record *queue)
{
    if (!context_has(queue->context, QUIRK_POCL_WAKES) || context_has(queue->context, QUIRK_POCL_SERVER_LOST) ||
        queue_out_of_order(queue) || blockers_possible() || atomic_load(&events_failed) || atomic_load(&calls_back) ||
        !commands_known())
        return false;
    os_lock(&registry_lock);
    const bool alone = atomic_load(&queue->thread) == os_thread();
    if (alone) {
        atomic_store(&queue->emptier, os_thread_id());
        atomic_store(&queue->being_emptied, true);
    }
    os_unlock(&registry_lock);
    return alone;
}

cl_int queue_end_emptying(const char *call, struct queue_record *queue)
{
    const cl_int status = queue_insist(below()->clFinish, queue->head.handle);
    atomic_store(&queue->being_emptied, false);
    return log_next(call, "clFinish", status);
}
