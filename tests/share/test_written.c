/* What goes back to Direct3D in a release: all that a command may have changed since the acquire, and nothing else. */
#include "commands.h"

/* ---- counting ---- */

#ifndef _WIN32
/* How many ways back to Direct3D there are in one release. An import has none; there the bytes are looked at. */
static unsigned ways_back(const struct rig *rig, cl_mem object)
{
    const unsigned before = fake_d3d_calls("CopySubresourceRegion");
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    return fake_d3d_calls("CopySubresourceRegion") - before;
}
#define CHECK_WAYS(rig, object, expected) CHECK_INT(ways_back((rig), (object)), over_import() ? 0 : (expected))
#else
/* Wine's Direct3D does not count; the bytes are looked at. */
#define CHECK_WAYS(rig, object, expected) ((void)(expected), CHECK_INT(release_one((rig), (object)), CL_SUCCESS))
#endif

static void done(const struct rig *rig, cl_int status)
{
    CHECK_INT(status, CL_SUCCESS);
    queue_wait(rig->queue);
}

/* ---- commands ---- */

static bool can_run(const struct command_case *command, bool part, bool native)
{
    return command->tried == ALWAYS || (command->tried == NO_PARTS && !part) || (command->tried == IF_NATIVE && native);
}

/* Each command alone between an acquire and a release of `root`, with `object`, which is `root` or a part of it. */
static void each_command(const struct scene *scene, cl_mem root, cl_mem object, enum kind kind)
{
    size_t count;
    const struct command_case *commands = commands_of(kind, &count);
    const bool part = is_part(object), native = runs_native_kernels(scene->rig);
    for (size_t i = 0; i < count; i++) {
        if (!can_run(&commands[i], part, native))
            continue;
        CHECK_INT(acquire_one(scene->rig, root), CL_SUCCESS);
        done(scene->rig, commands[i].run(scene, object, kind, NULL));
        if (!CHECK_WAYS(scene->rig, root, commands[i].writes))
            printf("# in %s, kind %d\n", commands[i].name, (int)kind);
    }
}

SCENE_CASE("every command alone", every_command, 0)
{
    (void)rig;
    for (int kind = 0; kind < KINDS; kind++)
        each_command(scene, scene->shared[kind].object, scene->shared[kind].object, (enum kind)kind);
}

SCENE_CASE("no command", no_command, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const struct shared *shared = &scene->shared[kind];
        for (int i = 0; i < 2; i++) {
            CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
            CHECK_WAYS(rig, shared->object, 0);
        }
        CHECK(d3d_has(rig, shared, 1 + (unsigned)kind));
        /* What was written in one acquire has gone back, and does not again. */
        CHECK(round_trip(rig, shared, 1 + (unsigned)kind, 30));
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK_WAYS(rig, shared->object, 0);
        /* Direct3D's changes come over, and are not undone by what OpenCL had before. */
        d3d_fill(rig, shared, 31);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK(cl_has(rig->queue, shared, 31));
        CHECK_WAYS(rig, shared->object, 0);
        CHECK(d3d_has(rig, shared, 31));
    }
}

/* In one list only those that were written to go back. */
SCENE_CASE("one of a list", one_of_a_list, 0)
{
    cl_mem all[KINDS];
    for (int i = 0; i < KINDS; i++)
        all[i] = scene->shared[i].object;
    for (int written = 0; written < KINDS; written++) {
        unsigned char bytes[SHARED_BYTES];
        rig_pattern(bytes, sizeof(bytes), 50 + (unsigned)written);
        CHECK_INT(rig->acquire(rig->queue, KINDS, all, 0, NULL, NULL), CL_SUCCESS);
        done(rig, cl_write(rig->queue, &scene->shared[written], bytes, 0, NULL, NULL));
#ifndef _WIN32
        const unsigned before = fake_d3d_calls("CopySubresourceRegion");
#endif
        CHECK_INT(rig->release(rig->queue, KINDS, all, 0, NULL, NULL), CL_SUCCESS);
#ifndef _WIN32
        CHECK_INT(fake_d3d_calls("CopySubresourceRegion") - before, !over_import());
#endif
        for (int i = 0; i < KINDS; i++)
            CHECK(d3d_has(rig, &scene->shared[i], i <= written ? 50 + (unsigned)i : 1 + (unsigned)i));
    }
}

