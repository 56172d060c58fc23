#include "world.h"

#include <stdlib.h>
#include <string.h>

/* ---- surfaces ---- */

/* Of Direct3D 10 and 11: what is emulated in a wider format by one driver or the other, levels and slices, a buffer, a
 * volume, and the planes of NV12. */
static const struct {
    struct rig_desc desc;
    UINT index, subresource;
    unsigned plane;
} shapes[TARGETS] = {
    {{.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 13, .height = 7}, 0, 0, 0},
    {{.format = DXGI_FORMAT_R32G32_FLOAT, .width = 6, .height = 5}, 0, 0, 0},
    {{.format = DXGI_FORMAT_R8G8_UINT, .width = 9, .height = 6, .levels = 2, .slices = 2}, 0, 0, 0},
    {{.format = DXGI_FORMAT_B8G8R8A8_UNORM, .width = 9, .height = 6, .levels = 2, .slices = 2}, 3, 3, 0},
    {{.width = 640}, 0, 0, 0},
    {{.format = DXGI_FORMAT_R16G16_SINT, .width = 5, .height = 4, .depth = 3}, 0, 0, 0},
    {{.format = DXGI_FORMAT_NV12, .width = 8, .height = 6, .slices = 2}, 2, 1, 0},
    {{.format = DXGI_FORMAT_NV12, .width = 8, .height = 6, .slices = 2}, 3, 1, 1},
};

