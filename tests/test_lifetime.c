/* Who holds what for how long: the references that the library holds on Direct3D devices and resources are exact to the
 * count, in every order in which a program gives back what it has, after failures of Direct3D, and with work pending. */
#include "sharing.h"

/* ---- counts ---- */

/* What Direct3D counts on the device and a resource at some moment. */
struct counts {
    ULONG device, resource;
};

static struct counts count(const struct rig *rig, const struct shared *shared)
{
    return (struct counts){rig_refs(rig->device), rig_refs(shared->resource)};
}

/* Checks that there are so many more references than before. */
static bool counts_are(const struct rig *rig, const struct shared *shared, struct counts before, unsigned device,
                       unsigned resource)
{
    const struct counts now = count(rig, shared);
    const bool same_device = CHECK_INT(now.device - before.device, device);
    return CHECK_INT(now.resource - before.resource, resource) && same_device;
}

static cl_uint mem_refs(cl_mem object)
{
    cl_uint refs = 0;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    return refs;
}

/* A context of its own with a queue, in a copy of the rig. */
static bool second_open(const struct rig *rig, struct rig *second)
{
    cl_int status = 1;
    *second = *rig;
    second->context = rig_make_context(rig, rig->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    second->queue = make_queue(rig, second->context, 0);
    return true;
}

static void second_close(struct rig *second)
{
    if (second->queue)
        CHECK_INT(clReleaseCommandQueue(second->queue), CL_SUCCESS);
    if (second->context)
        CHECK_INT(clReleaseContext(second->context), CL_SUCCESS);
    second->queue = NULL;
    second->context = NULL;
}

static cl_mem create(const struct rig *rig, const struct shared *shared)
{
    cl_int status = 1;
    cl_mem object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, shared->kind, shared->resource, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    return object;
}

/* The context keeps the staging copy of an object that is gone for the next one of that shape, and a staging copy is a
 * child of the device. With that one there all counts are exact. */
static struct counts count_kept(const struct rig *rig, struct shared *shared)
{
    shared->object = create(rig, shared);
    CHECK(round_trip(rig, shared, 1, 1));
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = NULL;
    return count(rig, shared);
}

/* A context is one reference on the device, an object one on its resource; nothing that a program does with them
 * changes that. A staging copy stays with the context. */
SHARING_CASE(one_each, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        struct rig second;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count(rig, &shared);
        if (second_open(rig, &second)) {
            counts_are(rig, &shared, before, 1, 0);
            shared.object = create(&second, &shared);
            counts_are(rig, &shared, before, 1, 1);
            CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
            const struct counts staged = count(rig, &shared);
            CHECK_INT(staged.resource - before.resource, 1);
            for (unsigned turn = 0; turn < 3; turn++) {
                CHECK_INT(release_one(&second, shared.object), CL_SUCCESS);
                CHECK(round_trip(&second, &shared, turn + 1, turn + 2));
                CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
                counts_are(rig, &shared, staged, 0, 0);
            }
            CHECK_INT(release_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            counts_are(rig, &shared, before, staged.device - before.device, 0);
            second_close(&second);
        }
        counts_are(rig, &shared, before, 0, 0);
        shared_close(&shared);
    }
}

/* Only the application's last release gives the resource back, and then its subresource may have a new object. */
SHARING_CASE(object_retains, 0)
{
    enum { RETAINS = 5 };
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count(rig, &shared);
        shared.object = create(rig, &shared);
        for (int i = 1; i <= RETAINS; i++) {
            CHECK_INT(clRetainMemObject(shared.object), CL_SUCCESS);
            CHECK_INT(mem_refs(shared.object), i + 1);
            counts_are(rig, &shared, before, 0, 1);
        }
        for (int i = RETAINS; i > 0; i--) {
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            CHECK_INT(mem_refs(shared.object), i);
            counts_are(rig, &shared, before, 0, 1);
            refused(rig, rig->context, 0, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
        }
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, 0);
        shared.object = create(rig, &shared);
        counts_are(rig, &shared, before, 0, 1);
        shared_close(&shared);
    }
}

/* The device goes with the application's last reference to the context, though the queue and the object hold that for
 * longer: they still work. */
SHARING_CASE(context_retains, 0)
{
    struct shared shared;
    struct rig second;
    if (!shared_resource(rig, KIND_BUFFER, 1, &shared))
        return;
    const struct counts before = count(rig, &shared);
    if (second_open(rig, &second)) {
        shared.object = create(&second, &shared);
        for (int i = 0; i < 4; i++)
            CHECK_INT(clRetainContext(second.context), CL_SUCCESS);
        for (int i = 0; i < 4; i++) {
            CHECK_INT(clReleaseContext(second.context), CL_SUCCESS);
            counts_are(rig, &shared, before, 1, 1);
        }
        CHECK_INT(clReleaseContext(second.context), CL_SUCCESS);
        second.context = NULL;
        counts_are(rig, &shared, before, 0, 1);
        CHECK(round_trip(&second, &shared, 1, 2));
        CHECK(round_trip(&second, &shared, 2, 3));
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        shared.object = NULL;
        second_close(&second);
    }
    counts_are(rig, &shared, before, 0, 0);
    shared_close(&shared);
}

/* ---- every order ---- */

enum thing { THE_CONTEXT, THE_QUEUE, THE_OBJECT, THE_EVENT, THE_KERNEL, THE_PART, THINGS };

static const char *const thing_names[] = {"context", "queue", "object", "event", "kernel", "part"};

