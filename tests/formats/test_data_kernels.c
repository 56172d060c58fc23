/* Every format of the extensions' table, 2D and 3D, as kernels see it. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

/* ---- the kernels ---- */

enum task { TASK_LOAD, TASK_STORE, TASK_COPY, TASK_COMPUTE, TASKS };

enum { CLASSES = 3, NAME_SIZE = 32, SOURCE_SIZE = 64 << 10 };

static const char source_start[] =
    "constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "#define PLACE ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + "
    "get_global_id(0))\n";

/* The kernel of one task for one class of formats and one kind of image, as the macros before it say, which it undefines. */
static const char source_text[] =
    "#if DEEP\n"
    "#define IMAGE image3d_t\n"
    "#define AT (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0)\n"
    "#else\n"
    "#define IMAGE image2d_t\n"
    "#define AT (int2)(get_global_id(0), get_global_id(1))\n"
    "#endif\n"
    "#if TASK == 0\n"
    "kernel void NAME(read_only IMAGE image, global COLOUR *colours) { colours[PLACE] = READ(image, texel, AT); }\n"
    "#elif TASK == 1\n"
    "kernel void NAME(write_only IMAGE image, global const COLOUR *colours) { WRITE(image, AT, colours[PLACE]); }\n"
    "#elif TASK == 2\n"
    "kernel void NAME(read_only IMAGE from, write_only IMAGE to, int way) { WRITE(to, AT, READ(from, texel, AT)); }\n"
    "#else\n"
    "kernel void NAME(read_only IMAGE from, write_only IMAGE to, int way)\n"
    "{\n"
    "    COLOUR x = READ(from, texel, AT);\n"
    "    WRITE(to, AT, way == 0 ? (COLOUR)(1) - x : way == 1 ? -x : OTHER);\n"
    "}\n"
    "#endif\n"
    "#undef IMAGE\n"
    "#undef AT\n"
    "#undef NAME\n"
    "#undef TASK\n"
    "#undef DEEP\n"
    "#undef COLOUR\n"
    "#undef READ\n"
    "#undef WRITE\n"
    "#undef OTHER\n";

/* How `compute` is done for the channel type; the same as format_compute. */
static cl_int way_of(const struct format *format)
{
    switch (format->cl.image_channel_data_type) {
    case CL_UNORM_INT8:
    case CL_UNORM_INT16: return 0;
    default: return format_class(format) == FORMAT_F ? 1 : 2;
    }
}

/* What a program can only have where the device writes to 3D images. */
static bool writes_deep(enum task task, bool deep)
{
    return deep && task != TASK_LOAD;
}

static void start_source(char *source, bool deep_writes)
{
    snprintf(source, SOURCE_SIZE, "%s%s",
             deep_writes ? "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n" : "", source_start);
}

static void name_kernel(char *name, enum task task, enum format_class class, bool deep)
{
    static const char *const tasks[] = {"load", "store", "copy", "compute"};
    static const char *const classes[] = {"f", "i", "ui"};
    snprintf(name, NAME_SIZE, "%s_%s_%s", tasks[task], classes[class], deep ? "3d" : "2d");
}

static void add_kernel(char *source, enum task task, enum format_class class, bool deep)
{
    static const char *const suffix[] = {"f", "i", "ui"};
    static const char *const colour[] = {"float4", "int4", "uint4"};
    static const char *const other[] = {"x", "x ^ 42", "x ^ 42u"};
    const size_t length = strlen(source);
    char name[NAME_SIZE];
    name_kernel(name, task, class, deep);
    snprintf(source + length, SOURCE_SIZE - length,
             "#define NAME %s\n#define TASK %d\n#define DEEP %d\n#define COLOUR %s\n#define READ read_image%s\n"
             "#define WRITE write_image%s\n#define OTHER %s\n%s",
             name, (int)task, deep, colour[class], suffix[class], suffix[class], other[class], source_text);
}

