/* PoCL 3.1 is at work on a command that fails, and on what waits for it, for a moment after it has told so: a reference to its event
 * that goes in that moment may be the last, and ends the process. Nothing tells when the moment is over. */
#ifndef CLD3D_NEXT_SETTLE_H
#define CLD3D_NEXT_SETTLE_H

/* What a thread of PoCL may need on a busy machine. */
enum { SETTLE_MS = 100 };

/* Lets that time pass. Only after a failure, and without a lock. */
void settle_failed(void);

#endif
