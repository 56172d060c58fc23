/* Rows (transport/rows.c) over a Vulkan that is played, which records images and shares none: the kinds of memory, how each imitated
 * driver (tests/drivers/external.c) sees them, what goes wrong, and what is kept. test_beside.c has planes and emulated formats. The
 * cases named "part" run in processes of their own, since what a pair of devices can is found out once. */
#include "direct.h"

#include <sys/resource.h>

enum { FILE_BIT = 4, DMA_BUF_BIT = 2, EVERY_KIND = 7 };

static bool imitates(const char *driver)
{
    const char *imitated = getenv("CLD3D_TEST_IMITATES");
    return strcmp(imitated ? imitated : "", driver) == 0;
}

/* Whether the case runs as a part of another; the faults of the first objects are in the environment. */
static bool is_part(void)
{
    const char *fault = getenv("CLD3D_TEST_FAULT");
    int kind = 0, number = 0;
    if (!fault) {
        SKIP("only as a part of other cases");
        return false;
    }
    sscanf(fault, "%d:%d", &kind, &number);
    fake_d3d_vulkan_fault((enum fake_d3d_vulkan_fault)kind, number);
    return true;
}

#define NO_BYTE "; the CPU moved 0 bytes"
static const char warns[] = "they go another way", by_rows[] = "shared by: rows in ";

/* ---- there and back ---- */

static void acquire_and_write(const struct rig *rig, const struct shared *shared, unsigned seed)
{
    static unsigned char bytes[SHARED_BYTES]; /* until the release */
    rig_pattern(bytes, sizeof(bytes), seed);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
}

/* A frame that is only read copies nothing back, one that is written does; a failure changes nothing, and the next call works. A
 * texture may move at any time. */
static void there_and_back(const struct rig *rig, enum kind kind)
{
    struct shared shared;
    if (!shared_open(rig, kind, 1, &shared))
        return;
    looks_plain(shared.object);
    for (unsigned turn = 1; turn < 4; turn++)
        CHECK(round_trip(rig, &shared, turn, turn + 1));
    fake_d3d_vulkan_move();
    fake_d3d_vulkan_fault(FAKE_VULKAN_OVER_FAILS, 0);
    CHECK_INT(acquire_one(rig, shared.object), CL_OUT_OF_RESOURCES);
    CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
    fake_d3d_vulkan_fault(FAKE_VULKAN_BACK_FAILS, 0);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(fake_d3d_vulkan_acquired(), fake_d3d_vulkan_imported() > 0);
    CHECK(cl_has(rig->queue, &shared, 4));
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS); /* nothing goes back */
    acquire_and_write(rig, &shared, 9);
    CHECK_INT(release_one(rig, shared.object), CL_OUT_OF_RESOURCES);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    CHECK(d3d_has(rig, &shared, 4));
    CHECK(round_trip(rig, &shared, 4, 7));
    acquire_and_write(rig, &shared, 5);
    fake_d3d_vulkan_move();
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 5, 6));
    CHECK_INT(fake_d3d_vulkan_acquired(), 0);
    shared_close(&shared);
}

SHARING_CASE("part: images", images, 0)
{
    if (!is_part())
        return;
    there_and_back(rig, KIND_2D);
    there_and_back(rig, KIND_3D);
}

/* In which memory each driver has the rows, best kind first, and how it sees them: images of two and of three dimensions. */
CASE("rows: by which method", methods)
{
    const bool copies = !imitates("neo") && !imitates("rocm");
    PART("part: images", FAKE_VULKAN_NO_FAULT, 0, NULL,
         {imitates("neo")    ? "1 objects shared by: rows in a dma-buf, an image of them" NO_BYTE
          : imitates("rocm") ? "1 objects shared by: rows in host memory, an image of them" NO_BYTE
          : imitates("")     ? "2 objects shared by: rows in an image (opaque file descriptor)" NO_BYTE
                             : "2 objects shared by: rows in host memory, copied by OpenCL" NO_BYTE,
          2},
         {imitates("neo")    ? "1 objects shared by: rows in a dma-buf, copied by OpenCL" NO_BYTE
          : imitates("rocm") ? "1 objects shared by: rows in host memory, copied by OpenCL" NO_BYTE
                             : NO_BYTE,
          2},
         {"shared by", copies ? 2 : 4}, {warns, 0});
    PART("part: images", FAKE_VULKAN_NO_FAULT, 0, "host",
         {imitates("")           ? "2 objects shared by: rows in host memory, in place" NO_BYTE
          : imitates("radeonsi") ? "2 objects shared by: rows in host memory, copied by OpenCL" NO_BYTE
                                 : "1 objects shared by: rows in host memory, an image of them" NO_BYTE,
          2},
         {"shared by", copies ? 2 : 4}, {NO_BYTE, copies ? 2 : 4});
}

