#include "transport/parallel.h"

#include "os/os.h"

#include <stdatomic.h>

enum { HELPERS_MOST = 3, REST_MS = 5000, CHECK_MS = 100 };

unsigned parallel_processors;

static os_mutex lock = OS_MUTEX_INIT; /* guards what follows; not held while a part runs */
static os_condition offered = OS_CONDITION_INIT, ended = OS_CONDITION_INIT;
static unsigned helpers; /* threads */
static struct {
    void (*part)(void *data, unsigned index); /* NULL: there is no job */
    void *data;
    unsigned next, parts; /* the first index that nobody has taken */
    unsigned running;     /* parts on helpers */
    unsigned number;      /* of jobs so far */
    unsigned processor;   /* of the thread whose job it is */
} job;

/* Half of the processors that the process may use work for it, this thread on one of them; of two or three, two. */
static unsigned helpers_wanted(void)
{
    static atomic_uint known; /* 0: not asked yet */
    unsigned processors =
        parallel_processors ? parallel_processors : atomic_load_explicit(&known, memory_order_relaxed);
    if (!processors) {
        processors = os_processors();
        atomic_store_explicit(&known, processors, memory_order_relaxed);
    }
    const unsigned wanted = processors < 4 ? processors / 2 : processors / 2 - 1;
    return wanted < HELPERS_MOST ? wanted : HELPERS_MOST;
}

/* Runs a part that nobody has taken. False: there is none. */
static bool run_one_locked(bool helps)
{
    if (!job.part || job.next == job.parts)
        return false;
    void (*part)(void *data, unsigned index) = job.part;
    void *data = job.data;
    const unsigned index = job.next++;
    job.running += helps;
    os_unlock(&lock);
    part(data, index);
    os_lock(&lock);
    job.running -= helps;
    return true;
}

/* Linux wakes a thread on the processor of the one that wakes it, if the others are busy, as one is with the waiting loops of Wine's
 * Direct3D. There it would only take turns with that thread. */
static void move_apart_locked(void)
{
    const unsigned processor = job.processor;
    if (!job.part || os_processor() != processor)
        return;
    os_unlock(&lock);
    os_leave_processor(processor);
    os_lock(&lock);
}

static void help(void *unused)
{
    (void)unused;
    os_lock(&lock);
    for (unsigned seen = job.number - 1; seen != job.number;) {
        seen = job.number;
        move_apart_locked();
        while (run_one_locked(true))
            if (job.running == 0)
                os_wake_all(&ended);
        if (seen == job.number)
            os_wait(&offered, &lock, REST_MS);
    }
    helpers--;
    os_unlock(&lock);
}

static bool offer(unsigned parts, void (*part)(void *data, unsigned index), void *data)
{
    const unsigned wanted = helpers_wanted();
    if (parts < 2 || wanted == 0 || os_process_ends())
        return false;
    os_stay_loaded();
    os_lock(&lock);
    while (helpers < wanted && os_thread_start(help, NULL))
        helpers++;
    const bool mine = helpers && !job.part;
    if (mine) {
        job.part = part;
        job.data = data;
        job.next = 0;
        job.parts = parts;
        job.number++;
        job.processor = os_processor();
        os_wake_all(&offered);
    }
    os_unlock(&lock);
    return mine;
}

void parallel_run(unsigned parts, void (*part)(void *data, unsigned index), void *data)
{
    if (!offer(parts, part, data)) {
        for (unsigned index = 0; index < parts; index++)
            part(data, index);
        return;
    }
    os_lock(&lock);
    while (run_one_locked(false))
        continue;
    while (job.running)
        os_wait(&ended, &lock, CHECK_MS);
    job.part = NULL;
    os_unlock(&lock);
}
