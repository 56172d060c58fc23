/* The client's side of the channel: access to what the host's OpenCL has and Wine's opencl.dll lacks. */
#ifndef CLD3D_COMPANION_CLIENT_H
#define CLD3D_COMPANION_CLIENT_H

#include "companion/channel.h"
#include "next/next.h"

#include <stdbool.h>

/* Looks for a companion, and uses it to fill the gaps in `next`. Called once by the entry point, after `next` is filled
 * and before anything else runs. Without a companion, or with one of another version, `next` is not changed. */
void client_join(void);

/* Whether a companion is connected. */
bool client_joined(void);

/* What client_join has found, for display. The text lives as long as the process. */
const char *client_report(void);

/* Sends one request other than CHANNEL_CALL, and returns its result; 0 if it fails. While a companion is connected, a
 * request fails only if the host crashes in it. */
uint64_t client_ask(enum channel_action action, unsigned count, const uint64_t *arguments);
/* The same for a request whose only argument is a name: CHANNEL_FIND, CHANNEL_VULKAN. */
uint64_t client_find(enum channel_action action, const char *name);

/* Calls a host function, and returns its result, or 0 if the host crashes. Integers among the arguments are extended to
 * 64 bits. Bit i of `wide`: argument i has 64 bits for the function too, where others have 32. */
uint64_t client_call(uint64_t address, unsigned count, const uint64_t *arguments, unsigned wide);
/* The same for a function that returns a cl_int. Returns CL_OUT_OF_RESOURCES if the request fails. */
cl_int client_status(uint64_t address, unsigned count, const uint64_t *arguments, unsigned wide);

/* The functions that the companion provides (client_generated.c), each with the host's address once that is known. */
struct client_function {
    const char *name;
    size_t offset;          /* in the dispatch table */
    next_function function; /* cld3d's function, which calls the host's */
    bool always;            /* Wine's own does not work */
};

extern const struct client_function client_functions[];
extern const size_t client_function_count;
extern uint64_t client_addresses[];

/* The parts of `next` that do more than call the host's function. In 32 bits extensions stay as Wine's opencl.dll has
 * them: the callee removes its arguments from the stack there, and the number of arguments of an unknown function
 * cannot be determined. */
void client_strings_install(cl_icd_dispatch *table);
void client_extensions_install(cl_icd_dispatch *table);
#endif
