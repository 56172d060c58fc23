/* Which OpenCL devices are the hardware of a Direct3D adapter.
 *
 * An equal UUID or PCI address identifies the device if both sides report one: the Vulkan layer (or DXVK's Direct3D 9) for
 * the Vulkan device below Direct3D, and the OpenCL device. A LUID decides if both sides report one. UUIDs that differ prove
 * nothing, because another vendor's OpenCL may report another UUID for the same hardware. Otherwise (under Wine, for
 * Direct3D 10 and 11) the name decides, then the vendor, with the PCI device ID if OpenCL reports it. DXVK presents
 * some cards with another vendor ID, so an equal name is enough. A program that takes the preferred devices may stop at
 * a second one (FFmpeg), so only the best match over all platforms counts. */
#include "share/share.h"

#include "d3d/native.h"
#include "bridge/vulkan_access.h"
#include "log.h"

#include <CL/cl_ext.h>

#include <ctype.h>
#include <string.h>

enum match { MATCH_NONE, MATCH_VENDOR, MATCH_PART, MATCH_PCI, MATCH_NAME, MATCH_LUID, MATCH_GPU };

/* The reasons, in the order of MATCH_..., for display. */
static const char *const reasons[] = {
    "no OpenCL device is the adapter's hardware: the CPU is as close to Direct3D's resources as any other device",
    "the vendor is the same, and no device has the adapter's name",
    "the vendor is the same, and one name contains the other",
    "the vendor and the PCI device ID are the same",
    "the name is the same",
    "the LUID is the same",
    "its Vulkan device has the same UUID or PCI address",
};
static const char no_cpu[] = "no OpenCL device is the adapter's hardware or a CPU: all devices are equally suitable";
static _Atomic(const char *) last_reason = "no query has been made yet";

const char *match_reason(void)
{
    return atomic_load_explicit(&last_reason, memory_order_relaxed);
}

static bool get_luid(cl_device_id device, uint8_t *luid)
{
    cl_bool valid = CL_FALSE;
    return below()->clGetDeviceInfo(device, DEVICE_LUID_VALID, sizeof(valid), &valid, NULL) == CL_SUCCESS && valid &&
           below()->clGetDeviceInfo(device, DEVICE_LUID, 8, luid, NULL) == CL_SUCCESS;
}

/* Plain Direct3D 9 reports no LUID: then all bytes are zero. */
static bool has_luid(const struct d3d_adapter *adapter)
{
    static const uint8_t none[sizeof(adapter->luid)];
    return memcmp(adapter->luid, none, sizeof(none)) != 0;
}

/* Creates a small image in the Direct3D device, because the Vulkan side can report the device of an image. */
void match_identify(const struct d3d_api *api, void *device, struct d3d_adapter *adapter)
{
    char why[VULKAN_WHY];
    struct vulkan_image image;
    uint64_t handle = 0;
    const struct vulkan_side *side = vulkan_access(why);
    void *probe = side ? api->native->make_probe(device, &handle) : NULL;
    if (probe && side->find_image(handle, &image, why))
        adapter->gpu = image.memory.gpu;
    com_release(probe);
}

static bool is_cpu(cl_device_id device)
{
    cl_device_type type = 0;
    below()->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0;
}

/* The length of a trademark sign in brackets at the beginning of a text; 0: there is none. Mesa writes "(tm)". */
static size_t mark_length(const char *text)
{
    static const char *const marks[] = {"(r)", "(c)", "(tm)"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t length = 0;
        while (marks[i][length] && tolower((unsigned char)text[length]) == marks[i][length])
            length++;
        if (!marks[i][length])
            return length;
    }
    return 0;
}

/* Mesa's OpenCL over Vulkan has the hardware's name in brackets: "zink Vulkan 1.3(AMD Radeon RX 6600 (RADV NAVI23)
 * ()". */
static const char *name_of_hardware(const char *name)
{
    const char *bracket = strncmp(name, "zink ", 5) == 0 ? strchr(name, '(') : NULL;
    return bracket ? bracket + 1 : name;
}

/* Letters and digits in lower case, up to the first bracket that is not a trademark sign: "AMD Radeon RX 6800
 * (radeonsi, ...)" and "AMD Radeon(TM) RX 6800" become equal. */
