#include "formats/storage.h"

#include "convert.cl.h"
#include "d3d/formats.h"
#include "drivers/drivers.h"
#include "log.h"
#include "next/query.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the choice ---- */

enum { FORMATS_MOST = 256 }; /* more are not seen */
struct format_list {
    cl_image_format formats[FORMATS_MOST];
    cl_uint count;
};

static bool has(const struct format_list *list, cl_image_format format)
{
    for (cl_uint i = 0; i < list->count; i++)
        if (cl_format_equal(list->formats[i], format))
            return true;
    return false;
}

/* The driver's own formats. An image type that it does not know has none; if it runs out of resources, they are unknown:
 * its error code. */
static cl_int ask_driver(const struct context_record *context, cl_mem_flags flags, cl_mem_object_type type,
                         struct format_list *list)
{
    list->count = 0;
    const cl_int status =
        next.clGetSupportedImageFormats(context->head.handle, flags, type, FORMATS_MOST, list->formats, &list->count);
    if (status != CL_SUCCESS)
        list->count = 0;
    if (list->count > FORMATS_MOST)
        list->count = FORMATS_MOST;
    return driver_short(status) ? status : CL_SUCCESS;
}

/* Formats that a driver lists, but whose kernels read and write wrong values. */
static bool broken(const struct context_record *context, cl_image_format format)
{
    return context_has(context, QUIRK_HALF_FLOATS) && format.image_channel_data_type == CL_HALF_FLOAT &&
           cl_order_channels(format.image_channel_order) == 1;
}

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

/* What convert.cl needs to know of a channel type. */
static const struct channel {
    cl_channel_type type;
    uint32_t alpha; /* what kernels read from a format without alpha, in the storage format */
    const char *storage;
    const char *conversion; /* from and to float; NULL: a float does not hold every value, or kernels read no floats */
} channels[] = {
    {CL_SNORM_INT8, 127, "uchar", "snorm8"},   {CL_SNORM_INT16, 32767, "ushort", "snorm16"},
    {CL_UNORM_INT8, 255, "uchar", "unorm8"},   {CL_UNORM_INT16, 65535, "ushort", "unorm16"},
    {CL_HALF_FLOAT, 0x3C00, "ushort", "half"}, {CL_FLOAT, 0x3F800000, "uint", NULL},
    {CL_SIGNED_INT8, 1, "uchar", NULL},        {CL_SIGNED_INT16, 1, "ushort", NULL},
    {CL_SIGNED_INT32, 1, "uint", NULL},        {CL_UNSIGNED_INT8, 1, "uchar", NULL},
    {CL_UNSIGNED_INT16, 1, "ushort", NULL},    {CL_UNSIGNED_INT32, 1, "uint", NULL},
};

static const struct channel *channel_of(cl_channel_type type)
{
    const struct channel *channel = channels, *last = channel + sizeof(channels) / sizeof(channels[0]) - 1;
    while (channel < last && channel->type != type)
        channel++;
    return channel;
}

uint64_t storage_alpha(cl_channel_type type)
{
    return channel_of(type)->alpha;
}

static bool choose(const struct context_record *context, const struct format_list *native, cl_image_format declared,
                   cl_mem_object_type type, cl_image_format *stored)
{
    if ((has(native, declared) && !broken(context, declared)) || !sharable(context, declared, type))
        return false;
    /* The same channel type keeps every bit. */
    const cl_image_format same = {CL_RGBA, declared.image_channel_data_type}, floats = {CL_RGBA, CL_FLOAT};
    const bool as_floats = channel_of(declared.image_channel_data_type)->conversion && has(native, floats);
    *stored = has(native, same) ? same : floats;
    return has(native, same) || as_floats;
}

/* The types of Direct3D's textures. */
static bool may_emulate(const struct context_record *context, cl_mem_object_type type)
{
    return context->interop && (type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE3D);
}

bool storage_choose(const struct context_record *context, cl_image_format declared, cl_mem_object_type type,
                    cl_image_format *stored, cl_int *status)
{
    struct format_list native;
    *status = CL_SUCCESS;
    if (!may_emulate(context, type))
        return false;
    *status = ask_driver(context, CL_MEM_READ_WRITE, type, &native);
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
    cl_int status = ask_driver(context, CL_MEM_READ_WRITE, type, &native);
    if (status == CL_SUCCESS)
        status = ask_driver(context, flags, type, &listed);
    if (status != CL_SUCCESS)
        return status;
    for (unsigned i = 0; i < dxgi_format_count + d3d9_format_count; i++) {
        const cl_image_format format = shared_format(i);
        if (has(&listed, format) || has(&found, format) || !choose(context, &native, format, type, &stored))
            continue;
        if (found.count < capacity)
            formats[found.count] = format;
        found.formats[found.count++] = format;
    }
    *count = found.count;
    return CL_SUCCESS;
}

/* ---- the conversion ---- */

