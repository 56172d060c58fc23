/* What is in the way of sharing, by what was found out: each thing with its cause and what to do about it. */
#include "info.h"
#include "info_text.h"

#include "os/os.h"
#include "settings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static struct finding list[FINDINGS_MAX];
static unsigned count;

/* The next one, or the last one again if there is no room. Its remedy is empty yet. */
static struct finding *add(bool error, const char *name, const char *what)
{
    struct finding *finding = &list[count < FINDINGS_MAX ? count++ : FINDINGS_MAX - 1];
    *finding = (struct finding){.error = error, .name = name};
    snprintf(finding->what, sizeof(finding->what), "%s", what);
    return finding;
}

/* ---- OpenCL ---- */

static void find_inactive(const struct opencl *cl)
{
    struct finding *f;
    if (!cl->library.module) {
        f = add(true, "no-opencl", "no OpenCL.dll can be loaded");
        snprintf(f->cause, sizeof(f->cause), "%s", cl->library.why);
        if (os_is_wine())
            snprintf(f->remedy, sizeof(f->remedy),
                     "Install cld3d as below: with its bridge it needs no OpenCL of Wine's.");
        else
            snprintf(f->remedy, sizeof(f->remedy), "Install an OpenCL driver for %u-bit programs.",
                     (unsigned)sizeof(void *) * 8);
    }
    f = add(true, cl->beside_unused ? "beside-unused" : "not-active", "cld3d is not active");
    if (cl->library.module)
        snprintf(f->cause, sizeof(f->cause), "this program loads %s (%s)", cl->library.path,
                 cl->library.product[0] ? cl->library.product : "of unknown origin");
    else
        snprintf(f->cause, sizeof(f->cause), "there is no OpenCL.dll");
    if (!os_is_wine())
        snprintf(f->remedy, sizeof(f->remedy),
                 "Copy cld3d's OpenCL.dll into the folder of the program that is to use it%s.",
                 cl->beside_unused ? ", and start that program from there" : "");
    else if (cl->beside_unused)
        snprintf(f->remedy, sizeof(f->remedy),
                 "Wine does not load the OpenCL.dll in this program's folder: it must be the %u-bit one, and needs "
                 "WINEDLLOVERRIDES=opencl=n,b. For all programs of the prefix, run: cld3d-setup install",
                 (unsigned)sizeof(void *) * 8);
    else
        snprintf(f->remedy, sizeof(f->remedy),
                 "Run: cld3d-setup install. For one program only, copy cld3d's OpenCL.dll into its folder and set "
                 "WINEDLLOVERRIDES=opencl=n,b.");
}

/* On Windows a library beside the program is the usual way. */
static void find_only_here(const struct opencl *cl)
{
    if (!cl->only_here[0] || !os_is_wine())
        return;
    struct finding *f = add(false, "only-here", "programs in other folders do not load this cld3d");
    snprintf(f->cause, sizeof(f->cause), "%s", cl->only_here);
    snprintf(f->remedy, sizeof(f->remedy), "For all programs of the prefix, run: cld3d-setup install");
}

static void find_opencl(const struct info *info)
{
    const struct opencl *cl = &info->opencl;
    const unsigned bits = sizeof(void *) * 8;
    if (!cl->cld3d.module && info_sharing_devices(info) == 0)
        find_inactive(cl);
    if (!cl->library.module)
        return;
    if (cl->cld3d.module == cl->library.module)
        find_only_here(cl);
    if (info_no_next(cl)) {
        struct finding *f = add(true, "no-below", "cld3d finds no OpenCL to forward calls to");
        snprintf(f->cause, sizeof(f->cause), "%s", cl->next);
        snprintf(f->remedy, sizeof(f->remedy), "%s.",
                 setting_text(SETTING_NEXT)[0] ? "Correct or unset CLD3D_NEXT; see \"OpenCL below\""
                 : os_is_wine()                ? "Use cld3d's bridge, or a Wine with OpenCL"
                                               : "Install an OpenCL, or name its OpenCL.dll in CLD3D_NEXT");
    } else if (!cl->complete) {
        struct finding *f = add(true, "incomplete-opencl", "this OpenCL.dll lacks functions of OpenCL 1.2");
        snprintf(f->cause, sizeof(f->cause), "%s", cl->why);
        snprintf(f->remedy, sizeof(f->remedy), "Install another OpenCL.");
    } else if (cl->device_count == 0) {
        struct finding *f = add(true, "no-device", "there is no OpenCL device");
        snprintf(f->cause, sizeof(f->cause), "%s",
                 cl->platform_count == 0 ? cl->why : "no platform has a device for programs of this bitness");
        snprintf(f->remedy, sizeof(f->remedy), "Install an OpenCL driver for %u-bit programs%s.", bits,
                 os_is_wine() ? " on the system that runs Wine; clinfo there shows its devices"
                              : "; it comes with the graphics driver");
    }
}

