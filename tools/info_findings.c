/* The answer: is cld3d active, and does it work? And what is in the way of sharing: each thing with its cause and what to do about it. */
#include "info.h"

#include "os/os.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>

unsigned info_sharing_devices(const struct info *info)
{
    unsigned count = 0;
    for (unsigned i = 0; i < info->opencl.device_count; i++)
        count += info->opencl.devices[i].works;
    return count;
}

void verdict_report(const struct info *info, struct fact *verdict)
{
    const struct opencl *cl = &info->opencl;
    const unsigned shares = info_sharing_devices(info);
    report_value(verdict, "active", cl->cld3d.module ? "true" : "false");
    report_value(verdict, "works", shares > 0 ? "true" : "false");
    report_text(verdict, "text", report_heading, "cld3d %s %s: %u of %u OpenCL devices can share with Direct3D.",
                cl->version ? cl->version : CLD3D_VERSION,
                !cl->cld3d.module ? "is not active"
                : shares > 0      ? "is active and works"
                                  : "is active, but does not work",
                shares, cl->device_count);
}

/* ---- findings ---- */

void finding_add(struct fact *findings, bool error, const char *name, const char *what, const char *cause,
                 const char *remedy)
{
    struct fact *finding = report_object(findings, NULL);
    report_text(finding, "what", report_heading, "%s: %s", error ? "Error" : "Warning", what);
    report_text(finding, "name", NULL, "%s", name);
    report_text(finding, "severity", NULL, "%s", error ? "error" : "warning");
    report_text(finding, "cause", "Cause", "%s", cause);
    report_text(finding, "remedy", "Remedy", "%s", remedy);
}

/* What follows "none: " in what cld3d reports; NULL in another text. */
static const char *none(const char *report)
{
    static const char begin[] = "none: ";
    return report && strncmp(report, begin, sizeof(begin) - 1) == 0 ? report + sizeof(begin) - 1 : NULL;
}

static void find_inactive(const struct opencl *cl, struct fact *findings)
{
    char cause[4 * MAX_PATH];
    snprintf(cause, sizeof(cause), "%s%s", cl->library.module ? "this program loads " : "",
             cl->library.module ? cl->library.path : cl->library.why);
    finding_add(
        findings, true, "not-active", "cld3d is not active", cause,
        os_is_wine()
            ? "Run: cld3d-setup install. For one program only, copy cld3d's OpenCL.dll and libcld3d.dll of its bitness "
              "into its folder, and set WINEDLLOVERRIDES=opencl=n,b."
            : "Copy cld3d's OpenCL.dll into the folder of the program that is to use it.");
}

/* On Windows a library beside the program is the usual way. */
static void find_only_here(const struct opencl *cl, struct fact *findings)
{
    struct library systems;
    char cause[4 * MAX_PATH];
    if (!os_is_wine() || cl->cld3d.module != cl->library.module || !library_only_here(&cl->library, &systems))
        return;
    snprintf(cause, sizeof(cause), "they load %s, which is not this one", systems.path);
    finding_add(findings, false, "only-here", "programs in other folders do not load this cld3d", cause,
                "For all programs of the prefix, run: cld3d-setup install");
}

static void find_no_device(const struct opencl *cl, struct fact *findings)
{
    const char *no_next = cl->platform_count == 0 ? none(cl->next) : NULL;
    if (no_next)
        finding_add(findings, true, "no-below", "cld3d finds no OpenCL to forward calls to", no_next,
                    setting_text(SETTING_NEXT)[0] ? "Correct or unset CLD3D_NEXT."
                    : os_is_wine()                ? "Use cld3d's bridge, or a Wine with OpenCL."
                                                  : "Install an OpenCL, or name its OpenCL.dll in CLD3D_NEXT.");
    else if (cl->device_count == 0)
        finding_add(findings, true, "no-device", "there is no OpenCL device",
                    cl->why[0] ? cl->why : "no platform has a device for programs of this bitness",
                    "Install an OpenCL driver of this program's bitness; under Wine, on the system that runs Wine.");
}

/* Under Wine, unless the bridge is not needed: CLD3D_NEXT names what is below, or cld3d is a layer over a loader with drivers. What the
 * library says may end with the remedy. */
static void find_no_bridge(const struct info *info, struct fact *findings)
{
    const struct opencl *cl = &info->opencl;
    const char *why = none(cl->bridge);
    const bool needed = cl->cld3d.module == cl->library.module || cl->next || cl->platform_count == 0;
    if (!os_is_wine() || !needed || !why || setting_text(SETTING_NEXT)[0])
        return;
    char cause[WHY_SIZE];
    const size_t end = strcspn(why, ";");
    why_say(cause, "%.*s", (int)end, why);
    finding_add(findings, info_sharing_devices(info) == 0, "no-bridge",
                "cld3d does not use its bridge to the host's OpenCL", cause,
                why[end] ? why + end + 1 : "Run: cld3d-setup doctor");
}

void findings_report(const struct info *info, struct fact *findings)
{
    const struct opencl *cl = &info->opencl;
    if (!cl->cld3d.module && info_sharing_devices(info) == 0)
        find_inactive(cl, findings);
    if (cl->library.module) {
        find_only_here(cl, findings);
        find_no_device(cl, findings);
    }
    if (cl->version && strcmp(cl->version, CLD3D_VERSION) != 0)
        finding_add(findings, false, "version", "cld3d has another version than this program, " CLD3D_VERSION,
                    cl->version, "Install both from one release.");
    find_no_bridge(info, findings);
    if (!info->d3d.works)
        finding_add(findings, true, "no-direct3d", "no Direct3D device can be created", info->d3d.why,
                    "Direct3D needs a graphics driver and, under Wine, a display (DISPLAY).");
    for (unsigned i = 0; step_failed(i); i++)
        finding_add(findings, false, "driver-crash", "a driver crashed or hung", step_failed(i),
                    "Install another version of the driver, or remove it.");
}
