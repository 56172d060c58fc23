/* Every format of the extensions' table, 2D and 3D, as kernels see it: what one finds in an image, and what one leaves there. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

/* ---- the kernels ---- */

/* For each class of formats one that reads an image, and one that writes it where the device can. */
static const char source_text[] =
    "constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "#define PLACE ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + "
    "get_global_id(0))\n"
    "#if DEEP\n"
    "#define IMAGE image3d_t\n"
    "#define AT (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0)\n"
    "#else\n"
    "#define IMAGE image2d_t\n"
    "#define AT (int2)(get_global_id(0), get_global_id(1))\n"
    "#endif\n"
    "#define LOAD(class, colour) kernel void load_##class(read_only IMAGE image, global colour *colours) "
    "{ colours[PLACE] = read_image##class(image, texel, AT); }\n"
    "#define STORE(class, colour) kernel void store_##class(write_only IMAGE image, global const colour *colours) "
    "{ write_image##class(image, AT, colours[PLACE]); }\n"
    "LOAD(f, float4) LOAD(i, int4) LOAD(ui, uint4)\n"
    "#if STORES\n"
    "#if DEEP\n"
    "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"
    "#endif\n"
    "STORE(f, float4) STORE(i, int4) STORE(ui, uint4)\n"
    "#endif\n";

static bool writes_3d(const struct rig *rig)
{
    static char extensions[8192];
    clGetDeviceInfo(rig->cl_device, CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions, NULL);
    return strstr(extensions, "cl_khr_3d_image_writes") != NULL;
}

static cl_program build(const struct rig *rig, bool deep)
{
    char source[sizeof(source_text) + 64];
    snprintf(source, sizeof(source), "#define DEEP %d\n#define STORES %d\n%s", deep, !deep || writes_3d(rig),
             source_text);
    return rig_program(rig, source);
}

/* Those of the common rigs, for all cases: a build takes most of its time before it comes to a kernel. */
static cl_program programs[2][2];

/* Runs before the common rigs are closed, as they were opened before it was registered. */
static void forget_programs(void)
{
    for (int i = 0; i < 4; i++)
        if (programs[i / 2][i % 2])
            clReleaseProgram(programs[i / 2][i % 2]);
}

/* Of the common rig, or of a context of OpenCL alone. */
static cl_program program_for(const struct shared *s)
{
    static bool forgets;
    const bool deep = s->desc.depth;
    cl_program *program = &programs[s->rig->api->version == 10][deep];
    if (!s->resource)
        return build(s->rig, deep);
    if (!forgets)
        forgets = atexit(forget_programs) == 0;
    if (!*program)
        *program = build(s->rig, deep);
    if (*program)
        clRetainProgram(*program);
    return *program;
}

static size_t texels_of(const struct shared *s)
{
    return s->extent[0] * s->extent[1] * s->extent[2];
}

/* Runs a kernel on the image and a buffer of colours, for each texel one. What the buffer holds then replaces them. */
static void run(struct shared *s, const char *task, const struct format *format, union colour *colours)
{
    static const char *const classes[] = {[FORMAT_F] = "f", [FORMAT_I] = "i", [FORMAT_UI] = "ui"};
    const size_t size = texels_of(s) * sizeof(*colours);
    char name[32];
    cl_int status = 1;
    cl_program program = program_for(s);
    if (!program)
        return;
    snprintf(name, sizeof(name), "%s_%s", task, classes[format_class(format)]);
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, colours, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &s->memory), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffer), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(s->queue, kernel, s->desc.depth ? 3 : 2, NULL, s->extent, NULL, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(s->queue, buffer, CL_TRUE, 0, size, colours, 0, NULL, NULL), CL_SUCCESS);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

/* ---- OpenCL alone ---- */

/* What a case does on an image that is acquired or not shared at all, and has the pattern of seed 1. Returns what came out. */
typedef void *(*work_function)(struct shared *s, const struct format *format);

/* The same with an image of the driver's own, in a context without interop. A driver that computes something else than the
 * specification says does so there too, and then shared images have to behave as those do. */