/* One of each thing, all connected with one another. */
struct set {
    struct rig rig; /* with the context and the queue */
    struct shared shared;
    cl_mem out;     /* the kernel's other argument */
    cl_event event;
    cl_kernel kernel;
    cl_mem part;
    bool has[THINGS];
    struct counts before;
};

enum part { NO_PART, SUB_BUFFER, IMAGE_OF_BUFFER };

static const char *const kernel_sources[KINDS] = {
    "kernel void use(global uint *in, global uint *out) { out[get_global_id(0)] = in[get_global_id(0)]; }\n",
    "kernel void use(read_only image2d_t in, global uint *out)\n"
    "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  out[get_global_id(0)] = read_imageui(in, s, (int2)(get_global_id(0), 0)).x; }\n",
    "kernel void use(read_only image3d_t in, global uint *out)\n"
    "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "  out[get_global_id(0)] = read_imageui(in, s, (int4)(get_global_id(0), 0, 0, 0)).x; }\n",
};

static cl_mem make_part(cl_context context, cl_mem buffer, enum part part)
{
    const cl_buffer_region region = {0, 64};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 8, .mem_object = buffer};
    if (part == SUB_BUFFER)
        return clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
}

/* The kernels' programs are compiled once, and then made of what came out: there are thousands of contexts here. */
static struct binary {
    unsigned char *bytes;
    size_t size;
} binaries[KINDS];

static void keep_binary(cl_kernel kernel, struct binary *binary)
{
    cl_program program = NULL;
    CHECK_INT(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(binary->size), &binary->size, NULL), CL_SUCCESS);
    binary->bytes = malloc(binary->size);
    CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary->bytes), &binary->bytes, NULL), CL_SUCCESS);
}

static cl_kernel kernel_of_binary(const struct rig *rig, const struct binary *binary)
{
    cl_int status = 1, loaded = 1;
    const unsigned char *bytes = binary->bytes;
    cl_program program =
        clCreateProgramWithBinary(rig->context, 1, &rig->cl_device, &binary->size, &bytes, &loaded, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "", NULL, NULL), CL_SUCCESS))
        return NULL;
    cl_kernel kernel = clCreateKernel(program, "use", &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    return kernel;
}

/* The kernel with the object and a plain buffer as arguments. */
static cl_kernel kernel_for(const struct rig *rig, const struct shared *shared, cl_mem out)
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

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    const size_t size = 4;
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, wait_count, wait, event);
}

/* Without the object, which is made anew for each order. */
static bool set_open(const struct rig *rig, enum kind kind, struct set *set)
{
    *set = (struct set){.rig = *rig};
    if (!shared_resource(rig, kind, 1, &set->shared))
        return false;
    set->before = count(rig, &set->shared);
    return true;
}

