/* Which workarounds are on for which driver and device. */
#include "drivers/drivers.h"
#include "handles/tiers.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *platform_name, *device_version;

static cl_int give_text(const char *text, size_t size, void *value)
{
    if (!text || !value || size <= strlen(text))
        return CL_INVALID_VALUE;
    memcpy(value, text, strlen(text) + 1);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    (void)platform, (void)size_ret;
    return give_text(name == CL_PLATFORM_NAME ? platform_name : NULL, size, value);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                                         cl_device_id *devices, cl_uint *count)
{
    (void)platform, (void)type, (void)room;
    devices[0] = (cl_device_id)&device_version;
    *count = 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
                                          size_t *size_ret)
{
    (void)device, (void)name, (void)size_ret;
    return give_text(device_version, size, value);
}

static unsigned quirks_in(const char *platform, const char *device)
{
    platform_name = platform;
    device_version = device;
    tier_formats_table.clGetPlatformInfo = get_platform_info;
    tier_formats_table.clGetDeviceIDs = get_device_ids;
    tier_formats_table.clGetDeviceInfo = get_device_info;
    return quirks_of((cl_platform_id)&platform_name);
}

enum {
    POCL = 1u << QUIRK_FAILED_COMMANDS_CRASH | 1u << QUIRK_HALF_FLOATS,
    REMOTE = 1u << QUIRK_TIGHT_ROWS,
    RUSTICL = 1u << QUIRK_FINISH_HOLDS_QUEUE | 1u << QUIRK_IMAGES_OF_BUFFERS,
    NVIDIA = 1u << QUIRK_UNSET_EVENTS
};

/* In a process of its own, since the setting is read once in each. */
static void turned_off_are(const char *names, unsigned left)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        setenv("CLD3D_NO_QUIRKS", names, 1);
        _exit(quirks_in("Portable Computing Language", "cpu") != left);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

CASE("turned off by name", turned_off)
{
    turned_off_are("unknown,pocl-half-floats", 1u << QUIRK_FAILED_COMMANDS_CRASH);
    turned_off_are("all", 0);
}

CASE("by driver and device", by_driver)
{
    CHECK_INT(quirks_in("Portable Computing Language", "cpu"), POCL);
    CHECK_INT(quirks_in("Portable Computing Language", "HSTR: pocl-remote: cpu"), POCL | REMOTE);
    CHECK_INT(quirks_in("NVIDIA CUDA", "OpenCL 3.0 CUDA"), NVIDIA);
    CHECK_INT(quirks_in("rusticl", "OpenCL 3.0 "), RUSTICL);
    CHECK_INT(quirks_in("Portable", "cpu"), 0);
    CHECK_INT(quirks_in(NULL, "cpu"), 0);
    CHECK_INT(quirks_of(NULL), 0);
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    return tap_run(argc, argv);
}
