/* A layer below cld3d that turns command buffers of version 0.9.0 into those of version 0.9.5, in which each command takes
 * properties behind the queue, that can be remapped, and that read and write host memory. It refuses commands without the properties of newer_buffers.h. */
#include "newer_buffers.h"

#include "layer_entry.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The driver's functions, as of the last program that asked for them. */
static void *copy_buffer, *copy_buffer_rect, *copy_buffer_to_image, *copy_image, *copy_image_to_buffer, *fill_buffer,
    *fill_image, *kernel, *create, *enqueue;

static void (*later)(void);

static bool is_newer(const cl_ulong *properties)
{
    if (!properties || properties[0] != NEWER_PROPERTY || properties[1] != 7)
        return false;
    if (properties[2] == NEWER_INSIDE)
        ((void (*)(void))(uintptr_t)properties[3])();
    if (properties[2] == NEWER_LATER)
        later = (void (*)(void))(uintptr_t)properties[3];
    return true;
}

#define PLACE cl_uint sync_count, const cl_uint *syncs, cl_uint *sync, void **command
#define UNPACK(...) __VA_ARGS__

#define WITHOUT_PROPERTIES(name, parameters, ...)                                                            \
    static cl_int CL_API_CALL newer_##name(void *buffer, cl_command_queue queue, const cl_ulong *properties, \
                                           UNPACK parameters, PLACE)                                         \
    {                                                                                                        \
        cl_int(CL_API_CALL *function)(void *, cl_command_queue, UNPACK parameters, PLACE);                   \
        memcpy(&function, &name, sizeof(function));                                                          \
        return is_newer(properties) ? function(buffer, queue, __VA_ARGS__, sync_count, syncs, sync, command) \
                                    : CL_INVALID_PROPERTY;                                                   \
    }

WITHOUT_PROPERTIES(copy_buffer, (cl_mem a, cl_mem b, size_t c, size_t d, size_t e), a, b, c, d, e)
WITHOUT_PROPERTIES(copy_buffer_rect,
                   (cl_mem a, cl_mem b, const size_t *c, const size_t *d, const size_t *e, size_t f, size_t g, size_t h,
                    size_t i),
                   a, b, c, d, e, f, g, h, i)
WITHOUT_PROPERTIES(copy_buffer_to_image, (cl_mem a, cl_mem b, size_t c, const size_t *d, const size_t *e), a, b, c, d,
                   e)
WITHOUT_PROPERTIES(copy_image, (cl_mem a, cl_mem b, const size_t *c, const size_t *d, const size_t *e), a, b, c, d, e)
WITHOUT_PROPERTIES(copy_image_to_buffer, (cl_mem a, cl_mem b, const size_t *c, const size_t *d, size_t e), a, b, c, d,
                   e)
WITHOUT_PROPERTIES(fill_buffer, (cl_mem a, const void *b, size_t c, size_t d, size_t e), a, b, c, d, e)
WITHOUT_PROPERTIES(fill_image, (cl_mem a, const void *b, const size_t *c, const size_t *d), a, b, c, d)

/* The last fill, which the layer repeats where its command buffer is remapped: it can't read a driver's commands. */
static struct {
    void *buffer;
    cl_mem object;
    cl_uint pattern;
    size_t offset, size;
} last_fill;

static cl_int CL_API_CALL noted_fill_buffer(void *buffer, cl_command_queue queue, const cl_ulong *properties,
                                            cl_mem object, const void *pattern, size_t pattern_size, size_t offset,
                                            size_t size, PLACE)
{
    if (pattern_size == sizeof(last_fill.pattern)) {
        last_fill.buffer = buffer;
        last_fill.object = object;
        memcpy(&last_fill.pattern, pattern, pattern_size);
        last_fill.offset = offset;
        last_fill.size = size;
    }
    return newer_fill_buffer(buffer, queue, properties, object, pattern, pattern_size, offset, size, sync_count, syncs,
                             sync, command);
}

/* ---- commands of cl_pocl_command_buffer_host_buffer ---- */

/* Host memory as a buffer, which the command keeps: the driver must compute in host memory. */
static cl_mem over(cl_mem object, const void *host, size_t size)
{
    cl_context context = NULL;
    cl_int status = CL_SUCCESS;
    below->clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
    return below->clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, (void *)(uintptr_t)host,
                                 &status);
}

static cl_int done(cl_mem buffer, cl_int status)
{
    below->clReleaseMemObject(buffer);
    return status;
}

