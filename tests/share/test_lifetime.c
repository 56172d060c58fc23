/* Who holds what for how long: the references that the library holds on Direct3D devices and resources are exact to the
 * count, in every order in which a program gives back what it has. */
#include "lifetime.h"

/* A context is one reference on the device, an object one on its resource; nothing that a program does with them
 * changes that. A staging copy stays with the context. */
SHARING_CASE("one reference each", one_each, 0)
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
            counts_are_or_staged(rig, &shared, before, 1, 1);
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
SHARING_CASE("an object retained and released", object_retains, 0)
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
            counts_are_or_staged(rig, &shared, before, 0, 1);
        }
        for (int i = RETAINS; i > 0; i--) {
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            CHECK_INT(mem_refs(shared.object), i);
            counts_are_or_staged(rig, &shared, before, 0, 1);
            refused(rig, rig->context, 0, (enum kind)kind, shared.resource, 0, rig->api->invalid_resource);
        }
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        counts_are_or_staged(rig, &shared, before, 0, 0);
        shared.object = create(rig, &shared);
        counts_are_or_staged(rig, &shared, before, 0, 1);
        shared_close(&shared);
    }
}

static cl_context context_of_queue(cl_command_queue queue)
{
    cl_context context = NULL;
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL), CL_SUCCESS);
    return context;
}

/* The device goes with the application's last reference to the context. That lives on through its queue, and answers to its name as
 * before. With `retained` it is the application's again. */
