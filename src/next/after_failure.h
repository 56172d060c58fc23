/* PoCL 3.1 still works on a failed command, and on what waits for it, for a moment after it has reported the failure:
 * releasing a reference to its event in that moment may release the last one, which ends the process. Nothing reports
 * when the moment is over. */
#ifndef CLD3D_NEXT_AFTER_FAILURE_H
#define CLD3D_NEXT_AFTER_FAILURE_H

/* The time that a thread of PoCL may need on a busy machine. */
enum { AFTER_FAILURE_MS = 100 };

/* Waits for this time. Call it only after a failure, and without a lock. */
void wait_after_failure(void);

#endif
