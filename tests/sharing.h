/* What the tests of the sharing rules have in common, beside the rig: cases for both APIs, a shared object of each kind
 * with its resource, the same access to all kinds from both sides, threads.
 *
 * A case is written once and gets an open rig:
 *
 *     SHARING_CASE("objects can be acquired", acquires, RIG_PROFILING)
 *     {
 *         CHECK(rig->queue != NULL);
 *     }
 *
 * After each case nothing that it made may be left, and over the fake Direct3D no rule of Direct3D may have been broken. */
#ifndef CLD3D_TESTS_SHARING_H
#define CLD3D_TESTS_SHARING_H

#include "drivers/below.h"
#include "common/rig.h"
#include "driver_bugs.h"
#include "tap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#ifndef _WIN32
#include "fake_d3d.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

/* ---- cases ---- */

/* Runs a case over one API. */
static inline void sharing_run(const struct rig_api *api, unsigned flags, void (*body)(struct rig *))
{
    struct rig rig;
    const unsigned before = rig_begin();
    if (!rig_open(&rig, api, flags))
        return;
    body(&rig);
    rig_close(&rig);
    rig_end(rig.cl_device, before);
}

static inline bool env_is(const char *variable, const char *value)
{
    const char *text = getenv(variable);
    return text && strcmp(text, value) == 0;
}

static inline bool over_transport(const char *name)
{
    return env_is("CLD3D_TEST_TRANSPORT", name);
}

/* Whether OpenCL works in Direct3D's memory as the host sees it (tests/vulkan): the resource lives as long as commands use it. */
static inline bool over_mapped(void)
{
    return over_transport("mapped");
}

/* Whether OpenCL works in Direct3D's own memory (tests/vulkan): each side sees at once what the other writes, and
 * there are no staging copies. */
static inline bool over_import(void)
{
    return over_transport("export") || over_mapped();
}

/* Whether that is so for resources of a kind: buffers go through the host where the host sees the memory, and where Direct3D 10
 * does not tell where they lie, as the fake's does not. */
static inline bool kind_is_direct(const struct rig *rig, int kind)
{
#ifdef _WIN32
    const bool fake = false;
#else
    const bool fake = true;
#endif
    const bool tells = rig->api->version == 11 || !fake;
    if (!over_import() || kind != 0)
        return over_import();
    return over_transport("export") && tells;
}

/* Whether OpenCL computes in the host's memory, and objects lie there. */
static inline bool works_in_place(void)
{
    const char *transport = getenv("CLD3D_TRANSPORT");
#ifdef _WIN32
    const bool possible = env_is("OPENCL", "pocl");
#else
    const bool possible = env_is("CLD3D_TEST_IN_PLACE", "1");
#endif
    return possible && (!transport || strstr(transport, "in-place"));
}

/* Whether an object may lie in its staging copy, which is made with it then: Direct3D leaves staging copies in their place. */
static inline bool lies_in_staging(void)
{
#ifdef _WIN32
    return works_in_place();
#else
    return works_in_place() && env_is("FAKE_D3D_STAYS", "1");
#endif
}

#define SHARING_CASE(text, name, flags)                       \
    static void name(struct rig *rig);                        \
    FOR_EACH_API(text, name, sharing_run(api, (flags), name)) \
    static void name(struct rig *rig)

static inline const struct rig_api *other_api(const struct rig *rig)
{
    return rig->api == &rig_d3d11 ? &rig_d3d10 : &rig_d3d11;
}

/* ---- kinds ---- */

enum kind { KIND_BUFFER, KIND_2D, KIND_3D, KINDS };

/* Every kind of resource here has so many bytes. */
enum { SHARED_BYTES = 128 };

static inline struct rig_desc kind_desc(enum kind kind)
{
    static const struct rig_desc descs[KINDS] = {
        [KIND_BUFFER] = {.width = SHARED_BYTES},
        [KIND_2D] = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 8, .height = 4},
        [KIND_3D] = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 4, .depth = 2},
    };
    return descs[kind];
}

/* The extension's function of a kind; `subresource` is not looked at for buffers. */
static inline cl_mem kind_create(const struct rig *rig, cl_context context, cl_mem_flags flags, enum kind kind,
                                 void *resource, UINT subresource, cl_int *status)
{
    switch (kind) {
    case KIND_BUFFER: return rig->create_buffer(context, flags, resource, status);
    case KIND_2D: return rig->create_2d(context, flags, resource, subresource, status);
    default: return rig->create_3d(context, flags, resource, subresource, status);
    }
}

