#include "next/query.h"

#include "log.h"

#include <string.h>

cl_int answer(const char *call, const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    if (to && capacity < size)
        return log_refuse(call, CL_INVALID_VALUE, "param_value_size is %zu, but the value has %zu bytes", capacity,
                          size);
    if (to && size)
        memcpy(to, value, size);
    if (size_ret)
        *size_ret = size;
    return CL_SUCCESS;
}

/* The beginning of the next word behind a place, or the end of the text. */
static const char *word_from(const char *place)
{
    return place + strspn(place, " ");
}

bool words_have(const char *text, const char *word, size_t length)
{
    for (const char *at = word_from(text); *at; at = word_from(at + strcspn(at, " ")))
        if (strcspn(at, " ") == length && memcmp(at, word, length) == 0)
            return true;
    return false;
}

void words_filter(char *text, bool (*keep)(const char *word, size_t length, const void *data), const void *data)
{
    size_t kept = 0;
    for (const char *at = word_from(text); *at;) {
        const size_t length = strcspn(at, " ");
        const char *after = word_from(at + length);
        if (keep(at, length, data)) {
            if (kept)
                text[kept++] = ' ';
            memmove(text + kept, at, length);
            kept += length;
        }
        at = after;
    }
    text[kept] = '\0';
}

size_t names_filter(cl_name_version *list, size_t count,
                    bool (*keep)(const char *word, size_t length, const void *data), const void *data)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (keep(list[i].name, strnlen(list[i].name, sizeof(list->name)), data))
            list[kept++] = list[i];
    return kept;
}

bool extension_of_host(const char *name, size_t length)
{
    static const char *const beginnings[] = {
        "cl_arm_import_memory", "cl_arm_printf", "cl_arm_shared_virtual_memory",
        "cl_intel_va_api",      "cl_khr_d3d",    "cl_khr_dx9",
        "cl_khr_egl_",          "cl_khr_gl_",    "cl_khr_external_",
        "cl_khr_icd",
    };
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (length >= strlen(beginnings[i]) && memcmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}
