/* The extensions that cld3d adds to each device that can share: one list, from which the extension strings are
 * built. */
#ifndef CLD3D_SHARE_EXTENSIONS_H
#define CLD3D_SHARE_EXTENSIONS_H

#include <CL/cl.h>

struct extension {
    const char *name;
    cl_version version;
};

extern const struct extension extensions[];
extern const unsigned extension_count;

#endif