/* ---- what does not work ---- */

/* A kind that Vulkan does not make is tried once, with one warning. */
CASE("rows: kinds that Vulkan does not make", no_rows)
{
    const unsigned tried = imitates("") ? 3 : imitates("neo") ? 2 : 1;
    if (imitates("")) {
        PART("part: images", FAKE_VULKAN_NO_ROWS, FILE_BIT, NULL, {"shared by: rows in a dma-buf, copied", 2},
             {warns, 1});
        PART("part: images", FAKE_VULKAN_NO_ROWS, FILE_BIT | DMA_BUF_BIT, NULL,
             {"shared by: rows in host memory, in pl", 2}, {warns, 2});
    }
    PART("part: one object", FAKE_VULKAN_NO_ROWS, EVERY_KIND, NULL, {by_rows, 0},
         {"this Vulkan makes no rows", 2 + tried});
}

/* What the self-check finds. One that hangs is left behind after a second. */
SHARING_CASE("part: one object", one_object, 0)
{
    struct shared shared;
    const double before = test_now();
    if (!is_part() || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    CHECK(test_now() - before < 5);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    CHECK(round_trip(rig, &shared, 1, 2));
    shared_close(&shared);
}

CASE("rows: what the self-check finds", self_check)
{
    PART("part: one object", FAKE_VULKAN_WRONG_ROWS, 0, "host", {by_rows, 0}, {warns, 1},
         {"a device does not see what the other has written; they go", 1}, {"not rows: a device does not see", 2});
    PART("part: one object", FAKE_VULKAN_SLOW_ROWS, 0, "host", {by_rows, 0}, {warns, 1},
         {"did not end within a second; they go", 1});
}

/* A self-check for which there is no memory is made again for the next object. */
SHARING_CASE("part: two objects", two_objects, 0)
{
    struct shared all[2];
    if (!is_part() || !shared_open(rig, KIND_2D, 1, &all[0]))
        return;
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    if (shared_open(rig, KIND_2D, 2, &all[1])) {
        CHECK_INT(fake_d3d_vulkan_rows(), rig->api->version == 11 ? 1 : 2); /* by then the pair is known */
        for (unsigned i = 0; i < 2; i++)
            CHECK(round_trip(rig, &all[i], 1 + i, 5 + i));
        shared_close(&all[1]);
    }
    shared_close(&all[0]);
}

CASE("rows: no memory for a self-check", no_memory)
{
    PART("part: two objects", FAKE_VULKAN_NO_CONTEXT, CL_OUT_OF_HOST_MEMORY, NULL,
         {"not rows: no memory for a self-check", 1}, {warns, 0});
}

/* The objects go another way. */
CASE("rows: no kind of memory that is known", misspelt)
{
    PART("part: one object", FAKE_VULKAN_NO_FAULT, 0, "hosts", {by_rows, 0}, {"'hosts' names no kind of memory", 2});
}

/* ---- limits ---- */

enum { SIDE = 1024, OBJECTS = 4 }; /* as many of them as the memory is enough for: a sixteenth of 256 MiB */

static cl_mem make_large(const struct rig *rig, void **texture, UINT side)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = side, .height = side};
    *texture = rig_make(rig, rig->device, &desc, NULL);
    return rig->create_2d(rig->context, CL_MEM_READ_WRITE, *texture, 0, NULL);
}

