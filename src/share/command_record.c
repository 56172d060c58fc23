/* The functions that record a command into a command buffer.
 *
 * A copy, fill, read or write of an image in an emulated format is refused: it would have to convert the image, which takes commands
 * of cld3d's own and memory for each run of the command buffer. Kernels use such an image as it is stored. The values
 * that they leave in it and that the declared format cannot hold are requantized before the command buffer runs; this
 * cannot be done between its commands. */
#include "share/command_buffer.h"

#include "formats/image.h"
#include "log.h"
#include "share/guard.h"
#include "handles/kernel.h"

/* A command that is being recorded. */
struct recording {
    const char *call;
    struct command_buffer *buffer; /* retained */
    next_function function;        /* the driver's */
};

/* Finds the driver's function. `properties`: the caller expects one that has a properties parameter. */
static cl_int begin(struct recording *r, enum command_buffer_function function, bool properties,
                    command_buffer_handle handle)
{
    r->call = command_buffer_names[function];
    r->buffer = command_buffer_get(r->call, handle);
    if (!r->buffer)
        return INVALID_COMMAND_BUFFER;
    r->function = r->buffer->driver->functions[function];
    if (r->function && (function >= RECORD_ND_RANGE_KERNEL || r->buffer->driver->properties == properties))
        return CL_SUCCESS;
    record_release(r->buffer);
    return log_refuse(r->call, INVALID_COMMAND_BUFFER, "%p belongs to another platform than this function",
                      (void *)handle);
}

/* ---- commands on objects ---- */

static cl_int check_objects(const struct recording *r, cl_uint count, const cl_mem *objects)
{
    for (cl_uint i = 0; i < count; i++)
        if (registry_has(RECORD_IMAGE, objects[i]))
            return log_refuse(r->call, CL_IMAGE_FORMAT_NOT_SUPPORTED,
                              "image %p has a format that the device lacks and cld3d emulates; a command buffer cannot "
                              "convert it: enqueue this command separately, or use a format that the device supports",
                              (void *)objects[i]);
    return command_buffer_reserve(r->buffer, count)
               ? CL_SUCCESS
               : log_refuse(r->call, CL_OUT_OF_HOST_MEMORY, "no memory to record the objects of a command");
}

static cl_int begin_objects(struct recording *r, enum command_buffer_function function, bool properties,
                            command_buffer_handle handle, cl_uint count, const cl_mem *objects)
{
    cl_int status = begin(r, function, properties, handle);
    if (status != CL_SUCCESS)
        return status;
    status = check_objects(r, count, objects);
    if (status != CL_SUCCESS)
        record_release(r->buffer);
    return status;
}

/* Bit i of `writes`: the command changes objects[i]. */
static cl_int end_objects(struct recording *r, cl_int status, cl_uint count, const cl_mem *objects, unsigned writes)
{
    for (cl_uint i = 0; status == CL_SUCCESS && i < count; i++) {
        struct object_record *object = registry_get(RECORD_OBJECT, objects[i]);
        if (object)
            command_buffer_use(r->buffer, object_root(object)->head.handle, writes >> i & 1 ? USE_CHANGES : 0);
        record_release(object);
    }
    record_release(r->buffer);
    return status;
}

/* The last parameters of each of these functions. */
#define SYNC_PARAMETERS cl_uint sync_count, const cl_uint *syncs, cl_uint *sync, void *mutable_handle
#define SYNC_ARGUMENTS sync_count, syncs, sync, mutable_handle

/* A recording function: the parameters and arguments after the queue (and the properties), the number of objects, a bit
 * for each one that the command changes, and the objects. */
#define RECORD(function_name, number, parameters, arguments, count, writes, ...)                                       \
    static cl_int CL_API_CALL NAME(function_name)(                                                                     \
        command_buffer_handle handle, cl_command_queue queue PROPERTIES_PARAMETER, UNPACK parameters, SYNC_PARAMETERS) \
    {                                                                                                                  \
        typedef cl_int(CL_API_CALL *function_type)(command_buffer_handle, cl_command_queue PROPERTIES_PARAMETER,       \
                                                   UNPACK parameters, SYNC_PARAMETERS);                                \
        const cl_mem objects[] = {__VA_ARGS__};                                                                        \
        struct recording r;                                                                                            \
        cl_int status = begin_objects(&r, number, TAKES_PROPERTIES, handle, count, objects);                           \
        if (status != CL_SUCCESS)                                                                                      \
            return status;                                                                                             \
        status = ((function_type)r.function)(handle, queue PROPERTIES_ARGUMENT, UNPACK arguments, SYNC_ARGUMENTS);     \
        return end_objects(&r, status, count, objects, writes);                                                        \
    }
#define UNPACK(...) __VA_ARGS__

