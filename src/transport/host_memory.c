#include "transport/host_memory.h"

#include "log.h"
#include "next/next.h"
#include "next/query.h"
#include "os/os.h"
#include "handles/handles.h"
#include "transport/aligned.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the trial ---- */

/* Sizes that no driver treats specially. As with Direct3D, rows have gaps and arbitrary addresses. */
enum {
    WIDTH = 52,
    HEIGHT = 17,
    TEXEL = 4,
    PITCH = 272,
    IMAGE_BYTES = PITCH * HEIGHT,
    BUFFER_BYTES = 1020,
    IMAGE_SHIFT = 16
};

/* The kernel adds 1 to each byte of the texels, and to each word. */
static const char source[] =
    "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "__kernel void add_one(read_only image2d_t from, write_only image2d_t to, __global const uint *in,\n"
    "                      __global uint *out, uint words)\n"
    "{\n"
    "    const int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));\n"
    "    const uint i = (uint)(at.y * (int)get_global_size(0) + at.x);\n"
    "    write_imageui(to, at, read_imageui(from, s, at) + (uint4)(1));\n"
    "    if (i < words)\n"
    "        out[i] = in[i] + 1;\n"
    "}\n";

enum { FROM, TO, SIDES };

struct trial {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem images[SIDES], buffers[SIDES];
    struct aligned_memory rows[SIDES], words[SIDES];
    size_t alignment;
    cl_int status; /* of the first call that failed */
    const char *why;
};

static unsigned char *image_bytes(const struct trial *t, int side)
{
    return (unsigned char *)t->rows[side].bytes + IMAGE_SHIFT;
}

/* The first failure counts. */
static bool passed(struct trial *t, cl_int status)
{
    if (t->status == CL_SUCCESS && status != CL_SUCCESS) {
        t->status = status;
        t->why = "a command of the probe failed";
    }
    return t->status == CL_SUCCESS;
}

static bool refuse(struct trial *t, const char *why)
{
    t->why = why;
    return false;
}

static bool ask_device(struct trial *t)
{
    cl_bool available = CL_FALSE, images = CL_FALSE, shares_memory = CL_FALSE;
    cl_uint bits = 0;
    passed(t, next.clGetDeviceInfo(t->device, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL));
    passed(t, next.clGetDeviceInfo(t->device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL));
    passed(t,
           next.clGetDeviceInfo(t->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(shares_memory), &shares_memory, NULL));
    passed(t, next.clGetDeviceInfo(t->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
    if (t->status != CL_SUCCESS)
        return false;
    t->alignment = bits / 8;
    if (!shares_memory)
        return refuse(t, "the device has memory of its own");
    if (!available || !images)
        return refuse(t, "the device has no images");
    if (t->alignment == 0 || (t->alignment & (t->alignment - 1)) || t->alignment > 4096)
        return refuse(t, "the device reports no usable memory alignment");
    return true;
}

static bool make_memory(struct trial *t)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT, .image_row_pitch = PITCH};
    cl_int status;
    for (int side = FROM; side < SIDES; side++) {
        t->rows[side] = aligned_memory_make(IMAGE_SHIFT + IMAGE_BYTES, 4096);
        t->words[side] = aligned_memory_make(2 * t->alignment + BUFFER_BYTES, 2 * t->alignment);
        if (!t->rows[side].bytes || !t->words[side].bytes)
            return passed(t, CL_OUT_OF_HOST_MEMORY);
        /* Aligned to exactly what the device requires. */
        t->words[side].bytes = (char *)t->words[side].bytes + t->alignment;
        memset(image_bytes(t, side), 0, IMAGE_BYTES);
        memset(t->words[side].bytes, 0, BUFFER_BYTES);
        t->images[side] = next.clCreateImage(t->context, flags, &format, &desc, image_bytes(t, side), &status);
        if (!passed(t, status))
            return false;
        t->buffers[side] = next.clCreateBuffer(t->context, flags, BUFFER_BYTES, t->words[side].bytes, &status);
        if (!passed(t, status))
            return false;
    }
    return true;
}

static bool open_trial(struct trial *t)
{
    cl_int status;
    t->context = next.clCreateContext(NULL, 1, &t->device, NULL, NULL, &status);
    if (passed(t, status))
        t->queue = next.clCreateCommandQueue(t->context, t->device, 0, &status);
    return passed(t, status) && make_memory(t);
}

static bool build(struct trial *t)
{
    const char *text = source;
    cl_int status;
    t->program = next.clCreateProgramWithSource(t->context, 1, &text, NULL, &status);
    if (!passed(t, status) || !passed(t, next.clBuildProgram(t->program, 1, &t->device, "", NULL, NULL)))
        return false;
    t->kernel = next.clCreateKernel(t->program, "add_one", &status);
    return passed(t, status);
}

/* Whether all enqueued commands have ended. If the driver fails once, it is asked in another way. */
static bool is_over(const struct trial *t)
{
    cl_event marker = NULL;
    if (!t->queue || next.clFinish(t->queue) == CL_SUCCESS)
        return true;
    const bool over = next.clEnqueueMarkerWithWaitList(t->queue, 0, NULL, &marker) == CL_SUCCESS &&
                      next.clWaitForEvents(1, &marker) == CL_SUCCESS;
    if (marker)
        next.clReleaseEvent(marker);
    return over;
}

/* Enqueued commands may still use the memory, especially after a later command has failed. If their end cannot be
 * awaited, the memory is never freed. */
static void close_trial(struct trial *t)
{
    const bool over = is_over(t);
    if (t->kernel)
        next.clReleaseKernel(t->kernel);
    if (t->program)
        next.clReleaseProgram(t->program);
    for (int side = FROM; side < SIDES; side++) {
        if (t->images[side])
            next.clReleaseMemObject(t->images[side]);
        if (t->buffers[side])
            next.clReleaseMemObject(t->buffers[side]);
    }
    if (t->queue)
        next.clReleaseCommandQueue(t->queue);
    if (t->context)
        next.clReleaseContext(t->context);
    for (int side = FROM; side < SIDES && over; side++) {
        aligned_memory_free(&t->rows[side]);
        aligned_memory_free(&t->words[side]);
    }
}

/* Gives the objects to the device as an acquire of the transport does that enqueues a command. When a marker behind the
 * device's commands is complete, the host has them again. (CL_MIGRATE_MEM_OBJECT_HOST is not used: with it PoCL 3.1
 * closes the gaps between rows.) */
static void give_all(struct trial *t)
{
    const cl_mem all[] = {t->images[FROM], t->images[TO], t->buffers[FROM], t->buffers[TO]};
    passed(t, next.clEnqueueMigrateMemObjects(t->queue, 4, all, 0, 0, NULL, NULL));
}

static bool take_all(struct trial *t)
{
    cl_event marker = NULL;
    if (t->status != CL_SUCCESS || !passed(t, next.clEnqueueMarkerWithWaitList(t->queue, 0, NULL, &marker)))
        return false;
    passed(t, next.clFlush(t->queue));
    passed(t, next.clWaitForEvents(1, &marker));
    next.clReleaseEvent(marker);
    return t->status == CL_SUCCESS;
}

static void fill(const struct trial *t, int side, unsigned value)
{
    memset(image_bytes(t, side), (int)value, IMAGE_BYTES);
    memset(t->words[side].bytes, (int)value, BUFFER_BYTES);
}

/* Whether the texels are `texel`, the gaps between the rows `gap`, and the words of the buffer `word`. */
static bool found(const struct trial *t, int side, unsigned texel, unsigned gap, uint32_t word)
{
    const unsigned char *row = image_bytes(t, side);
    bool same = true;
    for (int y = 0; y < HEIGHT; y++, row += PITCH)
        for (int x = 0; x < PITCH && (x < WIDTH * TEXEL || y < HEIGHT - 1); x++)
            same = same && row[x] == (x < WIDTH * TEXEL ? texel : gap);
    for (int i = 0; i < BUFFER_BYTES; i += (int)sizeof(word))
        same = same && memcmp((const char *)t->words[side].bytes + i, &word, sizeof(word)) == 0;
    return same;
}

static uint32_t word_of(unsigned byte)
{
    return byte * 0x01010101u;
}

/* Whether the device's fills appear in host memory. Rules out most devices before a program is built for them. */
static bool fills_in_place(struct trial *t)
{
    static const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
    const cl_uint color[4] = {0x33, 0x33, 0x33, 0x33}, word = word_of(0x33);
    fill(t, TO, 0x11);
    give_all(t);
    passed(t, next.clEnqueueFillImage(t->queue, t->images[TO], color, origin, region, 0, NULL, NULL));
    passed(t, next.clEnqueueFillBuffer(t->queue, t->buffers[TO], &word, sizeof(word), 0, BUFFER_BYTES, 0, NULL, NULL));
    if (!take_all(t))
        return false;
    return found(t, TO, 0x33, 0x11, word_of(0x33)) ||
           refuse(t, "the device's writes to host memory are not visible when its command has ended");
}

static void set_arguments(struct trial *t)
{
    const cl_uint words = BUFFER_BYTES / sizeof(cl_uint);
    for (cl_uint side = FROM; side < SIDES; side++) {
        passed(t, next.clSetKernelArg(t->kernel, side, sizeof(cl_mem), &t->images[side]));
        passed(t, next.clSetKernelArg(t->kernel, SIDES + side, sizeof(cl_mem), &t->buffers[side]));
    }
    passed(t, next.clSetKernelArg(t->kernel, 2 * SIDES, sizeof(words), &words));
}

/* Whether kernels see what the host has stored since the previous kernels, and the host sees what they have written.
 * `given`: with a command of the transport before them; most acquires enqueue none. */
static bool computes_in_place(struct trial *t, unsigned value, bool given)
{
    static const size_t texels[2] = {WIDTH, HEIGHT}; /* more than there are words */
    fill(t, FROM, value);
    fill(t, TO, 0x44);
    if (given)
        give_all(t);
    passed(t, next.clEnqueueNDRangeKernel(t->queue, t->kernel, 2, NULL, texels, NULL, 0, NULL, NULL));
    if (!take_all(t))
        return false;
    return (found(t, FROM, value, value, word_of(value)) && found(t, TO, value + 1, 0x44, word_of(value) + 1)) ||
           refuse(t, "kernels do not work in host memory");
}

static cl_uint references(cl_mem memory)
{
    cl_uint count = 0;
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    return count;
}

enum verdict { COUNTED, NOT_COUNTED, TOO_FAST };

static bool alone(const struct trial *t)
{
    return references(t->images[TO]) == 1 && references(t->buffers[TO]) == 1;
}

/* The queue is finished. A driver may need a moment longer until it no longer counts the last command. */
static bool comes_to_rest(const struct trial *t)
{
    enum { MOMENTS = 1000 };
    for (int i = 0; i < MOMENTS && !alone(t); i++)
        os_sleep_shortly();
    return alone(t);
}

/* Checks the reference counts while kernels use the objects. */
static enum verdict watch_kernels(struct trial *t, int kernels)
{
    static const size_t texels[2] = {WIDTH, HEIGHT};
    cl_event last = NULL;
    cl_int left = CL_COMPLETE;
    for (int i = 0; i < kernels; i++)
        passed(t, next.clEnqueueNDRangeKernel(t->queue, t->kernel, 2, NULL, texels, NULL, 0, NULL,
                                              i == kernels - 1 ? &last : NULL));
    const bool counted = references(t->images[TO]) > 1 && references(t->buffers[TO]) > 1;
    if (last) {
        passed(t, next.clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(left), &left, NULL));
        next.clReleaseEvent(last);
    }
    passed(t, next.clFinish(t->queue));
    return counted ? COUNTED : left > CL_COMPLETE ? NOT_COUNTED : TOO_FAST;
}

