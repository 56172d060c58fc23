/* What the OpenCL below lacks and cld3d can provide, independent of sharing: callbacks (Wine's opencl.dll calls none)
 * and the functions of OpenCL 2.0 to 3.0 that OpenCL 1.2 can emulate. An entry point installs it in those slots of
 * `next`, so that everything above sees a complete OpenCL.
 *
 * Callbacks run on one of cld3d's threads, one after the other, never on a thread of the driver; they may call OpenCL
 * again. Each registered callback is delivered once. */
#ifndef CLD3D_EMULATE_EMULATE_H
#define CLD3D_EMULATE_EMULATE_H

#include "next/next.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Called once by an entry point, after `next` is filled and before anything else runs. */
void emulate_install(void);

/* Whether callbacks run on cld3d's thread. Otherwise drivers may call them on the threads that run their commands. */
bool emulate_calls_back(void);

/* The functions of `next` before emulate_install. */
extern cl_icd_dispatch underlying;

/* The parts, each for its own slots of a table. */
void event_callback_install(cl_icd_dispatch *table);
void program_notify_install(cl_icd_dispatch *table);
void destructor_install(cl_icd_dispatch *table);
/* Error codes of calls in which the driver crashes below Wine's opencl.dll. */
void wine_calls_install(cl_icd_dispatch *table);
/* Queries that Wine's opencl.dll answers wrongly. */
void wine_queries_install(cl_icd_dispatch *table);
/* Functions of later versions that are missing. */
void cl2_install(cl_icd_dispatch *table);

#endif
