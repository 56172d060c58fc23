/* A layer below the bridge that calls functions of the program as drivers may, in threads of the host: the notify function of a context,
 * for each buffer that can't be made, and those of clSetProgramReleaseCallback, which no driver of the tests has. For one context. */
#include "layer_entry.h"

#include <pthread.h>
#include <stdbool.h>

typedef void(CL_CALLBACK *context_function)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *program_function)(cl_program, void *);

/* ---- contexts ---- */

static context_function notify;
static void *notify_data;

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices, context_function function, void *data,
                                             cl_int *status)
{
    notify = function;
    notify_data = data;
    return below->clCreateContext(properties, count, devices, function, data, status);
}

static void *tell_of_buffer(void *size)
{
    char text[32] = "there is no such buffer"; /* gone when this returns */
    notify(text, size, sizeof(size_t), notify_data);
    memset(text, 'x', sizeof(text));
    return NULL;
}

/* In a thread of its own, which has ended when the call returns. */
static void run(void *(*function)(void *), void *data)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, data) == 0)
        pthread_join(thread, NULL);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    cl_mem buffer = below->clCreateBuffer(context, flags, size, host, status);
    if (!buffer && notify)
        run(tell_of_buffer, &size);
    return buffer;
}

/* ---- programs ---- */

enum { MOST = 16 };
static struct {
    cl_program program;
    program_function function;
    void *data;
} ends[MOST];
static unsigned count; /* of one thread */

static cl_int CL_API_CALL set_release_callback(cl_program program, program_function function, void *data)
{
    if (!function || count == MOST)
        return CL_INVALID_VALUE;
    ends[count].program = program;
    ends[count].function = function;
    ends[count++].data = data;
    return CL_SUCCESS;
}

static void *tell_of_program(void *program)
{
    for (unsigned i = count; i-- > 0;)
        if (ends[i].program == program) {
            ends[i].program = NULL;
            ends[i].function(program, ends[i].data);
        }
    return NULL;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    cl_uint references = 0;
    if (below->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL) ==
            CL_SUCCESS &&
        references == 1)
        run(tell_of_program, program);
    return below->clReleaseProgram(program);
}

static void replace(void)
{
    table.clCreateContext = create_context;
    table.clCreateBuffer = create_buffer;
    table.clSetProgramReleaseCallback = set_release_callback;
    table.clReleaseProgram = release_program;
}
