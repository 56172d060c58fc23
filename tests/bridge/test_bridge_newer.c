/* OpenCL 2.0 to 3.0 through the bridge: what the device has works, by functions that are linked and by functions of extensions; what it
 * lacks has a clear error, and so has shared virtual memory for a 32-bit program over a 64-bit driver. */
#include "bridge.h"

static const char twice_source[] = "kernel void twice(global int *p) { p[get_global_id(0)] *= 2; }\n";

/* ---- shared virtual memory ---- */

enum { NUMBERS = 16, SVM_BYTES = NUMBERS * sizeof(int) };

BASE_CASE("shared virtual memory", svm_commands)
{
    const size_t count = NUMBERS;
    const int pattern = 21;
    cl_event events[2] = {NULL};
    if (!has_svm(base)) {
        SKIP("the device has no shared virtual memory here");
        return;
    }
    int *memory = clSVMAlloc(base->context, CL_MEM_READ_WRITE, SVM_BYTES, 0);
    int *other = clSVMAlloc(base->context, CL_MEM_READ_WRITE, SVM_BYTES, 64), plain[NUMBERS] = {0};
    cl_kernel kernel = built_kernel(base, twice_source, "twice");
    if (CHECK(memory != NULL) && CHECK(other != NULL)) {
        CHECK_INT((uintptr_t)other % 64, 0);
        CHECK_INT(clEnqueueSVMMemFill(base->queue, memory, &pattern, sizeof(pattern), SVM_BYTES, 0, NULL, &events[0]),
                  CL_SUCCESS);
        CHECK_INT(clSetKernelArgSVMPointer(kernel, 0, memory), CL_SUCCESS);
        CHECK_INT(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(other), &other), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &count, NULL, 1, events, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueSVMMemcpy(base->queue, CL_TRUE, other, memory, SVM_BYTES, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueSVMMap(base->queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, other, SVM_BYTES, 0, NULL, NULL),
                  CL_SUCCESS);
        for (int i = 0; i < NUMBERS; i++) {
            CHECK_INT(other[i], 42);
            other[i] = i;
        }
        CHECK_INT(clEnqueueSVMUnmap(base->queue, other, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueSVMMemcpy(base->queue, CL_FALSE, plain, other, SVM_BYTES, 0, NULL, &events[1]), CL_SUCCESS);
        CHECK_INT(clFinish(base->queue), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(2, events), CL_SUCCESS);
        for (int i = 0; i < NUMBERS; i++)
            CHECK_INT(plain[i], i);
        CHECK_INT(clReleaseEvent(events[0]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(events[1]), CL_SUCCESS);
    }
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    clSVMFree(base->context, memory);
    clSVMFree(base->context, other);
}

/* Addresses of a 32-bit program have no meaning for a 64-bit driver. */
BASE_CASE("shared virtual memory that is not there", no_svm)
{
    int plain[NUMBERS] = {0}, other[NUMBERS] = {0};
    cl_device_svm_capabilities capabilities = UNSET;
    void *pointers[] = {plain};
    const size_t size = SVM_BYTES;
    if (has_svm(base) && !in_wow64()) {
        SKIP("the device has shared virtual memory");
        return;
    }
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_SVM_CAPABILITIES, sizeof(capabilities), &capabilities, NULL),
              CL_SUCCESS);
    CHECK_INT(capabilities, 0);
    CHECK(clSVMAlloc(base->context, CL_MEM_READ_WRITE, SVM_BYTES, 0) == NULL);
    clSVMFree(base->context, NULL);
    cl_kernel kernel = built_kernel(base, twice_source, "twice");
    const cl_int codes[] = {
        clSetKernelArgSVMPointer(kernel, 0, plain),
        clEnqueueSVMMemcpy(base->queue, CL_TRUE, plain, other, SVM_BYTES, 0, NULL, NULL),
        clEnqueueSVMMemFill(base->queue, plain, other, 4, SVM_BYTES, 0, NULL, NULL),
        clEnqueueSVMMap(base->queue, CL_TRUE, CL_MAP_READ, plain, SVM_BYTES, 0, NULL, NULL),
        clEnqueueSVMUnmap(base->queue, plain, 0, NULL, NULL),
        clEnqueueSVMFree(base->queue, 1, pointers, NULL, NULL, 0, NULL, NULL),
        clEnqueueSVMMigrateMem(base->queue, 1, (const void **)pointers, &size, 0, 0, NULL, NULL),
        clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(pointers), pointers),
    };
    for (unsigned i = 0; i < COUNT(codes); i++) {
        if (!CHECK(in_wow64() ? codes[i] == CL_INVALID_OPERATION : codes[i] < 0))
            printf("# function %u: %d\n", i, codes[i]);
    }
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* ---- what few devices have ---- */

BASE_CASE("pipes", pipes)
{
    cl_int status = UNSET;
    cl_uint packet = 0;
    cl_mem pipe = clCreatePipe(base->context, CL_MEM_READ_WRITE, 4, 16, NULL, &status);
    if (device_number(base, CL_DEVICE_PIPE_SUPPORT)) {
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, sizeof(packet), &packet, NULL), CL_SUCCESS);
        CHECK_INT(packet, 4);
        release_memory(pipe);
    } else {
        CHECK(pipe == NULL);
        CHECK(status < 0);
        CHECK(clGetPipeInfo(NULL, CL_PIPE_PACKET_SIZE, sizeof(packet), &packet, NULL) < 0);
    }
}

