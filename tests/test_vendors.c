/* What vendors' drivers have beside the Khronos extensions, over the same core: NVIDIA's names of the functions
 * (cl_nv_d3d10_sharing, cl_nv_d3d11_sharing) and Intel's query of formats (cl_intel_sharing_format_query). */
#include "sharing.h"

#include <CL/cl_ext.h>

static bool lists(const struct rig *rig, const char *extension)
{
    static char text[65536];
    size_t size = 0;
    text[0] = ' ';
    if (!CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_EXTENSIONS, sizeof(text) - 2, text + 1, &size),
                   CL_SUCCESS))
        return false;
    CHECK_INT(size, strlen(text + 1) + 1);
    strcat(text, " ");
    char word[64];
    snprintf(word, sizeof(word), " %s ", extension);
    return strstr(text, word) != NULL;
}

static void *find(const struct rig *rig, const char *format)
{
    char name[64];
    snprintf(name, sizeof(name), format, rig->api->version);
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, name);
    CHECK(address != NULL);
    CHECK(clGetExtensionFunctionAddress(name) == address);
    return address;
}

/* ---- NVIDIA's names ---- */

/* The rig with the functions that a program of cl_nv_d3d1x_sharing asks for. */
static bool take_nv_functions(struct rig *rig)
{
    void *const found[] = {
        find(rig, "clGetDeviceIDsFromD3D%dNV"),      find(rig, "clCreateFromD3D%dBufferNV"),
        find(rig, "clCreateFromD3D%dTexture2DNV"),   find(rig, "clCreateFromD3D%dTexture3DNV"),
        find(rig, "clEnqueueAcquireD3D%dObjectsNV"), find(rig, "clEnqueueReleaseD3D%dObjectsNV"),
    };
    for (int i = 0; i < 6; i++)
        if (!found[i])
            return false;
    memcpy(&rig->get_device_ids, &found[0], sizeof(void *));
    memcpy(&rig->create_buffer, &found[1], sizeof(void *));
    memcpy(&rig->create_2d, &found[2], sizeof(void *));
    memcpy(&rig->create_3d, &found[3], sizeof(void *));
    memcpy(&rig->acquire, &found[4], sizeof(void *));
    memcpy(&rig->release, &found[5], sizeof(void *));
    return true;
}

SHARING_CASE(nv_names, 0)
{
    char name[64];
    cl_device_id device = NULL;
    cl_uint count = 0;
    struct shared all[KINDS];
    snprintf(name, sizeof(name), "cl_nv_d3d%d_sharing", rig->api->version);
    CHECK(lists(rig, name));
    if (!take_nv_functions(rig))
        return;
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 1, &device, &count),
        CL_SUCCESS);
    CHECK(count >= 1 && device != NULL);
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 20 + (unsigned)kind));
    shared_close_all(all);
}

/* A program that takes some functions by one name and some by the other. */
SHARING_CASE(nv_and_khr_names, 0)
{
    struct shared shared;
    const rig_enqueue khr_acquire = rig->acquire, khr_release = rig->release;
    if (!shared_open(rig, KIND_2D, 1, &shared) || !take_nv_functions(rig))
        return;
    rig->acquire = khr_acquire;
    CHECK(round_trip(rig, &shared, 1, 2));
    take_nv_functions(rig);
    rig->release = khr_release;
    CHECK(round_trip(rig, &shared, 2, 3));
    CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
    shared_close(&shared);
}

/* ---- Intel's query of formats ---- */

/* Direct3D 10 has no planar textures for Intel, so its function has no plane. */
typedef cl_int(CL_API_CALL *get_formats_11)(cl_context, cl_mem_flags, cl_mem_object_type, cl_uint, cl_uint,
                                            DXGI_FORMAT *, cl_uint *);
typedef cl_int(CL_API_CALL *get_formats_10)(cl_context, cl_mem_flags, cl_mem_object_type, cl_uint, DXGI_FORMAT *,
                                            cl_uint *);

static cl_int query(const struct rig *rig, cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                    cl_uint plane, cl_uint room, DXGI_FORMAT *formats, cl_uint *count)
{
    void *address = find(rig, "clGetSupportedD3D%dTextureFormatsINTEL");
    get_formats_10 of_10;
    get_formats_11 of_11;
    memcpy(&of_10, &address, sizeof(of_10));
    memcpy(&of_11, &address, sizeof(of_11));
    if (!address)
        return -4711;
    return rig->api->version == 10 ? of_10(context, flags, type, room, formats, count)
                                   : of_11(context, flags, type, plane, room, formats, count);
}

enum { ROOM = 128 };

