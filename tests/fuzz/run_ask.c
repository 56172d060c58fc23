/* What a program may ask: of the platform, its devices, the context and the objects. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static void must(bool right, const char *what)
{
    if (!right)
        fuzz_fail(what, "%s", what);
}

static void ask_extensions(const struct run *run)
{
    enum { ROOM = 16384 };
    const struct rig *rig = &run->world.rig;
    const char *name = run->world.api->extension;
    char *text = calloc(1, ROOM);
    if (TRIED(clGetPlatformInfo(rig->platform, CL_PLATFORM_EXTENSIONS, ROOM, text, NULL)))
        must(strstr(text, name), "a platform lacks the extension");
    if (TRIED(clGetDeviceInfo(rig->cl_device, CL_DEVICE_EXTENSIONS, ROOM, text, NULL)))
        must(strstr(text, name), "a device lacks the extension");
    free(text);
}

static void ask_object(const struct run *run, struct target *t)
{
    const struct rig_api *api = run->world.api;
    void *resource = NULL;
    cl_uint number = ~0u;
    if (!t->object)
        return;
    if (TRIED(clGetMemObjectInfo(t->object, CL_MEM_REFERENCE_COUNT, sizeof(number), &number, NULL)))
        must(number == t->refs, "an object has the wrong number of references");
    if (run->world.dx9)
        return;
    if (TRIED(clGetMemObjectInfo(t->object, api->mem_resource, sizeof(resource), &resource, NULL)))
        must(resource == world_first(t)->resource, "an object names another resource");
    if (t->format && TRIED(clGetImageInfo(t->object, api->image_subresource, sizeof(number), &number, NULL)))
        must(number == t->index, "an object names another subresource");
}

static void ask_context(const struct run *run)
{
    enum { ROOM = 512 };
    cl_context_properties properties[16] = {0};
    cl_image_format formats[ROOM];
    cl_uint count = 0;
    const cl_context c = run->world.rig.context;
    if (TRIED(clGetContextInfo(c, CL_CONTEXT_PROPERTIES, sizeof(properties), properties, NULL)))
        must(properties[0] == CL_CONTEXT_PLATFORM, "a context has other properties");
    if (TRIED(clGetSupportedImageFormats(c, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, ROOM, formats, &count)))
        must(count > 30, "formats are missing");
}

/* A device that does not tell what it is matches no adapter. */
static void ask_devices(const struct run *run, cl_uint set)
{
    const struct rig *rig = &run->world.rig;
    cl_device_id found[8];
    cl_uint count = 0;
    const cl_int code =
        TRY(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, set, 8, found, &count));
    if (!fault_excuses(STEP_DEVICES, code, CL_INVALID_VALUE)) {
        expect("clGetDeviceIDsFromD3D...", code, CL_SUCCESS, CL_SUCCESS);
        must(count > 0, "no device is found");
    }
}

void run_ask(struct run *run, const struct op *op)
{
    const struct rig_api *api = run->world.api;
    switch (op->data / 4 % 4) {
    case 0: ask_extensions(run); break;
    case 1: ask_context(run); break;
    case 2: ask_object(run, &run->world.targets[op->target % TARGETS]); break;
    default:
        if (!run->world.dx9)
            ask_devices(run, op->flags & FLAG_TWIN ? api->all_set : api->preferred_set);
        break;
    }
}
