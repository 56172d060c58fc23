/* An OpenCL layer that imports the memory of the fake Direct3D by file descriptors, as a GPU's driver does, over one that works
 * in the host's memory (PoCL). CLD3D_TEST_IMITATES names a driver for graphics cards whose manners it has:
 *   neo       imports dma-bufs alone, and only whole ones; its UUID is not Vulkan's, its PCI address is; images lie in buffers
 *   radeonsi  imports nothing; keeps copies of the memory that it is given, until that is mapped; images lie in no buffers
 *   rocm      imports nothing; has no UUID, and AMD's query for the PCI address; images lie in buffers
 * CLD3D_TEST_MEMORY: the MiB that the device has. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "fake_d3d.h"

#include "layer_entry.h"

#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const struct fake_vulkan *fake(void)
{
    return dlsym(RTLD_DEFAULT, "fake_vulkan");
}

static bool fails(enum fake_d3d_vulkan_fault fault, cl_int *number)
{
    int value = 0;
    const bool does = fake() && fake()->fault(&value) == fault;
    if (does && number)
        *number = value;
    return does;
}

static bool is(const char *driver)
{
    const char *imitated = getenv("CLD3D_TEST_IMITATES");
    return imitated && strcmp(imitated, driver) == 0;
}

/* ---- the device ---- */

/* With CLD3D_TEST_UUID_OF only the device of this number, of the first platform, is the fake GPU. */
static bool is_the_gpu(cl_device_id device)
{
    const char *number = getenv("CLD3D_TEST_UUID_OF");
    cl_platform_id platform = NULL;
    cl_device_id devices[8] = {NULL};
    if (!number)
        return true;
    below->clGetPlatformIDs(1, &platform, NULL);
    below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, NULL);
    return devices[atoi(number) % 8] == device;
}

/* True: `*status` is the answer. */
static bool answers_as_driver(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size_ret,
                              cl_int *status)
{
    const uint32_t *at = fake()->pci, function = at[3] + !is_the_gpu(device);
    const cl_device_pci_bus_info_khr pci = {at[0], at[1], at[2], function};
    const cl_device_topology_amd place = {
        .pcie = {CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD, {0}, (cl_char)at[1], (cl_char)at[2], (cl_char)function}};
    const cl_uint types[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR}, pitches[] = {4, 64};
    const cl_bool no = CL_FALSE;
    const struct {
        cl_device_info name;
        const void *neo, *rocm; /* NULL: no answer */
        size_t size;
    } answers[] = {
        {CL_DEVICE_UUID_KHR, "a chipset's UUID", NULL, 16},
        {CL_DEVICE_PCI_BUS_INFO_KHR, &pci, NULL, sizeof(pci)},
        {CL_DEVICE_TOPOLOGY_AMD, NULL, &place, sizeof(place)},
        {CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, types, NULL, sizeof(types)},
        {CL_DEVICE_IMAGE_PITCH_ALIGNMENT, &pitches[0], &pitches[1], sizeof(pitches[0])},
        {CL_DEVICE_HOST_UNIFIED_MEMORY, &no, &no, sizeof(no)},
    };
    size_t i = is("radeonsi") ? 3 : 0, end = is("radeonsi") ? 5 : 6;
    while (i < end && answers[i].name != name)
        i++;
    const void *answer = i == end ? NULL : is("neo") ? answers[i].neo : is("rocm") ? answers[i].rocm : NULL;
    *status = answer ? give_answer(answer, answers[i].size, room, to, size_ret) : CL_INVALID_VALUE;
    return i < end;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    const cl_uint types[] = {fails(FAKE_VULKAN_OTHER_HANDLES, NULL) ? CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
                                                                    : CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                             CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};
    const cl_ulong memory = (cl_ulong)atoi(getenv("CLD3D_TEST_MEMORY") ? getenv("CLD3D_TEST_MEMORY") : "0") << 20;
    cl_int status;
    if (name == CL_DEVICE_GLOBAL_MEM_SIZE && memory)
        return give_answer(&memory, sizeof(memory), room, to, size_ret);
    if (getenv("CLD3D_TEST_IMITATES") && answers_as_driver(device, name, room, to, size_ret, &status))
        return status;
    if (name == CL_DEVICE_UUID_KHR && !fails(FAKE_VULKAN_NO_UUID, NULL))
        return give_answer(is_the_gpu(device) ? "a fake GPU's id." : "another device's", 16, room, to, size_ret);
    const cl_device_pci_bus_info_khr nowhere = {0}; /* as PoCL 7.1 says of each device */
    if (name == CL_DEVICE_PCI_BUS_INFO_KHR)
        return give_answer(&nowhere, sizeof(nowhere), room, to, size_ret);
    if (name == CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR)
        return give_answer(types, sizeof(types), room, to, size_ret);
    if (name == 0x2052 &&
        fails(FAKE_VULKAN_LINEAR_IMAGES, NULL)) /* CL_DEVICE_..._IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR */
        return give_answer(types, sizeof(types[0]), room, to, size_ret);
    return below->clGetDeviceInfo(device, name, room, to, size_ret);
}

