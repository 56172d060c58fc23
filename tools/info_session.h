/* A context of one OpenCL device with one Direct3D device, and the functions to share with. */
#ifndef CLD3D_TOOLS_INFO_SESSION_H
#define CLD3D_TOOLS_INFO_SESSION_H

#include "info.h"

#include <CL/cl_d3d11.h>

typedef void (*any_function)(void);

struct session {
    const struct opencl *cl;
    const struct api *api;
    const struct device *device;
    void *d3d_device;

    cl_context context;
    cl_command_queue queue;
    any_function share;
    clEnqueueAcquireD3D11ObjectsKHR_fn acquire, release; /* the same for all three */
};

/* An extension's function from the device's platform, or NULL. */
any_function session_function(const struct opencl *cl, const struct platform *platform, const char *name);

/* Fills the lower half of the session, whose upper half is set. If it fails, `why` says why; close it all the same. */
bool session_open(struct session *session, char *why);
void session_close(struct session *session);

/* Makes a texture of the row's format, shares the row's plane, reads that in OpenCL and writes other texels to it, and
 * compares what both sides see. `storage format` gets the format that the image has for the OpenCL below, or zeros if that can't
 * be seen. */
bool session_try(const struct session *session, const struct format_row *row, cl_image_format *stored, char *why);

#endif
