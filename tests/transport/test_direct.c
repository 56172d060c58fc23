/* Objects that are Direct3D's memory itself (direct.h): which of the two ways resources go, each reason to go through the host,
 * and several devices. The data tests go these ways too. */
#include "common/formats.h"
#include "direct.h"

/* ---- direct ---- */

/* What Direct3D has queued is done before OpenCL looks, though it takes its time. */
SHARING_CASE("direct: objects are the resources' own memory", direct, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 11, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        looks_plain(all[kind].object);
        fake_d3d_delay(1 + 7 * (unsigned)kind);
        d3d_fill(rig, &all[kind], 1 + (unsigned)kind);
        const unsigned copies = fake_d3d_calls("CopySubresourceRegion"), maps = fake_d3d_calls("Map");
        const unsigned transitions = fake_d3d_vulkan_transitions(), made = fake_d3d_live();
        CHECK_INT(acquire_one(rig, all[kind].object), CL_SUCCESS);
        cl_has(rig->queue, &all[kind], 1 + (unsigned)kind);
        CHECK_INT(release_one(rig, all[kind].object), CL_SUCCESS);
        fake_d3d_delay(0);
        if (kind_is_direct(rig, kind)) {
            /* There and back, to have done what Direct3D has put off. */
            CHECK_INT(fake_d3d_vulkan_transitions() - transitions, kind == KIND_BUFFER ? 0 : 2);
            CHECK_INT(fake_d3d_calls("CopySubresourceRegion"), copies);
            CHECK_INT(fake_d3d_calls("Map"), maps);
            CHECK_INT(fake_d3d_live(), made);
        }
        CHECK_INT(writes_through(rig, &all[kind], 30 + (unsigned)kind), kind_is_direct(rig, kind));
        CHECK(round_trip(rig, &all[kind], 30 + (unsigned)kind, 60 + (unsigned)kind));
    }
    CHECK_INT(fake_d3d_vulkan_acquired(), 0);
    shared_close_all(all);
    nothing_left(rig);
}

/* ---- images change hands ---- */

