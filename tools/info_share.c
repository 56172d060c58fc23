/* Does it work? A texture of each format goes from Direct3D to each OpenCL device and comes back with other texels. Resources of each kind
 * become objects, at a size at which it pays to share them: which way those go is decided when they are made. */
#include "info.h"

#include "settings.h"

#include <CL/cl_d3d11.h>
#include <CL/cl_dx9_media_sharing.h>
#include <stdio.h>
#include <string.h>

typedef void (*any_function)(void);

/* A context of one OpenCL device with one Direct3D device, and the functions to share with. */
struct session {
    const struct opencl *cl;
    const struct api *api;
    const struct device *device;
    void *d3d;

    cl_context context;
    cl_command_queue queue;
    any_function create;
    /* Those of the three extensions take the same arguments. */
    clEnqueueAcquireD3D11ObjectsKHR_fn acquire, release;
};

/* ---- functions of extensions: those of Direct3D 10 and 11 take the same arguments ---- */

static any_function find_function(const struct opencl *cl, const struct device *device, const char *name)
{
    /* OpenCL gives functions as `void *`, which ISO C does not convert; Windows does. */
    void *address = CALL(cl, clGetExtensionFunctionAddressForPlatform)(device->platform, name);
    any_function function;
    memcpy(&function, &address, sizeof(function));
    return function;
}

/* Whether the device is in the set that clGetDeviceIDsFrom...KHR returns for the adapter. */
static bool is_in_set(const struct opencl *cl, const struct device *device, const struct api *api,
                      const struct adapter *adapter, cl_uint set)
{
    cl_device_id list[DEVICES_MAX] = {NULL};
    cl_uint count = 0;
    cl_int code;
    const any_function function = find_function(cl, device, api->get_devices);
    if (!function)
        return false;
    if (api == &d3d9_info) {
        cl_dx9_media_adapter_type_khr type = api->source;
        void *d3d = adapter->devices[API_D3D9];
        code = ((clGetDeviceIDsFromDX9MediaAdapterKHR_fn)function)(device->platform, 1, &type, &d3d, set, DEVICES_MAX,
                                                                   list, &count);
    } else {
        code = ((clGetDeviceIDsFromD3D11KHR_fn)function)(device->platform, api->source, adapter->dxgi, set, DEVICES_MAX,
                                                         list, &count);
    }
    for (cl_uint i = 0; code == CL_SUCCESS && i < count && i < DEVICES_MAX; i++)
        if (list[i] == device->id)
            return true;
    return false;
}

/* An object from a resource; NULL if it fails. */
static cl_mem create_object(const struct session *s, const struct kind *kind, IUnknown *resource, char *why)
{
    cl_int code = CL_INVALID_OPERATION;
    cl_mem made = NULL;
    cl_dx9_surface_info_khr surface = {(IDirect3DSurface9 *)resource, NULL};
    const any_function function = kind->buffer ? find_function(s->cl, s->device, s->api->create_buffer) : s->create;
    if (function && s->api == &d3d9_info)
        made = ((clCreateFromDX9MediaSurfaceKHR_fn)function)(s->context, CL_MEM_READ_WRITE, s->api->source, &surface,
                                                             kind->index, &code);
    else if (function && kind->buffer)
        made =
            ((clCreateFromD3D11BufferKHR_fn)function)(s->context, CL_MEM_READ_WRITE, (ID3D11Buffer *)resource, &code);
    else if (function)
        made = ((clCreateFromD3D11Texture2DKHR_fn)function)(s->context, CL_MEM_READ_WRITE, (ID3D11Texture2D *)resource,
                                                            kind->index, &code);
    if (!made)
        why_cl(why, kind->buffer ? s->api->create_buffer : s->api->create, code);
    return made;
}

/* ---- a session ---- */

/* If it fails, `why` says why; close it all the same. */
static bool open_session(struct session *s, char *why)
{
    cl_int code = CL_SUCCESS;
    cl_device_id id = s->device->id;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)s->device->platform,
                                                s->api->context_property, (cl_context_properties)s->d3d, 0};
    s->create = find_function(s->cl, s->device, s->api->create);
    s->acquire = (clEnqueueAcquireD3D11ObjectsKHR_fn)find_function(s->cl, s->device, s->api->acquire);
    s->release = (clEnqueueReleaseD3D11ObjectsKHR_fn)find_function(s->cl, s->device, s->api->release);
    if (!s->create || !s->acquire || !s->release) {
        why_say(why, "the platform lacks functions of the extension");
        return false;
    }
    s->context = CALL(s->cl, clCreateContext)(properties, 1, &id, NULL, NULL, &code);
    if (s->context)
        s->queue = CALL(s->cl, clCreateCommandQueue)(s->context, id, 0, &code);
    if (!s->queue)
        why_cl(why, s->context ? "clCreateCommandQueue" : "clCreateContext", code);
    return s->queue != NULL;
}

