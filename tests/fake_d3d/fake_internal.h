/* What the parts of the fake Direct3D share.  Nothing here is for tests; see fake_d3d.h. */
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <d3d11_1.h>
#include <d3d10_1.h>
#include <d3d9.h>
#include <dxgi1_2.h>

#include "dxvahd.h"
#include "fake_d3d.h"
#include "fake_methods.h"

struct fake_device;
struct fake_object;
struct fake_store;

/* ---- object.c: identity and references ---- */

/* Every interface of an object lies in a cell like this, so that any interface pointer leads back
 * to the object. */
struct fake_iface {
    const void *vtbl;
    struct fake_object *object;
};

struct fake_iid {
    const IID *iid; /* NULL ends the list */
    size_t offset;  /* of the interface's cell from the object */
};

struct fake_class {
    const char *name;
    const struct fake_iid *ifaces;
    /* Called without locks when the last reference is gone. NULL for an object that is part of
     * its device and may come back to life. */
    void (*destroy)(struct fake_object *object);
    bool is_device;
};

/* The first member of every object. References: what the program holds. An object with any holds
 * one reference on its device; what the device itself holds (its context, resources in pending
 * work) is not counted here. */
struct fake_object {
    const struct fake_class *class;
    struct fake_device *device; /* NULL for devices, DXGI objects and IDirect3D9 */
    struct fake_object *owner;  /* references are counted there; NULL: here */
    atomic_uint refs;
    size_t size;
    struct fake_object *next, **link; /* the list of live objects */
};

struct fake_object *fake_object_of(const void *iface);

static inline struct fake_iface fake_face(const void *vtbl, struct fake_object *object)
{
    return (struct fake_iface){vtbl, object};
}

/* Zeroed memory for `free`. The fake's own is never short: the program ends. */
void *fake_alloc(size_t size);

/* With one reference, or (embedded) none yet. `size` is that of the whole object. */
void fake_object_init(struct fake_object *object, size_t size, const struct fake_class *class,
                      struct fake_device *device);
void fake_object_init_embedded(struct fake_object *object, size_t size, const struct fake_class *class,
                               struct fake_device *device);

HRESULT fake_object_query(struct fake_object *object, enum fake_method method, REFIID iid, void **out);
ULONG fake_object_add_ref(struct fake_object *object);
ULONG fake_object_release(struct fake_object *object);
/* The same without a look at the calling thread, for references that are not the program's. */
ULONG fake_object_ref(struct fake_object *object);
ULONG fake_object_unref(struct fake_object *object);

/* The object of `iface`, if it is an interface of a live object, with a reference. Not for contexts
 * without references. */
struct fake_object *fake_object_find(const void *iface);
/* The device that `iface` belongs to or is, if it is an interface of a live object. With a
 * reference, which the caller drops with fake_object_unref. */
struct fake_device *fake_device_find(const void *iface);

/* Wine's own interface of its devices, a DXGI device with more: those have it that leave what they map in its place. */
extern const GUID fake_iid_stays;

/* ---- control.c: knobs and counters ---- */

/* Counts the call; S_OK or the failure that a test ordered. */
HRESULT fake_count(enum fake_method method);
const char *fake_method_name(enum fake_method method);
/* The fault of fake_d3d_any_fault, if it strikes this call, which can fail. `name` lives on. */
HRESULT fake_any_fault(const char *name);
HRESULT fake_stub(enum fake_method method);
/* A call that is counted already wants something that the fake does not have. */
void fake_missing(enum fake_method method);
void fake_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the device that is entered now is to be lost. */
bool fake_knob_lose(void);
unsigned fake_knob_delay(void);
bool fake_knob_held(void);
unsigned fake_knob_slow_calls(void);
bool fake_knob_tight_pitch(void);
bool fake_knob_odd_planes(void);
bool fake_knob_creator_asks(void);
bool fake_knob_back_buffers(void);
bool fake_knob_stays(void);
bool fake_knob_moves_volumes(void);
unsigned fake_knob_moves(void); /* how often things have moved */
/* False if the test has not set one. */

