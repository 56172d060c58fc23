#include "report.h"

#include <windows.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fact_kind { FACT_OBJECT, FACT_LIST, FACT_TEXT, FACT_VALUE };

struct fact {
    enum fact_kind kind;
    char *key, *label, *text; /* of those that have one, else NULL */
    struct fact *first, *last, *next;
};

const char report_heading[] = "heading";

enum { TEXT_SIZE = 4096 };

/* ---- the tree ---- */

static char *copy(const char *text)
{
    char *made = text ? strdup(text) : NULL;
    if (text && !made)
        exit(1);
    return made;
}

static struct fact *add(struct fact *in, enum fact_kind kind, const char *key)
{
    struct fact *fact = calloc(1, sizeof(*fact));
    if (!fact)
        exit(1);
    fact->kind = kind;
    fact->key = copy(key);
    if (in && in->last)
        in->last->next = fact;
    else if (in)
        in->first = fact;
    if (in)
        in->last = fact;
    return fact;
}

struct fact *report_object(struct fact *in, const char *key)
{
    return add(in, FACT_OBJECT, key);
}

struct fact *report_list(struct fact *in, const char *key)
{
    return add(in, FACT_LIST, key);
}

void report_value(struct fact *in, const char *key, const char *value)
{
    add(in, FACT_VALUE, key)->text = copy(value);
}

/* Whatever is no UTF-8 is taken for a text in the system's own code page. */
static void force_utf8(char text[TEXT_SIZE])
{
    wchar_t wide[TEXT_SIZE / 3]; /* what fits back, at three bytes a character */
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0) > 0)
        return;
    text[TEXT_SIZE / 3 - 1] = '\0';
    if (MultiByteToWideChar(CP_ACP, 0, text, -1, wide, TEXT_SIZE / 3) == 0 ||
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, TEXT_SIZE, NULL, NULL) == 0)
        text[0] = '\0';
}

/* One blank stands for each run of blanks and control characters, but for none at an end. */
static void make_line(char *text)
{
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

void report_text(struct fact *in, const char *key, const char *label, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    force_utf8(text);
    make_line(text);
    struct fact *fact = add(in, FACT_TEXT, key);
    fact->label = copy(label);
    fact->text = copy(text);
}

/* ---- as text ---- */

enum { VALUE_COLUMN = 28, WIDTH = 100 };

/* What does not fit the line goes on below, at a blank. */
static void print_wrapped(const char *text)
{
    size_t column = VALUE_COLUMN;
    while (*text) {
        const size_t length = strcspn(text, " "), blank = text[length] == ' ';
        if (column > VALUE_COLUMN && column + length > WIDTH) {
            printf("\n%*s", VALUE_COLUMN, "");
            column = VALUE_COLUMN;
        }
        printf("%.*s", (int)(length + blank), text);
        column += length + blank;
        text += length + blank;
    }
    putchar('\n');
}

static void print_text(const struct fact *fact)
{
    static bool begun;
    if (fact->label && strcmp(fact->label, report_heading) == 0) {
        printf("%s%s\n", begun ? "\n" : "", fact->text);
        begun = true;
    } else if (fact->label && fact->text[0]) {
        printf("  %-*s", VALUE_COLUMN - 2, fact->label);
        print_wrapped(fact->text);
    }
    for (const struct fact *child = fact->first; child; child = child->next)
        print_text(child);
}

/* ---- as JSON ---- */

static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void print_json(const struct fact *fact, int depth)
{
    if (fact->kind == FACT_VALUE) {
        fputs(fact->text, stdout);
        return;
    }
    if (fact->kind == FACT_TEXT) {
        if (fact->text[0])
            print_quoted(fact->text);
        else
            fputs("null", stdout);
        return;
    }
    const bool list = fact->kind == FACT_LIST;
    const char *before = "";
    putchar(list ? '[' : '{');
    for (const struct fact *child = fact->first; child; child = child->next) {
        if (!child->key && !list)
            continue;
        printf("%s\n%*s", before, 2 * depth + 2, "");
        if (child->key) {
            print_quoted(child->key);
            fputs(": ", stdout);
        }
        print_json(child, depth + 1);
        before = ",";
    }
    if (before[0])
        printf("\n%*s", 2 * depth, "");
    putchar(list ? ']' : '}');
}

void report_print(const struct fact *report, bool json)
{
    if (json) {
        print_json(report, 0);
        putchar('\n');
    } else {
        print_text(report);
    }
}
