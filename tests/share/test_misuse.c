/* Commands that use a shared object which is not acquired fail in the call, with the API's own code; objects that follow a
 * shared one (sub-buffers, images of buffers) and kernels with such arguments as well. */
#include "commands.h"

/* Every command of the kind fails with the code, and makes no event. */
static void all_refused(const struct scene *scene, cl_mem object, enum kind kind)
{
    size_t count;
    const struct command_case *commands = commands_of(kind, &count);
    for (size_t i = 0; i < count; i++) {
        cl_event none = (cl_event)&count, event = none;
        if (!CHECK_INT(commands[i].run(scene, object, kind, &event), scene->rig->api->not_acquired) ||
            !CHECK(event == none))
            printf("# in %s, kind %d\n", commands[i].name, kind);
        if (!CHECK_INT(commands[i].run(scene, object, kind, NULL), scene->rig->api->not_acquired))
            printf("# in %s, kind %d\n", commands[i].name, kind);
    }
}

/* The same commands are fine for an object that is acquired, so it was nothing else that made them fail. */
static void all_work(const struct scene *scene, cl_mem object, enum kind kind)
{
    size_t count;
    const struct command_case *commands = commands_of(kind, &count);
    const bool part = is_part(object), native = runs_native_kernels(scene->rig);
    for (size_t i = 0; i < count; i++) {
        cl_event event = NULL;
        if (commands[i].tried == NEVER || (commands[i].tried == NO_PARTS && part) ||
            (commands[i].tried == IF_NATIVE && !native))
            continue;
        if (!CHECK_INT(commands[i].run(scene, object, kind, &event), CL_SUCCESS)) {
            printf("# in %s, kind %d\n", commands[i].name, kind);
        } else {
            CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        }
    }
}

SCENE_CASE("every command", every_command, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        cl_mem object = scene->shared[kind].object;
        all_refused(scene, object, (enum kind)kind);
        CHECK(d3d_has(rig, &scene->shared[kind], 1 + (unsigned)kind));
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        all_work(scene, object, (enum kind)kind);
        CHECK_INT(release_one(rig, object), CL_SUCCESS);
        all_refused(scene, object, (enum kind)kind);
        /* A refusal changed nothing: acquire and release go on as before. */
        d3d_fill(rig, &scene->shared[kind], 40);
        CHECK(round_trip(rig, &scene->shared[kind], 40, 41));
    }
}

/* Source and destination both shared: each must be acquired. */
SHARING_CASE("source and destination", both_sides, 0)
{
    struct shared from, to;
    if (!shared_open(rig, KIND_BUFFER, 1, &from))
        return;
    if (shared_open(rig, KIND_BUFFER, 2, &to)) {
        const cl_mem both[] = {from.object, to.object};
        for (int acquired = 0; acquired < 2; acquired++) {
            CHECK_INT(acquire_one(rig, both[acquired]), CL_SUCCESS);
            CHECK_INT(clEnqueueCopyBuffer(rig->queue, from.object, to.object, 0, 0, 64, 0, NULL, NULL),
                      rig->api->not_acquired);
            CHECK_INT(release_one(rig, both[acquired]), CL_SUCCESS);
        }
        CHECK_INT(rig->acquire(rig->queue, 2, both, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueCopyBuffer(rig->queue, from.object, to.object, 0, 0, SHARED_BYTES, 0, NULL, NULL),
                  CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 2, both, 0, NULL, NULL), CL_SUCCESS);
        CHECK(d3d_has(rig, &to, 1));
        shared_close(&to);
    }
    shared_close(&from);
}

