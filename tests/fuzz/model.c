#include "model.h"

#include "../common/formats.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets ---- */

bool set_has(const struct set *set, int node)
{
    return set->bits[node / 64] >> node % 64 & 1;
}

void set_add(struct set *set, int node)
{
    set->bits[node / 64] |= (uint64_t)1 << node % 64;
}

static void set_join(struct set *set, const struct set *other)
{
    for (unsigned i = 0; i < MOST_NODES / 64; i++)
        set->bits[i] |= other->bits[i];
}

/* ---- memories ---- */

struct box box_all(const struct memory *memory)
{
    return (struct box){{0, 0, 0}, {memory->extent[0], memory->extent[1], memory->extent[2]}};
}

size_t box_bytes(const struct memory *memory, const struct box *box)
{
    return (size_t)box->size[0] * box->size[1] * box->size[2] * memory->texel;
}

static void forget_other(struct memory *memory)
{
    free(memory->other);
    memory->other = NULL;
}

/* It holds what it held, or these bytes, which it takes over; NULL: or nobody knows what. */
static void doubt(struct memory *memory, unsigned char *other)
{
    if (memory->unknown) {
        free(other);
        other = NULL;
    }
    forget_other(memory);
    memory->other = other;
    memory->unknown = true;
}

static bool is_all(const struct memory *memory, const struct box *box)
{
    return box_bytes(memory, box) == memory->size;
}

static void box_move(const struct memory *memory, const struct box *box, unsigned char *bytes, bool in)
{
    const size_t row = (size_t)box->size[0] * memory->texel;
    for (unsigned z = 0; z < box->size[2]; z++) {
        for (unsigned y = 0; y < box->size[1]; y++, bytes += row) {
            const size_t rows = (size_t)(box->at[2] + z) * memory->extent[1] + box->at[1] + y;
            unsigned char *place = memory->bytes + (rows * memory->extent[0] + box->at[0]) * memory->texel;
            memcpy(in ? place : bytes, in ? bytes : place, row);
        }
    }
}

void box_write(struct memory *memory, const struct box *box, const unsigned char *bytes)
{
    box_move(memory, box, (unsigned char *)bytes, true);
    forget_other(memory);
    memory->unknown = memory->unknown && !is_all(memory, box);
}

void box_read(const struct memory *memory, const struct box *box, unsigned char *bytes)
{
    box_move(memory, box, bytes, false);
}

int model_memory(struct model *m, const unsigned extent[3], unsigned texel, const void *bytes)
{
    if (m->memory_count == MOST_MEMORIES)
        return -1;
    struct memory *memory = &m->memories[m->memory_count];
    memcpy(memory->extent, extent, sizeof(memory->extent));
    memory->texel = texel;
    memory->size = (size_t)extent[0] * extent[1] * extent[2] * texel;
    memory->bytes = calloc(1, memory->size);
    memory->unknown = !bytes;
    if (bytes)
        memcpy(memory->bytes, bytes, memory->size);
    return m->memory_count++;
}

static void copy_memory(struct memory *to, const struct memory *from)
{
    if (to == from)
        return;
    forget_other(to);
    memcpy(to->bytes, from->bytes, to->size);
    to->unknown = from->unknown;
}

static unsigned char *bytes_of(const struct memory *memory)
{
    unsigned char *bytes = memory->unknown ? NULL : malloc(memory->size);
    if (bytes)
        memcpy(bytes, memory->bytes, memory->size);
    return bytes;
}

/* ---- making ---- */

void model_open(struct model *m, enum fate (*observe)(void *, int), void *context)
{
    memset(m, 0, sizeof(*m));
    m->observe = observe;
    m->context = context;
}

void model_drop(struct node *node)
{
    for (unsigned i = 0; i < node->effect_count; i++)
        free(node->effects[i].bytes);
    node->effect_count = 0;
}

void model_undecided(struct model *m)
{
    for (int i = 0; i < m->memory_count; i++)
        forget_other(&m->memories[i]);
}

void model_close(struct model *m)
{
    for (int i = 0; i < m->node_count; i++)
        model_drop(&m->nodes[i]);
    model_undecided(m);
    for (int i = 0; i < m->memory_count; i++)
        free(m->memories[i].bytes);
}

int model_shared(struct model *m, int memory, int d3d)
{
    if (m->shared_count == MOST_SHARED || memory < 0)
        return -1;
    m->shared[m->shared_count] = (struct shared_object){memory, d3d, MAY_BE_IDLE};
    return m->shared_count++;
}

/* ---- what happens when a node is over ---- */

/* Each side sees at once what the other writes. */
static bool is_direct(const struct shared_object *shared)
{
    return shared->memory == shared->d3d;
}

