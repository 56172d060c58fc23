#include "formats.h"
#include "rig_d3d.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include "fake_d3d.h"
#endif

static const struct rig_ops *ops_of(const struct rig *rig)
{
    return rig->api->version == 10 ? &rig_ops_d3d10 : &rig_ops_d3d11;
}

/* ---- opening and closing ---- */

bool rig_find_device(struct rig *rig, cl_platform_id but)
{
    enum { MOST = 16 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0;
    if (!CHECK_INT(clGetPlatformIDs(MOST, platforms, &count), CL_SUCCESS))
        return false;
    for (cl_uint i = 0; i < count && i < MOST; i++) {
        cl_device_id devices[MOST];
        cl_uint found = 0;
        if (platforms[i] == but)
            continue;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST, devices, &found) != CL_SUCCESS)
            continue;
        for (cl_uint j = 0; j < found && j < MOST; j++) {
            cl_bool images = CL_FALSE;
            clGetDeviceInfo(devices[j], CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
            rig->platform = platforms[i];
            rig->cl_device = devices[j];
            if (images)
                return true;
        }
    }
    return false;
}

bool rig_find_function(const struct rig *rig, const char *name, void *function)
{
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, name);
    memcpy(function, &address, sizeof(address));
    return CHECK(address != NULL);
}

static bool find_function(const struct rig *rig, const char *before, const char *after, void *function)
{
    char name[64];
    snprintf(name, sizeof(name), "cl%sD3D%d%s", before, rig->api->version, after);
    return rig_find_function(rig, name, function);
}

static bool find_functions(struct rig *rig)
{
    return find_function(rig, "GetDeviceIDsFrom", "KHR", &rig->get_device_ids) &&
           find_function(rig, "CreateFrom", "BufferKHR", &rig->create_buffer) &&
           find_function(rig, "CreateFrom", "Texture2DKHR", &rig->create_2d) &&
           find_function(rig, "CreateFrom", "Texture3DKHR", &rig->create_3d) &&
           find_function(rig, "EnqueueAcquire", "ObjectsKHR", &rig->acquire) &&
           find_function(rig, "EnqueueRelease", "ObjectsKHR", &rig->release);
}

cl_context rig_make_context_with(const struct rig *rig, cl_context_properties property, void *device, bool user_sync,
                                 cl_int *status)
{
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM,
        (cl_context_properties)rig->platform,
        property,
        (cl_context_properties)device,
        user_sync ? CL_CONTEXT_INTEROP_USER_SYNC : 0,
        CL_TRUE,
        0,
    };
    return clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, status);
}

cl_context rig_make_context(const struct rig *rig, void *device, bool user_sync, cl_int *status)
{
    return rig_make_context_with(rig, rig->api->context_device, device, user_sync, status);
}

