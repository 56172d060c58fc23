/* Drivers for graphics cards that import the memory of the fake Direct3D by file descriptors, over one that works in the host's memory
 * (PoCL). CLD3D_TEST_IMITATES names one whose manners it has besides:
 *   neo       imports dma-bufs alone, and only whole ones; its UUID is not Vulkan's, its PCI address is; images lie in buffers
 *   radeonsi  imports nothing; keeps copies of the memory that it is given, until that is mapped; images lie in no buffers
 *   rocm      imports nothing; has no UUID, and AMD's query for the PCI address; images lie in buffers
 * CLD3D_TEST_MEMORY: the MiB that the device has. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "fake_d3d.h"

#include "layer.h"

#include <dlfcn.h>
#include <pthread.h>
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
    return is_set("CLD3D_TEST_IMITATES", driver);
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

/* What an imitated driver answers: true, and `*status` is the query's. */
static bool answers_as_driver(PARAMETERS_clGetDeviceInfo, cl_int *status)
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
    while (i < end && answers[i].name != param_name)
        i++;
    const void *answer = i == end ? NULL : is("neo") ? answers[i].neo : is("rocm") ? answers[i].rocm : NULL;
    *status = answer ? give_answer(answer, answers[i].size, param_value_size, param_value, param_value_size_ret)
                     : CL_INVALID_VALUE;
    return i < end;
}

REPLACES(clGetDeviceInfo)
{
    const cl_uint types[] = {fails(FAKE_VULKAN_OTHER_HANDLES, NULL) ? CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
                                                                    : CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                             CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};
    const cl_ulong memory = (cl_ulong)atoi(getenv("CLD3D_TEST_MEMORY") ? getenv("CLD3D_TEST_MEMORY") : "0") << 20;
    const cl_device_pci_bus_info_khr nowhere = {0}; /* as PoCL 7.1 says of each device */
    cl_int status;
    if (param_name == CL_DEVICE_GLOBAL_MEM_SIZE && memory)
        return ANSWER(memory);
    if (getenv("CLD3D_TEST_IMITATES") && answers_as_driver(ARGUMENTS_clGetDeviceInfo, &status))
        return status;
    if (param_name == CL_DEVICE_UUID_KHR && !fails(FAKE_VULKAN_NO_UUID, NULL))
        return give_answer(is_the_gpu(device) ? "a fake GPU's id." : "another device's", 16, param_value_size,
                           param_value, param_value_size_ret);
    if (param_name == CL_DEVICE_PCI_BUS_INFO_KHR)
        return ANSWER(nowhere);
    if (param_name == CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR)
        return ANSWER(types);
    /* CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR */
    if (param_name == 0x2052 && fails(FAKE_VULKAN_LINEAR_IMAGES, NULL))
        return ANSWER(types[0]);
    return PASS(clGetDeviceInfo);
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

static cl_mem keep(cl_mem made, void *import)
{
    if (made)
        below->clSetMemObjectDestructorCallback(made, memory_gone, import);
    else if (import)
        fake()->close(import);
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

REPLACES(clCreateImageWithProperties)
{
    struct fake_d3d_memory at;
    if (!is_import(properties))
        return own.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
    void *import = open_import(properties, &at, errcode_ret);
    if (!import)
        return NULL;
    cl_image_desc placed = *image_desc;
    placed.image_row_pitch = at.row_pitch;
    placed.image_slice_pitch = placed.image_type == CL_MEM_OBJECT_IMAGE3D ? at.slice_pitch : 0;
    flags |= CL_MEM_USE_HOST_PTR;
    return keep(below->clCreateImage(context, flags, image_format, &placed, at.bytes, errcode_ret), import);
}

REPLACES(clCreateBufferWithProperties)
{
    struct fake_d3d_memory at;
    if (!is_import(properties))
        return own.clCreateBuffer(context, flags, size, host_ptr, errcode_ret);
    void *import = open_import(properties, &at, errcode_ret);
    if (!import)
        return NULL;
    if (size != at.row_pitch)
        fake()->violation("an import has another size than the memory");
    return keep(below->clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, at.bytes, errcode_ret), import);
}

REPLACES(clCreateContext)
{
    return fails(FAKE_VULKAN_NO_CONTEXT, errcode_ret) ? NULL : PASS(clCreateContext);
}

/* ---- images that lie in buffers ---- */

REPLACES(clCreateImage)
{
    cl_image_desc placed = *image_desc;
    size_t texel = 1;
    /* The fault that lets imports fail keeps images from lying in mapped memory, where nothing is imported. */
    if (flags & CL_MEM_USE_HOST_PTR && is_set("FAKE_D3D_VULKAN", "mapped") &&
        fails(FAKE_VULKAN_IMPORT_FAILS, errcode_ret))
        return NULL;
    if (is("radeonsi") && flags & CL_MEM_USE_HOST_PTR)
        flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (!placed.buffer || !getenv("CLD3D_TEST_IMITATES") || is("radeonsi"))
        return PASS(clCreateImage);
    below->clGetMemObjectInfo(placed.buffer, CL_MEM_HOST_PTR, sizeof(host_ptr), &host_ptr, NULL);
    placed.buffer = NULL;
    cl_mem made =
        below->clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, image_format, &placed, host_ptr, errcode_ret);
    if (made)
        below->clGetImageInfo(made, CL_IMAGE_ELEMENT_SIZE, sizeof(texel), &texel, NULL);
    if (placed.image_row_pitch % (texel * (is("neo") ? 4 : 64)))
        fake()->violation("rows of an image in a buffer are not aligned");
    return made;
}

