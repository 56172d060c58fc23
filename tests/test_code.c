/* What is code, and that a function is looked up once: the system's list of what may be executed is long, and the functions of
 * objects that programs hand over are asked for again and again. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include "os/os.h"
#include "tap.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned looks; /* at the system's list */

/* In the place of the C library's. */
FILE *fopen(const char *path, const char *mode)
{
    void *address = dlsym(RTLD_NEXT, "fopen");
    FILE *(*open_file)(const char *, const char *);
    memcpy(&open_file, &address, sizeof(open_file));
    looks += strcmp(path, "/proc/self/maps") == 0;
    return open_file(path, mode);
}

/* Pages of what may be executed. NULL: a system forbids that. */
static char *map_code(size_t pages)
{
    void *code =
        mmap(NULL, pages * (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code != MAP_FAILED)
        return code;
    SKIP("nothing may be made executable here");
    return NULL;
}

static void code_and_data(void)
{
    static int data = 1;
    int local = 1; /* memory from malloc may be executed under valgrind */
    void (*function)(void) = code_and_data;
    const void *address;
    memcpy(&address, &function, sizeof(address));
    for (int turn = 0; turn < 2; turn++) {
        CHECK(os_executable(address));
        CHECK(!os_executable(&data));
        CHECK(!os_executable(&local));
        CHECK(!os_executable(NULL));
    }
}

/* Some functions by turns, each at the same place of its page. */
static void looked_up_once(void)
{
    enum { FUNCTIONS = 4 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *code = map_code(FUNCTIONS);
    if (!code)
        return;
    looks = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < FUNCTIONS; i++)
            CHECK(os_executable(code + i * page));
        CHECK_INT(looks, FUNCTIONS);
    }
    munmap(code, FUNCTIONS * page);
}

/* More functions than can be remembered, and what lies behind them. */
static void many_functions(void)
{
    enum { PAGES = 2, FUNCTIONS = 600 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *code = map_code(PAGES);
    if (!code)
        return;
    mprotect(code + page, page, PROT_READ);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < FUNCTIONS; i++)
            CHECK(os_executable(code + i * (page / FUNCTIONS)));
    CHECK(!os_executable(code + page));
    munmap(code, PAGES * page);
}

static const struct tap_test tests[] = {
    {"what is code", code_and_data},
    {"some functions are looked up once", looked_up_once},
    {"more functions than are remembered", many_functions},
};

TAP_MAIN(tests)
