/* A layer below cld3d that builds the programs with which cld3d converts formats from binaries, in all contexts of a process but the
 * first. PoCL reads all headers of OpenCL C for each build from a source, which takes 60 ms, and many cases have a context of
 * their own. (docs/decisions.md says why cld3d itself does not do this.) */
#include "layer.h"

#include <pthread.h>

enum { MOST_PROGRAMS = 512, MOST_BINARIES = 256, OPTIONS_SIZE = 512 };

/* A conversion program of cld3d's, and the one that stands for it. */
static struct standing {
    cl_program source, loaded; /* `loaded` may be NULL */
    cl_context context;
} programs[MOST_PROGRAMS];

static struct binary {
    cl_device_id device;
    char options[OPTIONS_SIZE];
    unsigned char *bytes;
    size_t size;
} binaries[MOST_BINARIES];

static unsigned binary_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the above; not held in calls of the driver */

/* The entry of a program, or with NULL a free one. */
static struct standing *find_program(cl_program source)
{
    for (int i = 0; i < MOST_PROGRAMS; i++)
        if (programs[i].source == source)
            return &programs[i];
    return NULL;
}

REPLACES(clCreateProgramWithSource)
{
    cl_program made = PASS(clCreateProgramWithSource);
    if (!made || count != 1 || lengths || !strstr(strings[0], "kernel void widen(") ||
        !strstr(strings[0], "kernel void narrow("))
        return made;
    pthread_mutex_lock(&lock);
    struct standing *free_place = find_program(NULL);
    if (free_place)
        *free_place = (struct standing){made, NULL, context};
    pthread_mutex_unlock(&lock);
    return made;
}

static cl_device_id only_device(cl_context context)
{
    cl_device_id devices[2];
    size_t size = 0;
    const cl_int status = below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size);
    return status == CL_SUCCESS && size == sizeof(devices[0]) ? devices[0] : NULL;
}

static void keep_binary(cl_program program, cl_device_id device, const char *options)
{
    struct binary binary = {.device = device};
    below->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(binary.size), &binary.size, NULL);
    binary.bytes = malloc(binary.size + !binary.size);
    below->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary.bytes), &binary.bytes, NULL);
    strcpy(binary.options, options);
    pthread_mutex_lock(&lock);
    if (binary.size && binary_count < MOST_BINARIES)
        binaries[binary_count++] = binary;
    pthread_mutex_unlock(&lock);
}

static const struct binary *find_binary(cl_device_id device, const char *options)
{
    const struct binary *found = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < binary_count && !found; i++)
        if (binaries[i].device == device && strcmp(binaries[i].options, options) == 0)
            found = &binaries[i];
    pthread_mutex_unlock(&lock);
    return found;
}

static cl_program load(cl_context context, const struct binary *binary)
{
    cl_int status = CL_SUCCESS, loaded = CL_SUCCESS;
    const unsigned char *bytes = binary->bytes;
    cl_program program =
        below->clCreateProgramWithBinary(context, 1, &binary->device, &binary->size, &bytes, &loaded, &status);
    if (program && below->clBuildProgram(program, 0, NULL, binary->options, NULL, NULL) == CL_SUCCESS)
        return program;
    if (program)
        below->clReleaseProgram(program);
    return NULL;
}

REPLACES(clBuildProgram)
{
    pthread_mutex_lock(&lock);
    struct standing *of = find_program(program);
    pthread_mutex_unlock(&lock);
    cl_device_id device =
        of && !pfn_notify && options && strlen(options) < OPTIONS_SIZE ? only_device(of->context) : NULL;
    const struct binary *binary = device ? find_binary(device, options) : NULL;
    cl_program loaded = binary ? load(of->context, binary) : NULL;
    if (loaded) {
        pthread_mutex_lock(&lock);
        of->loaded = loaded;
        pthread_mutex_unlock(&lock);
        return CL_SUCCESS;
    }
    const cl_int status = PASS(clBuildProgram);
    if (status == CL_SUCCESS && device && !binary)
        keep_binary(program, device, options);
    return status;
}

REPLACES(clCreateKernel)
{
    pthread_mutex_lock(&lock);
    const struct standing *of = program ? find_program(program) : NULL;
    if (of && of->loaded)
        program = of->loaded;
    pthread_mutex_unlock(&lock);
    return PASS(clCreateKernel);
}

/* cld3d retains none of its programs. */
REPLACES(clReleaseProgram)
{
    cl_program loaded = NULL;
    pthread_mutex_lock(&lock);
    struct standing *of = program ? find_program(program) : NULL;
    if (of) {
        loaded = of->loaded;
        *of = (struct standing){NULL, NULL, NULL};
    }
    pthread_mutex_unlock(&lock);
    if (loaded)
        below->clReleaseProgram(loaded);
    return PASS(clReleaseProgram);
}