/* ---- imports ---- */

enum { MOST_NOTED = 4096 };
static void *acquired[MOST_NOTED]; /* guarded by `lock`, NULL where there is none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Puts `to` in the place of `from`. False: there is none. */
static bool note(void **noted, void *from, void *to)
{
    unsigned i = 0;
    pthread_mutex_lock(&lock);
    while (i < MOST_NOTED && noted[i] != from)
        i++;
    if (i < MOST_NOTED)
        noted[i] = to;
    pthread_mutex_unlock(&lock);
    return i < MOST_NOTED;
}

static void CL_CALLBACK memory_gone(cl_mem memory, void *import)
{
    if (note(acquired, memory, NULL))
        fake()->acquired(-1);
    fake()->close(import);
}

static cl_mem keep(cl_mem made, void *import, cl_int *status)
{
    if (made)
        below->clSetMemObjectDestructorCallback(made, memory_gone, import);
    else if (import)
        fake()->close(import);
    (void)status;
    return made;
}

/* A failed import leaves the file descriptor open. */
static void *open_import(const cl_mem_properties *properties, struct fake_d3d_memory *at, cl_int *status)
{
    *status = CL_INVALID_PROPERTY;
    if (is("radeonsi") || is("rocm") || (is("neo") && properties[0] != CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR) ||
        fails(FAKE_VULKAN_IMPORT_FAILS, status))
        return NULL;
    void *import = fake()->open((int)properties[1], at);
    *status = import ? CL_SUCCESS : CL_INVALID_VALUE;
    return import;
}

static bool is_import(const cl_mem_properties *properties)
{
    return properties && (properties[0] == CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR ||
                          properties[0] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR);
}

static cl_mem CL_API_CALL create_image_with(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                            const cl_image_format *format, const cl_image_desc *desc, void *host,
                                            cl_int *status)
{
    struct fake_d3d_memory at;
    if (!is_import(properties))
        return table.clCreateImage(context, flags, format, desc, host, status);
    void *import = open_import(properties, &at, status);
    if (!import)
        return NULL;
    cl_image_desc placed = *desc;
    placed.image_row_pitch = at.row_pitch;
    placed.image_slice_pitch = desc->image_type == CL_MEM_OBJECT_IMAGE3D ? at.slice_pitch : 0;
    return keep(below->clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, format, &placed, at.bytes, status), import,
                status);
}

static cl_mem CL_API_CALL create_buffer_with(cl_context context, const cl_mem_properties *properties,
                                             cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    struct fake_d3d_memory at;
    if (!is_import(properties))
        return table.clCreateBuffer(context, flags, size, host, status);
    void *import = open_import(properties, &at, status);
    if (!import)
        return NULL;
    if (size != at.row_pitch)
        fake()->violation("an import has another size than the memory");
    return keep(below->clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, at.bytes, status), import, status);
}

/* Whether the fault that lets imports fail keeps images from lying in mapped memory, where nothing is imported. */
static bool no_mapped_image(cl_mem_flags flags, cl_int *status)
{
    const char *way = getenv("FAKE_D3D_VULKAN");
    return way && strcmp(way, "mapped") == 0 && flags & CL_MEM_USE_HOST_PTR && fails(FAKE_VULKAN_IMPORT_FAILS, status);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                             void *data, cl_int *status)
{
    return fails(FAKE_VULKAN_NO_CONTEXT, status)
               ? NULL
               : below->clCreateContext(properties, count, devices, notify, data, status);
}

/* ---- images that lie in buffers ---- */

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                       const cl_image_desc *desc, void *host, cl_int *status)
{
    cl_image_desc placed = *desc;
    size_t texel = 1;
    if (no_mapped_image(flags, status))
        return NULL;
    if (is("radeonsi") && flags & CL_MEM_USE_HOST_PTR)
        flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (!desc->buffer || !getenv("CLD3D_TEST_IMITATES") || is("radeonsi"))
        return below->clCreateImage(context, flags, format, desc, host, status);
    placed.buffer = NULL;
    below->clGetMemObjectInfo(desc->buffer, CL_MEM_HOST_PTR, sizeof(host), &host, NULL);
    cl_mem made = below->clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, format, &placed, host, status);
    if (made)
        below->clGetImageInfo(made, CL_IMAGE_ELEMENT_SIZE, sizeof(texel), &texel, NULL);
    if (desc->image_row_pitch % (texel * (is("neo") ? 4 : 64)))
        fake()->violation("rows of an image in a buffer are not aligned");
    return made;
}

