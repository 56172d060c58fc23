/* Commands that use memory: writes, reads, fills, copies, kernels. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

bool call_pick(struct call *call, unsigned number, bool twin, struct place *place)
{
    struct run *run = call->run;
    struct target *t = &run->world.targets[number % TARGETS];
    *place = (struct place){.target = t, .shared = !twin};
    const struct child *child = &t->children[call->op->extra / 2 % CHILDREN];
    if (twin) {
        place->object = world_twin(&run->world, &run->model, t);
        place->memory = t->twin_memory;
        return place->object != NULL;
    }
    place->child = call->op->flags & FLAG_CHILD && child->object ? child : NULL;
    if (!place->child && !t->object)
        return false;
    place->object = place->child ? child->object : t->object;
    const int shared = place->child ? child->shared : t->shared;
    place->memory = run->model.shared[shared].memory;
    call->owners[call->owner_count++] = shared;
    return true;
}

struct box call_box(const struct call *call, const struct place *place)
{
    struct box box = box_all(&call->run->model.memories[place->memory]);
    if (place->child) {
        box.at[0] = place->child->at;
        box.size[0] = place->child->size;
    }
    for (unsigned i = 0; i < 3 && call->op->flags & FLAG_PART; i++) {
        const unsigned unit = place->child && place->child->image && i == 0 ? 4 : 1; /* a texel */
        const unsigned skip = (call->op->extra >> i) % (box.size[i] / unit);
        box.at[i] += skip * unit;
        box.size[i] = (1 + (call->op->data >> i) % (box.size[i] / unit - skip)) * unit;
    }
    return box;
}

void box_sizes(const struct box *box, size_t at[3], size_t size[3])
{
    for (unsigned i = 0; i < 3; i++) {
        at[i] = box->at[i];
        size[i] = box->size[i];
    }
}

/* Whether a call can block: not for what only this program ends. */
bool call_blocks(const struct call *call)
{
    const struct run *run = call->run;
    if (run->world.quirks & QUIRK_BLOCKING_FINISHES && model_held(&run->model, call->queue))
        return false;
    return call->op->flags & FLAG_BLOCKING && !call->pending && !call->wait_failed;
}

/* The answer must be that of the objects' owner. */
bool call_accepted(struct call *call, cl_int code)
{
    const struct world *w = &call->run->world;
    bool may_be = true, may_not_be = false;
    for (unsigned i = 0; i < call->owner_count; i++) {
        const unsigned owner = model_owner(&call->run->model, call->owners[i]);
        may_be = may_be && owner & MAY_BE_ACQUIRED;
        may_not_be = may_not_be || owner & MAY_BE_IDLE;
    }
    say(call->run, "    %s: %d", call->name, code);
    if (fault_excuses(STEP_MAP, code, CL_SUCCESS)) {
        call->node->struck = true; /* a part of it may be in the queue */
        model_commit(&call->run->model, call->node);
        return false;
    }
    /* Without memory to track a kernel's arguments their use is not checked. */
    if (fault_met() != FAULT_OF_OPENCL || code != CL_SUCCESS || op_kind(call->op) != OP_KERNEL)
        expect(call->name, code, may_be ? CL_SUCCESS : w->api->not_acquired,
               may_not_be ? w->api->not_acquired : CL_SUCCESS);
    for (unsigned i = 0; i < call->owner_count; i++) {
        if (code == CL_SUCCESS && fault_met() != FAULT_OF_OPENCL)
            model_learn(&call->run->model, call->owners[i], MAY_BE_ACQUIRED);
        else if (call->owner_count == 1)
            model_learn(&call->run->model, call->owners[i], MAY_BE_IDLE);
    }
    if (code != CL_SUCCESS)
        call_drop(call);
    return code == CL_SUCCESS;
}

static void finish(struct call *call, bool blocking)
{
    const int node = call_succeed(call);
    if (!blocking)
        return;
    model_known(&call->run->model, node);
    run_compare_reads(call->run);
}

/* ---- writes and reads ---- */

/* As the command counts them: from the beginning of a part, and in texels of an image of one. */
static void place_sizes(const struct place *place, const struct box *box, size_t at[3], size_t size[3])
{
    const unsigned unit = place->child && place->child->image ? 4 : 1;
    box_sizes(box, at, size);
    at[0] = (at[0] - (place->child ? place->child->at : 0)) / unit;
    size[0] /= unit;
}

