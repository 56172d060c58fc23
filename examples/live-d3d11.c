/* Draws live with OpenCL in a Direct3D 11 window: one file to copy from.
 *
 *     live-d3d11.exe [SECONDS]        10 by default; Escape and the window's close button end it sooner
 *
 * An OpenCL kernel paints each frame into the swap chain's texture. The title shows the frames per second and the mean time of
 * an acquire and of a release. */
#define COBJMACROS
#define CL_TARGET_OPENCL_VERSION 120
#include <windows.h>

#include <d3d11.h>

#include <CL/cl_d3d11.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 31 }; /* between two updates of the title */

/* Waves that move with the phase. */
static const char *source =
    "int wave(int at) { return min((int)abs((at & 511) - 256), 255); }\n"
    "kernel void paint(write_only image2d_t picture, int phase)\n"
    "{\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1)), from = at - wave(phase * 2);\n"
    "    const int rings = wave((from.x * from.x + from.y * from.y) / 32 - phase * 8);\n"
    "    const int4 colour = (int4)(rings, wave(at.x + at.y + phase * 6), at.y & 255, 255);\n"
    "    write_imagef(picture, at, convert_float4(colour) / 255.0f);\n"
    "}\n";

static void check(long code, const char *call)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s failed: %ld (0x%08lx)\n", call, code, (unsigned long)code);
    exit(1);
}

static IDXGISwapChain *chain;
static ID3D11Device *device;
static ID3D11DeviceContext *context;
static bool resized = true, closed;

/* The window exists until Direct3D is done with it, so closing is only noted. */
static LRESULT CALLBACK handle_message(HWND window, UINT message, WPARAM word, LPARAM number)
{
    resized = resized || (message == WM_SIZE && word != SIZE_MINIMIZED);
    closed = closed || message == WM_CLOSE || (message == WM_KEYDOWN && word == VK_ESCAPE);
    return message == WM_CLOSE ? 0 : DefWindowProcA(window, message, word, number);
}

static HWND open_window(void)
{
    const WNDCLASSA class = {.lpfnWndProc = handle_message, .lpszClassName = "live-d3d11"};
    RegisterClassA(&class);
    HWND window = CreateWindowA("live-d3d11", "live-d3d11", WS_OVERLAPPEDWINDOW | WS_VISIBLE, CW_USEDEFAULT,
                                CW_USEDEFAULT, 480, 360, NULL, NULL, NULL, NULL);
    check(window ? 0 : (long)GetLastError(), "CreateWindow");
    DXGI_SWAP_CHAIN_DESC wanted = {.BufferCount = 1, .OutputWindow = window, .Windowed = TRUE, .SampleDesc.Count = 1};
    wanted.BufferDesc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    wanted.BufferUsage = DXGI_USAGE_RENDER_TARGET_OUTPUT;
    check(D3D11CreateDeviceAndSwapChain(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &wanted,
                                        &chain, &device, NULL, &context),
          "D3D11CreateDeviceAndSwapChain");
    return window;
}

static clCreateFromD3D11Texture2DKHR_fn create_image;
static clEnqueueAcquireD3D11ObjectsKHR_fn acquire;
static clEnqueueReleaseD3D11ObjectsKHR_fn release;
static cl_context with;
static cl_command_queue queue;
static cl_kernel kernel;

/* A device of the first platform that can share. minimal-d3d11.c prefers the device of the same adapter. */
static cl_device_id find_device(void)
{
    static char list[64 * 1024];
    cl_platform_id platforms[16] = {NULL};
    cl_device_id found = NULL;
    clGetPlatformIDs(16, platforms, NULL);
    for (int i = 0; i < 16 && platforms[i] && !found; i++) {
        clGetPlatformInfo(platforms[i], CL_PLATFORM_EXTENSIONS, sizeof(list), list, NULL);
        if (!strstr(list, "cl_khr_d3d11_sharing"))
            continue;
#define GET(name) (name##_fn) clGetExtensionFunctionAddressForPlatform(platforms[i], #name)
        clGetDeviceIDsFromD3D11KHR_fn get_devices = GET(clGetDeviceIDsFromD3D11KHR);
        create_image = GET(clCreateFromD3D11Texture2DKHR);
        acquire = GET(clEnqueueAcquireD3D11ObjectsKHR);
        release = GET(clEnqueueReleaseD3D11ObjectsKHR);
        get_devices(platforms[i], CL_D3D11_DEVICE_KHR, device, CL_ALL_DEVICES_FOR_D3D11_KHR, 1, &found, NULL);
    }
    check(found ? 0 : CL_DEVICE_NOT_FOUND, "looking for an OpenCL device that shares with Direct3D 11");
    return found;
}

