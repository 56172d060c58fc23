#include "info_session.h"

#include "info_text.h"

#include <string.h>

any_function session_function(const struct opencl *cl, const struct platform *platform, const char *name)
{
    /* OpenCL gives functions as `void *`, which ISO C does not convert; Windows does. */
    void *address = cl->call.clGetExtensionFunctionAddressForPlatform(platform->id, name);
    any_function function;
    memcpy(&function, &address, sizeof(function));
    return function;
}

static bool find_functions(struct session *s, char *why)
{
    const struct platform *platform = s->device->platform;
    s->share = session_function(s->cl, platform, s->api->create);
    s->acquire = (clEnqueueAcquireD3D11ObjectsKHR_fn)session_function(s->cl, platform, s->api->acquire);
    s->release = (clEnqueueReleaseD3D11ObjectsKHR_fn)session_function(s->cl, platform, s->api->release);
    if (s->share && s->acquire && s->release)
        return true;
    why_say(why, "clGetExtensionFunctionAddressForPlatform gives no %s",
            !s->share ? s->api->create : !s->acquire ? s->api->acquire : s->api->release);
    return false;
}

bool session_open(struct session *s, char *why)
{
    cl_int code = CL_SUCCESS;
    cl_device_id id = s->device->id;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)s->device->platform->id,
                                                s->api->context_property, (cl_context_properties)s->d3d_device, 0};
    if (!find_functions(s, why))
        return false;
    s->context = s->cl->call.clCreateContext(properties, 1, &id, NULL, NULL, &code);
    if (s->context)
        s->queue = s->cl->call.clCreateCommandQueue(s->context, id, 0, &code);
    if (!s->queue)
        why_cl(why, s->context ? "clCreateCommandQueue" : "clCreateContext", code);
    return s->queue != NULL;
}

void session_close(struct session *s)
{
    if (s->queue)
        s->cl->call.clReleaseCommandQueue(s->queue);
    if (s->context)
        s->cl->call.clReleaseContext(s->context);
}

cl_mem session_share(const struct session *s, IUnknown *resource, cl_uint plane, char *why)
{
    cl_int code = CL_SUCCESS;
    cl_mem image = s->api->share(s->share, s->context, resource, plane, &code);
    if (!image)
        why_cl(why, s->api->create, code);
    return image;
}

/* Whether the call worked. */
static bool did(char *why, const char *call, cl_int code)
{
    if (code != CL_SUCCESS)
        why_cl(why, call, code);
    return code == CL_SUCCESS;
}

bool session_exchange(const struct session *s, cl_mem image, const size_t region[3], void *to, const void *from, char *why)
{
    static const size_t origin[3] = {0, 0, 0};
    const struct cl_calls *call = &s->cl->call;
    if (!did(why, s->api->acquire, s->acquire(s->queue, 1, &image, 0, NULL, NULL)))
        return false;
    bool done = did(why, "clEnqueueReadImage",
                    call->clEnqueueReadImage(s->queue, image, CL_TRUE, origin, region, 0, 0, to, 0, NULL, NULL));
    if (done && from)
        done = did(why, "clEnqueueWriteImage",
                   call->clEnqueueWriteImage(s->queue, image, CL_TRUE, origin, region, 0, 0, from, 0, NULL, NULL));
    const cl_int code = s->release(s->queue, 1, &image, 0, NULL, NULL);
    return done && did(why, s->api->release, code) && did(why, "clFinish", call->clFinish(s->queue));
}
