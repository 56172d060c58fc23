/* Devices for a Direct3D device or adapter. */
#include "adapters.h"

/* Asks count first and list then, as programs do, and checks that both agree. Returns the count. */
static cl_uint ask(const struct rig *rig, cl_uint source, void *object, cl_uint set, cl_device_id devices[MOST_DEVICES])
{
    cl_uint count = 0, again = 0;
    if (!CHECK_INT(rig->get_device_ids(rig->platform, source, object, set, 0, NULL, &count), CL_SUCCESS))
        return 0;
    CHECK(count >= 1 && count <= MOST_DEVICES);
    CHECK_INT(rig->get_device_ids(rig->platform, source, object, set, MOST_DEVICES, devices, &again), CL_SUCCESS);
    CHECK_INT(again, count);
    return count;
}

static bool listed(const cl_device_id *list, cl_uint count, cl_device_id device)
{
    for (cl_uint i = 0; i < count; i++)
        if (list[i] == device)
            return true;
    return false;
}

static void check_subset(const cl_device_id *part, cl_uint part_count, const cl_device_id *whole, cl_uint whole_count)
{
    CHECK(part_count <= whole_count);
    for (cl_uint i = 0; i < part_count; i++) {
        CHECK(listed(whole, whole_count, part[i]));
        CHECK(!listed(part, i, part[i]));
    }
}

static bool same_name(cl_device_id one, cl_device_id other)
{
    char names[2][256] = {"", ""};
    CHECK_INT(clGetDeviceInfo(one, CL_DEVICE_NAME, sizeof(names[0]), names[0], NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceInfo(other, CL_DEVICE_NAME, sizeof(names[1]), names[1], NULL), CL_SUCCESS);
    return strcmp(names[0], names[1]) == 0;
}

/* An adapter tells no UUID: of two equal GPUs it is either, where the device is one. */
static void check_preferred(const cl_device_id *by_device, cl_uint device_count, const cl_device_id *by_adapter,
                            cl_uint adapter_count)
{
    check_subset(by_device, device_count, by_adapter, adapter_count);
    for (cl_uint i = 0; i < adapter_count; i++)
        CHECK(listed(by_device, device_count, by_adapter[i]) || same_name(by_device[0], by_adapter[i]));
}

SHARING_CASE("devices: the sets, from device and adapter", device_sets, RIG_NO_CONTEXT)
{
    cl_device_id all[MOST_DEVICES], preferred[MOST_DEVICES], by_adapter[MOST_DEVICES];
    IDXGIAdapter *adapter = adapter_of(rig);
    if (!adapter)
        return;
    const ULONG device_refs = rig_refs(rig->device), adapter_refs = rig_refs(adapter);
    const cl_uint all_count = ask(rig, rig->api->device_source, rig->device, rig->api->all_set, all);
    /* The machine of the tests has no GPU: its CPU device is what lies nearest to Direct3D. */
    const cl_uint preferred_count = ask(rig, rig->api->device_source, rig->device, rig->api->preferred_set, preferred);
    CHECK(listed(all, all_count, rig->cl_device));
    check_subset(all, all_count, all, all_count);
    check_subset(preferred, preferred_count, all, all_count);

    cl_uint count = ask(rig, rig->api->adapter_source, adapter, rig->api->all_set, by_adapter);
    CHECK_INT(count, all_count);
    check_subset(all, all_count, by_adapter, count);
    count = ask(rig, rig->api->adapter_source, adapter, rig->api->preferred_set, by_adapter);
    check_subset(by_adapter, count, all, all_count);
    check_preferred(preferred, preferred_count, by_adapter, count);
    CHECK_INT(rig_refs(rig->device), device_refs);
    CHECK_INT(rig_refs(adapter), adapter_refs);
    rig_release(adapter);
}

/* Every device with images may interoperate, through the host's memory at least; no other one has all of it. */
SHARING_CASE("devices: all that have images", device_set_all, RIG_NO_CONTEXT)
{
    cl_device_id all[MOST_DEVICES], of_platform[MOST_DEVICES];
    cl_uint count = 0;
    const cl_uint all_count = ask(rig, rig->api->device_source, rig->device, rig->api->all_set, all);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, of_platform, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count; i++) {
        cl_bool images = CL_FALSE;
        CHECK_INT(clGetDeviceInfo(of_platform[i], CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL), CL_SUCCESS);
        CHECK_INT(listed(all, all_count, of_platform[i]), images);
    }
    check_subset(all, all_count, of_platform, count);
}

