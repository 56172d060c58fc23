#include "shared.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

bool shared_is_buffer(const struct shared *s)
{
    return !s->desc.height;
}

bool shared_join(struct shared *s, const struct rig *rig, cl_context context, cl_command_queue queue, void *resource,
                 const struct rig_desc *desc, UINT subresource, cl_mem_flags flags)
{
    UINT width, height, depth;
    cl_int status = CL_SUCCESS;
    rig_level(desc, subresource, &width, &height, &depth);
    *s = (struct shared){.rig = rig, .context = context, .queue = queue, .desc = *desc, .subresource = subresource};
    s->extent[0] = width;
    s->extent[1] = height;
    s->extent[2] = depth;
    s->row = (size_t)width * (desc->height ? rig_texel_bytes(desc->format) : 1);
    s->bytes = rig_bytes(desc, subresource);
    if (!desc->height)
        s->memory = rig->create_buffer(context, flags, resource, &status);
    else if (desc->depth)
        s->memory = rig->create_3d(context, flags, resource, subresource, &status);
    else
        s->memory = rig->create_2d(context, flags, resource, subresource, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !CHECK(s->memory != NULL))
        return false;
    IUnknown_AddRef((IUnknown *)resource);
    s->resource = resource;
    return true;
}

bool shared_open(struct shared *s, const struct rig *rig, const struct rig_desc *desc, UINT subresource,
                 cl_mem_flags flags)
{
    HRESULT result;
    void *resource = rig_make(rig, rig->device, desc, &result);
    if (!CHECK_INT(result, S_OK) || !CHECK(resource != NULL))
        return false;
    const bool joined = shared_join(s, rig, rig->context, rig->queue, resource, desc, subresource, flags);
    rig_release(resource);
    return joined;
}

void shared_close(struct shared *s)
{
    if (s->memory)
        CHECK_INT(clReleaseMemObject(s->memory), CL_SUCCESS);
    rig_release(s->resource);
    s->memory = NULL;
    s->resource = NULL;
}

void *shared_pattern(const struct shared *s, unsigned seed)
{
    void *data = malloc(s->bytes);
    if (shared_is_buffer(s))
        rig_pattern(data, s->bytes, seed);
    else
        rig_pattern_for(s->desc.format, data, s->bytes, seed);
    return data;
}

/* ---- moving ---- */

void shared_acquire(struct shared *s)
{
    CHECK_INT(s->rig->acquire(s->queue, 1, &s->memory, 0, NULL, NULL), CL_SUCCESS);
}

void shared_release(struct shared *s)
{
    CHECK_INT(s->rig->release(s->queue, 1, &s->memory, 0, NULL, NULL), CL_SUCCESS);
}

static void enqueue_all(rig_enqueue enqueue, struct shared *s, cl_uint count)
{
    cl_mem *list = calloc(count, sizeof(*list));
    for (cl_uint i = 0; i < count; i++)
        list[i] = s[i].memory;
    CHECK_INT(enqueue(s->queue, count, list, 0, NULL, NULL), CL_SUCCESS);
    free(list);
}

void shared_acquire_all(struct shared *s, cl_uint count)
{
    enqueue_all(s->rig->acquire, s, count);
}

void shared_release_all(struct shared *s, cl_uint count)
{
    enqueue_all(s->rig->release, s, count);
}

void shared_cl_write(struct shared *s, const void *data)
{
    static const size_t origin[3] = {0, 0, 0};
    const cl_int status =
        shared_is_buffer(s)
            ? clEnqueueWriteBuffer(s->queue, s->memory, CL_TRUE, 0, s->bytes, data, 0, NULL, NULL)
            : clEnqueueWriteImage(s->queue, s->memory, CL_TRUE, origin, s->extent, 0, 0, data, 0, NULL, NULL);
    CHECK_INT(status, CL_SUCCESS);
}

void shared_cl_read(struct shared *s, void *data)
{
    static const size_t origin[3] = {0, 0, 0};
    const cl_int status =
        shared_is_buffer(s)
            ? clEnqueueReadBuffer(s->queue, s->memory, CL_TRUE, 0, s->bytes, data, 0, NULL, NULL)
            : clEnqueueReadImage(s->queue, s->memory, CL_TRUE, origin, s->extent, 0, 0, data, 0, NULL, NULL);
    CHECK_INT(status, CL_SUCCESS);
}

