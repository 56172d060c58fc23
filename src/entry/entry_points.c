#include "entry/entry_points.h"

#include "entry/cl_d3d.h"
#include "entry/entry.h"

#include <CL/cl_dx9_media_sharing.h>
#include <string.h>

/* The functions of the Khronos extensions. Those of Direct3D 10 and 11 stand without their KHR: each has an alias of the
 * older NV extension, which differs in the name alone: clEnqueueAcquireD3D11ObjectsKHR, clEnqueueAcquireD3D11ObjectsNV. */
#define D3D1X_STEMS(X, version)              \
    X(clGetDeviceIDsFromD3D##version)        \
    X(clCreateFromD3D##version##Buffer)      \
    X(clCreateFromD3D##version##Texture2D)   \
    X(clCreateFromD3D##version##Texture3D)   \
    X(clEnqueueAcquireD3D##version##Objects) \
    X(clEnqueueReleaseD3D##version##Objects)
#define DX9_FUNCTIONS(X)                    \
    X(clGetDeviceIDsFromDX9MediaAdapterKHR) \
    X(clCreateFromDX9MediaSurfaceKHR)       \
    X(clEnqueueAcquireDX9MediaSurfacesKHR)  \
    X(clEnqueueReleaseDX9MediaSurfacesKHR)

#ifndef _WIN32
/* cl_icd.h declares them for Windows only. */
#define DECLARE(function) __typeof__(*(function##_fn)0) function;
#define DECLARE_STEM(stem) DECLARE(stem##KHR)
D3D1X_STEMS(DECLARE_STEM, 10)
D3D1X_STEMS(DECLARE_STEM, 11)
DX9_FUNCTIONS(DECLARE)
#undef DECLARE_STEM
#undef DECLARE
#endif

#define BY_NAME(name, function) {name, (next_function)function, 0},
#define ENTRY(function) BY_NAME(#function, function)
#define SLOT(function) {#function, (next_function)function, offsetof(cl_icd_dispatch, function)},
#define WITH_NV_ALIAS(stem) SLOT(stem##KHR) BY_NAME(#stem "NV", stem##KHR)
const struct entry_point entry_points[] = {
    /* clang-format off */
    D3D1X_STEMS(WITH_NV_ALIAS, 11)
    D3D1X_STEMS(WITH_NV_ALIAS, 10)
    DX9_FUNCTIONS(SLOT)
    ENTRY(clGetDeviceIDsFromDX9INTEL)
    ENTRY(clCreateFromDX9MediaSurfaceINTEL)
    ENTRY(clEnqueueAcquireDX9ObjectsINTEL)
    ENTRY(clEnqueueReleaseDX9ObjectsINTEL)
    /* With this function another cld3d above detects this one. */
    ENTRY(cld3d_report)
    /* clang-format on */
};
#undef BY_NAME
#undef ENTRY
#undef SLOT
#undef WITH_NV_ALIAS
const size_t entry_point_count = sizeof(entry_points) / sizeof(entry_points[0]);

next_function entry_point(const char *name)
{
    for (size_t i = 0; name && i < entry_point_count; i++)
        if (strcmp(entry_points[i].name, name) == 0)
            return entry_points[i].function;
    return NULL;
}
