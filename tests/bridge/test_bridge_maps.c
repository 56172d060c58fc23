/* Mapped memory through the bridge. In a 32-bit program over a 64-bit driver it may be a copy, which nobody may notice: what is mapped
 * has the object's bytes as soon as the map is complete, what is written gets there with the unmap, and nothing is left behind. */
#include "bridge.h"

#include <psapi.h>

enum { BYTES = 8192, FIRST = 1234, COUNTED = 3001 };

static unsigned char bytes[BYTES], others[BYTES];

static void *map(const struct base *base, cl_mem buffer, cl_map_flags flags, size_t first, size_t count)
{
    cl_int status = UNSET;
    void *mapped = clEnqueueMapBuffer(base->queue, buffer, CL_TRUE, flags, first, count, 0, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return CHECK(mapped != NULL) ? mapped : NULL;
}

static void unmap(const struct base *base, cl_mem memory, void *mapped)
{
    CHECK_INT(clEnqueueUnmapMemObject(base->queue, memory, mapped, 0, NULL, NULL), CL_SUCCESS);
}

/* rusticl 22.3 counts none. */
static void maps_are(const struct base *base, cl_mem memory, cl_uint expected)
{
    cl_uint count = UNSET;
    CHECK_INT(clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    CHECK_INT(count, is_rusticl(base) ? 0 : expected);
}

static cl_mem open_buffer(struct base *base, cl_mem_flags flags)
{
    cl_int status = UNSET;
    if (!open_base(base))
        return NULL;
    make_pattern(bytes, BYTES, 1);
    make_pattern(others, BYTES, 2);
    cl_mem buffer = clCreateBuffer(base->context, CL_MEM_READ_WRITE | flags, BYTES, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clEnqueueWriteBuffer(base->queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL), CL_SUCCESS);
    return buffer;
}

static void close_buffer(struct base *base, cl_mem buffer)
{
    release_memory(buffer);
    close_base(base);
}

/* ---- buffers ---- */

static void reads_and_writes(const struct base *base, cl_mem buffer)
{
    unsigned char *mapped = map(base, buffer, CL_MAP_READ, FIRST, COUNTED);
    if (!mapped)
        return;
    CHECK_MEM(mapped, bytes + FIRST, COUNTED);
    maps_are(base, buffer, 1);
    unmap(base, buffer, mapped);
    CHECK_INT(clFinish(base->queue), CL_SUCCESS);
    maps_are(base, buffer, 0);

    mapped = map(base, buffer, CL_MAP_READ | CL_MAP_WRITE, FIRST, COUNTED);
    CHECK_MEM(mapped, bytes + FIRST, COUNTED);
    for (int i = 100; i < 200; i++)
        bytes[FIRST + i] = mapped[i] = (unsigned char)~mapped[i];
    unmap(base, buffer, mapped);
    buffer_has(base, buffer, bytes, BYTES);

    mapped = map(base, buffer, CL_MAP_WRITE, FIRST, COUNTED); /* what is not written stays */
    bytes[FIRST + COUNTED - 1] = mapped[COUNTED - 1] = (unsigned char)~bytes[FIRST + COUNTED - 1];
    unmap(base, buffer, mapped);
    buffer_has(base, buffer, bytes, BYTES);

    mapped = map(base, buffer, CL_MAP_WRITE_INVALIDATE_REGION, FIRST, COUNTED);
    memcpy(mapped, others, COUNTED);
    memcpy(bytes + FIRST, others, COUNTED);
    unmap(base, buffer, mapped);
    buffer_has(base, buffer, bytes, BYTES);
}

CASE("buffers, in parts", buffers)
{
    static const cl_mem_flags ways[] = {0, CL_MEM_ALLOC_HOST_PTR};
    for (unsigned i = 0; i < COUNT(ways); i++) {
        struct base base;
        cl_mem buffer = open_buffer(&base, ways[i]);
        if (!buffer)
            return;
        reads_and_writes(&base, buffer);
        close_buffer(&base, buffer);
    }
}

/* The map is in the program's own memory. */
BASE_CASE("a buffer in the program's own memory", own_memory)
{
    static unsigned char own[BYTES] __attribute__((aligned(4096)));
    cl_int status = UNSET;
    make_pattern(bytes, BYTES, 3);
    memcpy(own, bytes, BYTES);
    cl_mem buffer = clCreateBuffer(base->context, CL_MEM_USE_HOST_PTR, BYTES, own, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clEnqueueFillBuffer(base->queue, buffer, "abcd", 4, FIRST + 2, 400, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 0; i < 400; i++)
        bytes[FIRST + 2 + i] = (unsigned char)"abcd"[i % 4];
    unsigned char *mapped = map(base, buffer, CL_MAP_READ | CL_MAP_WRITE, FIRST, COUNTED);
    CHECK(mapped == own + FIRST);
    CHECK_MEM(own + FIRST, bytes + FIRST, COUNTED);
    own[FIRST + 5] = bytes[FIRST + 5] = 0x77;
    unmap(base, buffer, mapped);
    buffer_has(base, buffer, bytes, BYTES);
    release_memory(buffer);
}

CASE("what is refused", refused)
{
    struct base base;
    cl_int status = UNSET;
    cl_mem buffer = open_buffer(&base, 0);
    if (!buffer)
        return;
    CHECK(clEnqueueMapBuffer(base.queue, buffer, CL_TRUE, CL_MAP_READ, BYTES - 4, 8, 0, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clEnqueueMapBuffer(base.queue, buffer, CL_TRUE, CL_MAP_READ, BYTES - 4, 8, 0, NULL, NULL, NULL) == NULL);
    CHECK(clEnqueueUnmapMemObject(base.queue, buffer, bytes, 0, NULL, NULL) < 0);
    CHECK(clEnqueueUnmapMemObject(base.queue, buffer, NULL, 0, NULL, NULL) < 0);
    maps_are(&base, buffer, 0);
    unsigned char *mapped = map(&base, buffer, CL_MAP_READ, 0, BYTES);
    unmap(&base, buffer, mapped);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    CHECK(clEnqueueUnmapMemObject(base.queue, buffer, mapped, 0, NULL, NULL) < 0); /* once is enough */
    buffer_has(&base, buffer, bytes, BYTES);
    close_buffer(&base, buffer);
}

/* ---- several at once ---- */

CASE("several maps at once", several)
{
    enum { PARTS = 40, PART = BYTES / PARTS };
    unsigned char *mapped[PARTS], *whole;
    struct base base;
    cl_mem buffer = open_buffer(&base, 0);
    if (!buffer)
        return;
    whole = map(&base, buffer, CL_MAP_READ, 0, BYTES);
    unsigned char *again = map(&base, buffer, CL_MAP_READ, 0, BYTES);
    CHECK_MEM(whole, bytes, BYTES);
    CHECK_MEM(again, bytes, BYTES);
    maps_are(&base, buffer, 2);
    unmap(&base, buffer, whole);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    CHECK_MEM(again, bytes, BYTES);
    unmap(&base, buffer, again);
    for (int i = 0; i < PARTS; i++)
        mapped[i] = map(&base, buffer, CL_MAP_READ | CL_MAP_WRITE, (size_t)i * PART, PART);
    maps_are(&base, buffer, PARTS);
    for (int i = 0; i < PARTS; i++) {
        CHECK_MEM(mapped[i], bytes + i * PART, PART);
        memcpy(mapped[i], others + i * PART, PART);
    }
    for (int i = 0; i < PARTS; i++) /* in another order */
        unmap(&base, buffer, mapped[i * 7 % PARTS]);
    buffer_has(&base, buffer, others, PARTS * PART);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    maps_are(&base, buffer, 0);
    close_buffer(&base, buffer);
}

/* ---- maps that wait ---- */

/* The ways in which a program learns that a map is complete. Those that wait flush the queue. */
enum way { BY_WAIT, BY_FINISH, BY_STATUS, BY_CALLBACK, BY_LATER_EVENT, BY_LATER_READ, WAYS };

static struct {
    unsigned char *mapped, found[BYTES];
    atomic_uint called;
} behind;

static void CL_CALLBACK on_mapped(cl_event event, cl_int status, void *data)
{
    (void)event, (void)data;
    if (status == CL_COMPLETE)
        memcpy(behind.found, behind.mapped, COUNTED);
    atomic_fetch_add(&behind.called, 1);
}

static void become_complete(const struct base *base, enum way way, cl_event event, cl_mem other)
{
    cl_event later = NULL;
    char some[16];
    switch (way) {
    case BY_WAIT: CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS); break;
    case BY_FINISH: CHECK_INT(clFinish(base->queue), CL_SUCCESS); break;
    case BY_STATUS:
        CHECK_INT(clFlush(base->queue), CL_SUCCESS);
        for (int i = 0; i < 30000 && event_status(event) > CL_COMPLETE; i++)
            Sleep(1);
        break;
    case BY_CALLBACK:
        CHECK_INT(clFlush(base->queue), CL_SUCCESS);
        wait_until(&behind.called, 1);
        break;
    case BY_LATER_EVENT:
        CHECK_INT(clEnqueueMarkerWithWaitList(base->queue, 1, &event, &later), CL_SUCCESS);
        finish_event(later);
        break;
    default:
        CHECK_INT(clEnqueueReadBuffer(base->queue, other, CL_TRUE, 0, sizeof(some), some, 0, NULL, NULL), CL_SUCCESS);
    }
}

/* Behind a write that waits for the program. */
static void map_behind(const struct base *base, cl_mem buffer, cl_mem other, enum way way)
{
    cl_event gate = user_event(base), event = NULL;
    cl_command_queue queue = NULL;
    cl_command_type type = 0;
    cl_int status = UNSET;
    make_pattern(others, BYTES, 50 + way);
    atomic_store(&behind.called, 0);
    CHECK_INT(clEnqueueWriteBuffer(base->queue, buffer, CL_FALSE, 0, BYTES, others, 1, &gate, NULL), CL_SUCCESS);
    behind.mapped = clEnqueueMapBuffer(base->queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, FIRST, COUNTED, 0,
                                       NULL, &event, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (way == BY_CALLBACK)
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_mapped, NULL), CL_SUCCESS);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL), CL_SUCCESS);
    CHECK(queue == base->queue);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    CHECK_INT(type, CL_COMMAND_MAP_BUFFER);
    CHECK(event_status(event) > CL_COMPLETE);
    set_event(gate, CL_COMPLETE);
    become_complete(base, way, event, other);
    if (!CHECK_MEM(way == BY_CALLBACK ? behind.found : behind.mapped, others + FIRST, COUNTED))
        printf("# way %d\n", way);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
}

