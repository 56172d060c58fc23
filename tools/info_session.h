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
    clEnqueueAcquireD3D11ObjectsKHR_fn acquire, release; /* alike for all three */
};

/* An extension's function from the device's platform, or NULL. */
any_function session_function(const struct opencl *cl, const struct platform *platform, const char *name);

/* Fills the lower half of the session, whose upper half is set. If it fails, `why` says why; close it all the same. */
bool session_open(struct session *session, char *why);
void session_close(struct session *session);

/* Makes an image of one plane of a Direct3D resource; NULL, with `why`, if that fails. */
cl_mem session_share(const struct session *session, IUnknown *resource, cl_uint plane, char *why);

/* Acquires the image, copies its `region` to `to` and, unless it is NULL, `from` to it, and releases it. */
bool session_exchange(const struct session *session, cl_mem image, const size_t region[3], void *to, const void *from,
                      char *why);

#endif
