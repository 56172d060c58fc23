/* Which OpenCL devices are preferred for a Direct3D adapter: those that are its hardware, by LUID, else by vendor and name.
 *
 * Two real devices (PoCL makes as many as it is told) under a layer that makes them look as graphics cards (dressed.c),
 * and adapters of the fake Direct3D. The cases with "cards" in their names are run again with the looks they need. */
#include "dressed.h"
#include "fake_d3d.h"
#include "sharing.h"

#define VENDOR 0x1002

static bool dressed(void)
{
    if (getenv(DRESSED_VARIABLE))
        return true;
    SKIP("only as a part of the cases above");
    return false;
}

static void run_with(const char *cases, const char *looks)
{
    char layers[1024];
    const char *vendors = getenv("OCL_ICD_VENDORS");
    if (!vendors || !strstr(vendors, "pocl")) {
        SKIP("needs a driver that makes several devices");
        return;
    }
    const char *before = getenv("OPENCL_LAYERS"), *layer = getenv("CLD3D_TEST_DRESSED");
    if (!CHECK(before != NULL) || !CHECK(layer != NULL) || strstr(before, "dressed"))
        return;
    snprintf(layers, sizeof(layers), "%s:%s", layer, before); /* the first is the lowest */
    test_setenv("POCL_DEVICES", "basic pthread");
    test_setenv(DRESSED_VARIABLE, looks);
    CHECK_INT(run_again(cases, "OPENCL_LAYERS", layers), 2);
    test_setenv(DRESSED_VARIABLE, NULL);
    test_setenv("POCL_DEVICES", NULL);
}

static void by_luid(void)
{
    run_with("cards: the second", "1002:29:Radeon RX 6800;1234:2a:Something else");
}

static void by_name(void)
{
    run_with("cards: the second", "1002:0:AMD Radeon Graphics (raphael_mendocino);1002:0:AMD Radeon RX 6800 (radeonsi, navi21)");
}

static void by_vendor(void)
{
    run_with("cards: both", "1002:0:gfx1030;1002:0:gfx1036");
}

static void other_luid(void)
{
    run_with("cards: none", "1002:29:AMD Radeon RX 6800;1002:28:AMD Radeon RX 6800");
}

static void other_vendor(void)
{
    run_with("cards: the first", "1002:0:whatever;10de:0:AMD Radeon RX 6800");
}

/* ---- what is asked of the looks ---- */

static void preferred_are(struct rig *rig, bool first, bool second)
{
    cl_device_id all[2], found[2] = {NULL, NULL};
    cl_uint count = 0;
    if (!dressed())
        return;
    const struct fake_d3d_adapter adapter = {"AMD Radeon(TM) RX 6800 (RADV NAVI21)", VENDOR, 0x73bf, {0x2a, 0}};
    fake_d3d_set_adapters(1, &adapter);
    void *device = rig_another_device(rig);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 2, all, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    const cl_int status = rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->preferred_set, 2,
                                              found, &count);
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

SHARING_CASE(first, 0)
{
    preferred_are(rig, true, false);
}

SHARING_CASE(second, 0)
{
    preferred_are(rig, false, true);
}

SHARING_CASE(both, 0)
{
    preferred_are(rig, true, true);
}

SHARING_CASE(none, 0)
{
    preferred_are(rig, false, false);
}

static const struct tap_test tests[] = {
    {"the LUID tells", by_luid},
    {"the name tells among devices of one vendor", by_name},
    {"without a name all of the vendor", by_vendor},
    {"another LUID is other hardware", other_luid},
    {"another vendor is other hardware", other_vendor},
    SHARING_TESTS("cards: the first", first),
    SHARING_TESTS("cards: the second", second),
    SHARING_TESTS("cards: both", both),
    SHARING_TESTS("cards: none", none),
};

TAP_MAIN(tests)
