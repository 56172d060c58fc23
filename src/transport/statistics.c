#include "transport/statistics.h"

#include "log.h"

#include <stdio.h>

/* The entry of a way; each way is named by a single string constant. */
static struct way_count *find(struct statistics *statistics, const char *way)
{
    for (unsigned i = 0; i < WAYS_MAX - 1; i++) {
        const char *there = NULL;
        if (atomic_compare_exchange_strong(&statistics->ways[i].way, &there, way) || there == way)
            return &statistics->ways[i];
    }
    atomic_store(&statistics->ways[WAYS_MAX - 1].way, way);
    return &statistics->ways[WAYS_MAX - 1];
}

void statistics_object(struct statistics *statistics, const struct transport *transport, struct transfer *transfer)
{
    transfer->count = find(statistics, transfer->way ? transfer->way : transport->name);
    atomic_fetch_add_explicit(&transfer->count->objects, 1, memory_order_relaxed);
}

void statistics_bytes(const struct transfer *transfer, size_t bytes)
{
    atomic_fetch_add_explicit(&transfer->count->bytes, bytes, memory_order_relaxed);
}

void statistics_log(struct statistics *statistics)
{
    for (unsigned i = 0; i < WAYS_MAX && log_wants_statistics(); i++) {
        struct way_count *way = &statistics->ways[i];
        const unsigned long long objects = atomic_exchange(&way->objects, 0), bytes = atomic_exchange(&way->bytes, 0);
        if (objects)
            log_statistics("%llu objects shared by: %s; the CPU moved %llu bytes", objects, way->way, bytes);
    }
}