/* Whether the driver counts commands. The memory of an object can be freed when no command uses it any longer, and the
 * reference count must show when: commands must count, and nothing that lives longer. The thread may lose the processor
 * before it checks, so it checks often. (No user event blocks the commands: PoCL's device without threads runs an
 * unblocked command with the command locked, and hangs.) */
static bool counts_commands(struct trial *t)
{
    enum { TURNS = 16, FEWEST = 8, MOST = 512 };
    enum verdict verdict = TOO_FAST;
    int kernels = FEWEST;
    if (!comes_to_rest(t))
        return refuse(t, "the driver does not report when the last command that used an object has ended");
    for (int turn = 0; turn < TURNS && verdict == TOO_FAST && t->status == CL_SUCCESS; turn++) {
        verdict = watch_kernels(t, kernels);
        kernels = kernels < MOST ? 2 * kernels : MOST;
    }
    if (t->status != CL_SUCCESS)
        return false;
    if (verdict != COUNTED)
        return refuse(t, verdict == NOT_COUNTED
                             ? "the driver does not count commands in the reference count of an object"
                             : "commands end too fast to test whether the driver counts them");
    return comes_to_rest(t) ||
           refuse(t, "the driver does not report when the last command that used an object has ended");
}

static struct host_memory try_device(cl_device_id device)
{
    struct trial t = {.device = device};
    bool in_place = ask_device(&t) && open_trial(&t) && fills_in_place(&t) && build(&t);
    if (in_place)
        set_arguments(&t);
    in_place =
        in_place && computes_in_place(&t, 0x55, true) && computes_in_place(&t, 0x66, false) && counts_commands(&t);
    close_trial(&t);
    return (struct host_memory){
        .in_place = in_place,
        .known = !driver_short(t.status) && t.status != CL_MEM_OBJECT_ALLOCATION_FAILURE,
        .alignment = t.alignment,
        .why = in_place ? "the device computes in host memory" : t.why,
    };
}

