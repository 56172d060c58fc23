/* The minimum for sharing Direct3D 9 video surfaces with OpenCL: one file to copy from.
 *
 * Direct3D creates two NV12 surfaces; the first one has a frame in it. An OpenCL kernel reads the luma of the first and writes its
 * negative to the second, which Direct3D reads back. Exit status 0: it is the negative, and the chroma is unchanged. */
#define COBJMACROS
#define CL_TARGET_OPENCL_VERSION 120
#include <windows.h>

#include <d3d9.h>

#include <CL/cl_dx9_media_sharing.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENT = 64 };

static const char source[] = "kernel void negative(read_only image2d_t from, write_only image2d_t to)\n"
                             "{\n"
                             "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                             "    const float4 texel = read_imagef(from, at);\n"
                             "    write_imagef(to, at, 1.0f - texel);\n"
                             "}\n";

static void check(long code, const char *call)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s failed: %ld (0x%08lx)\n", call, code, (unsigned long)code);
    exit(1);
}

/* ---- Direct3D ---- */

#define NV12 ((D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'))

static IDirect3DDevice9Ex *device;

static void open_direct3d(void)
{
    IDirect3D9Ex *d3d9 = NULL;
    D3DPRESENT_PARAMETERS window = {.Windowed = TRUE,
                                    .SwapEffect = D3DSWAPEFFECT_DISCARD,
                                    .BackBufferWidth = 1,
                                    .BackBufferHeight = 1,
                                    .hDeviceWindow = GetDesktopWindow()};
    check(Direct3DCreate9Ex(D3D_SDK_VERSION, &d3d9), "Direct3DCreate9Ex");
    check(IDirect3D9Ex_CreateDeviceEx(d3d9, D3DADAPTER_DEFAULT, D3DDEVTYPE_HAL, window.hDeviceWindow,
                                      D3DCREATE_SOFTWARE_VERTEXPROCESSING | D3DCREATE_MULTITHREADED, &window, NULL,
                                      &device),
          "CreateDeviceEx");
    IDirect3D9Ex_Release(d3d9);
}

/* Rows of luma, then half as many of chroma. */
static uint8_t texel(unsigned x, unsigned y)
{
    return (uint8_t)(x * 7 + y * 13);
}

static IDirect3DSurface9 *make_surface(void)
{
    IDirect3DSurface9 *surface = NULL;
    D3DLOCKED_RECT locked;
    check(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(device, EXTENT, EXTENT, NV12, D3DPOOL_DEFAULT, &surface, NULL),
          "CreateOffscreenPlainSurface");
    check(IDirect3DSurface9_LockRect(surface, &locked, NULL, 0), "LockRect");
    for (unsigned y = 0; y < EXTENT * 3 / 2; y++)
        for (unsigned x = 0; x < EXTENT; x++)
            ((uint8_t *)locked.pBits)[y * (unsigned)locked.Pitch + x] = texel(x, y);
    check(IDirect3DSurface9_UnlockRect(surface), "UnlockRect");
    return surface;
}

static bool is_negative(IDirect3DSurface9 *surface)
{
    D3DLOCKED_RECT locked;
    bool same = true;
    check(IDirect3DSurface9_LockRect(surface, &locked, NULL, D3DLOCK_READONLY), "LockRect");
    for (unsigned y = 0; y < EXTENT * 3 / 2; y++)
        for (unsigned x = 0; x < EXTENT; x++)
            same = same && ((const uint8_t *)locked.pBits)[y * (unsigned)locked.Pitch + x] ==
                               (y < EXTENT ? 255 - texel(x, y) : texel(x, y));
    check(IDirect3DSurface9_UnlockRect(surface), "UnlockRect");
    return same;
}

/* ---- OpenCL ---- */

static clGetDeviceIDsFromDX9MediaAdapterKHR_fn get_devices;
static clCreateFromDX9MediaSurfaceKHR_fn create_image;
static clEnqueueAcquireDX9MediaSurfacesKHR_fn acquire;
static clEnqueueReleaseDX9MediaSurfacesKHR_fn release;

