/* What commands do with shared objects. Unless it is acquired each is refused in the call, with the API's own code: also with what is
 * made of a shared buffer, and a kernel with such arguments. A release brings back to Direct3D all that a command may have changed since
 * the acquire, and nothing else. */
#include "commands.h"

/* ---- counting ---- */

/* Releases a list, and checks how many ways back to Direct3D there are. An import has none, and Wine's Direct3D does not count; there the
 * bytes are looked at. */
static bool check_ways(const struct rig *rig, cl_uint count, const cl_mem *objects, unsigned expected)
{
#ifdef _WIN32
    (void)expected;
    return CHECK_INT(rig->release(rig->queue, count, objects, 0, NULL, NULL), CL_SUCCESS);
#else
    const unsigned before = fake_d3d_calls("CopySubresourceRegion");
    return CHECK_INT(rig->release(rig->queue, count, objects, 0, NULL, NULL), CL_SUCCESS) &&
           CHECK_INT(fake_d3d_calls("CopySubresourceRegion") - before, over_import() ? 0 : expected);
#endif
}

static bool check_way(const struct rig *rig, cl_mem object, bool expected)
{
    return check_ways(rig, 1, &object, expected);
}

static void done(const struct rig *rig, cl_int status)
{
    CHECK_INT(status, CL_SUCCESS);
    queue_wait(rig->queue);
}

/* ---- commands ---- */

/* The command fails with the code, and makes no event. */
static void command_refused(const struct scene *scene, const struct command_case *command, cl_mem object,
                            enum kind kind)
{
    cl_event none = (cl_event)&scene, event = none;
    if (!CHECK_INT(command->run(scene, object, kind, &event), scene->rig->api->not_acquired) || !CHECK(event == none) ||
        !CHECK_INT(command->run(scene, object, kind, NULL), scene->rig->api->not_acquired))
        printf("# in %s, kind %d\n", command->name, (int)kind);
}

static bool can_run(const struct command_case *command, bool part, bool native)
{
    return command->tried == ALWAYS || (command->tried == NO_PARTS && !part) || (command->tried == IF_NATIVE && native);
}

/* Each command before an acquire of `root`, between that and its release, and behind it, with `object`, which is `root` or a part. */
static void each_command(const struct scene *scene, cl_mem root, cl_mem object, enum kind kind)
{
    size_t count;
    const struct command_case *commands = commands_of(kind, &count);
    const bool part = is_part(object), native = runs_native_kernels(scene->rig);
    for (size_t i = 0; i < count; i++) {
        const bool runs = can_run(&commands[i], part, native);
        cl_event event = NULL;
        command_refused(scene, &commands[i], object, kind);
        CHECK_INT(acquire_one(scene->rig, root), CL_SUCCESS);
        if (runs && CHECK_INT(commands[i].run(scene, object, kind, &event), CL_SUCCESS))
            finish_event(event);
        if (!check_way(scene->rig, root, runs && commands[i].writes))
            printf("# in %s, kind %d\n", commands[i].name, (int)kind);
        command_refused(scene, &commands[i], object, kind);
    }
}

SCENE_CASE("every command", every_command, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        each_command(scene, scene->shared[kind].object, scene->shared[kind].object, (enum kind)kind);
        /* A refusal changed nothing: acquire and release go on as before. */
        d3d_fill(rig, &scene->shared[kind], 40);
        CHECK(round_trip(rig, &scene->shared[kind], 40, 41));
    }
}

SCENE_CASE("no command", no_command, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const struct shared *shared = &scene->shared[kind];
        for (int i = 0; i < 2; i++) {
            CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
            check_way(rig, shared->object, 0);
        }
        CHECK(d3d_has(rig, shared, 1 + (unsigned)kind));
        /* What was written in one acquire has gone back, and does not again. */
        CHECK(round_trip(rig, shared, 1 + (unsigned)kind, 30));
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        check_way(rig, shared->object, 0);
        /* Direct3D's changes come over, and are not undone by what OpenCL had before. */
        d3d_fill(rig, shared, 31);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK(cl_has(rig->queue, shared, 31));
        check_way(rig, shared->object, 0);
        CHECK(d3d_has(rig, shared, 31));
    }
}

