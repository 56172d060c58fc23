/* Addresses that are no object, objects of another kind and NULL, in every place that takes a handle or an interface: each
 * is refused with the code of its place, and nothing crashes. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "sharing.h"

#ifndef _WIN32
#include <sys/mman.h>
#endif

/* ---- addresses that are no object ---- */

/* A page that may not be read. */
static void *forbidden_page(void)
{
#ifdef _WIN32
    return VirtualAlloc(NULL, 4096, MEM_RESERVE, PAGE_NOACCESS);
#else
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
#endif
}

enum { GARBAGE = 14 };

/* What a handle or an interface pointer could be by mistake. Each begins, as objects do, with the address of a table of
 * functions, up to a point. */
static void fill_garbage(void *garbage[GARBAGE])
{
    static void *zeros[64];
    static void *wild_table[8], *odd_table[8], *data_table[8], *text_table[8], *forbidden_table[8];
    static void *wild_functions[64], *data_functions[64];
    static void *forbidden;
    if (!forbidden)
        forbidden = forbidden_page();
    CHECK(forbidden != NULL);
    for (int i = 0; i < 64; i++) {
        wild_functions[i] = (void *)(size_t)0x1234567890;
        data_functions[i] = zeros;
    }
    wild_table[0] = (void *)(size_t)0x123456789000;
    odd_table[0] = (char *)data_functions + 1;
    data_table[0] = data_functions;
    text_table[0] = wild_functions;
    forbidden_table[0] = forbidden;
    void *const list[GARBAGE] = {
        NULL,
        (void *)(size_t)1,
        (void *)(size_t)0x10,
        (void *)(size_t)0x10000,
        (void *)(size_t)0xFFFFFFFF,
        (void *)~(size_t)0,
        (void *)(~(size_t)0 - 7),
        zeros,
        wild_table,
        odd_table,
        data_table,
        text_table,
        forbidden_table,
        forbidden,
    };
    memcpy(garbage, list, sizeof(list));
}

static void report_garbage(int failures, int index)
{
    if (atomic_load(&tap_case.failures) != failures)
        printf("# with garbage %d\n", index);
}

#ifndef _WIN32
/* Where a driver's dispatch table has holes (amd.c): a hole makes no garbage a handle. */
CASE("garbage beside a dispatch table with holes", garbage_beside_holes)
{
    CHECK_INT(run_over("CLD3D_TEST_SPARSE", " garbage for "), 4);
}
#endif

