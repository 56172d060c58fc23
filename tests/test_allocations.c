/* A program in its steady state makes cld3d allocate nothing: the same objects frame after frame, with events and wait lists.
 * And where memory is short a call says so: it never waits for what the caller sets later.
 *
 * The program's malloc, calloc, realloc and free stand before the C library's for everybody in the process; what is called from
 * cld3d's library is counted, and allocations fail if the test wants it. */
#define _GNU_SOURCE /* dladdr */
#include "common/dx9.h"
#include "sharing.h"

#include <dlfcn.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static atomic_bool counting;
static atomic_uint counted, freed;
static atomic_size_t least;        /* bytes; smaller ones are not counted */
static atomic_uint failing;        /* the how many-th allocation fails; 0: none */
static atomic_bool all_fail;       /* and so do all others */
static _Thread_local bool looking; /* dladdr may allocate */

/* False: the allocation shall fail. */
static bool count(const void *caller, size_t size)
{
    Dl_info from;
    bool good = true;
    if (looking || !atomic_load(&counting) || size < atomic_load(&least))
        return true;
    looking = true;
    if (dladdr(caller, &from) && from.dli_fname && strstr(from.dli_fname, "libcld3d"))
        good = atomic_fetch_add(&counted, 1) + 1 != atomic_load(&failing) && !atomic_load(&all_fail);
    looking = false;
    return good;
}

void *malloc(size_t size)
{
    return count(__builtin_return_address(0), size) ? __libc_malloc(size) : NULL;
}

void *calloc(size_t count_of, size_t size)
{
    return count(__builtin_return_address(0), count_of * size) ? __libc_calloc(count_of, size) : NULL;
}

void *realloc(void *memory, size_t size)
{
    return count(__builtin_return_address(0), size) ? __libc_realloc(memory, size) : NULL;
}

void free(void *memory)
{
    Dl_info from;
    if (memory && !looking && atomic_load(&counting)) {
        looking = true;
        if (dladdr(__builtin_return_address(0), &from) && from.dli_fname && strstr(from.dli_fname, "libcld3d"))
            atomic_fetch_add(&freed, 1);
        looking = false;
    }
    __libc_free(memory);
}

/* A frame with all that programs use. */
static void frame(const struct rig *rig, struct shared all[KINDS], unsigned char *bytes)
{
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    cl_event acquired = NULL, written[KINDS], released = NULL;
    CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, &acquired), CL_SUCCESS);
    for (int i = 0; i < KINDS; i++)
        CHECK_INT(cl_write(rig->queue, &all[i], bytes, 1, &acquired, &written[i]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, KINDS, list, KINDS, written, &released), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    for (int i = 0; i < KINDS; i++)
        CHECK_INT(clReleaseEvent(written[i]), CL_SUCCESS);
}
#endif

SHARING_CASE(steady_state, 0)
{
#if SANITIZED
    (void)rig;
    SKIP("a sanitizer has malloc for itself");
#else
    struct shared all[KINDS];
    unsigned char bytes[SHARED_BYTES];
    atomic_store(&counted, 0);
    atomic_store(&counting, true);
    if (!shared_open_all(rig, 1, all))
        return;
    rig_pattern(bytes, sizeof(bytes), 9);
    for (int i = 0; i < 3; i++)
        frame(rig, all, bytes);
    CHECK(atomic_load(&counted) > 0); /* it does count */
    atomic_store(&counted, 0);
    for (int i = 0; i < 50; i++)
        frame(rig, all, bytes);
    atomic_store(&counting, false);
    CHECK_INT(atomic_load(&counted), 0);
    for (unsigned i = 0; i < KINDS; i++)
        CHECK(d3d_has(rig, &all[i], 9));
    shared_close_all(all);
#endif
}

#if !SANITIZED
static void CL_CALLBACK note_call(cl_event event, cl_int status, void *calls)
{
    (void)event, (void)status;
    atomic_fetch_add((atomic_uint *)calls, 1);
}
#endif

