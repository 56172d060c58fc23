/* Planar video textures, as cl_intel_d3d11_nv12_media_sharing has them: NV12, and P010 and P016 by the same rule. The
 * subresource of an object is plane + 2 * slice; plane 0 is luma (one channel), plane 1 chroma (two channels) at half
 * the width and height.
 *
 * Direct3D copies no single plane, so what must not happen is that the release of one plane takes back another. The
 * textures here are those of video programs: an array of slices for a decoder alone, which no flag shares, with an
 * object for each plane of each slice, all alive at once. */
#include "sharing.h"

enum { PLANE_COUNT = 2, SLICE_COUNT = 8 };

/* Even, as Direct3D demands, with chroma of an odd size. */
enum { WIDTH = 38, HEIGHT = 22 };

struct pool {
    struct rig *rig;
    struct rig_desc desc;
    void *texture;
    cl_mem objects[SLICE_COUNT][PLANE_COUNT];
    /* What Direct3D must find in each plane when it is not acquired. */
    unsigned seeds[SLICE_COUNT][PLANE_COUNT];
};

/* ---- one frame: luma rows, then chroma rows, without gaps ---- */

static size_t plane_bytes(const struct rig_desc *desc, int plane)
{
    return (size_t)desc->width * desc->height * rig_texel_bytes(desc->format) >> plane;
}

static unsigned char *in_plane(const struct rig_desc *desc, unsigned char *frame, int plane)
{
    return frame + (plane ? plane_bytes(desc, 0) : 0);
}

static unsigned char *new_frame(const struct rig_desc *desc)
{
    return calloc(1, plane_bytes(desc, 0) + plane_bytes(desc, 1));
}

static const size_t *plane_region(const struct rig_desc *desc, int plane, size_t region[3])
{
    region[0] = desc->width >> plane;
    region[1] = desc->height >> plane;
    region[2] = 1;
    return region;
}

/* Says whose the failed check was. */
static bool of_plane(bool held, int slice, int plane)
{
    char remark[64];
    snprintf(remark, sizeof(remark), "# that was slice %d, plane %d", slice, plane);
    if (!held)
        tap_line(remark);
    return held;
}

/* ---- Direct3D's side ---- */

static bool has_textures(const struct rig *rig, DXGI_FORMAT format)
{
    UINT support = 0;
    const HRESULT result = rig->api->version == 11
                               ? ID3D11Device_CheckFormatSupport((ID3D11Device *)rig->device, format, &support)
                               : ID3D10Device_CheckFormatSupport((ID3D10Device *)rig->device, format, &support);
    return SUCCEEDED(result) && support & D3D11_FORMAT_SUPPORT_TEXTURE2D;
}

static void copy_to_slice(const struct pool *pool, int slice, void *staging)
{
    if (pool->rig->api->version == 10) {
        ID3D10Device_CopySubresourceRegion((ID3D10Device *)pool->rig->device, (ID3D10Resource *)pool->texture,
                                           (UINT)slice, 0, 0, 0, (ID3D10Resource *)staging, 0, NULL);
        return;
    }
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)pool->rig->device, &context);
    ID3D11DeviceContext_CopySubresourceRegion(context, (ID3D11Resource *)pool->texture, (UINT)slice, 0, 0, 0,
                                              (ID3D11Resource *)staging, 0, NULL);
    ID3D11DeviceContext_Release(context);
}

/* Both planes of a slice, through a mapped staging texture: the way that every Direct3D has for these formats. */
static void d3d_write_slice(struct pool *pool, int slice, unsigned seed)
{
    const struct rig_desc desc = {
        .format = pool->desc.format, .width = pool->desc.width, .height = pool->desc.height, .usage = RIG_STAGING};
    void *staging = rig_make(pool->rig, pool->rig->device, &desc, NULL);
    unsigned char *frame = new_frame(&desc);
    if (CHECK(staging != NULL)) {
        for (int plane = 0; plane < PLANE_COUNT; plane++) {
            pool->seeds[slice][plane] = seed + (unsigned)plane;
            rig_pattern(in_plane(&desc, frame, plane), plane_bytes(&desc, plane), seed + (unsigned)plane);
        }
        rig_write(pool->rig, staging, &desc, 0, frame);
        copy_to_slice(pool, slice, staging);
    }
    free(frame);
    rig_release(staging);
}

static bool plane_has(const struct pool *pool, const unsigned char *bytes, int slice, int plane, unsigned seed)
{
    const size_t size = plane_bytes(&pool->desc, plane);
    unsigned char *expected = malloc(size);
    rig_pattern(expected, size, seed);
    const bool same = of_plane(CHECK_MEM(bytes, expected, size), slice, plane);
    free(expected);
    return same;
}

