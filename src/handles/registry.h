/* What cld3d knows about OpenCL handles: a side table of records, keyed by the driver's own handles.
 *
 * A record is reference-counted. The registry holds a reference while the application does: its own count (`app_refs`)
 * follows the application's retains and releases, whatever the driver's count says, because drivers count running
 * commands and kernel arguments too. When the application's last reference is dropped, the record leaves the registry;
 * it is destroyed when the last reference is put.
 *
 * Contexts, queues and memory objects may come back: a query of a queue returns its context, a sub-buffer its parent.
 * When the application's last reference is dropped, the registry keeps a weak reference to their records: it still finds
 * them, but does not keep them alive.
 *
 * One lock guards the table, the counts and the lists between records; no driver or Direct3D function and no destructor
 * runs under it. Handles are looked up only while `registry_hot()`: a process that never shares anything pays one load
 * and one branch. */
#ifndef CLD3D_HANDLES_REGISTRY_H
#define CLD3D_HANDLES_REGISTRY_H

#include "os/os.h"

#include <stdatomic.h>
#include <stdbool.h>

enum record_kind {
    RECORD_CONTEXT,
    RECORD_PASSED_CONTEXT, /* of a driver with sharing of its own */
    RECORD_QUEUE,
    RECORD_OBJECT,
    RECORD_IMAGE,
    RECORD_KERNEL,
    RECORD_EVENT,
    RECORD_USER_EVENT,
    RECORD_KINDS
};

/* The head of every record; records embed it as their first member. */
struct record {
    enum record_kind kind;
    void *handle;                     /* the driver's */
    unsigned app_refs;                /* the application's references; guarded by the registry's lock */
    atomic_uint references;           /* all references, including the registry's */
    void (*destroy)(struct record *); /* frees it; called with no lock held */
    bool weak;            /* the registry has a weak reference only, after registry_app_weaken; guarded likewise */
    struct record *chain; /* of the hash table */
};

extern os_mutex registry_lock;
extern atomic_uint registry_records;

/* Whether there is any record at all. */
static inline bool registry_hot(void)
{
    return atomic_load_explicit(&registry_records, memory_order_relaxed) != 0;
}

/* Adds a record whose kind, handle and destroy are set: one reference for the application, and one for the registry. An
 * existing record of the same kind and handle is stale (the driver has reused the address) and is removed. False if out
 * of memory; the record is untouched then. */
bool registry_add(struct record *record);
/* The same while the lock is held. `*stale` is such a record or NULL, for the caller to put without the lock. */
bool registry_add_locked(struct record *record, struct record **stale);

/* The record of a handle, retained, or NULL. */
void *registry_get(enum record_kind kind, const void *handle);
/* The same while the lock is held. */
void *registry_get_locked(enum record_kind kind, const void *handle);

/* Whether a handle has a record. */
bool registry_has(enum record_kind kind, const void *handle);

/* The record of a handle, for use only while the lock is held: its destructor may be running, so it cannot be
 * retained. */
void *registry_find_locked(enum record_kind kind, const void *handle);

/* Adds and drops a reference; NULL is allowed in both. */
void record_retain(void *record);
void record_release(void *record);

/* The application's retain and release; with its last reference the record leaves the registry. Both do nothing for
 * unknown handles. True: the record was weak, and is no longer. */
bool registry_app_retain(enum record_kind kind, const void *handle);
void registry_app_release(enum record_kind kind, const void *handle);

/* Like registry_app_release, but the registry keeps a weak reference. True: this was the application's last reference.
 * The record's destructor calls registry_leave. */
bool registry_app_weaken(enum record_kind kind, const void *handle);
/* Whether the application has no reference to a record that something else still holds. */
bool registry_is_weak(const struct record *record);
/* Removes a weak record from the registry, if it is there. */
void registry_leave(struct record *record);

/* Removes a record from the registry, whatever references the application has. */
void registry_forget(enum record_kind kind, const void *handle);

#endif
