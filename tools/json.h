/* Writes JSON (RFC 8259) in UTF-8 to a stream, value by value. The result is valid whatever bytes a text contains. */
#ifndef CLD3D_TOOLS_JSON_H
#define CLD3D_TOOLS_JSON_H

#include <stdbool.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

/* The caller owns it and the stream, and sets `stream` alone. For one thread. */
struct json {
    FILE *stream;
    unsigned depth;
    struct {
        bool array, any; /* any: it already has a value */
    } open[JSON_DEPTH_MAX];
};

/* Each writes one value. In an object `key` is its name, in an array and at the top it is NULL. */
void json_object(struct json *json, const char *key); /* until json_end */
void json_array(struct json *json, const char *key);  /* until json_end */
void json_end(struct json *json);
/* NULL becomes null. Bytes that are not UTF-8 become U+FFFD, one each. */
void json_text(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, unsigned long long number);
void json_bool(struct json *json, const char *key, bool value);

#endif