/* Direct3D finds in all of the texture what it must. */
static bool d3d_is_right(const struct pool *pool)
{
    unsigned char *frame = new_frame(&pool->desc);
    bool right = true;
    for (int slice = 0; slice < (int)pool->desc.slices; slice++) {
        rig_read(pool->rig, pool->texture, &pool->desc, (UINT)slice, frame);
        for (int plane = 0; plane < PLANE_COUNT; plane++)
            if (!plane_has(pool, in_plane(&pool->desc, frame, plane), slice, plane, pool->seeds[slice][plane]))
                right = false;
    }
    free(frame);
    return right;
}

/* ---- OpenCL's side ---- */

static cl_mem make_plane(const struct pool *pool, cl_context context, int slice, int plane, cl_mem_flags flags)
{
    cl_int status = 1;
    cl_mem object = pool->rig->create_2d(context, flags, pool->texture, (UINT)(plane + PLANE_COUNT * slice), &status);
    of_plane(CHECK_INT(status, CL_SUCCESS), slice, plane);
    of_plane(CHECK(object != NULL), slice, plane);
    return object;
}

static bool make_planes(const struct pool *pool, cl_context context, cl_mem objects[SLICE_COUNT][PLANE_COUNT])
{
    bool all = true;
    for (int slice = 0; slice < (int)pool->desc.slices; slice++) {
        for (int plane = 0; plane < PLANE_COUNT; plane++) {
            objects[slice][plane] = make_plane(pool, context, slice, plane, CL_MEM_READ_WRITE);
            all = all && objects[slice][plane];
        }
    }
    return all;
}

static void release_planes(cl_mem objects[SLICE_COUNT][PLANE_COUNT])
{
    for (int i = 0; i < SLICE_COUNT * PLANE_COUNT; i++)
        if (objects[i / PLANE_COUNT][i % PLANE_COUNT])
            CHECK_INT(clReleaseMemObject(objects[i / PLANE_COUNT][i % PLANE_COUNT]), CL_SUCCESS);
}

/* Writes and reads of an acquired plane that end in the call. */
static void cl_write_plane(cl_command_queue queue, struct pool *pool, cl_mem object, int slice, int plane,
                           unsigned seed)
{
    const size_t size = plane_bytes(&pool->desc, plane);
    size_t region[3];
    unsigned char *bytes = malloc(size);
    rig_pattern(bytes, size, seed);
    pool->seeds[slice][plane] = seed;
    CHECK_INT(clEnqueueWriteImage(queue, object, CL_TRUE, no_origin(), plane_region(&pool->desc, plane, region), 0, 0,
                                  bytes, 0, NULL, NULL),
              CL_SUCCESS);
    free(bytes);
}

static bool cl_plane_has(cl_command_queue queue, const struct pool *pool, cl_mem object, int slice, int plane,
                         unsigned seed)
{
    size_t region[3];
    unsigned char *bytes = calloc(1, plane_bytes(&pool->desc, plane));
    const bool same =
        CHECK_INT(clEnqueueReadImage(queue, object, CL_TRUE, no_origin(), plane_region(&pool->desc, plane, region), 0,
                                     0, bytes, 0, NULL, NULL),
                  CL_SUCCESS) &&
        plane_has(pool, bytes, slice, plane, seed);
    free(bytes);
    return same;
}

/* ---- pools and cases ---- */

/* The texture, each slice filled, without objects. */
static bool pool_open_bare(struct pool *pool, struct rig *rig, const struct rig_desc *desc)
{
    *pool = (struct pool){.rig = rig, .desc = *desc};
    pool->texture = rig_make(rig, rig->device, desc, NULL);
    if (!CHECK(pool->texture != NULL))
        return false;
    for (int slice = 0; slice < (int)desc->slices; slice++)
        d3d_write_slice(pool, slice, 1000u + 10u * (unsigned)slice);
    return true;
}

static void pool_close(struct pool *pool)
{
    release_planes(pool->objects);
    rig_release(pool->texture);
}

static bool pool_open(struct pool *pool, struct rig *rig, const struct rig_desc *desc)
{
    if (!pool_open_bare(pool, rig, desc))
        return false;
    if (make_planes(pool, rig->context, pool->objects))
        return true;
    pool_close(pool);
    return false;
}

/* What the running case is about. */
static DXGI_FORMAT tested_format;
static void (*tested)(struct rig *rig);

/* Formats of which a Direct3D has made no texture: to make a device for every case only to be told so takes time. */
static struct lack {
    const struct rig_api *api;
    DXGI_FORMAT format;
} lacks[6];
static unsigned lack_count;

