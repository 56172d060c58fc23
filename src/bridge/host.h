/* The host side of the bridge, in libcld3d.so: what its files share. The tables that Wine calls (host_generated.c,
 * wow64_generated.c) call `host_table`, which is the host's OpenCL (`next`) but for what must be different in a Windows
 * process: commands that wait, calls that install signal handlers, callbacks. */
#ifndef CLD3D_BRIDGE_HOST_H
#define CLD3D_BRIDGE_HOST_H

#include "bridge/calls_generated.h"
#include "bridge/notice.h"
#include "bridge/signals.h"
#include "next/next.h"

#include <stdatomic.h>
#include <stdbool.h>

#define HOST_EXPORT __attribute__((visibility("default")))

extern cl_icd_dispatch host_table;

/* Whether this process runs under Wine. */
bool host_is_wine(void);

/* At the beginning of each call: prepares the main thread in its first one, and returns `arguments`. `host_prepared`: that
 * has been done. */
extern atomic_bool host_prepared;
void *host_enter_first(void *arguments);

static inline void *host_enter(void *arguments)
{
    return atomic_load_explicit(&host_prepared, memory_order_relaxed) ? arguments : host_enter_first(arguments);
}

/* The calls of bridge.h. */
int host_start(void *arguments);
int host_next(void *arguments);
int host_find(void *arguments);
int host_call(void *arguments);
int host_vulkan(void *arguments);
int host_shadow(void *arguments);

/* Commands and calls that are different (tier_generated.c). */
void tier_install_generated(cl_icd_dispatch *table);

#endif
