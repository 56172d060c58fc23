/* Which workarounds are on for which driver, in which version. */
#include "log.h"
#include "tap.h"
#include "handles/quirks.h"
#include "handles/tiers.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *platform_name, *platform_version;

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    const char *text = name == CL_PLATFORM_NAME ? platform_name : name == CL_PLATFORM_VERSION ? platform_version : NULL;
    (void)platform;
    if (!text || !value || size <= strlen(text))
        return CL_INVALID_VALUE;
    memcpy(value, text, strlen(text) + 1);
    if (size_ret)
        *size_ret = strlen(text) + 1;
    return CL_SUCCESS;
}

/* Two devices of the platform, the second with this version. */
static int devices_of_it[2];
static const char *device_version = "OpenCL 3.0 PoCL HSTR: cpu";

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                                         cl_device_id *devices, cl_uint *count)
{
    if (platform != (cl_platform_id)&platform_name || type != CL_DEVICE_TYPE_ALL || room < 2 || !device_version)
        return CL_DEVICE_NOT_FOUND;
    for (unsigned i = 0; i < 2; i++)
        devices[i] = (cl_device_id)&devices_of_it[i];
    *count = 2;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
                                          size_t *size_ret)
{
    const char *text = device == (cl_device_id)&devices_of_it[0] ? "OpenCL 3.0 PoCL HSTR: cpu" : device_version;
    (void)size_ret;
    if (name != CL_DEVICE_VERSION || size <= strlen(text))
        return CL_INVALID_VALUE;
    memcpy(value, text, strlen(text) + 1);
    return CL_SUCCESS;
}

static unsigned quirks_in(const char *name, const char *version)
{
    platform_name = name;
    platform_version = version;
    tier_formats_table.clGetPlatformInfo = get_platform_info;
    tier_formats_table.clGetDeviceIDs = get_device_ids;
    tier_formats_table.clGetDeviceInfo = get_device_info;
    return quirks_of((cl_platform_id)&platform_name);
}

/* By driver; ALL are those of PoCL on this machine. */
enum {
    DESTRUCTOR = 1u << QUIRK_NVIDIA_DESTRUCTOR_CALLBACKS,
    LINES = 1u << QUIRK_NVIDIA_1D_ARRAYS,
    NVIDIA_HOLDS = 1u << QUIRK_NVIDIA_QUEUE_ORDER,
    NVIDIA = 1u << QUIRK_NVIDIA_UNSET_EVENTS | 1u << QUIRK_NVIDIA_ARGUMENT_INFO | DESTRUCTOR | LINES | NVIDIA_HOLDS,
    REMOTE = 1u << QUIRK_POCL_ROW_PITCH | 1u << QUIRK_POCL_SERVER_LOST,
    RUSTICL_HOLDS = 1u << QUIRK_RUSTICL_QUEUE_ORDER,
    RUSTICL = 1u << QUIRK_RUSTICL_FLUSH_WAITS | RUSTICL_HOLDS,
    ALL = ((1u << QUIRKS) - 1) & ~NVIDIA & ~REMOTE & ~RUSTICL,
    ENDS = 1u << QUIRK_POCL_FAILURE_RACE,
    ORDER = 1u << QUIRK_POCL_ORDER,
    WAKES = 1u << QUIRK_POCL_WAKES,
    /* of a driver that does not tell its name: any, but those that would cost something */
    UNNAMED =
        (ALL & ~ENDS & ~WAKES) | (NVIDIA & ~DESTRUCTOR & ~LINES & ~NVIDIA_HOLDS) | REMOTE | (RUSTICL & ~RUSTICL_HOLDS)
};

/* In a process of its own, since the setting is read once in each. */
static void all_off(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        setenv("CLD3D_NO_QUIRKS", "unknown,all", 1);
        _exit(quirks_in("Portable Computing Language", "OpenCL 3.0 PoCL 3.1") != 0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

static void by_driver(void)
{
    const char pocl[] = "Portable Computing Language";
    CHECK_INT(quirks_in(pocl, "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 14.0.6, SLEEF"),
              ALL & ~ENDS);
    CHECK_INT(quirks_in(pocl, "OpenCL 3.0 PoCL 6.0  Linux, Release"), ALL & ~ENDS);
    CHECK_INT(quirks_in(pocl, "OpenCL 3.0 PoCL 6.1  Linux, Release"), ALL & ~ENDS & ~ORDER);
    CHECK_INT(quirks_in(pocl, "OpenCL 3.0 PoCL 12.0"), ALL & ~ENDS & ~ORDER);
    /* What does not tell its version may be any. */
    CHECK_INT(quirks_in(pocl, "OpenCL 3.0"), ALL & ~ENDS);
    CHECK_INT(quirks_in(pocl, "OpenCL 3.0 PoCL"), ALL & ~ENDS);
    CHECK_INT(quirks_in("NVIDIA CUDA", "OpenCL 3.0 CUDA 13.0.98"), NVIDIA);
    CHECK_INT(quirks_in("rusticl", "OpenCL 3.0 "), RUSTICL);
    CHECK_INT(quirks_in("Portable", "OpenCL 3.0 PoCL 3.1"), 0);
    CHECK_INT(quirks_in(NULL, "OpenCL 3.0 PoCL 12.0"), UNNAMED);
    CHECK_INT(quirks_of(NULL), UNNAMED);
}

static void by_device(void)
{
    const char pocl[] = "Portable Computing Language", version[] = "OpenCL 3.0 PoCL 6.0  Linux, Release";
    device_version = "OpenCL 3.0 PoCL HSTR: cpu HSTR: pocl-remote: cpu";
    CHECK_INT(quirks_in(pocl, version), (ALL & ~ENDS) | REMOTE);
    CHECK_INT(quirks_in("rusticl", version), RUSTICL);
    device_version = NULL;
    CHECK_INT(quirks_in(pocl, version), ALL & ~ENDS);
}

static const struct tap_test tests[] = {
    {"all turned off", all_off}, /* before this process has read the setting */
    {"by driver, version and setting", by_driver},
    {"by a device of the platform", by_device},
};

struct tap_case tap_case;

int main(int argc, char **argv)
{
    setenv("CLD3D_NO_QUIRKS", "pocl-end, pocl-failure-race,unknown", 1);
    return tap_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