/* What the common rigs have for all cases: a build takes most of its time before it comes to a kernel. */
static struct kernels {
    cl_program programs[2]; /* the second has those of writes_deep */
    cl_kernel made[TASKS][CLASSES][2];
} common_kernels[2];

static cl_program build_common(const struct rig *rig, bool deep_writes)
{
    char *source = malloc(SOURCE_SIZE);
    start_source(source, deep_writes);
    for (int t = 0; t < TASKS; t++)
        for (int c = 0; c < CLASSES; c++)
            for (int deep = 0; deep < 2; deep++)
                if (writes_deep((enum task)t, deep) == deep_writes)
                    add_kernel(source, (enum task)t, (enum format_class)c, deep);
    cl_program program = rig_program(rig, source);
    free(source);
    return program;
}

static void forget_kernels(struct kernels *kernels)
{
    cl_kernel *made = &kernels->made[0][0][0];
    for (size_t i = 0; i < sizeof(kernels->made) / sizeof(*made); i++)
        if (made[i])
            clReleaseKernel(made[i]);
    for (unsigned i = 0; i < 2; i++)
        if (kernels->programs[i])
            clReleaseProgram(kernels->programs[i]);
}

/* Runs before the common rigs are closed, as they were opened before it was registered. */
static void forget_common_kernels(void)
{
    forget_kernels(&common_kernels[0]);
    forget_kernels(&common_kernels[1]);
}

static cl_kernel common_kernel(const struct rig *rig, enum task task, enum format_class class, bool deep)
{
    static bool forgets;
    struct kernels *kernels = &common_kernels[rig->api->version == 10];
    cl_program *program = &kernels->programs[writes_deep(task, deep)];
    cl_kernel *kernel = &kernels->made[task][class][deep];
    char name[NAME_SIZE];
    cl_int status;
    if (!forgets)
        forgets = atexit(forget_common_kernels) == 0;
    if (!*program)
        *program = build_common(rig, writes_deep(task, deep));
    if (!*program || *kernel)
        return *kernel;
    name_kernel(name, task, class, deep);
    *kernel = clCreateKernel(*program, name, &status);
    CHECK_INT(status, CL_SUCCESS);
    return *kernel;
}

/* The one kernel that a context of OpenCL alone needs. */
static cl_kernel plain_kernel;

static cl_kernel build_plain(const struct rig *rig, enum task task, enum format_class class, bool deep)
{
    char *source = malloc(SOURCE_SIZE);
    char name[NAME_SIZE];
    start_source(source, writes_deep(task, deep));
    add_kernel(source, task, class, deep);
    name_kernel(name, task, class, deep);
    cl_kernel kernel = rig_kernel(rig, source, name);
    free(source);
    return kernel;
}

static cl_kernel kernel_for(const struct shared *s, enum task task, const struct format *format)
{
    const enum format_class class = format_class(format);
    if (s->resource)
        return common_kernel(s->rig, task, class, s->desc.depth);
    if (!plain_kernel)
        plain_kernel = build_plain(s->rig, task, class, s->desc.depth);
    return plain_kernel;
}

static void run(struct shared *s, cl_kernel kernel)
{
    const cl_uint dimensions = s->desc.depth ? 3 : 2;
    CHECK_INT(clEnqueueNDRangeKernel(s->queue, kernel, dimensions, NULL, s->extent, NULL, 0, NULL, NULL), CL_SUCCESS);
}

/* ---- OpenCL alone ---- */

/* Images of the driver's own, in a context without interop. A driver that computes something else than the specification
 * says does so with them too, and then shared images have to behave as those do. */
struct plain {
    struct rig rig;
    struct shared images[2]; /* like the shared ones, but with no resource */
};