/* What is written there goes back before the commands that follow, without a wait. */
static void write_behind(const struct base *base, cl_mem buffer, cl_mem other)
{
    unsigned char found[BYTES];
    cl_event event = NULL, read = NULL;
    make_pattern(behind.mapped, COUNTED, 99);
    make_pattern(others + FIRST, COUNTED, 99);
    CHECK_INT(clEnqueueUnmapMemObject(base->queue, buffer, behind.mapped, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clEnqueueCopyBuffer(base->queue, buffer, other, 0, 0, BYTES, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(base->queue, other, CL_FALSE, 0, BYTES, found, 1, &event, &read), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &read), CL_SUCCESS);
    CHECK_MEM(found, others, BYTES);
    CHECK_INT(clReleaseEvent(read), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

CASE("a map that waits is complete when its event says so", behind_events)
{
    struct base base;
    cl_mem buffer = open_buffer(&base, 0);
    if (!buffer)
        return;
    cl_mem other = make_buffer(&base, BYTES, NULL);
    for (enum way way = BY_WAIT; way < WAYS; way++) {
        map_behind(&base, buffer, other, way);
        write_behind(&base, buffer, other);
    }
    release_memory(other);
    close_buffer(&base, buffer);
}

/* ---- memory ---- */

enum { MAPPED = 65536, MAPS = 5000 };

static size_t memory_in_use(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof(counters)};
    CHECK(GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)));
    return counters.WorkingSetSize;
}

