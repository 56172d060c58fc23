/* The notify functions of clBuildProgram, clCompileProgram and clLinkProgram. The OpenCL below is called without one, so
 * the work is done when it returns; then the function is called, in the call itself as some drivers do. */
#include "emulate/emulate.h"

#include "log.h"
#include "os/os.h"

typedef void(CL_CALLBACK *notify_function)(cl_program, void *);

/* `failure` is the error code of a build that ran and failed. */
static cl_int finish(const char *call, notify_function notify, cl_program program, void *data, cl_int status,
                     cl_int failure)
{
    if (status == CL_INVALID_OPERATION && os_is_wine())
        log_write(LOG_WARN,
                  "%s: CL_INVALID_OPERATION (%d): Wine 8's opencl.dll always fails in this function; it works with the "
                  "host companion libcld3d.so",
                  call, status);
    if (notify && (status == CL_SUCCESS || status == failure))
        notify(program, data);
    return status;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                        const char *options, notify_function pfn_notify, void *user_data)
{
    return finish(
        "clBuildProgram", pfn_notify, program, user_data,
        underlying.clBuildProgram(program, num_devices, device_list, options, NULL, pfn_notify ? NULL : user_data),
        CL_BUILD_PROGRAM_FAILURE);
}

static cl_int CL_API_CALL compile_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                          const char *options, cl_uint num_input_headers,
                                          const cl_program *input_headers, const char **header_include_names,
                                          notify_function pfn_notify, void *user_data)
{
    return finish("clCompileProgram", pfn_notify, program, user_data,
                  underlying.clCompileProgram(program, num_devices, device_list, options, num_input_headers,
                                              input_headers, header_include_names, NULL, pfn_notify ? NULL : user_data),
                  CL_COMPILE_PROGRAM_FAILURE);
}

/* Wine 8, which cannot link, returns an arbitrary address together with its error. A failed link also gives a program,
 * which has the log. */
static cl_program CL_API_CALL link_program(cl_context context, cl_uint num_devices, const cl_device_id *device_list,
                                           const char *options, cl_uint num_input_programs,
                                           const cl_program *input_programs, notify_function pfn_notify,
                                           void *user_data, cl_int *errcode_ret)
{
    cl_int status = CL_OUT_OF_RESOURCES; /* a driver that crashes below Wine sets none */
    cl_program program = underlying.clLinkProgram(context, num_devices, device_list, options, num_input_programs,
                                                  input_programs, NULL, pfn_notify ? NULL : user_data, &status);
    if (status != CL_SUCCESS && status != CL_LINK_PROGRAM_FAILURE)
        program = NULL;
    finish("clLinkProgram", program ? pfn_notify : NULL, program, user_data, status, CL_LINK_PROGRAM_FAILURE);
    give_code(errcode_ret, status);
    return program;
}

void program_notify_install(cl_icd_dispatch *table)
{
    table->clBuildProgram = build_program;
    table->clCompileProgram = compile_program;
    table->clLinkProgram = link_program;
}
