#include "error_name.h"
#include "info.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void why_cl(char *why, const char *call, cl_int code)
{
    const char *name = cl_error_name(code);
    if (code == CL_SUCCESS)
        why_say(why, "%s returns nothing, but no error", call);
    else
        why_say(why, "%s: %s (%d)", call, code == CL_PLATFORM_NOT_FOUND_KHR ? "CL_PLATFORM_NOT_FOUND_KHR" : name,
                (int)code);
}

void why_d3d(char *why, const char *call, HRESULT code)
{
    why_say(why, "%s: error 0x%08lx", call, (unsigned long)code);
}

void why_say(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, WHY_SIZE, format, arguments);
    va_end(arguments);
}

void text_from_wide(char *text, size_t size, const wchar_t *wide)
{
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) == 0)
        text[0] = '\0';
}
