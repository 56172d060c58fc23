#define _GNU_SOURCE /* dl_iterate_phdr, gettid */
#include "bridge/host.h"

#include "bridge/stack.h"
#include "log.h"
#include "next/query.h"
#include "os/os.h"
#include "vulkan_layer/vulkan.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

cl_icd_dispatch host_table;

static int is_ntdll(struct dl_phdr_info *library, size_t size, void *data)
{
    const char *slash = library->dlpi_name ? strrchr(library->dlpi_name, '/') : NULL;
    (void)size;
    (void)data;
    return slash && strcmp(slash, "/ntdll.so") == 0;
}

bool host_is_wine(void)
{
    return dl_iterate_phdr(is_ntdll, NULL) != 0;
}

/* ---- a thread's first call ---- */

atomic_bool host_prepared;
static _Thread_local bool entered;

/* The first call of the thread to each driver. */
static void greet_drivers(void)
{
    enum { MOST = 32 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0;
    char name[256];
    if (next.clGetPlatformIDs(MOST, platforms, &count) == CL_SUCCESS)
        for (cl_uint i = 0; i < count && i < MOST; i++)
            next.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
}

void *host_enter_first(void *arguments)
{
    if (!entered && next.clGetPlatformIDs && getpid() == (pid_t)syscall(SYS_gettid)) {
        const stack_t stack = signals_before_call();
        stack_corrected(greet_drivers);
        signals_after_call(&stack);
        atomic_store(&host_prepared, true);
    }
    entered = true;
    return arguments;
}

/* ---- the start ---- */

/* A binary whose entry is NULL is skipped. Drivers write there, and one ends the process if there are more entries than devices. */
static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info param_name, size_t param_value_size,
                                           void *param_value, size_t *param_value_size_ret)
{
    unsigned char *const *given = param_value;
    const size_t count = param_value_size / sizeof(*given);
    if (param_name != CL_PROGRAM_BINARIES || !given || !count)
        return next.clGetProgramInfo(program, param_name, param_value_size, param_value, param_value_size_ret);
    size_t longest = 1, answered = 0, *sizes = calloc(count, sizeof(*sizes));
    unsigned char **list = calloc(count, sizeof(*list));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (sizes && list)
        status = next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(*sizes), sizes, &answered);
    for (size_t i = 0; i < answered / sizeof(*sizes); i++)
        longest = sizes[i] > longest ? sizes[i] : longest;
    unsigned char *skipped = calloc(1, longest);
    for (size_t i = 0; i < answered / sizeof(*sizes); i++)
        list[i] = given[i] ? given[i] : skipped;
    if (status == CL_SUCCESS && skipped)
        status = next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, answered, list, param_value_size_ret);
    free(skipped);
    free(list);
    free(sizes);
    return skipped ? status : CL_OUT_OF_HOST_MEMORY;
}

static cl_int CL_API_CALL release_command_queue(cl_command_queue command_queue)
{
    notice_settle(command_queue);
    return next.clReleaseCommandQueue(command_queue);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    notice_settle(context);
    const cl_int status = next.clReleaseContext(context);
    notice_settle(context); /* what that has ended */
    return status;
}

static void make_table(void)
{
    host_table = next;
    tier_install_generated(&host_table);
    host_table.clGetProgramInfo = get_program_info;
    host_table.clReleaseCommandQueue = release_command_queue;
    host_table.clReleaseContext = release_context;
}

/* Once; later calls give the same answer. */
static bool load(char *why)
{
    static const char name[] = "libOpenCL.so.1";
    static os_mutex lock = OS_MUTEX_INIT;
    static bool loaded;
    char error[BRIDGE_WHY / 2] = "";
    os_lock(&lock);
    if (!loaded) {
        signals_note();
        void *library = os_library_open(name, error, sizeof(error));
        loaded = library != NULL;
        if (loaded) {
            next_load(library);
            make_table();
        }
    }
    const bool is_loaded = loaded;
    os_unlock(&lock);
    if (!is_loaded)
        snprintf(why, BRIDGE_WHY, "the host has no %s (%s); install an OpenCL loader (Debian: ocl-icd-libopencl1)",
                 name, error);
    return is_loaded;
}

int host_start(void *arguments)
{
    struct bridge_start *start = arguments;
    start->checks = false;
    snprintf(start->release, sizeof(start->release), "%s", CLD3D_VERSION);
    if (start->version != BRIDGE_VERSION)
        snprintf(start->why, BRIDGE_WHY,
                 "libcld3d.so %s has version %d of the bridge, and not version %u; use both from one release",
                 CLD3D_VERSION, BRIDGE_VERSION, start->version);
    else
        start->ready = load(start->why);
    return 0;
}

/* ---- extensions ---- */

int host_find(void *arguments)
{
    struct bridge_find *find = host_enter(arguments);
    cl_platform_id platform = (cl_platform_id)(uintptr_t)find->platform;
    const char *name = (const char *)(uintptr_t)find->name;
    find->found = (uintptr_t)(platform ? next.clGetExtensionFunctionAddressForPlatform(platform, name)
                                       : next.clGetExtensionFunctionAddress(name));
    return 0;
}

#define FOUR(x) x, x, x, x
#define FOUR_OF(words, i) words[i], words[(i) + 1], words[(i) + 2], words[(i) + 3]

/* On 64-bit machines every argument is passed as 64 bits. */
int host_call(void *arguments)
{
    typedef uint64_t (*any)(FOUR(FOUR(uint64_t)));
    struct bridge_call *call = host_enter(arguments);
    const uint64_t *a = call->arguments;
    call->result = ((any)(uintptr_t)call->function)(FOUR_OF(a, 0), FOUR_OF(a, 4), FOUR_OF(a, 8), FOUR_OF(a, 12));
    return 0;
}

/* ---- the Vulkan layer, which is in this library too ---- */

int host_vulkan(void *arguments)
{
    typedef uint64_t (*any)(FOUR(uint64_t), FOUR(uint64_t));
    static const size_t places[] = {
#define X(name) offsetof(struct vulkan_side, name),
        VULKAN_SIDE_FUNCTIONS(X)
#undef X
    };
    struct bridge_vulkan *call = arguments;
    const uint64_t *a = call->arguments;
    const struct vulkan_side *side = vulkan_side_here();
    any function;
    call->why[0] = '\0';
    if (!side)
        snprintf(call->why, BRIDGE_WHY,
                 "cld3d's Vulkan layer is not active (VK_INSTANCE_LAYERS, docs/vulkan-layer.md)");
    else if (call->version != VULKAN_SIDE_VERSION)
        snprintf(call->why, BRIDGE_WHY, "libcld3d.so has version %d of the Vulkan side, and not version %u",
                 VULKAN_SIDE_VERSION, call->version);
    else if (call->place < sizeof(places) / sizeof(places[0])) {
        memcpy(&function, (const char *)side + places[call->place], sizeof(function));
        call->result = function(FOUR_OF(a, 0), FOUR_OF(a, 4));
    }
    return 0;
}
