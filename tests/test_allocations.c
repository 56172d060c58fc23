/* A program in its steady state makes cld3d allocate nothing: the same objects frame after frame, with events and wait lists.
 * And where memory is short in the first acquire of a context, the call says so.
 *
 * The program's malloc, calloc and realloc stand before the C library's for everybody in the process; what is called from
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

static atomic_bool counting;
static atomic_uint counted;
static atomic_size_t least;        /* bytes; smaller ones are not counted */
static atomic_uint failing;        /* the how many-th allocation fails; 0: none */
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
        good = atomic_fetch_add(&counted, 1) + 1 != atomic_load(&failing);
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

#endif

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

static void drop(cl_event event)
{
    if (event)
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

#endif

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
        CHECK(told >= (unified || device_takes_dense_rows(dx9->rig.cl_device)));
    CHECK(n > 1 && n < 100);
#endif
}

static const struct tap_test tests[] = {
    SHARING_TESTS("no memory for the bytes of an object made again", objects_made_again),
    DX9_TESTS("memory is short in the first acquire", first_acquires),
};

TAP_MAIN(tests)
