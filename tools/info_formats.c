/* Which formats can be shared: a texture of each goes to every device. The table of formats is the library's, what comes
 * out is seen here. */
#include "info_session.h"
#include "info_text.h"

#include "d3d/formats.h"

#include <stdlib.h>
#include <string.h>

enum { TEXEL_MAX = 16, FORMATS_MAX = 512 };

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
    if (cl->call.clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, FORMATS_MAX, formats->list,
                                            &formats->count) != CL_SUCCESS)
        formats->count = 0;
    if (formats->count > FORMATS_MAX)
        formats->count = FORMATS_MAX;
    cl->call.clReleaseContext(context);
}

static bool driver_has(const struct driver_formats *formats, cl_image_format format)
{
    for (cl_uint i = 0; i < formats->count; i++)
        if (formats->list[i].image_channel_order == format.image_channel_order &&
            formats->list[i].image_channel_data_type == format.image_channel_data_type)
            return true;
    return false;
}

/* ---- one format ---- */

/* The texels that go over: bytes that are ordinary numbers in every format, no infinities that a driver may change. */
static void fill(uint8_t *texels, size_t size)
{
    for (size_t i = 0; i < size; i++)
        texels[i] = (uint8_t)(0x10 + i * 7 % 0x30);
}

/* The byte that B8G8R8X8 does not use may come as anything. */
static void ignore_unused(const struct format_row *row, uint8_t *texels, size_t size)
{
    if (!strstr(row->name, "R8X8"))
        return;
    for (size_t i = 3; i < size; i += 4)
        texels[i] = 0;
}

static bool try_texture(const struct session *session, const struct format_row *row, ID3D11Texture2D *texture,
                        uint8_t *sent, char *why)
{
    const size_t extent = TRIAL_EXTENT >> row->shift, size = extent * extent * row->texel_bytes;
    const size_t region[3] = {extent, extent, 1};
    uint8_t got[TRIAL_EXTENT * TRIAL_EXTENT * TEXEL_MAX] = {0};
    cl_mem image = session_share(session, (IUnknown *)texture, row->plane, why);
    if (!image)
        return false;
    bool good = session_exchange(session, image, region, got, NULL, why);
    session->cl->call.clReleaseMemObject(image);
    ignore_unused(row, got, size);
    ignore_unused(row, sent, size);
    if (good && memcmp(got, sent, size) != 0) {
        why_say(why, "OpenCL reads other texels than the texture has");
        good = false;
    }
    return good;
}

static bool try_format(const struct session *session, const struct format_row *row, char *why)
{
    uint8_t sent[TRIAL_EXTENT * TRIAL_EXTENT * TEXEL_MAX];
    const struct format_row *first = format_from_dxgi(row->dxgi, 0);
    const unsigned pitch = TRIAL_EXTENT * first->texel_bytes;
    fill(sent, sizeof(sent));
    ID3D11Texture2D *texture = d3d11_make_texture(session->d3d_device, row->dxgi, sent, pitch, why);
    if (!texture)
        return false;
    /* The second plane lies after the rows of the first. */
    uint8_t *plane = sent + (row->plane ? (size_t)TRIAL_EXTENT * pitch : 0);
    const bool good = try_texture(session, row, texture, plane, why);
    ID3D11Texture2D_Release(texture);
    return good;
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

static void try_formats(struct info *info, struct device *device, const struct session *session)
{
    static struct driver_formats formats;
    device->formats = calloc(dxgi_format_count, sizeof(*device->formats));
    if (!device->formats)
        return;
    ask_driver(&info->opencl, device, &formats);
    for (unsigned i = 0; i < dxgi_format_count; i++) {
        const struct format_row *row = &dxgi_formats[i];
        struct format_result *result = &device->formats[i];
        char why[WHY_SIZE] = "";
        crash_note("sharing a texture of DXGI_FORMAT_%s with %s", row->name, device->name);
        if (try_format(session, row, why)) {
            result->way = driver_has(&formats, row->cl) ? WAY_DIRECT : WAY_WIDER;
        } else {
            result->reason = note_reason(info, why);
            result->way = WAY_REFUSED;
        }
    }
}

void formats_try(struct info *info)
{
    for (unsigned i = 0; i < info->opencl.device_count; i++) {
        struct device *device = &info->opencl.devices[i];
        const struct adapter *adapter = device->formats_adapter;
        if (!adapter)
            continue;
        struct session session = {&info->opencl, &d3d11_info, device, adapter->d3d[API_D3D11].device,
                                  NULL, NULL, NULL, NULL, NULL};
        if (session_open(&session, device->formats_why))
            try_formats(info, device, &session);
        session_close(&session);
    }
}
