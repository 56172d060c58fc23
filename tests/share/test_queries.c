/* What can be asked: objects, extension strings, functions by name, programs; and the rules of each query of OpenCL, of the objects of
 * a context with interop. */
#include "adapters.h"
#include "query.h"

/* ---- the rules of queries ---- */

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

static struct {
    const struct rig *rig;
    cl_mem buffer, image;
    cl_sampler sampler;
    cl_program program;
    cl_kernel kernel;
    cl_event event; /* of an acquire */
} asked;

static cl_int ask(int kind, cl_uint name, size_t room, void *to, size_t *size)
{
    switch (kind) {
    case OF_PLATFORM: return clGetPlatformInfo(asked.rig->platform, name, room, to, size);
    case OF_DEVICE: return clGetDeviceInfo(asked.rig->cl_device, name, room, to, size);
    case OF_CONTEXT: return clGetContextInfo(asked.rig->context, name, room, to, size);
    case OF_QUEUE: return clGetCommandQueueInfo(asked.rig->queue, name, room, to, size);
    case OF_BUFFER: return clGetMemObjectInfo(asked.buffer, name, room, to, size);
    case OF_MEMORY: return clGetMemObjectInfo(asked.image, name, room, to, size);
    case OF_IMAGE: return clGetImageInfo(asked.image, name, room, to, size);
    case OF_SAMPLER: return clGetSamplerInfo(asked.sampler, name, room, to, size);
    case OF_PROGRAM: return clGetProgramInfo(asked.program, name, room, to, size);
    case OF_BUILD: return clGetProgramBuildInfo(asked.program, asked.rig->cl_device, name, room, to, size);
    case OF_KERNEL: return clGetKernelInfo(asked.kernel, name, room, to, size);
    case OF_ARGUMENT: return clGetKernelArgInfo(asked.kernel, 0, name, room, to, size);
    case OF_GROUP: return clGetKernelWorkGroupInfo(asked.kernel, asked.rig->cl_device, name, room, to, size);
    case OF_EVENT: return clGetEventInfo(asked.event, name, room, to, size);
    default: return clGetEventProfilingInfo(asked.event, name, room, to, size);
    }
}

