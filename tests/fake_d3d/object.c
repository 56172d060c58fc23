/* COM identity and references. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

/* Guards the list of live objects, and the references of embedded objects, whose count may rise
 * again from zero. */
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_object *live;

void *fake_alloc(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        abort();
    return memory;
}

struct fake_object *fake_object_of(const void *iface)
{
    return ((const struct fake_iface *)iface)->object;
}

static void enlist_locked(struct fake_object *object)
{
    object->next = live;
    object->link = &live;
    if (live)
        live->link = &object->next;
    live = object;
}

static void delist_locked(struct fake_object *object)
{
    *object->link = object->next;
    if (object->next)
        object->next->link = object->link;
    object->link = NULL;
    object->next = NULL;
}

void fake_object_init_embedded(struct fake_object *object, size_t size, const struct fake_class *class,
                               struct fake_device *device)
{
    object->class = class;
    object->device = device;
    object->owner = NULL;
    object->size = size;
    object->next = NULL;
    object->link = NULL;
    atomic_init(&object->refs, 0);
}

void fake_object_init(struct fake_object *object, size_t size, const struct fake_class *class,
                      struct fake_device *device)
{
    fake_object_init_embedded(object, size, class, device);
    atomic_init(&object->refs, 1);
    pthread_mutex_lock(&live_lock);
    enlist_locked(object);
    pthread_mutex_unlock(&live_lock);
    if (device)
        fake_object_ref(&device->object);
}

static bool embedded(const struct fake_object *object)
{
    return !object->class->destroy;
}

static struct fake_device *device_of(struct fake_object *object)
{
    return object->class->is_device ? (struct fake_device *)object : object->device;
}

/* A single-threaded device does not count references atomically, in it or in its objects. */
static void check_thread(struct fake_object *object, const char *what)
{
    struct fake_device *device = device_of(object);

    if (device && device->single_threaded && !pthread_equal(device->creator, pthread_self()))
        fake_violation("%s of %s of a single-threaded device in another thread", what, object->class->name);
}

ULONG fake_object_ref(struct fake_object *object)
{
    ULONG refs;

    if (object->owner)
        return fake_object_ref(object->owner);
    if (!embedded(object))
        return atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed) + 1;

    pthread_mutex_lock(&live_lock);
    refs = atomic_fetch_add(&object->refs, 1) + 1;
    if (refs == 1)
        enlist_locked(object);
    pthread_mutex_unlock(&live_lock);
    if (refs == 1)
        fake_object_ref(&object->device->object);
    return refs;
}

static ULONG release_embedded(struct fake_object *object)
{
    struct fake_device *device = object->device;
    ULONG refs;

    pthread_mutex_lock(&live_lock);
    refs = atomic_load(&object->refs);
    if (refs) {
        atomic_store(&object->refs, --refs);
        if (!refs)
            delist_locked(object);
    } else {
        device = NULL;
    }
    pthread_mutex_unlock(&live_lock);
    if (!device)
        fake_violation("Release of %s without a reference", object->class->name);
    else if (!refs)
        fake_object_unref(&device->object);
    return refs;
}

ULONG fake_object_unref(struct fake_object *object)
{
    struct fake_device *device = object->device;
    ULONG refs;

    if (object->owner)
        return fake_object_unref(object->owner);
    if (embedded(object))
        return release_embedded(object);
    refs = atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) - 1;
    if (refs)
        return refs;

    pthread_mutex_lock(&live_lock);
    delist_locked(object);
    pthread_mutex_unlock(&live_lock);
    object->class->destroy(object);
    if (device)
        fake_object_unref(&device->object);
    return 0;
}

ULONG fake_object_add_ref(struct fake_object *object)
{
    check_thread(object, "AddRef");
    return fake_object_ref(object);
}

ULONG fake_object_release(struct fake_object *object)
{
    check_thread(object, "Release");
    return fake_object_unref(object);
}

HRESULT fake_object_query(struct fake_object *object, enum fake_method method, REFIID iid, void **out)
{
    const struct fake_iid *entry;
    HRESULT hr = fake_touch(object, method);

    if (!out)
        return E_POINTER;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    for (entry = object->class->ifaces; entry->iid; entry++) {
        if (!IsEqualGUID(entry->iid, iid) || (IsEqualGUID(iid, &fake_iid_stays) && !fake_knob_stays()) ||
            fake_vulkan_hides(iid) ||
            (IsEqualGUID(iid, &IID_IDXGIKeyedMutex) &&
             !fake_desc_keyed(&((struct fake_resource *)object)->store->desc)))
            continue;
        fake_object_ref(object);
        *out = (char *)object + entry->offset;
        return S_OK;
    }
    return E_NOINTERFACE;
}

/* The object of an interface pointer, if that lies in the memory of a live object. A context lies in
 * its device, a level in its texture. */
static struct fake_object *find_locked(const void *iface)
{
    const char *at = iface;
    struct fake_object *object;

    for (object = live; object; object = object->next)
        if (at > (const char *)object && at < (const char *)object + object->size)
            return fake_object_of(iface);
    return NULL;
}

static struct fake_object *counted(struct fake_object *object)
{
    return object->owner ? object->owner : object;
}

struct fake_object *fake_object_find(const void *iface)
{
    struct fake_object *object;

    pthread_mutex_lock(&live_lock);
    object = find_locked(iface);
    if (object)
        atomic_fetch_add(&counted(object)->refs, 1);
    pthread_mutex_unlock(&live_lock);
    return object;
}

struct fake_device *fake_device_find(const void *iface)
{
    struct fake_object *object;
    struct fake_device *device;

    pthread_mutex_lock(&live_lock);
    object = find_locked(iface);
    device = object ? device_of(object) : NULL;
    if (device)
        fake_object_ref(&device->object);
    pthread_mutex_unlock(&live_lock);
    return device;
}

static unsigned count_live(const char *class_name)
{
    struct fake_object *object;
    unsigned count = 0;

    pthread_mutex_lock(&live_lock);
    for (object = live; object; object = object->next)
        count += !class_name || !strcmp(object->class->name, class_name);
    pthread_mutex_unlock(&live_lock);
    return count;
}

unsigned fake_d3d_live(void)
{
    return count_live(NULL);
}

unsigned fake_d3d_live_of(const char *class_name)
{
    return count_live(class_name);
}

void fake_d3d_list_live(FILE *out, const char *prefix)
{
    struct fake_object *object;

    pthread_mutex_lock(&live_lock);
    for (object = live; object; object = object->next)
        fprintf(out, "%s%s %p with %u references\n", prefix, object->class->name, (void *)object,
                atomic_load(&object->refs));
    pthread_mutex_unlock(&live_lock);
}