/* ---- device.c: what devices of all versions have ---- */

struct fake_device {
    struct fake_object object;
    struct fake_adapter *adapter; /* one reference */

    bool single_threaded; /* made so */
    pthread_t creator;

    /* ID3D10Multithread and D3DCREATE_MULTITHREADED: who is in a call holds the user lock. */
    atomic_bool is_protected;
    pthread_mutex_t user_lock; /* recursive; taken before `lock` */
    unsigned entered;          /* how often ID3D10Multithread has it; guarded by itself */

    /* Guards everything below, and the contents and maps of the device's resources. */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a device was lost, or the GPU let go */

    unsigned inside; /* threads in calls that only one may make */
    pthread_t inside_thread;

    HRESULT removed; /* S_OK or the reason */
    HRESULT removed_answer;

    unsigned level; /* D3D_FEATURE_LEVEL; not of Direct3D 9 */

    struct fake_query *predicate; /* no reference: the program keeps it */
    BOOL predicate_value;

    struct fake_command *commands, **commands_end;
    uint64_t issued, completed; /* numbers of commands */
};

/* Takes over the reference on `adapter`. `lost` is what calls on a lost device answer. */
void fake_device_init(struct fake_device *device, size_t size, const struct fake_class *class,
                      struct fake_adapter *adapter, HRESULT lost);
void fake_device_finish(struct fake_device *device);

/* A lost device wakes up its waiters and forgets its work. Locked. */
void fake_device_remove_locked(struct fake_device *device, HRESULT reason);

/* Every method that does something with a device runs between enter and leave, with the device's
 * lock held. Enter counts the call, checks the threads and returns S_OK or why the method must not
 * do its work (an ordered failure, a lost device); leave follows in both cases. */
enum fake_threads {
    FAKE_ANY_THREAD, /* the method is free-threaded */
    FAKE_ONE_THREAD, /* only one thread at a time, unless the device is protected */
};

struct fake_call {
    struct fake_device *device;
    bool one_thread, user_locked;
};

HRESULT fake_enter(struct fake_call *call, struct fake_device *device, enum fake_method method,
                   enum fake_threads threads);
void fake_leave(struct fake_call *call);

/* For methods that only tell what never changes: counts and checks, without a lock. */
HRESULT fake_touch(struct fake_object *object, enum fake_method method);

/* ---- formats.c ---- */

enum fake_layout {
    FAKE_PACKED,
    FAKE_NV, /* full plane, then one of interleaved pairs at half size */
    FAKE_YV, /* full plane, then two at half size and half pitch */
};

struct fake_format {
    const char *name;
    unsigned id;         /* DXGI_FORMAT or D3DFORMAT */
    unsigned family;     /* formats of one family can be copied to each other; 0: itself only */
    unsigned char bytes; /* of a block; of a luma sample if planar */
    unsigned char block_width, block_height;
    unsigned char layout; /* enum fake_layout */
    unsigned support;     /* D3D11_FORMAT_SUPPORT_* */
};

const struct fake_format *fake_format_dxgi(DXGI_FORMAT format); /* NULL: unknown */
const struct fake_format *fake_format_d3d9(D3DFORMAT format);   /* NULL: unknown */
/* Bits as a test may have set them. */
unsigned fake_format_support(const struct fake_format *format);

/* A rectangle of rows in memory: a subresource, a mapped one, what a program passes. */
struct fake_view {
    unsigned char *base;
    size_t pitch, slice;
};

/* In texels; the far ends are exclusive. */
struct fake_box {
    unsigned left, top, front, right, bottom, back;
};

unsigned fake_format_planes(const struct fake_format *format);
size_t fake_format_row_bytes(const struct fake_format *format, unsigned width);
/* Rows of one slice, all planes together, in units of the pitch. */
size_t fake_format_rows(const struct fake_format *format, unsigned height);
/* From the first byte of an image to behind the last byte that belongs to a texel. */
size_t fake_format_extent(const struct fake_format *format, unsigned width, unsigned height, unsigned depth,
                          size_t pitch, size_t slice);
