/* What each layer of the tests is for a loader. A layer includes this first and defines `replace`, which puts its functions into
 * `table`; everything else goes through to `below`. */
#ifndef LAYER_ENTRY_H
#define LAYER_ENTRY_H

#include "answer.h"

#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;

static void replace(void);

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    return name == CL_LAYER_API_VERSION ? give_answer(&version, sizeof(version), room, to, size_ret) : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const cl_icd_dispatch **table_ret)
{
    (void)entries;
    below = target;
    table = *target;
    replace();
    *entries_ret = sizeof(table) / sizeof(void *);
    *table_ret = &table;
    return CL_SUCCESS;
}

#endif