/* Of Direct3D 9, whose objects are 2D images. */
static const struct {
    D3DFORMAT format;
    enum dx9_kind kind;
    UINT width, height;
    unsigned plane;
} shapes9[TARGETS] = {
    {D3DFMT_A8R8G8B8, DX9_PLAIN, 13, 7, 0},
    {D3DFMT_G32R32F, DX9_TARGET, 6, 5, 0},
    {(D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'), DX9_PLAIN, 8, 6, 0},
    {(D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'), DX9_PLAIN, 8, 6, 1},
    {(D3DFORMAT)MAKEFOURCC('Y', 'V', '1', '2'), DX9_PLAIN, 8, 4, 0},
    {(D3DFORMAT)MAKEFOURCC('Y', 'V', '1', '2'), DX9_PLAIN, 8, 4, 1},
    {(D3DFORMAT)MAKEFOURCC('Y', 'V', '1', '2'), DX9_PLAIN, 8, 4, 2},
    {D3DFMT_A8L8, DX9_DYNAMIC_LEVEL, 5, 4, 0},
};

struct target *world_first(struct target *t)
{
    return t - t->plane;
}

size_t world_bytes(const struct target *first)
{
    size_t size = 0;
    for (unsigned p = 0; p < first->planes; p++)
        size += (size_t)first[p].extent[0] * first[p].extent[1] * first[p].extent[2] * first[p].texel;
    return size;
}

/* Direct3D copies no single plane and updates none: by a staging texture, as video programs do. */
static void write_planar(struct world *w, struct target *t, const unsigned char *bytes)
{
    const struct rig_desc desc = {
        .format = t->desc.format, .width = t->desc.width, .height = t->desc.height, .usage = RIG_STAGING};
    void *staging = rig_make(&w->rig, w->rig.device, &desc, NULL);
    if (!CHECK(staging != NULL))
        return;
    rig_write(&w->rig, staging, &desc, 0, bytes);
    if (w->rig.api->version == 10) {
        ID3D10Device_CopySubresourceRegion((ID3D10Device *)w->rig.device, (ID3D10Resource *)t->resource, t->subresource,
                                           0, 0, 0, (ID3D10Resource *)staging, 0, NULL);
    } else {
        ID3D11DeviceContext *context = NULL;
        ID3D11Device_GetImmediateContext((ID3D11Device *)w->rig.device, &context);
        ID3D11DeviceContext_CopySubresourceRegion(context, (ID3D11Resource *)t->resource, t->subresource, 0, 0, 0,
                                                  (ID3D11Resource *)staging, 0, NULL);
        ID3D11DeviceContext_Release(context);
    }
    rig_release(staging);
}

void world_d3d_write(struct world *w, struct target *first, const unsigned char *bytes)
{
    if (w->dx9)
        CHECK(dx9_write(&first->surface, bytes));
    else if (first->planes > 1)
        write_planar(w, first, bytes);
    else
        rig_write(&w->rig, first->resource, &first->desc, first->subresource, bytes);
}

void world_d3d_read(struct world *w, struct target *first, unsigned char *bytes)
{
    if (w->dx9)
        CHECK(dx9_read(&first->surface, bytes));
    else
        rig_read(&w->rig, first->resource, &first->desc, first->subresource, bytes);
}

/* ---- targets ---- */

static bool open_target(struct world *w, struct target *t, unsigned number)
{
    const bool planar = shapes[number].desc.format == DXGI_FORMAT_NV12;
    t->desc = shapes[number].desc;
    t->index = shapes[number].index;
    t->subresource = shapes[number].subresource;
    t->plane = shapes[number].plane;
    t->planes = planar ? 2 : 1;
    if (t->desc.height)
        t->format = format_named(!planar ? t->desc.format : t->plane ? DXGI_FORMAT_R8G8_UNORM : DXGI_FORMAT_R8_UNORM);
    t->texel = t->format ? format_texel(t->format) : 1;
    if (planar) {
        t->extent[0] = t->desc.width >> t->plane;
        t->extent[1] = t->desc.height >> t->plane;
        t->extent[2] = 1;
    } else {
        rig_level(&t->desc, t->subresource, &t->extent[0], &t->extent[1], &t->extent[2]);
    }
    if (t->plane == 0)
        t->resource = rig_make(&w->rig, w->rig.device, &t->desc, NULL);
    return CHECK(world_first(t)->resource != NULL);
}

static bool open_target9(struct world *w, struct target *t, unsigned number)
{
    const struct dx9_format *format = dx9_format_of(shapes9[number].format);
    t->plane = shapes9[number].plane;
    t->planes = format->plane_count;
    t->index = t->plane;
    t->format = &format->planes[t->plane];
    t->texel = format_texel(t->format);
    if (t->plane == 0 && !CHECK(dx9_make(&t->surface, &w->base->dx9_rig, format, shapes9[number].kind,
                                         shapes9[number].width, shapes9[number].height)))
        return false;
    if (t->plane == 0)
        t->resource = t->surface.surface;
    t->extent[0] = dx9_plane_width(&world_first(t)->surface, t->plane);
    t->extent[1] = dx9_plane_height(&world_first(t)->surface, t->plane);
    t->extent[2] = 1;
    return true;
}

bool world_move(struct world *w, const struct target *t, cl_mem object, void *bytes, bool in)
{
    static const size_t none[3];
    const size_t size[3] = {t->extent[0], t->extent[1], t->extent[2]};
    cl_command_queue queue = w->rig.queue;
    cl_int status;
    if (t->format)
        status = in ? clEnqueueWriteImage(queue, object, CL_TRUE, none, size, 0, 0, bytes, 0, NULL, NULL)
                    : clEnqueueReadImage(queue, object, CL_TRUE, none, size, 0, 0, bytes, 0, NULL, NULL);
    else
        status = in ? clEnqueueWriteBuffer(queue, object, CL_TRUE, 0, size[0], bytes, 0, NULL, NULL)
                    : clEnqueueReadBuffer(queue, object, CL_TRUE, 0, size[0], bytes, 0, NULL, NULL);
    return CHECK_INT(status, CL_SUCCESS);
}

/* ---- objects that are Direct3D's memory itself ---- */

/* Whether Direct3D sees what OpenCL writes before any release: tried once for each kind of target. */
static bool shows_at_once(struct world *w, struct target *t)
{
    struct target *first = world_first(t);
    const size_t size = world_bytes(first);
    unsigned char *before = calloc(1, size), *after = calloc(1, size), *bytes = malloc(size);
    cl_int status = CL_SUCCESS;
    memset(bytes, 42, size);
    world_d3d_write(w, first, before);
    cl_mem object = world_create(w, t, 0, &status);
    if (CHECK_INT(status, CL_SUCCESS) && CHECK_INT(w->acquire(w->rig.queue, 1, &object, 0, NULL, NULL), CL_SUCCESS)) {
        world_move(w, t, object, bytes, true);
        world_d3d_read(w, first, after);
        CHECK_INT(w->release(w->rig.queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
    }
    if (object)
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    const bool shows = memcmp(before, after, size) != 0;
    free(before);
    free(after);
    free(bytes);
    return shows;
}

static bool is_direct(struct world *w, struct target *t)
{
    static enum { UNKNOWN, NO, YES } known[FAMILIES][TARGETS];
    const char *transport = getenv("CLD3D_TEST_TRANSPORT");
    const size_t number = (size_t)(t - w->targets);
    if (!transport || !*transport)
        return false;
    if (known[w->base->family][number] == UNKNOWN)
        known[w->base->family][number] = shows_at_once(w, t) ? YES : NO;
    return known[w->base->family][number] == YES;
}

/* ---- Direct3D's first contents ---- */

static void open_contents(struct world *w, struct model *m, struct target *first)
{
    unsigned char *bytes = calloc(1, world_bytes(first)), *at = bytes;
    for (unsigned p = 0; p < first->planes; p++)
        first[p].direct = is_direct(w, &first[p]);
    world_d3d_write(w, first, bytes);
    for (unsigned p = 0; p < first->planes; p++) {
        first[p].d3d = model_memory(m, first[p].extent, first[p].texel, at);
        at += m->memories[first[p].d3d].size;
    }
    free(bytes);
}

static bool open_targets(struct world *w, struct model *m)
{
    for (unsigned i = 0; i < TARGETS; i++)
        if (!(w->dx9 ? open_target9(w, &w->targets[i], i) : open_target(w, &w->targets[i], i)))
            return false;
    for (unsigned i = 0; i < TARGETS; i += w->targets[i].planes)
        open_contents(w, m, &w->targets[i]);
    return true;
}

/* ---- objects ---- */

cl_mem world_create_of(struct world *w, const struct target *t, cl_context context, cl_mem_flags flags, void *resource,
                       UINT index, cl_int *status)
{
    if (w->dx9)
        return dx9_create(&w->base->dx9_rig, context, flags, resource, index, status);
    if (!t->format)
        return w->rig.create_buffer(context, flags, resource, status);
    return t->desc.depth ? w->rig.create_3d(context, flags, resource, index, status)
                         : w->rig.create_2d(context, flags, resource, index, status);
}

cl_mem world_create(struct world *w, const struct target *t, cl_mem_flags flags, cl_int *status)
{
    return world_create_of(w, t, w->rig.context, flags, t[-(int)t->plane].resource, t->index, status);
}

cl_mem world_twin(struct world *w, struct model *m, struct target *t)
{
    cl_int status = CL_SUCCESS;
    if (t->twin)
        return t->twin;
    t->twin_memory = model_memory(m, t->extent, t->texel, NULL);
    if (t->twin_memory < 0)
        return NULL;
    if (t->format) {
        const bool deep = t->extent[2] > 1;
        const cl_image_desc desc = {.image_type = deep ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                                    .image_width = t->extent[0],
                                    .image_height = t->extent[1],
                                    .image_depth = deep ? t->extent[2] : 0};
        t->twin = clCreateImage(w->rig.context, CL_MEM_READ_WRITE, &t->format->cl, &desc, NULL, &status);
    } else {
        t->twin = clCreateBuffer(w->rig.context, CL_MEM_READ_WRITE, t->extent[0], NULL, &status);
    }
    CHECK_INT(status, CL_SUCCESS);
    return t->twin;
}

static const char source[] =
    "const sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "#define PLACE (int2)(get_global_id(0), get_global_id(1))\n"
    "kernel void unorm(read_only image2d_t from, write_only image2d_t to)\n"
    "{ write_imagef(to, PLACE, 1.0f - read_imagef(from, at, PLACE)); }\n"
    "kernel void real(read_only image2d_t from, write_only image2d_t to)\n"
    "{ write_imagef(to, PLACE, -read_imagef(from, at, PLACE)); }\n"
    "kernel void natural(read_only image2d_t from, write_only image2d_t to)\n"
    "{ write_imageui(to, PLACE, read_imageui(from, at, PLACE) ^ (uint4)42); }\n"
    "kernel void bytes(global const uchar *from, global uchar *to)\n"
    "{ to[get_global_id(0)] = from[get_global_id(0)] ^ 42; }\n";

static const char *kernel_name(const struct target *t)
{
    if (!t->format)
        return "bytes";
    if (t->extent[2] > 1)
        return NULL;
    switch (t->format->cl.image_channel_data_type) {
    case CL_UNORM_INT8: return "unorm";
    case CL_FLOAT: return "real";
    case CL_UNSIGNED_INT8: return "natural";
    default: return NULL;
    }
}

cl_kernel world_kernel(struct world *w, const struct target *t)
{
    const char *name = kernel_name(t), *text = source;
    cl_int status = CL_SUCCESS;
    if (!name)
        return NULL;
    if (!w->base->program) {
        w->base->program = clCreateProgramWithSource(w->rig.context, 1, &text, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clBuildProgram(w->base->program, 1, &w->rig.cl_device, "", NULL, NULL), CL_SUCCESS);
    }
    cl_kernel kernel = clCreateKernel(w->base->program, name, &status);
    CHECK_INT(status, CL_SUCCESS);
    return kernel;
}

/* ---- opening and closing ---- */

static unsigned quirks_of(cl_platform_id platform)
{
    char name[128] = "", version[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
    if (strstr(name, "Portable Computing Language"))
        return QUIRKS_OF_POCL | (strstr(version, " PoCL 7.") ? QUIRK_NEEDS_CALLBACKS : 0);
    return strstr(name, "rusticl") ? QUIRKS_OF_RUSTICL : 0;
}

static bool open_queue(struct world *w, struct model *m, unsigned number, unsigned kind)
{
    cl_int status;
    /* Where commands fail, an acquire in a queue in order with profiling may not report it (docs/behaviour.md, Limits). */
    const bool profiles = kind & 2 && (kind & 1 || !fault_layers());
    const cl_command_queue_properties properties =
        (kind & 1 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0) | (profiles ? CL_QUEUE_PROFILING_ENABLE : 0);
    w->queues[number] = TRY_MAKE(clCreateCommandQueue(w->rig.context, w->rig.cl_device, properties, &status));
    if (fault_excuses(STEP_COMMAND, status, CL_SUCCESS))
        w->queues[number] = clCreateCommandQueue(w->rig.context, w->rig.cl_device, properties, &status);
    if (status == CL_INVALID_QUEUE_PROPERTIES && kind & 1)
        return open_queue(w, m, number, kind & 2);
    /* Those of rusticl 25.0 that are to be out of order run in order: what waits beside a held command would wait for ever. */
    if (status == CL_SUCCESS && kind & 1 && !rig_in_any_order(w->rig.cl_device)) {
        CHECK_INT(clReleaseCommandQueue(w->queues[number]), CL_SUCCESS);
        return open_queue(w, m, number, kind & 2);
    }
    m->out_of_order[number] = kind & 1;
    return CHECK_INT(status, CL_SUCCESS);
}

static struct base *choose_base(const struct setting *setting, const struct world *beside)
{
    static const unsigned char families[] = {FAMILY_D3D11, FAMILY_D3D11, FAMILY_D3D10, FAMILY_DX9, FAMILY_DX9EX};
    if (!beside)
        return base_open(families[setting->family % sizeof(families)], PLACE_FIRST, setting->fresh % 32 == 0);
    const unsigned family = beside->base->family;
    switch (setting->second % SECONDS) {
    case SECOND_SAME_DEVICE: return base_open(family, PLACE_SAME_DEVICE, false);
    case SECOND_OTHER_DEVICE: return base_open(family, PLACE_OTHER_DEVICE, false);
    default: return base_open((family + 1 + setting->second / SECONDS % (FAMILIES - 1)) % FAMILIES, PLACE_FIRST, false);
    }
}

bool world_open(struct world *w, struct model *m, const struct setting *setting, const struct world *beside)
{
    memset(w, 0, sizeof(*w));
    w->base = choose_base(setting, beside);
    if (!w->base)
        return false;
    w->rig = w->base->rig;
    w->api = w->base->api;
    w->dx9 = w->base->dx9;
    w->acquire = w->dx9 ? (rig_enqueue)w->base->dx9_rig.acquire : w->rig.acquire;
    w->release = w->dx9 ? (rig_enqueue)w->base->dx9_rig.release : w->rig.release;
    w->quirks = quirks_of(w->rig.platform);
    for (unsigned i = 0; i < QUEUES; i++)
        if (!open_queue(w, m, i, setting->queues[i]))
            return false;
    return open_targets(w, m);
}

void world_close(struct world *w)
{
    for (unsigned i = 0; i < TARGETS; i++) {
        struct target *t = &w->targets[i];
        if (t->twin)
            CHECK_INT(clReleaseMemObject(t->twin), CL_SUCCESS);
        if (w->dx9 && t->plane == 0)
            dx9_close_surface(&t->surface);
        else
            rig_release(t->resource);
    }
    for (unsigned i = 0; i < QUEUES; i++)
        if (w->queues[i])
            CHECK_INT(clReleaseCommandQueue(w->queues[i]), CL_SUCCESS);
}
