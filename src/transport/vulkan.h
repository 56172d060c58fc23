/* The transport without a copy: OpenCL works in the Direct3D resource itself, where Direct3D stands on Vulkan (DXVK) and
 * libcld3d.so is among Vulkan's layers. The memory of the image or buffer is imported into the OpenCL device that is the same
 * GPU; or, where the Vulkan device and the OpenCL device are both the CPU, OpenCL's object is made over the memory as it is
 * mapped. What can't be shared in its place (a level, a slice) has a texture of its own beside it, to and from which Direct3D
 * copies on the GPU. */
#ifndef CLD3D_TRANSPORT_VULKAN_H
#define CLD3D_TRANSPORT_VULKAN_H

#include "transport/transport.h"

extern const struct transport vulkan_transport;

#endif
