/* Objects of two transports in one command: an import of Direct3D's memory and the way through the host. Every other object
 * here goes through the host, since the fake Direct3D refuses to hand out its memory. Runs in the suite native-import. */
#include "sharing.h"

enum { MANY = 2 * KINDS + 4, FEW = 4 }; /* more than a call has room for, and less */

/* A texture that the way through the host maps in both directions, so that both can fail. */
static bool open_dynamic(const struct rig *rig, unsigned seed, struct shared *shared)
{
    *shared = (struct shared){.kind = KIND_2D, .desc = kind_desc(KIND_2D)};
    shared->desc.usage = RIG_DYNAMIC;
    shared->desc.bind = D3D11_BIND_SHADER_RESOURCE;
    shared->resource = rig_make(rig, rig->device, &shared->desc, NULL);
    if (!CHECK(shared->resource != NULL))
        return false;
    d3d_fill(rig, shared, seed);
    shared->object = rig->create_2d(rig->context, CL_MEM_READ_WRITE, shared->resource, 0, NULL);
    return CHECK(shared->object != NULL);
}

/* Opens `count` objects filled from `seed` on; those of even numbers are imported and of all kinds, the others too or with
 * `dynamic` dynamic textures. */
static bool open_some(const struct rig *rig, unsigned seed, bool dynamic, struct shared *all, unsigned count)
{
    const unsigned before = fake_d3d_import_count();
    for (unsigned i = 0; i < count; i++) {
        fake_d3d_import_refuse(i % 2);
        const bool opened = dynamic && i % 2 ? open_dynamic(rig, seed + i, &all[i])
                                             : shared_open(rig, (enum kind)(i / 2 % KINDS), seed + i, &all[i]);
        fake_d3d_import_refuse(false);
        if (!opened)
            return false;
    }
    return CHECK_INT(fake_d3d_import_count() - before, (count + 1) / 2);
}

static bool open_list(const struct rig *rig, unsigned seed, struct shared *all, unsigned count)
{
    return open_some(rig, seed, false, all, count);
}

static void close_list(struct shared *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        shared_close(&all[i]);
}

/* The driver closes an import with the last command that uses it. */
static bool imports_end(unsigned count)
{
    for (int i = 0; i < 60000 && fake_d3d_import_count() != count; i++)
        pause_ms(1);
    return CHECK_INT(fake_d3d_import_count(), count);
}

static cl_int enqueue(const struct rig *rig, rig_enqueue call, const struct shared *all, unsigned count, cl_uint waits,
                      const cl_event *wait, cl_event *event)
{
    cl_mem objects[MANY];
    for (unsigned i = 0; i < count; i++)
        objects[i] = all[i].object;
    return call(rig->queue, count, objects, waits, wait, event);
}

static cl_int acquire(const struct rig *rig, const struct shared *all, unsigned count)
{
    return enqueue(rig, rig->acquire, all, count, 0, NULL, NULL);
}

static cl_int release(const struct rig *rig, const struct shared *all, unsigned count)
{
    return enqueue(rig, rig->release, all, count, 0, NULL, NULL);
}

/* Writes from OpenCL to each `step`th object of an acquired list. */
static void write_list(const struct rig *rig, const struct shared *all, unsigned count, unsigned seed, unsigned step)
{
    unsigned char bytes[MANY][SHARED_BYTES];
    for (unsigned i = 0; i < count; i += step) {
        rig_pattern(bytes[i], SHARED_BYTES, seed + i);
        CHECK_INT(cl_write(rig->queue, &all[i], bytes[i], 0, NULL, NULL), CL_SUCCESS);
    }
    queue_wait(rig->queue);
}

static void d3d_has_list(const struct rig *rig, const struct shared *all, unsigned count, unsigned seed)
{
    for (unsigned i = 0; i < count; i++)
        d3d_has(rig, &all[i], seed + i);
}

/* All are Direct3D's and work as ever. */
static void are_idle(const struct rig *rig, const struct shared *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CHECK_INT(release_one(rig, all[i].object), rig->api->not_acquired);
        d3d_fill(rig, &all[i], 200 + i);
        CHECK(round_trip(rig, &all[i], 200 + i, 100 + i));
    }
}

/* ---- lists ---- */

