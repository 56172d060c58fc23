/* Mapping and unmapping. While something is mapped, commands that would make its bytes undefined are left out; but releases
 * and acquires of it go on. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* ---- what else may run ---- */

static bool effect_allowed(const struct mapping *mapping, struct effect *effect)
{
    const bool reads = effect->from == mapping->memory, writes = effect->to == mapping->memory;
    if (effect->kind == EFFECT_ACQUIRE)
        return true; /* the mapping is stale then */
    if (effect->kind == EFFECT_RELEASE && reads) {
        effect->spoils = effect->spoils || mapping->writes;
        return true;
    }
    if (effect->spoils && (mapping->stale || mapping->gone))
        return true; /* neither has bytes that count */
    return !writes && (!reads || !mapping->writes);
}

static bool is_over(const struct run *run, const struct mapping *mapping)
{
    return !mapping->pointer || (mapping->unmapped && run->model.nodes[mapping->unmap].fate == DONE);
}

bool mappings_allow(const struct run *run, struct node *node)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        for (unsigned e = 0; e < node->effect_count && !is_over(run, &run->mappings[i]); e++)
            if (!effect_allowed(&run->mappings[i], &node->effects[e]))
                return false;
    return true;
}

void mappings_acquired(struct run *run, int shared)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (run->mappings[i].pointer && run->mappings[i].shared == shared)
            run->mappings[i].stale = true;
}

bool released_in_place(const struct target *target)
{
    const char *stays = getenv("FAKE_D3D_STAYS");
    return (stays && strcmp(stays, "1") == 0) || target->direct;
}

void mappings_released(struct run *run, int shared)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (run->mappings[i].pointer && run->mappings[i].shared == shared && released_in_place(run->mappings[i].target))
            run->mappings[i].gone = true;
}

bool is_mapped(const struct run *run, cl_mem object)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (run->mappings[i].pointer && !run->mappings[i].unmapped && run->mappings[i].object == object)
            return true;
    return false;
}

/* ---- the mapped bytes ---- */

static void move_rows(const struct run *run, const struct mapping *mapping, unsigned char *bytes, bool in)
{
    const size_t row = (size_t)mapping->box.size[0] * run->model.memories[mapping->memory].texel;
    for (unsigned z = 0; z < mapping->box.size[2]; z++) {
        for (unsigned y = 0; y < mapping->box.size[1]; y++, bytes += row) {
            unsigned char *place = (unsigned char *)mapping->pointer + z * mapping->slice + y * mapping->row;
            memcpy(in ? place : bytes, in ? bytes : place, row);
        }
    }
}

static void compare_mapping(const struct run *run, const struct mapping *mapping)
{
    const struct effect *effect = &run->model.nodes[mapping->node].effects[0];
    const size_t size = box_bytes(&run->model.memories[mapping->memory], &mapping->box);
    if (!effect->certain || mapping->discards || mapping->stale || mapping->gone)
        return;
    unsigned char *found = malloc(size);
    move_rows(run, mapping, found, false);
    run_compare("wrong bytes in mapped memory", found, effect->bytes, size);
    free(found);
}

/* ---- mapping ---- */

static void *enqueue_map(struct call *call, const struct place *place, struct mapping *mapping, bool blocking,
                         cl_map_flags flags, cl_int *status)
{
    size_t at[3], size[3];
    cl_command_queue queue = call->run->world.queues[call->queue];
    box_sizes(&mapping->box, at, size);
    if (!place->target->format)
        return clEnqueueMapBuffer(queue, place->object, blocking, flags, at[0], size[0], call->wait_count,
                                  call_waits(call), call->place, status);
    return clEnqueueMapImage(queue, place->object, blocking, flags, at, size, &mapping->row, &mapping->slice,
                             call->wait_count, call_waits(call), call->place, status);
}

static struct mapping *free_mapping(struct run *run)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (is_over(run, &run->mappings[i]))
            return &run->mappings[i];
    return NULL;
}

/* Its event is kept: what is mapped may be used when it is over. */
static void keep_event(struct call *call, int node)
{
    struct run *run = call->run;
    if (run->kept[node])
        return;
    run->kept[node] = call->event;
    if (call->slot >= 0)
        MUST(clRetainEvent(call->event));
}