/* Makes the things and uses them once; false if the driver does not have the part. */
static bool set_fill(const struct rig *rig, enum part part, bool acquired, struct set *set)
{
    if (!second_open(rig, &set->rig))
        return false;
    set->shared.object = create(&set->rig, &set->shared);
    set->out = clCreateBuffer(set->rig.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    set->kernel = kernel_for(&set->rig, &set->shared, set->out);
    set->part = part ? make_part(set->rig.context, set->shared.object, part) : NULL;
    cl_mem object = set->shared.object;
    CHECK_INT(set->rig.acquire(set->rig.queue, 1, &object, 0, NULL, &set->event), CL_SUCCESS);
    CHECK_INT(launch(set->rig.queue, set->kernel, 0, NULL, NULL), CL_SUCCESS);
    queue_wait(set->rig.queue);
    if (!acquired)
        CHECK_INT(release_one(&set->rig, object), CL_SUCCESS);
    for (int i = 0; i < THINGS; i++)
        set->has[i] = i != THE_PART || set->part;
    return !part || set->part;
}

static void give_back(struct set *set, enum thing thing)
{
    set->has[thing] = false;
    switch (thing) {
    case THE_CONTEXT: CHECK_INT(clReleaseContext(set->rig.context), CL_SUCCESS); break;
    case THE_QUEUE: CHECK_INT(clReleaseCommandQueue(set->rig.queue), CL_SUCCESS); break;
    case THE_OBJECT: CHECK_INT(clReleaseMemObject(set->shared.object), CL_SUCCESS); break;
    case THE_EVENT: CHECK_INT(clReleaseEvent(set->event), CL_SUCCESS); break;
    case THE_KERNEL: CHECK_INT(clReleaseKernel(set->kernel), CL_SUCCESS); break;
    default: CHECK_INT(clReleaseMemObject(set->part), CL_SUCCESS); break;
    }
}

/* What is made of a buffer keeps it. The staging copy, a child of the device, lives as long as the object or the context. */
static bool set_counts(const struct rig *rig, const struct set *set)
{
    const unsigned object = set->has[THE_OBJECT] || set->has[THE_PART];
    const unsigned context = set->has[THE_CONTEXT];
    return counts_are(rig, &set->shared, set->before, context + (object || context), object);
}

/* The next order of the numbers, false behind the last one. */
static bool next_order(int *order, int length)
{
    int at = length - 2, other = length - 1;
    while (at >= 0 && order[at] > order[at + 1])
        at--;
    if (at < 0)
        return false;
    while (order[other] < order[at])
        other--;
    const int swapped = order[at];
    order[at] = order[other];
    order[other] = swapped;
    for (int low = at + 1, high = length - 1; low < high; low++, high--) {
        const int kept = order[low];
        order[low] = order[high];
        order[high] = kept;
    }
    return true;
}

static void show_order(const int *order, int length, int at)
{
    printf("# in the order");
    for (int i = 0; i < length; i++)
        printf(" %s%s", thing_names[order[i]], i == at ? " (here)" : "");
    printf("\n");
}

/* Gives all back in one order; false if a count was wrong. */
static bool try_order(const struct rig *rig, struct set *set, const int *order, int length)
{
    bool fine = true;
    for (int i = 0; i < length && fine; i++) {
        give_back(set, (enum thing)order[i]);
        fine = set_counts(rig, set);
        if (!fine)
            show_order(order, length, i);
    }
    CHECK_INT(clReleaseMemObject(set->out), CL_SUCCESS);
    return fine;
}

static void every_order(const struct rig *rig, enum kind kind, enum part part, bool acquired)
{
    struct set set;
    int order[THINGS] = {0, 1, 2, 3, 4, 5};
    const int length = part ? THINGS : THINGS - 1;
    if (!set_open(rig, kind, &set))
        return;
    for (bool more = true; more;) {
        if (!set_fill(rig, part, acquired, &set)) {
            SKIP("the driver makes no images of buffers");
            try_order(rig, &set, order, THINGS - 1);
            break;
        }
        more = try_order(rig, &set, order, length) && next_order(order, length);
    }
    counts_are(rig, &set.shared, set.before, 0, 0);
    CHECK(acquired || d3d_has(rig, &set.shared, 1));
    set.shared.object = NULL; /* given back in each order */
    shared_close(&set.shared);
}

SHARING_CASE(orders_buffer, 0)
{
    every_order(rig, KIND_BUFFER, NO_PART, false);
    every_order(rig, KIND_BUFFER, NO_PART, true);
}

SHARING_CASE(orders_2d, 0)
{
    every_order(rig, KIND_2D, NO_PART, false);
    every_order(rig, KIND_2D, NO_PART, true);
}

SHARING_CASE(orders_3d, 0)
{
    every_order(rig, KIND_3D, NO_PART, false);
    every_order(rig, KIND_3D, NO_PART, true);
}

SHARING_CASE(orders_sub_buffer, 0)
{
    every_order(rig, KIND_BUFFER, SUB_BUFFER, true);
}

SHARING_CASE(orders_image_of_buffer, 0)
{
    every_order(rig, KIND_BUFFER, IMAGE_OF_BUFFER, false);
}

/* A context that is gone for the application, and then the device too: what is left keeps working, since the resource
 * keeps its device. */
SHARING_CASE(only_the_object_is_left, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        struct rig second = *rig;
        cl_int status = 1;
        second.device = rig_another_device(rig);
        second.context = rig_make_context(&second, second.device, false, &status);
        CHECK_INT(status, CL_SUCCESS);
        second.queue = make_queue(&second, second.context, 0);
        if (shared_open(&second, (enum kind)kind, 1, &shared)) {
            CHECK_INT(clReleaseContext(second.context), CL_SUCCESS);
            second.context = NULL;
            rig_release(second.device);
            CHECK(round_trip(&second, &shared, 1, 2));
            CHECK(round_trip(&second, &shared, 2, 3));
            shared_close(&shared);
        } else {
            rig_release(second.device);
        }
        second_close(&second);
    }
}

/* ---- work is pending ---- */

static void finish_event(cl_event event)
{
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

/* Whether the staging copy has been unmapped since the last reset; only the fake can tell. */
static void check_still_mapped(bool mapped)
{
#ifndef _WIN32
    CHECK_INT(fake_d3d_calls("Unmap") == 0, mapped);
#else
    (void)mapped;
#endif
}

static void forget_calls(void)
{
#ifndef _WIN32
    fake_d3d_reset();
#endif
}

/* The bytes of the acquire are on their way when the object goes: what they are read from stays until they are through. */
SHARING_CASE(acquire_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        for (int held_queue = 0; held_queue < 2; held_queue++) {
            cl_event user = user_event(rig->context), acquired = NULL;
            shared.object = create(rig, &shared);
            if (held_queue)
                CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 1, &user, NULL), CL_SUCCESS);
            forget_calls();
            CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, !held_queue, held_queue ? NULL : &user, &acquired),
                      CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            check_still_mapped(true);
            /* The subresource is free all the same. */
            shared.object = create(rig, &shared);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            finish_event(acquired);
            check_still_mapped(false);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            CHECK(round_trip(rig, &shared, 1, 1));
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            counts_are(rig, &shared, before, 0, 0);
        }
        shared_close(&shared);
    }
}

/* The same with a user event that fails. */
SHARING_CASE(acquire_fails_later, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        cl_event user = user_event(rig->context), acquired = NULL;
        shared.object = create(rig, &shared);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, &acquired), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        shared.object = NULL;
        CHECK_INT(clSetUserEventStatus(user, -1), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, 0);
        CHECK(rig_event_status(acquired) < 0);
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* Large enough that the bytes are still on their way, if nobody waits for them. */
static const struct rig_desc large = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 1024, .height = 512};