/* Beside devices of Direct3D and of OpenCL that are right. */
static void contexts_refuse(const struct rig *rig, void *bad)
{
    cl_context_properties list[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform, rig->api->context_device,
                                    (cl_context_properties)rig->device, 0};
    const cl_device_id devices[2] = {rig->cl_device, bad};
    cl_int status = 1;
    for (cl_uint count = 1; count <= 2; count++) {
        CHECK(clCreateContext(list, count, &devices[2 - count], NULL, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_DEVICE);
    }
    /* NULL asks for no interop, and for the only platform. */
    for (int user_sync = 0; user_sync < 2 && bad; user_sync++) {
        CHECK(rig_make_context(rig, bad, user_sync, &status) == NULL);
        CHECK_INT(status, rig->api->invalid_device);
    }
    list[1] = (cl_context_properties)bad;
    for (int by_type = 0; by_type < 2 && bad; by_type++) {
        CHECK((by_type ? clCreateContextFromType(list, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                       : clCreateContext(list, 1, &rig->cl_device, NULL, NULL, &status)) == NULL);
        CHECK_INT(status, CL_INVALID_PLATFORM);
    }
}

static void devices_refuse(const struct rig *rig, void *bad)
{
    const cl_uint sources[] = {rig->api->device_source, rig->api->adapter_source};
    const ULONG refs = rig_refs(rig->device);
    char name[64];
    cl_uint count = 4711;
    for (int s = 0; s < 2; s++)
        CHECK_INT(rig->get_device_ids(rig->platform, sources[s], bad, rig->api->all_set, 0, NULL, &count),
                  CL_INVALID_VALUE);
    CHECK_INT(rig->get_device_ids(bad, rig->api->device_source, rig->device, rig->api->all_set, 0, NULL, &count),
              CL_INVALID_PLATFORM);
    CHECK_INT(count, 4711);
    contexts_refuse(rig, bad);
    snprintf(name, sizeof(name), "clGetDeviceIDsFromD3D%dKHR", rig->api->version);
    CHECK(clGetExtensionFunctionAddressForPlatform(bad, name) == NULL);
    CHECK_INT(rig_refs(rig->device), refs);
}

SHARING_CASE("garbage for devices, adapters and platforms", garbage_for_devices, RIG_NO_CONTEXT)
{
    void *garbage[GARBAGE];
    fill_garbage(garbage);
    for (int i = 0; i < GARBAGE; i++) {
        const int failures = atomic_load(&tap_case.failures);
        devices_refuse(rig, garbage[i]);
        report_garbage(failures, i);
    }
}

static void both_refuse(const struct rig *rig, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                        cl_uint wait_count, const cl_event *wait, cl_int code)
{
    int place;
    cl_event event = (cl_event)&place;
    CHECK_INT(rig->acquire(queue, count, objects, wait_count, wait, &event), code);
    CHECK_INT(rig->release(queue, count, objects, wait_count, wait, &event), code);
    CHECK(event == (cl_event)&place);
}

static void commands_refuse(const struct rig *rig, cl_mem object, void *bad)
{
    const cl_mem objects[] = {object, bad};
    const cl_event event = bad;
    both_refuse(rig, bad, 1, &object, 0, NULL, CL_INVALID_COMMAND_QUEUE);
    both_refuse(rig, bad, 0, NULL, 0, NULL, CL_INVALID_COMMAND_QUEUE);
    both_refuse(rig, rig->queue, 2, objects, 0, NULL, CL_INVALID_MEM_OBJECT);
    both_refuse(rig, rig->queue, 1, &objects[1], 0, NULL, CL_INVALID_MEM_OBJECT);
    both_refuse(rig, rig->queue, 1, &object, 1, &event, CL_INVALID_EVENT_WAIT_LIST);
    both_refuse(rig, rig->queue, 0, NULL, 1, &event, CL_INVALID_EVENT_WAIT_LIST);
}

/* Of what only shared objects have. */
static void queries_refuse(const struct rig *rig, void *bad)
{
    void *resource = NULL;
    cl_uint subresource = 0;
    CHECK_INT(clGetMemObjectInfo(bad, rig->api->mem_resource, sizeof(resource), &resource, NULL),
              CL_INVALID_MEM_OBJECT);
    CHECK_INT(clGetImageInfo(bad, rig->api->image_subresource, sizeof(subresource), &subresource, NULL),
              CL_INVALID_MEM_OBJECT);
}

OBJECTS_CASE("garbage for resources, contexts, queues, objects and events", garbage_for_objects, 0)
{
    void *garbage[GARBAGE];
    fill_garbage(garbage);
    cl_command_queue second = make_queue(rig, rig->context, 0); /* beside another, events are asked for their queue */
    for (int i = 0; i < GARBAGE; i++) {
        const int failures = atomic_load(&tap_case.failures);
        for (int kind = 0; kind < KINDS; kind++) {
            cl_int status = 1;
            CHECK(kind_create(rig, rig->context, 0, (enum kind)kind, garbage[i], 0, &status) == NULL);
            CHECK_INT(status, rig->api->invalid_resource);
            refused(rig, garbage[i], 0, (enum kind)kind, all[kind].resource, 0, CL_INVALID_CONTEXT);
        }
        commands_refuse(rig, all[KIND_2D].object, garbage[i]);
        queries_refuse(rig, garbage[i]);
        report_garbage(failures, i);
    }
    queries_refuse(rig, rig->context);
    CHECK(round_trip(rig, &all[KIND_2D], 1 + KIND_2D, 9));
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
}

static void for_a_queue(const struct rig *rig, void *handle, const struct shared *shared)
{
    both_refuse(rig, handle, 1, &shared->object, 0, NULL, CL_INVALID_COMMAND_QUEUE);
}

static void for_a_context(const struct rig *rig, void *handle, const struct shared *spare)
{
    cl_int status = 1;
    CHECK(rig->create_buffer(handle, CL_MEM_READ_WRITE, spare->resource, &status) == NULL);
    CHECK_INT(status, CL_INVALID_CONTEXT);
}

static void for_an_event(const struct rig *rig, void *handle, const struct shared *shared)
{
    const cl_event event = handle;
    both_refuse(rig, rig->queue, 1, &shared->object, 1, &event, CL_INVALID_EVENT_WAIT_LIST);
    CHECK_INT(clSetUserEventStatus(event, CL_COMPLETE), CL_INVALID_EVENT);
}

static void for_a_device(const struct rig *rig, void *handle)
{
    const cl_context_properties list[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                          rig->api->context_device, (cl_context_properties)rig->device, 0};
    const cl_device_id devices[2] = {rig->cl_device, handle};
    for (int first = 0; first < 2; first++) {
        cl_int status = 1;
        CHECK(clCreateContext(list, 2 - (cl_uint)first, &devices[first], NULL, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_DEVICE);
    }
}

static void for_an_image(const struct rig *rig, void *handle, cl_mem image)
{
    const size_t origin[3] = {0}, region[3] = {4, 4, 1};
    CHECK_INT(clEnqueueCopyImage(rig->queue, image, handle, origin, origin, region, 0, NULL, NULL),
              CL_INVALID_MEM_OBJECT);
    CHECK_INT(clEnqueueCopyImage(rig->queue, handle, image, origin, origin, region, 0, NULL, NULL),
              CL_INVALID_MEM_OBJECT);
}

/* Drivers take handles of their own for what they are not: PoCL looks only whether they are its, NVIDIA's driver for some not even
 * that. */
static void refuse_other_kinds(const struct rig *rig, cl_event event, cl_mem image, const struct shared *shared,
                               const struct shared *spare)
{
    void *const handles[] = {rig->platform, rig->cl_device, rig->context,  rig->queue,
                             event,         spare->object,  shared->object};
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        const int failures = atomic_load(&tap_case.failures);
        void *handle = handles[i];
        if (handle != rig->queue)
            for_a_queue(rig, handle, shared);
        if (handle != rig->context)
            for_a_context(rig, handle, spare);
        if (handle != event)
            for_an_event(rig, handle, shared);
        if (handle != rig->cl_device)
            for_a_device(rig, handle);
        if (image && handle != spare->object && handle != shared->object)
            for_an_image(rig, handle, image);
        report_garbage(failures, (int)i);
    }
}

SHARING_CASE("handles of other kinds for queues, contexts, events and devices", handles_of_other_kinds, 0)
{
    const cl_image_format format = {CL_RG, CL_UNSIGNED_INT8}; /* which few devices have */
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
    struct shared shared, spare;
    cl_int status = 1;
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    if (!shared_open(rig, KIND_BUFFER, 2, &spare)) {
        shared_close(&shared);
        return;
    }
    cl_event event = user_event(rig->context);
    cl_context plain = plain_context(rig);
    cl_command_queue second = make_queue(rig, rig->context, 0);
    /* Where the format is the driver's own, so is the judgement. */
    const bool emulated = !images_have_format(plain, CL_MEM_OBJECT_IMAGE2D, format);
    cl_mem image = emulated ? clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status) : NULL;
    refuse_other_kinds(rig, event, image, &shared, &spare);
    if (emulated && CHECK_INT(status, CL_SUCCESS))
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    /* Nothing is known of samplers, and of contexts that share nothing: the driver answers. */
    cl_sampler sampler = clCreateSampler(rig->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
    CHECK_INT(status, CL_SUCCESS);
    status = rig->acquire((cl_command_queue)sampler, 1, &shared.object, 0, NULL, NULL);
    CHECK(status == CL_INVALID_COMMAND_QUEUE || status == CL_INVALID_CONTEXT);
    status = rig->acquire((cl_command_queue)plain, 1, &shared.object, 0, NULL, NULL);
    CHECK(status == CL_INVALID_COMMAND_QUEUE || status == CL_INVALID_CONTEXT);
    CHECK_INT(clReleaseSampler(sampler), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 1, 2));
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    shared_close(&spare);
    shared_close(&shared);
}

/* A handle that was good once, and whose memory is somebody else's now. */
OBJECTS_CASE("objects that are gone", stale_objects, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const cl_mem stale = all[kind].object;
        CHECK_INT(clReleaseMemObject(stale), CL_SUCCESS);
        all[kind].object = NULL;
        both_refuse(rig, rig->queue, 1, &stale, 0, NULL, CL_INVALID_MEM_OBJECT);
    }
}