void run_map(struct run *run, const struct op *op)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE,
                                         CL_MAP_WRITE_INVALIDATE_REGION};
    struct call call;
    struct place place;
    const cl_map_flags how = flags[op->data / 16 % 4];
    struct mapping *mapping = free_mapping(run),
                   made = {.writes = how != CL_MAP_READ, .discards = how == CL_MAP_WRITE_INVALIDATE_REGION};
    cl_int status = 1;
    if (!mapping || op->flags & FLAG_CHILD || !call_open(&call, run, op, NODE_COMMAND) ||
        !call_pick(&call, op->target, op->flags & FLAG_TWIN, &place))
        return;
    made.target = place.target;
    made.object = place.object;
    made.memory = place.memory;
    made.shared = place.shared ? place.target->shared : -1;
    made.box = call_box(&call, &place);
    node_effect(call.node, EFFECT_MAP, made.writes ? place.memory : -1, place.memory)->box = made.box;
    if (!call_order(&call))
        return;
    call_want_event(&call);
    call.place = &call.event;
    const bool blocking = call_blocks(&call);
    made.pointer = TRY_MAKE(enqueue_map(&call, &place, &made, blocking, how, &status));
    if (!call_accepted(&call, status)) {
        if (made.pointer)
            fuzz_fail("a map that fails gives a pointer", "%p with status %d", made.pointer, status);
        return;
    }
    if (!made.pointer)
        fuzz_fail("a map gives no pointer", "status %d", status);
    made.node = call_succeed(&call);
    keep_event(&call, made.node);
    *mapping = made;
    if (!blocking)
        return;
    run_check_event(run, made.node);
    compare_mapping(run, mapping);
}

/* ---- unmapping ---- */

/* A mapping that has ended well. One that has failed is forgotten. */
static bool is_ready(struct run *run, struct mapping *mapping)
{
    if (!mapping->pointer || mapping->unmapped || run->model.nodes[mapping->node].fate == PENDING)
        return false;
    run_check_event(run, mapping->node);
    if (run->model.nodes[mapping->node].fate == DONE)
        return true;
    *mapping = (struct mapping){0};
    return false;
}

static void add_effect(struct call *call, const struct mapping *mapping, const unsigned char *bytes, size_t size)
{
    const bool old = mapping->stale || mapping->gone;
    const bool writes =
        mapping->writes || (old && mapping->target->format && call->run->world.quirks & QUIRK_UNMAP_WRITES_BACK);
    struct effect *effect = node_effect(call->node, writes ? EFFECT_UNMAP : EFFECT_MAP, writes ? mapping->memory : -1,
                                        writes ? -1 : mapping->memory);
    effect->box = mapping->box;
    effect->spoils = old;
    if (mapping->writes)
        effect->bytes = copy_of(bytes, size);
}

/* What is mapped is Direct3D's memory, and not OpenCL's for certain: a program may not touch it. */
static bool is_direct3ds(const struct run *run, const struct mapping *mapping)
{
    return mapping->shared >= 0 && mapping->target->direct &&
           model_owner(&run->model, mapping->shared) != MAY_BE_ACQUIRED;
}

/* True: it is unmapped. */
static bool unmap(struct run *run, const struct op *op, struct mapping *place)
{
    struct call call;
    struct mapping mapping = *place;
    if (!call_open(&call, run, op, NODE_COMMAND))
        return false;
    const size_t size = box_bytes(&run->model.memories[mapping.memory], &mapping.box);
    unsigned char *bytes = run_pattern(run, mapping.target->format, size);
    if (mapping.shared >= 0)
        call.owners[call.owner_count++] = mapping.shared;
    mapping.gone = mapping.gone || is_direct3ds(run, &mapping);
    add_effect(&call, &mapping, bytes, size);
    place->pointer = NULL; /* it does not stand in its own way */
    const bool ordered = call_order(&call);
    *place = mapping;
    if (!ordered)
        return false;
    call_want_event(&call);
    compare_mapping(run, &mapping);
    if (mapping.writes && !mapping.gone)
        move_rows(run, &mapping, bytes, true);
    place->stale = place->stale || mapping.writes; /* if it is refused */
    const cl_int code = TRY(clEnqueueUnmapMemObject(run->world.queues[call.queue], mapping.object, mapping.pointer,
                                                    call.wait_count, call_waits(&call), call.place));
    place->refused = mapping.refused || fault_met() != FAULT_NONE;
    place->gone = place->gone || (place->refused && mapping.target->format);
    if (mapping.refused && code == CL_INVALID_VALUE) {
        call_drop(&call);
        *place = (struct mapping){0};
        return true;
    }
    if (!call_accepted(&call, code))
        return false;
    place->unmap = call_succeed(&call);
    place->unmapped = true;
    return true;
}

void run_unmap(struct run *run, const struct op *op)
{
    for (unsigned i = 0; i < MAPPINGS; i++) {
        struct mapping *mapping = &run->mappings[(op->target + i) % MAPPINGS];
        if (!is_ready(run, mapping))
            continue;
        unmap(run, op, mapping);
        return;
    }
}

static void end_mapping(struct run *run, struct mapping *mapping)
{
    if (!is_ready(run, mapping))
        return;
    const uint8_t target = (uint8_t)(mapping->target - run->world.targets);
    if (!unmap(run, &(struct op){.kind = OP_UNMAP}, mapping)) {
        run_acquire(run, &(struct op){.kind = OP_ACQUIRE, .target = target});
        unmap(run, &(struct op){.kind = OP_UNMAP}, mapping);
    }
    run_finish(run, 0);
}

void mappings_end(struct run *run)
{
    for (unsigned round = 0; round < MAPPINGS; round++) /* one may stand in the way of those before it */
        for (unsigned i = 0; i < MAPPINGS; i++)
            end_mapping(run, &run->mappings[i]);
}
