#include "formats/storage.h"

#include "convert.cl.h"
#include "d3d/formats.h"
#include "formats/common_formats.h"
#include "log.h"
#include "next/query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the device's formats ---- */

/* Formats that a driver lists, but whose kernels read and write wrong values. PoCL 3.1 reads the half floats of images
 * with one channel as integers. */
static bool broken(const struct context_record *context, cl_image_format format)
{
    return context_has(context, QUIRK_POCL_HALF_FLOATS) && format.image_channel_data_type == CL_HALF_FLOAT &&
           cl_order_channels(format.image_channel_order) == 1;
}

/* ---- the choice ---- */

/* The i-th format that can be shared: those of DXGI come first, then those of Direct3D 9. */
static cl_image_format shared_format(unsigned i)
{
    return i < dxgi_format_count ? dxgi_formats[i].cl : d3d9_formats[i - dxgi_format_count].cl;
}

static bool sharable(const struct context_record *context, cl_image_format format, cl_mem_object_type type)
{
    if (cl_order_packed_yuv(format.image_channel_order) && (type != CL_MEM_OBJECT_IMAGE2D || !context->video))
        return false;
    for (unsigned i = 0; i < dxgi_format_count + d3d9_format_count; i++)
        if (cl_format_equal(shared_format(i), format))
            return true;
    return false;
}

static bool can_be_float(cl_channel_type type)
{
    return type == CL_SNORM_INT8 || type == CL_SNORM_INT16 || type == CL_UNORM_INT8 || type == CL_UNORM_INT16 ||
           type == CL_HALF_FLOAT;
}

static bool choose(const struct context_record *context, const struct format_list *native, cl_image_format declared,
                   cl_mem_object_type type, cl_image_format *stored)
{
    if ((format_list_has(native, declared) && !broken(context, declared)) || !sharable(context, declared, type))
        return false;
    /* The same channel type keeps every bit; a float holds every value of the types that kernels read as floats. */
    const cl_image_format same = {CL_RGBA, declared.image_channel_data_type}, floats = {CL_RGBA, CL_FLOAT};
    if (format_list_has(native, same))
        *stored = same;
    else if (format_list_has(native, floats) && can_be_float(declared.image_channel_data_type))
        *stored = floats;
    else
        return false;
    return true;
}

static bool may_emulate(const struct context_record *context, cl_mem_object_type type)
{
    return context->interop && type != CL_MEM_OBJECT_IMAGE1D_BUFFER && type != CL_MEM_OBJECT_BUFFER &&
           !(type == CL_MEM_OBJECT_IMAGE1D_ARRAY && context_has(context, QUIRK_NVIDIA_1D_ARRAYS));
}

bool storage_choose(const struct context_record *context, cl_image_format declared, cl_mem_object_type type,
                    cl_image_format *stored, cl_int *status)
{
    struct format_list native;
    *status = CL_SUCCESS;
    if (!may_emulate(context, type))
        return false;
    *status = common_formats_ask(context, type, &native);
    return *status == CL_SUCCESS && choose(context, &native, declared, type, stored);
}

cl_int storage_list(const struct context_record *context, cl_mem_flags flags, cl_mem_object_type type, cl_uint capacity,
                    cl_image_format *formats, cl_uint *count)
{
    struct format_list native, listed, found = {.count = 0};
    cl_image_format stored;
    *count = 0;
    if (!may_emulate(context, type))
        return CL_SUCCESS;
    cl_int status = common_formats_ask(context, type, &native);
    if (status == CL_SUCCESS)
        status = format_list_ask(context->head.handle, flags, type, &listed);
    if (status != CL_SUCCESS)
        return status;
    for (unsigned i = 0; i < dxgi_format_count + d3d9_format_count; i++) {
        const cl_image_format format = shared_format(i);
        if (format_list_has(&listed, format) || format_list_has(&found, format) ||
            !choose(context, &native, format, type, &stored))
            continue;
        if (found.count < capacity)
            formats[found.count] = format;
        found.formats[found.count++] = format;
    }
    *count = found.count;
    return CL_SUCCESS;
}

