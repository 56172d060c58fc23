/* Planar video textures (planar.h): the objects of their planes, and the bytes of these. */
#include "planar.h"

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

TAP_MAIN