/* NVIDIA's answers that break the rules (docs/quirks.md). */
static bool is_wrong(enum of kind, cl_uint name)
{
    return is_nvidia(asked.rig->platform) && ((kind == OF_PLATFORM && (name == CL_PLATFORM_HOST_TIMER_RESOLUTION ||
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
    asked.rig = rig;
    asked.buffer = all[KIND_BUFFER].object;
    asked.image = all[KIND_2D].object;
    asked.sampler = clCreateSampler(rig->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, NULL);
    asked.kernel = rig_kernel(rig, source, "k");
    CHECK_INT(clGetKernelInfo(asked.kernel, CL_KERNEL_PROGRAM, sizeof(asked.program), &asked.program, NULL),
              CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &asked.image, 0, NULL, &asked.event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &asked.event), CL_SUCCESS);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        for (cl_uint name = ranges[i].first; name <= ranges[i].last; name++)
            answers += !is_wrong(ranges[i].kind, name) && check_query(ask, ranges[i].kind, name, answer) != 0;
    for (int kind = OF_CONTEXT; kind <= OF_IMAGE; kind++) /* the extensions' */
        for (cl_uint name = 0x2020; name <= 0x402F; name += name == 0x202F ? 0x1FE1 : 1)
            answers += check_query(ask, kind, name, answer) != 0;
    CHECK(answers > 150);
    CHECK_INT(release_one(rig, asked.image), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(asked.event), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(asked.kernel), CL_SUCCESS);
    CHECK_INT(clReleaseSampler(asked.sampler), CL_SUCCESS);
}

/* ---- asking objects ---- */

static void no_resource(const struct rig_api *api, cl_mem object)
{
    void *resource = &resource;
    size_t size = 4711;
    CHECK_INT(clGetMemObjectInfo(object, api->mem_resource, sizeof(resource), &resource, &size), api->invalid_resource);
    CHECK(resource == (void *)&resource);
    CHECK_INT(size, 4711);
}

static void no_subresource(const struct rig_api *api, cl_mem object)
{
    cl_uint subresource = 4711;
    CHECK_INT(clGetImageInfo(object, api->image_subresource, sizeof(subresource), &subresource, NULL),
              api->invalid_resource);
    CHECK_INT(subresource, 4711);
}

static cl_mem plain_image(cl_context context)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    cl_int status = 1;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return image;
}

/* Programs ask any object and look at the code. */
static void ask_plain_objects(const struct rig *rig, cl_context context)
{
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL), image = plain_image(context);
    no_resource(rig->api, buffer);
    no_resource(rig->api, image);
    no_subresource(rig->api, image);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

OBJECTS_CASE("objects: no resource where there is none", queries_of_other_objects, 0)
{
    cl_context plain = plain_context(rig);
    ask_plain_objects(rig, plain);
    ask_plain_objects(rig, rig->context);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    for (int kind = 0; kind < KINDS; kind++) {
        no_resource(other_api(rig), all[kind].object);
        if (kind != KIND_BUFFER)
            no_subresource(other_api(rig), all[kind].object);
    }
    no_subresource(rig->api, all[KIND_BUFFER].object);
    const cl_buffer_region region = {0, 16};
    cl_mem part =
        clCreateSubBuffer(all[KIND_BUFFER].object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    if (CHECK(part != NULL)) {
        no_resource(rig->api, part);
        CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    }
}

/* Before any context with interop, and so before any record of the library. */
SHARING_CASE("objects: the same without any interop", queries_without_interop, RIG_NO_CONTEXT)
{
    cl_context plain = plain_context(rig);
    ask_plain_objects(rig, plain);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

#define CHECK_INFO(get, object, name, type, expected)                                \
    do {                                                                             \
        const type expected_ = (expected);                                           \
        type found_;                                                                 \
        memset(&found_, 0x5A, sizeof(found_));                                       \
        CHECK_INT(get((object), (name), sizeof(found_), &found_, NULL), CL_SUCCESS); \
        CHECK_MEM(&found_, &expected_, sizeof(found_));                              \
    } while (0)

static void check_memory(const struct rig *rig, const struct shared *shared)
{
    static const cl_mem_object_type types[] = {CL_MEM_OBJECT_BUFFER, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE3D};
    size_t size = 0;
    CHECK_INFO(clGetMemObjectInfo, shared->object, rig->api->mem_resource, void *, shared->resource);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_TYPE, cl_mem_object_type, types[shared->kind]);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_FLAGS, cl_mem_flags, CL_MEM_READ_WRITE);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_HOST_PTR, void *, NULL);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_MAP_COUNT, cl_uint, 0);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_REFERENCE_COUNT, cl_uint, 1);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_CONTEXT, cl_context, rig->context);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_ASSOCIATED_MEMOBJECT, cl_mem, NULL);
    CHECK_INFO(clGetMemObjectInfo, shared->object, CL_MEM_OFFSET, size_t, 0);
    CHECK_INT(clGetMemObjectInfo(shared->object, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
    CHECK(shared->kind == KIND_BUFFER ? size == SHARED_BYTES : size >= SHARED_BYTES);
}

static void check_image(const struct shared *shared)
{
    const size_t *region = kind_region(shared->kind);
    const bool deep = shared->kind == KIND_3D;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_FORMAT, cl_image_format, format);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_ELEMENT_SIZE, size_t, 4);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_ROW_PITCH, size_t, region[0] * 4);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_SLICE_PITCH, size_t, deep ? region[0] * region[1] * 4 : 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_WIDTH, size_t, region[0]);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_HEIGHT, size_t, region[1]);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_DEPTH, size_t, deep ? region[2] : 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_ARRAY_SIZE, size_t, 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_BUFFER, cl_mem, NULL);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_NUM_MIP_LEVELS, cl_uint, 0);
    CHECK_INFO(clGetImageInfo, shared->object, CL_IMAGE_NUM_SAMPLES, cl_uint, 0);
}

