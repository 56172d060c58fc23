/* The properties of a new context: those that request interop with Direct3D. */
#include "share/context.h"

#include "log.h"

#include <CL/cl_gl.h>

static const struct d3d_api *api_of_property(cl_context_properties name)
{
    for (unsigned i = 0; i < d3d_api_count; i++)
        if (d3d_apis[i]->context_device == name)
            return d3d_apis[i];
    return NULL;
}

/* Whether the property requests interop with another graphics API. A display or device context alone does not request
 * OpenGL. */
static bool other_graphics(cl_context_properties name)
{
    enum {
        CL_CONTEXT_VA_API_DISPLAY_INTEL = 0x4097
    }; /* cl_va_api_media_sharing_intel.h, which needs VA-API's headers */
    return name == CL_GL_CONTEXT_KHR || name == CL_CGL_SHAREGROUP_KHR || name == CL_CONTEXT_VA_API_DISPLAY_INTEL;
}

bool context_properties_ours(const cl_context_properties *properties)
{
    for (const cl_context_properties *p = properties; p && *p; p += 2)
        if (*p == CL_CONTEXT_INTEROP_USER_SYNC || api_of_property(*p))
            return true;
    return false;
}

/* Whether the context shares with an API that excludes other graphics APIs. */
static bool exclusive(const struct sharing_context *context)
{
    for (unsigned i = 0; i < context->interop_count; i++)
        if (context->interop[i].api->exclusive)
            return true;
    return false;
}

static cl_int add_interop(const char *call, struct sharing_context *context, const struct d3d_api *api, void *object)
{
    if (!object)
        return CL_SUCCESS;
    void *device = d3d_is_object(object) ? api->ops->open_device(object) : NULL;
    if (!device)
        return log_refuse(call, api->invalid_device, "%p is not a %s device", object, api->name);
    /* Media adapters may be combined; Direct3D 10 or 11 must be alone. */
    const struct d3d_api *before = context->interop_count ? context->interop[0].api : api;
    if (before->family != api->family) {
        com_release(device);
        return log_refuse(call, CL_INVALID_OPERATION,
                          "interop with both %s and %s was requested; create a context for each", before->name,
                          api->name);
    }
    context->interop[context->interop_count].api = api;
    context->interop[context->interop_count].identity = com_identity(device);
    context->interop[context->interop_count++].device = device;
    context->base.interop = true;
    context->base.video = context->base.video || api->family == FAMILY_DX9;
    return CL_SUCCESS;
}

static cl_int read_property(const char *call, struct sharing_context *context, const cl_context_properties *p)
{
    for (const cl_context_properties *other = p + 2; *other; other += 2)
        if (*other == *p)
            return log_refuse(call, CL_INVALID_PROPERTY, "property 0x%lx is given twice", (unsigned long)*p);
    if (*p == CL_CONTEXT_INTEROP_USER_SYNC) {
        if (p[1] != CL_TRUE && p[1] != CL_FALSE)
            return log_refuse(call, CL_INVALID_PROPERTY,
                              "CL_CONTEXT_INTEROP_USER_SYNC is %ld; it can be CL_TRUE or CL_FALSE", (long)p[1]);
        context->user_sync = p[1] == CL_TRUE;
        return CL_SUCCESS;
    }
    const struct d3d_api *api = api_of_property(*p);
    return api ? add_interop(call, context, api, (void *)p[1]) : CL_SUCCESS;
}

static bool has_other_graphics(const cl_context_properties *properties)
{
    for (const cl_context_properties *p = properties; *p; p += 2)
        if (other_graphics(*p) && p[1])
            return true;
    return false;
}

cl_int context_properties_read(const char *call, struct sharing_context *context, cl_context_properties *driver)
{
    const bool graphics = has_other_graphics(context->properties);
    size_t kept = 0;
    for (const cl_context_properties *p = context->properties; *p; p += 2) {
        const cl_int status = read_property(call, context, p);
        if (status != CL_SUCCESS)
            return status;
        /* The driver handles the synchronisation of OpenGL's objects. */
        if ((*p == CL_CONTEXT_INTEROP_USER_SYNC && !graphics) || api_of_property(*p))
            continue;
        driver[kept++] = p[0];
        driver[kept++] = p[1];
    }
    driver[kept] = 0;
    if (graphics && exclusive(context))
        return log_refuse(call, CL_INVALID_OPERATION,
                          "interop with both %s and another graphics API was requested; create a context for each",
                          context->interop[0].api->name);
    return CL_SUCCESS;
}