/* Whether a box may be copied: whole blocks, whole pairs of planar formats. The far ends may also
 * be the image's. */
bool fake_format_box_fits(const struct fake_format *format, const struct fake_box *box, unsigned width,
                          unsigned height);
/* All planes of `box` in `source` to (x, y, z) in `target`; the heights are those of the whole
 * images, which is where the planes begin. */
void fake_format_copy(const struct fake_format *format, const struct fake_view *target, unsigned target_height,
                      unsigned x, unsigned y, unsigned z, const struct fake_view *source, unsigned source_height,
                      const struct fake_box *box);

/* ---- store.c: the memory of a resource ---- */

enum fake_kind {
    FAKE_BUFFER = 1,
    FAKE_TEXTURE1D,
    FAKE_TEXTURE2D,
    FAKE_TEXTURE3D,
    FAKE_SURFACE9, /* the surfaces and textures of Direct3D 9, whose formats are others */
};

/* Usage, bind and CPU access flags have the same values in Direct3D 10 and 11. */
struct fake_desc {
    enum fake_kind kind;
    const struct fake_format *format; /* of a buffer: single bytes */
    unsigned width, height, depth, mips, layers;
    unsigned samples, quality;
    unsigned usage, bind, cpu;
    unsigned misc;   /* D3D11_RESOURCE_MISC_*, in all versions */
    unsigned stride; /* of a structured buffer */
};

struct fake_subresource {
    unsigned width, height, depth;
    struct fake_view view; /* in the store's memory */
    unsigned char *map;    /* what the program sees while it is mapped, otherwise NULL */
    struct fake_view map_view;
    struct fake_view place; /* where it is mapped each time; base NULL: not yet, or anywhere */
    size_t place_size;
    unsigned place_moves;
    bool map_reads, map_writes;
};

enum { FAKE_BUFFER_LEAD = 4096 }; /* bytes of a buffer's memory before it */

struct fake_store {
    atomic_uint refs;
    struct fake_desc desc;
    unsigned count;
    struct fake_subresource *subresources;
    unsigned char *bytes;
    size_t size;
    const struct fake_device *keyed_owner; /* handles.c; compared only */
    uint64_t keyed_key;
    uint64_t image; /* what names it for Vulkan (vulkan.c); 0: nobody has asked */
    struct fake_store *image_after;
    struct fake_device *queue; /* in which an image is used; no reference: its users have one */
    unsigned passed;           /* to OpenCL, how often; guarded by vulkan.c's lock */
    int32_t layout;            /* that the program was told to change it to, or 0; likewise */
};

/* Whether other devices may open it. */
bool fake_desc_shared(const struct fake_desc *desc);
bool fake_desc_keyed(const struct fake_desc *desc);

/* How many levels there are down to one texel, of all extents joined by |. */
unsigned fake_full_chain(unsigned size);
/* Checks a description against the rules of Direct3D 10 and 11 and fills in a full chain of mips.
 * `max_size` is the API's limit for the width of a 2D texture. */
HRESULT fake_desc_check(struct fake_desc *desc, bool has_data, unsigned max_size);

/* The caller owns one reference. `data` is NULL or one entry for each
 * subresource. */
struct fake_store *fake_store_create(const struct fake_desc *desc, const D3D11_SUBRESOURCE_DATA *data);
void fake_store_add_ref(struct fake_store *store);
void fake_store_release(struct fake_store *store);

/* A mapped copy with a pitch of its own. Locked. */
void fake_store_map(struct fake_store *store, unsigned subresource, bool reads, bool writes, bool discard,
                    const char *method);
void fake_store_unmap(struct fake_store *store, unsigned subresource, const char *method);
bool fake_store_mapped(const struct fake_store *store);
struct fake_box fake_store_whole(const struct fake_store *store, unsigned subresource);

/* ---- map.c: the rules of Map and Unmap of Direct3D 10 and 11 ---- */

