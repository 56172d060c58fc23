/* Measures what a call costs through the bridge, against Wine's own opencl.dll, which calls the host in the same way but waits in the
 * driver.
 *
 *     bridge_calls.exe [quick]
 *
 * Prints for each call the least time through each in nanoseconds, and their ratio. The same handles go through both in one process, in
 * turn. In 32 bits there is no other way where Wine has no OpenCL, so this is for 64. */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

enum { READ = 4096 };

struct subject {
    const struct opencl *cl;
    cl_mem buffer;
    cl_kernel kernel;
    cl_event event; /* of a command that is complete */
};

/* ---- the calls, `count` times each ---- */

typedef void call_loop(const cl_icd_dispatch *call, const struct subject *s, unsigned count);

static void get_event_info(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    cl_int status;
    for (; count; count--)
        call->clGetEventInfo(s->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
}

static void set_kernel_arg(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    const cl_float value = 0;
    for (; count; count--)
        call->clSetKernelArg(s->kernel, 1, sizeof(value), &value);
}

static void enqueue_kernel(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    static const size_t one = 1;
    for (; count; count--)
        call->clEnqueueNDRangeKernel(s->cl->queue, s->kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
}

static void read_blocking(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    static char to[READ];
    for (; count; count--)
        call->clEnqueueReadBuffer(s->cl->queue, s->buffer, CL_TRUE, 0, sizeof(to), to, 0, NULL, NULL);
}

static void wait_for_kernel(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    static const size_t one = 1;
    for (cl_event event = NULL; count; count--) {
        call->clEnqueueNDRangeKernel(s->cl->queue, s->kernel, 1, NULL, &one, NULL, 0, NULL, &event);
        call->clWaitForEvents(1, &event);
        call->clReleaseEvent(event);
    }
}

static const struct {
    const char *name;
    call_loop *loop;
    unsigned count; /* of one round */
} calls[] = {
    {"clGetEventInfo", get_event_info, 20000},
    {"clSetKernelArg", set_kernel_arg, 20000},
    {"clEnqueueNDRangeKernel", enqueue_kernel, 300},
    {"blocking read of 4 KiB", read_blocking, 300},
    {"small kernel + clWaitForEvents", wait_for_kernel, 200},
};

/* ---- measuring ---- */

static double measure(const struct subject *s, unsigned call, const cl_icd_dispatch *through)
{
    const double start = clock_ms();
    calls[call].loop(through, s, calls[call].count);
    const double time = clock_ms() - start;
    opencl_wait(s->cl);
    return time * 1e6 / calls[call].count;
}

static void least(double *so_far, double time)
{
    *so_far = *so_far == 0 || time < *so_far ? time : *so_far;
}

static struct subject open_subject(const struct opencl *cl)
{
    struct subject s = {.cl = cl, .buffer = opencl_buffer(cl, READ), .kernel = opencl_kernel(cl, "write_bytes")};
    const cl_float value = 0;
    const cl_uint pitch = 1;
    cl->call.clSetKernelArg(s.kernel, 0, sizeof(cl_mem), &s.buffer);
    cl->call.clSetKernelArg(s.kernel, 1, sizeof(value), &value);
    cl->call.clSetKernelArg(s.kernel, 2, sizeof(pitch), &pitch);
    check_cl(cl->call.clEnqueueMarkerWithWaitList(cl->queue, 0, NULL, &s.event), "clEnqueueMarkerWithWaitList",
             "this OpenCL device is not usable now");
    cl->call.clWaitForEvents(1, &s.event);
    return s;
}

static void see_that_there_is_a_bridge(void)
{
    typedef const char *(CL_API_CALL * report_function)(const char *);
    const report_function ask =
        (report_function)(any_function)GetProcAddress(GetModuleHandleA("OpenCL.dll"), "cld3d_report");
    const char *report = ask ? ask("bridge") : NULL;
    if (!report || strncmp(report, "connected", 9) != 0)
        fail("there is no bridge to measure (%s)", report ? report : "this is not cld3d");
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 && strcmp(argv[1], "quick") == 0 ? 15 : 101;
    const struct opencl cl = opencl_open(OPENCL_CLD3D, 0, NULL);
    cl_icd_dispatch wine = {0};
    see_that_there_is_a_bridge();
    opencl_load(&wine, OPENCL_BELOW);
    const struct subject subject = open_subject(&cl);
    printf("%-32s %10s %10s %7s\n", "least ns", "bridge", "Wine's own", "ratio");
    for (unsigned call = 0; call < sizeof(calls) / sizeof(calls[0]); call++) {
        double bridge = 0, own = 0;
        for (unsigned round = 0; round < rounds; round++) {
            least(&bridge, measure(&subject, call, &cl.call));
            least(&own, measure(&subject, call, &wine));
        }
        printf("%-32s %10.1f %10.1f %7.2f\n", calls[call].name, bridge, own, bridge / own);
    }
    return 0;
}
