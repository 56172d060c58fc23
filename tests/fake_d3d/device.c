/* What devices of all versions have: locks, checks of threads, loss. */
#include "fake_internal.h"

#include <time.h>

void fake_device_init(struct fake_device *device, size_t size, const struct fake_class *class,
                      struct fake_adapter *adapter, HRESULT lost)
{
    pthread_mutexattr_t recursive;
    pthread_condattr_t monotonic;

    fake_object_init(&device->object, size, class, NULL);
    device->adapter = adapter;
    device->creator = pthread_self();
    device->removed_answer = lost;
    device->commands_end = &device->commands;
    atomic_init(&device->is_protected, false);
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device->user_lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_mutex_init(&device->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&device->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void fake_device_finish(struct fake_device *device)
{
    fake_queue_drop(device);
    pthread_cond_destroy(&device->wake);
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_destroy(&device->user_lock);
    if (device->adapter)
        fake_object_unref(&device->adapter->object);
}

void fake_device_remove_locked(struct fake_device *device, HRESULT reason)
{
    device->removed = reason;
    fake_queue_drop(device);
    pthread_cond_broadcast(&device->wake);
}

static void check_creator(struct fake_device *device, enum fake_method method)
{
    if (device->single_threaded && !pthread_equal(device->creator, pthread_self()))
        fake_violation("%s of a single-threaded device in another thread", fake_method_name(method));
}

/* The calling thread is now inside the device; a second one there is what this is for. */
static void go_inside_locked(struct fake_device *device, enum fake_method method)
{
    unsigned slow = fake_knob_slow_calls();

    if (device->inside && !pthread_equal(device->inside_thread, pthread_self()))
        fake_violation("%s while another thread is in the unprotected device", fake_method_name(method));
    device->inside++;
    device->inside_thread = pthread_self();
    if (slow) {
        struct timespec time = {slow / 1000000, (long)(slow % 1000000) * 1000};

        pthread_mutex_unlock(&device->lock);
        nanosleep(&time, NULL);
        pthread_mutex_lock(&device->lock);
    }
}

static HRESULT check_removed_locked(struct fake_device *device)
{
    if (fake_knob_lose())
        fake_device_remove_locked(device, device->removed_answer);
    return FAILED(device->removed) ? device->removed_answer : S_OK;
}

HRESULT fake_enter(struct fake_call *call, struct fake_device *device, enum fake_method method,
                   enum fake_threads threads)
{
    HRESULT ordered = fake_count(method), lost;

    call->device = device;
    call->one_thread = threads == FAKE_ONE_THREAD;
    call->user_locked = call->one_thread && atomic_load(&device->is_protected);
    check_creator(device, method);
    if (call->user_locked)
        pthread_mutex_lock(&device->user_lock);
    pthread_mutex_lock(&device->lock);
    if (call->one_thread && !call->user_locked)
        go_inside_locked(device, method);
    lost = check_removed_locked(device);
    fake_queue_advance(device);
    return FAILED(ordered) ? ordered : lost;
}

void fake_leave(struct fake_call *call)
{
    if (call->one_thread && !call->user_locked)
        call->device->inside--;
    pthread_mutex_unlock(&call->device->lock);
    if (call->user_locked)
        pthread_mutex_unlock(&call->device->user_lock);
}

HRESULT fake_touch(struct fake_object *object, enum fake_method method)
{
    if (object->class->is_device)
        check_creator((struct fake_device *)object, method);
    else if (object->device)
        check_creator(object->device, method);
    return fake_count(method);
}