static void close_session(struct session *s)
{
    if (s->queue)
        CALL(s->cl, clReleaseCommandQueue)(s->queue);
    if (s->context)
        CALL(s->cl, clReleaseContext)(s->context);
}

/* ---- a texture to OpenCL and back ---- */

struct trial {
    const struct session *session;
    const struct format_row *row;
    struct plane_place place; /* of the plane that is shared */
    IUnknown *texture;
    char *why;
    struct texels sent;
    uint8_t answer[TRIAL_BYTES_MAX]; /* the plane, as OpenCL writes it */
};

/* Bytes that are ordinary numbers in every format: no infinities, which a driver may change. */
static void fill(uint8_t *texels, unsigned seed)
{
    for (unsigned i = 0; i < TRIAL_BYTES_MAX; i++)
        texels[i] = (uint8_t)(0x10 + (i * 7 + i / 48 * 5 + seed) % 0x30);
}

static bool same(const struct trial *t, const uint8_t *one, const uint8_t *other, size_t size, const char *trouble)
{
    /* Whatever OpenCL reads from or writes to the X of B8G8R8X8 and X8R8G8B8, it means nothing. */
    const bool unused = strstr(t->row->name, "X8") != NULL;
    for (size_t i = 0; i < size; i++) {
        if (one[i] != other[i] && !(unused && i % 4 == 3)) {
            why_say(t->why, "%s", trouble);
            return false;
        }
    }
    return true;
}

static bool direct3d_has(const struct trial *t, const char *trouble)
{
    struct texels got = {.first = t->sent.first, .pitch = t->sent.pitch};
    const struct plane_place last = plane_place(t->sent.first + t->row->planes - 1, t->sent.pitch);
    return t->session->api->read(t->session->d3d, t->texture, &got, t->why) &&
           same(t, got.bytes, t->sent.bytes, (size_t)last.offset + (size_t)last.pitch * last.rows, trouble);
}

/* Whether the call worked. */
static bool did(const struct trial *t, const char *call, cl_int code)
{
    if (code != CL_SUCCESS)
        why_cl(t->why, call, code);
    return code == CL_SUCCESS;
}

/* What OpenCL does with the image while it is its own. */
static bool read_and_write(const struct trial *t, cl_mem image)
{
    static const size_t origin[3] = {0, 0, 0};
    const struct opencl *cl = t->session->cl;
    const size_t region[3] = {TRIAL_EXTENT >> t->row->shift_x, TRIAL_EXTENT >> t->row->shift_y, 1};
    const cl_command_queue queue = t->session->queue;
    uint8_t got[TRIAL_BYTES_MAX] = {0};
    return did(t, "clEnqueueReadImage",
               CALL(cl, clEnqueueReadImage)(queue, image, CL_TRUE, origin, region, 0, 0, got, 0, NULL, NULL)) &&
           same(t, got, t->sent.bytes + t->place.offset, (size_t)t->place.pitch * t->place.rows,
                "OpenCL reads texels that differ from those of Direct3D's texture") &&
           did(t, "clEnqueueWriteImage",
               CALL(cl, clEnqueueWriteImage)(queue, image, CL_TRUE, origin, region, 0, 0, t->answer, 0, NULL, NULL));
}

static bool exchange(const struct trial *t, cl_mem image)
{
    const struct session *s = t->session;
    if (!did(t, s->api->acquire, s->acquire(s->queue, 1, &image, 0, NULL, NULL)))
        return false;
    const bool good = read_and_write(t, image);
    const cl_int code = s->release(s->queue, 1, &image, 0, NULL, NULL);
    return good && did(t, s->api->release, code) && did(t, "clFinish", CALL(s->cl, clFinish)(s->queue));
}

static bool share_texture(struct trial *t, const struct kind *kind)
{
    if (!direct3d_has(t, "Direct3D itself does not keep the texels of such a texture"))
        return false;
    cl_mem image = create_object(t->session, kind, t->texture, t->why);
    if (!image)
        return false;
    const bool good = exchange(t, image);
    CALL(t->session->cl, clReleaseMemObject)(image);
    memcpy(t->sent.bytes + t->place.offset, t->answer, (size_t)t->place.pitch * t->place.rows);
    return good && direct3d_has(t, "Direct3D reads texels that differ from those that OpenCL has written");
}

