/* Planes over a Vulkan that is played (suites native-export and native-record): OpenCL imports no plane and Direct3D copies none, so the Vulkan side
 * copies them to rows on the GPU. Which way they go, what comes over and back, and what goes wrong on the way. */
#include "lifetime.h"

enum { WIDTH = 64, HEIGHT = 32, LUMA = WIDTH * HEIGHT, FRAME = LUMA * 3 / 2, KEPT_ROWS = 4 };

static const struct rig_desc nv12 = {.format = DXGI_FORMAT_NV12, .width = WIDTH, .height = HEIGHT};

/* A frame of Direct3D's. */
static void *make_frame(const struct rig *rig, unsigned char *bytes, unsigned seed)
{
    const struct rig_desc staging_desc = {
        .format = DXGI_FORMAT_NV12, .width = WIDTH, .height = HEIGHT, .usage = RIG_STAGING};
    void *texture = rig_make(rig, rig->device, &nv12, NULL), *staging = rig_make(rig, rig->device, &staging_desc, NULL);
    rig_pattern(bytes, FRAME, seed);
    if (CHECK(texture != NULL) && CHECK(staging != NULL)) {
        rig_write(rig, staging, &staging_desc, 0, bytes);
        rig_copy(rig, texture, staging, 0);
    }
    rig_release(staging);
    return texture;
}

static cl_mem make_luma(const struct rig *rig, void *texture)
{
    cl_int status = 1;
    cl_mem object = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    return object;
}

static bool luma_is(const struct rig *rig, cl_mem object, const unsigned char *expected)
{
    const size_t origin[3] = {0}, region[3] = {WIDTH, HEIGHT, 1};
    unsigned char bytes[LUMA] = {0};
    CHECK_INT(clEnqueueReadImage(rig->queue, object, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL), CL_SUCCESS);
    return CHECK_MEM(bytes, expected, LUMA);
}

static void write_luma(const struct rig *rig, cl_mem object, const unsigned char *bytes)
{
    const size_t origin[3] = {0}, region[3] = {WIDTH, HEIGHT, 1};
    CHECK_INT(clEnqueueWriteImage(rig->queue, object, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL), CL_SUCCESS);
}

/* `copies`: the Vulkan side copies it. What Direct3D has put off is done before each copy. */
static void frame_both_ways(const struct rig *rig, unsigned copies)
{
    unsigned char frame[FRAME], there[FRAME];
    void *texture = make_frame(rig, frame, 1);
    if (!texture)
        return;
    cl_mem object = make_luma(rig, texture);
    CHECK_INT(fake_d3d_vulkan_rows() != 0, copies != 0);
    for (unsigned turn = 0; turn < 3; turn++) {
        const unsigned transitions = fake_d3d_vulkan_transitions();
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        CHECK_INT(fake_d3d_vulkan_transitions() - transitions, copies * 2);
        luma_is(rig, object, frame);
        rig_pattern(frame, LUMA, 20 + turn);
        write_luma(rig, object, frame);
        CHECK_INT(release_one(rig, object), CL_SUCCESS);
        rig_read(rig, texture, &nv12, 0, there);
        CHECK_MEM(there, frame, FRAME); /* the other plane too */
    }
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    rig_release(texture);
    CHECK(fake_d3d_vulkan_rows() <= KEPT_ROWS);
}