static void acquired(struct model *m, const struct effect *effect, enum fate fate)
{
    struct shared_object *shared = &m->shared[effect->shared];
    struct memory *memory = &m->memories[shared->memory];
    if (fate == FAILED)
        return;
    /* It is OpenCL's still if a release before has failed: then so are its bytes. */
    if (fate == DONE && shared->owner == MAY_BE_IDLE)
        copy_memory(memory, &m->memories[shared->d3d]);
    else if (shared->owner & MAY_BE_IDLE && !is_direct(shared))
        doubt(memory, NULL);
    shared->owner = fate == DONE ? MAY_BE_ACQUIRED : shared->owner | MAY_BE_ACQUIRED;
}

static void released(struct model *m, const struct effect *effect, enum fate fate)
{
    struct shared_object *shared = &m->shared[effect->shared];
    struct memory *d3d = &m->memories[shared->d3d];
    if (fate == FAILED)
        return;
    /* Direct3D's bytes stay if the acquire before has failed. */
    if (fate == DONE && shared->owner == MAY_BE_ACQUIRED)
        copy_memory(d3d, &m->memories[shared->memory]);
    else if (shared->owner & MAY_BE_ACQUIRED && !is_direct(shared))
        doubt(d3d, bytes_of(&m->memories[shared->memory]));
    if (effect->spoils)
        doubt(d3d, NULL);
    shared->owner = fate == DONE ? MAY_BE_IDLE : shared->owner | MAY_BE_IDLE;
}

static void write_memory(struct model *m, const struct effect *effect)
{
    struct memory *to = &m->memories[effect->to];
    if (effect->kind == EFFECT_WRITE || effect->kind == EFFECT_UNMAP) {
        box_write(to, &effect->box, effect->bytes);
        return;
    }
    copy_memory(to, &m->memories[effect->from]);
    if (effect->kind == EFFECT_COMPUTE)
        format_compute(effect->format, to->bytes, to->size);
}

static void change_memory(struct model *m, const struct effect *effect, bool struck, enum fate fate)
{
    struct memory *to = &m->memories[effect->to];
    if (fate == FAILED && effect->kind != EFFECT_UNMAP && !struck)
        return;
    if (effect->spoils || (fate != DONE && to->unknown)) {
        doubt(to, NULL);
        return;
    }
    unsigned char *before = bytes_of(to);
    write_memory(m, effect);
    if (fate == DONE) {
        free(before);
        return;
    }
    unsigned char *after = bytes_of(to);
    memcpy(to->bytes, before, to->size);
    to->unknown = false;
    free(before);
    doubt(to, after);
}

static void read_memory(struct model *m, struct effect *effect, enum fate fate)
{
    const struct memory *from = &m->memories[effect->from];
    effect->certain = fate == DONE && !from->unknown;
    effect->bytes = malloc(box_bytes(from, &effect->box));
    box_read(from, &effect->box, effect->bytes);
}

static void take_effect(struct model *m, struct node *node)
{
    for (unsigned i = 0; i < node->effect_count; i++) {
        struct effect *effect = &node->effects[i];
        switch (effect->kind) {
        case EFFECT_ACQUIRE: acquired(m, effect, node->fate); break;
        case EFFECT_RELEASE: released(m, effect, node->fate); break;
        case EFFECT_MAP:
        case EFFECT_READ: read_memory(m, effect, node->fate); break;
        default: change_memory(m, effect, node->struck, node->fate); break;
        }
    }
}

static enum fate fate_of(const struct model *m, const struct node *node)
{
    enum fate fate = DONE;
    for (int i = 0; i < m->node_count; i++) {
        const bool waits = set_has(&node->waits, i), behind = set_has(&node->behind, i);
        const enum fate other = m->nodes[i].fate;
        if (!waits && !behind)
            continue;
        if (other == PENDING)
            return PENDING;
        const bool hidden =
            m->hides && m->nodes[i].kind >= NODE_ACQUIRE && node->kind != NODE_ACQUIRE && node->kind != NODE_RELEASE;
        if (waits && other == FAILED && !hidden)
            fate = FAILED;
        else if (other != DONE && fate == DONE)
            fate = OPEN;
    }
    return fate;
}

static bool is_doomed(const struct model *m, const struct node *node)
{
    for (int i = 0; i < m->node_count; i++)
        if ((set_has(&node->waits, i) || set_has(&node->behind, i)) &&
            (m->nodes[i].fate == FAILED || m->nodes[i].doomed))
            return true;
    return false;
}

