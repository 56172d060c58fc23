#include "transport/shared_rows.h"

#include "log.h"
#include "handles/handles.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rows_kinds[VULKAN_ROWS_KINDS] = {"host memory", "a dma-buf", "an image (opaque file descriptor)"};

/* ---- creation ---- */

static cl_mem make_memory(const struct rows_request *request, const struct shared_rows *rows, cl_int *status)
{
    const cl_context context = request->gpu->context;
    const cl_mem_flags both = CL_MEM_READ_WRITE;
    const cl_mem_properties file = (cl_mem_properties)rows->at.file,
                            buffer[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, file, 0},
                            image[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, file, 0};
    const size_t size = (size_t)rows->at.size;
    return request->kind == VULKAN_ROWS_HOST
               ? next.clCreateBuffer(context, both | CL_MEM_USE_HOST_PTR, size, rows->host.bytes, status)
           : request->kind == VULKAN_ROWS_DMA_BUF
               ? next.clCreateBufferWithProperties(context, buffer, both, size, NULL, status)
               : next.clCreateImageWithProperties(context, image, request->flags, request->format, request->desc, NULL,
                                                  status);
}

struct shared_rows *rows_make(const struct rows_request *request, char *why)
{
    struct shared_rows *rows = calloc(1, sizeof(*rows));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!rows || request->size > SIZE_MAX - VULKAN_ROWS_PAGE) {
        snprintf(why, VULKAN_WHY, "no memory");
        free(rows);
        return NULL;
    }
    rows->gpu = request->gpu;
    rows->side = request->side;
    rows->maps = request->maps && request->kind == VULKAN_ROWS_HOST;
    rows->at =
        (struct vulkan_rows){.size = (request->size + VULKAN_ROWS_PAGE - 1) / VULKAN_ROWS_PAGE * VULKAN_ROWS_PAGE,
                             .kind = request->kind,
                             .file = -1,
                             .aspect = request->aspect,
                             .level = request->level,
                             .layer = request->layer};
    if (request->kind == VULKAN_ROWS_HOST) {
        rows->host = aligned_memory_make((size_t)rows->at.size, VULKAN_ROWS_PAGE);
        rows->at.address = (uintptr_t)rows->host.bytes;
    }
    if (request->kind == VULKAN_ROWS_HOST && !rows->host.bytes)
        snprintf(why, VULKAN_WHY, "no memory");
    else if (request->side->make_rows(request->image, &rows->at, why))
        rows->memory = make_memory(request, rows, &status);
    if (rows->memory)
        return rows;
    if (rows->at.rows)
        snprintf(why, VULKAN_WHY, "the OpenCL below does not take %s: error %d", rows_kinds[request->kind], status);
    if (rows->at.file >= 0) /* no import has taken it */
        request->side->close((uint64_t)rows->at.file);
    rows_free(rows);
    return NULL;
}

/* The host's memory is freed last. */
void rows_free(struct shared_rows *rows)
{
    if (!rows)
        return;
    if (rows->memory && rows->at.kind != VULKAN_ROWS_IMAGE)
        next.clReleaseMemObject(rows->memory);
    if (rows->at.rows)
        rows->side->drop_rows(rows->at.rows);
    aligned_memory_free(&rows->host);
    free(rows);
}

/* ---- from one to the other ---- */

