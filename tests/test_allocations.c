/* A program in its steady state makes cld3d allocate nothing: the same objects frame after frame, with events and wait lists.
 *
 * The program's malloc, calloc and realloc stand before the C library's for everybody in the process; what is called from
 * cld3d's library is counted. */
#define _GNU_SOURCE /* dladdr */
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
static _Thread_local bool looking; /* dladdr may allocate */

static void count(const void *caller)
{
    Dl_info from;
    if (looking || !atomic_load(&counting))
        return;
    looking = true;
    if (dladdr(caller, &from) && from.dli_fname && strstr(from.dli_fname, "libcld3d"))
        atomic_fetch_add(&counted, 1);
    looking = false;
}

void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t count_of, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(count_of, size);
}

void *realloc(void *memory, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(memory, size);
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

static const struct tap_test tests[] = {
    SHARING_TESTS("no memory is allocated for a frame like the last", steady_state),
};

TAP_MAIN(tests)