SHARING_CASE(released_at_once, 0)
{
    void *texture = rig_make(rig, rig->device, &large, NULL);
    if (!CHECK(texture != NULL))
        return;
    const struct shared shared = {.resource = texture};
    struct counts before = {0, 0};
    for (int i = 0; i < 8; i++) {
        cl_int status = 1;
        cl_mem object = rig->create_2d(rig->context, 0, texture, 0, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        if (i > 0)
            counts_are(rig, &shared, before, 0, 0);
        before = count(rig, &shared);
    }
    queue_wait(rig->queue);
    rig_release(texture);
}

/* A release behind a user event brings its bytes home, though the object is gone for the application. */
SHARING_CASE(release_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        unsigned char bytes[SHARED_BYTES];
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        cl_event user = user_event(rig->context), released = NULL;
        rig_pattern(bytes, sizeof(bytes), 2);
        shared.object = create(rig, &shared);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        shared.object = NULL;
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared, 2));
        finish_event(released);
        counts_are(rig, &shared, before, 0, 0);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* A whole cycle waits, and its acquire has not even begun: it needs the object that the application gave back. */
SHARING_CASE(cycle_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        unsigned char bytes[SHARED_BYTES];
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        cl_event user = user_event(rig->context), acquired = NULL;
        rig_pattern(bytes, sizeof(bytes), 2);
        shared.object = create(rig, &shared);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        shared.object = NULL;
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared, 2));
        finish_event(acquired);
        counts_are(rig, &shared, before, 0, 0);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* Context and queue go too, and the user event last. */
SHARING_CASE(all_given_back_meanwhile, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        struct rig second;
        unsigned char bytes[SHARED_BYTES];
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count(rig, &shared);
        if (second_open(rig, &second)) {
            cl_event user = user_event(second.context);
            rig_pattern(bytes, sizeof(bytes), 2);
            shared.object = create(&second, &shared);
            CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(cl_write(second.queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
            CHECK_INT(release_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            second_close(&second);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            CHECK(d3d_has(rig, &shared, 2));
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        }
        counts_are(rig, &shared, before, 0, 0);
        shared_close(&shared);
    }
}

/* A kernel that runs, or waits to, keeps OpenCL's memory; the resource is Direct3D's alone from the last release on. */
SHARING_CASE(kernel_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        cl_uint values[4] = {0}, expected[4];
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        cl_mem out = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
        shared.object = create(rig, &shared);
        cl_kernel kernel = kernel_for(rig, &shared, out);
        cl_event user = user_event(rig->context), ran = NULL;
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        queue_wait(rig->queue);
        CHECK_INT(launch(rig->queue, kernel, 1, &user, &ran), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, 0);
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        finish_event(ran);
        CHECK_INT(clEnqueueReadBuffer(rig->queue, out, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL), CL_SUCCESS);
        unsigned char bytes[SHARED_BYTES];
        rig_pattern(bytes, sizeof(bytes), 1);
        for (int i = 0; i < 4; i++)
            expected[i] = kind == KIND_BUFFER ? ((cl_uint *)(void *)bytes)[i] : bytes[4 * i];
        CHECK_MEM(values, expected, sizeof(values));
        shared.object = NULL;
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* ---- mapped pointers ---- */

static void *map_whole(const struct rig *rig, const struct shared *shared)
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

/* Context, queue and object go in every order while the object is mapped: nobody unmaps it any more. */
SHARING_CASE(mapped, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        int order[] = {THE_CONTEXT, THE_QUEUE, THE_OBJECT};
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count(rig, &shared);
        do {
            struct set set = {.rig = *rig, .shared = shared};
            if (!second_open(rig, &set.rig))
                break;
            set.shared.object = create(&set.rig, &set.shared);
            CHECK_INT(acquire_one(&set.rig, set.shared.object), CL_SUCCESS);
            CHECK(map_whole(&set.rig, &set.shared) != NULL);
            refused(rig, set.rig.context, 0, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
            for (int i = 0; i < 3; i++)
                give_back(&set, (enum thing)order[i]);
            counts_are(rig, &shared, before, 0, 0);
        } while (next_order(order, 3));
        shared_close(&shared);
    }
}

/* A mapping is the driver's reference and not the application's. */
SHARING_CASE(mapped_and_made_anew, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared *shared = &all[kind];
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK(map_whole(rig, shared) != NULL);
        CHECK_INT(mem_refs(shared->object), 1);
        refused(rig, rig->context, 0, (enum kind)kind, shared->resource, 0, rig->api->invalid_resource);
        CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
        shared->object = create(rig, shared);
        CHECK(round_trip(rig, shared, 1 + (unsigned)kind, 9));
    }
    shared_close_all(all);
}

/* A command that waits holds the object in the driver, and its subresource is free all the same. */
SHARING_CASE(used_and_made_anew, 0)
{
    struct shared all[KINDS];
    unsigned char seen[KINDS][SHARED_BYTES], expected[SHARED_BYTES];
    if (!shared_open_all(rig, 1, all))
        return;
    cl_event user = user_event(rig->context);
    cl_command_queue other = make_queue(rig, rig->context, 0);
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared *shared = &all[kind];
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        queue_wait(rig->queue);
        CHECK_INT(clEnqueueBarrierWithWaitList(other, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(cl_read(other, shared, seen[kind], NULL), CL_SUCCESS);
        CHECK_INT(mem_refs(shared->object), 1);
        refused(rig, rig->context, 0, (enum kind)kind, shared->resource, 0, rig->api->invalid_resource);
        CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
        shared->object = create(rig, shared);
        CHECK(round_trip(rig, shared, 1 + (unsigned)kind, 9));
    }
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    queue_wait(other);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        rig_pattern(expected, sizeof(expected), 1 + kind);
        CHECK_MEM(seen[kind], expected, SHARED_BYTES);
    }
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close_all(all);
}

/* ---- events ---- */

/* User events that are given back without being set are nobody's any more: what stands at their places later is not
 * taken for one. */
SHARING_CASE(user_events_never_set, 0)
{
    enum { EVENTS = 32 };
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_event never[EVENTS];
    for (int i = 0; i < EVENTS; i++) {
        never[i] = user_event(rig->context);
        CHECK_INT(clRetainEvent(never[i]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(never[i]), CL_SUCCESS);
    }
    for (int i = 0; i < EVENTS; i++)
        CHECK_INT(clReleaseEvent(never[i]), CL_SUCCESS);
    for (unsigned turn = 0; turn < EVENTS; turn++) {
        cl_event marks[EVENTS];
        rig_pattern(bytes, sizeof(bytes), 2 + turn);
        for (int i = 0; i < EVENTS; i++)
            CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marks[i]), CL_SUCCESS);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &shared, bytes, EVENTS, marks, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        const bool there = d3d_has(rig, &shared, 2 + turn);
        for (int i = 0; i < EVENTS; i++)
            CHECK_INT(clReleaseEvent(marks[i]), CL_SUCCESS);
        if (!there)
            break;
    }
    shared_close(&shared);
}

/* Events outlive what they belong to, also those of commands that failed. */
SHARING_CASE(events_last, 0)
{
    struct shared shared;
    struct rig second;
    if (!shared_resource(rig, KIND_2D, 1, &shared))
        return;
    const struct counts before = count(rig, &shared);
    for (int failing = 0; failing < 2 && second_open(rig, &second); failing++) {
        cl_event events[2] = {NULL, NULL}, user = user_event(second.context);
        shared.object = create(&second, &shared);
        CHECK_INT(second.acquire(second.queue, 1, &shared.object, 1, &user, &events[0]), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, failing ? -5 : CL_COMPLETE), CL_SUCCESS);
        if (!failing) {
            CHECK_INT(second.release(second.queue, 1, &shared.object, 0, NULL, &events[1]), CL_SUCCESS);
            CHECK_INT(clWaitForEvents(1, &events[1]), CL_SUCCESS);
        }
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        second_close(&second);
        counts_are(rig, &shared, before, 0, 0);
        CHECK_INT(rig_event_type(events[0]), rig->api->command_acquire);
        CHECK_INT(rig_event_status(events[0]) < 0, failing);
        CHECK_INT(clReleaseEvent(events[0]), CL_SUCCESS);
        if (events[1]) {
            CHECK_INT(rig_event_type(events[1]), rig->api->command_release);
            CHECK_INT(clReleaseEvent(events[1]), CL_SUCCESS);
        }
    }
    shared.object = NULL;
    shared_close(&shared);
}

