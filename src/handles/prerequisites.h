/* What a blocked command waits for in addition to what blocks it: commands that end by themselves. PoCL 3.1 ends the
 * process if a user event is set to an error at the moment when one of these ends: it then starts the blocked command
 * and fails it at once. A thread that sets such an error first lets them end (QUIRK_POCL_FAILURE_RACE). Until they end they
 * also use the event of a command that has failed (QUIRK_POCL_EVENTS). */
#ifndef CLD3D_HANDLES_PREREQUISITES_H
#define CLD3D_HANDLES_PREREQUISITES_H

#include <CL/cl.h>
#include <stdbool.h>

struct queue_record;
struct prerequisites;

/* Called before the driver gets the command: collects the unfinished events of its wait list; and in an in-order queue
 * the event of the previous blocked command, or, if it is the first one (`first`), a marker that stands for all
 * commands before it. NULL: there is nothing to note, or out of memory. The caller frees the result. */
struct prerequisites *prerequisites_note(const struct queue_record *queue, bool first, cl_event previous, cl_uint count,
                                         const cl_event *wait);
/* NULL is allowed. */
void prerequisites_free(struct prerequisites *prerequisites);
/* Drops the completed ones, and frees the list if none is left: then the result is NULL. NULL is allowed. */
struct prerequisites *prerequisites_trim(struct prerequisites *prerequisites);
/* Waits until they have ended, except those that are blocked themselves; but only as long as `*patience`, in
 * milliseconds, which it reduces: a command may wait for the caller in ways that are not known. True: a thread of the
 * driver may still be at work on one, so the caller waits a moment longer. */
bool prerequisites_let_end(const struct prerequisites *prerequisites, unsigned *patience);

#endif
