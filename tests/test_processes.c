/* Several processes that query devices and share frames at the same time, as players, browsers and media servers do: each finds the same
 * devices at any time, and its own frames. CLD3D_TEST_SECONDS says for how long; the processes of a round end together. */
#include "sharing.h"

enum { PROCESSES = 4, USUAL_SECONDS = 2, MOST = 16 };

static const char child_mark[] = "CLD3D_TEST_PROCESS";

struct found {
    cl_uint platforms, devices, preferred, all;
    cl_device_id first, preferred_first, all_first;
};

/* Of a device of Direct3D that nobody has asked about yet. */
static struct found find(const struct rig *rig)
{
    cl_platform_id platforms[MOST];
    cl_device_id devices[MOST] = {NULL}, preferred[MOST] = {NULL}, all[MOST] = {NULL};
    struct found found = {0};
    void *device = rig_another_device(rig);
    CHECK_INT(clGetPlatformIDs(MOST, platforms, &found.platforms), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, MOST, devices, &found.devices), CL_SUCCESS);
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->preferred_set, MOST,
                                  preferred, &found.preferred),
              CL_SUCCESS);
    CHECK_INT(
        rig->get_device_ids(rig->platform, rig->api->device_source, device, rig->api->all_set, MOST, all, &found.all),
        CL_SUCCESS);
    found.first = devices[0], found.preferred_first = preferred[0], found.all_first = all[0];
    rig_release(device);
    return found;
}

SHARING_CASE(beside, RIG_NO_CONTEXT)
{
    if (!getenv(child_mark)) {
        SKIP("only as a part of the case above");
        return;
    }
    const struct found first = find(rig);
    const double begin = test_now();
    unsigned frames = 0;
    for (unsigned seed = 1; test_now() < begin + 1 || !frames; seed += KINDS) {
        const struct found found = find(rig);
        struct rig own = *rig;
        struct shared all[KINDS];
        cl_int status = 1;
        CHECK_MEM(&found, &first, sizeof(found));
        own.context = rig_make_context(rig, rig->device, false, &status);
        if (!CHECK_INT(status, CL_SUCCESS))
            return;
        own.queue = make_queue(rig, own.context, 0);
        if (shared_open_all(&own, seed, all)) {
            for (unsigned kind = 0; kind < KINDS; kind++)
                frames += round_trip(&own, &all[kind], seed + kind, seed + kind + 1);
            shared_close_all(all);
        }
        CHECK_INT(clReleaseCommandQueue(own.queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(own.context), CL_SUCCESS);
    }
    printf("# %u frames\n", frames);
}

static void together(void)
{
    const char *seconds = getenv("CLD3D_TEST_SECONDS");
    const double end = test_now() + (seconds ? atof(seconds) : USUAL_SECONDS);
    test_setenv(child_mark, "1");
    do {
        FILE *children[PROCESSES];
        for (int i = 0; i < PROCESSES; i++)
            children[i] = child_start(i % 2 ? "Direct3D 10: beside" : "Direct3D 11: beside");
        for (int i = 0; i < PROCESSES; i++) {
            const struct child_lines lines = child_end(children[i]);
            CHECK_INT(lines.passed, 1);
            CHECK_INT(lines.failed, 0);
        }
    } while (test_now() < end);
    test_setenv(child_mark, NULL);
}

static const struct tap_test tests[] = {
    {"four processes at the same time", together},
    SHARING_TESTS("beside others, the same devices and right frames", beside),
};

TAP_MAIN(tests)
