/* What is known of a kernel's arguments, over drivers that are played: which name memory objects that are followed, what happens to
 * kernels that are cloned, made again at an old address or set by functions of extensions, and which driver's function that is
 * (handles/kernel.c, handles/extension_functions.c, share/functions.c). */
#include "handles/kernel.h"
#include "handles/extension_functions.h"
#include "share/share.h"
#include "tap.h"

#include <stdlib.h>

/* ---- the drivers ---- */

enum { PLATFORMS = 3, KERNELS = 4, OLD_PLATFORM = 1 };

static char platform_marks[PLATFORMS], device_marks[PLATFORMS], context_marks[PLATFORMS], kernel_marks[KERNELS],
    memory_marks[8];
static unsigned platform_of_kernel[KERNELS];

static struct {
    cl_int status; /* of the next calls */
    cl_uint references;
    bool tells_context, tells_devices;
    unsigned set_by[PLATFORMS]; /* calls of each driver's function for pointers */
    unsigned own_queues, commands;
} driver;

static cl_kernel kernel(unsigned i)
{
    return (cl_kernel)&kernel_marks[i];
}

static cl_mem memory(unsigned i)
{
    return (cl_mem)&memory_marks[i];
}

static cl_int CL_API_CALL set_arg(cl_kernel of, cl_uint index, size_t size, const void *value)
{
    (void)of, (void)index, (void)size, (void)value;
    return driver.status;
}

static cl_int CL_API_CALL set_svm(cl_kernel of, cl_uint index, const void *value)
{
    (void)of, (void)index, (void)value;
    return driver.status;
}

static cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *status)
{
    (void)program, (void)name;
    *status = driver.status;
    return driver.status == CL_SUCCESS ? kernel(0) : NULL;
}

static cl_int CL_API_CALL create_all(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *made)
{
    (void)program;
    for (unsigned i = 0; i < 2 && kernels && i < count; i++)
        kernels[i] = kernel(i);
    *made = 2;
    return driver.status;
}

static cl_kernel CL_API_CALL clone(cl_kernel of, cl_int *status)
{
    (void)of;
    *status = driver.status;
    return driver.status == CL_SUCCESS ? kernel(3) : NULL;
}

static cl_int CL_API_CALL count_reference(cl_kernel of)
{
    (void)of;
    return driver.status;
}

static cl_int CL_API_CALL get_kernel_info(cl_kernel of, cl_kernel_info name, size_t size, void *value, size_t *size_ret)
{
    const cl_context context = (cl_context)&context_marks[platform_of_kernel[(char *)of - kernel_marks]];
    (void)size_ret;
    if (name == CL_KERNEL_REFERENCE_COUNT)
        memcpy(value, &driver.references, sizeof(driver.references));
    else if (name == CL_KERNEL_CONTEXT && driver.tells_context)
        memcpy(value, &context, size);
    else
        return CL_INVALID_KERNEL;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info name, size_t size, void *value,
                                           size_t *size_ret)
{
    const cl_device_id device = (cl_device_id)&device_marks[(char *)context - context_marks];
    (void)size;
    CHECK_INT(name, CL_CONTEXT_DEVICES);
    memcpy(value, &device, sizeof(device));
    *size_ret = sizeof(device);
    return driver.tells_devices ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
                                          size_t *size_ret)
{
    const cl_platform_id platform = (cl_platform_id)&platform_marks[(char *)device - device_marks];
    (void)size, (void)size_ret;
    CHECK_INT(name, CL_DEVICE_PLATFORM);
    memcpy(value, &platform, sizeof(platform));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    (void)size_ret;
    CHECK_INT(name, CL_PLATFORM_VERSION);
    snprintf(value, size, "OpenCL %s", (char *)platform - platform_marks == OLD_PLATFORM ? "1.2" : "2.0");
    return CL_SUCCESS;
}

#define SETTERS(n)                                                                        \
    static cl_int CL_API_CALL pointer_##n(cl_kernel of, cl_uint index, const void *value) \
    {                                                                                     \
        (void)of, (void)index, (void)value;                                               \
        driver.set_by[n]++;                                                               \
        return driver.status;                                                             \
    }                                                                                     \
    static cl_int CL_API_CALL address_##n(cl_kernel of, cl_uint index, cl_ulong value)    \
    {                                                                                     \
        (void)of, (void)index, (void)value;                                               \
        driver.set_by[n]++;                                                               \
        return driver.status;                                                             \
    }
