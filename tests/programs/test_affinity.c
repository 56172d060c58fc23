/* The way of a painting program: for each DXGI adapter the OpenCL device, the extension in the device's string, a context,
 * a picture worked on in tiles whose kernels are followed by event callbacks alone, and from the device back to the
 * adapter by its LUID. */
#include "sharing.h"

#define LUID_VALID 0x106C /* CL_DEVICE_LUID_VALID_KHR */
#define LUID_BYTES 0x106D /* CL_DEVICE_LUID_KHR */
#define NODE_MASK 0x106E  /* CL_DEVICE_NODE_MASK_KHR */

static IDXGIFactory *open_factory(void)
{
    static const GUID iid = {0x7b7166ec, 0x21c7, 0x44ae, {0xb2, 0x1a, 0xc9, 0xae, 0x32, 0x1a, 0xe3, 0x69}};
    IDXGIFactory *factory = NULL;
    CHECK_INT(CreateDXGIFactory(&iid, (void **)&factory), S_OK);
    return factory;
}

/* The devices of an adapter over all platforms; the first into `device`. */
static cl_uint devices_of(IDXGIAdapter *adapter, cl_device_id *device)
{
    cl_platform_id platforms[8];
    cl_uint platform_count = 0, found = 0;
    CHECK_INT(clGetPlatformIDs(8, platforms, &platform_count), CL_SUCCESS);
    for (cl_uint i = 0; i < platform_count; i++) {
        cl_device_id devices[8];
        cl_uint count = 0;
        void *address = clGetExtensionFunctionAddressForPlatform(platforms[i], "clGetDeviceIDsFromD3D10KHR");
        rig_get_device_ids get_device_ids;
        memcpy(&get_device_ids, &address, sizeof(address));
        if (!CHECK(address != NULL))
            continue;
        const cl_int status = get_device_ids(platforms[i], rig_d3d10.adapter_source, adapter, rig_d3d10.preferred_set,
                                             8, devices, &count);
        CHECK(status == CL_SUCCESS || status == CL_DEVICE_NOT_FOUND);
        if (status == CL_SUCCESS && found++ == 0)
            *device = devices[0];
    }
    return found;
}

static cl_device_id first_device(IDXGIAdapter **adapter)
{
    cl_device_id device = NULL;
    IDXGIFactory *factory = open_factory();
    *adapter = NULL;
    if (!factory)
        return NULL;
    CHECK_INT(IDXGIFactory_EnumAdapters(factory, 0, adapter), S_OK);
    IDXGIFactory_Release(factory);
    if (*adapter)
        CHECK_INT(devices_of(*adapter, &device), 1);
    CHECK(device != NULL);
    return device;
}

CASE("each adapter's OpenCL device says that it shares with Direct3D 10", adapters)
{
    static char text[65536];
    IDXGIAdapter *adapter;
    cl_device_id device = first_device(&adapter);
    if (device) {
        CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
        CHECK(strstr(text, "cl_khr_d3d10_sharing") != NULL);
    }
    if (adapter)
        IDXGIAdapter_Release(adapter);
}

CASE("the device's LUID is the adapter's", back_to_the_adapter)
{
    IDXGIAdapter *adapter;
    DXGI_ADAPTER_DESC desc;
    cl_bool valid = CL_FALSE;
    unsigned char luid[8] = {0};
    cl_uint nodes = 0;
    size_t size = 0;
    cl_device_id device = first_device(&adapter);
    if (device) {
        CHECK_INT(IDXGIAdapter_GetDesc(adapter, &desc), S_OK);
        CHECK_INT(clGetDeviceInfo(device, LUID_VALID, sizeof(valid), &valid, &size), CL_SUCCESS);
        CHECK_INT(valid, CL_TRUE);
        CHECK_INT(size, sizeof(valid));
        CHECK_INT(clGetDeviceInfo(device, LUID_BYTES, sizeof(luid), luid, &size), CL_SUCCESS);
        CHECK_INT(size, 8);
        CHECK_MEM(luid, &desc.AdapterLuid, 8);
        CHECK_INT(clGetDeviceInfo(device, LUID_BYTES, 7, luid, NULL), CL_INVALID_VALUE);
        CHECK_INT(clGetDeviceInfo(device, NODE_MASK, sizeof(nodes), &nodes, &size), CL_SUCCESS);
        CHECK_INT(size, sizeof(nodes));
        CHECK_INT(nodes, 1);
        CHECK_INT(clGetDeviceInfo(device, NODE_MASK, sizeof(nodes) - 1, &nodes, NULL), CL_INVALID_VALUE);
    }
    if (adapter)
        IDXGIAdapter_Release(adapter);
}

/* ---- tiles ---- */

enum { TILES = 2000, TILE = 64 };

static const char tile_source[] = "kernel void tile(global uint *data, uint number)\n"
                                  "{\n"
                                  "    data[number * 64 + get_global_id(0)] += number + get_global_id(0);\n"
                                  "}\n";

static struct {
    atomic_uint done, wrong;
    atomic_uchar came[TILES];
} tiles;

static void CL_CALLBACK on_tile(cl_event event, cl_int status, void *data)
{
    (void)event;
    if (status != CL_COMPLETE || atomic_fetch_add(&tiles.came[(size_t)data], 1) != 0)
        atomic_fetch_add(&tiles.wrong, 1);
    atomic_fetch_add(&tiles.done, 1);
}

/* Queues in turn, so that tiles end in any order. */
static void run_tiles(const struct rig *rig, cl_kernel kernel, cl_command_queue queues[3])
{
    const size_t size = TILE;
    for (cl_uint i = 0; i < TILES; i++) {
        cl_event event = NULL;
        CHECK_INT(clSetKernelArg(kernel, 1, sizeof(i), &i), CL_SUCCESS);
        if (!CHECK_INT(clEnqueueNDRangeKernel(queues[i % 3], kernel, 1, NULL, &size, NULL, 0, NULL, &event),
                       CL_SUCCESS))
            return;
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_tile, (void *)(size_t)i), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        if (i % 50 == 0)
            CHECK_INT(clFlush(queues[i % 3]), CL_SUCCESS);
    }
    for (int i = 0; i < 3; i++)
        CHECK_INT(clFlush(queues[i]), CL_SUCCESS);
    for (unsigned i = 0; i < 60000 && atomic_load(&tiles.done) < TILES; i++)
        pause_ms(1);
    (void)rig;
}

static void work_on(struct rig *rig)
{
    static cl_uint data[TILES * TILE];
    cl_int status = 1;
    cl_command_queue queues[3] = {rig->queue, make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_COPY_HOST_PTR, sizeof(data), data, &status);
    cl_kernel kernel = rig_kernel(rig, tile_source, "tile");
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), CL_SUCCESS);
    memset(&tiles, 0, sizeof(tiles));
    run_tiles(rig, kernel, queues);
    CHECK_INT(atomic_load(&tiles.done), TILES);
    CHECK_INT(atomic_load(&tiles.wrong), 0);
    /* No wait but the callbacks: all is there. */
    CHECK_INT(clEnqueueReadBuffer(rig->queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL), CL_SUCCESS);
    unsigned wrong = 0;
    for (cl_uint i = 0; i < TILES * TILE; i++)
        wrong += data[i] != i / TILE + i % TILE;
    CHECK_INT(wrong, 0);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queues[1]), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queues[2]), CL_SUCCESS);
}

CASE("thousands of tiles, followed by callbacks alone", in_tiles)
{
    sharing_run(&rig_d3d10, 0, work_on);
}

TAP_MAIN