static void *work_alone(const struct shared *s, const struct format *format, work_function work)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)s->rig->platform, 0};
    const cl_image_desc desc = {.image_type = s->desc.depth ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                                .image_width = s->extent[0],
                                .image_height = s->extent[1],
                                .image_depth = s->desc.depth ? s->extent[2] : 0};
    struct rig rig = *s->rig;
    struct shared image = *s;
    void *bytes = shared_pattern(s, 1), *found = NULL;
    rig.context = image.context = clCreateContext(properties, 1, &rig.cl_device, NULL, NULL, NULL);
    rig.queue = image.queue = clCreateCommandQueue(rig.context, rig.cl_device, 0, NULL);
    image.rig = &rig;
    image.resource = NULL;
    image.memory = clCreateImage(rig.context, CL_MEM_READ_WRITE, &format->cl, &desc, NULL, NULL);
    if (image.memory) {
        shared_cl_write(&image, bytes);
        found = work(&image, format);
        clReleaseMemObject(image.memory);
    }
    free(bytes);
    clReleaseCommandQueue(rig.queue);
    clReleaseContext(rig.context);
    return found;
}

/* Compares what came out with what must, or with what comes out of images of the driver's own where that is different. */
static void judge(const struct shared *s, const struct format *format, const void *found, const void *expected,
                  size_t size, work_function work)
{
    void *own = memcmp(found, expected, size) != 0 ? work_alone(s, format, work) : NULL;
    if (own && memcmp(own, expected, size) != 0) {
        char remark[160];
        snprintf(remark, sizeof(remark),
                 "# %s, %s: wrong in this OpenCL driver without any sharing; only compared with that", format->name,
                 s->desc.depth ? "3D" : "2D");
        tap_line(remark);
        expected = own;
    }
    CHECK_MEM(found, expected, size);
    free(own);
}

/* ---- what kernels do ---- */

/* The colours of an image with the pattern of a seed. */
static union colour *colours_of(const struct shared *s, const struct format *format, unsigned seed)
{
    const size_t count = texels_of(s);
    unsigned char *bytes = shared_pattern(s, seed);
    union colour *colours = calloc(count, sizeof(*colours));
    for (size_t i = 0; i < count; i++)
        colours[i] = format_colour(format, bytes + i * format_texel(format));
    free(bytes);
    return colours;
}

/* The colours that a kernel finds. Roundings of normalised channels are taken out. */
static void *load(struct shared *s, const struct format *format)
{
    union colour *expected = colours_of(s, format, 1), *found = calloc(texels_of(s), sizeof(*found));
    run(s, "load", format, found);
    for (size_t i = 0; i < texels_of(s); i++)
        if (format_is_colour(format, &found[i], &expected[i]))
            found[i] = expected[i];
    free(expected);
    return found;
}

static void kernel_reads(struct shared *s, const struct format *format)
{
    union colour *expected = colours_of(s, format, 1);
    shared_prepare(s, 1);
    shared_acquire(s);
    void *found = load(s, format);
    shared_release(s);
    judge(s, format, found, expected, texels_of(s) * sizeof(*expected), load);
    shared_d3d_expect(s, 1);
    free(found);
    free(expected);
}

static void *store(struct shared *s, const struct format *format)
{
    union colour *colours = colours_of(s, format, 3);
    void *bytes = calloc(1, s->bytes);
    run(s, "store", format, colours);
    shared_cl_read(s, bytes);
    free(colours);
    return bytes;
}

/* What Direct3D finds must be what came out. */
static void kernel_writes(struct shared *s, const struct format *format)
{
    void *expected = shared_pattern(s, 3), *found = calloc(1, s->bytes);
    union colour *colours = colours_of(s, format, 3);
    shared_prepare(s, 1);
    shared_acquire(s);
    run(s, "store", format, colours);
    shared_release(s);
    rig_read(s->rig, s->resource, &s->desc, s->subresource, found);
    judge(s, format, found, expected, s->bytes, store);
    free(colours);
    free(found);
    free(expected);
}

/* ---- the cases ---- */

static bool can_write_3d(const struct rig *rig)
{
    if (writes_3d(rig))
        return true;
    SKIP("no kernel of this device can write to a 3D image");
    return false;
}

FORMAT_CASES("a kernel reads the values of each format", kernel_reads, true)
FORMAT_CASES("a kernel writes the values of each format", kernel_writes, can_write_3d(rig))

TAP_MAIN