static void plain_name(const char *name, char *plain, size_t size)
{
    size_t length = 0;
    while (*name && length + 1 < size) {
        const size_t mark = mark_length(name);
        if (*name == '(' && !mark)
            break;
        if (isalnum((unsigned char)*name))
            plain[length++] = (char)tolower((unsigned char)*name);
        name += mark ? mark : 1;
    }
    plain[length] = '\0';
}

/* For devices of the same vendor. ROCm uses the names of instruction sets ("gfx1030"), but it reports the ID. */
static bool same_pci(cl_device_id device, const struct d3d_adapter *adapter)
{
    cl_uint id = 0;
    return below()->clGetDeviceInfo(device, CL_DEVICE_PCIE_ID_AMD, sizeof(id), &id, NULL) == CL_SUCCESS && id &&
           id == adapter->device;
}

/* Names of one vendor may differ because one side adds to them. But "RTX 3060" is also a part of "RTX 3060 Ti", so an
 * equal name is better. */
static enum match match_name(cl_device_id device, const struct d3d_adapter *adapter, bool same_vendor)
{
    char name[256] = "", ours[256], theirs[256];
    below()->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
    plain_name(name_of_hardware(name), ours, sizeof(ours));
    plain_name(adapter->description, theirs, sizeof(theirs));
    if (ours[0] && strcmp(ours, theirs) == 0)
        return MATCH_NAME;
    if (!same_vendor)
        return MATCH_NONE;
    if (same_pci(device, adapter))
        return MATCH_PCI;
    return ours[0] && theirs[0] && (strstr(ours, theirs) || strstr(theirs, ours)) ? MATCH_PART : MATCH_VENDOR;
}

static enum match match(cl_device_id device, const struct d3d_adapter *adapter)
{
    uint8_t luid[8];
    cl_uint vendor = 0;
    const struct gpu gpu = gpu_of_device(below(), device);
    if (gpu_same(&gpu, &adapter->gpu))
        return MATCH_GPU;
    if (has_luid(adapter) && get_luid(device, luid))
        return memcmp(luid, adapter->luid, sizeof(luid)) == 0 ? MATCH_LUID : MATCH_NONE;
    if (adapter->software || is_cpu(device))
        return MATCH_NONE;
    below()->clGetDeviceInfo(device, CL_DEVICE_VENDOR_ID, sizeof(vendor), &vendor, NULL);
    return match_name(device, adapter, vendor == adapter->vendor);
}

/* The best match of all platforms' devices; *any_cpu: whether one of them is a CPU. */
static enum match best_match(const struct d3d_adapter *adapter, bool *any_cpu)
{
    struct platform_list platforms;
    enum match best = MATCH_NONE;
    *any_cpu = false;
    platforms_of(below(), &platforms);
    for (cl_uint p = 0; p < platforms.count; p++) {
        struct device_list devices;
        sharing_devices(platforms.at[p], &devices);
        for (cl_uint i = 0; i < devices.count; i++) {
            const enum match found = match(devices.at[i], adapter);
            best = found > best ? found : best;
            *any_cpu = *any_cpu || is_cpu(devices.at[i]);
        }
    }
    return best;
}

static bool is_kept(cl_device_id device, const struct d3d_adapter *adapter, enum match best, bool any_cpu)
{
    if (best != MATCH_NONE)
        return match(device, adapter) == best;
    return !any_cpu || is_cpu(device);
}

/* If no OpenCL device is the hardware, the adapter may be a software rasteriser that appears as a graphics card under
 * Wine, so a CPU is closest. Without a CPU all devices are kept, because programs that use only preferred devices would
 * otherwise find none. */
cl_uint match_keep(cl_device_id *devices, cl_uint count, const struct d3d_adapter *adapter)
{
    bool any_cpu;
    const enum match best = best_match(adapter, &any_cpu);
    cl_uint kept = 0;
    for (cl_uint i = 0; i < count; i++)
        if (is_kept(devices[i], adapter, best, any_cpu))
            devices[kept++] = devices[i];
    atomic_store_explicit(&last_reason, best == MATCH_NONE && !any_cpu ? no_cpu : reasons[best], memory_order_relaxed);
    return kept;
}

int match_strength(cl_device_id device, const struct d3d_adapter *adapter)
{
    bool any_cpu;
    const enum match best = best_match(adapter, &any_cpu);
    return match(device, adapter) == best ? (int)best : 0;
}