static cl_uint list_formats(const struct rig *rig, cl_mem_object_type type, cl_uint plane, DXGI_FORMAT formats[ROOM])
{
    cl_uint count = 0, again = 0;
    if (!CHECK_INT(query(rig, rig->context, CL_MEM_READ_WRITE, type, plane, 0, NULL, &count), CL_SUCCESS) ||
        !CHECK(count <= ROOM))
        return 0;
    if (count)
        CHECK_INT(query(rig, rig->context, CL_MEM_READ_WRITE, type, plane, ROOM, formats, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    for (cl_uint i = 0; i < count; i++)
        for (cl_uint k = 0; k < i; k++)
            CHECK(formats[i] != formats[k]);
    return count;
}

static bool has(const DXGI_FORMAT *formats, cl_uint count, DXGI_FORMAT format)
{
    for (cl_uint i = 0; i < count; i++)
        if (formats[i] == format)
            return true;
    return false;
}

static bool is_planar(DXGI_FORMAT format)
{
    return format == DXGI_FORMAT_NV12 || format == DXGI_FORMAT_P010 || format == DXGI_FORMAT_P016;
}

/* All that is listed can be shared, if Direct3D makes such textures. The planar ones have a program of their own. */
static void check_listed(const struct rig *rig, enum kind kind, const DXGI_FORMAT *formats, cl_uint count)
{
    for (cl_uint i = 0; i < count; i++) {
        struct rig_desc desc = {.format = formats[i], .width = 8, .height = 4, .depth = kind == KIND_3D ? 2 : 0};
        HRESULT result;
        void *texture = is_planar(formats[i]) ? NULL : rig_make(rig, rig->device, &desc, &result);
        cl_int status = 1;
        if (!texture)
            continue;
        cl_mem object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, kind, texture, 0, &status);
        if (CHECK_INT(status, CL_SUCCESS) && CHECK(object != NULL))
            clReleaseMemObject(object);
        else
            printf("# with format %d\n", (int)formats[i]);
        rig_release(texture);
    }
}

SHARING_CASE(listed_formats, 0)
{
    static const DXGI_FORMAT some[] = {DXGI_FORMAT_R32G32B32A32_FLOAT, DXGI_FORMAT_B8G8R8A8_UNORM,
                                       DXGI_FORMAT_R8G8_UNORM, DXGI_FORMAT_R16_SNORM, DXGI_FORMAT_R8_UINT};
    DXGI_FORMAT formats[ROOM];
    cl_uint count = list_formats(rig, CL_MEM_OBJECT_IMAGE2D, 0, formats);
    CHECK(lists(rig, "cl_intel_sharing_format_query"));
    CHECK(count >= 37);
    for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        CHECK(has(formats, count, some[i]));
    CHECK(has(formats, count, DXGI_FORMAT_NV12) == (rig->api->version == 11)); /* that of 10 has no plane */
    CHECK(!has(formats, count, DXGI_FORMAT_D32_FLOAT));
    CHECK(!has(formats, count, DXGI_FORMAT_UNKNOWN));
    check_listed(rig, KIND_2D, formats, count);
    count = list_formats(rig, CL_MEM_OBJECT_IMAGE3D, 0, formats);
    CHECK(count >= 37);
    CHECK(!has(formats, count, DXGI_FORMAT_NV12));
    check_listed(rig, KIND_3D, formats, count);
}

SHARING_CASE(planes, 0)
{
    DXGI_FORMAT formats[ROOM];
    CHECK_INT(list_formats(rig, CL_MEM_OBJECT_IMAGE1D, 0, formats), 0);
    if (rig->api->version == 10)
        return;
    cl_uint count = list_formats(rig, CL_MEM_OBJECT_IMAGE2D, 1, formats);
    CHECK(has(formats, count, DXGI_FORMAT_NV12) == (rig->api->version == 11)); /* that of 10 has no plane */
    CHECK(has(formats, count, DXGI_FORMAT_P010));
    CHECK(!has(formats, count, DXGI_FORMAT_R8G8B8A8_UNORM));
    CHECK_INT(list_formats(rig, CL_MEM_OBJECT_IMAGE2D, 2, formats), 0);
    CHECK_INT(list_formats(rig, CL_MEM_OBJECT_IMAGE3D, 1, formats), 0);
}

SHARING_CASE(query_arguments, 0)
{
    DXGI_FORMAT formats[ROOM] = {DXGI_FORMAT_UNKNOWN};
    cl_uint count = 4711;
    cl_context plain = plain_context(rig);
    if (!plain)
        return;
    CHECK_INT(query(rig, NULL, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, 0, NULL, &count), CL_INVALID_CONTEXT);
    CHECK_INT(query(rig, plain, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, 0, NULL, &count), CL_INVALID_CONTEXT);
    struct rig other;
    if (rig_open(&other, other_api(rig), 0)) {
        CHECK_INT(query(rig, other.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, 0, NULL, &count),
                  CL_INVALID_CONTEXT);
        rig_close(&other);
    }
    CHECK_INT(query(rig, rig->context, 0x4711000, CL_MEM_OBJECT_IMAGE2D, 0, 0, NULL, &count), CL_INVALID_VALUE);
    CHECK_INT(query(rig, rig->context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_OBJECT_IMAGE2D, 0, 0, NULL, &count),
              CL_INVALID_VALUE);
    CHECK_INT(query(rig, rig->context, CL_MEM_READ_WRITE, 0x4711, 0, 0, NULL, &count), CL_INVALID_VALUE);
    CHECK_INT(query(rig, rig->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, 0, formats, &count),
              CL_INVALID_VALUE);
    CHECK_INT(query(rig, rig->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(count, 4711);
    CHECK_INT(query(rig, rig->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, 2, formats, NULL), CL_SUCCESS);
    CHECK(formats[0] != DXGI_FORMAT_UNKNOWN && formats[1] != DXGI_FORMAT_UNKNOWN);
    CHECK_INT(formats[2], DXGI_FORMAT_UNKNOWN);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

static const struct tap_test tests[] = {
    SHARING_TESTS("NVIDIA's names: a way there and back with each kind", nv_names),
    SHARING_TESTS("NVIDIA's names beside Khronos'", nv_and_khr_names),
    SHARING_TESTS("Intel's query: what is listed can be shared", listed_formats),
    SHARING_TESTS("Intel's query: planes and kinds of images", planes),
    SHARING_TESTS("Intel's query: arguments", query_arguments),
};

TAP_MAIN(tests)