SETTERS(0)
SETTERS(1)
SETTERS(2)
#undef SETTERS

typedef cl_int(CL_API_CALL *pointer_fn)(cl_kernel, cl_uint, const void *);
typedef cl_int(CL_API_CALL *address_fn)(cl_kernel, cl_uint, cl_ulong);

static void *as_address(next_function function)
{
    void *address;
    memcpy(&address, &function, sizeof(address));
    return address;
}

/* What a driver gives by name. */
static void *CL_API_CALL get_address_of(cl_platform_id platform, const char *name)
{
    static const pointer_fn pointers[] = {pointer_0, pointer_1, pointer_2};
    static const address_fn addresses[] = {address_0, address_1, address_2};
    const unsigned p = platform ? (unsigned)((char *)platform - platform_marks) : 0;
    if (!name)
        return NULL;
    if (strcmp(name, "clSetKernelArgDevicePointerEXT") == 0)
        return as_address((next_function)addresses[p]);
    if (strncmp(name, "clSetKernelArg", 14) == 0 || strncmp(name, "clEnqueueStrange", 16) == 0 ||
        strncmp(name, "clCommandStrange", 16) == 0 || strcmp(name, "clStrange") == 0 ||
        strcmp(name, "clGetGLContextInfoKHR") == 0 || strcmp(name, "clCreateCommandQueueWithPropertiesKHR") == 0)
        return as_address((next_function)pointers[p]);
    return NULL;
}

static void *CL_API_CALL get_address(const char *name)
{
    return get_address_of(NULL, name);
}

static cl_int CL_API_CALL get_platforms(cl_uint capacity, cl_platform_id *platforms, cl_uint *count)
{
    for (unsigned i = 0; i < PLATFORMS && i < capacity && platforms; i++)
        platforms[i] = (cl_platform_id)&platform_marks[i];
    if (count)
        *count = PLATFORMS;
    return CL_SUCCESS;
}

static cl_icd_dispatch table;

static void set_driver(void)
{
    driver.status = CL_SUCCESS;
    driver.references = 1;
    driver.tells_context = driver.tells_devices = true;
    memset(driver.set_by, 0, sizeof(driver.set_by));
    tier_formats_table.clSetKernelArg = set_arg;
    tier_formats_table.clSetKernelArgSVMPointer = set_svm;
    tier_formats_table.clCreateKernel = create;
    tier_formats_table.clCreateKernelsInProgram = create_all;
    tier_formats_table.clCloneKernel = clone;
    tier_formats_table.clRetainKernel = count_reference;
    tier_formats_table.clReleaseKernel = count_reference;
    tier_formats_table.clGetKernelInfo = get_kernel_info;
    tier_formats_table.clGetContextInfo = get_context_info;
    tier_formats_table.clGetDeviceInfo = get_device_info;
    tier_formats_table.clGetPlatformIDs = get_platforms;
    tier_formats_table.clGetPlatformInfo = get_platform_info;
    tier_formats_table.clGetExtensionFunctionAddressForPlatform = get_address_of;
    tier_formats_table.clGetExtensionFunctionAddress = get_address;
    kernel_install(&table);
}

/* ---- what is followed ---- */

static void free_record(struct record *record)
{
    free(record);
}

/* The memory object is one of interest. */
static void follow(enum record_kind kind, unsigned i)
{
    struct record *record = calloc(1, sizeof(*record));
    *record = (struct record){.kind = kind, .handle = memory(i), .destroy = free_record};
    CHECK(registry_add(record));
}

static void set(unsigned k, cl_uint index, cl_mem value)
{
    CHECK_INT(table.clSetKernelArg(kernel(k), index, sizeof(value), &value), driver.status);
}

/* The arguments of a kernel that name objects, as bits of their indexes. */
static unsigned named(unsigned k, enum record_kind kind)
{
    struct record *records[8];
    cl_uint indexes[8];
    unsigned bits = 0;
    const cl_uint count = kernel_records(kernel(k), kind, records, indexes, 8);
    for (cl_uint i = 0; i < count; i++) {
        bits |= 1u << indexes[i];
        record_release(records[i]);
    }
    return bits;
}

