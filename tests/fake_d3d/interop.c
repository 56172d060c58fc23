/* The interfaces by which a Direct3D on a Vulkan that is played tells what its resources and devices are there: those of DXVK. */
#include "fake_internal.h"

#include <string.h>

static unsigned transitions; /* guarded by fake_vulkan_lock */

/* ---- the interfaces of resources ---- */

struct fake_interop_vtbl {
    HRESULT(STDMETHODCALLTYPE *QueryInterface)(void *, REFIID, void **);
    ULONG(STDMETHODCALLTYPE *AddRef)(void *);
    ULONG(STDMETHODCALLTYPE *Release)(void *);
    void *functions[2];
};

bool fake_vulkan_hides(REFIID iid)
{
    if (!IsEqualGUID(iid, &fake_iid_interop) && !IsEqualGUID(iid, &fake_iid_interop9) &&
        !IsEqualGUID(iid, &fake_iid_interop_device) && !IsEqualGUID(iid, &fake_iid_interop_queue) &&
        !IsEqualGUID(iid, &fake_iid_interop_queue9))
        return false;
    return fake_vulkan_way() == FAKE_D3D_VULKAN_OFF;
}

static HRESULT STDMETHODCALLTYPE interop_QueryInterface(void *iface, REFIID iid, void **out)
{
    return fake_object_query(fake_object_of(iface), FAKE_IDXGIResource1_QueryInterface, iid, out);
}

static ULONG STDMETHODCALLTYPE interop_AddRef(void *iface)
{
    return fake_object_add_ref(fake_object_of(iface));
}

static ULONG STDMETHODCALLTYPE interop_Release(void *iface)
{
    return fake_object_release(fake_object_of(iface));
}

/* For calls in which DXVK waits for its thread of commands, where only one thread may wait, and for those that queue commands
 * without a lock of their own. */
static void check_entered(struct fake_device *device, const char *what)
{
    bool entered = false;

    if (!atomic_load(&device->is_protected))
        return;
    if (pthread_mutex_trylock(&device->user_lock) == 0) {
        entered = device->entered != 0;
        pthread_mutex_unlock(&device->user_lock);
    }
    if (!entered)
        fake_violation("%s", what);
}

/* DXVK 2.6 follows a null pointer for resources of which it has no image. */
static HRESULT STDMETHODCALLTYPE interop9_GetVulkanImageInfo(void *iface, uint64_t *image, int32_t *layout, void *info)
{
    unsigned subresource = 0;
    struct fake_store *store = fake_object_store(fake_object_of(iface), &subresource);

    (void)info;
    if (store->desc.kind == FAKE_BUFFER || store->desc.usage == D3D11_USAGE_STAGING)
        fake_violation("GetVulkanImageInfo: of a resource without an image");
    if (layout)
        *layout = FAKE_VULKAN_LAYOUT;
    if (image)
        *image = fake_vulkan_name(store);
    pthread_mutex_lock(&fake_vulkan_lock);
    store->queue = fake_object_of(iface)->device;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_GetVulkanImageInfo(void *iface, uint64_t *image, int32_t *layout, void *info)
{
    check_entered(fake_object_of(iface)->device, "GetVulkanImageInfo: without the device's lock");
    return interop9_GetVulkanImageInfo(iface, image, layout, info);
}

static BOOL STDMETHODCALLTYPE device_GetExtensionSupport(void *iface, uint32_t extension)
{
    (void)iface;
    return extension == 5 && fake_vulkan_way() == FAKE_D3D_VULKAN_EXPORT;
}

static bool STDMETHODCALLTYPE device_GetResourceHandle(void *iface, void *resource, uint64_t *address, uint64_t *size)
{
    unsigned subresource = 0;
    struct fake_store *store = fake_object_store(fake_object_of(resource), &subresource);

    (void)iface;
    if (fake_vulkan_way() != FAKE_D3D_VULKAN_EXPORT || store->desc.kind != FAKE_BUFFER)
        fake_violation("GetResourceHandleGPUVirtualAddressAndSizeNVX: of no buffer, or without the extension");
    check_entered(fake_object_of(resource)->device,
                  "GetResourceHandleGPUVirtualAddressAndSizeNVX: without the device's lock");
    *address = fake_vulkan_name(store) << 32;
    *size = store->desc.width;
    return true;
}

const struct fake_interop_vtbl fake_interop_vtbl = {
    interop_QueryInterface,
    interop_AddRef,
    interop_Release,
    {NULL, (void *)interop_GetVulkanImageInfo},
};
const struct fake_interop_vtbl fake_interop9_vtbl = {
    interop_QueryInterface,
    interop_AddRef,
    interop_Release,
    {(void *)interop9_GetVulkanImageInfo, NULL},
};
const struct fake_interop_vtbl fake_interop_device_vtbl = {
    interop_QueryInterface,
    interop_AddRef,
    interop_Release,
    {(void *)device_GetExtensionSupport, (void *)device_GetResourceHandle},
};

/* ---- the interfaces of devices ---- */

struct fake_interop_queue_vtbl {
    HRESULT(STDMETHODCALLTYPE *QueryInterface)(void *, REFIID, void **);
    ULONG(STDMETHODCALLTYPE *AddRef)(void *);
    ULONG(STDMETHODCALLTYPE *Release)(void *);
    void (*GetVulkanHandles)(void);
    void *GetSubmissionQueue;
    void(STDMETHODCALLTYPE *TransitionSurfaceLayout)(void *, void *, const void *, int32_t, int32_t);
    void(STDMETHODCALLTYPE *FlushRenderingCommands)(void *);
    void(STDMETHODCALLTYPE *LockSubmissionQueue)(void *);
    void(STDMETHODCALLTYPE *ReleaseSubmissionQueue)(void *);
    void(STDMETHODCALLTYPE *LockDevice)(void *);
    void(STDMETHODCALLTYPE *UnlockDevice)(void *);
};

static void STDMETHODCALLTYPE queue_GetSubmissionQueue(void *iface, void **queue, uint32_t *family)
{
    *queue = iface;
    *family = FAKE_VULKAN_FAMILY;
}

static void STDMETHODCALLTYPE queue_GetSubmissionQueue9(void *iface, void **queue, uint32_t *index, uint32_t *family)
{
    *index = 0;
    queue_GetSubmissionQueue(iface, queue, family);
}

/* An image that is not in the layout which its users know is nobody's. */
static void STDMETHODCALLTYPE queue_TransitionSurfaceLayout(void *iface, void *surface, const void *range, int32_t from,
                                                            int32_t to)
{
    unsigned subresource = 0;
    struct fake_store *store = fake_object_store(fake_object_of(surface), &subresource);
    const uint32_t *numbers = range; /* aspect, level, levels, layer, layers */

    (void)iface;
    pthread_mutex_lock(&fake_vulkan_lock);
    if (from != (store->layout ? store->layout : FAKE_VULKAN_LAYOUT) || from == to)
        fake_violation("TransitionSurfaceLayout: from another layout than the image has");
    if (numbers[1] + numbers[2] > store->desc.mips || numbers[3] + numbers[4] > store->desc.layers)
        fake_violation("TransitionSurfaceLayout: of a part that the image has not");
    if (store->passed && !numbers[1] && !numbers[3])
        fake_violation("TransitionSurfaceLayout: of an image that OpenCL has");
    store->layout = to;
    transitions++;
    pthread_mutex_unlock(&fake_vulkan_lock);
}

/* Without a lock of its own, as that of Direct3D 10 and 11 has. */
static void STDMETHODCALLTYPE queue9_TransitionTextureLayout(void *iface, void *surface, const void *range,
                                                             int32_t from, int32_t to)
{
    check_entered(fake_object_of(surface)->device, "TransitionTextureLayout: without the device's lock");
    queue_TransitionSurfaceLayout(iface, surface, range, from, to);
}

/* A second one of a thread is forgotten, and the lock with it. */
static void STDMETHODCALLTYPE queue9_LockDevice(void *iface)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);

    if (!atomic_load(&device->is_protected))
        return;
    pthread_mutex_lock(&device->user_lock);
    if (device->entered++)
        fake_violation("LockDevice: the thread has the lock already");
}