/* Nothing of the callbacks of earlier frames is left, even if the program sets no user event and releases no queue. */
SHARING_CASE(callbacks_of_frames, 0)
{
#if SANITIZED
    (void)rig;
    SKIP("a sanitizer has malloc for itself");
#else
    enum { FRAMES = 25, FEW = 10 };
    static atomic_uint calls;
    struct shared shared;
    cl_event event;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    atomic_store(&calls, 0);
    atomic_store(&counted, 0);
    atomic_store(&freed, 0);
    atomic_store(&counting, true);
    for (unsigned i = 0; i < 2 * FRAMES; i++) {
        CHECK_INT((i % 2 ? rig->release : rig->acquire)(rig->queue, 1, &shared.object, 0, NULL, &event), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, note_call, &calls), CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        for (int waited = 0; waited < 10000 && atomic_load(&calls) <= i; waited++)
            pause_ms(1);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    atomic_store(&counting, false);
    CHECK_INT(atomic_load(&calls), 2 * FRAMES);
    CHECK(atomic_load(&counted) <= atomic_load(&freed) + FEW);
    shared_close(&shared);
#endif
}

/* A new object for each frame. What cld3d allocates for it is small: the memory for its bytes is that of the object before. */
SHARING_CASE(objects_made_again, 0)
{
#if SANITIZED
    (void)rig;
    SKIP("a sanitizer has malloc for itself");
#else
    enum { PAGE = 4096 };
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            return;
        atomic_store(&least, PAGE);
        atomic_store(&counting, true);
        for (unsigned i = 1; i < 10; i++) {
            cl_int status = 1;
            shared.object = kind_create(rig, rig->context, 0, (enum kind)kind, shared.resource, 0, &status);
            CHECK_INT(status, CL_SUCCESS);
            CHECK(round_trip(rig, &shared, i, i + 1));
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            if (i == 2) /* and what is allocated once */
                atomic_store(&counted, 0);
        }
        atomic_store(&counting, false);
        atomic_store(&least, 0);
        CHECK_INT(atomic_load(&counted), 0);
        shared_close(&shared);
    }
#endif
}

#if !SANITIZED
static bool done_or_short(cl_int status)
{
    return CHECK(status == CL_SUCCESS || status == CL_OUT_OF_HOST_MEMORY) && status == CL_SUCCESS;
}

static void drop(cl_event event)
{
    if (event)
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

/* Commands of all kinds behind a user event, while the n-th allocation fails. Returns whether one did. */
static bool short_behind_user_event(struct rig *rig, cl_command_queue other, struct shared all[2], unsigned n)
{
    cl_int status = CL_SUCCESS;
    cl_event held = NULL, released = NULL, acquired = NULL, user = NULL;
    atomic_store(&counted, 0);
    atomic_store(&failing, n);
    user = clCreateUserEvent(rig->context, &status);
    done_or_short(status);
    if (user && done_or_short(clEnqueueMarkerWithWaitList(other, 1, &user, &held))) {
        done_or_short(rig->acquire(rig->queue, 1, &all[1].object, 1, &held, &acquired));
        done_or_short(rig->release(other, 1, &all[0].object, 0, NULL, &released));
    }
    const bool failed = atomic_load(&counted) >= n;
    atomic_store(&failing, 0);
    if (user)
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &all[0].object, 0, NULL, NULL),
              released ? rig->api->not_acquired : CL_SUCCESS);
    CHECK(d3d_has(rig, &all[0], n));
    CHECK_INT(rig->release(rig->queue, 1, &all[1].object, 0, NULL, NULL),
              acquired ? CL_SUCCESS : rig->api->not_acquired);
    drop(held);
    drop(acquired);
    drop(released);
    drop(user);
    return failed;
}
#endif

SHARING_CASE(short_of_memory, 0)
{
#if SANITIZED
    (void)rig;
    SKIP("a sanitizer has malloc for itself");
#else
    static unsigned char bytes[SHARED_BYTES];
    struct shared all[2];
    bool failed = true;
    unsigned n = 0;
    if (!shared_open(rig, KIND_2D, 1, &all[0]) || !shared_open(rig, KIND_BUFFER, 1, &all[1]))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    atomic_store(&counting, true);
    while (failed && ++n < 100) {
        rig_pattern(bytes, sizeof(bytes), n);
        CHECK_INT(acquire_one(rig, all[0].object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &all[0], bytes, 0, NULL, NULL), CL_SUCCESS);
        queue_wait(rig->queue);
        failed = short_behind_user_event(rig, other, all, n);
    }
    atomic_store(&counting, false);
    CHECK(n > 5 && n < 100);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        shared_close(&all[i]);
#endif
}

/* One of two user events is set to an error while there is no memory at all: the release ends, and the next one does not wait
 * for the other event. */
SHARING_CASE(fails_without_memory, 0)
{
#if SANITIZED
    (void)rig;
    SKIP("a sanitizer has malloc for itself");
#else
    struct shared shared;
    if (!ends_with_first_failure(rig) || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_event users[] = {user_event(rig->context), user_event(rig->context)}, released = NULL;
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 7);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 2, users, &released), CL_SUCCESS);
    atomic_store(&counting, true);
    atomic_store(&all_fail, true);
    CHECK_INT(clSetUserEventStatus(users[1], -5), CL_SUCCESS);
    atomic_store(&all_fail, false);
    atomic_store(&counting, false);
    clWaitForEvents(1, &released);
    CHECK(rig_event_status(released) < 0);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 7));
    CHECK_INT(clSetUserEventStatus(users[0], CL_COMPLETE), CL_SUCCESS);
    drop(released);
    drop(users[0]);
    drop(users[1]);
    shared_close(&shared);