/* ---- contents ---- */

void shared_d3d_write(struct shared *s, unsigned seed)
{
    void *data = shared_pattern(s, seed);
    rig_write(s->rig, s->resource, &s->desc, s->subresource, data);
    free(data);
}

void shared_d3d_expect_bytes(struct shared *s, const void *expected)
{
    void *in_d3d = calloc(1, s->bytes);
    rig_read(s->rig, s->resource, &s->desc, s->subresource, in_d3d);
    CHECK_MEM(in_d3d, expected, s->bytes);
    free(in_d3d);
}

void shared_d3d_expect(struct shared *s, unsigned seed)
{
    void *expected = shared_pattern(s, seed);
    shared_d3d_expect_bytes(s, expected);
    free(expected);
}

void shared_cl_expect(struct shared *s, unsigned seed)
{
    void *expected = shared_pattern(s, seed), *in_opencl = calloc(1, s->bytes);
    shared_cl_read(s, in_opencl);
    CHECK_MEM(in_opencl, expected, s->bytes);
    free(in_opencl);
    free(expected);
}

/* Direct3D writes `from`, OpenCL finds it and writes `to`, which Direct3D finds. */
static void frame(struct shared *s, unsigned from, unsigned to)
{
    void *data = shared_pattern(s, to);
    shared_d3d_write(s, from);
    shared_acquire(s);
    shared_cl_expect(s, from);
    shared_cl_write(s, data);
    shared_release(s);
    shared_d3d_expect_bytes(s, data);
    free(data);
}

void shared_prepare(struct shared *s, unsigned seed)
{
    frame(s, seed + 1001, seed + 1000);
    shared_d3d_write(s, seed);
}

void shared_round_trip(struct shared *s, unsigned seed)
{
    frame(s, seed + 1001, seed + 1000);
    frame(s, seed, seed + 1);
    frame(s, seed + 2, seed + 3); /* once more, as a program does for every frame */
}

/* ---- cases ---- */

int failures(void)
{
    return atomic_load(&tap_case.failures);
}

void remark_failures(int before, const char *text, ...)
{
    char remark[512] = "# the failures above: ";
    const size_t length = strlen(remark);
    va_list arguments;
    if (failures() == before)
        return;
    va_start(arguments, text);
    vsnprintf(remark + length, sizeof(remark) - length, text, arguments);
    va_end(arguments);
    tap_line(remark);
}

void with_rig(const struct rig_api *api, unsigned flags, void (*test)(const struct rig *))
{
    struct rig rig;
    if (!rig_open(&rig, api, flags))
        return;
    test(&rig);
    rig_close(&rig);
}

/* Of Direct3D 11 and 10; without a context until there are any. */
static struct rig common_rigs[2];

static void close_common_rigs(void)
{
    for (int i = 0; i < 2; i++)
        if (common_rigs[i].context)
            rig_close(&common_rigs[i]);
}

void with_common_rig(const struct rig_api *api, void (*test)(const struct rig *))
{
    static bool closes;
    struct rig *rig = &common_rigs[api->version == 10];
    if (!closes)
        closes = atexit(close_common_rigs) == 0;
    if (rig->context || rig_open(rig, api, 0))
        test(rig);
}

struct rig_desc format_desc(const struct format *format, bool deep)
{
    struct rig_desc desc = {.format = format->dxgi, .width = 13, .height = 7, .bind = D3D11_BIND_SHADER_RESOURCE};
    if (deep) {
        desc.height = 5;
        desc.depth = 3;
    }
    return desc;
}

void each_format(const struct rig *rig, bool deep, void (*test)(struct shared *, const struct format *))
{
    const cl_mem_object_type type = deep ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D;
    for (unsigned i = 0; i < FORMAT_COUNT; i++) {
        const struct rig_desc desc = format_desc(&formats[i], deep);
        struct shared shared;
        const int before = failures();
        if (CHECK(rig_has_format(rig, formats[i].cl, type)) && shared_open(&shared, rig, &desc, 0, CL_MEM_READ_WRITE)) {
            test(&shared, &formats[i]);
            shared_close(&shared);
        }
        remark_failures(before, "%s, %s", formats[i].name, deep ? "3D" : "2D");
    }
}
