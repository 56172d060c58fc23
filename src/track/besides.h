/* What a held command waits for besides what holds it: commands that end by themselves. PoCL 3.1 ends the process if a user event
 * is set to an error at the moment at which one of these ends: it lets the held command begin and fail at once. Whoever sets such
 * an error lets them end first (QUIRK_POCL_ENDS). And until they end they use the event of a command that has failed
 * (QUIRK_POCL_EVENTS). */
#ifndef CLD3D_TRACK_BESIDES_H
#define CLD3D_TRACK_BESIDES_H

#include <CL/cl.h>
#include <stdbool.h>

struct queue_record;
struct besides;

/* Before the driver gets the command: the events of its list that are not over; and of an in-order queue the event of the held
 * command before it, or where it is the first one (`first`) a marker that stands for all before it. NULL: there is nothing to note,
 * or memory is short. For the caller to free. */
struct besides *besides_note(const struct queue_record *queue, bool first, cl_event previous, cl_uint count,
                             const cl_event *wait);
/* NULL is allowed. */
void besides_free(struct besides *besides);
/* Lets go of those that are over, and frees it where none is left: then the result is NULL. NULL is allowed. */
struct besides *besides_trim(struct besides *besides);
/* Waits until they are over, but for those that are held themselves. *patience: the milliseconds that are left for it; a command
 * may wait for the caller in ways that nobody knows. */
void besides_let_end(const struct besides *besides, unsigned *patience);

#endif
