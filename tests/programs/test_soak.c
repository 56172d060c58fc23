/* Threads that share frames for a long time: Direct3D 9, 10 and 11 side by side, sizes and formats that change, objects,
 * contexts and devices made again. Each frame's texels are summed by the kernel that inverts them: the sum must be the one
 * of what Direct3D wrote, and what Direct3D reads must be inverted. Nothing may be wrong and nothing may pile up.
 *
 * CLD3D_TEST_SOAK says for how many seconds; `make soak SECONDS=3600` is the long way. */
#include "common/dx9.h"
#include "common/rig.h"
#include "host_process.h"
#include "sharing.h"

#include <math.h>

/* A run of less than a minute has fewer threads, and makes no devices and contexts again: the drivers' compilers would be most of it. */
enum {
    THREADS = 8,
    FEW_THREADS = 4,
    SHORTEST = 4,
    ANEW_SECONDS = 60,
    OBJECT_FRAMES = 40,
    SESSION_OBJECTS = 12,
    MOST_TEXELS = 96 * 64
};

static atomic_bool over;
static atomic_uint frames, wrong, sessions, objects, warm;
static unsigned seconds;

/* ---- what there is to share ---- */

/* One channel of 8 bits, normalised, or of 32 bits, or four of 8: the sum of a frame is that of its channels. */
struct picture {
    DXGI_FORMAT dxgi; /* of Direct3D 10 and 11; the last one is of Direct3D 9 alone */
    D3DFORMAT nine;
};