#ifndef _WIN32
/* ---- callbacks when an object is deleted ---- */

struct deleted {
    atomic_int calls;
    atomic_int order;
    atomic_int *next;
};

static void CL_CALLBACK on_deleted(cl_mem object, void *data)
{
    struct deleted *deleted = data;
    (void)object;
    atomic_store(&deleted->order, atomic_fetch_add(deleted->next, 1));
    atomic_fetch_add(&deleted->calls, 1);
}

static int deleted_calls(struct deleted *deleted)
{
    for (int i = 0; i < 2000 && !atomic_load(&deleted->calls); i++)
        pause_ms(1);
    return atomic_load(&deleted->calls);
}

SHARING_CASE(destructor_callbacks, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        atomic_int next = 0;
        struct deleted deleted[2] = {{.next = &next}, {.next = &next}};
        for (int i = 0; i < 2; i++)
            CHECK_INT(clSetMemObjectDestructorCallback(all[kind].object, on_deleted, &deleted[i]), CL_SUCCESS);
        CHECK_INT(clRetainMemObject(all[kind].object), CL_SUCCESS);
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 9));
        CHECK_INT(acquire_one(rig, all[kind].object), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(all[kind].object), CL_SUCCESS);
        queue_wait(rig->queue);
        CHECK_INT(atomic_load(&deleted[0].calls) + atomic_load(&deleted[1].calls), 0);
        CHECK_INT(clReleaseMemObject(all[kind].object), CL_SUCCESS);
        all[kind].object = NULL;
        CHECK_INT(deleted_calls(&deleted[0]), 1);
        CHECK_INT(deleted_calls(&deleted[1]), 1);
        CHECK(atomic_load(&deleted[1].order) < atomic_load(&deleted[0].order)); /* the last one registered is the first */
    }
    shared_close_all(all);
}

/* ---- Direct3D fails ---- */

/* What the library may call of Direct3D and what can fail. */
static const char *const methods[] = {
    "QueryInterface", "CreateBuffer", "CreateTexture2D", "CreateTexture3D", "Map", "GetDeviceRemovedReason",
    "GetAdapter",     "GetDesc",      "CheckFormatSupport",
};
enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

static const HRESULT failures[] = {E_OUTOFMEMORY, E_FAIL, DXGI_ERROR_DEVICE_REMOVED};
enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };

/* One thing that a program does; it gives back what it made, and tells with what code it ended. */
typedef cl_int (*action)(const struct rig *rig, struct shared *shared);

static cl_int make_a_context(const struct rig *rig, struct shared *shared)
{
    cl_int status = 1;
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    (void)shared;
    CHECK_INT(context != NULL, status == CL_SUCCESS);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status;
}

