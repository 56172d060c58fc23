#include "json.h"

#include <stddef.h>

/* The length of the UTF-8 character at `text`, or 0 if there is none: also for forms that are too long, for halves of
 * surrogate pairs and for what is beyond U+10FFFF. */
static size_t character_length(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = text[0] < 0x80   ? 1
                          : text[0] < 0xC0 ? 0
                          : text[0] < 0xE0 ? 2
                          : text[0] < 0xF0 ? 3
                          : text[0] < 0xF8 ? 4
                                           : 0;
    if (length < 2)
        return length;
    unsigned value = text[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0; /* the end of the text too */
        value = value << 6 | (text[i] & 0x3Fu);
    }
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    return value < least[length] || value > 0x10FFFF || surrogate ? 0 : length;
}

static void write_text(FILE *stream, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', stream);
    while (*at) {
        const size_t length = character_length(at);
        if (length == 0)
            fputs("\xEF\xBF\xBD", stream);
        else if (*at == '"' || *at == '\\')
            fprintf(stream, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7F)
            fprintf(stream, "\\u%04x", *at);
        else
            fwrite(at, 1, length, stream);
        at += length ? length : 1;
    }
    fputc('"', stream);
}

/* What stands before a value: comma, line, indentation and name. */
static void begin_value(struct json *json, const char *key)
{
    if (json->depth == 0)
        return;
    if (json->open[json->depth - 1].any)
        fputc(',', json->stream);
    json->open[json->depth - 1].any = true;
    fprintf(json->stream, "\n%*s", (int)json->depth * 2, "");
    if (key) {
        write_text(json->stream, key);
        fputs(": ", json->stream);
    }
}

static void open_value(struct json *json, const char *key, bool array)
{
    begin_value(json, key);
    fputc(array ? '[' : '{', json->stream);
    json->open[json->depth].array = array;
    json->open[json->depth].any = false;
    json->depth++;
}

void json_object(struct json *json, const char *key)
{
    open_value(json, key, false);
}

void json_array(struct json *json, const char *key)
{
    open_value(json, key, true);
}

void json_end(struct json *json)
{
    json->depth--;
    if (json->open[json->depth].any)
        fprintf(json->stream, "\n%*s", (int)json->depth * 2, "");
    fputc(json->open[json->depth].array ? ']' : '}', json->stream);
    if (json->depth == 0)
        fputc('\n', json->stream);
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin_value(json, key);
    if (text)
        write_text(json->stream, text);
    else
        fputs("null", json->stream);
}

void json_number(struct json *json, const char *key, unsigned long long number)
{
    begin_value(json, key);
    fprintf(json->stream, "%llu", number);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->stream);
}