/* In one list only those that were written to go back. */
SCENE_CASE("one of a list", one_of_a_list, 0)
{
    const cl_mem all[] = {scene->shared[0].object, scene->shared[1].object, scene->shared[2].object};
    for (unsigned written = 0; written < KINDS; written++) {
        unsigned char bytes[SHARED_BYTES];
        rig_pattern(bytes, sizeof(bytes), 50 + written);
        CHECK_INT(rig->acquire(rig->queue, KINDS, all, 0, NULL, NULL), CL_SUCCESS);
        done(rig, cl_write(rig->queue, &scene->shared[written], bytes, 0, NULL, NULL));
        check_ways(rig, KINDS, all, 1);
        for (unsigned i = 0; i < KINDS; i++)
            CHECK(d3d_has(rig, &scene->shared[i], i <= written ? 50 + i : 1 + i));
    }
}

/* A mapping to be written counts from the map on, and a pointer of any age when it is given back: not while the object is Direct3D's. */
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
        check_way(rig, shared->object, flags[i] != CL_MAP_READ);
        CHECK_INT(clEnqueueUnmapMemObject(rig->queue, shared->object, bytes, 0, NULL, NULL), rig->api->not_acquired);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        done(rig, clEnqueueUnmapMemObject(rig->queue, shared->object, bytes, 0, NULL, NULL));
        check_way(rig, shared->object, 1);
    }
}

