/* Shared buffers: sizes, ways to be made, and parts of them. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- sizes and flags ---- */

static const UINT sizes[] = {1, 3, 4, 16, 17, 255, 4096, 65536, 65537, (1 << 20) + 3};

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
    {.bind = D3D11_BIND_CONSTANT_BUFFER},
    {.bind = D3D11_BIND_CONSTANT_BUFFER, .usage = RIG_DYNAMIC},
    {.usage = RIG_STAGING},
    {.bind = D3D11_BIND_SHADER_RESOURCE, .misc = D3D11_RESOURCE_MISC_SHARED},
};

/* Whether Direct3D has a buffer of so many bytes, made so. */
static bool can_be(const struct rig *rig, const struct rig_desc *desc)
{
    if (desc->bind & D3D11_BIND_CONSTANT_BUFFER)
        return desc->width % 16 == 0 && desc->width <= 65536;
    if (desc->bind & D3D11_BIND_UNORDERED_ACCESS)
        return rig->api->version == 11;
    if (desc->usage != RIG_DYNAMIC || rig_can_map(rig, desc))
        return true;
    printf("# left out: %u bytes, which Direct3D maps at an address that does not exist\n", desc->width);
    return false;
}

DATA_CASE("buffers of all sizes, made in each way", each_way, 0)
{
    for (unsigned i = 0; i < COUNT(ways) * COUNT(sizes); i++) {
        const unsigned w = i / COUNT(sizes);
        const struct rig_desc desc = {
            .width = sizes[i % COUNT(sizes)], .bind = ways[w].bind, .usage = ways[w].usage, .misc = ways[w].misc};
        const int before = failures();
        struct shared s;
        if (!can_be(rig, &desc) || !shared_open(&s, rig, &desc, 0, CL_MEM_READ_WRITE))
            continue;
        shared_round_trip(&s, 1);
        shared_close(&s);
        remark_failures(before, "%u bytes, usage %d, bind 0x%x, misc 0x%x", desc.width, (int)desc.usage, desc.bind,
                        desc.misc);
    }
}

/* ---- parts ---- */

DATA_CASE("a part of a buffer read and written", read_and_write, 0)
{
    enum { LENGTH = 1000, OFFSET = 13, PART = 701 };
    static const struct rig_desc desc = {.width = LENGTH, .bind = D3D11_BIND_VERTEX_BUFFER};
    struct shared s;
    if (!shared_open(&s, rig, &desc, 0, CL_MEM_READ_WRITE))
        return;
    unsigned char *expected = shared_pattern(&s, 1), *other = shared_pattern(&s, 2), found[PART] = {0};
    shared_prepare(&s, 1);
    shared_acquire(&s);
    CHECK_INT(clEnqueueReadBuffer(s.queue, s.memory, CL_TRUE, OFFSET, PART, found, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(found, expected + OFFSET, PART);
    CHECK_INT(clEnqueueWriteBuffer(s.queue, s.memory, CL_TRUE, OFFSET, PART, other, 0, NULL, NULL), CL_SUCCESS);
    shared_release(&s);
    memcpy(expected + OFFSET, other, PART);
    shared_d3d_expect_bytes(&s, expected);
    shared_close(&s);
    free(other);
    free(expected);
}

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
