/* The rules of queries, of each object of a context with interop. */
#include "driver_bugs.h"
#include "query.h"
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
    {OF_PLATFORM, 0x0900, 0x0923}, {OF_DEVICE, 0x1000, 0x107F},  {OF_DEVICE, 0x2030, 0x205F},
    {OF_DEVICE, 0x4000, 0x425F},   {OF_CONTEXT, 0x1080, 0x1084}, {OF_QUEUE, 0x1090, 0x109F},
    {OF_BUFFER, 0x1100, 0x110F},   {OF_MEMORY, 0x1100, 0x110F},  {OF_IMAGE, 0x1110, 0x111F},
    {OF_SAMPLER, 0x1150, 0x1158},  {OF_PROGRAM, 0x1160, 0x1165}, {OF_PROGRAM, 0x1167, 0x116F},
    {OF_BUILD, 0x1181, 0x1185},    {OF_KERNEL, 0x1190, 0x1195},  {OF_ARGUMENT, 0x1196, 0x119A},
    {OF_GROUP, 0x11B0, 0x11B5},    {OF_EVENT, 0x11D0, 0x11D4},   {OF_TIME, 0x1280, 0x1284},
};

static const struct rig *asked;
static cl_mem buffer, image;
static cl_sampler sampler;
static cl_program program;
static cl_kernel kernel;
static cl_event event; /* of an acquire */

static cl_int ask(int kind, cl_uint name, size_t room, void *to, size_t *size)
{
    switch (kind) {
    case OF_PLATFORM: return clGetPlatformInfo(asked->platform, name, room, to, size);
    case OF_DEVICE: return clGetDeviceInfo(asked->cl_device, name, room, to, size);
    case OF_CONTEXT: return clGetContextInfo(asked->context, name, room, to, size);
    case OF_QUEUE: return clGetCommandQueueInfo(asked->queue, name, room, to, size);
    case OF_BUFFER: return clGetMemObjectInfo(buffer, name, room, to, size);
    case OF_MEMORY: return clGetMemObjectInfo(image, name, room, to, size);
    case OF_IMAGE: return clGetImageInfo(image, name, room, to, size);
    case OF_SAMPLER: return clGetSamplerInfo(sampler, name, room, to, size);
    case OF_PROGRAM: return clGetProgramInfo(program, name, room, to, size);
    case OF_BUILD: return clGetProgramBuildInfo(program, asked->cl_device, name, room, to, size);
    case OF_KERNEL: return clGetKernelInfo(kernel, name, room, to, size);
    case OF_ARGUMENT: return clGetKernelArgInfo(kernel, 0, name, room, to, size);
    case OF_GROUP: return clGetKernelWorkGroupInfo(kernel, asked->cl_device, name, room, to, size);
    case OF_EVENT: return clGetEventInfo(event, name, room, to, size);
    default: return clGetEventProfilingInfo(event, name, room, to, size);
    }
}

/* NVIDIA's answers that break the rules (docs/quirks.md). */
static bool is_wrong(enum of kind, cl_uint name)
{
    return is_nvidia(asked->platform) && ((kind == OF_PLATFORM && (name == CL_PLATFORM_HOST_TIMER_RESOLUTION ||
                                                                   name == CL_PLATFORM_NUMERIC_VERSION)) ||
                                          (kind == OF_QUEUE && name == CL_QUEUE_SIZE));
}

OBJECTS_CASE("the rules of queries", rules, RIG_PROFILING)
{
    static const char source[] =
        "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void k(global int *to, int value)\n"
        "{\n"
        "    to[get_global_id(0)] = value;\n"
        "}\n";
    static unsigned char answer[ROOM];
    unsigned answers = 0;
    asked = rig;
    buffer = all[KIND_BUFFER].object;
    image = all[KIND_2D].object;
    sampler = clCreateSampler(rig->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, NULL);
    kernel = rig_kernel(rig, source, "k");
    CHECK_INT(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &image, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        for (cl_uint name = ranges[i].first; name <= ranges[i].last; name++)
            answers += !is_wrong(ranges[i].kind, name) && check_query(ask, ranges[i].kind, name, answer) != 0;
    for (int kind = OF_CONTEXT; kind <= OF_IMAGE; kind++) /* the extensions' */
        for (cl_uint name = 0x2020; name <= 0x402F; name += name == 0x202F ? 0x1FE1 : 1)
            answers += check_query(ask, kind, name, answer) != 0;
    CHECK(answers > 150);
    CHECK_INT(release_one(rig, image), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseSampler(sampler), CL_SUCCESS);
}

TAP_MAIN
