/* Measures what a frame costs through cld3d, by hand, and in its parts.
 *
 *     frames.exe [quick] [TEXT]               TEXT: only surfaces whose names hold it
 *     frames.exe ways [TEXT]                  and by each transport in any case, beside what cld3d chooses
 *     frames.exe handover [TEXT]              acquire and release alone, without a kernel and with one, in their parts
 *     frames.exe alone WAY PATTERN [TEXT]     nothing but this, some seconds long, for a profiler
 *
 * Prints for each measurement a line "sample,frames,SURFACE,PATTERN,WAY,ROUND,MILLISECONDS", and progress in lines that
 * begin with "#". In a round each way has one frame, one after the other, so that what disturbs the machine disturbs all
 * alike; in an order that changes, and with cold caches, since some ways have memory in common. Before each of them
 * Direct3D draws a new frame, which is not counted. */
#include "ways.h"

#include <stdlib.h>
#include <string.h>

/* The patterns take turns, with as many rounds at once as make quartiles: where the system places threads changes within
 * seconds, and is to affect all patterns alike. Turns go on until there are enough, or the time is over. */
enum { MOST_TURNS = 21, ROUNDS_AT_ONCE = 9, WARM_UP = 2 };
static double patience_ms = 14000;
static const char *wanted = "";
static bool by_all;                         /* with those ways */
static bool handover;                       /* nothing but acquire and release */
static const char *only_way, *only_pattern; /* NULL: all are measured */

static const struct pattern patterns[] = {
    {.name = "read", .reads = true},
    {.name = "write", .writes = true},
    {.name = "both", .reads = true, .writes = true},
    {.name = "recreated", .reads = true, .writes = true, .recreated = true},
};
enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

static const struct size {
    const char *name;
    unsigned width, height;
} sizes[] = {{"720p", 1280, 720}, {"1080p", 1920, 1080}, {"4K", 3840, 2160}};

/* The first ones are cld3d's, each with a library of its own. */
enum way { CLD3D, HOST, ROWS, HOST_ROWS, EXPERT, SHARED_WAYS = EXPERT, CAREFUL, DIRECT3D, KERNELS, MEMCPY, WAYS };
static const char *const way_names[WAYS] = {"cld3d",   "host",     "rows",    "host rows", "expert",
                                            "careful", "direct3d", "kernels", "memcpy"};

static enum way shared_count(void)
{
    return by_all ? SHARED_WAYS : 1;
}

static enum way next_way(enum way way)
{
    return way + 1 == shared_count() ? EXPERT : way + 1;
}

struct bench {
    struct surface surface;
    char name[32];
    struct user shared[SHARED_WAYS], expert;
    void *from, *to; /* of the memcpy */
    float value;     /* drawn last */
};

/* An expert who knows what the kernels do leaves a way out; a careful one never does. */
static void run_way(struct bench *b, enum way way, const struct pattern *pattern, float value)
{
    switch (way) {
    case EXPERT: frame_by_hand(&b->surface, &b->expert, pattern, pattern->reads, pattern->writes, value); break;
    case CAREFUL: frame_by_hand(&b->surface, &b->expert, pattern, true, true, value); break;
    case DIRECT3D: frame_direct3d(&b->surface, pattern); break;
    case KERNELS: frame_kernels(&b->surface, &b->expert, pattern, value); break;
    case MEMCPY: frame_memcpy(&b->surface, pattern, b->to, b->from); break;
    default: frame_cld3d(&b->surface, &b->shared[way], pattern, value); break;
    }
}

static void expect(const struct bench *b, const struct pattern *pattern, enum way way, const char *where, float found,
                   float expected)
{
    if (found < expected - 0.004f || found > expected + 0.004f)
        fail("%s, %s, %s: %s has %.3f, not %.3f: the sharing is wrong", b->name, pattern->name, way_names[way], where,
             found, expected);
}

/* A benchmark of what does not work is worth nothing. */
static void check_way(struct bench *b, enum way way, const struct pattern *pattern)
{
    const float drawn = 0.125f + 0.0625f * (float)way, written = drawn + 0.03125f;
    b->surface.ops->draw(&b->surface, drawn);
    run_way(b, way, pattern, written);
    if (pattern->reads)
        expect(b, pattern, way, "OpenCL", user_result(way < SHARED_WAYS ? &b->shared[way] : &b->expert), drawn);
    expect(b, pattern, way, "Direct3D", b->surface.ops->look(&b->surface), pattern->writes ? written : drawn);
}

/* Fills the caches with something else. */
static void chill(void)
{
    static unsigned char other[40 << 20];
    memset(other, other[0] + 1, sizeof(other));
}

