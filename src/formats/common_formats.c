#include "formats/common_formats.h"

#include "d3d/formats.h"
#include "log.h"
#include "next/query.h"

#include <stdlib.h>
#include <string.h>

static const cl_mem_object_type types[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,
                                           CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

struct common_formats {
    struct format_list of[TYPES];
};

bool format_list_has(const struct format_list *list, cl_image_format format)
{
    for (cl_uint i = 0; i < list->count; i++)
        if (cl_format_equal(list->formats[i], format))
            return true;
    return false;
}

cl_int format_list_ask(cl_context context, cl_mem_flags flags, cl_mem_object_type type, struct format_list *list)
{
    list->count = 0;
    const cl_int status =
        next.clGetSupportedImageFormats(context, flags, type, FORMATS_MOST, list->formats, &list->count);
    if (status != CL_SUCCESS)
        list->count = 0;
    if (list->count > FORMATS_MOST)
        list->count = FORMATS_MOST;
    return driver_short(status) ? status : CL_SUCCESS;
}

cl_int common_formats_ask(const struct context_record *context, cl_mem_object_type type, struct format_list *list)
{
    for (int t = 0; context->common_formats && t < TYPES; t++)
        if (types[t] == type) {
            *list = context->common_formats->of[t];
            return CL_SUCCESS;
        }
    return format_list_ask(context->head.handle, CL_MEM_READ_WRITE, type, list);
}

/* ---- devices that differ ---- */

enum { TEXT = 256 };

static bool same_text(cl_device_id a, cl_device_id b, cl_device_info what)
{
    char of_a[TEXT] = "", of_b[TEXT] = "";
    return next.clGetDeviceInfo(a, what, TEXT - 1, of_a, NULL) == CL_SUCCESS &&
           next.clGetDeviceInfo(b, what, TEXT - 1, of_b, NULL) == CL_SUCCESS && strcmp(of_a, of_b) == 0;
}

static bool alike(cl_device_id a, cl_device_id b)
{
    return same_text(a, b, CL_DEVICE_NAME) && same_text(a, b, CL_DEVICE_VERSION) && same_text(a, b, CL_DRIVER_VERSION);
}

static bool like_earlier(const struct device_list *devices, cl_uint device)
{
    bool like = false;
    for (cl_uint i = 0; i < device && !like; i++)
        like = alike(devices->at[i], devices->at[device]);
    return like;
}

static bool differ(const struct device_list *devices)
{
    bool all_alike = true;
    for (cl_uint i = 1; i < devices->count && all_alike; i++)
        all_alike = alike(devices->at[0], devices->at[i]);
    return !all_alike;
}

static void intersect(struct format_list *list, const struct format_list *other)
{
    cl_uint kept = 0;
    for (cl_uint i = 0; i < list->count; i++)
        if (format_list_has(other, list->formats[i]))
            list->formats[kept++] = list->formats[i];
    list->count = kept;
}

/* Asks one device: removes from `common` what it lacks. `first`: fills `common` with what it has. */
static cl_int ask_device(cl_device_id device, struct common_formats *common, bool first)
{
    struct format_list own = {.count = 0};
    cl_int status = CL_OUT_OF_RESOURCES;
    cl_context alone = next.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (!alone)
        return status;
    for (int t = 0; t < TYPES && status == CL_SUCCESS; t++) {
        status = format_list_ask(alone, CL_MEM_READ_WRITE, types[t], first ? &common->of[t] : &own);
        if (status == CL_SUCCESS && !first)
            intersect(&common->of[t], &own);
    }
    next.clReleaseContext(alone);
    return status;
}

bool common_formats_find(struct context_record *context)
{
    struct device_list devices;
    if (devices_of_context(&next, context->head.handle, &devices) != CL_SUCCESS || !differ(&devices))
        return true;
    struct common_formats *common = calloc(1, sizeof(*common));
    if (!common)
        return false;
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < devices.count && status == CL_SUCCESS; i++)
        if (!like_earlier(&devices, i))
            status = ask_device(devices.at[i], common, i == 0);
    if (status == CL_SUCCESS) {
        context->common_formats = common;
        return true;
    }
    free(common);
    log_write(
        LOG_WARN,
        "context %p: its devices cannot be asked one by one for their image formats (%d): an acquire may fail in the "
        "queue of a device that lacks an object's format",
        (void *)context->head.handle, status);
    return true;
}

void common_formats_drop(struct context_record *context)
{
    free(context->common_formats);
    context->common_formats = NULL;
}
