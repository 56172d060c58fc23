#include "transport/statistics.h"

#include "log.h"

#include <stdio.h>

/* The entry of a method; each method is named by a single string constant. */
static struct method_count *find(struct statistics *statistics, const char *method)
{
    for (unsigned i = 0; i < METHODS_MAX - 1; i++) {
        const char *there = NULL;
        if (atomic_compare_exchange_strong(&statistics->methods[i].method, &there, method) || there == method)
            return &statistics->methods[i];
    }
    atomic_store(&statistics->methods[METHODS_MAX - 1].method, method);
    return &statistics->methods[METHODS_MAX - 1];
}

void statistics_object(struct statistics *statistics, const struct transport *transport, struct transfer *transfer)
{
    transfer->count = find(statistics, transfer->method ? transfer->method : transport->name);
    atomic_fetch_add_explicit(&transfer->count->objects, 1, memory_order_relaxed);
}

void statistics_bytes(const struct transfer *transfer, size_t bytes)
{
    atomic_fetch_add_explicit(&transfer->count->bytes, bytes, memory_order_relaxed);
}

void statistics_log(struct statistics *statistics)
{
    for (unsigned i = 0; i < METHODS_MAX && log_wants_statistics(); i++) {
        struct method_count *method = &statistics->methods[i];
        const unsigned long long objects = atomic_exchange(&method->objects, 0),
                                 bytes = atomic_exchange(&method->bytes, 0);
        if (objects)
            log_statistics("%llu objects shared by: %s; the CPU moved %llu bytes", objects, method->method, bytes);
    }
}
