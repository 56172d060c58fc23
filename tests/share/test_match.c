/* Which OpenCL devices are preferred for a Direct3D adapter: those that are its hardware, by LUID, else by vendor and name.
 * And what no device of the tests' machine shows by itself: several of one platform with room for fewer, one without
 * images, one without the formats, one without memory.
 *
 * Two real devices (PoCL makes as many as it is told) under a layer that makes them look as graphics cards (disguise.c),
 * and adapters of the fake Direct3D. The cases with "cards" in their names are run again with the looks they need. */
#include "common/dx9.h"
#include "disguise.h"
#include "fake_d3d.h"
#include "sharing.h"

#include <dlfcn.h>

#define VENDOR 0x1002

/* DXVK's DXGI in the loader's reach, which the program has not loaded. */
CASE("no DXGI is loaded for a LUID", luid_loads_nothing)
{
    char folder[512];
    const char *library = getenv("CLD3D_TEST_UNUSED_DXGI");
    if (!CHECK(library != NULL) || !CHECK(strlen(library) < sizeof(folder)))
        return;
    strcpy(folder, library);
    *strrchr(folder, '/') = '\0';
    CHECK_INT(run_again("unused DXGI: ", "LD_LIBRARY_PATH", folder), 1);
}

/* The first device has no LUID. */
static void ask_for_luid(void)
{
    enum { LUID_VALID = 0x106C }; /* CL_DEVICE_LUID_VALID_KHR */
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_bool valid = CL_TRUE;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceInfo(device, LUID_VALID, sizeof(valid), &valid, NULL), CL_SUCCESS);
    CHECK_INT(valid, CL_FALSE);
}

CASE("unused DXGI: the query of a LUID", unused_dxgi)
{
    ask_for_luid();
    CHECK(getenv("CLD3D_TEST_DXGI_LOADED") == NULL);
}

/* The program has loaded DXGI. Windows allows no process to use a factory of 1.0 beside those of 1.1. */
CASE("the adapters are those of DXGI 1.1", later_factory)
{
    const char *file = getenv("CLD3D_TEST_UNUSED_DXGI");
    void *dxgi = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!CHECK(dxgi != NULL))
        return;
    ask_for_luid();
    const char *asked = getenv("CLD3D_TEST_DXGI_FACTORY");
    CHECK_STR(asked ? asked : "none", "1.1");
    dlclose(dxgi);
}

/* Looks of two devices: vendor, LUID, name; and what then is so. */
static const struct {
    const char *cases, *looks;
} all_looks[] = {
    {"cards: the second", "1002:29:Radeon RX 6800;1234:2a:Something else"}, /* the LUID tells */
    /* The name tells among devices of one vendor. */
    {"cards: the second",
     "1002:0:AMD Radeon Graphics (raphael_mendocino);1002:0:AMD Radeon RX 6800 (radeonsi, navi21)"},
    {"cards: the second", "1002:0:whatever;10de:0:AMD(R) Radeon(C) RX 6800 (C)"},
    {"cards: the second", "1002:0:AMD Radeon RX 6800 XT (navi21);1002:0:AMD Radeon RX 6800 (radeonsi, navi21)"},
    {"cards: the second", "1002:0:AMD Radeon(tm) Graphics;1002:0:AMD Radeon(tm) RX 6800"},
    /* Without a name all of the vendor. */
    {"cards: both", "1002:0:whatever;1002:0:something"},
    {"cards: both", "1002:0:(gfx1030);1002:0:(R)"},
    /* ROCm names its devices after instruction sets, and tells which they are on the bus. */
    {"cards: the second", "1002:0:gfx1036;1002:0:gfx1030"},
    /* A rasteriser is no device's hardware, whatever vendor and name say. */
    {"cards: a rasteriser", "1414:0:Some card;1002:0:Some card"},
    /* Where no device is the hardware and none is a CPU, programs that take only preferred ones still get some. */
    {"cards: both", "1002:29:AMD Radeon RX 6800;1002:28:AMD Radeon RX 6800"},
    {"cards: the second", "1002:29:AMD Radeon RX 6800;1002:0:whatever"}, /* another LUID is another card */
    {"cards: both", "10de:0:NVIDIA H200;8086:0:Intel Arc"},
    {"cards: the second", "10de:0:NVIDIA H200"}, /* the second is a CPU, not in disguise */
    /* A CPU is no adapter's hardware, though it is of the same vendor and has the adapter's name. */
    {"cards: the second", "1002:0:CPU of the vendor;1002:0:gfx1036"},
    {"cards: the second", "10de:0:NVIDIA H200;1002:0:CPU AMD Radeon RX 6800"},
    /* A name that only holds the other one counts among one vendor's devices. */
    {"cards: the first", "1002:0:whatever;10de:0:Radeon RX 6800"},
    /* DXVK shows NVIDIA's cards as AMD's, with their own names. */
    {"cards: the second", "10de:0:NVIDIA H200;10de:0:AMD Radeon RX 6800"},
    {"cards: the second", "1002:0:whatever;10de:0:AMD Radeon RX 6800"},
    /* Mesa's OpenCL over Vulkan puts the name in brackets. */
    {"cards: the second", "1002:0:whatever;10de:0:zink Vulkan 1.3(AMD Radeon RX 6800 (NVK) (MESA_NVK))"},
    {"cards: the second",
     "1002:0:zink without a name;1002:0:zink Vulkan 1.3(AMD Radeon RX 6800 (RADV NAVI21) (MESA_RADV))"},
    /* Plain Direct3D 9 tells no LUID. */
    {"cards, DX9: by LUID or name", "1002:29:AMD Radeon RX 6800;1234:2a:Something else"},
    /* The wrong card has the name that is shown. */
    {"cards, DX9: hidden", "1002:0:AMD Radeon RX 6700 XT;8086:0:Intel(R) Graphics"},
    {"cards, DX9: two adapters", "1002:0:gfx1030;10de:0:whatever"},
    /* Devices without images, and without the formats. */
    {"cards: one without images", "1002:0:gfx1030;1002:0:Blind"},
    {"cards: one without images", "1002:0:gfx1030;1002:0:Gone"},
    {"cards, DX9: one without images", "1002:0:gfx1030;1002:0:Blind"},
    {"cards, DX9: one without images", "1002:0:gfx1030;1002:0:Gone"},
    {"cards: no format", "1002:0:Formatless;1002:0:gfx1036"},
    {"cards: no format", "1002:0:Imageless;1002:0:gfx1036"},
    {"cards, DX9: no format", "1002:0:Formatless;1002:0:gfx1036"},
};

