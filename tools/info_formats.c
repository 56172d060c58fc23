/* Which formats can be shared: a texture of each goes to every device and back. The lists of formats are the library's, the
 * results are not. */
#include "info_session.h"
#include "info_text.h"

#include <stdlib.h>
#include <string.h>

enum { FORMATS_MAX = 512 };

/* ---- what the driver has without us ---- */

struct driver_formats {
    cl_uint count;
    cl_image_format list[FORMATS_MAX];
};

/* A context without interop shows the formats of the OpenCL below: cld3d changes only contexts with interop. */
static void ask_driver(const struct opencl *cl, const struct device *device, struct driver_formats *formats)
{
    cl_int code = CL_SUCCESS;
    cl_device_id id = device->id;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform->id, 0};
    formats->count = 0;
    cl_context context = cl->call.clCreateContext(properties, 1, &id, NULL, NULL, &code);
    if (!context)
        return;
    if (cl->call.clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, FORMATS_MAX,
                                            formats->list, &formats->count) != CL_SUCCESS)
        formats->count = 0;
    if (formats->count > FORMATS_MAX)
        formats->count = FORMATS_MAX;
    cl->call.clReleaseContext(context);
}

static bool equal(cl_image_format one, cl_image_format other)
{
    return one.image_channel_order == other.image_channel_order &&
           one.image_channel_data_type == other.image_channel_data_type;
}

static bool driver_has(const struct driver_formats *formats, cl_image_format format)
{
    for (cl_uint i = 0; i < formats->count; i++)
        if (equal(formats->list[i], format))
            return true;
    return false;
}

/* ---- all formats of a device ---- */

static uint8_t note_reason(struct info *info, const char *why)
{
    unsigned i = 0;
    while (i < info->reason_count && strcmp(info->reasons[i], why) != 0)
        i++;
    if (i == REASONS_MAX)
        return REASONS_MAX - 1; /* the last one stands for what has no room */
    if (i == info->reason_count)
        why_say(info->reasons[info->reason_count++], "%s", why);
    return (uint8_t)i;
}

static void try_formats(struct info *info, const struct session *session, struct format_result *results)
{
    static struct driver_formats driver;
    ask_driver(&info->opencl, session->device, &driver);
    for (unsigned i = 0; i < *session->api->format_count; i++) {
        const struct format_row *row = &session->api->formats[i];
        char why[WHY_SIZE] = "";
        cl_image_format stored = {0, 0};
        /* After a crash nothing more is tried: other formats would only crash in the same way, one process each. */
        if (!step(why, "sharing a %s texture of format %s (plane %u) with OpenCL device %u", session->api->name,
                  row->name, row->plane, (unsigned)(session->device - info->opencl.devices))) {
            results[i].reason = note_reason(info, why);
            results[i].way = WAY_REFUSED;
            return;
        }
        if (!session_try(session, row, &stored, why)) {
            results[i].reason = note_reason(info, why);
            results[i].way = WAY_REFUSED;
        } else if (stored.image_channel_order) {
            results[i].way = equal(stored, row->cl) ? WAY_DIRECT : WAY_WIDER;
            results[i].stored = stored;
        } else {
            results[i].way = driver_has(&driver, row->cl) ? WAY_DIRECT : WAY_WIDER;
        }
    }
}

static void try_api(struct info *info, struct device *device, enum api_index api)
{
    struct sharing *sharing = &device->sharing[api];
    char why[WHY_SIZE]; /* the same as the trial's, if there is no context */
    if (!sharing->adapter)
        return;
    struct session session = {&info->opencl, apis[api], device, sharing->adapter->d3d[api].device, NULL, NULL,
                              NULL,          NULL,      NULL};
    if (session_open(&session, why))
        sharing->formats = calloc(*apis[api]->format_count, sizeof(*sharing->formats));
    if (sharing->formats)
        try_formats(info, &session, sharing->formats);
    session_close(&session);
}

void formats_try(struct info *info)
{
    /* Direct3D 10 shares the formats of Direct3D 11 with it. */
    for (unsigned i = 0; i < info->opencl.device_count; i++) {
        try_api(info, &info->opencl.devices[i], API_D3D11);
        try_api(info, &info->opencl.devices[i], API_D3D9);
    }
}
