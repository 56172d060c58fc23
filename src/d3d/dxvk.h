/* The interfaces by which DXVK tells what is Vulkan in it, for the files of src/d3d/. They are DXVK's alone, and stand in no
 * header of Windows or Wine; what is here of them is what is called. */
#ifndef CLD3D_D3D_DXVK_H
#define CLD3D_D3D_DXVK_H

#include "d3d/native.h"

/* For native_ops.find: says why not, and returns false. */
bool native_refuse(char *why, size_t why_size, const char *reason);

/* The VkImage of a texture of Direct3D 10 or 11 (IDXGIVkInteropSurface), or of a surface or texture of Direct3D 9
 * (ID3D9VkInteropTexture). DXVK 2.6 has no image for resources that only the CPU maps, and must not be asked for theirs.
 * 0 if it is none of DXVK's. `layout` is the VkImageLayout that it has while DXVK does nothing with it. */
uint64_t dxvk_image(void *resource, uint32_t *layout);

/* The family of the queue that a device submits to (IDXGIVkInteropDevice, ID3D9VkInteropDevice). False: the device is none of DXVK's. */
bool dxvk_queue_family(void *device, uint32_t *family);

/* Queues that a level and layer of a resource with an image goes to another layout and comes back. DXVK keeps a clear of a whole image
 * for its next use, and neither a flush nor an event query is one. False: DXVK does not know the device or the resource. */
bool dxvk_settle(void *device, void *resource, uint32_t level, uint32_t layer);

/* Hands all that the device has queued to the Vulkan driver, which waits for threads of DXVK's but not for the GPU. False: the device is
 * none of DXVK's. */
bool dxvk_submit(void *device);

/* The device address of a buffer of Direct3D 10 or 11 (ID3D11VkExtDevice1), from which on it stays in its place. 0: DXVK does not tell;
 * it does so where the Vulkan driver is NVIDIA's. */
uint64_t dxvk_buffer_address(void *device, void *buffer, uint64_t *size);

/* Waits for an event query: asks `reached` until its answer is above 0 (true) or below (false). */
bool dxvk_wait(int (*reached)(void *query), void *query);

#endif