static bool plain_open(struct plain *plain, const struct shared *s, const struct format *format)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)s->rig->platform, 0};
    const cl_image_desc desc = {.image_type = s->desc.depth ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                                .image_width = s->extent[0],
                                .image_height = s->extent[1],
                                .image_depth = s->desc.depth ? s->extent[2] : 0};
    plain->rig = *s->rig;
    plain->rig.context = clCreateContext(properties, 1, &s->rig->cl_device, NULL, NULL, NULL);
    plain->rig.queue = clCreateCommandQueue(plain->rig.context, s->rig->cl_device, 0, NULL);
    bool made = true;
    for (unsigned i = 0; i < 2; i++) {
        plain->images[i] = *s;
        plain->images[i].rig = &plain->rig;
        plain->images[i].context = plain->rig.context;
        plain->images[i].queue = plain->rig.queue;
        plain->images[i].resource = NULL;
        plain->images[i].memory = clCreateImage(plain->rig.context, CL_MEM_READ_WRITE, &format->cl, &desc, NULL, NULL);
        made = made && plain->images[i].memory;
    }
    return made;
}

static void plain_close(struct plain *plain)
{
    for (unsigned i = 0; i < 2; i++)
        if (plain->images[i].memory)
            clReleaseMemObject(plain->images[i].memory);
    clReleaseCommandQueue(plain->rig.queue);
    clReleaseContext(plain->rig.context);
    if (plain_kernel)
        clReleaseKernel(plain_kernel);
    plain_kernel = NULL;
}

/* What a case does, on two images that are acquired or not shared at all: gives the first the pattern of seed 1 and the
 * second that of seed 2, if they are not shared, lets a kernel work and returns what came out. */
typedef void *(*work_function)(struct shared *images, const struct format *format);

/* Compares what came out with what must, or with what comes out of images of the driver's own where that is different. */
static void judge(const struct shared *s, const struct format *format, const void *found, const void *expected,
                  size_t size, work_function work)
{
    struct plain plain;
    void *own = NULL;
    if (memcmp(found, expected, size) != 0) {
        if (plain_open(&plain, s, format)) {
            void *bytes[2] = {shared_pattern(s, 1), shared_pattern(s, 2)};
            for (unsigned i = 0; i < 2; i++) {
                shared_cl_write(&plain.images[i], bytes[i]);
                free(bytes[i]);
            }
            own = work(plain.images, format);
        }
        plain_close(&plain);
    }
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

/* ---- images and buffers of colours ---- */

static size_t texels_of(const struct shared *s)
{
    return s->extent[0] * s->extent[1] * s->extent[2];
}

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

static cl_mem colour_buffer(struct shared *s, union colour *colours)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   texels_of(s) * sizeof(*colours), colours, &status);
    CHECK_INT(status, CL_SUCCESS);
    return buffer;
}

static void run_on_buffer(struct shared *s, cl_kernel kernel, cl_mem buffer)
{
    if (!kernel)
        return;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &s->memory), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffer), CL_SUCCESS);
    run(s, kernel);
}

/* What an image holds, read by a command of OpenCL. */
static void *bytes_of(struct shared *s)
{
    void *bytes = calloc(1, s->bytes);
    shared_cl_read(s, bytes);
    return bytes;
}

/* ---- a kernel reads ---- */

