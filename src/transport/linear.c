#include "transport/linear.h"

#include "log.h"
#include "handles/handles.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

const char *const linear_kinds[VULKAN_ROWS_KINDS] = {"host memory", "a dma-buf", "an opaque file descriptor"};

/* ---- creation ---- */

static cl_mem make_buffer(const struct linear *linear, cl_int *status)
{
    const cl_mem_flags both = CL_MEM_READ_WRITE;
    const cl_mem_properties properties[] = {linear->at.kind == VULKAN_ROWS_DMA_BUF
                                                ? CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
                                                : CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                            (cl_mem_properties)linear->at.file, 0};
    return linear->at.kind == VULKAN_ROWS_HOST
               ? next.clCreateBuffer(linear->gpu->context, both | CL_MEM_USE_HOST_PTR, (size_t)linear->at.size,
                                     linear->host.bytes, status)
               : next.clCreateBufferWithProperties(linear->gpu->context, properties, both, (size_t)linear->at.size,
                                                   NULL, status);
}

struct linear *linear_make(const struct vulkan_context *gpu, const struct vulkan_side *side, uint64_t image,
                           enum vulkan_rows_kind kind, bool maps, size_t size, char *why)
{
    struct linear *linear = calloc(1, sizeof(*linear));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!linear || size > SIZE_MAX - VULKAN_ROWS_PAGE) {
        snprintf(why, VULKAN_WHY, "no memory");
        free(linear);
        return NULL;
    }
    linear->gpu = gpu;
    linear->side = side;
    linear->maps = maps && kind == VULKAN_ROWS_HOST;
    linear->at = (struct vulkan_rows){
        .size = (size + VULKAN_ROWS_PAGE - 1) / VULKAN_ROWS_PAGE * VULKAN_ROWS_PAGE, .kind = kind, .file = -1};
    if (kind == VULKAN_ROWS_HOST) {
        linear->host = aligned_memory_make((size_t)linear->at.size, VULKAN_ROWS_PAGE);
        linear->at.address = (uintptr_t)linear->host.bytes;
    }
    if (kind == VULKAN_ROWS_HOST && !linear->host.bytes)
        snprintf(why, VULKAN_WHY, "no memory");
    else if (side->make_rows(image, &linear->at, why))
        linear->buffer = make_buffer(linear, &status);
    if (linear->buffer)
        return linear;
    if (linear->at.rows)
        snprintf(why, VULKAN_WHY, "the OpenCL below does not take %s: error %d", linear_kinds[kind], status);
    if (linear->at.file >= 0) /* no import has taken it */
        side->close((uint64_t)linear->at.file);
    linear_free(linear);
    return NULL;
}

/* The host's memory is freed last. */
void linear_free(struct linear *linear)
{
    if (!linear)
        return;
    if (linear->buffer)
        next.clReleaseMemObject(linear->buffer);
    if (linear->at.rows)
        linear->side->drop_rows(linear->at.rows);
    aligned_memory_free(&linear->host);
    free(linear);
}

/* ---- from one to the other ---- */