/* Acquired, they answer the same. */
OBJECTS_CASE("objects: queries of OpenCL", ordinary_queries, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const ULONG refs = rig_refs(all[kind].resource);
        for (int acquired = 0; acquired < 2; acquired++) {
            check_memory(rig, &all[kind]);
            if (kind != KIND_BUFFER)
                check_image(&all[kind]);
            CHECK_INT((acquired ? release_one : acquire_one)(rig, all[kind].object), CL_SUCCESS);
        }
        CHECK_INT(rig_refs(all[kind].resource), refs);
    }
}

/* ---- extension strings ---- */

static unsigned count_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            found++;
    return found;
}

/* A platform's or a device's query, so that both are checked by the same code. */
struct subject {
    cl_platform_id platform;
    cl_device_id device; /* NULL: the platform */
};

static cl_int subject_info(const struct subject *s, size_t room, void *text, size_t *size)
{
    return s->device ? clGetDeviceInfo(s->device, CL_DEVICE_EXTENSIONS, room, text, size)
                     : clGetPlatformInfo(s->platform, CL_PLATFORM_EXTENSIONS, room, text, size);
}

/* The size that is told is the string's, to the byte: programs end themselves if it is not. */
static char *read_extensions(const struct subject *s)
{
    size_t size = 0;
    if (!CHECK_INT(subject_info(s, 0, NULL, &size), CL_SUCCESS) || !CHECK(size > 1))
        return NULL;
    char *text = calloc(1, size);
    CHECK_INT(subject_info(s, size, text, NULL), CL_SUCCESS);
    CHECK_INT(strlen(text) + 1, size);
    return text;
}

/* What a device that shares lists. The Khronos extensions have a version. */
static const struct {
    const char *name;
    cl_version version; /* 0: not looked at */
} shared_by_all[] = {
    {"cl_khr_d3d10_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_khr_d3d11_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_khr_dx9_media_sharing", CL_MAKE_VERSION(1, 0, 0)},
    {"cl_nv_d3d10_sharing", 0},
    {"cl_nv_d3d11_sharing", 0},
    {"cl_intel_d3d11_nv12_media_sharing", 0},
    {"cl_intel_dx9_media_sharing", 0},
};
enum { SHARED_BY_ALL = sizeof(shared_by_all) / sizeof(shared_by_all[0]) };

static void check_extensions(const struct subject *s, bool shares)
{
    char *text = read_extensions(s);
    if (!text)
        return;
    for (int i = 0; i < SHARED_BY_ALL; i++)
        if (!CHECK_INT(count_word(text, shared_by_all[i].name), shares))
            printf("# %s\n", shared_by_all[i].name);
    free(text);
}

CASE("extensions: strings and their sizes", extension_strings)
{
    cl_platform_id platforms[16];
    cl_uint platform_count = 0, checked = 0;
    CHECK_INT(clGetPlatformIDs(16, platforms, &platform_count), CL_SUCCESS);
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        cl_device_id devices[MOST_DEVICES];
        cl_uint count = 0;
        bool all = true;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count) != CL_SUCCESS)
            count = 0;
        for (cl_uint d = 0; d < count; d++) {
            cl_bool images = CL_FALSE;
            clGetDeviceInfo(devices[d], CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
            check_extensions(&(struct subject){.device = devices[d]}, images);
            all = all && images;
            checked++;
        }
        /* A platform has what all its devices have. */
        check_extensions(&(struct subject){.platform = platforms[p]}, all && count);
    }
    CHECK(checked >= 1);
}

#ifndef _WIN32
/* With those that have no devices, and so nothing to list. */
CASE("all platforms: extension strings", extension_strings_again)
{
    CHECK_INT(run_again("extensions: strings and their sizes", "OCL_ICD_VENDORS", "/etc/OpenCL/vendors"), 1);
}
#endif

static unsigned count_version(const cl_name_version *list, size_t count, const char *name, cl_version version)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) != 0)
            continue;
        found++;
        if (version)
            CHECK_INT(list[i].version, version);
    }
    return found;
}

/* The list with versions and the string name the same extensions. */
static bool check_versions(const struct subject *s)
{
    size_t size = 0;
    cl_name_version list[256];
    const cl_int status =
        s->device ? clGetDeviceInfo(s->device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size)
                  : clGetPlatformInfo(s->platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size);
    if (status != CL_SUCCESS)
        return false;
    for (int i = 0; i < SHARED_BY_ALL; i++)
        if (!CHECK_INT(count_version(list, size / sizeof(list[0]), shared_by_all[i].name, shared_by_all[i].version), 1))
            printf("# %s\n", shared_by_all[i].name);
    return true;
}

