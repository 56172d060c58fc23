/* Acquires and releases that wait for a user event, one behind the other, when the user event or Direct3D fails: each
 * command's event tells whether it took place, and what did not take place changes nothing. */
#include "sharing.h"

/* ---- chains of commands behind a user event ---- */

enum { CHAIN = 5 };

struct chain {
    const char *steps; /* R: a release, A: an acquire */
    cl_event events[CHAIN];
    cl_int statuses[CHAIN];
};

static const char *const chains[] = {"R", "RA", "RAR", "RARA", "RARAR"};
enum { CHAINS = sizeof(chains) / sizeof(chains[0]) };

/* Enqueues the steps; the first waits for `user`. */
static void chain_enqueue(const struct rig *rig, cl_command_queue queue, cl_mem object, cl_event user,
                          struct chain *chain)
{
    for (int i = 0; chain->steps[i]; i++) {
        const rig_enqueue step = chain->steps[i] == 'R' ? rig->release : rig->acquire;
        CHECK_INT(step(queue, 1, &object, i == 0, i == 0 ? &user : NULL, &chain->events[i]), CL_SUCCESS);
    }
}

/* All are over when the user event is set; each gives its event back. */
static void chain_end(struct chain *chain)
{
    for (int i = 0; chain->steps[i]; i++) {
        clWaitForEvents(1, &chain->events[i]);
        chain->statuses[i] = rig_event_status(chain->events[i]);
        CHECK(chain->statuses[i] <= CL_COMPLETE);
        CHECK_INT(clReleaseEvent(chain->events[i]), CL_SUCCESS);
    }
}

/* Whether OpenCL has the object in the end, by what the events say; each step that took place follows one of the other
 * kind. */
static bool chain_leaves_acquired(const struct chain *chain)
{
    bool acquired = true;
    for (int i = 0; chain->steps[i]; i++) {
        if (chain->statuses[i] != CL_COMPLETE)
            continue;
        CHECK_INT(acquired, chain->steps[i] == 'R');
        acquired = chain->steps[i] == 'A';
    }
    return acquired;
}

/* The object works as ever, and what OpenCL has written before is not lost: with the next release it is Direct3D's. */
static void check_after(const struct rig *rig, const struct shared *shared, bool acquired, unsigned written)
{
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_mem object = shared->object;
    CHECK_INT(rig->acquire(queue, 1, &object, 0, NULL, NULL), acquired ? rig->api->already_acquired : CL_SUCCESS);
    CHECK(cl_has(queue, shared, written));
    CHECK_INT(rig->release(queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &object, 0, NULL, NULL), rig->api->not_acquired);
    d3d_has(rig, shared, written);
    struct rig fresh = *rig;
    fresh.queue = queue;
    CHECK(round_trip(&fresh, shared, written, written + 1));
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

static bool open_written(const struct rig *rig, enum kind kind, struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 2);
    if (!shared_open(rig, kind, 1, shared))
        return false;
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    queue_wait(rig->queue);
    return true;
}