SCENE_CASE("sub-buffers", sub_buffers, 0)
{
    (void)rig;
    const cl_buffer_region all = {0, SHARED_BYTES};
    cl_mem parent = scene->shared[KIND_BUFFER].object;
    cl_mem part = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &all, NULL);
    if (CHECK(part != NULL)) {
        each_command(scene, parent, part, KIND_BUFFER);
        CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    }
}

/* A mapping to be written counts from the map on, and a pointer of any age when it is given back. */
OBJECT_CASE("mappings", mappings, 0, KIND_BUFFER)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE,
                                         CL_MAP_WRITE_INVALIDATE_REGION};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        cl_int status;
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        void *bytes =
            clEnqueueMapBuffer(rig->queue, shared->object, CL_TRUE, flags[i], 0, SHARED_BYTES, 0, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_WAYS(rig, shared->object, flags[i] != CL_MAP_READ);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        done(rig, clEnqueueUnmapMemObject(rig->queue, shared->object, bytes, 0, NULL, NULL));
        CHECK_WAYS(rig, shared->object, 1);
    }
}

/* ---- kernels ---- */

static const char kernels[] =
    "constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "kernel void look(read_only image2d_t image, global uint *out) { out[0] = read_imageui(image, s, (int2)(0, 0)).x; "
    "}\n"
    "kernel void paint(write_only image2d_t image, global uint *out)\n"
    "{ write_imageui(image, (int2)(0, 0), (uint4)(7)); out[0] = 7; }\n"
    "kernel void both(read_only image2d_t from, global uint *out, write_only image2d_t image)\n"
    "{ out[0] = read_imageui(from, s, (int2)(0, 0)).x; write_imageui(image, (int2)(0, 0), (uint4)(7)); }\n"
    "kernel void pointer(global uint *to, global uint *out) { to[0] = 7; out[0] = 7; }\n"
    "kernel void promise(global const uint *to, global uint *out) { ((global uint *)to)[0] = 7; out[0] = 7; }\n"
    "kernel void fixed(constant uint *from, global uint *out) { out[0] = from[0]; }\n"
    "kernel void peek(global const uint *from, global uint *out) { out[0] = from[0]; }\n";

static cl_int launch(const struct rig *rig, cl_kernel kernel, bool task)
{
    const size_t one = 1;
    return task ? clEnqueueTask(rig->queue, kernel, 0, NULL, NULL)
                : clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
}

static void set(cl_kernel kernel, cl_uint index, cl_mem object)
{
    CHECK_INT(clSetKernelArg(kernel, index, sizeof(object), &object), CL_SUCCESS);
}

/* The kernel between acquire and release, as a range and as a task. */
static void launches(const struct rig *rig, cl_kernel kernel, cl_mem object, bool writes)
{
    for (int task = 0; task < 2; task++) {
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        done(rig, launch(rig, kernel, task));
        CHECK_WAYS(rig, object, writes);
    }
}

SCENE_CASE("kernels: what the argument says", kernel_arguments, 0)
{
    static const struct {
        const char *name;
        enum kind kind;
        bool writes;
    } cases[] = {
        {"look", KIND_2D, false},       {"paint", KIND_2D, true},       {"both", KIND_2D, true},
        {"pointer", KIND_BUFFER, true}, {"promise", KIND_BUFFER, true}, {"fixed", KIND_BUFFER, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cl_kernel kernel = rig_kernel(rig, kernels, cases[i].name);
        const struct shared *shared = &scene->shared[cases[i].kind];
        if (!kernel)
            continue;
        set(kernel, 0, shared->object);
        set(kernel, 1, scene->plain[KIND_BUFFER]);
        if (strcmp(cases[i].name, "both") == 0)
            set(kernel, 2, shared->object);
        launches(rig, kernel, shared->object, cases[i].writes);
        unsigned char first[SHARED_BYTES] = {0};
        rig_read(rig, shared->resource, &shared->desc, 0, first);
        if (!CHECK_INT(first[0] == 7, cases[i].writes))
            printf("# with kernel %s\n", cases[i].name);
        d3d_fill(rig, shared, 1); /* whose first byte is not 7 */
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    }
}

/* OpenCL 2.0: an image that a kernel both reads and writes. */
SHARING_CASE("kernels: images that are read and written", read_write_images, 0)
{
    static const char source[] =
        "kernel void both(read_write image2d_t image) { write_imageui(image, (int2)(0, 0), (uint4)(7)); }\n";
    const char *text = source;
    cl_uint images = 0;
    struct shared shared;
    unsigned char first[SHARED_BYTES] = {0};
    clGetDeviceInfo(rig->cl_device, CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, sizeof(images), &images, NULL);
    if (!images) {
        SKIP("no kernel of the device both reads and writes an image");
        return;
    }
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_program program = clCreateProgramWithSource(rig->context, 1, &text, NULL, NULL);
    CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "-cl-std=CL2.0", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "both", NULL);
    set(kernel, 0, shared.object);
    launches(rig, kernel, shared.object, true);
    rig_read(rig, shared.resource, &shared.desc, 0, first);
    CHECK_INT(first[0], 7);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    shared_close(&shared);
}

static bool open_read_only(const struct rig *rig, enum kind kind, struct shared *shared)
{
    cl_int status = 1;
    if (!shared_resource(rig, kind, 1, shared))
        return false;
    shared->object = kind_create(rig, rig->context, CL_MEM_READ_ONLY, kind, shared->resource, 0, &status);
    return CHECK_INT(status, CL_SUCCESS);
}

/* Memory that kernels can't write, whatever their parameter says. The host still can. */
SHARING_CASE("kernels: read-only objects", read_only_objects, 0)
{
    static const char *const names[] = {"fixed", "peek"};
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    cl_mem plain = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL);
    if (!open_read_only(rig, KIND_BUFFER, &shared))
        return;
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = rig_kernel(rig, kernels, names[i]);
        if (!kernel)
            continue;
        set(kernel, 0, shared.object);
        set(kernel, 1, plain);
        launches(rig, kernel, shared.object, false);
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    }
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    rig_pattern(bytes, sizeof(bytes), 60);
    done(rig, cl_write(rig->queue, &shared, bytes, 0, NULL, NULL));
    CHECK_WAYS(rig, shared.object, 1);
    CHECK(d3d_has(rig, &shared, 60));
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    shared_close(&shared);
}