/* What a GPU keeps beside an image's bytes is written out when the image changes hands. What was not passed is not passed back, and what could not be passed back is so before the next acquire. */
SHARING_CASE("direct: images that Vulkan does not pass", pass_fails, 0)
{
    enum { COUNT = 70 }; /* more than are passed at once */
    struct shared all[COUNT];
    cl_mem objects[COUNT];
    if (!open_many(rig, COUNT, all, objects))
        return;
    for (int nth = 1; nth <= 2 && exports(); nth++) {
        fake_d3d_vulkan_fault(FAKE_VULKAN_NO_PASS, nth);
        CHECK_INT(rig->acquire(rig->queue, COUNT, objects, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
        CHECK_INT(fake_d3d_vulkan_passed(), 0);
        CHECK_INT(fake_d3d_violations(), 0);
    }
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    for (int turn = 0; turn < 2; turn++) {
        const bool fails = exports() && !turn;
        CHECK_INT(rig->acquire(rig->queue, COUNT, objects, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(fake_d3d_vulkan_passed(), exports() ? COUNT : 0);
        fake_d3d_vulkan_fault(fails ? FAKE_VULKAN_NO_PASS : FAKE_VULKAN_NO_FAULT, 0);
        CHECK_INT(rig->release(rig->queue, COUNT, objects, 0, NULL, NULL), fails ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
        CHECK_INT(fake_d3d_vulkan_passed(), fails ? COUNT : 0);
        if (fails)
            CHECK_INT(rig->acquire(rig->queue, COUNT, objects, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
        fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    }
    CHECK_INT(fake_d3d_violations(), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(d3d_has(rig, &all[i], i));
        shared_close(&all[i]);
    }
    nothing_left(rig);
}

/* An object that goes passes its image back if that is where it was, whatever was found before, and else no image: its handle may be
 * another's by then. */
SHARING_CASE("direct: a resource that has moved when its object goes", dropped_when_moved, 0)
{
    for (int moves = 0; moves < 2; moves++) {
        struct shared shared;
        if (!shared_open(rig, KIND_2D, 1, &shared))
            return;
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        if (moves) {
            fake_d3d_vulkan_move();
        } else {
            fake_d3d_vulkan_fault(FAKE_VULKAN_UNKNOWN_IMAGE, 0);
            CHECK_INT(release_one(rig, shared.object), CL_OUT_OF_RESOURCES);
            fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
        }
        shared_close(&shared);
        nothing_left(rig);
    }
}

/* ---- refused at creation ---- */

static const struct refusal {
    enum fake_d3d_vulkan_fault fault;
    int number;
    bool mapped, exported; /* whether it keeps objects of the way from being direct */
} refusals[] = {
    {FAKE_VULKAN_NO_SIDE, 0, true, true},         {FAKE_VULKAN_UNKNOWN_IMAGE, 0, true, true},
    {FAKE_VULKAN_OTHER_FORMAT, 0, true, true},    {FAKE_VULKAN_OTHER_SIZE, 0, true, true},
    {FAKE_VULKAN_SAMPLES, 0, true, true},         {FAKE_VULKAN_OTHER_DEVICE, 0, false, true},
    {FAKE_VULKAN_NOT_EXPORTABLE, 0, false, true}, {FAKE_VULKAN_NOT_DEDICATED, 0, false, true},
    {FAKE_VULKAN_SMALL_MEMORY, 0, true, true},    {FAKE_VULKAN_NO_FILES, 0, false, true},
    {FAKE_VULKAN_NO_HOLD, 0, true, false},        {FAKE_VULKAN_NO_REASON, 0, true, true},
    {FAKE_VULKAN_ODD_PITCH, 0, true, false},      {FAKE_VULKAN_IMPORT_FAILS, 1, true, true},
    {FAKE_VULKAN_IMPORT_FAILS, 999, true, true},  {FAKE_VULKAN_IMPORT_FAILS, CL_INVALID_VALUE, true, true},
};

static void falls_back(const struct rig *rig, const struct refusal *refusal)
{
    struct shared shared;
    fake_d3d_vulkan_fault(refusal->fault, refusal->number);
    const bool opened = shared_open(rig, KIND_2D, 1, &shared);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    if (!opened)
        return;
    const bool keeps = exports() ? refusal->exported : refusal->mapped;
    if (!CHECK_INT(writes_through(rig, &shared, 2), !keeps))
        printf("# with the fault %d (%d)\n", refusal->fault, refusal->number);
    CHECK(round_trip(rig, &shared, 2, 3));
    shared_close(&shared);
    nothing_left(rig);
}

SHARING_CASE("direct: what is refused goes through the host", refusals_fall_back, 0)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        falls_back(rig, &refusals[i]);
    /* The next object is direct again. */
    falls_back(rig, &(struct refusal){FAKE_VULKAN_NO_FAULT, 0, false, false});
}

/* What a context's devices can is found out once. */
static void devices_that_cannot(const struct rig *rig, enum fake_d3d_vulkan_fault fault)
{
    struct rig own;
    struct shared shared;
    fake_d3d_vulkan_fault(fault, 0);
    const bool opened = second_open(rig, &own);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    if (opened && shared_open(&own, KIND_2D, 1, &shared)) {
        CHECK_INT(writes_through(&own, &shared, 2), !exports());
        shared_close(&shared);
    }
    second_close(&own);
    nothing_left(rig);
}

SHARING_CASE("direct: devices that can't import", other_devices, 0)
{
    devices_that_cannot(rig, FAKE_VULKAN_NO_UUID);
    devices_that_cannot(rig, FAKE_VULKAN_OTHER_HANDLES);
    devices_that_cannot(rig, FAKE_VULKAN_NO_FUNCTIONS);
    devices_that_cannot(rig, FAKE_VULKAN_LINEAR_IMAGES);
}

/* The buffers of a swap chain change places when it presents. */
SHARING_CASE("direct: the buffer of a swap chain goes through the host", back_buffer, 0)
{
    struct shared shared;
    fake_d3d_back_buffers(true);
    const bool opened = shared_open(rig, KIND_2D, 1, &shared);
    fake_d3d_back_buffers(false);
    if (!opened)
        return;
    CHECK(!writes_through(rig, &shared, 2));
    CHECK(round_trip(rig, &shared, 2, 3));
    shared_close(&shared);
    nothing_left(rig);
}

/* An emulated format has other bytes in OpenCL than in the resource. */
static void emulated_texels(const struct rig *rig, const struct format *format)
{
    const struct rig_desc desc = {.format = format->dxgi, .width = 16, .height = 8};
    static const size_t region[3] = {16, 8, 1};
    unsigned char bytes[16 * 8 * 16], seen[sizeof(bytes)];
    const size_t size = rig_bytes(&desc, 0);
    cl_int status = 1;
    void *resource = rig_make(rig, rig->device, &desc, NULL);
    if (!CHECK(resource != NULL))
        return;
    rig_pattern_for(format->dxgi, bytes, size, 1);
    rig_write(rig, resource, &desc, 0, bytes);
    cl_mem object = rig->create_2d(rig->context, CL_MEM_READ_WRITE, resource, 0, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        CHECK_INT(clEnqueueReadImage(rig->queue, object, CL_TRUE, no_origin(), region, 0, 0, seen, 0, NULL, NULL),
                  CL_SUCCESS);
        if (!CHECK_MEM(seen, bytes, size))
            printf("# with %s\n", format->name);
        CHECK_INT(release_one(rig, object), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    }
    rig_release(resource);
}

SHARING_CASE("direct: formats that the device lacks", emulated_formats, 0)
{
    unsigned count = 0;
    cl_context plain = plain_context(rig);
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (images_have_format(plain, CL_MEM_OBJECT_IMAGE2D, formats[i].cl))
            continue;
        emulated_texels(rig, &formats[i]);
        count++;
    }
    if (!count)
        SKIP("the device has them all, as PoCL 6.0's does");
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    nothing_left(rig);
}

/* ---- several devices ---- */

/* On a GPU the Vulkan layer remembers no smaller images (CLD3D_VULKAN_SMALLEST): the one by which Direct3D's device is found must not
 * be smaller. */
enum { DEFAULT_SMALLEST = 65536 };

/* Of two OpenCL devices one is the Vulkan device below Direct3D. An imitated driver says so otherwise. */
static void with_two(const char *cases, const char *driver)
{
    if (getenv("CLD3D_TEST_UUID_OF"))
        return;
    test_setenv("POCL_DEVICES", "basic pthread");
    test_setenv("OPENCL_LAYERS", direct_layers);
    test_setenv("CLD3D_TEST_IMITATES", driver);
    for (int i = 0; i < 2; i++)
        CHECK_INT(run_again(cases, "CLD3D_TEST_UUID_OF", i ? "1" : "0"), 2);
    test_setenv("CLD3D_TEST_IMITATES", NULL);
    test_setenv("POCL_DEVICES", NULL);
}

CASE("direct: the preferred device by its UUID", preferred)
{
    with_two("two devices: preferred", NULL);
}

/* By CL_DEVICE_PCI_BUS_INFO_KHR, and by CL_DEVICE_TOPOLOGY_AMD. */
CASE("direct: the preferred device by its PCI address", preferred_by_address)
{
    with_two("two devices: preferred", "neo");
    with_two("two devices: preferred", "rocm");
}

CASE("direct: a context of two devices", mixed_contexts)
{
    with_two("two devices: contexts", NULL);
    const char *way = exports() ? "export" : "mapped";
    test_setenv("FAKE_D3D_VULKAN", "record"); /* no rows are made either */
    with_two("two devices: contexts", NULL);
    test_setenv("FAKE_D3D_VULKAN", way);
}

SHARING_CASE("two devices: preferred", preferred_device, RIG_NO_CONTEXT)
{
    cl_device_id all[2] = {NULL, NULL}, found[2] = {NULL, NULL};
    cl_uint count = 0;
    if (!is_child("CLD3D_TEST_UUID_OF"))
        return;
    const int expected = atoi(getenv("CLD3D_TEST_UUID_OF"));
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 2, all, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    fake_d3d_vulkan_fault(FAKE_VULKAN_SMALLEST, DEFAULT_SMALLEST);
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->preferred_set, 2,
                                  found, &count),
              CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(found[0] == all[expected]);
    /* Without the layer nothing tells the two from each other. */
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_SIDE, 0);
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->preferred_set, 2,
                                  found, &count),
              CL_SUCCESS);
    CHECK_INT(count, 2);
}

/* Where one of a context's devices can't import, all objects go through the host. Whether both work in the host's memory the
 * drivers say. */
SHARING_CASE("two devices: contexts", context_of_two, RIG_NO_CONTEXT)
{
    cl_device_id all[2] = {NULL, NULL};
    cl_int status = 1;
    if (!is_child("CLD3D_TEST_UUID_OF"))
        return;
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 2, all, NULL), CL_SUCCESS);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                                rig->api->context_device, (cl_context_properties)rig->device, 0};
    struct rig own = *rig;
    struct shared shared;
    own.context = clCreateContext(properties, 2, all, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    for (int i = 0; i < 2; i++) {
        own.cl_device = all[i];
        own.queue = make_queue(&own, own.context, 0);
        if (shared_open(&own, KIND_2D, 1, &shared)) {
            CHECK(!writes_through(&own, &shared, 2) || !exports());
            CHECK_INT(fake_d3d_vulkan_rows(), 0);
            CHECK(round_trip(&own, &shared, 2, 3));
            shared_close(&shared);
        }
        CHECK_INT(clReleaseCommandQueue(own.queue), CL_SUCCESS);
    }
    CHECK_INT(clReleaseContext(own.context), CL_SUCCESS);
    nothing_left(rig);
}