SHARING_CASE("extensions: the lists with versions", extension_versions, RIG_NO_CONTEXT)
{
    const bool of_device = check_versions(&(struct subject){.device = rig->cl_device});
    const bool of_platform = check_versions(&(struct subject){.platform = rig->platform});
    char version[128] = "";
    CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_VERSION, sizeof(version), version, NULL), CL_SUCCESS);
    if (!of_device && !of_platform)
        SKIP("the OpenCL below has no list with versions");
        /* What is OpenCL 3.0 has both. Under Wine a device tells 3.0, but Wine's own functions stop at 1.2. */
#ifndef _WIN32
    if (strncmp(version, "OpenCL 3", 8) == 0)
        CHECK(of_device && of_platform);
#endif
}

/* ---- functions by name ---- */

enum { FUNCTIONS = 6 };

/* With the number of the version, and KHR or NV behind them. */
static const char *const function_names[FUNCTIONS] = {
    "clGetDeviceIDsFromD3D%d%s",    "clCreateFromD3D%dBuffer%s",      "clCreateFromD3D%dTexture2D%s",
    "clCreateFromD3D%dTexture3D%s", "clEnqueueAcquireD3D%dObjects%s", "clEnqueueReleaseD3D%dObjects%s",
};

/* Some programs ask the library and not OpenCL. */
static bool find_functions(const struct rig *rig, const char *suffix, void *found[FUNCTIONS])
{
    bool all = true;
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[64];
        snprintf(name, sizeof(name), function_names[i], rig->api->version, suffix);
        found[i] = clGetExtensionFunctionAddressForPlatform(rig->platform, name);
        all = CHECK(found[i] != NULL) && all;
        for (int k = 0; k < i; k++)
            CHECK(found[i] != found[k]);
        /* The deprecated way leads to the same function. */
        CHECK(clGetExtensionFunctionAddress(name) == found[i]);
        CHECK(clGetExtensionFunctionAddressForPlatform(NULL, name) == NULL);
#ifdef _WIN32
        CHECK(strcmp(suffix, "NV") == 0 || GetProcAddress(GetModuleHandleA("OpenCL.dll"), name) != NULL);
#endif
    }
    return all;
}

/* NVIDIA's names are those of the same functions. A program may take some by one name and some by the other. */
OBJECTS_CASE("functions by name, also NVIDIA's", functions_by_name, 0)
{
    static const char *const none[] = {"clGetDeviceIDsFromD3D12KHR", "clCreateFromD3D11Texture1DKHR",
                                       "clGetDeviceIDsFromD3D11KH", "clNoSuchFunctionKHR", ""};
    void *khronos[FUNCTIONS], *nvidia[FUNCTIONS];
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, none[i]) == NULL);
        CHECK(clGetExtensionFunctionAddress(none[i]) == NULL);
    }
    if (!find_functions(rig, "KHR", khronos) || !find_functions(rig, "NV", nvidia))
        return;
    struct rig other = *rig;
    cl_device_id device = NULL;
    memcpy(&other.get_device_ids, &nvidia[0], sizeof(void *));
    memcpy(&other.create_buffer, &nvidia[1], sizeof(void *));
    memcpy(&other.create_2d, &nvidia[2], sizeof(void *));
    memcpy(&other.create_3d, &nvidia[3], sizeof(void *));
    memcpy(&other.acquire, &nvidia[4], sizeof(void *));
    memcpy(&other.release, &nvidia[5], sizeof(void *));
    CHECK_INT(
        other.get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 1, &device, NULL),
        CL_SUCCESS);
    CHECK(device != NULL);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_open(&other, (enum kind)kind, 1, &shared))
            continue;
        CHECK(round_trip(&other, &shared, 1, 2));
        memcpy(&other.release, &khronos[5], sizeof(void *));
        CHECK(round_trip(&other, &shared, 2, 3));
        memcpy(&other.release, &nvidia[5], sizeof(void *));
        CHECK(round_trip(rig, &shared, 3, 4));
        CHECK(round_trip(&other, &all[kind], 1 + kind, 9));
        shared_close(&shared);
    }
}