/* What an unmap that is refused leaves mapped can be written to, and unmapped. Of formats that devices have and lack. */
static void unmap_refused(const struct rig *rig, DXGI_FORMAT format)
{
    enum { SIDE = 8, MOST = SIDE * SIDE * 4 };
    const struct rig_desc desc = {.format = format, .width = SIDE, .height = SIDE};
    const size_t region[3] = {SIDE, SIDE, 1}, row = SIDE * rig_texel_bytes(format);
    unsigned char bytes[MOST], seen[MOST];
    size_t pitch = 0;
    cl_int status = 1;
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    cl_mem object = rig->create_2d(rig->context, 0, texture, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    rig_pattern(bytes, sizeof(bytes), 3);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    unsigned char *mapped = clEnqueueMapImage(rig->queue, object, CL_TRUE, CL_MAP_WRITE, no_origin(), region, &pitch,
                                              NULL, 0, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        CHECK_INT(clEnqueueUnmapMemObject(rig->queue, object, mapped, 1, NULL, NULL), CL_INVALID_EVENT_WAIT_LIST);
        for (size_t y = 0; y < SIDE; y++)
            memcpy(mapped + y * pitch, bytes + y * row, row);
        CHECK_INT(clEnqueueUnmapMemObject(rig->queue, object, mapped, 0, NULL, NULL), CL_SUCCESS);
    }
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    rig_read(rig, texture, &desc, 0, seen);
    CHECK_MEM(seen, bytes, SIDE * row);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    rig_release(texture);
}

SHARING_CASE("an unmap that is refused", unmaps_refused, 0)
{
    unmap_refused(rig, DXGI_FORMAT_R8G8B8A8_UNORM);
    unmap_refused(rig, DXGI_FORMAT_R8G8_UNORM);
    unmap_refused(rig, DXGI_FORMAT_R8_UNORM);
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
    "kernel void pointer(global uint *to, global uint *out) { to[0] = 7; if (out) out[0] = 7; }\n"
    "kernel void promise(global const uint *to, global uint *out) { ((global uint *)to)[0] = 7; out[0] = 7; }\n"
    "kernel void fixed(constant uint *from, global uint *out) { out[0] = from[0]; }\n"
    "kernel void deep(read_only image3d_t image, global uint *out)\n"
    "{ out[0] = read_imageui(image, s, (int4)(0, 0, 0, 0)).x; }\n"
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

/* Launches, as a range and as a task, give the code. */
static void both_launch(const struct rig *rig, cl_kernel kernel, cl_int code)
{
    for (int task = 0; task < 2; task++)
        CHECK_INT(launch(rig, kernel, task), code);
    queue_wait(rig->queue);
}

static void launch_refused(const struct rig *rig, cl_kernel kernel)
{
    both_launch(rig, kernel, rig->api->not_acquired);
}

static void launch_works(const struct rig *rig, cl_kernel kernel)
{
    both_launch(rig, kernel, CL_SUCCESS);
}

/* The kernel before acquire and release, between them and behind. */
static void launches(const struct rig *rig, cl_kernel kernel, cl_mem object, bool writes)
{
    launch_refused(rig, kernel);
    for (int task = 0; task < 2; task++) {
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        done(rig, launch(rig, kernel, task));
        check_way(rig, object, writes);
    }
    launch_refused(rig, kernel);
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
        {"deep", KIND_3D, false},
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
        /* The argument is what is there at the launch. */
        if (strcmp(cases[i].name, "both") != 0) {
            set(kernel, 0, scene->plain[cases[i].kind]);
            launch_works(rig, kernel);
            set(kernel, 0, shared->object);
            launch_refused(rig, kernel);
        }
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    }
}

/* A case that gets a scene and a kernel of buffers, whose arguments are a plain one. */
#define KERNEL_CASE(text, name)                              \
    static void name(struct scene *scene, cl_kernel kernel); \
    SHARING_CASE(text, name##_alone, 0)                      \
    {                                                        \
        with_kernel(rig, name);                              \
    }                                                        \
    static void name(struct scene *scene, cl_kernel kernel)

static void set_plain(const struct scene *scene, cl_kernel kernel)
{
    set(kernel, 0, scene->plain[KIND_BUFFER]);
    set(kernel, 1, scene->plain[KIND_BUFFER]);
}

static void with_kernel(struct rig *rig, void (*body)(struct scene *, cl_kernel))
{
    struct scene scene;
    cl_kernel kernel = rig_kernel(rig, kernels, "pointer");
    if (kernel && scene_open(rig, &scene)) {
        set_plain(&scene, kernel);
        body(&scene, kernel);
        scene_close(&scene);
    }
    if (kernel)
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* Arguments that are no objects: NULL in both ways, a failed call. */
KERNEL_CASE("kernels: arguments that are no objects", kernel_other_arguments)
{
    const struct rig *rig = scene->rig;
    cl_mem none = NULL, object = scene->shared[KIND_BUFFER].object;
    set(kernel, 1, object);
    launch_refused(rig, kernel);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), NULL), CL_SUCCESS);
    launch_works(rig, kernel);
    set(kernel, 1, object);
    launch_refused(rig, kernel);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &none), CL_SUCCESS);
    launch_works(rig, kernel);
    /* What the driver refuses changes nothing. */
    CHECK(clSetKernelArg(kernel, 99, sizeof(cl_mem), &object) != CL_SUCCESS);
    launch_works(rig, kernel);
    set(kernel, 1, object);
    CHECK(clSetKernelArg(kernel, 1, 1, &scene->plain[KIND_BUFFER]) != CL_SUCCESS);
    launch_refused(rig, kernel);
}

KERNEL_CASE("sub-buffers", sub_buffers)
{
    const cl_buffer_region all = {0, SHARED_BYTES};
    cl_mem parent = scene->shared[KIND_BUFFER].object;
    cl_mem part = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &all, NULL);
    if (!CHECK(part != NULL))
        return;
    each_command(scene, parent, part, KIND_BUFFER);
    set(kernel, 0, part);
    launches(scene->rig, kernel, parent, true);
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
}

