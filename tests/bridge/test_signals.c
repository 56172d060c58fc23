/* The bridge keeps Wine's signal handlers where a driver's compiler takes them. The process looks as if Wine ran it
 * (fake_ntdll.c), over a layer that takes signals (takes_signals.c): the first case runs the second one so. What comes of it in
 * a real Wine process is in test_suspend.c. */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "../src/bridge/calls_generated.h"
#include "sharing.h"

#include <dlfcn.h>
#include <signal.h>

static char room[65536];

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;

CASE("over a driver that takes signals", over_a_taker)
{
    CHECK_INT(run_child_over("CLD3D_TEST_TAKES_SIGNALS", "set again", "CLD3D_TEST_TAKEN"), 1);
}

/* ---- a process as Wine has it ---- */

static volatile sig_atomic_t *quits;
static void (*wines)(int, siginfo_t *, void *);

static void look_like_wine(void)
{
    static const int numbers[] = {SIGQUIT, SIGUSR1, SIGFPE};
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    void *ntdll = dlopen(getenv("CLD3D_TEST_NTDLL"), RTLD_NOW);
    if (!CHECK(ntdll != NULL))
        return;
    quits = dlsym(ntdll, "ntdll_quits");
    void *handler = dlsym(ntdll, "ntdll_handler");
    memcpy(&wines, &handler, sizeof(wines));
    action.sa_sigaction = wines;
    sigaddset(&action.sa_mask, SIGUSR2);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        CHECK_INT(sigaction(numbers[i], &action, NULL), 0);
    CHECK_INT(sigaltstack(&stack, NULL), 0);
}

static struct sigaction handler(int number)
{
    struct sigaction action = {.sa_flags = 0};
    CHECK_INT(sigaction(number, NULL, &action), 0);
    return action;
}

static bool has_wines_flags(const struct sigaction *action)
{
    return sigismember(&action->sa_mask, SIGUSR2) == 1 && (action->sa_flags & SA_ONSTACK) &&
           (action->sa_flags & SA_SIGINFO) && !(action->sa_flags & (int)SA_RESETHAND);
}

static bool is_wines(int number)
{
    const struct sigaction action = handler(number);
    return action.sa_sigaction == wines && has_wines_flags(&action);
}

static bool comes_to_wine(void)
{
    const struct sigaction action = handler(SIGQUIT);
    const int before = *quits;
    return raise(SIGQUIT) == 0 && *quits == before + 1 && has_wines_flags(&action);
}

/* After a call that took them all: what Wine had is Wine's again. The rest is the driver's: what Wine had no handler
 * for, and the division by zero in kernels. Then for the next call: the layer must take them again. */
static void kept(void)
{
    stack_t stack;
    CHECK(comes_to_wine());
    CHECK(is_wines(SIGUSR1));
    CHECK(!is_wines(SIGFPE));
    CHECK(handler(SIGUSR2).sa_handler != SIG_DFL);
    CHECK_INT(sigaltstack(NULL, &stack), 0);
    CHECK(stack.ss_sp == room && stack.ss_size == sizeof(room));
    signal(SIGUSR2, SIG_DFL);
}

/* ---- the ways to the driver ---- */

static int (*const *table)(void *);

/* The library is the last of the loader's layers. */
static bool open_bridge(void)
{
    struct bridge_start start = {.version = BRIDGE_VERSION};
    const char *layers = getenv("OPENCL_LAYERS"), *path = layers ? strrchr(layers, ':') : NULL;
    void *library = dlopen(path ? path + 1 : layers, RTLD_NOW);
    table = library ? dlsym(library, "__wine_unix_call_funcs") : NULL;
    return CHECK(table != NULL) && CHECK_INT(table[BRIDGE_START](&start), 0) && CHECK_INT(start.ready, 1);
}

#define CROSS(name, ...)                              \
    struct call_##name name##_call = {__VA_ARGS__};   \
    CHECK_INT(table[BRIDGE_##name](&name##_call), 0); \
    kept()

static void contexts(void)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_int status = 1;
    CROSS(clGetDeviceIDs, .platform = platform, .device_type = CL_DEVICE_TYPE_ALL, .num_entries = 1,
          .devices = &device);
    CROSS(clCreateContextFromType, .properties = properties, .device_type = CL_DEVICE_TYPE_ALL, .errcode_ret = &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseContext(clCreateContextFromType_call.result), CL_SUCCESS);
    CROSS(clCreateContext, .properties = properties, .num_devices = 1, .devices = &device, .errcode_ret = &status);
    CHECK_INT(status, CL_SUCCESS);
    context = clCreateContext_call.result;
}

static cl_program make_program(void)
{
    const char *text = "kernel void k(global int *a) { a[0] = 1; }\n";
    cl_int status = 1;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return program;
}

static void programs(void)
{
    cl_int status = 1;
    cl_program program = make_program();
    CROSS(clBuildProgram, .program = program, .num_devices = 1, .device_list = &device, .options = "");
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    program = make_program();
    CROSS(clCompileProgram, .program = program, .num_devices = 1, .device_list = &device, .options = "");
    CROSS(clLinkProgram, .context = context, .num_devices = 1, .device_list = &device, .options = "",
          .num_input_programs = 1, .input_programs = &program, .errcode_ret = &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseProgram(clLinkProgram_call.result), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

CASE("Wine's signal handlers are set again", set_again)
{
    if (!is_child("CLD3D_TEST_TAKEN"))
        return;
    look_like_wine();
    if (!wines || !open_bridge())
        return;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    contexts();
    programs();
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

TAP_MAIN