/* That there is a buffer is enough to be seen. */
REPLACES(clGetImageInfo)
{
    if (param_name != CL_IMAGE_BUFFER || !getenv("CLD3D_TEST_IMITATES"))
        return PASS(clGetImageInfo);
    return below->clGetMemObjectInfo(image, CL_MEM_HOST_PTR, param_value_size, param_value, param_value_size_ret);
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

REPLACES(clCreateBuffer)
{
    if (!is("radeonsi") || !(flags & CL_MEM_USE_HOST_PTR))
        return PASS(clCreateBuffer);
    flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    cl_mem made = PASS(clCreateBuffer);
    struct copied *place = made ? find_copied(NULL) : NULL;
    if (place) {
        *place = (struct copied){made, host_ptr, 0, 0};
        below->clSetMemObjectDestructorCallback(made, copied_gone, place);
    }
    return made;
}

REPLACES(clEnqueueMapBuffer)
{
    struct copied *place = find_copied(buffer);
    if (!place)
        return PASS(clEnqueueMapBuffer);
    place->offset = offset;
    place->size = cb;
    *errcode_ret =
        map_flags & CL_MAP_WRITE_INVALIDATE_REGION
            ? below->clEnqueueMarkerWithWaitList(command_queue, num_events_in_wait_list, event_wait_list, event)
            : below->clEnqueueReadBuffer(command_queue, buffer, blocking_map, offset, cb, place->host + offset,
                                         num_events_in_wait_list, event_wait_list, event);
    return *errcode_ret == CL_SUCCESS ? place->host + offset : NULL;
}

REPLACES(clEnqueueUnmapMemObject)
{
    const struct copied *place = find_copied(memobj);
    return place ? below->clEnqueueWriteBuffer(command_queue, memobj, CL_FALSE, place->offset, place->size, mapped_ptr,
                                               num_events_in_wait_list, event_wait_list, event)
                 : PASS(clEnqueueUnmapMemObject);
}

/* ---- waits ---- */

struct notice {
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    cl_event
        begun; /* the last command that was enqueued in the callback: it may be over by chance. NULL: it is known to be */
};

/* The thread's. (The leak checker crashes at variables of threads in libraries like this one.) */
static pthread_key_t callback;

__attribute__((constructor)) static void make_key(void)
{
    pthread_key_create(&callback, NULL);
}

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

REPLACES(clSetEventCallback)
{
    struct notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return CL_OUT_OF_HOST_MEMORY;
    *notice = (struct notice){pfn_notify, user_data, NULL};
    const cl_int status = below->clSetEventCallback(event, command_exec_callback_type, call_back, notice);
    if (status != CL_SUCCESS)
        free(notice);
    return status;
}

/* ---- flushes ---- */

static void *unflushed[MOST_NOTED]; /* queues with markers; guarded by `lock` */

REPLACES(clEnqueueMarkerWithWaitList)
{
    if (!note(unflushed, command_queue, command_queue))
        note(unflushed, NULL, command_queue);
    return PASS(clEnqueueMarkerWithWaitList);
}

REPLACES(clFlush)
{
    note(unflushed, command_queue, NULL);
    return PASS(clFlush);
}

REPLACES(clFinish)
{
    if (in_callback())
        fake()->violation("clFinish in a callback");
    note(unflushed, command_queue, NULL);
    return PASS(clFinish);
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

REPLACES(clGetEventInfo)
{
    const cl_int status = PASS(clGetEventInfo);
    struct notice *here = in_callback();
    if (here && event == here->begun && param_name == CL_EVENT_COMMAND_EXECUTION_STATUS && param_value &&
        status == CL_SUCCESS && *(cl_int *)param_value <= CL_COMPLETE)
        here->begun = NULL;
    return status;
}

/* What is over is not waited for. */
REPLACES(clWaitForEvents)
{
    const struct notice *here = in_callback();
    for (cl_uint i = 0; i < num_events && here; i++) {
        cl_int status = CL_COMPLETE;
        below->clGetEventInfo(event_list[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
        if (status > CL_COMPLETE || event_list[i] == here->begun)
            fake()->violation("clWaitForEvents in a callback");
    }
    return PASS(clWaitForEvents);
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

REPLACES(clGetExtensionFunctionAddressForPlatform)
{
    cl_int(CL_API_CALL * function)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *) =
        NULL;
    void *address = NULL;
    if (strcmp(function_name, "clEnqueueAcquireExternalMemObjectsKHR") == 0)
        function = acquire;
    else if (strcmp(function_name, "clEnqueueReleaseExternalMemObjectsKHR") == 0)
        function = release;
    else
        return PASS(clGetExtensionFunctionAddressForPlatform);
    memcpy(&address, &function, sizeof(address));
    return fails(FAKE_VULKAN_NO_FUNCTIONS, NULL) || is("radeonsi") || is("rocm") ? NULL : address;
}
