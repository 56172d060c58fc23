/* Measures what cld3d adds to plain OpenCL calls, with no shared object alive and with many, and what shared objects cost.
 *
 *     calls.exe [quick]
 *     calls.exe memory
 *     calls.exe textures
 *
 * Prints lines "sample,calls,CALL,OBJECTS,LIBRARY,ROUND,NANOSECONDS", the same for creation ("objects") in microseconds,
 * and for memory in bytes an object; that in a process of its own, where no memory is left over from before. The same
 * handles go through both libraries: cld3d's are those of the OpenCL below. "textures" is without OpenCL: how long Direct3D takes for
 * one of 10,000 small textures, in microseconds, to be run with the Vulkan layer and without it. */
#define COBJMACROS
#include "surface.h"

#include <psapi.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 1000, TEXELS = 16 };

/* What the calls work on. */
struct subject {
    const struct opencl *cl;
    cl_mem buffer;
    cl_kernel kernel;
    cl_event event; /* of a command that is complete */
};

/* ---- the calls, `count` times each ---- */

typedef void call_loop(const cl_icd_dispatch *call, const struct subject *s, unsigned count);

static void set_kernel_arg(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    for (; count; count--)
        call->clSetKernelArg(s->kernel, 0, sizeof(cl_mem), &s->buffer);
}

