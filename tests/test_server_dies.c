/* A server of PoCL's remote driver that dies in the middle of a frame: acquires and releases fail with a code of the extensions, none
 * of them waits for ever, and Direct3D keeps what it had. The other server is not looked at: PoCL 6.0's reads from it may hang then. Each case runs in a process of its own with two
 * servers of its own, and ends that process where it hangs. Only under scripts/pocl-remote. */
#include "sharing.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { SERVERS = 2, PORTS = 3, MOST_SECONDS = 150, SEED = 5 };

/* ---- servers ---- */

static const char *const addresses[SERVERS] = {"127.0.0.1", "127.0.0.2"};

struct server {
    pid_t pid;
    unsigned port;
};

static struct sockaddr_in at(const char *address, unsigned port)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, address, &place.sin_addr);
    return place;
}

static bool is_free(unsigned port)
{
    const struct sockaddr_in place = at("0.0.0.0", port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&place, sizeof(place)) == 0;
    if (fd >= 0)
        close(fd);
    return bound;
}

/* The first of some in a row, from `port` on. */
static unsigned free_ports(unsigned port)
{
    unsigned found = 0;
    while (found < PORTS && port < 60000) {
        found = is_free(port) ? found + 1 : 0;
        port++;
    }
    return port - PORTS;
}

static bool answers(const char *address, unsigned port)
{
    const struct timespec pause = {0, 50000000};
    const struct sockaddr_in place = at(address, port);
    for (int i = 0; i < 600; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        const bool connected = connect(fd, (const struct sockaddr *)&place, sizeof(place)) == 0;
        close(fd);
        if (connected)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static pid_t start(const char *program, const char *address, unsigned port)
{
    char text[16];
    const pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsetenv("OPENCL_LAYERS");
    unsetenv("POCL_DEVICES");
    setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 1);
    snprintf(text, sizeof(text), "%u", port);
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execl(program, program, "-a", address, "-p", text, (char *)NULL);
    _exit(1);
}

static void stop(struct server servers[SERVERS])
{
    for (int i = 0; i < SERVERS; i++) {
        kill(servers[i].pid, SIGKILL);
        waitpid(servers[i].pid, NULL, 0);
    }
}

static bool start_all(const char *program, struct server servers[SERVERS])
{
    unsigned port = 31000 + (unsigned)getpid() % 2000 * 10;
    bool all = true;
    for (int i = 0; i < SERVERS; i++, port += PORTS) {
        port = free_ports(port);
        servers[i] = (struct server){start(program, addresses[i], port), port};
    }
    for (int i = 0; i < SERVERS; i++)
        all = CHECK(servers[i].pid > 0) && CHECK(answers(addresses[i], servers[i].port)) && all;
    return all;
}

/* The cases below that hold the text, with servers of their own. */
static void again(const char *text)
{
    struct server servers[SERVERS];
    const char *program = getenv("CLD3D_TEST_POCLD");
    char first[64], second[64], pid[16];
    if (!program || !getenv("POCL_DEVICES") || getenv("CLD3D_TEST_SERVER")) {
        SKIP("needs PoCL's remote driver: scripts/pocl-remote");
        return;
    }
    if (start_all(program, servers)) {
        snprintf(first, sizeof(first), "%s:%u/0", addresses[0], servers[0].port);
        snprintf(second, sizeof(second), "%s:%u/0", addresses[1], servers[1].port);
        snprintf(pid, sizeof(pid), "%d", (int)servers[0].pid);
        const char *before = getenv("POCL_REMOTE0_PARAMETERS");
        char *kept = before ? strdup(before) : NULL;
        test_setenv("CLD3D_TEST_SERVER", pid);
        test_setenv("POCL_REMOTE0_PARAMETERS", first);
        CHECK_INT(run_again(text, "POCL_REMOTE1_PARAMETERS", second), 1);
        test_setenv("POCL_REMOTE0_PARAMETERS", kept);
        test_setenv("CLD3D_TEST_SERVER", NULL);
        free(kept);
    }
    stop(servers);
}

/* ---- in the process of a case ---- */

static void kill_server(void)
{
    CHECK_INT(kill(atoi(getenv("CLD3D_TEST_SERVER")), SIGKILL), 0);
}

/* The driver knows it only when its connection ends. */
static bool is_gone(cl_device_id device)
{
    cl_bool available = CL_FALSE;
    const struct timespec pause = {0, 10000000};
    for (int i = 0; i < 3000; i++) {
        if (clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL) != CL_SUCCESS ||
            !available)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* The running case in its process, with an object that has been acquired and written. */
static bool open_acquired(const struct rig *rig, struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES];
    if (!getenv("CLD3D_TEST_SERVER")) {
        SKIP("only as a part of the case above");
        return false;
    }
    alarm(MOST_SECONDS);
    rig_pattern(bytes, sizeof(bytes), SEED + 1);
    if (!shared_open(rig, KIND_2D, SEED, shared) || !CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS) ||
        !CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS))
        return false;
    queue_wait(rig->queue);
    return true;
}

