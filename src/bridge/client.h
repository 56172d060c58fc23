/* The Windows side of the bridge: fills `next` with functions that call the host's OpenCL. */
#ifndef CLD3D_BRIDGE_CLIENT_H
#define CLD3D_BRIDGE_CLIENT_H

#include "bridge/bridge.h"
#include "next/next.h"

/* Looks for the host side, which lies beside this library or where Wine finds it, and sets `next` to its functions. False:
 * there is none, and `next` is as it was; the log and client_report have the reason. Called once, by an entry point under
 * Wine, before anything else runs. */
bool client_join(void);

/* Which host side is used, or why there is none, for display. The text lives as long as the process. */
const char *client_report(void);

/* Wine's function that calls the host side, and its handle of that. The function is NULL if there is no host side. Set before
 * the first call of the program. */
extern int32_t(CL_API_CALL *client_dispatch)(uint64_t library, unsigned code, void *arguments);
extern uint64_t client_library;

/* Calls the host side. False: the host has crashed in the call, or Wine refuses it. */
static inline bool client_call(unsigned code, void *arguments)
{
    return !BRIDGE_CRASHED(client_dispatch(client_library, code, arguments));
}

/* The rest is for the generated functions. */

/* Logs that a driver has crashed in a call of the program's, and returns the code for it. */
cl_int client_crashed(const char *call, cl_int code);
/* For a function that returns a code. `crashed`: the code if it does not return. */
static inline cl_int client_code(unsigned code, void *arguments, const char *call, cl_int crashed)
{
    const int32_t result = client_dispatch(client_library, code, arguments);
    return BRIDGE_CRASHED(result) ? client_crashed(call, crashed) : result;
}
/* Sees to it that callbacks are delivered from now on. False, logged: there is no thread for them. */
bool client_delivers(const char *call);
/* Completes a map of memory that is out of the program's reach; the memory is freed after the unmap. */
void *client_shadow(const struct bridge_map *map, cl_event *event, cl_int *errcode_ret);
void client_unshadow(uint64_t address);

void client_install_generated(cl_icd_dispatch *table);
/* Functions of extensions by name, and the lists of extensions: those that the program can use through the bridge. */
void client_extensions_install(cl_icd_dispatch *table);

#endif
