/* What vendors' drivers have beside the Khronos extensions, over the same core: NVIDIA's names of the functions
 * (cl_nv_d3d10_sharing, cl_nv_d3d11_sharing). */
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

OBJECTS_CASE("NVIDIA's names: a way there and back with each kind", nv_names, 0)
{
    char name[64];
    cl_device_id device = NULL;
    cl_uint count = 0;
    snprintf(name, sizeof(name), "cl_nv_d3d%d_sharing", rig->api->version);
    CHECK(lists(rig, name));
    if (!take_nv_functions(rig))
        return;
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->all_set, 1, &device, &count),
        CL_SUCCESS);
    CHECK(count >= 1 && device != NULL);
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 20 + (unsigned)kind));
}

/* A program that takes some functions by one name and some by the other. */
SHARING_CASE("NVIDIA's names beside Khronos'", nv_and_khr_names, 0)
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

TAP_MAIN
