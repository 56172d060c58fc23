/* Shared buffers: sizes, ways to be made, and the commands and kernels that work on them. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- sizes and flags ---- */

static void one_round_trip(const struct rig *rig, const struct rig_desc *desc)
{
    const int before = failures();
    struct shared s;
    if (shared_open(&s, rig, desc, 0, CL_MEM_READ_WRITE)) {
        shared_round_trip(&s, 1);
        shared_close(&s);
    }
    remark_failures(before, "%u bytes, usage %d, bind 0x%x, misc 0x%x", desc->width, (int)desc->usage, desc->bind,
                    desc->misc);
}

static const UINT sizes[] = {1, 3, 4, 16, 17, 255, 4096, 65537, (1 << 20) + 3};

static const struct {
    UINT bind;
    enum rig_usage usage;
    UINT misc;
} ways[] = {
    {.bind = 0},
    {.bind = D3D11_BIND_VERTEX_BUFFER},
    {.bind = D3D11_BIND_INDEX_BUFFER},
    {.bind = D3D11_BIND_SHADER_RESOURCE},
    {.bind = D3D11_BIND_UNORDERED_ACCESS},
    {.bind = D3D11_BIND_VERTEX_BUFFER, .usage = RIG_DYNAMIC},
    {.bind = D3D11_BIND_INDEX_BUFFER, .usage = RIG_DYNAMIC},
    {.bind = D3D11_BIND_SHADER_RESOURCE, .usage = RIG_DYNAMIC},
    {.usage = RIG_STAGING},
    {.bind = D3D11_BIND_SHADER_RESOURCE, .misc = D3D11_RESOURCE_MISC_SHARED},
};

DATA_CASE("buffers of all sizes, made in each way", each_way, 0)
{
    for (unsigned w = 0; w < COUNT(ways); w++) {
        if (rig->api->version == 10 && ways[w].bind == D3D11_BIND_UNORDERED_ACCESS)
            continue; /* Direct3D 10 has no such thing */
        for (unsigned i = 0; i < COUNT(sizes); i++) {
            const struct rig_desc desc = {
                .width = sizes[i], .bind = ways[w].bind, .usage = ways[w].usage, .misc = ways[w].misc};
            if (desc.usage != RIG_DYNAMIC || rig_can_map(rig, &desc))
                one_round_trip(rig, &desc);
            else
                printf("# left out: %u bytes, which Direct3D maps at an address that does not exist\n", desc.width);
        }
    }
}

DATA_CASE("constant buffers", constants, 0)
{
    static const UINT constant_sizes[] = {16, 32, 256, 4096, 65536};
    for (unsigned i = 0; i < COUNT(constant_sizes); i++) {
        struct rig_desc desc = {.width = constant_sizes[i], .bind = D3D11_BIND_CONSTANT_BUFFER};
        one_round_trip(rig, &desc);
        desc.usage = RIG_DYNAMIC;
        one_round_trip(rig, &desc);
    }
}

/* ---- commands ---- */

enum { LENGTH = 1000, OFFSET = 13, PART = 701 };

/* A buffer with the pattern of seed 1 in Direct3D, acquired. */
static bool open_acquired(struct shared *s, const struct rig *rig)
{
    static const struct rig_desc desc = {.width = LENGTH, .bind = D3D11_BIND_VERTEX_BUFFER};
    if (!shared_open(s, rig, &desc, 0, CL_MEM_READ_WRITE))
        return false;
    shared_prepare(s, 1);
    shared_acquire(s);
    return true;
}

/* Releases the buffer: Direct3D must find the pattern of seed 1 with the `size` first bytes of that of seed 2 at
 * `offset`. */
static void close_changed(struct shared *s, size_t offset, size_t size)
{
    unsigned char *expected = shared_pattern(s, 1), *other = shared_pattern(s, 2);
    memcpy(expected + offset, other, size);
    shared_release(s);
    shared_d3d_expect_bytes(s, expected);
    shared_close(s);
    free(other);
    free(expected);
}

