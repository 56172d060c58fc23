/* What the specification and docs/behaviour.md say must come of a sequence of calls: the order of commands, which of them
 * end well, who owns each shared object, and each byte on both sides. It calls neither OpenCL nor Direct3D.
 *
 * A command is a *node*, and so is a user event. A node is over when all that it waits for is over; whether it then is
 * done or has failed follows from its wait list. What fails in front of it in its queue may make it fail or not: there the
 * specification is silent, and the model asks what came out (`observe`), or, where nobody can know, takes what the node
 * writes to for unknown until it is written again.
 *
 * Commands that use one memory at the same time would make its bytes unknown as well. The executor leaves them out: it
 * asks with model_unordered. */
#ifndef CLD3D_TESTS_FUZZ_MODEL_H
#define CLD3D_TESTS_FUZZ_MODEL_H

#include "fault.h"

#include <stddef.h>
#include <stdint.h>

struct format;

enum { MOST_NODES = 512, MOST_MEMORIES = 160, MOST_SHARED = 96, MOST_QUEUES = 8, MOST_EFFECTS = 8 };

/* A set of nodes by their numbers. */
struct set {
    uint64_t bits[MOST_NODES / 64];
};

bool set_has(const struct set *set, int node);
void set_add(struct set *set, int node);

/* A place that holds bytes: rows of texels without gaps. */
struct memory {
    unsigned extent[3], texel;
    size_t size;
    unsigned char *bytes; /* owned */
    bool unknown;
    unsigned char *other; /* owned: while it is not NULL, what is unknown is either `bytes` or these */
};

/* A part of a memory, in texels. */
struct box {
    unsigned at[3], size[3];
};

enum effect_kind {
    EFFECT_WRITE,
    EFFECT_READ,
    EFFECT_COPY,
    EFFECT_COMPUTE,
    EFFECT_MAP,   /* as a read; `to` is set too if the program will write */
    EFFECT_UNMAP, /* as a write, but what was written may be there though the command fails */
    EFFECT_ACQUIRE,
    EFFECT_RELEASE
};

/* What a node does when it is done. */
struct effect {
    enum effect_kind kind;
    int to, from; /* memories, -1: none */
    int shared;   /* of an acquire or release */
    struct box box;
    unsigned char
        *bytes; /* owned by the model; of a write what it writes; of a read what it must find, once it is over */
    const unsigned char *seen;   /* of a read: what it found; the executor's */
    bool certain;                /* of a read that is over: `bytes` are known */
    const struct format *format; /* of EFFECT_COMPUTE */
    bool spoils;                 /* what it writes is not defined */
    bool takes_memory; /* of a release: nobody may read beside it, since the memory is Direct3D's afterwards */
};

/* What is over is DONE, FAILED, or OPEN: nobody knows which of them. */
enum fate { PENDING, DONE, FAILED, OPEN };

/* NODE_NOTHING: an acquire or release without objects, which is a marker. */
enum node_kind { NODE_USER, NODE_COMMAND, NODE_MARKER, NODE_BARRIER, NODE_ACQUIRE, NODE_RELEASE, NODE_NOTHING };

struct node {
    enum node_kind kind;
    int queue;
    enum fate fate;
    bool doomed;  /* pending, but sure to fail; it may be over before the model says so */
    bool checked; /* the executor has compared its reads */
    bool struck;  /* it has met a fault, or may have: what came of it is asked */
    bool silent;  /* an acquire without wait list and event: it may enqueue nothing, and tells nothing of its queue */
    struct set waits;  /* its wait list */
    struct set after;  /* what else it comes after: by its queue, or as an object's acquires and releases do */
    struct set behind; /* those of them that were not over when it was enqueued */
    bool bars;         /* what follows in its queue comes after it, in any order of execution */
    struct effect effects[MOST_EFFECTS];
    unsigned effect_count;
};

/* Ownership: what may be true. */
enum { MAY_BE_IDLE = 1, MAY_BE_ACQUIRED = 2 };

struct shared_object {
    int memory, d3d; /* OpenCL's bytes and Direct3D's; the same where an object is Direct3D's memory itself */
    unsigned owner;  /* as of the commands that are over */
};

struct model {
    struct memory memories[MOST_MEMORIES];
    int memory_count;
    struct shared_object shared[MOST_SHARED];
    int shared_count;
    struct node nodes[MOST_NODES];
    int node_count;
    bool out_of_order[MOST_QUEUES]; /* queues */
    struct set known;               /* the program knows that they are over */
    bool hides;                     /* what waits for a failed acquire or release may end as if that had not failed */
    enum fault fault;               /* that the call has met: what ends now is asked what came of it */
    /* Asks what came of a node that is over: DONE, FAILED or OPEN. */
    enum fate (*observe)(void *context, int node);
    void *context;
};

void model_open(struct model *m, enum fate (*observe)(void *, int), void *context);
void model_close(struct model *m);

/* Makes a memory. `bytes` is copied; NULL: what it holds is unknown. -1: there are too many. */
int model_memory(struct model *m, const unsigned extent[3], unsigned texel, const void *bytes);
int model_shared(struct model *m, int memory, int d3d);

int model_user_event(struct model *m);
void model_set(struct model *m, int node, bool failed);

/* A command begins as a node at this number, not yet part of the model. NULL: there is no more room. */
struct node *model_plan(struct model *m, enum node_kind kind, int queue);
struct effect *node_effect(struct node *node, enum effect_kind kind, int to, int from);
/* Computes `after` and `behind` from the queue and the effects. */
void model_order(struct model *m, struct node *node);
/* Commands that use the same memory and may run at the same time; false: there are none. */
bool model_unordered(const struct model *m, const struct node *node, struct set *found);
/* Whether it would not be over by itself. */
bool model_pending(const struct model *m, const struct node *node);
/* The call has succeeded: the plan is part of the model. Returns its number. */
int model_commit(struct model *m, struct node *node);
/* The plan comes to nothing. */
void model_drop(struct node *node);
/* Nobody decides any more which of two contents a memory has. */
void model_undecided(struct model *m);

/* The program knows that a node is over, and with it all that comes before. */
void model_known(struct model *m, int node);
/* Whether any node of the queue is pending. */
bool model_held(const struct model *m, int queue);

/* MAY_BE_...: what a call finds now. */
unsigned model_owner(const struct model *m, int shared);
/* A release of an object has failed in the call itself: the object is Direct3D's, with whatever bytes. */
void model_lost(struct model *m, int shared);
/* The same where it may be OpenCL's still. */
void model_doubted(struct model *m, int shared);
/* A call has told. */
void model_learn(struct model *m, int shared, unsigned owner);
/* Whether acquires or releases of a Direct3D memory are pending. */
bool model_in_motion(const struct model *m, int d3d);
/* Whether commands use a memory that need not be over, as far as the program knows. */
bool model_in_use(const struct model *m, int memory);

size_t box_bytes(const struct memory *memory, const struct box *box);
void box_write(struct memory *memory, const struct box *box, const unsigned char *bytes);
void box_read(const struct memory *memory, const struct box *box, unsigned char *bytes);
struct box box_all(const struct memory *memory);

#endif
