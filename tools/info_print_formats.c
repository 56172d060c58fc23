/* What the report says of formats: a summary per device, and the table. */
#include "info.h"
#include "info_text.h"

#include <stdio.h>
#include <string.h>

/* Three devices fit the width of a line; more get tables of their own. */
enum { TABLE_DEVICES = 3, CELL_WIDTH = 15 };

static const char *order_name(cl_channel_order order)
{
    switch (order) {
    case CL_R: return "R";
    case CL_A: return "A";
    case CL_RG: return "RG";
    case CL_RGBA: return "RGBA";
    case CL_BGRA: return "BGRA";
    default: return "?";
    }
}

static const char *type_name(cl_channel_type type)
{
    static const char *const names[] = {
        "SNORM_INT8",      "SNORM_INT16",      "UNORM_INT8",     "UNORM_INT16",  "UNORM_SHORT_565",
        "UNORM_SHORT_555", "UNORM_INT_101010", "SIGNED_INT8",    "SIGNED_INT16", "SIGNED_INT32",
        "UNSIGNED_INT8",   "UNSIGNED_INT16",   "UNSIGNED_INT32", "HALF_FLOAT",   "FLOAT"};
    const unsigned index = type - CL_SNORM_INT8;
    return index < sizeof(names) / sizeof(names[0]) ? names[index] : "?";
}

/* ---- summary ---- */

struct tally {
    unsigned all, direct, wider, untried;
};

static struct tally count(const struct device *device, enum api_index api, bool beyond)
{
    struct tally tally = {0};
    for (unsigned i = 0; i < *apis[api]->format_count; i++) {
        if (apis[api]->formats[i].beyond != beyond)
            continue;
        tally.all++;
        tally.direct += device->sharing[api].formats[i].way == WAY_DIRECT;
        tally.wider += device->sharing[api].formats[i].way == WAY_WIDER;
        tally.untried += device->sharing[api].formats[i].way == WAY_UNTRIED;
    }
    return tally;
}

static void print_tally(const char *label, const char *of, struct tally tally)
{
    const unsigned good = tally.direct + tally.wider;
    if (tally.wider)
        print_field(label, "%u of the %u %s: %u directly, %u in a wider format", good, tally.all, of, tally.direct,
                    tally.wider);
    else
        print_field(label, "%u of the %u %s%s", good, tally.all, of, good ? ", all directly" : "");
    if (tally.untried)
        print_field("", "(%u of them were not tried, after a crash)", tally.untried);
}

/* A format, with its plane if it has several. */
static void format_name(const struct format_row *row, bool plane, char *text, size_t size)
{
    if (plane && row->planes > 1)
        snprintf(text, size, "%s, plane %u", row->name, row->plane);
    else
        snprintf(text, size, "%s", row->name);
}

/* The formats that one reason keeps from being shared. A planar one is named once if that is so for all its planes, else
 * with each. */
static void list_refused(const struct format_row *rows, const struct format_result *results, unsigned count,
                         unsigned reason, char *text, size_t room)
{
    size_t length = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        const unsigned first = i - rows[i].plane;
        unsigned planes = 0;
        for (unsigned p = first; p < first + rows[i].planes; p++)
            planes += results[p].way == WAY_REFUSED && results[p].reason == reason;
        const bool all = planes == rows[i].planes;
        if (results[i].way != WAY_REFUSED || results[i].reason != reason || (all && rows[i].plane > 0) ||
            length >= room)
            continue;
        char name[48];
        format_name(&rows[i], !all, name, sizeof(name));
        length += (size_t)snprintf(text + length, room - length, "%s%s", length ? "; " : "", name);
    }
}

void print_format_summary(const struct info *info, const struct device *device, enum api_index api)
{
    const struct format_result *results = device->sharing[api].formats;
    char names[2048], label[32];
    if (!results)
        return;
    snprintf(label, sizeof(label), "Formats of %s", apis[api]->short_name);
    print_tally(label, "in the specification", count(device, api, false));
    print_tally("", "beyond it", count(device, api, true));
    for (unsigned reason = 0; reason < info->reason_count; reason++) {
        list_refused(apis[api]->formats, results, *apis[api]->format_count, reason, names, sizeof(names));
        if (names[0])
            print_field("", "Not %s: %s", names, info->reasons[reason]);
    }
}

