/* The drivers' functions for command buffers. */
#include "share/command_buffer.h"

#include "log.h"
#include "next/query.h"
#include "handles/handle_kind.h"

#include <stdlib.h>
#include <string.h>

const char *const command_buffer_names[COMMAND_BUFFER_FUNCTIONS] = {
    [BUFFER_CREATE] = "clCreateCommandBufferKHR",
    [BUFFER_RETAIN] = "clRetainCommandBufferKHR",
    [BUFFER_RELEASE] = "clReleaseCommandBufferKHR",
    [BUFFER_ENQUEUE] = "clEnqueueCommandBufferKHR",
    [BUFFER_REMAP] = "clRemapCommandBufferKHR",
    [RECORD_COPY_BUFFER] = "clCommandCopyBufferKHR",
    [RECORD_COPY_BUFFER_RECT] = "clCommandCopyBufferRectKHR",
    [RECORD_COPY_BUFFER_TO_IMAGE] = "clCommandCopyBufferToImageKHR",
    [RECORD_COPY_IMAGE] = "clCommandCopyImageKHR",
    [RECORD_COPY_IMAGE_TO_BUFFER] = "clCommandCopyImageToBufferKHR",
    [RECORD_FILL_BUFFER] = "clCommandFillBufferKHR",
    [RECORD_FILL_IMAGE] = "clCommandFillImageKHR",
    [RECORD_ND_RANGE_KERNEL] = "clCommandNDRangeKernelKHR",
    [RECORD_READ_BUFFER] = "clCommandReadBufferPOCL",
    [RECORD_READ_BUFFER_RECT] = "clCommandReadBufferRectPOCL",
    [RECORD_READ_IMAGE] = "clCommandReadImagePOCL",
    [RECORD_WRITE_BUFFER] = "clCommandWriteBufferPOCL",
    [RECORD_WRITE_BUFFER_RECT] = "clCommandWriteBufferRectPOCL",
    [RECORD_WRITE_IMAGE] = "clCommandWriteImagePOCL",
};

enum { DRIVERS = 16 };

/* Guarded by registry_lock; an entry is constant. */
static struct command_buffer_driver drivers[DRIVERS];
static unsigned driver_count;

/* The version of the extension in a list of extensions. */
static bool version_in(const cl_name_version *list, size_t count, cl_version *version)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, "cl_khr_command_buffer") == 0) {
            *version = list[i].version;
            return true;
        }
    return false;
}

static bool version_of_device(cl_device_id device, cl_version *version)
{
    const cl_device_info name = CL_DEVICE_EXTENSIONS_WITH_VERSION;
    size_t size = 0;
    if (below()->clGetDeviceInfo(device, name, 0, NULL, &size) != CL_SUCCESS || !size)
        return false;
    cl_name_version *list = calloc(1, size);
    const bool found = list && below()->clGetDeviceInfo(device, name, size, list, NULL) == CL_SUCCESS &&
                       version_in(list, size / sizeof(*list), version);
    free(list);
    return found;
}

/* All devices of a platform share its functions, so the first device that reports the version decides for all. */
static bool version_of(cl_platform_id platform, cl_version *version)
{
    struct device_list devices;
    devices_of_platform(below(), platform, &devices);
    for (cl_uint i = 0; i < devices.count; i++)
        if (version_of_device(devices.at[i], version))
            return true;
    return false;
}

static const struct command_buffer_driver *find_driver(cl_platform_id platform)
{
    const struct command_buffer_driver *found = NULL;
    os_lock(&registry_lock);
    for (unsigned i = 0; i < driver_count && !found; i++)
        found = drivers[i].platform == platform ? &drivers[i] : NULL;
    os_unlock(&registry_lock);
    return found;
}

/* The first result is kept: a program must not get some functions from cld3d and others from the driver. */
static const struct command_buffer_driver *add_driver(cl_platform_id platform)
{
    struct command_buffer_driver driver = {.platform = platform};
    cl_version version = 0;
    driver.followed = version_of(platform, &version);
    driver.properties = version >= CL_MAKE_VERSION(0, 9, 5);
    if (!driver.followed)
        log_write(LOG_INFO, "the driver does not report the version of cl_khr_command_buffer: commands of command "
                            "buffers are neither tracked nor checked for objects that are not acquired");
    for (int i = 0; i < COMMAND_BUFFER_FUNCTIONS; i++)
        driver.functions[i] = next_by_name(below(), platform, command_buffer_names[i]);
    os_lock(&registry_lock);
    unsigned i = 0;
    while (i < driver_count && drivers[i].platform != platform)
        i++;
    if (i == driver_count && i < DRIVERS)
        drivers[driver_count++] = driver;
    os_unlock(&registry_lock);
    return i < DRIVERS ? &drivers[i] : NULL;
}

cl_platform_id command_buffer_platform(const char *name, const void *address)
{
    cl_uint count = 0;
    cl_int status;
    cl_platform_id *platforms = platform_list(&count, &status), found = NULL;
    for (cl_uint i = 0; i < count && !found; i++)
        if (below()->clGetExtensionFunctionAddressForPlatform(platforms[i], name) == address)
            found = platforms[i];
    free(platforms);
    return found;
}

/* Only cld3d's own functions call this, so there is at least one driver. */
const struct command_buffer_driver *command_buffer_driver_of(cl_command_queue queue)
{
    cl_device_id device = NULL;
    cl_platform_id platform = NULL;
    os_lock(&registry_lock);
    const bool single = driver_count == 1;
    os_unlock(&registry_lock);
    if (!single &&
        below()->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) == CL_SUCCESS &&
        device_may_be(device))
        below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return single ? &drivers[0] : find_driver(platform);
}

const struct command_buffer_driver *command_buffer_driver_get(cl_platform_id platform)
{
    const struct command_buffer_driver *driver = find_driver(platform);
    return driver ? driver : add_driver(platform);
}