/* On S_OK `view` is what the program gets. Locked. */
HRESULT fake_map(struct fake_device *device, struct fake_store *store, unsigned subresource, D3D11_MAP type,
                 unsigned flags, const char *method, struct fake_view *view);
void fake_unmap(struct fake_store *store, unsigned subresource, const char *method);

/* ---- copy.c: the rules of copies ---- */

struct fake_copy {
    struct fake_store *target, *source;
    unsigned target_subresource, source_subresource;
    unsigned x, y, z;
    struct fake_box box;
};

/* Either queues the work or records a violation. `box` NULL: the whole subresource. Locked. */
void fake_copy_region(struct fake_device *device, struct fake_copy *copy, const struct fake_box *box,
                      const char *method);
void fake_update(struct fake_device *device, struct fake_store *target, unsigned subresource,
                 const struct fake_box *box, const void *data, unsigned pitch, unsigned slice, const char *method);

/* ---- queue.c: work in order, now or later; all of it locked ---- */

/* The stores get references of their own; `bytes` is taken over. */
void fake_queue_copy(struct fake_device *device, const struct fake_copy *copy);
void fake_queue_upload(struct fake_device *device, struct fake_store *target, unsigned subresource,
                       const struct fake_box *box, unsigned char *bytes, const struct fake_view *view);
/* A mark in the queue; passed when `completed` has reached the number. */
uint64_t fake_queue_mark(struct fake_device *device);

void fake_queue_submit(struct fake_device *device);
/* Completes what is due. */
void fake_queue_advance(struct fake_device *device);
/* Waits as for a fence behind all that was submitted. Locked. */
HRESULT fake_queue_end(struct fake_device *device);
/* Submits and waits until pending work no longer writes (or, `reads`, reads) the store.
 * S_OK, DXGI_ERROR_WAS_STILL_DRAWING where it may not wait, or what a lost device answers. */
HRESULT fake_queue_wait(struct fake_device *device, struct fake_store *store, bool reads, bool may_wait);
/* The same until a mark has passed. */
HRESULT fake_queue_wait_for(struct fake_device *device, uint64_t mark, bool may_wait);
/* As if the store got new memory: pending work has its effect now, but completes in its time. */
void fake_queue_detach(struct fake_device *device, struct fake_store *store);
void fake_queue_drop(struct fake_device *device);

/* ---- handles.c ---- */

/* Held while memory that several devices share is read or written. */
extern pthread_mutex_t fake_shared_lock;

/* ---- vulkan.c ---- */

/* The family of the queue, and the VkImageLayout that images have while Direct3D does not use them. */
enum { FAKE_VULKAN_FAMILY = 3, FAKE_VULKAN_LAYOUT = 1 };

/* Guards what stores note of Vulkan: `queue`, `layout`, `passed`, and their names. */
extern pthread_mutex_t fake_vulkan_lock;
enum fake_d3d_vulkan fake_vulkan_way(void);
/* The number by which Vulkan knows a store, given on first use. */
uint64_t fake_vulkan_name(struct fake_store *store);
/* The store is on its way out. */
void fake_vulkan_forget(struct fake_store *store);

/* ---- interop.c ---- */

/* The interfaces by which resources and devices tell Vulkan's names; those that are hidden at the moment. */
bool fake_vulkan_hides(REFIID iid);
extern const struct fake_interop_vtbl fake_interop_vtbl, fake_interop9_vtbl, fake_interop_device_vtbl;
extern const struct fake_interop_queue_vtbl fake_interop_queue_vtbl, fake_interop_queue9_vtbl;
extern const GUID fake_iid_interop, fake_iid_interop9, fake_iid_interop_device, fake_iid_interop_queue,
    fake_iid_interop_queue9;

/* ---- resource.c: what resources of Direct3D 10 and 11 have in common ---- */

struct fake_resource {
    struct fake_object object;
    struct fake_iface face;
    struct fake_iface dxgi, keyed;
    struct fake_iface interop; /* vulkan.c */
    struct fake_store *store;
};