CASE("devices that look in each way", each_look)
{
    const char *vendors = getenv("OCL_ICD_VENDORS");
    if (!vendors || !strstr(vendors, "pocl")) {
        SKIP("needs a driver that makes several devices");
        return;
    }
    for (size_t i = 0; i < sizeof(all_looks) / sizeof(all_looks[0]); i++) {
        test_setenv("POCL_DEVICES", "basic pthread");
        test_setenv(DRESSED_VARIABLE, all_looks[i].looks);
        if (!CHECK_INT(run_over("CLD3D_TEST_DISGUISE", all_looks[i].cases), 2))
            printf("# that was %s, %s\n", all_looks[i].cases, all_looks[i].looks);
        test_setenv(DRESSED_VARIABLE, NULL);
        test_setenv("POCL_DEVICES", NULL);
    }
}

/* ---- what is asked of the looks ---- */

static void preferred_are(struct rig *rig, bool first, bool second)
{
    cl_device_id all[2], found[2] = {NULL, NULL};
    cl_uint count = 0;
    if (!is_child(DRESSED_VARIABLE))
        return;
    const struct fake_d3d_adapter adapter = {"AMD Radeon(TM) RX 6800 (RADV NAVI21)", VENDOR, 0x73bf, {0x2a, 0}};
    fake_d3d_set_adapters(1, &adapter);
    void *device = rig_another_device(rig);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 2, all, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    const cl_int status =
        rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->preferred_set, 2, found, &count);
    CHECK_INT(status, first || second ? CL_SUCCESS : CL_DEVICE_NOT_FOUND);
    CHECK_INT(count, (first ? 1 : 0) + (second ? 1 : 0));
    if (first || second)
        CHECK(found[0] == (first ? all[0] : all[1]));
    if (first && second)
        CHECK(found[1] == all[1]);
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->all_set, 2, found, &count),
              CL_SUCCESS);
    CHECK_INT(count, 2);
    rig_release(device);
}

SHARING_CASE("cards: the first", first, 0)
{
    preferred_are(rig, true, false);
}

SHARING_CASE("cards: the second", second, 0)
{
    preferred_are(rig, false, true);
}

SHARING_CASE("cards: both", both, 0)
{
    preferred_are(rig, true, true);
}

