/* OpenCL removes the noise from a video that is in Direct3D surfaces.
 *
 *     dx9-video-demo.exe WIDTHxHEIGHT FRAMES INPUT OUTPUT PICTURE.png
 *
 * INPUT has raw NV12 frames. OUTPUT gets raw frames with four bytes a pixel (blue, green, red and one unused). "-" is
 * the standard input or output. The middle one of FRAMES frames is saved, before and after side by side.
 *
 * Each frame goes into a Direct3D 9 surface. OpenCL reads its two planes and writes those of another surface, through
 * cl_khr_dx9_media_sharing; the program itself never moves a pixel between the two. Direct3D then turns the result into
 * RGB and shows it.
 *
 * The program works with any OpenCL that has the extension. Where none has it, cld3d's OpenCL.dll adds it. */
#define COBJMACROS
#include "denoise.cl.h"
#include "frames.h"
#include "picture.h"
#include "report.h"
#include "screen.h"

#include <CL/cl_dx9_media_sharing.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Work groups are squares of this size, as in the kernel. */
#define GROUP_SIZE 16

/* Pixels between the two halves of the picture. */
#define PICTURE_GAP 8

/* An NV12 surface has two planes: luma, and chroma with two components at half the size in both directions. */
enum { LUMA, CHROMA, PLANE_COUNT };

struct opencl {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    char name[256];

    /* The extension's functions are not exported; each platform may have its own */
    clGetDeviceIDsFromDX9MediaAdapterKHR_fn get_devices;
    clCreateFromDX9MediaSurfaceKHR_fn create_image;
    clEnqueueAcquireDX9MediaSurfacesKHR_fn acquire;
    clEnqueueReleaseDX9MediaSurfacesKHR_fn release;
};

/* The filter's data of one plane. */
struct plane {
    cl_kernel kernel;
    cl_mem history[2]; /* one is read and the other written, alternately */
    size_t whole[2];   /* the plane's size in full work groups */
    unsigned channels;
    float noise; /* the estimate so far */
};

struct filter {
    IDirect3DSurface9 *source, *result;
    cl_mem images[2 * PLANE_COUNT]; /* the planes of the source, then those of the result */
    struct plane planes[PLANE_COUNT];
    unsigned frames;
};

/* Sums over all frames in milliseconds. */
struct times {
    double acquire, kernels, release, show;
};

/* ---- OpenCL and the sharing ---- */

static bool lists_sharing(cl_platform_id platform)
{
    static const char name[] = "cl_khr_dx9_media_sharing";
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
             "cl_khr_dx9_media_sharing: this OpenCL driver is broken",
             name);
    return (any_function)(intptr_t)function;
}

static void find_functions(struct opencl *cl)
{
    cl->get_devices =
        (clGetDeviceIDsFromDX9MediaAdapterKHR_fn)find_function(cl->platform, "clGetDeviceIDsFromDX9MediaAdapterKHR");
    cl->create_image = (clCreateFromDX9MediaSurfaceKHR_fn)find_function(cl->platform, "clCreateFromDX9MediaSurfaceKHR");
    cl->acquire =
        (clEnqueueAcquireDX9MediaSurfacesKHR_fn)find_function(cl->platform, "clEnqueueAcquireDX9MediaSurfacesKHR");
    cl->release =
        (clEnqueueReleaseDX9MediaSurfacesKHR_fn)find_function(cl->platform, "clEnqueueReleaseDX9MediaSurfacesKHR");
}

/* Finds the first device of any platform in the given set; false if there is none. */
static bool find_device(struct opencl *cl, const cl_platform_id *platforms, cl_uint count, IDirect3DDevice9Ex *device,
                        cl_dx9_media_adapter_set_khr set)
{
    for (cl_uint i = 0; i < count; i++) {
        if (!lists_sharing(platforms[i]))
            continue;
        cl->platform = platforms[i];
        find_functions(cl);
        cl_dx9_media_adapter_type_khr type = CL_ADAPTER_D3D9EX_KHR;
        cl_int code = cl->get_devices(cl->platform, 1, &type, &device, set, 1, &cl->device, NULL);
        if (code == CL_SUCCESS)
            return true;
        if (code != CL_DEVICE_NOT_FOUND)
            check_cl(code, "clGetDeviceIDsFromDX9MediaAdapterKHR",
                     "this OpenCL driver cannot find the devices of this Direct3D device");
    }
    return false;
}

