/* cld3d's clCloneKernel (emulate/clone_kernel.c), over a driver that is played: the clone has what the kernel's arguments still name,
 * and want of memory is told as that. What it does in programs is in test_newer.c. */
#include "emulate/emulate.h"
#include "next/query.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

enum { ARGUMENTS = 3, CLONE = 1 };

/* The first argument is a memory object. */
static struct played {
    const cl_icd_dispatch *dispatch;
    cl_int values[ARGUMENTS];
} kernels[3];

static unsigned made;
static bool object_is_gone;
static char function_name[3000], created_name[3000];

static cl_int CL_API_CALL get_kernel_info(cl_kernel kernel, cl_kernel_info name, size_t size, void *value,
                                          size_t *size_ret)
{
    const cl_uint count = ARGUMENTS;
    (void)kernel;
    if (name == CL_KERNEL_FUNCTION_NAME)
        return answer("clGetKernelInfo", function_name, strlen(function_name) + 1, size, value, size_ret);
    if (name == CL_KERNEL_NUM_ARGS)
        memcpy(value, &count, sizeof(count));
    else
        memset(value, 0, size);
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *status)
{
    (void)program;
    snprintf(created_name, sizeof(created_name), "%s", name);
    memset(kernels[made].values, 0, sizeof(kernels[made].values));
    *status = CL_SUCCESS;
    return (cl_kernel)&kernels[made++];
}

static cl_int CL_API_CALL release(cl_kernel kernel)
{
    (void)kernel;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL set_arg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    if (index == 0 && object_is_gone)
        return CL_INVALID_MEM_OBJECT;
    if (size == sizeof(cl_int))
        memcpy(&((struct played *)kernel)->values[index], value, size);
    return CL_SUCCESS;
}

static cl_icd_dispatch table;

/* A kernel with all arguments. */
static cl_kernel open_kernel(void)
{
    static const cl_int values[ARGUMENTS] = {4, 5, 6};
    cl_int status = 1;
    made = 0;
    object_is_gone = false;
    underlying.clGetKernelInfo = get_kernel_info;
    underlying.clCreateKernel = create;
    underlying.clReleaseKernel = release;
    underlying.clSetKernelArg = set_arg;
    for (int i = 0; i < 3; i++)
        kernels[i].dispatch = &underlying;
    clone_kernel_install(&table);
    cl_kernel kernel = table.clCreateKernel(NULL, "", &status);
    for (cl_uint i = 0; i < ARGUMENTS; i++)
        CHECK_INT(table.clSetKernelArg(kernel, i, sizeof(values[i]), &values[i]), CL_SUCCESS);
    return kernel;
}

static void gone_object(void)
{
    cl_int status = 1;
    cl_kernel kernel = open_kernel();
    object_is_gone = true;
    cl_kernel clone = table.clCloneKernel(kernel, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(clone == (cl_kernel)&kernels[CLONE]);
    CHECK_INT(kernels[CLONE].values[0], 0);
    CHECK_INT(kernels[CLONE].values[1], 5);
    CHECK_INT(kernels[CLONE].values[2], 6);
    CHECK_INT(table.clReleaseKernel(kernel), CL_SUCCESS);
    if (clone)
        CHECK_INT(table.clReleaseKernel(clone), CL_SUCCESS);
}

static void long_name(void)
{
    cl_int status = 1;
    memset(function_name, 'k', sizeof(function_name) - 1);
    cl_kernel kernel = open_kernel(), clone = table.clCloneKernel(kernel, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_STR(created_name, function_name);
    CHECK_INT(table.clReleaseKernel(kernel), CL_SUCCESS);
    if (clone)
        CHECK_INT(table.clReleaseKernel(clone), CL_SUCCESS);
    function_name[0] = '\0';
}

static void lost_argument(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer ends a program that asks for so much memory");
#else
    const size_t more_than_there_is = SIZE_MAX / 2 + 1;
    const cl_int number = 7;
    cl_int status = 1;
    cl_kernel kernel = open_kernel();
    CHECK_INT(table.clSetKernelArg(kernel, 1, more_than_there_is, &number), CL_SUCCESS);
    CHECK(table.clCloneKernel(kernel, &status) == NULL);
    CHECK_INT(status, CL_OUT_OF_HOST_MEMORY);
    CHECK_INT(table.clSetKernelArg(kernel, 1, sizeof(number), &number), CL_SUCCESS);
    cl_kernel clone = table.clCloneKernel(kernel, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(kernels[2].values[1], 7);
    CHECK_INT(table.clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(table.clReleaseKernel(clone), CL_SUCCESS);
#endif
}

/* A kernel that nothing is known of, as one for which memory was short. */
static void unknown_kernel(void)
{
    cl_int status = 1;
    CHECK_INT(table.clReleaseKernel(open_kernel()), CL_SUCCESS);
    CHECK(table.clCloneKernel((cl_kernel)&kernels[2], &status) == NULL);
    CHECK_INT(status, CL_OUT_OF_HOST_MEMORY);
    CHECK(table.clCloneKernel(NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_KERNEL);
}

static const struct tap_test tests[] = {
    {"the clone of a kernel whose memory object has gone", gone_object},
    {"the clone of a kernel with a long name", long_name},
    {"the clone of a kernel of which an argument is lost", lost_argument},
    {"the clone of a kernel that is not known", unknown_kernel},
};

TAP_MAIN(tests)