/* What the program may still reserve. */
static size_t addresses_left(void)
{
    MEMORY_BASIC_INFORMATION region;
    size_t free_bytes = 0;
    for (char *at = NULL; VirtualQuery(at, &region, sizeof(region));
         at = (char *)region.BaseAddress + region.RegionSize)
        free_bytes += region.State == MEM_FREE ? region.RegionSize : 0;
    return free_bytes;
}

static void map_many(const struct base *base, cl_mem buffer, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned char *mapped = map(base, buffer, i % 2 ? CL_MAP_READ : CL_MAP_READ | CL_MAP_WRITE, 0, MAPPED);
        if (!mapped || !CHECK(mapped[MAPPED - 1] == 0x42))
            return;
        unmap(base, buffer, mapped);
        if (i % 100 == 0)
            CHECK_INT(clFinish(base->queue), CL_SUCCESS);
    }
    CHECK_INT(clFinish(base->queue), CL_SUCCESS);
}

/* What each map leaves behind would be more than this all together. */
BASE_CASE("many maps leave no memory behind", many)
{
    const size_t most = (size_t)MAPPED * MAPS / 8;
    cl_mem buffer = make_buffer(base, MAPPED, NULL);
    CHECK_INT(clEnqueueFillBuffer(base->queue, buffer, "B", 1, 0, MAPPED, 0, NULL, NULL), CL_SUCCESS);
    map_many(base, buffer, 500);
    const size_t before = memory_in_use(), left = addresses_left();
    map_many(base, buffer, MAPS);
    const size_t after = memory_in_use(), left_after = addresses_left();
    printf("# %lld bytes more in use, %lld fewer addresses\n", (long long)after - (long long)before,
           (long long)left - (long long)left_after);
    CHECK(after < before + most);
    CHECK(left_after + most > left);
    release_memory(buffer);
}

TAP_MAIN
