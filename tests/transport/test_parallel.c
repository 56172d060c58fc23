/* Threads that copy the rows of large surfaces (transport/parallel.c). */
#include "tap.h"
#include "transport/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PARTS = 70 };

static void count_part(void *data, unsigned index)
{
    atomic_fetch_add(&((atomic_uint *)data)[index], 1);
}

static void *run_many(void *unused)
{
    for (unsigned i = 0; i < 200; i++) {
        atomic_uint calls[PARTS] = {0};
        parallel_run(1 + i % PARTS, count_part, calls);
        for (unsigned part = 0; part < PARTS; part++)
            CHECK_INT(calls[part], part <= i % PARTS);
    }
    return unused;
}

/* Each part runs once, whoever runs it, and before the job ends. */
CASE("jobs of several threads at the same time", parts_of_threads)
{
    pthread_t threads[3];
    parallel_processors = 16;
    for (int i = 0; i < 3; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    run_many(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

TAP_MAIN
