/* OpenCL 2.x and 3.0 under Wine with the host companion beside the driver: what the driver has can be called, by functions
 * that are linked and by functions of extensions, with callbacks on Windows threads. What the driver itself lacks says
 * so. Without a companion (test_newer.c) this program has nothing to test. */
#include "sharing.h"

#include "../src/companion/channel.h"

#include <string.h>

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static const char source[] = "kernel void twice(global int *p) { p[get_global_id(0)] *= 2; }\n"
                             "kernel void fill(global int *p, int v) { p[get_global_id(0)] = v; }\n";

static bool open_all(void)
{
    cl_int status = 1;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    return CHECK_INT(status, CL_SUCCESS);
}

static void close_all(void)
{
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

static cl_ulong device_number(cl_device_info name, size_t size)
{
    cl_ulong value = 0;
    return clGetDeviceInfo(device, name, size, &value, NULL) == CL_SUCCESS ? value : 0;
}

static bool has_svm(void)
{
    return device_number(CL_DEVICE_SVM_CAPABILITIES, 8) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
}

static cl_kernel make_kernel(const char *name)
{
    const char *text = source;
    cl_int status = 1;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    return kernel;
}

/* ---- versions and strings ---- */

static void joined(void)
{
    typedef const char *(CL_API_CALL * report_function)(const char *);
    const report_function ask =
        (report_function)(void (*)(void))GetProcAddress(GetModuleHandleA("OpenCL.dll"), "cld3d_report");
    if (CHECK(ask != NULL))
        CHECK_STR(ask("companion"), "connected, version " CHANNEL_VERSION_TEXT " of the channel");
}

static void strings(void)
{
    static char text[32768];
    static cl_name_version list[256];
    size_t size = 0;
    if (!open_all())
        return;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, &size), CL_SUCCESS);
    CHECK_INT(size, strlen(text) + 1);
    CHECK(strstr(text, "cl_khr_d3d11_sharing") != NULL);
    CHECK(strstr(text, "cl_khr_gl_") == NULL);
    CHECK(strstr(text, "  ") == NULL);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size), CL_SUCCESS);
    for (size_t i = 0; i < size / sizeof(*list); i++)
        CHECK(strstr(text, list[i].name) != NULL);
    CHECK_INT(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, &size), CL_SUCCESS);
    CHECK_INT(size, strlen(text) + 1);
    CHECK(strstr(text, "cl_khr_d3d11_sharing") != NULL);
    CHECK(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, 3, text, NULL) == CL_INVALID_VALUE);
    close_all();
}

/* ---- programs ---- */

static void compile_and_link(void)
{
    const char *lib = "int three(void); int three(void) { return 3; }\n";
    const char *user = "int three(void);\nkernel void k(global int *p) { p[0] = three(); }\n";
    cl_int status = 1, value = 0;
    if (!open_all())
        return;
    cl_program parts[2] = {clCreateProgramWithSource(context, 1, &lib, NULL, &status),
                           clCreateProgramWithSource(context, 1, &user, NULL, &status)};
    for (int i = 0; i < 2; i++)
        CHECK_INT(clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
    cl_program linked = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS) && CHECK(linked != NULL)) {
        cl_kernel kernel = clCreateKernel(linked, "k", &status);
        cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &status);
        const size_t one = 1;
        CHECK_INT(clSetKernelArg(kernel, 0, sizeof(out), &out), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 4, &value, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(value, 3);
        CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    }
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseProgram(parts[i]), CL_SUCCESS);
    close_all();
}

static void CL_CALLBACK note_program(cl_program program, void *data)
{
    atomic_store((_Atomic(cl_program) *)data, program);
}

static bool told(_Atomic(cl_program) *program)
{
    for (int i = 0; i < 60000 && !atomic_load(program); i++)
        pause_ms(1);
    return CHECK(atomic_load(program) != NULL);
}

