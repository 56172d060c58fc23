/* OpenCL paints a picture that is in a Direct3D texture.
 *
 *     d3d11-demo.exe INPUT OUTPUT.png
 *
 * Direct3D 11 holds the picture in a texture. OpenCL reads that texture and writes another through
 * cl_khr_d3d11_sharing; the program itself never moves a pixel between the two. Then Direct3D draws both side by side
 * and the result is saved.
 *
 * The program works with any OpenCL that has the extension. Where none has it, cld3d's OpenCL.dll adds it. */
#define COBJMACROS
#include "draw.h"
#include "kuwahara.cl.h"
#include "picture.h"
#include "report.h"

#include <d3d11.h>
#include <CL/cl_d3d11.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How far a brush stroke reaches, in pixels. */
#define BRUSH_RADIUS 8.0f

/* Work groups are squares of this size. The picture need not be a multiple of it. */
#define GROUP_SIZE 8

struct direct3d {
    ID3D11Device *device;
    char adapter[3 * 128]; /* DXGI's 128 UTF-16 units in UTF-8 */
};

struct opencl {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    bool prefers_shared;
    char name[256];

    /* The extension's functions are not exported; each platform may have its own */
    clGetDeviceIDsFromD3D11KHR_fn get_devices;
    clCreateFromD3D11Texture2DKHR_fn create_image;
    clEnqueueAcquireD3D11ObjectsKHR_fn acquire;
    clEnqueueReleaseD3D11ObjectsKHR_fn release;
};

struct times {
    double acquire, kernels, release, draw;
};

/* ---- Direct3D ---- */

static void name_adapter(struct direct3d *d3d)
{
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    DXGI_ADAPTER_DESC desc;
    check_d3d(ID3D11Device_QueryInterface(d3d->device, &IID_IDXGIDevice, (void **)&dxgi),
              "QueryInterface (IDXGIDevice)", "this Direct3D is not built on DXGI");
    check_d3d(IDXGIDevice_GetAdapter(dxgi, &adapter), "GetAdapter", "this Direct3D device has no adapter");
    check_d3d(IDXGIAdapter_GetDesc(adapter, &desc), "GetDesc", "this adapter has no description");
    WideCharToMultiByte(CP_UTF8, 0, desc.Description, -1, d3d->adapter, sizeof(d3d->adapter), NULL, NULL);
    IDXGIAdapter_Release(adapter);
    IDXGIDevice_Release(dxgi);
}

static struct direct3d open_direct3d(void)
{
    struct direct3d d3d = {0};
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    check_d3d(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION, &d3d.device,
                                NULL, NULL),
              "D3D11CreateDevice", "a graphics driver with Direct3D 11 is needed");
    name_adapter(&d3d);
    step("Direct3D 11 on %s", d3d.adapter);
    return d3d;
}

/* A texture of the picture's size, with its pixels; empty if `pixels` is NULL. */
static ID3D11Texture2D *create_texture(const struct direct3d *d3d, const struct picture *size, const void *pixels,
                                       bool shared)
{
    D3D11_TEXTURE2D_DESC desc = {
        .Width = size->width,
        .Height = size->height,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
        .SampleDesc.Count = 1,
        .Usage = D3D11_USAGE_DEFAULT,
        .BindFlags = D3D11_BIND_SHADER_RESOURCE,
        .MiscFlags = shared ? D3D11_RESOURCE_MISC_SHARED : 0,
    };
    D3D11_SUBRESOURCE_DATA data = {.pSysMem = pixels, .SysMemPitch = size->width * 4};
    ID3D11Texture2D *texture = NULL;
    check_d3d(ID3D11Device_CreateTexture2D(d3d->device, &desc, pixels ? &data : NULL, &texture), "CreateTexture2D",
              "take a smaller picture");
    return texture;
}

/* ---- OpenCL and the sharing ---- */

static bool lists_sharing(cl_platform_id platform)
{
    static const char name[] = "cl_khr_d3d11_sharing";
    size_t size = 0;
    check_cl(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, 0, NULL, &size), "clGetPlatformInfo",
             "this OpenCL driver is broken");
    char *list = calloc(size + 1, 1);
    if (!list)
        fail("no memory for the names of a platform's extensions: close other programs");
    check_cl(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, size, list, NULL), "clGetPlatformInfo",
             "this OpenCL driver is broken");
    bool found = false;
    for (char *word = strtok(list, " "); word && !found; word = strtok(NULL, " "))
        found = strcmp(word, name) == 0;
    free(list);
    return found;
}

