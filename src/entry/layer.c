/* The Khronos layer entry point: the loader passes the table of the functions below, and gets this layer's table.
 *
 * cl_loader_layers 1.0: a loader calls clGetLayerInfo for the version of the interface, and then clInitLayer once.
 * Loaders of 2025 or later call clInitLayerWithProperties instead, and clDeinitLayer at the end. During these calls
 * nothing below may be called: the loader would wait for itself. So the entry point opens with the program's first
 * call. */
#include "entry/entry.h"
#include "entry/entry_points.h"
#ifdef _WIN32
#include "bridge/client.h"
#else
#include "bridge/host.h"
#endif
#include "log.h"
#include "next/query.h"
#include "os/os.h"

#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Newer than Debian 12's header. */
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint, const cl_icd_dispatch *, cl_uint *,
                                                          const cl_icd_dispatch **, const cl_properties *);
CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size, void *param_value,
                                               size_t *param_value_size_ret)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char name[] = "cld3d";
    switch (param_name) {
    case CL_LAYER_API_VERSION:
        return answer("clGetLayerInfo", &version, sizeof(version), param_value_size, param_value, param_value_size_ret);
    case CL_LAYER_NAME:
        return answer("clGetLayerInfo", name, sizeof(name), param_value_size, param_value, param_value_size_ret);
    default: return log_refuse("clGetLayerInfo", CL_INVALID_VALUE, "unknown query 0x%x", param_name);
    }
}

/* The loader fills its NULL slots from the table below. */
static cl_icd_dispatch layer_table;

static __typeof__(&clGetExtensionFunctionAddressForPlatform) address_of_loader;

/* Asked by name, a loader for Windows returns the functions that it exports. These call its first layer, which may be
 * this one. The functions in the table that it passed go to the driver. */
static void *CL_API_CALL address_below(cl_platform_id platform, const char *name)
{
    void *function = NULL;
    for (size_t i = 0; name && !function && i < entry_point_count; i++)
        if (entry_points[i].slot && strcmp(entry_points[i].name, name) == 0)
            memcpy(&function, (const char *)&next + entry_points[i].slot, sizeof(function));
    return function ? function : address_of_loader(platform, name);
}

/* ---- the OpenCL below ---- */

#ifdef _WIN32
/* The loader's function: when a second thread asks, `next` may already have another one. */
static __typeof__(&clGetPlatformIDs) loaders_platforms;

static bool joined; /* the host's OpenCL is below instead of the loader's drivers */

static void set_loaders(const cl_icd_dispatch *table, cl_uint entries)
{
    next_set(table, entries);
    loaders_platforms = next.clGetPlatformIDs;
}

/* Some programs for Windows contain a Khronos loader and never load an OpenCL.dll. Under Wine such a loader finds no
 * driver, because it cannot load Wine's opencl.dll as one. But it passes every call to its layers. */
bool entry_needs_another(void)
{
    cl_uint count = 0;
    if (!os_is_wine())
        return false;
    const cl_int status = loaders_platforms(0, NULL, &count);
    return status == CL_PLATFORM_NOT_FOUND_KHR || (status == CL_SUCCESS && count == 0);
}

bool entry_set_next(bool another)
{
    joined = another && client_join();
    if (another && !joined)
        log_write(LOG_WARN, "the loader has found no driver, and the bridge to the host's OpenCL is %s",
                  client_report());
    return true; /* otherwise clInitLayer has set `next` */
}

const char *entry_next_report(void)
{
    return joined ? "the host's libOpenCL.so.1" : NULL;
}
#else
static void set_loaders(const cl_icd_dispatch *table, cl_uint entries)
{
    next_set(table, entries);
}

bool entry_needs_another(void)
{
    return false;
}

bool entry_set_next(bool another)
{
    (void)another;
    return true; /* clInitLayer has done it */
}

const char *entry_next_report(void)
{
    return NULL;
}
#endif

/* ---- the layer ---- */

/* A library of the program that contains a loader may be unloaded before the others. */
static void keep_all(const cl_icd_dispatch *target, cl_uint entries)
{
    for (cl_uint i = 0; i < entries && i < sizeof(*target) / sizeof(next_function); i++) {
        next_function function;
        memcpy(&function, (const char *)target + i * sizeof(function), sizeof(function));
        if (function)
            os_library_keep(function);
    }
}

/* Several libraries of a program may contain a loader, and each initialises this layer, which is loaded once. The
 * OpenCL of the first one remains the one below: the program may be in calls to it, and handles are the drivers' own,
 * whichever loader returned them. So everything is set once, before the first loader gets its table. */
static const cl_icd_dispatch *set_once(const cl_icd_dispatch *target, cl_uint entries)
{
    static os_mutex lock = OS_MUTEX_INIT; /* guards `ours` */
    static const cl_icd_dispatch *ours;
    os_lock(&lock);
    const bool is_set = ours != NULL;
    os_unlock(&lock);
    if (!is_set)
        keep_all(target, entries); /* this takes the lock of the system's loader */
    os_lock(&lock);
    if (!ours) {
        set_loaders(target, entries);
        address_of_loader = next.clGetExtensionFunctionAddressForPlatform;
        next.clGetExtensionFunctionAddressForPlatform = address_below;
        /* Loaders export some of the extensions' own functions, and call these through the table too. */
        layer_table = entry_exports;
        for (size_t i = 0; i < entry_point_count; i++)
            if (entry_points[i].slot)
                memcpy((char *)&layer_table + entry_points[i].slot, &entry_points[i].function, sizeof(next_function));
        ours = &layer_table;
    }
    const cl_icd_dispatch *table = ours;
    os_unlock(&lock);
    return table;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
                                            cl_uint *num_entries_ret, const cl_icd_dispatch **layer_dispatch_ret)
{
    if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
        return log_refuse("clInitLayer", CL_INVALID_VALUE, "an argument is NULL");
#ifndef _WIN32
    if (host_is_wine()) { /* cld3d is above Wine there: this is no layer */
        *layer_dispatch_ret = target_dispatch;
        *num_entries_ret = num_entries;
        return CL_SUCCESS;
    }
#endif
    *layer_dispatch_ret = set_once(target_dispatch, num_entries);
    *num_entries_ret = sizeof(cl_icd_dispatch) / sizeof(next_function);
    return CL_SUCCESS;
}

/* This layer has no properties, so it refuses any. */
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
                                                          cl_uint *num_entries_ret,
                                                          const cl_icd_dispatch **layer_dispatch_ret,
                                                          const cl_properties *properties)
{
    if (properties && properties[0])
        return log_refuse("clInitLayerWithProperties", CL_INVALID_PROPERTY, "unknown property 0x%llx",
                          (unsigned long long)properties[0]);
    return clInitLayer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret);
}

/* Frees nothing: records live as long as the objects that the application still has. */
CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
    return CL_SUCCESS;
}
