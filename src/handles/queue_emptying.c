/* Releases that wait until their queue is empty, instead of for a marker of their own: with PoCL each command costs the
 * program's processor, because it wakes threads (QUIRK_POCL_WAKES).
 *
 * Such a wait includes what other threads enqueue meanwhile. A command of theirs may wait for a user event that only the
 * waiting thread would set. So one thread alone must use the queue, and another one that comes meanwhile waits, too.
 * Some programs cannot wait: a command may end only after a function of the program that the driver calls, and a kernel
 * may read what the host writes to shared virtual memory meanwhile. In these no thread waits in this way. */
#include "handles/handles.h"

#include "log.h"

enum { NO_THREAD = 0, SEVERAL_THREADS = 1 }; /* os_thread gives neither */

static atomic_bool stopped; /* set before registry_lock is taken to look for threads that wait */
static atomic_bool settled; /* there are none any longer */

/* A thread that was ended in the driver's call never comes back from it. */
static void give_up(struct queue_record *queue)
{
    atomic_store(&queue->being_emptied, false);
    log_write(LOG_WARN,
              "queue %p: a thread was ended in a release that waited for it, and is not waited for any longer",
              (void *)queue->head.handle);
}

/* Without a limit: a command that is enqueued now would become a part of the other thread's wait, and might itself wait
 * for something that only that thread does. */
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

static void find_emptied(struct record *record, void *found)
{
    struct queue_record *queue = (struct queue_record *)record;
    if (atomic_load(&queue->being_emptied))
        *(struct queue_record **)found = queue;
}

/* A queue that a thread empties now, retained, or NULL. */
static struct queue_record *emptied_queue(void)
{
    struct queue_record *queue = NULL;
    os_lock(&registry_lock);
    registry_each_locked(RECORD_QUEUE, find_emptied, &queue);
    if (queue)
        record_retain(queue);
    os_unlock(&registry_lock);
    return queue;
}

void queue_emptying_stop(void)
{
    if (atomic_load(&settled))
        return;
    atomic_store(&stopped, true);
    bool found = true;
    while (found && !callback_runs_commands() && !os_process_ends()) {
        struct queue_record *queue = emptied_queue();
        found = queue != NULL;
        if (found)
            await_emptying(queue);
        record_release(queue);
    }
    if (!found)
        atomic_store(&settled, true);
}

/* `thread`: the one that comes, or SEVERAL_THREADS. */
static void note(struct queue_record *queue, uintptr_t thread)
{
    os_lock(&registry_lock);
    const uintptr_t before = atomic_load(&queue->thread);
    if (before != thread)
        atomic_store(&queue->thread, before == NO_THREAD ? thread : SEVERAL_THREADS);
    os_unlock(&registry_lock);
    await_emptying(queue);
}

void queue_note_thread(struct queue_record *queue)
{
    const uintptr_t thread = atomic_load(&queue->thread);
    if (thread != os_thread() && (thread != SEVERAL_THREADS || atomic_load(&queue->being_emptied)))
        note(queue, os_thread());
}

void queues_note_several_threads(cl_uint count, const cl_command_queue *handles)
{
    for (cl_uint i = 0; i < count; i++) {
        struct queue_record *queue = registry_get(RECORD_QUEUE, handles[i]);
        if (queue)
            note(queue, SEVERAL_THREADS);
        record_release(queue);
    }
}

bool queue_begin_emptying(struct queue_record *queue)
{
    if (!context_has(queue->context, QUIRK_POCL_WAKES) || context_has(queue->context, QUIRK_POCL_SERVER_LOST) ||
        queue_out_of_order(queue) || blockers_possible() || atomic_load(&events_failed) || !commands_known())
        return false;
    os_lock(&registry_lock);
    const bool alone = atomic_load(&queue->thread) == os_thread() && !atomic_load(&stopped);
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
