/* Which GPU a device is, as its driver reports it. The layout is the same in 32 and 64 bits. */
#ifndef CLD3D_GPU_H
#define CLD3D_GPU_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gpu {
    uint8_t uuid[16]; /* VkPhysicalDeviceIDProperties.deviceUUID, CL_DEVICE_UUID_KHR; zeros: unknown */
    uint32_t pci[4];  /* domain, bus, device and function; zeros: unknown, as of a driver for the CPU */
};

/* Drivers of different vendors may report different UUIDs for one GPU, so these prove nothing; one place on the bus has one
 * GPU. */
static inline bool gpu_same(const struct gpu *one, const struct gpu *other)
{
    static const uint8_t none[sizeof(one->uuid)];
    static_assert(sizeof(one->pci) == sizeof(none), "both have as many bytes");
    return (memcmp(one->uuid, other->uuid, sizeof(none)) == 0 && memcmp(one->uuid, none, sizeof(none)) != 0) ||
           (memcmp(one->pci, other->pci, sizeof(none)) == 0 && memcmp(one->pci, none, sizeof(none)) != 0);
}

#endif