/* That there is a buffer is enough to be seen. */
static cl_int CL_API_CALL get_image_info(cl_mem image, cl_image_info name, size_t room, void *to, size_t *size_ret)
{
    return name == CL_IMAGE_BUFFER ? below->clGetMemObjectInfo(image, CL_MEM_HOST_PTR, room, to, size_ret)
                                   : below->clGetImageInfo(image, name, room, to, size_ret);
}

/* ---- buffers that are copies of the program's memory, until they are mapped ---- */

static struct copied {
    cl_mem buffer;
    unsigned char *host;
    size_t offset, size; /* of the mapping */
} copied[256];           /* guarded by `lock` */

/* The place of a buffer, or an empty one for NULL. */
static struct copied *find_copied(cl_mem buffer)
{
    struct copied *place = copied;
    pthread_mutex_lock(&lock);
    while (place < copied + 256 && place->buffer != buffer)
        place++;
    pthread_mutex_unlock(&lock);
    return place < copied + 256 ? place : NULL;
}

static void CL_CALLBACK copied_gone(cl_mem buffer, void *data)
{
    (void)buffer;
    pthread_mutex_lock(&lock);
    ((struct copied *)data)->buffer = NULL;
    pthread_mutex_unlock(&lock);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    if (!is("radeonsi") || !(flags & CL_MEM_USE_HOST_PTR))
        return below->clCreateBuffer(context, flags, size, host, status);
    cl_mem made =
        below->clCreateBuffer(context, flags ^ (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR), size, host, status);
    struct copied *place = made ? find_copied(NULL) : NULL;
    if (place) {
        *place = (struct copied){made, host, 0, 0};
        below->clSetMemObjectDestructorCallback(made, copied_gone, place);
    }
    return made;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, cl_map_flags flags,
                                    size_t offset, size_t size, cl_uint count, const cl_event *wait, cl_event *event,
                                    cl_int *status)
{
    struct copied *place = find_copied(buffer);
    if (!place)
        return below->clEnqueueMapBuffer(queue, buffer, blocks, flags, offset, size, count, wait, event, status);
    place->offset = offset;
    place->size = size;
    *status =
        flags & CL_MAP_WRITE_INVALIDATE_REGION
            ? below->clEnqueueMarkerWithWaitList(queue, count, wait, event)
            : below->clEnqueueReadBuffer(queue, buffer, blocks, offset, size, place->host + offset, count, wait, event);
    return *status == CL_SUCCESS ? place->host + offset : NULL;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem object, void *mapped, cl_uint count,
                                const cl_event *wait, cl_event *event)
{
    const struct copied *place = find_copied(object);
    return place ? below->clEnqueueWriteBuffer(queue, object, CL_FALSE, place->offset, place->size, mapped, count, wait,
                                               event)
                 : below->clEnqueueUnmapMemObject(queue, object, mapped, count, wait, event);
}

/* ---- waits ---- */

struct notice {
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    cl_event
        begun; /* the last command that was enqueued in the callback: it may be over by chance. NULL: it is known to be */
};

static pthread_key_t callback; /* the thread's */

static struct notice *in_callback(void)
{
    return pthread_getspecific(callback);
}

static void CL_CALLBACK call_back(cl_event event, cl_int status, void *data)
{
    struct notice *notice = data, *before = in_callback();
    pthread_setspecific(callback, notice);
    notice->notify(event, status, notice->data);
    pthread_setspecific(callback, before);
    free(notice);
}

static cl_int CL_API_CALL set_callback(cl_event event, cl_int type, void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
                                       void *data)
{
    struct notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return CL_OUT_OF_HOST_MEMORY;
    *notice = (struct notice){notify, data, NULL};
    const cl_int status = below->clSetEventCallback(event, type, call_back, notice);
    if (status != CL_SUCCESS)
        free(notice);
    return status;
}

/* ---- flushes ---- */

static void *unflushed[MOST_NOTED]; /* queues with markers; guarded by `lock` */

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (!note(unflushed, queue, queue))
        note(unflushed, NULL, queue);
    return below->clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    note(unflushed, queue, NULL);
    return below->clFlush(queue);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    if (in_callback())
        fake()->violation("clFinish in a callback");
    note(unflushed, queue, NULL);
    return below->clFinish(queue);
}

