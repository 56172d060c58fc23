/* Planar video textures, as cl_intel_d3d11_nv12_media_sharing has them: NV12, and P010 and P016 by the same rule. The
 * subresource of an object is plane + 2 * slice; plane 0 is luma (one channel), plane 1 chroma (two channels) at half
 * the width and height.
 *
 * Direct3D copies no single plane, so what must not happen is that the release of one plane takes back another. The
 * textures here are those of video programs: an array of slices for a decoder alone, which no flag shares, with an
 * object for each plane of each slice, all alive at once. */
#ifndef CLD3D_TESTS_PLANAR_H
#define CLD3D_TESTS_PLANAR_H

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

static inline size_t plane_bytes(const struct rig_desc *desc, int plane)
{
    return (size_t)desc->width * desc->height * rig_texel_bytes(desc->format) >> plane;
}

static inline unsigned char *in_plane(const struct rig_desc *desc, unsigned char *frame, int plane)
{
    return frame + (plane ? plane_bytes(desc, 0) : 0);
}

static inline unsigned char *new_frame(const struct rig_desc *desc)
{
    return calloc(1, plane_bytes(desc, 0) + plane_bytes(desc, 1));
}

static inline const size_t *plane_region(const struct rig_desc *desc, int plane, size_t region[3])
{
    region[0] = desc->width >> plane;
    region[1] = desc->height >> plane;
    region[2] = 1;
    return region;
}

/* Says whose the failed check was. */
static inline bool of_plane(bool held, int slice, int plane)
{
    char remark[64];
    snprintf(remark, sizeof(remark), "# that was slice %d, plane %d", slice, plane);
    if (!held)
        tap_line(remark);
    return held;
}

/* ---- Direct3D's side ---- */

static inline bool has_textures(const struct rig *rig, DXGI_FORMAT format)
{
    UINT support = 0;
    const HRESULT result = rig->api->version == 11
                               ? ID3D11Device_CheckFormatSupport((ID3D11Device *)rig->device, format, &support)
                               : ID3D10Device_CheckFormatSupport((ID3D10Device *)rig->device, format, &support);
    return SUCCEEDED(result) && support & D3D11_FORMAT_SUPPORT_TEXTURE2D;
}

/* Both planes of a slice, through a mapped staging texture: the way that every Direct3D has for these formats. */
static inline void d3d_write_slice(struct pool *pool, int slice, unsigned seed)
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
        rig_copy_to(pool->rig, pool->texture, (UINT)slice, staging, 0);
    }
    free(frame);
    rig_release(staging);
}

static inline bool plane_has(const struct pool *pool, const unsigned char *bytes, int slice, int plane, unsigned seed)
{
    const size_t size = plane_bytes(&pool->desc, plane);
    unsigned char *expected = malloc(size);
    rig_pattern(expected, size, seed);
    const bool same = of_plane(CHECK_MEM(bytes, expected, size), slice, plane);
    free(expected);
    return same;
}

/* Direct3D finds in all of the texture what it must. */
static inline bool d3d_is_right(const struct pool *pool)
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

static inline cl_mem make_plane(const struct pool *pool, cl_context context, int slice, int plane, cl_mem_flags flags)
{
    cl_int status = 1;
    cl_mem object = pool->rig->create_2d(context, flags, pool->texture, (UINT)(plane + PLANE_COUNT * slice), &status);
    of_plane(CHECK_INT(status, CL_SUCCESS), slice, plane);
    of_plane(CHECK(object != NULL), slice, plane);
    return object;
}

static inline bool make_planes(const struct pool *pool, cl_context context, cl_mem objects[SLICE_COUNT][PLANE_COUNT])
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

static inline void release_planes(cl_mem objects[SLICE_COUNT][PLANE_COUNT])
{
    for (int i = 0; i < SLICE_COUNT * PLANE_COUNT; i++)
        if (objects[i / PLANE_COUNT][i % PLANE_COUNT])
            CHECK_INT(clReleaseMemObject(objects[i / PLANE_COUNT][i % PLANE_COUNT]), CL_SUCCESS);
}

/* Writes and reads of an acquired plane that end in the call. */
static inline void cl_write_plane(cl_command_queue queue, struct pool *pool, cl_mem object, int slice, int plane,
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

static inline bool cl_plane_has(cl_command_queue queue, const struct pool *pool, cl_mem object, int slice, int plane,
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

/* Threads meet: nobody leaves `wait` before `count` of them have come. Can be used again and again. */
struct meeting {
    atomic_uint came;
    unsigned count;
};

static inline void meeting_wait(struct meeting *meeting)
{
    const unsigned turn = atomic_fetch_add(&meeting->came, 1) / meeting->count;
    while (atomic_load(&meeting->came) / meeting->count == turn)
        let_others_run();
}

/* ---- pools and cases ---- */

static inline void pool_close(struct pool *pool)
{
    release_planes(pool->objects);
    rig_release(pool->texture);
}

/* The texture, each slice filled, with all its objects. */
static inline bool pool_open(struct pool *pool, struct rig *rig, const struct rig_desc *desc)
{
    *pool = (struct pool){.rig = rig, .desc = *desc};
    pool->texture = rig_make(rig, rig->device, desc, NULL);
    if (!CHECK(pool->texture != NULL))
        return false;
    for (int slice = 0; slice < (int)desc->slices; slice++)
        d3d_write_slice(pool, slice, 1000u + 10u * (unsigned)slice);
    if (make_planes(pool, rig->context, pool->objects))
        return true;
    pool_close(pool);
    return false;
}

/* What the running case is about. */
static DXGI_FORMAT tested_format;
static void (*tested)(struct rig *rig);

static inline void run_where_possible(struct rig *rig)
{
    if (has_textures(rig, tested_format))
        tested(rig);
    else
        SKIP("this Direct3D has no textures of the format");
}

static inline void run_planar(const struct rig_api *api, DXGI_FORMAT format, void (*body)(struct rig *))
{
    tested_format = format;
    tested = body;
    sharing_run(api, 0, run_where_possible);
}

static inline void run_with_pool(struct rig *rig, void (*body)(struct pool *))
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

#endif
