/* The choice of a transport: who is asked, in which order, what is said of it, and what CLD3D_TRANSPORT changes. The list is
 * this program's. Each case is a process of its own, since settings are read once. */
#include "emulate/emulate.h"
#include "tap.h"
#include "transport/aligned.h"
#include "transport/parallel.h"
#include "transport/pinned.h"
#include "transport/transports.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a transport of this program shall do, and what was done with it. */
static struct way {
    cl_int answer;
    bool prefers, short_of_memory;
    unsigned opened, closed, freed, asked;
    struct transfer made;
} first, second, last;

static void *open_way(struct way *way)
{
    way->opened++;
    return way->short_of_memory ? NULL : way;
}

static void close_way(void *state)
{
    ((struct way *)state)->closed++;
}

static void free_way(void *state)
{
    ((struct way *)state)->freed++;
}

static bool prefers_shared(void *state, const struct d3d_api *api)
{
    return api == &d3d11_api && ((const struct way *)state)->prefers;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why, struct way *way)
{
    way->asked++;
    CHECK(request->state == NULL || request->state == way);
    if (way->answer == CL_SUCCESS)
        *made = &way->made;
    else
        snprintf(why, TRANSPORT_WHY, "reason %d", way->answer);
    return way->answer;
}

#define WAY(way)                                                                                          \
    static void *open_##way(cl_context context)                                                           \
    {                                                                                                     \
        (void)context;                                                                                    \
        return open_way(&way);                                                                            \
    }                                                                                                     \
    static cl_int create_##way(const struct transfer_request *request, struct transfer **made, char *why) \
    {                                                                                                     \
        return create(request, made, why, &way);                                                          \
    }                                                                                                     \
    static const struct transport way##_transport = {.name = #way,                                        \
                                                     .title = "the " #way " way",                         \
                                                     .open = open_##way,                                  \
                                                     .close = close_way,                                  \
                                                     .free_state = free_way,                              \
                                                     .prefers_shared = prefers_shared,                    \
                                                     .create = create_##way};
WAY(first)
WAY(second)
#undef WAY

/* Keeps nothing for a context. */
static cl_int create_last(const struct transfer_request *request, struct transfer **made, char *why)
{
    return create(request, made, why, &last);
}

static const struct transport last_transport = {.name = "last", .title = "the last way", .create = create_last};

const struct transport *const transport_list[] = {&first_transport, &second_transport, &last_transport};
const unsigned transport_list_count = 3;

/* ---- a process for each case ---- */

static char log_path[64];

