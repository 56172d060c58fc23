/* What the tests of callbacks have in common. */
#ifndef CLD3D_TESTS_CALLBACKS_H
#define CLD3D_TESTS_CALLBACKS_H

#include "sharing.h"

struct base {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
};

static inline bool open_base(struct base *base)
{
    cl_int status = 1;
    memset(base, 0, sizeof(*base));
    CHECK_INT(clGetPlatformIDs(1, &base->platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 1, &base->device, NULL), CL_SUCCESS);
    base->context = clCreateContext(NULL, 1, &base->device, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    base->queue = clCreateCommandQueue(base->context, base->device, 0, &status);
    return CHECK_INT(status, CL_SUCCESS);
}

static inline void close_base(struct base *base)
{
    CHECK_INT(clReleaseCommandQueue(base->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base->context), CL_SUCCESS);
}

static inline bool wait_until(atomic_uint *counter, unsigned count)
{
    enum { MOST_MS = 30000 }; /* from one to the next */
    for (unsigned i = 0, was = 0, now; i < MOST_MS && (now = atomic_load(counter)) < count; i++) {
        i = now == was ? i : 0;
        was = now;
        pause_ms(1);
    }
    return CHECK_INT(atomic_load(counter), count);
}

/* What came, in its order. */
struct journal {
    atomic_uint count;
    struct {
        void *object;
        cl_int status;
        void *data;
    } entries[16];
};

static inline void write_down(struct journal *journal, void *object, cl_int status, void *data)
{
    const unsigned at = atomic_load(&journal->count);
    if (at < 16) {
        journal->entries[at].object = object;
        journal->entries[at].status = status;
        journal->entries[at].data = data;
    }
    atomic_fetch_add(&journal->count, 1);
}

static struct journal journal;

/* A case that gets a context with a queue, and an empty journal. */
static inline void with_base(void (*body)(struct base *))
{
    struct base base;
    if (!open_base(&base))
        return;
    atomic_store(&journal.count, 0);
    body(&base);
    close_base(&base);
}

#define BASE_CASE(text, name)            \
    static void name(struct base *base); \
    CASE(text, name##_alone)             \
    {                                    \
        with_base(name);                 \
    }                                    \
    static void name(struct base *base)

static inline void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    write_down(&journal, event, status, data);
}

static inline cl_mem make_buffer(const struct base *base)
{
    cl_int status = 1;
    cl_mem buffer = clCreateBuffer(base->context, CL_MEM_READ_WRITE, 65536, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return buffer;
}

static inline cl_event fill(const struct base *base, cl_mem buffer, cl_uint wait_count, const cl_event *wait)
{
    cl_event event = NULL;
    const cl_uint pattern = 0x12345678;
    CHECK_INT(clEnqueueFillBuffer(base->queue, buffer, &pattern, sizeof(pattern), 0, 65536, wait_count, wait, &event),
              CL_SUCCESS);
    return event;
}

/* Whether callbacks are the driver's own, which calls none for errors (PoCL 3.1 and rusticl 22.3), and calls on the threads that run
 * its commands. */
static inline bool callbacks_of_driver(void)
{
#ifdef _WIN32
    return false;
#else
    SKIP("the driver's own callbacks");
    return true;
#endif
}

#endif
