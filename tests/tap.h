/* A test program: cases that report in the Test Anything Protocol.
 *
 *     CASE("one and one is two", adds)
 *     {
 *         CHECK_INT(1 + 1, 2);
 *     }
 *
 *     TAP_MAIN
 *
 * The cases run in the order of the file. A case passes if it ran at least one check and none failed. A failed check says where and what, and the case goes on;
 * each check is an expression that tells whether it held, for a case that can't go on:
 *
 *     if (!CHECK(device != NULL))
 *         return;
 *
 * Checks may run in any thread, and in other files of the program than the one with TAP_MAIN, as long as the case waits
 * for them. `test_NAME --list` lists the cases, `test_NAME TEXT...` runs those whose names hold one of the texts,
 * `test_NAME -TEXT` all but those.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tap_test {
    const char *name;
    void (*run)(void);
    int place; /* in the file */
    struct tap_test *after;
};

static struct tap_test *tap_tests; /* by their places */

/* Before main, in any order. */
static inline void tap_list(struct tap_test *test)
{
    struct tap_test **place = &tap_tests;
    while (*place && (*place)->place < test->place)
        place = &(*place)->after;
    test->after = *place;
    *place = test;
}

/* Makes a case of a function; `nth`: of those that one line makes. */
#define TAP_LIST(text, function, nth)                                               \
    __attribute__((constructor)) static void list_##function(void)                  \
    {                                                                               \
        static struct tap_test test = {text, function, 8 * __LINE__ + (nth), NULL}; \
        tap_list(&test);                                                            \
    }

#define CASE(text, function)    \
    static void function(void); \
    TAP_LIST(text, function, 0) \
    static void function(void)

/* What the running case has done so far. TAP_MAIN defines it. */
struct tap_case {
    atomic_int checks, failures;
    _Atomic(const char *) skip_reason;
};

extern struct tap_case tap_case;

/* Checks that a condition holds. */
#define CHECK(condition) tap_check((condition), #condition, __FILE__, __LINE__)

/* Checks that two integers of any type are equal. Evaluates each once. */
#define CHECK_INT(actual, expected) \
    tap_check_int((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)

/* Checks that two texts are equal. NULL is equal to nothing else. */
#define CHECK_STR(actual, expected) tap_check_str((actual), (expected), #actual, __FILE__, __LINE__)

/* Checks that `size` bytes are equal, and says where the first difference is. */
#define CHECK_MEM(actual, expected, size) tap_check_mem((actual), (expected), (size), #actual, __FILE__, __LINE__)

/* Says that the case, or the rest of it, can't be run here, and why. The text must outlive the case, and the case must
 * return by itself. Failures before count all the same. */
#define SKIP(reason) atomic_store(&tap_case.skip_reason, (reason))

#define TAP_MAIN                    \
    struct tap_case tap_case;       \
                                    \
    int main(int argc, char **argv) \
    {                               \
        return tap_run(argc, argv); \
    }

/* Each line goes out with one call, so lines of several threads don't mix, and at once, so that nothing is lost in a
 * crash. Failure messages use it; tests can for remarks of their own, with "# " in front. */
static inline void tap_line(const char *line)
{
    printf("%s\n", line);
    fflush(stdout);
}

/* The place of a check as people write it. Compilers give the file's path, which may be long. */
static inline const char *tap_file(const char *path)
{
    const char *name = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\')
            name = c + 1;
    return name;
}

static inline bool tap_record(bool held)
{
    atomic_fetch_add(&tap_case.checks, 1);
    if (!held)
        atomic_fetch_add(&tap_case.failures, 1);
    return held;
}

/* Says what was wrong at a place. */
static inline bool tap_fail(const char *file, int line, const char *format, ...)
{
    char message[1024];
    const int length = snprintf(message, sizeof(message), "# %s:%d: ", tap_file(file), line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof(message) - (size_t)length, format, arguments);
    va_end(arguments);
    tap_line(message);
    return false;
}

static inline bool tap_check(bool held, const char *text, const char *file, int line)
{
    return tap_record(held) || tap_fail(file, line, "does not hold: %s", text);
}

static inline bool tap_check_int(long long actual, long long expected, const char *text, const char *file, int line)
{
    return tap_record(actual == expected) ||
           tap_fail(file, line, "%s is %lld (0x%llx), expected %lld (0x%llx)", text, actual, (unsigned long long)actual,
                    expected, (unsigned long long)expected);
}

static inline bool tap_check_str(const char *actual, const char *expected, const char *text, const char *file, int line)
{
    const bool equal = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
    return tap_record(equal) || tap_fail(file, line, "%s is \"%.400s\", expected \"%.400s\"", text,
                                         actual ? actual : "(NULL)", expected ? expected : "(NULL)");
}

static inline bool tap_check_mem(const void *actual, const void *expected, size_t size, const char *text,
                                 const char *file, int line)
{
    const unsigned char *a = actual, *e = expected;
    size_t first = 0, differ = 0;
    if (tap_record(size == 0 || (a && e && memcmp(a, e, size) == 0)))
        return true;
    if (!a || !e)
        return tap_fail(file, line, "%s: %s is NULL", text, a ? "what was expected" : "it");
    for (size_t i = size; i-- > 0;) {
        if (a[i] != e[i]) {
            first = i;
            differ++;
        }
    }
    return tap_fail(file, line, "%s: byte %llu is 0x%02x, expected 0x%02x; %llu of %llu bytes differ", text,
                    (unsigned long long)first, a[first], e[first], (unsigned long long)differ,
                    (unsigned long long)size);
}

/* Runs one case. Tells whether it is fine: passed or skipped. */
static inline bool tap_run_case(const struct tap_test *test, int number)
{
    atomic_store(&tap_case.checks, 0);
    atomic_store(&tap_case.failures, 0);
    atomic_store(&tap_case.skip_reason, NULL);
    test->run();

    const char *skip_reason = atomic_load(&tap_case.skip_reason);
    bool idle = !skip_reason && atomic_load(&tap_case.checks) == 0;
    bool fine = !idle && atomic_load(&tap_case.failures) == 0;
    if (idle)
        tap_line("# ran no check");
    char line[512];
    snprintf(line, sizeof(line), "%s %d - %s%s%s", fine ? "ok" : "not ok", number, test->name,
             fine && skip_reason ? " # SKIP " : "", fine && skip_reason ? skip_reason : "");
    tap_line(line);
    return fine;
}

static inline bool tap_is_wanted(const struct tap_test *test, int argc, char **argv)
{
    bool wanted = false, named = false;
    for (int i = 1; i < argc; i++) {
        const bool without = argv[i][0] == '-', found = strstr(test->name, argv[i] + without);
        if (without && found)
            return false;
        named = named || !without;
        wanted = wanted || (!without && found);
    }
    return wanted || !named;
}

/* The whole program: returns its exit status, 0 if all cases that ran are fine. */
static inline int tap_run(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const struct tap_test *test = tap_tests; test; test = test->after)
            tap_line(test->name);
        return 0;
    }
    tap_line("TAP version 13");
    int ran = 0;
    bool fine = true;
    for (const struct tap_test *test = tap_tests; test; test = test->after)
        if (tap_is_wanted(test, argc, argv) && !tap_run_case(test, ++ran))
            fine = false;
    char plan[64];
    snprintf(plan, sizeof(plan), "1..%d%s", ran, ran ? "" : " # SKIP no case has such a name");
    tap_line(plan);
    return fine ? 0 : 1;
}

#endif
