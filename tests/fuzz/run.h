/* Runs a sequence on the real calls beside the model, and compares what each gives. */
#ifndef CLD3D_TESTS_FUZZ_RUN_H
#define CLD3D_TESTS_FUZZ_RUN_H

#include "fault.h"
#include "model.h"
#include "ops.h"
#include "world.h"

#include <stdatomic.h>

enum { SLOTS = 12, MOST_WAITS = 8, MAPPINGS = 4 };

/* An event that the program holds. */
struct slot {
    cl_event event; /* NULL: the slot is free */
    int node;
};

/* What the program has mapped. */
struct mapping {
    void *pointer; /* NULL: it is free */
    cl_mem object;
    struct target *target;
    int memory, shared; /* of the model; -1: of no shared object */
    int node;           /* the map's */
    bool unmapped;      /* by `unmap`, which may fail: then the bytes stay mapped, and commands may not write them */
    int unmap;          /* the unmap's */
    struct box box;
    size_t row, slice;
    bool writes;
    bool discards; /* what is there is not defined */
    bool refused;  /* an unmap met a fault: of an emulated image it may be unmapped, but for its bytes */
    bool stale;    /* the object was acquired again meanwhile */
    bool gone;     /* the object was released meanwhile, and with it what the pointer leads to; or that is Direct3D's */
};

/* A callback of an event. It outlives the event. */
struct notice {
    struct notice *next;
    int node;
    bool user; /* of a user event */
    cl_int type;
    enum fate fate; /* at the end */
    atomic_uint calls;
    atomic_int status;
};

struct run {
    const struct sequence *sequence;
    bool verbose;      /* tells each call on standard output */
    struct run *other; /* the sequence's other context; NULL: there is none */
    struct mapping mappings[MAPPINGS];
    struct notice *notices;
    struct model model;
    struct world world;
    struct slot slots[SLOTS];
    cl_event kept[MOST_NODES]; /* references besides the slots', to look later; or NULL */
    void **memory;             /* what commands read from and write to, until the end */
    unsigned memory_count;
    unsigned patterns;
};

/* Ends the process: the sequence has found something. `what` tells one find from another; it holds no
 * addresses and numbers of the run. */
void fuzz_fail(const char *what, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3), noreturn))
#endif
    ;
/* Lets whoever watches know that it goes on, and at which operation. */
void fuzz_alive(unsigned op);

/* Runs it from new queues and surfaces to their last references; comes back only if all was right. */
void run_sequence(const struct sequence *s, bool verbose);
/* After the last sequence of a process: the devices and contexts go, and nothing may be left. */
void run_close(void);

/* ---- for the parts of the executor ---- */

void say(const struct run *run, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* One of two codes must have come; they may be the same. */
void expect(const char *call, cl_int code, cl_int one, cl_int other);
/* CL_SUCCESS must. False: another one that the fault which was met explains. */
bool succeeded(const char *call, enum step step, cl_int code);
/* A call that nothing strikes, and one of the program's. */
#define MUST(call) expect(#call, (call), CL_SUCCESS, CL_SUCCESS)
#define TRIED(call) succeeded(#call, STEP_COMMAND, TRY(call))
void *run_memory(struct run *run, size_t size);
/* Bytes of a format that travel unchanged. */
unsigned char *run_pattern(struct run *run, const struct format *format, size_t size);

/* What a node's event says must be what the model says; waits for it if it is not over. */
void run_check_event(struct run *run, int node);
/* All nodes that are over by the model, and whose event is at hand, are over for the program. */
void run_settle(struct run *run);
/* Compares what was read by commands that the program knows to be over. */
void run_compare_reads(struct run *run);
/* Of a find: `what` is wrong. */
void run_compare(const char *what, const unsigned char *found, const unsigned char *right, size_t size);
/* Waits until the driver has done all of a queue. Gives the code. */
cl_int run_wait_for_queue(struct run *run, int queue);
/* The same for a queue that nothing blocks, and the model knows. */
void run_finish(struct run *run, int queue);

/* A call that enqueues a command. */
struct call {
    struct run *run;
    const struct op *op;
    const char *name;
    struct node *node;
    int queue;
    cl_event waits[MOST_WAITS];
    cl_uint wait_count;
    bool wait_failed;               /* an event of the list has */
    bool wait_told;                 /* and the driver says so already */
    bool wait_may_fail;             /* one has, or may at any moment */
    struct target *shared[TARGETS]; /* of an acquire or release */
    cl_mem objects[TARGETS];
    unsigned shared_count;
    int owners[4]; /* of other commands: the shared objects, of the model, whose state counts */
    unsigned owner_count;
    bool pending;
    int slot;
    cl_event event, *place;
};

bool call_open(struct call *call, struct run *run, const struct op *op, enum node_kind kind);
/* After its effects are there: orders the command behind others that use the same memory. False: it can't be, and the call
 * is dropped. */
bool call_order(struct call *call);
/* Finds a place for the event if the program asks for it. */
void call_want_event(struct call *call);
const cl_event *call_waits(const struct call *call);
/* The command is part of the model. */
int call_succeed(struct call *call);
void call_drop(struct call *call);

/* A memory object of a command. */
struct place {
    struct target *target;
    const struct child *child; /* or NULL */
    cl_mem object;
    int memory;
    bool shared;
};

bool call_pick(struct call *call, unsigned number, bool twin, struct place *place);
struct box call_box(const struct call *call, const struct place *place);
bool call_blocks(const struct call *call);
/* The answer must be that of the objects' owner. Drops the call if it was refused. */
bool call_accepted(struct call *call, cl_int code);
void box_sizes(const struct box *box, size_t at[3], size_t size[3]);
unsigned char *copy_of(const void *bytes, size_t size);

/* Makes an effect spoil what it writes, or tells that the command can't be (false), where memory is mapped. */
bool mappings_allow(const struct run *run, struct node *node);
/* A shared object has been acquired again. */
void mappings_acquired(struct run *run, int shared);
/* Whether the memory of an object is Direct3D's again after its release: it lies in Direct3D's staging copy, which is no longer
 * mapped then, or is the resource's own. */
bool released_in_place(const struct target *target);
/* A shared object has been released. */
void mappings_released(struct run *run, int shared);
bool is_mapped(const struct run *run, cl_mem object);
/* Unmaps all, behind everything else. */
void mappings_end(struct run *run);

/* The parts of a target's buffer. */
void children_end(struct run *run);

/* What the callbacks must tell is known now. */
void notices_settle(struct run *run);
/* Waits for all callbacks and compares what they told. */
void notices_end(struct run *run);
/* Callbacks of all sequences that did not come, which the driver may keep. */
unsigned notices_due(void);

/* Whether a plane is Direct3D's for certain: else touching it is not defined. */
bool is_free(const struct run *run, const struct target *t);
/* An acquire or release whose call a fault made fail: puts the model right. False: nothing failed. */
bool fault_failed(struct call *call, cl_int code, bool release);

/* ---- operations ---- */

#define X(kind, name, weight) void run_##name(struct run *run, const struct op *op);
OPERATIONS(X)
#undef X
void run_ask(struct run *run, const struct op *op);

/* Ends all of it, and looks at what Direct3D has then. */
void run_end(struct run *run);
/* The same where Direct3D's device is lost. */
void run_end_lost(struct run *run);
void drop_slot(struct run *run, unsigned slot);
/* Sets the user events that are pending: those of the bits of `failed` fail. */
void end_user_events(struct run *run, unsigned failed);

#endif
