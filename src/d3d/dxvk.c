#include "d3d/dxvk.h"

#include "d3d/d3d_types.h"
#include "d3d/dxgi.h"
#include "os/os.h"
#include "handles/handles.h"

#include <stdio.h>

bool native_refuse(char *why, size_t why_size, const char *reason)
{
    snprintf(why, why_size, "%s", reason);
    return false;
}

/* ---- the interfaces: identifiers, and the order of the functions in their tables ---- */

static const GUID surface_interface = {0x5546cf8c, 0x77e7, 0x4341, {0xb0, 0x5d, 0x8d, 0x4d, 0x50, 0x00, 0xe7, 0x7d}};
static const GUID texture9_interface = {0xd56344f5, 0x8d35, 0x46fd, {0x80, 0x6d, 0x94, 0xc3, 0x51, 0xb4, 0x72, 0xc1}};
static const GUID interop_interface = {0xe2ef5fa5, 0xdc21, 0x4af7, {0x90, 0xc4, 0xf6, 0x7e, 0xf6, 0xa0, 0x93, 0x23}};
static const GUID interop9_interface = {0x2eaa4b89, 0x0107, 0x4bdb, {0x87, 0xf7, 0x0f, 0x54, 0x1c, 0x49, 0x3c, 0xe0}};
static const GUID device_interface = {0xcfcf64ef, 0x9586, 0x46d0, {0xbc, 0xa4, 0x97, 0xcf, 0x2c, 0xa6, 0x1b, 0x06}};

enum {
    NVX_IMAGE_VIEW_HANDLE = 5 /* of GetExtensionSupport: with it a buffer's address can be queried */
};

struct unknown_functions {
    HRESULT(STDMETHODCALLTYPE *query_interface)(void *self, const GUID *iid, void **found);
    ULONG(STDMETHODCALLTYPE *add_ref)(void *self);
    ULONG(STDMETHODCALLTYPE *release)(void *self);
};

/* IDXGIVkInteropSurface. */
struct surface_functions {
    struct unknown_functions unknown;
    HRESULT(STDMETHODCALLTYPE *get_device)(void *self, void **device);
    HRESULT(STDMETHODCALLTYPE *get_vulkan_image_info)(void *self, uint64_t *image, int32_t *layout, void *info);
};

/* ID3D9VkInteropTexture. */
struct texture9_functions {
    struct unknown_functions unknown;
    HRESULT(STDMETHODCALLTYPE *get_vulkan_image_info)(void *self, uint64_t *image, int32_t *layout, void *info);
};

/* ID3D11VkExtDevice1, as far as it is used. The second function returns a C++ bool. */
struct device_functions {
    struct unknown_functions unknown;
    BOOL(STDMETHODCALLTYPE *get_extension_support)(void *self, uint32_t extension);
    bool(STDMETHODCALLTYPE *get_address_and_size)(void *self, void *resource, uint64_t *address, uint64_t *size);
};

/* IDXGIVkInteropDevice, and ID3D9VkInteropDevice, which also returns the queue's index and has the last two functions;
 * as far as they are used. */
struct interop_functions {
    struct unknown_functions unknown;
    void(STDMETHODCALLTYPE *get_handles)(void *self, void **instance, void **physical, void **device);
    union {
        void(STDMETHODCALLTYPE *get_queue)(void *self, void **queue, uint32_t *family);
        void(STDMETHODCALLTYPE *get_queue9)(void *self, void **queue, uint32_t *index, uint32_t *family);
    };
    void(STDMETHODCALLTYPE *transition)(void *self, void *surface, const void *range, int32_t from, int32_t to);
    void(STDMETHODCALLTYPE *flush)(void *self);
    void(STDMETHODCALLTYPE *lock_queue)(void *self);
    void(STDMETHODCALLTYPE *release_queue)(void *self);
    void(STDMETHODCALLTYPE *lock_device)(void *self);
    void(STDMETHODCALLTYPE *unlock_device)(void *self);
};

static const void *functions_of(void *object)
{
    return *(const void *const *)object;
}

/* ---- resources ---- */

/* `nine`: the object has the second of those interfaces. For those of Direct3D 10 and 11 the device's lock (dxgi_lock)
 * must be held. DXVK may have to fix the place of a resource before it can report it, and then waits for its command
 * thread. That thread wakes one of several waiters (2.6: DxvkCsThread's m_condOnSync); if that is the wrong one, the
 * others sleep forever. All other waits hold the device's lock, so with it there is only one waiter. */
static uint64_t image_of(void *object, bool nine, int32_t *layout)
{
    const struct surface_functions *surface = functions_of(object);
    const struct texture9_functions *texture = functions_of(object);
    uint64_t image = 0;
    const HRESULT result = nine ? texture->get_vulkan_image_info(object, &image, layout, NULL)
                                : surface->get_vulkan_image_info(object, &image, layout, NULL);
    return SUCCEEDED(result) ? image : 0;
}

