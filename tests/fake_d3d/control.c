/* Knobs, counters and violations. The counters are relaxed atomics on purpose: a lock here would
 * order the calls of all threads, and a thread checker could no longer see races of the library. */
#include "fake_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME(text, can_fail) text,
static const char *const names[FAKE_METHOD_COUNT] = {FAKE_METHOD_NAMES(NAME)};
#undef NAME
#define CAN_FAIL(text, can_fail) can_fail,
static const bool fails[FAKE_METHOD_COUNT] = {FAKE_METHOD_NAMES(CAN_FAIL)};
#undef CAN_FAIL

struct counter {
    atomic_uint calls;
    atomic_uint fail_in; /* calls until the ordered failure, 0: none ordered */
    _Atomic(HRESULT) fail_with;
};

static struct counter counters[FAKE_METHOD_COUNT];
static atomic_uint violations;

/* The fault that strikes a call of any method, by its number. */
static struct {
    atomic_uint calls, nth;       /* nth 0: none is ordered */
    _Atomic(const char *) struck; /* the method */
    _Atomic(const char *) lost;   /* the method: the next device that is entered is */
    _Atomic(enum fake_d3d_fault) fault;
} any;
static _Thread_local bool own_calls;

static atomic_uint delay, slow_calls, moves;
static atomic_int stays;
enum { STAYS_UNKNOWN, STAYS, MOVES };
static atomic_bool held, tight_pitch, odd_planes, moves_volumes, back_buffers, creator_asks;

/* Guards the text of the last violation. */
static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
static char text[256];

const char *fake_method_name(enum fake_method method)
{
    return names[method];
}

void fake_d3d_any_fault(enum fake_d3d_fault fault, unsigned nth)
{
    atomic_store(&any.nth, 0);
    atomic_store(&any.calls, 0);
    atomic_store(&any.struck, NULL);
    atomic_store(&any.lost, NULL);
    atomic_store(&any.fault, fault);
    atomic_store(&any.nth, nth);
}

const char *fake_d3d_any_struck(void)
{
    return atomic_load(&any.struck);
}

bool fake_d3d_own_calls(bool on)
{
    const bool before = own_calls;

    own_calls = on;
    return before;
}

bool fake_knob_lose(void)
{
    const char *by = own_calls ? NULL : atomic_exchange(&any.lost, NULL);

    if (by)
        atomic_store(&any.struck, by);
    return by != NULL;
}

HRESULT fake_any_fault(const char *name)
{
    const struct timespec slow = {0, 5000000};

    if (own_calls)
        return S_OK;
    if (atomic_fetch_add_explicit(&any.calls, 1, memory_order_relaxed) + 1 !=
        atomic_load_explicit(&any.nth, memory_order_relaxed))
        return S_OK;
    if (atomic_load(&any.fault) == FAKE_D3D_LOST) {
        atomic_store(&any.lost, name);
        return S_OK;
    }
    atomic_store(&any.struck, name);
    switch (atomic_load(&any.fault)) {
    case FAKE_D3D_FAILS: return E_FAIL;
    case FAKE_D3D_NO_MEMORY: return E_OUTOFMEMORY;
    case FAKE_D3D_SLOW: nanosleep(&slow, NULL); return S_OK;
    default: return S_OK;
    }
}

HRESULT fake_count(enum fake_method method)
{
    const HRESULT fault = fails[method] ? fake_any_fault(names[method]) : S_OK;
    struct counter *counter = &counters[method];
    unsigned left = atomic_load_explicit(&counter->fail_in, memory_order_relaxed);

    atomic_fetch_add_explicit(&counter->calls, 1, memory_order_relaxed);
    while (left && !atomic_compare_exchange_weak_explicit(&counter->fail_in, &left, left - 1, memory_order_relaxed,
                                                          memory_order_relaxed))
        continue;
    if (left != 1)
        return fault;
    return atomic_load_explicit(&counter->fail_with, memory_order_relaxed);
}

void fake_missing(enum fake_method method)
{
    fake_violation("%s is not in the fake", fake_method_name(method));
}

HRESULT fake_stub(enum fake_method method)
{
    fake_missing(method);
    fake_count(method);
    return E_NOTIMPL;
}

void fake_violation(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    pthread_mutex_lock(&text_lock);
    vsnprintf(text, sizeof text, format, arguments);
    pthread_mutex_unlock(&text_lock);
    va_end(arguments);
    atomic_fetch_add(&violations, 1);
}

