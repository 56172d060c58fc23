/* Several processes that query devices and share frames at the same time, as players, browsers and media servers do: each finds the same
 * devices at any time, and its own frames. CLD3D_TEST_SECONDS says for how long; the processes of a round end together. */
#include "sharing.h"

enum { PROCESSES = 4, USUAL_SECONDS = 2, MOST = 16 };

static const char child_mark[] = "CLD3D_TEST_PROCESS";

struct found {
    cl_uint counts[4];
    cl_device_id devices[3][MOST];
};

/* Of a device of Direct3D that nobody has asked about yet. */
static struct found find(const struct rig *rig)
{
    const cl_uint sets[] = {rig->api->preferred_set, rig->api->all_set}, source = rig->api->device_source;
    struct found f = {{0}, {{NULL}}};
    void *device = rig_another_device(rig);
    CHECK_INT(clGetPlatformIDs(0, NULL, &f.counts[2]), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, MOST, f.devices[2], &f.counts[3]), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_INT(rig->get_device_ids(rig->platform, source, device, sets[i], MOST, f.devices[i], &f.counts[i]),
                  CL_SUCCESS);
    rig_release(device);
    return f;
}

SHARING_CASE("beside others, the same devices and right frames", beside, RIG_NO_CONTEXT)
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
        struct rig own = rig_on(rig, rig_another_device(rig));
        struct shared all[KINDS];
        CHECK_MEM(&found, &first, sizeof(found));
        if (shared_open_all(&own, seed, all)) {
            for (unsigned kind = 0; kind < KINDS; kind++)
                frames += round_trip(&own, &all[kind], seed + kind, seed + kind + 1);
            shared_close_all(all);
        }
        rig_close(&own);
    }
    printf("# %u frames\n", frames);
}

CASE("four processes at the same time", together)
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

TAP_MAIN
