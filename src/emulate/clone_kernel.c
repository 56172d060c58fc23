/* clCloneKernel, where the OpenCL below lacks it: a kernel of the same function that is given the same arguments.
 *
 * OpenCL cannot report a kernel's arguments, so they are recorded as they are set. clSetKernelArg is among the
 * functions that programs call most, so recording takes no lock. The record of a kernel is found in a table whose
 * entries never move: a table that is full is kept as it is, and a larger one replaces it. No program may set arguments
 * of one kernel from two threads at a time. */
#include "emulate/emulate.h"
#include "log.h"
#include "next/handle.h"
#include "os/os.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, SMALL = 16 };

struct argument {
    bool set, has_value; /* local memory has only a size */
    size_t size;
    void *large; /* owned; a value of more than SMALL bytes, with room for `capacity`; NULL: out of memory */
    size_t capacity;
    unsigned char small[SMALL];
};

/* Never freed: the note of a destroyed kernel is reused for the next one. */
struct note {
    _Atomic(cl_kernel) kernel; /* NULL: free */
    cl_uint count;
    struct argument *arguments; /* owned */
    bool lost;                  /* out of memory: the arguments are not known */
    unsigned app_refs;          /* guarded by `lock` */
};

struct table {
    size_t capacity; /* a power of two */
    size_t used;     /* entries that are not NULL; guarded by `lock` */
    struct table *before;
    _Atomic(struct note *) entries[];
};

static os_mutex lock = OS_MUTEX_INIT;
static _Atomic(struct table *) current;

/* ---- the table ---- */

static size_t place_of(cl_kernel kernel, const struct table *table)
{
    const uint64_t bits = (uint64_t)(uintptr_t)kernel * 0x9E3779B97F4A7C15u;
    return (size_t)(bits >> 32) & (table->capacity - 1);
}

static struct note *find(cl_kernel kernel)
{
    struct table *table = atomic_load_explicit(&current, memory_order_acquire);
    if (!table || !kernel)
        return NULL;
    for (size_t i = place_of(kernel, table);; i = (i + 1) & (table->capacity - 1)) {
        struct note *note = atomic_load_explicit(&table->entries[i], memory_order_acquire);
        if (!note)
            return NULL;
        if (atomic_load_explicit(&note->kernel, memory_order_acquire) == kernel)
            return note;
    }
}

/* A free note at the kernel's place in the table, or NULL if out of memory. The table always has an entry that is
 * NULL. */
static struct note *take_locked(struct table *table, cl_kernel kernel)
{
    size_t i = place_of(kernel, table);
    struct note *note = atomic_load(&table->entries[i]);
    while (note && atomic_load(&note->kernel)) {
        i = (i + 1) & (table->capacity - 1);
        note = atomic_load(&table->entries[i]);
    }
    if (note)
        return note;
    note = calloc(1, sizeof(*note));
    if (note) {
        table->used++;
        atomic_store_explicit(&table->entries[i], note, memory_order_release);
    }
    return note;
}

static void move_locked(struct table *from, struct table *to)
{
    for (size_t i = 0; from && i < from->capacity; i++) {
        struct note *note = atomic_load(&from->entries[i]);
        const cl_kernel kernel = note ? atomic_load(&note->kernel) : NULL;
        if (!kernel)
            continue;
        size_t k = place_of(kernel, to);
        while (atomic_load(&to->entries[k]))
            k = (k + 1) & (to->capacity - 1);
        atomic_store(&to->entries[k], note);
        to->used++;
    }
}

/* The table, with room for one more note. */
static struct table *roomy_locked(void)
{
    struct table *table = atomic_load(&current);
    if (table && table->used * 4 < table->capacity * 3)
        return table;
    const size_t capacity = table ? table->capacity * 2 : FIRST_CAPACITY;
    struct table *wider = calloc(1, sizeof(*wider) + capacity * sizeof(wider->entries[0]));
    if (!wider)
        return NULL;
    wider->capacity = capacity;
    wider->before = table; /* other threads may be reading it, so it is kept */
    move_locked(table, wider);
    atomic_store_explicit(&current, wider, memory_order_release);
    return wider;
}

/* ---- notes ---- */

static void forget_arguments(struct note *note)
{
    for (cl_uint i = 0; i < note->count; i++)
        free(note->arguments[i].large);
    free(note->arguments);
    note->arguments = NULL;
    note->count = 0;
}

static void begin_locked(struct note *note, cl_kernel kernel, cl_uint count)
{
    forget_arguments(note);
    note->arguments = calloc(count + 1, sizeof(*note->arguments));
    note->count = note->arguments ? count : 0;
    note->lost = !note->arguments;
    note->app_refs = 1;
    atomic_store_explicit(&note->kernel, kernel, memory_order_release);
}

static void follow(cl_kernel kernel)
{
    cl_uint count = 0;
    if (!kernel || underlying.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL) != CL_SUCCESS)
        return;
    os_lock(&lock);
    struct note *note = find(kernel); /* not NULL: the address of an earlier kernel whose end was not seen */
    struct table *table = note ? NULL : roomy_locked();
    if (table)
        note = take_locked(table, kernel);
    if (note)
        begin_locked(note, kernel, count);
    os_unlock(&lock);
}