/* Not every driver refuses a read-only image where a kernel writes: then Direct3D gets what that has made of it. */
SHARING_CASE("kernels: read-only images that are written", read_only_images, 0)
{
    struct shared shared;
    cl_mem plain = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL);
    cl_kernel kernel = rig_kernel(rig, kernels, "paint");
    if (!kernel || !open_read_only(rig, KIND_2D, &shared))
        return;
    set(kernel, 1, plain);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    if (clSetKernelArg(kernel, 0, sizeof(shared.object), &shared.object) == CL_SUCCESS &&
        launch(rig, kernel, false) == CL_SUCCESS) {
        unsigned char bytes[SHARED_BYTES] = {0}, expected[SHARED_BYTES] = {0};
        done(rig, cl_read(rig->queue, &shared, expected, NULL));
        CHECK_WAYS(rig, shared.object, 1);
        rig_read(rig, shared.resource, &shared.desc, 0, bytes);
        CHECK_MEM(bytes, expected, sizeof(bytes));
        if (expected[0] != 7)
            printf("# the driver's kernels write nothing there\n");
    } else {
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        SKIP("the driver refuses it");
    }
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    shared_close(&shared);
}

/* All kernels of a program in one call: their arguments are known, and they have none of kernels before them. */
SHARING_CASE("kernels: all of a program at once", kernels_of_a_program, 0)
{
    enum { MOST = 16 };
    struct scene scene;
    cl_kernel one = rig_kernel(rig, kernels, "pointer"), all[MOST];
    cl_program program = NULL;
    cl_uint count = 0, made = 0;
    if (!one || !scene_open(rig, &scene))
        return;
    CHECK_INT(clGetKernelInfo(one, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    CHECK_INT(clCreateKernelsInProgram(program, 0, NULL, &count), CL_SUCCESS);
    CHECK(count > 1 && count <= MOST);
    CHECK_INT(clCreateKernelsInProgram(program, count, all, &made), CL_SUCCESS);
    CHECK_INT(made, count);
    for (cl_uint i = 0; i < made; i++) {
        char name[64] = "";
        CHECK_INT(clGetKernelInfo(all[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL), CL_SUCCESS);
        if (strcmp(name, "pointer") == 0) {
            cl_mem buffer = scene.shared[KIND_BUFFER].object;
            set(all[i], 0, buffer);
            set(all[i], 1, scene.plain[KIND_BUFFER]);
            CHECK_INT(launch(rig, all[i], 0), rig->api->not_acquired);
            launches(rig, all[i], buffer, true);
        }
        CHECK_INT(clReleaseKernel(all[i]), CL_SUCCESS);
    }
    CHECK_INT(clCreateKernelsInProgram(program, count, all, NULL), CL_SUCCESS);
    for (cl_uint i = 0; i < count; i++)
        CHECK_INT(clReleaseKernel(all[i]), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(one), CL_SUCCESS);
    scene_close(&scene);
}

/* Writes the first texel of an image of a buffer. False: the driver makes no such images, or does not write to them. */
static bool write_image_of(const struct rig *rig, cl_mem buffer, bool with_properties)
{
    static const size_t region[3] = {1, 1, 1};
    cl_mem image = image_of(rig, buffer, SHARED_BYTES / 4, with_properties);
    if (!image)
        return false;
    const cl_int status =
        clEnqueueWriteImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, "\7\7\7\7", 0, NULL, NULL);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    return status == CL_SUCCESS;
}

/* What that makes of the pattern of `seed` in a buffer that is not shared: rusticl 22.3 writes one byte of the texel. False as
 * there. */
static bool written_alone(const struct rig *rig, unsigned seed, bool with_properties, unsigned char bytes[SHARED_BYTES])
{
    cl_int status = 1;
    rig_pattern(bytes, SHARED_BYTES, seed);
    cl_mem plain = clCreateBuffer(rig->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SHARED_BYTES, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    const bool can = write_image_of(rig, plain, with_properties);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, plain, CL_TRUE, 0, SHARED_BYTES, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    return can;
}

/* An image that lies in a shared buffer. */
OBJECT_CASE("images of buffers", images_of_buffers, 0, KIND_BUFFER)
{
    for (int i = 0; i < 2; i++) {
        unsigned char bytes[SHARED_BYTES] = {0}, expected[SHARED_BYTES];
        if (!written_alone(rig, 1, i, expected)) {
            SKIP("the OpenCL below writes to no images of buffers");
            break;
        }
        d3d_fill(rig, shared, 1);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        if (write_image_of(rig, shared->object, i)) {
            CHECK_WAYS(rig, shared->object, 1);
            rig_read(rig, shared->resource, &shared->desc, 0, bytes);
            CHECK_INT(bytes[0], 7);
            CHECK_MEM(bytes, expected, sizeof(bytes));
        } else {
            CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
            SKIP("the OpenCL below writes to no images of shared buffers");
        }
    }
}

/* ---- where writes can't be seen ---- */

static bool is_set(const char *variable, const char *value)
{
    const char *found = getenv(variable);
    return found && strcmp(found, value) == 0;
}

/* Runs in processes of its own: with CLD3D_STRICT=0 nobody knows what is written, with CLD3D_COPY_BACK=1 nobody asks. */
OBJECT_CASE("all comes back", all_back, 0, KIND_BUFFER)
{
    if (!is_set("CLD3D_STRICT", "0") && !is_set("CLD3D_COPY_BACK", "1")) {
        SKIP("CLD3D_STRICT is not 0, CLD3D_COPY_BACK is not 1");
        return;
    }
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_WAYS(rig, shared->object, 1);
    CHECK(round_trip(rig, shared, 1, 2));
}

CASE("nothing is left out where nothing is checked", all_back_unchecked)
{
    CHECK_INT(run_again(": all comes back", "CLD3D_STRICT", "0"), 2);
}

CASE("nothing is left out if the setting says so", all_back_by_setting)
{
    CHECK_INT(run_again(": all comes back", "CLD3D_COPY_BACK", "1"), 2);
}

/* How many ways back nothing is, once a program has asked for a function by its name. */
static void ask_for(const char *function, unsigned ways)
{
    struct rig rig;
    struct shared shared;
    if (!rig_open(&rig, &rig_d3d11, 0))
        return;
    if (!clGetExtensionFunctionAddressForPlatform(rig.platform, function)) {
        SKIP("the OpenCL below has no such function");
    } else if (shared_open(&rig, KIND_BUFFER, 1, &shared)) {
        CHECK_INT(acquire_one(&rig, shared.object), CL_SUCCESS);
        CHECK_WAYS(&rig, shared.object, ways);
        shared_close(&shared);
    }
    rig_close(&rig);
}

/* What they write to is not seen, so every release from then on brings all back. */
CASE("commands of command buffers", command_buffers)
{
    ask_for("clCreateCommandBufferKHR", 1);
}

/* A kernel has more parameters than are followed, and writes through the last one. */
OBJECT_CASE("a kernel of many parameters", many_parameters, 0, KIND_BUFFER)
{
    enum { PARAMETERS = 300 };
    char source[PARAMETERS * 24 + 256] = "kernel void many(";
    if (!is_child("CLD3D_TEST_PARAMETERS"))
        return;
    size_t length = strlen(source);
    for (int i = 0; i < PARAMETERS; i++)
        length += (size_t)snprintf(source + length, sizeof(source) - length, "%sglobal uchar *p%d", i ? ", " : "", i);
    snprintf(source + length, sizeof(source) - length, ") { p%d[get_global_id(0)] = p0[get_global_id(0)]; }",
             PARAMETERS - 1);
    unsigned char bytes[SHARED_BYTES];
    const size_t size = SHARED_BYTES;
    rig_pattern(bytes, sizeof(bytes), 2);
    cl_kernel kernel = rig_kernel(rig, source, "many");
    cl_mem from = clCreateBuffer(rig->context, CL_MEM_COPY_HOST_PTR, size, bytes, NULL);
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < PARAMETERS && status == CL_SUCCESS; i++)
        status = clSetKernelArg(kernel, i, sizeof(cl_mem), i < PARAMETERS - 1 ? &from : &shared->object);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    if (CHECK_INT(status, CL_SUCCESS))
        done(rig, clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
    CHECK(d3d_has(rig, shared, 2));
    CHECK_INT(clReleaseMemObject(from), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* In another process, where every release then brings all back. */
CASE("kernels: many parameters", many_parameters_again)
{
    CHECK_INT(run_again("a kernel of many parameters", "CLD3D_TEST_PARAMETERS", "1"), 2);
}

/* One of the last cases: from then on, in this process, every release brings all back. */
CASE("commands that nobody knows", unknown_commands)
{
    const char *name = getenv("CLD3D_TEST_NAME");
    ask_for(name ? name : "clEnqueueStrangeEXT", 1);
}

CASE("over a layer that has commands of its own", unknown_commands_again)
{
    char layers[1024];
    const char *before = getenv("OPENCL_LAYERS"), *layer = getenv("CLD3D_TEST_BELOW");
    if (!before || !layer || strstr(before, layer)) {
        SKIP("there is no layer below that has such commands");
        return;
    }
    snprintf(layers, sizeof(layers), "%s:%s", layer, before); /* the first is the lowest */
    CHECK_INT(run_again("commands that nobody knows", "OPENCL_LAYERS", layers), 1);
    /* These make an object of the same memory, which commands that are known write to. */
    static const char *const views[] = {"clConvertImageAMD", "clGetPlaneFromImageAMD", "clCreateBufferFromImageAMD",
                                        "clCreateImageWithPropertiesINTEL"};
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        test_setenv("CLD3D_TEST_NAME", views[i]);
        CHECK_INT(run_again("commands that nobody knows", "OPENCL_LAYERS", layers), 1);
    }
    test_setenv("CLD3D_TEST_NAME", NULL);
}

TAP_MAIN