static void compile_and_link_notify(void)
{
    const char *text = source;
    cl_int status = 1;
    _Atomic(cl_program) compiled = NULL, linked = NULL;
    if (!open_all())
        return;
    cl_program part = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(clCompileProgram(part, 1, &device, "", 0, NULL, NULL, note_program, &compiled), CL_SUCCESS);
    CHECK(told(&compiled) && compiled == part);
    cl_program whole = clLinkProgram(context, 1, &device, "", 1, &part, note_program, &linked, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(told(&linked) && linked == whole);
    CHECK_INT(clReleaseProgram(whole), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(part), CL_SUCCESS);
    close_all();
}

static void clone_kernel(void)
{
    cl_int status = 1, values[4] = {0};
    const cl_int seven = 7, nine = 9;
    const size_t four = 4;
    if (!open_all())
        return;
    cl_kernel kernel = make_kernel("fill");
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(values), NULL, &status);
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(out), &out), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(seven), &seven), CL_SUCCESS);
    cl_kernel clone = clCloneKernel(kernel, &status);
    if (CHECK_INT(status, CL_SUCCESS) && CHECK(clone != NULL)) {
        CHECK_INT(clSetKernelArg(kernel, 1, sizeof(nine), &nine), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(queue, clone, 1, NULL, &four, NULL, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(values[3], 7);
        CHECK_INT(clReleaseKernel(clone), CL_SUCCESS);
    }
    CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    close_all();
}

/* ---- shared virtual memory ---- */

static void svm(void)
{
    const size_t sixteen = 16;
    const int pattern = 21;
    if (!open_all())
        return;
    if (!has_svm()) {
        CHECK(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0) == NULL);
        close_all();
        return;
    }
    int *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0), *other = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    cl_kernel kernel = make_kernel("twice");
    if (CHECK(memory != NULL) && CHECK(other != NULL)) {
        CHECK_INT(clEnqueueSVMMemFill(queue, memory, &pattern, sizeof(pattern), 64, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clSetKernelArgSVMPointer(kernel, 0, memory), CL_SUCCESS);
        CHECK_INT(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(other), &other), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &sixteen, NULL, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueSVMMemcpy(queue, CL_TRUE, other, memory, 64, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, other, 64, 0, NULL, NULL), CL_SUCCESS);
        for (int i = 0; i < 16; i++)
            CHECK_INT(other[i], 42);
        CHECK_INT(clEnqueueSVMUnmap(queue, other, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clFinish(queue), CL_SUCCESS);
    }
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    clSVMFree(context, memory);
    clSVMFree(context, other);
    close_all();
}

/* ---- the rest ---- */

static void queues(void)
{
    const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_command_queue_properties got = 0;
    cl_int status = 1;
    if (!open_all())
        return;
    cl_command_queue other = clCreateCommandQueueWithProperties(context, device, profiling, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clGetCommandQueueInfo(other, CL_QUEUE_PROPERTIES, sizeof(got), &got, NULL), CL_SUCCESS);
    CHECK_INT(got, CL_QUEUE_PROFILING_ENABLE);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    close_all();
}

static void objects(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
    const cl_sampler_properties linear[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0};
    cl_filter_mode filter = 0;
    cl_int status = 1;
    size_t size = 0;
    if (!open_all())
        return;
    cl_mem buffer = clCreateBufferWithProperties(context, NULL, CL_MEM_READ_WRITE, 1000, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
    CHECK_INT(size, 1000);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    cl_mem image = clCreateImageWithProperties(context, NULL, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clGetImageInfo(image, CL_IMAGE_HEIGHT, sizeof(size), &size, NULL), CL_SUCCESS);
    CHECK_INT(size, 8);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    cl_sampler sampler = clCreateSamplerWithProperties(context, linear, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clGetSamplerInfo(sampler, CL_SAMPLER_FILTER_MODE, sizeof(filter), &filter, NULL), CL_SUCCESS);
    CHECK_INT(filter, CL_FILTER_LINEAR);
    CHECK_INT(clReleaseSampler(sampler), CL_SUCCESS);
    close_all();
}

static bool takes_il(void)
{
    size_t size = 0;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, 0, NULL, &size), CL_SUCCESS);
    return size > 1;
}

/* Either an answer or an error, and the error where the device promises nothing. */
static void what_the_driver_lacks(void)
{
    cl_int status = 1;
    cl_ulong both[2] = {0};
    if (!open_all())
        return;
    if (!device_number(CL_DEVICE_PIPE_SUPPORT, 4)) {
        CHECK(clCreatePipe(context, CL_MEM_READ_WRITE, 4, 16, NULL, &status) == NULL);
        CHECK(status < 0);
    }
    cl_program program = clCreateProgramWithIL(context, "nothing", 7, &status);
    CHECK((program != NULL) == (status == CL_SUCCESS));
    if (program) {
        CHECK(takes_il());
        CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL) < 0);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    }
    CHECK(clGetPipeInfo(NULL, CL_PIPE_PACKET_SIZE, sizeof(status), &status, NULL) < 0);
    CHECK(clGetKernelSubGroupInfo(NULL, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 0, NULL, 0, NULL, NULL) < 0);
    CHECK(clSetProgramSpecializationConstant(NULL, 0, sizeof(status), &status) < 0);
    CHECK(clEnqueueSVMMigrateMem(NULL, 0, NULL, NULL, 0, 0, NULL, NULL) < 0);
    status = clGetDeviceAndHostTimer(device, &both[0], &both[1]);
    CHECK(status == CL_SUCCESS ? both[0] && both[1] : status == CL_INVALID_OPERATION);
    close_all();
}

