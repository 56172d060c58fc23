/* The randomised model test: sequences of calls from seeds, each beside a model of the specification.
 *
 *     fuzz_api                          1,000 sequences from seed 1, reported as a test
 *     fuzz_api --seconds N              so long, from a seed of the clock
 *     fuzz_api --seed S [--seconds N]   from this seed on
 *     fuzz_api --sequences N            at most so many
 *     fuzz_api --ops N                  about so many operations in a sequence
 *     fuzz_api --shrink N               at most so many seconds to make a find shorter (300)
 *     fuzz_api --show S                 the sequence of a seed, call by call
 *     fuzz_api --print S                the sequence of a seed, as a file for --replay
 *     fuzz_api --replay FILE            call by call, the sequence of a file
 *     fuzz_api --bytes FILE             the same for a file of libFuzzer's
 *     fuzz_api --threads N              so many sequences at a time, each in a thread of its own; with FUZZ_SHOW=1 call by call
 *     fuzz_api --corpus FOLDER          the files of libFuzzer's in a folder, each once; reported as a test
 *
 * A sequence that finds something is made shorter and printed, with its seed and as a file for --replay. */
#include "shrink.h"
#include "watch.h"

#include "../tap.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tap_case tap_case;

struct options {
    double seconds;
    uint64_t seed, sequences;
    unsigned ops;
    double shrink;
    unsigned threads;
    const char *show, *print, *replay, *bytes, *corpus;
};

/* Of the processes before the one that runs. */
static uint64_t ran_before;

static void progress(uint64_t ran)
{
    static unsigned turns;
    if (++turns % 10 == 0) {
        printf("# %" PRIu64 " sequences\n", ran_before + ran);
        fflush(stdout);
    }
}

/* Call by call, with what is wrong at the end. */
static bool show(const struct sequence *s)
{
    const struct find find = watch_one(s, 1, true);
    printf("# %s\n", find.what[0] ? find.text : "nothing is wrong");
    return !find.what[0];
}

static bool replay(const char *name)
{
    static struct sequence s;
    FILE *file = fopen(name, "r");
    const bool read = file && sequence_read(&s, file);
    if (file)
        fclose(file);
    if (!read)
        fprintf(stderr, "fuzz_api: %s holds no sequence\n", name);
    return read && show(&s);
}