static cl_int make_an_object(const struct rig *rig, struct shared *shared)
{
    cl_int status = 1;
    cl_mem object = kind_create(rig, rig->context, 0, shared->kind, shared->resource, 0, &status);
    CHECK_INT(object != NULL, status == CL_SUCCESS);
    if (object)
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    return status;
}

/* The end of a command that may have failed in the call or by its event. */
static cl_int command_end(cl_int status, cl_event event)
{
    CHECK_INT(event != NULL, status == CL_SUCCESS);
    if (!event)
        return status;
    clWaitForEvents(1, &event);
    status = rig_event_status(event);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    return status;
}

/* A new object, acquired for the first time: with the staging copy. */
static cl_int acquire_first(const struct rig *rig, struct shared *shared)
{
    cl_event event = NULL;
    const cl_int called = rig->acquire(rig->queue, 1, &shared->object, 0, NULL, &event);
    const cl_int status = command_end(called, event);
    CHECK_INT(release_one(rig, shared->object), status == CL_SUCCESS ? CL_SUCCESS : rig->api->not_acquired);
    return status;
}

/* A release that fails is one all the same: Direct3D has the object again. */
static cl_int release_first(const struct rig *rig, struct shared *shared)
{
    cl_event event = NULL;
    const cl_int called = rig->release(rig->queue, 1, &shared->object, 0, NULL, &event);
    const cl_int status = command_end(called, event);
    CHECK_INT(release_one(rig, shared->object), rig->api->not_acquired);
    return status;
}

static bool clean_failure(cl_int status, const struct rig *rig)
{
    return status == CL_SUCCESS || status == rig->api->invalid_resource || status == rig->api->invalid_device ||
           status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY;
}

static unsigned failures_seen;

/* Runs an action with one call of Direct3D failing, and checks that nothing is left of it. */
static void fail_once(const struct rig *rig, struct shared *shared, action act, const char *method, unsigned nth,
                      HRESULT code)
{
    const struct counts before = count(rig, shared);
    const int failed = atomic_load(&tap_case.failures);
    CHECK(fake_d3d_fail(method, nth, code) > 0);
    const cl_int status = act(rig, shared);
    fake_d3d_fail(method, 0, S_OK);
    failures_seen += status != CL_SUCCESS;
    if (!CHECK(clean_failure(status, rig)))
        printf("# status %d\n", status);
    counts_are(rig, shared, before, 0, 0);
    if (atomic_load(&tap_case.failures) != failed)
        printf("# call %u of %s failed with 0x%08lx, kind %d\n", nth, method, (unsigned long)code, shared->kind);
}

/* Each call that the action makes fails once in turn, in each way. */
static void fail_each(const struct rig *rig, struct shared *shared, action act)
{
    unsigned calls[METHODS];
    fake_d3d_reset();
    CHECK_INT(act(rig, shared), CL_SUCCESS);
    for (int m = 0; m < METHODS; m++)
        calls[m] = fake_d3d_calls(methods[m]);
    for (int m = 0; m < METHODS; m++)
        for (unsigned nth = 1; nth <= calls[m]; nth++)
            for (int f = 0; f < FAILURES; f++)
                fail_once(rig, shared, act, methods[m], nth, failures[f]);
    CHECK_INT(act(rig, shared), CL_SUCCESS);
}

SHARING_CASE(failing_contexts, 0)
{
    struct shared shared;
    if (!shared_resource(rig, KIND_BUFFER, 1, &shared))
        return;
    failures_seen = 0;
    fail_each(rig, &shared, make_a_context);
    CHECK(failures_seen > 0);
    shared_close(&shared);
}

SHARING_CASE(failing_objects, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        failures_seen = 0;
        fail_each(rig, &shared, make_an_object);
        CHECK(failures_seen > 0);
        shared.object = create(rig, &shared);
        CHECK(round_trip(rig, &shared, 1, 2));
        shared_close(&shared);
    }
}

static void try_failing_acquire(const struct rig *rig, struct shared *shared, const char *method, unsigned nth,
                                HRESULT code)
{
    /* An object of a context of its own each time, since its staging copy stays with them. */
    struct rig second;
    if (!second_open(rig, &second))
        return;
    shared->object = create(&second, shared);
    const struct counts before = count(rig, shared);
    CHECK(fake_d3d_fail(method, nth, code) > 0);
    cl_event event = NULL;
    const cl_int called = second.acquire(second.queue, 1, &shared->object, 0, NULL, &event);
    fake_d3d_fail(method, 0, S_OK);
    const cl_int status = command_end(called, event);
    failures_seen += status != CL_SUCCESS;
    CHECK_INT(called, CL_SUCCESS);
    CHECK(status == CL_SUCCESS || status == CL_OUT_OF_RESOURCES);
    CHECK_INT(count(rig, shared).resource - before.resource, 0);
    CHECK_INT(release_one(&second, shared->object), status == CL_SUCCESS ? CL_SUCCESS : rig->api->not_acquired);
    CHECK(round_trip(&second, shared, 1, 1));
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = NULL;
    second_close(&second);
}