/* Makes a texture of the row's format, shares the row's plane, reads that in OpenCL and writes other texels to it, and compares what both sides
 * see. */
static bool try_format(const struct session *session, const struct format_row *row, char *why)
{
    char reason[WHY_SIZE] = "";
    const unsigned row_bytes = (unsigned)(TRIAL_EXTENT >> row->shift_x) * row->texel_bytes;
    const struct kind kind = {.format = row->code, .extent = TRIAL_EXTENT, .levels = 1, .index = row->plane};
    struct trial t = {.session = session, .row = row, .why = why};
    t.sent.first = row - row->plane;
    t.sent.pitch = row_bytes << row->pitch_shift;
    t.place = plane_place(row, t.sent.pitch);
    fill(t.sent.bytes, 0);
    fill(t.answer, 0x17);
    t.texture = session->api->make(session->d3d, &kind, &t.sent, reason);
    if (!t.texture) {
        why_say(why, "%s cannot create such textures here (%.200s)", session->api->name, reason);
        return false;
    }
    const bool good = share_texture(&t, &kind);
    IUnknown_Release(t.texture);
    return good;
}

/* ---- all formats ---- */

enum { FORMATS_MAX = 512 };

static cl_image_format drivers_formats[FORMATS_MAX];
static cl_uint drivers_count;

/* What the driver has without us. A context without interop shows the formats of the OpenCL below: cld3d changes only contexts with
 * interop. */
static void ask_driver(const struct session *s)
{
    cl_int code = CL_SUCCESS;
    cl_device_id id = s->device->id;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)s->device->platform, 0};
    cl_context context = CALL(s->cl, clCreateContext)(properties, 1, &id, NULL, NULL, &code);
    drivers_count = 0;
    if (!context)
        return;
    CALL(s->cl, clGetSupportedImageFormats)
    (context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, FORMATS_MAX, drivers_formats, &drivers_count);
    CALL(s->cl, clReleaseContext)(context);
}

static bool driver_has(cl_image_format format)
{
    for (cl_uint i = 0; i < drivers_count && i < FORMATS_MAX; i++)
        if (cl_format_equal(drivers_formats[i], format))
            return true;
    return false;
}

/* After a crash nothing more is tried: other formats would only crash in the same way, one process each. */
static void try_formats(const struct session *s, struct fact *report, bool show)
{
    char why[WHY_SIZE], name[64];
    struct fact *formats = report_object(report, "formats");
    unsigned shared = 0;
    bool alive = true;
    ask_driver(s);
    for (unsigned i = 0; i < *s->api->format_count; i++) {
        const struct format_row *row = &s->api->formats[i];
        const char *found = "no: ";
        snprintf(name, sizeof(name), row->planes > 1 ? "%s plane %u" : "%s", row->name, row->plane);
        why_say(why, "not tried, after a crash");
        alive = alive && step(why, "sharing a %s texture of format %s with OpenCL device %u", s->api->name, name,
                              s->device->number);
        if (alive && try_format(s, row, why)) {
            found = driver_has(row->cl) ? "direct" : "emulated";
            shared++;
            why[0] = '\0';
        }
        report_text(formats, name, show ? name : NULL, "%s%s", found, why);
    }
    report_text(report, "format_count", "  formats", "%u of %u can be shared (--formats lists them)", shared,
                *s->api->format_count);
}

/* ---- kinds of resources ---- */

/* The object is made and dropped; no bytes move. */
static void try_kind(const struct session *s, const struct kind *kind, char *way)
{
    char why[WHY_SIZE];
    why_say(way, "none: %s cannot create such resources here", s->api->name);
    IUnknown *resource = s->api->make(s->d3d, kind, NULL, why);
    cl_mem made = resource ? create_object(s, kind, resource, way) : NULL;
    const char *told = made ? opencl_ask_cld3d(s->cl, "way") : NULL;
    if (made) {
        why_say(way, "%s", told ? told : "the driver's own");
        CALL(s->cl, clReleaseMemObject)(made);
    }
    if (resource)
        IUnknown_Release(resource);
}