static void user_event_fails(const struct rig *rig, enum kind kind, const char *steps,
                             cl_command_queue_properties properties)
{
    struct shared shared;
    struct chain chain = {.steps = steps};
    if (!open_written(rig, kind, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, properties);
    cl_event user = user_event(rig->context);
    chain_enqueue(rig, queue, shared.object, user, &chain);
    CHECK_INT(clSetUserEventStatus(user, -5), CL_SUCCESS);
    chain_end(&chain);
    CHECK(chain.statuses[0] < 0);
    check_after(rig, &shared, chain_leaves_acquired(&chain), 2);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE(in_order, 0)
{
    for (int i = 0; i < CHAINS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            user_event_fails(rig, (enum kind)kind, chains[i], 0);
}

SHARING_CASE(out_of_order, RIG_OUT_OF_ORDER)
{
    for (int i = 0; i < CHAINS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            user_event_fails(rig, (enum kind)kind, chains[i], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* The end of a release leaves an object to the acquire behind it, which waits in another queue. */
SHARING_CASE(in_two_queues, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        cl_event users[2] = {user_event(rig->context), user_event(rig->context)};
        cl_command_queue queues[2] = {make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
        if (!open_written(rig, (enum kind)kind, &shared))
            continue;
        for (int i = 0; i < 2; i++)
            CHECK_INT((i ? rig->acquire : rig->release)(queues[i], 1, &shared.object, 1, &users[i], NULL), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(users[0], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(acquire_one(rig, shared.object), rig->api->already_acquired);
        CHECK_INT(clSetUserEventStatus(users[1], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
        }
        shared_close(&shared);
    }
}

/* The first of two user events fails, for which the release waits; the acquire behind it waits for the second. */
SHARING_CASE(first_of_two, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int order = 0; order < 2; order++) {
            struct shared shared;
            cl_event users[2] = {user_event(rig->context), user_event(rig->context)};
            cl_command_queue queues[2] = {make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
            struct chain chain = {.steps = "RA"};
            if (!open_written(rig, (enum kind)kind, &shared))
                continue;
            CHECK_INT(rig->release(queues[0], 1, &shared.object, 1, &users[0], &chain.events[0]), CL_SUCCESS);
            CHECK_INT(rig->acquire(queues[1], 1, &shared.object, 1, &users[1], &chain.events[1]), CL_SUCCESS);
            CHECK_INT(clSetUserEventStatus(users[order], order ? CL_COMPLETE : -5), CL_SUCCESS);
            CHECK_INT(clSetUserEventStatus(users[!order], order ? -5 : CL_COMPLETE), CL_SUCCESS);
            chain_end(&chain);
            CHECK(chain.statuses[0] < 0);
            check_after(rig, &shared, chain_leaves_acquired(&chain), 2);
            for (int i = 0; i < 2; i++) {
                CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
                CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
            }
            shared_close(&shared);
        }
    }
}

/* An acquire whose own bytes wait for the user event that fails, with a chain behind it: Direct3D has the object again. */
SHARING_CASE(acquire_and_chain, 0)
{
    for (int i = 0; i < CHAINS; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            struct shared shared;
            struct chain chain = {.steps = chains[i]};
            if (!shared_open(rig, (enum kind)kind, 1, &shared))
                continue;
            cl_command_queue queue = make_queue(rig, rig->context, 0);
            cl_event user = user_event(rig->context), first = NULL;
            CHECK_INT(rig->acquire(queue, 1, &shared.object, 1, &user, &first), CL_SUCCESS);
            chain_enqueue(rig, queue, shared.object, user, &chain);
            CHECK_INT(clSetUserEventStatus(user, -5), CL_SUCCESS);
            chain_end(&chain);
            CHECK(rig_event_status(first) < 0);
            for (int k = 0; chain.steps[k]; k++)
                CHECK(chain.statuses[k] < 0 || chain.steps[k] == 'A');
            CHECK_INT(clReleaseEvent(first), CL_SUCCESS);
            d3d_has(rig, &shared, 1);
            CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            shared_close(&shared);
        }
    }
}

/* ---- new objects join a chain ---- */

/* One object is on its way back, and comes again together with one that was never acquired: its staging copy and rows are
 * made then, in the size that its format needs. */
static void joins(const struct rig *rig, const struct rig_desc *desc)
{
    void *textures[2];
    cl_mem objects[2];
    unsigned char bytes[2][4096], expected[4096];
    const size_t region[3] = {desc->width, desc->height, 1}, size = rig_bytes(desc, 0);
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_event user = user_event(rig->context), last = NULL;
    for (unsigned i = 0; i < 2; i++) {
        cl_int status = 1;
        textures[i] = rig_make(rig, rig->device, desc, NULL);
        objects[i] = rig->create_2d(rig->context, 0, textures[i], 0, &status);
        CHECK_INT(status, CL_SUCCESS);
        rig_pattern_for(desc->format, bytes[i], size, 5 + i);
    }
    CHECK_INT(rig->acquire(queue, 1, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueBarrierWithWaitList(queue, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(queue, 2, objects, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clEnqueueWriteImage(queue, objects[i], CL_FALSE, no_origin(), region, 0, 0, bytes[i], 0, NULL, NULL),
                  CL_SUCCESS);
    CHECK_INT(rig->release(queue, 2, objects, 0, NULL, &last), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &last), CL_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        rig_read(rig, textures[i], desc, 0, expected);
        CHECK_MEM(expected, bytes[i], size);
        CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
        rig_release(textures[i]);
    }
    CHECK_INT(clReleaseEvent(last), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

SHARING_CASE(new_object, 0)
{
    static const DXGI_FORMAT formats[] = {DXGI_FORMAT_R8G8B8A8_UINT, DXGI_FORMAT_R32G32_FLOAT, DXGI_FORMAT_R16G16_UNORM,
                                          DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_R8G8_SNORM};
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const struct rig_desc desc = {.format = formats[i], .width = 23, .height = 17};
        joins(rig, &desc);
    }
}

/* ---- between two queues ---- */

/* An object that was never acquired comes with one that is on its way back, and is released in another queue: the release
 * comes after the acquire's bytes. */
SHARING_CASE(release_in_another_queue, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared, fresh;
        cl_event user = user_event(rig->context), ends[2] = {NULL, NULL};
        cl_command_queue queues[2] = {make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
        if (!open_written(rig, (enum kind)kind, &shared) || !shared_open(rig, (enum kind)kind, 4, &fresh))
            continue;
        const cl_mem both[2] = {shared.object, fresh.object};
        CHECK_INT(rig->release(queues[0], 1, both, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(rig->acquire(queues[0], 2, both, 0, NULL, NULL), CL_SUCCESS);
        for (int i = 0; i < 2; i++)
            CHECK_INT(rig->release(queues[i], 1, &both[i], 0, NULL, &ends[i]), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(clWaitForEvents(1, &ends[i]), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
            CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
        }
        d3d_has(rig, &shared, 2);
        d3d_has(rig, &fresh, 4);
        CHECK(round_trip(rig, &fresh, 4, 5));
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&fresh);
        shared_close(&shared);
    }
}

/* ---- a surface has two objects, one after the other ---- */

/* The object goes while its release waits for a user event; a new one of the same surface is acquired behind that release, in
 * its queue or by its event, and has what the first one wrote. */
static void make_again_behind(const struct rig *rig, enum kind kind, bool by_event)
{
    struct shared shared;
    cl_event user = user_event(rig->context), released = NULL;
    cl_command_queue queues[2] = {make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
    cl_command_queue later = queues[by_event];
    cl_int status = 1;
    if (!open_written(rig, kind, &shared))
        return;
    CHECK_INT(rig->release(queues[0], 1, &shared.object, 1, &user, &released), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    shared.object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, kind, shared.resource, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(rig->acquire(later, 1, &shared.object, by_event, by_event ? &released : NULL, NULL), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(cl_has(later, &shared, 2));
    CHECK_INT(rig->release(later, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 2));
    CHECK(round_trip(rig, &shared, 2, 3));
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE(made_again, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int by_event = 0; by_event < 2; by_event++)
            make_again_behind(rig, (enum kind)kind, by_event);
}

/* Whether a command of an out-of-order queue goes past one that a user event blocks. NVIDIA's driver lets none. */
static bool goes_past_held(const struct rig *rig, cl_command_queue queue)
{
    static const cl_uint zero = 0;
    cl_int status = 1;
    cl_event user = user_event(rig->context), written = NULL;
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, sizeof(zero), NULL, &status);
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(zero), &zero, 0, NULL, &written), CL_SUCCESS);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    for (int i = 0; i < 1000 && rig_event_status(written) > CL_COMPLETE; i++)
        pause_ms(1);
    const bool past = rig_event_status(written) == CL_COMPLETE;
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &written), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(written), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    return past;
}

/* A deferred acquire in an out-of-order queue waits for no other command of that queue. */
SHARING_CASE(beside_a_held_command, RIG_OUT_OF_ORDER)
{
    if (!goes_past_held(rig, rig->queue)) {
        SKIP("the driver lets no command go past a held one");
        return;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        cl_event users[2] = {user_event(rig->context), user_event(rig->context)}, held = NULL, acquired = NULL;
        cl_command_queue queue = make_queue(rig, rig->context, 0);
        if (!open_written(rig, (enum kind)kind, &shared))
            continue;
        CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 1, &users[0], &held), CL_SUCCESS);
        CHECK_INT(rig->release(queue, 1, &shared.object, 1, &users[1], NULL), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(users[1], CL_COMPLETE), CL_SUCCESS);
        for (int i = 0; i < 60000 && rig_event_status(acquired) > CL_COMPLETE; i++)
            pause_ms(1);
        CHECK_INT(rig_event_status(acquired), CL_COMPLETE);
        CHECK(rig_event_status(held) > CL_COMPLETE);
        CHECK_INT(clSetUserEventStatus(users[0], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &held), CL_SUCCESS);
        check_after(rig, &shared, true, 2);
        CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        for (int i = 0; i < 2; i++)
            CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* A release in another queue that waits for a command behind a held one. Where the driver holds up that command, the release must not
 * wait in its call: the program sets the user event after it. */
SHARING_CASE(released_behind_a_held_command, 0)
{
    cl_command_queue holding = make_queue(rig, rig->context, out_of_order_mode(rig));
    const bool past = goes_past_held(rig, holding);
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        cl_event user = user_event(rig->context), written = NULL, released = NULL;
        cl_command_queue queue = make_queue(rig, rig->context, 0);
        unsigned char bytes[SHARED_BYTES];
        rig_pattern(bytes, sizeof(bytes), 5);
        if (!open_written(rig, (enum kind)kind, &shared))
            continue;
        CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
        CHECK_INT(clEnqueueMarkerWithWaitList(holding, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(cl_write(holding, &shared, bytes, 0, NULL, &written), CL_SUCCESS);
        CHECK_INT(clFlush(holding), CL_SUCCESS);
        CHECK_INT(rig->release(queue, 1, &shared.object, 1, &written, &released), CL_SUCCESS);
        CHECK(past || rig_event_status(released) > CL_COMPLETE);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared, 5));
        CHECK(round_trip(rig, &shared, 5, 6));
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(written), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        shared_close(&shared);
    }
    CHECK_INT(clReleaseCommandQueue(holding), CL_SUCCESS);
}

/* A deferred acquire stands behind another one, and that behind a held command: setting the events of the two acquires waits for
 * nothing that the driver holds up. `by_queue`: the command is held by way of another queue. */
static void acquire_behind_held(const struct rig *rig, enum kind kind, bool by_queue)
{
    enum { HOLDS, OF_FIRST, OF_SECOND, USERS };
    struct shared first, second;
    cl_event users[USERS], held = NULL, acquired = NULL;
    cl_command_queue queue = make_queue(rig, rig->context, 0), other = make_queue(rig, rig->context, 0);
    cl_command_queue holding = make_queue(rig, rig->context, out_of_order_mode(rig));
    for (int i = 0; i < USERS; i++)
        users[i] = user_event(rig->context);
    if (!open_written(rig, kind, &first) || !shared_open(rig, kind, 3, &second))
        return;
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    if (by_queue)
        CHECK_INT(clEnqueueMarkerWithWaitList(other, 1, &users[HOLDS], &held), CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(holding, 1, by_queue ? &held : &users[HOLDS], NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(holding, 1, &second.object, 1, &users[OF_SECOND], NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &first.object, 1, &users[OF_FIRST], NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(holding, 1, &first.object, 0, NULL, &acquired), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(users[OF_SECOND], CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(users[OF_FIRST], CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(users[HOLDS], CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &acquired), CL_SUCCESS);
    CHECK_INT(rig_event_status(acquired), CL_COMPLETE);
    CHECK_INT(release_one(rig, second.object), CL_SUCCESS);
    check_after(rig, &first, true, 2);
    CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
    if (held)
        CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    for (int i = 0; i < USERS; i++)
        CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(holding), CL_SUCCESS);
    shared_close(&first);
    shared_close(&second);
}

SHARING_CASE(acquired_behind_a_held_command, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int by_queue = 0; by_queue < 2; by_queue++)
            acquire_behind_held(rig, (enum kind)kind, by_queue);
}

#ifndef _WIN32
static void where_none_goes_past(void)
{
    run_where_none_goes_past("behind a held command:", 4);
}
#endif

/* In a queue out of order what a barrier stands behind comes before what is enqueued after it, also where an acquire between them is
 * deferred. */
SHARING_CASE(barriers_stay, RIG_OUT_OF_ORDER)
{
    const cl_uint none = 0;
    cl_uint found = 0;
    struct slow_work work;
    struct shared shared;
    cl_event read = NULL;
    if (!slow_open(rig, &work) || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    cl_event begins = user_event(rig->context);
    CHECK_INT(clEnqueueWriteBuffer(rig->queue, work.buffer, CL_TRUE, 0, sizeof(none), &none, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(rig->acquire(other, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(other, 1, &shared.object, 1, &begins, NULL), CL_SUCCESS);
    cl_event slow = slow_start(&work, rig->queue);
    CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, work.buffer, CL_FALSE, 0, sizeof(found), &found, 0, NULL, &read),
              CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(begins, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &read), CL_SUCCESS);
    CHECK(found != none);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(read), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(slow), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(begins), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}

/* Of a command in a queue of its own. */
static cl_event complete_event(const struct rig *rig)
{
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_event event = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    return event;
}

/* What is enqueued behind an acquire comes after it, also another acquire whose own wait list is over. */
SHARING_CASE(behind_an_acquire, RIG_OUT_OF_ORDER)
{
    cl_event over = complete_event(rig);
    for (int turn = 0; turn < 2 * KINDS; turn++) {
        const bool listed = turn >= KINDS;
        struct shared first, second;
        cl_event user = user_event(rig->context), behind = NULL;
        if (!shared_open(rig, (enum kind)(turn % KINDS), 3, &first) ||
            !shared_open(rig, (enum kind)(turn % KINDS), 4, &second))
            break;
        CHECK_INT(rig->acquire(rig->queue, 1, &first.object, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &second.object, listed, listed ? &over : NULL, &behind), CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        pause_ms(20);
        CHECK(rig_event_status(behind) > CL_COMPLETE);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &behind), CL_SUCCESS);
        check_after(rig, &first, true, 3);
        check_after(rig, &second, true, 4);
        CHECK_INT(clReleaseEvent(behind), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&first);
        shared_close(&second);
    }
    CHECK_INT(clReleaseEvent(over), CL_SUCCESS);
}

/* Nor does one that is not deferred, behind a wait list that is over or without one: the program may set the other one's user
 * event when it has the objects. */
SHARING_CASE(past_a_held_command, RIG_OUT_OF_ORDER)
{
    if (!goes_past_held(rig, rig->queue)) {
        SKIP("the driver lets no command go past a held one");
        return;
    }
    cl_event over = complete_event(rig);
    for (int turn = 0; turn < 2 * KINDS; turn++) {
        const bool listed = turn >= KINDS;
        struct shared shared;
        cl_event user = user_event(rig->context), held = NULL, acquired = NULL;
        if (!shared_open(rig, (enum kind)(turn % KINDS), 3, &shared))
            continue;
        CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 1, &user, &held), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, listed, listed ? &over : NULL, &acquired), CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        for (int i = 0; i < 60000 && rig_event_status(acquired) > CL_COMPLETE; i++)
            pause_ms(1);
        CHECK_INT(rig_event_status(acquired), CL_COMPLETE);
        CHECK(rig_event_status(held) > CL_COMPLETE);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &held), CL_SUCCESS);
        check_after(rig, &shared, true, 3);
        CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&shared);
    }
    CHECK_INT(clReleaseEvent(over), CL_SUCCESS);
}

/* A barrier holds what comes later in the queue back, also behind a deferred acquire. PoCL 3.1 forgets such a barrier for another
 * one that has a wait list, as that of a deferred command. */
SHARING_CASE(behind_a_barrier, RIG_OUT_OF_ORDER)
{
    enum { SIZE = 16 << 20, FILLS = 8 };
    struct shared shared;
    cl_event users[2] = {user_event(rig->context), user_event(rig->context)};
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_uint found = 0, value = 0;
    cl_int status = 1;
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !open_written(rig, KIND_2D, &shared))
        return;
    for (value = 1; value <= FILLS; value++) {
        CHECK_INT(clEnqueueFillBuffer(rig->queue, buffer, &value, sizeof(value), 0, SIZE, value == 1,
                                      value == 1 ? &users[0] : NULL, NULL),
                  CL_SUCCESS);
        CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 0, NULL, NULL), CL_SUCCESS);
    }
    CHECK_INT(rig->release(queue, 1, &shared.object, 1, &users[1], NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(
        clEnqueueReadBuffer(rig->queue, buffer, CL_FALSE, SIZE - sizeof(found), sizeof(found), &found, 0, NULL, NULL),
        CL_SUCCESS);
    for (int i = 1; i >= 0; i--)
        CHECK_INT(clSetUserEventStatus(users[i], CL_COMPLETE), CL_SUCCESS);
    queue_wait(rig->queue);
    CHECK_INT(found, FILLS);
    check_after(rig, &shared, true, 2);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    shared_close(&shared);
}

enum barrier { OF_1_0, OF_1_2, BEHIND_AN_EVENT, BARRIERS };

static cl_int put_barrier(cl_command_queue queue, enum barrier which, cl_event over)
{
    return which == OF_1_0   ? clEnqueueBarrier(queue)
           : which == OF_1_2 ? clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL)
                             : clEnqueueBarrierWithWaitList(queue, 1, &over, NULL);
}

/* A barrier of the program's behind a deferred acquire does not let go what the acquire holds back. */
SHARING_CASE(before_a_barrier, RIG_OUT_OF_ORDER)
{
    cl_event over = complete_event(rig);
    for (int which = 0; which < BARRIERS; which++) {
        unsigned char bytes[SHARED_BYTES] = {0}, expected[SHARED_BYTES];
        struct shared shared;
        cl_command_queue queue = make_queue(rig, rig->context, 0);
        cl_event user = user_event(rig->context), later = NULL;
        if (!open_written(rig, KIND_BUFFER, &shared))
            return;
        rig_pattern(expected, sizeof(expected), 2);
        CHECK_INT(rig->release(queue, 1, &shared.object, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(put_barrier(rig->queue, (enum barrier)which, over), CL_SUCCESS);
        CHECK_INT(clEnqueueReadBuffer(rig->queue, shared.object, CL_FALSE, 0, sizeof(bytes), bytes, 0, NULL, &later),
                  CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        pause_ms(20);
        if (!CHECK(rig_event_status(later) > CL_COMPLETE))
            printf("# with barrier %d\n", which);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &later), CL_SUCCESS);
        CHECK_MEM(bytes, expected, sizeof(bytes));
        check_after(rig, &shared, true, 2);
        CHECK_INT(clReleaseEvent(later), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        shared_close(&shared);
    }
    CHECK_INT(clReleaseEvent(over), CL_SUCCESS);
}

/* ---- two threads set user events ---- */

struct setter {
    cl_event user;
    atomic_bool began;
};

static void set_other(void *data)
{
    struct setter *setter = data;
    atomic_store(&setter->began, true);
    CHECK_INT(clSetUserEventStatus(setter->user, CL_COMPLETE), CL_SUCCESS);
}

/* One thread sets a release free, which needs the device. Another is in the device's critical section and sets a user event of its
 * own: that call waits for nothing that the other has set free, and does what it has set free itself. */
SHARING_CASE(critical_section, 0)
{
    struct shared theirs, mine;
    struct setter setter = {.user = user_event(rig->context)};
    struct test_job job = {set_other, &setter};
    cl_event user = user_event(rig->context);
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    ID3D10Multithread *multithread = NULL;
    test_thread thread;
    IUnknown_QueryInterface((IUnknown *)rig->device, &IID_ID3D10Multithread, (void **)&multithread);
    if (!CHECK(multithread != NULL) || !open_written(rig, KIND_2D, &theirs) || !open_written(rig, KIND_2D, &mine))
        return;
    CHECK_INT(rig->release(rig->queue, 1, &theirs.object, 1, &setter.user, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &mine.object, 1, &user, NULL), CL_SUCCESS);
    ID3D10Multithread_Enter(multithread);
    if (test_thread_start(&thread, &job)) {
        while (!atomic_load(&setter.began))
            pause_ms(1);
        pause_ms(50); /* until it waits for the section */
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK(d3d_has(rig, &mine, 2));
        ID3D10Multithread_Leave(multithread);
        test_thread_join(thread);
        CHECK(d3d_has(rig, &theirs, 2));
    }
    rig_release(multithread);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(setter.user), CL_SUCCESS);
    shared_close(&theirs);
    shared_close(&mine);
}

/* A release that waits for two user events ends in the call that sets the later one, in whichever thread that is. */
SHARING_CASE(two_setters, 0)
{
    for (int turn = 0; turn < 20; turn++) {
        struct shared shared;
        struct setter setter = {.user = user_event(rig->context)};
        struct test_job job = {set_other, &setter};
        test_thread thread;
        cl_event users[2] = {setter.user, user_event(rig->context)};
        if (!open_written(rig, (enum kind)(turn % KINDS), &shared))
            return;
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 2, users, NULL), CL_SUCCESS);
        if (test_thread_start(&thread, &job)) {
            while (!atomic_load(&setter.began) && turn % 2)
                pause_ms(0);
            CHECK_INT(clSetUserEventStatus(users[1], CL_COMPLETE), CL_SUCCESS);
            test_thread_join(thread);
            CHECK(d3d_has(rig, &shared, 2));
        }
        for (int i = 0; i < 2; i++)
            CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* ---- the object is released when the command has ended ---- */

static void CL_CALLBACK set_in_callback(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    CHECK_INT(clSetUserEventStatus(*(cl_event *)data, CL_COMPLETE), CL_SUCCESS);
}

static void set_begins(void *data)
{
    CHECK_INT(clSetUserEventStatus(*(cl_event *)data, CL_COMPLETE), CL_SUCCESS);
}

/* Once a deferred release has ended and its object is released, the surface is the program's alone, even if the thread that set the
 * user event is still in its call. */
static void surface_is_free(const struct rig *rig, bool by_callback)
{
    for (int turn = 0; turn < 100; turn++) {
        struct shared shared;
        test_thread thread;
        cl_event begins = user_event(rig->context), user = by_callback ? user_event(rig->context) : begins;
        cl_event released = NULL;
        struct test_job job = {set_begins, &begins};
        if (!open_written(rig, KIND_2D, &shared))
            return;
        if (by_callback)
            CHECK_INT(clSetEventCallback(begins, CL_COMPLETE, set_in_callback, &user), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &user, &released), CL_SUCCESS);
        if (test_thread_start(&thread, &job)) {
            CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            CHECK_INT(rig_refs(shared.resource), 1);
            test_thread_join(thread);
        }
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(begins), CL_SUCCESS);
        if (by_callback)
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&shared);
    }
}

SHARING_CASE(surface_free, 0)
{
    surface_is_free(rig, false);
}

SHARING_CASE(surface_free_of_callback, 0)
{
    surface_is_free(rig, true);
}

#ifndef _WIN32
/* ---- Direct3D fails in a chain ---- */

/* The n-th map from the moment on at which the user event is set. */
static void map_fails(const struct rig *rig, enum kind kind, const char *steps, unsigned nth)
{
    struct shared shared;
    struct chain chain = {.steps = steps};
    if (!open_written(rig, kind, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_event user = user_event(rig->context);
    chain_enqueue(rig, queue, shared.object, user, &chain);
    CHECK(fake_d3d_fail("Map", nth, E_FAIL) > 0);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    chain_end(&chain);
    fake_d3d_reset();
    CHECK_INT(chain.statuses[0], CL_COMPLETE);
    CHECK(nth > 1 || chain.statuses[1] < 0); /* the acquire maps first */
    check_after(rig, &shared, chain_leaves_acquired(&chain), 2);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE(map, 0)
{
    if (skip_without_staging())
        return;
    for (int i = 1; i < CHAINS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            for (unsigned nth = 1; nth <= 2; nth++)
                map_fails(rig, (enum kind)kind, chains[i], nth);
}

/* ---- a driver without memory for a callback ---- */

struct function {
    atomic_bool begun, may_end;
};

static void CL_CALLBACK wait_for_end(void *data)
{
    struct function *function = *(struct function **)data;
    atomic_store(&function->begun, true);
    while (!atomic_load(&function->may_end))
        pause_ms(1);
}

struct callback_setter {
    cl_event event;
    atomic_bool done;
};

static void CL_CALLBACK set_by_callback(cl_event event, cl_int status, void *data)
{
    struct callback_setter *setter = data;
    set_in_callback(event, status, &setter->event);
    atomic_store(&setter->done, true);
}

/* A callback sets the user event of a release behind a function that runs. The driver has no memory to report the end of that
 * function: the callback does not wait for it. */
SHARING_CASE(unreported_end, 0)
{
    struct function function = {false, false}, *argument = &function;
    struct callback_setter setter = {.done = false};
    struct shared shared;
    test_thread thread;
    cl_event released = NULL;
    if (!getenv("CLD3D_TEST_UNREPORTED")) {
        SKIP("only as a part of the case above");
        return;
    }
    if (!runs_functions(rig) || !open_written(rig, KIND_2D, &shared))
        return;
    cl_event begins = user_event(rig->context);
    struct test_job job = {set_begins, &begins};
    setter.event = user_event(rig->context);
    CHECK_INT(clSetEventCallback(begins, CL_COMPLETE, set_by_callback, &setter), CL_SUCCESS);
    CHECK_INT(
        clEnqueueNativeKernel(rig->queue, wait_for_end, &argument, sizeof(argument), 0, NULL, NULL, 0, NULL, NULL),
        CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    while (!atomic_load(&function.begun))
        pause_ms(1);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &setter.event, &released), CL_SUCCESS);
    order_below(rig->queue, BELOW_NO_CALLBACK, 1);
    const bool started = test_thread_start(&thread, &job);
    for (int i = 0; i < 10000 && !atomic_load(&setter.done); i++)
        pause_ms(1);
    CHECK(atomic_load(&setter.done));
    atomic_store(&function.may_end, true);
    if (started)
        test_thread_join(thread);
    CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 2));
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(begins), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(setter.event), CL_SUCCESS);
    shared_close(&shared);
}

static void without_memory_for_callbacks(void)
{
    if (getenv("CLD3D_CALLBACKS") || getenv("CLD3D_TEST_UNREPORTED") || !takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv("CLD3D_TEST_UNREPORTED", "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "unreported: "), 2);
    test_setenv("CLD3D_TEST_UNREPORTED", NULL);
}
#endif

/* ---- a callback that waits ---- */

struct waiting {
    atomic_bool began, may_go, ended;
};

static void CL_CALLBACK wait_to_go(cl_event event, cl_int status, void *data)
{
    struct waiting *waiting = data;
    (void)event;
    (void)status;
    atomic_store(&waiting->began, true);
    while (!atomic_load(&waiting->may_go))
        pause_ms(1);
    atomic_store(&waiting->ended, true);
}

/* A callback of the program waits, maybe for a lock of the thread here: no call but those that documents name waits for it. */
SHARING_CASE(beside_a_callback, 0)
{
    struct waiting waiting = {false, false, false};
    struct shared shared;
    cl_event released = NULL;
    if (!getenv("CLD3D_CALLBACKS")) {
        SKIP("only as a part of the case above");
        return;
    }
    if (!open_written(rig, KIND_BUFFER, &shared))
        return;
    cl_event over = NULL, user = user_event(rig->context);
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &over), CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(over, CL_COMPLETE, wait_to_go, &waiting), CL_SUCCESS);
    while (!atomic_load(&waiting.began))
        pause_ms(1);
    const double begun = test_now();
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &user, &released), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
    CHECK(test_now() - begun < 0.7);
    CHECK(d3d_has(rig, &shared, 2));
    atomic_store(&waiting.may_go, true);
    while (!atomic_load(&waiting.ended))
        pause_ms(1);
    CHECK_INT(clReleaseEvent(over), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

static void where_callbacks_are_ours(void)
{
    if (!getenv("CLD3D_CALLBACKS"))
        CHECK_INT(run_again("callbacks: ", "CLD3D_CALLBACKS", "1"), 2);
}

static const struct tap_test tests[] = {
#ifndef _WIN32
    {"where no command goes past a held one", where_none_goes_past},
    {"where a driver has no memory for a callback", without_memory_for_callbacks},
#endif
    {"where cld3d calls the callbacks", where_callbacks_are_ours},
    SHARING_TESTS("callbacks: a deferred release beside one that waits", beside_a_callback),
    SHARING_TESTS("a user event fails", in_order),
    SHARING_TESTS("a user event fails, out of order", out_of_order),
    SHARING_TESTS("a release and an acquire in two queues", in_two_queues),
    SHARING_TESTS("the first of two user events fails", first_of_two),
    SHARING_TESTS("the user event of the acquire fails", acquire_and_chain),
    SHARING_TESTS("a new object joins", new_object),
    SHARING_TESTS("a release in another queue", release_in_another_queue),
    SHARING_TESTS("an object made again behind the release", made_again),
    SHARING_TESTS("beside a held command", beside_a_held_command),
    SHARING_TESTS("behind a held command: a release", released_behind_a_held_command),
    SHARING_TESTS("behind a held command: an acquire", acquired_behind_a_held_command),
    SHARING_TESTS("barriers of a queue out of order", barriers_stay),
    SHARING_TESTS("an acquire beside a held command, out of order", past_a_held_command),
    SHARING_TESTS("an acquire behind another one, out of order", behind_an_acquire),
    SHARING_TESTS("behind a barrier", behind_a_barrier),
    SHARING_TESTS("before a barrier", before_a_barrier),
    SHARING_TESTS("a user event is set in the device's critical section", critical_section),
    SHARING_TESTS("two threads set the two user events of a release", two_setters),
    SHARING_TESTS("the surface is free after the release", surface_free),
    SHARING_TESTS("the surface is free after a release in a callback", surface_free_of_callback),
#ifndef _WIN32
    SHARING_TESTS("a map fails", map),
    SHARING_TESTS("unreported: a release that a callback begins", unreported_end),
#endif
};

TAP_MAIN(tests)