/* The region of a whole image of a kind. */
static inline const size_t *kind_region(enum kind kind)
{
    static const size_t regions[KINDS][3] = {{SHARED_BYTES, 1, 1}, {8, 4, 1}, {4, 4, 2}};
    return regions[kind];
}

static inline const size_t *no_origin(void)
{
    static const size_t origin[3];
    return origin;
}

/* ---- shared objects ---- */

struct shared {
    enum kind kind;
    struct rig_desc desc;
    void *resource; /* one reference */
    cl_mem object;  /* one reference */
};

/* A resource without object, filled from `seed`. */
static inline bool shared_resource(const struct rig *rig, enum kind kind, unsigned seed, struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES];
    *shared = (struct shared){.kind = kind, .desc = kind_desc(kind)};
    shared->resource = rig_make(rig, rig->device, &shared->desc, NULL);
    if (!CHECK(shared->resource != NULL))
        return false;
    rig_pattern(bytes, sizeof(bytes), seed);
    rig_write(rig, shared->resource, &shared->desc, 0, bytes);
    return true;
}

/* A resource filled from `seed` and its object in the rig's context. */
static inline bool shared_open(const struct rig *rig, enum kind kind, unsigned seed, struct shared *shared)
{
    cl_int status = CL_SUCCESS;
    if (!shared_resource(rig, kind, seed, shared))
        return false;
    shared->object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, kind, shared->resource, 0, &status);
    if (CHECK(shared->object != NULL) && CHECK_INT(status, CL_SUCCESS))
        return true;
    rig_release(shared->resource);
    return false;
}

/* Gives up what is left of it. */
static inline void shared_close(struct shared *shared)
{
    if (shared->object)
        CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    if (shared->resource)
        rig_release(shared->resource);
    *shared = (struct shared){0};
}

/* One object of each kind; `seed` + kind is its pattern. */
static inline bool shared_open_all(const struct rig *rig, unsigned seed, struct shared all[KINDS])
{
    for (int i = 0; i < KINDS; i++) {
        if (shared_open(rig, (enum kind)i, seed + (unsigned)i, &all[i]))
            continue;
        while (i > 0)
            shared_close(&all[--i]);
        return false;
    }
    return true;
}

static inline void shared_close_all(struct shared all[KINDS])
{
    for (int i = 0; i < KINDS; i++)
        shared_close(&all[i]);
}

/* A case that gets an object of a kind, or one of each: their patterns begin with that of seed 1. What the case does not close is
 * closed behind it. */
