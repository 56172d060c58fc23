/* A sequence of calls as data: what the generator makes, the executor runs, the shrinker shortens and files hold.
 *
 * Any eight bytes are an operation: each field is taken modulo what there is when the operation runs, and one that makes no
 * sense then is left out. So a sequence stays one when operations are taken out of it, or when its bytes are changed. */
#ifndef CLD3D_TESTS_FUZZ_OPS_H
#define CLD3D_TESTS_FUZZ_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum op_kind {
    OP_D3D_WRITE,
    OP_D3D_READ,
    OP_CREATE,
    OP_RETAIN,
    OP_DROP,
    OP_ACQUIRE,
    OP_RELEASE,
    OP_WRITE,
    OP_READ,
    OP_FILL,
    OP_COPY,
    OP_KERNEL,
    OP_MARKER,
    OP_BARRIER,
    OP_USER_EVENT,
    OP_SET_EVENT,
    OP_WAIT_EVENT,
    OP_QUERY_EVENT,
    OP_DROP_EVENT,
    OP_FINISH,
    OP_FLUSH,
    OP_MAP,
    OP_UNMAP,
    OP_PART,
    OP_CALLBACK,
    OP_NOTHING,
    OP_BAD,
    OP_FAULT,
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

const char *op_name(enum op_kind kind);

/* The sequence of a seed, with about `count` operations. */
void sequence_make(struct sequence *s, uint64_t seed, unsigned count);
/* Of bytes: eight for the setting, then eight for each operation. */
void sequence_from_bytes(struct sequence *s, const uint8_t *bytes, size_t size);
/* As lines of hexadecimal digits; lines that begin with # are remarks. False: it is no such file. */
void sequence_print(const struct sequence *s, FILE *to);
bool sequence_read(struct sequence *s, FILE *from);
/* Of a file of bytes, as libFuzzer keeps it. */
bool sequence_load(struct sequence *s, const char *name);

#endif
