/* A layer that takes the process's signals in every call in which a driver may begin to use its compiler, as LLVM does
 * in PoCL, for test_signals: below the bridge. */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "layer_entry.h"

#include <signal.h>
#include <string.h>

static void taken(int number)
{
    (void)number;
}

/* The thread's stack for handlers too. */
static void take(void)
{
    static const int numbers[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGFPE};
    static char room[65536];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
    action.sa_handler = taken;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
    sigaltstack(&stack, NULL);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                                         cl_device_id *devices, cl_uint *count)
{
    take();
    return below->clGetDeviceIDs(platform, type, room, devices, count);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                             void *data, cl_int *status)
{
    take();
    return below->clCreateContext(properties, count, devices, notify, data, status);
}

static cl_context CL_API_CALL create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                                                       void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                                                 void *),
                                                       void *data, cl_int *status)
{
    take();
    return below->clCreateContextFromType(properties, type, notify, data, status);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    take();
    return below->clBuildProgram(program, count, devices, options, notify, data);
}

static cl_int CL_API_CALL compile(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                  cl_uint headers, const cl_program *parts, const char **names,
                                  void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    take();
    return below->clCompileProgram(program, count, devices, options, headers, parts, names, notify, data);
}

static cl_program CL_API_CALL link_all(cl_context context, cl_uint count, const cl_device_id *devices,
                                       const char *options, cl_uint part_count, const cl_program *parts,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *status)
{
    take();
    return below->clLinkProgram(context, count, devices, options, part_count, parts, notify, data, status);
}

static void replace(void)
{
    table.clGetDeviceIDs = get_device_ids;
    table.clCreateContext = create_context;
    table.clCreateContextFromType = create_context_from_type;
    table.clBuildProgram = build;
    table.clCompileProgram = compile;
    table.clLinkProgram = link_all;
}
