/* Planar video textures (planar.h): the objects of their planes, and the bytes of these when planes are acquired and released in any
 * order, in several contexts and threads. */
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

/* ---- contents ---- */

/* From Direct3D to OpenCL and back, all objects in one call each. Twice, as a program does for each frame. */
POOL_CASE("every plane of every slice there and back", whole_pool)
{
    enum { ALL = SLICE_COUNT * PLANE_COUNT };
    const struct rig *rig = pool->rig;
    for (unsigned round = 0; round < 2; round++) {
        CHECK_INT(rig->acquire(rig->queue, ALL, pool->objects[0], 0, NULL, NULL), CL_SUCCESS);
        for (int i = 0; i < ALL; i++) {
            const int slice = i / PLANE_COUNT, plane = i % PLANE_COUNT;
            cl_plane_has(rig->queue, pool, pool->objects[slice][plane], slice, plane, pool->seeds[slice][plane]);
            cl_write_plane(rig->queue, pool, pool->objects[slice][plane], slice, plane,
                           2000u + 40u * round + (unsigned)i);
        }
        CHECK_INT(rig->release(rig->queue, ALL, pool->objects[0], 0, NULL, NULL), CL_SUCCESS);
        CHECK(d3d_is_right(pool));
        for (int slice = 0; slice < SLICE_COUNT; slice++)
            d3d_write_slice(pool, slice, 3000u + 40u * round + 2u * (unsigned)slice);
    }
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
