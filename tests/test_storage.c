/* How images of formats that a device lacks are stored: which format is chosen over which driver, and that the conversion program is
 * built once (src/formats/storage.c). The OpenCL below is played. */
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

/* What fails, and what there is of programs and kernels. */
static struct {
    cl_int context_info, device_info;
    cl_bool unified[2]; /* of the context's two devices */
    int programs, kernels;
    void (*while_building)(void);
} driver;

static char handles[64];

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info name, size_t size, void *value,
                                           size_t *size_ret)
{
    const cl_device_id devices[] = {(cl_device_id)&handles[0], (cl_device_id)&handles[1]};
    (void)context;
    CHECK_INT(name, CL_CONTEXT_DEVICES);
    CHECK(size >= sizeof(devices));
    memcpy(value, devices, sizeof(devices));
    if (size_ret)
        *size_ret = sizeof(devices);
    return driver.context_info;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
                                          size_t *size_ret)
{
    (void)size, (void)size_ret;
    CHECK_INT(name, CL_DEVICE_HOST_UNIFIED_MEMORY);
    memcpy(value, &driver.unified[(char *)device - handles], sizeof(cl_bool));
    return driver.device_info;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *status)
{
    (void)context, (void)count, (void)texts, (void)lengths;
    *status = CL_SUCCESS;
    driver.programs++;
    return (cl_program)&handles[2];
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    void (*meanwhile)(void) = driver.while_building;
    (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)data;
    driver.while_building = NULL;
    if (meanwhile)
        meanwhile();
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    (void)program;
    driver.programs--;
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *status)
{
    (void)program, (void)name;
    *status = CL_SUCCESS;
    driver.kernels++;
    return (cl_kernel)&handles[8 + driver.kernels];
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    (void)kernel;
    driver.kernels--;
    return CL_SUCCESS;
}

static void set_driver(void)
{
    memset(&driver, 0, sizeof(driver));
    driver.unified[0] = driver.unified[1] = CL_TRUE;
    listed_count = read_count = 0;
    next.clGetSupportedImageFormats = list_formats;
    next.clGetContextInfo = get_context_info;
    next.clGetDeviceInfo = get_device_info;
    next.clCreateProgramWithSource = create_program;
    next.clBuildProgram = build_program;
    next.clReleaseProgram = release_program;
    next.clCreateKernel = create_kernel;
    next.clReleaseKernel = release_kernel;
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

/* ---- the conversion program ---- */

static struct converter *get(cl_channel_order order, cl_channel_type type, cl_channel_type stored)
{
    cl_int status = 1;
    struct converter *found =
        converter_get(&context, (cl_image_format){order, type}, (cl_image_format){CL_RGBA, stored}, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(found != NULL);
    return found;
}

static void close_context(void)
{
    converters_destroy(context.converters);
    context.converters = NULL;
    CHECK_INT(driver.programs, 0);
    CHECK_INT(driver.kernels, 0);
}

/* One for each pair in a context. */
CASE("a conversion is made once", found_again)
{
    set_driver();
    set_context();
    struct converter *first = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8);
    CHECK(get(CL_R, CL_UNORM_INT8, CL_FLOAT) != first);
    CHECK(get(CL_RG, CL_UNORM_INT8, CL_UNORM_INT8) != first);
    CHECK(get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8) == first);
    CHECK_INT(driver.programs, 3);
    close_context();
}

static struct converter *other_thread;

static void be_faster(void)
{
    other_thread = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8);
}

/* Another thread makes the same meanwhile: one of the two stays. */
CASE("two threads make a conversion", raced)
{
    set_driver();
    set_context();
    driver.while_building = be_faster;
    CHECK(get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8) == other_thread);
    CHECK_INT(driver.programs, 1);
    close_context();
}

static bool on_host(void)
{
    set_context();
    const struct converter *made = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8);
    const bool host = made && made->on_host;
    close_context();
    return host;
}

/* The host converts where all devices share its memory, and say so. */
CASE("where the host converts", by_the_host)
{
    set_driver();
    CHECK(on_host());
    driver.unified[0] = CL_FALSE;
    CHECK(!on_host());
    driver.unified[0] = CL_TRUE;
    driver.unified[1] = CL_FALSE;
    CHECK(!on_host());
    driver.unified[1] = CL_TRUE;
    driver.device_info = CL_INVALID_VALUE;
    CHECK(!on_host());
    driver.device_info = CL_SUCCESS;
    driver.context_info = CL_OUT_OF_HOST_MEMORY;
    CHECK(!on_host());
}

TAP_MAIN