DATA_CASE("a part of a buffer read and written", read_and_write, 0)
{
    struct shared s;
    if (!open_acquired(&s, rig))
        return;
    unsigned char *was = shared_pattern(&s, 1), *other = shared_pattern(&s, 2), found[PART] = {0};
    CHECK_INT(clEnqueueReadBuffer(s.queue, s.memory, CL_TRUE, OFFSET, PART, found, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(found, was + OFFSET, PART);
    CHECK_INT(clEnqueueWriteBuffer(s.queue, s.memory, CL_TRUE, OFFSET, PART, other, 0, NULL, NULL), CL_SUCCESS);
    close_changed(&s, OFFSET, PART);
    free(other);
    free(was);
}

/* A rectangle of 7 bytes in 5 rows, 23 bytes apart in the buffer. */
DATA_CASE("a rectangle of a buffer read and written", rectangles, 0)
{
    const size_t origin[3] = {3, 2, 0}, zero[3] = {0, 0, 0}, region[3] = {7, 5, 1};
    struct shared s;
    if (!open_acquired(&s, rig))
        return;
    unsigned char *was = shared_pattern(&s, 1), *other = shared_pattern(&s, 2), expected[35], found[35] = {0};
    for (size_t y = 0; y < 5; y++)
        memcpy(expected + y * 7, was + (y + 2) * 23 + 3, 7);
    CHECK_INT(
        clEnqueueReadBufferRect(s.queue, s.memory, CL_TRUE, origin, zero, region, 23, 0, 7, 0, found, 0, NULL, NULL),
        CL_SUCCESS);
    CHECK_MEM(found, expected, 35);
    CHECK_INT(
        clEnqueueWriteBufferRect(s.queue, s.memory, CL_TRUE, origin, zero, region, 23, 0, 7, 0, other, 0, NULL, NULL),
        CL_SUCCESS);
    shared_release(&s);
    for (size_t y = 0; y < 5; y++)
        memcpy(was + (y + 2) * 23 + 3, other + y * 7, 7);
    shared_d3d_expect_bytes(&s, was);
    shared_close(&s);
    free(other);
    free(was);
}

DATA_CASE("a part of a buffer copied to another", copy, 0)
{
    struct shared pair[2];
    if (!open_acquired(&pair[0], rig))
        return;
    if (open_acquired(&pair[1], rig)) {
        shared_release(&pair[0]);
        shared_prepare(&pair[0], 2);
        shared_acquire(&pair[0]);
        CHECK_INT(clEnqueueCopyBuffer(rig->queue, pair[0].memory, pair[1].memory, 0, OFFSET, PART, 0, NULL, NULL),
                  CL_SUCCESS);
        close_changed(&pair[1], OFFSET, PART);
        shared_release(&pair[0]);
        shared_d3d_expect(&pair[0], 2);
    }
    shared_close(&pair[0]);
}

DATA_CASE("a part of a buffer filled", fill, 0)
{
    static const unsigned char value[4] = {0x12, 0x34, 0x56, 0x78};
    struct shared s;
    if (!open_acquired(&s, rig))
        return;
    unsigned char *expected = shared_pattern(&s, 1);
    CHECK_INT(clEnqueueFillBuffer(s.queue, s.memory, value, 4, 12, 700, 0, NULL, NULL), CL_SUCCESS);
    shared_release(&s);
    for (size_t i = 12; i < 712; i++)
        expected[i] = value[i % 4];
    shared_d3d_expect_bytes(&s, expected);
    shared_close(&s);
    free(expected);
}

DATA_CASE("a part of a buffer mapped", map, 0)
{
    static const cl_map_flags flags[] = {CL_MAP_READ | CL_MAP_WRITE, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    for (unsigned i = 0; i < COUNT(flags); i++) {
        struct shared s;
        cl_int status;
        if (!open_acquired(&s, rig))
            return;
        unsigned char *was = shared_pattern(&s, 1), *other = shared_pattern(&s, 2);
        unsigned char *mapped =
            clEnqueueMapBuffer(s.queue, s.memory, CL_TRUE, flags[i], OFFSET, PART, 0, NULL, NULL, &status);
        if (CHECK_INT(status, CL_SUCCESS)) {
            if (flags[i] & CL_MAP_READ)
                CHECK_MEM(mapped, was + OFFSET, PART);
            memcpy(mapped, other, PART);
            CHECK_INT(clEnqueueUnmapMemObject(s.queue, s.memory, mapped, 0, NULL, NULL), CL_SUCCESS);
        }
        close_changed(&s, OFFSET, PART);
        free(other);
        free(was);
    }
}

/* ---- kernels and sub-buffers ---- */

static const char change_source[] = "kernel void change(global uchar *bytes, uint step, uchar value)\n"
                                    "{\n"
                                    "    bytes[get_global_id(0) * step] += value;\n"
                                    "}\n";

/* Adds to every third byte: the rest has to stay. */
static void change(struct shared *s, cl_mem memory, size_t count, cl_uchar value)
{
    const cl_uint step = 3;
    cl_kernel kernel = rig_kernel(s->rig, change_source, "change");
    if (!kernel)
        return;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &memory), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(step), &step), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 2, sizeof(value), &value), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), CL_SUCCESS);
    clReleaseKernel(kernel);
}

DATA_CASE("a kernel changes some bytes of a buffer", kernel, 0)
{
    struct shared s;
    if (!open_acquired(&s, rig))
        return;
    unsigned char *expected = shared_pattern(&s, 1);
    change(&s, s.memory, 300, 7);
    shared_release(&s);
    for (size_t i = 0; i < 300; i++)
        expected[i * 3] = (unsigned char)(expected[i * 3] + 7);
    shared_d3d_expect_bytes(&s, expected);
    shared_close(&s);
    free(expected);
}

/* A sub-buffer is a part of the buffer, whether it was made before or after an acquire. */
DATA_CASE("a kernel changes some bytes of a sub-buffer", sub_buffers, 0)
{
    static const struct rig_desc desc = {.width = 16384, .bind = D3D11_BIND_VERTEX_BUFFER};
    const cl_buffer_region region = {4096, 6000};
    struct shared s;
    cl_int status;
    if (!shared_open(&s, rig, &desc, 0, CL_MEM_READ_WRITE))
        return;
    unsigned char *expected = shared_pattern(&s, 1), *found = calloc(1, region.size);
    cl_mem sub = clCreateSubBuffer(s.memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        shared_prepare(&s, 1);
        shared_acquire(&s);
        CHECK_INT(clEnqueueReadBuffer(s.queue, sub, CL_TRUE, 0, region.size, found, 0, NULL, NULL), CL_SUCCESS);
        CHECK_MEM(found, expected + region.origin, region.size);
        change(&s, sub, 1500, 9);
        shared_release(&s);
        for (size_t i = 0; i < 1500; i++)
            expected[region.origin + i * 3] = (unsigned char)(expected[region.origin + i * 3] + 9);
        shared_d3d_expect_bytes(&s, expected);
        clReleaseMemObject(sub);
    }
    shared_close(&s);
    free(found);
    free(expected);
}

TAP_MAIN
