/* The interfaces through which DXVK exposes its Vulkan objects, for the files of src/d3d/. They are specific to DXVK
 * and in no header of Windows or Wine; only the functions used are declared here. */
#ifndef CLD3D_D3D_DXVK_H
#define CLD3D_D3D_DXVK_H

#include "d3d/native.h"

/* For native_ops.find: writes the reason to `why`, and returns false. */
bool native_refuse(char *why, size_t why_size, const char *reason);

/* The VkImage of a texture of Direct3D 10 or 11 (IDXGIVkInteropSurface), or of a surface or texture of Direct3D 9
 * (ID3D9VkInteropTexture); 0 if it is not DXVK's. DXVK 2.6 has no image for resources that only the CPU maps, and must
 * not be asked for one. `layout` is the VkImageLayout that the image has while DXVK does not use it. `device` is the
 * resource's: in Direct3D 10 and 11 DXVK is asked with the lock of that device. */
uint64_t dxvk_image(void *device, void *resource, uint32_t *layout);

/* The family of the queue that a device submits to (IDXGIVkInteropDevice, ID3D9VkInteropDevice). False: not a DXVK
 * device. */
bool dxvk_queue_family(void *device, uint32_t *family);

/* Queues a layout change of one level and layer of a resource with an image, and its reversal. DXVK postpones a clear
 * of a whole image until its next use, and neither a flush nor an event query is one. False: DXVK does not know the
 * device or the resource. */
bool dxvk_flush_deferred(void *device, void *resource, uint32_t level, uint32_t layer);

/* Submits everything that the device has queued to the Vulkan driver; waits for DXVK's threads but not for the GPU.
 * False: not a DXVK device. */
bool dxvk_submit(void *device);

/* The device address of a buffer of Direct3D 10 or 11 (ID3D11VkExtDevice1), which does not move from then on, and its
 * size in bytes. 0: DXVK does not report it; that needs VK_NVX_image_view_handle. */
uint64_t dxvk_buffer_address(void *device, void *buffer, uint64_t *size);

/* Waits for an event query: polls `reached` until its result is positive (true) or negative (false). */
bool dxvk_wait(int (*reached)(void *query), void *query);

#endif