static cl_int CL_API_CALL read_buffer(void *buffer, cl_command_queue queue, cl_mem object, size_t offset, size_t size,
                                      void *host, PLACE)
{
    const cl_mem to = over(object, host, size);
    return done(to, newer_copy_buffer(buffer, queue, newer_properties(), object, to, offset, 0, size, sync_count, syncs,
                                      sync, command));
}

static cl_int CL_API_CALL write_buffer(void *buffer, cl_command_queue queue, cl_mem object, size_t offset, size_t size,
                                       const void *host, PLACE)
{
    const cl_mem from = over(object, host, size);
    return done(from, newer_copy_buffer(buffer, queue, newer_properties(), from, object, 0, offset, size, sync_count,
                                        syncs, sync, command));
}

/* Of whole rows, with a pitch. */
static cl_int CL_API_CALL read_buffer_rect(void *buffer, cl_command_queue queue, cl_mem object, const size_t *origin,
                                           const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                           size_t host_row, size_t host_slice, void *host, PLACE)
{
    const cl_mem to = over(object, host, host_row * region[1]);
    return done(to, newer_copy_buffer_rect(buffer, queue, newer_properties(), object, to, origin, host_origin, region,
                                           row, slice, host_row, host_slice, sync_count, syncs, sync, command));
}

static cl_int CL_API_CALL write_buffer_rect(void *buffer, cl_command_queue queue, cl_mem object, const size_t *origin,
                                            const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                            size_t host_row, size_t host_slice, const void *host, PLACE)
{
    const cl_mem from = over(object, host, host_row * region[1]);
    return done(from,
                newer_copy_buffer_rect(buffer, queue, newer_properties(), from, object, host_origin, origin, region,
                                       host_row, host_slice, row, slice, sync_count, syncs, sync, command));
}

/* Of rows without gaps, whose pitch is given. */
static cl_int CL_API_CALL read_image(void *buffer, cl_command_queue queue, cl_mem object, const size_t *origin,
                                     const size_t *region, size_t row, size_t slice, void *host, PLACE)
{
    const cl_mem to = over(object, host, (slice ? slice * region[2] : row * region[1]));
    return done(to, newer_copy_image_to_buffer(buffer, queue, newer_properties(), object, to, origin, region, 0,
                                               sync_count, syncs, sync, command));
}

static cl_int CL_API_CALL write_image(void *buffer, cl_command_queue queue, cl_mem object, const size_t *origin,
                                      const size_t *region, size_t row, size_t slice, const void *host, PLACE)
{
    const cl_mem from = over(object, host, (slice ? slice * region[2] : row * region[1]));
    return done(from, newer_copy_buffer_to_image(buffer, queue, newer_properties(), from, object, 0, origin, region,
                                                 sync_count, syncs, sync, command));
}

/* This one has always taken properties, of which the driver knows none of these. */
static cl_int CL_API_CALL newer_kernel(void *buffer, cl_command_queue queue, const cl_ulong *properties, cl_kernel a,
                                       cl_uint b, const size_t *c, const size_t *d, const size_t *e, PLACE)
{
    cl_int(CL_API_CALL * function)(void *, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint, const size_t *,
                                   const size_t *, const size_t *, PLACE);
    memcpy(&function, &kernel, sizeof(function));
    return is_newer(properties) ? function(buffer, queue, NULL, a, b, c, d, e, sync_count, syncs, sync, command)
                                : CL_INVALID_PROPERTY;
}

/* The driver's are not mutable. */
static void *CL_API_CALL newer_create(cl_uint count, const cl_command_queue *queues, const cl_ulong *properties,
                                      cl_int *status)
{
    enum { FLAGS = 0x1293, MUTABLE = 2 };
    cl_ulong changed[3] = {0};
    void *(CL_API_CALL * function)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
    memcpy(&function, &create, sizeof(function));
    if (properties && properties[0] == FLAGS) {
        changed[0] = FLAGS;
        changed[1] = properties[1] & ~(cl_ulong)MUTABLE;
    }
    return function(count, queues, properties ? changed : NULL, status);
}

static cl_int CL_API_CALL newer_enqueue(cl_uint count, cl_command_queue *queues, void *buffer, cl_uint wait_count,
                                        const cl_event *wait, cl_event *event)
{
    cl_int(CL_API_CALL * function)(cl_uint, cl_command_queue *, void *, cl_uint, const cl_event *, cl_event *);
    void (*const before)(void) = later;
    later = NULL;
    memcpy(&function, &enqueue, sizeof(function));
    if (before)
        before();
    return function(count, queues, buffer, wait_count, wait, event);
}