static void through_the_queue(struct rig *rig, bool retained)
{
    struct shared shared;
    struct rig second;
    if (!shared_resource(rig, KIND_2D, 1, &shared))
        return;
    const struct counts before = count(rig, &shared);
    if (second_open(rig, &second)) {
        CHECK_INT(clRetainContext(second.context), CL_SUCCESS);
        CHECK_INT(clReleaseContext(second.context), CL_SUCCESS);
        counts_are(rig, &shared, before, 1, 0);
        CHECK_INT(clReleaseContext(second.context), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, 0);
        CHECK(context_of_queue(second.queue) == second.context);
        if (retained)
            CHECK_INT(clRetainContext(second.context), CL_SUCCESS);
        cl_command_queue queue = make_queue(&second, second.context, 0);
        for (int i = 0; i < 2; i++) {
            shared.object = create(&second, &shared);
            CHECK(round_trip(&second, &shared, 1, 1));
            CHECK_INT(second.acquire(queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
            CHECK_INT(second.release(queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
        }
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        if (!retained)
            second.context = NULL;
        second_close(&second);
    }
    counts_are(rig, &shared, before, 0, 0);
    shared_close(&shared);
}

SHARING_CASE("a context used, and retained, through its queue", used_through_its_queue, 0)
{
    through_the_queue(rig, false);
    through_the_queue(rig, true);
}

/* ---- every order ---- */

enum thing { THE_CONTEXT, THE_QUEUE, THE_OBJECT, THE_EVENT, THE_KERNEL, THE_PART, THINGS };

static const char *const thing_names[] = {"context", "queue", "object", "event", "kernel", "part"};

/* One of each thing, all connected with one another. */
struct set {
    struct rig rig; /* with the context and the queue */
    struct shared shared;
    cl_mem out; /* the kernel's other argument */
    cl_event event;
    cl_kernel kernel;
    cl_mem part;
    bool has[THINGS];
    bool acquired; /* the object */
    struct counts before;
};

enum part { NO_PART, SUB_BUFFER, IMAGE_OF_BUFFER };

static cl_mem make_part(cl_context context, cl_mem buffer, enum part part)
{
    const cl_buffer_region region = {0, 64};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 8, .mem_object = buffer};
    if (part == SUB_BUFFER)
        return clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
}

/* Without the object, which is made again for each order. */
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
    set->acquired = acquired;
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

/* What is made of a buffer keeps it. The staging copy, a child of the device, lives as long as the context, and as an object
 * that is acquired or lies in it; an import has none. 3D textures lie in it only where Direct3D leaves it in its place. */
static bool set_counts(const struct rig *rig, const struct set *set)
{
    const unsigned object = set->has[THE_OBJECT] || set->has[THE_PART];
    const unsigned context = set->has[THE_CONTEXT];
    const bool may_lie = object && lies_in_staging();
#ifdef _WIN32
    const bool lies = may_lie && set->shared.kind != KIND_3D;
#else
    const bool lies = may_lie;
#endif
    const bool in_rows = (over_transport("record") || over_transport("rows")) && set->shared.kind != KIND_BUFFER;
    const bool has_staging = !in_rows && !kind_is_direct(rig, (int)set->shared.kind);
    const unsigned staging = has_staging && (context || (object && set->acquired) || lies);
    const unsigned maybe = has_staging && may_lie && !staging;
    return counts_become(rig, &set->shared, set->before, context + staging, object, maybe);
}

/* Gives all back in one order, and checks the counts. */
static bool try_order(const struct rig *rig, struct set *set, const enum thing *order, int length)
{
    bool fine = true;
    for (int i = 0; i < length; i++) {
        give_back(set, order[i]);
        if (fine && !(fine = set_counts(rig, set)))
            printf("# behind the release of the %s, number %d of those from the %s to the %s\n", thing_names[order[i]],
                   i + 1, thing_names[order[0]], thing_names[order[length - 1]]);
    }
    CHECK_INT(clReleaseMemObject(set->out), CL_SUCCESS);
    return fine;
}

/* Each thing goes first and last, and before and behind each other. */
static void every_order(const struct rig *rig, enum kind kind, enum part part, bool acquired)
{
    struct set set;
    const int length = part ? THINGS : THINGS - 1;
    if (!set_open(rig, kind, &set))
        return;
    for (int turn = 0; turn < 2 * length; turn++) {
        enum thing order[THINGS];
        for (int i = 0; i < length; i++)
            order[i] = (enum thing)((turn + (turn < length ? i : length - 1 - i)) % length);
        if (!set_fill(rig, part, acquired, &set)) {
            SKIP("the driver makes no images of buffers");
            try_order(rig, &set, order, length - 1);
            break;
        }
        if (!try_order(rig, &set, order, length))
            break;
    }
    counts_are(rig, &set.shared, set.before, 0, 0);
    CHECK(acquired || d3d_has(rig, &set.shared, 1));
    set.shared.object = NULL; /* given back in each order */
    shared_close(&set.shared);
}

SHARING_CASE("every order: buffers", orders_of_buffers, 0)
{
    every_order(rig, KIND_BUFFER, NO_PART, false);
    every_order(rig, KIND_BUFFER, NO_PART, true);
    every_order(rig, KIND_BUFFER, SUB_BUFFER, true);
    every_order(rig, KIND_BUFFER, IMAGE_OF_BUFFER, false);
}

SHARING_CASE("every order: textures", orders_of_textures, 0)
{
    for (int acquired = 0; acquired < 2; acquired++) {
        every_order(rig, KIND_2D, NO_PART, acquired);
        every_order(rig, KIND_3D, NO_PART, acquired);
    }
}

/* A context that is gone for the application, and then the device too: what is left keeps working, since the resource
 * keeps its device. */
SHARING_CASE("context and device go first", only_the_object_is_left, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        struct rig second = rig_on(rig, rig_another_device(rig));
        if (!shared_open(&second, (enum kind)kind, 1, &shared))
            return;
        CHECK_INT(clReleaseContext(second.context), CL_SUCCESS);
        rig_release(second.device);
        CHECK(round_trip(&second, &shared, 1, 2));
        CHECK(round_trip(&second, &shared, 2, 3));
        shared_close(&shared);
        CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
    }
}

TAP_MAIN