SHARING_CASE("part: too many", too_many, 0)
{
    void *textures[OBJECTS + 3];
    cl_mem objects[OBJECTS + 3];
    struct shared another;
    if (!is_part())
        return;
    for (int i = 0; i < OBJECTS + 3; i++) {
        objects[i] = make_large(rig, &textures[i], SIDE);
        CHECK_INT(fake_d3d_vulkan_rows(), i < OBJECTS ? i + 1 : OBJECTS);
        if (i == OBJECTS || i == OBJECTS + 1) /* room for one more; what is kept gives way to what has another size */
            CHECK_INT(clReleaseMemObject(objects[i - OBJECTS]), CL_SUCCESS);
        if (i == OBJECTS + 1 && shared_open(rig, KIND_2D, 1, &another)) {
            CHECK_INT(fake_d3d_vulkan_rows(), OBJECTS);
            shared_close(&another);
        }
    }
    CHECK_INT(rig->acquire(rig->queue, OBJECTS + 1, objects + 2, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, OBJECTS + 1, objects + 2, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 0; i < OBJECTS + 3; i++) {
        if (i > 1)
            CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
        rig_release(textures[i]);
    }
}

/* Of six sizes at a time some are not kept: what those had is free for others. */
SHARING_CASE("part: many sizes", many_sizes, 0)
{
    enum { SIZES = 6, TURNS = 10 };
    if (!is_part())
        return;
    for (UINT turn = 0; turn < TURNS; turn++) {
        void *textures[SIZES];
        cl_mem objects[SIZES];
        for (UINT i = 0; i < SIZES; i++)
            objects[i] = make_large(rig, &textures[i], 256 + 64 * i + 384 * (turn % 2));
        CHECK(fake_d3d_vulkan_rows() >= SIZES);
        for (UINT i = 0; i < SIZES; i++) {
            CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
            rig_release(textures[i]);
        }
    }
}

CASE("rows: no more memory than a part of the device's", limit)
{
    test_setenv("CLD3D_TEST_MEMORY", "256");
    PART("part: many sizes", FAKE_VULKAN_NO_FAULT, 0, "host", {"the object's transport: rows", 2},
         {"not rows: the context's objects have", 0});
    PART("part: too many", FAKE_VULKAN_NO_FAULT, 0, "host", {"the object's transport: rows", 4},
         {"not rows: the context's objects have 16 MiB of such memory", 2});
    test_setenv("CLD3D_TEST_MEMORY", NULL);
}

static long most_kib(void)
{
    struct rusage usage;
    return CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0) ? usage.ru_maxrss : 0;
}

SHARING_CASE("rows: many objects, one after the other", many, 0)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const unsigned count = 1000;
#else
    const unsigned count = 10000;
#endif
    long before = 0;
    for (unsigned i = 1; i < 8; i++) { /* what is kept of these makes room */
        const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 256 * i, .height = 256};
        void *texture = rig_make(rig, rig->device, &desc, NULL);
        CHECK_INT(clReleaseMemObject(rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, 0, NULL)), CL_SUCCESS);
        rig_release(texture);
    }
    for (unsigned i = 0; i < count; i++) {
        struct shared shared;
        if (!shared_open(rig, i % 7 ? KIND_2D : KIND_3D, i, &shared))
            return;
        CHECK(i % 50 || round_trip(rig, &shared, i, i + 1));
        const unsigned alive = fake_d3d_vulkan_rows();
        shared_close(&shared);
        if (!CHECK(fake_d3d_vulkan_rows() <= 4))
            return;
        /* its memory is one of those that were kept; an object that lies in a buffer may leave a moment later */
        CHECK(alive <= 4 || i < 8 || imitates("neo"));
        before = i == count / 2 ? most_kib() : before;
    }
    if (count == 10000)
        CHECK(most_kib() < before + 1024);
}

struct tap_case tap_case;

/* The contexts of all cases are gone. PoCL 7.1 destroys memory in a thread of its own, a while later. */
static unsigned what_is_left(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    unsigned left = 1;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    for (int i = 0; i < 1000 && left; i++) {
        left =
            fake_d3d_vulkan_rows() + fake_d3d_vulkan_imported() + fake_d3d_vulkan_files() + fake_d3d_vulkan_acquired();
        if (left) {
            rig_let_go(device);
            pause_ms(10);
        }
    }
    return left;
}

int main(int argc, char **argv)
{
    const int status = direct_main(argc, argv);
    const char *fault = getenv("CLD3D_TEST_FAULT");
    if (fault && atoi(fault) == FAKE_VULKAN_SLOW_ROWS) /* a self-check goes on */
        return status;
    const unsigned left = what_is_left();
    if (left)
        printf("# %u rows, imports, files and acquired objects are left\n", left);
    return left ? 1 : status;
}
