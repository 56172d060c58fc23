/* The companion keeps Wine's signal handlers where a driver's compiler takes them, by every way that programs have to
 * the driver. The process looks as if Wine ran it (fake_ntdll.c), over a layer that takes signals (takes_signals.c):
 * the first case runs the second one so. What comes of it in a real Wine process is in test_suspend.c. */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "../src/companion/channel.h"
#include "sharing.h"

#include <dlfcn.h>
#include <signal.h>

static char room[65536];

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;

static void over_a_taker(void)
{
    if (getenv("CLD3D_TEST_TAKEN")) {
        SKIP("runs the case below");
        return;
    }
    test_setenv("CLD3D_TEST_TAKEN", "1");
    CHECK_INT(run_over("CLD3D_TEST_TAKES_SIGNALS", "set again"), 1);
    test_setenv("CLD3D_TEST_TAKEN", NULL);
}

/* ---- a process as Wine has it ---- */

static volatile sig_atomic_t quits;

static void wines(int number, siginfo_t *info, void *now)
{
    (void)info, (void)now;
    quits += number == SIGQUIT;
}

static void look_like_wine(void)
{
    static const int numbers[] = {SIGQUIT, SIGUSR1, SIGFPE};
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    action.sa_sigaction = wines;
    sigaddset(&action.sa_mask, SIGUSR2);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        CHECK_INT(sigaction(numbers[i], &action, NULL), 0);
    CHECK_INT(sigaltstack(&stack, NULL), 0);
    CHECK(dlopen(getenv("CLD3D_TEST_NTDLL"), RTLD_NOW) != NULL);
}

static struct sigaction handler(int number)
{
    struct sigaction action = {.sa_flags = 0};
    CHECK_INT(sigaction(number, NULL, &action), 0);
    return action;
}

static bool is_wines(int number)
{
    const struct sigaction action = handler(number);
    return action.sa_sigaction == wines && sigismember(&action.sa_mask, SIGUSR2) == 1 &&
           (action.sa_flags & SA_ONSTACK) && (action.sa_flags & SA_SIGINFO) && !(action.sa_flags & (int)SA_RESETHAND);
}

static bool comes_to_wine(void)
{
    const struct sigaction action = handler(SIGQUIT);
    const int before = quits;
    return raise(SIGQUIT) == 0 && quits == before + 1 && sigismember(&action.sa_mask, SIGUSR2) == 1 &&
           (action.sa_flags & SA_ONSTACK) && (action.sa_flags & SA_SIGINFO);
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

static void contexts(void)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_int status = 1;
    cl_context other = clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    kept();
    CHECK_INT(clReleaseContext(other), CL_SUCCESS);
    context = clCreateContext(properties, 1, &device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    kept();
}

static uint64_t ask(enum channel_action action, uint64_t address, unsigned count, const uint64_t *arguments)
{
    struct channel_request request = {.version = CHANNEL_VERSION, .action = action, .address = address};
    memcpy(request.arguments, arguments, count * sizeof(*arguments));
    CHECK_INT(clGetDeviceInfo(device, CHANNEL_QUERY, sizeof(request), &request, NULL), CL_SUCCESS);
    return request.result;
}

static uint64_t found(const char *name)
{
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)name};
    return ask(CHANNEL_FIND, 0, 1, arguments);
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
    CHECK_INT(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    kept();
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    program = make_program();
    CHECK_INT(clCompileProgram(program, 1, &device, "", 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
    kept();
    cl_program linked = clLinkProgram(context, 1, &device, "", 1, &program, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    kept();
    CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

/* As the drop-in calls what Wine's opencl.dll lacks. */
static void programs_through_the_channel(void)
{
    cl_int status = 1;
    cl_program program = make_program();
    const uint64_t to_compile[9] = {(uint64_t)(uintptr_t)program, 1, (uint64_t)(uintptr_t)&device};
    CHECK_INT(ask(CHANNEL_CALL, found("clCompileProgram"), 9, to_compile), CL_SUCCESS);
    kept();
    const uint64_t to_link[9] = {
        (uint64_t)(uintptr_t)context, 1, (uint64_t)(uintptr_t)&device, 0, 1, (uint64_t)(uintptr_t)&program, 0, 0,
        (uint64_t)(uintptr_t)&status};
    cl_program linked = (cl_program)(uintptr_t)ask(CHANNEL_CALL, found("clLinkProgram"), 9, to_link);
    CHECK_INT(status, CL_SUCCESS);
    kept();
    CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

static void set_again(void)
{
    if (!getenv("CLD3D_TEST_TAKEN")) {
        SKIP("only as a part of the case above");
        return;
    }
    look_like_wine();
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    kept();
    contexts();
    programs();
    if (sizeof(void *) == 8) /* in 32 bits nobody asks: its arguments are of 64 bits */
        programs_through_the_channel();
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

static const struct tap_test tests[] = {
    {"over a driver that takes signals", over_a_taker},
    {"Wine's signal handlers are set again", set_again},
};

TAP_MAIN(tests)
