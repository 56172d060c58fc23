/* Drivers that call functions of the program in threads of the host, below the bridge: the notify function of a context, for each
 * buffer that can't be made, and those of clSetProgramReleaseCallback, which no driver of the tests has. For one context. */
#include "layer.h"

#include <pthread.h>

/* ---- contexts ---- */

static void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *);
static void *notify_data;

REPLACES(clCreateContext)
{
    notify = pfn_notify;
    notify_data = user_data;
    return PASS(clCreateContext);
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

REPLACES(clCreateBuffer)
{
    cl_mem buffer = PASS(clCreateBuffer);
    if (!buffer && notify)
        run(tell_of_buffer, &size);
    return buffer;
}

/* ---- programs ---- */

enum { MOST = 16 };
static struct {
    cl_program program;
    void(CL_CALLBACK *function)(cl_program, void *);
    void *data;
} ends[MOST];
static unsigned count; /* of one thread */

REPLACES(clSetProgramReleaseCallback)
{
    if (!pfn_notify || count == MOST)
        return CL_INVALID_VALUE;
    ends[count].program = program;
    ends[count].function = pfn_notify;
    ends[count++].data = user_data;
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

REPLACES(clReleaseProgram)
{
    cl_uint references = 0;
    below->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL);
    if (references == 1)
        run(tell_of_program, program);
    return PASS(clReleaseProgram);
}
