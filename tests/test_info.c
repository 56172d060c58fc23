/* The rules of queries, of each object of a context with interop: a query of the size alone never crashes and tells the size of the real
 * one, an answer takes its own bytes and no others, and room for fewer is an error. */
#include "sharing.h"

enum of {
    OF_PLATFORM,
    OF_DEVICE,
    OF_CONTEXT,
    OF_QUEUE,
    OF_BUFFER,
    OF_MEMORY,
    OF_IMAGE,
    OF_SAMPLER,
    OF_PROGRAM,
    OF_BUILD,
    OF_KERNEL,
    OF_ARGUMENT,
    OF_GROUP,
    OF_EVENT,
    OF_TIME
};

/* The numbers of all queries, but for those of memory that is to be filled (CL_PROGRAM_BINARIES); with those of the extensions. */
static const struct {
    enum of kind;
    cl_uint first, last;
} ranges[] = {
    {OF_PLATFORM, 0x0900, 0x0923}, {OF_DEVICE, 0x1000, 0x107F},   {OF_DEVICE, 0x2030, 0x205F},
    {OF_DEVICE, 0x4000, 0x425F},   {OF_CONTEXT, 0x1080, 0x1084},  {OF_CONTEXT, 0x2020, 0x202F},
    {OF_CONTEXT, 0x4010, 0x402F},  {OF_QUEUE, 0x1090, 0x109F},    {OF_BUFFER, 0x1100, 0x110F},
    {OF_BUFFER, 0x2020, 0x202F},   {OF_BUFFER, 0x4010, 0x402F},   {OF_MEMORY, 0x1100, 0x110F},
    {OF_MEMORY, 0x2020, 0x202F},   {OF_MEMORY, 0x4010, 0x402F},   {OF_IMAGE, 0x1110, 0x111F},
    {OF_IMAGE, 0x2020, 0x202F},    {OF_IMAGE, 0x4010, 0x402F},    {OF_SAMPLER, 0x1150, 0x1158},
    {OF_PROGRAM, 0x1160, 0x1165},  {OF_PROGRAM, 0x1167, 0x116F},  {OF_BUILD, 0x1181, 0x1185},
    {OF_KERNEL, 0x1190, 0x1195},   {OF_ARGUMENT, 0x1196, 0x119A}, {OF_GROUP, 0x11B0, 0x11B5},
    {OF_EVENT, 0x11D0, 0x11D4},    {OF_TIME, 0x1280, 0x1284},
};

struct objects {
    const struct rig *rig;
    cl_mem buffer, image;
    cl_sampler sampler;
    cl_program program;
    cl_kernel kernel;
    cl_event event; /* of an acquire */
};

static cl_int ask(const struct objects *o, enum of kind, cl_uint name, size_t room, void *to, size_t *size)
{
    switch (kind) {
    case OF_PLATFORM: return clGetPlatformInfo(o->rig->platform, name, room, to, size);
    case OF_DEVICE: return clGetDeviceInfo(o->rig->cl_device, name, room, to, size);
    case OF_CONTEXT: return clGetContextInfo(o->rig->context, name, room, to, size);
    case OF_QUEUE: return clGetCommandQueueInfo(o->rig->queue, name, room, to, size);
    case OF_BUFFER: return clGetMemObjectInfo(o->buffer, name, room, to, size);
    case OF_MEMORY: return clGetMemObjectInfo(o->image, name, room, to, size);
    case OF_IMAGE: return clGetImageInfo(o->image, name, room, to, size);
    case OF_SAMPLER: return clGetSamplerInfo(o->sampler, name, room, to, size);
    case OF_PROGRAM: return clGetProgramInfo(o->program, name, room, to, size);
    case OF_BUILD: return clGetProgramBuildInfo(o->program, o->rig->cl_device, name, room, to, size);
    case OF_KERNEL: return clGetKernelInfo(o->kernel, name, room, to, size);
    case OF_ARGUMENT: return clGetKernelArgInfo(o->kernel, 0, name, room, to, size);
    case OF_GROUP: return clGetKernelWorkGroupInfo(o->kernel, o->rig->cl_device, name, room, to, size);
    case OF_EVENT: return clGetEventInfo(o->event, name, room, to, size);
    default: return clGetEventProfilingInfo(o->event, name, room, to, size);
    }
}

enum { ROOM = 65536, UNSET = 4711 };

static bool untouched(const unsigned char *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (from[i] != 0xA5)
            return false;
    return true;
}

/* Whether there is such an answer. */
static bool check_query(const struct objects *o, enum of kind, cl_uint name)
{
    static unsigned char answer[ROOM], other[ROOM];
    size_t size = UNSET, again = UNSET;
    memset(answer, 0xA5, ROOM);
    memset(other, 0xA5, ROOM);
    if (ask(o, kind, name, 0, NULL, &size) != CL_SUCCESS) {
        const bool none = CHECK(ask(o, kind, name, ROOM, answer, NULL) < 0);
        if (!(CHECK_INT(size, UNSET) && CHECK(untouched(answer, ROOM)) && none))
            printf("# kind %d, name 0x%x has no size\n", kind, name);
        return false;
    }
    if (!CHECK(size < ROOM / 2))
        return false;
    bool right = CHECK_INT(ask(o, kind, name, size, size ? answer : NULL, &again), CL_SUCCESS);
    right = CHECK_INT(again, size) && right;
    right = CHECK(untouched(answer + size, ROOM - size)) && right;
    if (size) {
        right = CHECK_INT(ask(o, kind, name, size - 1, other, NULL), CL_INVALID_VALUE) && right;
        right = CHECK(untouched(other, ROOM)) && right;
        right = CHECK_INT(ask(o, kind, name, ROOM, other, NULL), CL_SUCCESS) && right;
        right = CHECK(untouched(other + size, ROOM - size)) && right;
        if (kind != OF_DEVICE || name != CL_DEVICE_PROFILING_TIMER_RESOLUTION)
            right = CHECK_MEM(other, answer, size) && right;
    }
    if (!right)
        printf("# kind %d, name 0x%x, %u bytes\n", kind, name, (unsigned)size);
    return size != 0;
}

SHARING_CASE(rules, RIG_PROFILING)
{
    static const char source[] =
        "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void k(global int *to, int value)\n"
        "{\n"
        "    to[get_global_id(0)] = value;\n"
        "}\n";
    struct shared all[KINDS];
    struct objects o = {.rig = rig};
    unsigned answers = 0;
    if (!shared_open_all(rig, 1, all))
        return;
    o.buffer = all[KIND_BUFFER].object;
    o.image = all[KIND_2D].object;
    o.sampler = clCreateSampler(rig->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, NULL);
    o.kernel = rig_kernel(rig, source, "k");
    CHECK_INT(clGetKernelInfo(o.kernel, CL_KERNEL_PROGRAM, sizeof(o.program), &o.program, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &o.image, 0, NULL, &o.event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &o.event), CL_SUCCESS);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        for (cl_uint name = ranges[i].first; name <= ranges[i].last; name++)
            answers += check_query(&o, ranges[i].kind, name);
    CHECK(answers > 150);
    CHECK_INT(release_one(rig, o.image), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(o.event), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(o.kernel), CL_SUCCESS);
    CHECK_INT(clReleaseSampler(o.sampler), CL_SUCCESS);
    shared_close_all(all);
}

static const struct tap_test tests[] = {
    SHARING_TESTS("the rules of queries", rules),
};

TAP_MAIN(tests)