/* A driver may start a queue's commands only when the queue is flushed. */
static void check_started(cl_command_queue queue, cl_event event)
{
    cl_int status = CL_COMPLETE;
    cl_command_queue other = NULL;
    below->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    below->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(other), &other, NULL);
    if (status > CL_COMPLETE && other && other != queue && note(unflushed, other, NULL))
        fake()->violation("an external command waits for a queue that nobody has flushed");
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_int status = below->clGetEventInfo(event, name, room, to, size_ret);
    struct notice *here = in_callback();
    if (here && event == here->begun && name == CL_EVENT_COMMAND_EXECUTION_STATUS && to && status == CL_SUCCESS &&
        *(cl_int *)to <= CL_COMPLETE)
        here->begun = NULL;
    return status;
}

/* What is over is not waited for. */
static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events)
{
    const struct notice *here = in_callback();
    for (cl_uint i = 0; i < count && here; i++) {
        cl_int status = CL_COMPLETE;
        below->clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
        if (status > CL_COMPLETE || events[i] == here->begun)
            fake()->violation("clWaitForEvents in a callback");
    }
    return below->clWaitForEvents(count, events);
}

/* ---- commands ---- */

enum { DRIVERS_OWN_NUMBER = 999 }; /* NVIDIA's */

static void change_hands_of(int difference, cl_mem object)
{
    fake()->acquired(difference);
    if (difference > 0 && note(acquired, object, object))
        fake()->violation("an object is acquired in the driver that is acquired already");
    else if (!note(acquired, difference > 0 ? NULL : object, difference > 0 ? object : NULL))
        fake()->violation("an object is released in the driver that is not acquired");
}

/* An acquire comes after its wait list and after nothing else in an out-of-order queue, so it is no marker. PoCL 3.1 would order a
 * release that is no marker behind later commands on its objects. */
static cl_int change_hands(int difference, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                           cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    cl_int status = CL_SUCCESS;
    if (fails(difference > 0 ? FAKE_VULKAN_ACQUIRE_FAILS : FAKE_VULKAN_RELEASE_FAILS, &status) ||
        (count < 64 &&
         fails(difference > 0 ? FAKE_VULKAN_ACQUIRE_REST_FAILS : FAKE_VULKAN_RELEASE_REST_FAILS, &status)))
        return status;
    if (fake()->strikes(difference > 0 ? "external acquire" : "external release"))
        return DRIVERS_OWN_NUMBER;
    /* NVIDIA's driver waits in the call for all that comes before the command. */
    if (wait_count && in_callback())
        fake()->violation("an external command waits in a callback");
    for (cl_uint i = 0; i < wait_count; i++)
        check_started(queue, wait[i]);
    if (wait_count)
        below->clWaitForEvents(wait_count, wait);
    below->clFinish(queue);
    if (difference > 0)
        status = below->clEnqueueMigrateMemObjects(queue, count, objects, 0, wait_count, wait, event);
    else
        status = below->clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
    if (in_callback())
        in_callback()->begun = status == CL_SUCCESS ? *event : NULL;
    for (cl_uint i = 0; i < count && status == CL_SUCCESS; i++)
        change_hands_of(difference, objects[i]);
    return status;
}

static cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    return change_hands(1, queue, count, objects, wait_count, wait, event);
}

static cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    return change_hands(-1, queue, count, objects, wait_count, wait, event);
}

static void *CL_API_CALL get_address(cl_platform_id platform, const char *name)
{
    const bool none = fails(FAKE_VULKAN_NO_FUNCTIONS, NULL) || is("radeonsi") || is("rocm");
    cl_int(CL_API_CALL * function)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *) =
        NULL;
    void *address = NULL;
    if (strcmp(name, "clEnqueueAcquireExternalMemObjectsKHR") == 0)
        function = acquire;
    else if (strcmp(name, "clEnqueueReleaseExternalMemObjectsKHR") == 0)
        function = release;
    else
        return below->clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(&address, &function, sizeof(address));
    return none ? NULL : address;
}

static void replace(void)
{
    pthread_key_create(&callback, NULL);
    table.clGetDeviceInfo = get_device_info;
    table.clSetEventCallback = set_callback;
    table.clGetEventInfo = get_event_info;
    table.clFinish = finish;
    table.clFlush = flush;
    table.clEnqueueMarkerWithWaitList = marker;
    table.clWaitForEvents = wait_for;
    table.clCreateImageWithProperties = create_image_with;
    table.clCreateBufferWithProperties = create_buffer_with;
    table.clCreateImage = create_image;
    table.clCreateContext = create_context;
    if (getenv("CLD3D_TEST_IMITATES")) {
        table.clCreateBuffer = create_buffer;
        table.clGetImageInfo = get_image_info;
        table.clEnqueueMapBuffer = map_buffer;
        table.clEnqueueUnmapMemObject = unmap;
    }
    table.clGetExtensionFunctionAddressForPlatform = get_address;
}
