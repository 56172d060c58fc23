/* The randomised model test: sequences of calls from seeds, each beside a model of the specification.
 *
 *     fuzz_api                          1,000 sequences from seed 1, reported as a test
 *     fuzz_api --seconds N              so long, from a seed of the clock
 *     fuzz_api --seed S [--seconds N]   from this seed on
 *     fuzz_api --sequences N            at most so many
 *     fuzz_api --ops N                  about so many operations in a sequence
 *     fuzz_api --show S [--only N,...]  the sequence of a seed, or some of its operations, call by call
 *
 * A sequence that finds something is made shorter and shown. */
#include "watch.h"

#include "../tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tap_case tap_case;

static uint64_t seconds = 30, seed, sequences = UINT64_MAX / 2, ops = 60, shown = UINT64_MAX;

/* ---- one sequence, or what is left of it ---- */

static struct sequence whole;
static bool out[MOST_OPS];

static const struct sequence *rest(void)
{
    static struct sequence s;
    s.setting = whole.setting;
    s.count = 0;
    for (unsigned i = 0; i < whole.count; i++)
        if (!out[i])
            s.ops[s.count++] = whole.ops[i];
    return &s;
}

/* Call by call, with what is wrong at the end. */
static bool show(void)
{
    const struct find find = watch_one(rest(), 1, true);
    printf("# %s\n", find.what[0] ? find.text : "nothing is wrong");
    return !find.what[0];
}

/* Of a seed, those of a list alone if there is one. */
static bool show_seed(uint64_t of, const char *only)
{
    sequence_make(&whole, of, (unsigned)ops);
    memset(out, only != NULL, sizeof(out));
    for (char *after; only && *only; only = *after ? after + 1 : after)
        out[strtoul(only, &after, 10) % MOST_OPS] = false;
    return show();
}

/* ---- a find made shorter ---- */

enum { SHORTENING_S = 300 };

static struct find wanted;
static unsigned times; /* how often a sequence has to run to find the same: the driver's threads may have to meet */
static double end;

static bool finds(void)
{
    return strcmp(watch_one(rest(), times, false).what, wanted.what) == 0;
}

/* Pieces of all lengths, from half down to one. */
static bool take_out(void)
{
    bool any = false;
    for (unsigned length = whole.count / 2 + 1; length; length /= 2)
        for (unsigned from = 0; from < whole.count && watch_now() < end; from += length) {
            const unsigned most = whole.count - from < length ? whole.count - from : length;
            bool before[MOST_OPS];
            memcpy(before, out, sizeof(out));
            memset(out + from, true, most);
            if (memcmp(before, out, sizeof(out)) == 0)
                continue;
            if (finds())
                any = true;
            else
                memcpy(out, before, sizeof(out));
        }
    return any;
}

static void report(void)
{
    printf("# seed %" PRIu64 ": %s\n", wanted.seed, wanted.text);
    sequence_make(&whole, wanted.seed, (unsigned)ops);
    memset(out, false, sizeof(out));
    end = watch_now() + SHORTENING_S;
    for (times = 1; times <= 100 && !finds(); times *= 10)
        continue;
    if (times > 100)
        printf("# it did not do so again\n");
    while (times <= 100 && take_out())
        printf("# %u operations are left\n", rest()->count);
    printf("# fuzz_api --ops %" PRIu64 " --show %" PRIu64 " --only ", ops, wanted.seed);
    for (unsigned i = 0; i < whole.count; i++)
        if (!out[i])
            printf("%u,", i);
    printf("\n");
    show();
}

/* ---- all ---- */

enum { PROCESS = 1000 }; /* sequences, until a fresh process begins */

static bool fuzz(void)
{
    const double last_second = watch_now() + (double)seconds;
    uint64_t ran = 0;
    printf("# seed %" PRIu64 ", %" PRIu64 " s\n", seed, seconds);
    while (watch_now() < last_second && ran < sequences) {
        const uint64_t turn = sequences - ran < PROCESS ? sequences - ran : PROCESS;
        wanted = watch_seeds(&(struct seeds){seed + ran, turn, ran, (unsigned)ops, last_second});
        ran += wanted.ran;
        if (wanted.what[0]) {
            report();
            return false;
        }
    }
    printf("# %" PRIu64 " sequences, nothing is wrong\n", ran);
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t *number;
    } options[] = {
        {"--seconds", &seconds}, {"--sequences", &sequences}, {"--seed", &seed}, {"--ops", &ops}, {"--show", &shown}};
    enum { OPTIONS = sizeof(options) / sizeof(options[0]) };
    const char *only = NULL;
    seed = (uint64_t)time(NULL) * 1000003u % (UINT64_MAX / 4);
    if (argc == 1)
        seconds = 600, sequences = 1000, seed = 1;
    for (int i = 1; i < argc; i += 2) {
        unsigned option = 0;
        while (option < OPTIONS && strcmp(argv[i], options[option].name) != 0)
            option++;
        if (i + 1 == argc || (option == OPTIONS && strcmp(argv[i], "--only") != 0)) {
            fprintf(stderr, "fuzz_api: %s is no option, or its value is missing; see tests/fuzz/main.c\n", argv[i]);
            return 2;
        }
        if (option < OPTIONS)
            *options[option].number = strtoull(argv[i + 1], NULL, 0);
        else
            only = argv[i + 1];
    }
    if (shown != UINT64_MAX)
        return show_seed(shown, only) ? 0 : 1;
    tap_line("TAP version 13");
    const bool fine = fuzz();
    printf("%s 1 - random sequences of calls give what the model says\n1..1\n", fine ? "ok" : "not ok");
    return fine ? 0 : 1;
}
