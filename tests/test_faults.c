/* Every scenario with every fault, each once, in turn: each allocation of cld3d fails, each call of Direct3D and of the
 * OpenCL below fails, is slow or is lost, each command's event ends in an error or late. After each the scenario checks
 * what the specification and docs/behaviour.md promise (world.c), and nothing may be left. After each, or after some, the same
 * scenario without a fault has to pass in the same process.
 *
 *     test_faults [TEXT]                           all faults of the scenarios whose names hold the text
 *     CLD3D_TEST_FAULTS_EVERY=7 test_faults        every seventh
 *     CLD3D_TEST_FAULTS_ONLY=KIND:N test_faults TEXT    one
 *
 * Each scenario runs in a process of its own, which a crash or a hang ends; the next one goes on behind that fault. */
#define _GNU_SOURCE /* backtrace, gettid */
#include "faults/scenarios.h"

#include "fake_d3d.h"
#include "tap.h"

#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct tap_case tap_case;

/* What a child tells its parent, and where it is. Shared memory. */
static struct progress {
    atomic_uint kind, n; /* of the run at work */
    atomic_bool over;
    atomic_bool cannot; /* the device lacks what the scenario needs */
    atomic_uint beat;   /* grows with each run */
    atomic_int failures;
    atomic_uint injected[FAULT_KINDS], failed[FAULT_KINDS];
    atomic_uint calls[FAULT_KINDS]; /* that the kind can strike in a run */
    atomic_bool struck;
} * progress;

static const struct scenario *running;
static unsigned every = 1, only_kind = FAULT_KINDS, only_n;

/* ---- the watchdog ---- */

enum { HUNG_SECONDS = 120 };

static void say_where(int number)
{
    void *frames[40];
    (void)number;
    const int count = backtrace(frames, 40);
    backtrace_symbols_fd(frames, count, STDOUT_FILENO);
    (void)!write(STDOUT_FILENO, "--\n", 3);
}

static void show_all_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct timespec while_it_prints = {0, 200000000};
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        syscall(SYS_tgkill, getpid(), atoi(task->d_name), SIGUSR2);
        nanosleep(&while_it_prints, NULL);
    }
}

static void *watch(void *data)
{
    const struct timespec second = {1, 0};
    unsigned seen = 0, still = 0;
    (void)data;
    while (still < HUNG_SECONDS) {
        nanosleep(&second, NULL);
        const unsigned now = atomic_load(&progress->beat);
        still = now == seen ? still + 1 : 0;
        seen = now;
    }
    printf("# hangs after %s; the threads are here:\n", fault_struck() ? fault_struck() : "no fault");
    fflush(stdout);
    show_all_threads();
    _exit(99);
}

/* ---- one run ---- */

struct level {
    int blocks, handles[FAULT_HANDLES];
    unsigned direct3d;
    int callbacks; /* that the driver never calls: each keeps one block of cld3d's */
};

/* A callback that was asked for and not called, by both who asked and the driver. */
static int callbacks_due(void)
{
    const int scenarios_due = scenario_callbacks_due(), drivers_due = fault_callbacks_due();
    return scenarios_due < drivers_due ? scenarios_due : drivers_due;
}

static struct level level(void)
{
    struct level now = {.blocks = fault_live_blocks(), .direct3d = fake_d3d_live(), .callbacks = callbacks_due()};
    for (int i = 0; i < FAULT_HANDLES; i++)
        now.handles[i] = fault_live((enum fault_handle)i);
    return now;
}

/* How much more is alive of anything, but for what the driver keeps: PoCL 3.1 and rusticl 22.3 never call the callback of a command
 * that fails after they were asked to. */
static int growth(const struct level *from, const struct level *to)
{
    int most = to->blocks - from->blocks - (to->callbacks - from->callbacks);
    for (int i = 0; i < FAULT_HANDLES; i++)
        most = to->handles[i] - from->handles[i] > most ? to->handles[i] - from->handles[i] : most;
    return most > (int)(to->direct3d - from->direct3d) ? most : (int)(to->direct3d - from->direct3d);
}

/* Threads of the driver, and cld3d's for callbacks, may still give something back. */
static struct level settled_level(const struct level *wanted)
{
    const struct timespec millisecond = {0, 1000000};
    struct level now = level();
    for (int i = 0; i < 200 && growth(wanted, &now) > 0; i++) {
        nanosleep(&millisecond, NULL);
        now = level();
    }
    return now;
}

static void say_growth(const struct level *from, const struct level *to)
{
    printf("# left: %d blocks of memory, %d objects of Direct3D, %d callbacks that were not called\n",
           to->blocks - from->blocks, (int)(to->direct3d - from->direct3d), to->callbacks - from->callbacks);
    for (int i = 0; i < FAULT_HANDLES; i++)
        if (to->handles[i] != from->handles[i])
            printf("# left: %d %s\n", to->handles[i] - from->handles[i], fault_handle_name((enum fault_handle)i));
    fake_d3d_list_live(stdout, "# alive: ");
}