#define RECORD_ALL                                                                                                    \
    RECORD(copy_buffer, RECORD_COPY_BUFFER,                                                                           \
           (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),                               \
           (from, to, from_offset, to_offset, size), 2, 2, from, to)                                                  \
    RECORD(copy_buffer_rect, RECORD_COPY_BUFFER_RECT,                                                                 \
           (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region,         \
            size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),                                      \
           (from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice), 2, 2, from, to)        \
    RECORD(copy_buffer_to_image, RECORD_COPY_BUFFER_TO_IMAGE,                                                         \
           (cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),                       \
           (from, to, offset, origin, region), 2, 2, from, to)                                                        \
    RECORD(copy_image, RECORD_COPY_IMAGE,                                                                             \
           (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region),        \
           (from, to, from_origin, to_origin, region), 2, 2, from, to)                                                \
    RECORD(copy_image_to_buffer, RECORD_COPY_IMAGE_TO_BUFFER,                                                         \
           (cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),                       \
           (from, to, origin, region, offset), 2, 2, from, to)                                                        \
    RECORD(fill_buffer, RECORD_FILL_BUFFER,                                                                           \
           (cl_mem to, const void *pattern, size_t pattern_size, size_t offset, size_t size),                         \
           (to, pattern, pattern_size, offset, size), 1, 1, to)                                                       \
    RECORD(fill_image, RECORD_FILL_IMAGE, (cl_mem to, const void *color, const size_t *origin, const size_t *region), \
           (to, color, origin, region), 1, 1, to)

#define RECT_PARAMETERS(pointer)                                                                                     \
    (cl_mem object, const size_t *object_origin, const size_t *host_origin, const size_t *region, size_t object_row, \
     size_t object_slice, size_t host_row, size_t host_slice, pointer host)
#define RECT_ARGUMENTS \
    (object, object_origin, host_origin, region, object_row, object_slice, host_row, host_slice, host)
#define IMAGE_PARAMETERS(pointer) \
    (cl_mem object, const size_t *origin, const size_t *region, size_t row, size_t slice, pointer host)
#define IMAGE_ARGUMENTS (object, origin, region, row, slice, host)

#define RECORD_HOST                                                                                                  \
    RECORD(read_buffer, RECORD_READ_BUFFER, (cl_mem object, size_t offset, size_t size, void *host),                 \
           (object, offset, size, host), 1, 0, object)                                                               \
    RECORD(read_buffer_rect, RECORD_READ_BUFFER_RECT, RECT_PARAMETERS(void *), RECT_ARGUMENTS, 1, 0, object)         \
    RECORD(read_image, RECORD_READ_IMAGE, IMAGE_PARAMETERS(void *), IMAGE_ARGUMENTS, 1, 0, object)                   \
    RECORD(write_buffer, RECORD_WRITE_BUFFER, (cl_mem object, size_t offset, size_t size, const void *host),         \
           (object, offset, size, host), 1, 1, object)                                                               \
    RECORD(write_buffer_rect, RECORD_WRITE_BUFFER_RECT, RECT_PARAMETERS(const void *), RECT_ARGUMENTS, 1, 1, object) \
    RECORD(write_image, RECORD_WRITE_IMAGE, IMAGE_PARAMETERS(const void *), IMAGE_ARGUMENTS, 1, 1, object)

/* Up to version 0.9.4 of the extension. */
#define NAME(function) function
#define TAKES_PROPERTIES false
#define PROPERTIES_PARAMETER
#define PROPERTIES_ARGUMENT
RECORD_ALL
RECORD_HOST
#undef NAME
#undef TAKES_PROPERTIES
#undef PROPERTIES_PARAMETER
#undef PROPERTIES_ARGUMENT

/* Since then. */
#define NAME(function) function##_with_properties
#define TAKES_PROPERTIES true
#define PROPERTIES_PARAMETER , const cl_ulong *properties
#define PROPERTIES_ARGUMENT , properties
RECORD_ALL

/* ---- kernels ---- */

/* What the arguments of a kernel name, as of the call that records it. */
struct kernel_uses {
    struct object_use uses[2 * KERNEL_ARGUMENTS];
    cl_uint count;
};

static void add_objects(struct kernel_uses *k, cl_kernel kernel)
{
    struct object_record *objects[KERNEL_ARGUMENTS];
    cl_uint indexes[KERNEL_ARGUMENTS];
    const cl_uint count = kernel_records(kernel, RECORD_OBJECT, (struct record **)objects, indexes, KERNEL_ARGUMENTS);
    for (cl_uint i = 0; i < count; i++) {
        const bool writes = guard_may_write(kernel, indexes[i], objects[i]);
        k->uses[k->count++] = (struct object_use){object_root(objects[i])->head.handle, writes ? USE_CHANGES : 0};
        record_release(objects[i]);
    }
}