/* ---- programs ---- */

/* PoCL's kernels tell it only if the program was built for it; the others always do. */
static void tells_access(cl_program program)
{
    cl_int status;
    cl_kernel_arg_access_qualifier access = 0;
    cl_kernel kernel = clCreateKernel(program, "look", &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    CHECK_INT(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL), CL_SUCCESS);
    CHECK_INT(access, CL_KERNEL_ARG_ACCESS_READ_ONLY);
    clReleaseKernel(kernel);
}

SHARING_CASE("programs: kernels tell what they read, options are as given", kernels_tell_their_access, 0)
{
    static const char *const options[] = {NULL, "", "-DX=1", "-cl-kernel-arg-info", "-DX=1 -cl-kernel-arg-info"};
    const char *source = "kernel void look(read_only image2d_t image, global float *to)"
                         "{ *to = read_imagef(image, (int2)(0, 0)).x; }";
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        cl_int status;
        char found[256] = "?";
        size_t size = 0;
        cl_program program = clCreateProgramWithSource(rig->context, 1, &source, NULL, &status);
        CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, options[i], NULL, NULL), CL_SUCCESS);
        tells_access(program);
        CHECK_INT(clGetProgramBuildInfo(program, rig->cl_device, CL_PROGRAM_BUILD_OPTIONS, sizeof(found), found, &size),
                  CL_SUCCESS);
        CHECK_STR(found, options[i] ? options[i] : "");
        CHECK_INT(size, strlen(found) + 1);
        clReleaseProgram(program);
    }
}

/* Builds `text`, which may ask for the macro that programs of contexts with interop are built with; and what the build's options are
 * afterwards. */
static void builds(const struct rig *rig, cl_context context, const char *text, const char *options)
{
    cl_int status;
    char found[256] = "?";
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, options, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clGetProgramBuildInfo(program, rig->cl_device, CL_PROGRAM_BUILD_OPTIONS, sizeof(found), found, NULL),
              CL_SUCCESS);
    CHECK_STR(found, options);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

/* Programs without interop are built as the application says, also where the context has properties that cld3d follows. */
SHARING_CASE("programs: only those of a context with interop are built for it", programs_know_interop, 0)
{
    static const char with[] = "#ifndef __CLD3D__\n#error no interop\n#endif\nkernel void k(global int *to) {}\n";
    static const char without[] = "#ifdef __CLD3D__\n#error interop\n#endif\nkernel void k(void) {}\n";
    const cl_context_properties synchronised[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                                  CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};
    cl_int status = 1;
    cl_context plain = plain_context(rig),
               user = clCreateContext(synchronised, 1, &rig->cl_device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    builds(rig, rig->context, with, "-DX=1");
    builds(rig, plain, without, "-DX=1");
    builds(rig, user, without, "-DX=1");
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    CHECK_INT(clReleaseContext(user), CL_SUCCESS);
}

static void CL_CALLBACK count_calls(cl_program program, void *data)
{
    (void)program;
    atomic_fetch_add((atomic_int *)data, 1);
}

/* Whatever becomes of a build, its callback is called once. */
SHARING_CASE("programs: the callback of a build comes once", built_once, 0)
{
    static const char *const options[] = {"-DX=1", "-not-an-option"};
    const char *sources[] = {"kernel void k(global int *to) {}", "kernel void k(global int *to) { none }"};
    for (int i = 0; i < 4; i++) {
        atomic_int calls = 0;
        cl_int status;
        cl_program program = clCreateProgramWithSource(rig->context, 1, &sources[i / 2], NULL, &status);
        const cl_int built = clBuildProgram(program, 1, &rig->cl_device, options[i % 2], count_calls, &calls);
        for (int k = 0; k < 60000 && built == CL_SUCCESS && !atomic_load(&calls); k++)
            pause_ms(1);
        pause_ms(20);
        CHECK(atomic_load(&calls) <= 1);
        CHECK_INT(atomic_load(&calls) == 1 || built != CL_SUCCESS, true);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    }
}

TAP_MAIN
