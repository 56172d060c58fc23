#include "watch.h"

#include "run.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a child may stand still: on a busy machine, and where it is only one of many trials. */
enum { MOST_THREADS = 8, PATIENCE_S = 30, PATIENCE_TRIAL_S = 5, STATUS_FIND = 9 };

/* Between the child, which writes it, and its parent. */
static struct board {
    struct find find;
    _Atomic uint64_t beats, ran, seed;
    atomic_uint op;
} * board;

static FILE *errors; /* the child's standard error */

double watch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- in the child ---- */

void fuzz_fail(const char *what, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(board->find.text, sizeof(board->find.text), format, arguments);
    va_end(arguments);
    snprintf(board->find.what, sizeof(board->find.what), "%s", what);
    _exit(STATUS_FIND);
}

void fuzz_alive(unsigned op)
{
    atomic_store(&board->op, op);
    atomic_fetch_add(&board->beats, 1);
}

static void run_seeds(const struct seeds *seeds)
{
    const double end = watch_now() + seeds->seconds;
    struct sequence *s = malloc(sizeof(*s));
    for (uint64_t seed = seeds->first; seed < seeds->end && watch_now() < end; seed++) {
        atomic_store(&board->seed, seed);
        sequence_make(s, seed, seeds->ops);
        run_whole(s, false);
        atomic_fetch_add(&board->ran, 1);
    }
    run_close();
    free(s);
}

static void run_files(char *const *names, unsigned count)
{
    struct sequence *s = malloc(sizeof(*s));
    for (unsigned i = 0; i < count; i++) {
        atomic_store(&board->seed, i);
        if (!sequence_load(s, names[i]))
            fuzz_fail("no file", "%s can't be read", names[i]);
        run_whole(s, false);
        atomic_fetch_add(&board->ran, 1);
    }
    run_close();
    free(s);
}

/* One thread's sequence. */
struct job {
    pthread_t thread;
    uint64_t seed;
    unsigned ops;
};

static void *run_job(void *data)
{
    const struct job *job = data;
    struct sequence *s = malloc(sizeof(*s));
    sequence_make(s, job->seed, job->ops);
    run_sequence(s, getenv("FUZZ_SHOW") != NULL);
    free(s);
    return NULL;
}

static void run_groups(const struct seeds *seeds, unsigned threads)
{
    const double end = watch_now() + seeds->seconds;
    struct job jobs[MOST_THREADS];
    run_share();
    for (uint64_t seed = seeds->first; seed < seeds->end && watch_now() < end; seed += threads) {
        atomic_store(&board->seed, seed);
        for (unsigned i = 0; i < threads; i++) {
            jobs[i] = (struct job){.seed = seed + i, .ops = seeds->ops};
            if (pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]))
                fuzz_fail("no thread", "a thread can't be made");
        }
        for (unsigned i = 0; i < threads; i++)
            pthread_join(jobs[i].thread, NULL);
        atomic_fetch_add(&board->ran, threads);
    }
    run_close();
}

/* What the child says on standard error is for show_errors: a sanitizer or a driver, not the log of many hours. */
static void hush(void)
{
    const int null = open("/dev/null", O_WRONLY);
    if (!getenv("FUZZ_SHOW")) {
        setenv("CLD3D_LOG", "none", 0);
        dup2(fileno(errors), 2);
        dup2(null, 1);
    }
    close(null);
}

/* ---- in the parent ---- */

/* In a file, which POSIX can share. */
static void make_board(void)
{
    FILE *file = tmpfile();
    void *shared = MAP_FAILED;
    if (file && ftruncate(fileno(file), sizeof(*board)) == 0)
        shared = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (shared == MAP_FAILED) {
        perror("a file for the board");
        exit(2);
    }
    board = shared;
}

/* What a child said that did not come to its end: a sanitizer's report, for example. Of the rest the end alone is shown. */
static void show_errors(void)
{
    enum { MOST = 16384 };
    char text[MOST];
    const off_t end = lseek(fileno(errors), 0, SEEK_END), begin = end > MOST ? end - MOST : 0;
    const ssize_t got = pread(fileno(errors), text, sizeof(text), begin);
    if (got > 0)
        fwrite(text, 1, (size_t)got, stderr);
}