#define OBJECT_CASE(text, name, flags, kind)                  \
    static void name(struct rig *rig, struct shared *shared); \
    SHARING_CASE(text, name##_opened, flags)                  \
    {                                                         \
        struct shared shared;                                 \
        if (shared_open(rig, kind, 1, &shared)) {             \
            name(rig, &shared);                               \
            shared_close(&shared);                            \
        }                                                     \
    }                                                         \
    static void name(struct rig *rig, struct shared *shared)

#define OBJECTS_CASE(text, name, flags)                          \
    static void name(struct rig *rig, struct shared all[KINDS]); \
    SHARING_CASE(text, name##_opened, flags)                     \
    {                                                            \
        struct shared all[KINDS];                                \
        if (shared_open_all(rig, 1, all)) {                      \
            name(rig, all);                                      \
            shared_close_all(all);                               \
        }                                                        \
    }                                                            \
    static void name(struct rig *rig, struct shared all[KINDS])

/* Acquire and release of one object, without wait list and event. */
static inline cl_int acquire_one(const struct rig *rig, cl_mem object)
{
    return rig->acquire(rig->queue, 1, &object, 0, NULL, NULL);
}

static inline cl_int release_one(const struct rig *rig, cl_mem object)
{
    return rig->release(rig->queue, 1, &object, 0, NULL, NULL);
}

/* Writes or reads the whole object from OpenCL, not blocking. */
static inline cl_int cl_write(cl_command_queue queue, const struct shared *shared, const void *bytes,
                              cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (shared->kind == KIND_BUFFER)
        return clEnqueueWriteBuffer(queue, shared->object, CL_FALSE, 0, SHARED_BYTES, bytes, wait_count, wait, event);
    return clEnqueueWriteImage(queue, shared->object, CL_FALSE, no_origin(), kind_region(shared->kind), 0, 0, bytes,
                               wait_count, wait, event);
}

static inline cl_int cl_read(cl_command_queue queue, const struct shared *shared, void *bytes, cl_event *event)
{
    if (shared->kind == KIND_BUFFER)
        return clEnqueueReadBuffer(queue, shared->object, CL_FALSE, 0, SHARED_BYTES, bytes, 0, NULL, event);
    return clEnqueueReadImage(queue, shared->object, CL_FALSE, no_origin(), kind_region(shared->kind), 0, 0, bytes, 0,
                              NULL, event);
}

/* Waits for all commands of a queue. Not clFinish: rusticl's may return too early. */
static inline void queue_wait(cl_command_queue queue)
{
    cl_event marker;
    if (!CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker), CL_SUCCESS))
        return;
    CHECK_INT(clWaitForEvents(1, &marker), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
}

/* Checks that Direct3D (or OpenCL, for an acquired object) has the pattern of `seed`. */
static inline bool d3d_has(const struct rig *rig, const struct shared *shared, unsigned seed)
{
    unsigned char bytes[SHARED_BYTES], expected[SHARED_BYTES];
    memset(bytes, 0, sizeof(bytes));
    rig_pattern(expected, sizeof(expected), seed);
    rig_read(rig, shared->resource, &shared->desc, 0, bytes);
    return CHECK_MEM(bytes, expected, sizeof(bytes));
}

static inline bool cl_has(cl_command_queue queue, const struct shared *shared, unsigned seed)
{
    unsigned char bytes[SHARED_BYTES], expected[SHARED_BYTES];
    memset(bytes, 0, sizeof(bytes));
    rig_pattern(expected, sizeof(expected), seed);
    if (!CHECK_INT(cl_read(queue, shared, bytes, NULL), CL_SUCCESS))
        return false;
    queue_wait(queue);
    return CHECK_MEM(bytes, expected, sizeof(bytes));
}

static inline void d3d_fill(const struct rig *rig, const struct shared *shared, unsigned seed)
{
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), seed);
    rig_write(rig, shared->resource, &shared->desc, 0, bytes);
}

/* The whole way there and back, with a check on each side: `from` is what Direct3D has, `to` what it gets. */
static inline bool round_trip(const struct rig *rig, const struct shared *shared, unsigned from, unsigned to)
{
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), to);
    return CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS) && cl_has(rig->queue, shared, from) &&
           CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS) &&
           CHECK_INT(release_one(rig, shared->object), CL_SUCCESS) && d3d_has(rig, shared, to);
}

/* ---- contexts and queues beside the rig's ---- */

static inline cl_context plain_context(const struct rig *rig)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform, 0};
    cl_int status;
    cl_context context = clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return context;
}

static inline cl_command_queue_properties out_of_order_mode(const struct rig *rig)
{
    cl_command_queue_properties properties = 0;
    CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL),
              CL_SUCCESS);
    return properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

static inline cl_command_queue make_queue(const struct rig *rig, cl_context context,
                                          cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(context, rig->cl_device, properties, &status);
    CHECK_INT(status, CL_SUCCESS);
    return queue;
}

/* The same on another device, whose reference it takes over. */
static inline struct rig rig_on(const struct rig *rig, void *device)
{
    cl_int status = 1;
    struct rig other = *rig;
    other.device = device;
    other.context = rig_make_context(rig, device, false, &status);
    CHECK_INT(status, CL_SUCCESS);
    other.queue = make_queue(rig, other.context, 0);
    return other;
}

/* Whether images of a context can have a format, emulated or not. */
static inline bool images_have_format(cl_context context, cl_mem_object_type type, cl_image_format format)
{
    cl_image_format formats[256];
    cl_uint count = 0;
    bool found = false;
    CHECK_INT(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, type, 256, formats, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 256; i++)
        found = found || memcmp(&formats[i], &format, sizeof(format)) == 0;
    return found;
}