static void add_images(struct kernel_uses *k, cl_kernel kernel)
{
    struct record *images[KERNEL_ARGUMENTS];
    cl_uint indexes[KERNEL_ARGUMENTS];
    const cl_uint count = kernel_records(kernel, RECORD_IMAGE, images, indexes, KERNEL_ARGUMENTS);
    for (cl_uint i = 0; i < count; i++) {
        bool reads, writes;
        image_kernel_access(kernel, indexes[i], &reads, &writes);
        k->uses[k->count++] =
            (struct object_use){images[i]->handle, (reads ? USE_READS_IMAGE : 0u) | (writes ? USE_WRITES_IMAGE : 0u)};
        record_release(images[i]);
    }
}

static cl_int check_kernel(const struct recording *r, const struct kernel_uses *k)
{
    for (cl_uint i = 0; i < k->count; i++)
        if (k->uses[i].how & USE_READS_IMAGE && command_buffer_uses(r->buffer, k->uses[i].object) & USE_WRITES_IMAGE)
            return log_refuse(
                r->call, CL_IMAGE_FORMAT_NOT_SUPPORTED,
                "an earlier kernel in the command buffer writes to image %p, whose format the device lacks and cld3d "
                "emulates; record this kernel into another command buffer, or use a format that the device supports",
                (void *)k->uses[i].object);
    return command_buffer_reserve(r->buffer, k->count)
               ? CL_SUCCESS
               : log_refuse(r->call, CL_OUT_OF_HOST_MEMORY, "no memory to record the objects of a command");
}

typedef cl_int(CL_API_CALL *kernel_fn)(command_buffer_handle, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint,
                                       const size_t *, const size_t *, const size_t *, SYNC_PARAMETERS);

static cl_int CL_API_CALL nd_range_kernel(command_buffer_handle handle, cl_command_queue queue,
                                          const cl_ulong *properties, cl_kernel kernel, cl_uint work_dim,
                                          const size_t *global_work_offset, const size_t *global_work_size,
                                          const size_t *local_work_size, SYNC_PARAMETERS)
{
    struct recording r;
    struct kernel_uses k = {.count = 0};
    cl_int status = begin(&r, RECORD_ND_RANGE_KERNEL, true, handle);
    if (status != CL_SUCCESS)
        return status;
    if (kernel) {
        if (!r.buffer->is_mutable)
            add_objects(&k, kernel);
        add_images(&k, kernel);
        status = check_kernel(&r, &k);
    } else {
        status = log_refuse(r.call, CL_INVALID_KERNEL, "the kernel is NULL");
    }
    if (status == CL_SUCCESS)
        status = ((kernel_fn)r.function)(handle, queue, properties, kernel, work_dim, global_work_offset,
                                         global_work_size, local_work_size, SYNC_ARGUMENTS);
    for (cl_uint i = 0; status == CL_SUCCESS && i < k.count; i++)
        command_buffer_use(r.buffer, k.uses[i].object, k.uses[i].how);
    record_release(r.buffer);
    return status;
}

next_function command_record_function(enum command_buffer_function function, bool properties)
{
#define EITHER(name) (next_function) name, (next_function)name##_with_properties
#define BOTH(name) (next_function) name, (next_function)name
    const next_function all[COMMAND_BUFFER_FUNCTIONS][2] = {
        [RECORD_COPY_BUFFER] = {EITHER(copy_buffer)},
        [RECORD_COPY_BUFFER_RECT] = {EITHER(copy_buffer_rect)},
        [RECORD_COPY_BUFFER_TO_IMAGE] = {EITHER(copy_buffer_to_image)},
        [RECORD_COPY_IMAGE] = {EITHER(copy_image)},
        [RECORD_COPY_IMAGE_TO_BUFFER] = {EITHER(copy_image_to_buffer)},
        [RECORD_FILL_BUFFER] = {EITHER(fill_buffer)},
        [RECORD_FILL_IMAGE] = {EITHER(fill_image)},
        [RECORD_ND_RANGE_KERNEL] = {BOTH(nd_range_kernel)},
        [RECORD_READ_BUFFER] = {BOTH(read_buffer)},
        [RECORD_READ_BUFFER_RECT] = {BOTH(read_buffer_rect)},
        [RECORD_READ_IMAGE] = {BOTH(read_image)},
        [RECORD_WRITE_BUFFER] = {BOTH(write_buffer)},
        [RECORD_WRITE_BUFFER_RECT] = {BOTH(write_buffer_rect)},
        [RECORD_WRITE_IMAGE] = {BOTH(write_image)},
    };
    return all[function][properties];
}
