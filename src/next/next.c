#include "next/next.h"

#include "log.h"
#include "os/os.h"

#include <string.h>

cl_icd_dispatch next;
bool next_is_wider;

next_function next_slot_get(const cl_icd_dispatch *table, const struct next_slot *slot)
{
    next_function function;
    memcpy(&function, (const char *)table + slot->offset, sizeof(function));
    return function;
}

const struct next_slot *next_slot_find(const char *name)
{
    for (size_t i = 0; i < next_slot_count; i++)
        if (strcmp(next_slots[i].name, name) == 0)
            return &next_slots[i];
    return NULL;
}

next_function next_by_name(const cl_icd_dispatch *table, cl_platform_id platform, const char *name)
{
    return next_function_at(table->clGetExtensionFunctionAddressForPlatform(platform, name));
}

static void slot_set(cl_icd_dispatch *table, const struct next_slot *slot, next_function function)
{
    if (!function)
        function = slot->missing;
    memcpy((char *)table + slot->offset, &function, sizeof(function));
}

void next_set(const cl_icd_dispatch *table, size_t entries)
{
    /* The slots of the extensions' own functions have no replacement: empty ones stay NULL. */
    const size_t known =
        entries * sizeof(next_function) < sizeof(next) ? entries * sizeof(next_function) : sizeof(next);
    memset(&next, 0, sizeof(next));
    memcpy(&next, table, known);
    for (size_t i = 0; i < next_slot_count; i++)
        slot_set(&next, &next_slots[i], next_slot_get(&next, &next_slots[i]));
}

void next_load(void *library)
{
    memset(&next, 0, sizeof(next));
    for (size_t i = 0; i < next_slot_count; i++)
        slot_set(&next, &next_slots[i], library ? os_library_symbol(library, next_slots[i].name) : NULL);
}

void next_remove(const char *name)
{
    const struct next_slot *slot = next_slot_find(name);
    if (slot)
        slot_set(&next, slot, NULL);
}

const char *next_remedy = "the driver or the bridge does not offer it (docs/behaviour.md, Limits)";

cl_int next_lacks(const char *function, const char *since)
{
    return log_refuse(function, CL_INVALID_OPERATION, "the OpenCL below lacks this function (added in %s); %s", since,
                      next_remedy);
}
