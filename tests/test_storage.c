/* How images of formats that a device lacks are stored: which format is chosen over which driver, how the conversion program is
 * built, and that nothing is left where the driver fails at it (src/formats/storage.c). The OpenCL below is played. */
#include "drivers/drivers.h"
#include "formats/storage.h"
#include "tap.h"

#include "d3d/formats.h"

#include <CL/cl_ext.h>

/* ---- the OpenCL below ---- */

static cl_image_format listed[300];
static cl_uint listed_count, read_count; /* so many more are listed for images that kernels only read */
static cl_int list_status;

static cl_int CL_API_CALL list_formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                                       cl_uint capacity, cl_image_format *formats, cl_uint *count)
{
    const cl_uint all = listed_count + (flags & CL_MEM_READ_ONLY ? read_count : 0);
    (void)context, (void)type;
    for (cl_uint i = 0; i < all && i < capacity; i++)
        formats[i] = listed[i];
    *count = all;
    return list_status;
}

/* What fails, and what there is of programs and kernels. */
static struct {
    cl_int context_info, device_info, create, build, argument, launch, kernel;
    const char *no_kernel; /* the one that can't be made: with `kernel`, or with neither a kernel nor a code */
    cl_bool unified[2];    /* of the context's two devices */
    int programs, kernels, most_kernels;
    void (*while_building)(void);
    unsigned deeper; /* launches that launch another one */
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
    *status = driver.create;
    driver.programs += driver.create == CL_SUCCESS;
    return driver.create == CL_SUCCESS ? (cl_program)&handles[2] : NULL;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    void (*meanwhile)(void) = driver.while_building;
    (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)data;
    driver.while_building = NULL;
    if (meanwhile)
        meanwhile();
    return driver.build;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    (void)program;
    driver.programs--;
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *status)
{
    (void)program;
    *status = CL_SUCCESS;
    if (driver.no_kernel && strcmp(driver.no_kernel, name) == 0) {
        *status = driver.kernel;
        return NULL;
    }
    driver.kernels++;
    driver.most_kernels = driver.kernels > driver.most_kernels ? driver.kernels : driver.most_kernels;
    return (cl_kernel)&handles[8 + driver.kernels];
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    (void)kernel;
    driver.kernels--;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    (void)kernel, (void)size, (void)value;
    return index == 1 ? driver.argument : CL_SUCCESS;
}

static struct converter *converter_at_work;

static cl_int enqueue(struct converter *converter)
{
    return converter_enqueue(converter, true, NULL, NULL, NULL, 16, 0, NULL, NULL);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *size, const size_t *local, cl_uint wait_count, const cl_event *wait,
                                 cl_event *event)
{
    (void)queue, (void)kernel, (void)offset, (void)local, (void)wait_count, (void)wait, (void)event;
    CHECK_INT(dimensions, 1);
    CHECK_INT(size[0], 16);
    if (driver.deeper > 0) {
        driver.deeper--;
        CHECK_INT(enqueue(converter_at_work), CL_SUCCESS);
    }
    return driver.launch;
}

static void set_driver(void)
{
    memset(&driver, 0, sizeof(driver));
    driver.unified[0] = driver.unified[1] = CL_TRUE;
    listed_count = read_count = 0;
    list_status = CL_SUCCESS;
    next.clGetSupportedImageFormats = list_formats;
    next.clGetContextInfo = get_context_info;
    next.clGetDeviceInfo = get_device_info;
    next.clCreateProgramWithSource = create_program;
    next.clBuildProgram = build_program;
    next.clReleaseProgram = release_program;
    next.clCreateKernel = create_kernel;
    next.clReleaseKernel = release_kernel;
    next.clSetKernelArg = set_argument;
    next.clEnqueueNDRangeKernel = launch;
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

static void stored_in_floats(void)
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

static void stored_as_declared(void)
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

static void where_nothing_is(void)
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

/* What the driver is short of is told; a type of image that it does not know has no formats. */
static void drivers_failures(void)
{
    cl_image_format stored, formats[4];
    cl_uint count = 77;
    cl_int status = 1;
    const cl_int shortages[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY};
    set_driver();
    set_context();
    lists(CL_RGBA, CL_UNORM_INT8);
    for (int i = 0; i < 2; i++) {
        list_status = shortages[i];
        CHECK(
            !storage_choose(&context, (cl_image_format){CL_R, CL_UNORM_INT8}, CL_MEM_OBJECT_IMAGE2D, &stored, &status));
        CHECK_INT(status, shortages[i]);
        CHECK_INT(storage_list(&context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 4, formats, &count), shortages[i]);
        CHECK_INT(count, 0);
    }
    list_status = CL_INVALID_VALUE;
    CHECK_INT(stored_2d(CL_R, CL_UNORM_INT8), NOT);
    CHECK_INT(storage_list(&context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 4, formats, &count), CL_SUCCESS);
    CHECK_INT(count, 0);
    list_status = CL_SUCCESS;
    CHECK_INT(storage_list(&context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_BUFFER, 4, formats, &count), CL_SUCCESS);
    CHECK_INT(count, 0);
}

/* The list has each format once that is chosen for, whatever the room. */
static void the_list(void)
{
    cl_image_format all[128], some[4] = {{0, 0}, {0, 0}, {0, 0}, {0x77, 0x77}};
    cl_uint count = 0, again = 0;
    set_driver();
    set_context();
    lists(CL_RGBA, CL_FLOAT);
    CHECK_INT(storage_list(&context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 128, all, &count), CL_SUCCESS);
    CHECK(count > 8 && count <= 128);
    for (cl_uint i = 0; i < count; i++) {
        CHECK_INT(stored_2d(all[i].image_channel_order, all[i].image_channel_data_type), CL_FLOAT);
        for (cl_uint k = 0; k < i; k++)
            CHECK(memcmp(&all[i], &all[k], sizeof(all[i])) != 0);
    }
    CHECK_INT(storage_list(&context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 3, some, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    CHECK_MEM(some, all, 3 * sizeof(some[0]));
    CHECK_INT(some[3].image_channel_order, 0x77);
}

/* What the driver lists for images that kernels only read stands in its own list. */
static void the_list_of_readers(void)
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

static struct converter *get(cl_channel_order order, cl_channel_type type, cl_channel_type stored, cl_int expected)
{
    cl_int status = 1;
    struct converter *found =
        converter_get(&context, (cl_image_format){order, type}, (cl_image_format){CL_RGBA, stored}, &status);
    CHECK_INT(status, expected);
    CHECK_INT(found != NULL, expected == CL_SUCCESS);
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
static void found_again(void)
{
    set_driver();
    set_context();
    struct converter *first = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS);
    CHECK(get(CL_R, CL_UNORM_INT8, CL_FLOAT, CL_SUCCESS) != first);
    CHECK(get(CL_RG, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS) != first);
    CHECK(get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS) == first);
    CHECK_INT(driver.programs, 3);
    close_context();
}

static struct converter *other_thread;

static void be_faster(void)
{
    other_thread = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS);
}

/* Another thread makes the same meanwhile: one of the two stays. */
static void raced(void)
{
    set_driver();
    set_context();
    driver.while_building = be_faster;
    CHECK(get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS) == other_thread);
    CHECK_INT(driver.programs, 1);
    close_context();
}