static void open_opencl(void)
{
    const cl_device_id on = find_device();
    const cl_context_properties properties[] = {CL_CONTEXT_D3D11_DEVICE_KHR, (cl_context_properties)device, 0};
    cl_int code;
    with = clCreateContext(properties, 1, &on, NULL, NULL, &code);
    check(code, "clCreateContext");
    queue = clCreateCommandQueue(with, on, 0, &code);
    check(code, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(with, 1, &source, NULL, &code);
    check(clBuildProgram(program, 1, &on, "", NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "paint", &code);
    check(code, "clCreateKernel");
    clReleaseProgram(program);
}

static ID3D11Texture2D *back; /* the swap chain's texture */
static D3D11_TEXTURE2D_DESC desc;
static cl_mem image;

static void release_picture(void)
{
    clReleaseMemObject(image);
    ID3D11Texture2D_Release(back);
}

/* Nothing may hold the swap chain's texture while its size changes, but the OpenCL image does. */
static void resize(void)
{
    cl_int code;
    if (image) {
        release_picture();
        check(IDXGISwapChain_ResizeBuffers(chain, 0, 0, 0, DXGI_FORMAT_UNKNOWN, 0), "ResizeBuffers");
    }
    check(IDXGISwapChain_GetBuffer(chain, 0, &IID_ID3D11Texture2D, (void **)&back), "GetBuffer");
    ID3D11Texture2D_GetDesc(back, &desc);
    image = create_image(with, CL_MEM_WRITE_ONLY, back, 0, &code);
    check(code, "clCreateFromD3D11Texture2DKHR");
    resized = false;
}

/* Microseconds, when OpenCL is done. Only the measurement needs clFinish: a release makes Direct3D wait by itself. */
static double finish(void)
{
    LARGE_INTEGER count, rate;
    check(clFinish(queue), "clFinish");
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&rate);
    return (double)count.QuadPart * 1e6 / (double)rate.QuadPart;
}

static void draw(int phase, double *acquired, double *released)
{
    const size_t size[] = {desc.Width, desc.Height};
    const double began = finish();
    check(acquire(queue, 1, &image, 0, NULL, NULL), "clEnqueueAcquireD3D11ObjectsKHR");
    *acquired += finish() - began;
    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &image), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(phase), &phase), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    const double painted = finish();
    check(release(queue, 1, &image, 0, NULL, NULL), "clEnqueueReleaseD3D11ObjectsKHR");
    *released += finish() - painted;
    check(FAILED(IDXGISwapChain_Present(chain, 1, 0)), "Present");
}

int main(int argc, char **argv)
{
    double acquired = 0, released = 0; /* since the last update of the title */
    char title[128] = "";
    MSG message;
    HWND window = open_window();
    open_opencl();
    const double began = finish(), end = began + (argc > 1 ? atof(argv[1]) : 10) * 1e6;
    double now = began, shown = began;
    for (unsigned frame = 0; !closed && (now < end || !*title); frame++, now = finish()) {
        while (PeekMessageA(&message, NULL, 0, 0, PM_REMOVE))
            DispatchMessageA(&message);
        if (resized)
            resize();
        draw((int)((now - began) * 60e-6), &acquired, &released);
        if (frame % FRAMES < FRAMES - 1)
            continue;
        snprintf(title, sizeof(title), "%.0f frames per second, acquire %.0f us, release %.0f us",
                 FRAMES * 1e6 / (now - shown), acquired / FRAMES, released / FRAMES);
        SetWindowTextA(window, title);
        acquired = released = 0;
        shown = now;
    }
    puts(title);
    fflush(stdout); /* Some drivers end the process before its files are written */
    /* Wine's Direct3D may crash in a process that ends while a device still draws, so nothing is left to the end. */
    release_picture();
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    clReleaseContext(with);
    IDXGISwapChain_Release(chain);
    ID3D11DeviceContext_Release(context);
    ID3D11Device_Release(device);
    return 0;
}