SHARING_CASE(failing_acquires, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        unsigned calls[METHODS];
        if (!shared_open(rig, (enum kind)kind, 1, &shared))
            continue;
        fake_d3d_reset();
        CHECK_INT(acquire_first(rig, &shared), CL_SUCCESS);
        for (int m = 0; m < METHODS; m++)
            calls[m] = fake_d3d_calls(methods[m]);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        const struct counts before = count(rig, &shared);
        failures_seen = 0;
        for (int m = 0; m < METHODS; m++)
            for (unsigned nth = 1; nth <= calls[m]; nth++)
                for (int f = 0; f < FAILURES; f++)
                    try_failing_acquire(rig, &shared, methods[m], nth, failures[f]);
        CHECK(failures_seen >= FAILURES * 2);
        counts_are(rig, &shared, before, 0, 0);
        shared.object = NULL;
        shared_close(&shared);
    }
}

/* A dynamic resource gets its bytes through a map, which can fail. */
static bool dynamic_open(const struct rig *rig, enum kind kind, struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES];
    *shared = (struct shared){.kind = kind, .desc = kind_desc(kind)};
    shared->desc.usage = RIG_DYNAMIC;
    shared->desc.bind = D3D11_BIND_SHADER_RESOURCE;
    shared->resource = rig_make(rig, rig->device, &shared->desc, NULL);
    if (!CHECK(shared->resource != NULL))
        return false;
    rig_pattern(bytes, sizeof(bytes), 1);
    rig_write(rig, shared->resource, &shared->desc, 0, bytes);
    shared->object = create(rig, shared);
    return CHECK(shared->object != NULL);
}

SHARING_CASE(failing_releases, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!dynamic_open(rig, (enum kind)kind, &shared))
            continue;
        failures_seen = 0;
        for (unsigned nth = 1; nth <= 2; nth++) {
            for (int f = 0; f < FAILURES; f++) {
                CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
                fail_once(rig, &shared, release_first, "Map", nth, failures[f]);
                CHECK(round_trip(rig, &shared, 1, 1));
            }
        }
        CHECK_INT(failures_seen, 2 * FAILURES);
        shared_close(&shared);
    }
}

/* ---- the device is lost ---- */

/* A rig of its own around a device that may be lost. */
static bool doomed_open(const struct rig *rig, enum kind kind, struct rig *doomed, struct shared *shared)
{
    cl_int status = 1;
    *doomed = *rig;
    doomed->device = rig_another_device(rig);
    doomed->context = rig_make_context(doomed, doomed->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS)) {
        rig_release(doomed->device);
        return false;
    }
    doomed->queue = make_queue(doomed, doomed->context, 0);
    return shared_open(doomed, kind, 1, shared);
}

/* Everything is still there to be asked, fails with a clear code, and can be given back. */
static void doomed_close(struct rig *doomed, struct shared *shared)
{
    cl_event event = NULL;
    const struct counts before = count(doomed, shared);
    for (int i = 0; i < 2; i++) {
        const cl_int called = doomed->acquire(doomed->queue, 1, &shared->object, 0, NULL, &event);
        CHECK_INT(called, CL_SUCCESS);
        CHECK_INT(command_end(called, event), CL_OUT_OF_RESOURCES);
        CHECK_INT(acquire_one(doomed, shared->object), CL_OUT_OF_RESOURCES);
        CHECK_INT(release_one(doomed, shared->object), doomed->api->not_acquired);
    }
    CHECK_INT(count(doomed, shared).resource - before.resource, 0);
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    CHECK_INT(rig_refs(shared->resource), 1);
    rig_release(shared->resource);
    CHECK_INT(rig_refs(doomed->device), 2);
    CHECK_INT(clReleaseCommandQueue(doomed->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(doomed->context), CL_SUCCESS);
    CHECK_INT(rig_refs(doomed->device), 1);
    rig_release(doomed->device);
}

/* Every call of the first acquire and release in turn finds the device lost. */
static bool lose_in_call(const struct rig *rig, enum kind kind, unsigned nth)
{
    struct rig doomed;
    struct shared shared;
    cl_event event = NULL;
    if (!doomed_open(rig, kind, &doomed, &shared))
        return false;
    fake_d3d_remove_after(doomed.device, nth, DXGI_ERROR_DEVICE_REMOVED);
    cl_int called = doomed.acquire(doomed.queue, 1, &shared.object, 0, NULL, &event);
    cl_int status = command_end(called, event);
    const bool acquired = status == CL_SUCCESS;
    CHECK_INT(called, CL_SUCCESS);
    CHECK(acquired || status == CL_OUT_OF_RESOURCES);
    event = NULL;
    called = doomed.release(doomed.queue, 1, &shared.object, 0, NULL, acquired ? &event : NULL);
    status = acquired ? command_end(called, event) : called;
    CHECK(acquired || status == rig->api->not_acquired);
    const bool lost = status != CL_SUCCESS;
    fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_HUNG);
    doomed_close(&doomed, &shared);
    return lost;
}

SHARING_CASE(lost_in_each_call, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned nth = 1;
        while (lose_in_call(rig, (enum kind)kind, nth) && nth < 100)
            nth++;
        CHECK(nth > 4); /* the staging copy, the copy, the map, and the way back */
        CHECK(nth < 100);
    }
}

/* While the object is acquired the bytes are OpenCL's: they can be used to the end. */
SHARING_CASE(lost_while_acquired, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct rig doomed;
        struct shared shared;
        cl_event event = NULL;
        if (!doomed_open(rig, (enum kind)kind, &doomed, &shared))
            continue;
        CHECK_INT(acquire_one(&doomed, shared.object), CL_SUCCESS);
        fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
        CHECK(cl_has(doomed.queue, &shared, 1));
        const cl_int called = doomed.release(doomed.queue, 1, &shared.object, 0, NULL, &event);
        CHECK_INT(called, CL_SUCCESS);
        CHECK_INT(command_end(called, event), CL_OUT_OF_RESOURCES);
        CHECK(cl_read(doomed.queue, &shared, &(unsigned char[SHARED_BYTES]){0}, NULL) == rig->api->not_acquired);
        doomed_close(&doomed, &shared);
    }
}