/* A release that Direct3D makes fail, and not what it waits for, gives its objects back all the same. Of another nobody knows. */
static void take_fault(struct model *m, struct node *node, enum fate by_waits)
{
    for (unsigned i = 0; i < node->effect_count && node->kind == NODE_RELEASE && node->fate == FAILED; i++) {
        const struct effect *effect = &node->effects[i];
        const unsigned before = m->shared[effect->shared].owner;
        model_lost(m, effect->shared);
        if (by_waits == OPEN || m->fault != FAULT_OF_DIRECT3D)
            m->shared[effect->shared].owner |= before;
    }
}

/* A command of the program's fails only if it is struck itself. */
static bool may_be_struck(const struct model *m, const struct node *node)
{
    const bool is_ours = node->kind == NODE_ACQUIRE || node->kind == NODE_RELEASE;
    return node->struck || (is_ours ? m->fault != FAULT_NONE : m->fault == FAULT_OF_EVENT);
}

/* What waits for a node has a higher number. */
static void advance(struct model *m)
{
    for (int i = 0; i < m->node_count; i++) {
        struct node *node = &m->nodes[i];
        if (node->kind == NODE_USER || node->fate != PENDING)
            continue;
        const enum fate by_waits = node->fate = fate_of(m, node);
        node->struck = by_waits == PENDING ? node->struck : may_be_struck(m, node);
        if (node->fate == OPEN || (node->fate == DONE && node->struck))
            node->fate = m->observe(m->context, i);
        if (node->struck && (by_waits == DONE || by_waits == OPEN))
            take_fault(m, node, by_waits);
        if (node->fate == PENDING)
            node->doomed = node->struck || is_doomed(m, node);
        else
            take_effect(m, node);
    }
}

/* ---- commands ---- */

int model_user_event(struct model *m)
{
    if (m->node_count == MOST_NODES)
        return -1;
    m->nodes[m->node_count] = (struct node){.kind = NODE_USER, .queue = -1};
    return m->node_count++;
}

void model_set(struct model *m, int node, bool failed)
{
    m->nodes[node].fate = failed ? FAILED : DONE;
    set_add(&m->known, node);
    advance(m);
}

struct node *model_plan(struct model *m, enum node_kind kind, int queue)
{
    if (m->node_count == MOST_NODES)
        return NULL;
    struct node *node = &m->nodes[m->node_count];
    *node = (struct node){.kind = kind, .queue = queue};
    return node;
}

struct effect *node_effect(struct node *node, enum effect_kind kind, int to, int from)
{
    struct effect *effect = &node->effects[node->effect_count++];
    *effect = (struct effect){.kind = kind, .to = to, .from = from, .shared = -1};
    return effect;
}

static void comes_after(const struct model *m, struct node *node, int other)
{
    set_add(&node->after, other);
    if (m->nodes[other].fate == PENDING)
        set_add(&node->behind, other);
}

/* All that is over when the first of what follows `node` begins. A command that fails may be over before what it waits
 * for, and one that a user event holds may fail yet. */
static struct set all_before(const struct model *m, const struct node *node)
{
    struct set before = node->waits;
    set_join(&before, &node->after);
    for (int i = m->node_count; i-- > 0;) {
        const struct node *other = &m->nodes[i];
        if (!set_has(&before, i) || other->doomed || other->fate != DONE)
            continue;
        set_join(&before, &other->waits);
        if (!other->silent)
            set_join(&before, &other->after);
    }
    set_join(&before, &m->known);
    return before;
}

static bool owns(const struct node *node, int shared)
{
    for (unsigned i = 0; i < node->effect_count; i++)
        if (node->effects[i].shared == shared)
            return true;
    return false;
}

static bool share_objects(const struct node *a, const struct node *b)
{
    for (unsigned e = 0; e < a->effect_count; e++)
        if (a->effects[e].shared >= 0 && owns(b, a->effects[e].shared))
            return true;
    return false;
}

/* A barrier and a marker without a list, and a release, wait for all of their queue; so does an acquire that a user event
 * blocks. */
static bool waits_for_queue(const struct model *m, const struct node *node)
{
    bool list = false, blocked = false;
    for (int i = 0; i < m->node_count; i++) {
        const bool waits = set_has(&node->waits, i), barred = m->nodes[i].queue == node->queue && m->nodes[i].bars;
        list = list || waits;
        blocked = blocked || (m->nodes[i].fate == PENDING && (waits || barred || share_objects(node, &m->nodes[i])));
    }
    return node->kind == NODE_RELEASE || (node->kind == NODE_ACQUIRE && blocked) ||
           ((node->kind == NODE_BARRIER || node->kind == NODE_MARKER || node->kind == NODE_NOTHING) && !list);
}