#endif
}

#if !SANITIZED
/* The first acquire of a context, while the n-th allocation fails: the call says so, and no event does. The context keeps nothing that
 * could be given up. Returns whether one failed. */
static bool short_in_first_acquire(const struct dx9 *dx9, unsigned n, unsigned *told)
{
    struct dx9_surface s;
    struct dx9 fresh = *dx9;
    cl_event event = NULL;
    cl_int made = 1;
    fresh.rig.context = dx9_make_context(dx9, dx9->property, dx9->device, &made);
    if (!CHECK_INT(made, CL_SUCCESS))
        return false;
    fresh.rig.queue = make_queue(&fresh.rig, fresh.rig.context, 0);
    if (!dx9_open_surface(&s, &fresh, dx9_format_of(D3DFMT_A8R8G8B8), DX9_PLAIN, 64, 64))
        return false;
    atomic_store(&counted, 0);
    atomic_store(&failing, n);
    const cl_int status = dx9->acquire(s.queue, 1, s.planes, 0, NULL, &event);
    const bool failed = atomic_load(&counted) >= n;
    atomic_store(&failing, 0);
    *told += status == CL_OUT_OF_HOST_MEMORY;
    CHECK(status == CL_SUCCESS || (status == CL_OUT_OF_HOST_MEMORY && !event));
    if (status != CL_SUCCESS || rig_event_status(event) < 0)
        CHECK_INT(dx9->acquire(s.queue, 1, s.planes, 0, NULL, NULL), CL_SUCCESS);
    drop(event);
    CHECK_INT(dx9->release(s.queue, 1, s.planes, 0, NULL, NULL), CL_SUCCESS);
    dx9_close_surface(&s);
    CHECK_INT(clReleaseCommandQueue(fresh.rig.queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(fresh.rig.context), CL_SUCCESS);
    return failed;
}
#endif

DX9_CASE(first_acquires, 0)
{
#if SANITIZED
    (void)dx9;
    SKIP("a sanitizer has malloc for itself");
#else
    const char *in_place = getenv("CLD3D_TEST_IN_PLACE");
    unsigned n = 0, told = 0;
    cl_bool unified = CL_TRUE;
    bool failed = true;
    CHECK_INT(clGetDeviceInfo(dx9->rig.cl_device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL),
              CL_SUCCESS);
    if (over_transport("import")) {
        SKIP("nothing is copied there");
        return;
    }
    atomic_store(&counting, true);
    while (failed && ++n < 100)
        failed = short_in_first_acquire(dx9, n, &told);
    atomic_store(&counting, false);
    if (!in_place || strcmp(in_place, "1") != 0 || getenv("CLD3D_TRANSPORT"))
        /* Else the rows are made with the object; those that can't be pinned are ordinary. */
        CHECK_INT(told, unified || device_takes_dense_rows(dx9->rig.cl_device));
    CHECK(n > 1 && n < 100);
#endif
}

/* What nobody keeps in mind would be taken for idle. */
SHARING_CASE(queue_without_memory, 0)
{
#if SANITIZED
    (void)rig;
    SKIP("a sanitizer has malloc for itself");
#else
    unsigned n = 0;
    bool failed = true;
    atomic_store(&counting, true);
    while (failed && ++n < 100) {
        cl_int status = 1;
        atomic_store(&counted, 0);
        atomic_store(&failing, n);
        cl_command_queue queue = clCreateCommandQueue(rig->context, rig->cl_device, 0, &status);
        failed = atomic_load(&counted) >= n;
        atomic_store(&failing, 0);
        CHECK_INT(status, failed ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS);
        CHECK(failed == !queue);
        if (queue)
            CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    atomic_store(&counting, false);
    CHECK(n > 1 && n < 100);
#endif
}

static const struct tap_test tests[] = {
    SHARING_TESTS("no memory is allocated for a frame like the last", steady_state),
    SHARING_TESTS("no memory stays for the callbacks of earlier frames", callbacks_of_frames),
    SHARING_TESTS("no memory for the bytes of an object made again", objects_made_again),
    SHARING_TESTS("memory is short behind a user event", short_of_memory),
    SHARING_TESTS("no memory while a user event fails", fails_without_memory),
    SHARING_TESTS("memory is short where a queue is made", queue_without_memory),
    DX9_TESTS("memory is short in the first acquire", first_acquires),
};

TAP_MAIN(tests)
