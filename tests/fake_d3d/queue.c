/* The GPU: work in order, done at once or, when a test wants it, later.
 *
 * There is no thread behind it. What is due is completed whenever someone enters the device, so
 * what can be observed is the same as with a GPU that works on its own, and a thread checker sees
 * no order that the program did not ask for. */
#include "fake_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake_command {
    struct fake_command *next;
    uint64_t number, due; /* due: nanoseconds of the monotonic clock, once submitted */
    bool submitted, ran;
    struct fake_copy copy; /* stores with references; no target: a mark; no source: an upload */
    unsigned char *bytes;
    struct fake_view view; /* of `bytes` */
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void run(struct fake_command *command)
{
    const struct fake_copy *copy = &command->copy;
    struct fake_store *target = copy->target, *source = copy->source;
    bool shared = target && (fake_desc_shared(&target->desc) || (source && fake_desc_shared(&source->desc)));
    struct fake_subresource *to;

    command->ran = true;
    if (!target)
        return;
    to = &target->subresources[copy->target_subresource];
    if (shared)
        pthread_mutex_lock(&fake_shared_lock);
    if (source) {
        struct fake_subresource *from = &source->subresources[copy->source_subresource];

        fake_format_copy(target->desc.format, &to->view, to->height, copy->x, copy->y, copy->z, &from->view,
                         from->height, &copy->box);
    } else {
        struct fake_box box = {0,
                               0,
                               0,
                               copy->box.right - copy->box.left,
                               copy->box.bottom - copy->box.top,
                               copy->box.back - copy->box.front};

        fake_format_copy(target->desc.format, &to->view, to->height, copy->box.left, copy->box.top, copy->box.front,
                         &command->view, box.bottom, &box);
    }
    if (shared)
        pthread_mutex_unlock(&fake_shared_lock);
}

static void destroy(struct fake_command *command)
{
    fake_store_release(command->copy.target);
    fake_store_release(command->copy.source);
    free(command->bytes);
    free(command);
}

static void retire(struct fake_device *device)
{
    struct fake_command *command = device->commands;

    device->completed = command->number;
    device->commands = command->next;
    if (!device->commands)
        device->commands_end = &device->commands;
    destroy(command);
}

void fake_queue_advance(struct fake_device *device)
{
    uint64_t time;

    if (!device->commands || fake_knob_held())
        return;
    time = now();
    while (device->commands && device->commands->submitted && device->commands->due <= time) {
        if (!device->commands->ran)
            run(device->commands);
        retire(device);
    }
}

void fake_queue_submit(struct fake_device *device)
{
    struct fake_command *command;
    uint64_t due = now() + (uint64_t)fake_knob_delay() * 1000000;

    for (command = device->commands; command; command = command->next) {
        if (command->submitted)
            continue;
        command->submitted = true;
        command->due = due;
    }
}

/* Takes over everything in `template`. */
static void append(struct fake_device *device, const struct fake_command *template)
{
    struct fake_command *command = fake_alloc(sizeof *command);
    bool at_once = !fake_knob_delay() && !fake_knob_held();

    *command = *template;
    command->number = ++device->issued;
    command->submitted = at_once;
    *device->commands_end = command;
    device->commands_end = &command->next;
    fake_queue_advance(device);
}

void fake_queue_copy(struct fake_device *device, const struct fake_copy *copy)
{
    struct fake_command command = {.copy = *copy};

    fake_store_add_ref(copy->target);
    fake_store_add_ref(copy->source);
    append(device, &command);
}

void fake_queue_upload(struct fake_device *device, struct fake_store *target, unsigned subresource,
                       const struct fake_box *box, unsigned char *bytes, const struct fake_view *view)
{
    struct fake_command command = {
        .copy = {.target = target, .target_subresource = subresource, .box = *box},
        .bytes = bytes,
        .view = *view,
    };

    fake_store_add_ref(target);
    append(device, &command);
}

uint64_t fake_queue_mark(struct fake_device *device)
{
    struct fake_command command = {0};

    append(device, &command);
    return device->issued;
}

/* The last command that writes (or reads) the store; 0: none. */
static uint64_t last_use(struct fake_device *device, struct fake_store *store, bool reads)
{
    const struct fake_command *command;
    uint64_t last = 0;

    for (command = device->commands; command; command = command->next)
        if (command->copy.target == store || (reads && command->copy.source == store))
            last = command->number;
    return last;
}

/* Sleeps, without the lock, until the first command may be due. A held GPU is looked at every millisecond. */
static void sleep_for_first(struct fake_device *device)
{
    const uint64_t soon = now() + 1000000;
    uint64_t until = device->commands ? device->commands->due : soon;
    struct timespec time;

    if (fake_knob_held() && until < soon)
        until = soon;
    time.tv_sec = (time_t)(until / 1000000000);
    time.tv_nsec = (long)(until % 1000000000);
    pthread_cond_timedwait(&device->wake, &device->lock, &time);
}

HRESULT fake_queue_wait(struct fake_device *device, struct fake_store *store, bool reads, bool may_wait)
{
    uint64_t last = last_use(device, store, reads);

    return last ? fake_queue_wait_for(device, last, may_wait) : S_OK;
}

HRESULT fake_queue_wait_for(struct fake_device *device, uint64_t last, bool may_wait)
{
    fake_queue_submit(device);
    fake_queue_advance(device);
    while (device->completed < last) {
        if (!may_wait)
            return DXGI_ERROR_WAS_STILL_DRAWING;
        sleep_for_first(device);
        if (FAILED(device->removed))
            return device->removed_answer;
        fake_queue_advance(device);
    }
    return S_OK;
}

HRESULT fake_queue_end(struct fake_device *device)
{
    fake_queue_advance(device);
    while (fake_knob_held() || (device->commands && device->commands->submitted)) {
        sleep_for_first(device);
        if (FAILED(device->removed))
            return device->removed_answer;
        fake_queue_advance(device);
    }
    return FAILED(device->removed) ? device->removed_answer : S_OK;
}

void fake_queue_detach(struct fake_device *device, struct fake_store *store)
{
    uint64_t last = last_use(device, store, true);
    struct fake_command *command;

    for (command = device->commands; command && command->number <= last; command = command->next)
        if (!command->ran)
            run(command);
}

void fake_queue_drop(struct fake_device *device)
{
    while (device->commands)
        retire(device);
}