static void try_kinds(const struct session *s, struct fact *ways)
{
    char way[WHY_SIZE], label[32];
    for (const struct kind *kind = s->api->kinds; kind->name; kind++) {
        if (step(way, "sharing a %s %s with OpenCL device %u", s->api->name, kind->name, s->device->number))
            try_kind(s, kind, way);
        snprintf(label, sizeof(label), "  %s", kind->name);
        report_text(ways, kind->name, label, "%s", way);
    }
}

/* ---- a device ---- */

/* Says whether the device belongs to each adapter, and gives the one that it belongs to, else any on which there is a Direct3D device. */
static const struct adapter *find_adapter(const struct info *info, const struct device *device, unsigned api,
                                          struct fact *report)
{
    const struct adapter *chosen = NULL;
    unsigned best = 0;
    for (unsigned a = 0; a < info->d3d.adapter_count; a++) {
        const struct adapter *adapter = &info->d3d.adapters[a];
        char why[WHY_SIZE] = "", label[48];
        unsigned rank = 1;
        if (!adapter->devices[api] ||
            !step(why, "querying OpenCL device %u for adapter %u (%s)", device->number, a, apis[api]->get_devices))
            continue;
        if (is_in_set(&info->opencl, device, apis[api], adapter, apis[api]->preferred)) {
            const char *reason = opencl_ask_cld3d(&info->opencl, "match");
            why_say(why, "preferred%s%s", reason ? ": " : "", reason ? reason : "");
            rank = 3;
        } else if (is_in_set(&info->opencl, device, apis[api], adapter, apis[api]->all)) {
            why_say(why, "possible");
            rank = 2;
        }
        snprintf(label, sizeof(label), "  For adapter %u", a);
        report_text(report, NULL, label, "%s", rank == 1 ? "no" : why);
        if (rank > best) {
            best = rank;
            chosen = adapter;
        }
    }
    return chosen;
}

/* Why an extension is on or off. */
static const char *state_of(const struct opencl *cl, const struct device *device, unsigned api)
{
    if (!device->lists[api] && !cl->cld3d.module)
        return "off: the driver lacks it, and cld3d is not active";
    if (!device->lists[api])
        return device->images ? "off: this cld3d does not provide it" : "off: the device has no image support";
    return !cl->cld3d.module || (device->own[api] && !setting_on(SETTING_FORCE)) ? "on, by the driver" : "on, by cld3d";
}

static bool try_texture(struct session *s, char *why)
{
    return step(why, "trying to share with %s and OpenCL device %u", s->api->name, s->device->number) &&
           open_session(s, why) && try_format(s, s->api->find_format(s->api->kinds[0].format, 0), why);
}

static void try_api(struct info *info, struct device *device, unsigned api, struct fact *report, bool show_formats,
                    struct fact *findings)
{
    struct fact *result = report_object(report, "result"), *adapters = report_list(report, "adapters");
    const struct adapter *adapter = device->lists[api] ? find_adapter(info, device, api, adapters) : NULL;
    struct session session = {&info->opencl, apis[api], device, adapter ? adapter->devices[api] : NULL, NULL, NULL,
                              NULL,          NULL,      NULL};
    char why[WHY_SIZE] = "not tried: there is no such Direct3D device", what[WHY_SIZE];
    const bool works = adapter && try_texture(&session, why);
    device->works = device->works || works;
    report_value(result, "works", works ? "true" : "false");
    report_text(result, "text", apis[api]->extension, "%s%s%s", state_of(&info->opencl, device, api),
                device->lists[api] ? "; " : "",
                works                ? "works: a texture was transferred to OpenCL and back"
                : device->lists[api] ? why
                                     : "");
    if (adapter && !works) {
        why_say(what, "OpenCL device %u does not share with %s, although it lists the extension", device->number,
                apis[api]->name);
        finding_add(findings, false, "sharing-fails", what, why,
                    "Set CLD3D_LOG=debug and look for the reason in cld3d's log.");
    }
    if (works)
        try_kinds(&session, report_object(report, "ways"));
    /* Direct3D 10 shares the formats of Direct3D 11 with it. */
    if (works && api != API_D3D10)
        try_formats(&session, report, show_formats);
    close_session(&session);
}

void sharing_try(struct info *info, bool show_formats, struct fact *findings)
{
    for (unsigned d = 0; d < info->opencl.device_count; d++) {
        struct device *device = &info->opencl.devices[d];
        struct fact *sharing = report_object(device->report, "sharing");
        for (unsigned api = 0; api < API_COUNT; api++)
            try_api(info, device, api, report_object(sharing, apis[api]->extension), show_formats, findings);
    }
}