static pid_t start(void)
{
    if (!board)
        make_board();
    if (!errors && !(errors = tmpfile())) {
        perror("a file for the child's errors");
        exit(2);
    }
    if (ftruncate(fileno(errors), 0) == 0)
        lseek(fileno(errors), 0, SEEK_SET);
    memset(board, 0, sizeof(*board));
    fflush(stdout);
    return fork();
}

/* What a turn of the wait counts at most, in seconds: where both are stopped for a while, the child is not to blame. */
static const double MOST_TURN_S = 0.1;

/* For how many seconds the threads of a process have been ready in all and had no processor. 0 where the system does not tell. */
static double delayed(pid_t process)
{
    char path[64];
    double seconds = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    for (const struct dirent *thread; threads && (thread = readdir(threads));) {
        unsigned long long ran, delay;
        char name[sizeof(path) + sizeof(thread->d_name) + 16];
        snprintf(name, sizeof(name), "%s/%s/schedstat", path, thread->d_name);
        FILE *file = fopen(name, "r");
        if (file && fscanf(file, "%llu %llu", &ran, &delay) == 2)
            seconds += (double)delay * 1e-9;
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return seconds;
}

/* What a turn counts, in seconds. On a busy machine the child waits for the processor, which is no hang. */
static double turn(double passed, double more_delayed)
{
    const double most = passed < MOST_TURN_S ? passed : MOST_TURN_S;
    return more_delayed > 0 ? (more_delayed < most ? most - more_delayed : 0) : most;
}

/* Waits for the child; ends one that no longer moves. True: it hung. */
static bool await(pid_t child, int *status, int patience, void (*report)(uint64_t))
{
    static const struct timespec pause = {0, 20 * 1000 * 1000};
    uint64_t beats = 0;
    double last = watch_now(), told = last, still = 0, before = 0;
    while (waitpid(child, status, WNOHANG) == 0) {
        const double now = watch_now(), delay = delayed(child);
        still += turn(now - last, delay - before);
        last = now;
        before = delay;
        nanosleep(&pause, NULL);
        if (beats != atomic_load(&board->beats)) {
            beats = atomic_load(&board->beats);
            still = 0;
        }
        if (report && now - told > 1) {
            told = now;
            report(atomic_load(&board->ran));
        }
        if (still < patience)
            continue;
        kill(child, SIGKILL);
        waitpid(child, status, 0);
        return true;
    }
    return false;
}

static struct find judge(pid_t child, int patience, void (*report)(uint64_t))
{
    int status;
    const bool hung = await(child, &status, patience, report);
    struct find *find = &board->find;
    find->seed = atomic_load(&board->seed);
    find->ran = atomic_load(&board->ran);
    if (!find->what[0] && hung)
        snprintf(find->what, sizeof(find->what), "hangs");
    else if (!find->what[0] && WIFSIGNALED(status))
        snprintf(find->what, sizeof(find->what), "is ended by signal %d", WTERMSIG(status));
    else if (!find->what[0] && WEXITSTATUS(status))
        snprintf(find->what, sizeof(find->what), "ends with status %d", WEXITSTATUS(status));
    if (hung || WIFSIGNALED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != STATUS_FIND))
        show_errors();
    if (find->what[0] && !find->text[0])
        snprintf(find->text, sizeof(find->text), "%s at operation %u", find->what, atomic_load(&board->op));
    return *find;
}

struct find watch_seeds(const struct seeds *seeds, void (*report)(uint64_t))
{
    const pid_t child = start();
    if (child)
        return judge(child, PATIENCE_S, report);
    hush();
    run_seeds(seeds);
    exit(0);
}

struct find watch_one(const struct sequence *s, unsigned times, bool verbose)
{
    const pid_t child = start();
    if (child)
        return judge(child, PATIENCE_TRIAL_S, NULL);
    if (!verbose)
        hush();
    for (unsigned i = 0; i < times; i++)
        run_whole(s, verbose);
    run_close();
    exit(0);
}

struct find watch_files(char *const *names, unsigned count)
{
    const pid_t child = start();
    if (child)
        return judge(child, PATIENCE_S, NULL);
    hush();
    run_files(names, count);
    exit(0);
}

struct find watch_threads(const struct seeds *seeds, unsigned threads, void (*report)(uint64_t))
{
    const pid_t child = start();
    if (child)
        return judge(child, PATIENCE_S, report);
    hush();
    run_groups(seeds, threads < MOST_THREADS ? threads : MOST_THREADS);
    exit(0);
}