uint64_t dxvk_image(void *device, void *resource, uint32_t *layout)
{
    void *surface = com_query(resource, &surface_interface);
    void *object = surface ? surface : com_query(resource, &texture9_interface);
    void *section = surface ? dxgi_lock(device) : NULL;
    int32_t told = 0;
    const uint64_t image = object && (section || !surface) ? image_of(object, !surface, &told) : 0;
    dxgi_unlock(section);
    com_release(object);
    *layout = (uint32_t)told;
    return image;
}

uint64_t dxvk_buffer_address(void *device, void *buffer, uint64_t *size)
{
    uint64_t address = 0;
    void *extended = com_query(device, &device_interface), *buffer11 = com_query(buffer, &IID_ID3D11Buffer);
    const struct device_functions *functions = extended && buffer11 ? functions_of(extended) : NULL;
    void *section = dxgi_lock(device);
    *size = 0;
    /* Without the extension the other function would call a function that does not exist. */
    if (functions && section && functions->get_extension_support(extended, NVX_IMAGE_VIEW_HANDLE) &&
        !functions->get_address_and_size(extended, buffer11, &address, size))
        address = 0;
    dxgi_unlock(section);
    com_release(extended);
    com_release(buffer11);
    return address;
}

/* ---- the device ---- */

/* The interop interface of a Direct3D 10 or 11 device, or of a Direct3D 9 device (`nine`); NULL: it has none. */
static void *interop_of(void *device, bool *nine)
{
    void *interop = com_query(device, &interop_interface);
    *nine = !interop;
    return interop ? interop : com_query(device, &interop9_interface);
}

bool dxvk_queue_family(void *device, uint32_t *family)
{
    bool nine;
    uint32_t index;
    void *interop = interop_of(device, &nine), *queue = NULL;
    const struct interop_functions *functions = interop ? functions_of(interop) : NULL;
    if (!functions)
        return false;
    if (nine)
        functions->get_queue9(interop, &queue, &index, family);
    else
        functions->get_queue(interop, &queue, family);
    com_release(interop);
    return true;
}

/* VkImageSubresourceRange. */
struct image_range {
    uint32_t aspect, level, levels, layer, layers;
};

/* A change to the image's current layout would have no effect. The calls are made under the lock with which the
 * application's other threads draw, because the command list that receives the change has no lock of its own in
 * Direct3D 9. That interface has one lock for all its callers, whom d3d9_enter keeps apart. */
bool dxvk_flush_deferred(void *device, void *resource, uint32_t level, uint32_t layer)
{
    enum { GENERAL = 1, TRANSFER_SOURCE = 6, COLOR = 1 }; /* VkImageLayout, VkImageAspectFlagBits */
    const struct image_range range = {COLOR, level, 1, layer, 1};
    bool nine;
    int32_t layout = 0;
    void *interop = interop_of(device, &nine);
    const struct interop_functions *functions = interop ? functions_of(interop) : NULL;
    void *surface = com_query(resource, nine ? &texture9_interface : &surface_interface);
    void *section = nine ? NULL : dxgi_lock(device);
    if (functions && nine)
        functions->lock_device(interop);
    const bool known = functions && surface && (nine || section) && image_of(surface, nine, &layout);
    if (known) {
        const int32_t other = layout == GENERAL ? TRANSFER_SOURCE : GENERAL;
        functions->transition(interop, surface, &range, layout, other);
        functions->transition(interop, surface, &range, other, layout);
    }
    if (functions && nine)
        functions->unlock_device(interop);
    dxgi_unlock(section);
    com_release(surface);
    com_release(interop);
    return known;
}

/* A flush waits until the recording thread has handed over its commands. Another thread submits them: the queue can be
 * locked once that thread has nothing left to submit. */
bool dxvk_submit(void *device)
{
    bool nine;
    void *interop = interop_of(device, &nine);
    const struct interop_functions *functions = interop ? functions_of(interop) : NULL;
    if (!functions)
        return false;
    functions->flush(interop);
    functions->lock_queue(interop);
    functions->release_queue(interop);
    com_release(interop);
    return true;
}

/* ---- waits ---- */

/* The work usually ends within microseconds; a sleep would take a millisecond. */
bool dxvk_wait(int (*reached)(void *query), void *query)
{
    enum { SPIN_NANOSECONDS = 200000 };
    const unsigned long long began = os_nanoseconds();
    int answer = reached(query);
    while (answer == 0) {
        if (os_nanoseconds() - began > SPIN_NANOSECONDS)
            os_sleep_shortly();
        answer = reached(query);
    }
    return answer > 0;
}
