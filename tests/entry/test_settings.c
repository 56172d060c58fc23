/* The environment of a set-user-ID program is made by somebody with less rights than the program has. */
#define _GNU_SOURCE

#include "os/os.h"
#include "settings.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ask[] = "--show-setting";

/* Copies this program to `path` with another owner, for whom everybody runs it. */
static bool copy_for_another(const char *path)
{
    enum { NOBODY = 65534 };
    char self[256] = "", command[512];
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return false;
    snprintf(command, sizeof(command), "cp '%s' %s", self, path);
    return system(command) == 0 && chown(path, NOBODY, NOBODY) == 0 && chmod(path, 04755) == 0;
}

/* What the program `path` makes of the environment: "elevated VALUE". */
static bool ask_program(const char *path, char *answer, size_t size)
{
    char command[512];
    snprintf(command, sizeof(command), "%s %s", path, ask);
    FILE *program = popen(command, "r");
    if (!program)
        return false;
    const bool told = fgets(answer, (int)size, program) != NULL;
    return pclose(program) == 0 && told;
}

CASE("0 turns a setting off", on_and_off)
{
    setenv("CLD3D_STRICT", "0", 1);
    setenv("CLD3D_FORCE", "1", 1);
    CHECK(!setting_on(SETTING_STRICT));
    CHECK(setting_on(SETTING_FORCE));
}

/* As on Windows, where an empty variable cannot be told from none. */
CASE("an empty variable leaves the default", empty_value)
{
    setenv("CLD3D_COPY_BACK", "", 1);
    setenv("CLD3D_VULKAN_SMALLEST", "", 1);
    CHECK(!setting_on(SETTING_COPY_BACK));
    CHECK_STR(setting_text(SETTING_VULKAN_SMALLEST), "65536");
}

/* A path of Windows has 1,023 characters at most, which may take three bytes each. */
CASE("a long value", long_value)
{
    char value[1023 * 3 + 1];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    setenv("CLD3D_NEXT", value, 1);
    CHECK_STR(setting_text(SETTING_NEXT), value);
}

CASE("a set-user-ID program has no settings", set_user_id)
{
    char folder[] = "/tmp/cld3d-settings-XXXXXX", path[64], answer[64] = "";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("the sanitizers need fixed addresses, which such a program does not get");
    return;
#endif
    if (geteuid() != 0) {
        SKIP("only root can make a program of another user");
        return;
    }
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    chmod(folder, 0755);
    snprintf(path, sizeof(path), "%s/program", folder);
    setenv("CLD3D_LOG_FILE", "/tmp/somewhere", 1);
    if (CHECK(copy_for_another(path)) && CHECK(ask_program(path, answer, sizeof(answer)))) {
        if (strcmp(answer, "0 0 /tmp/somewhere\n") == 0)
            SKIP("nothing runs set-user-ID here");
        else
            CHECK_STR(answer, "1 1 \n");
    }
    chmod(path, 0755);
    if (CHECK(ask_program(path, answer, sizeof(answer))))
        CHECK_STR(answer, "0 0 /tmp/somewhere\n");
    remove(path);
    rmdir(folder);
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], ask) == 0) {
        printf("%d %d %s\n", getuid() != geteuid(), os_is_elevated(), setting_text(SETTING_LOG_FILE));
        return 0;
    }
    return tap_run(argc, argv);
}