/* ---- objects of another kind ---- */

/* Some interface that is neither a device nor an adapter nor a resource, with one reference. */
static void *make_query_object(const struct rig *rig)
{
    void *query = NULL;
    if (rig->api->version == 11) {
        const D3D11_QUERY_DESC desc = {D3D11_QUERY_EVENT, 0};
        CHECK_INT(ID3D11Device_CreateQuery((ID3D11Device *)rig->device, &desc, (ID3D11Query **)&query), S_OK);
    } else {
        const D3D10_QUERY_DESC desc = {D3D10_QUERY_EVENT, 0};
        CHECK_INT(ID3D10Device_CreateQuery((ID3D10Device *)rig->device, &desc, (ID3D10Query **)&query), S_OK);
    }
    return query;
}

/* Nowhere is it taken for what it is not, and its count of references stays. */
static void refuse_everywhere(struct rig *rig, void *object, bool is_adapter, bool is_device, bool is_texture)
{
    const ULONG refs = rig_refs(object);
    cl_int status = 1;
    cl_uint count = 0;
    if (!is_adapter)
        CHECK_INT(
            rig->get_device_ids(rig->platform, rig->api->adapter_source, object, rig->api->all_set, 0, NULL, &count),
            CL_INVALID_VALUE);
    if (!is_device) {
        CHECK_INT(
            rig->get_device_ids(rig->platform, rig->api->device_source, object, rig->api->all_set, 0, NULL, &count),
            CL_INVALID_VALUE);
        CHECK(rig_make_context(rig, object, false, &status) == NULL);
        CHECK_INT(status, rig->api->invalid_device);
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (!is_texture || kind != KIND_2D)
            refused(rig, rig->context, CL_MEM_READ_WRITE, (enum kind)kind, object, 0, rig->api->invalid_resource);
    CHECK_INT(rig_refs(object), refs);
}

static void *query_interface(void *object, const GUID *iid)
{
    void *found = NULL;
    return SUCCEEDED(IUnknown_QueryInterface((IUnknown *)object, iid, &found)) ? found : NULL;
}

SHARING_CASE("COM objects of other kinds", other_com_objects, 0)
{
    void *query = make_query_object(rig), *factory = NULL;
    struct shared shared;
    struct rig other;
    IDXGIDevice *dxgi = query_interface(rig->device, &IID_IDXGIDevice);
    IDXGIAdapter *adapter = NULL;
    if (query)
        refuse_everywhere(rig, query, false, false, false);
    rig_release(query);
    refuse_everywhere(rig, rig->device, false, true, false);
    if (CHECK(dxgi != NULL)) {
        CHECK_INT(IDXGIDevice_GetAdapter(dxgi, &adapter), S_OK);
        refuse_everywhere(rig, dxgi, false, false, false);
    }
    if (shared_resource(rig, KIND_2D, 1, &shared)) {
        refuse_everywhere(rig, shared.resource, false, false, true);
        /* Another face of it is at another address, and what is called there would be another function. */
        IUnknown *face = query_interface(shared.resource, &IID_IDXGISurface);
        if (face)
            refuse_everywhere(rig, face, false, false, false);
        rig_release(face);
        shared_close(&shared);
    }
    if (rig_open(&other, other_api(rig), RIG_NO_CONTEXT)) {
        refuse_everywhere(rig, other.device, false, false, false);
        rig_close(&other);
    }
    if (adapter) {
        refuse_everywhere(rig, adapter, true, false, false);
        CHECK_INT(IDXGIAdapter_GetParent(adapter, &IID_IDXGIFactory, &factory), S_OK);
    }
    if (factory)
        refuse_everywhere(rig, factory, false, false, false);
    rig_release(factory);
    rig_release(adapter);
    rig_release(dxgi);
    if (rig->api->version == 11) {
        ID3D11DeviceContext *context = NULL;
        ID3D11Device_GetImmediateContext((ID3D11Device *)rig->device, &context);
        if (CHECK(context != NULL))
            refuse_everywhere(rig, context, false, false, false);
        rig_release(context);
    }
}

/* ---- NULL, where the library looks at handles of others ---- */

static void null_memory(const struct rig *rig)
{
    char bytes[64];
    cl_int status = 0;
    size_t size;
    const cl_buffer_region region = {0, 4};
    CHECK_INT(clEnqueueReadBuffer(rig->queue, NULL, CL_TRUE, 0, 4, bytes, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clEnqueueCopyBuffer(rig->queue, NULL, NULL, 0, 0, 4, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    CHECK(clEnqueueMapBuffer(rig->queue, NULL, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_MEM_OBJECT);
    CHECK_INT(clEnqueueUnmapMemObject(rig->queue, NULL, bytes, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clRetainMemObject(NULL), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clReleaseMemObject(NULL), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clGetMemObjectInfo(NULL, CL_MEM_TYPE, 0, NULL, &size), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clGetImageInfo(NULL, CL_IMAGE_WIDTH, 0, NULL, &size), CL_INVALID_MEM_OBJECT);
    CHECK(clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status) == NULL);
    CHECK_INT(status, CL_INVALID_MEM_OBJECT);
}

static void null_others(const struct rig *rig)
{
    const size_t one = 1;
    const cl_event none = NULL;
    cl_int status = 0;
    size_t size;
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, NULL, 1, NULL, &one, NULL, 0, NULL, NULL), CL_INVALID_KERNEL);
    CHECK_INT(clEnqueueTask(rig->queue, NULL, 0, NULL, NULL), CL_INVALID_KERNEL);
    CHECK_INT(clSetKernelArg(NULL, 0, sizeof(none), &none), CL_INVALID_KERNEL);
    CHECK_INT(clRetainKernel(NULL), CL_INVALID_KERNEL);
    CHECK_INT(clReleaseKernel(NULL), CL_INVALID_KERNEL);
    CHECK_INT(clRetainEvent(NULL), CL_INVALID_EVENT);
    CHECK_INT(clReleaseEvent(NULL), CL_INVALID_EVENT);
    CHECK_INT(clGetEventInfo(NULL, CL_EVENT_COMMAND_TYPE, 0, NULL, &size), CL_INVALID_EVENT);
    CHECK_INT(clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_START, 0, NULL, &size), CL_INVALID_EVENT);
    CHECK_INT(clSetUserEventStatus(NULL, CL_COMPLETE), CL_INVALID_EVENT);
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 1, &none, NULL), CL_INVALID_EVENT_WAIT_LIST);
    CHECK_INT(clEnqueueMarkerWithWaitList(NULL, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(clRetainCommandQueue(NULL), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(clReleaseCommandQueue(NULL), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(clRetainContext(NULL), CL_INVALID_CONTEXT);
    CHECK_INT(clReleaseContext(NULL), CL_INVALID_CONTEXT);
    CHECK_INT(clGetContextInfo(NULL, rig->api->prefer_shared, 0, NULL, &size), CL_INVALID_CONTEXT);
    CHECK(clCreateUserEvent(NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_CONTEXT);
    CHECK(clCreateCommandQueue(NULL, rig->cl_device, 0, &status) == NULL);
    CHECK_INT(status, CL_INVALID_CONTEXT);
}

/* With a shared object and a pending user event about, every hook of the library is at work; what queues wait for is followed where
 * there are several. */
OBJECT_CASE("NULL for every handle", null_handles, 0, KIND_BUFFER)
{
    (void)shared;
    cl_event user = user_event(rig->context);
    cl_command_queue other = make_queue(rig, rig->context, 0);
    null_memory(rig);
    null_others(rig);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

TAP_MAIN
