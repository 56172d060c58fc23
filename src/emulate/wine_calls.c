#include "emulate/wine_calls.h"

#include "log.h"

cl_icd_dispatch wine_below;

cl_int wine_code(const char *call, cl_int crash, cl_int status)
{
    if ((cl_uint)status >> 28 != (cl_uint)WINE_CRASHED >> 28)
        return status;
    return log_refuse(call, crash, "the call did not return: the driver crashed (0x%08x) or lacks the function",
                      (cl_uint)status);
}

void wine_calls_install(cl_icd_dispatch *table)
{
    if (next_is_missing(table, "clGetPlatformIDs"))
        return; /* there is no OpenCL at all */
    wine_below = *table;
    wine_calls_install_generated(table);
}