SHARING_CASE("cards: a rasteriser", rasteriser, 0)
{
    static const struct fake_d3d_adapter all[] = {
        {"Some card", 0x1414, 0x8d, {0x2a, 0}},
        {"Some card", 0x1414, 0x8c, {0x2a, 0}},
        {"Some card (llvmpipe)", 0x1414, 1, {0x2a, 0}},
        {"Some card (softpipe)", 0x1414, 1, {0x2a, 0}},
        {"Some card (SwiftShader)", 0x1414, 1, {0x2a, 0}},
    };
    if (!is_child(DRESSED_VARIABLE))
        return;
    test_setenv(DRESSED_VARIABLE, "1414:0:Some card;1002:0:Another");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cl_device_id found[2];
        cl_uint count = 0;
        fake_d3d_set_adapters(1, &all[i]);
        void *device = rig_another_device(rig);
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->preferred_set, 2, found,
                                      &count),
                  CL_SUCCESS);
        CHECK_INT(count, i ? 2 : 1); /* the first is no rasteriser */
        rig_release(device);
    }
}

/* ---- Direct3D 9 ---- */

/* A device on one of the adapters that the fake Direct3D has now. */
static IDirect3DDevice9 *device_on(UINT adapter, bool extended)
{
    D3DPRESENT_PARAMETERS parameters = {.BackBufferWidth = 64,
                                        .BackBufferHeight = 64,
                                        .Windowed = TRUE,
                                        .BackBufferFormat = D3DFMT_X8R8G8B8,
                                        .SwapEffect = D3DSWAPEFFECT_DISCARD};
    const DWORD flags = D3DCREATE_HARDWARE_VERTEXPROCESSING;
    IDirect3D9 *d3d9 = NULL;
    IDirect3DDevice9 *device = NULL;
    if (extended)
        CHECK_INT(Direct3DCreate9Ex(D3D_SDK_VERSION, (IDirect3D9Ex **)&d3d9), S_OK);
    else
        d3d9 = Direct3DCreate9(D3D_SDK_VERSION);
    if (extended)
        IDirect3D9Ex_CreateDeviceEx((IDirect3D9Ex *)d3d9, adapter, D3DDEVTYPE_HAL, NULL, flags, &parameters, NULL,
                                    (IDirect3DDevice9Ex **)&device);
    else
        IDirect3D9_CreateDevice(d3d9, adapter, D3DDEVTYPE_HAL, NULL, flags, &parameters, &device);
    CHECK(device != NULL);
    rig_release(d3d9);
    return device;
}

/* The devices for a list of adapters: how many, and the first one. */
static cl_int ask_dx9(const struct dx9 *dx9, cl_uint count, IDirect3DDevice9 *const *adapters, cl_uint set,
                      cl_device_id *first, cl_uint *found)
{
    cl_uint types[2] = {dx9->adapter_type, dx9->adapter_type};
    cl_device_id devices[2] = {NULL, NULL};
    const cl_int status =
        dx9->get_device_ids(dx9->rig.platform, count, types, (void *)adapters, set, 2, devices, found);
    *first = devices[0];
    return status;
}

static cl_int ask_intel(const struct dx9 *dx9, IDirect3DDevice9 *device, cl_uint set, cl_device_id *first,
                        cl_uint *found)
{
    clGetDeviceIDsFromDX9INTEL_fn function;
    void *address = clGetExtensionFunctionAddressForPlatform(dx9->rig.platform, "clGetDeviceIDsFromDX9INTEL");
    memcpy(&function, &address, sizeof(address));
    return function(dx9->rig.platform, dx9->extended ? CL_D3D9EX_DEVICE_INTEL : CL_D3D9_DEVICE_INTEL, device, set, 1,
                    first, found);
}

static const cl_uint dx9_preferred = CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
                     dx9_all = CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR;

