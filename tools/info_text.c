#include "info_text.h"

#include "error_name.h"
#include "info.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where the values of fields begin. */
enum { FIELD_COLUMN = 28 };

/* ---- codes ---- */

const char *cl_code_text(cl_int code)
{
    static char text[96];
    const char *name = code == -1001 ? "CL_PLATFORM_NOT_FOUND_KHR" : cl_error_name(code);
    /* Wine gives the code of a crash inside the host's OpenCL as the call's result. */
    if (code == (cl_int)0xC0000005)
        snprintf(text, sizeof(text), "crash inside the driver (0xC0000005)");
    else if (strcmp(name, "CL_?") == 0)
        snprintf(text, sizeof(text), "unknown error %d", (int)code);
    else
        snprintf(text, sizeof(text), "%s (%d)", name, (int)code);
    return text;
}

static const char *d3d_code_name(HRESULT code)
{
    static const struct {
        HRESULT code;
        const char *name;
    } names[] = {
#define N(constant) {constant, #constant}
        N(E_FAIL),
        N(E_INVALIDARG),
        N(E_NOINTERFACE),
        N(E_NOTIMPL),
        N(E_OUTOFMEMORY),
        N(E_POINTER),
        N(E_ACCESSDENIED),
        N(DXGI_ERROR_DEVICE_HUNG),
        N(DXGI_ERROR_DEVICE_REMOVED),
        N(DXGI_ERROR_DEVICE_RESET),
        N(DXGI_ERROR_DRIVER_INTERNAL_ERROR),
        N(DXGI_ERROR_INVALID_CALL),
        N(DXGI_ERROR_NOT_FOUND),
        N(DXGI_ERROR_SDK_COMPONENT_MISSING),
        N(DXGI_ERROR_UNSUPPORTED),
        N(D3DERR_DEVICELOST),
        N(D3DERR_DEVICEREMOVED),
        N(D3DERR_DRIVERINTERNALERROR),
        N(D3DERR_INVALIDCALL),
        N(D3DERR_INVALIDDEVICE),
        N(D3DERR_NOTAVAILABLE),
        N(D3DERR_OUTOFVIDEOMEMORY),
#undef N
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].code == code)
            return names[i].name;
    return NULL;
}

void why_cl(char *why, const char *call, cl_int code)
{
    snprintf(why, WHY_SIZE, "%s: %s", call, cl_code_text(code));
}

void why_d3d(char *why, const char *call, HRESULT code)
{
    const char *name = d3d_code_name(code);
    if (name)
        snprintf(why, WHY_SIZE, "%s: %s (0x%08lx)", call, name, (unsigned long)code);
    else
        snprintf(why, WHY_SIZE, "%s: error 0x%08lx", call, (unsigned long)code);
}

void why_say(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, WHY_SIZE, format, arguments);
    va_end(arguments);
}

/* ---- foreign texts ---- */

/* Whatever is no UTF-8 is taken for a text in the system's own code page. */
static void force_utf8(char *text, size_t size)
{
    wchar_t wide[1024];
    const size_t most = size / 3 < 1024 ? size / 3 : 1024; /* what fits back, at three bytes a character */
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0) > 0)
        return;
    memset(wide, 0, sizeof(wide));
    MultiByteToWideChar(CP_ACP, 0, text, (int)(strlen(text) < most ? strlen(text) : most), wide, (int)most);
    wide[most - 1] = L'\0';
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) == 0)
        text[0] = '\0';
}

void text_clean(char *text, size_t size)
{
    text[size - 1] = '\0';
    force_utf8(text, size);
    size_t length = 0;
    for (const char *from = text; *from; from++) {
        const bool blank = (unsigned char)*from <= ' ' || *from == 0x7F;
        if (!blank)
            text[length++] = *from;
        else if (length > 0 && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
}

void text_from_wide(char *text, size_t size, const wchar_t *wide)
{
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) == 0)
        text[0] = '\0';
    text_clean(text, size);
}

/* ---- lines ---- */

/* Columns of a piece of UTF-8: its bytes without those that continue a character. */
static unsigned columns(const char *text, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* The next word, or as much of it as fits a line of `room` columns. */
static size_t word_length(const char *text, unsigned room)
{
    size_t length = strcspn(text, " ");
    if (columns(text, length) <= room)
        return length;
    length = room;
    while (((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return length;
}

/* Prints `text`, which begins in `column`, word by word; what does not fit goes on in `indent`. */
static void print_wrapped(const char *text, unsigned indent, unsigned column)
{
    bool first = true;
    while (*text) {
        const size_t length = word_length(text, TEXT_WIDTH - indent);
        const unsigned width = columns(text, length);
        if (!first && column + 1 + width > TEXT_WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += width;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    putchar('\n');
}

void print_heading(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    putchar('\n');
    print_wrapped(text, 0, 0);
}

const char *shown(const char *text)
{
    return text[0] ? text : "?";
}

void print_field(const char *label, const char *format, ...)
{
    char value[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    printf("  %-*s", FIELD_COLUMN - 2, label);
    print_wrapped(value, FIELD_COLUMN, FIELD_COLUMN);
}

void print_text(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const unsigned indent = (unsigned)strspn(text, " ");
    printf("%*s", (int)indent, "");
    print_wrapped(text + indent, indent, indent);
}
