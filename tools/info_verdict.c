/* The answer: is cld3d active, and does it work? And if not, what to do. */
#include "info.h"
#include "info_text.h"

#include "os/os.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>

bool info_works(const struct info *info, enum api_index api)
{
    for (unsigned i = 0; i < info->opencl.device_count; i++)
        if (info->opencl.devices[i].sharing[api].works)
            return true;
    return false;
}

unsigned info_sharing_devices(const struct info *info)
{
    unsigned count = 0;
    for (unsigned i = 0; i < info->opencl.device_count; i++) {
        const struct sharing *sharing = info->opencl.devices[i].sharing;
        count += sharing[API_D3D11].works || sharing[API_D3D10].works || sharing[API_D3D9].works;
    }
    return count;
}

bool info_has_direct3d(const struct info *info)
{
    for (unsigned a = 0; a < info->d3d.adapter_count; a++)
        for (unsigned i = 0; i < API_COUNT; i++)
            if (info->d3d.adapters[a].d3d[i].device)
                return true;
    return false;
}

static bool any_listed(const struct info *info)
{
    for (unsigned d = 0; d < info->opencl.device_count; d++)
        for (unsigned i = 0; i < API_COUNT; i++)
            if (info->opencl.devices[d].sharing[i].listed)
                return true;
    return false;
}

/* What follows "none: " in a report; NULL in another one. */
static const char *none(const char *report)
{
    static const char begin[] = "none: ";
    return report && strncmp(report, begin, sizeof(begin) - 1) == 0 ? report + sizeof(begin) - 1 : NULL;
}

const char *info_no_bridge(const struct opencl *cl)
{
    const bool needed = cl->cld3d.module == cl->library.module || cl->next || cl->platform_count == 0;
    return os_is_wine() && needed && !setting_text(SETTING_NEXT)[0] ? none(cl->bridge) : NULL;
}

bool info_no_next(const struct opencl *cl)
{
    return cl->platform_count == 0 && none(cl->next);
}

/* "2 of 3 OpenCL devices share with Direct3D 11 and 10" */
static void say_what_works(const struct info *info, char *text, size_t size)
{
    const unsigned count = info_sharing_devices(info), all = info->opencl.device_count;
    size_t length = (size_t)snprintf(text, size, "%u of %u OpenCL device%s %s with Direct3D", count, all,
                                     all == 1 ? "" : "s", count == 1 ? "shares" : "share");
    unsigned named = 0, working = 0;
    for (unsigned i = 0; i < API_COUNT; i++)
        working += info_works(info, i);
    for (unsigned i = 0; i < API_COUNT; i++) {
        if (!info_works(info, i))
            continue;
        const char *link = named == 0 ? "" : named + 1 == working ? " and" : ",";
        length += (size_t)snprintf(text + length, size - length, "%s %s", link, apis[i]->number);
        named++;
    }
}

/* The first thing that is in the way of all sharing. */
static const char *main_trouble(const struct info *info)
{
    if (info_no_next(&info->opencl))
        return "it finds no OpenCL to forward calls to";
    if (info->opencl.platform_count == 0)
        return "there is no OpenCL driver";
    if (info->opencl.device_count == 0)
        return "there is no OpenCL device";
    if (!info_has_direct3d(info))
        return "no Direct3D device can be created";
    if (!any_listed(info))
        return "no OpenCL device provides it";
    return "every attempt failed";
}

void verdict_text(const struct info *info, char *text, size_t size)
{
    const struct opencl *cl = &info->opencl;
    const char *version = cl->version ? cl->version : "(of unknown version)";
    const bool works = info_sharing_devices(info) > 0;
    char what[256] = "";
    if (works)
        say_what_works(info, what, sizeof(what));
    if (!cl->library.module)
        snprintf(text, size, "cld3d is not active: no OpenCL.dll can be loaded.");
    else if (cl->cld3d.module && works)
        snprintf(text, size, "cld3d %s is active and works: %s.", version, what);
    else if (cl->cld3d.module)
        snprintf(text, size, "cld3d %s is active but shares nothing: %s.", version, main_trouble(info));
    else if (works)
        snprintf(text, size, "cld3d is not active; OpenCL's own sharing works: %s.", what);
    else
        snprintf(text, size, "cld3d is not active, and this OpenCL shares nothing with Direct3D.");
}

void print_verdict(const struct info *info)
{
    char text[512];
    verdict_text(info, text, sizeof(text));
    print_text("%s", text);
}

/* Each with its cause, where the verdict does not say it, and what to do. */
void print_advice(const struct info *info)
{
    unsigned count;
    const struct finding *findings = info_findings(info, &count);
    for (unsigned i = 0; i < count; i++) {
        print_text("%s: %s%s%s", findings[i].error ? "Error" : "Warning", findings[i].what,
                   findings[i].cause[0] ? ": " : ".", findings[i].cause);
        print_text("  %s", findings[i].remedy);
    }
}