static void order_in_queue(const struct model *m, struct node *node)
{
    const bool all = !m->out_of_order[node->queue] || waits_for_queue(m, node);
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].queue == node->queue && (all || m->nodes[i].bars))
            comes_after(m, node, i);
}

/* Acquires and releases of an object come one after the other, though no event says so. */
static void order_ownership(const struct model *m, struct node *node)
{
    for (int i = 0; i < m->node_count; i++)
        if (share_objects(node, &m->nodes[i]))
            comes_after(m, node, i);
}

void model_order(struct model *m, struct node *node)
{
    memset(&node->after, 0, sizeof(node->after));
    memset(&node->behind, 0, sizeof(node->behind));
    order_in_queue(m, node);
    order_ownership(m, node);
}

static bool changes(const struct effect *effect, int memory)
{
    return effect->to == memory || (effect->takes_memory && effect->from == memory);
}

static bool uses(const struct node *node, int memory, bool *writes)
{
    bool found = false;
    *writes = false;
    for (unsigned i = 0; i < node->effect_count; i++) {
        found = found || node->effects[i].to == memory || node->effects[i].from == memory;
        *writes = *writes || changes(&node->effects[i], memory);
    }
    return found;
}

static bool meet(const struct node *a, const struct node *b)
{
    for (unsigned i = 0; i < a->effect_count; i++) {
        const int places[] = {a->effects[i].to, a->effects[i].from};
        for (unsigned k = 0; k < 2; k++) {
            bool writes;
            if (places[k] >= 0 && uses(b, places[k], &writes) && (writes || changes(&a->effects[i], places[k])))
                return true;
        }
    }
    return false;
}

bool model_unordered(const struct model *m, const struct node *node, struct set *found)
{
    const struct set before = all_before(m, node);
    bool any = false;
    memset(found, 0, sizeof(*found));
    for (int i = 0; i < m->node_count; i++) {
        if (set_has(&before, i) || !meet(node, &m->nodes[i]))
            continue;
        set_add(found, i);
        any = true;
    }
    return any;
}

bool model_pending(const struct model *m, const struct node *node)
{
    return fate_of(m, node) == PENDING;
}

int model_commit(struct model *m, struct node *node)
{
    const int number = m->node_count++;
    const bool deferred = node->kind == NODE_RELEASE && model_pending(m, node);
    node->bars = node->kind == NODE_BARRIER || node->kind == NODE_ACQUIRE || deferred;
    advance(m);
    return number;
}

void model_known(struct model *m, int node)
{
    if (m->nodes[node].fate == DONE)
        m->known = all_before(m, &m->nodes[node]);
    set_add(&m->known, node);
}

bool model_held(const struct model *m, int queue)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].queue == queue && m->nodes[i].fate == PENDING)
            return true;
    return false;
}

/* ---- ownership ---- */

unsigned model_owner(const struct model *m, int shared)
{
    unsigned owner = m->shared[shared].owner;
    bool failing = false;
    for (int i = 0; i < m->node_count; i++) {
        const struct node *node = &m->nodes[i];
        if (!owns(node, shared))
            continue;
        /* The driver may not have noticed yet. */
        failing = failing || node->doomed || (node->fate != DONE && node->fate != PENDING && !set_has(&m->known, i));
        if (node->fate == PENDING)
            owner = node->kind == NODE_ACQUIRE ? MAY_BE_ACQUIRED : MAY_BE_IDLE;
    }
    return failing ? MAY_BE_IDLE | MAY_BE_ACQUIRED : owner;
}

void model_lost(struct model *m, int shared)
{
    m->shared[shared].owner = MAY_BE_IDLE;
    if (!is_direct(&m->shared[shared]))
        doubt(&m->memories[m->shared[shared].d3d], bytes_of(&m->memories[m->shared[shared].memory]));
}

void model_doubted(struct model *m, int shared)
{
    model_lost(m, shared);
    m->shared[shared].owner |= MAY_BE_ACQUIRED;
}

static bool is_moving(const struct model *m, int shared)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].fate == PENDING && owns(&m->nodes[i], shared))
            return true;
    return false;
}

void model_learn(struct model *m, int shared, unsigned owner)
{
    if (!is_moving(m, shared) && m->shared[shared].owner & owner)
        m->shared[shared].owner &= owner;
}

bool model_in_motion(const struct model *m, int d3d)
{
    for (int i = 0; i < m->shared_count; i++)
        if (m->shared[i].d3d == d3d && is_moving(m, i))
            return true;
    return false;
}

bool model_in_use(const struct model *m, int memory)
{
    bool writes;
    for (int i = 0; i < m->node_count; i++)
        if (!set_has(&m->known, i) && m->nodes[i].fate != FAILED && uses(&m->nodes[i], memory, &writes))
            return true;
    return false;
}