static void find_versions(const struct opencl *cl)
{
    if (cl->cld3d.module && cl->version && strcmp(cl->version, CLD3D_VERSION) != 0) {
        struct finding *f = add(false, "version", "cld3d has another version than this program");
        snprintf(f->cause, sizeof(f->cause), "%s and " CLD3D_VERSION, cl->version);
        snprintf(f->remedy, sizeof(f->remedy), "Install both from one release.");
    }
}

/* What the library says may end with the remedy. */
static void find_bridge(const struct info *info)
{
    const char *why = info_no_bridge(&info->opencl);
    if (!why)
        return;
    struct finding *f =
        add(info_sharing_devices(info) == 0, "no-bridge", "cld3d does not use its bridge to the host's OpenCL");
    const size_t cause = strcspn(why, ";");
    snprintf(f->cause, sizeof(f->cause), "%.*s", (int)cause, why);
    snprintf(f->remedy, sizeof(f->remedy), "Run: cld3d-setup doctor");
    if (strncmp(why + cause, "; ", 2) == 0)
        snprintf(f->remedy, sizeof(f->remedy), "%c%s.", toupper((unsigned char)why[cause + 2]), why + cause + 3);
}

/* ---- Direct3D and drivers ---- */

static void find_direct3d(const struct info *info)
{
    if (info_has_direct3d(info))
        return;
    struct finding *f = add(true, "no-direct3d", "no Direct3D device can be created");
    snprintf(f->cause, sizeof(f->cause), "%s",
             info->d3d.adapter_count > 0 ? info->d3d.adapters[0].d3d[API_D3D11].why : info->d3d.dxgi_why);
    snprintf(f->remedy, sizeof(f->remedy), "Direct3D needs a graphics driver%s.",
             os_is_wine() ? " and, under Wine, a display (DISPLAY)" : "");
}

static void find_broken_sharing(const struct info *info)
{
    for (unsigned d = 0; d < info->opencl.device_count; d++) {
        for (unsigned api = 0; api < API_COUNT; api++) {
            const struct sharing *sharing = &info->opencl.devices[d].sharing[api];
            if (!sharing->tried || sharing->works)
                continue;
            struct finding *f = add(info_sharing_devices(info) == 0, "sharing-fails", "");
            snprintf(f->what, sizeof(f->what),
                     "OpenCL device %u does not share with %s, although it lists the extension", d, apis[api]->name);
            snprintf(f->cause, sizeof(f->cause), "%s", sharing->why);
            snprintf(f->remedy, sizeof(f->remedy), "Set CLD3D_LOG=debug and look for the reason in cld3d's log.");
        }
    }
}

static void find_crashes(void)
{
    for (unsigned i = 0; i < step_failures(); i++) {
        struct finding *f = add(false, "driver-crash", "a driver crashed or hung");
        snprintf(f->cause, sizeof(f->cause), "while %.255s: %.200s", step_failed(i), step_failed_how(i));
        snprintf(f->remedy, sizeof(f->remedy), "Install another version of the driver, or remove it.");
    }
}

const struct finding *info_findings(const struct info *info, unsigned *found)
{
    count = 0;
    find_opencl(info);
    find_versions(&info->opencl);
    find_bridge(info);
    find_direct3d(info);
    find_broken_sharing(info);
    find_crashes();
    *found = count;
    return list;
}
