/* Runs the parts of a job on several processors. One thread copies at a third of the speed of memory or less; a transport that
 * copies megabytes is that much faster with helpers.
 *
 * Helpers are threads of cld3d that sleep between jobs and end when there has been none for some seconds. A process has at
 * most three: half of its processors less one, for Direct3D and OpenCL have threads too. */
#ifndef CLD3D_TRANSPORT_PARALLEL_H
#define CLD3D_TRANSPORT_PARALLEL_H

/* Calls `part` once for each index below `parts`, on this thread and on helpers, and returns when all calls have returned.
 * Runs everything on this thread if another job is under way or no helper can be started. Any thread may call; `part`
 * may not call it again. */
void parallel_run(unsigned parts, void (*part)(void *data, unsigned index), void *data);

/* Set by tests: the number of processors that is assumed; 0: the machine's. */
extern unsigned parallel_processors;

#endif