static const struct picture pictures[] = {
    {DXGI_FORMAT_R8G8B8A8_UNORM, D3DFMT_A8B8G8R8},
    {DXGI_FORMAT_B8G8R8A8_UNORM, D3DFMT_A8R8G8B8},
    {DXGI_FORMAT_R8_UNORM, D3DFMT_L8},
    {DXGI_FORMAT_R8G8_UNORM, D3DFMT_A8L8},
    {DXGI_FORMAT_R16_UNORM, D3DFMT_L16},
    {DXGI_FORMAT_R16G16_UNORM, D3DFMT_G16R16},
    {DXGI_FORMAT_UNKNOWN, (D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2')},
};
enum { PICTURES = sizeof(pictures) / sizeof(pictures[0]) };

/* Work items add up what their texel holds in whole numbers, which come in any order. */
static const char source[] =
    "constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "kernel void invert(read_only image2d_t from, write_only image2d_t to, global uint *sum, float scale, int "
    "channels)\n"
    "{\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    const float4 x = read_imagef(from, texel, at);\n"
    "    const uint4 n = convert_uint4_rte(x * scale);\n"
    "    write_imagef(to, at, 1 - x);\n"
    "    atomic_add(sum, n.x + (channels > 1 ? n.y : 0) + (channels > 2 ? n.z + n.w : 0));\n"
    "}\n";

static unsigned channel_bytes(const struct format *format)
{
    return format->cl.image_channel_data_type == CL_UNORM_INT16 ? 2 : 1;
}

static cl_uint sum_of(const struct format *format, const unsigned char *bytes, size_t size)
{
    cl_uint sum = 0;
    for (size_t i = 0; i < size; i += channel_bytes(format))
        sum += channel_bytes(format) == 2 ? bytes[i] | (cl_uint)bytes[i + 1] << 8 : bytes[i];
    return sum;
}

/* ---- a thread's world ---- */

struct worker {
    unsigned number;
    uint32_t random;
    bool nine;
    struct rig rig;
    struct dx9 dx9;
    cl_kernel kernel;
    cl_mem sum;
    unsigned sessions;
    ULONG device_refs; /* of Direct3D, with nothing shared but what a context keeps */
    cl_uint context_refs;
};

/* Two surfaces of a kind with an object for each plane. */
struct pair {
    struct dx9_surface nine[2];
    struct shared_pair {
        struct rig_desc desc;
        void *resource;
        cl_mem object;
    } ten[2];
    const struct format *planes[2];
    unsigned plane_count;
    size_t bytes;
};

static unsigned roll(struct worker *w, unsigned sides)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 17;
    w->random ^= w->random << 5;
    return w->random % sides;
}

static bool open_kernel(struct worker *w)
{
    cl_int status = 1;
    w->kernel = rig_kernel(&w->rig, source, "invert");
    w->sum = clCreateBuffer(w->rig.context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &status);
    return CHECK(w->kernel != NULL) && CHECK_INT(status, CL_SUCCESS);
}

/* Under Wine the rig has one device for all cases; here each thread has its own. */
static bool open_with_own_device(struct rig *rig, const struct rig_api *api)
{
    cl_int status = 1;
    if (!rig_open(rig, api, RIG_NO_CONTEXT))
        return false;
    void *own = rig_another_device(rig);
    rig_release(rig->device);
    rig->device = own;
    rig->context = own ? rig_make_context(rig, own, false, &status) : NULL;
    return CHECK_INT(status, CL_SUCCESS) && rig_open_queue(rig, 0);
}

static bool worker_open(struct worker *w)
{
    const unsigned family = (w->number + (seconds < ANEW_SECONDS ? 0 : roll(w, 2))) % 3;
    w->nine = family == 2;
    if (w->nine ? !dx9_open(&w->dx9, roll(w, 2), 0) : !open_with_own_device(&w->rig, family ? &rig_d3d11 : &rig_d3d10))
        return false;
    if (w->nine)
        w->rig = w->dx9.rig;
    atomic_fetch_add(&sessions, 1);
    return open_kernel(w);
}

static void worker_close(struct worker *w)
{
    CHECK_INT(clReleaseKernel(w->kernel), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(w->sum), CL_SUCCESS);
    if (w->nine)
        dx9_close(&w->dx9); /* checks that nobody holds the device */
    else
        rig_close(&w->rig);
}

/* ---- frames ---- */

static bool open_ten(struct worker *w, struct pair *pair, DXGI_FORMAT format, UINT width, UINT height)
{
    for (int i = 0; i < 2; i++) {
        struct shared_pair *one = &pair->ten[i];
        cl_int status = 1;
        one->desc =
            (struct rig_desc){.format = format, .width = width, .height = height, .bind = D3D11_BIND_SHADER_RESOURCE};
        one->resource = rig_make(&w->rig, w->rig.device, &one->desc, NULL);
        if (!CHECK(one->resource != NULL))
            return false;
        one->object = w->rig.create_2d(w->rig.context, CL_MEM_READ_WRITE, one->resource, 0, &status);
        if (!CHECK_INT(status, CL_SUCCESS))
            return false;
    }
    pair->planes[0] = format_named(format);
    pair->plane_count = 1;
    pair->bytes = rig_bytes(&pair->ten[0].desc, 0);
    return true;
}

static bool open_nine(struct worker *w, struct pair *pair, D3DFORMAT format, UINT width, UINT height)
{
    const struct dx9_format *of = dx9_format_of(format);
    for (int i = 0; i < 2; i++)
        if (!dx9_open_surface(&pair->nine[i], &w->dx9, of, DX9_PLAIN, width, height))
            return false;
    for (unsigned i = 0; i < of->plane_count; i++)
        pair->planes[i] = &of->planes[i];
    pair->plane_count = of->plane_count;
    pair->bytes = pair->nine[0].bytes;
    return true;
}

/* In a few sizes, so that staging copies are taken again and others made. */
static bool pair_open(struct worker *w, struct pair *pair, unsigned picture)
{
    const UINT width = 16 + 16 * roll(w, 6), height = 8 + 8 * roll(w, 8);
    memset(pair, 0, sizeof(*pair));
    atomic_fetch_add(&objects, 2);
    return w->nine ? open_nine(w, pair, pictures[picture].nine, width, height)
                   : open_ten(w, pair, pictures[picture].dxgi, width, height);
}

static void pair_close(struct worker *w, struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        if (w->nine && pair->nine[i].surface)
            dx9_close_surface(&pair->nine[i]);
        if (pair->ten[i].object)
            CHECK_INT(clReleaseMemObject(pair->ten[i].object), CL_SUCCESS);
        rig_release(pair->ten[i].resource);
    }
}

static cl_uint list_objects(const struct worker *w, const struct pair *pair, cl_mem list[4])
{
    cl_uint count = 0;
    for (int i = 0; i < 2; i++)
        for (unsigned p = 0; p < pair->plane_count; p++)
            list[count++] = w->nine ? pair->nine[i].planes[p] : pair->ten[i].object;
    return count;
}

static void plane_extent(const struct worker *w, const struct pair *pair, unsigned plane, size_t extent[2])
{
    extent[0] = w->nine ? dx9_plane_width(&pair->nine[0], plane) : pair->ten[0].desc.width;
    extent[1] = w->nine ? dx9_plane_height(&pair->nine[0], plane) : pair->ten[0].desc.height;
}

static bool launch(const struct worker *w, const struct pair *pair, const cl_mem list[4], unsigned plane)
{
    const struct format *format = pair->planes[plane];
    const cl_float scale = channel_bytes(format) == 2 ? 65535.0f : 255.0f;
    const cl_int channels = (cl_int)format->channels;
    size_t extent[2];
    plane_extent(w, pair, plane, extent);
    return CHECK_INT(clSetKernelArg(w->kernel, 0, sizeof(cl_mem), &list[plane]), CL_SUCCESS) &&
           CHECK_INT(clSetKernelArg(w->kernel, 1, sizeof(cl_mem), &list[pair->plane_count + plane]), CL_SUCCESS) &&
           CHECK_INT(clSetKernelArg(w->kernel, 2, sizeof(cl_mem), &w->sum), CL_SUCCESS) &&
           CHECK_INT(clSetKernelArg(w->kernel, 3, sizeof(scale), &scale), CL_SUCCESS) &&
           CHECK_INT(clSetKernelArg(w->kernel, 4, sizeof(channels), &channels), CL_SUCCESS) &&
           CHECK_INT(clEnqueueNDRangeKernel(w->rig.queue, w->kernel, 2, NULL, extent, NULL, 0, NULL, NULL), CL_SUCCESS);
}

static cl_uint expected_sum(const struct worker *w, const struct pair *pair, const unsigned char *bytes)
{
    cl_uint sum = 0;
    size_t at = 0;
    for (unsigned p = 0; p < pair->plane_count; p++) {
        const size_t size = w->nine ? dx9_plane_bytes(&pair->nine[0], p) : pair->bytes;
        sum += sum_of(pair->planes[p], bytes + at, size);
        at += size;
    }
    return sum;
}

static void d3d_write(const struct worker *w, struct pair *pair, const unsigned char *bytes)
{
    if (w->nine)
        dx9_write(&pair->nine[0], bytes);
    else
        rig_write(&w->rig, pair->ten[0].resource, &pair->ten[0].desc, 0, bytes);
}

static void d3d_read(const struct worker *w, struct pair *pair, unsigned char *bytes)
{
    if (w->nine)
        dx9_read(&pair->nine[1], bytes);
    else
        rig_read(&w->rig, pair->ten[1].resource, &pair->ten[1].desc, 0, bytes);
}

/* What OpenCL does of a frame; the sum that its kernels give. */
static bool compute(const struct worker *w, const struct pair *pair, cl_uint *sum)
{
    const rig_enqueue take = w->nine ? (rig_enqueue)w->dx9.acquire : w->rig.acquire;
    const rig_enqueue give = w->nine ? (rig_enqueue)w->dx9.release : w->rig.release;
    const cl_uint none = 0;
    cl_mem list[4];
    cl_event given = NULL;
    const cl_uint count = list_objects(w, pair, list);
    bool fine = CHECK_INT(take(w->rig.queue, count, list, 0, NULL, NULL), CL_SUCCESS) &&
                CHECK_INT(clEnqueueWriteBuffer(w->rig.queue, w->sum, CL_FALSE, 0, sizeof(none), &none, 0, NULL, NULL),
                          CL_SUCCESS);
    for (unsigned p = 0; p < pair->plane_count && fine; p++)
        fine = launch(w, pair, list, p);
    fine = fine && CHECK_INT(clEnqueueReadBuffer(w->rig.queue, w->sum, CL_TRUE, 0, sizeof(*sum), sum, 0, NULL, NULL),
                             CL_SUCCESS);
    if (!CHECK_INT(give(w->rig.queue, count, list, 0, NULL, &given), CL_SUCCESS))
        return false;
    fine = CHECK_INT(clWaitForEvents(1, &given), CL_SUCCESS) && fine;
    return CHECK_INT(clReleaseEvent(given), CL_SUCCESS) && fine;
}

static void frame(struct worker *w, struct pair *pair, unsigned seed)
{
    unsigned char bytes[MOST_TEXELS * 4], back[MOST_TEXELS * 4];
    cl_uint sum = 0;
    rig_pattern(bytes, pair->bytes, seed);
    d3d_write(w, pair, bytes);
    bool right = compute(w, pair, &sum) && sum == expected_sum(w, pair, bytes);
    d3d_read(w, pair, back);
    for (size_t i = 0; i < pair->bytes; i++)
        right = right && back[i] == 255 - bytes[i];
    atomic_fetch_add(&frames, 1);
    if (!right)
        atomic_fetch_add(&wrong, 1);
}

static cl_uint context_refs(const struct worker *w)
{
    cl_uint refs = 0;
    CHECK_INT(clGetContextInfo(w->rig.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    return refs;
}

static ULONG device_refs(const struct worker *w)
{
    return rig_refs(w->nine ? (void *)w->dx9.device : w->rig.device);
}

/* Objects come and go. What they hold has to go with them: staging copies stay, at most so many, and some events. */
enum { KEPT_COPIES = 4, KEPT_EVENTS = 40 };

static void some_frames(struct worker *w, unsigned picture, unsigned count)
{
    struct pair pair;
    if (!pair_open(w, &pair, picture))
        atomic_store(&over, true);
    for (unsigned f = 0; f < count && !atomic_load(&over); f++)
        frame(w, &pair, roll(w, 100000));
    pair_close(w, &pair);
    if (!CHECK(device_refs(w) <= w->device_refs + KEPT_COPIES) ||
        !CHECK(context_refs(w) <= w->context_refs + KEPT_EVENTS)) {
        char line[100];
        snprintf(line, sizeof(line), "# thread %u: %u references of the device, %u of the context", w->number,
                 (unsigned)(device_refs(w) - w->device_refs), context_refs(w) - w->context_refs);
        tap_line(line);
    }
}

static void session(struct worker *w)
{
    const unsigned count = w->nine ? PICTURES : PICTURES - 1;
    w->device_refs = device_refs(w);
    w->context_refs = context_refs(w);
    /* Each picture once: an emulated one has a program that is built now. */
    for (unsigned i = 0; i < count; i++)
        some_frames(w, i, 1);
    atomic_fetch_add(&warm, w->sessions++ == 0);
    for (int i = 0; (i < SESSION_OBJECTS || seconds < ANEW_SECONDS) && !atomic_load(&over); i++)
        some_frames(w, roll(w, count), OBJECT_FRAMES);
}

static void work(void *data)
{
    struct worker *w = data;
    while (!atomic_load(&over)) {
        if (!worker_open(w)) {
            atomic_store(&over, true);
            return;
        }
        session(w);
        worker_close(w);
    }
}

/* What drivers make once in a process is made by one thread: in PoCL 3.1 a context that is made while another thread makes
 * the first has a device without memory. The window of Direct3D 9 is this thread's, too. */
static bool prepare(void)
{
    bool fine = true;
    for (unsigned i = 0; i < 3 && fine; i++) {
        struct worker first = {.number = i, .random = 1};
        fine = worker_open(&first);
        if (fine)
            worker_close(&first);
    }
    return fine;
}

/* ---- what must not grow ---- */

struct sample {
    double memory, handles,
        files; /* bytes; Wine's handles, natively objects of Direct3D; file descriptors. 0: unknown */
    unsigned frames;
};

#ifdef _WIN32
/* The server of Wine opens what this process reads: its own folder is "self", with a file for most of our handles. */
static double count_handles(void)
{
    return count_entries(HOST_PROC "\\self\\fd");
}
#else
static double count_handles(void)
{
    return fake_d3d_live();
}
#endif

static struct sample take_sample(void)
{
    return (struct sample){process_memory(host_process), count_handles(), count_files(), atomic_load(&frames)};
}

enum { MOST_SAMPLES = 4096 };
static struct sample samples[MOST_SAMPLES];
static unsigned sample_count;

static void report(unsigned second)
{
    char line[200];
    const struct sample *s = &samples[sample_count - 1];
    snprintf(line, sizeof(line),
             "# %5u s: %7u frames, %u wrong, %5u sessions, %6u objects, %.1f MiB, %.0f handles, %.0f files", second,
             s->frames, atomic_load(&wrong), atomic_load(&sessions), atomic_load(&objects), s->memory / 1048576,
             s->handles, s->files);
    tap_line(line);
}

/* The least of a part of the run: compilers and threads take memory and files for a while, and give them back. */
static struct sample least(unsigned from, unsigned to)
{
    struct sample least = samples[from];
    for (unsigned i = from; i < to; i++) {
        least.memory = fmin(least.memory, samples[i].memory);
        least.handles = fmin(least.handles, samples[i].handles);
        least.files = fmin(least.files, samples[i].files);
    }
    return least;
}

/* ---- the cases, of one run ---- */

static struct sample early, late;

/* Halves of what is left of the run behind its first quarter, in which caches fill and allocators find their level. */
static void measure(void)
{
    const unsigned from = sample_count / 4, middle = from + (sample_count - from) / 2;
    if (middle >= sample_count || from >= middle)
        return;
    early = least(from, middle);
    late = least(middle, sample_count);
    char line[200];
    snprintf(line, sizeof(line),
             "# least, from frame %u and from %u: %.1f, %.1f MiB; %.0f, %.0f handles; %.0f, %.0f files", early.frames,
             late.frames, early.memory / 1048576, late.memory / 1048576, early.handles, late.handles, early.files,
             late.files);
    tap_line(line);
}

static unsigned soak_seconds(void)
{
    const char *text = getenv("CLD3D_TEST_SOAK");
    const int wanted = text ? atoi(text) : 0;
    return wanted > SHORTEST ? (unsigned)wanted : SHORTEST;
}

CASE("threads, Direct3D 9, 10 and 11: no frame is wrong, no reference is left", no_wrong_frame)
{
    static struct worker workers[THREADS];
    test_thread threads[THREADS];
    struct test_job jobs[THREADS];
    unsigned started = 0;
    seconds = soak_seconds();
    const unsigned each = seconds / MOST_SAMPLES + 1, threads_wanted = seconds < ANEW_SECONDS ? FEW_THREADS : THREADS;
    if (!prepare())
        return;
    for (; started < threads_wanted; started++) {
        workers[started] = (struct worker){.number = started, .random = 0x9E3779B9u * (started + 1)};
        jobs[started] = (struct test_job){work, &workers[started]};
        if (!CHECK(test_thread_start(&threads[started], &jobs[started])))
            break;
    }
    find_host_process("test_soak.exe");
    while (atomic_load(&warm) < started && !atomic_load(&over))
        pause_ms(100);
    for (unsigned second = 0; second < seconds && !atomic_load(&over); second++) {
        pause_ms(1000);
        if (second % each == 0)
            samples[sample_count++] = take_sample();
        if (second % 60 == 59 || second + 1 == seconds)
            report(second + 1);
    }
    atomic_store(&over, true);
    while (started > 0)
        test_thread_join(threads[--started]);
    measure();
    CHECK(atomic_load(&frames) > 0);
    CHECK_INT(atomic_load(&wrong), 0);
}

/* Resident memory swings with the sizes of the threads' objects, and where an allocator gives back what the driver's compiler
 * took: 17 MiB were seen with PoCL. 64 bytes a frame are allowed besides. In minutes that finds what loses a frame's bytes, in an
 * hour what loses an allocation a frame. */
CASE("memory is flat", memory_is_flat)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer holds memory back");
    return;
#endif
    if (seconds < ANEW_SECONDS) {
        SKIP("some seconds of frames are less than what memory swings by");
        return;
    }
    if (process_memory("self") == 0) {
        SKIP("the system does not tell");
        return;
    }
    CHECK(early.memory > 0);
    CHECK(late.memory - early.memory < 32 * 1048576.0 + 64.0 * (late.frames - early.frames));
}

/* The threads are at different places of their sessions, and a device has some dozens of handles. */
CASE("handles are flat", handles_are_flat)
{
    CHECK(late.handles - early.handles < 64);
}

CASE("file descriptors are flat", files_are_flat)
{
    if (process_memory("self") == 0) {
        SKIP("the system does not tell");
        return;
    }
    CHECK(early.files > 0);
    CHECK(late.files - early.files < 16);
}

TAP_MAIN
