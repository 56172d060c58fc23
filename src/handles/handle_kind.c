#include "handles/handle_kind.h"

#include "handles/known_devices.h"
#include "handles/registry.h"

/* The kinds of handles that a record proves while the application holds the object. Other records prove nothing: those
 * of events may outlive an event of cld3d's own, and those of kernels count what the driver counts. */
static const struct {
    enum record_kind record;
    enum handle_kind kind;
} proofs[] = {
    {RECORD_CONTEXT, HANDLE_CONTEXT}, {RECORD_QUEUE, HANDLE_QUEUE},      {RECORD_OBJECT, HANDLE_MEMORY},
    {RECORD_IMAGE, HANDLE_MEMORY},    {RECORD_USER_EVENT, HANDLE_EVENT},
};

static bool held_locked(enum record_kind kind, const void *handle)
{
    const struct record *record = registry_find_locked(kind, handle);
    return record && !record->weak && record->app_refs > 0;
}

static bool recorded_as_other(enum handle_kind kind, const void *handle)
{
    bool other = false;
    os_lock(&registry_lock);
    for (unsigned i = 0; i < sizeof(proofs) / sizeof(proofs[0]) && !other; i++)
        other = proofs[i].kind != kind && held_locked(proofs[i].record, handle);
    os_unlock(&registry_lock);
    return other;
}

bool handle_is_other(enum handle_kind kind, const void *handle)
{
    if (known_device(handle)) /* first: a driver may have one object for its platform and its only device */
        return kind != HANDLE_DEVICE;
    return known_platform(handle) || (registry_hot() && recorded_as_other(kind, handle));
}

bool event_may_be(cl_event event)
{
    return handle_may_be(event, clGetEventInfo) &&
           (registry_has(RECORD_EVENT, event) || registry_has(RECORD_USER_EVENT, event) ||
            !handle_is_other(HANDLE_EVENT, event));
}

bool device_may_be(cl_device_id device)
{
    return handle_may_be(device, clGetDeviceInfo) && !handle_is_other(HANDLE_DEVICE, device);
}