typedef void (*any_function)(void);

static any_function find_function(cl_platform_id platform, const char *name)
{
    void *function = clGetExtensionFunctionAddressForPlatform(platform, name);
    if (!function)
        fail("clGetExtensionFunctionAddressForPlatform returned no %s, although the platform lists "
             "cl_khr_d3d11_sharing: this OpenCL driver is broken",
             name);
    return (any_function)(intptr_t)function;
}

static void find_functions(struct opencl *cl)
{
    cl->get_devices = (clGetDeviceIDsFromD3D11KHR_fn)find_function(cl->platform, "clGetDeviceIDsFromD3D11KHR");
    cl->create_image = (clCreateFromD3D11Texture2DKHR_fn)find_function(cl->platform, "clCreateFromD3D11Texture2DKHR");
    cl->acquire = (clEnqueueAcquireD3D11ObjectsKHR_fn)find_function(cl->platform, "clEnqueueAcquireD3D11ObjectsKHR");
    cl->release = (clEnqueueReleaseD3D11ObjectsKHR_fn)find_function(cl->platform, "clEnqueueReleaseD3D11ObjectsKHR");
}

/* Finds the first device of any platform in the given set; false if there is none. */
static bool find_device(struct opencl *cl, const cl_platform_id *platforms, cl_uint count, ID3D11Device *device,
                        cl_d3d11_device_set_khr set)
{
    for (cl_uint i = 0; i < count; i++) {
        if (!lists_sharing(platforms[i]))
            continue;
        cl->platform = platforms[i];
        find_functions(cl);
        cl_int code = cl->get_devices(cl->platform, CL_D3D11_DEVICE_KHR, device, set, 1, &cl->device, NULL);
        if (code == CL_SUCCESS)
            return true;
        if (code != CL_DEVICE_NOT_FOUND)
            check_cl(code, "clGetDeviceIDsFromD3D11KHR",
                     "this OpenCL driver cannot find the devices of this Direct3D device");
    }
    return false;
}

/* Stores the platform, its functions, the device and its name in `cl`. */
static void choose_device(struct opencl *cl, ID3D11Device *device)
{
    enum { MOST = 32 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0, sharing = 0;
    check_cl(clGetPlatformIDs(MOST, platforms, &count), "clGetPlatformIDs", "install an OpenCL driver");
    count = count < MOST ? count : MOST;
    for (cl_uint i = 0; i < count; i++)
        sharing += lists_sharing(platforms[i]);
    step("OpenCL has %u platform(s), %u of them with cl_khr_d3d11_sharing", (unsigned)count, (unsigned)sharing);
    if (!sharing)
        fail("no OpenCL platform lists cl_khr_d3d11_sharing: copy cld3d's OpenCL.dll into the folder of this program "
             "and, under Wine, set WINEDLLOVERRIDES=opencl=n,b");

    if (!find_device(cl, platforms, count, device, CL_PREFERRED_DEVICES_FOR_D3D11_KHR) &&
        !find_device(cl, platforms, count, device, CL_ALL_DEVICES_FOR_D3D11_KHR))
        fail("clGetDeviceIDsFromD3D11KHR returned CL_DEVICE_NOT_FOUND (-1) on every platform: no OpenCL device can "
             "share with this Direct3D device; is there an OpenCL driver for the same graphics card?");
    check_cl(clGetDeviceInfo(cl->device, CL_DEVICE_NAME, sizeof(cl->name), cl->name, NULL), "clGetDeviceInfo",
             "this OpenCL driver is broken");
}

static void build_program(struct opencl *cl)
{
    const char *source = kuwahara_cl;
    cl_int code;
    cl->program = clCreateProgramWithSource(cl->context, 1, &source, NULL, &code);
    check_cl(code, "clCreateProgramWithSource", "this OpenCL driver is broken");
    code = clBuildProgram(cl->program, 1, &cl->device, "", NULL, NULL);
    if (code != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(cl->program, cl->device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
        step("%s", log);
    }
    check_cl(code, "clBuildProgram", "this OpenCL cannot compile the kernels; its messages are above");
}

static struct opencl open_opencl(const struct direct3d *d3d)
{
    struct opencl cl = {0};
    choose_device(&cl, d3d->device);

    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM,
        (cl_context_properties)cl.platform,
        CL_CONTEXT_D3D11_DEVICE_KHR,
        (cl_context_properties)d3d->device,
        0,
    };
    cl_int code;
    cl.context = clCreateContext(properties, 1, &cl.device, NULL, NULL, &code);
    check_cl(code, "clCreateContext", "this OpenCL device cannot share with this Direct3D device");

    cl_bool prefers_shared = CL_FALSE;
    check_cl(clGetContextInfo(cl.context, CL_CONTEXT_D3D11_PREFER_SHARED_RESOURCES_KHR, sizeof(prefers_shared),
                              &prefers_shared, NULL),
             "clGetContextInfo", "this OpenCL driver has only parts of cl_khr_d3d11_sharing");
    cl.prefers_shared = prefers_shared;

    cl.queue = clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_PROFILING_ENABLE, &code);
    check_cl(code, "clCreateCommandQueue", "this OpenCL device is not usable now");
    build_program(&cl);
    step("OpenCL on %s", cl.name);
    return cl;
}

