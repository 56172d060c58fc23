/* What the tests of lifetimes have in common: counts of Direct3D's references, a context beside the rig's, a kernel
 * that uses a shared object, a mapping. */
#ifndef CLD3D_TESTS_LIFETIME_H
#define CLD3D_TESTS_LIFETIME_H

#include "sharing.h"

/* Whether the resource of an object is kept until no command uses the object any more, since that lies in memory of ours or of
 * the resource. An image that is imported from a file descriptor holds the memory by itself. */
static inline bool kind_is_kept(const struct rig *rig, int kind)
{
    if (over_transport("record") && kind != 0) /* an image is in rows */
        return false;
    return kind_is_direct(rig, kind) ? over_mapped() || (over_transport("export") && kind == 0) : works_in_place();
}

/* ---- counts ---- */

/* What Direct3D counts on the device and a resource at some moment. */
struct counts {
    ULONG device, resource;
};

static inline struct counts count(const struct rig *rig, const struct shared *shared)
{
    return (struct counts){rig_refs(rig->device), rig_refs(shared->resource)};
}

/* Checks that there are so many more references than before, at once or in a later call, because commands may use the memory; on the
 * device up to `staged` more. */
static inline bool counts_become(const struct rig *rig, const struct shared *shared, struct counts before,
                                 unsigned device, unsigned resource, unsigned staged)
{
    struct counts more;
    bool same_device, same_resource;
    for (int i = 0;; i++) {
        const struct counts now = count(rig, shared);
        more = (struct counts){now.device - before.device, now.resource - before.resource};
        same_device = more.device == device || more.device == device + staged;
        same_resource = more.resource == resource;
        if ((same_device && same_resource) || i == 1000)
            break;
        rig_let_go(rig->cl_device);
        pause_ms(10);
    }
    return (same_device || CHECK_INT(more.device, device)) && (same_resource || CHECK_INT(more.resource, resource));
}

static inline bool counts_are(const struct rig *rig, const struct shared *shared, struct counts before, unsigned device,
                              unsigned resource)
{
    return counts_become(rig, shared, before, device, resource, 0);
}

/* The same for an object that may have been given a staging copy when it was made, which is a child of the device and stays
 * with the context: one reference more on the device. */
static inline bool counts_are_or_staged(const struct rig *rig, const struct shared *shared, struct counts before,
                                        unsigned device, unsigned resource)
{
    return counts_become(rig, shared, before, device, resource, lies_in_staging());
}

static inline cl_uint mem_refs(cl_mem object)
{
    cl_uint refs = 0;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    return refs;
}

/* A context of its own with a queue, in a copy of the rig. */
static inline bool second_open(const struct rig *rig, struct rig *second)
{
    *second = rig_on(rig, rig->device);
    return second->context != NULL;
}

static inline void second_close(struct rig *second)
{
    if (second->queue)
        CHECK_INT(clReleaseCommandQueue(second->queue), CL_SUCCESS);
    if (second->context)
        CHECK_INT(clReleaseContext(second->context), CL_SUCCESS);
    second->queue = NULL;
    second->context = NULL;
}

static inline cl_mem create(const struct rig *rig, const struct shared *shared)
{
    cl_int status = 1;
    cl_mem object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, shared->kind, shared->resource, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    return object;
}

/* The context keeps the staging copy of an object that is gone for the next one of that shape, and a staging copy is a
 * child of the device. With that one there all counts are exact. */
static inline struct counts count_kept(const struct rig *rig, struct shared *shared)
{
    shared->object = create(rig, shared);
    CHECK(round_trip(rig, shared, 1, 1));
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = NULL;
    return count(rig, shared);
}

/* ---- a kernel on a shared object ---- */

static const char *const kernel_sources[KINDS] = {
    "kernel void use(global uint *in, global uint *out) { out[get_global_id(0)] = in[get_global_id(0)]; }\n",
    "kernel void use(read_only image2d_t in, global uint *out)\n"
    "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  out[get_global_id(0)] = read_imageui(in, s, (int2)(get_global_id(0), 0)).x; }\n",
    "kernel void use(read_only image3d_t in, global uint *out)\n"
    "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  out[get_global_id(0)] = read_imageui(in, s, (int4)(get_global_id(0), 0, 0, 0)).x; }\n",
};

/* The kernels' programs are compiled once, and then made of what came out: there are thousands of contexts here. */
static struct binary {
    unsigned char *bytes;
    size_t size;
} binaries[KINDS];

static inline void keep_binary(cl_kernel kernel, struct binary *binary)
{
    cl_program program = NULL;
    CHECK_INT(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(binary->size), &binary->size, NULL),
              CL_SUCCESS);
    binary->bytes = malloc(binary->size);
    CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary->bytes), &binary->bytes, NULL), CL_SUCCESS);
}

static inline cl_kernel kernel_of_binary(const struct rig *rig, const struct binary *binary)
{
    cl_int status = 1, loaded = 1;
    const unsigned char *bytes = binary->bytes;
    cl_program program =
        clCreateProgramWithBinary(rig->context, 1, &rig->cl_device, &binary->size, &bytes, &loaded, &status);
    if (!CHECK_INT(status, CL_SUCCESS) ||
        !CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "", NULL, NULL), CL_SUCCESS))
        return NULL;
    cl_kernel kernel = clCreateKernel(program, "use", &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    return kernel;
}

/* The kernel with the object and a plain buffer as arguments. */
static inline cl_kernel kernel_for(const struct rig *rig, const struct shared *shared, cl_mem out)
{
    struct binary *binary = &binaries[shared->kind];
    cl_kernel kernel =
        binary->bytes ? kernel_of_binary(rig, binary) : rig_kernel(rig, kernel_sources[shared->kind], "use");
    if (!kernel)
        return NULL;
    if (!binary->bytes)
        keep_binary(kernel, binary);
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared->object), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &out), CL_SUCCESS);
    return kernel;
}

static inline cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event *wait,
                            cl_event *event)
{
    const size_t size = 4;
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, wait_count, wait, event);
}

static inline void *map_whole(const struct rig *rig, const struct shared *shared)
{
    cl_int status = 1;
    size_t row = 0, slice = 0;
    void *pointer;
    if (shared->kind == KIND_BUFFER)
        pointer = clEnqueueMapBuffer(rig->queue, shared->object, CL_TRUE, CL_MAP_READ, 0, SHARED_BYTES, 0, NULL, NULL,
                                     &status);
    else
        pointer = clEnqueueMapImage(rig->queue, shared->object, CL_TRUE, CL_MAP_READ, no_origin(),
                                    kind_region(shared->kind), &row, &slice, 0, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return pointer;
}

#endif
