#include "watch.h"

#include "run.h"

#include <fcntl.h>
#include <inttypes.h>
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
enum { PATIENCE_S = 120, PATIENCE_TRIAL_S = 10, TURNS_A_SECOND = 50, STATUS_FIND = 9 };

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
    struct sequence *s = malloc(sizeof(*s));
    for (uint64_t i = 0; i < seeds->count && watch_now() < seeds->end; i++) {
        atomic_store(&board->seed, seeds->first + i);
        sequence_make(s, seeds->first + i, seeds->ops);
        run_whole(s, false);
        atomic_fetch_add(&board->ran, 1);
    }
    run_close();
    free(s);
}

/* What the child says on standard error is for show_errors: a sanitizer or a driver, not the log of many hours. */
static void hush(void)
{
    const int null = open("/dev/null", O_WRONLY);
    setenv("CLD3D_LOG", "none", 0);
    dup2(fileno(errors), 2);
    dup2(null, 1);
    close(null);
}

/* ---- in the parent ---- */

/* The board is in a file, which POSIX can share. */
static void open_files(void)
{
    FILE *file = tmpfile();
    errors = tmpfile();
    if (file && errors && ftruncate(fileno(file), sizeof(*board)) == 0)
        board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (!board || board == MAP_FAILED) {
        perror("files for the board and the child's errors");
        exit(2);
    }
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
        open_files();
    if (ftruncate(fileno(errors), 0) == 0)
        lseek(fileno(errors), 0, SEEK_SET);
    memset(board, 0, sizeof(*board));
    fflush(stdout);
    return fork();
}

/* Waits for the child; ends one that no longer moves. True: it hung. Turns are counted, not seconds: where both are stopped for a
 * while, the child is not to blame. */
static bool await(pid_t child, int *status, unsigned patience, const struct seeds *seeds)
{
    static const struct timespec pause = {0, 1000000000 / TURNS_A_SECOND};
    uint64_t beats = 0;
    for (unsigned turn = 1, still = 0; waitpid(child, status, WNOHANG) == 0; turn++) {
        nanosleep(&pause, NULL);
        still = beats == atomic_load(&board->beats) ? still + 1 : 0;
        beats = atomic_load(&board->beats);
        if (seeds && turn % (10 * TURNS_A_SECOND) == 0) {
            printf("# %" PRIu64 " sequences\n", seeds->before + atomic_load(&board->ran));
            fflush(stdout);
        }
        if (still < patience * TURNS_A_SECOND)
            continue;
        kill(child, SIGKILL);
        waitpid(child, status, 0);
        return true;
    }
    return false;
}

static struct find judge(pid_t child, unsigned patience, const struct seeds *seeds)
{
    int status;
    const bool hung = await(child, &status, patience, seeds);
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

struct find watch_seeds(const struct seeds *seeds)
{
    const pid_t child = start();
    if (child)
        return judge(child, PATIENCE_S, seeds);
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