/* ---- the conversion ---- */

static const char *storage(cl_channel_type type)
{
    static const char *const names[] = {"", "uchar", "ushort", "", "uint"};
    return names[cl_type_bytes(type)];
}

/* The names in convert.cl for a channel type that is emulated in floats. */
static const char *conversion(cl_channel_type type)
{
    switch (type) {
    case CL_SNORM_INT8: return "snorm8";
    case CL_SNORM_INT16: return "snorm16";
    case CL_UNORM_INT8: return "unorm8";
    case CL_UNORM_INT16: return "unorm16";
    default: return "half";
    }
}

/* The alpha value that kernels read from a format without alpha, in the storage format. */
uint64_t storage_alpha(cl_channel_type type)
{
    switch (type) {
    case CL_SNORM_INT8: return 127;
    case CL_UNORM_INT8: return 255;
    case CL_SNORM_INT16: return 32767;
    case CL_UNORM_INT16: return 65535;
    case CL_HALF_FLOAT: return 0x3C00;
    case CL_FLOAT: return 0x3F800000;
    default: return 1;
    }
}

static unsigned order_code(cl_channel_order order)
{
    return order == CL_A ? 1 : order == CL_BGRA ? 2 : cl_order_packed_yuv(order) ? 3 : 0;
}

/* The places of Y, U and V in a pair of texels. */
static const char *yuv_places(cl_channel_order order)
{
    switch (order) {
    case CL_YUYV_INTEL: return "(int3)(0,1,3)";
    case CL_UYVY_INTEL: return "(int3)(1,0,2)";
    case CL_YVYU_INTEL: return "(int3)(0,3,1)";
    case CL_VYUY_INTEL: return "(int3)(1,2,0)";
    default: return "0";
    }
}

static void build_options(const struct converter *c, char *options, size_t size)
{
    const cl_channel_type from = c->declared.image_channel_data_type, to = c->stored.image_channel_data_type;
    char functions[96], alpha[32];
    if (from == to) {
        snprintf(functions, sizeof(functions), "-DENCODE=keep_%s -DDECODE=keep_%s -DWIDE=%s", storage(from),
                 storage(from), storage(to));
        snprintf(alpha, sizeof(alpha), "%u", (unsigned)storage_alpha(to));
    } else {
        snprintf(functions, sizeof(functions), "-DENCODE=%s_to_float -DDECODE=float_to_%s -DWIDE=float",
                 conversion(from), conversion(from));
        snprintf(alpha, sizeof(alpha), "1.0f");
    }
    if (c->declared.image_channel_order == CL_A)
        snprintf(alpha, sizeof(alpha), "0"); /* the format has its own alpha */
    const cl_channel_order order = c->declared.image_channel_order;
    snprintf(options, size, "%s -DNARROW=%s -DCHANNELS=%u -DALPHA=%s -DORDER=%u -DYUV=%s", functions, storage(from),
             cl_order_channels(order), alpha, order_code(order), yuv_places(order));
}

static void release_kernels(struct idle_kernels *idle)
{
    while (idle->count > 0)
        next.clReleaseKernel(idle->kernels[--idle->count]);
}

static void free_converter(struct converter *c)
{
    release_kernels(&c->widen);
    release_kernels(&c->narrow);
    if (c->program)
        next.clReleaseProgram(c->program);
    free(c);
}

void converters_destroy(struct converter *first)
{
    while (first) {
        struct converter *after = first->after;
        free_converter(first);
        first = after;
    }
}

static void log_build(const struct context_record *context, cl_program program)
{
    struct device_list devices;
    enum { ROOM = 64 * 1024 };
    char *text = calloc(1, ROOM);
    if (text && devices_of_context(&next, context->head.handle, &devices) == CL_SUCCESS)
        next.clGetProgramBuildInfo(program, devices.at[0], CL_PROGRAM_BUILD_LOG, ROOM - 1, text, NULL);
    log_write(LOG_ERROR, "the conversion program does not build: %s", text ? text : "");
    free(text);
}