static void close_opencl(struct opencl *cl)
{
    clReleaseProgram(cl->program);
    clReleaseCommandQueue(cl->queue);
    clReleaseContext(cl->context);
}

static cl_mem share_texture(const struct opencl *cl, ID3D11Texture2D *texture, cl_mem_flags flags)
{
    cl_int code;
    cl_mem image = cl->create_image(cl->context, flags, texture, 0, &code);
    check_cl(code, "clCreateFromD3D11Texture2DKHR", "this OpenCL cannot share such a texture; try a smaller picture");
    return image;
}

/* ---- The painting ---- */

static cl_kernel create_kernel(const struct opencl *cl, const char *name)
{
    cl_int code;
    cl_kernel kernel = clCreateKernel(cl->program, name, &code);
    check_cl(code, "clCreateKernel", "this OpenCL compiled the program but lost a kernel");
    return kernel;
}

static void set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    check_cl(clSetKernelArg(kernel, index, size, value), "clSetKernelArg", "this OpenCL refuses a kernel's argument");
}

/* Runs a kernel once for each pixel and returns its time in milliseconds: the device's own time if it reports one. */
static double run_kernel(const struct opencl *cl, cl_kernel kernel, const struct picture *size)
{
    const size_t group[2] = {GROUP_SIZE, GROUP_SIZE};
    const size_t whole[2] = {
        (size->width + GROUP_SIZE - 1) / GROUP_SIZE * GROUP_SIZE,
        (size->height + GROUP_SIZE - 1) / GROUP_SIZE * GROUP_SIZE,
    };
    cl_event done;
    double enqueued = clock_ms();
    check_cl(clEnqueueNDRangeKernel(cl->queue, kernel, 2, NULL, whole, group, 0, NULL, &done), "clEnqueueNDRangeKernel",
             "the OpenCL device refuses the kernel; try a smaller picture");
    check_cl(clWaitForEvents(1, &done), "clWaitForEvents", "the kernel failed on the OpenCL device");
    double waited = clock_ms() - enqueued;

    cl_ulong start = 0, end = 0;
    check_cl(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL),
             "clGetEventProfilingInfo", "this OpenCL reports no times");
    check_cl(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL),
             "clGetEventProfilingInfo", "this OpenCL reports no times");
    clReleaseEvent(done);
    /* Some drivers return a time without measuring it; no kernel processes a picture within a microsecond */
    return end > start + 1000 ? (double)(end - start) / 1e6 : waited;
}

