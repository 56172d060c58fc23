/* Programs of contexts with interop are built so that their kernels report which image arguments they read and which
 * they write. PoCL discards this unless the option is given; each kernel with an emulated image would then count as
 * doing both (launch.c). The application sees only the options that it gave. */
#include "formats/image.h"

#include "handles/handle_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED "-cl-kernel-arg-info"
/* The macro precedes cld3d's options, and so separates them from the application's. */
#define MARK "-D__CLD3D__"

/* The program's context, retained; NULL if it has no interop. */
static struct context_record *with_interop(cl_program program)
{
    cl_context handle = NULL;
    if (!registry_hot() || !handle_may_be(program, clGetProgramInfo) || handle_is_other(HANDLE_PROGRAM, program) ||
        next.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(handle), &handle, NULL) != CL_SUCCESS)
        return NULL;
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    if (context && context->interop)
        return context;
    record_release(context);
    return NULL;
}

/* The options followed by cld3d's, owned by the caller; NULL if out of memory. `asks`: add ASKED, not only the
 * macro. */
static char *more_options(const char *options, bool asks)
{
    const char *given = options ? options : "", *asked = asks && !strstr(given, ASKED) ? " " ASKED : "";
    const size_t size = strlen(given) + sizeof(" " MARK " " ASKED);
    char *more = malloc(size);
    if (more)
        snprintf(more, size, "%s " MARK "%s", given, asked);
    return more;
}

/* Whether the program was created from source: drivers may refuse options for others. */
static bool has_source(cl_program program)
{
    size_t size = 0;
    return next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) == CL_SUCCESS && size > 1;
}

/* Builds the program again with options that the driver may accept; the application was not notified of the first
 * build. */
static cl_int build_again(cl_int status, cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                          const char *options)
{
    char *marked = status == CL_BUILD_PROGRAM_FAILURE ? more_options(options, false) : NULL;
    if (status == CL_BUILD_PROGRAM_FAILURE || status == CL_INVALID_BUILD_OPTIONS)
        status = next.clBuildProgram(program, num_devices, device_list, marked ? marked : options, NULL, NULL);
    free(marked);
    return status;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                        const char *options, void(CL_CALLBACK *pfn_notify)(cl_program, void *),
                                        void *user_data)
{
    /* With a notify function there is no second build: PoCL 3.1 notifies the application even if it refuses the options
     * at once. */
    const bool again = !pfn_notify;
    struct context_record *context = with_interop(program);
    const bool asks = context && (again || !context_has(context, QUIRK_NVIDIA_ARGUMENT_INFO));
    char *more = context && (again || has_source(program)) ? more_options(options, asks) : NULL;
    record_release(context);
    cl_int status =
        next.clBuildProgram(program, num_devices, device_list, more ? more : options, pfn_notify, user_data);
    if (more && again)
        status = build_again(status, program, num_devices, device_list, options);
    free(more);
    return status;
}

static cl_int CL_API_CALL compile_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                          const char *options, cl_uint num_input_headers,
                                          const cl_program *input_headers, const char **header_include_names,
                                          void(CL_CALLBACK *pfn_notify)(cl_program, void *), void *user_data)
{
    struct context_record *context = with_interop(program);
    /* There is no second try: a failure may be reported only when the program is linked. */
    char *more = context && has_source(program)
                     ? more_options(options, !context_has(context, QUIRK_NVIDIA_ARGUMENT_INFO))
                     : NULL;
    record_release(context);
    const cl_int status =
        next.clCompileProgram(program, num_devices, device_list, more ? more : options, num_input_headers,
                              input_headers, header_include_names, pfn_notify, user_data);
    free(more);
    return status;
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
    struct context_record *context = param_name == CL_PROGRAM_BUILD_OPTIONS ? with_interop(program) : NULL;
    char *given = context ? given_options(program, device) : NULL;
    record_release(context);
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
    table->clCompileProgram = compile_program;
    table->clGetProgramBuildInfo = get_build_info;
}