/* Stores the platform, its functions, the device and its name in `cl`. */
static void choose_device(struct opencl *cl, IDirect3DDevice9Ex *device)
{
    enum { MOST = 32 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0, sharing = 0;
    check_cl(clGetPlatformIDs(MOST, platforms, &count), "clGetPlatformIDs", "install an OpenCL driver");
    count = count < MOST ? count : MOST;
    for (cl_uint i = 0; i < count; i++)
        sharing += lists_sharing(platforms[i]);
    step("OpenCL has %u platform(s), %u of them with cl_khr_dx9_media_sharing", (unsigned)count, (unsigned)sharing);
    if (!sharing)
        fail("no OpenCL platform lists cl_khr_dx9_media_sharing: copy cld3d's OpenCL.dll into the folder of this "
             "program and, under Wine, set WINEDLLOVERRIDES=opencl=n,b");

    if (!find_device(cl, platforms, count, device, CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR) &&
        !find_device(cl, platforms, count, device, CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR))
        fail("clGetDeviceIDsFromDX9MediaAdapterKHR gave CL_DEVICE_NOT_FOUND (-1) on every platform: no OpenCL device "
             "can share with this Direct3D device; is there an OpenCL driver for the same graphics card?");
    check_cl(clGetDeviceInfo(cl->device, CL_DEVICE_NAME, sizeof(cl->name), cl->name, NULL), "clGetDeviceInfo",
             "this OpenCL driver is broken");
}

static void build_program(struct opencl *cl)
{
    const char *source = denoise_cl;
    cl_int code;
    cl->program = clCreateProgramWithSource(cl->context, 1, &source, NULL, &code);
    check_cl(code, "clCreateProgramWithSource", "this OpenCL driver is broken");
    code = clBuildProgram(cl->program, 1, &cl->device, "", NULL, NULL);
    if (code != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(cl->program, cl->device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
        step("%s", log);
    }
    check_cl(code, "clBuildProgram", "this OpenCL cannot compile the kernel; its messages are above");
}

static struct opencl open_opencl(const struct screen *screen)
{
    struct opencl cl = {0};
    choose_device(&cl, screen->device);

    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM,
        (cl_context_properties)cl.platform,
        CL_CONTEXT_ADAPTER_D3D9EX_KHR,
        (cl_context_properties)screen->device,
        0,
    };
    cl_int code;
    cl.context = clCreateContext(properties, 1, &cl.device, NULL, NULL, &code);
    check_cl(code, "clCreateContext", "this OpenCL device cannot share with this Direct3D device");
    cl.queue = clCreateCommandQueue(cl.context, cl.device, 0, &code);
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

/* One plane of a surface as an OpenCL image. */
static cl_mem share_plane(const struct opencl *cl, IDirect3DSurface9 *surface, cl_uint plane, cl_mem_flags flags)
{
    cl_dx9_surface_info_khr info = {.resource = surface};
    cl_int code;
    cl_mem image = cl->create_image(cl->context, flags, CL_ADAPTER_D3D9EX_KHR, &info, plane, &code);
    check_cl(code, "clCreateFromDX9MediaSurfaceKHR", "this OpenCL cannot share NV12 surfaces");
    return image;
}

/* ---- The filter ---- */

/* Values need more than 8 bits here: a mean over frames moves in small steps. All devices have this format. */
static cl_mem create_history(const struct opencl *cl, unsigned width, unsigned height)
{
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    cl_int code;
    cl_mem image = clCreateImage(cl->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    check_cl(code, "clCreateImage", "the OpenCL device has too little memory for such a video");
    const cl_float4 nothing = {{0}};
    const size_t origin[3] = {0}, region[3] = {width, height, 1};
    check_cl(clEnqueueFillImage(cl->queue, image, &nothing, origin, region, 0, NULL, NULL), "clEnqueueFillImage",
             "the OpenCL device can't fill an image");
    return image;
}

static struct plane create_plane(const struct opencl *cl, unsigned width, unsigned height, unsigned channels)
{
    struct plane plane = {
        .history = {create_history(cl, width, height), create_history(cl, width, height)},
        .whole = {(width + GROUP_SIZE - 1) / GROUP_SIZE * GROUP_SIZE,
                  (height + GROUP_SIZE - 1) / GROUP_SIZE * GROUP_SIZE},
        .channels = channels,
    };
    cl_int code;
    plane.kernel = clCreateKernel(cl->program, "denoise", &code);
    check_cl(code, "clCreateKernel", "this OpenCL compiled the program but lost its kernel");
    return plane;
}

static struct filter create_filter(const struct opencl *cl, const struct screen *screen)
{
    struct filter filter = {
        .source = screen_create_surface(screen),
        .result = screen_create_surface(screen),
        .planes[LUMA] = create_plane(cl, screen->width, screen->height, 1),
        .planes[CHROMA] = create_plane(cl, screen->width / 2, screen->height / 2, 2),
    };
    for (cl_uint i = 0; i < PLANE_COUNT; i++) {
        filter.images[i] = share_plane(cl, filter.source, i, CL_MEM_READ_ONLY);
        filter.images[PLANE_COUNT + i] = share_plane(cl, filter.result, i, CL_MEM_WRITE_ONLY);
    }
    return filter;
}

static void free_filter(struct filter *filter)
{
    for (cl_uint i = 0; i < PLANE_COUNT; i++) {
        clReleaseMemObject(filter->images[i]);
        clReleaseMemObject(filter->images[PLANE_COUNT + i]);
        clReleaseMemObject(filter->planes[i].history[0]);
        clReleaseMemObject(filter->planes[i].history[1]);
        clReleaseKernel(filter->planes[i].kernel);
    }
    IDirect3DSurface9_Release(filter->result);
    IDirect3DSurface9_Release(filter->source);
}

/* Estimates how strong the noise is. One frame may mislead, so each changes the estimate only a little. */
static void measure_noise(struct filter *filter, const struct screen *screen, const unsigned char *frame)
{
    const unsigned width = screen->width, height = screen->height;
    const float found[PLANE_COUNT] = {
        frames_estimate_noise(frame, width, height, 1),
        frames_estimate_noise(frame + (size_t)width * height, width / 2, height / 2, 2),
    };
    for (int i = 0; i < PLANE_COUNT; i++) {
        struct plane *plane = &filter->planes[i];
        plane->noise = filter->frames ? 0.9f * plane->noise + 0.1f * found[i] : found[i];
    }
}

static void set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    check_cl(clSetKernelArg(kernel, index, size, value), "clSetKernelArg", "this OpenCL refuses a kernel's argument");
}

static void enqueue_plane(const struct opencl *cl, const struct filter *filter, int number)
{
    /* Less than half a step of 8 bits is invisible */
    const struct plane *plane = &filter->planes[number];
    const float noise = plane->noise > 0.5f / 255 ? plane->noise : 0.5f / 255;
    const cl_float variance = noise * noise * (float)plane->channels;
    const unsigned turn = filter->frames % 2;
    set_argument(plane->kernel, 0, sizeof(cl_mem), &filter->images[number]);
    set_argument(plane->kernel, 1, sizeof(cl_mem), &plane->history[turn]);
    set_argument(plane->kernel, 2, sizeof(variance), &variance);
    set_argument(plane->kernel, 3, sizeof(cl_mem), &plane->history[!turn]);
    set_argument(plane->kernel, 4, sizeof(cl_mem), &filter->images[PLANE_COUNT + number]);
    const size_t group[2] = {GROUP_SIZE, GROUP_SIZE};
    check_cl(clEnqueueNDRangeKernel(cl->queue, plane->kernel, 2, NULL, plane->whole, group, 0, NULL, NULL),
             "clEnqueueNDRangeKernel", "the OpenCL device refuses the kernel");
}

/* Waits until all enqueued commands are done and returns the time since `start` in milliseconds. Only the measurement
 * needs the wait: the extension itself orders Direct3D and OpenCL. */
static double finish(const struct opencl *cl, double start)
{
    cl_event all;
    check_cl(clEnqueueMarkerWithWaitList(cl->queue, 0, NULL, &all), "clEnqueueMarkerWithWaitList",
             "this OpenCL device is not usable now");
    check_cl(clWaitForEvents(1, &all), "clWaitForEvents", "a command failed on the OpenCL device");
    clReleaseEvent(all);
    return clock_ms() - start;
}

/* Writes the source surface's frame without noise to the result surface. */
static void filter_frame(const struct opencl *cl, struct filter *filter, struct times *times)
{
    double start = clock_ms();
    check_cl(cl->acquire(cl->queue, 2 * PLANE_COUNT, filter->images, 0, NULL, NULL),
             "clEnqueueAcquireDX9MediaSurfacesKHR", "Direct3D could not hand over the surfaces");
    times->acquire += finish(cl, start);

    start = clock_ms();
    for (int i = 0; i < PLANE_COUNT; i++)
        enqueue_plane(cl, filter, i);
    times->kernels += finish(cl, start);

    start = clock_ms();
    check_cl(cl->release(cl->queue, 2 * PLANE_COUNT, filter->images, 0, NULL, NULL),
             "clEnqueueReleaseDX9MediaSurfacesKHR", "Direct3D could not take back the surfaces");
    times->release += finish(cl, start);
    filter->frames++;
}

/* ---- The program ---- */

static void copy_to_picture(struct picture *picture, unsigned left, const unsigned char *pixels, unsigned width)
{
    for (unsigned y = 0; y < picture->height; y++) {
        for (unsigned x = 0; x < width; x++) {
            const unsigned char *from = pixels + ((size_t)y * width + x) * 4;
            unsigned char *to = picture->pixels + ((size_t)y * picture->width + left + x) * 4;
            to[0] = from[2];
            to[1] = from[1];
            to[2] = from[0];
            to[3] = 255;
        }
    }
}

/* Saves the frame of both surfaces side by side. */
static void save_picture(const struct screen *screen, const struct filter *filter, const char *path)
{
    struct picture picture = picture_alloc(2 * screen->width + PICTURE_GAP, screen->height);
    struct picture half = picture_alloc(screen->width, screen->height);
    memset(picture.pixels, 255, (size_t)picture.width * picture.height * 4);
    screen_read(screen, filter->source, half.pixels);
    copy_to_picture(&picture, 0, half.pixels, screen->width);
    screen_read(screen, filter->result, half.pixels);
    copy_to_picture(&picture, screen->width + PICTURE_GAP, half.pixels, screen->width);
    picture_save_png(&picture, path);
    picture_free(&half);
    picture_free(&picture);
}

/* Filters and shows frames until there are no more or the window is closed. Returns the total time in milliseconds. */
static double play(const struct opencl *cl, const struct screen *screen, struct filter *filter, unsigned expected,
                   FILE *input, FILE *output, const char *picture, struct times *times)
{
    const size_t size = (size_t)screen->width * screen->height * 3 / 2;
    struct picture shown = picture_alloc(screen->width, screen->height);
    unsigned char *frame = malloc(size);
    if (!frame)
        fail("no memory for a frame of %zu bytes: take a smaller video", size);

    double begin = 0;
    bool open = true;
    while (open && filter->frames < expected && frames_read(input, frame, size)) {
        begin = filter->frames ? begin : clock_ms();
        measure_noise(filter, screen, frame);
        screen_upload(screen, filter->source, frame);
        filter_frame(cl, filter, times);

        const double start = clock_ms();
        screen_read(screen, filter->result, shown.pixels);
        open = screen_present(screen);
        times->show += clock_ms() - start;

        frames_write(output, shown.pixels, (size_t)screen->width * screen->height * 4);
        if (filter->frames == (expected + 1) / 2)
            save_picture(screen, filter, picture);
        progress(filter->frames, expected, filter->frames * 1000.0 / (clock_ms() - begin));
    }
    const double whole = clock_ms() - begin;
    if (filter->frames && filter->frames < expected)
        progress(filter->frames, filter->frames, filter->frames * 1000.0 / whole);
    if (filter->frames && filter->frames < (expected + 1) / 2)
        save_picture(screen, filter, picture);
    free(frame);
    picture_free(&shown);
    return whole;
}

/* Reads "640x360". Both must be even, because the chroma plane has half the size. */
static void parse_size(const char *text, unsigned *width, unsigned *height)
{
    int end = 0;
    if (sscanf(text, "%ux%u%n", width, height, &end) != 2 || text[end] != '\0')
        fail("'%s' is not a size; pass one like 640x360", text);
    if (!*width || !*height || *width % 2 || *height % 2 || *width > 8192 || *height > 8192)
        fail("the size %s is invalid: width and height must be even and at most 8192", text);
}

int main(int argc, char **argv)
{
    report_to(stderr);
    if (argc != 6)
        fail("usage: dx9-video-demo.exe WIDTHxHEIGHT FRAMES INPUT OUTPUT PICTURE.png");
    unsigned width, height;
    parse_size(argv[1], &width, &height);
    const unsigned expected = (unsigned)strtoul(argv[2], NULL, 10);
    if (!expected)
        fail("'%s' is not a number of frames", argv[2]);
    FILE *input = frames_open_input(argv[3]), *output = frames_open_output(argv[4]);

    struct screen screen = screen_open(width, height);
    step("Direct3D 9 on %s, %u x %u pixels", screen.adapter, width, height);
    struct opencl cl = open_opencl(&screen);
    struct filter filter = create_filter(&cl, &screen);
    struct times times = {0};
    const double all = play(&cl, &screen, &filter, expected, input, output, argv[5], &times);
    const unsigned frames = filter.frames;
    if (!frames)
        fail("there was no frame in the video");
    frames_close_output(output);

    free_filter(&filter);
    close_opencl(&cl);
    screen_close(&screen);
    step("OpenCL \"%s\", Direct3D \"%s\": %u frames, %.1f per second; per frame: acquire %.2f ms, kernels %.2f ms, "
         "release %.2f ms, show %.2f ms",
         cl.name, screen.adapter, frames, frames * 1000.0 / all, times.acquire / frames, times.kernels / frames,
         times.release / frames, times.show / frames);
    return 0;
}
