/* Says whether cld3d is active and works: which OpenCL, Direct3D and devices are there, what they share and how.
 *
 *     cld3dinfo.exe [--formats | --json]
 *     cld3dinfo.exe --register | --unregister
 *
 * It asks as any program would, through OpenCL and Direct3D, and believes no extension string that it has not tried. */
#include "info.h"

#include "os/os.h"
#include "settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static struct info info;
static bool all_formats, as_json;

_Noreturn static void work(void);

static void usage(FILE *stream)
{
    fputs("Usage: cld3dinfo [OPTION]...\n"
          "Shows whether cld3d is active and works, and what OpenCL shares with Direct3D.\n"
          "\n"
          "  -f, --formats     also print the table of all formats on all devices\n"
          "  -j, --json        print everything as JSON, for bug reports and programs\n"
          "  -r, --register    make the Khronos OpenCL.dll load the cld3d.dll in this program's folder, for all "
          "programs\n"
          "  -u, --unregister  undo --register\n"
          "  -h, --help        print this text\n"
          "  -V, --version     print the version of cld3dinfo\n"
          "\n"
          "Exit status: 0 if a device shares or the request succeeded, 1 if not or if the report cannot be written, 2 "
          "for a wrong option.\n",
          stream);
}

/* Does not return for options that only print something, or that do not exist. */
static void read_options(int count, char **arguments)
{
    static const struct option options[] = {
        {"formats", no_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},
        {"register", no_argument, NULL, 'r'},
        {"unregister", no_argument, NULL, 'u'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {"second", required_argument, NULL, 's'}, /* for cld3dinfo itself: see info_steps.c */
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(count, arguments, "fjruhV", options, NULL)) != -1) {
        switch (option) {
        case 'f': all_formats = true; break;
        case 'j': as_json = true; break;
        case 'r': exit(layer_register() ? STATUS_DONE : STATUS_FAILED);
        case 'u': exit(layer_unregister() ? STATUS_DONE : STATUS_FAILED);
        case 'h': usage(stdout); exit(STATUS_DONE);
        case 'V': puts("cld3dinfo " CLD3D_VERSION); exit(STATUS_DONE);
        case 's':
            if (steps_join(optarg))
                work();
            exit(STATUS_USAGE);
        default: usage(stderr); exit(STATUS_USAGE);
        }
    }
    if (optind < count) {
        fprintf(stderr, "cld3dinfo: unexpected argument '%s'\n", arguments[optind]);
        usage(stderr);
        exit(STATUS_USAGE);
    }
}

static void report_program(struct fact *program)
{
    typedef const char *(CDECL * wine_version_fn)(void);
    const wine_version_fn wine =
        (wine_version_fn)os_library_symbol((void *)GetModuleHandleA("ntdll.dll"), "wine_get_version");
    report_text(program, NULL, report_heading, "Program");
    report_text(program, "version", "cld3dinfo", "%s, %u bits", CLD3D_VERSION, (unsigned)sizeof(void *) * 8);
    report_text(program, "system", "System", "%s%s", wine ? "Wine " : "Windows", wine ? wine() : "");
}

/* The variables that begin with CLD3D_, and the settings that are not among them. A misspelt one has no effect, and nothing else tells. The Vulkan
 * loader and cld3d-setup read two more, CLD3D_VULKAN_LAYER and CLD3D_VULKAN_LAYER_OFF. */
static void report_settings(struct fact *settings)
{
    char *all = GetEnvironmentStringsA();
    report_text(settings, NULL, report_heading, "Settings");
    if (os_is_elevated())
        report_text(settings, "ignored",
                    "All are ignored:", "this process runs with more rights than its user normally has");
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        report_text(settings, setting_variable(i), setting_variable(i), "%s", setting_text(i));
    struct fact *unknown = report_list(settings, "unknown");
    for (const char *entry = all; entry && *entry; entry += strlen(entry) + 1) {
        char name[64];
        bool known = strncmp(entry, "CLD3D_", 6) != 0 || strncmp(entry, "CLD3D_VULKAN_LAYER", 18) == 0;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
        for (unsigned i = 0; i < SETTING_COUNT; i++)
            known = known || strcmp(setting_variable(i), name) == 0;
        if (!known)
            report_text(unknown, NULL, "Unknown setting", "%s", name);
    }
    if (all)
        FreeEnvironmentStringsA(all);
}

/* ---- the report ---- */

/* Grows when a key changes its meaning or goes, not when keys come. */
#define JSON_FORMAT "2"

/* Many of the tries are refused, and the report says so: cld3d's own messages would only be in the way, unless they were
 * asked for. The settings are read first, as the report shows what holds for other programs. */
static void quieten_cld3d(void)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        setting_text(i);
    if (GetEnvironmentVariableA(setting_variable(SETTING_LOG), NULL, 0) == 0)
        SetEnvironmentVariableA(setting_variable(SETTING_LOG), "none");
}

/* The answer comes first, and is known last. */
_Noreturn static void work(void)
{
    struct fact *report = report_object(NULL, NULL);
    quieten_cld3d();
    report_value(report, "format", JSON_FORMAT);
    struct fact *verdict = report_object(report, "verdict"), *findings = report_list(report, "findings");
    report_program(report_object(report, "program"));
    direct3d_find(&info.d3d, report_object(report, "direct3d"));
    opencl_find(&info.opencl, report);
    sharing_try(&info, all_formats, findings);
    report_settings(report_object(report, "settings"));
    steps_print();
    verdict_report(&info, verdict);
    findings_report(&info, findings);
    report_print(report, as_json);
    steps_finish(info_sharing_devices(&info) > 0 ? STATUS_DONE : STATUS_FAILED);
}

static void give_up(const char *doing)
{
    struct fact *report = report_object(NULL, NULL);
    report_value(report, "format", JSON_FORMAT);
    struct fact *verdict = report_object(report, "verdict");
    report_value(verdict, "works", "false");
    report_text(verdict, "text", report_heading,
                "cld3dinfo cannot tell: the drivers crashed it, most recently while %s.", doing);
    report_print(report, as_json);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    const UINT code_page = GetConsoleOutputCP();
    SetConsoleOutputCP(CP_UTF8);
    const char *options = as_json ? "--json" : all_formats ? "--formats" : "";
    const int status = steps_run(options, give_up);
    SetConsoleOutputCP(code_page);
    return status;
}
