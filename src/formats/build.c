/* Programs of contexts with interop are built so that their kernels report which image arguments they read and which
 * they write; otherwise each kernel with an emulated image would count as doing both (launch.c). The application sees
 * only the options that it gave. */
#include "formats/image.h"

#include "handles/handle_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The macro precedes cld3d's option, and so separates it from the application's. */
#define MARK "-D__CLD3D__"
#define ADDED " " MARK " -cl-kernel-arg-info"

static bool has_interop(cl_program program)
{
    cl_context handle = NULL;
    if (!registry_hot() || !handle_may_be(program, clGetProgramInfo) || handle_is_other(HANDLE_PROGRAM, program) ||
        next.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(handle), &handle, NULL) != CL_SUCCESS)
        return false;
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    const bool interop = context && context->interop;
    record_release(context);
    return interop;
}

/* If the driver refuses the option, the program is built without it. That cannot be done for a build in the background,
 * of whose failure the driver notifies the application. */
static cl_int CL_API_CALL build_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                        const char *options, void(CL_CALLBACK *pfn_notify)(cl_program, void *),
                                        void *user_data)
{
    const char *given = options ? options : "";
    const size_t size = strlen(given) + sizeof(ADDED);
    char *more = !pfn_notify && has_interop(program) ? malloc(size) : NULL;
    if (more) {
        snprintf(more, size, "%s" ADDED, given);
        const cl_int status = next.clBuildProgram(program, num_devices, device_list, more, NULL, user_data);
        free(more);
        if (status != CL_BUILD_PROGRAM_FAILURE && status != CL_INVALID_BUILD_OPTIONS)
            return status;
    }
    return next.clBuildProgram(program, num_devices, device_list, options, pfn_notify, user_data);
}

/* The driver's answer without the added options; NULL if none were added, or if the driver does not answer. */
static char *given_options(cl_program program, cl_device_id device)
{
    size_t size = 0;
    if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    char *options = calloc(1, size + 1), *added = NULL;
    if (options &&
        next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, size, options, NULL) == CL_SUCCESS)
        added = strstr(options, MARK);
    if (added) {
        while (added > options && added[-1] == ' ')
            added--;
        *added = '\0';
        return options;
    }
    free(options);
    return NULL;
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device, cl_program_build_info param_name,
                                         size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    char *given =
        param_name == CL_PROGRAM_BUILD_OPTIONS && has_interop(program) ? given_options(program, device) : NULL;
    if (!given)
        return next.clGetProgramBuildInfo(program, device, param_name, param_value_size, param_value,
                                          param_value_size_ret);
    const cl_int status =
        answer("clGetProgramBuildInfo", given, strlen(given) + 1, param_value_size, param_value, param_value_size_ret);
    free(given);
    return status;
}

void build_install(cl_icd_dispatch *table)
{
    table->clBuildProgram = build_program;
    table->clGetProgramBuildInfo = get_build_info;
}
