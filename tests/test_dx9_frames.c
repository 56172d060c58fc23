/* A film's worth of video frames through Direct3D 9 and OpenCL: nothing may pile up, neither memory of the process nor
 * references of Direct3D. */
#include "common/dx9.h"
#include "sharing.h"

#ifdef _WIN32
#include <psapi.h>
#endif

/* Kernels on the CPU take their time, and a small frame that is lost is seen as well. */
#define SIZE "960 x 540"
enum { WIDTH = 960, HEIGHT = 540, STRIP = 16, FEWEST = 300, FIRST = 200 };

/* CLD3D_TEST_FRAMES says how many there are. */
static int frame_count(void)
{
    const char *text = getenv("CLD3D_TEST_FRAMES");
    const int count = text ? atoi(text) : 0;
    return count > FEWEST ? count : FEWEST;
}

/* Resident memory of the process in KiB. */
static size_t memory(void)
{
#ifdef _WIN32
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof(counters)};
    return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) ? counters.WorkingSetSize / 1024 : 0;
#else
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (size_t)(sysconf(_SC_PAGESIZE) / 1024);
#endif
}

static const char source[] =
    "constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "kernel void invert(read_only image2d_t from, write_only image2d_t to)\n"
    "{\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, at, 1 - read_imagef(from, texel, at));\n"
    "}\n";

struct film {
    cl_kernel kernel;
    struct dx9_surface from, to;
};

/* All rows of a plane, or some. */
static void launch(struct film *film, UINT plane, bool whole)
{
    const size_t size[2] = {dx9_plane_width(&film->from, plane), whole ? dx9_plane_height(&film->from, plane) : STRIP};
    CHECK_INT(clSetKernelArg(film->kernel, 0, sizeof(cl_mem), &film->from.planes[plane]), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(film->kernel, 1, sizeof(cl_mem), &film->to.planes[plane]), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(film->from.queue, film->kernel, 2, NULL, size, NULL, 0, NULL, NULL), CL_SUCCESS);
}

/* As FFmpeg does it: all planes in one call, and a wait for the event. */
static void frame(struct film *film, bool whole)
{
    const struct dx9 *dx9 = film->from.dx9;
    const cl_mem planes[] = {film->from.planes[0], film->from.planes[1], film->to.planes[0], film->to.planes[1]};
    cl_event acquired = NULL, released = NULL;
    CHECK_INT(dx9->acquire(film->from.queue, 4, planes, 0, NULL, &acquired), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &acquired), CL_SUCCESS);
    launch(film, 0, whole);
    launch(film, 1, whole);
    CHECK_INT(dx9->release(film->from.queue, 4, planes, 0, NULL, &released), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
}

static void expect_inverted(struct film *film, unsigned seed)
{
    unsigned char *expected = dx9_pattern(&film->to, seed);
    for (size_t i = 0; i < film->to.bytes; i++)
        expected[i] = 255 - expected[i];
    dx9_expect_bytes(&film->to, expected);
    free(expected);
}

static void play(struct film *film)
{
    char line[128];
    const struct dx9 *dx9 = film->from.dx9;
    const int frames = frame_count();
    const ULONG surface_refs = rig_refs(film->from.surface);
    ULONG device_refs = 0;
    size_t before = 0;
    unsigned live = 0;
    for (int i = 0; i < frames && !dx9_failures(); i++) {
        if (i == FIRST) {
            before = memory();
            device_refs = rig_refs(dx9->device);
#ifndef _WIN32
            live = fake_d3d_live();
#endif
        }
        /* Bytes are looked at now and then: that takes longer than the frame. */
        const bool looked_at = i % 100 == 0;
        if (looked_at)
            dx9_fill(&film->from, (unsigned)i / 100);
        frame(film, looked_at);
        if (looked_at)
            expect_inverted(film, (unsigned)i / 100);
    }
    const size_t after = memory();
    snprintf(line, sizeof(line), "# memory after %d frames: %zu KiB, after %d: %zu KiB", (int)FIRST, before, frames,
             after);
    tap_line(line);
    CHECK(before > 0);
    CHECK(after < before + 16384); /* allocators swing by some MiB; 100 frames of 759 KiB each would not go unseen */
    CHECK_INT(rig_refs(film->from.surface), surface_refs);
    CHECK_INT(rig_refs(dx9->device), device_refs);
#ifndef _WIN32
    CHECK_INT(fake_d3d_live(), live);
#else
    (void)live;
#endif
}

static void film(struct dx9 *dx9)
{
    struct film film;
    film.kernel = rig_kernel(&dx9->rig, source, "invert");
    if (!CHECK(film.kernel != NULL) || !dx9_open_surface(&film.from, dx9, &dx9_formats[0], DX9_PLAIN, WIDTH, HEIGHT))
        return;
    if (dx9_open_surface(&film.to, dx9, &dx9_formats[0], DX9_PLAIN, WIDTH, HEIGHT)) {
        play(&film);
        dx9_close_surface(&film.to);
    }
    dx9_close_surface(&film.from);
    CHECK_INT(clReleaseKernel(film.kernel), CL_SUCCESS);
}

CASE("Direct3D 9Ex: many frames of NV12, " SIZE, extended)
{
    dx9_run(true, 0, film);
}

TAP_MAIN
