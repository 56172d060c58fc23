/* Without the bridge cld3d stands on Wine's own opencl.dll: it says so, calls the callbacks that Wine's never calls, answers the
 * query in which Wine's crashes, and refuses what Wine's lacks. */
#include "callbacks.h"

static const char *report_of(const char *topic)
{
    typedef const char *(CL_API_CALL * report_function)(const char *);
    const FARPROC address = GetProcAddress(GetModuleHandleA("OpenCL.dll"), "cld3d_report");
    const report_function ask = (report_function)(void (*)(void))address;
    const char *report = CHECK(ask != NULL) ? ask(topic) : NULL;
    return report ? report : "";
}

CASE("what is below", reports)
{
    CHECK(strncmp(report_of("bridge"), "none: ", 6) == 0);
    CHECK(strstr(report_of("bridge"), "cld3d-setup run") != NULL);
    CHECK(strstr(report_of("next"), "opencl.dll") != NULL);
}

/* Each once, with the status; also of an event that fails. */
BASE_CASE("callbacks of events", event_callbacks)
{
    cl_event good = user_event(base->context), bad = user_event(base->context);
    cl_mem buffer = make_buffer(base);
    cl_event filled = fill(base, buffer, 1, &good);
    CHECK_INT(clSetEventCallback(filled, CL_COMPLETE, on_event, base), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(bad, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(NULL, CL_COMPLETE, on_event, NULL), CL_INVALID_EVENT);
    CHECK_INT(clSetEventCallback(bad, CL_COMPLETE, NULL, NULL), CL_INVALID_VALUE);
    pause_ms(50);
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clSetUserEventStatus(bad, -4711), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK_INT(journal.entries[0].status, -4711);
    CHECK_INT(clSetUserEventStatus(good, CL_COMPLETE), CL_SUCCESS);
    if (wait_until(&journal.count, 2)) {
        CHECK_INT(journal.entries[1].status, CL_COMPLETE);
        CHECK(journal.entries[1].object == filled && journal.entries[1].data == base);
    }
    CHECK_INT(clReleaseEvent(filled), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(good), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(bad), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

static void CL_CALLBACK on_built(cl_program program, void *data)
{
    write_down(&journal, program, 0, data);
}

BASE_CASE("callbacks of builds", builds)
{
    static const char *const text = "kernel void f(global int *p) { p[0] = 1; }";
    cl_int status = 1;
    cl_program program = clCreateProgramWithSource(base->context, 1, (const char **)&text, NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &base->device, "", on_built, base), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == program && journal.entries[0].data == base);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

/* What OpenCL 1.1 to 3.0 brought, linked as any program links it. */
BASE_CASE("what Wine's own lacks", what_is_missing)
{
    const char *text = "kernel void k(global int *p) { p[0] = 1; }";
    cl_int status = 1;
    cl_uint number = 0;
    cl_ulong time = 0;
    size_t size = 0;
    const void *pointer = &number;
    cl_mem buffer = make_buffer(base);
    cl_program program = clCreateProgramWithSource(base->context, 1, &text, NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &base->device, "", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "k", &status);
    CHECK(clCreateCommandQueueWithProperties(base->context, base->device, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK(clCloneKernel(kernel, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK(clCreateProgramWithIL(base->context, "nothing", 7, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK(clCreatePipe(base->context, CL_MEM_READ_WRITE, 4, 16, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK(clSVMAlloc(base->context, CL_MEM_READ_WRITE, 64, 0) == NULL);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clGetHostTimer(base->device, &time), CL_INVALID_OPERATION);
    CHECK_INT(clGetPipeInfo(buffer, CL_PIPE_PACKET_SIZE, sizeof(number), &number, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clGetKernelSubGroupInfo(kernel, base->device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof(size),
                                      &size, sizeof(size), &size, NULL),
              CL_INVALID_OPERATION);
    CHECK_INT(clSetProgramSpecializationConstant(program, 0, sizeof(number), &number), CL_INVALID_OPERATION);
    CHECK_INT(clEnqueueSVMMigrateMem(base->queue, 1, &pointer, NULL, 0, 0, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clSetDefaultDeviceCommandQueue(base->context, base->device, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clSetContextDestructorCallback(base->context, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clSetProgramReleaseCallback(program, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

/* Each call of such a function writes one line, which says what to do. */
CASE("the log of these calls", remedies)
{
    enum { CALLS = 14 };
    static const char path[] = "test_fallback.log";
    remove(path);
    test_setenv("CLD3D_LOG_FILE", path);
    CHECK_INT(run_again("what Wine's own lacks", "CLD3D_LOG", "warn"), 1);
    test_setenv("CLD3D_LOG_FILE", NULL);
    CHECK_INT(lines_with(path, "the OpenCL below lacks this function"), CALLS);
    CHECK_INT(lines_with(path, "opencl.dll has no more; start the program with 'cld3d-setup run'"), CALLS);
    CHECK_INT(lines_with(path, "clSVMAlloc: "), 1);
    remove(path);
}

/* Wine's own writes its answer to a query of the size alone. */
BASE_CASE("a query of the size alone", size_alone)
{
    cl_device_exec_capabilities capabilities = 0;
    size_t size = 0;
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_EXECUTION_CAPABILITIES, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(capabilities));
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_EXECUTION_CAPABILITIES, size, &capabilities, NULL), CL_SUCCESS);
    CHECK_INT(capabilities, CL_EXEC_KERNEL);
}

TAP_MAIN