/* Gives back what the application has of the kernels and objects. */
static void end(void)
{
    driver.status = CL_SUCCESS;
    for (unsigned i = 0; i < KERNELS; i++)
        registry_forget(RECORD_KERNEL, kernel(i));
    for (unsigned i = 0; i < 8; i++) {
        registry_forget(RECORD_OBJECT, memory(i));
        registry_forget(RECORD_IMAGE, memory(i));
    }
    CHECK(!registry_hot());
}

static void followed(void)
{
    set_driver();
    set(0, 0, memory(0)); /* nothing is shared yet */
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    follow(RECORD_OBJECT, 0);
    follow(RECORD_IMAGE, 1);
    set(0, 3, memory(2)); /* of no interest */
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    set(0, 2, memory(0));
    set(0, 1, memory(1));
    CHECK_INT(named(0, RECORD_OBJECT), 4);
    CHECK_INT(named(0, RECORD_IMAGE), 2);
    CHECK_INT(named(1, RECORD_OBJECT), 0);
    set(0, 2, memory(2));
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    set(0, 2, memory(0));
    CHECK_INT(table.clSetKernelArg(kernel(0), 2, sizeof(cl_mem), NULL), CL_SUCCESS);
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    set(0, 2, memory(0));
    const cl_uint number = 7;
    CHECK_INT(table.clSetKernelArg(kernel(0), 2, sizeof(number), &number), CL_SUCCESS);
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    end();
}

/* What the driver refuses changes nothing. */
static void refused(void)
{
    const cl_mem other = memory(2);
    set_driver();
    follow(RECORD_OBJECT, 0);
    set(0, 0, memory(0));
    driver.status = CL_INVALID_ARG_VALUE;
    set(0, 0, other);
    CHECK_INT(table.clSetKernelArgSVMPointer(kernel(0), 0, &driver), CL_INVALID_ARG_VALUE);
    CHECK_INT(named(0, RECORD_OBJECT), 1);
    driver.status = CL_SUCCESS;
    CHECK_INT(table.clSetKernelArgSVMPointer(kernel(0), 0, &driver), CL_SUCCESS);
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    end();
}

/* As many as there is room for, and without their indexes. */
static void little_room(void)
{
    struct record *records[2];
    set_driver();
    follow(RECORD_OBJECT, 0);
    for (cl_uint i = 0; i < 4; i++)
        set(0, i, memory(0));
    CHECK_INT(kernel_records(kernel(0), RECORD_OBJECT, records, NULL, 2), 2);
    for (int i = 0; i < 2; i++) {
        CHECK(records[i]->handle == memory(0));
        record_release(records[i]);
    }
    end();
}

/* ---- lifetimes ---- */

/* The application's references are counted from the first argument on. */
static void references(void)
{
    set_driver();
    follow(RECORD_OBJECT, 0);
    driver.references = 3;
    set(0, 0, memory(0));
    CHECK_INT(table.clReleaseKernel(kernel(0)), CL_SUCCESS);
    CHECK_INT(table.clRetainKernel(kernel(0)), CL_SUCCESS);
    driver.status = CL_OUT_OF_HOST_MEMORY;
    CHECK_INT(table.clRetainKernel(kernel(0)), CL_OUT_OF_HOST_MEMORY);
    driver.status = CL_SUCCESS;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(table.clReleaseKernel(kernel(0)), CL_SUCCESS);
        CHECK_INT(named(0, RECORD_OBJECT), 1);
    }
    CHECK_INT(table.clReleaseKernel(kernel(0)), CL_SUCCESS);
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    end();
}

