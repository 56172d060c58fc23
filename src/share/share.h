/* The records of the sharing extensions and the functions of src/share/ for one another and for the entry points.
 *
 * Unless said otherwise a function may be called from any thread with no lock held, and a cl_int result is an OpenCL
 * error code that has been logged already. */
#ifndef CLD3D_SHARE_SHARE_H
#define CLD3D_SHARE_SHARE_H

#include "d3d/d3d.h"
#include "track/track.h"
#include "transport/transports.h"

#include <stdint.h>

/* ---- contexts (context.c) ---- */

enum { INTEROP_MAX = 6 }; /* Direct3D 10 or 11 alone, or DX9 media adapters: three kinds, each by two names */

/* A subresource that has an object in the context: the rule against duplicates. */
struct claim {
    const void *identity; /* the resource's IUnknown; compared only */
    cl_uint index;
    struct claim *after;
};

/* A context with properties that the driver need not know of. All records of contexts are of this kind. */
struct sharing_context {
    struct context_record base;
    cl_context_properties *properties; /* as the application gave them, with the 0 at the end */
    size_t property_count;             /* entries, the 0 included */
    bool user_sync;
    unsigned interop_count; /* 0: no interop was asked for */
    struct {
        const struct d3d_api *api;
        void *device; /* one reference until the application's last reference to the context goes, then none */
        const void *identity;
    } interop[INTEROP_MAX];
    bool devices_held;             /* guarded by registry_lock */
    bool gone;                     /* the driver's context is, and the record out of the registry; guarded likewise */
    struct claim *claims;          /* guarded by registry_lock */
    struct transports *transports; /* owned; closed when the devices go */
};

static inline struct sharing_context *sharing(struct context_record *context)
{
    return (struct sharing_context *)context;
}

/* The device of a context's n-th interop if it is alive, for a use of `resource`: that keeps the device of a context alive
 * that the application has given back. NULL else. */
void *context_device(const struct sharing_context *context, unsigned n, void *resource);
/* Whether a context was made for the family of an API, even if its device references are gone by now. */
bool context_serves(const struct sharing_context *context, const struct d3d_api *api);
/* The record of a live context with its handle checked: CL_INVALID_CONTEXT for what is no context. A context without
 * record is valid and gives CL_SUCCESS and NULL. */
cl_int context_get(const char *call, cl_context handle, struct sharing_context **context);

/* ---- shared objects (object.c, object_create.c) ---- */

/* The event of an acquire, until its bytes are through. */
struct upload {
    cl_event event; /* owned */
    atomic_uint references;
};

enum object_state {
    OBJECT_IDLE,      /* Direct3D's */
    OBJECT_ACQUIRING, /* an acquire call is at work */
    OBJECT_ACQUIRED,  /* OpenCL's */
    OBJECT_RELEASING  /* a release call is at work */
};

struct object_record {
    struct record head;              /* while it rests the driver's object is ours to release, with the record */
    struct sharing_context *context; /* retained */
    struct object_record *parent; /* retained; set for sub-buffers and images made of a shared buffer, which are shared
                                       objects only in so far as their use needs the parent acquired */
    struct transfer *transfer;    /* owned; NULL of a child */
    struct claim *claim;
    cl_uint index;  /* the subresource or plane argument as given */
    void *given[2]; /* the resource, and its shared handle if it has one, as given: the answer to a query */
    cl_mem_flags flags;

    struct reaped reaped; /* when nobody needs it any more */

    /* Guarded by registry_lock. */
    enum object_state state;
    struct upload
        *pending;      /* retained; of the acquire while its bytes are on their way and it may still fail, else NULL */
    bool written;      /* since the last acquire a command was enqueued that may change the object */
    unsigned commands; /* acquires and releases on their way: calls at work, and deferred commands */
    bool opencl_owns;  /* who has the object now. `state` tells who will when all commands on their way succeed */
};

/* Counts shared objects and their children; the guard looks at nothing else while it is 0. */
extern atomic_uint object_count;

/* What one of the functions that make an object was asked for. */
struct object_request {
    const struct d3d_api *api;
    const char *call;
    cl_mem_flags flags;
    enum surface_kind kind;
    void *resource;
    cl_uint index; /* subresource or plane; 0 for a buffer */
    void *shared_handle;
};
cl_mem object_create(const struct object_request *request, cl_context context, cl_int *errcode_ret);
/* The object that decides whether a memory object may be used: itself or its parent. */
struct object_record *object_root(struct object_record *object);
/* Looks whether an acquire that was waiting for events has failed since, and undoes it if so. */
void object_settle(struct object_record *object);
/* Waits for the bytes of the object's acquire. True: they did not come, and the acquire was undone. For the command that is
 * at work on the object. */
