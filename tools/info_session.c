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
    why_say(why, "clGetExtensionFunctionAddressForPlatform returns no %s",
            !s->share     ? s->api->create
            : !s->acquire ? s->api->acquire
                          : s->api->release);
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
    if (s->queue)
        return true;
    const char *call = s->context ? "clCreateCommandQueue" : "clCreateContext";
    if (code == CL_SUCCESS)
        why_say(why, "%s returns NULL, but no error", call);
    else
        why_cl(why, call, code);
    return false;
}

void session_close(struct session *s)
{
    if (s->queue)
        s->cl->call.clReleaseCommandQueue(s->queue);
    if (s->context)
        s->cl->call.clReleaseContext(s->context);
}

/* ---- a texture to OpenCL and back ---- */

struct trial {
    const struct session *session;
    const struct format_row *row;
    struct texture_shape shape;
    struct plane_place place; /* of the plane that is shared */
    IUnknown *texture;
    char *why;
    uint8_t sent[TRIAL_BYTES_MAX];   /* the whole texture */
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

static size_t whole_size(const struct trial *t)
{
    const struct plane_place last = plane_place(&t->shape, t->row->planes - 1, t->shape.pitch);
    return (size_t)last.offset + (size_t)last.pitch * last.rows;
}

static bool direct3d_has(const struct trial *t, const uint8_t *expected, const char *trouble)
{
    uint8_t got[TRIAL_BYTES_MAX] = {0};
    return t->session->api->read_texture(t->session->d3d_device, &t->shape, t->texture, got, t->why) &&
           same(t, got, expected, whole_size(t), trouble);
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
    const struct cl_calls *call = &t->session->cl->call;
    const size_t extent = TRIAL_EXTENT >> t->row->shift_x, region[3] = {extent, TRIAL_EXTENT >> t->row->shift_y, 1};
    const cl_command_queue queue = t->session->queue;
    uint8_t got[TRIAL_BYTES_MAX] = {0};
    return did(t, "clEnqueueReadImage",
               call->clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, got, 0, NULL, NULL)) &&
           same(t, got, t->sent + t->place.offset, (size_t)t->place.pitch * t->place.rows,
                "OpenCL reads texels that differ from those of Direct3D's texture") &&
           did(t, "clEnqueueWriteImage",
               call->clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, t->answer, 0, NULL, NULL));
}

static bool exchange(const struct trial *t, cl_mem image)
{
    const struct session *s = t->session;
    if (!did(t, s->api->acquire, s->acquire(s->queue, 1, &image, 0, NULL, NULL)))
        return false;
    const bool good = read_and_write(t, image);
    const cl_int code = s->release(s->queue, 1, &image, 0, NULL, NULL);
    return good && did(t, s->api->release, code) && did(t, "clFinish", s->cl->call.clFinish(s->queue));
}

/* cld3d hands on the images of the OpenCL below as they are, so that this one can be asked what it has. */
static void see_carrier(const struct trial *t, cl_mem image, cl_image_format *stored)
{
    const cl_api_clGetImageInfo ask = (cl_api_clGetImageInfo)library_function(&t->session->cl->below, "clGetImageInfo");
    cl_image_format format;
    if (ask && ask(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL) == CL_SUCCESS)
        *stored = format;
}

static bool share_texture(struct trial *t, cl_image_format *stored)
{
    const struct session *s = t->session;
    cl_int code = CL_SUCCESS;
    if (!direct3d_has(t, t->sent, "Direct3D itself does not keep the texels of such a texture"))
        return false;
    cl_mem image = s->api->share(s->share, s->context, t->texture, t->row->plane, &code);
    if (!image && code == CL_SUCCESS)
        why_say(t->why, "%s returns NULL, but no error", s->api->create);
    if (!image)
        return did(t, s->api->create, code) && false;
    see_carrier(t, image, stored);
    const bool good = exchange(t, image);
    s->cl->call.clReleaseMemObject(image);
    memcpy(t->sent + t->place.offset, t->answer, (size_t)t->place.pitch * t->place.rows);
    return good && direct3d_has(t, t->sent, "Direct3D reads texels that differ from those that OpenCL has written");
}

bool session_try(const struct session *session, const struct format_row *row, cl_image_format *stored, char *why)
{
    struct trial t = {.session = session, .row = row, .why = why};
    char reason[WHY_SIZE] = "";
    const unsigned row_bytes = (unsigned)(TRIAL_EXTENT >> row->shift_x) * row->texel_bytes;
    t.shape = (struct texture_shape){row - row->plane, row_bytes << row->pitch_shift};
    t.place = plane_place(&t.shape, row->plane, t.shape.pitch);
    fill(t.sent, 0);
    fill(t.answer, 0x17);
    t.texture = session->api->make_texture(session->d3d_device, &t.shape, t.sent, reason);
    if (!t.texture) {
        why_say(why, "%s cannot create such textures here (%.200s)", session->api->name, reason);
        return false;
    }
    const bool good = share_texture(&t, stored);
    IUnknown_Release(t.texture);
    return good;
}