static cl_int transfer(struct call *call, const struct place *place, const struct box *box, bool write, bool blocking,
                       unsigned char *bytes)
{
    size_t at[3], size[3];
    cl_command_queue queue = call->run->world.queues[call->queue];
    place_sizes(place, box, at, size);
    if (place->target->format || (place->child && place->child->image))
        return write ? clEnqueueWriteImage(queue, place->object, blocking, at, size, 0, 0, bytes, call->wait_count,
                                           call_waits(call), call->place)
                     : clEnqueueReadImage(queue, place->object, blocking, at, size, 0, 0, bytes, call->wait_count,
                                          call_waits(call), call->place);
    return write ? clEnqueueWriteBuffer(queue, place->object, blocking, at[0], size[0], bytes, call->wait_count,
                                        call_waits(call), call->place)
                 : clEnqueueReadBuffer(queue, place->object, blocking, at[0], size[0], bytes, call->wait_count,
                                       call_waits(call), call->place);
}

unsigned char *copy_of(const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes, size);
    return copy;
}

static void write_or_read(struct run *run, const struct op *op, bool write)
{
    struct call call;
    struct place place;
    if (!call_open(&call, run, op, NODE_COMMAND) || !call_pick(&call, op->target, op->flags & FLAG_TWIN, &place))
        return;
    if (place.child && place.child->image && (write || op->flags & FLAG_PART) &&
        run->world.quirks & QUIRK_BUFFER_IMAGES_IN_BYTES)
        return;
    const struct memory *memory = &run->model.memories[place.memory];
    const struct box box = call_box(&call, &place);
    const size_t size = box_bytes(memory, &box);
    unsigned char *bytes = write ? run_pattern(run, place.target->format, size) : run_memory(run, size);
    struct effect *effect = node_effect(call.node, write ? EFFECT_WRITE : EFFECT_READ, write ? place.memory : -1,
                                        write ? -1 : place.memory);
    effect->box = box;
    if (write)
        effect->bytes = copy_of(bytes, size);
    effect->seen = bytes;
    if (!call_order(&call))
        return;
    call_want_event(&call);
    const bool blocking = call_blocks(&call);
    if (call_accepted(&call, TRY(transfer(&call, &place, &box, write, blocking, bytes))))
        finish(&call, blocking);
}

void run_write(struct run *run, const struct op *op)
{
    write_or_read(run, op, true);
}

void run_read(struct run *run, const struct op *op)
{
    write_or_read(run, op, false);
}

/* ---- fills ---- */

/* A colour whose channels are 0 or 1, or all bits for integers: exact in every format. Gives its texel, too. */
static void colour_of(const struct format *format, unsigned data, union colour *colour, unsigned char *texel)
{
    memset(colour, 0, sizeof(*colour));
    for (unsigned c = 0; c < 4; c++) {
        const bool set = data >> c & 1;
        if (format_class(format) == FORMAT_F)
            colour->f[c] = set ? 1.0f : 0.0f;
        else
            colour->ui[c] = set ? 1 : 0;
    }
    const bool swapped = format->cl.image_channel_order == CL_BGRA;
    for (unsigned c = 0; c < format->channels; c++) {
        const unsigned from = swapped && c < 3 ? 2 - c : c;
        unsigned char *channel = texel + c * format->channel_bytes;
        const bool set = data >> from & 1;
        const uint32_t bits = format->cl.image_channel_data_type == CL_FLOAT ? 0x3F800000u
                              : format_class(format) == FORMAT_F             ? 0xFFFFFFFFu
                                                                             : 1u;
        for (unsigned b = 0; b < format->channel_bytes; b++)
            channel[b] = set ? (unsigned char)(bits >> 8 * b) : 0;
    }
}

static cl_int enqueue_fill(struct call *call, const struct place *place, const struct box *box, unsigned char *texel)
{
    size_t at[3], size[3];
    union colour colour;
    cl_command_queue queue = call->run->world.queues[call->queue];
    place_sizes(place, box, at, size);
    if (!place->target->format) {
        texel[0] = call->op->data;
        return clEnqueueFillBuffer(queue, place->object, texel, 1, at[0], size[0], call->wait_count, call_waits(call),
                                   call->place);
    }
    colour_of(place->target->format, call->op->data, &colour, texel);
    return clEnqueueFillImage(queue, place->object, &colour, at, size, call->wait_count, call_waits(call), call->place);
}