SHARING_CASE("devices: room for fewer and for more", device_room, RIG_NO_CONTEXT)
{
    const cl_uint sets[] = {rig->api->preferred_set, rig->api->all_set};
    cl_device_id guard = (cl_device_id)&guard;
    for (size_t s = 0; s < 2; s++) {
        cl_device_id devices[MOST_DEVICES];
        cl_uint count = 0;
        const cl_uint whole = ask(rig, rig->api->device_source, rig->device, sets[s], devices);
        if (whole == 0) /* ask() has told */
            continue;
        /* Room for one: one is written and all are counted. */
        cl_device_id few[3] = {guard, guard, guard};
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, sets[s], 1, few, &count),
                  CL_SUCCESS);
        CHECK_INT(count, whole);
        CHECK(few[0] == devices[0]);
        CHECK(few[1] == guard);
        /* Nobody has to want the count. */
        few[0] = guard;
        CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, sets[s], 1, few, NULL),
                  CL_SUCCESS);
        CHECK(few[0] == devices[0]);
        CHECK(few[1] == guard);
        /* More room than devices: the rest stays. */
        cl_device_id many[MOST_DEVICES + 1];
        for (int i = 0; i <= MOST_DEVICES; i++)
            many[i] = guard;
        CHECK_INT(
            rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, sets[s], MOST_DEVICES, many, NULL),
            CL_SUCCESS);
        CHECK(many[whole - 1] == devices[whole - 1]);
        CHECK(many[whole] == guard);
    }
}

SHARING_CASE("devices: wrong arguments", device_arguments, RIG_NO_CONTEXT)
{
    const struct rig_api *api = rig->api, *other = other_api(rig);
    const cl_uint bad_sources[] = {0,
                                   api->device_source + 0x1000,
                                   api->preferred_set,
                                   api->all_set,
                                   other->device_source,
                                   other->adapter_source,
                                   0xFFFFFFFFu};
    const cl_uint bad_sets[] = {
        0, 1, api->device_source, api->adapter_source, other->preferred_set, other->all_set, 0xFFFFFFFFu};
    cl_device_id device, untouched = (cl_device_id)&device;
    cl_uint count = 4711;
    device = untouched;
    CHECK_INT(rig->get_device_ids(NULL, api->device_source, rig->device, api->all_set, 1, &device, &count),
              CL_INVALID_PLATFORM);
    CHECK_INT(rig->get_device_ids(NULL, bad_sources[0], NULL, bad_sets[0], 0, &device, NULL), CL_INVALID_PLATFORM);
    CHECK_INT(rig->get_device_ids((cl_platform_id)rig->cl_device, api->device_source, rig->device, api->all_set, 1,
                                  &device, &count),
              CL_INVALID_PLATFORM);
    for (size_t i = 0; i < sizeof(bad_sources) / sizeof(bad_sources[0]); i++)
        CHECK_INT(rig->get_device_ids(rig->platform, bad_sources[i], rig->device, api->all_set, 1, &device, &count),
                  CL_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(bad_sets) / sizeof(bad_sets[0]); i++)
        CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, bad_sets[i], 1, &device, &count),
                  CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 0, &device, &count),
              CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 0, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 1, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK(device == untouched);
    CHECK_INT(count, 4711);
    CHECK_INT(rig->get_device_ids(rig->platform, api->device_source, rig->device, api->all_set, 1, NULL, &count),
              CL_SUCCESS);
    CHECK(count >= 1 && count != 4711);
}

/* A platform without devices is there to be asked too. Of those that are installed with the tests' OpenCL some have
 * none, but the other cases are run with one platform. */
SHARING_CASE("devices: none is found", device_not_found, RIG_NO_CONTEXT)
{
    cl_platform_id platforms[16];
    cl_uint count = 0, empty = 0;
    CHECK_INT(clGetPlatformIDs(16, platforms, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 16; i++) {
        cl_uint devices = 0, found = 4711;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) == CL_SUCCESS && devices)
            continue;
        CHECK_INT(
            rig->get_device_ids(platforms[i], rig->api->device_source, rig->device, rig->api->all_set, 0, NULL, &found),
            CL_DEVICE_NOT_FOUND);
        CHECK_INT(rig->get_device_ids(platforms[i], rig->api->device_source, rig->device, rig->api->preferred_set, 0,
                                      NULL, &found),
                  CL_DEVICE_NOT_FOUND);
        empty++;
    }
    if (!empty)
        SKIP("every platform here has a device");
}

#ifndef _WIN32
CASE("devices: a platform without any", device_not_found_again)
{
    if (!run_again("devices: none is found", "OCL_ICD_VENDORS", "/etc/OpenCL/vendors"))
        SKIP("every platform installed has a device");
}
#endif

TAP_MAIN
