/* Data with respect to objects: who holds what, many objects and contexts at once, and what flags promise. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One of each kind. */
static const struct rig_desc kinds[] = {
    {.width = 1021, .bind = D3D11_BIND_VERTEX_BUFFER},
    {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 31, .height = 17, .bind = D3D11_BIND_SHADER_RESOURCE},
    {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 9, .height = 5, .depth = 4, .bind = D3D11_BIND_SHADER_RESOURCE},
};
static const char *const kind_names[] = {"buffer", "2D texture", "3D texture"};

static void each_kind(const struct rig *rig, void (*test)(const struct rig *, const struct rig_desc *))
{
    for (unsigned i = 0; i < COUNT(kinds); i++) {
        const int before = failures();
        test(rig, &kinds[i]);
        remark_failures(before, "%s", kind_names[i]);
    }
}

/* ---- who holds what ---- */

/* The application lets go of the resource as soon as it has the object: the object alone keeps it. */
static void dropped_resource_of(const struct rig *rig, const struct rig_desc *desc)
{
    struct shared s;
    if (!shared_open(&s, rig, desc, 0, CL_MEM_READ_WRITE))
        return;
    rig_release(s.resource); /* the only reference of the test; the pointer still serves */
    shared_round_trip(&s, 1);
    shared_round_trip(&s, 11);
    s.resource = NULL;
    shared_close(&s);
}

DATA_CASE("the application drops the resource and goes on with the object", dropped_resource, 0)
{
    each_kind(rig, dropped_resource_of);
}

/* ---- many at once ---- */

enum { LEVELS = 4, SLICES = 5, MANY = LEVELS * SLICES };

static const struct rig_desc many_desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                          .width = 33,
                                          .height = 17,
                                          .levels = LEVELS,
                                          .slices = SLICES,
                                          .bind = D3D11_BIND_SHADER_RESOURCE};

/* An object for each subresource of one texture. */
static bool open_many(const struct rig *rig, struct shared *objects)
{
    void *texture = rig_make(rig, rig->device, &many_desc, NULL);
    UINT made = 0;
    if (CHECK(texture != NULL))
        while (made < MANY &&
               shared_join(&objects[made], rig, rig->context, rig->queue, texture, &many_desc, made, CL_MEM_READ_WRITE))
            made++;
    rig_release(texture);
    if (made == MANY)
        return true;
    while (made)
        shared_close(&objects[--made]);
    return false;
}

DATA_CASE("20 objects of one texture, acquired and released together", many_together, 0)
{
    struct shared objects[MANY];
    if (!open_many(rig, objects))
        return;
    for (UINT i = 0; i < MANY; i++)
        shared_prepare(&objects[i], 1 + i);
    shared_acquire_all(objects, MANY);
    for (UINT i = 0; i < MANY; i++) {
        const int before = failures();
        void *data = shared_pattern(&objects[i], 40 + i);
        shared_cl_expect(&objects[i], 1 + i);
        shared_cl_write(&objects[i], data);
        free(data);
        remark_failures(before, "subresource %u", i);
    }
    shared_release_all(objects, MANY);
    for (UINT i = 0; i < MANY; i++) {
        const int before = failures();
        shared_d3d_expect(&objects[i], 40 + i);
        remark_failures(before, "subresource %u", i);
    }
    for (UINT i = 0; i < MANY; i++)
        shared_close(&objects[i]);
}

/* ---- flags ---- */

static const cl_mem_flags all_flags[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};

/* Flags speak of kernels. Commands of the host read and write any object. */
static void flags_of(const struct rig *rig, const struct rig_desc *desc)
{
    for (unsigned i = 0; i < COUNT(all_flags); i++) {
        const int before = failures();
        struct shared s;
        if (shared_open(&s, rig, desc, 0, all_flags[i])) {
            shared_round_trip(&s, 1);
            shared_close(&s);
        }
        remark_failures(before, "flags 0x%x", (unsigned)all_flags[i]);
    }
}

DATA_CASE("the host reads and writes objects of all flags", flags, 0)
{
    each_kind(rig, flags_of);
}

/* In 32 bits rusticl 22.3 ends a process whose kernel divides 64 bits. */
static const char mark_source[] = "kernel void mark_image(write_only image2d_t image)\n"
                                  "{\n"
                                  "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                                  "    if ((at.x + at.y) % 3 == 0)\n"
                                  "        write_imageui(image, at, (uint4)(1, 2, 3, 4));\n"
                                  "}\n"
                                  "kernel void mark_buffer(global uchar *bytes)\n"
                                  "{\n"
                                  "    if ((uint)get_global_id(0) % 3 == 0)\n"
                                  "        bytes[get_global_id(0)] = 5;\n"
                                  "}\n";

/* A kernel writes to a third of an object: the rest keeps what Direct3D has. */
static void run_mark(struct shared *s)
{
    cl_kernel kernel = rig_kernel(s->rig, mark_source, shared_is_buffer(s) ? "mark_buffer" : "mark_image");
    if (!kernel)
        return;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &s->memory), CL_SUCCESS);
    CHECK_INT(
        clEnqueueNDRangeKernel(s->queue, kernel, shared_is_buffer(s) ? 1 : 2, NULL, s->extent, NULL, 0, NULL, NULL),
        CL_SUCCESS);
    clReleaseKernel(kernel);
}

/* What the kernel makes of the pattern of seed 1. */
static unsigned char *marked(struct shared *s)
{
    static const unsigned char texel[4] = {1, 2, 3, 4};
    unsigned char *bytes = shared_pattern(s, 1);
    for (size_t i = 0; shared_is_buffer(s) && i < s->bytes; i += 3)
        bytes[i] = 5;
    for (size_t y = 0; !shared_is_buffer(s) && y < s->extent[1]; y++)
        for (size_t x = 0; x < s->extent[0]; x++)
            if ((x + y) % 3 == 0)
                memcpy(bytes + y * s->row + x * 4, texel, 4);
    return bytes;
}

DATA_CASE("a kernel writes a part of an object", partial_writes, 0)
{
    static const cl_mem_flags writable[] = {CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE};
    for (unsigned i = 0; i < 4; i++) {
        const int before = failures();
        struct shared s;
        if (!shared_open(&s, rig, &kinds[i / 2], 0, writable[i % 2]))
            continue;
        unsigned char *expected = marked(&s);
        shared_prepare(&s, 1);
        shared_acquire(&s);
        run_mark(&s);
        shared_release(&s);
        shared_d3d_expect_bytes(&s, expected);
        free(expected);
        shared_close(&s);
        remark_failures(before, "%s, flags 0x%x", kind_names[i / 2], (unsigned)writable[i % 2]);
    }
}

TAP_MAIN
