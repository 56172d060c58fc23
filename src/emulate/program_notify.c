/* The notify functions of clBuildProgram, clCompileProgram and clLinkProgram. The OpenCL below is called without one,
 * so the work is done when it returns; then the function is called. As after any call with a notify function,
 * clGetProgramBuildInfo reports the result; the call returns CL_SUCCESS even if the build failed. */
#include "emulate/emulate.h"
#include "emulate/delivery.h"
#include "log.h"
#include "os/os.h"

#include <stdlib.h>

typedef void(CL_CALLBACK *notify_function)(cl_program, void *);

/* Wine 8's opencl.dll exports both functions, but they always fail. */
static void explain(const char *call, cl_int status)
{
    if (status == CL_INVALID_OPERATION && os_is_wine())
        log_write(LOG_WARN,
                  "%s: CL_INVALID_OPERATION (%d): Wine 8's opencl.dll always fails in this function; it works with the "
                  "host companion libcld3d.so",
                  call, status);
}

struct notice {
    struct delivery delivery;
    cl_program program;
    bool held; /* cld3d has a reference to the program */
    notify_function notify;
    void *data;
};

static void run(struct delivery *delivery)
{
    struct notice *notice = (struct notice *)delivery;
    notice->notify(notice->program, notice->data);
    if (notice->held)
        underlying.clReleaseProgram(notice->program);
    free(notice);
}

static struct notice *prepare(notify_function notify, void *data)
{
    struct notice *notice = delivery_ready() ? malloc(sizeof(*notice)) : NULL;
    if (notice)
        *notice = (struct notice){{run, NULL}, NULL, false, notify, data};
    return notice;
}

/* `failure` is the error code of a build that ran and failed. */
static cl_int finish(struct notice *notice, cl_program program, cl_int status, cl_int failure)
{
    if (status != CL_SUCCESS && status != failure) {
        free(notice);
        return status; /* no build was started */
    }
    notice->program = program;
    notice->held = underlying.clRetainProgram(program) == CL_SUCCESS;
    deliver(&notice->delivery);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                        const char *options, notify_function pfn_notify, void *user_data)
{
    if (!pfn_notify && user_data && os_is_wine()) /* Wine's opencl.dll does not pass on either of them */
        return log_refuse("clBuildProgram", CL_INVALID_VALUE, "user_data is %p, but there is no function for it",
                          user_data);
    if (!pfn_notify)
        return underlying.clBuildProgram(program, num_devices, device_list, options, NULL, user_data);
    struct notice *notice = prepare(pfn_notify, user_data);
    if (!notice)
        return log_refuse("clBuildProgram", CL_OUT_OF_HOST_MEMORY, "no memory or thread to call the notify function");
    return finish(notice, program, underlying.clBuildProgram(program, num_devices, device_list, options, NULL, NULL),
                  CL_BUILD_PROGRAM_FAILURE);
}

static cl_int CL_API_CALL compile_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                          const char *options, cl_uint num_input_headers,
                                          const cl_program *input_headers, const char **header_include_names,
                                          notify_function pfn_notify, void *user_data)
{
    cl_int status;
    if (!pfn_notify) {
        status = underlying.clCompileProgram(program, num_devices, device_list, options, num_input_headers,
                                             input_headers, header_include_names, NULL, user_data);
        explain("clCompileProgram", status);
        return status;
    }
    struct notice *notice = prepare(pfn_notify, user_data);
    if (!notice)
        return log_refuse("clCompileProgram", CL_OUT_OF_HOST_MEMORY, "no memory or thread to call the notify function");
    status = underlying.clCompileProgram(program, num_devices, device_list, options, num_input_headers, input_headers,
                                         header_include_names, NULL, NULL);
    explain("clCompileProgram", status);
    return finish(notice, program, status, CL_COMPILE_PROGRAM_FAILURE);
}

/* Wine 8, which cannot link, returns an arbitrary address together with its error. A failed link also gives a program,
 * which has the log. */
static cl_program link(cl_context context, cl_uint num_devices, const cl_device_id *device_list, const char *options,
                       cl_uint num_input_programs, const cl_program *input_programs, void *user_data, cl_int *status)
{
    cl_program program = underlying.clLinkProgram(context, num_devices, device_list, options, num_input_programs,
                                                  input_programs, NULL, user_data, status);
    explain("clLinkProgram", *status);
    return *status == CL_SUCCESS || *status == CL_LINK_PROGRAM_FAILURE ? program : NULL;
}

static cl_program CL_API_CALL link_program(cl_context context, cl_uint num_devices, const cl_device_id *device_list,
                                           const char *options, cl_uint num_input_programs,
                                           const cl_program *input_programs, notify_function pfn_notify,
                                           void *user_data, cl_int *errcode_ret)
{
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    cl_program program = NULL;
    struct notice *notice = pfn_notify ? prepare(pfn_notify, user_data) : NULL;
    if (pfn_notify && !notice)
        log_refuse("clLinkProgram", status, "no memory or thread to call the notify function");
    else
        program = link(context, num_devices, device_list, options, num_input_programs, input_programs,
                       pfn_notify ? NULL : user_data, &status);
    if (program && notice)
        status = finish(notice, program, status, CL_LINK_PROGRAM_FAILURE);
    else
        free(notice); /* there is nothing to report */
    give_code(errcode_ret, status);
    return program;
}

void program_notify_install(cl_icd_dispatch *table)
{
    table->clBuildProgram = build_program;
    table->clCompileProgram = compile_program;
    table->clLinkProgram = link_program;
}