bool object_end_upload(struct object_record *object);
/* The record of an acquire, retained by the caller, whose event is still to come. NULL if memory is short. */
struct upload *upload_make(void);
/* Notes the acquire of an object, with a reference of its own. */
void object_expect(struct object_record *object, struct upload *upload);
/* What is still on its way to an object, retained, or NULL. */
struct upload *object_upload(struct object_record *object);
void upload_put(struct upload *upload);

/* ---- acquire and release (acquire.c, deferred.c) ---- */

cl_int share_acquire(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event);
cl_int share_release(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event);

/* For `struct deferral`. */
unsigned deferred_claim_locked(unsigned owner);
void deferred_run(unsigned owner);
/* Waits until what ends in callbacks at this moment can be given back. */
void deferred_await_ends(void);

/* ---- device queries (device.c) and the functions by name (functions.c) ---- */

cl_int share_get_device_ids(const struct d3d_api *api, cl_platform_id platform, cl_uint source, void *object,
                            cl_uint set, cl_uint count, cl_device_id *devices, cl_uint *found);
/* The same for media adapters: `types` and `adapters` have `adapter_count` entries. */
cl_int share_get_media_device_ids(cl_platform_id platform, cl_uint adapter_count, const cl_uint *types,
                                  void *const *adapters, cl_uint set, cl_uint capacity, cl_device_id *devices,
                                  cl_uint *found);
/* The API of an adapter type of DX9 media sharing, or NULL. */
const struct d3d_api *media_api(cl_uint adapter_type);
/* The formats of an API's family that a context shares, as DXGI_FORMAT or D3DFORMAT codes (format_query.c). */
cl_int share_get_formats(const struct d3d_api *api, const char *call, cl_context context, cl_mem_flags flags,
                         cl_mem_object_type type, cl_uint plane, cl_uint capacity, cl_uint *codes, cl_uint *found);
/* Whether `platform` is one that clGetPlatformIDs gives: CL_INVALID_PLATFORM if not, or why that can't be told. Says
 * nothing. */
cl_int platform_check(cl_platform_id platform);
bool platform_valid(cl_platform_id platform);
/* Whether a device may interoperate with Direct3D; not CL_SUCCESS: the driver does not say. Says nothing. */
cl_int device_sharing(cl_device_id device, bool *shares);
/* The platforms of the OpenCL below, for the caller to free. NULL if there are none, or on failure, which *status tells. */
cl_platform_id *platform_list(cl_uint *count, cl_int *status);
/* The devices of a platform that can share, in the platform's order, for the caller to free. NULL likewise. */
cl_device_id *sharing_devices(cl_platform_id platform, cl_uint *count, cl_int *status);

/* ---- which devices are an adapter's hardware (match.c) ---- */

/* Finds out which Vulkan device a Direct3D device stands on, if it stands on one and the Vulkan layer is active. */
void match_identify(const struct d3d_api *api, void *device, struct d3d_adapter *adapter);
/* Keeps of a list of devices those that are preferred for an adapter, and tells how many they are. */
cl_uint match_keep(cl_device_id *devices, cl_uint count, const struct d3d_adapter *adapter);
/* In words, why the devices of the last such list were preferred. */
const char *match_reason(void);

/* Queries of cl_khr_device_uuid by which a program goes from an OpenCL device to the adapter. */
#define DEVICE_LUID_VALID 0x106C
#define DEVICE_LUID 0x106D
#define DEVICE_NODE_MASK 0x106E

/* Their answer: the driver's, or where it has none the adapter whose preferred device this is. */
cl_int share_get_luid(cl_device_id device, cl_device_info name, size_t capacity, void *to, size_t *size_ret);

/* The type of a device as the application shall see it, and the types that it means when it names one. */
cl_device_type device_type_shown(cl_device_type type);
cl_device_type device_type_meant(cl_device_type type);

/* ---- the parts of the tier: each replaces its functions in the table ---- */

void context_install(cl_icd_dispatch *table);
void object_install(cl_icd_dispatch *table);
void strings_install(cl_icd_dispatch *table);
void device_type_install(cl_icd_dispatch *table);
/* `own` gives the extensions' own functions by name, NULL for others. */
void functions_install(cl_icd_dispatch *table, next_function (*own)(const char *name));
void guard_install(cl_icd_dispatch *table);         /* guard_generated.c */
void guard_barrier_install(cl_icd_dispatch *table); /* comes after guard_install */
void older_install(cl_icd_dispatch *table);

#endif
