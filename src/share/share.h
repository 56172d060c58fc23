/* The records of the sharing extensions, and the functions of src/share/ for one another and for the entry points.
 *
 * Unless stated otherwise a function may be called from any thread with no lock held, and a cl_int result is an OpenCL
 * error code that has already been logged. */
#ifndef CLD3D_SHARE_SHARE_H
#define CLD3D_SHARE_SHARE_H

#include "d3d/d3d.h"
#include "handles/handles.h"
#include "share/leaving.h"
#include "transport/transports.h"

#include <stdint.h>

/* A driver returns the first of these codes if its device is on another machine, and the second if it allocates an object's
 * memory late. The extensions do not allow them. */
static inline cl_int extension_code(cl_int status)
{
    return status == CL_DEVICE_NOT_AVAILABLE || status == CL_MEM_OBJECT_ALLOCATION_FAILURE ? CL_OUT_OF_RESOURCES
                                                                                           : status;
}

/* ---- contexts (context.c) ---- */

enum { INTEROP_MAX = 6 }; /* Direct3D 10 or 11 alone, or DX9 media adapters: three kinds, each with two names */

/* A context with properties that the driver need not know. All context records are of this kind. */
struct sharing_context {
    struct context_record base;
    cl_context_properties *properties; /* as given by the application, with the 0 at the end */
    size_t property_count;             /* entries, including the 0 */
    bool user_sync;                    /* CL_CONTEXT_INTEROP_USER_SYNC; only logged */
    unsigned interop_count;            /* 0: no interop was requested */
    struct {
        const struct d3d_api *api;
        void *device; /* one reference until the application's last reference to the context is dropped, then none */
        const void *identity; /* its IUnknown; compared only */
    } interop[INTEROP_MAX];
    bool devices_held;             /* guarded by registry_lock */
    struct transports *transports; /* owned; closed when the devices are released */
};

static inline struct sharing_context *sharing(struct context_record *context)
{
    return (struct sharing_context *)context;
}

/* The device of a context's n-th interop if it is alive, for a use of `resource`, which keeps the device of a context
 * alive that the application has released. Otherwise NULL. */
void *context_device(const struct sharing_context *context, unsigned n, void *resource);
/* Whether a context was created for the family of an API, even if its device references are gone by now. */
bool context_serves(const struct sharing_context *context, const struct d3d_api *api);
/* The record of a live context with its handle checked: CL_INVALID_CONTEXT for an invalid context. A context without
 * record is valid and returns CL_SUCCESS and NULL. */
cl_int context_get(const char *call, cl_context handle, struct sharing_context **context);

/* ---- shared objects (object.c, object_create.c) ---- */

/* The event of an acquire, until its transfer has ended. */
struct acquire_event {
    cl_event event; /* owned */
    cl_command_queue queue;
    atomic_uint references;
};

enum object_state {
    OBJECT_IDLE,      /* Direct3D owns it */
    OBJECT_ACQUIRING, /* an acquire call is running */
    OBJECT_ACQUIRED,  /* OpenCL owns it */
    OBJECT_RELEASING  /* a release call is running */
};

struct object_record {
    struct record head;              /* while it is weak, the driver's object is released together with the record */
    struct sharing_context *context; /* retained */
    /* retained; set for sub-buffers and images of a shared buffer, which are shared objects only in that their use
     * requires the parent to be acquired */
    struct object_record *parent;
    struct transfer *transfer; /* owned; NULL for a child */
    struct claim *claim;       /* owned; NULL: none is needed, or the application has released the object */
    cl_uint index;             /* the subresource or plane argument, as given */
    void *given[2];            /* the resource, and its shared handle if it has one, as given: the result of a query */
    cl_mem_flags flags;

    struct leaving leaving;

    /* Guarded by registry_lock. */
    enum object_state state;
    struct acquire_event *acquire; /* retained; NULL: no transfer of an acquire is known to be pending */
    bool written;                  /* a command was enqueued since the last acquire that may write to the object */
    unsigned commands;             /* pending acquires and releases: running calls, and deferred commands */
    bool opencl_owns; /* who owns the object now. `state` says who will when all pending commands have succeeded */
};

/* Counts shared objects and their children; while it is 0 the guard checks nothing else. */
extern atomic_uint object_count;

/* The arguments of a function that creates an object. */
struct object_request {
    const struct d3d_api *api;
    const char *call;
    cl_mem_flags flags;
    enum surface_kind kind;
    void *resource;
    cl_uint index; /* subresource or plane; 0 for a buffer */
    void *shared_handle;
};
/* Creates a shared object, with one reference for the application; NULL on failure. `errcode_ret`, which may be NULL,
 * gets the extension's code, which has been logged. */
