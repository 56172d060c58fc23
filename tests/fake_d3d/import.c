/* Direct3D's memory for an OpenCL that works in it: what a driver's import would be. */
#include "fake_internal.h"

#include <stdlib.h>

static atomic_uint open_imports, fail_in;
static atomic_bool refused;

unsigned fake_d3d_import_count(void)
{
    return atomic_load(&open_imports);
}

void fake_d3d_import_refuse(bool on)
{
    atomic_store(&refused, on);
}

void fake_d3d_import_fail(unsigned nth)
{
    atomic_store(&fail_in, nth);
}

/* Whether this call is the one that shall fail. */
static bool fails_now(void)
{
    unsigned left = atomic_load(&fail_in);

    while (left && !atomic_compare_exchange_weak(&fail_in, &left, left - 1))
        ;
    return left == 1;
}

/* The planes of an image lie below each other. */
static struct fake_d3d_memory plane_of(const struct fake_store *store, unsigned subresource, unsigned plane)
{
    const struct fake_subresource *sub = &store->subresources[subresource];
    struct fake_d3d_memory memory = {sub->view.base, sub->view.pitch, sub->view.slice};

    if (!plane)
        return memory;
    memory.bytes += sub->view.pitch * sub->height;
    if (store->desc.format->layout == FAKE_YV) {
        memory.row_pitch /= 2;
        if (plane == 2)
            memory.bytes += memory.row_pitch * (sub->height / 2);
    }
    return memory;
}

static void *import_open(void *resource, unsigned subresource, unsigned plane, struct fake_d3d_memory *memory)
{
    struct fake_object *object = atomic_load(&refused) ? NULL : fake_object_find(resource);
    struct fake_store *store = object ? fake_object_store(object, &subresource) : NULL;

    if (store && subresource < store->count) {
        fake_store_add_ref(store);
        *memory = plane_of(store, subresource, plane);
        atomic_fetch_add(&open_imports, 1);
    }
    if (object)
        fake_object_unref(object);
    return store;
}

static void import_close(void *import)
{
    fake_store_release(import);
    atomic_fetch_sub(&open_imports, 1);
}

/* A step is a call that finds its device lost. Locked until fake_leave. */
static bool begin_step(struct fake_call *call, void *resource)
{
    HRESULT hr =
        fake_enter(call, fake_object_of(resource)->device, FAKE_ID3D11Device_GetDeviceRemovedReason, FAKE_ANY_THREAD);

    return !fails_now() && SUCCEEDED(hr);
}

/* All of Direct3D's work before this is done, so that OpenCL may begin. */
static bool import_give(void *import, void *resource)
{
    struct fake_call call;
    bool done = begin_step(&call, resource);

    (void)import;
    if (done)
        done = SUCCEEDED(fake_queue_wait_for(call.device, fake_queue_mark(call.device), true));
    fake_leave(&call);
    return done;
}

static bool import_take(void *import, void *resource)
{
    struct fake_call call;
    bool done = begin_step(&call, resource);

    (void)import;
    fake_leave(&call);
    return done;
}

const struct fake_d3d_imports fake_d3d_imports = {
    import_open,
    import_close,
    import_give,
    import_take,
};
