/* How images of formats that a device lacks are stored: which format is chosen over which driver (src/formats/storage.c). The OpenCL
 * below is played. */
#include "drivers/drivers.h"
#include "formats/storage.h"
#include "tap.h"

#include "d3d/formats.h"

#include <CL/cl_ext.h>

/* ---- the OpenCL below ---- */

static cl_image_format listed[300];
static cl_uint listed_count, read_count; /* so many more are listed for images that kernels only read */

static cl_int CL_API_CALL list_formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                                       cl_uint capacity, cl_image_format *formats, cl_uint *count)
{
    const cl_uint all = listed_count + (flags & CL_MEM_READ_ONLY ? read_count : 0);
    (void)context, (void)type;
    for (cl_uint i = 0; i < all && i < capacity; i++)
        formats[i] = listed[i];
    *count = all;
    return CL_SUCCESS;
}

static char handles[64];

static void set_driver(void)
{
    listed_count = read_count = 0;
    next.clGetSupportedImageFormats = list_formats;
}

static void lists(cl_channel_order order, cl_channel_type type)
{
    listed[listed_count++] = (cl_image_format){order, type};
}

static struct context_record context;

static void set_context(void)
{
    context = (struct context_record){.head.handle = handles, .interop = true, .video = true};
}

/* ---- the choice ---- */

enum { NOT = 0 };

/* The channel type of the RGBA format that a format is stored in, or NOT. */
static cl_channel_type stored_in(cl_channel_order order, cl_channel_type type, cl_mem_object_type object)
{
    cl_image_format stored = {0, 0};
    cl_int status = 1;
    const bool is = storage_choose(&context, (cl_image_format){order, type}, object, &stored, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (is)
        CHECK_INT(stored.image_channel_order, CL_RGBA);
    return is ? stored.image_channel_data_type : NOT;
}

static cl_channel_type stored_2d(cl_channel_order order, cl_channel_type type)
{
    return stored_in(order, type, CL_MEM_OBJECT_IMAGE2D);
}

CASE("a device with floats alone", stored_in_floats)
{
    static const cl_channel_type floats[] = {CL_SNORM_INT8,  CL_SNORM_INT16, CL_UNORM_INT8,
                                             CL_UNORM_INT16, CL_HALF_FLOAT,  CL_FLOAT};
    static const cl_channel_type others[] = {CL_SIGNED_INT8,   CL_SIGNED_INT16,   CL_SIGNED_INT32,
                                             CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32};
    set_driver();
    set_context();
    lists(CL_RGBA, CL_FLOAT);
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        CHECK_INT(stored_2d(CL_R, floats[i]), CL_FLOAT);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CHECK_INT(stored_2d(CL_R, others[i]), NOT);
}

CASE("a device that has the channel type", stored_as_declared)
{
    set_driver();
    set_context();
    lists(CL_RGBA, CL_FLOAT);
    lists(CL_RGBA, CL_UNORM_INT8);
    lists(CL_RGBA, CL_HALF_FLOAT);
    lists(CL_R, CL_HALF_FLOAT);
    lists(CL_RG, CL_HALF_FLOAT);
    CHECK_INT(stored_2d(CL_R, CL_UNORM_INT8), CL_UNORM_INT8); /* every bit is kept */
    CHECK_INT(stored_2d(CL_RGBA, CL_UNORM_INT8), NOT);        /* the device has it */
    CHECK_INT(stored_2d(CL_R, CL_HALF_FLOAT), NOT);
    CHECK_INT(stored_2d(CL_RGB, CL_UNORM_SHORT_565), NOT); /* no Direct3D shares it */
    context.quirks = 1u << QUIRK_HALF_FLOATS;
    CHECK_INT(stored_2d(CL_R, CL_HALF_FLOAT), CL_HALF_FLOAT);
    CHECK_INT(stored_2d(CL_RG, CL_HALF_FLOAT), NOT);
}

CASE("images that nothing is chosen for", where_nothing_is)
{
    set_driver();
    set_context();
    lists(CL_RGBA, CL_UNORM_INT8);
    CHECK_INT(stored_in(CL_R, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE3D), CL_UNORM_INT8);
    CHECK_INT(stored_in(CL_R, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE1D), NOT);
    CHECK_INT(stored_in(CL_R, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D_ARRAY), NOT);
    CHECK_INT(stored_in(CL_YUYV_INTEL, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D), CL_UNORM_INT8);
    CHECK_INT(stored_in(CL_YUYV_INTEL, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE3D), NOT);
    context.video = false;
    CHECK_INT(stored_in(CL_YUYV_INTEL, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D), NOT);
    context.interop = false;
    CHECK_INT(stored_2d(CL_R, CL_UNORM_INT8), NOT);
}

/* What the driver lists for images that kernels only read stands in its own list. */
CASE("the list of what is emulated for images that kernels only read", the_list_of_readers)
{
    cl_image_format all[128];
    cl_uint count = 0, of_readers = 0;
    set_driver();
    set_context();
    lists(CL_RGBA, CL_FLOAT);
    CHECK_INT(storage_list(&context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 128, all, &count), CL_SUCCESS);
    listed[listed_count] = (cl_image_format){CL_R, CL_SNORM_INT8};
    read_count = 1;
    CHECK_INT(storage_list(&context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, 128, all, &of_readers), CL_SUCCESS);
    CHECK_INT(of_readers, count - 1);
    for (cl_uint i = 0; i < of_readers; i++)
        CHECK(memcmp(&all[i], &listed[listed_count], sizeof(all[i])) != 0);
}

TAP_MAIN