/* Whether all devices of a context work in the host's memory, as CPUs do. */
static bool in_host_memory(const struct context_record *context)
{
    struct device_list devices;
    cl_bool unified = devices_of_context(&next, context->head.handle, &devices) == CL_SUCCESS;
    for (cl_uint i = 0; i < devices.count && unified; i++)
        if (next.clGetDeviceInfo(devices.at[i], CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL) !=
            CL_SUCCESS)
            unified = CL_FALSE;
    return unified;
}

/* A kernel for the caller alone. Arguments belong to the kernel object, not to the launch, so a shared kernel would
 * need a lock from the first argument to the launch, held during the driver's enqueue. NULL with *status set on
 * failure. */
static cl_kernel take_kernel(struct converter *c, struct idle_kernels *idle, cl_int *status)
{
    *status = CL_SUCCESS;
    os_lock(&c->lock);
    cl_kernel kernel = idle->count > 0 ? idle->kernels[--idle->count] : NULL;
    os_unlock(&c->lock);
    if (!kernel)
        kernel = next.clCreateKernel(c->program, idle == &c->widen ? "widen" : "narrow", status);
    /* If a driver crashes below Wine, the call returns nothing, not even an error. */
    if (!kernel && *status == CL_SUCCESS)
        *status = CL_OUT_OF_RESOURCES;
    return kernel;
}

static void give_kernel(struct converter *c, struct idle_kernels *idle, cl_kernel kernel)
{
    os_lock(&c->lock);
    const bool capacity = idle->count < IDLE_KERNELS;
    if (capacity)
        idle->kernels[idle->count++] = kernel;
    os_unlock(&c->lock);
    if (!capacity)
        next.clReleaseKernel(kernel);
}

/* Creates the first kernel of a kind, to check that it can be created. */
static cl_int try_kernel(struct converter *c, struct idle_kernels *idle)
{
    cl_int status;
    cl_kernel kernel = take_kernel(c, idle, &status);
    if (kernel)
        give_kernel(c, idle, kernel);
    return status;
}

/* The program and the first kernel of each kind. `*call` is the one that failed. */
static cl_int prepare(struct converter *c, const struct context_record *context, const char **call)
{
    char options[512];
    const char *source = convert_cl;
    cl_int status;
    build_options(c, options, sizeof(options));
    *call = "clCreateProgramWithSource";
    c->program = next.clCreateProgramWithSource(context->head.handle, 1, &source, NULL, &status);
    if (status != CL_SUCCESS)
        return status;
    *call = "clBuildProgram";
    status = next.clBuildProgram(c->program, 0, NULL, options, NULL, NULL);
    if (status != CL_SUCCESS) {
        log_build(context, c->program);
        /* Functions that create images do not return build errors. */
        return status == CL_OUT_OF_HOST_MEMORY ? status : CL_OUT_OF_RESOURCES;
    }
    *call = "clCreateKernel";
    status = try_kernel(c, &c->widen);
    return status == CL_SUCCESS ? try_kernel(c, &c->narrow) : status;
}