static cl_int acquire_or_release(struct linear *linear, bool acquire, const struct enqueueing *to)
{
    const external_function change = acquire ? linear->gpu->acquire : linear->gpu->release;
    cl_event event = NULL;
    const cl_int status = change(to->queue, 1, &linear->buffer, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    linear->acquired = status == CL_SUCCESS ? acquire : linear->acquired;
    return status > 0 ? CL_OUT_OF_RESOURCES : status; /* NVIDIA returns numbers of its own */
}

cl_int linear_take(struct linear *linear, const struct enqueueing *to)
{
    const bool imported = linear->at.kind != VULKAN_ROWS_HOST;
    cl_event event = NULL;
    if (imported ? linear->acquired : !linear->mapped)
        return CL_SUCCESS;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    if (imported)
        return acquire_or_release(linear, true, to);
    const cl_int status =
        next.clEnqueueUnmapMemObject(to->queue, linear->buffer, linear->mapped, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    linear->mapped = status == CL_SUCCESS ? NULL : linear->mapped;
    return status;
}

bool linear_is_taken(const struct linear *linear)
{
    return linear->at.kind != VULKAN_ROWS_HOST ? linear->acquired : linear->maps && !linear->mapped;
}

cl_int linear_give(struct linear *linear, bool anew, const struct enqueueing *to)
{
    cl_int status = CL_OUT_OF_RESOURCES;
    cl_event event = NULL;
    if (!linear_is_taken(linear))
        return CL_SUCCESS;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    if (linear->at.kind != VULKAN_ROWS_HOST)
        return acquire_or_release(linear, false, to);
    linear->mapped = next.clEnqueueMapBuffer(to->queue, linear->buffer, CL_FALSE,
                                             anew ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ | CL_MAP_WRITE, 0,
                                             (size_t)linear->at.size, to->wait_count, to->wait, &event, &status);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* ---- the trial ---- */

enum { TRIAL_BYTES = VULKAN_ROWS_PAGE, TRIAL_WORDS = TRIAL_BYTES / 4, LONGEST_MS = 1000, MAKING_MS = 10000 };

/* Belongs to its thread and to who waits for it; the last frees it. */
struct trial {
    struct vulkan_context gpu; /* in a context of its own */
    const struct vulkan_side *side;
    uint64_t image;
    enum vulkan_rows_kind kind;
    bool maps;
    unsigned users; /* these three are guarded by `lock` */
    bool over, works;
    unsigned long long
        offered; /* when both drivers had taken the memory, after which a failure is a fault; 0: not yet */
    char why[VULKAN_WHY];
};

static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;

static bool all_are(const cl_uint *words, cl_uint word)
{
    bool all = true;
    for (unsigned i = 0; i < TRIAL_WORDS; i++)
        all = all && words[i] == word;
    return all;
}

/* Vulkan writes a word, OpenCL reads it and writes its complement, which Vulkan reads. OpenCL's copies run on the device, as
 * kernels do. */
static bool try_word(struct trial *t, struct linear *linear, const struct enqueueing *to, cl_mem other, cl_uint *words,
                     cl_uint word)
{
    const cl_command_queue queue = to->queue;
    const cl_uint reply = ~word;
    bool good =
        linear_give(linear, true, to) == CL_SUCCESS && next.clFinish(queue) == CL_SUCCESS &&
        t->side->fill_rows(linear->at.rows, word, t->why) && linear_take(linear, to) == CL_SUCCESS &&
        next.clEnqueueCopyBuffer(queue, linear->buffer, other, 0, 0, TRIAL_BYTES, 0, NULL, NULL) == CL_SUCCESS &&
        next.clEnqueueReadBuffer(queue, other, CL_FALSE, 0, TRIAL_BYTES, words, 0, NULL, NULL) == CL_SUCCESS;
    good = next.clFinish(queue) == CL_SUCCESS && good;
    if (good && !all_are(words, word)) {
        snprintf(t->why, VULKAN_WHY, "OpenCL does not find what Vulkan has written");
        return false;
    }
    return good &&
           next.clEnqueueFillBuffer(queue, other, &reply, sizeof(reply), 0, TRIAL_BYTES, 0, NULL, NULL) == CL_SUCCESS &&
           next.clEnqueueCopyBuffer(queue, other, linear->buffer, 0, 0, TRIAL_BYTES, 0, NULL, NULL) == CL_SUCCESS &&
           linear_give(linear, false, to) == CL_SUCCESS && next.clFinish(queue) == CL_SUCCESS &&
           t->side->find_in_rows(linear->at.rows, reply, t->why);
}

static bool try_all(struct trial *t)
{
    static const cl_uint patterns[] = {0x5AA51234, 0xC0FFEE77};
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    bool good = true;
    cl_uint *words = malloc(TRIAL_BYTES);
    cl_context context = words ? next.clCreateContext(NULL, 1, &t->gpu.device, NULL, NULL, &status) : NULL;
    cl_command_queue queue = context ? next.clCreateCommandQueue(context, t->gpu.device, 0, &status) : NULL;
    cl_mem other = queue ? next.clCreateBuffer(context, CL_MEM_READ_WRITE, TRIAL_BYTES, NULL, &status) : NULL;
    t->gpu.context = context;
    snprintf(t->why, VULKAN_WHY, "a command of the self-check failed");
    struct linear *linear =
        other ? linear_make(&t->gpu, t->side, t->image, t->kind, t->maps, TRIAL_BYTES, t->why) : NULL;
    os_lock(&lock);
    t->offered = linear ? os_nanoseconds() : 0;
    os_unlock(&lock);
    struct event_list done;
    event_list_open(&done);
    const struct enqueueing to = {.queue = queue, .done = &done};
    for (unsigned i = 0; i < 2 && linear && good; i++)
        good = try_word(t, linear, &to, other, words, patterns[i]);
    if (linear && !good)
        linear_give(linear, true, &to);
    good = good && linear;
    if (queue)
        next.clFinish(queue);
    event_list_close(&done);
    linear_free(linear);
    if (other)
        next.clReleaseMemObject(other);
    if (queue)
        next.clReleaseCommandQueue(queue);
    if (context)
        next.clReleaseContext(context);
    free(words);
    return good;
}

static void put_locked(struct trial *t)
{
    if (--t->users == 0)
        free(t);
}

static void run(void *data)
{
    struct trial *t = data;
    const bool works = try_all(t);
    os_lock(&lock);
    t->works = works;
    t->over = true;
    os_wake_all(&changed);
    put_locked(t);
    os_unlock(&lock);
}

/* What hangs is left to its thread. */
static bool run_in_time(const struct trial *wanted, bool *fault, char *why)
{
    struct trial *t = malloc(sizeof(*t));
    bool works = false;
    *fault = false;
    snprintf(why, VULKAN_WHY, "no memory for a self-check");
    if (!t)
        return false;
    *t = *wanted;
    t->users = 2;
    os_stay_loaded();
    if (!os_thread_start(run, t)) {
        free(t);
        return false;
    }
    const unsigned long long began = os_nanoseconds(); /* a busy driver may need seconds for a context */
    os_lock(&lock);
    while (!t->over &&
           os_nanoseconds() < (t->offered ? t->offered + LONGEST_MS * 1000000ull : began + MAKING_MS * 1000000ull))
        os_wait(&changed, &lock, LONGEST_MS / 10);
    works = t->over && t->works;
    *fault = !works && t->offered;
    snprintf(why, VULKAN_WHY, "%s",
             t->over      ? t->why
             : t->offered ? "the self-check did not end within a second"
                          : "the drivers do not create contexts and memory in time");
    put_locked(t);
    os_unlock(&lock);
    return works;
}

enum { PAIRS_MOST = 64 };
static struct pair {
    cl_device_id device;
    struct gpu vulkan;
    enum vulkan_rows_kind kind;
    bool works, fault;
    char why[VULKAN_WHY];
} pairs[PAIRS_MOST]; /* guarded by pairs_lock */
static unsigned pair_count;
static os_mutex pairs_lock = OS_MUTEX_INIT;

static struct pair *find_locked(cl_device_id device, const struct gpu *vulkan, enum vulkan_rows_kind kind)
{
    for (unsigned i = 0; i < pair_count; i++)
        if (pairs[i].device == device && pairs[i].kind == kind &&
            memcmp(&pairs[i].vulkan, vulkan, sizeof(*vulkan)) == 0)
            return &pairs[i];
    return NULL;
}

static void note(const struct pair *pair)
{
    char name[128] = "a device";
    os_lock(&pairs_lock);
    const bool is_new = !find_locked(pair->device, &pair->vulkan, pair->kind) && pair_count < PAIRS_MOST;
    if (is_new)
        pairs[pair_count++] = *pair;
    os_unlock(&pairs_lock);
    if (!is_new)
        return;
    next.clGetDeviceInfo(pair->device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    if (pair->works)
        log_write(LOG_INFO, "device '%s': Direct3D's images are copied on the GPU to %s; the self-check has passed",
                  name, linear_kinds[pair->kind]);
    else
        log_write(pair->fault ? LOG_WARN : LOG_INFO,
                  "device '%s': Direct3D's images cannot be copied to %s: %s; they go another way%s", name,
                  linear_kinds[pair->kind], pair->why,
                  pair->fault ? ". Please report this, with the output of 'cld3dinfo'" : "");
}

bool linear_works(const struct vulkan_context *gpu, const struct vulkan_side *side, const struct gpu *vulkan,
                  uint64_t image, enum vulkan_rows_kind kind, bool maps, char *why)
{
    os_lock(&pairs_lock);
    const struct pair *known = find_locked(gpu->device, vulkan, kind);
    const bool works = known && known->works;
    if (known)
        snprintf(why, VULKAN_WHY, "%s", known->why);
    os_unlock(&pairs_lock);
    if (known)
        return works;
    if (callback_runs_here()) {
        snprintf(why, VULKAN_WHY, "the object is created in a callback, where a self-check may not wait");
        return false;
    }
    struct pair pair = {.device = gpu->device, .vulkan = *vulkan, .kind = kind};
    const struct trial wanted = {.gpu = *gpu, .side = side, .image = image, .kind = kind, .maps = maps};
    pair.works = run_in_time(&wanted, &pair.fault, pair.why);
    note(&pair);
    snprintf(why, VULKAN_WHY, "%s", pair.why);
    return pair.works;
}