/* In a context without interop, where nothing is emulated. */
static bool device_has_luma(const struct rig *rig)
{
    cl_int status = 1;
    cl_context plain = clCreateContext(NULL, 1, &rig->cl_device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    const bool has = images_have_format(plain, CL_MEM_OBJECT_IMAGE2D, (cl_image_format){CL_R, CL_UNORM_INT8});
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    return has;
}

/* Images of another format are copied to rows and converted there, except by PoCL itself, which is the processor. */
static bool no_copies(const struct rig *rig)
{
    const bool has_luma = (over_transport("record") && getenv("CLD3D_TEST_IMITATES")) || device_has_luma(rig);
    if (!has_luma)
        SKIP("the device has no images of one channel, so planes go through the host");
    return !has_luma;
}

SHARING_CASE("beside: a plane comes over and goes back", both_ways, 0)
{
    if (!no_copies(rig))
        frame_both_ways(rig, 1);
}

SHARING_CASE("beside: no rows, and no import of them", no_copy, 0)
{
    if (no_copies(rig))
        return;
    fake_d3d_vulkan_fault(FAKE_VULKAN_IMPORT_FAILS, 999); /* then host memory serves */
    frame_both_ways(rig, 1);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    frame_both_ways(rig, 1);
}

/* What fails fails once, and the next acquire and release work. */
SHARING_CASE("beside: copies fail", copies_fail, 0)
{
    unsigned char frame[FRAME], there[FRAME];
    void *texture = no_copies(rig) ? NULL : make_frame(rig, frame, 3);
    if (!texture)
        return;
    cl_mem object = make_luma(rig, texture);
    fake_d3d_vulkan_fault(FAKE_VULKAN_OVER_FAILS, 0);
    CHECK_INT(acquire_one(rig, object), CL_OUT_OF_RESOURCES);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    luma_is(rig, object, frame);
    write_luma(rig, object, frame + 1);
    fake_d3d_vulkan_fault(FAKE_VULKAN_BACK_FAILS, 0);
    CHECK_INT(release_one(rig, object), CL_OUT_OF_RESOURCES);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    rig_read(rig, texture, &nv12, 0, there);
    CHECK_MEM(there, frame, FRAME);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    luma_is(rig, object, frame);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    rig_release(texture);
    CHECK(fake_d3d_vulkan_rows() <= KEPT_ROWS);
}

/* Of two objects of a plane, each in a context, one is only read, and released last. */
SHARING_CASE("beside: of two objects one is only read", only_read, 0)
{
    unsigned char frame[FRAME], there[FRAME];
    struct rig second;
    void *texture = make_frame(rig, frame, 3);
    if (!texture || !second_open(rig, &second))
        return;
    cl_mem reads = make_luma(rig, texture), writes = make_luma(&second, texture);
    CHECK_INT(acquire_one(rig, reads), CL_SUCCESS);
    CHECK_INT(acquire_one(&second, writes), CL_SUCCESS);
    luma_is(rig, reads, frame);
    rig_pattern(frame, LUMA, 20);
    write_luma(&second, writes, frame);
    CHECK_INT(release_one(&second, writes), CL_SUCCESS);
    CHECK_INT(release_one(rig, reads), CL_SUCCESS);
    rig_read(rig, texture, &nv12, 0, there);
    CHECK_MEM(there, frame, FRAME);
    CHECK_INT(clReleaseMemObject(reads), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(writes), CL_SUCCESS);
    second_close(&second);
    rig_release(texture);
    CHECK(fake_d3d_vulkan_rows() <= KEPT_ROWS);
}

/* More in one list than the Vulkan side is given at once. */
SHARING_CASE("beside: many planes in a list", many, 0)
{
    enum { COUNT = 70 };
    static unsigned char frames[COUNT][FRAME];
    unsigned char there[FRAME];
    void *textures[COUNT];
    cl_mem objects[COUNT];
    unsigned made = 0;
    if (no_copies(rig))
        return;
    while (made < COUNT && (textures[made] = make_frame(rig, frames[made], 1 + made))) {
        objects[made] = make_luma(rig, textures[made]);
        made++;
    }
    CHECK_INT(fake_d3d_vulkan_rows(), COUNT);
    fake_d3d_vulkan_fault(FAKE_VULKAN_OVER_FAILS, 0);
    CHECK_INT(rig->acquire(rig->queue, made, objects, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    CHECK_INT(rig->acquire(rig->queue, made, objects, 0, NULL, NULL), CL_SUCCESS);
    for (unsigned i = 0; i < made; i++) {
        luma_is(rig, objects[i], frames[i]);
        rig_pattern(frames[i], LUMA, 100 + i);
        write_luma(rig, objects[i], frames[i]);
    }
    CHECK_INT(rig->release(rig->queue, made, objects, 0, NULL, NULL), CL_SUCCESS);
    for (unsigned i = 0; i < made; i++) {
        rig_read(rig, textures[i], &nv12, 0, there);
        CHECK_MEM(there, frames[i], FRAME);
        CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
        rig_release(textures[i]);
    }
    CHECK(fake_d3d_vulkan_rows() <= KEPT_ROWS);
}

TAP_MAIN