/* What the process has logged so far. */
static const char *log_text(void)
{
    static char text[8192];
    FILE *file = fopen(log_path, "r");
    text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static unsigned times_said(const char *what)
{
    unsigned times = 0;
    for (const char *at = strstr(log_text(), what); at; at = strstr(at + 1, what))
        times++;
    return times;
}

/* The sanitizer would look for what is lost in a process that lives on; gcov counts what ends in order. */
static void end_process(int status)
{
#ifdef __SANITIZE_ADDRESS__
    _exit(status);
#else
    exit(status);
#endif
}

static void in_process(const char *setting, void (*check)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("CLD3D_LOG", "info", 1);
        setenv("CLD3D_LOG_FILE", log_path, 1);
        setenv("CLD3D_TRANSPORT", setting, 1);
        remove(log_path);
        check();
        fflush(NULL);
        end_process(atomic_load(&tap_case.checks) && !atomic_load(&tap_case.failures) ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    remove(log_path);
}

static const struct transfer_request request = {.call = "clCreateFromSomething"};

/* ---- cases ---- */

static void order(void)
{
    struct transfer *made = NULL;
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    first.answer = CL_INVALID_VALUE;
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK(made == &second.made);
    CHECK_INT(first.asked + second.asked + last.asked, 2);
    CHECK_INT(times_said("the second way; not first: reason -30"), 1);
    /* The way is told again when it changes, not for each object. */
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK_INT(times_said("clCreateFromSomething"), 1);
    second.answer = CL_OUT_OF_RESOURCES;
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK(made == &last.made);
    CHECK_INT(times_said("the last way; not first: reason -30; not second: reason -5"), 1);
    /* Nobody can. */
    last.answer = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    CHECK_INT(transports_create(transports, &request, &made), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    CHECK_INT(times_said("reason -39"), 1);
    transports_free(transports);
}

static void all_in_order(void)
{
    in_process("", order);
}

static void context_state(void)
{
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    CHECK_INT(first.opened + second.opened, 2);
    CHECK(!transports_prefer_shared(transports, &d3d11_api));
    second.prefers = true;
    CHECK(transports_prefer_shared(transports, &d3d11_api));
    CHECK(!transports_prefer_shared(transports, &d3d10_api));
    transports_close(transports);
    CHECK_INT(first.closed + second.closed, 2);
    CHECK_INT(first.freed + second.freed, 0);
    transports_free(transports);
    CHECK_INT(first.freed + second.freed, 2);
    transports_free(NULL);
}

static void state_lives(void)
{
    in_process("", context_state);
}

static void no_state(void)
{
    second.short_of_memory = true;
    CHECK(transports_open(NULL) == NULL);
    CHECK_INT(first.opened, 1);
    CHECK_INT(first.freed, 1);
    CHECK_INT(second.freed, 0);
}

static void memory_short(void)
{
    in_process("", no_state);
}

static void named_ones(void)
{
    struct transfer *made = NULL;
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    for (int i = 0; i < 2; i++)
        CHECK_STR(transports_report(), "the first way, the last way");
    first.answer = CL_INVALID_VALUE;
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK(made == &last.made);
    CHECK_INT(second.opened + second.asked, 0);
    CHECK_INT(times_said("there is no transport"), 0);
    transports_free(transports);
}

static void setting_names(void)
{
    in_process("last,first", named_ones);
    in_process(" last, first,", named_ones);
}

static void one_alone(void)
{
    struct transfer *made = NULL;
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    first.answer = CL_INVALID_VALUE;
    CHECK_INT(transports_create(transports, &request, &made), CL_INVALID_VALUE);
    CHECK_INT(last.asked, 0);
    transports_free(transports);
}

static void setting_leaves_out_last(void)
{
    in_process("first", one_alone);
}

static void unknown_ones(void)
{
    for (int i = 0; i < 2; i++)
        transports_free(transports_open(NULL));
    CHECK_STR(transports_report(), "the first way, the second way, the last way");
    CHECK_INT(times_said("CLD3D_TRANSPORT: there is no transport 'firs'"), 1);
    CHECK_INT(times_said("CLD3D_TRANSPORT: there is no transport 'firstly'"), 1);
}

static void setting_names_nothing(void)
{
    in_process("firs,firstly", unknown_ones);
}

/* As much as there can't be is none, and no less than was asked for. */
static void aligned_memory(void)
{
    struct aligned_memory memory = aligned_memory_make(SIZE_MAX - 64, 4096);
    CHECK(memory.bytes == NULL && memory.allocation == NULL);
    memory = aligned_memory_make(100, 4096);
    if (CHECK(memory.bytes != NULL))
        memset(memory.bytes, 1, 100);
    CHECK_INT((uintptr_t)memory.bytes % 4096, 0);
    aligned_memory_free(&memory);
    CHECK(memory.bytes == NULL && memory.allocation == NULL);
}

/* ---- pinned memory ---- */

/* An OpenCL of one device, which hands out memory and counts what is held. */
static struct pinning_driver {
    cl_bool unified;
    cl_ulong memory;
    const char *fails; /* a function, or NULL */
    cl_int ended;      /* the status of the command that maps */
    int queues, buffers, maps, events, asked;
    int short_unmaps; /* unmaps that fail from now on */
} driver;

static char handles[4], mapped[1];

static bool driver_fails(const char *function)
{
    driver.asked++;
    return driver.fails && strcmp(driver.fails, function) == 0;
}

static cl_int CL_API_CALL context_info(cl_context context, cl_context_info name, size_t room, void *to, size_t *size)
{
    cl_device_id device = (cl_device_id)&handles[0];
    (void)context, (void)name, (void)room;
    memcpy(to, &device, sizeof(device));
    *size = sizeof(device);
    return driver_fails("clGetContextInfo") ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size)
{
    (void)device, (void)room, (void)size;
    if (driver_fails("clGetDeviceInfo"))
        return CL_OUT_OF_HOST_MEMORY;
    if (name == CL_DEVICE_GLOBAL_MEM_SIZE)
        memcpy(to, &driver.memory, sizeof(driver.memory));
    else
        memcpy(to, &driver.unified, sizeof(driver.unified));
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *status)
{
    (void)context, (void)properties;
    const bool fails = driver_fails("clCreateCommandQueue");
    CHECK(device == (cl_device_id)&handles[0]);
    driver.queues += !fails;
    *status = fails ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
    return fails ? NULL : (cl_command_queue)&handles[1];
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    const bool fails = driver_fails("clRetainCommandQueue");
    (void)queue;
    driver.queues += !fails;
    return fails ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    CHECK(queue == (cl_command_queue)&handles[1]);
    driver.queues--;
    return CL_SUCCESS;
}

static cl_mem CL_API_CALL create_pinned(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    const bool fails = driver_fails("clCreateBuffer");
    (void)context, (void)size;
    CHECK(flags & CL_MEM_ALLOC_HOST_PTR && host == NULL);
    driver.buffers += !fails;
    *status = fails ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
    return fails ? NULL : (cl_mem)&handles[2];
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
    CHECK(buffer == (cl_mem)&handles[2]);
    driver.buffers--;
    CHECK(driver.maps <= driver.buffers);
    return CL_SUCCESS;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                                    cl_event *event, cl_int *status)
{
    const bool fails = driver_fails("clEnqueueMapBuffer");
    (void)queue, (void)buffer, (void)offset, (void)size, (void)wait_count, (void)wait;
    CHECK(!blocking && flags == (CL_MAP_READ | CL_MAP_WRITE));
    driver.maps += !fails;
    driver.events += !fails;
    *event = fails ? NULL : (cl_event)&handles[3];
    *status = fails ? CL_MAP_FAILURE : CL_SUCCESS;
    return fails ? NULL : mapped;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void *at, cl_uint wait_count,
                                const cl_event *wait, cl_event *event)
{
    (void)queue, (void)memory, (void)wait_count, (void)wait, (void)event;
    CHECK(at == mapped);
    if (driver.short_unmaps > 0) {
        driver.short_unmaps--;
        return CL_OUT_OF_RESOURCES;
    }
    driver.maps--;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for_map(cl_uint count, const cl_event *events)
{
    CHECK(count == 1 && events[0] == (cl_event)&handles[3]);
    return driver_fails("clWaitForEvents") ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

static cl_int CL_API_CALL map_status(cl_event event, cl_event_info name, size_t room, void *to, size_t *size)
{
    (void)event, (void)name, (void)room, (void)size;
    memcpy(to, &driver.ended, sizeof(driver.ended));
    return driver_fails("clGetEventInfo") ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

static cl_int CL_API_CALL release_map_event(cl_event event)
{
    CHECK(event == (cl_event)&handles[3]);
    driver.events--;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

static void driver_open(cl_bool unified, const char *fails, struct pinning *pinning)
{
    driver = (struct pinning_driver){.unified = unified, .memory = (cl_ulong)8 << 30, .fails = fails};
    underlying.clGetContextInfo = context_info;
    underlying.clGetDeviceInfo = device_info;
    underlying.clCreateCommandQueue = create_queue;
    underlying.clRetainCommandQueue = retain_queue;
    underlying.clReleaseCommandQueue = release_queue;
    underlying.clCreateBuffer = create_pinned;
    underlying.clReleaseMemObject = release_buffer;
    underlying.clEnqueueMapBuffer = map_buffer;
    underlying.clEnqueueUnmapMemObject = unmap;
    underlying.clFlush = underlying.clFinish = flush;
    underlying.clWaitForEvents = wait_for_map;
    underlying.clGetEventInfo = map_status;
    underlying.clReleaseEvent = release_map_event;
    pinning_open(pinning, NULL);
}

static void driver_holds(int memories, int queues)
{
    CHECK_INT(driver.buffers, memories);
    CHECK_INT(driver.maps, memories);
    CHECK_INT(driver.events, 0);
    CHECK_INT(driver.queues, queues);
}

/* It outlives the end of its context, which ends the queue with the last memory. */
static void pinned_lives(void)
{
    struct pinning pinning;
    driver_open(CL_FALSE, NULL, &pinning);
    struct aligned_memory one = pinned_memory_make(&pinning, 100), two = pinned_memory_make(&pinning, 200);
    CHECK(one.bytes == mapped && two.bytes == mapped);
    driver_holds(2, 3);
    driver.short_unmaps = 2;
    aligned_memory_free(&one);
    CHECK(one.bytes == NULL && one.allocation == NULL);
    driver_holds(1, 2);
    pinning_close(&pinning);
    driver_holds(1, 1);
    CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
    aligned_memory_free(&two);
    driver_holds(0, 0);
    pinning_close(&pinning);
    driver_holds(0, 0);
}

static void pinned_not(void)
{
    static const char *const questions[] = {"clGetContextInfo", "clGetDeviceInfo"};
    struct pinning pinning;
    driver_open(CL_TRUE, NULL, &pinning);
    CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
    driver_holds(0, 0);
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        driver_open(CL_FALSE, questions[i], &pinning);
        CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
        driver_holds(0, 0);
    }
}

static void pinned_limit(void)
{
    struct pinning pinning;
    driver_open(CL_FALSE, NULL, &pinning);
    struct aligned_memory most = pinned_memory_make(&pinning, PINNED_MOST - 1);
    CHECK(most.bytes != NULL);
    CHECK(pinned_memory_make(&pinning, 2).bytes == NULL);
    CHECK(pinned_memory_make(&pinning, SIZE_MAX).bytes == NULL);
    struct aligned_memory last = pinned_memory_make(&pinning, 1);
    CHECK(last.bytes != NULL);
    aligned_memory_free(&last);
    aligned_memory_free(&most);
    most = pinned_memory_make(&pinning, PINNED_MOST);
    CHECK(most.bytes != NULL);
    aligned_memory_free(&most);
    pinning_close(&pinning);
    driver_holds(0, 0);
    driver.memory = 1000 * PINNED_SHARE;
    pinning_open(&pinning, NULL);
    CHECK(pinned_memory_make(&pinning, 1001).bytes == NULL);
    most = pinned_memory_make(&pinning, 1000);
    CHECK(most.bytes != NULL);
    aligned_memory_free(&most);
    pinning_close(&pinning);
    driver_holds(0, 0);
}

/* Nothing is left, and the driver is not asked again. What it gave before remains. */
static void pinned_refused(void)
{
    static const char *const functions[] = {"clCreateCommandQueue", "clCreateBuffer", "clEnqueueMapBuffer",
                                            "clWaitForEvents",      "clGetEventInfo", "a failed command",
                                            "clRetainCommandQueue"};
    enum { FAILED = 5, AGAIN = 6 };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        struct pinning pinning;
        const bool again = i == AGAIN; /* of the queue that the first memory brought */
        driver_open(CL_FALSE, again ? NULL : functions[i], &pinning);
        struct aligned_memory first =
            again ? pinned_memory_make(&pinning, 100) : (struct aligned_memory){NULL, NULL, NULL};
        driver.fails = functions[i];
        driver.ended = i == FAILED ? CL_OUT_OF_RESOURCES : CL_COMPLETE;
        CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
        driver_holds(again, again);
        driver.fails = NULL;
        driver.asked = 0;
        CHECK(pinned_memory_make(&pinning, 100).bytes == NULL);
        CHECK_INT(driver.asked, 0);
        aligned_memory_free(&first);
        driver_holds(0, 0);
    }
}

/* ---- parts of a job ---- */

enum { PARTS = 70 };

struct counted_job {
    atomic_uint calls[PARTS], all;
    atomic_uint elsewhere; /* on other threads */
    uintptr_t thread;
};

static void count_part(void *data, unsigned index)
{
    struct counted_job *counted = data;
    atomic_fetch_add(&counted->calls[index], 1);
    atomic_fetch_add(&counted->all, 1);
    if (os_thread() != counted->thread)
        atomic_fetch_add(&counted->elsewhere, 1);
}

/* Slower on helpers, so that this thread is the first to have nothing left to do. */
static void slow_part(void *data, unsigned index)
{
    const struct counted_job *counted = data;
    for (int i = os_thread() == counted->thread ? 1 : 3; i > 0; i--)
        os_sleep_shortly();
    count_part(data, index);
}

/* Returns how many parts other threads have run. */
static unsigned run_parts(unsigned parts, void (*part)(void *data, unsigned index))
{
    struct counted_job counted = {.thread = os_thread()};
    parallel_run(parts, part, &counted);
    CHECK_INT(counted.all, parts);
    for (unsigned i = 0; i < parts; i++)
        CHECK_INT(counted.calls[i], 1);
    return counted.elsewhere;
}

static void parts_each_once(void)
{
    for (unsigned processors = 1; processors <= 16; processors++) {
        parallel_processors = processors;
        for (unsigned parts = 0; parts <= PARTS; parts++)
            run_parts(parts, count_part);
    }
}

static void parts_on_helpers(void)
{
    parallel_processors = 3;
    CHECK_INT(run_parts(PARTS, slow_part), 0);
    parallel_processors = 16;
    CHECK_INT(run_parts(1, slow_part), 0);
    const unsigned elsewhere = run_parts(PARTS, slow_part);
    CHECK(elsewhere > 0 && elsewhere < PARTS);
}

static void *run_many(void *unused)
{
    for (int i = 0; i < 200; i++)
        run_parts(1 + (unsigned)i % PARTS, count_part);
    return unused;
}

static void parts_of_threads(void)
{
    pthread_t threads[3];
    parallel_processors = 16;
    for (int i = 0; i < 3; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    run_many(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static const struct tap_test tests[] = {
    {"the first that can share a surface is taken, and the log says why", all_in_order},
    {"what a context keeps is opened, closed and freed", state_lives},
    {"a transport without memory for its state: the context fails", memory_short},
    {"the setting names the transports that may be used", setting_names},
    {"what the setting leaves out is not asked, the last one neither", setting_leaves_out_last},
    {"names of no transport are reported once, and all are used", setting_names_nothing},
    {"memory that begins where it has to", aligned_memory},
    {"each part of a job runs once", parts_each_once},
    {"helpers run parts where there are processors for them", parts_on_helpers},
    {"jobs of several threads at the same time", parts_of_threads},
    {"pinned memory: it is mapped until it is freed, also after its context", pinned_lives},
    {"pinned memory: none for devices in the host's memory, or of which nothing is known", pinned_not},
    {"pinned memory: not more than the limit", pinned_limit},
    {"pinned memory: a driver that refuses is not asked again", pinned_refused},
};

struct tap_case tap_case;

int main(int argc, char **argv)
{
    snprintf(log_path, sizeof(log_path), "/tmp/cld3d-transports-%ld", (long)getpid());
    return tap_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
