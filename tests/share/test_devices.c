/* The devices of OpenCL for a device or an adapter of Direct3D, of each version. */
#include "adapters.h"
#include "common/dx9.h"

/* ---- the sides ---- */

/* A device or an adapter, and how devices are asked for it. */
struct side {
    const struct rig *rig; /* platform and device of OpenCL */
    const struct dx9 *dx9; /* of Direct3D 9 */
    cl_uint type;
    void *object;
    cl_int (*ask)(const struct side *, cl_uint set, cl_uint room, cl_device_id *, cl_uint *);
    cl_uint preferred, all;
};

static cl_int ask_d3d1x(const struct side *s, cl_uint set, cl_uint room, cl_device_id *devices, cl_uint *count)
{
    return s->rig->get_device_ids(s->rig->platform, s->type, s->object, set, room, devices, count);
}

static cl_int ask_dx9(const struct side *s, cl_uint set, cl_uint room, cl_device_id *devices, cl_uint *count)
{
    cl_uint type = s->type;
    void *object = s->object;
    return s->dx9->get_device_ids(s->rig->platform, 1, &type, &object, set, room, devices, count);
}

/* AMD's RapidFire passes the device where an array is specified, and one type with a count of three. */
static cl_int ask_rapidfire(const struct side *s, cl_uint set, cl_uint room, cl_device_id *devices, cl_uint *count)
{
    cl_uint type = s->type;
    return s->dx9->get_device_ids(s->rig->platform, 3, &type, s->object, set, room, devices, count);
}

static cl_int ask_intel(const struct side *s, cl_uint set, cl_uint room, cl_device_id *devices, cl_uint *count)
{
    clGetDeviceIDsFromDX9INTEL_fn ask;
    void *address = clGetExtensionFunctionAddressForPlatform(s->dx9->rig.platform, "clGetDeviceIDsFromDX9INTEL");
    memcpy(&ask, &address, sizeof(ask));
    return CHECK(ask != NULL) ? ask(s->rig->platform, s->type, s->object, set, room, devices, count) : 1;
}

static void over_d3d1x(const struct rig *rig, void (*body)(const struct side *))
{
    const struct rig_api *api = rig->api;
    IDXGIAdapter *adapter = adapter_of(rig);
    body(&(struct side){rig, NULL, api->device_source, rig->device, ask_d3d1x, api->preferred_set, api->all_set});
    if (adapter)
        body(&(struct side){rig, NULL, api->adapter_source, adapter, ask_d3d1x, api->preferred_set, api->all_set});
    rig_release(adapter);
}

enum {
    KHRONOS_PREFERRED = CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
    KHRONOS_ALL = CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
    INTEL_PREFERRED = CL_PREFERRED_DEVICES_FOR_DX9_INTEL,
    INTEL_ALL = CL_ALL_DEVICES_FOR_DX9_INTEL,
};

/* FFmpeg names every device as an extended one. */
static void over_dx9(const struct dx9 *dx9, void (*body)(const struct side *))
{
    const cl_uint khronos[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_D3D9EX_KHR},
                  intel[] = {CL_D3D9_DEVICE_INTEL, CL_D3D9EX_DEVICE_INTEL};
    for (int i = 0; i < 2; i++) {
        body(&(struct side){&dx9->rig, dx9, khronos[i], dx9->device, ask_dx9, KHRONOS_PREFERRED, KHRONOS_ALL});
        body(&(struct side){&dx9->rig, dx9, intel[i], dx9->device, ask_intel, INTEL_PREFERRED, INTEL_ALL});
    }
    body(&(struct side){&dx9->rig, dx9, khronos[0], dx9->device, ask_rapidfire, KHRONOS_PREFERRED, KHRONOS_ALL});
}