static bool is_lacking(const struct rig_api *api, DXGI_FORMAT format)
{
    for (unsigned i = 0; i < lack_count; i++)
        if (lacks[i].api == api && lacks[i].format == format)
            return true;
    return false;
}

static void run_where_possible(struct rig *rig)
{
    if (has_textures(rig, tested_format)) {
        tested(rig);
        return;
    }
    lacks[lack_count++] = (struct lack){rig->api, tested_format};
    SKIP("this Direct3D has no textures of the format");
}

static void run_planar(const struct rig_api *api, DXGI_FORMAT format, void (*body)(struct rig *))
{
    if (is_lacking(api, format)) {
        SKIP("this Direct3D has no textures of the format");
        return;
    }
    tested_format = format;
    tested = body;
    sharing_run(api, 0, run_where_possible);
}

static void run_with_pool(struct rig *rig, void (*body)(struct pool *))
{
    const struct rig_desc desc = {.format = tested_format,
                                  .width = WIDTH,
                                  .height = HEIGHT,
                                  .slices = SLICE_COUNT,
                                  .bind = rig->api->version == 11 ? D3D11_BIND_DECODER : 0};
    struct pool pool;
    if (!pool_open(&pool, rig, &desc))
        return;
    body(&pool);
    pool_close(&pool);
}