static void build_options(const struct converter *c, char *options, size_t size)
{
    const struct channel *from = channel_of(c->declared.image_channel_data_type);
    const cl_channel_order order = c->declared.image_channel_order;
    const unsigned code = order == CL_A ? 1 : order == CL_BGRA ? 2 : cl_order_packed_yuv(order) ? 3 : 0;
    const char *places = order == CL_YUYV_INTEL   ? "(int3)(0,1,3)"
                         : order == CL_UYVY_INTEL ? "(int3)(1,0,2)"
                         : order == CL_YVYU_INTEL ? "(int3)(0,3,1)"
                         : order == CL_VYUY_INTEL ? "(int3)(1,2,0)"
                                                  : "0";
    char functions[96], alpha[32];
    if (c->declared.image_channel_data_type == c->stored.image_channel_data_type) {
        snprintf(functions, sizeof(functions), "-DENCODE=keep_%s -DDECODE=keep_%s -DWIDE=%s", from->storage,
                 from->storage, from->storage);
        snprintf(alpha, sizeof(alpha), "%u", (unsigned)from->alpha);
    } else {
        snprintf(functions, sizeof(functions), "-DENCODE=%s_to_float -DDECODE=float_to_%s -DWIDE=float",
                 from->conversion, from->conversion);
        snprintf(alpha, sizeof(alpha), "1.0f");
    }
    snprintf(options, size, "%s -DNARROW=%s -DCHANNELS=%u -DALPHA=%s -DORDER=%u -DYUV=%s", functions, from->storage,
             cl_order_channels(order), order == CL_A ? "0" : alpha /* the format has its own */, code, places);
}

static void free_converter(struct converter *c)
{
    cl_kernel kernels[] = {atomic_load(&c->widen), atomic_load(&c->narrow)};
    for (int i = 0; i < 2; i++)
        if (kernels[i])
            next.clReleaseKernel(kernels[i]);
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

/* A kernel for the caller alone, because arguments belong to the kernel object and not to the launch. NULL with *status
 * set on failure. */
static cl_kernel take_kernel(struct converter *c, bool widen, cl_int *status)
{
    cl_kernel kernel = atomic_exchange(widen ? &c->widen : &c->narrow, NULL);
    *status = CL_SUCCESS;
    if (!kernel)
        kernel = next.clCreateKernel(c->program, widen ? "widen" : "narrow", status);
    /* If a driver crashes below Wine, the call returns nothing, not even an error. */
    if (!kernel && *status == CL_SUCCESS)
        *status = CL_OUT_OF_RESOURCES;
    return kernel;
}

static void give_kernel(struct converter *c, bool widen, cl_kernel kernel)
{
    cl_kernel other = atomic_exchange(widen ? &c->widen : &c->narrow, kernel);
    if (other)
        next.clReleaseKernel(other);
}

/* The program and the first kernel of each kind. */
static cl_int prepare(struct converter *c, const struct context_record *context)
{
    static const char call[] = "the conversion of an image's format";
    char options[512];
    const char *source = convert_cl;
    cl_int status;
    build_options(c, options, sizeof(options));
    c->program = next.clCreateProgramWithSource(context->head.handle, 1, &source, NULL, &status);
    if (status != CL_SUCCESS)
        return log_next(call, "clCreateProgramWithSource", status);
    status = next.clBuildProgram(c->program, 0, NULL, options, NULL, NULL);
    if (status != CL_SUCCESS) {
        log_next(call, "clBuildProgram", status);
        /* Functions that create images do not return build errors. */
        return status == CL_OUT_OF_HOST_MEMORY ? status : CL_OUT_OF_RESOURCES;
    }
    for (int widen = 0; widen < 2 && status == CL_SUCCESS; widen++) {
        cl_kernel kernel = take_kernel(c, widen, &status);
        if (kernel)
            give_kernel(c, widen, kernel);
    }
    return log_next(call, "clCreateKernel", status);
}

static struct converter *find_locked(const struct context_record *context, cl_image_format declared,
                                     cl_image_format stored)
{
    struct converter *c = context->converters;
    while (c && !(cl_format_equal(c->declared, declared) && cl_format_equal(c->stored, stored)))
        c = c->after;
    return c;
}

struct converter *converter_get(struct context_record *context, cl_image_format declared, cl_image_format stored,
                                cl_int *status)
{
    *status = CL_SUCCESS;
    os_lock(&registry_lock);
    struct converter *found = find_locked(context, declared, stored);
    os_unlock(&registry_lock);
    if (found)
        return found;
    struct converter *made = calloc(1, sizeof(*made));
    *status = CL_OUT_OF_HOST_MEMORY;
    if (!made)
        return NULL;
    made->declared = declared;
    made->stored = stored;
    made->narrow_texel = cl_format_texel_bytes(declared);
    made->wide_texel = cl_format_texel_bytes(stored);
    made->on_host = texels_convertible(made) && in_host_memory(context);
    *status = prepare(made, context);
    os_lock(&registry_lock);
    found = find_locked(context, declared, stored); /* another thread may have been faster */
    if (!found && *status == CL_SUCCESS) {
        made->after = context->converters;
        context->converters = made;
    }
    os_unlock(&registry_lock);
    if (!found && *status == CL_SUCCESS)
        return made;
    free_converter(made);
    if (found)
        *status = CL_SUCCESS;
    return found;
}

cl_int converter_enqueue(struct converter *c, bool widen, cl_command_queue queue, cl_mem from, cl_mem to, size_t texels,
                         cl_uint wait_count, const cl_event *wait, cl_event *done)
{
    cl_int status;
    const char *call = "clCreateKernel";
    cl_kernel kernel = take_kernel(c, widen, &status);
    if (kernel) {
        call = "clSetKernelArg";
        status = next.clSetKernelArg(kernel, 0, sizeof(from), &from);
        if (status == CL_SUCCESS)
            status = next.clSetKernelArg(kernel, 1, sizeof(to), &to);
        if (status == CL_SUCCESS) {
            call = "clEnqueueNDRangeKernel";
            status = next.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &texels, NULL, wait_count, wait, done);
        }
        give_kernel(c, widen, kernel);
    }
    return log_next("the conversion of an image's format", call, status);
}