/* Neither release does anything, and the object goes as any other. */
static void cannot_release(const struct rig *rig, struct shared *shared)
{
    CHECK_INT(release_one(rig, shared->object), CL_OUT_OF_RESOURCES);
    CHECK(is_gone(rig->cl_device));
    CHECK_INT(release_one(rig, shared->object), CL_OUT_OF_RESOURCES);
    CHECK(d3d_has(rig, shared, SEED));
    shared_close(shared);
}

SHARING_CASE(before_release, 0)
{
    struct shared shared;
    if (!open_acquired(rig, &shared))
        return;
    kill_server();
    CHECK(is_gone(rig->cl_device));
    cannot_release(rig, &shared);
}

SHARING_CASE(at_release, 0)
{
    struct shared shared;
    if (!open_acquired(rig, &shared))
        return;
    kill_server();
    cannot_release(rig, &shared);
}

static void kill_late(void *unused)
{
    const struct timespec pause = {0, 500000000};
    (void)unused;
    nanosleep(&pause, NULL);
    kill_server();
}

/* The release waits for a kernel that takes minutes. */
SHARING_CASE(in_kernel, 0)
{
    const cl_uint turns = 4000000000u;
    struct shared shared;
    struct slow_work work;
    struct test_job job = {kill_late, NULL};
    if (!open_acquired(rig, &shared) || !slow_open(rig, &work) ||
        !CHECK_INT(clSetKernelArg(work.kernel, 1, sizeof(turns), &turns), CL_SUCCESS))
        return;
    cl_event slow = slow_start(&work, rig->queue);
    test_thread thread;
    if (CHECK(test_thread_start(&thread, &job))) {
        cannot_release(rig, &shared);
        test_thread_join(thread);
    }
    CHECK_INT(clReleaseEvent(slow), CL_SUCCESS);
    slow_close(&work);
}

SHARING_CASE(before_acquire, 0)
{
    struct shared shared;
    if (!open_acquired(rig, &shared))
        return;
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    kill_server();
    CHECK(is_gone(rig->cl_device));
    for (int i = 0; i < 3; i++)
        CHECK_INT(acquire_one(rig, shared.object), CL_OUT_OF_RESOURCES);
    CHECK(d3d_has(rig, &shared, SEED + 1));
    CHECK(release_one(rig, shared.object) < 0);
    shared_close(&shared);
}

static void dies_before_release(void)
{
    again("Direct3D 11: dies: before the release");
}

static void dies_at_release(void)
{
    again("Direct3D 11: dies: at the release");
}

static void dies_in_kernel(void)
{
    again("Direct3D 11: dies: in a kernel");
}

static void dies_before_acquire(void)
{
    again("Direct3D 10: dies: before the acquire");
}

static const struct tap_test tests[] = {
    {"a server that dies between acquire and release", dies_before_release},
    {"a server that dies as the release begins", dies_at_release},
    {"a server that dies in a kernel for which the release waits", dies_in_kernel},
    {"a server that dies before the acquire", dies_before_acquire},
    SHARING_TESTS("dies: before the release", before_release),
    SHARING_TESTS("dies: at the release", at_release),
    SHARING_TESTS("dies: in a kernel", in_kernel),
    SHARING_TESTS("dies: before the acquire", before_acquire),
};

TAP_MAIN(tests)