static cl_program program_of(cl_kernel kernel)
{
    cl_program program = NULL;
    CHECK_INT(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    return program;
}

/* A kernel has its own arguments, for as long as the application has it; one that takes the place of a released one has none. */
KERNEL_CASE("kernels: their lifetimes", kernel_lifetimes)
{
    const struct rig *rig = scene->rig;
    for (int i = 0; i < 20; i++) {
        cl_kernel next = clCreateKernel(program_of(kernel), "pointer", NULL);
        set_plain(scene, next);
        launch_works(rig, next);
        CHECK_INT(clRetainKernel(next), CL_SUCCESS);
        set(next, i % 2, scene->shared[KIND_BUFFER].object);
        for (int refs = 2; refs > 0; refs--) {
            launch_refused(rig, next);
            CHECK_INT(clReleaseKernel(next), CL_SUCCESS);
        }
        launch_works(rig, kernel);
    }
}

/* The argument's object is given back by the application: what a kernel then uses is no object of the application's, and
 * a new object at the same place is not the kernel's. */
KERNEL_CASE("kernels: objects given back", kernel_keeps_argument)
{
    const struct rig *rig = scene->rig;
    struct shared *shared = &scene->shared[KIND_BUFFER];
    set(kernel, 0, shared->object);
    launch_refused(rig, kernel);
    set(kernel, 0, scene->plain[KIND_BUFFER]);
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    launch_works(rig, kernel);
    shared->object = rig->create_buffer(rig->context, 0, shared->resource, NULL);
    CHECK(shared->object != NULL);
    launch_works(rig, kernel);
}

/* OpenCL 2.1: a clone has the arguments of its original. */
KERNEL_CASE("kernels: clones", kernel_clones)
{
    const struct rig *rig = scene->rig;
    cl_int status = 1;
    cl_mem object = scene->shared[KIND_BUFFER].object;
    set(kernel, 0, object);
    cl_kernel clone = clCloneKernel(kernel, &status);
    if (!clone) {
        CHECK(status != CL_SUCCESS);
        SKIP("the OpenCL below clones no kernels");
        return;
    }
    launch_refused(rig, clone);
    set(kernel, 0, scene->plain[KIND_BUFFER]);
    launch_works(rig, kernel);
    launch_refused(rig, clone);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    launch_works(rig, clone);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    set(clone, 0, scene->plain[KIND_BUFFER]);
    launch_works(rig, clone);
    CHECK_INT(clReleaseKernel(clone), CL_SUCCESS);
}

/* OpenCL 2.0: shared virtual memory takes the place of a buffer argument. */
KERNEL_CASE("kernels: shared virtual memory", kernel_svm)
{
    const struct rig *rig = scene->rig;
    void *memory = clSVMAlloc(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, 0);
    set(kernel, 0, scene->shared[KIND_BUFFER].object);
    launch_refused(rig, kernel);
    if (!memory) {
        SKIP("the OpenCL below has no shared virtual memory");
        return;
    }
    CHECK_INT(clSetKernelArgSVMPointer(kernel, 0, memory), CL_SUCCESS);
    launch_works(rig, kernel);
    set(kernel, 0, scene->shared[KIND_BUFFER].object);
    launch_refused(rig, kernel);
    clSVMFree(rig->context, memory);
}

/* OpenCL 2.0: an image that a kernel both reads and writes. */
OBJECT_CASE("kernels: images that are read and written", read_write_images, 0, KIND_2D)
{
    const char *text =
        "kernel void both(read_write image2d_t image) { write_imageui(image, (int2)(0, 0), (uint4)(7)); }";
    cl_uint images = 0;
    unsigned char first[SHARED_BYTES] = {0};
    clGetDeviceInfo(rig->cl_device, CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, sizeof(images), &images, NULL);
    if (!images) {
        SKIP("no kernel of the device both reads and writes an image");
        return;
    }
    cl_program program = clCreateProgramWithSource(rig->context, 1, &text, NULL, NULL);
    CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "-cl-std=CL3.0", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "both", NULL);
    set(kernel, 0, shared->object);
    launches(rig, kernel, shared->object, true);
    rig_read(rig, shared->resource, &shared->desc, 0, first);
    CHECK_INT(first[0], 7);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

/* Memory that kernels can't write, whatever their parameter says. The host still can. */
KERNEL_CASE("kernels: read-only objects", read_only_objects)
{
    static const char *const names[] = {"fixed", "peek"};
    const struct rig *rig = scene->rig;
    struct shared *shared = &scene->shared[KIND_BUFFER];
    unsigned char bytes[SHARED_BYTES];
    (void)kernel;
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = rig->create_buffer(rig->context, CL_MEM_READ_ONLY, shared->resource, NULL);
    for (int i = 0; i < 2; i++) {
        cl_kernel reader = rig_kernel(rig, kernels, names[i]);
        set(reader, 0, shared->object);
        set(reader, 1, scene->plain[KIND_BUFFER]);
        launches(rig, reader, shared->object, false);
        CHECK_INT(clReleaseKernel(reader), CL_SUCCESS);
    }
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    rig_pattern(bytes, sizeof(bytes), 60);
    done(rig, cl_write(rig->queue, shared, bytes, 0, NULL, NULL));
    check_way(rig, shared->object, true);
    CHECK(d3d_has(rig, shared, 60));
}

/* All kernels of a program in one call: their arguments are known, and they have none of kernels before them. */
KERNEL_CASE("kernels: all of a program at once", kernels_of_a_program)
{
    enum { MOST = 16 };
    const struct rig *rig = scene->rig;
    cl_kernel all[MOST];
    cl_uint count = 0, made = 0;
    CHECK_INT(clCreateKernelsInProgram(program_of(kernel), 0, NULL, &count), CL_SUCCESS);
    CHECK(count > 1 && count <= MOST);
    CHECK_INT(clCreateKernelsInProgram(program_of(kernel), count, all, &made), CL_SUCCESS);
    CHECK_INT(made, count);
    for (cl_uint i = 0; i < made; i++) {
        char name[64] = "";
        CHECK_INT(clGetKernelInfo(all[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL), CL_SUCCESS);
        if (strcmp(name, "pointer") == 0) {
            set(all[i], 0, scene->shared[KIND_BUFFER].object);
            set(all[i], 1, scene->plain[KIND_BUFFER]);
            launches(rig, all[i], scene->shared[KIND_BUFFER].object, true);
        }
        CHECK_INT(clReleaseKernel(all[i]), CL_SUCCESS);
    }
}

/* Writes the first texel of an image of a buffer. An error: the driver makes no such images, or does not write to them. */
static cl_int write_image_of(const struct rig *rig, cl_mem buffer, bool with_properties)
{
    static const size_t region[3] = {1, 1, 1};
    cl_mem image = image_of(rig, buffer, SHARED_BYTES / 4, with_properties);
    if (!image)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    const cl_int status =
        clEnqueueWriteImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, "\7\7\7\7", 0, NULL, NULL);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    return status;
}

/* What that makes of the pattern of `seed` in a buffer that is not shared: rusticl 22.3 writes one byte of the texel. False as
 * there. */
static bool written_alone(const struct rig *rig, unsigned seed, bool with_properties, unsigned char bytes[SHARED_BYTES])
{
    cl_int status = 1;
    rig_pattern(bytes, SHARED_BYTES, seed);
    cl_mem plain = clCreateBuffer(rig->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SHARED_BYTES, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    const bool can = write_image_of(rig, plain, with_properties) == CL_SUCCESS;
    CHECK_INT(clEnqueueReadBuffer(rig->queue, plain, CL_TRUE, 0, SHARED_BYTES, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(plain), CL_SUCCESS);
    return can;
}

/* An image that lies in a shared buffer, or in a part of it. */
OBJECT_CASE("images of buffers and of sub-buffers", images_of_buffers, 0, KIND_BUFFER)
{
    static const size_t region[3] = {8, 1, 1};
    const cl_buffer_region half = {0, SHARED_BYTES / 2};
    cl_mem part = clCreateSubBuffer(shared->object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL);
    for (int i = 0; i < 2; i++) {
        unsigned char bytes[SHARED_BYTES] = {0}, expected[SHARED_BYTES];
        cl_mem of_part = image_of(rig, part, region[0], i);
        if (!of_part || !written_alone(rig, 1, i, expected)) {
            SKIP("the OpenCL below writes to no images of buffers");
            break;
        }
        CHECK_INT(clEnqueueReadImage(rig->queue, of_part, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
                  rig->api->not_acquired);
        CHECK_INT(clReleaseMemObject(of_part), CL_SUCCESS);
        CHECK_INT(write_image_of(rig, shared->object, i), rig->api->not_acquired);
        d3d_fill(rig, shared, 1);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        if (write_image_of(rig, shared->object, i) == CL_SUCCESS) {
            check_way(rig, shared->object, true);
            rig_read(rig, shared->resource, &shared->desc, 0, bytes);
            CHECK_INT(bytes[0], 7);
            CHECK_MEM(bytes, expected, sizeof(bytes));
        } else {
            CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
            SKIP("the OpenCL below writes to no images of shared buffers");
        }
    }
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
}

/* ---- where writes can't be seen ---- */

/* Runs in processes of its own: with CLD3D_STRICT=0 nobody knows what is written, with CLD3D_COPY_BACK=1 nobody asks. */
SCENE_CASE("all comes back", all_back, 0)
{
    if (!is_child("CLD3D_TEST_ALL_BACK"))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        CHECK_INT(acquire_one(rig, scene->shared[kind].object), CL_SUCCESS);
        check_way(rig, scene->shared[kind].object, true);
        CHECK(round_trip(rig, &scene->shared[kind], 1 + (unsigned)kind, 9));
    }
}

/* With CLD3D_STRICT=0. What OpenCL writes to an import that it does not have is Direct3D's. */
KERNEL_CASE("no check", lenient)
{
    const struct rig *rig = scene->rig;
    if (over_import()) {
        SKIP("there they can't be told apart");
        return;
    }
    if (!is_child("CLD3D_TEST_ALL_BACK"))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        size_t count;
        const struct command_case *commands = commands_of((enum kind)kind, &count);
        for (size_t i = 0; i < count; i++)
            if (can_run(&commands[i], false, false))
                CHECK_INT(commands[i].run(scene, scene->shared[kind].object, (enum kind)kind, NULL), CL_SUCCESS);
        /* The rules of acquire and release themselves stay. */
        CHECK_INT(release_one(rig, scene->shared[kind].object), rig->api->not_acquired);
    }
    set(kernel, 0, scene->shared[KIND_BUFFER].object);
    launch_works(rig, kernel);
}

CASE("nothing is checked or left out if the settings say so", by_setting)
{
    test_setenv("CLD3D_TEST_ALL_BACK", "1");
    CHECK_INT(run_again(": no check", "CLD3D_STRICT", "0"), over_import() ? 0 : 2);
    CHECK_INT(run_again(": all comes back", "CLD3D_STRICT", "0"), 2);
    CHECK_INT(run_again(": all comes back", "CLD3D_COPY_BACK", "1"), 2);
    test_setenv("CLD3D_TEST_ALL_BACK", NULL);
}

/* Once a program has asked for a function by its name, every release brings all back: what such commands write to is not seen. */
static void ask_for(const char *function)
{
    struct rig rig;
    struct shared shared;
    if (!rig_open(&rig, &rig_d3d11, 0))
        return;
    if (!clGetExtensionFunctionAddressForPlatform(rig.platform, function)) {
        SKIP("the OpenCL below has no such function");
    } else if (shared_open(&rig, KIND_BUFFER, 1, &shared)) {
        CHECK_INT(acquire_one(&rig, shared.object), CL_SUCCESS);
        check_way(&rig, shared.object, true);
        shared_close(&shared);
    }
    rig_close(&rig);
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

/* The last cases: from then on, in this process, every release brings all back. */
CASE("commands of command buffers", command_buffers)
{
    ask_for("clCreateCommandBufferKHR");
}

CASE("commands that nobody knows", unknown_commands)
{
    if (is_child("CLD3D_TEST_NAME"))
        ask_for(getenv("CLD3D_TEST_NAME"));
}

/* Commands, and what makes an object of the same memory, which commands that are known write to. */
CASE("over a layer that has commands of its own", unknown_commands_again)
{
    static const char *const names[] = {"clEnqueueStrangeEXT", "clConvertImageAMD", "clGetPlaneFromImageAMD",
                                        "clCreateBufferFromImageAMD", "clCreateImageWithPropertiesINTEL"};
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        test_setenv("CLD3D_TEST_NAME", names[i]);
        CHECK_INT(run_over("CLD3D_TEST_BELOW", "commands that nobody knows"), 1);
    }
    test_setenv("CLD3D_TEST_NAME", NULL);
}

TAP_MAIN
