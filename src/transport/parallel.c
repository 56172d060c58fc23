#include "transport/parallel.h"

#include "os/os.h"

#include <stdatomic.h>
#include <stdbool.h>

unsigned parallel_processors;

static os_mutex lock = OS_MUTEX_INIT; /* guards what follows; not held while a part runs */
static os_condition offered = OS_CONDITION_INIT, ended = OS_CONDITION_INIT;
static unsigned helpers; /* threads */
static struct {
    void (*part)(void *data, unsigned index); /* NULL: there is no job */
    void *data;
    unsigned next, parts; /* the first index that nobody has taken */
    unsigned running;     /* parts that have been taken and have not returned */
    unsigned number;      /* of jobs so far */
    unsigned processor;   /* of the thread whose job it is */
} job;

/* Half of the processors that the process may use work for it, this thread on one of them; of two or three, two. */
static unsigned helpers_wanted(void)
{
    enum { HELPERS_MOST = 3 };
    static atomic_uint known; /* 0: not asked yet; Wine asks its server */
    unsigned processors = parallel_processors ? parallel_processors : atomic_load(&known);
    if (!processors)
        atomic_store(&known, processors = os_processors());
    const unsigned wanted = processors < 4 ? processors / 2 : processors / 2 - 1;
    return wanted > HELPERS_MOST ? HELPERS_MOST : wanted;
}

static void run_parts_locked(void)
{
    while (job.next < job.parts) {
        const unsigned index = job.next++;
        job.running++;
        os_unlock(&lock);
        job.part(job.data, index);
        os_lock(&lock);
        if (--job.running == 0)
            os_wake_all(&ended);
    }
}

/* Linux wakes a thread on the processor of the one that wakes it, if the others are busy, as one is with the waiting loops of
 * Wine's Direct3D. There it would only take turns with that thread. */
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
    enum { REST_MS = 5000 };
    (void)unused;
    os_lock(&lock);
    for (unsigned seen = job.number - 1; seen != job.number;) {
        seen = job.number;
        move_apart_locked();
        run_parts_locked();
        if (seen == job.number)
            os_wait(&offered, &lock, REST_MS);
    }
    helpers--;
    os_unlock(&lock);
}

void parallel_run(unsigned parts, void (*part)(void *data, unsigned index), void *data)
{
    enum { CHECK_MS = 100 };
    const unsigned wanted = parts < 2 || os_process_ends() ? 0 : helpers_wanted();
    os_stay_loaded();
    os_lock(&lock);
    while (helpers < wanted && os_thread_start(help, NULL))
        helpers++;
    const bool mine = wanted && helpers && !job.part;
    if (mine) {
        job.part = part;
        job.data = data;
        job.next = 0;
        job.parts = parts;
        job.number++;
        job.processor = os_processor();
        os_wake_all(&offered);
        run_parts_locked();
        while (job.running)
            os_wait(&ended, &lock, CHECK_MS);
        job.part = NULL;
    }
    os_unlock(&lock);
    for (unsigned index = 0; index < parts && !mine; index++)
        part(data, index);
}