/* A kernel at the address of one that is gone has no arguments. */
static void made_again(void)
{
    cl_kernel made[2];
    cl_uint count = 0;
    cl_int status;
    set_driver();
    CHECK(table.clCreateKernel(NULL, "a kernel", &status) == kernel(0)); /* nothing is shared yet */
    follow(RECORD_OBJECT, 0);
    set(0, 0, memory(0));
    driver.status = CL_OUT_OF_HOST_MEMORY;
    CHECK(table.clCreateKernel(NULL, "a kernel", &status) == NULL);
    CHECK_INT(table.clCreateKernelsInProgram(NULL, 2, made, &count), CL_OUT_OF_HOST_MEMORY);
    CHECK_INT(named(0, RECORD_OBJECT), 1);
    driver.status = CL_SUCCESS;
    CHECK_INT(table.clCreateKernelsInProgram(NULL, 0, NULL, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    CHECK_INT(named(0, RECORD_OBJECT), 1);
    CHECK(table.clCreateKernel(NULL, "a kernel", &status) == kernel(0));
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    set(1, 0, memory(0));
    CHECK_INT(table.clCreateKernelsInProgram(NULL, 2, made, NULL), CL_SUCCESS);
    CHECK(made[0] == kernel(0) && made[1] == kernel(1));
    CHECK_INT(named(1, RECORD_OBJECT), 0);
    end();
    CHECK_INT(table.clCreateKernelsInProgram(NULL, 2, made, NULL), CL_SUCCESS);
}

/* A clone has the arguments of the kernel that it is made of, whatever was at its address. */
static void cloned(void)
{
    cl_int status;
    set_driver();
    CHECK(table.clCloneKernel(kernel(0), &status) == kernel(3)); /* nothing is shared yet */
    follow(RECORD_OBJECT, 0);
    follow(RECORD_OBJECT, 1);
    set(3, 5, memory(0));
    CHECK(table.clCloneKernel(kernel(0), &status) == kernel(3)); /* of one without any */
    CHECK_INT(named(3, RECORD_OBJECT), 0);
    set(0, 1, memory(0));
    set(0, 3, memory(1));
    set(3, 5, memory(0));
    driver.status = CL_OUT_OF_RESOURCES;
    CHECK(table.clCloneKernel(kernel(0), &status) == NULL);
    CHECK_INT(named(3, RECORD_OBJECT), 32);
    driver.status = CL_SUCCESS;
    CHECK(table.clCloneKernel(kernel(0), &status) == kernel(3));
    CHECK_INT(named(3, RECORD_OBJECT), 2 + 8);
    set(0, 1, NULL);
    CHECK_INT(named(3, RECORD_OBJECT), 2 + 8);
    end();
}

/* ---- functions of extensions ---- */

static next_function by_name(unsigned p, const char *name)
{
    void *address = table.clGetExtensionFunctionAddressForPlatform((cl_platform_id)&platform_marks[p], name);
    next_function function;
    memcpy(&function, &address, sizeof(function));
    return function;
}

static next_function own(const char *name)
{
    return name && strcmp(name, "clOurs") == 0 ? (next_function)own : NULL;
}

/* Each calls its own kernel's driver, and the argument names no object after it. */
static void setters(void)
{
    static const char *const names[] = {"clSetKernelArgMemPointerINTEL", "clSetKernelArgSVMPointerARM"};
    set_driver();
    functions_install(&table, own);
    follow(RECORD_OBJECT, 0);
    for (int n = 0; n < 2; n++) {
        for (unsigned drivers = 1; drivers <= PLATFORMS; drivers++) {
            const pointer_fn function = (pointer_fn)by_name(drivers - 1, names[n]);
            CHECK(function == (pointer_fn)by_name(0, names[n]));
            for (unsigned p = 0; p < drivers; p++) {
                set_driver();
                platform_of_kernel[0] = p;
                set(0, 0, memory(0));
                driver.status = CL_INVALID_ARG_VALUE;
                CHECK_INT(function(kernel(0), 0, &driver), CL_INVALID_ARG_VALUE);
                CHECK_INT(named(0, RECORD_OBJECT), 1);
                driver.status = CL_SUCCESS;
                CHECK_INT(function(kernel(0), 0, &driver), CL_SUCCESS);
                CHECK_INT(named(0, RECORD_OBJECT), 0);
                for (unsigned other = 0; other < PLATFORMS; other++)
                    CHECK_INT(driver.set_by[other], other == p ? 2 : 0);
            }
        }
    }
    end();
}

/* The address may be that of a shared buffer: what is written through it is not seen. */
static void addresses(void)
{
    set_driver();
    functions_install(&table, own);
    follow(RECORD_OBJECT, 0);
    CHECK(writes_known());
    const address_fn function = (address_fn)by_name(0, "clSetKernelArgDevicePointerEXT");
    CHECK(!writes_known());
    platform_of_kernel[0] = 0;
    set(0, 0, memory(0));
    driver.status = CL_INVALID_ARG_VALUE;
    CHECK_INT(function(kernel(0), 0, 16), CL_INVALID_ARG_VALUE);
    CHECK_INT(named(0, RECORD_OBJECT), 1);
    driver.status = CL_SUCCESS;
    CHECK_INT(function(kernel(0), 0, 16), CL_SUCCESS);
    CHECK_INT(named(0, RECORD_OBJECT), 0);
    CHECK_INT(driver.set_by[0], 2);
    end();
}

/* A driver that does not tell whose the kernel is gets what was asked for first. */
static void unknown_kernels(void)
{
    const pointer_fn function = (pointer_fn)by_name(0, "clSetKernelArgMemPointerINTEL");
    set_driver();
    platform_of_kernel[0] = 1;
    driver.tells_context = false;
    CHECK_INT(function(kernel(0), 0, &driver), CL_SUCCESS);
    driver.tells_context = true;
    driver.tells_devices = false;
    CHECK_INT(function(kernel(0), 0, &driver), CL_SUCCESS);
    CHECK_INT(driver.set_by[0], 2);
}

/* There is room for the functions of 16 platforms. Those of more have none, since they could not be told apart. */
static void many_platforms(void)
{
    static char marks[20];
    void *address = as_address((next_function)pointer_0);
    next_function first = NULL;
    unsigned with = 0;
    set_driver();
    for (size_t i = 0; i < sizeof(marks); i++) {
        const next_function ours =
            extension_function((cl_platform_id)&marks[i], "clSetKernelArgMemPointerINTEL", address);
        first = first ? first : ours;
        CHECK(!ours || ours == first);
        with += ours != NULL;
    }
    CHECK(with >= 16 - PLATFORMS && with <= 16);
    CHECK(extension_function((cl_platform_id)&marks[0], "clSetKernelArgMemPointerINTEL", address) == first);
}

static void other_functions(void)
{
    set_driver();
    functions_install(&table, own);
    const next_function theirs = (next_function)pointer_0;
    const struct next_slot *gl = next_slot_find("clGetGLContextInfoKHR");
    CHECK(by_name(0, "clStrange") == theirs);
    CHECK(by_name(0, "clEnqueueStrange") == theirs);
    CHECK(by_name(0, "clCommandStrange") == theirs);
    CHECK(by_name(0, "clNothing") == NULL);
    CHECK(by_name(0, NULL) == NULL);
    CHECK(table.clGetExtensionFunctionAddress(NULL) == NULL);
    CHECK(by_name(0, "clOurs") == (next_function)own);
    CHECK(table.clGetExtensionFunctionAddressForPlatform((cl_platform_id)&driver, "clOurs") == NULL);
    CHECK(table.clGetExtensionFunctionAddress("clOurs") == as_address((next_function)own));
    /* A function that the loader below has, but does not export. */
    const next_function ours = (next_function)own;
    memcpy((char *)&tier_share_table + gl->offset, &ours, sizeof(ours));
    CHECK(by_name(0, gl->name) == ours);
    memcpy((char *)&tier_share_table + gl->offset, &gl->missing, sizeof(gl->missing));
    CHECK(by_name(0, gl->name) == theirs);
    memcpy(&tier_share_table.clCreateCommandQueueWithProperties, &ours, sizeof(ours));
    CHECK(by_name(0, "clCreateCommandQueueWithPropertiesKHR") == ours);
    const next_function followed = by_name(OLD_PLATFORM, "clCreateCommandQueueWithPropertiesKHR");
    CHECK(followed && followed != ours && followed != (next_function)pointer_1);
}

static const struct tap_test tests[] = {
    {"arguments that are followed", followed},
    {"arguments that a driver refuses", refused},
    {"more arguments than room", little_room},
    {"references of kernels", references},
    {"kernels at old addresses", made_again},
    {"clones", cloned},
    {"pointers by functions of extensions", setters},
    {"kernels of which a driver does not tell", unknown_kernels},
    {"addresses by functions of extensions", addresses},
    {"functions by their names", other_functions},
    {"pointers by functions of extensions, of many platforms", many_platforms},
};

TAP_MAIN(tests)