static void no_violation(void)
{
    if (!CHECK_INT(fake_d3d_violations(), 0))
        printf("# %s\n", fake_d3d_last_violation());
    fake_d3d_forget_violations();
}

/* After how many faults a run without any comes: the drivers' compilers take their time in some scenarios, and a run over a part of
 * the faults is to be short. */
static unsigned clean_every = 1;

static void clean_run(void)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    scenario_run(running, NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    clean_every = (every > 1 && !only_n ? 4 : 1) +
                  (unsigned)((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000) / 20;
    no_violation();
}

/* Notes how many calls the run had that has just ended, without a fault: of all runs the most, since after a fault a run may have
 * to make anew what it would have found. */
static void note_calls(void)
{
    for (int i = 0; i < FAULT_KINDS; i++) {
        const unsigned calls = fault_count((enum fault_kind)i);
        if (calls > atomic_load(&progress->calls[i]))
            atomic_store(&progress->calls[i], calls);
    }
}

/* What one run leaves more than the one before may be kept for the next one, as records and staging copies are; what grows
 * with each is lost. */
enum { REPEATS = 4 };

static void nothing_lost(enum fault_kind kind, unsigned n, const struct level *before)
{
    fault_unmap();
    struct level first = settled_level(before), now = first;
    if (growth(before, &first) <= 0)
        return;
    for (int i = 0; i < REPEATS && growth(&first, &now) >= i; i++) {
        fault_arm(kind, n);
        scenario_run(running, &kind);
        fault_disarm();
        fault_unmap();
        now = settled_level(&first);
    }
    if (!CHECK(growth(&first, &now) < REPEATS))
        say_growth(before, &now);
}

/* False: the scenario has fewer calls. */
static bool faulty_run(enum fault_kind kind, unsigned n)
{
    static unsigned since_clean;
    char remark[300];
    const int before = atomic_load(&tap_case.failures);
    const struct level level_before = level();
    fault_arm(kind, n);
    scenario_run(running, &kind);
    const char *struck = fault_struck();
    const unsigned long place = fault_place();
    fault_disarm();
    no_violation();
    nothing_lost(kind, n, &level_before);
    const int after = atomic_load(&tap_case.failures);
    if (struck && (after != before || ++since_clean >= clean_every)) {
        since_clean = 0;
        fault_disarm();
        clean_run();
        note_calls();
    }
    if (atomic_load(&tap_case.failures) == before)
        return struck != NULL;
    snprintf(remark, sizeof(remark), "# the above: %s, %s: %d:%u, %s%s", running->name, fault_name(kind), (int)kind, n,
             struck ? struck : "nothing struck", after == before ? ", in the run after it" : "");
    tap_line(remark);
    if (place)
        printf("# addr2line -fie build/linux/tests/faults/libcld3d_faults.so 0x%lx\n", place);
    atomic_fetch_add(&progress->failed[kind], 1);
    return struck != NULL;
}

static bool is_chosen(enum fault_kind kind, unsigned n)
{
    if (only_kind != FAULT_KINDS && kind != only_kind)
        return false;
    return only_n ? n == only_n : (n + (unsigned)(running - scenarios) + (unsigned)kind) % every == 0;
}

static void run_kind(enum fault_kind kind, unsigned n)
{
    for (; n <= atomic_load(&progress->calls[kind]); n++) {
        if (!is_chosen(kind, n))
            continue;
        atomic_store(&progress->kind, (unsigned)kind);
        atomic_store(&progress->n, n);
        atomic_fetch_add(&progress->beat, 1);
        if (faulty_run(kind, n))
            atomic_fetch_add(&progress->injected[kind], 1);
    }
}

/* ---- a process for each scenario ---- */

static int child(unsigned kind, unsigned n)
{
    pthread_t watchdog;
    signal(SIGUSR2, say_where);
    CHECK_INT(pthread_create(&watchdog, NULL, watch, NULL), 0);
    /* What is made once in a process is made now. */
    fault_disarm();
    if (!scenario_possible(running)) {
        atomic_store(&progress->cannot, true);
        atomic_store(&progress->over, true);
        return 0;
    }
    scenario_run(running, NULL);
    fault_disarm();
    clean_run();
    note_calls();
    for (; kind < FAULT_KINDS; kind++, n = 1)
        if (only_kind == FAULT_KINDS || kind == only_kind)
            run_kind((enum fault_kind)kind, n);
    clean_run();
    atomic_store(&progress->failures, atomic_load(&tap_case.failures));
    atomic_store(&progress->over, true);
    return 0;
}

/* Runs a child from one fault on. Tells whether it came to its end; else it is noted where it did not. */
static bool ran_through(unsigned kind, unsigned n)
{
    char remark[200];
    int status = 0;
    atomic_store(&progress->over, false);
    atomic_store(&progress->failures, 0);
    atomic_store(&progress->kind, kind);
    atomic_store(&progress->n, 0);
    fflush(stdout);
    const pid_t process = fork();
    if (process == 0)
        exit(child(kind, n));
    if (!CHECK(process > 0) || !CHECK_INT(waitpid(process, &status, 0), process))
        return true;
    atomic_fetch_add(&tap_case.failures, atomic_load(&progress->failures));
    if (status == 0 && atomic_load(&progress->over))
        return true;
    CHECK(!"the process came to its end");
    snprintf(remark, sizeof(remark), "# it ended with status %x: %s, %s: %u:%u", (unsigned)status, running->name,
             fault_name((enum fault_kind)atomic_load(&progress->kind)), atomic_load(&progress->kind),
             atomic_load(&progress->n));
    tap_line(remark);
    atomic_fetch_add(&progress->failed[atomic_load(&progress->kind)], 1);
    return atomic_load(&progress->over) || atomic_load(&progress->n) == 0;
}

/* ---- a process for each run: what a process does once is struck, too ---- */

/* n = 0: the calls are counted. Afterwards the scenario passes, and leaves no more behind with each run. */
static int first_child(enum fault_kind kind, unsigned n)
{
    char remark[200];
    pthread_t watchdog;
    const int failures = atomic_load(&tap_case.failures);
    signal(SIGUSR2, say_where);
    CHECK_INT(pthread_create(&watchdog, NULL, watch, NULL), 0);
    fault_arm(kind, n);
    scenario_run(running, n ? &kind : NULL);
    if (n == 0)
        note_calls();
    const char *struck = fault_struck();
    atomic_store(&progress->struck, struck != NULL);
    fault_disarm();
    no_violation();
    fault_unmap();
    clean_run();
    const struct level before = level();
    clean_run();
    const struct level after = settled_level(&before);
    if (!CHECK(growth(&before, &after) <= 0))
        say_growth(&before, &after);
    const bool well = atomic_load(&tap_case.failures) == failures;
    if (!well) {
        snprintf(remark, sizeof(remark), "# the above: %s, %s: %d:%u, %s", running->name, fault_name(kind), (int)kind,
                 n, struck ? struck : "nothing struck");
        tap_line(remark);
    }
    return well ? 0 : 1;
}

static void run_first(enum fault_kind kind, unsigned n)
{
    int status = 0;
    atomic_store(&progress->struck, false);
    fflush(stdout);
    const pid_t process = fork();
    if (process == 0)
        exit(first_child(kind, n));
    const bool well = CHECK(process > 0) && CHECK_INT(waitpid(process, &status, 0), process) && CHECK_INT(status, 0);
    atomic_fetch_add(&progress->injected[kind], atomic_load(&progress->struck));
    atomic_fetch_add(&progress->failed[kind], !well);
    if (!well)
        printf("# %s, %s: %d:%u\n", running->name, fault_name(kind), (int)kind, n);
}

static void run_firsts(void)
{
    run_first(FAULT_ALLOCATION, 0);
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        for (unsigned n = 1; n <= atomic_load(&progress->calls[kind]); n++)
            if (is_chosen((enum fault_kind)kind, n))
                run_first((enum fault_kind)kind, n);
}

static void run_scenario(void)
{
    unsigned kind = 0, n = 1;
    for (int i = 0; i < FAULT_KINDS; i++)
        atomic_store(&progress->calls[i], 0);
    fault_own_memory((running->shapes & SCENARIO_OWN_MEMORY) != 0);
    if (running->shapes & SCENARIO_FIRST) {
        run_firsts();
        return;
    }
    atomic_store(&progress->cannot, false);
    while (!ran_through(kind, n)) {
        kind = atomic_load(&progress->kind);
        n = atomic_load(&progress->n) + 1;
    }
    if (atomic_load(&progress->cannot))
        SKIP("the device has no out-of-order queues");
}

static void report(void)
{
    unsigned injected = 0, failed = 0;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        const unsigned i = atomic_load(&progress->injected[kind]), f = atomic_load(&progress->failed[kind]);
        printf("# %-24s %6u injected, %6u survived\n", fault_name((enum fault_kind)kind), i, i - (f < i ? f : i));
        injected += i;
        failed += f;
    }
    printf("# %-24s %6u injected, %6u survived\n", "all", injected, injected - (failed < injected ? failed : injected));
}

static void read_settings(void)
{
    const char *text = getenv("CLD3D_TEST_FAULTS_EVERY");
    if (text && atoi(text) > 0)
        every = (unsigned)atoi(text);
    text = getenv("CLD3D_TEST_FAULTS_ONLY");
    if (text)
        sscanf(text, "%u:%u", &only_kind, &only_n);
}

int main(int argc, char **argv)
{
    int ran = 0;
    bool fine = true;
    read_settings();
    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tap_line("TAP version 13");
    for (unsigned i = 0; i < scenario_count; i++) {
        const struct tap_test test = {.name = scenarios[i].name, .run = run_scenario};
        running = &scenarios[i];
        if (tap_is_wanted(&test, argc, argv) && !tap_run_case(&test, ++ran))
            fine = false;
    }
    report();
    printf("1..%d\n", ran);
    return fine ? 0 : 1;
}
