/* Where messages go. */
#include "log.h"
#include "os/os.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <io.h>
#include <process.h>
#define unlink _unlink
#else
#include <unistd.h>
#endif

static const char line[] = "cld3d: warn: a message\n";

/* Names of files of this program alone. */
static void own_name(char *name, size_t size, const char *what)
{
    snprintf(name, size, "cld3d-%d-%s.log", (int)getpid(), what);
}

static void read_all(const char *name, char *text, size_t size)
{
    FILE *file = fopen(name, "rb");
    const size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
}

/* What is written to the standard error stream for a message that shall go to `file`. */
static void standard_errors(const char *file, char *text, size_t size)
{
    char name[64];
    own_name(name, sizeof(name), "errors");
    fflush(stderr);
    const int before = dup(2);
    FILE *to = fopen(name, "wb");
    if (!CHECK(before >= 0 && to != NULL))
        return;
    dup2(fileno(to), 2);
    os_log_line(file, line);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    fclose(to);
    read_all(name, text, size);
    unlink(name);
}

CASE("messages go to the standard error stream", to_the_standard_errors)
{
    char text[256] = "";
    standard_errors(NULL, text, sizeof(text));
    CHECK_STR(text, line);
    standard_errors("", text, sizeof(text));
    CHECK_STR(text, line);
}

CASE("messages go to a file", to_a_file)
{
    char name[64], text[256] = "";
    own_name(name, sizeof(name), "own");
    standard_errors(name, text, sizeof(text));
    CHECK_STR(text, "");
    os_log_line(name, line);
    read_all(name, text, sizeof(text));
    CHECK_INT(strlen(text), 2 * strlen(line));
    unlink(name);
}

/* What is wrong with it nobody could be told otherwise. */
CASE("messages for a file that can't be written go to the standard error stream", to_no_file)
{
    char text[256] = "";
    standard_errors("no-such-folder/own.log", text, sizeof(text));
    CHECK_STR(text, line);
    standard_errors(".", text, sizeof(text));
    CHECK_STR(text, line);
}

static void set_variable(const char *variable, const char *value)
{
#ifdef _WIN32
    SetEnvironmentVariableA(variable, value);
#else
    setenv(variable, value, 1);
#endif
}

static void set_test_variable(const char *value)
{
    set_variable("CLD3D_TEST", value);
}

CASE("an empty setting is none", empty_text)
{
    char value[8] = "before";
    set_test_variable("");
    CHECK(!os_setting("CLD3D_TEST", value, sizeof(value)));
    CHECK_STR(value, "");
}

/* A line has room for so many bytes; what is more of a message is left out. */
CASE("a message that is longer than a line", long_messages)
{
    enum { ROOM = 1023 };
    char name[64], text[4 * ROOM] = "", message[2001];
    own_name(name, sizeof(name), "long");
    memset(message, 'x', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    set_variable("CLD3D_LOG", "warn");
    set_variable("CLD3D_LOG_FILE", name);
    log_write(LOG_ERROR, "%s", message);
    CHECK_INT(log_refuse("clCall", CL_INVALID_VALUE, "%s", message), CL_INVALID_VALUE);
    read_all(name, text, sizeof(text));
    const char *end = strchr(text, '\n'), *refused = "cld3d: warn: clCall: CL_INVALID_VALUE (-30): xxx";
    if (CHECK(end != NULL)) {
        const char *second = end + 1, *last = strchr(second, '\n');
        CHECK(strncmp(text, "cld3d: error: xxx", 17) == 0);
        CHECK_INT(second - text, ROOM);
        CHECK(strncmp(second, refused, strlen(refused)) == 0);
        CHECK(last && last[1] == '\0' && last - second < ROOM && last[-1] == 'x');
    }
    unlink(name);
}

TAP_MAIN