/* The colours that a kernel finds. Roundings of normalised channels are taken out. */
static void *load(struct shared *images, const struct format *format)
{
    struct shared *s = &images[0];
    union colour *expected = colours_of(s, format, 1), *found = calloc(texels_of(s), sizeof(*found));
    cl_mem buffer = colour_buffer(s, found);
    run_on_buffer(s, kernel_for(s, TASK_LOAD, format), buffer);
    CHECK_INT(clEnqueueReadBuffer(s->queue, buffer, CL_TRUE, 0, texels_of(s) * sizeof(*found), found, 0, NULL, NULL),
              CL_SUCCESS);
    for (size_t i = 0; i < texels_of(s); i++)
        if (format_is_colour(format, &found[i], &expected[i]))
            found[i] = expected[i];
    clReleaseMemObject(buffer);
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

/* ---- a kernel writes ---- */

static void store(struct shared *s, const struct format *format)
{
    union colour *colours = colours_of(s, format, 3);
    cl_mem buffer = colour_buffer(s, colours);
    run_on_buffer(s, kernel_for(s, TASK_STORE, format), buffer);
    CHECK_INT(clFinish(s->queue), CL_SUCCESS);
    clReleaseMemObject(buffer);
    free(colours);
}

static void *store_and_read(struct shared *images, const struct format *format)
{
    store(&images[0], format);
    return bytes_of(&images[0]);
}

/* What Direct3D finds must be what came out. */
static void judge_d3d(struct shared *s, const struct format *format, const void *expected, work_function work)
{
    void *found = calloc(1, s->bytes);
    rig_read(s->rig, s->resource, &s->desc, s->subresource, found);
    judge(s, format, found, expected, s->bytes, work);
    free(found);
}

static void kernel_writes(struct shared *s, const struct format *format)
{
    void *expected = shared_pattern(s, 3);
    shared_prepare(s, 1);
    shared_acquire(s);
    store(s, format);
    shared_release(s);
    judge_d3d(s, format, expected, store_and_read);
    free(expected);
}

/* ---- a kernel reads one image and writes another ---- */

static void transform(struct shared *images, enum task task, const struct format *format)
{
    const cl_int way = way_of(format);
    cl_kernel kernel = kernel_for(images, task, format);
    if (!kernel)
        return;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &images[0].memory), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &images[1].memory), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 2, sizeof(way), &way), CL_SUCCESS);
    run(images, kernel);
}

static void *copy_and_read(struct shared *images, const struct format *format)
{
    transform(images, TASK_COPY, format);
    return bytes_of(&images[1]);
}

static void *compute_and_read(struct shared *images, const struct format *format)
{
    transform(images, TASK_COMPUTE, format);
    return bytes_of(&images[1]);
}

/* `expected`: what the kernel makes of the pattern of seed 1. */
static void transform_shared(struct shared *s, enum task task, const struct format *format, const void *expected,
                             work_function work)
{
    struct shared pair[2] = {*s};
    if (!shared_open(&pair[1], s->rig, &s->desc, 0, CL_MEM_READ_WRITE))
        return;
    shared_prepare(&pair[0], 1);
    shared_prepare(&pair[1], 2);
    shared_acquire_all(pair, 2);
    transform(pair, task, format);
    shared_release_all(pair, 2);
    judge_d3d(&pair[1], format, expected, work);
    shared_d3d_expect(&pair[0], 1);
    shared_close(&pair[1]);
}

static void kernel_copies(struct shared *s, const struct format *format)
{
    void *expected = shared_pattern(s, 1);
    transform_shared(s, TASK_COPY, format, expected, copy_and_read);
    free(expected);
}

static void kernel_computes(struct shared *s, const struct format *format)
{
    void *expected = shared_pattern(s, 1);
    format_compute(format, expected, s->bytes);
    transform_shared(s, TASK_COMPUTE, format, expected, compute_and_read);
    free(expected);
}

/* ---- the cases ---- */

static bool writes_3d(const struct rig *rig)
{
    static char extensions[8192];
    clGetDeviceInfo(rig->cl_device, CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions, NULL);
    if (strstr(extensions, "cl_khr_3d_image_writes"))
        return true;
    SKIP("no kernel of this device can write to a 3D image");
    return false;
}

FORMAT_CASES("a kernel reads the values of each format", kernel_reads, true)
FORMAT_CASES("a kernel writes the values of each format", kernel_writes, writes_3d(rig))
FORMAT_CASES("a kernel copies an image of each format to another", kernel_copies, writes_3d(rig))
FORMAT_CASES("a kernel computes an image of each format from another", kernel_computes, writes_3d(rig))

TAP_MAIN