static void enqueue_kernel(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    static const size_t one = 1;
    for (; count; count--)
        call->clEnqueueNDRangeKernel(s->cl->queue, s->kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
}

static void read_buffer(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    static cl_int to;
    for (; count; count--)
        call->clEnqueueReadBuffer(s->cl->queue, s->buffer, CL_FALSE, 0, sizeof(to), &to, 0, NULL, NULL);
}

static void write_buffer(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    static const cl_int from;
    for (; count; count--)
        call->clEnqueueWriteBuffer(s->cl->queue, s->buffer, CL_FALSE, 0, sizeof(from), &from, 0, NULL, NULL);
}

static void get_event_info(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    cl_int status;
    for (; count; count--)
        call->clGetEventInfo(s->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
}

static void retain_release_event(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    for (; count; count--) {
        call->clRetainEvent(s->event);
        call->clReleaseEvent(s->event);
    }
}

static void wait_for_events(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    for (; count; count--)
        call->clWaitForEvents(1, &s->event);
}

static void retain_release_object(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    for (; count; count--) {
        call->clRetainMemObject(s->buffer);
        call->clReleaseMemObject(s->buffer);
    }
}

static void create_release_buffer(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    for (; count; count--)
        call->clReleaseMemObject(call->clCreateBuffer(s->cl->context, CL_MEM_READ_WRITE, 64, NULL, NULL));
}

static void get_object_info(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    size_t size;
    for (; count; count--)
        call->clGetMemObjectInfo(s->buffer, CL_MEM_SIZE, sizeof(size), &size, NULL);
}

static void get_device_info(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    cl_uint units;
    for (; count; count--)
        call->clGetDeviceInfo(s->cl->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
}

static void flush(const cl_icd_dispatch *call, const struct subject *s, unsigned count)
{
    for (; count; count--)
        call->clFlush(s->cl->queue);
}

static const struct {
    const char *name;
    call_loop *loop;
    unsigned count; /* of one round */
    bool enqueues;
} calls[] = {
    {"clSetKernelArg", set_kernel_arg, 8000, false},
    {"clEnqueueNDRangeKernel", enqueue_kernel, 300, true},
    {"clEnqueueReadBuffer", read_buffer, 300, true},
    {"clEnqueueWriteBuffer", write_buffer, 300, true},
    {"clGetEventInfo", get_event_info, 8000, false},
    {"clRetainEvent + clReleaseEvent", retain_release_event, 4000, false},
    {"clWaitForEvents", wait_for_events, 4000, false},
    {"clRetainMemObject + clReleaseMemObject", retain_release_object, 4000, false},
    {"clCreateBuffer + clReleaseMemObject", create_release_buffer, 1000, false},
    {"clGetMemObjectInfo", get_object_info, 8000, false},
    {"clGetDeviceInfo", get_device_info, 8000, false},
    {"clFlush", flush, 1000, false},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* ---- measuring ---- */

static unsigned rounds = 101;

/* Holds the queue back, so that no thread of the driver works beside the calls that are measured. Not through cld3d,
 * which would follow the event. */
static cl_event hold(const struct subject *s, const cl_icd_dispatch *below)
{
    cl_int code;
    cl_event gate = below->clCreateUserEvent(s->cl->context, &code);
    check_cl(code, "clCreateUserEvent", "this OpenCL driver is broken");
    check_cl(below->clEnqueueBarrierWithWaitList(s->cl->queue, 1, &gate, NULL), "clEnqueueBarrierWithWaitList",
             "this OpenCL device is not usable now");
    return gate;
}

static double measure(const struct subject *s, unsigned call, const cl_icd_dispatch *below,
                      const cl_icd_dispatch *through)
{
    cl_event gate = calls[call].enqueues ? hold(s, below) : NULL;
    const double start = clock_ms();
    calls[call].loop(through, s, calls[call].count);
    const double time = clock_ms() - start;
    if (gate) {
        below->clSetUserEventStatus(gate, CL_COMPLETE);
        opencl_wait(s->cl);
        below->clReleaseEvent(gate);
    }
    return time * 1e6 / calls[call].count;
}

static void measure_calls(const struct subject *s, const cl_icd_dispatch *below, const char *objects)
{
    for (unsigned call = 0; call < CALLS; call++) {
        measure(s, call, below, below);
        measure(s, call, below, &s->cl->call);
        for (unsigned round = 0; round < rounds; round++) {
            printf("sample,calls,%s,%s,below,%u,%.2f\n", calls[call].name, objects, round,
                   measure(s, call, below, below));
            printf("sample,calls,%s,%s,cld3d,%u,%.2f\n", calls[call].name, objects, round,
                   measure(s, call, below, &s->cl->call));
        }
    }
    step("# calls with %s: %u rounds", objects, rounds);
}

/* A kernel that does nothing much. */
static struct subject open_subject(const struct opencl *cl)
{
    struct subject s = {.cl = cl, .buffer = opencl_buffer(cl, 64), .kernel = opencl_kernel(cl, "write_bytes")};
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

/* ---- shared objects ---- */

static struct surface surfaces[OBJECTS];
static cl_mem objects[OBJECTS], plain[OBJECTS];

/* Bytes of memory that the process has in use. */
static double memory_in_use(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof(counters)};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)))
        fail("the system does not report how much memory is in use");
    return (double)counters.WorkingSetSize;
}

static void print_memory(const char *what, double before)
{
    printf("sample,memory,%s,%u,cld3d,0,%.0f\n", what, OBJECTS, (memory_in_use() - before) / OBJECTS);
}

static cl_mem plain_image(const struct opencl *cl)
{
    static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = TEXELS, .image_height = TEXELS};
    cl_int code;
    cl_mem image = cl->call.clCreateImage(cl->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    check_cl(code, "clCreateImage", "no memory?");
    return image;
}

/* Takes the memory that allocators still keep from before (compilers leave much), until each image takes new one. Lives
 * to the end of the program. */
static void use_up_free_memory(const struct opencl *cl)
{
    enum { MOST = 100 };
    double before, grown = 0;
    for (unsigned round = 0; round < MOST && grown < TEXELS * TEXELS * 4; round++) {
        before = memory_in_use();
        for (unsigned i = 0; i < OBJECTS; i++)
            plain_image(cl);
        grown = (memory_in_use() - before) / OBJECTS;
    }
}

static void create_plain(const struct opencl *cl)
{
    use_up_free_memory(cl);
    const double before = memory_in_use();
    for (unsigned i = 0; i < OBJECTS; i++)
        plain[i] = plain_image(cl);
    print_memory("plain image", before);
}

static void create_shared(const struct opencl *cl)
{
    clEnqueueAcquireD3D11ObjectsKHR_fn acquire =
        (clEnqueueAcquireD3D11ObjectsKHR_fn)opencl_function(cl, "clEnqueueAcquireD3D11ObjectsKHR");
    clEnqueueReleaseD3D11ObjectsKHR_fn release =
        (clEnqueueReleaseD3D11ObjectsKHR_fn)opencl_function(cl, "clEnqueueReleaseD3D11ObjectsKHR");
    const double before = memory_in_use();
    for (unsigned i = 0; i < OBJECTS; i++)
        objects[i] = surfaces[i].ops->share(&surfaces[i], cl, CL_MEM_READ_WRITE, 0);
    print_memory("shared object", before);
    for (unsigned i = 0; i < OBJECTS; i++) {
        check_cl(acquire(cl->queue, 1, &objects[i], 0, NULL, NULL), "clEnqueueAcquireD3D11ObjectsKHR", "no memory?");
        check_cl(release(cl->queue, 1, &objects[i], 0, NULL, NULL), "clEnqueueReleaseD3D11ObjectsKHR", "no memory?");
    }
    print_memory("shared object used once", before);
}

/* Beside the objects that are alive already. */
static void measure_creation(const struct opencl *cl, ID3D11Device *device)
{
    struct surface surface = d3d11_texture(device, DXGI_FORMAT_R8G8B8A8_UNORM, TEXELS, TEXELS);
    for (unsigned round = 0; round < rounds; round++) {
        double start = clock_ms();
        for (unsigned i = 0; i < 50; i++)
            cl->call.clReleaseMemObject(surface.ops->share(&surface, cl, CL_MEM_READ_WRITE, 0));
        printf("sample,objects,create + release,%u,cld3d,%u,%.3f\n", OBJECTS, round, (clock_ms() - start) * 1000 / 50);
        start = clock_ms();
        for (unsigned i = 0; i < 50; i++)
            cl->call.clReleaseMemObject(plain_image(cl));
        printf("sample,objects,create + release,%u,plain,%u,%.3f\n", OBJECTS, round, (clock_ms() - start) * 1000 / 50);
    }
    surface.ops->close(&surface);
}

static ID3D11Device *create_textures(void)
{
    ID3D11Device *device = d3d11_open();
    for (unsigned i = 0; i < OBJECTS; i++)
        surfaces[i] = d3d11_texture(device, DXGI_FORMAT_R8G8B8A8_UNORM, TEXELS, TEXELS);
    return device;
}

static void measure_memory(void)
{
    ID3D11Device *device = create_textures();
    const struct opencl cl = opencl_open(OPENCL_CLD3D, CL_CONTEXT_D3D11_DEVICE_KHR, device);
    create_plain(&cl);
    create_shared(&cl);
}

static void measure_objects(const cl_icd_dispatch *below)
{
    ID3D11Device *device = create_textures();
    const struct opencl cl = opencl_open(OPENCL_CLD3D, CL_CONTEXT_D3D11_DEVICE_KHR, device);
    create_shared(&cl);
    measure_creation(&cl, device);
    const struct subject subject = open_subject(&cl);
    measure_calls(&subject, below, "1000 objects");
}

/* What is queued for the textures is done before they go. */
static void measure_textures(void)
{
    enum { TEXTURES = 10000, ROUNDS = 9 };
    static ID3D11Texture2D *made[TEXTURES];
    const D3D11_TEXTURE2D_DESC desc = {.Width = TEXELS,
                                       .Height = TEXELS,
                                       .MipLevels = 1,
                                       .ArraySize = 1,
                                       .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                       .SampleDesc.Count = 1,
                                       .BindFlags = D3D11_BIND_SHADER_RESOURCE};
    ID3D11Device *device = d3d11_open();
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext(device, &context);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const double start = clock_ms();
        for (unsigned i = 0; i < TEXTURES; i++)
            if (FAILED(ID3D11Device_CreateTexture2D(device, &desc, NULL, &made[i])))
                exit(1);
        printf("sample,objects,texture,%u,direct3d,%u,%.3f\n", TEXTURES, round, (clock_ms() - start) * 1000 / TEXTURES);
        ID3D11DeviceContext_Flush(context);
        for (unsigned i = 0; i < TEXTURES; i++)
            ID3D11Texture2D_Release(made[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "textures") == 0) {
        measure_textures();
        step("# done");
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "memory") == 0) {
        measure_memory();
        step("# done");
        return 0;
    }
    rounds = argc > 1 && strcmp(argv[1], "quick") == 0 ? 15 : rounds;
    const struct opencl plain = opencl_open(OPENCL_CLD3D, 0, NULL);
    cl_icd_dispatch below = {0};
    opencl_load(&below, OPENCL_BELOW);
    const struct subject subject = open_subject(&plain);
    measure_calls(&subject, &below, "no object");
    measure_objects(&below);
    step("# done");
    return 0;
}
