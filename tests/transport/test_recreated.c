/* Programs that make new objects for each frame, as OpenCV does. The context keeps a few staging copies of objects
 * that are gone for the next ones of the same shape, and that must never show in the bytes. */
#include "below.h"
#include "host_process.h"
#include "sharing.h"

/* More than a context keeps. */
enum { MANY = 6 };

static cl_mem create(const struct rig *rig, const struct shared *shared)
{
    cl_int status = 1;
    cl_mem object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, shared->kind, shared->resource, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    return object;
}

static void drop(struct shared *shared)
{
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = NULL;
}

static void frame(const struct rig *rig, struct shared *shared, unsigned from, unsigned to)
{
    shared->object = create(rig, shared);
    CHECK(round_trip(rig, shared, from, to));
    drop(shared);
}

/* Without a look at the bytes, for which the test would make resources of its own. */
static void turns(const struct rig *rig, struct shared *shared, unsigned count)
{
    for (unsigned turn = 0; turn < count; turn++) {
        shared->object = create(rig, shared);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
        drop(shared);
    }
}

/* A file descriptor goes with its import. What others of the process open meanwhile is not much. */
OBJECTS_CASE("objects in their thousands leave no file descriptor", files, 0)
{
    enum { OTHERS = 8 };
    const unsigned count = over_import() ? 10000 : 500;
    unsigned failed = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        drop(&all[kind]);
        turns(rig, &all[kind], 1); /* and what is opened once */
    }
    find_host_process("test_recreated.exe");
    const double before = count_files();
    CHECK(before > 3);
    for (unsigned i = 0; i < count; i++) {
        struct shared *shared = &all[i % KINDS];
        shared->object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, shared->kind, shared->resource, 0, NULL);
        failed += !shared->object || clReleaseMemObject(shared->object) != CL_SUCCESS;
        shared->object = NULL;
    }
    CHECK_INT(failed, 0);
    for (int i = 0; i < 60000 && count_files() > before + OTHERS; i++)
        pause_ms(1);
    CHECK(count_files() <= before + OTHERS);
    for (int kind = 0; kind < KINDS; kind++) {
        frame(rig, &all[kind], 1 + (unsigned)kind, 9);
        shared_close(&all[kind]);
    }
}

/* More at once than are kept, given back in the order of their making and against it. */
SHARING_CASE("more objects at once than staging copies are kept", many_at_once, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared all[MANY];
        unsigned made = 0;
        while (made < MANY && shared_resource(rig, (enum kind)kind, 10 * (made + 1), &all[made]))
            made++;
        for (unsigned turn = 0; turn < 4; turn++) {
            for (unsigned i = 0; i < made; i++) {
                all[i].object = create(rig, &all[i]);
                CHECK(round_trip(rig, &all[i], 10 * (i + 1) + turn, 10 * (i + 1) + turn + 1));
            }
            for (unsigned i = 0; i < made; i++)
                drop(&all[turn % 2 ? made - 1 - i : i]);
        }
        while (made > 0)
            shared_close(&all[--made]);
    }
}

/* Sizes, formats and kinds take turns: a staging copy of another shape is none. */
SHARING_CASE("shapes take turns", other_shapes, 0)
{
    static const struct rig_desc shapes[] = {
        {.width = SHARED_BYTES},
        {.width = SHARED_BYTES / 2},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 4},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 8, .height = 4},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 8},
        {.format = DXGI_FORMAT_R32_UINT, .width = 8, .height = 4},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 4, .depth = 1},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 4, .depth = 2},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 2, .depth = 4},
    };
    enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };
    void *resources[SHAPES];
    unsigned char bytes[SHARED_BYTES], found[SHARED_BYTES];
    for (unsigned i = 0; i < SHAPES; i++) {
        rig_pattern(bytes, sizeof(bytes), i);
        resources[i] = rig_make(rig, rig->device, &shapes[i], NULL);
        CHECK(resources[i] != NULL);
        rig_write(rig, resources[i], &shapes[i], 0, bytes);
    }
    for (unsigned at = 0; at < 4 * SHAPES; at++) {
        const unsigned i = at / SHAPES % 2 ? SHAPES - 1 - at % SHAPES : at % SHAPES;
        const enum kind kind = shapes[i].depth ? KIND_3D : shapes[i].height ? KIND_2D : KIND_BUFFER;
        const size_t region[3] = {shapes[i].width, shapes[i].height, shapes[i].depth ? shapes[i].depth : 1};
        const size_t size = kind == KIND_BUFFER ? region[0] : 4 * region[0] * region[1] * region[2];
        struct shared shared = {.kind = kind, .resource = resources[i]};
        shared.object = create(rig, &shared);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(kind == KIND_BUFFER
                      ? clEnqueueReadBuffer(rig->queue, shared.object, CL_TRUE, 0, size, found, 0, NULL, NULL)
                      : clEnqueueReadImage(rig->queue, shared.object, CL_TRUE, no_origin(), region, 0, 0, found, 0,
                                           NULL, NULL),
                  CL_SUCCESS);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        rig_pattern(bytes, sizeof(bytes), i);
        CHECK_MEM(found, bytes, size);
        drop(&shared);
    }
    for (unsigned i = 0; i < SHAPES; i++)
        rig_release(resources[i]);
}

#ifndef _WIN32
/* Memory is short where a staging copy is made: those that are kept for others make way. */
SHARING_CASE("memory is short", kept_ones_make_way, 0)
{
    struct shared kept, fresh;
    if (!shared_open(rig, KIND_2D, 1, &kept))
        return;
    CHECK(round_trip(rig, &kept, 1, 2));
    shared_close(&kept);
    if (!shared_open(rig, KIND_3D, 3, &fresh))
        return;
    CHECK(fake_d3d_fail("CreateTexture3D", 1, E_OUTOFMEMORY) > 0);
    CHECK_INT(acquire_one(rig, fresh.object), CL_SUCCESS);
    fake_d3d_fail("CreateTexture3D", 0, S_OK);
    CHECK_INT(release_one(rig, fresh.object), CL_SUCCESS);
    CHECK(round_trip(rig, &fresh, 3, 4));
    shared_close(&fresh);
}
#endif

TAP_MAIN