/* A crash that libFuzzer has found, call by call. */
static bool show_bytes(const char *name)
{
    static struct sequence s;
    if (sequence_load(&s, name))
        return show(&s);
    fprintf(stderr, "fuzz_api: %s can't be read\n", name);
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a folder by their names. The caller frees them. */
static char **list_folder(const char *folder, unsigned *count)
{
    char **names = NULL, path[4096];
    DIR *open = opendir(folder);
    *count = 0;
    for (const struct dirent *entry; open && (entry = readdir(open)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        names = realloc(names, (*count + 1) * sizeof(*names));
        names[(*count)++] = strdup(path);
    }
    if (open)
        closedir(open);
    if (*count)
        qsort(names, *count, sizeof(*names), by_name);
    return names;
}

static bool run_corpus(const char *folder)
{
    unsigned count;
    char **names = list_folder(folder, &count);
    const struct find find = watch_files(names, count);
    if (!count)
        printf("# %s holds no files\n", folder);
    else if (find.what[0])
        printf("# %s: %s; --bytes shows it call by call\n", names[find.seed], find.text);
    else
        printf("# %u sequences, nothing is wrong\n", count);
    for (unsigned i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return count && !find.what[0];
}

static bool show_seed(const char *seed, unsigned ops)
{
    static struct sequence s;
    sequence_make(&s, strtoull(seed, NULL, 0), ops);
    return show(&s);
}

static void print_seed(const char *seed, unsigned ops)
{
    static struct sequence s;
    sequence_make(&s, strtoull(seed, NULL, 0), ops);
    sequence_print(&s, stdout);
}

/* How often it has to run to find the same: threads may have to meet. 0: it does not find it again. */
static unsigned times_of(const struct sequence *s, const struct find *find)
{
    static const unsigned tries[] = {1, 10, 100};
    for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
        if (strcmp(watch_one(s, tries[i], false).what, find->what) == 0)
            return tries[i];
    return 0;
}

static void report(const struct find *find, unsigned ops, double seconds)
{
    static struct sequence s;
    printf("# seed %" PRIu64 ": %s\n", find->seed, find->text);
    sequence_make(&s, find->seed, ops);
    const unsigned times = times_of(&s, find);
    if (times)
        shrink(&s, find, times, seconds);
    else
        printf("# it did not do so again\n");
    printf("# the shortest sequence, as --replay reads it:\n");
    sequence_print(&s, stdout);
    printf("# and what it does:\n");
    show(&s);
}

enum { PROCESS = 1000 }; /* sequences, until a fresh process begins */

static bool fuzz(const struct options *options)
{
    const double end = watch_now() + options->seconds;
    const uint64_t last = options->seed + options->sequences;
    uint64_t seed = options->seed;
    printf("# seed %" PRIu64 ", %.0f s\n", seed, options->seconds);
    while (watch_now() < end && seed < last) {
        const uint64_t turn = last - seed < PROCESS ? last - seed : PROCESS;
        const struct seeds seeds = {seed, seed + turn, options->ops, end - watch_now()};
        const struct find find =
            options->threads ? watch_threads(&seeds, options->threads, progress) : watch_seeds(&seeds, progress);
        ran_before += find.ran;
        seed += find.ran;
        if (find.what[0] && options->threads) {
            printf("# seeds %" PRIu64 " to %" PRIu64 " in as many threads: %s\n", find.seed,
                   find.seed + options->threads - 1, find.text);
            return false;
        }
        if (find.what[0]) {
            report(&find, options->ops, options->shrink);
            return false;
        }
    }
    printf("# %" PRIu64 " sequences, nothing is wrong\n", ran_before);
    return true;
}

static bool read_options(struct options *options, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            options->seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            options->seed = strtoull(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--sequences") == 0)
            options->sequences = strtoull(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--ops") == 0)
            options->ops = (unsigned)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--shrink") == 0)
            options->shrink = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--show") == 0)
            options->show = argv[i + 1];
        else if (strcmp(argv[i], "--print") == 0)
            options->print = argv[i + 1];
        else if (strcmp(argv[i], "--threads") == 0)
            options->threads = (unsigned)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--bytes") == 0)
            options->bytes = argv[i + 1];
        else if (strcmp(argv[i], "--corpus") == 0)
            options->corpus = argv[i + 1];
        else if (strcmp(argv[i], "--replay") == 0)
            options->replay = argv[i + 1];
        else
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    const bool alone = argc == 1;
    struct options options = {.seconds = alone ? 600 : 30,
                              .sequences = alone ? 1000 : UINT64_MAX / 2,
                              .seed = alone ? 1 : (uint64_t)time(NULL) * 1000003u % (UINT64_MAX / 4),
                              .ops = 60,
                              .shrink = 300};
    if (!read_options(&options, argc, argv)) {
        fprintf(stderr,
                "usage: fuzz_api [--seconds N] [--sequences N] [--seed S] [--ops N] [--threads N] [--shrink N]\n"
                "                [--show S] [--print S] [--replay FILE] [--bytes FILE] [--corpus FOLDER]\n");
        return 2;
    }
    if (options.replay)
        return replay(options.replay) ? 0 : 1;
    if (options.show)
        return show_seed(options.show, options.ops) ? 0 : 1;
    if (options.print) {
        print_seed(options.print, options.ops);
        return 0;
    }
    if (options.bytes)
        return show_bytes(options.bytes) ? 0 : 1;
    tap_line("TAP version 13");
    const bool fine = options.corpus ? run_corpus(options.corpus) : fuzz(&options);
    printf("%s 1 - random sequences of calls give what the model says\n1..1\n", fine ? "ok" : "not ok");
    return fine ? 0 : 1;
}