static void write(struct argument *argument, size_t size, const void *value)
{
    argument->set = true;
    argument->has_value = value != NULL;
    argument->size = size;
    if (!value)
        return;
    if (size > SMALL && size > argument->capacity) {
        free(argument->large);
        argument->large = malloc(size);
        argument->capacity = argument->large ? size : 0;
    }
    if (size <= SMALL)
        memcpy(argument->small, value, size);
    else if (argument->large)
        memcpy(argument->large, value, size);
}

/* ---- the functions ---- */

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *kernel_name, cl_int *errcode_ret)
{
    cl_kernel kernel = underlying.clCreateKernel(program, kernel_name, errcode_ret);
    follow(kernel);
    return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint num_kernels, cl_kernel *kernels,
                                         cl_uint *num_kernels_ret)
{
    cl_uint count = 0;
    const cl_int status = underlying.clCreateKernelsInProgram(program, num_kernels, kernels, &count);
    for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < count && i < num_kernels; i++)
        follow(kernels[i]);
    if (status == CL_SUCCESS && num_kernels_ret)
        *num_kernels_ret = count;
    return status;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel kernel)
{
    const cl_int status = underlying.clRetainKernel(kernel);
    struct note *note = status == CL_SUCCESS ? find(kernel) : NULL;
    if (note) {
        os_lock(&lock);
        note->app_refs++;
        os_unlock(&lock);
    }
    return status;
}

/* The note is removed before the driver's release: another kernel may get the address right after it. */
static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    struct note *note = find(kernel);
    if (note) {
        os_lock(&lock);
        if (note->app_refs && --note->app_refs == 0) {
            forget_arguments(note);
            atomic_store_explicit(&note->kernel, NULL, memory_order_release);
        }
        os_unlock(&lock);
    }
    return underlying.clReleaseKernel(kernel);
}

static cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint arg_index, size_t arg_size, const void *arg_value)
{
    const cl_int status = underlying.clSetKernelArg(kernel, arg_index, arg_size, arg_value);
    struct note *note = status == CL_SUCCESS ? find(kernel) : NULL;
    if (note && arg_index < note->count)
        write(&note->arguments[arg_index], arg_size, arg_value);
    return status;
}

/* The caller frees it. */
static char *name_of(cl_kernel kernel, cl_int *status)
{
    size_t size = 0;
    *status = underlying.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size);
    char *name = calloc(1, size + 1);
    if (!name)
        *status = CL_OUT_OF_HOST_MEMORY;
    if (*status == CL_SUCCESS)
        *status = underlying.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name, NULL);
    return name;
}

static cl_kernel create_alike(cl_kernel kernel, cl_int *status)
{
    cl_program program = NULL;
    char *name = name_of(kernel, status);
    if (*status == CL_SUCCESS)
        *status = underlying.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
    cl_kernel alike = *status == CL_SUCCESS ? create_kernel(program, name, status) : NULL;
    free(name);
    return alike;
}

static cl_int give_argument(const struct argument *argument, cl_kernel clone, cl_uint index)
{
    const void *value = argument->size > SMALL ? argument->large : argument->small;
    if (argument->has_value && !value)
        return CL_OUT_OF_HOST_MEMORY;
    return set_kernel_arg(clone, index, argument->size, argument->has_value ? value : NULL);
}

/* The program may have released the object that an argument names: then it sets another one on the clone before it
 * launches that. */
static bool names_nothing(cl_int status)
{
    return status == CL_INVALID_MEM_OBJECT || status == CL_INVALID_SAMPLER || status == CL_INVALID_ARG_VALUE;
}

static cl_int give_arguments(const struct note *note, cl_kernel clone)
{
    cl_int status = note->lost ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
    for (cl_uint i = 0; i < note->count && status == CL_SUCCESS; i++) {
        if (note->arguments[i].set)
            status = give_argument(&note->arguments[i], clone, i);
        if (names_nothing(status))
            status = CL_SUCCESS;
    }
    return status;
}

/* A kernel without a record: there was no memory for one. */
static cl_int refuse_unknown(const char *call, cl_kernel kernel)
{
    cl_uint count;
    if (handle_may_be(kernel, clGetKernelInfo) &&
        underlying.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL) == CL_SUCCESS)
        return log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory for the arguments of %p", (void *)kernel);
    return log_refuse(call, CL_INVALID_KERNEL, "%p is not a kernel", (void *)kernel);
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
    static const char call[] = "clCloneKernel";
    const struct note *note = find(source_kernel);
    cl_int status;
    cl_kernel clone = NULL;
    if (note)
        clone = create_alike(source_kernel, &status);
    else
        status = refuse_unknown(call, source_kernel);
    if (clone) {
        status = give_arguments(note, clone);
        if (status != CL_SUCCESS) {
            log_refuse(call, status, "the kernel's arguments could not be set on the clone");
            release_kernel(clone);
            clone = NULL;
        }
    }
    give_code(errcode_ret, status);
    return clone;
}

void clone_kernel_install(cl_icd_dispatch *table)
{
    table->clCreateKernel = create_kernel;
    table->clCreateKernelsInProgram = create_kernels;
    table->clRetainKernel = retain_kernel;
    table->clReleaseKernel = release_kernel;
    table->clSetKernelArg = set_kernel_arg;
    table->clCloneKernel = clone_kernel;
}