static double measure(struct bench *b, enum way way, const struct pattern *pattern)
{
    b->value = b->value < 0.9f ? b->value + 0.01f : 0.1f;
    b->surface.ops->draw(&b->surface, b->value);
    chill();
    const double start = clock_ms();
    run_way(b, way, pattern, b->value);
    return clock_ms() - start;
}

/* All ways in an order of chance, but the same one in each run. */
static unsigned shuffle(enum way order[WAYS])
{
    static unsigned long long state = 1;
    unsigned count = 0;
    for (enum way way = CLD3D; way < WAYS; way = next_way(way)) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const unsigned at = (unsigned)(state >> 33) % (count + 1);
        order[count++] = order[at];
        order[at] = way;
    }
    return count;
}

static void measure_round(struct bench *b, const struct pattern *pattern, unsigned round)
{
    enum way order[WAYS] = {CLD3D};
    double times[WAYS];
    const unsigned count = shuffle(order);
    for (unsigned i = 0; i < count; i++)
        times[order[i]] = measure(b, order[i], pattern);
    for (enum way way = CLD3D; way < WAYS; way = next_way(way))
        printf("sample,frames,%s,%s,%s,%u,%.4f\n", b->name, pattern->name, way_names[way], round, times[way]);
}

/* One way again and again, with caches as they are. */
static void run_alone(struct bench *b, enum way way, const struct pattern *pattern)
{
    unsigned frames = 0;
    const double start = clock_ms();
    for (; clock_ms() - start < patience_ms; frames++)
        run_way(b, way, pattern, 0.5f);
    step("# %s, %s, %s alone: %.3f ms a frame", b->name, pattern->name, way_names[way], (clock_ms() - start) / frames);
}

static void measure_alone(struct bench *b, const struct opencl *shared)
{
    const struct pattern *pattern = patterns;
    while (pattern < patterns + PATTERNS && strcmp(pattern->name, only_pattern) != 0)
        pattern++;
    if (pattern == patterns + PATTERNS)
        fail("there is no pattern %s", only_pattern);
    b->shared[CLD3D] = user_open(&b->surface, shared, pattern);
    for (enum way way = CLD3D; way < WAYS; way = next_way(way))
        if (strcmp(way_names[way], only_way) == 0)
            run_alone(b, way, pattern);
    user_close(&b->shared[CLD3D]);
}

/* ---- the users of cld3d ---- */

static void open_users(struct bench *b, const struct opencl *shared, const struct pattern *pattern)
{
    for (enum way way = CLD3D; way < shared_count(); way++)
        b->shared[way] = user_open(&b->surface, &shared[way], pattern);
}

static void close_users(struct bench *b)
{
    for (enum way way = CLD3D; way < shared_count(); way++)
        user_close(&b->shared[way]);
}

/* ---- acquire and release alone ---- */

enum { HANDOVERS = 101, HANDOVER_PARTS = 4 };
static const char *const handover_parts[HANDOVER_PARTS] = {"all", "acquire", "release", "end"};

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* With warm caches and nothing drawn. */
static void measure_handovers(struct bench *b, enum way way, bool written)
{
    static double times[HANDOVER_PARTS][HANDOVERS];
    struct user *user = &b->shared[way];
    const struct pattern pattern = {.writes = written};
    for (unsigned round = 0; round < HANDOVERS; round++) {
        double parts[3];
        const double start = clock_ms();
        frame_parts(&b->surface, user, &pattern, 0.5f, parts);
        times[0][round] = clock_ms() - start;
        for (unsigned i = 1; i < HANDOVER_PARTS; i++)
            times[i][round] = parts[i - 1];
        printf("sample,handover,%s,%s,%s,%u,%.4f\n", b->name, written ? "written" : "idle", way_names[way], round,
               times[0][round]);
    }
    printf("# %s, %s, %s:", b->name, written ? "written" : "idle", way_names[way]);
    for (unsigned i = 0; i < HANDOVER_PARTS; i++) {
        qsort(times[i], HANDOVERS, sizeof(double), compare_times);
        printf(" %s %.0f", handover_parts[i], 1000 * times[i][HANDOVERS / 2]);
    }
    step(" us (medians of %d)", HANDOVERS);
}

static void measure_handover(struct bench *b, const struct opencl *shared)
{
    static const struct pattern both = {.name = "both", .reads = true, .writes = true};
    open_users(b, shared, &both);
    for (int written = 0; written < 2; written++)
        for (enum way way = CLD3D; way < SHARED_WAYS; way++)
            measure_handovers(b, way, written);
    close_users(b);
}

static void measure_turn(struct bench *b, const struct opencl *shared, const struct pattern *pattern, unsigned turn)
{
    open_users(b, shared, pattern);
    for (enum way way = CLD3D; way <= CAREFUL; way = next_way(way))
        check_way(b, way, pattern);
    for (int i = 0; i < WARM_UP; i++)
        for (enum way way = CLD3D; way < WAYS; way = next_way(way))
            measure(b, way, pattern);
    for (unsigned i = 0; i < ROUNDS_AT_ONCE; i++)
        measure_round(b, pattern, turn * ROUNDS_AT_ONCE + i);
    close_users(b);
}