static void frames(const struct rig *rig, unsigned count)
{
    struct shared all[MANY];
    if (!open_list(rig, 1, all, count))
        return;
    CHECK_INT(acquire(rig, all, count), CL_SUCCESS);
    CHECK_INT(acquire(rig, all, count), rig->api->already_acquired);
    for (unsigned i = 0; i < count; i++)
        cl_has(rig->queue, &all[i], 1 + i);
    write_list(rig, all, count, 50, 1);
    CHECK_INT(release(rig, all, count), CL_SUCCESS);
    d3d_has_list(rig, all, count, 50);
    /* Nothing of some is written. */
    for (unsigned step = 2; step <= 3; step++) {
        for (unsigned i = 0; i < count; i++)
            d3d_fill(rig, &all[i], 100 + i);
        CHECK_INT(acquire(rig, all, count), CL_SUCCESS);
        write_list(rig, all, count, 150, step);
        CHECK_INT(release(rig, all, count), CL_SUCCESS);
        for (unsigned i = 0; i < count; i++)
            d3d_has(rig, &all[i], i % step ? 100 + i : 150 + i);
    }
    are_idle(rig, all, count);
    close_list(all, count);
    imports_end(0);
}

SHARING_CASE(lists, 0)
{
    frames(rig, FEW);
    frames(rig, MANY);
}

/* ---- Direct3D fails in the middle of a list ---- */

/* The nth step of an import fails; or of the way through the host the nth map of a texture. 0: none any longer. */
static void fail_nth(const struct rig *rig, bool imported, unsigned nth)
{
    if (imported)
        fake_d3d_import_fail(nth);
    else
        CHECK(fake_d3d_fail(rig->api == &rig_d3d11 ? "ID3D11DeviceContext::Map" : "ID3D10Texture2D::Map", nth, E_FAIL) >
              0);
}

static void giving_fails(const struct rig *rig, struct shared *all, bool imported, unsigned nth)
{
    cl_event event = NULL;
    for (unsigned i = 0; i < FEW; i++)
        d3d_fill(rig, &all[i], nth + i);
    fail_nth(rig, imported, nth);
    CHECK_INT(acquire(rig, all, FEW), CL_OUT_OF_RESOURCES);
    fail_nth(rig, imported, nth);
    CHECK_INT(enqueue(rig, rig->acquire, all, FEW, 0, NULL, &event), CL_SUCCESS);
    fail_nth(rig, imported, 0);
    CHECK(rig_event_status(event) < 0);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(release(rig, all, FEW), rig->api->not_acquired);
    d3d_has_list(rig, all, FEW, nth);
    are_idle(rig, all, FEW);
}

SHARING_CASE(acquire_fails, 0)
{
    struct shared all[FEW];
    if (!open_some(rig, 1, true, all, FEW))
        return;
    for (int turned = 0; turned < 2; turned++) { /* each of the two gives first once */
        for (int imported = 0; imported < 2; imported++)
            for (unsigned nth = 1; nth <= FEW / 2; nth++)
                giving_fails(rig, all, imported, nth);
        const struct shared first = all[0];
        all[0] = all[1];
        all[1] = first;
    }
    close_list(all, FEW);
    imports_end(0);
}

/* All are Direct3D's then, and those that did not fail have OpenCL's bytes. Of a dynamic texture there are two maps. */
static void taking_fails(const struct rig *rig, struct shared *all, bool imported, unsigned nth)
{
    const unsigned failed = imported ? 2 * (nth - 1) : (nth - 1) / 2 * 2 + 1;
    CHECK_INT(acquire(rig, all, FEW), CL_SUCCESS);
    write_list(rig, all, FEW, 50 + nth, 1);
    fail_nth(rig, imported, nth);
    CHECK_INT(release(rig, all, FEW), CL_OUT_OF_RESOURCES);
    fail_nth(rig, imported, 0);
    CHECK_INT(release(rig, all, FEW), rig->api->not_acquired);
    for (unsigned i = 0; i < FEW; i++)
        if (i != failed)
            d3d_has(rig, &all[i], 50 + nth + i);
    are_idle(rig, all, FEW);
}

SHARING_CASE(release_fails, 0)
{
    struct shared all[FEW];
    if (!open_some(rig, 1, true, all, FEW))
        return;
    for (int imported = 0; imported < 2; imported++)
        for (unsigned nth = 1; nth <= (imported ? FEW / 2 : FEW); nth++)
            taking_fails(rig, all, imported, nth);
    close_list(all, FEW);
    imports_end(0);
}