/* The device's own extension functions; of the drivers here PoCL has some. In 32 bits there are none (docs/behaviour.md). */
static void extension_functions(void)
{
    typedef void *(CL_API_CALL * create_function)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
    typedef cl_int(CL_API_CALL * get_function)(void *, cl_uint, size_t, void *, size_t *);
    typedef cl_int(CL_API_CALL * release_function)(void *);
    static const char *const names[] = {"clCreateCommandBufferKHR", "clGetCommandBufferInfoKHR",
                                        "clReleaseCommandBufferKHR"};
    static char text[32768];
    void *found[3];
    cl_uint count = 0;
    cl_int status = 1;
    if (!open_all())
        return;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    CHECK(clGetExtensionFunctionAddressForPlatform(platform, "clNobodyHasThisKHR") == NULL);
    CHECK(clGetExtensionFunctionAddressForPlatform(platform, "clCreateFromGLBuffer") == NULL);
    for (int i = 0; i < 3; i++)
        found[i] = clGetExtensionFunctionAddressForPlatform(platform, names[i]);
    if (sizeof(void *) == 4 || !strstr(text, "cl_khr_command_buffer")) {
        CHECK(!found[0]);
    } else if (CHECK(found[0] && found[1] && found[2])) {
        CHECK(clGetExtensionFunctionAddressForPlatform(platform, names[0]) == found[0]);
        create_function create;
        get_function get;
        release_function release;
        memcpy(&create, &found[0], sizeof(create));
        memcpy(&get, &found[1], sizeof(get));
        memcpy(&release, &found[2], sizeof(release));
        void *buffer = create(1, &queue, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(get(buffer, 0x1295 /* CL_COMMAND_BUFFER_NUM_QUEUES_KHR */, sizeof(count), &count, NULL), CL_SUCCESS);
        CHECK_INT(count, 1);
        CHECK_INT(release(buffer), CL_SUCCESS);
    }
    close_all();
}

/* Those that have a place in the loaders' tables. The host's loader answers for NULL. */
static void functions_of_the_tables(void)
{
    typedef cl_int(CL_API_CALL * info_function)(cl_kernel, cl_device_id, cl_uint, size_t, const void *, size_t, void *,
                                                size_t *);
    typedef cl_int(CL_API_CALL * device_function)(cl_device_id);
    info_function info;
    device_function retain, release;
    if (!open_all())
        return;
    void *found[] = {clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSubGroupInfoKHR"),
                     clGetExtensionFunctionAddressForPlatform(platform, "clRetainDeviceEXT"),
                     clGetExtensionFunctionAddressForPlatform(platform, "clReleaseDeviceEXT")};
    if (found[0] && found[1] && found[2]) {
        memcpy(&info, &found[0], sizeof(info));
        memcpy(&retain, &found[1], sizeof(retain));
        memcpy(&release, &found[2], sizeof(release));
        CHECK_INT(info(NULL, device, 0x2033 /* CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR */, 0, NULL, 0, NULL, NULL),
                  CL_INVALID_KERNEL);
        CHECK_INT(retain(NULL), CL_INVALID_DEVICE);
        CHECK_INT(release(NULL), CL_INVALID_DEVICE);
    } else {
        SKIP("the host's loader does not give them");
    }
    close_all();
}

/* The loader of the host looks into handles. Wine ends the call then, and nothing comes back. */
static void crashes_below(void)
{
    static void *nothing[64];
    const cl_int value = 0;
    cl_int status = CL_SUCCESS;
    if (!open_all())
        return;
    CHECK_INT(clSetProgramSpecializationConstant((cl_program)nothing, 0, sizeof(value), &value), CL_OUT_OF_RESOURCES);
    CHECK_INT(clSetKernelExecInfo((cl_kernel)nothing, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(nothing), nothing),
              CL_OUT_OF_RESOURCES);
    CHECK(clCloneKernel((cl_kernel)nothing, &status) == NULL);
    CHECK_INT(status, CL_OUT_OF_RESOURCES);
    CHECK(clCloneKernel((cl_kernel)nothing, NULL) == NULL);
    status = CL_SUCCESS;
    CHECK(clCreateCommandQueueWithProperties((cl_context)nothing, device, NULL, &status) == NULL);
    CHECK_INT(status, CL_OUT_OF_RESOURCES);
    close_all();
}

static const struct tap_test tests[] = {
    {"the companion has joined", joined},
    {"extension strings", strings},
    {"compile and link", compile_and_link},
    {"compile and link with notify functions", compile_and_link_notify},
    {"a kernel's clone has its arguments", clone_kernel},
    {"shared virtual memory", svm},
    {"queues with properties", queues},
    {"buffers, images and samplers with properties", objects},
    {"what the driver lacks", what_the_driver_lacks},
    {"functions of the host that crash", crashes_below},
    {"functions of extensions", extension_functions},
    {"functions of extensions that loaders have in their tables", functions_of_the_tables},
};

TAP_MAIN(tests)