/* The other command buffer has the last fill. */
static void *CL_API_CALL remap(void *buffer, cl_bool automatic, cl_uint queue_count, const cl_command_queue *queues,
                               cl_uint count, void *const *commands, void **commands_ret, cl_int *status)
{
    void *(CL_API_CALL * function)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
    memcpy(&function, &create, sizeof(function));
    *status = buffer && automatic && !count && !commands && !commands_ret ? CL_SUCCESS : CL_INVALID_VALUE;
    void *made = *status == CL_SUCCESS ? function(queue_count, queues, NULL, status) : NULL;
    if (made && last_fill.buffer == buffer)
        *status = newer_fill_buffer(made, NULL, newer_properties(), last_fill.object, &last_fill.pattern,
                                    sizeof(last_fill.pattern), last_fill.offset, last_fill.size, 0, NULL, NULL, NULL);
    return made;
}

typedef void (*next_function)(void);

static const struct {
    const char *name;
    void **drivers;
    next_function ours;
} functions[] = {
    {"clCreateCommandBufferKHR", &create, (next_function)newer_create},
    {"clEnqueueCommandBufferKHR", &enqueue, (next_function)newer_enqueue},
    {"clCommandCopyBufferKHR", &copy_buffer, (next_function)newer_copy_buffer},
    {"clCommandCopyBufferRectKHR", &copy_buffer_rect, (next_function)newer_copy_buffer_rect},
    {"clCommandCopyBufferToImageKHR", &copy_buffer_to_image, (next_function)newer_copy_buffer_to_image},
    {"clCommandCopyImageKHR", &copy_image, (next_function)newer_copy_image},
    {"clCommandCopyImageToBufferKHR", &copy_image_to_buffer, (next_function)newer_copy_image_to_buffer},
    {"clCommandFillBufferKHR", &fill_buffer, (next_function)noted_fill_buffer},
    {"clCommandFillImageKHR", &fill_image, (next_function)newer_fill_image},
    {"clCommandNDRangeKernelKHR", &kernel, (next_function)newer_kernel},
};

static const struct {
    const char *name;
    next_function function;
} with_host[] = {
    {"clCommandReadBufferPOCL", (next_function)read_buffer},
    {"clCommandReadBufferRectPOCL", (next_function)read_buffer_rect},
    {"clCommandReadImagePOCL", (next_function)read_image},
    {"clCommandWriteBufferPOCL", (next_function)write_buffer},
    {"clCommandWriteBufferRectPOCL", (next_function)write_buffer_rect},
    {"clCommandWriteImagePOCL", (next_function)write_image},
};

static void *CL_API_CALL get_address(cl_platform_id platform, const char *name)
{
    if (strcmp(name, "clRemapCommandBufferKHR") == 0) {
        void *(CL_API_CALL *const ours)(void *, cl_bool, cl_uint, const cl_command_queue *, cl_uint, void *const *,
                                        void **, cl_int *) = remap;
        void *address;
        create = below->clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR");
        memcpy(&address, &ours, sizeof(address));
        return address;
    }
    void *address = below->clGetExtensionFunctionAddressForPlatform(platform, name);
    for (size_t i = 0; i < sizeof(with_host) / sizeof(with_host[0]); i++)
        if (strcmp(with_host[i].name, name) == 0)
            memcpy(&address, &with_host[i].function, sizeof(address));
    for (size_t i = 0; address && i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0) {
            *functions[i].drivers = address;
            memcpy(&address, &functions[i].ours, sizeof(address));
            break;
        }
    return address;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    size_t size = 0;
    const cl_int status = below->clGetDeviceInfo(device, name, room, to, &size);
    if (size_ret)
        *size_ret = size;
    if (name != CL_DEVICE_EXTENSIONS_WITH_VERSION || status != CL_SUCCESS || !to)
        return status;
    cl_name_version *list = to;
    for (size_t i = 0; i < size / sizeof(*list); i++)
        if (strcmp(list[i].name, "cl_khr_command_buffer") == 0)
            list[i].version = CL_MAKE_VERSION(0, 9, 5);
    return status;
}

static void replace(void)
{
    table.clGetExtensionFunctionAddressForPlatform = get_address;
    table.clGetDeviceInfo = get_device_info;
}
