/* A kernel that leaves more in an emulated image than its format can hold, and one that reads the image (two test programs). */
#ifndef CLD3D_TESTS_UNQUANTIZED_H
#define CLD3D_TESTS_UNQUANTIZED_H

#include "sharing.h"

enum { WIDTH = 8, HEIGHT = 4, TEXELS = WIDTH * HEIGHT };

/* The image is the caller's; the others are made and released here. */
struct unquantized {
    cl_kernel leave, look;
    cl_mem seen; /* the texels that `look` has read, as floats */
};

static inline struct unquantized unquantized_open(const struct rig *rig, cl_mem image)
{
    static const char leave[] = "kernel void leave(write_only image2d_t to)\n"
                                "{\n"
                                "    write_imagef(to, (int2)(get_global_id(0), get_global_id(1)),\n"
                                "                 (float4)(1.0f, 0.0f, 0.6f, 0.8f));\n"
                                "}\n";
    static const char look[] =
        "constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
        "kernel void look(read_only image2d_t from, global float4 *to)\n"
        "{\n"
        "    const int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
        "    to[p.y * get_global_size(0) + p.x] = read_imagef(from, at, p);\n"
        "}\n";
    const struct unquantized u = {rig_kernel(rig, leave, "leave"), rig_kernel(rig, look, "look"),
                                  clCreateBuffer(rig->context, CL_MEM_READ_WRITE, TEXELS * 16, NULL, NULL)};
    CHECK_INT(clSetKernelArg(u.leave, 0, sizeof(image), &image), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(u.look, 0, sizeof(image), &image), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(u.look, 1, sizeof(u.seen), &u.seen), CL_SUCCESS);
    return u;
}

static inline void unquantized_close(const struct unquantized *u)
{
    CHECK_INT(clReleaseKernel(u->leave), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(u->look), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(u->seen), CL_SUCCESS);
}

static inline cl_int unquantized_launch(const struct rig *rig, cl_kernel kernel)
{
    static const size_t size[2] = {WIDTH, HEIGHT};
    return clEnqueueNDRangeKernel(rig->queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL);
}

/* What `look` saw is what the format can hold. It is cleared for the next time. */
static inline void unquantized_expect_quantized(const struct rig *rig, cl_mem seen)
{
    static const cl_float quantized[4] = {1, 0, 0, 1};
    cl_float texels[TEXELS][4];
    CHECK_INT(clEnqueueReadBuffer(rig->queue, seen, CL_TRUE, 0, sizeof(texels), texels, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 0; i < TEXELS; i++)
        CHECK_MEM(texels[i], quantized, sizeof(quantized));
    memset(texels, 0, sizeof(texels));
    CHECK_INT(clEnqueueWriteBuffer(rig->queue, seen, CL_TRUE, 0, sizeof(texels), texels, 0, NULL, NULL), CL_SUCCESS);
}

#endif
