#include "transport/host_memory.h"

#include "handles/handles.h"
#include "log.h"
#include "transport/pinned.h"

#include <stdint.h>
#include <string.h>

/* ---- the trial ---- */

/* Sizes that no driver treats specially. As with Direct3D, rows have gaps and arbitrary addresses. */
enum { WIDTH = 52, HEIGHT = 17, TEXEL = 4, PITCH = 272, IMAGE_BYTES = PITCH * HEIGHT, IMAGE_SHIFT = 16, WORDS = 255 };

/* The kernel adds 1 to each byte of the texels, and to each word. */
static const char *const source =
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
static const size_t extent[3] = {WIDTH, HEIGHT, 1}; /* more texels than words */

struct trial {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem images[SIDES], buffers[SIDES];
    struct aligned_memory rows[SIDES], words[SIDES];
    cl_int status; /* of the first call that failed */
};

static unsigned char *image_bytes(const struct trial *t, int side)
{
    return (unsigned char *)t->rows[side].bytes + IMAGE_SHIFT;
}

/* Whether no call has failed yet. */
static bool passed(struct trial *t, cl_int status)
{
    if (t->status == CL_SUCCESS)
        t->status = status;
    return t->status == CL_SUCCESS;
}

static bool open_trial(struct trial *t, cl_device_id device, size_t alignment)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT, .image_row_pitch = PITCH};
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    t->context = next.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (passed(t, status))
        t->queue = next.clCreateCommandQueue(t->context, device, 0, &status);
    for (int side = FROM; side < SIDES && passed(t, status); side++) {
        t->rows[side] = aligned_memory_make(IMAGE_SHIFT + IMAGE_BYTES, 4096);
        t->words[side] = aligned_memory_make(2 * alignment + WORDS * sizeof(cl_uint), 2 * alignment);
        if (!passed(t, t->rows[side].bytes && t->words[side].bytes ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY))
            return false;
        t->words[side].bytes = (char *)t->words[side].bytes + alignment; /* to exactly what the device requires */
        t->images[side] = next.clCreateImage(t->context, flags, &format, &desc, image_bytes(t, side), &status);
        if (passed(t, status))
            t->buffers[side] =
                next.clCreateBuffer(t->context, flags, WORDS * sizeof(cl_uint), t->words[side].bytes, &status);
    }
    return passed(t, status);
}

static bool build(struct trial *t, cl_device_id device)
{
    const char *text = source;
    const cl_uint words = WORDS;
    cl_int status;
    t->program = next.clCreateProgramWithSource(t->context, 1, &text, NULL, &status);
    if (!passed(t, status) || !passed(t, next.clBuildProgram(t->program, 1, &device, "", NULL, NULL)))
        return false;
    t->kernel = next.clCreateKernel(t->program, "add_one", &status);
    for (cl_uint side = FROM; side < SIDES && passed(t, status); side++) {
        passed(t, next.clSetKernelArg(t->kernel, side, sizeof(cl_mem), &t->images[side]));
        passed(t, next.clSetKernelArg(t->kernel, SIDES + side, sizeof(cl_mem), &t->buffers[side]));
        passed(t, next.clSetKernelArg(t->kernel, 2 * SIDES, sizeof(words), &words));
    }
    return passed(t, status);
}

/* Enqueued commands may still use the memory, especially after a later command has failed. If their end cannot be
 * awaited, the memory is never freed. */
static void close_trial(struct trial *t)
{
    const bool over = !t->queue || next.clFinish(t->queue) == CL_SUCCESS || next.clFinish(t->queue) == CL_SUCCESS;
    if (t->kernel)
        next.clReleaseKernel(t->kernel);
    if (t->program)
        next.clReleaseProgram(t->program);
    for (int side = FROM; side < SIDES; side++) {
        if (t->images[side])
            next.clReleaseMemObject(t->images[side]);
        if (t->buffers[side])
            next.clReleaseMemObject(t->buffers[side]);
        if (over) {
            aligned_memory_free(&t->rows[side]);
            aligned_memory_free(&t->words[side]);
        }
    }
    if (t->queue)
        next.clReleaseCommandQueue(t->queue);
    if (t->context)
        next.clReleaseContext(t->context);
}

