/* Texts: names of codes, foreign strings made printable, and aligned lines of at most TEXT_WIDTH columns. */
#ifndef CLD3D_TOOLS_INFO_TEXT_H
#define CLD3D_TOOLS_INFO_TEXT_H

#include <windows.h>

#include <CL/cl.h>
#include <stddef.h>

enum { TEXT_WIDTH = 96 };

/* Writes "CALL: NAME (CODE)" to `why`, which has WHY_SIZE bytes. */
void why_cl(char *why, const char *call, cl_int code);
void why_d3d(char *why, const char *call, HRESULT code);
void why_say(char *why, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

/* "NAME (CODE)" of an OpenCL error; the text is overwritten by the next call. */
const char *cl_code_text(cl_int code);

/* Makes a text from a driver fit to print: UTF-8, one line, no blanks at its ends. `size` is its room. */
void text_clean(char *text, size_t size);
/* UTF-16 to UTF-8, cleaned. */
void text_from_wide(char *text, size_t size, const wchar_t *wide);

/* The text, or "?" for an empty one. */
const char *shown(const char *text);

/* A heading, with an empty line before it. */
void print_heading(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
/* "  label    value": a value that is too long is broken at blanks and goes on below itself. An empty label continues
 * the field before. */
void print_field(const char *label, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* Text over the whole width, with the indentation that it begins with. */
void print_text(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));

#endif