#define PLANAR_CASE(text, name)                                                       \
    static void name(struct rig *rig);                                                \
    FOR_EACH_API("NV12: " text, name##_nv12, run_planar(api, DXGI_FORMAT_NV12, name)) \
    FOR_EACH_API("P010: " text, name##_p010, run_planar(api, DXGI_FORMAT_P010, name)) \
    FOR_EACH_API("P016: " text, name##_p016, run_planar(api, DXGI_FORMAT_P016, name)) \
    static void name(struct rig *rig)

/* A case that gets a pool with all its objects. */
#define POOL_CASE(text, name)                   \
    static void name##_pool(struct pool *pool); \
    PLANAR_CASE(text, name)                     \
    {                                           \
        run_with_pool(rig, name##_pool);        \
    }                                           \
    static void name##_pool(struct pool *pool)

/* ---- the objects ---- */

static size_t image_size(cl_mem object, cl_image_info what)
{
    size_t size = 0x7777;
    CHECK_INT(clGetImageInfo(object, what, sizeof(size), &size, NULL), CL_SUCCESS);
    return size;
}

static void check_answers(const struct pool *pool, cl_mem object, int slice, int plane)
{
    const struct rig_api *api = pool->rig->api;
    const UINT texel = rig_texel_bytes(pool->desc.format);
    cl_image_format format = {0, 0};
    cl_uint subresource = 0x7777;
    void *resource = NULL;
    CHECK_INT(clGetImageInfo(object, CL_IMAGE_FORMAT, sizeof(format), &format, NULL), CL_SUCCESS);
    CHECK_INT(format.image_channel_order, plane ? CL_RG : CL_R);
    CHECK_INT(format.image_channel_data_type, texel == 1 ? CL_UNORM_INT8 : CL_UNORM_INT16);
    CHECK_INT(image_size(object, CL_IMAGE_ELEMENT_SIZE), texel << plane);
    CHECK_INT(image_size(object, CL_IMAGE_WIDTH), pool->desc.width >> plane);
    CHECK_INT(image_size(object, CL_IMAGE_HEIGHT), pool->desc.height >> plane);
    CHECK_INT(image_size(object, CL_IMAGE_DEPTH), 0);
    CHECK_INT(clGetImageInfo(object, api->image_subresource, sizeof(subresource), &subresource, NULL), CL_SUCCESS);
    CHECK_INT(subresource, plane + PLANE_COUNT * slice);
    CHECK_INT(clGetMemObjectInfo(object, api->mem_resource, sizeof(resource), &resource, NULL), CL_SUCCESS);
    CHECK(resource == pool->texture);
}

POOL_CASE("every plane of every slice is an object with the right answers", answers)
{
    for (int slice = 0; slice < SLICE_COUNT; slice++)
        for (int plane = 0; plane < PLANE_COUNT; plane++)
            check_answers(pool, pool->objects[slice][plane], slice, plane);
}

/* Textures that Direct3D does not make in a variant are no matter of this library. */
PLANAR_CASE("single textures, bound and shared ones, each access", variants)
{
    static const struct {
        UINT slices, bind, misc;
        cl_mem_flags flags;
    } variants[] = {
        {1, 0, 0, CL_MEM_READ_WRITE},
        {1, 0, 0, CL_MEM_READ_ONLY},
        {3, 0, 0, CL_MEM_WRITE_ONLY},
        {3, D3D11_BIND_SHADER_RESOURCE, 0, 0},
        {1, D3D11_BIND_SHADER_RESOURCE, D3D11_RESOURCE_MISC_SHARED, CL_MEM_READ_WRITE},
        {2, D3D11_BIND_SHADER_RESOURCE, D3D11_RESOURCE_MISC_SHARED, CL_MEM_READ_WRITE},
        {2, 0, D3D11_RESOURCE_MISC_SHARED, CL_MEM_READ_WRITE},
    };
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        struct pool pool = {.rig = rig,
                            .desc = {.format = tested_format,
                                     .width = WIDTH,
                                     .height = HEIGHT,
                                     .slices = variants[i].slices,
                                     .bind = variants[i].bind,
                                     .misc = variants[i].misc}};
        pool.texture = rig_make(rig, rig->device, &pool.desc, NULL);
        if (!pool.texture) {
            CHECK(variants[i].bind || variants[i].misc);
            continue;
        }
        const int last = (int)variants[i].slices - 1;
        for (int plane = 0; plane < PLANE_COUNT; plane++) {
            pool.objects[last][plane] = make_plane(&pool, rig->context, last, plane, variants[i].flags);
            if (pool.objects[last][plane])
                check_answers(&pool, pool.objects[last][plane], last, plane);
        }
        pool_close(&pool);
    }
}

static void refused_plane(const struct pool *pool, UINT subresource, cl_int code)
{
    refused(pool->rig, pool->rig->context, CL_MEM_READ_WRITE, KIND_2D, pool->texture, subresource, code);
}

POOL_CASE("subresources behind the last plane are refused", out_of_range)
{
    enum { ALL = SLICE_COUNT * PLANE_COUNT };
    static const UINT beyond[] = {ALL, ALL + 1, 2 * ALL, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
        refused_plane(pool, beyond[i], CL_INVALID_VALUE);
    /* With one slice there are the two planes and nothing else. */
    struct rig_desc single = pool->desc;
    struct pool other;
    single.slices = 1;
    if (!pool_open(&other, pool->rig, &single))
        return;
    for (UINT subresource = PLANE_COUNT; subresource < 5; subresource++)
        refused_plane(&other, subresource, CL_INVALID_VALUE);
    pool_close(&other);
}

/* Direct3D demands even sizes. Wine makes others too. */
PLANAR_CASE("odd sizes are refused", odd_sizes)
{
    static const UINT odd[][2] = {{WIDTH + 1, HEIGHT}, {WIDTH, HEIGHT + 1}, {WIDTH + 1, HEIGHT + 1}, {1, 1}};
    unsigned tried = 0;
#ifndef _WIN32
    fake_d3d_odd_planes(true);
#endif
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        const struct rig_desc desc = {.format = tested_format, .width = odd[i][0], .height = odd[i][1]};
        void *texture = rig_make(rig, rig->device, &desc, NULL);
        if (!texture)
            continue;
        for (UINT plane = 0; plane < PLANE_COUNT; plane++)
            refused(rig, rig->context, CL_MEM_READ_WRITE, KIND_2D, texture, plane, rig->api->invalid_resource);
        rig_release(texture);
        tried++;
    }
    if (!tried)
        SKIP("Direct3D makes no such texture");
}

POOL_CASE("a second object of a plane is refused", duplicates)
{
    for (UINT subresource = 0; subresource < SLICE_COUNT * PLANE_COUNT; subresource++)
        refused_plane(pool, subresource, pool->rig->api->invalid_resource);
    /* One plane given up is one that can be had again; its neighbours stay taken. */
    for (int slice = 2; slice < 4; slice++) {
        for (int plane = 0; plane < PLANE_COUNT; plane++) {
            const UINT subresource = (UINT)(plane + PLANE_COUNT * slice);
            CHECK_INT(clReleaseMemObject(pool->objects[slice][plane]), CL_SUCCESS);
            refused_plane(pool, subresource - 1, pool->rig->api->invalid_resource);
            refused_plane(pool, subresource + 1, pool->rig->api->invalid_resource);
            pool->objects[slice][plane] = make_plane(pool, pool->rig->context, slice, plane, CL_MEM_READ_ONLY);
            refused_plane(pool, subresource, pool->rig->api->invalid_resource);
        }
    }
}

/* Each plane is acquired by itself. */
POOL_CASE("each plane is acquired by itself", states)
{
    const struct rig *rig = pool->rig;
    cl_mem *planes = pool->objects[5];
    CHECK_INT(release_one(rig, planes[0]), rig->api->not_acquired);
    CHECK_INT(acquire_one(rig, planes[0]), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, planes[0]), rig->api->already_acquired);
    CHECK_INT(release_one(rig, planes[1]), rig->api->not_acquired);
    CHECK_INT(rig->acquire(rig->queue, PLANE_COUNT, planes, 0, NULL, NULL), rig->api->already_acquired);
    /* What was refused has acquired nothing. */
    CHECK_INT(release_one(rig, planes[1]), rig->api->not_acquired);
    CHECK_INT(acquire_one(rig, planes[1]), CL_SUCCESS);
    CHECK_INT(release_one(rig, planes[0]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, PLANE_COUNT, planes, 0, NULL, NULL), rig->api->not_acquired);
    CHECK_INT(release_one(rig, planes[1]), CL_SUCCESS);
    queue_wait(rig->queue);
    CHECK(d3d_is_right(pool));
}

/* ---- contents ---- */

/* From Direct3D to OpenCL and back, all objects in one call each. Twice, as a program does for each frame. */
static void there_and_back(struct pool *pool)
{
    const struct rig *rig = pool->rig;
    const cl_uint count = pool->desc.slices * PLANE_COUNT;
    for (unsigned round = 0; round < 2; round++) {
        CHECK_INT(rig->acquire(rig->queue, count, pool->objects[0], 0, NULL, NULL), CL_SUCCESS);
        for (int i = 0; i < (int)count; i++) {
            const int slice = i / PLANE_COUNT, plane = i % PLANE_COUNT;
            cl_plane_has(rig->queue, pool, pool->objects[slice][plane], slice, plane, pool->seeds[slice][plane]);
            cl_write_plane(rig->queue, pool, pool->objects[slice][plane], slice, plane,
                           2000u + 40u * round + (unsigned)i);
        }
        CHECK_INT(rig->release(rig->queue, count, pool->objects[0], 0, NULL, NULL), CL_SUCCESS);
        CHECK(d3d_is_right(pool));
        for (int slice = 0; slice < (int)pool->desc.slices; slice++)
            d3d_write_slice(pool, slice, 3000u + 40u * round + 2u * (unsigned)slice);
    }
}

POOL_CASE("every plane of every slice there and back", whole_pool)
{
    there_and_back(pool);
}

PLANAR_CASE("1920 x 1080 there and back", full_hd)
{
    const struct rig_desc desc = {.format = tested_format, .width = 1920, .height = 1080, .slices = 2};
    struct pool pool;
    if (!pool_open(&pool, rig, &desc))
        return;
    there_and_back(&pool);
    pool_close(&pool);
}

/* From one frame to another: luma inverted; of chroma the two channels changed about, one of them inverted. The
 * channels that an image lacks must be 0, 0, 1. */
static const char frame_source[] =
    "__constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "__kernel void frame(read_only image2d_t luma, read_only image2d_t chroma,\n"
    "                    write_only image2d_t new_luma, write_only image2d_t new_chroma)\n"
    "{\n"
    "    const int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "    const float4 y = read_imagef(luma, at, p);\n"
    "    const bool full = y.y == 0 && y.z == 0 && y.w == 1;\n"
    "    write_imagef(new_luma, p, (float4)(full ? 1 - y.x : 0, 0, 0, 1));\n"
    "    if (p.x < get_image_width(chroma) && p.y < get_image_height(chroma)) {\n"
    "        const float4 c = read_imagef(chroma, at, p);\n"
    "        write_imagef(new_chroma, p, (float4)(c.z == 0 && c.w == 1 ? 1 - c.y : 0, c.x, 0, 1));\n"
    "    }\n"
    "}\n";

/* The same over the stored bytes. */
static void compute_frame(const struct rig_desc *desc, const unsigned char *from, unsigned char *to)
{
    const size_t texel = rig_texel_bytes(desc->format), luma = plane_bytes(desc, 0), all = luma + plane_bytes(desc, 1);
    for (size_t i = 0; i < luma; i++)
        to[i] = (unsigned char)~from[i];
    for (size_t i = luma; i < all; i += 2 * texel) {
        for (size_t j = 0; j < texel; j++) {
            to[i + j] = (unsigned char)~from[i + texel + j];
            to[i + texel + j] = from[i + j];
        }
    }
}

static void run_frame_kernel(struct pool *pool, cl_kernel kernel, int from, int to)
{
    const struct rig *rig = pool->rig;
    const size_t size[2] = {pool->desc.width, pool->desc.height};
    cl_mem objects[2 * PLANE_COUNT] = {pool->objects[from][0], pool->objects[from][1], pool->objects[to][0],
                                       pool->objects[to][1]};
    for (cl_uint i = 0; i < 2 * PLANE_COUNT; i++)
        CHECK_INT(clSetKernelArg(kernel, i, sizeof(objects[i]), &objects[i]), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, PLANE_COUNT, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, PLANE_COUNT, objects + PLANE_COUNT, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, PLANE_COUNT, objects + PLANE_COUNT, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, PLANE_COUNT, objects, 0, NULL, NULL), CL_SUCCESS);
}

POOL_CASE("a kernel makes frames from frames", kernel)
{
    const struct rig_desc *desc = &pool->desc;
    const size_t size = plane_bytes(desc, 0) + plane_bytes(desc, 1);
    cl_kernel kernel = rig_kernel(pool->rig, frame_source, "frame");
    unsigned char *expected = new_frame(desc), *found = new_frame(desc), *source = new_frame(desc);
    if (kernel) {
        /* Each frame becomes the next one. */
        for (int plane = 0; plane < PLANE_COUNT; plane++)
            rig_pattern(in_plane(desc, source, plane), plane_bytes(desc, plane), pool->seeds[0][plane]);
        for (int slice = 1; slice < SLICE_COUNT; slice++) {
            run_frame_kernel(pool, kernel, slice - 1, slice);
            compute_frame(desc, source, expected);
            rig_read(pool->rig, pool->texture, desc, (UINT)slice, found);
            CHECK_MEM(found, expected, size);
            memcpy(source, expected, size);
        }
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    }
    free(source);
    free(found);
    free(expected);
}

/* ---- planes acquired and released one by one ---- */

/* Runs steps on one slice, each a letter and a digit:
 *
 *     a acquire, r release, c check that OpenCL finds what it must, w write from OpenCL; the same in capitals with the
 *         objects of a second context
 *     o Direct3D writes the slice that lies so many behind
 *
 * The digit is the plane; 2 both in one call, 3 both with plane 1 first. */
struct player {
    struct pool *pool;
    int slice;
    unsigned seed; /* the last one used */
    cl_command_queue queues[2];
    cl_mem (*objects[2])[PLANE_COUNT];
};

static void play_one(struct player *player, char what, int plane, int context)
{
    struct pool *pool = player->pool;
    cl_command_queue queue = player->queues[context];
    cl_mem object = player->objects[context][player->slice][plane];
    if (what == 'w')
        cl_write_plane(queue, pool, object, player->slice, plane, ++player->seed);
    else
        cl_plane_has(queue, pool, object, player->slice, plane, pool->seeds[player->slice][plane]);
}

static void play_step(struct player *player, char letter, int digit)
{
    const int context = letter < 'a';
    const char what = (char)(letter | 0x20);
    const struct rig *rig = player->pool->rig;
    const cl_mem *planes = player->objects[context][player->slice];
    const cl_mem list[PLANE_COUNT] = {planes[digit & 1], planes[!(digit & 1)]};
    const cl_uint count = digit > 1 ? 2 : 1;
    switch (what) {
    case 'a': CHECK_INT(rig->acquire(player->queues[context], count, list, 0, NULL, NULL), CL_SUCCESS); break;
    case 'r': CHECK_INT(rig->release(player->queues[context], count, list, 0, NULL, NULL), CL_SUCCESS); break;
    case 'o':
        player->seed += 2;
        d3d_write_slice(player->pool, (player->slice + digit) % SLICE_COUNT, player->seed - 1);
        break;
    default:
        play_one(player, what, digit & 1, context);
        if (count == 2)
            play_one(player, what, !(digit & 1), context);
        break;
    }
}

static void play(struct player *player, const char *steps)
{
    const int before = atomic_load(&tap_case.failures);
    for (const char *step = steps; *step; step += step[2] ? 3 : 2)
        play_step(player, step[0], step[1] - '0');
    CHECK(d3d_is_right(player->pool));
    if (atomic_load(&tap_case.failures) == before)
        return;
    char remark[128];
    snprintf(remark, sizeof(remark), "# that was in the steps %s", steps);
    tap_line(remark);
}

static void play_all(struct pool *pool, const char *const *sequences, size_t count, cl_command_queue second_queue,
                     cl_mem second[SLICE_COUNT][PLANE_COUNT])
{
    struct player player = {pool, 0, 5000, {pool->rig->queue, second_queue}, {pool->objects, second}};
    for (size_t i = 0; i < count; i++) {
        player.slice = (int)i % SLICE_COUNT;
        play(&player, sequences[i]);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

POOL_CASE("planes acquired and released in every order", interleaved)
{
    static const char *const sequences[] = {
        "a0 c0 w0 r0",
        "a1 c1 w1 r1",
        "a2 c2 w2 r2",
        "a3 c2 w2 r3",
        "a2 w2 r3",
        "a0 a1 w0 w1 r1 r0",
        "a0 a1 w0 w1 r0 r1",
        "a1 a0 w1 w0 r0 r1",
        "a1 a0 w0 w1 r1 r0",
        "a2 w2 r0 r1",
        "a2 w2 r1 r0",
        "a0 w0 a1 w1 r2",
        "a0 a1 w1 r1 w0 r0",
        "a0 a1 w0 r0 w1 r1",
        /* A plane comes back unchanged, after the other has. */
        "a2 w0 r0 r1",
        "a2 w1 r1 r0",
        "a2 w0 r2",
        /* A plane changes twice while the other is away. */
        "a2 w0 r0 a0 c0 w0 r0 w1 r1",
        "a2 w1 r1 a1 c1 w1 r1 c0 r0",
        "a0 w0 r0 a1 w1 a0 c0 w0 r1 r0",
    };
    play_all(pool, sequences, COUNT(sequences), NULL, NULL);
}

POOL_CASE("Direct3D writes other slices meanwhile", other_slices)
{
    static const char *const sequences[] = {
        "a0 o1 w0 r0",
        "a1 o1 o7 w1 r1",
        "a2 o1 c2 w2 o3 r0 o2 r1",
        "o1 a2 w2 o1 o2 o3 o4 o5 o6 o7 c2 r2",
        "a2 w0 o1 r0 o1 a0 o7 c0 r0 r1",
    };
    play_all(pool, sequences, COUNT(sequences), NULL, NULL);
}

/* ---- both planes of a slice released by one command ---- */

/* Each context has an object of each plane: that is no duplicate. */
POOL_CASE("two contexts with objects of one texture", two_contexts)
{
    static const char *const sequences[] = {
        "a2 w2 r2 A2 C2 W2 R2 a2 c2 r2",
        "a0 w0 r0 A1 W1 R1 a2 c2 r2 A2 C2 R2",
        "a0 A1 w0 W1 r0 R1",
        "a0 A1 w0 W1 R1 r0",
        "A0 a1 W0 w1 r1 o1 R0 a2 c2 r2",
        "a0 A1 w0 r0 A0 C0 W0 R3 a2 c2 r2",
    };
    struct rig *rig = pool->rig;
    cl_int status = 1;
    cl_mem objects[SLICE_COUNT][PLANE_COUNT] = {{NULL}};
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    cl_command_queue queue = make_queue(rig, context, 0);
    if (make_planes(pool, context, objects))
        play_all(pool, sequences, COUNT(sequences), queue, objects);
    release_planes(objects);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* ---- behind events ---- */

/* The planes of a slice are released behind events that come later, that of plane `first` first. Each in a queue of its
 * own: one queue, being in order, would make the second wait for the first. */
static void release_behind(struct pool *pool, int slice, int first)
{
    const struct rig *rig = pool->rig;
    cl_mem *planes = pool->objects[slice];
    cl_event gates[PLANE_COUNT], done[PLANE_COUNT];
    cl_command_queue queues[PLANE_COUNT];
    CHECK_INT(rig->acquire(rig->queue, PLANE_COUNT, planes, 0, NULL, NULL), CL_SUCCESS);
    for (int plane = 0; plane < PLANE_COUNT; plane++)
        cl_write_plane(rig->queue, pool, planes[plane], slice, plane, 7000u + (unsigned)(slice * 2 + plane));
    for (int plane = 0; plane < PLANE_COUNT; plane++) {
        gates[plane] = user_event(rig->context);
        queues[plane] = make_queue(rig, rig->context, 0);
        CHECK_INT(rig->release(queues[plane], 1, &planes[plane], 1, &gates[plane], &done[plane]), CL_SUCCESS);
    }
    for (int i = 0; i < PLANE_COUNT; i++) {
        const int plane = first ^ i;
        CHECK_INT(clSetUserEventStatus(gates[plane], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &done[plane]), CL_SUCCESS);
    }
    for (int plane = 0; plane < PLANE_COUNT; plane++) {
        CHECK_INT(clReleaseEvent(done[plane]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(gates[plane]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queues[plane]), CL_SUCCESS);
    }
}

POOL_CASE("planes released behind events", behind_events)
{
    for (int slice = 0; slice < 4; slice++) {
        release_behind(pool, slice, slice % 2);
        CHECK(d3d_is_right(pool));
    }
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 12 };

struct worker {
    struct pool *pool;
    cl_command_queue queue;
    struct meeting *meeting;
    int slice, plane;
};

static void work(void *data)
{
    const struct worker *worker = data;
    const struct rig *rig = worker->pool->rig;
    cl_mem object = worker->pool->objects[worker->slice][worker->plane];
    unsigned *seed = &worker->pool->seeds[worker->slice][worker->plane];
    for (unsigned round = 0; round < ROUNDS; round++) {
        meeting_wait(worker->meeting);
        CHECK_INT(rig->acquire(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        cl_plane_has(worker->queue, worker->pool, object, worker->slice, worker->plane, *seed);
        cl_write_plane(worker->queue, worker->pool, object, worker->slice, worker->plane, *seed + 100);
        meeting_wait(worker->meeting);
        CHECK_INT(rig->release(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        queue_wait(worker->queue);
    }
}

/* Each thread has one plane of one of four slices, so that the two planes of a slice come back at the same time. */
POOL_CASE("eight threads with a plane each", threads)
{
    struct meeting meeting = {.count = THREADS};
    struct worker workers[THREADS];
    struct test_job jobs[THREADS];
    test_thread running[THREADS];
#ifndef _WIN32
    fake_d3d_delay(1); /* between a thread's first copy and its last there is time for another's */
#endif
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){pool, make_queue(pool->rig, pool->rig->context, 0), &meeting, i / PLANE_COUNT + 2,
                                     i % PLANE_COUNT};
        jobs[i] = (struct test_job){work, &workers[i]};
    }
    for (int i = 0; i < THREADS; i++)
        test_thread_start(&running[i], &jobs[i]);
    for (int i = 0; i < THREADS; i++)
        test_thread_join(running[i]);
    CHECK(d3d_is_right(pool));
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(clReleaseCommandQueue(workers[i].queue), CL_SUCCESS);
}

/* ---- a thread that holds the device ---- */

enum { HOLDER_ROUNDS = 50, PATIENCE_MS = 60000 };

struct holder {
    struct worker worker;
    bool holds; /* the device, around each release */
    atomic_uint rounds;
};

static void release_again_and_again(void *data)
{
    struct holder *holder = data;
    const struct worker *worker = &holder->worker;
    const struct rig *rig = worker->pool->rig;
    cl_mem object = worker->pool->objects[worker->slice][worker->plane];
    ID3D10Multithread *multithread = NULL;
    IUnknown_QueryInterface((IUnknown *)rig->device, &IID_ID3D10Multithread, (void **)&multithread);
    if (!CHECK(multithread != NULL))
        return;
    for (int round = 0; round < HOLDER_ROUNDS; round++) {
        CHECK_INT(rig->acquire(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        cl_write_plane(worker->queue, worker->pool, object, worker->slice, worker->plane, 8000u + (unsigned)round);
        meeting_wait(worker->meeting); /* the other one needs the device no more before its release */
        if (holder->holds)
            ID3D10Multithread_Enter(multithread);
        meeting_wait(worker->meeting);
        CHECK_INT(rig->release(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        if (holder->holds)
            ID3D10Multithread_Leave(multithread);
        atomic_fetch_add(&holder->rounds, 1);
    }
    rig_release(multithread);
}

/* Two threads that hang each other can't be ended: then the program is. */
static void await_rounds(struct holder *holder)
{
    unsigned left = PATIENCE_MS, before = 0;
    while (atomic_load(&holder->rounds) < HOLDER_ROUNDS) {
        const unsigned rounds = atomic_load(&holder->rounds);
        left = rounds == before ? left - 1 : PATIENCE_MS;
        before = rounds;
        if (left == 0) {
            CHECK(!"the threads go on");
            exit(EXIT_FAILURE);
        }
        pause_ms(1);
    }
}

/* One thread releases its plane while it holds the device, the other one releases the other plane of the slice. */
POOL_CASE("a thread that holds the device releases a plane, another one the other", held_device)
{
    struct meeting meeting = {.count = PLANE_COUNT};
    struct holder holders[PLANE_COUNT];
    struct test_job jobs[PLANE_COUNT];
    test_thread running[PLANE_COUNT];
    for (int i = 0; i < PLANE_COUNT; i++) {
        holders[i] = (struct holder){.worker = {.pool = pool,
                                                .queue = make_queue(pool->rig, pool->rig->context, 0),
                                                .meeting = &meeting,
                                                .slice = 1,
                                                .plane = i},
                                     .holds = i == 0};
        jobs[i] = (struct test_job){release_again_and_again, &holders[i]};
    }
    for (int i = 0; i < PLANE_COUNT; i++)
        test_thread_start(&running[i], &jobs[i]);
    for (int i = 0; i < PLANE_COUNT; i++)
        await_rounds(&holders[i]);
    for (int i = 0; i < PLANE_COUNT; i++)
        test_thread_join(running[i]);
    CHECK(d3d_is_right(pool));
    for (int i = 0; i < PLANE_COUNT; i++)
        CHECK_INT(clReleaseCommandQueue(holders[i].worker.queue), CL_SUCCESS);
}

TAP_MAIN