/* The whole of a creation: checks, memory, object. `out` NULL: checks alone, S_FALSE. Locked. */
struct fake_resource_type {
    const struct fake_class *class;
    const void *vtbl;
    unsigned max_size;
};
HRESULT fake_resource_make(struct fake_device *device, const struct fake_resource_type *type, struct fake_desc *desc,
                           const D3D11_SUBRESOURCE_DATA *data, void **out);
/* A second object, perhaps of another device, on the memory of a shared one. `nt`: the kind of handle. */
HRESULT fake_resource_open(struct fake_device *device, const struct fake_resource_type *types, HANDLE handle, bool nt,
                           REFIID iid, void **out);
struct fake_resource *fake_resource_of(const void *iface);
/* The resource of an interface pointer that a program passes, if it is one of this device;
 * otherwise a violation and NULL. */
struct fake_resource *fake_resource_check(struct fake_device *device, const void *iface, const char *method);
void fake_resource_destroy(struct fake_object *object);

/* Handles of shared resources. The store's reference is the caller's. */
struct fake_store *fake_handle_open(HANDLE handle);
HANDLE fake_handle_of(struct fake_store *store);
void fake_handle_forget(struct fake_store *store);
/* Whether a device may use the store: it has no keyed mutex, or the device has acquired that. */
bool fake_keyed_allows(struct fake_store *store, const struct fake_device *device);
/* Passes the mutex from a device, or nobody, to another one, or nobody, if `key` fits. */
bool fake_keyed_pass(struct fake_store *store, const struct fake_device *from, const struct fake_device *to,
                     uint64_t key);

HRESULT fake_child9_get_device(struct fake_object *object, enum fake_method method, IDirect3DDevice9 **out);

/* resource.c: what a Direct3D 9 surface or a resource of the later versions keeps its texels in; NULL
 * if it is neither. Of a surface `subresource` becomes its level. */
struct fake_store *fake_object_store(struct fake_object *object, unsigned *subresource);

/* surface9.c: what a surface or level of Direct3D 9 keeps its texels in; NULL if it is none. */
struct fake_store *fake_surface9_store(struct fake_object *object, unsigned *subresource);

/* ---- query.c: event queries ---- */

struct fake_query {
    struct fake_object object;
    struct fake_iface face;
    unsigned type, misc;
    bool predicate;
    bool ended;
    uint64_t number;
};

struct fake_query *fake_query_create(struct fake_device *device, const struct fake_class *class, unsigned type,
                                     unsigned misc);
void fake_query_destroy(struct fake_object *object);
void fake_query_begin(struct fake_query *query, const char *method);
void fake_query_end(struct fake_query *query);
HRESULT fake_query_data(struct fake_query *query, void *data, unsigned size, bool may_flush);

/* ---- dxgi.c, dxgi_device.c ---- */

struct fake_adapter {
    struct fake_object object;
    struct fake_iface face;
    struct fake_factory *factory; /* one reference */
    unsigned index;
    DXGI_ADAPTER_DESC1 desc;
};

/* A new object for the adapter `index`, in a factory of its own; NULL: there is none. */
struct fake_adapter *fake_adapter_create(unsigned index);
/* The adapter of an interface pointer, or (NULL) the first one. With a reference. */
struct fake_adapter *fake_adapter_for(IDXGIAdapter *iface);

/* The adapters that a factory made now has; returns how many. */
unsigned fake_adapters(DXGI_ADAPTER_DESC1 descs[FAKE_D3D_MAX_ADAPTERS]);
/* Of Direct3D 9's adapters now. */
GUID fake_identifier(void);

/* The interfaces of a device for DXGI and for multithreading, and of its resources. */
extern const IDXGIDevice1Vtbl fake_dxgi_device_vtbl;
extern const ID3D10MultithreadVtbl fake_multithread_vtbl;
extern const IDXGIResource1Vtbl fake_dxgi_resource_vtbl;
extern const IDXGIKeyedMutexVtbl fake_keyed_mutex_vtbl;

#endif
