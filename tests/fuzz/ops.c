#include "ops.h"

#include "fault.h"

#include <string.h>

static const struct kind {
    const char *name;
    unsigned weight;
} kinds[OP_KINDS] = {
#define X(kind, name, weight) [OP_##kind] = {#name, weight},
    OPERATIONS(X)
#undef X
};

const char *op_name(const struct op *op)
{
    return kinds[op_kind(op)].name;
}

/* The next number of a seed (SplitMix64). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static enum op_kind draw_kind(uint64_t number)
{
    unsigned total = 0, kind = 0;
    if (fault_layers() && (number >> 32 & 3) == 0)
        return OP_FAULT;
    for (unsigned i = 0; i < OP_KINDS; i++)
        total += kinds[i].weight;
    for (unsigned left = (unsigned)(number % total); left >= kinds[kind].weight; kind++)
        left -= kinds[kind].weight;
    return (enum op_kind)kind;
}

static void fill(void *to, size_t size, uint64_t *state)
{
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(next(state) >> 24);
}

/* Most calls need objects, and a fault is to meet more than their creation: all are acquired, or released behind a user event. */
static void begin_with_objects(struct sequence *s, bool early, bool deferred)
{
    enum { OBJECTS = 8, MOST = 2 * OBJECTS + 6 };
    struct op *op = s->ops;
    if (s->count < MOST)
        return;
    *op++ = (struct op){.kind = OP_FLUSH};
    if (early)
        s->ops[0] = (struct op){.kind = OP_FAULT, .data = op->data, .extra = op->extra, .more = op->more};
    for (unsigned i = 0; i < OBJECTS; i++) /* to be read and written */
        *op++ = (struct op){.kind = OP_CREATE, .target = (uint8_t)i, .data = 1};
    *op++ = (struct op){.kind = OP_ACQUIRE, .more = 31};
    if (!deferred)
        return;
    for (unsigned i = 0; i < OBJECTS; i++)
        *op++ = (struct op){.kind = OP_WRITE, .target = (uint8_t)i};
    *op++ = (struct op){.kind = OP_USER_EVENT};
    *op++ = (struct op){.kind = OP_RELEASE, .more = 31, .waits = 2, .flags = FLAG_EVENT};
    op++->kind = OP_FAULT;
    *op++ = (struct op){.kind = OP_SET_EVENT};
    s->setting.late |= 1;
}

void sequence_make(struct sequence *s, uint64_t seed, unsigned count)
{
    uint64_t state = seed * 0xD1342543DE82EF95u + 1;
    memset(s, 0, sizeof(*s));
    fill(&s->setting, sizeof(s->setting), &state);
    s->count = count / 2 + (unsigned)(next(&state) % (count + 1));
    if (s->count > MOST_OPS)
        s->count = MOST_OPS;
    for (unsigned i = 0; i < s->count; i++) {
        fill(&s->ops[i], sizeof(s->ops[i]), &state);
        s->ops[i].kind = (uint8_t)draw_kind(next(&state));
    }
    if (fault_layers() && seed % 4)
        begin_with_objects(s, seed % 4 == 1, seed % 4 == 3);
}