static void measure_surface(struct bench *b, const struct opencl *shared)
{
    const double start = clock_ms();
    unsigned turn = 0;
    while (turn < MOST_TURNS && (turn == 0 || clock_ms() - start < patience_ms)) {
        for (size_t i = 0; i < PATTERNS; i++)
            measure_turn(b, shared, &patterns[i], turn);
        turn++;
    }
    step("# %s: %u rounds of each pattern", b->name, turn * ROUNDS_AT_ONCE);
}

static void bench_surface(struct surface surface, const char *kind, const char *size, const struct opencl *shared,
                          const struct opencl *plain)
{
    struct bench b = {.surface = surface};
    snprintf(b.name, sizeof(b.name), "%s %s", kind, size);
    if (!strstr(b.name, wanted)) {
        surface.ops->close(&surface);
        return;
    }
    b.from = malloc(surface.bytes);
    b.to = malloc(surface.bytes);
    if (!b.from || !b.to)
        fail("no memory for twice %zu bytes", surface.bytes);
    memset(b.from, 1, surface.bytes);
    memset(b.to, 1, surface.bytes);
    b.expert = user_open(&b.surface, plain, NULL);
    if (handover)
        measure_handover(&b, shared);
    else if (only_way)
        measure_alone(&b, shared);
    else
        measure_surface(&b, shared);
    user_close(&b.expert);
    surface.ops->close(&surface);
    free(b.to);
    free(b.from);
}

/* Of the ways of cld3d that are measured. */
static void open_shared(struct opencl shared[SHARED_WAYS], cl_context_properties property, void *device)
{
    static const enum opencl_library libraries[SHARED_WAYS] = {OPENCL_CLD3D, OPENCL_BY_HOST, OPENCL_BY_ROWS,
                                                               OPENCL_BY_HOST_ROWS};
    for (enum way way = CLD3D; way < shared_count(); way++)
        shared[way] = opencl_open(libraries[way], property, device);
}

static void bench_direct3d11(const struct opencl *plain, bool quick)
{
    ID3D11Device *device = d3d11_open();
    struct opencl shared[SHARED_WAYS];
    open_shared(shared, CL_CONTEXT_D3D11_DEVICE_KHR, device);
    for (unsigned i = 0; i < (quick ? 1 : 3); i++) {
        const struct size *s = &sizes[i];
        bench_surface(d3d11_texture(device, DXGI_FORMAT_R8G8B8A8_UNORM, s->width, s->height), "RGBA8", s->name, shared,
                      plain);
        bench_surface(d3d11_texture(device, DXGI_FORMAT_R16G16B16A16_FLOAT, s->width, s->height), "RGBA16F", s->name,
                      shared, plain);
        if (d3d11_has_nv12(device))
            bench_surface(d3d11_nv12(device, s->width, s->height), "NV12 of 11", s->name, shared, plain);
    }
    for (unsigned mega = 1; mega <= (quick ? 16 : 256); mega *= mega == 1 ? 16 : 4) {
        char size[16];
        snprintf(size, sizeof(size), "%u MiB", mega);
        bench_surface(d3d11_buffer(device, (size_t)mega << 20), "buffer", size, shared, plain);
    }
}

static void bench_direct3d9(const struct opencl *plain, bool quick)
{
    void *device = d3d9_open();
    struct opencl shared[SHARED_WAYS];
    open_shared(shared, CL_CONTEXT_ADAPTER_D3D9EX_KHR, device);
    for (unsigned i = 0; i < (quick ? 1 : 3); i++) {
        const struct size *s = &sizes[i];
        bench_surface(d3d9_nv12(device, s->width, s->height), "NV12", s->name, shared, plain);
        bench_surface(d3d9_rgba8(device, s->width, s->height), "RGBA8 of 9", s->name, shared, plain);
    }
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0, alone = argc > 3 && strcmp(argv[1], "alone") == 0;
    handover = argc > 1 && strcmp(argv[1], "handover") == 0;
    by_all = handover || (argc > 1 && strcmp(argv[1], "ways") == 0);
    const int words = quick || by_all ? 2 : alone ? 4 : 1;
    patience_ms = quick ? 2800 : patience_ms;
    if (alone) {
        patience_ms = 8000;
        only_way = argv[2];
        only_pattern = argv[3];
    }
    wanted = argc > words ? argv[words] : "";
    const struct opencl plain = opencl_open(OPENCL_BELOW, 0, NULL);
    bench_direct3d11(&plain, quick);
    bench_direct3d9(&plain, quick);
    step("# done");
    return 0;
}