static inline void finish_event(cl_event event)
{
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

static inline cl_event user_event(cl_context context)
{
    cl_int status;
    cl_event event = clCreateUserEvent(context, &status);
    CHECK_INT(status, CL_SUCCESS);
    return event;
}

/* Whether a queue goes on behind commands that have failed. Where it does not, the driver's do not without sharing either. */
static inline bool goes_on(const struct rig *rig, cl_command_queue queue)
{
    return barrier_ends_well(queue) || !CHECK(!device_queues_go_on(rig->cl_device));
}

/* Behind a command that has failed: gives the rig another queue in order where the driver's go on no more. */
static inline void go_on(struct rig *rig)
{
    if (goes_on(rig, rig->queue))
        return;
    printf("# the driver's queue does not go on behind a command that failed: another one\n");
    CHECK_INT(clReleaseCommandQueue(rig->queue), CL_SUCCESS);
    rig->queue = make_queue(rig, rig->context, 0);
}

/* Work that takes its time and uses no shared object. */
struct slow_work {
    cl_kernel kernel;
    cl_mem buffer;
};

static inline bool slow_open(const struct rig *rig, struct slow_work *work)
{
    static const char source[] = "kernel void slow(global uint *to, uint turns)\n"
                                 "{\n"
                                 "    uint x = turns;\n"
                                 "    for (uint i = 0; i < turns; i++) {\n"
                                 "        x ^= x << 13;\n"
                                 "        x ^= x >> 17;\n"
                                 "        x ^= x << 5;\n"
                                 "    }\n"
                                 "    to[0] = x;\n"
                                 "}\n";
    const cl_uint turns = 50000000;
    work->kernel = rig_kernel(rig, source, "slow");
    work->buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    return CHECK(work->kernel && work->buffer) &&
           CHECK_INT(clSetKernelArg(work->kernel, 0, sizeof(cl_mem), &work->buffer), CL_SUCCESS) &&
           CHECK_INT(clSetKernelArg(work->kernel, 1, sizeof(turns), &turns), CL_SUCCESS);
}

/* Enqueues it; the event tells when it is done. */
static inline cl_event slow_start(const struct slow_work *work, cl_command_queue queue)
{
    const size_t one = 1;
    cl_event event = NULL;
    CHECK_INT(clEnqueueNDRangeKernel(queue, work->kernel, 1, NULL, &one, &one, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    return event;
}

static inline void slow_close(struct slow_work *work)
{
    CHECK_INT(clReleaseKernel(work->kernel), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(work->buffer), CL_SUCCESS);
}

/* Creates with `kind`'s function, and checks that it fails with `code`, gives NULL and adds no reference. */
static inline void refused(const struct rig *rig, cl_context context, cl_mem_flags flags, enum kind kind,
                           void *resource, UINT subresource, cl_int code)
{
    const ULONG refs = rig_refs(resource);
    cl_int status = CL_SUCCESS;
    cl_mem object = kind_create(rig, context, flags, kind, resource, subresource, &status);
    CHECK_INT(status, code);
    if (!CHECK(object == NULL))
        clReleaseMemObject(object);
    CHECK_INT(rig_refs(resource), refs);
}

/* ---- the same program again ---- */

#ifdef _WIN32
#define TEST_COMMAND "\"\"%s\" \"%s\"\"" /* cmd.exe takes the outer marks off */
#define test_popen(command) _popen((command), "r")
#define test_pclose _pclose

static inline bool test_program(char *path, size_t size)
{
    const DWORD length = GetModuleFileNameA(NULL, path, (DWORD)size);
    return length > 0 && length < size;
}

static inline void test_setenv(const char *variable, const char *value)
{
    _putenv_s(variable, value ? value : "");
}
#else
#define TEST_COMMAND "\"%s\" \"%s\""
#define test_popen(command) popen((command), "r")
#define test_pclose pclose

static inline bool test_program(char *path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static inline void test_setenv(const char *variable, const char *value)
{
    if (value)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}
#endif

/* What another process has printed. */
struct child_lines {
    unsigned passed, failed, plans; /* no plan: it did not come to its end */
    int status;
};

/* Starts the cases of this program whose names hold `text` in another process. */
static inline FILE *child_start(const char *text)
{
    char path[512], command[1024];
    if (!CHECK(test_program(path, sizeof(path))))
        return NULL;
    snprintf(command, sizeof(command), TEST_COMMAND, path, text);
    return test_popen(command);
}

/* Waits for its end. The verdict is read from the lines, since Wine changes the exit status at times. */
static inline struct child_lines child_end(FILE *child)
{
    char line[600];
    struct child_lines lines = {0};
    if (!CHECK(child != NULL))
        return lines;
    while (fgets(line, sizeof(line), child)) {
        lines.passed += strncmp(line, "ok ", 3) == 0 && !strstr(line, "# SKIP");
        lines.failed += strncmp(line, "not ok ", 7) == 0;
        lines.plans += strncmp(line, "1..", 3) == 0;
        line[strcspn(line, "\r\n")] = '\0';
        printf("#   %s\n", line);
    }
    lines.status = test_pclose(child);
    return lines;
}

/* Both, with a variable of the environment set: what is read once in a process can be tried with several values so. */
static inline struct child_lines run_child(const char *text, const char *variable, const char *value)
{
    char *before = getenv(variable) ? strcpy(malloc(strlen(getenv(variable)) + 1), getenv(variable)) : NULL;
    test_setenv(variable, value);
    FILE *child = child_start(text);
    test_setenv(variable, before);
    free(before);
    return child_end(child);
}

/* Whether another case has started this process with a variable set, for the cases that need it. Else the running one is skipped. */
static inline bool is_child(const char *variable)
{
    if (getenv(variable))
        return true;
    SKIP("only as a part of another case");
    return false;
}

/* The same, and checks that they passed; tells how many did. */
__attribute__((warn_unused_result)) static inline unsigned run_again(const char *text, const char *variable,
                                                                     const char *value)
{
    const struct child_lines lines = run_child(text, variable, value);
    CHECK_INT(lines.failed, 0);
    CHECK_INT(lines.plans, 1);
    return lines.passed;
}

/* Whether the host's loader, which takes layers, is there for run_over. Else the case is skipped. */
static inline bool takes_layers(const char *layer)
{
    if (getenv("OPENCL_LAYERS") && getenv(layer))
        return true;
    SKIP("over a layer of the host's loader");
    return false;
}

/* run_again over one layer more, the lowest, whose file is the value of a variable. The loader cuts OPENCL_LAYERS into its parts when
 * OpenCL is used first, so a program with several layers does this in its first cases. */
__attribute__((warn_unused_result)) static inline unsigned run_over(const char *layer, const char *text)
{
    char layers[1024];
    const char *others = getenv("OPENCL_LAYERS"), *lowest = getenv(layer);
    if (!CHECK(others != NULL) || !CHECK(lowest != NULL))
        return 0;
    snprintf(layers, sizeof(layers), "%s:%s", lowest, others);
    return run_again(text, "OPENCL_LAYERS", layers);
}

/* The same with a variable set, for is_child. */
__attribute__((warn_unused_result)) static inline unsigned run_child_over(const char *layer, const char *text,
                                                                          const char *variable)
{
    test_setenv(variable, "1");
    const unsigned passed = run_over(layer, text);
    test_setenv(variable, NULL);
    return passed;
}

/* An order or a question of below.h, over that layer. Gives the answer. */
static inline cl_uint order_below(cl_command_queue queue, cl_command_queue_info what, cl_uint value)
{
    CHECK_INT(clGetCommandQueueInfo(queue, what, sizeof(value), &value, NULL), CL_SUCCESS);
    return value;
}

/* How many lines of a file hold a text. */
static inline unsigned lines_with(const char *path, const char *text)
{
    char line[1024];
    unsigned count = 0;
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL))
        return 0;
    while (fgets(line, sizeof(line), file))
        count += strstr(line, text) != NULL;
    fclose(file);
    return count;
}

/* ---- time and threads ---- */

/* Seconds since some moment. */
static inline double test_now(void)
{
#ifdef _WIN32
    LARGE_INTEGER count, frequency; /* Wine's other clock stands still for 16 ms and more */
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart / (double)frequency.QuadPart;
#else
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
#endif
}

struct test_job {
    void (*run)(void *);
    void *data;
};

/* test_thread_start: `job` lives until the join. */
#ifdef _WIN32
typedef HANDLE test_thread;

static inline void let_others_run(void)
{
    Sleep(0);
}

static inline DWORD WINAPI test_thread_main(void *job)
{
    const struct test_job *j = job;
    j->run(j->data);
    return 0;
}

static inline bool test_thread_start(test_thread *thread, struct test_job *job)
{
    *thread = CreateThread(NULL, 0, test_thread_main, job, 0, NULL);
    return CHECK(*thread != NULL);
}

static inline void test_thread_join(test_thread thread)
{
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}
#else
typedef pthread_t test_thread;

static inline void let_others_run(void)
{
    sched_yield();
}

static inline void *test_thread_main(void *job)
{
    const struct test_job *j = job;
    j->run(j->data);
    return NULL;
}

static inline bool test_thread_start(test_thread *thread, struct test_job *job)
{
    return CHECK(pthread_create(thread, NULL, test_thread_main, job) == 0);
}

static inline void test_thread_join(test_thread thread)
{
    pthread_join(thread, NULL);
}
#endif

#endif
