#define _GNU_SOURCE /* NSIG, sigaltstack */
#include "host/signals.h"

#include <signal.h>

/* SIG_DFL where Wine has none, or where it is not ours to set again. */
static struct sigaction wines[NSIG];

static void note(void)
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &wines[number]) != 0 || wines[number].sa_handler == SIG_IGN)
            wines[number].sa_handler = SIG_DFL;
    /* PoCL's own handler goes on behind a division by zero in a kernel. In the threads in which kernels run Wine's
     * would end the process: they are not Wine's. */
    wines[SIGFPE].sa_handler = SIG_DFL;
}

/* The calling thread's stack for handlers: LLVM sets another, in the thread in which it takes the signals. */
static stack_t before_call(void)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    sigaltstack(NULL, &stack);
    return stack;
}

/* Other threads may be in such calls too: each sets the same handlers again. */
static void after_call(const stack_t *stack)
{
    for (int number = 1; number < NSIG; number++)
        if (wines[number].sa_handler != SIG_DFL)
            sigaction(number, &wines[number], NULL);
    sigaltstack(stack, NULL);
}

/* All of a function: the call, with its result. */
#define AROUND(type, call)               \
    const stack_t stack = before_call(); \
    const type result = call;            \
    after_call(&stack);                  \
    return result

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                                         cl_device_id *devices, cl_uint *num_devices)
{
    AROUND(cl_int, next.clGetDeviceIDs(platform, device_type, num_entries, devices, num_devices));
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint num_devices,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *),
                                             void *user_data, cl_int *errcode_ret)
{
    AROUND(cl_context, next.clCreateContext(properties, num_devices, devices, pfn_notify, user_data, errcode_ret));
}

static cl_context CL_API_CALL create_context_from_type(
    const cl_context_properties *properties, cl_device_type device_type,
    void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *errcode_ret)
{
    AROUND(cl_context, next.clCreateContextFromType(properties, device_type, pfn_notify, user_data, errcode_ret));
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                        const char *options, void(CL_CALLBACK *pfn_notify)(cl_program, void *),
                                        void *user_data)
{
    AROUND(cl_int, next.clBuildProgram(program, num_devices, device_list, options, pfn_notify, user_data));
}

static cl_int CL_API_CALL compile_program(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                                          const char *options, cl_uint num_input_headers,
                                          const cl_program *input_headers, const char **header_include_names,
                                          void(CL_CALLBACK *pfn_notify)(cl_program, void *), void *user_data)
{
    AROUND(cl_int, next.clCompileProgram(program, num_devices, device_list, options, num_input_headers, input_headers,
                                         header_include_names, pfn_notify, user_data));
}

static cl_program CL_API_CALL link_program(cl_context context, cl_uint num_devices, const cl_device_id *device_list,
                                           const char *options, cl_uint num_input_programs,
                                           const cl_program *input_programs,
                                           void(CL_CALLBACK *pfn_notify)(cl_program, void *), void *user_data,
                                           cl_int *errcode_ret)
{
    AROUND(cl_program, next.clLinkProgram(context, num_devices, device_list, options, num_input_programs,
                                          input_programs, pfn_notify, user_data, errcode_ret));
}

void signals_install(cl_icd_dispatch *table)
{
    note();
    table->clGetDeviceIDs = get_device_ids;
    table->clCreateContext = create_context;
    table->clCreateContextFromType = create_context_from_type;
    table->clBuildProgram = build_program;
    table->clCompileProgram = compile_program;
    table->clLinkProgram = link_program;
}