#define SIDE_CASE(text, name)                        \
    static void name(const struct side *side);       \
    SHARING_CASE(text, name##_d3d1x, RIG_NO_CONTEXT) \
    {                                                \
        over_d3d1x(rig, name);                       \
    }                                                \
    DX9_CASE(text, name##_dx9, RIG_NO_CONTEXT)       \
    {                                                \
        over_dx9(dx9, name);                         \
    }                                                \
    static void name(const struct side *side)

/* ---- the sets ---- */

/* Asks for the count first and for the list then, as programs do. */
static cl_uint list(const struct side *side, cl_uint set, cl_device_id devices[MOST_DEVICES])
{
    cl_uint count = 0, again = 0;
    if (!CHECK_INT(side->ask(side, set, 0, NULL, &count), CL_SUCCESS))
        return 0;
    CHECK(count >= 1 && count <= MOST_DEVICES);
    CHECK_INT(side->ask(side, set, MOST_DEVICES, devices, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    return count;
}

static bool has(const cl_device_id *devices, cl_uint count, cl_device_id device)
{
    for (cl_uint i = 0; i < count; i++)
        if (devices[i] == device)
            return true;
    return false;
}

/* Every device with images may interoperate, through the host's memory at least, and no other one. */
SIDE_CASE("all that have images, and the preferred ones of them", sets)
{
    cl_device_id all[MOST_DEVICES], preferred[MOST_DEVICES], of_platform[MOST_DEVICES];
    cl_uint count = 0;
    const ULONG refs = rig_refs(side->object);
    const cl_uint all_count = list(side, side->all, all), preferred_count = list(side, side->preferred, preferred);
    CHECK(has(all, all_count, side->rig->cl_device));
    for (cl_uint i = 0; i < preferred_count; i++)
        CHECK(has(all, all_count, preferred[i]) && !has(preferred, i, preferred[i]));
    CHECK_INT(clGetDeviceIDs(side->rig->platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, of_platform, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count; i++) {
        cl_bool images = CL_FALSE;
        CHECK_INT(clGetDeviceInfo(of_platform[i], CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL), CL_SUCCESS);
        CHECK_INT(has(all, all_count, of_platform[i]), images);
    }
    for (cl_uint i = 0; i < all_count; i++)
        CHECK(has(of_platform, count, all[i]) && !has(all, i, all[i]));
    CHECK_INT(rig_refs(side->object), refs);
}

static bool same_name(cl_device_id one, cl_device_id other)
{
    char names[2][256] = {"", ""};
    CHECK_INT(clGetDeviceInfo(one, CL_DEVICE_NAME, sizeof(names[0]), names[0], NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceInfo(other, CL_DEVICE_NAME, sizeof(names[1]), names[1], NULL), CL_SUCCESS);
    return strcmp(names[0], names[1]) == 0;
}

/* An adapter tells no UUID: of two equal GPUs it is either, where the device is one. */
SHARING_CASE("those of a device are among those of its adapter", device_and_adapter, RIG_NO_CONTEXT)
{
    const struct rig_api *api = rig->api;
    const cl_uint set[] = {api->preferred_set, api->all_set};
    IDXGIAdapter *adapter = adapter_of(rig);
    for (int i = 0; i < 2 && adapter; i++) {
        cl_device_id by_device[MOST_DEVICES], by_adapter[MOST_DEVICES];
        const struct side of_device = {rig, NULL, api->device_source, rig->device, ask_d3d1x, set[0], set[1]},
                          of_adapter = {rig, NULL, api->adapter_source, adapter, ask_d3d1x, set[0], set[1]};
        const cl_uint count = list(&of_device, set[i], by_device), more = list(&of_adapter, set[i], by_adapter);
        for (cl_uint d = 0; d < count; d++)
            CHECK(has(by_adapter, more, by_device[d]));
        for (cl_uint d = 0; d < more; d++)
            CHECK(has(by_device, count, by_adapter[d]) || (i == 0 && same_name(by_device[0], by_adapter[d])));
    }
    rig_release(adapter);
}

/* ---- arguments ---- */

SIDE_CASE("room for fewer and for more", room)
{
    const cl_uint sets[] = {side->preferred, side->all};
    cl_device_id guard = (cl_device_id)&guard;
    for (size_t s = 0; s < 2; s++) {
        cl_device_id devices[MOST_DEVICES], few[2] = {guard, guard}, many[MOST_DEVICES + 1];
        cl_uint count = 0;
        const cl_uint whole = list(side, sets[s], devices);
        if (whole == 0) /* list() has told */
            continue;
        /* Room for one: one is written and all are counted. */
        CHECK_INT(side->ask(side, sets[s], 1, few, &count), CL_SUCCESS);
        CHECK_INT(count, whole);
        CHECK(few[0] == devices[0] && few[1] == guard);
        /* Nobody has to want the count. More room than devices: the rest stays. */
        for (int i = 0; i <= MOST_DEVICES; i++)
            many[i] = guard;
        CHECK_INT(side->ask(side, sets[s], MOST_DEVICES, many, NULL), CL_SUCCESS);
        CHECK(many[whole - 1] == devices[whole - 1] && many[whole] == guard);
    }
}

/* Types and sets of the other functions, and what is no object of the type. */
SIDE_CASE("wrong arguments", wrong_arguments)
{
    static size_t numbers[8] = {4711};
    const bool dx9 = side->dx9 != NULL;
    const cl_uint types[] = {0,
                             side->type + 0x1000,
                             side->preferred,
                             dx9 ? rig_d3d11.device_source : other_api(side->rig)->device_source,
                             dx9 ? rig_d3d10.adapter_source : other_api(side->rig)->adapter_source,
                             side->ask == ask_intel ? CL_ADAPTER_D3D9_KHR : CL_D3D9_DEVICE_INTEL,
                             0xFFFFFFFFu};
    const cl_uint sets[] = {
        0,          1, side->type, side->preferred - 1, side->all + 1, side->ask == ask_intel ? KHRONOS_ALL : INTEL_ALL,
        0xFFFFFFFFu};
    void *const objects[] = {NULL, numbers, (void *)8, dx9 ? (void *)side->dx9->d3d9 : NULL};
    struct side bad = *side;
    cl_device_id device = NULL;
    cl_uint count = 4711;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        bad.type = types[i];
        if (!CHECK_INT(bad.ask(&bad, side->all, 1, &device, &count), CL_INVALID_VALUE))
            printf("# with type 0x%x\n", types[i]);
    }
    bad.type = side->type;
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        bad.object = objects[i];
        CHECK_INT(bad.ask(&bad, side->all, 1, &device, &count), CL_INVALID_VALUE);
    }
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        CHECK_INT(side->ask(side, sets[i], 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(side->ask(side, side->all, 0, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(side->ask(side, side->all, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(side->ask(side, side->all, 1, NULL, NULL), CL_INVALID_VALUE);
    struct rig nowhere = *side->rig;
    bad = *side;
    bad.rig = &nowhere;
    nowhere.platform = (cl_platform_id)side->rig->cl_device;
    CHECK_INT(bad.ask(&bad, side->all, 1, &device, &count), CL_INVALID_PLATFORM);
    nowhere.platform = NULL;
    CHECK_INT(bad.ask(&bad, 0, 0, &device, NULL), CL_INVALID_PLATFORM);
    CHECK(device == NULL);
    CHECK_INT(count, 4711);
    CHECK_INT(side->ask(side, side->all, 1, NULL, &count), CL_SUCCESS);
    CHECK(count >= 1 && count != 4711);
}

/* What is given of Direct3D 9 are arrays: of types, and of adapters. Each entry is looked at. */
DX9_CASE("arrays of types and adapters", arrays, RIG_NO_CONTEXT)
{
    const cl_uint all = KHRONOS_ALL, preferred = KHRONOS_PREFERRED;
    cl_uint types[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_D3D9EX_KHR},
            bad_type[] = {CL_ADAPTER_D3D9_KHR, CL_ADAPTER_DXVA_KHR + 1};
    cl_device_id one[MOST_DEVICES], both[MOST_DEVICES];
    cl_uint count = 0, again = 4711;
    IDirect3DDevice9 *second = dx9_make_device(!dx9->extended);
    if (!second)
        return;
    void *adapters[] = {dx9->device, second}, *bad_adapter[] = {dx9->device, NULL};
    const clGetDeviceIDsFromDX9MediaAdapterKHR_fn get = dx9->get_device_ids;
    const cl_platform_id platform = dx9->rig.platform;
    CHECK_INT(get(platform, 2, bad_type, adapters, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 2, types, bad_adapter, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 0, types, adapters, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, NULL, adapters, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, types, NULL, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, (void *)8, adapters, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 1, types, (void *)8, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(get(platform, 0x7FFFFFFF, types, adapters, all, 1, both, &again), CL_INVALID_VALUE);
    CHECK_INT(again, 4711);
    CHECK_INT(get(platform, 1, types, adapters, all, MOST_DEVICES, one, &count), CL_SUCCESS);
    CHECK_INT(get(platform, 2, types, adapters, all, MOST_DEVICES, both, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    CHECK_MEM(both, one, count * sizeof(one[0]));
    CHECK_INT(get(platform, 2, types, adapters, preferred, MOST_DEVICES, both, &again), CL_SUCCESS);
    CHECK(again <= count);
    rig_release(second);
}

/* A device of Direct3D 9 is none of DXVA-HD, nor the reverse. */
DX9EX_CASE("DXVA-HD", dxva_devices, RIG_NO_CONTEXT)
{
    cl_device_id by_device[MOST_DEVICES], by_dxva[MOST_DEVICES];
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva)
        return;
    struct side of_device = {&dx9->rig, dx9, dx9->adapter_type, dx9->device, ask_dx9, KHRONOS_PREFERRED, KHRONOS_ALL},
                of_dxva = {&dx9->rig, dx9, CL_ADAPTER_DXVA_KHR, dxva, ask_dx9, KHRONOS_PREFERRED, KHRONOS_ALL};
    const ULONG refs = rig_refs(dxva), device_refs = rig_refs(dx9->device);
    for (cl_uint set = KHRONOS_PREFERRED; set <= KHRONOS_ALL; set++) {
        const cl_uint count = list(&of_device, set, by_device);
        CHECK_INT(list(&of_dxva, set, by_dxva), count);
        CHECK_MEM(by_dxva, by_device, count * sizeof(by_device[0]));
    }
    of_device.object = dxva;
    of_dxva.object = dx9->device;
    CHECK_INT(ask_dx9(&of_device, KHRONOS_ALL, 1, by_device, NULL), CL_INVALID_VALUE);
    CHECK_INT(ask_dx9(&of_dxva, KHRONOS_ALL, 1, by_device, NULL), CL_INVALID_VALUE);
    CHECK_INT(rig_refs(dxva), refs);
    CHECK_INT(rig_refs(dx9->device), device_refs);
    rig_release(dxva);
}

#ifndef _WIN32
/* A platform without devices is there to be asked too. Of those that are installed with the tests' OpenCL some have
 * none, but the other cases are run with one platform. */
SHARING_CASE("none is found", device_not_found, RIG_NO_CONTEXT)
{
    const cl_uint sets[] = {rig->api->preferred_set, rig->api->all_set};
    cl_platform_id platforms[16];
    cl_uint count = 0, empty = 0;
    CHECK_INT(clGetPlatformIDs(16, platforms, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 16; i++) {
        cl_uint devices = 0, found = 4711;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) == CL_SUCCESS && devices)
            continue;
        for (int s = 0; s < 2; s++)
            CHECK_INT(rig->get_device_ids(platforms[i], rig->api->device_source, rig->device, sets[s], 0, NULL, &found),
                      CL_DEVICE_NOT_FOUND);
        empty++;
    }
    if (!empty)
        SKIP("every platform here has a device");
}

CASE("a platform without any", device_not_found_again)
{
    if (!run_again("none is found", "OCL_ICD_VENDORS", "/etc/OpenCL/vendors"))
        SKIP("every platform installed has a device");
}
#endif

TAP_MAIN