/* What a plain device does not tell can't speak against its hardware: vendor and name do. */
DX9_CASE("cards, DX9: by LUID or name", dx9_luid, RIG_NO_CONTEXT)
{
    cl_device_id all[2], found;
    cl_uint count = 0;
    if (!is_child(DRESSED_VARIABLE))
        return;
    const struct fake_d3d_adapter adapter = {"AMD Radeon(TM) RX 6800", VENDOR, 0x73bf, {0x2a, 0}};
    fake_d3d_set_adapters(1, &adapter);
    IDirect3DDevice9 *device = device_on(0, dx9->extended);
    CHECK_INT(clGetDeviceIDs(dx9->rig.platform, CL_DEVICE_TYPE_ALL, 2, all, NULL), CL_SUCCESS);
    CHECK_INT(ask_dx9(dx9, 1, &device, dx9_preferred, &found, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(found == all[dx9->extended ? 1 : 0]);
    /* Intel's function gives the same, and both devices where all are asked for. */
    CHECK_INT(ask_intel(dx9, device, CL_PREFERRED_DEVICES_FOR_DX9_INTEL, &found, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(found == all[dx9->extended ? 1 : 0]);
    CHECK_INT(ask_intel(dx9, device, CL_ALL_DEVICES_FOR_DX9_INTEL, &found, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    rig_release(device);
}

static cl_device_id preferred_with(const struct dx9 *dx9, IDirect3DDevice9 *device, unsigned vendor)
{
    char uuid[sizeof(GUID)] = "";
    GUID identifier;
    cl_device_id found;
    cl_uint count = 0;
    snprintf(uuid, sizeof(uuid), LOOK_UUID, vendor);
    memcpy(&identifier, uuid, sizeof(identifier));
    fake_d3d_set_identifier(identifier);
    CHECK_INT(ask_dx9(dx9, 1, &device, dx9_preferred, &found, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    return found;
}

/* DXVK shows Intel's GPUs as a card of AMD, and the UUID of the Vulkan device as the adapter's identifier. Another
 * Direct3D's identifier is no device's UUID, and says nothing against any. */
DX9_CASE("cards, DX9: hidden", dx9_hides, RIG_NO_CONTEXT)
{
    cl_device_id all[2];
    if (!is_child(DRESSED_VARIABLE))
        return;
    const struct fake_d3d_adapter adapter = {"AMD Radeon RX 6700 XT", VENDOR, 0x73df, {0x2a, 0}};
    fake_d3d_set_adapters(1, &adapter);
    IDirect3DDevice9 *device = device_on(0, dx9->extended);
    CHECK_INT(clGetDeviceIDs(dx9->rig.platform, CL_DEVICE_TYPE_ALL, 2, all, NULL), CL_SUCCESS);
    CHECK(preferred_with(dx9, device, 0x8086) == all[1]);
    CHECK(preferred_with(dx9, device, VENDOR) == all[0]);
    CHECK(preferred_with(dx9, device, 0x10de) == all[0]);
    rig_release(device);
}

/* What is preferred for a list of adapters is so for each of them. */
DX9_CASE("cards, DX9: two adapters", dx9_two_adapters, RIG_NO_CONTEXT)
{
    cl_device_id all[2], found;
    cl_uint count = 0;
    if (!is_child(DRESSED_VARIABLE))
        return;
    const struct fake_d3d_adapter cards[] = {{"Some card", VENDOR, 0x73bf, {0x2a, 0}},
                                             {"Another", 0x10de, 0x2684, {0x2b, 0}}};
    fake_d3d_set_adapters(2, cards);
    IDirect3DDevice9 *first = device_on(0, dx9->extended), *second = device_on(1, dx9->extended);
    IDirect3DDevice9 *const lists[][2] = {{first, first}, {second, second}, {first, second}, {second, first}};
    CHECK_INT(clGetDeviceIDs(dx9->rig.platform, CL_DEVICE_TYPE_ALL, 2, all, NULL), CL_SUCCESS);
    for (int i = 0; i < 4; i++) {
        const bool same = i < 2;
        CHECK_INT(ask_dx9(dx9, 2, lists[i], dx9_preferred, &found, &count), same ? CL_SUCCESS : CL_DEVICE_NOT_FOUND);
        CHECK_INT(count, same ? 1 : 0);
        CHECK(found == (same ? all[i] : NULL));
        CHECK_INT(ask_dx9(dx9, 2, lists[i], dx9_all, &found, &count), CL_SUCCESS);
        CHECK_INT(count, 2);
    }
    rig_release(first);
    rig_release(second);
}

/* ---- a device without images beside one that has them ---- */

static bool string_lists(cl_platform_id platform, cl_device_id device, const char *extension)
{
    static char text[65536];
    const cl_int status = device ? clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL)
                                 : clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL);
    return CHECK_INT(status, CL_SUCCESS) && strstr(text, extension);
}

static bool version_lists(cl_platform_id platform, cl_device_id device, const char *extension)
{
    static cl_name_version list[512];
    size_t size = 0;
    const cl_int status =
        device ? clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size)
               : clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size);
    CHECK_INT(status, CL_SUCCESS);
    for (size_t i = 0; i < size / sizeof(list[0]); i++)
        if (strcmp(list[i].name, extension) == 0)
            return true;
    return false;
}

/* A platform lists what all its devices list. */
static void check_strings(cl_platform_id platform, const cl_device_id devices[2], const char *extension)
{
    CHECK(string_lists(platform, devices[0], extension));
    CHECK(version_lists(platform, devices[0], extension));
    CHECK(!string_lists(platform, devices[1], extension));
    CHECK(!version_lists(platform, devices[1], extension));
    CHECK(!string_lists(platform, NULL, extension));
    CHECK(!version_lists(platform, NULL, extension));
}

/* No context in which one of the devices can't share; nothing of Direct3D is kept by the refusal. */
static void check_contexts(cl_platform_id platform, const cl_device_id devices[2], cl_context_properties property,
                           void *d3d_device, cl_int code)
{
    const cl_context_properties plain[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0},
                                sharing[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, property,
                                             (cl_context_properties)d3d_device, 0};
    const ULONG refs = rig_refs(d3d_device);
    cl_int status = 1;
    cl_context context = clCreateContext(sharing, 1, &devices[0], NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK(clCreateContext(sharing, 1, &devices[1], NULL, NULL, &status) == NULL);
    CHECK_INT(status, code);
    CHECK(clCreateContext(sharing, 2, devices, NULL, NULL, &status) == NULL);
    CHECK_INT(status, code);
    CHECK(clCreateContextFromType(sharing, CL_DEVICE_TYPE_ALL, NULL, NULL, &status) == NULL);
    CHECK_INT(status, code);
    CHECK_INT(rig_refs(d3d_device), refs);
    /* Without interop they are as good as any. */
    const cl_context_properties null[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, property, 0, 0};
    for (int i = 0; i < 2; i++) {
        context = clCreateContext(i ? null : plain, 2, devices, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
}

SHARING_CASE("cards: one without images", one_blind, RIG_NO_CONTEXT)
{
    const cl_uint sets[] = {rig->api->preferred_set, rig->api->all_set};
    cl_device_id devices[2] = {NULL, NULL}, found = NULL;
    cl_uint count = 0;
    if (!is_child(DRESSED_VARIABLE))
        return;
    const struct fake_d3d_adapter adapter = {"Some card", VENDOR, 0x73bf, {0x2a, 0}};
    fake_d3d_set_adapters(1, &adapter);
    void *device = rig_another_device(rig);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL), CL_SUCCESS);
    for (int s = 0; s < 2; s++) {
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, device, sets[s], 1, &found, &count),
                  CL_SUCCESS);
        CHECK_INT(count, 1);
        CHECK(found == devices[0]);
    }
    check_strings(rig->platform, devices, rig->api->extension);
    check_contexts(rig->platform, devices, rig->api->context_device, device, rig->api->invalid_device);
    rig_release(device);
}

DX9_CASE("cards, DX9: one without images", dx9_one_blind, RIG_NO_CONTEXT)
{
    cl_device_id devices[2] = {NULL, NULL}, found;
    cl_uint count = 0;
    if (!is_child(DRESSED_VARIABLE))
        return;
    CHECK_INT(clGetDeviceIDs(dx9->rig.platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL), CL_SUCCESS);
    CHECK_INT(ask_dx9(dx9, 1, &dx9->device, dx9_all, &found, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(found == devices[0]);
    check_strings(dx9->rig.platform, devices, "cl_khr_dx9_media_sharing");
    check_contexts(dx9->rig.platform, devices, dx9->property, dx9->device, CL_INVALID_DX9_MEDIA_ADAPTER_KHR);
}

/* ---- a device that has none of the formats ---- */

/* The extension has one code for a format that is in its table but not in OpenCL. Buffers need no format. */
SHARING_CASE("cards: no format", no_format, 0)
{
    struct shared shared;
    if (!is_child(DRESSED_VARIABLE))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        if (kind == KIND_BUFFER)
            CHECK((shared.object = rig->create_buffer(rig->context, 0, shared.resource, NULL)) != NULL);
        else
            for (int i = 0; i < 2; i++) /* the first refusal keeps nothing */
                refused(rig, rig->context, 0, (enum kind)kind, shared.resource, 0, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        shared_close(&shared);
    }
}

DX9_CASE("cards, DX9: no format", dx9_no_format, 0)
{
    struct dx9_surface s;
    cl_int status = 1;
    if (!is_child(DRESSED_VARIABLE) || !CHECK(dx9_make(&s, dx9, &dx9_formats[0], DX9_PLAIN, 64, 48)))
        return;
    const ULONG refs = rig_refs(s.surface);
    for (UINT p = 0; p < 2; p++) {
        CHECK(dx9_create(dx9, s.context, CL_MEM_READ_WRITE, s.surface, p, &status) == NULL);
        CHECK_INT(status, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    }
    CHECK_INT(rig_refs(s.surface), refs);
    dx9_close_surface(&s);
}

TAP_MAIN