static void STDMETHODCALLTYPE queue9_UnlockDevice(void *iface)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);

    if (!atomic_load(&device->is_protected))
        return;
    if (!device->entered) {
        fake_violation("UnlockDevice: the device is not locked");
        return;
    }
    device->entered--;
    pthread_mutex_unlock(&device->user_lock);
}

unsigned fake_d3d_vulkan_transitions(void)
{
    unsigned value;

    pthread_mutex_lock(&fake_vulkan_lock);
    value = transitions;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return value;
}

/* Without a result: what is lost is seen elsewhere. */
static void STDMETHODCALLTYPE queue_FlushRenderingCommands(void *iface)
{
    struct fake_call call;
    HRESULT hr =
        fake_enter(&call, (struct fake_device *)fake_object_of(iface), FAKE_ID3D11DeviceContext_Flush, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        fake_queue_submit(call.device);
    fake_leave(&call);
}

static _Thread_local unsigned queues_locked;

static void STDMETHODCALLTYPE queue_LockSubmissionQueue(void *iface)
{
    (void)iface;
    if (queues_locked++)
        fake_violation("LockSubmissionQueue: the thread has it already");
}

static void STDMETHODCALLTYPE queue_ReleaseSubmissionQueue(void *iface)
{
    (void)iface;
    if (!queues_locked--)
        fake_violation("ReleaseSubmissionQueue: it is not locked");
}

const struct fake_interop_queue_vtbl fake_interop_queue_vtbl = {
    interop_QueryInterface,
    interop_AddRef,
    interop_Release,
    NULL,
    (void *)queue_GetSubmissionQueue,
    queue_TransitionSurfaceLayout,
    queue_FlushRenderingCommands,
    queue_LockSubmissionQueue,
    queue_ReleaseSubmissionQueue,
    NULL,
    NULL,
};
const struct fake_interop_queue_vtbl fake_interop_queue9_vtbl = {
    interop_QueryInterface,
    interop_AddRef,
    interop_Release,
    NULL,
    (void *)queue_GetSubmissionQueue9,
    queue9_TransitionTextureLayout,
    queue_FlushRenderingCommands,
    queue_LockSubmissionQueue,
    queue_ReleaseSubmissionQueue,
    queue9_LockDevice,
    queue9_UnlockDevice,
};