static struct converter *make(const struct context_record *context, cl_image_format declared, cl_image_format stored,
                              cl_int *status)
{
    const char *call;
    struct converter *c = calloc(1, sizeof(*c));
    if (!c) {
        *status = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    c->declared = declared;
    c->stored = stored;
    c->narrow_texel = cl_format_texel_bytes(declared);
    c->wide_texel = cl_format_texel_bytes(stored);
    c->on_host = texels_convertible(c) && in_host_memory(context);
    c->lock = (os_mutex)OS_MUTEX_INIT;
    *status = prepare(c, context, &call);
    if (*status == CL_SUCCESS)
        return c;
    log_next("the conversion of an image's format", call, *status);
    free_converter(c);
    return NULL;
}

static struct converter *find_locked(struct context_record *context, cl_image_format declared, cl_image_format stored)
{
    struct converter *c = context->converters;
    while (c && !(cl_format_equal(c->declared, declared) && cl_format_equal(c->stored, stored)))
        c = c->after;
    return c;
}

struct converter *converter_get(struct context_record *context, cl_image_format declared, cl_image_format stored,
                                cl_int *status)
{
    os_lock(&registry_lock);
    struct converter *found = find_locked(context, declared, stored);
    os_unlock(&registry_lock);
    *status = CL_SUCCESS;
    struct converter *made = found ? NULL : make(context, declared, stored, status);
    if (!made)
        return found;
    os_lock(&registry_lock);
    found = find_locked(context, declared, stored); /* another thread may have been faster */
    if (!found) {
        made->after = context->converters;
        context->converters = made;
    }
    os_unlock(&registry_lock);
    if (!found)
        return made;
    free_converter(made);
    return found;
}

cl_int converter_enqueue(struct converter *c, bool widen, cl_command_queue queue, cl_mem from, cl_mem to, size_t texels,
                         cl_uint wait_count, const cl_event *wait, cl_event *done)
{
    struct idle_kernels *idle = widen ? &c->widen : &c->narrow;
    cl_int status;
    const char *call = "clCreateKernel";
    cl_kernel kernel = take_kernel(c, idle, &status);
    if (kernel) {
        call = "clSetKernelArg";
        status = next.clSetKernelArg(kernel, 0, sizeof(from), &from);
        if (status == CL_SUCCESS)
            status = next.clSetKernelArg(kernel, 1, sizeof(to), &to);
        if (status == CL_SUCCESS) {
            call = "clEnqueueNDRangeKernel";
            status = next.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &texels, NULL, wait_count, wait, done);
        }
        give_kernel(c, idle, kernel);
    }
    return log_next("the conversion of an image's format", call, status);
}

/* ---- fill colours ---- */

/* The value rounded to a half float. */
static float halved(float x)
{
    if (!isfinite(x) || x == 0)
        return x;
    const int exponent = ilogbf(x), step = (exponent < -14 ? -14 : exponent) - 10; /* of its last bit */
    const float held = ldexpf(rintf(ldexpf(x, -step)), step);
    return fabsf(held) > 65504 ? copysignf(INFINITY, x) : held;
}

/* The value rounded to a normalized type. NaN becomes 0, as when kernels write it. */
static float quantized(cl_channel_type type, float x)
{
    const float scale = type == CL_SNORM_INT8    ? 127.0f
                        : type == CL_SNORM_INT16 ? 32767.0f
                        : type == CL_UNORM_INT8  ? 255.0f
                                                 : 65535.0f;
    const float low = type == CL_SNORM_INT8 || type == CL_SNORM_INT16 ? -1.0f : 0.0f;
    return isnan(x) ? 0 : rintf(fminf(fmaxf(x, low), 1.0f) * scale) / scale;
}

void storage_fill_color(cl_image_format declared, const void *color, void *changed)
{
    const cl_channel_type type = declared.image_channel_data_type;
    const bool whole = type == CL_SIGNED_INT8 || type == CL_SIGNED_INT16 || type == CL_SIGNED_INT32 ||
                       type == CL_UNSIGNED_INT8 || type == CL_UNSIGNED_INT16 || type == CL_UNSIGNED_INT32;
    const bool alpha_only = declared.image_channel_order == CL_A;
    const unsigned channels =
        cl_order_packed_yuv(declared.image_channel_order) ? 3 : cl_order_channels(declared.image_channel_order);
    cl_uint bits[4];
    const cl_float one_float = 1.0f;
    memcpy(bits, color, sizeof(bits));
    for (unsigned i = 0; i < 4; i++) {
        const bool kept = alpha_only ? i == 3 : i < channels;
        if (!kept && i == 3 && whole)
            bits[i] = 1;
        else if (!kept && i == 3)
            memcpy(&bits[i], &one_float, sizeof(one_float));
        else if (!kept)
            bits[i] = 0;
        if (whole || type == CL_FLOAT)
            continue;
        cl_float value;
        memcpy(&value, &bits[i], sizeof(value));
        value = type == CL_HALF_FLOAT ? halved(value) : quantized(type, value);
        memcpy(&bits[i], &value, sizeof(value));
    }
    memcpy(changed, bits, sizeof(bits));
}