/* The functions belong to a platform. A pointer proves nothing: the extension must be listed. */
static bool has_extension(cl_platform_id platform)
{
    static char list[64 * 1024];
    if (clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(list), list, NULL) != CL_SUCCESS ||
        !strstr(list, "cl_khr_dx9_media_sharing"))
        return false;
#define GET(name) clGetExtensionFunctionAddressForPlatform(platform, name)
    get_devices = (clGetDeviceIDsFromDX9MediaAdapterKHR_fn)GET("clGetDeviceIDsFromDX9MediaAdapterKHR");
    create_image = (clCreateFromDX9MediaSurfaceKHR_fn)GET("clCreateFromDX9MediaSurfaceKHR");
    acquire = (clEnqueueAcquireDX9MediaSurfacesKHR_fn)GET("clEnqueueAcquireDX9MediaSurfacesKHR");
    release = (clEnqueueReleaseDX9MediaSurfacesKHR_fn)GET("clEnqueueReleaseDX9MediaSurfacesKHR");
#undef GET
    return get_devices && create_image && acquire && release;
}

/* The device that belongs to our adapter, or else any device that can share. */
static cl_device_id find_device(cl_platform_id *platform)
{
    static const cl_dx9_media_adapter_set_khr sets[] = {CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
                                                        CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR};
    cl_dx9_media_adapter_type_khr type = CL_ADAPTER_D3D9EX_KHR;
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_device_id found = NULL;
    check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    for (unsigned set = 0; set < 2; set++) {
        for (cl_uint i = 0; i < count && i < 16; i++) {
            *platform = platforms[i];
            if (has_extension(*platform) &&
                get_devices(*platform, 1, &type, &device, sets[set], 1, &found, NULL) == CL_SUCCESS)
                return found;
        }
    }
    fputs("no OpenCL device shares with Direct3D 9\n", stderr);
    exit(1);
}

static cl_kernel build(cl_context with, cl_device_id on)
{
    const char *text = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(with, 1, &text, NULL, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &on, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "negative", &code);
    check(code, "clCreateKernel");
    clReleaseProgram(program);
    return kernel;
}

/* Between acquire and release the surfaces belong to OpenCL, otherwise to Direct3D. */
static void run(cl_command_queue queue, cl_kernel kernel, const cl_mem images[2])
{
    const size_t size[] = {EXTENT, EXTENT};
    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &images[0]), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &images[1]), "clSetKernelArg");
    check(acquire(queue, 2, images, 0, NULL, NULL), "clEnqueueAcquireDX9MediaSurfacesKHR");
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(release(queue, 2, images, 0, NULL, NULL), "clEnqueueReleaseDX9MediaSurfacesKHR");
    check(clFinish(queue), "clFinish");
}

int main(void)
{
    open_direct3d();
    IDirect3DSurface9 *from = make_surface(), *to = make_surface();
    cl_dx9_surface_info_khr infos[2] = {{.resource = from}, {.resource = to}};

    cl_platform_id platform;
    cl_int code;
    const cl_device_id on = find_device(&platform);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform,
                                                CL_CONTEXT_ADAPTER_D3D9EX_KHR, (cl_context_properties)device, 0};
    cl_context with = clCreateContext(properties, 1, &on, NULL, NULL, &code);
    check(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(with, on, 0, &code);
    check(code, "clCreateCommandQueue");
    cl_kernel kernel = build(with, on);
    cl_mem images[2];
    images[0] = create_image(with, CL_MEM_READ_ONLY, CL_ADAPTER_D3D9EX_KHR, &infos[0], 0, &code);
    check(code, "clCreateFromDX9MediaSurfaceKHR");
    images[1] = create_image(with, CL_MEM_WRITE_ONLY, CL_ADAPTER_D3D9EX_KHR, &infos[1], 0, &code);
    check(code, "clCreateFromDX9MediaSurfaceKHR");

    run(queue, kernel, images);
    const bool good = is_negative(to);
    puts(good ? "Direct3D 9 has the negative" : "Direct3D 9 has something else");

    clReleaseMemObject(images[0]);
    clReleaseMemObject(images[1]);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    clReleaseContext(with);
    IDirect3DSurface9_Release(from);
    IDirect3DSurface9_Release(to);
    IDirect3DDevice9Ex_Release(device);
    return good ? 0 : 1;
}
