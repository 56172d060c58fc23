/* The choice of a transport: who is asked, in which order, what is said of it, and what CLD3D_TRANSPORT changes. The list is
 * this program's. Each case is a process of its own, since settings are read once. */
#include "settings.h"
#include "tap.h"
#include "transport/transports.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a transport of this program shall do, and what was done with it. */
static struct way {
    cl_int answer;
    bool short_of_memory;
    unsigned opened, closed, freed, asked;
    struct transfer made;
} first, second, last;

static void *open_way(struct way *way)
{
    way->opened++;
    return way->short_of_memory ? NULL : way;
}

static void close_way(void *state)
{
    ((struct way *)state)->closed++;
}

static void free_way(void *state)
{
    ((struct way *)state)->freed++;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why, struct way *way,
                     const struct transport *transport)
{
    way->asked++;
    CHECK(request->state == NULL || request->state == way);
    way->made.transport = transport;
    if (way->answer == CL_SUCCESS)
        *made = &way->made;
    else
        snprintf(why, TRANSPORT_WHY, "reason %d", way->answer);
    return way->answer;
}

#define WAY(way)                                                                                          \
    static const struct transport way##_transport;                                                        \
    static void *open_##way(cl_context context)                                                           \
    {                                                                                                     \
        (void)context;                                                                                    \
        return open_way(&way);                                                                            \
    }                                                                                                     \
    static cl_int create_##way(const struct transfer_request *request, struct transfer **made, char *why) \
    {                                                                                                     \
        return create(request, made, why, &way, &way##_transport);                                        \
    }                                                                                                     \
    static const struct transport way##_transport = {.name = #way,                                        \
                                                     .title = "the " #way " way",                         \
                                                     .open = open_##way,                                  \
                                                     .close = close_way,                                  \
                                                     .free_state = free_way,                              \
                                                     .create = create_##way};
WAY(first)
WAY(second)
#undef WAY

/* Keeps nothing for a context. */
static const struct transport last_transport;
static cl_int create_last(const struct transfer_request *request, struct transfer **made, char *why)
{
    return create(request, made, why, &last, &last_transport);
}

static const struct transport last_transport = {.name = "last", .title = "the last way", .create = create_last};

const struct transport *const transport_list[] = {&first_transport, &second_transport, &last_transport};
const unsigned transport_list_count = 3;

/* ---- a process for each case ---- */

static char log_path[64];

/* What the process has logged so far. */
static const char *log_text(void)
{
    static char text[8192];
    FILE *file = fopen(log_path, "r");
    text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static unsigned times_said(const char *what)
{
    unsigned times = 0;
    for (const char *at = strstr(log_text(), what); at; at = strstr(at + 1, what))
        times++;
    return times;
}

/* The sanitizer would look for what is lost in a process that lives on; gcov counts what ends in order. */
static void end_process(int status)
{
#ifdef __SANITIZE_ADDRESS__
    _exit(status);
#else
    exit(status);
#endif
}

static void in_process(const char *setting, void (*check)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("CLD3D_LOG", "info", 1);
        setenv("CLD3D_LOG_FILE", log_path, 1);
        setenv("CLD3D_TRANSPORT", setting, 1);
        remove(log_path);
        check();
        fflush(NULL);
        end_process(atomic_load(&tap_case.checks) && !atomic_load(&tap_case.failures) ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    remove(log_path);
}

static const struct transfer_request request = {.call = "clCreateFromSomething"};

/* ---- cases ---- */

static void order(void)
{
    struct transfer *made = NULL;
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    first.answer = CL_INVALID_VALUE;
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK(made == &second.made);
    CHECK_INT(first.asked + second.asked + last.asked, 2);
    CHECK_INT(times_said("the second way; not first: reason -30"), 1);
    /* The way is told again when it changes, not for each object. */
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK_INT(times_said("clCreateFromSomething"), 1);
    second.answer = CL_OUT_OF_RESOURCES;
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK(made == &last.made);
    CHECK_INT(times_said("the last way; not first: reason -30; not second: reason -5"), 1);
    /* Nobody can. */
    last.answer = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    CHECK_INT(transports_create(transports, &request, &made), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    CHECK_INT(times_said("reason -39"), 1);
    transports_free(transports);
}

static void all_in_order(void)
{
    in_process("", order);
}

static void context_state(void)
{
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    CHECK_INT(first.opened + second.opened, 2);
    transports_close(transports);
    CHECK_INT(first.closed + second.closed, 2);
    CHECK_INT(first.freed + second.freed, 0);
    transports_free(transports);
    CHECK_INT(first.freed + second.freed, 2);
    transports_free(NULL);
}

static void state_lives(void)
{
    in_process("", context_state);
}

static void no_state(void)
{
    second.short_of_memory = true;
    CHECK(transports_open(NULL) == NULL);
    CHECK_INT(first.opened, 1);
    CHECK_INT(first.freed, 1);
    CHECK_INT(second.freed, 0);
}

static void memory_short(void)
{
    in_process("", no_state);
}

static void named_ones(void)
{
    struct transfer *made = NULL;
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    for (int i = 0; i < 2; i++)
        CHECK_STR(transports_report(), "the first way, the last way");
    first.answer = CL_INVALID_VALUE;
    CHECK_INT(transports_create(transports, &request, &made), CL_SUCCESS);
    CHECK(made == &last.made);
    CHECK_INT(second.opened + second.asked, 0);
    CHECK_INT(times_said("there is no transport"), 0);
    transports_free(transports);
}

static void named_in_the_setting(void)
{
    in_process("last,first", named_ones);
    in_process(" last, first,", named_ones);
}

static void one_alone(void)
{
    struct transfer *made = NULL;
    struct transports *transports = transports_open(NULL);
    if (!CHECK(transports != NULL))
        return;
    first.answer = CL_INVALID_VALUE;
    CHECK_INT(transports_create(transports, &request, &made), CL_INVALID_VALUE);
    CHECK_INT(last.asked, 0);
    transports_free(transports);
}

static void setting_leaves_out_last(void)
{
    in_process("first", one_alone);
}

static const struct tap_test tests[] = {
    {"the first that can share a surface is taken, and the log says why", all_in_order},
    {"what a context keeps is opened, closed and freed", state_lives},
    {"a transport without memory for its state: the context fails", memory_short},
    {"the setting names the transports that may be used", named_in_the_setting},
    {"what the setting leaves out is not asked, the last one neither", setting_leaves_out_last},
};

struct tap_case tap_case;

int main(int argc, char **argv)
{
    snprintf(log_path, sizeof(log_path), "/tmp/cld3d-transports-%ld", (long)getpid());
    return tap_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
