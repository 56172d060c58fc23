/* A sequence of calls as data: what the generator makes, the executor runs and main.c shortens.
 *
 * Any eight bytes are an operation: each field is taken modulo what there is when the operation runs, and one that makes no
 * sense then is left out. So a sequence stays one when operations are taken out of it. */
#ifndef CLD3D_TESTS_FUZZ_OPS_H
#define CLD3D_TESTS_FUZZ_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each kind: run_NAME is its executor, and of a hundred operations about so many are of it. Most of a sequence moves ownership and bytes
 * around. */
/* clang-format off */
#define OPERATIONS(X)                                                                                                    \
    X(D3D_WRITE, d3d_write, 6) X(D3D_READ, d3d_read, 6) X(CREATE, create, 8) X(RETAIN, retain, 1) X(DROP, drop, 3)       \
    X(ACQUIRE, acquire, 14) X(RELEASE, release, 13) X(WRITE, write, 7) X(READ, read, 6) X(FILL, fill, 3)                 \
    X(COPY, copy, 4) X(KERNEL, kernel, 2) X(MARKER, marker, 2) X(BARRIER, barrier, 2) X(USER_EVENT, user_event, 5)       \
    X(SET_EVENT, set_event, 7) X(WAIT_EVENT, wait_event, 3) X(QUERY_EVENT, query_event, 2) X(DROP_EVENT, drop_event, 3)  \
    X(FINISH, finish_queue, 2) X(FLUSH, flush_queue, 1) X(MAP, map, 4) X(UNMAP, unmap, 4) X(PART, part, 2)               \
    X(CALLBACK, callback, 3) X(NOTHING, nothing, 1) X(BAD, bad, 3) X(FAULT, fault, 2)
/* clang-format on */

enum op_kind {
#define X(kind, name, weight) OP_##kind,
    OPERATIONS(X)
#undef X
        OP_KINDS
};

/* Bits of `flags`. */
enum {
    FLAG_EVENT = 1,    /* the call asks for its event */
    FLAG_BLOCKING = 2, /* where a call can block */
    FLAG_TWIN = 4,     /* the plain object of the same shape in place of the shared one */
    FLAG_PART = 8,     /* a part of the memory, not all of it */
    FLAG_FAIL = 16,    /* of a user event: it fails */
    FLAG_CHILD = 32    /* what is made of a shared buffer in its place */
};

struct op {
    uint8_t kind, queue, target, more, waits, flags, data, extra;
};

static inline enum op_kind op_kind(const struct op *op)
{
    return (enum op_kind)(op->kind % OP_KINDS);
}

/* What a sequence runs in. */
struct setting {
    uint8_t family, queues[3];
    uint8_t end;   /* what becomes of user events and objects that are left */
    uint8_t fresh; /* a multiple of 32: with a new device and context */
    uint8_t
        second; /* a second context beside the first (SECOND_...); an operation chooses by the highest bit of `queue` */
    uint8_t late; /* a multiple of 8: user events are set at the end only */
};

enum { SECOND_SAME_DEVICE = 4, SECOND_OTHER_DEVICE, SECOND_OTHER_FAMILY, SECONDS = 8 };

enum { MOST_OPS = 400 };

struct sequence {
    struct setting setting;
    struct op ops[MOST_OPS];
    unsigned count;
};

const char *op_name(const struct op *op);

/* The sequence of a seed, with about `count` operations. */
void sequence_make(struct sequence *s, uint64_t seed, unsigned count);

#endif