/* ---- behind user events ---- */

/* A release and an acquire behind a user event; the nth step of an import fails in one of them, or none (0). */
static void deferred_chain(const struct rig *rig, struct shared *all, cl_int set, unsigned nth)
{
    cl_event user = user_event(rig->context), released = NULL, acquired = NULL;
    CHECK_INT(acquire(rig, all, FEW), CL_SUCCESS);
    write_list(rig, all, FEW, 30 + nth, 1);
    CHECK_INT(enqueue(rig, rig->release, all, FEW, 1, &user, &released), CL_SUCCESS);
    CHECK_INT(enqueue(rig, rig->acquire, all, FEW, 0, NULL, &acquired), CL_SUCCESS);
    fake_d3d_import_fail(nth);
    CHECK_INT(clSetUserEventStatus(user, set), CL_SUCCESS);
    clWaitForEvents(1, &acquired);
    const bool gave = rig_event_status(released) >= 0, took = rig_event_status(acquired) >= 0;
    CHECK_INT(gave, set == CL_COMPLETE && (nth == 0 || nth > FEW / 2));
    CHECK(!nth || gave != took || !gave);
    fake_d3d_import_fail(0);
    const bool acquired_now = took || set < 0;
    CHECK_INT(release(rig, all, FEW), acquired_now ? CL_SUCCESS : rig->api->not_acquired);
    d3d_has_list(rig, all, FEW, 30 + nth);
    are_idle(rig, all, FEW);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
}

SHARING_CASE(deferred, 0)
{
    struct shared all[FEW];
    if (!open_list(rig, 1, all, FEW))
        return;
    deferred_chain(rig, all, -5, 0);
    for (unsigned nth = 0; nth <= FEW; nth++)
        deferred_chain(rig, all, CL_COMPLETE, nth);
    close_list(all, FEW);
    imports_end(0);
}

/* ---- given up while OpenCL has them ---- */

/* Commands that are still to run use Direct3D's memory when nobody else holds it. */
SHARING_CASE(dropped_in_use, 0)
{
    struct shared all[FEW];
    unsigned char bytes[SHARED_BYTES], read[FEW][SHARED_BYTES];
    cl_event user = user_event(rig->context);
    rig_pattern(bytes, sizeof(bytes), 9);
    if (!open_list(rig, 1, all, FEW))
        return;
    CHECK_INT(acquire(rig, all, FEW), CL_SUCCESS);
    for (unsigned i = 0; i < FEW; i++) {
        CHECK_INT(cl_write(rig->queue, &all[i], bytes, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(cl_read(rig->queue, &all[i], read[i], NULL), CL_SUCCESS);
    }
    close_list(all, FEW);
    CHECK_INT(fake_d3d_import_count(), FEW / 2);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    queue_wait(rig->queue);
    for (unsigned i = 0; i < FEW; i++)
        CHECK_MEM(read[i], bytes, sizeof(bytes));
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    imports_end(0);
}

/* ---- what differs ---- */

/* An import has no staging copy, so each side sees what the other writes. */
SHARING_CASE(seen_at_once, 0)
{
    struct shared all[2];
    if (!open_list(rig, 1, all, 2))
        return;
    CHECK_INT(acquire(rig, all, 2), CL_SUCCESS);
    d3d_fill(rig, &all[0], 7);
    d3d_fill(rig, &all[1], 8);
    cl_has(rig->queue, &all[0], 7);
    cl_has(rig->queue, &all[1], 2);
    write_list(rig, all, 2, 9, 1);
    d3d_has(rig, &all[0], 9);
    d3d_has(rig, &all[1], 8);
    CHECK_INT(release(rig, all, 2), CL_SUCCESS);
    d3d_has_list(rig, all, 2, 9);
    close_list(all, 2);
    imports_end(0);
}

/* ---- the setting ---- */

static const struct tap_test tests[] = {
    SHARING_TESTS("lists of both change hands", lists),
    SHARING_TESTS("Direct3D fails to give one of them", acquire_fails),
    SHARING_TESTS("Direct3D fails to take one of them", release_fails),
    SHARING_TESTS("deferred commands", deferred),
    SHARING_TESTS("given up while commands use them", dropped_in_use),
    SHARING_TESTS("an import shows each side what the other writes", seen_at_once),
};

TAP_MAIN(tests)