static void fill(const struct trial *t, int side, int value)
{
    memset(image_bytes(t, side), value, IMAGE_BYTES);
    memset(t->words[side].bytes, value, WORDS * sizeof(cl_uint));
}

/* Whether the texels are `texel`, the gaps between the rows `gap`, and the words of the buffer `word`. */
static bool found(const struct trial *t, int side, unsigned texel, unsigned gap, uint32_t word)
{
    const unsigned char *row = image_bytes(t, side);
    bool same = true;
    for (int y = 0; y < HEIGHT; y++, row += PITCH)
        for (int x = 0; x < PITCH && (x < WIDTH * TEXEL || y < HEIGHT - 1); x++)
            same = same && row[x] == (x < WIDTH * TEXEL ? texel : gap);
    for (int i = 0; i < WORDS; i++)
        same = same && memcmp((const uint32_t *)t->words[side].bytes + i, &word, sizeof(word)) == 0;
    return same;
}

/* The host has the objects when a marker behind the device's commands is complete; an acquire of the transport gives them
 * to the device without a command. (None migrates them to the host: PoCL 3.1 then closes the gaps between rows.) */
static bool take_all(struct trial *t)
{
    cl_event marker = NULL;
    if (!passed(t, t->status) || !passed(t, next.clEnqueueMarkerWithWaitList(t->queue, 0, NULL, &marker)))
        return false;
    passed(t, next.clFlush(t->queue));
    passed(t, next.clWaitForEvents(1, &marker));
    next.clReleaseEvent(marker);
    return passed(t, t->status);
}

/* Whether the device's fills appear in host memory. Rules out most devices before a program is built for them. */
static bool fills_in_place(struct trial *t)
{
    static const size_t origin[3] = {0, 0, 0};
    const cl_uint color[4] = {0x33, 0x33, 0x33, 0x33}, word = 0x33333333;
    fill(t, FROM, 0);
    fill(t, TO, 0x11);
    passed(t, next.clEnqueueFillImage(t->queue, t->images[TO], color, origin, extent, 0, NULL, NULL));
    passed(t, next.clEnqueueFillBuffer(t->queue, t->buffers[TO], &word, sizeof(word), 0, WORDS * sizeof(word), 0, NULL,
                                       NULL));
    return take_all(t) && found(t, TO, 0x33, 0x11, word);
}

/* Whether kernels see what the host has stored since the previous kernels, and the host sees what they have written. */
static bool computes_in_place(struct trial *t, unsigned value)
{
    const uint32_t word = value * 0x01010101u;
    fill(t, FROM, (int)value);
    fill(t, TO, 0x44);
    passed(t, next.clEnqueueNDRangeKernel(t->queue, t->kernel, 2, NULL, extent, NULL, 0, NULL, NULL));
    return take_all(t) && found(t, FROM, value, value, word) && found(t, TO, value + 1, 0x44, word + 1);
}

static cl_uint references(cl_mem memory)
{
    cl_uint count = 0;
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
    return count;
}

/* Whether the driver counts commands, and nothing that lives longer: the memory of an object is freed when its reference
 * count shows that no command uses it. The thread may lose the processor before it looks, so there are more kernels
 * each time. (No user event blocks them: PoCL's device without threads runs an unblocked command with the command
 * locked, and hangs.) */
static bool counts_commands(struct trial *t)
{
    enum { FEWEST = 8, MOST = 512, MOMENT_NANOSECONDS = 100000000 };
    bool counted = false, alone = false;
    for (int kernels = FEWEST; kernels <= MOST && !counted && passed(t, t->status); kernels *= 2) {
        for (int i = 0; i < kernels; i++)
            passed(t, next.clEnqueueNDRangeKernel(t->queue, t->kernel, 2, NULL, extent, NULL, 0, NULL, NULL));
        counted = references(t->images[TO]) > 1 && references(t->buffers[TO]) > 1;
        passed(t, next.clFinish(t->queue));
    }
    /* The last kernel may count for a moment after its end. */
    const unsigned long long ended = os_nanoseconds();
    while (counted && !alone && os_nanoseconds() - ended < MOMENT_NANOSECONDS && passed(t, t->status)) {
        alone = references(t->images[TO]) == 1 && references(t->buffers[TO]) == 1;
        passed(t, next.clEnqueueMarkerWithWaitList(t->queue, 0, NULL, NULL));
        passed(t, next.clFinish(t->queue));
    }
    return alone;
}