/* An acquire waits for the GPU when the device is lost under it. */
struct loss {
    void *device;
    unsigned after_ms;
};

static void lose_later(void *data)
{
    const struct loss *loss = data;
    pause_ms(loss->after_ms);
    fake_d3d_remove(loss->device, DXGI_ERROR_DEVICE_HUNG);
}

SHARING_CASE(lost_while_waiting, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct rig doomed;
        struct shared shared;
        test_thread thread;
        cl_event event = NULL;
        if (!doomed_open(rig, (enum kind)kind, &doomed, &shared))
            continue;
        struct loss loss = {doomed.device, 20};
        struct test_job job = {lose_later, &loss};
        fake_d3d_hold(true);
        if (test_thread_start(&thread, &job)) {
            const cl_int called = doomed.acquire(doomed.queue, 1, &shared.object, 0, NULL, &event);
            CHECK_INT(called, CL_SUCCESS);
            CHECK_INT(command_end(called, event), CL_OUT_OF_RESOURCES);
            test_thread_join(thread);
        }
        fake_d3d_hold(false);
        doomed_close(&doomed, &shared);
    }
}

/* Commands that wait for a user event when the device is lost: their events fail, and nobody waits for ever. */
SHARING_CASE(lost_while_deferred, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int cycles = 0; cycles < 2; cycles++) {
            struct rig doomed;
            struct shared shared;
            cl_event released = NULL, acquired = NULL;
            if (!doomed_open(rig, (enum kind)kind, &doomed, &shared))
                continue;
            cl_event user = user_event(doomed.context);
            CHECK_INT(acquire_one(&doomed, shared.object), CL_SUCCESS);
            CHECK_INT(clEnqueueBarrierWithWaitList(doomed.queue, 1, &user, NULL), CL_SUCCESS);
            CHECK_INT(doomed.release(doomed.queue, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
            if (cycles)
                CHECK_INT(doomed.acquire(doomed.queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
            fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            CHECK(command_end(CL_SUCCESS, released) < 0);
            if (cycles)
                CHECK(command_end(CL_SUCCESS, acquired) < 0);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            doomed_close(&doomed, &shared);
        }
    }
}

/* A device that is lost already makes no context, or one that works as far as it can. */
SHARING_CASE(lost_before, 0)
{
    struct rig doomed = *rig;
    cl_int status = 1;
    doomed.device = rig_another_device(rig);
    const ULONG before = rig_refs(doomed.device);
    fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
    cl_context context = rig_make_context(rig, doomed.device, false, &status);
    CHECK_INT(context != NULL, status == CL_SUCCESS);
    CHECK(clean_failure(status, rig));
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK_INT(rig_refs(doomed.device), before);
    rig_release(doomed.device);
}
#endif

static const struct tap_test tests[] = {
    SHARING_TESTS("one reference each", one_each),
    SHARING_TESTS("an object retained and released", object_retains),
    SHARING_TESTS("a context retained and released", context_retains),
    SHARING_TESTS("every order: buffer", orders_buffer),
    SHARING_TESTS("every order: 2D texture", orders_2d),
    SHARING_TESTS("every order: 3D texture", orders_3d),
    SHARING_TESTS("every order: buffer with a sub-buffer", orders_sub_buffer),
    SHARING_TESTS("every order: buffer with an image", orders_image_of_buffer),
    SHARING_TESTS("context and device go first", only_the_object_is_left),
    SHARING_TESTS("pending: an acquire", acquire_pending),
    SHARING_TESTS("pending: an acquire that fails", acquire_fails_later),
    SHARING_TESTS("pending: an acquire's bytes", released_at_once),
    SHARING_TESTS("pending: a release", release_pending),
    SHARING_TESTS("pending: a whole cycle", cycle_pending),
    SHARING_TESTS("pending: a cycle without context, queue and object", all_given_back_meanwhile),
    SHARING_TESTS("pending: a kernel", kernel_pending),
    SHARING_TESTS("mapped: in every order", mapped),
    SHARING_TESTS("mapped: made anew", mapped_and_made_anew),
    SHARING_TESTS("used: made anew", used_and_made_anew),
    SHARING_TESTS("events: never set", user_events_never_set),
    SHARING_TESTS("events: last of all", events_last),
#ifndef _WIN32
    SHARING_TESTS("callbacks when an object is deleted", destructor_callbacks),
    SHARING_TESTS("failures: contexts", failing_contexts),
    SHARING_TESTS("failures: objects", failing_objects),
    SHARING_TESTS("failures: acquires", failing_acquires),
    SHARING_TESTS("failures: releases", failing_releases),
    SHARING_TESTS("lost: in each call", lost_in_each_call),
    SHARING_TESTS("lost: while acquired", lost_while_acquired),
    SHARING_TESTS("lost: while an acquire waits", lost_while_waiting),
    SHARING_TESTS("lost: while commands are deferred", lost_while_deferred),
    SHARING_TESTS("lost: before", lost_before),
#endif
};

TAP_MAIN(tests)