/* ---- what is known ---- */

enum { KNOWN_DEVICES = 64 };

static struct {
    cl_device_id device;
    struct host_memory memory;
} known[KNOWN_DEVICES]; /* guarded by `lock`, which is not held while a device is tried */
static unsigned known_count;
static os_mutex lock = OS_MUTEX_INIT;

static bool look_up_locked(cl_device_id device, struct host_memory *memory)
{
    for (unsigned i = 0; i < known_count; i++) {
        if (known[i].device != device)
            continue;
        *memory = known[i].memory;
        return true;
    }
    return false;
}

/* Stores the result for a device. False: another thread was faster. Devices for which there is no room are probed each
 * time. */
static bool remember(cl_device_id device, const struct host_memory *memory)
{
    struct host_memory before;
    os_lock(&lock);
    const bool fresh = !look_up_locked(device, &before);
    if (fresh && known_count < KNOWN_DEVICES) {
        known[known_count].device = device;
        known[known_count++].memory = *memory;
    }
    os_unlock(&lock);
    return fresh;
}

static void tell(cl_device_id device, const struct host_memory *memory)
{
    char name[128] = "";
    next.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    log_write(LOG_INFO, "device '%s': objects in host memory %s: %s", name,
              memory->in_place ? "work in place" : "do not work in place", memory->why);
}