static cl_int acquire_or_release(struct shared_rows *rows, bool acquire, const struct enqueueing *to)
{
    const external_function change = acquire ? rows->gpu->acquire : rows->gpu->release;
    cl_event event = NULL;
    const cl_int status = change(to->queue, 1, &rows->memory, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    rows->acquired = status == CL_SUCCESS ? acquire : rows->acquired;
    return status > 0 ? CL_OUT_OF_RESOURCES : status; /* NVIDIA returns numbers of its own */
}

cl_int rows_take(struct shared_rows *rows, const struct enqueueing *to)
{
    const bool imported = rows->at.kind != VULKAN_ROWS_HOST;
    cl_event event = NULL;
    if (imported ? rows->acquired : !rows->mapped)
        return CL_SUCCESS;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    if (imported)
        return acquire_or_release(rows, true, to);
    const cl_int status =
        next.clEnqueueUnmapMemObject(to->queue, rows->memory, rows->mapped, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    rows->mapped = status == CL_SUCCESS ? NULL : rows->mapped;
    return status;
}

bool rows_are_taken(const struct shared_rows *rows)
{
    return rows->at.kind != VULKAN_ROWS_HOST ? rows->acquired : rows->maps && !rows->mapped;
}

cl_int rows_give(struct shared_rows *rows, bool anew, const struct enqueueing *to)
{
    cl_int status = CL_OUT_OF_RESOURCES;
    cl_event event = NULL;
    if (!rows_are_taken(rows))
        return CL_SUCCESS;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    if (rows->at.kind != VULKAN_ROWS_HOST)
        return acquire_or_release(rows, false, to);
    rows->mapped = next.clEnqueueMapBuffer(to->queue, rows->memory, CL_FALSE,
                                           anew ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ | CL_MAP_WRITE, 0,
                                           (size_t)rows->at.size, to->wait_count, to->wait, &event, &status);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* ---- the trial ---- */

enum { LONGEST_MS = 1000, MAKING_MS = 10000 };
static const char no_memory[] = "no memory for a self-check";

/* Belongs to its thread and to who waits for it; the last frees it. */
struct trial {
    struct vulkan_context gpu; /* in a context of its own */
    struct rows_request request;
    cl_image_format format;
    size_t bytes;   /* of the image */
    unsigned users; /* these three are guarded by `lock` */
    bool over, works;
    /* when both drivers had taken the memory, after which a failure is a fault; 0: not yet */
    unsigned long long offered;
    char why[VULKAN_WHY];
};

static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;

/* What OpenCL works with. */
struct bench {
    struct trial *trial;
    struct shared_rows *rows;
    struct enqueueing to;
    cl_mem other; /* a buffer of the device's */
    struct vulkan_move move;
};

/* OpenCL's copies run on the device, as kernels do. */
static bool copy(const struct bench *b, bool to_rows)
{
    static const size_t origin[3], region[3] = {VULKAN_ROWS_TRIAL_SIDE, VULKAN_ROWS_TRIAL_SIDE, 1};
    const cl_mem rows = b->rows->memory;
    const cl_command_queue queue = b->to.queue;
    const cl_int status =
        b->rows->at.kind != VULKAN_ROWS_IMAGE
            ? next.clEnqueueCopyBuffer(queue, to_rows ? b->other : rows, to_rows ? rows : b->other, 0, 0,
                                       b->trial->bytes, 0, NULL, NULL)
        : to_rows ? next.clEnqueueCopyBufferToImage(queue, b->other, rows, 0, origin, region, 0, NULL, NULL)
                  : next.clEnqueueCopyImageToBuffer(queue, rows, b->other, origin, region, 0, 0, NULL, NULL);
    return status == CL_SUCCESS;
}

/* Vulkan copies its image to the rows, or back. */
static bool move(const struct bench *b, bool back)
{
    return rows_give(b->rows, false, &b->to) == CL_SUCCESS && next.clFinish(b->to.queue) == CL_SUCCESS &&
           b->trial->request.side->move_rows(&b->move, 1, back, b->trial->why);
}

static bool write(const struct bench *b, cl_uchar byte)
{
    return rows_take(b->rows, &b->to) == CL_SUCCESS &&
           next.clEnqueueFillBuffer(b->to.queue, b->other, &byte, 1, 0, b->trial->bytes, 0, NULL, NULL) == CL_SUCCESS &&
           copy(b, true);
}

static bool has(const struct bench *b, cl_uchar *bytes, cl_uchar byte)
{
    bool all = rows_take(b->rows, &b->to) == CL_SUCCESS && copy(b, false) &&
               next.clEnqueueReadBuffer(b->to.queue, b->other, CL_FALSE, 0, b->trial->bytes, bytes, 0, NULL, NULL) ==
                   CL_SUCCESS;
    all = next.clFinish(b->to.queue) == CL_SUCCESS && all;
    if (!all)
        return false;
    for (size_t i = 0; i < b->trial->bytes; i++)
        all = all && bytes[i] == byte;
    if (!all)
        snprintf(b->trial->why, VULKAN_WHY, "a device does not see what the other has written");
    return all;
}

/* What OpenCL has written comes back from Vulkan's image, after OpenCL has written something else. */
static bool exchange(const struct bench *b, cl_uchar *bytes)
{
    enum { BYTE = 0x5A, OTHER = 0xA5 };
    return move(b, false) && write(b, BYTE) && move(b, true) && move(b, false) && write(b, OTHER) && move(b, false) &&
           has(b, bytes, BYTE);
}

static bool try_rows(struct trial *t, cl_context context, cl_command_queue queue, cl_mem other, cl_uchar *bytes)
{
    enum { GENERAL = 1, COLOR = 1 }; /* VkImageLayout, VkImageAspectFlagBits */
    const struct vulkan_side *side = t->request.side;
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = VULKAN_ROWS_TRIAL_SIDE,
                                .image_height = VULKAN_ROWS_TRIAL_SIDE};
    struct rows_request request = t->request;
    struct vulkan_rows image = {
        .kind = VULKAN_ROWS_TRIAL, .aspect = request.aspect, .level = request.level, .layer = request.layer};
    struct event_list done;
    t->gpu.context = context;
    if (!side->make_rows(request.image, &image, t->why))
        return false;
    request.gpu = &t->gpu;
    request.image = image.address;
    request.aspect = COLOR;
    request.level = request.layer = 0;
    request.size = t->bytes;
    request.format = &t->format;
    request.flags = CL_MEM_READ_WRITE;
    request.desc = &desc;
    struct shared_rows *rows = rows_make(&request, t->why);
    event_list_open(&done);
    const struct bench b = {.trial = t,
                            .rows = rows,
                            .to = {.queue = queue, .done = &done},
                            .other = other,
                            .move = {.name = rows ? rows->at.rows : 0,
                                     .layout = GENERAL,
                                     .family = VULKAN_ANY_FAMILY,
                                     .image = image.address,
                                     .aspect = COLOR,
                                     .row_texels = VULKAN_ROWS_TRIAL_SIDE}};
    if (rows) { /* a driver may compile for its first command */
        next.clEnqueueFillBuffer(queue, other, "", 1, 0, t->bytes, 0, NULL, NULL);
        next.clFinish(queue);
        snprintf(t->why, VULKAN_WHY, "a command of the self-check failed");
        os_lock(&lock);
        t->offered = os_nanoseconds();
        os_unlock(&lock);
    }
    const bool good = rows && exchange(&b, bytes);
    if (rows)
        rows_give(rows, true, &b.to);
    next.clFinish(queue);
    event_list_close(&done);
    if (rows && request.kind == VULKAN_ROWS_IMAGE)
        next.clReleaseMemObject(rows->memory);
    rows_free(rows);
    side->drop_rows(image.rows);
    return good;
}

static bool try_all(struct trial *t)
{
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    cl_uchar *bytes = malloc(t->bytes);
    cl_context context = bytes ? next.clCreateContext(NULL, 1, &t->gpu.device, NULL, NULL, &status) : NULL;
    cl_command_queue queue = context ? next.clCreateCommandQueue(context, t->gpu.device, 0, &status) : NULL;
    cl_mem other = queue ? next.clCreateBuffer(context, CL_MEM_READ_WRITE, t->bytes, NULL, &status) : NULL;
    snprintf(t->why, VULKAN_WHY, "%s: error %d", no_memory, status);
    const bool good = other && try_rows(t, context, queue, other, bytes);
    if (other)
        next.clReleaseMemObject(other);
    if (queue)
        next.clReleaseCommandQueue(queue);
    if (context)
        next.clReleaseContext(context);
    free(bytes);
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
    snprintf(why, VULKAN_WHY, "%s", no_memory);
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
                  name, rows_kinds[pair->kind]);
    else
        log_write(pair->fault ? LOG_WARN : LOG_INFO,
                  "device '%s': Direct3D's images cannot be copied to %s: %s; they go another way%s", name,
                  rows_kinds[pair->kind], pair->why,
                  pair->fault ? ". Please report this, with the output of 'cld3dinfo'" : "");
}

bool rows_work(const struct rows_request *request, const struct gpu *vulkan, char *why)
{
    os_lock(&pairs_lock);
    const struct pair *known = find_locked(request->gpu->device, vulkan, request->kind);
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
    struct pair pair = {.device = request->gpu->device, .vulkan = *vulkan, .kind = request->kind};
    const struct trial wanted = {.gpu = *request->gpu,
                                 .request = *request,
                                 .format = *request->format,
                                 .bytes = request->texel * VULKAN_ROWS_TRIAL_SIDE * VULKAN_ROWS_TRIAL_SIDE};
    pair.works = run_in_time(&wanted, &pair.fault, pair.why);
    if (strncmp(pair.why, no_memory, strlen(no_memory)) != 0) /* else the next object asks again */
        note(&pair);
    snprintf(why, VULKAN_WHY, "%s", pair.why);
    return pair.works;
}
