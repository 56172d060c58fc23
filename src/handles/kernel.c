/* Which shared objects and emulated images a kernel's arguments name: tracked from clSetKernelArg on, while such
 * objects exist. */
#include "handles/kernel.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

struct kernel_record {
    struct record head;
    /* Guarded by registry_lock: the handles that arguments name, NULL where an argument names none of interest. */
    cl_mem *arguments;
    cl_uint count;
};

static void destroy(struct record *record)
{
    free(((struct kernel_record *)record)->arguments);
    free(record);
}

static struct kernel_record *new_record(cl_kernel handle)
{
    struct kernel_record *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return NULL;
    kernel->head = (struct record){.kind = RECORD_KERNEL, .handle = handle, .destroy = destroy};
    cl_uint refs = 1;
    below()->clGetKernelInfo(handle, CL_KERNEL_REFERENCE_COUNT, sizeof(refs), &refs, NULL);
    if (!registry_add(&kernel->head)) {
        free(kernel);
        return NULL;
    }
    /* The application may hold more references than the one that registry_add counts. */
    for (; refs > 1; refs--)
        registry_app_retain(RECORD_KERNEL, handle);
    return registry_get(RECORD_KERNEL, handle);
}

static bool set_argument_locked(struct kernel_record *kernel, cl_uint index, cl_mem object)
{
    if (index >= kernel->count) {
        if (!object)
            return true;
        if (index >= KERNEL_ARGUMENTS)
            return false;
        cl_mem *wider = realloc(kernel->arguments, (index + 1) * sizeof(*wider));
        if (!wider)
            return false;
        memset(wider + kernel->count, 0, (index + 1 - kernel->count) * sizeof(*wider));
        kernel->arguments = wider;
        kernel->count = index + 1;
    }
    kernel->arguments[index] = object;
    return true;
}

static void lost_track(cl_uint index)
{
    if (index < KERNEL_ARGUMENTS)
        log_write(LOG_ERROR, "no memory to track a kernel's arguments: their use is not checked");
    else
        log_write(LOG_WARN, "argument %u of a kernel is not tracked: its use is not checked", index);
    writes_hidden("a kernel's arguments are not tracked");
}

/* For a kernel that may have no record yet. */
static void note_first_argument(cl_kernel handle, cl_uint index, cl_mem object)
{
    struct kernel_record *kernel = new_record(handle);
    os_lock(&registry_lock);
    const bool noted = kernel && set_argument_locked(kernel, index, object);
    os_unlock(&registry_lock);
    if (!noted)
        lost_track(index);
    record_release(kernel);
}

/* `value` is tracked if it is a memory object with a record; otherwise the argument names no such object. */
static void note_argument(cl_kernel handle, cl_uint index, cl_mem value)
{
    os_lock(&registry_lock);
    const bool known =
        value && (registry_find_locked(RECORD_OBJECT, value) || registry_find_locked(RECORD_IMAGE, value));
    struct kernel_record *kernel = registry_find_locked(RECORD_KERNEL, handle);
    const bool noted = !kernel || set_argument_locked(kernel, index, known ? value : NULL);
    os_unlock(&registry_lock);
    if (!noted)
        lost_track(index);
    else if (!kernel && known)
        note_first_argument(handle, index, value);
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint arg_index, size_t arg_size, const void *arg_value)
{
    const cl_int status = below()->clSetKernelArg(kernel, arg_index, arg_size, arg_value);
    if (status != CL_SUCCESS)
        return status;
    cl_mem value = NULL;
    if (arg_value && arg_size == sizeof(value))
        memcpy(&value, arg_value, sizeof(value)); /* a plain number of this size is not found in the registry */
    note_argument(kernel, arg_index, value);
    return status;
}

/* A jump, as for clGetEventInfo. */
static cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint arg_index, size_t arg_size, const void *arg_value)
{
    return (registry_hot() ? set_argument : below()->clSetKernelArg)(kernel, arg_index, arg_size, arg_value);
}

/* A pointer replaces the memory object that the argument named before. */
static cl_int pointer_set(cl_kernel kernel, cl_uint index, cl_int status)
{
    if (status == CL_SUCCESS && registry_hot())
        note_argument(kernel, index, NULL);
    return status;
}