/* A sub-device behaves like its parent, and its handle may be reused. */
static cl_device_id whole_device(cl_device_id device)
{
    cl_device_id parent = NULL;
    while (next.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL) == CL_SUCCESS && parent)
        device = parent;
    return device;
}

static struct host_memory of_device(cl_device_id device)
{
    struct host_memory memory;
    device = whole_device(device);
    os_lock(&lock);
    const bool is_known = look_up_locked(device, &memory);
    os_unlock(&lock);
    if (is_known)
        return memory;
    memory = try_device(device);
    if (memory.known && remember(device, &memory))
        tell(device, &memory);
    return memory;
}

struct host_memory host_memory_of_context(cl_context context)
{
    struct device_list devices;
    struct host_memory all = {
        .in_place = true, .known = true, .alignment = 1, .why = "all devices compute in host memory"};
    if (devices_of_context(&next, context, &devices) != CL_SUCCESS || !devices.count)
        return (struct host_memory){.why = "the devices of the context are unknown"};
    for (cl_uint i = 0; i < devices.count && all.in_place; i++) {
        const struct host_memory one = of_device(devices.at[i]);
        const size_t alignment = one.alignment > all.alignment ? one.alignment : all.alignment;
        if (!one.in_place)
            all = one;
        all.alignment = alignment;
    }
    return all;
}