void run_fill(struct run *run, const struct op *op)
{
    struct call call;
    struct place place;
    unsigned char texel[16] = {0};
    if (!call_open(&call, run, op, NODE_COMMAND) || !call_pick(&call, op->target, op->flags & FLAG_TWIN, &place) ||
        (place.child && place.child->image))
        return;
    const struct memory *memory = &run->model.memories[place.memory];
    struct effect *effect = node_effect(call.node, EFFECT_WRITE, place.memory, -1);
    effect->box = call_box(&call, &place);
    const size_t size = box_bytes(memory, &effect->box);
    effect->bytes = malloc(size);
    if (!call_order(&call))
        return;
    call_want_event(&call);
    const cl_int code = TRY(enqueue_fill(&call, &place, &effect->box, texel));
    for (size_t i = 0; i < size; i++)
        effect->bytes[i] = texel[i % memory->texel];
    if (call_accepted(&call, code))
        finish(&call, false);
}

/* ---- between a shared object and its twin ---- */

static bool open_pair(struct call *call, struct run *run, const struct op *op, enum effect_kind kind,
                      struct place *from, struct place *to)
{
    const bool twin_first = op->flags & FLAG_TWIN;
    if (op->flags & FLAG_CHILD && !run->world.targets[op->target % TARGETS].format)
        return false; /* parts have no twins */
    if (!call_open(call, run, op, NODE_COMMAND) || !call_pick(call, op->target, twin_first, from) ||
        !call_pick(call, op->target, !twin_first, to))
        return false;
    struct effect *effect = node_effect(call->node, kind, to->memory, from->memory);
    effect->format = from->target->format ? from->target->format : format_named(DXGI_FORMAT_R8_UINT);
    if (!call_order(call))
        return false;
    call_want_event(call);
    return true;
}

void run_copy(struct run *run, const struct op *op)
{
    struct call call;
    struct place from, to;
    size_t at[3], size[3];
    if (!open_pair(&call, run, op, EFFECT_COPY, &from, &to))
        return;
    const struct box all = box_all(&run->model.memories[from.memory]);
    cl_command_queue queue = run->world.queues[call.queue];
    box_sizes(&all, at, size);
    const cl_int code = TRY(from.target->format ? clEnqueueCopyImage(queue, from.object, to.object, at, at, size,
                                                                     call.wait_count, call_waits(&call), call.place)
                                                : clEnqueueCopyBuffer(queue, from.object, to.object, 0, 0, size[0],
                                                                      call.wait_count, call_waits(&call), call.place));
    if (call_accepted(&call, code))
        finish(&call, false);
}

/* What kernels do with memory of the other kind is not defined. */
static bool kernel_may(const struct target *t, bool writes)
{
    return !(t->flags & (writes ? CL_MEM_READ_ONLY : CL_MEM_WRITE_ONLY));
}

void run_kernel(struct run *run, const struct op *op)
{
    struct call call;
    struct place from, to;
    struct target *target = &run->world.targets[op->target % TARGETS];
    cl_kernel kernel = kernel_may(target, op->flags & FLAG_TWIN) ? world_kernel(&run->world, target) : NULL;
    if (!kernel)
        return;
    if (open_pair(&call, run, op, EFFECT_COMPUTE, &from, &to)) {
        const unsigned *extent = from.target->extent;
        const size_t size[2] = {extent[0], extent[1]};
        cl_int code = TRY(clSetKernelArg(kernel, 0, sizeof(cl_mem), &from.object));
        if (code == CL_SUCCESS)
            code = TRY(clSetKernelArg(kernel, 1, sizeof(cl_mem), &to.object));
        if (code == CL_SUCCESS)
            code = TRY(clEnqueueNDRangeKernel(run->world.queues[call.queue], kernel, from.target->format ? 2 : 1, NULL,
                                              size, NULL, call.wait_count, call_waits(&call), call.place));
        if (call_accepted(&call, code))
            finish(&call, false);
    }
    MUST(clReleaseKernel(kernel));
}