static cl_int CL_API_CALL set_kernel_arg_svm_pointer(cl_kernel kernel, cl_uint arg_index, const void *arg_value)
{
    return pointer_set(kernel, arg_index, below()->clSetKernelArgSVMPointer(kernel, arg_index, arg_value));
}

/* The function of the first driver from which a program has obtained it. */
typedef cl_int(CL_API_CALL *set_pointer_fn)(cl_kernel, cl_uint, const void *);
static _Atomic(set_pointer_fn) set_below;

static cl_int CL_API_CALL set_pointer(cl_kernel kernel, cl_uint index, const void *value)
{
    return pointer_set(kernel, index, atomic_load(&set_below)(kernel, index, value));
}

next_function kernel_function(const char *name, void *function)
{
    if (strcmp(name, "clSetKernelArgMemPointerINTEL") != 0) /* OpenVINO's */
        return NULL;
    const set_pointer_fn driver = (set_pointer_fn)next_function_at(function);
    set_pointer_fn first = NULL;
    return atomic_compare_exchange_strong(&set_below, &first, driver) || first == driver ? (next_function)set_pointer
                                                                                         : NULL;
}

cl_uint kernel_records(cl_kernel handle, enum record_kind kind, struct record **records, cl_uint *indexes,
                       cl_uint capacity)
{
    cl_uint found = 0;
    os_lock(&registry_lock);
    const struct kernel_record *kernel = registry_find_locked(RECORD_KERNEL, handle);
    for (cl_uint i = 0; kernel && i < kernel->count && found < capacity; i++) {
        struct record *record = kernel->arguments[i] ? registry_get_locked(kind, kernel->arguments[i]) : NULL;
        if (!record)
            continue;
        records[found] = record;
        if (indexes)
            indexes[found] = i;
        found++;
    }
    os_unlock(&registry_lock);
    return found;
}

/* ---- lifetimes: a new kernel at an old address has no arguments yet ---- */

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *kernel_name, cl_int *errcode_ret)
{
    cl_kernel kernel = below()->clCreateKernel(program, kernel_name, errcode_ret);
    if (kernel && registry_hot())
        registry_forget(RECORD_KERNEL, kernel);
    return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint num_kernels, cl_kernel *kernels,
                                         cl_uint *num_kernels_ret)
{
    cl_uint made = 0;
    const cl_int status = below()->clCreateKernelsInProgram(program, num_kernels, kernels, &made);
    if (num_kernels_ret)
        *num_kernels_ret = made;
    for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < made && registry_hot(); i++)
        registry_forget(RECORD_KERNEL, kernels[i]);
    return status;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
    cl_kernel clone = below()->clCloneKernel(source_kernel, errcode_ret);
    if (!clone || !registry_hot())
        return clone;
    registry_forget(RECORD_KERNEL, clone);
    struct kernel_record *from = registry_get(RECORD_KERNEL, source_kernel);
    for (cl_uint i = 0; from; i++) {
        os_lock(&registry_lock);
        const bool more = i < from->count;
        cl_mem object = more ? from->arguments[i] : NULL;
        os_unlock(&registry_lock);
        if (!more)
            break;
        if (object)
            note_argument(clone, i, object);
    }
    record_release(from);
    return clone;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel kernel)
{
    const cl_int status = below()->clRetainKernel(kernel);
    if (status == CL_SUCCESS)
        registry_app_retain(RECORD_KERNEL, kernel);
    return status;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    registry_app_release(RECORD_KERNEL, kernel);
    return below()->clReleaseKernel(kernel);
}

void kernel_install(cl_icd_dispatch *table)
{
    table->clSetKernelArg = set_kernel_arg;
    table->clSetKernelArgSVMPointer = set_kernel_arg_svm_pointer;
    table->clCreateKernel = create_kernel;
    table->clCreateKernelsInProgram = create_kernels;
    table->clCloneKernel = clone_kernel;
    table->clRetainKernel = retain_kernel;
    table->clReleaseKernel = release_kernel;
}