cl_mem object_create(const struct object_request *request, cl_context context, cl_int *errcode_ret);
/* The object that decides whether a memory object may be used: itself or its parent. */
struct object_record *object_root(struct object_record *object);
/* Checks whether an acquire that was waiting for events has failed since, and undoes it if so. */
void object_check_acquire(struct object_record *object);
/* Waits for the transfer of the object's acquire. True: it failed, and the acquire was undone. For the command that is
 * processing the object. */
bool object_end_acquire(struct object_record *object);
/* Notes the event of an acquire, of which the driver's reference is the caller's still. False: out of memory, and nothing
 * is noted. */
bool object_expect_acquire(struct object_record *const *objects, cl_uint count, cl_event event, cl_command_queue queue);
/* The pending transfer to an object, retained, or NULL. */
struct acquire_event *object_acquire(struct object_record *object);
void acquire_event_put(struct acquire_event *acquire);

/* ---- acquire and release (acquire.c, release.c) ---- */

/* clEnqueueAcquire...KHR and clEnqueueRelease...KHR of the API, with their error codes. */
cl_int share_acquire(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event);
cl_int share_release(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event);

/* ---- device queries (device.c) and the functions by name (functions.c) ---- */

/* clGetDeviceIDsFrom...KHR of the API: at most `count` devices are written to `devices`, and `*found` gets the number
 * of all. */
cl_int share_get_device_ids(const struct d3d_api *api, cl_platform_id platform, cl_uint source, void *object,
                            cl_uint set, cl_uint count, cl_device_id *devices, cl_uint *found);
/* The same for media adapters: `types` and `adapters` have `adapter_count` entries. */
cl_int share_get_media_device_ids(cl_platform_id platform, cl_uint adapter_count, const cl_uint *types,
                                  void *const *adapters, cl_uint set, cl_uint capacity, cl_device_id *devices,
                                  cl_uint *found);
/* The API of an adapter type of DX9 media sharing, or NULL. */
const struct d3d_api *media_api(cl_uint adapter_type);
/* Whether clGetPlatformIDs lists `platform`. Logs nothing. */
bool platform_valid(cl_platform_id platform);
/* Whether a device can interoperate with Direct3D: it has images and OpenCL 1.2, as far as its driver reports. An error
 * code: the driver is out of resources, and it is unknown. Logs nothing. */
cl_int device_sharing(cl_device_id device, bool *shares);
/* The devices of a platform that can share, in the platform's order. */
cl_int sharing_devices(cl_platform_id platform, struct device_list *devices);

/* ---- which devices are an adapter's hardware (match.c) ---- */

/* The platform of a context's devices, or NULL. */
cl_platform_id context_platform(cl_context handle);

/* Finds out on which Vulkan device, if any, a Direct3D device runs, if the Vulkan layer is active. */
void match_identify(const struct d3d_api *api, void *device, struct d3d_adapter *adapter);
/* Reduces a list of devices to those preferred for an adapter, and returns their number. */
cl_uint match_keep(cl_device_id *devices, cl_uint count, const struct d3d_adapter *adapter);
/* How well a device matches an adapter: more is nearer. 0: it is not the adapter's hardware, or another device is nearer. */
int match_strength(cl_device_id device, const struct d3d_adapter *adapter);
/* The reason why the devices of the last such list were preferred. */
const char *match_reason(void);

/* Queries of cl_khr_device_uuid with which a program finds the adapter of an OpenCL device. */
#define DEVICE_LUID_VALID 0x106C
#define DEVICE_LUID 0x106D
#define DEVICE_NODE_MASK 0x106E

/* Their result: the driver's; if it has none, that of the adapter whose hardware the device is, or else of the first
 * one whose preferred device it is. */
cl_int share_get_luid(cl_device_id device, cl_device_info name, size_t capacity, void *to, size_t *size_ret);

/* The type of a device as reported to the application, and the types that the application means when it names one. */
cl_device_type device_type_shown(cl_device_type type);
cl_device_type device_type_meant(cl_device_type type);

/* ---- the parts of the tier: each replaces its functions in the table ---- */

void context_install(cl_icd_dispatch *table);
void object_install(cl_icd_dispatch *table);
void strings_install(cl_icd_dispatch *table);
void device_type_install(cl_icd_dispatch *table);
/* `own` returns the extensions' own functions by name, NULL for others. */
void functions_install(cl_icd_dispatch *table, next_function (*own)(const char *name));
void guard_install(cl_icd_dispatch *table);         /* guard_generated.c */
void guard_changes_install(cl_icd_dispatch *table); /* changes arguments; call after guard_install */

#endif
