/* The report: a tree of facts, printed as text for people or as JSON (RFC 8259). It lives until the program ends. For one thread. */
#ifndef CLD3D_TOOLS_REPORT_H
#define CLD3D_TOOLS_REPORT_H

#include <stdbool.h>

struct fact;

/* A label that makes a text a heading. An empty one continues the text before. */
extern const char report_heading[];

/* Each adds a fact at the end of `in`. `key` is its name in JSON; NULL in a list, and for what is in the text alone. `in` is NULL for the report
 * itself. */
struct fact *report_object(struct fact *in, const char *key);
struct fact *report_list(struct fact *in, const char *key);
/* `label` is its name in the text; NULL for what is in JSON alone. An empty text is null in JSON, and left out of the text. What a driver
 * says is made fit to print: UTF-8, one line. */
void report_text(struct fact *in, const char *key, const char *label, const char *format, ...)
    __attribute__((format(gnu_printf, 4, 5)));
/* A number, `true` or `false`, in JSON alone. */
void report_value(struct fact *in, const char *key, const char *value);

void report_print(const struct fact *report, bool json);

#endif
