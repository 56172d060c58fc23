/* What the core knows about Direct3D: one descriptor per API (data) and one narrow table of operations (code).
 *
 * After `describe` only the operations see a Direct3D type. The operations do not repeat the core's checks, and the
 * core never calls Direct3D itself. All of them may be called from any thread that the application lets use the device;
 * none of them is called while cld3d holds a lock. */
#ifndef CLD3D_D3D_D3D_H
#define CLD3D_D3D_D3D_H

#include "gpu.h"
#include "os/os.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct format_row;
struct native_ops;
struct staging_ops;

enum surface_kind { SURFACE_BUFFER, SURFACE_IMAGE_2D, SURFACE_IMAGE_3D };

/* A Direct3D subresource in neutral terms. */
struct surface_desc {
    enum surface_kind kind;
    const struct format_row *format; /* of the plane; NULL for a buffer */
    uint32_t width, height, depth;   /* of the plane at its mip level, in texels; a buffer: bytes, 1, 1 */
    uint32_t subresource;            /* Direct3D's own index; a planar texture's slice */
    uint32_t staging_kind;           /* resources with different values may need different staging copies */
    bool dynamic; /* the CPU writes to it, the GPU only reads: it cannot be the destination of a copy */
    /* One plane of several, and `store` writes all of them: the other planes in the staging copy must be up to date. */
    bool whole_level;
};

/* A surface while it is shared. The pointers are COM interfaces of the API. The staging copy belongs to a transport
 * that needs one (staging.h). */
struct surface {
    const struct d3d_api *api;
    void *device;             /* not owned: the resource keeps it alive */
    void *resource;           /* one reference */
    void *staging;            /* created by `stage`; NULL before, and if no transport created one */
    uint32_t staging_padding; /* set before `stage`: number of additional bytes in the staging copy of a buffer */
    uint32_t staging_offset;  /* at most that: where the buffer begins in its staging copy */
    struct surface_desc desc;
};

/* What identifies a Direct3D adapter, for finding the OpenCL device that is the same hardware. */
struct d3d_adapter {
    char description[256]; /* UTF-8 */
    uint32_t vendor, device;
    uint8_t luid[8];
    /* of the Vulkan device below, from match_identify, or its UUID from DXVK's Direct3D 9. Another Direct3D 9 gives a GUID
     * that is not a device's UUID, so only equality means something */
    struct gpu gpu;
    bool software; /* llvmpipe, WARP, the reference rasteriser */
};

enum describe_status {
    DESCRIBED,
    DESCRIBE_UNFIT,        /* not a resource of the API and kind, or one that cannot be shared */
    DESCRIBE_OTHER_DEVICE, /* a resource of another device */
    DESCRIBE_BAD_SUBRESOURCE,
    DESCRIBE_BAD_FORMAT
};

/* Whether a pointer that the application gives can be called as a COM object. The core checks it before any
 * operation. */
static inline bool d3d_is_object(const void *pointer)
{
    return os_has_function(pointer, 0);
}

/* The object's IUnknown for comparisons, without a reference; NULL if it does not give it or if `object` is NULL. */
const void *com_identity(void *object);
/* Add and drop a reference; com_release accepts NULL. */
void com_add_ref(void *object);
void com_release(void *object);

struct d3d_ops {
    /* The device interface of `object` with one reference for the caller. Turns on protection against use from several
     * threads. NULL if `object` is not a device of this API. */
    void *(*open_device)(void *object);

    /* The device that a resource belongs to, with one reference, or NULL. The pointer itself is NULL if resources do
     * not report it. */
    void *(*owner)(void *resource);

    /* The adapter of a device (`object_is_adapter` false) or of a DXGI adapter. False if `object` is neither. */
    bool (*adapter)(void *object, bool object_is_adapter, struct d3d_adapter *adapter);

    /* Fills `desc` for the subresource `index` of a resource, by the rules of the extension. For any result but
     * DESCRIBED, `why` says what is wrong. */
    enum describe_status (*describe)(void *device, void *resource, enum surface_kind kind, uint32_t index,
                                     struct surface_desc *desc, char *why, size_t why_size);

    /* Whether resources of this one's device may have shared handles. For APIs whose objects are created with one. */
    bool (*has_handles)(void *resource);
};

enum d3d_family { FAMILY_D3D11, FAMILY_D3D10, FAMILY_DX9 };

/* One Direct3D API as data; for DX9 media sharing one kind of adapter, by Khronos's or by Intel's extension. Token and
 * error values: the extension's header. */
struct d3d_api {
    const char *name;      /* "Direct3D 11" */
    const char *extension; /* "cl_khr_d3d11_sharing" */
    const struct d3d_ops *ops;
    const struct staging_ops *staging; /* for transports through host memory (staging.h) */
    const struct native_ops *native;   /* for transports that share memory if Direct3D runs on Vulkan (native.h) */
    enum d3d_family family;            /* APIs of one family share their functions, errors and tokens */
    cl_uint adapter_type;              /* of Khronos's DX9; otherwise 0 */
    bool exclusive;                    /* cannot be combined with OpenGL in a context */
    bool no_duplicates;                /* one object per subresource and context */
    cl_int no_interop;                 /* the error code for a context that was not created for the API */

    cl_int invalid_device, invalid_resource, already_acquired, not_acquired;

    cl_uint device_source, adapter_source;
    cl_uint preferred_set, all_set;
    cl_context_properties context_device;
    cl_context_info context_prefer_shared;
    cl_mem_info mem_resource, mem_adapter_type, mem_shared_handle; /* 0: no such query */
    size_t mem_resource_size; /* size of the result: the resource only, or with its shared handle */
    cl_image_info image_subresource;
    cl_command_type command_acquire, command_release;

    struct {
        const char *get_device_ids, *create_buffer, *create_2d, *create_3d, *acquire, *release;
    } call; /* the names of its functions, for messages */
};

extern const struct d3d_api d3d11_api;
extern const struct d3d_api d3d10_api;
extern const struct d3d_api d3d9_api, d3d9ex_api, dxva_api;
extern const struct d3d_api d3d9_intel_api, d3d9ex_intel_api, dxva_intel_api;

/* All supported APIs. */
extern const struct d3d_api *const d3d_apis[];
extern const unsigned d3d_api_count;

/* Writes the adapters of the system, at most `capacity`, in DXGI's order, and returns their number. Loads DXGI;
 * natively it lists only those of a DXGI that the program has loaded. */
unsigned dxgi_list(struct d3d_adapter *adapters, unsigned capacity);

#endif