static bool name_fits(const char *name, const char *wanted)
{
    const char *bare = strstr(name, "::");

    return !strcmp(name, wanted) || !strcmp(bare + 2, wanted);
}

unsigned fake_d3d_fail(const char *method, unsigned nth, HRESULT hr)
{
    unsigned i, found = 0;

    for (i = 0; i < FAKE_METHOD_COUNT; i++) {
        if (!name_fits(names[i], method))
            continue;
        found++;
        atomic_store(&counters[i].fail_with, hr);
        atomic_store(&counters[i].fail_in, nth);
    }
    return found;
}

unsigned fake_d3d_calls(const char *method)
{
    unsigned i, calls = 0;

    for (i = 0; i < FAKE_METHOD_COUNT; i++)
        if (name_fits(names[i], method))
            calls += atomic_load(&counters[i].calls);
    return calls;
}

unsigned fake_d3d_violations(void)
{
    return atomic_load(&violations);
}

const char *fake_d3d_last_violation(void)
{
    static _Thread_local char copy[sizeof text];

    pthread_mutex_lock(&text_lock);
    memcpy(copy, text, sizeof copy);
    pthread_mutex_unlock(&text_lock);
    return copy;
}

void fake_d3d_forget_violations(void)
{
    pthread_mutex_lock(&text_lock);
    text[0] = '\0';
    pthread_mutex_unlock(&text_lock);
    atomic_store(&violations, 0);
}

void fake_d3d_remove(void *iface, HRESULT reason)
{
    struct fake_device *device = fake_device_find(iface);

    if (!device)
        return;
    pthread_mutex_lock(&device->lock);
    fake_device_remove_locked(device, reason);
    pthread_mutex_unlock(&device->lock);
    fake_object_unref(&device->object);
}

void fake_d3d_delay(unsigned milliseconds)
{
    atomic_store(&delay, milliseconds);
}

unsigned fake_knob_delay(void)
{
    return atomic_load_explicit(&delay, memory_order_relaxed);
}

void fake_d3d_hold(bool on)
{
    atomic_store(&held, on);
}

bool fake_knob_held(void)
{
    return atomic_load_explicit(&held, memory_order_relaxed);
}

void fake_d3d_slow_calls(unsigned microseconds)
{
    atomic_store(&slow_calls, microseconds);
}

unsigned fake_knob_slow_calls(void)
{
    return atomic_load_explicit(&slow_calls, memory_order_relaxed);
}

/* What is on or off: how a test sets it, and how the rest of this folder asks. */
#define KNOB(name)                                                  \
    void fake_d3d_##name(bool on)                                   \
    {                                                               \
        atomic_store(&(name), on);                                  \
    }                                                               \
    bool fake_knob_##name(void)                                     \
    {                                                               \
        return atomic_load_explicit(&(name), memory_order_relaxed); \
    }
KNOB(back_buffers)
KNOB(odd_planes)
KNOB(creator_asks)
KNOB(moves_volumes)
KNOB(tight_pitch)
#undef KNOB

void fake_d3d_stays(bool on)
{
    atomic_store(&stays, on ? STAYS : MOVES);
}

bool fake_knob_stays(void)
{
    const char *text;

    if (atomic_load_explicit(&stays, memory_order_relaxed) == STAYS_UNKNOWN) {
        text = getenv("FAKE_D3D_STAYS");
        atomic_store(&stays, text && strcmp(text, "1") == 0 ? STAYS : MOVES);
    }
    return atomic_load_explicit(&stays, memory_order_relaxed) == STAYS;
}

void fake_d3d_move(void)
{
    atomic_fetch_add(&moves, 1);
}

unsigned fake_knob_moves(void)
{
    return atomic_load_explicit(&moves, memory_order_relaxed);
}

void fake_d3d_reset(void)
{
    unsigned i;

    for (i = 0; i < FAKE_METHOD_COUNT; i++) {
        atomic_store(&counters[i].calls, 0);
        atomic_store(&counters[i].fail_in, 0);
    }
    fake_d3d_forget_violations();
    fake_d3d_any_fault(FAKE_D3D_FAILS, 0);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    fake_d3d_delay(0);
    fake_d3d_hold(false);
    fake_d3d_slow_calls(0);
    fake_d3d_tight_pitch(false);
    fake_d3d_odd_planes(false);
    fake_d3d_creator_asks(false);
    fake_d3d_back_buffers(false);
    fake_d3d_moves_volumes(false);
    atomic_store(&stays, STAYS_UNKNOWN);
    fake_d3d_set_adapters(0, NULL);
    fake_d3d_set_identifier((GUID){0});
}
