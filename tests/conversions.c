/* A layer below cld3d that builds the programs with which cld3d converts formats from binaries, in all contexts of a process but the
 * first. PoCL reads all headers of OpenCL C for each build from a source, which takes 60 ms, and many cases have a context of
 * their own. (docs/decisions.md says why cld3d itself does not do this.) */
#include "layer_entry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROGRAMS = 512, MOST_BINARIES = 256, OPTIONS_SIZE = 512 };

/* A conversion program of cld3d's, and the one that stands for it. */
static struct program {
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
static struct program *find_program(cl_program source)
{
    for (int i = 0; i < MOST_PROGRAMS; i++)
        if (programs[i].source == source)
            return &programs[i];
    return NULL;
}

/* The program that the driver is to be given for one. */
static cl_program standing_for(cl_program source)
{
    pthread_mutex_lock(&lock);
    const struct program *program = source ? find_program(source) : NULL;
    cl_program loaded = program ? program->loaded : NULL;
    pthread_mutex_unlock(&lock);
    return loaded ? loaded : source;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *status)
{
    cl_program made = below->clCreateProgramWithSource(context, count, texts, lengths, status);
    if (!made || count != 1 || lengths || !strstr(texts[0], "kernel void widen(") ||
        !strstr(texts[0], "kernel void narrow("))
        return made;
    pthread_mutex_lock(&lock);
    struct program *program = find_program(NULL);
    if (program)
        *program = (struct program){made, NULL, context};
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

static cl_int CL_API_CALL build_program(cl_program source, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    pthread_mutex_lock(&lock);
    struct program *program = find_program(source);
    pthread_mutex_unlock(&lock);
    cl_device_id device =
        program && !notify && options && strlen(options) < OPTIONS_SIZE ? only_device(program->context) : NULL;
    const struct binary *binary = device ? find_binary(device, options) : NULL;
    cl_program loaded = binary ? load(program->context, binary) : NULL;
    if (loaded) {
        pthread_mutex_lock(&lock);
        program->loaded = loaded;
        pthread_mutex_unlock(&lock);
        return CL_SUCCESS;
    }
    const cl_int status = below->clBuildProgram(source, count, devices, options, notify, data);
    if (status == CL_SUCCESS && device && !binary)
        keep_binary(source, device, options);
    return status;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *status)
{
    return below->clCreateKernel(standing_for(program), name, status);
}

/* cld3d retains none of its programs. */
static cl_int CL_API_CALL release_program(cl_program source)
{
    cl_program loaded = NULL;
    pthread_mutex_lock(&lock);
    struct program *program = source ? find_program(source) : NULL;
    if (program) {
        loaded = program->loaded;
        *program = (struct program){NULL, NULL, NULL};
    }
    pthread_mutex_unlock(&lock);
    if (loaded)
        below->clReleaseProgram(loaded);
    return below->clReleaseProgram(source);
}

static void replace(void)
{
    table.clCreateProgramWithSource = create_program;
    table.clBuildProgram = build_program;
    table.clCreateKernel = create_kernel;
    table.clReleaseProgram = release_program;
}
