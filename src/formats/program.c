#include "formats/program.h"

#include "convert.cl.h"
#include "d3d/formats.h"
#include "formats/storage.h"
#include "log.h"
#include "next/query.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- binaries ---- */

/* A program that was built. */
struct known_program {
    cl_device_id device; /* NULL: this is none */
    cl_image_format declared, stored;
    unsigned char *binary; /* NULL: built once so far */
    size_t size;
    bool refused; /* the driver has refused the binary, or gives none */
};

/* More than there are formats to convert on one device. */
enum { KNOWN_PROGRAMS = 64 };

static os_mutex lock = OS_MUTEX_INIT;              /* guards what follows; not held in a driver call */
static struct known_program known[KNOWN_PROGRAMS]; /* entries and their binaries stay */
static unsigned known_count;

/* The device of a context that has one. NULL: there are several, it is a sub-device, whose handle may be used again for another
 * one, or the driver builds from the source as fast. */
static cl_device_id only_device(const struct context_record *context)
{
    cl_device_id devices[2], parent = NULL;
    size_t size = 0;
    if (!context_has(context, QUIRK_POCL_BUILDS) ||
        next.clGetContextInfo(context->head.handle, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size) !=
            CL_SUCCESS ||
        size != sizeof(devices[0]))
        return NULL;
    const cl_int status = next.clGetDeviceInfo(devices[0], CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL);
    return status == CL_SUCCESS && !parent ? devices[0] : NULL;
}

static struct known_program *find_locked(const struct known_program *wanted)
{
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].device == wanted->device && cl_format_equal(known[i].declared, wanted->declared) &&
            cl_format_equal(known[i].stored, wanted->stored))
            return &known[i];
    return NULL;
}

/* Fills in what is known of a program and returns its entry. NULL: it was not built before. */
static struct known_program *look_up(struct known_program *wanted)
{
    os_lock(&lock);
    struct known_program *found = find_locked(wanted);
    if (found)
        *wanted = *found;
    os_unlock(&lock);
    return found;
}

static void add(const struct known_program *built)
{
    os_lock(&lock);
    if (known_count < KNOWN_PROGRAMS && !find_locked(built))
        known[known_count++] = *built;
    os_unlock(&lock);
}

static void refuse(struct known_program *entry)
{
    os_lock(&lock);
    entry->refused = true;
    os_unlock(&lock);
}

/* Keeps the binary of a program that was built once more. */
static void keep_binary(struct known_program *entry, cl_program program)
{
    size_t size = 0;
    cl_int status = next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
    unsigned char *binary = status == CL_SUCCESS && size ? malloc(size) : NULL;
    if (binary)
        status = next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
    os_lock(&lock);
    const bool mine = binary && status == CL_SUCCESS && !entry->binary; /* another thread may have been faster */
    if (mine) {
        entry->binary = binary;
        entry->size = size;
    }
    entry->refused = status == CL_SUCCESS ? !size : !driver_short(status);
    os_unlock(&lock);
    if (!mine)
        free(binary);
}

/* Builds from a binary of which drivers have been seen to lose the kernels. */
static cl_int load(cl_program program, cl_device_id device, const char *options)
{
    static const char *const names[] = {"widen", "narrow"};
    cl_int status = next.clBuildProgram(program, 1, &device, options, NULL, NULL);
    for (size_t i = 0; i < 2 && status == CL_SUCCESS; i++) {
        cl_kernel kernel = next.clCreateKernel(program, names[i], &status);
        if (kernel)
            next.clReleaseKernel(kernel);
    }
    return status;
}

/* NULL: it can't be had from the binary. */
static cl_program from_binary(cl_context context, struct known_program *entry, const struct known_program *built,
                              const char *options)
{
    const unsigned char *binary = built->binary;
    cl_int loaded = CL_SUCCESS, status = CL_SUCCESS;
    cl_program program =
        next.clCreateProgramWithBinary(context, 1, &built->device, &built->size, &binary, &loaded, &status);
    if (status == CL_SUCCESS)
        status = loaded;
    if (status == CL_SUCCESS)
        status = program ? load(program, built->device, options) : CL_INVALID_BINARY;
    if (status == CL_SUCCESS)
        return program;
    if (program)
        next.clReleaseProgram(program);
    if (!driver_short(status))
        refuse(entry);
    return NULL;
}

/* ---- the source ---- */

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

static void write_options(cl_image_format declared, cl_image_format stored, char *options, size_t size)
{
    const cl_channel_type from = declared.image_channel_data_type, to = stored.image_channel_data_type;
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
    if (declared.image_channel_order == CL_A)
        snprintf(alpha, sizeof(alpha), "0"); /* the format has its own alpha */
    const cl_channel_order order = declared.image_channel_order;
    snprintf(options, size, "%s -DNARROW=%s -DCHANNELS=%u -DALPHA=%s -DORDER=%u -DYUV=%s", functions, storage(from),
             cl_order_channels(order), alpha, order_code(order), yuv_places(order));
}

static void log_build(cl_context context, cl_program program)
{
    cl_device_id devices[64];
    enum { CAPACITY = 64 * 1024 };
    char *text = calloc(1, CAPACITY);
    if (text && next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL) == CL_SUCCESS)
        next.clGetProgramBuildInfo(program, devices[0], CL_PROGRAM_BUILD_LOG, CAPACITY - 1, text, NULL);
    log_write(LOG_ERROR, "the conversion program does not build: %s", text ? text : "");
    free(text);
}

static cl_int from_source(cl_context context, const char *options, cl_program *program, const char **call)
{
    const char *source = convert_cl;
    cl_int status = CL_SUCCESS;
    *call = "clCreateProgramWithSource";
    *program = next.clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (status != CL_SUCCESS)
        return status;
    *call = "clBuildProgram";
    status = next.clBuildProgram(*program, 0, NULL, options, NULL, NULL);
    if (status == CL_SUCCESS)
        return status;
    log_build(context, *program);
    /* Functions that create images do not return build errors. */
    return status == CL_OUT_OF_HOST_MEMORY ? status : CL_OUT_OF_RESOURCES;
}

cl_int program_build(const struct context_record *context, cl_image_format declared, cl_image_format stored,
                     cl_program *program, const char **call)
{
    struct known_program built = {.device = only_device(context), .declared = declared, .stored = stored};
    struct known_program *entry = look_up(&built);
    char options[512];
    write_options(declared, stored, options, sizeof(options));
    *program =
        entry && built.binary && !built.refused ? from_binary(context->head.handle, entry, &built, options) : NULL;
    if (*program)
        return CL_SUCCESS;
    const cl_int status = from_source(context->head.handle, options, program, call);
    if (status == CL_SUCCESS && built.device && !entry)
        add(&built);
    else if (status == CL_SUCCESS && entry && !built.binary && !built.refused)
        keep_binary(entry, *program);
    return status;
}