/* What was mapped while it was acquired can't be unmapped when it is Direct3D's. */
SCENE_CASE("mapped over a release", map_over_a_release, 0)
{
    cl_int status = 1;
    cl_mem object = scene->shared[KIND_BUFFER].object;
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    void *mapped =
        clEnqueueMapBuffer(rig->queue, object, CL_TRUE, CL_MAP_READ, 0, SHARED_BYTES, 0, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    CHECK_INT(clEnqueueUnmapMemObject(rig->queue, object, mapped, 0, NULL, NULL), rig->api->not_acquired);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    CHECK_INT(clEnqueueUnmapMemObject(rig->queue, object, mapped, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    CHECK(d3d_has(rig, &scene->shared[KIND_BUFFER], 1));
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

/* ---- what is made of a shared buffer ---- */

static cl_mem part_of(cl_mem buffer, size_t origin, size_t size)
{
    const cl_buffer_region region = {origin, size};
    cl_int status = 1;
    cl_mem part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK_INT(status, CL_SUCCESS);
    return part;
}

SCENE_CASE("sub-buffers", sub_buffers, 0)
{
    cl_mem object = scene->shared[KIND_BUFFER].object, part = part_of(object, 0, SHARED_BYTES);
    all_refused(scene, part, KIND_BUFFER);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    all_work(scene, part, KIND_BUFFER);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    all_refused(scene, part, KIND_BUFFER);
    /* One that is made while the buffer is acquired, and written: Direct3D sees it. */
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 9);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    cl_mem second = part_of(object, 0, SHARED_BYTES);
    CHECK_INT(clEnqueueWriteBuffer(rig->queue, second, CL_FALSE, 0, SHARED_BYTES, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    CHECK(d3d_has(rig, &scene->shared[KIND_BUFFER], 9));
    CHECK_INT(clEnqueueReadBuffer(rig->queue, second, CL_TRUE, 0, 16, scratch, 0, NULL, NULL), rig->api->not_acquired);
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(second), CL_SUCCESS);
}

/* Sub-buffers of plain buffers are nobody's business, also while shared ones are about. */
SCENE_CASE("plain objects", plain_objects, 0)
{
    cl_mem part = part_of(scene->plain[KIND_BUFFER], 0, SHARED_BYTES);
    for (int kind = 0; kind < KINDS; kind++) {
        const cl_mem plain = scene->plain[kind];
        /* The command's other object may not overlap with it. */
        scene->plain[kind] = kind == KIND_BUFFER ? clCreateBuffer(rig->context, 0, SHARED_BYTES, NULL, NULL) : plain;
        if (kind == KIND_BUFFER) {
            all_work(scene, plain, KIND_BUFFER);
            all_work(scene, part, KIND_BUFFER);
            CHECK_INT(clReleaseMemObject(scene->plain[kind]), CL_SUCCESS);
            scene->plain[kind] = plain;
        } else {
            CHECK_INT(read_image(scene, plain, (enum kind)kind, NULL), CL_SUCCESS);
            CHECK_INT(write_image(scene, plain, (enum kind)kind, NULL), CL_SUCCESS);
            CHECK_INT(fill_image(scene, plain, (enum kind)kind, NULL), CL_SUCCESS);
            CHECK_INT(map_image(scene, plain, (enum kind)kind, NULL), CL_SUCCESS);
        }
    }
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
}

/* The bytes are looked at only if `readable`: rusticl 22.3 reads nothing from images of sub-buffers. Its read's event says so, a blocking
 * read of its own does not; under Wine the bridge waits for the event. */
static void use_image_of(struct rig *rig, const struct shared *shared, cl_mem of, bool readable, bool with_properties)
{
    static const size_t region[3] = {8, 1, 1};
    unsigned char bytes[32], expected[SHARED_BYTES];
    cl_mem image = image_of(rig, of, region[0], with_properties);
    if (!image) {
        SKIP("the driver makes no images of buffers");
        return;
    }
    CHECK_INT(clEnqueueReadImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
              rig->api->not_acquired);
    CHECK_INT(clEnqueueWriteImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
              rig->api->not_acquired);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    const cl_int read = clEnqueueReadImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL);
    char name[64] = "";
    clGetPlatformInfo(rig->platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
    if (over_transport("export") && strcmp(name, "NVIDIA CUDA") == 0 && read == CL_INVALID_VALUE)
        SKIP("the driver does not read images of imported buffers");
    else if (!readable && strcmp(name, "rusticl") == 0 && read == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        SKIP("the driver does not read images of sub-buffers");
    else
        CHECK_INT(read, CL_SUCCESS);
    rig_pattern(expected, sizeof(expected), 1);
    if (readable && read == CL_SUCCESS)
        CHECK_MEM(bytes, expected, sizeof(bytes));
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(clEnqueueReadImage(rig->queue, image, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
              rig->api->not_acquired);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

/* Of a shared buffer, and of a part of it: over two generations. */
OBJECT_CASE("images of buffers and of sub-buffers", images_of_buffers, 0, KIND_BUFFER)
{
    cl_mem part = part_of(shared->object, 0, 64);
    for (int i = 0; i < 2; i++) {
        use_image_of(rig, shared, shared->object, true, i);
        use_image_of(rig, shared, part, false, i);
    }
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
}

/* ---- kernels ---- */

static const char kernel_source[] =
    "kernel void buffers(global uchar *a, global uchar *b, ulong number)\n"
    "{ size_t i = get_global_id(0); a[i] = a[i] + 1; if (b && number) b[i] = a[i]; }\n"
    "kernel void flat(read_only image2d_t image, global uint *out)\n"
    "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  out[get_global_id(0)] = read_imageui(image, s, (int2)(get_global_id(0), 0)).x; }\n"
    "kernel void deep(read_only image3d_t image, global uint *out)\n"
    "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  out[get_global_id(0)] = read_imageui(image, s, (int4)(get_global_id(0), 0, 0, 0)).x; }\n";

static cl_int launch(const struct rig *rig, cl_kernel kernel, cl_event *event)
{
    const size_t size = 4;
    return clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &size, NULL, 0, NULL, event);
}

/* Launches that fail with the code and make no event. */
static void launch_refused(const struct rig *rig, cl_kernel kernel)
{
    int place;
    cl_event event = (cl_event)&place;
    CHECK_INT(launch(rig, kernel, &event), rig->api->not_acquired);
    CHECK_INT(clEnqueueTask(rig->queue, kernel, 0, NULL, &event), rig->api->not_acquired);
    CHECK(event == (cl_event)&place);
}

static void launch_works(const struct rig *rig, cl_kernel kernel)
{
    CHECK_INT(launch(rig, kernel, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueTask(rig->queue, kernel, 0, NULL, NULL), CL_SUCCESS);
    queue_wait(rig->queue);
}

static void set_mem(cl_kernel kernel, cl_uint index, cl_mem object)
{
    CHECK_INT(clSetKernelArg(kernel, index, sizeof(object), &object), CL_SUCCESS);
}

static void set_number(cl_kernel kernel, cl_ulong number)
{
    CHECK_INT(clSetKernelArg(kernel, 2, sizeof(number), &number), CL_SUCCESS);
}

SCENE_CASE("kernels: arguments of each kind", kernel_arguments, 0)
{
    static const char *const names[] = {"buffers", "flat", "deep"};
    for (int kind = 0; kind < KINDS; kind++) {
        cl_kernel kernel = rig_kernel(rig, kernel_source, names[kind]);
        cl_mem object = scene->shared[kind].object;
        if (!kernel)
            continue;
        if (kind == KIND_BUFFER)
            set_number(kernel, 0);
        set_mem(kernel, 0, object);
        set_mem(kernel, 1, scene->plain[KIND_BUFFER]);
        launch_refused(rig, kernel);
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        launch_works(rig, kernel);
        CHECK_INT(release_one(rig, object), CL_SUCCESS);
        launch_refused(rig, kernel);
        /* The argument is what is there at the launch. */
        set_mem(kernel, 0, scene->plain[kind]);
        launch_works(rig, kernel);
        set_mem(kernel, 0, object);
        launch_refused(rig, kernel);
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        launch_works(rig, kernel);
        CHECK_INT(release_one(rig, object), CL_SUCCESS);
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
    set_number(kernel, 0);
    set_mem(kernel, 0, scene->plain[KIND_BUFFER]);
    set_mem(kernel, 1, scene->plain[KIND_BUFFER]);
}

static void with_kernel(struct rig *rig, void (*body)(struct scene *, cl_kernel))
{
    struct scene scene;
    cl_kernel kernel = rig_kernel(rig, kernel_source, "buffers");
    if (kernel && scene_open(rig, &scene)) {
        set_plain(&scene, kernel);
        body(&scene, kernel);
        scene_close(&scene);
    }
    if (kernel)
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* Arguments that are no objects: a number of the size of a handle, NULL in both ways, a failed call. */
KERNEL_CASE("kernels: arguments that are no objects", kernel_other_arguments)
{
    const struct rig *rig = scene->rig;
    cl_mem none = NULL, object = scene->shared[KIND_BUFFER].object;
    set_mem(kernel, 1, object);
    launch_refused(rig, kernel);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), NULL), CL_SUCCESS);
    launch_works(rig, kernel);
    set_mem(kernel, 1, object);
    launch_refused(rig, kernel);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &none), CL_SUCCESS);
    launch_works(rig, kernel);
    /* What the driver refuses changes nothing. */
    CHECK(clSetKernelArg(kernel, 99, sizeof(cl_mem), &object) != CL_SUCCESS);
    launch_works(rig, kernel);
    set_mem(kernel, 1, object);
    CHECK(clSetKernelArg(kernel, 1, 1, &scene->plain[KIND_BUFFER]) != CL_SUCCESS);
    launch_refused(rig, kernel);
}

KERNEL_CASE("kernels: sub-buffers", kernel_children)
{
    const struct rig *rig = scene->rig;
    cl_mem object = scene->shared[KIND_BUFFER].object, part = part_of(object, 0, 64);
    set_mem(kernel, 0, part);
    launch_refused(rig, kernel);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    launch_works(rig, kernel);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    launch_refused(rig, kernel);
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
}

/* A second kernel of the same program has its own arguments; one that takes the place of a released one has none. */
KERNEL_CASE("kernels: their lifetimes", kernel_lifetimes)
{
    const struct rig *rig = scene->rig;
    cl_program program = NULL;
    CHECK_INT(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    cl_kernel first = clCreateKernel(program, "buffers", NULL);
    set_plain(scene, first);
    CHECK_INT(clRetainKernel(first), CL_SUCCESS);
    set_mem(first, 0, scene->shared[KIND_BUFFER].object);
    launch_refused(rig, first);
    launch_works(rig, kernel);
    CHECK_INT(clReleaseKernel(first), CL_SUCCESS);
    launch_refused(rig, first);
    CHECK_INT(clRetainKernel(first), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(first), CL_SUCCESS);
    launch_refused(rig, first);
    CHECK_INT(clReleaseKernel(first), CL_SUCCESS);
    for (int i = 0; i < 20; i++) {
        cl_kernel next = clCreateKernel(program, "buffers", NULL);
        set_plain(scene, next);
        launch_works(rig, next);
        set_mem(next, 1, scene->shared[KIND_BUFFER].object);
        launch_refused(rig, next);
        CHECK_INT(clReleaseKernel(next), CL_SUCCESS);
    }
}

/* The argument's object is given back by the application: what a kernel then uses is no object of the application's, and
 * a new object at the same place is not the kernel's. */
KERNEL_CASE("kernels: objects given back", kernel_keeps_argument)
{
    const struct rig *rig = scene->rig;
    struct shared *shared = &scene->shared[KIND_BUFFER];
    set_mem(kernel, 0, shared->object);
    CHECK_INT(clRetainMemObject(shared->object), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    launch_refused(rig, kernel);
    set_mem(kernel, 0, scene->plain[KIND_BUFFER]);
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
    set_mem(kernel, 0, object);
    cl_kernel clone = clCloneKernel(kernel, &status);
    if (!clone) {
        CHECK(status != CL_SUCCESS);
        SKIP("the OpenCL below clones no kernels");
        return;
    }
    launch_refused(rig, clone);
    set_mem(kernel, 0, scene->plain[KIND_BUFFER]);
    launch_works(rig, kernel);
    launch_refused(rig, clone);
    CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
    launch_works(rig, clone);
    CHECK_INT(release_one(rig, object), CL_SUCCESS);
    set_mem(clone, 0, scene->plain[KIND_BUFFER]);
    launch_works(rig, clone);
    CHECK_INT(clReleaseKernel(clone), CL_SUCCESS);
}

/* OpenCL 2.0: shared virtual memory takes the place of a buffer argument. */
KERNEL_CASE("kernels: shared virtual memory", kernel_svm)
{
    const struct rig *rig = scene->rig;
    void *memory = clSVMAlloc(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, 0);
    set_mem(kernel, 0, scene->shared[KIND_BUFFER].object);
    launch_refused(rig, kernel);
    if (!memory) {
        SKIP("the OpenCL below has no shared virtual memory");
        return;
    }
    CHECK_INT(clSetKernelArgSVMPointer(kernel, 0, memory), CL_SUCCESS);
    launch_works(rig, kernel);
    set_mem(kernel, 0, scene->shared[KIND_BUFFER].object);
    launch_refused(rig, kernel);
    clSVMFree(rig->context, memory);
}

/* ---- the check turned off ---- */

/* Runs in a process of its own with CLD3D_STRICT=0. */
SHARING_CASE("no check, with CLD3D_STRICT=0", lenient, 0)
{
    struct scene scene;
    const char *strict = getenv("CLD3D_STRICT");
    if (!strict || strcmp(strict, "0") != 0) {
        SKIP("CLD3D_STRICT is not 0");
        return;
    }
    if (over_import()) {
        SKIP("what OpenCL writes to an import that it does not have is Direct3D's");
        return;
    }
    cl_kernel kernel = rig_kernel(rig, kernel_source, "buffers");
    if (!kernel)
        return;
    if (scene_open(rig, &scene)) {
        for (int kind = 0; kind < KINDS; kind++)
            all_work(&scene, scene.shared[kind].object, (enum kind)kind);
        set_number(kernel, 0);
        set_mem(kernel, 0, scene.shared[KIND_BUFFER].object);
        set_mem(kernel, 1, scene.plain[KIND_BUFFER]);
        launch_works(rig, kernel);
        /* The rules of acquire and release themselves stay. */
        CHECK_INT(release_one(rig, scene.shared[KIND_2D].object), rig->api->not_acquired);
        CHECK(round_trip(rig, &scene.shared[KIND_2D], 2, 9));
        scene_close(&scene);
    }
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

CASE("the check can be turned off", lenient_again)
{
    CHECK_INT(run_again(": no check, ", "CLD3D_STRICT", "0"), over_import() ? 0 : 2);
}

TAP_MAIN
