/* The minimum for sharing Direct3D 11 textures with OpenCL: one file to copy from.
 *
 * Direct3D creates a texture with a picture and an empty one. An OpenCL kernel reads the first and writes its negative to the
 * second, which Direct3D reads back. Exit status 0: it is the negative. */
#define COBJMACROS
#define CL_TARGET_OPENCL_VERSION 120
#include <windows.h>

#include <d3d11.h>

#include <CL/cl_d3d11.h>
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
                             "    write_imagef(to, at, (float4)(1.0f - texel.xyz, texel.w));\n"
                             "}\n";

static void check(long code, const char *call)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s failed: %ld (0x%08lx)\n", call, code, (unsigned long)code);
    exit(1);
}

/* ---- Direct3D ---- */

static ID3D11Device *device;
static ID3D11DeviceContext *context;

static ID3D11Texture2D *make_texture(D3D11_USAGE usage, UINT bind, UINT access, const uint32_t *texels)
{
    const D3D11_TEXTURE2D_DESC desc = {.Width = EXTENT,
                                       .Height = EXTENT,
                                       .MipLevels = 1,
                                       .ArraySize = 1,
                                       .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                       .SampleDesc.Count = 1,
                                       .Usage = usage,
                                       .BindFlags = bind,
                                       .CPUAccessFlags = access};
    const D3D11_SUBRESOURCE_DATA data = {.pSysMem = texels, .SysMemPitch = EXTENT * 4};
    ID3D11Texture2D *texture = NULL;
    check(ID3D11Device_CreateTexture2D(device, &desc, texels ? &data : NULL, &texture), "CreateTexture2D");
    return texture;
}

static bool is_negative(ID3D11Texture2D *texture, const uint32_t *texels)
{
    ID3D11Texture2D *staging = make_texture(D3D11_USAGE_STAGING, 0, D3D11_CPU_ACCESS_READ, NULL);
    D3D11_MAPPED_SUBRESOURCE mapped;
    bool same = true;
    ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)staging, (ID3D11Resource *)texture);
    check(ID3D11DeviceContext_Map(context, (ID3D11Resource *)staging, 0, D3D11_MAP_READ, 0, &mapped), "Map");
    for (unsigned y = 0; y < EXTENT; y++) {
        const uint32_t *row = (const uint32_t *)((const char *)mapped.pData + y * mapped.RowPitch);
        for (unsigned x = 0; x < EXTENT; x++)
            same = same && row[x] == (texels[y * EXTENT + x] ^ 0x00FFFFFF);
    }
    ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)staging, 0);
    ID3D11Texture2D_Release(staging);
    return same;
}

/* ---- OpenCL ---- */

static clGetDeviceIDsFromD3D11KHR_fn get_devices;
static clCreateFromD3D11Texture2DKHR_fn create_image;
static clEnqueueAcquireD3D11ObjectsKHR_fn acquire;
static clEnqueueReleaseD3D11ObjectsKHR_fn release;

/* The functions belong to a platform. A pointer proves nothing: the extension must be listed. */
static bool has_extension(cl_platform_id platform)
{
    static char list[64 * 1024];
    if (clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(list), list, NULL) != CL_SUCCESS ||
        !strstr(list, "cl_khr_d3d11_sharing"))
        return false;
#define GET(name) clGetExtensionFunctionAddressForPlatform(platform, name)
    get_devices = (clGetDeviceIDsFromD3D11KHR_fn)GET("clGetDeviceIDsFromD3D11KHR");
    create_image = (clCreateFromD3D11Texture2DKHR_fn)GET("clCreateFromD3D11Texture2DKHR");
    acquire = (clEnqueueAcquireD3D11ObjectsKHR_fn)GET("clEnqueueAcquireD3D11ObjectsKHR");
    release = (clEnqueueReleaseD3D11ObjectsKHR_fn)GET("clEnqueueReleaseD3D11ObjectsKHR");
#undef GET
    return get_devices && create_image && acquire && release;
}

/* The device that belongs to our adapter, or else any device that can share. */
static cl_device_id find_device(cl_platform_id *platform)
{
    static const cl_d3d11_device_set_khr sets[] = {CL_PREFERRED_DEVICES_FOR_D3D11_KHR, CL_ALL_DEVICES_FOR_D3D11_KHR};
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_device_id found = NULL;
    check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    for (unsigned set = 0; set < 2; set++) {
        for (cl_uint i = 0; i < count && i < 16; i++) {
            *platform = platforms[i];
            if (has_extension(*platform) &&
                get_devices(*platform, CL_D3D11_DEVICE_KHR, device, sets[set], 1, &found, NULL) == CL_SUCCESS)
                return found;
        }
    }
    fputs("no OpenCL device shares with Direct3D 11\n", stderr);
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

/* Between acquire and release the textures belong to OpenCL, otherwise to Direct3D. */
static void run(cl_command_queue queue, cl_kernel kernel, const cl_mem images[2])
{
    const size_t size[] = {EXTENT, EXTENT};
    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &images[0]), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &images[1]), "clSetKernelArg");
    check(acquire(queue, 2, images, 0, NULL, NULL), "clEnqueueAcquireD3D11ObjectsKHR");
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(release(queue, 2, images, 0, NULL, NULL), "clEnqueueReleaseD3D11ObjectsKHR");
    check(clFinish(queue), "clFinish");
}

int main(void)
{
    static uint32_t texels[EXTENT * EXTENT];
    for (unsigned i = 0; i < EXTENT * EXTENT; i++)
        texels[i] = i * 2654435761u;
    check(
        D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &device, NULL, &context),
        "D3D11CreateDevice");
    ID3D11Texture2D *from = make_texture(D3D11_USAGE_DEFAULT, D3D11_BIND_SHADER_RESOURCE, 0, texels);
    ID3D11Texture2D *to = make_texture(D3D11_USAGE_DEFAULT, D3D11_BIND_SHADER_RESOURCE, 0, NULL);

    cl_platform_id platform;
    cl_int code;
    const cl_device_id on = find_device(&platform);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform,
                                                CL_CONTEXT_D3D11_DEVICE_KHR, (cl_context_properties)device, 0};
    cl_context with = clCreateContext(properties, 1, &on, NULL, NULL, &code);
    check(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(with, on, 0, &code);
    check(code, "clCreateCommandQueue");
    cl_kernel kernel = build(with, on);
    cl_mem images[2];
    images[0] = create_image(with, CL_MEM_READ_ONLY, from, 0, &code);
    check(code, "clCreateFromD3D11Texture2DKHR");
    images[1] = create_image(with, CL_MEM_WRITE_ONLY, to, 0, &code);
    check(code, "clCreateFromD3D11Texture2DKHR");

    run(queue, kernel, images);
    const bool good = is_negative(to, texels);
    puts(good ? "Direct3D 11 has the negative" : "Direct3D 11 has something else");

    clReleaseMemObject(images[0]);
    clReleaseMemObject(images[1]);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    clReleaseContext(with);
    ID3D11Texture2D_Release(from);
    ID3D11Texture2D_Release(to);
    ID3D11DeviceContext_Release(context);
    ID3D11Device_Release(device);
    return good ? 0 : 1;
}