/* Either both clocks or an error. */
BASE_CASE("the clocks of device and host", timers)
{
    cl_ulong of_device = 0, of_host = 0, later = 0;
    const cl_int status = clGetDeviceAndHostTimer(base->device, &of_device, &of_host);
    if (status == CL_SUCCESS) {
        CHECK_INT(clGetHostTimer(base->device, &later), CL_SUCCESS);
        CHECK(of_device && of_host && later >= of_host);
    } else {
        CHECK_INT(status, CL_INVALID_OPERATION);
        CHECK_INT(clGetHostTimer(base->device, &later), CL_INVALID_OPERATION);
        CHECK(!of_device && !of_host && !later);
    }
}

/* The device's intermediate language is in its name for it. */
static bool takes_il(const struct base *base)
{
    size_t size = 0;
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_IL_VERSION, 0, NULL, &size), CL_SUCCESS);
    return size > 1;
}

BASE_CASE("intermediate languages", intermediate_language)
{
    cl_int status = UNSET, value = 3;
    size_t size = UNSET;
    cl_program program = clCreateProgramWithIL(base->context, "nothing", 7, &status);
    CHECK((program != NULL) == (status == CL_SUCCESS));
    if (program) {
        CHECK(takes_il(base));
        CHECK(clBuildProgram(program, 1, &base->device, "", NULL, NULL) < 0);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    } else {
        CHECK(status < 0);
    }
    program = built_program(base, twice_source, "");
    CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, 0);
    CHECK(clSetProgramSpecializationConstant(program, 0, sizeof(value), &value) < 0);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

BASE_CASE("sub-groups", sub_groups)
{
    const size_t items = 64;
    size_t found = 0;
    cl_kernel kernel = built_kernel(base, twice_source, "twice");
    const cl_int status = clGetKernelSubGroupInfo(kernel, base->device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                                                  sizeof(items), &items, sizeof(found), &found, NULL);
    if (device_number(base, CL_DEVICE_MAX_NUM_SUB_GROUPS)) {
        CHECK_INT(status, CL_SUCCESS);
        CHECK(found >= 1 && found <= items);
    } else {
        CHECK(status < 0);
        CHECK_INT(found, 0);
    }
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* ---- functions of extensions ---- */

typedef void *(CL_API_CALL *create_function)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
typedef cl_int(CL_API_CALL *get_function)(void *, cl_uint, size_t, void *, size_t *);
typedef cl_int(CL_API_CALL *release_function)(void *);

static void command_buffer(const struct base *base, void *const *found)
{
    create_function create;
    get_function get;
    release_function release;
    cl_int status = UNSET;
    cl_uint count = 0;
    memcpy(&create, &found[0], sizeof(create));
    memcpy(&get, &found[1], sizeof(get));
    memcpy(&release, &found[2], sizeof(release));
    void *buffer = create(1, &base->queue, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(get(buffer, 0x1295 /* CL_COMMAND_BUFFER_NUM_QUEUES_KHR */, sizeof(count), &count, NULL), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK_INT(release(buffer), CL_SUCCESS);
}

/* The device's own; of the drivers here PoCL has some. In 32 bits there are none (docs/behaviour.md). */
BASE_CASE("functions of extensions", extension_functions)
{
    static const char *const names[] = {"clCreateCommandBufferKHR", "clGetCommandBufferInfoKHR",
                                        "clReleaseCommandBufferKHR"};
    void *found[3];
    CHECK(clGetExtensionFunctionAddressForPlatform(base->platform, "clNobodyHasThisKHR") == NULL);
    CHECK(clGetExtensionFunctionAddressForPlatform(base->platform, "clCreateFromGLBuffer") == NULL);
    CHECK(clGetExtensionFunctionAddress("clNobodyHasThisKHR") == NULL);
    CHECK(clGetExtensionFunctionAddress("clCreateFromD3D11BufferKHR") != NULL);
    for (int i = 0; i < 3; i++)
        found[i] = clGetExtensionFunctionAddressForPlatform(base->platform, names[i]);
    if (sizeof(void *) == 4) {
        CHECK(!found[0]);
    } else if (has_extension(base, "cl_khr_command_buffer") && CHECK(found[0] && found[1] && found[2])) {
        CHECK(clGetExtensionFunctionAddressForPlatform(base->platform, names[0]) == found[0]);
        command_buffer(base, found);
    }
}

/* Those that have a place in the loaders' tables. The host's loader answers for NULL. */
BASE_CASE("functions of extensions that loaders have in their tables", functions_of_the_tables)
{
    typedef cl_int(CL_API_CALL * info_function)(cl_kernel, cl_device_id, cl_uint, size_t, const void *, size_t, void *,
                                                size_t *);
    typedef cl_int(CL_API_CALL * device_function)(cl_device_id);
    info_function info;
    device_function retain, release;
    void *found[] = {clGetExtensionFunctionAddressForPlatform(base->platform, "clGetKernelSubGroupInfoKHR"),
                     clGetExtensionFunctionAddressForPlatform(base->platform, "clRetainDeviceEXT"),
                     clGetExtensionFunctionAddressForPlatform(base->platform, "clReleaseDeviceEXT")};
    if (found[0] && found[1] && found[2]) {
        memcpy(&info, &found[0], sizeof(info));
        memcpy(&retain, &found[1], sizeof(retain));
        memcpy(&release, &found[2], sizeof(release));
        CHECK_INT(
            info(NULL, base->device, 0x2033 /* CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR */, 0, NULL, 0, NULL, NULL),
            CL_INVALID_KERNEL);
        CHECK_INT(retain(NULL), CL_INVALID_DEVICE);
        CHECK_INT(release(NULL), CL_INVALID_DEVICE);
    } else {
        SKIP("the host's loader does not give them");
    }
}

TAP_MAIN
