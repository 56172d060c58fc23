#include "formats/binary.h"

#include "log.h"
#include "os/os.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More than there are formats that are emulated on a device; sub-devices come and go. */
enum { CAPACITY = 64 };

/* Immutable. */
struct binary {
    struct binary *after;
    cl_device_id device;
    size_t size;   /* 0: a program was compiled, and nothing is kept of it */
    char *options; /* behind the bytes */
    unsigned char bytes[];
};

static os_mutex lock = OS_MUTEX_INIT;
static struct binary *newest; /* guarded by `lock`, as is `count` */
static unsigned count;

static struct binary *make(cl_device_id device, const char *options, size_t size)
{
    const size_t length = strlen(options) + 1;
    struct binary *b = malloc(sizeof(*b) + size + length);
    if (!b)
        return NULL;
    b->device = device;
    b->size = size;
    b->options = memcpy(b->bytes + size, options, length);
    return b;
}

/* Where it is linked, or the end of the list. */
static struct binary **find_locked(cl_device_id device, const char *options)
{
    struct binary **at = &newest;
    while (*at && !((*at)->device == device && strcmp((*at)->options, options) == 0))
        at = &(*at)->after;
    return at;
}

/* A copy, owned by the caller: no driver is called under the lock. */
static struct binary *find(cl_device_id device, const char *options)
{
    struct binary *copy = NULL;
    os_lock(&lock);
    const struct binary *found = *find_locked(device, options);
    if (found && found->size > 0)
        copy = make(device, options, found->size);
    if (copy)
        memcpy(copy->bytes, found->bytes, found->size);
    os_unlock(&lock);
    return copy;
}

cl_program binary_load(cl_context context, cl_device_id device, const char *options)
{
    struct binary *b = find(device, options);
    if (!b)
        return NULL;
    const unsigned char *bytes = b->bytes;
    cl_int status = CL_OUT_OF_RESOURCES, of_device = CL_SUCCESS;
    cl_program program = next.clCreateProgramWithBinary(context, 1, &device, &b->size, &bytes, &of_device, &status);
    free(b);
    if (program && status == CL_SUCCESS)
        status = next.clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (status == CL_SUCCESS)
        return program;
    log_write(LOG_DEBUG, "the OpenCL driver does not take a binary of its own (error %d): the program is compiled",
              status);
    if (program)
        next.clReleaseProgram(program);
    return NULL;
}

static struct binary **oldest_locked(void)
{
    struct binary **at = &newest;
    while (*at && (*at)->after)
        at = &(*at)->after;
    return at;
}

/* Replaces one that the driver has not taken, or the oldest of too many. */
static void put(struct binary *b)
{
    os_lock(&lock);
    struct binary **at = find_locked(b->device, b->options);
    if (!*at && count == CAPACITY)
        at = oldest_locked();
    struct binary *replaced = *at;
    if (replaced)
        *at = replaced->after;
    else
        count++;
    b->after = newest;
    newest = b;
    os_unlock(&lock);
    free(replaced);
}

static bool was_compiled(cl_device_id device, const char *options)
{
    os_lock(&lock);
    const bool was = *find_locked(device, options) != NULL;
    os_unlock(&lock);
    return was;
}

void binary_keep(cl_device_id device, const char *options, cl_program program)
{
    size_t size = 0;
    if (was_compiled(device, options) &&
        next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS)
        return;
    struct binary *b = make(device, options, size);
    if (!b)
        return;
    unsigned char *bytes = b->bytes;
    if (size == 0 || next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL) == CL_SUCCESS)
        put(b);
    else
        free(b);
}