/* ---- parts of a buffer ---- */

static cl_int make_part(cl_mem buffer, cl_mem_flags flags, size_t origin, size_t size, cl_mem *part)
{
    const cl_buffer_region region = {origin, size};
    cl_int status = 1;
    *part = clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK_INT(*part != NULL, status == CL_SUCCESS);
    return status;
}

SHARING_CASE("direct: parts of a buffer", parts, 0)
{
    struct shared shared = {.kind = KIND_BUFFER, .desc = {.width = 1024}};
    unsigned char bytes[1024], there[256];
    cl_mem part = NULL, of = NULL;
    size_t offset = 1;
    shared.resource = rig_make(rig, rig->device, &shared.desc, NULL);
    if (!CHECK(shared.resource != NULL))
        return;
    rig_pattern(bytes, sizeof(bytes), 1);
    rig_write(rig, shared.resource, &shared.desc, 0, bytes);
    shared.object = rig->create_buffer(rig->context, CL_MEM_READ_ONLY, shared.resource, NULL);
    CHECK_INT(make_part(shared.object, CL_MEM_WRITE_ONLY, 0, 128, &part), CL_INVALID_VALUE);
    CHECK_INT(make_part(shared.object, 0, 0, 0, &part), CL_INVALID_BUFFER_SIZE);
    CHECK_INT(make_part(shared.object, 0, 512, 1024, &part), CL_INVALID_VALUE);
    if (kind_is_direct(rig, KIND_BUFFER)) /* else it is PoCL's to say, which takes it */
        CHECK_INT(make_part(shared.object, 0, (size_t)-128, 256, &part), CL_INVALID_VALUE);
    CHECK_INT(make_part(shared.object, 0, 768, 256, &part), CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(of), &of, NULL), CL_SUCCESS);
    CHECK(of == shared.object);
    CHECK_INT(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof(offset), &offset, NULL), CL_SUCCESS);
    CHECK_INT(offset, 768);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, part, CL_TRUE, 0, sizeof(there), there, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(there, bytes + 768, sizeof(there));
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    shared_close(&shared);
    nothing_left(rig);
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    return direct_main(argc, argv);
}