/* Whether a command of such a queue, in a context of its own, ends while one before it is held. Those of rusticl 25.0 do not. */
static bool runs_out_of_order(cl_device_id device)
{
    enum { WAIT = 2000 };
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    cl_event held = clCreateUserEvent(context, NULL), behind = NULL, beside = NULL;
    const unsigned char zero[4] = {0};
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(zero), NULL, NULL);
    cl_int status = CL_QUEUED;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 1, &held, &behind), CL_SUCCESS);
    CHECK_INT(clEnqueueFillBuffer(queue, buffer, zero, sizeof(zero), 0, sizeof(zero), 0, NULL, &beside), CL_SUCCESS);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    for (int i = 0; i < WAIT && status != CL_COMPLETE; i++) {
        CHECK_INT(clGetEventInfo(beside, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
        pause_ms(status != CL_COMPLETE);
    }
    CHECK_INT(clSetUserEventStatus(held, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &beside), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(beside), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(behind), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status == CL_COMPLETE;
}

/* Asked once. Under layers that play a driver, and NVIDIA's, a process may have several devices. */
bool rig_in_any_order(cl_device_id device)
{
    static cl_device_id asked;
    static bool answer;
    if (asked != device)
        answer = runs_out_of_order(device);
    asked = device;
    return answer;
}

bool rig_open_queue(struct rig *rig, unsigned flags)
{
    cl_int status = CL_SUCCESS;
    cl_command_queue_properties properties = 0;
    if (flags & RIG_PROFILING)
        properties |= CL_QUEUE_PROFILING_ENABLE;
    if (flags & RIG_OUT_OF_ORDER)
        properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    rig->queue = clCreateCommandQueue(rig->context, rig->cl_device, properties, &status);
    if (status == CL_INVALID_QUEUE_PROPERTIES && flags & RIG_OUT_OF_ORDER) {
        SKIP("the device has no out-of-order queues");
        return false;
    }
    if (status == CL_SUCCESS && flags & RIG_OUT_OF_ORDER && !rig_in_any_order(rig->cl_device)) {
        CHECK_INT(clReleaseCommandQueue(rig->queue), CL_SUCCESS);
        rig->queue = NULL;
        SKIP("the device runs its out-of-order queues in order");
        return false;
    }
    return CHECK_INT(status, CL_SUCCESS) && CHECK(rig->queue != NULL);
}

bool rig_open_context(struct rig *rig, cl_context_properties property, void *device, unsigned flags)
{
    cl_int status = CL_SUCCESS;
    rig->context = rig_make_context_with(rig, property, device, flags & RIG_USER_SYNC, &status);
    return CHECK_INT(status, CL_SUCCESS) && CHECK(rig->context != NULL) && rig_open_queue(rig, flags);
}

unsigned rig_begin(void)
{
#ifdef _WIN32
    return 0;
#else
    const unsigned before = fake_d3d_live();
    fake_d3d_reset();
    return before;
#endif
}

void rig_end(cl_device_id device, unsigned before)
{
#ifdef _WIN32
    (void)device, (void)before;
#else
    if (!CHECK_INT(fake_d3d_violations(), 0))
        printf("# %s\n", fake_d3d_last_violation());
    for (int i = 0; i < 1000 && device && fake_d3d_live() > before; i++) {
        rig_let_go(device);
        pause_ms(10);
    }
    if (!CHECK_INT(fake_d3d_live(), before))
        fake_d3d_list_live(stdout, "# left: ");
    fake_d3d_reset();
#endif
}

/* Wine's Direct3D takes much longer to make a device than a case to run, so the cases of a program have one in common there.
 * Over the fake Direct3D each has its own, and whatever it leaves behind is seen. */
static HRESULT open_device(struct rig *rig, unsigned flags)
{
    if (flags & RIG_SINGLE_THREADED)
        return ops_of(rig)->open(D3D11_CREATE_DEVICE_SINGLETHREADED, &rig->device);
#ifdef _WIN32
    static void *devices[2];
    void **common = &devices[rig->api->version == 10];
    const HRESULT result = *common ? S_OK : ops_of(rig)->open(0, common);
    if (SUCCEEDED(result)) {
        rig->device = *common;
        IUnknown_AddRef((IUnknown *)rig->device);
    }
    return result;
#else
    return ops_of(rig)->open(0, &rig->device);
#endif
}

static bool open_rest(struct rig *rig, unsigned flags)
{
    return find_functions(rig) &&
           (flags & RIG_NO_CONTEXT || rig_open_context(rig, rig->api->context_device, rig->device, flags));
}

bool rig_open(struct rig *rig, const struct rig_api *api, unsigned flags)
{
    *rig = (struct rig){.api = api};
    if (CHECK_INT(open_device(rig, flags), S_OK) && CHECK(rig_find_device(rig, NULL)) && open_rest(rig, flags))
        return true;
    rig_close(rig);
    return false;
}

bool rig_open_beside(struct rig *rig, const struct rig *first, unsigned flags)
{
    *rig = (struct rig){.api = first->api};
    if (!rig_find_device(rig, first->platform))
        return false;
    rig->device = first->device;
    IUnknown_AddRef((IUnknown *)rig->device);
    if (open_rest(rig, flags))
        return true;
    rig_close(rig);
    return false;
}

void rig_close(struct rig *rig)
{
    if (rig->queue)
        clReleaseCommandQueue(rig->queue);
    if (rig->context)
        clReleaseContext(rig->context);
    rig_release(rig->device);
    rig->queue = NULL;
    rig->context = NULL;
    rig->device = NULL;
}

void *rig_another_device(const struct rig *rig)
{
    void *device = NULL;
    CHECK_INT(ops_of(rig)->open(0, &device), S_OK);
    return device;
}

/* ---- resources ---- */

static bool is_planar(DXGI_FORMAT format)
{
    return format == DXGI_FORMAT_NV12 || format == DXGI_FORMAT_P010 || format == DXGI_FORMAT_P016;
}

UINT rig_texel_bytes(DXGI_FORMAT format)
{
    static const struct {
        DXGI_FORMAT first, last;
        UINT bytes;
    } sizes[] = {
        {DXGI_FORMAT_R32G32B32A32_TYPELESS, DXGI_FORMAT_R32G32B32A32_SINT, 16},
        {DXGI_FORMAT_R32G32B32_TYPELESS, DXGI_FORMAT_R32G32B32_SINT, 12},
        {DXGI_FORMAT_R16G16B16A16_TYPELESS, DXGI_FORMAT_R32G32_SINT, 8},
        {DXGI_FORMAT_R10G10B10A2_TYPELESS, DXGI_FORMAT_D24_UNORM_S8_UINT, 4},
        {DXGI_FORMAT_R8G8_TYPELESS, DXGI_FORMAT_R16_SINT, 2},
        {DXGI_FORMAT_R8_TYPELESS, DXGI_FORMAT_A8_UNORM, 1},
        {DXGI_FORMAT_B8G8R8A8_UNORM, DXGI_FORMAT_B8G8R8X8_UNORM_SRGB, 4},
        {DXGI_FORMAT_NV12, DXGI_FORMAT_NV12, 1},
        {DXGI_FORMAT_P010, DXGI_FORMAT_P016, 2},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (format >= sizes[i].first && format <= sizes[i].last)
            return sizes[i].bytes;
    return 0;
}

static UINT at_level(UINT extent, UINT level)
{
    return extent >> level ? extent >> level : 1;
}

void rig_level(const struct rig_desc *desc, UINT subresource, UINT *width, UINT *height, UINT *depth)
{
    const UINT level = subresource % (desc->levels ? desc->levels : 1);
    *width = at_level(desc->width, level);
    *height = desc->height ? at_level(desc->height, level) : 1;
    *depth = desc->depth ? at_level(desc->depth, level) : 1;
}

/* A subresource as rows without gaps. The chroma of a planar format follows as more rows of the same length. */
struct layout {
    size_t row_bytes;
    UINT rows, slices;
};

static struct layout layout_of(const struct rig_desc *desc, UINT subresource)
{
    UINT width, height, depth;
    rig_level(desc, subresource, &width, &height, &depth);
    const UINT texel = desc->height ? rig_texel_bytes(desc->format) : 1;
    return (struct layout){(size_t)width * texel, is_planar(desc->format) ? height + height / 2 : height, depth};
}

size_t rig_bytes(const struct rig_desc *desc, UINT subresource)
{
    const struct layout layout = layout_of(desc, subresource);
    return layout.row_bytes * layout.rows * layout.slices;
}

UINT rig_subresources(const struct rig_desc *desc)
{
    return (desc->levels ? desc->levels : 1) * (desc->slices ? desc->slices : 1);
}

/* All subresources get their rows from `data`, of which the first and largest needs all. */
static struct rig_rows *initial_rows(const struct rig_desc *desc, const void *data)
{
    const UINT count = rig_subresources(desc);
    struct rig_rows *rows = calloc(count, sizeof(*rows));
    for (UINT i = 0; rows && i < count; i++) {
        const struct layout layout = layout_of(desc, i);
        rows[i] = (struct rig_rows){data, (UINT)layout.row_bytes, (UINT)layout.row_bytes * layout.rows};
    }
    return rows;
}

bool rig_shares_textures(void)
{
    const char *shares = getenv("CLD3D_TEST_SHARED_TEXTURES");
    return !shares || strcmp(shares, "no") != 0;
}

void *rig_make(const struct rig *rig, void *device, const struct rig_desc *desc, HRESULT *result)
{
    void *resource = NULL;
    struct rig_rows *initial = desc->initial ? initial_rows(desc, desc->initial) : NULL;
    const UINT shared = D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX;
    const bool ends = (desc->misc & shared) && desc->height && !rig_shares_textures();
    const HRESULT made = ends ? E_NOTIMPL : ops_of(rig)->make(device, desc, initial, &resource);
    free(initial);
    if (result)
        *result = made;
    return SUCCEEDED(made) ? resource : NULL;
}

static void copy_rows(const struct layout *layout, char *to, size_t to_row, size_t to_slice, const char *from,
                      size_t from_row, size_t from_slice)
{
    for (UINT z = 0; z < layout->slices; z++)
        for (UINT y = 0; y < layout->rows; y++)
            memcpy(to + z * to_slice + y * to_row, from + z * from_slice + y * from_row, layout->row_bytes);
}

/* Not by VirtualQuery, which does not know the host's memory. */
static bool is_memory(const void *address)
{
#ifdef _WIN32
    char byte;
    return ReadProcessMemory(GetCurrentProcess(), address, &byte, 1, NULL) != 0;
#else
    return address != NULL;
#endif
}

void rig_write(const struct rig *rig, void *resource, const struct rig_desc *desc, UINT subresource, const void *data)
{
    const struct layout layout = layout_of(desc, subresource);
    const size_t row = layout.row_bytes, slice = row * layout.rows;
    const struct rig_rows rows = {data, (UINT)row, (UINT)slice};
    void *device = ops_of(rig)->owner(resource);
    if (desc->usage == RIG_DEFAULT) {
        ops_of(rig)->update(device, resource, subresource, &rows);
    } else {
        const enum rig_map mode = desc->usage == RIG_DYNAMIC ? RIG_MAP_DISCARD : RIG_MAP_WRITE;
        struct rig_rows mapped;
        if (CHECK_INT(ops_of(rig)->map(device, resource, desc, subresource, mode, &mapped), S_OK)) {
            copy_rows(&layout, (char *)mapped.data, mapped.row_pitch, mapped.slice_pitch, data, row, slice);
            ops_of(rig)->unmap(device, resource, desc, subresource);
        }
    }
    rig_release(device);
}

bool rig_can_map(const struct rig *rig, const struct rig_desc *desc)
{
    struct rig_rows mapped;
    bool exists = false;
    if (desc->height || desc->width >= 4 || sizeof(void *) > 4)
        return true;
    void *resource = rig_make(rig, rig->device, desc, NULL);
    if (CHECK(resource != NULL) &&
        CHECK_INT(ops_of(rig)->map(rig->device, resource, desc, 0, RIG_MAP_DISCARD, &mapped), S_OK)) {
        exists = is_memory(mapped.data);
        ops_of(rig)->unmap(rig->device, resource, desc, 0);
    }
    rig_release(resource);
    return exists;
}

/* A staging resource of one level's size. */
static void *make_staging(const struct rig *rig, void *device, const struct rig_desc *desc, UINT subresource,
                          struct rig_desc *staging)
{
    *staging = (struct rig_desc){.format = desc->format, .usage = RIG_STAGING};
    rig_level(desc, subresource, &staging->width, &staging->height, &staging->depth);
    if (!desc->height)
        staging->height = 0;
    if (!desc->depth)
        staging->depth = 0;
    HRESULT result;
    void *resource = rig_make(rig, device, staging, &result);
    CHECK_INT(result, S_OK);
    return resource;
}

void rig_read(const struct rig *rig, void *resource, const struct rig_desc *desc, UINT subresource, void *data)
{
    const struct layout layout = layout_of(desc, subresource);
    const size_t row = layout.row_bytes, slice = row * layout.rows;
    struct rig_desc staging;
    void *device = ops_of(rig)->owner(resource);
    void *copy = make_staging(rig, device, desc, subresource, &staging);
    struct rig_rows mapped;
    if (copy) {
        ops_of(rig)->copy(device, copy, 0, resource, subresource);
        if (CHECK_INT(ops_of(rig)->map(device, copy, &staging, 0, RIG_MAP_READ, &mapped), S_OK)) {
            copy_rows(&layout, data, row, slice, mapped.data, mapped.row_pitch, mapped.slice_pitch);
            ops_of(rig)->unmap(device, copy, &staging, 0);
        }
    }
    rig_release(copy);
    rig_release(device);
}

void rig_copy_to(const struct rig *rig, void *to, UINT to_subresource, void *from, UINT subresource)
{
    void *device = ops_of(rig)->owner(from);
    ops_of(rig)->copy(device, to, to_subresource, from, subresource);
    rig_release(device);
}

void rig_copy(const struct rig *rig, void *to, void *from, UINT subresource)
{
    rig_copy_to(rig, to, 0, from, subresource);
}

void rig_flush(const struct rig *rig, void *device)
{
    ops_of(rig)->flush(device);
}

bool rig_finish(const struct rig *rig, void *device)
{
    return CHECK_INT(ops_of(rig)->finish(device), S_OK);
}

ULONG rig_refs(void *object)
{
    IUnknown_AddRef((IUnknown *)object);
    return IUnknown_Release((IUnknown *)object);
}

void rig_release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

/* ---- patterns ---- */

/* Well mixed 32 bits for each seed and place (the finaliser of MurmurHash3). */
static uint32_t mix(unsigned seed, size_t place)
{
    uint32_t h = (uint32_t)place * 0x9E3779B1u + seed * 0x85EBCA77u + 0x165667B1u;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

void rig_pattern(void *data, size_t size, unsigned seed)
{
    unsigned char *bytes = data;
    const size_t whole = size & ~(size_t)3;
    for (size_t i = 0; i < whole; i += 4) {
        const uint32_t word = mix(seed, i / 4);
        memcpy(bytes + i, &word, 4);
    }
    if (whole < size) {
        const uint32_t word = mix(seed, whole / 4);
        memcpy(bytes + whole, &word, size - whole);
    }
    /* Even a single byte tells neighbouring seeds apart. */
    if (size)
        bytes[0] = (unsigned char)(seed * 37 + 11);
}

/* Exponents in the middle: no NaN, infinity or denormal number, which a driver may change on the way. */
static void make_floats(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t f;
        memcpy(&f, bytes + i, 4);
        f = (f & 0x807FFFFFu) | (96 + (f >> 23) % 64) << 23;
        memcpy(bytes + i, &f, 4);
    }
}

static void make_halves(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + 2 <= size; i += 2) {
        uint16_t h;
        memcpy(&h, bytes + i, 2);
        h = (uint16_t)((h & 0x83FFu) | (1 + (h >> 10) % 30) << 10);
        memcpy(bytes + i, &h, 2);
    }
}

/* The lowest integer means -1.0 as the next one does, and comes out of a kernel as that. */
static void make_snorms(unsigned char *bytes, size_t size, size_t channel)
{
    for (size_t i = 0; i + channel <= size; i += channel)
        if (bytes[i + channel - 1] == 0x80 && (channel == 1 || bytes[i] == 0))
            bytes[i]++;
}

void rig_pattern_for(DXGI_FORMAT format, void *data, size_t size, unsigned seed)
{
    rig_pattern(data, size, seed);
    const struct format *known = format_named(format);
    switch (known ? known->cl.image_channel_data_type : 0) {
    case CL_FLOAT: make_floats(data, size); break;
    case CL_HALF_FLOAT: make_halves(data, size); break;
    case CL_SNORM_INT8: make_snorms(data, size, 1); break;
    case CL_SNORM_INT16: make_snorms(data, size, 2); break;
    }
}

/* ---- OpenCL ---- */

static void show_build_log(const struct rig *rig, cl_program program)
{
    char log[4096] = "";
    clGetProgramBuildInfo(program, rig->cl_device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        char remark[512];
        snprintf(remark, sizeof(remark), "# %.500s", line);
        tap_line(remark);
    }
}

cl_program rig_program(const struct rig *rig, const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(rig->context, 1, &source, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return NULL;
    if (CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "", NULL, NULL), CL_SUCCESS))
        return program;
    show_build_log(rig, program);
    clReleaseProgram(program);
    return NULL;
}

cl_kernel rig_kernel(const struct rig *rig, const char *source, const char *name)
{
    cl_int status;
    cl_program program = rig_program(rig, source);
    if (!program)
        return NULL;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK_INT(status, CL_SUCCESS);
    clReleaseProgram(program);
    return kernel;
}

cl_int rig_event_status(cl_event event)
{
    cl_int status = 0;
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
    return status;
}

cl_uint rig_event_type(cl_event event)
{
    cl_command_type type = 0;
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    return type;
}

bool rig_has_format(const struct rig *rig, cl_image_format format, cl_mem_object_type type)
{
    const cl_image_desc desc = {
        .image_type = type, .image_width = 4, .image_height = 4, .image_depth = type == CL_MEM_OBJECT_IMAGE3D ? 4 : 0};
    cl_int status;
    cl_mem image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    if (image)
        clReleaseMemObject(image);
    return image != NULL;
}

void rig_let_go(cl_device_id device)
{
    cl_int status = 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}
