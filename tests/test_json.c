/* The JSON that cld3dinfo writes: whatever the texts of drivers hold. */
#include "json.h"
#include "tap.h"

#include <stdlib.h>

static char *result;
static size_t result_size;

static struct json begin(void)
{
    return (struct json){.stream = open_memstream(&result, &result_size)};
}

static void end(struct json *json, const char *expected)
{
    fclose(json->stream);
    CHECK_STR(result, expected);
    free(result);
}

static void check_text(const char *text, const char *expected)
{
    struct json json = begin();
    json_text(&json, NULL, text);
    end(&json, expected);
}

static void escapes(void)
{
    check_text("plain", "\"plain\"");
    check_text("", "\"\"");
    check_text(NULL, "null");
    check_text("a \"quoted\" \\ path\\", "\"a \\\"quoted\\\" \\\\ path\\\\\"");
    check_text("\n\r\t\b\x01\x1f\x7f/", "\"\\u000a\\u000d\\u0009\\u0008\\u0001\\u001f\\u007f/\"");
}

#define WRONG "\xEF\xBF\xBD"

static void characters(void)
{
    check_text("Grafikkarte \xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80",
               "\"Grafikkarte \xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80\"");
    check_text("\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\"");
}

static void no_characters(void)
{
    check_text("Latin \xFC!", "\"Latin " WRONG "!\"");
    check_text("\x80", "\"" WRONG "\"");
    check_text("\xC3", "\"" WRONG "\"");
    check_text("\xE2\x82", "\"" WRONG WRONG "\"");
    check_text("\xC3\"", "\"" WRONG "\\\"\"");
    check_text("\xC0\xAF", "\"" WRONG WRONG "\"");                     /* a form that is too long */
    check_text("\xE0\x80\xAF", "\"" WRONG WRONG WRONG "\"");           /* the same */
    check_text("\xED\xA0\x80", "\"" WRONG WRONG WRONG "\"");           /* half of a surrogate pair */
    check_text("\xF4\x90\x80\x80", "\"" WRONG WRONG WRONG WRONG "\""); /* beyond U+10FFFF */
    check_text("\xF8\x88\x80\x80\x80", "\"" WRONG WRONG WRONG WRONG WRONG "\"");
    check_text("\xFF\xFE", "\"" WRONG WRONG "\"");
}

static void structure(void)
{
    struct json json = begin();
    json_object(&json, NULL);
    json_array(&json, "none");
    json_end(&json);
    json_array(&json, "list");
    json_number(&json, NULL, 18446744073709551615ull);
    json_object(&json, NULL);
    json_bool(&json, "\"odd\"", true);
    json_bool(&json, "no", false);
    json_end(&json);
    json_end(&json);
    json_text(&json, "last", "");
    json_end(&json);
    end(&json, "{\n  \"none\": [],\n  \"list\": [\n    18446744073709551615,\n    {\n      \"\\\"odd\\\"\": true,\n    "
               "  \"no\": false\n"
               "    }\n  ],\n  \"last\": \"\"\n}\n");
}

static const struct tap_test tests[] = {
    {"escapes", escapes},
    {"characters", characters},
    {"bytes that are no characters", no_characters},
    {"objects and arrays", structure},
};

TAP_MAIN(tests)