/* ---- table ---- */

static void cell_text(const struct format_row *row, const struct format_result *result, char *text, size_t size)
{
    const cl_image_format stored = result->stored;
    switch (result->way) {
    case WAY_DIRECT: snprintf(text, size, "direct"); return;
    case WAY_WIDER:
        if (!stored.image_channel_order)
            snprintf(text, size, "wider");
        else if (stored.image_channel_data_type == row->cl.image_channel_data_type)
            snprintf(text, size, "as %s", order_name(stored.image_channel_order));
        else
            snprintf(text, size, "as %s, %s", order_name(stored.image_channel_order),
                     type_name(stored.image_channel_data_type));
        return;
    case WAY_REFUSED: snprintf(text, size, "no (%u)", result->reason + 1u); return;
    default: snprintf(text, size, "-");
    }
}

/* The devices of one table: their numbers. */
struct columns {
    unsigned count, devices[TABLE_DEVICES];
};

static void print_row(const struct opencl *cl, enum api_index api, const struct columns *columns, unsigned i)
{
    const struct format_row *row = &apis[api]->formats[i];
    char name[48], cl_name[48], cell[48];
    format_name(row, true, name, sizeof(name));
    snprintf(cl_name, sizeof(cl_name), "%s, %s", order_name(row->cl.image_channel_order),
             type_name(row->cl.image_channel_data_type));
    printf("  %-20s  %-20s", name, cl_name);
    for (unsigned c = 0; c < columns->count; c++) {
        cell_text(row, &cl->devices[columns->devices[c]].sharing[api].formats[i], cell, sizeof(cell));
        printf("  %-*s", c + 1 < columns->count ? CELL_WIDTH : 0, cell);
    }
    putchar('\n');
}

static void print_rows(const struct opencl *cl, enum api_index api, const struct columns *columns)
{
    printf("\n  %-20s  %-20s", api == API_D3D9 ? "D3DFMT_" : "DXGI_FORMAT_", "OpenCL image");
    for (unsigned c = 0; c < columns->count; c++)
        printf("  device %-*u", c + 1 < columns->count ? CELL_WIDTH - 7 : 0, columns->devices[c]);
    putchar('\n');
    for (unsigned beyond = 0; beyond < 2; beyond++) {
        if (beyond)
            puts("  beyond the specification:");
        for (unsigned i = 0; i < *apis[api]->format_count; i++)
            if (apis[api]->formats[i].beyond == (beyond != 0))
                print_row(cl, api, columns, i);
    }
}

void print_format_table(const struct info *info, enum api_index api)
{
    const struct opencl *cl = &info->opencl;
    struct columns columns = {0, {0}};
    print_heading("Formats of %s", apis[api]->name);
    bool any = false;
    for (unsigned d = 0; d < cl->device_count; d++) {
        if (cl->devices[d].sharing[api].formats)
            columns.devices[columns.count++] = d;
        any = any || columns.count > 0;
        if (columns.count == TABLE_DEVICES || (columns.count > 0 && d + 1 == cl->device_count)) {
            print_rows(cl, api, &columns);
            columns.count = 0;
        }
    }
    if (!any)
        print_text("  No device shares with %s, so no format could be tried.", apis[api]->name);
}

void print_format_key(const struct info *info)
{
    print_heading("In these tables");
    print_field("direct", "the OpenCL device supports the format");
    print_field("as ...", "it does not, and cld3d stores the texels in this wider format; programs see no difference");
    for (unsigned i = 0; i < info->reason_count; i++) {
        char label[16];
        snprintf(label, sizeof(label), "no (%u)", i + 1);
        print_field(label, "%s", info->reasons[i]);
    }
}
