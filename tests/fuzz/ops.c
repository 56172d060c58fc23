#include "ops.h"

#include "fault.h"

#include <string.h>

/* How often an operation comes, of a hundred. Most of a sequence moves ownership and bytes around. */
static const struct kind {
    const char *name;
    unsigned weight;
} kinds[OP_KINDS] = {
    [OP_D3D_WRITE] = {"d3d-write", 6},
    [OP_D3D_READ] = {"d3d-read", 6},
    [OP_CREATE] = {"create", 8},
    [OP_RETAIN] = {"retain", 1},
    [OP_DROP] = {"drop", 3},
    [OP_ACQUIRE] = {"acquire", 14},
    [OP_RELEASE] = {"release", 13},
    [OP_WRITE] = {"write", 7},
    [OP_READ] = {"read", 6},
    [OP_FILL] = {"fill", 3},
    [OP_COPY] = {"copy", 4},
    [OP_KERNEL] = {"kernel", 2},
    [OP_MARKER] = {"marker", 2},
    [OP_BARRIER] = {"barrier", 2},
    [OP_USER_EVENT] = {"user-event", 5},
    [OP_SET_EVENT] = {"set-event", 7},
    [OP_WAIT_EVENT] = {"wait", 3},
    [OP_QUERY_EVENT] = {"query", 2},
    [OP_DROP_EVENT] = {"drop-event", 3},
    [OP_FINISH] = {"finish", 2},
    [OP_FLUSH] = {"flush", 1},
    [OP_MAP] = {"map", 4},
    [OP_UNMAP] = {"unmap", 4},
    [OP_PART] = {"part", 2},
    [OP_CALLBACK] = {"callback", 3},
    [OP_NOTHING] = {"nothing", 1},
    [OP_BAD] = {"bad", 3},
    [OP_FAULT] = {"fault", 2},
};

const char *op_name(enum op_kind kind)
{
    return kinds[kind % OP_KINDS].name;
}

/* ---- from a seed ---- */

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

void sequence_from_bytes(struct sequence *s, const uint8_t *bytes, size_t size)
{
    memset(s, 0, sizeof(*s));
    if (size < sizeof(s->setting))
        return;
    memcpy(&s->setting, bytes, sizeof(s->setting));
    s->count = (unsigned)((size - sizeof(s->setting)) / sizeof(s->ops[0]));
    if (s->count > MOST_OPS)
        s->count = MOST_OPS;
    memcpy(s->ops, bytes + sizeof(s->setting), s->count * sizeof(s->ops[0]));
}

/* ---- files ---- */

static void print_line(const void *data, const char *remark, FILE *to)
{
    const unsigned char *bytes = data;
    for (unsigned i = 0; i < sizeof(struct op); i++)
        fprintf(to, "%02x", bytes[i]);
    fprintf(to, " %s\n", remark);
}

void sequence_print(const struct sequence *s, FILE *to)
{
    print_line(&s->setting, "setting", to);
    for (unsigned i = 0; i < s->count; i++)
        print_line(&s->ops[i], op_name((enum op_kind)(s->ops[i].kind % OP_KINDS)), to);
}

static bool read_line(const char *line, unsigned char *bytes)
{
    for (unsigned i = 0; i < sizeof(struct op); i++) {
        unsigned value;
        if (sscanf(line + 2 * i, "%2x", &value) != 1)
            return false;
        bytes[i] = (unsigned char)value;
    }
    return true;
}

bool sequence_read(struct sequence *s, FILE *from)
{
    static unsigned char bytes[sizeof(struct setting) + MOST_OPS * sizeof(struct op)];
    char line[256];
    size_t size = 0;
    while (size < sizeof(bytes) && fgets(line, sizeof(line), from)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (!read_line(line, bytes + size))
            return false;
        size += sizeof(struct op);
    }
    sequence_from_bytes(s, bytes, size);
    return size >= sizeof(s->setting);
}

bool sequence_load(struct sequence *s, const char *name)
{
    static _Thread_local unsigned char bytes[sizeof(struct setting) + MOST_OPS * sizeof(struct op)];
    FILE *file = fopen(name, "rb");
    if (!file)
        return false;
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    sequence_from_bytes(s, bytes, size);
    return true;
}