/* Paints one acquired image into the other and returns the kernels' time in milliseconds. */
static double paint(const struct opencl *cl, cl_mem source, cl_mem painting, const struct picture *size)
{
    cl_int code;
    const size_t bytes = (size_t)size->width * size->height * sizeof(cl_float4);
    cl_mem tensors = clCreateBuffer(cl->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check_cl(code, "clCreateBuffer", "the OpenCL device has too little memory for this picture");

    cl_kernel edges_kernel = create_kernel(cl, "find_edges");
    set_argument(edges_kernel, 0, sizeof(source), &source);
    set_argument(edges_kernel, 1, sizeof(tensors), &tensors);

    const cl_float radius = BRUSH_RADIUS;
    cl_kernel paint_kernel = create_kernel(cl, "paint");
    set_argument(paint_kernel, 0, sizeof(source), &source);
    set_argument(paint_kernel, 1, sizeof(tensors), &tensors);
    set_argument(paint_kernel, 2, sizeof(radius), &radius);
    set_argument(paint_kernel, 3, sizeof(painting), &painting);

    double time = run_kernel(cl, edges_kernel, size) + run_kernel(cl, paint_kernel, size);
    clReleaseKernel(paint_kernel);
    clReleaseKernel(edges_kernel);
    clReleaseMemObject(tensors);
    return time;
}

/* Waits for an acquire or a release and returns the time since `start` in milliseconds. Only the measurement needs the
 * wait: the extension itself orders Direct3D and OpenCL. */
static double finish(cl_event event, double start)
{
    check_cl(clWaitForEvents(1, &event), "clWaitForEvents", "the sharing failed");
    clReleaseEvent(event);
    return clock_ms() - start;
}

static void share_and_paint(const struct opencl *cl, ID3D11Texture2D *source, ID3D11Texture2D *painting,
                            const struct picture *size, struct times *times)
{
    const cl_mem images[2] = {
        share_texture(cl, source, CL_MEM_READ_ONLY),
        share_texture(cl, painting, CL_MEM_WRITE_ONLY),
    };
    cl_event event;

    double start = clock_ms();
    check_cl(cl->acquire(cl->queue, 2, images, 0, NULL, &event), "clEnqueueAcquireD3D11ObjectsKHR",
             "Direct3D could not hand over the textures");
    times->acquire = finish(event, start);
    step("OpenCL has acquired both textures and paints");

    times->kernels = paint(cl, images[0], images[1], size);

    start = clock_ms();
    check_cl(cl->release(cl->queue, 2, images, 0, NULL, &event), "clEnqueueReleaseD3D11ObjectsKHR",
             "Direct3D could not take back the textures");
    times->release = finish(event, start);
    step("OpenCL has released both textures and Direct3D draws");

    clReleaseMemObject(images[0]);
    clReleaseMemObject(images[1]);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("usage: d3d11-demo.exe INPUT OUTPUT.png (INPUT is a PNG or JPEG file)");
    /* Both halves of the drawing must fit into one texture */
    struct picture picture = picture_load(argv[1], (D3D11_REQ_TEXTURE2D_U_OR_V_DIMENSION - DRAW_GAP) / 2,
                                          D3D11_REQ_TEXTURE2D_U_OR_V_DIMENSION);
    step("%s: %u x %u pixels", argv[1], picture.width, picture.height);

    struct direct3d d3d = open_direct3d();
    struct opencl cl = open_opencl(&d3d);
    ID3D11Texture2D *source = create_texture(&d3d, &picture, picture.pixels, cl.prefers_shared);
    ID3D11Texture2D *painting = create_texture(&d3d, &picture, NULL, cl.prefers_shared);

    struct times times;
    share_and_paint(&cl, source, painting, &picture, &times);
    struct picture drawn = draw_side_by_side(d3d.device, source, painting, &times.draw);
    picture_save_png(&drawn, argv[2]);
    step("%s: %u x %u pixels", argv[2], drawn.width, drawn.height);

    picture_free(&drawn);
    picture_free(&picture);
    ID3D11Texture2D_Release(painting);
    ID3D11Texture2D_Release(source);
    close_opencl(&cl);
    ID3D11Device_Release(d3d.device);

    step("OpenCL \"%s\", Direct3D \"%s\", %s: acquire %.2f ms, kernels %.2f ms, release %.2f ms, draw %.2f ms", cl.name,
         d3d.adapter, cl.prefers_shared ? "shared" : "through the host", times.acquire, times.kernels, times.release,
         times.draw);
    return 0;
}
