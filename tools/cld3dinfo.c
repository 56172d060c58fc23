/* Says whether cld3d is active and works: which OpenCL, Direct3D and devices are there, what they share and how.
 *
 *     cld3dinfo.exe [--formats | --json]
 *     cld3dinfo.exe --register | --unregister
 *
 * It asks as any program would, through OpenCL and Direct3D, and believes no extension string that it has not tried. */
#include "info.h"
#include "info_text.h"

#include "settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_SHARES = 0, STATUS_DOES_NOT_SHARE = 1, STATUS_USAGE = 2 };
enum { STATUS_DONE = 0, STATUS_FAILED = 1 };

static struct info info;
static bool all_formats, as_json;
static bool second; /* this is the process that does the work */

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
          "for a "
          "wrong option.\n",
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
        case 'h': usage(stdout); exit(STATUS_SHARES);
        case 'V': puts("cld3dinfo " CLD3D_VERSION); exit(STATUS_SHARES);
        case 's':
            second = steps_join(optarg);
            if (second)
                break;
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

/* Many of the tries are refused, and the report says so: cld3d's own messages would only be in the way, unless they were
 * asked for. The settings are read first, as the report shows what holds for other programs. */
static void quieten_cld3d(void)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        setting_text(i);
    if (GetEnvironmentVariableA(setting_variable(SETTING_LOG), NULL, 0) == 0)
        SetEnvironmentVariableA(setting_variable(SETTING_LOG), "none");
}

_Noreturn static void work(void)
{
    quieten_cld3d();
    direct3d_find(&info.d3d);
    opencl_find(&info.opencl);
    sharing_try(&info);
    ways_try(&info);
    formats_try(&info);
    steps_print();
    if (as_json)
        print_json(&info);
    else
        print_report(&info, all_formats);
    steps_finish(info_sharing_devices(&info) > 0 ? STATUS_SHARES : STATUS_DOES_NOT_SHARE);
}

static void print_failure(const char *text)
{
    print_text("%s", text);
}

int main(int argc, char **argv)
{
    int status = STATUS_DOES_NOT_SHARE;
    read_options(argc, argv);
    if (second)
        work();
    const UINT code_page = GetConsoleOutputCP();
    SetConsoleOutputCP(CP_UTF8);
    const char *options = as_json ? "--json" : all_formats ? "--formats" : "";
    if (!steps_run(options, &status, as_json ? print_json_failure : print_failure))
        work();
    SetConsoleOutputCP(code_page);
    return status;
}