/* ---- the devices ---- */

static struct host_memory try_device(cl_device_id device)
{
    struct trial t = {.status = CL_SUCCESS};
    cl_bool images = CL_FALSE, shares_memory = CL_FALSE;
    cl_uint bits = 0;
    const char *why = NULL;
    passed(&t, next.clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL));
    passed(&t,
           next.clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(shares_memory), &shares_memory, NULL));
    passed(&t, next.clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
    const size_t alignment = bits / 8;
    if (!shares_memory || !images)
        why = shares_memory ? "the device has no images" : "the device has memory of its own";
    else if (alignment == 0 || (alignment & (alignment - 1)) || alignment > 4096)
        why = "the device reports no usable memory alignment";
    else if (passed(&t, t.status) && open_trial(&t, device, alignment) && !fills_in_place(&t))
        why = "the device's writes to host memory are not visible when its command has ended";
    else if (passed(&t, t.status) && build(&t, device) &&
             (!computes_in_place(&t, 0x55) || !computes_in_place(&t, 0x66)))
        why = "kernels do not work in host memory";
    else if (passed(&t, t.status) && !counts_commands(&t))
        why = "the driver does not report when the last command that used an object has ended";
    close_trial(&t);
    if (t.status != CL_SUCCESS)
        why = "a command of the probe failed";
    return (struct host_memory){
        .in_place = !why,
        .known = !memory_short(t.status),
        .alignment = alignment,
        .why = why ? why : "the device computes in host memory",
    };
}

enum { KNOWN_DEVICES = 64 };

static struct known {
    cl_device_id device;
    struct host_memory memory;
} known[KNOWN_DEVICES]; /* guarded by `lock`, which is not held while a device is tried */
static unsigned known_count;
static os_mutex lock = OS_MUTEX_INIT;

/* Looks the device up; or, with `add`, stores what is not known yet. True: it was known. */
static bool is_known(struct known *one, bool add)
{
    unsigned i = 0;
    os_lock(&lock);
    while (i < known_count && known[i].device != one->device)
        i++;
    const bool found = i < known_count;
    if (found)
        *one = known[i];
    else if (add && known_count < KNOWN_DEVICES)
        known[known_count++] = *one;
    os_unlock(&lock);
    return found;
}

static struct host_memory of_device(cl_device_id device)
{
    cl_device_id parent = NULL;
    char name[128] = "";
    /* A sub-device behaves like its parent, and its handle may be reused. */
    while (next.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL) == CL_SUCCESS && parent)
        device = parent;
    struct known one = {.device = device};
    if (is_known(&one, false))
        return one.memory;
    if (callback_runs_here())
        return (struct host_memory){.why = "the object is created in a callback, where a probe may not wait"};
    one.memory = try_device(device);
    next.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    if (one.memory.known && !is_known(&one, true))
        log_write(LOG_INFO, "device '%s': objects in host memory %s: %s", name,
                  one.memory.in_place ? "work in place" : "do not work in place", one.memory.why);
    return one.memory;
}

struct host_memory host_memory_of_context(cl_context context)
{
    struct device_list devices;
    struct host_memory all = {.why = "the devices of the context are unknown"};
    devices_of_context(&next, context, &devices);
    for (cl_uint i = 0; i < devices.count && (i == 0 || all.in_place); i++) {
        const size_t alignment = all.alignment;
        all = of_device(devices.at[i]);
        all.alignment = alignment > all.alignment ? alignment : all.alignment;
    }
    return all;
}
