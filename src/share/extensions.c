#include "share/extensions.h"

const struct extension extensions[] = {
    {"cl_khr_d3d10_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_khr_d3d11_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_khr_dx9_media_sharing", CL_MAKE_VERSION(1, 0, 0)},
    /* The same functions and tokens under the names of cl_nv_d3d11_sharing and its like, which OpenCV, the ocl crate and OpenSubdiv look for first. */
    {"cl_nv_d3d10_sharing", CL_MAKE_VERSION(2, 0, 0)},
    {"cl_nv_d3d11_sharing", CL_MAKE_VERSION(2, 0, 0)},
    {"cl_intel_d3d11_nv12_media_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_intel_dx9_media_sharing", CL_MAKE_VERSION(6, 0, 0)},
};

const unsigned extension_count = sizeof(extensions) / sizeof(extensions[0]);
