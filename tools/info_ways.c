/* Which way objects of each kind go, and why: that is decided when they are made. Of a size at which it pays to share them. */
#include "info_session.h"
#include "info_text.h"

#include <stdio.h>

/* The object is made and dropped; no bytes move. */
static void try_kind(const struct session *s, const struct kind *kind, any_function create, IUnknown *resource,
                     char *way)
{
    cl_int code = CL_SUCCESS;
    cl_mem made = kind->share(create, s->context, resource, &code);
    const char *told = made ? opencl_last_way(s->cl) : NULL;
    if (made)
        s->cl->call.clReleaseMemObject(made);
    if (told)
        snprintf(way, WHY_SIZE, "%s", told);
    else if (!made)
        why_cl(way, kind->create, code);
}

static void try_kinds(const struct info *info, const struct session *s, struct sharing *sharing)
{
    for (unsigned k = 0; k < KINDS_MAX && s->api->kinds[k].name; k++) {
        const struct kind *kind = &s->api->kinds[k];
        const any_function create = session_function(s->cl, s->device->platform, kind->create);
        if (!create || !step(sharing->ways[k], "creating an object from a %s %s with OpenCL device %u", s->api->name,
                             kind->name, (unsigned)(s->device - info->opencl.devices)))
            continue;
        IUnknown *resource = kind->make(s->d3d_device);
        if (!resource) {
            why_say(sharing->ways[k], "none: %s cannot create such resources here", s->api->name);
            continue;
        }
        try_kind(s, kind, create, resource, sharing->ways[k]);
        IUnknown_Release(resource);
    }
}

static void try_device(const struct info *info, struct device *device, unsigned api)
{
    struct sharing *sharing = &device->sharing[api];
    char why[WHY_SIZE];
    if (!sharing->works)
        return;
    struct session session = {&info->opencl, apis[api], device, sharing->adapter->d3d[api].device, NULL, NULL,
                              NULL,          NULL,      NULL};
    if (session_open(&session, why))
        try_kinds(info, &session, sharing);
    session_close(&session);
}

void ways_try(struct info *info)
{
    for (unsigned d = 0; d < info->opencl.device_count; d++)
        for (unsigned api = 0; api < API_COUNT; api++)
            try_device(info, &info->opencl.devices[d], api);
}
