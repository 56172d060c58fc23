/* What programs do, each once: what test_faults repeats with every fault in turn. */
#ifndef CLD3D_TESTS_FAULTS_SCENARIOS_H
#define CLD3D_TESTS_FAULTS_SCENARIOS_H

#include "world.h"

enum {
    SCENARIO_FIRST = 1 << 16,     /* each run is the first thing of a process */
    SCENARIO_OWN_MEMORY = 1 << 17 /* the devices have memory of their own */
};

struct scenario {
    const char *name;
    enum family family;
    cl_command_queue_properties properties;
    unsigned shapes;              /* bits: an object of each, in one list; and SCENARIO_... */
    void (*run)(struct world *w); /* the context, the queues and the objects are there; NULL: that is all */
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

/* Whether the device has the queues that a scenario needs. */
bool scenario_possible(const struct scenario *scenario);

/* Runs one from its device to its end. */
void scenario_run(const struct scenario *scenario, const enum fault_kind *armed);

/* Callbacks that scenarios have set and that were not called. */
int scenario_callbacks_due(void);

#endif