/* What makes an image has none of a compiler's codes; the next try works. */
static void failing(void)
{
    static const struct {
        cl_int create, build, kernel;
        const char *no_kernel;
        cl_int expected;
    } rows[] = {
        {CL_OUT_OF_RESOURCES, 0, 0, NULL, CL_OUT_OF_RESOURCES},
        {0, CL_BUILD_PROGRAM_FAILURE, 0, NULL, CL_OUT_OF_RESOURCES},
        {0, CL_OUT_OF_HOST_MEMORY, 0, NULL, CL_OUT_OF_HOST_MEMORY},
        {0, 0, CL_OUT_OF_HOST_MEMORY, "widen", CL_OUT_OF_HOST_MEMORY},
        {0, 0, CL_OUT_OF_RESOURCES, "narrow", CL_OUT_OF_RESOURCES},
        {0, 0, CL_SUCCESS, "narrow", CL_OUT_OF_RESOURCES},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_driver();
        set_context();
        driver.create = rows[i].create;
        driver.build = rows[i].build;
        driver.kernel = rows[i].kernel;
        driver.no_kernel = rows[i].no_kernel;
        get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, rows[i].expected);
        CHECK_INT(driver.programs, 0);
        CHECK_INT(driver.kernels, 0);
        CHECK(context.converters == NULL);
        set_driver();
        get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS);
        close_context();
    }
}

static bool on_host(void)
{
    set_context();
    const struct converter *made = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS);
    const bool host = made && made->on_host;
    close_context();
    return host;
}

/* The host converts where all devices share its memory, and say so. */
static void by_the_host(void)
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

/* ---- launches ---- */

/* A kernel of each kind is kept, and none is lost when a call fails. */
static void launches(void)
{
    set_driver();
    set_context();
    converter_at_work = get(CL_R, CL_UNORM_INT8, CL_UNORM_INT8, CL_SUCCESS);
    CHECK_INT(driver.kernels, 2);
    for (int i = 0; i < 3; i++)
        CHECK_INT(enqueue(converter_at_work), CL_SUCCESS);
    CHECK_INT(driver.most_kernels, 2);
    driver.deeper = 6; /* seven at once */
    CHECK_INT(enqueue(converter_at_work), CL_SUCCESS);
    CHECK_INT(driver.most_kernels, 1 + 7);
    driver.launch = CL_OUT_OF_RESOURCES;
    CHECK_INT(enqueue(converter_at_work), CL_OUT_OF_RESOURCES);
    driver.launch = CL_SUCCESS;
    driver.argument = CL_OUT_OF_HOST_MEMORY;
    CHECK_INT(enqueue(converter_at_work), CL_OUT_OF_HOST_MEMORY);
    driver.argument = CL_SUCCESS;
    CHECK_INT(driver.kernels, 2);
    close_context();
}

static const struct tap_test tests[] = {
    {"a device with floats alone", stored_in_floats},
    {"a device that has the channel type", stored_as_declared},
    {"images that nothing is chosen for", where_nothing_is},
    {"a driver that fails at its formats", drivers_failures},
    {"the list of what is emulated", the_list},
    {"the list of what is emulated for images that kernels only read", the_list_of_readers},
    {"a conversion is made once", found_again},
    {"two threads make a conversion", raced},
    {"a driver that fails at the conversion", failing},
    {"where the host converts", by_the_host},
    {"kernels that are kept", launches},
};

TAP_MAIN(tests)
