#include "share/command_buffer.h"

#include "formats/image.h"
#include "log.h"
#include "next/query.h"
#include "share/guard.h"
#include "handles/handle_kind.h"

#include <stdlib.h>
#include <string.h>

typedef command_buffer_handle(CL_API_CALL *create_fn)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
typedef cl_int(CL_API_CALL *count_fn)(command_buffer_handle);
typedef command_buffer_handle(CL_API_CALL *remap_fn)(command_buffer_handle, cl_bool, cl_uint, const cl_command_queue *,
                                                     cl_uint, void *const *, void **, cl_int *);
typedef cl_int(CL_API_CALL *enqueue_fn)(cl_uint, cl_command_queue *, command_buffer_handle, cl_uint, const cl_event *,
                                        cl_event *);

/* ---- records ---- */

static void destroy(struct record *record)
{
    struct command_buffer *buffer = (struct command_buffer *)record;
    record_release(buffer->kept);
    free(buffer->uses);
    free(buffer);
}

struct command_buffer *command_buffer_get(const char *call, command_buffer_handle handle)
{
    struct command_buffer *buffer = registry_get(RECORD_COMMAND_BUFFER, handle);
    if (!buffer)
        log_refuse(call, INVALID_COMMAND_BUFFER, "%p is not a command buffer", (void *)handle);
    return buffer;
}

/* False: out of memory, and the list is unchanged. */
static bool grow_locked(struct command_buffer *buffer, cl_uint capacity)
{
    struct object_use *grown = realloc(buffer->uses, capacity * sizeof(*grown));
    if (!grown)
        return false;
    buffer->uses = grown;
    buffer->capacity = capacity;
    return true;
}

bool command_buffer_reserve(struct command_buffer *buffer, cl_uint count)
{
    os_lock(&registry_lock);
    const cl_uint needed = buffer->count + count, doubled = 2 * buffer->capacity;
    const bool enough = needed <= buffer->capacity || grow_locked(buffer, needed > doubled ? needed : doubled);
    os_unlock(&registry_lock);
    return enough;
}

static struct object_use *find_locked(const struct command_buffer *buffer, cl_mem object)
{
    for (cl_uint i = 0; i < buffer->count; i++)
        if (buffer->uses[i].object == object)
            return &buffer->uses[i];
    return NULL;
}

void command_buffer_use(struct command_buffer *buffer, cl_mem object, unsigned how)
{
    os_lock(&registry_lock);
    struct object_use *use = find_locked(buffer, object);
    if (use)
        use->how |= how;
    else if (buffer->count < buffer->capacity || grow_locked(buffer, 2 * buffer->capacity + 1))
        buffer->uses[buffer->count++] = (struct object_use){object, how};
    else
        buffer->incomplete = true;
    os_unlock(&registry_lock);
}

unsigned command_buffer_uses(struct command_buffer *buffer, cl_mem object)
{
    os_lock(&registry_lock);
    const struct object_use *use = find_locked(buffer, object);
    const unsigned how = use ? use->how : 0;
    os_unlock(&registry_lock);
    return how;
}

static bool copy_uses(struct command_buffer *to, struct command_buffer *from)
{
    os_lock(&registry_lock);
    const cl_uint count = from->count;
    to->uses = count ? malloc(count * sizeof(*to->uses)) : NULL;
    if (to->uses) {
        memcpy(to->uses, from->uses, count * sizeof(*to->uses));
        to->count = to->capacity = count;
    }
    to->incomplete = from->incomplete;
    os_unlock(&registry_lock);
    return to->count == count;
}

/* `from`: a command buffer whose commands the new one also contains, or NULL. */
static bool follow(const struct command_buffer_driver *driver, cl_command_queue queue, command_buffer_handle handle,
                   bool is_mutable, struct command_buffer *from)
{
    struct command_buffer *buffer = calloc(1, sizeof(*buffer));
    if (!buffer)
        return false;
    buffer->head = (struct record){.kind = RECORD_COMMAND_BUFFER, .handle = handle, .destroy = destroy};
    buffer->driver = driver;
    buffer->queue = queue;
    buffer->kept = queue_get(queue);
    buffer->is_mutable = is_mutable;
    if ((!from || copy_uses(buffer, from)) && registry_add(&buffer->head))
        return true;
    destroy(&buffer->head);
    return false;
}

/* ---- lifetimes ---- */

/* Checks the list of queues, whose first one identifies the driver. */
static cl_int check_queues(const char *call, cl_uint count, const cl_command_queue *queues)
{
    if (!count || !queues)
        return log_refuse(call, CL_INVALID_VALUE, "the list of queues is invalid (%u at %p)", count,
                          (const void *)queues);
    for (cl_uint i = 0; i < count; i++)
        if (!registry_has(RECORD_QUEUE, queues[i]) &&
            (!handle_may_be(queues[i], clGetCommandQueueInfo) || handle_is_other(HANDLE_QUEUE, queues[i])))
            return log_refuse(call, CL_INVALID_COMMAND_QUEUE, "queue %u of the list, %p, is not a queue", i,
                              (void *)queues[i]);
    if (count > 1) /* later its commands are enqueued in all of them */
        queues_note_several_threads(count, queues);
    return CL_SUCCESS;
}

static cl_int count_reference(enum command_buffer_function function, const struct command_buffer_driver *driver,
                              command_buffer_handle handle)
{
    const count_fn count = (count_fn)driver->functions[function];
    return count ? count(handle)
                 : log_refuse(command_buffer_names[function], CL_INVALID_OPERATION, "the driver lacks this function");
}

/* Tracks the command buffer that the driver has created, if it has created one. */
static command_buffer_handle followed(enum command_buffer_function function, const struct command_buffer_driver *driver,
                                      cl_command_queue queue, command_buffer_handle handle, bool is_mutable,
                                      struct command_buffer *from, cl_int *status)
{
    if (!handle || follow(driver, queue, handle, is_mutable, from))
        return handle;
    count_reference(BUFFER_RELEASE, driver, handle);
    *status =
        log_refuse(command_buffer_names[function], CL_OUT_OF_HOST_MEMORY, "no memory to track the command buffer");
    return NULL;
}

/* Whether a mutable command buffer is requested. Its kernels' arguments may change unseen, so from then on every object
 * counts as written. */
static bool asks_for_mutable(const cl_ulong *properties)
{
    enum { FLAGS = 0x1293, MUTABLE = 2 }; /* CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR */
    bool found = false;
    for (; properties && *properties; properties += 2)
        found = found || (properties[0] == FLAGS && properties[1] & MUTABLE);
    if (found)
        writes_hidden("a mutable command buffer");
    return found;
}

static command_buffer_handle make(cl_uint count, const cl_command_queue *queues, const cl_ulong *properties,
                                  cl_int *status)
{
    const struct command_buffer_driver *driver = command_buffer_driver_of(queues[0]);
    const create_fn create = driver ? (create_fn)driver->functions[BUFFER_CREATE] : NULL;
    if (!create) {
        *status = log_refuse(command_buffer_names[BUFFER_CREATE], CL_INVALID_COMMAND_QUEUE,
                             "queue %p belongs to a platform without this extension", (void *)queues[0]);
        return NULL;
    }
    return followed(BUFFER_CREATE, driver, queues[0], create(count, queues, properties, status),
                    asks_for_mutable(properties), NULL, status);
}

static command_buffer_handle CL_API_CALL create_buffer(cl_uint num_queues, const cl_command_queue *queues,
                                                       const cl_ulong *properties, cl_int *errcode_ret)
{
    command_buffer_handle handle = NULL;
    cl_int status = check_queues(command_buffer_names[BUFFER_CREATE], num_queues, queues);
    if (status == CL_SUCCESS)
        handle = make(num_queues, queues, properties, &status);
    give_code(errcode_ret, status);
    return handle;
}

static command_buffer_handle CL_API_CALL remap_buffer(command_buffer_handle handle, cl_bool automatic,
                                                      cl_uint num_queues, const cl_command_queue *queues,
                                                      cl_uint num_handles, void *const *handles, void **handles_ret,
                                                      cl_int *errcode_ret)
{
    const char *call = command_buffer_names[BUFFER_REMAP];
    command_buffer_handle made = NULL;
    struct command_buffer *buffer = command_buffer_get(call, handle);
    cl_int status = buffer ? check_queues(call, num_queues, queues) : INVALID_COMMAND_BUFFER;
    if (status == CL_SUCCESS) {
        const remap_fn remap = (remap_fn)buffer->driver->functions[BUFFER_REMAP];
        if (remap)
            made = followed(BUFFER_REMAP, buffer->driver, queues[0],
                            remap(handle, automatic, num_queues, queues, num_handles, handles, handles_ret, &status),
                            buffer->is_mutable, buffer, &status);
        else
            status = log_refuse(call, CL_INVALID_OPERATION, "the driver lacks this function");
    }
    record_release(buffer);
    give_code(errcode_ret, status);
    return made;
}

static cl_int CL_API_CALL retain_buffer(command_buffer_handle handle)
{
    struct command_buffer *buffer = command_buffer_get(command_buffer_names[BUFFER_RETAIN], handle);
    const cl_int status = buffer ? count_reference(BUFFER_RETAIN, buffer->driver, handle) : INVALID_COMMAND_BUFFER;
    if (status == CL_SUCCESS)
        registry_app_retain(RECORD_COMMAND_BUFFER, handle);
    record_release(buffer);
    return status;
}

static cl_int CL_API_CALL release_buffer(command_buffer_handle handle)
{
    struct command_buffer *buffer = command_buffer_get(command_buffer_names[BUFFER_RELEASE], handle);
    if (!buffer)
        return INVALID_COMMAND_BUFFER;
    registry_app_release(RECORD_COMMAND_BUFFER, handle);
    const cl_int status = count_reference(BUFFER_RELEASE, buffer->driver, handle);
    record_release(buffer);
    return status;
}

/* ---- enqueue ---- */

/* The objects that the commands use, for one enqueue. */
struct snapshot {
    struct object_use *uses;
    cl_mem *objects;
    cl_uint count;
    unsigned writes; /* as guard_objects takes it */
};

static bool take_snapshot(struct command_buffer *buffer, struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){NULL, NULL, 0, 0};
    os_lock(&registry_lock);
    const bool complete = !buffer->incomplete;
    const cl_uint count = buffer->count;
    if (count) {
        snapshot->uses = malloc(count * sizeof(*snapshot->uses));
        snapshot->objects = malloc(count * sizeof(cl_mem));
    }
    if (snapshot->uses && snapshot->objects) {
        memcpy(snapshot->uses, buffer->uses, count * sizeof(*snapshot->uses));
        snapshot->count = count;
    }
    os_unlock(&registry_lock);
    for (cl_uint i = 0; i < snapshot->count; i++) {
        snapshot->objects[i] = snapshot->uses[i].object;
        if (i < 32 && snapshot->uses[i].how & USE_CHANGES)
            snapshot->writes |= 1u << i;
    }
    return complete && snapshot->count == count;
}

static void drop_snapshot(struct snapshot *snapshot)
{
    free(snapshot->uses);
    free(snapshot->objects);
}

/* Prepares each emulated image for the kernels, as for a kernel that is enqueued alone. The kernels also wait for
 * `requantized`, which is closed after them. */
static cl_int prepare_images(struct guard *guard, const struct snapshot *snapshot, struct event_list *requantized)
{
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < snapshot->count && status == CL_SUCCESS; i++) {
        const struct object_use *use = &snapshot->uses[i];
        status = image_before_kernels(guard->call, guard->queue, use->object, (use->how & USE_READS_IMAGE) != 0,
                                      (use->how & USE_WRITES_IMAGE) != 0, guard->wait_count, guard->wait, requantized);
    }
    if (status == CL_SUCCESS && !event_list_join(requantized, &guard->wait_count, &guard->wait))
        status = log_refuse(guard->call, CL_OUT_OF_HOST_MEMORY, "no memory for a list of events");
    return status;
}

static void end_images(const struct snapshot *snapshot)
{
    for (cl_uint i = 0; i < snapshot->count; i++)
        image_after_kernels(snapshot->uses[i].object, (snapshot->uses[i].how & USE_WRITES_IMAGE) != 0);
}

static cl_int enqueue_followed(struct command_buffer *buffer, cl_uint num_queues, cl_command_queue *queues,
                               struct guard *guard, cl_event *event)
{
    const enqueue_fn enqueue = (enqueue_fn)buffer->driver->functions[BUFFER_ENQUEUE];
    struct snapshot snapshot;
    if (!enqueue)
        return log_refuse(guard->call, CL_INVALID_OPERATION, "the driver lacks this function");
    cl_int status = take_snapshot(buffer, &snapshot)
                        ? guard_objects(guard, snapshot.count, snapshot.objects, snapshot.writes)
                        : log_refuse(guard->call, CL_OUT_OF_HOST_MEMORY, "no memory for a list of objects");
    if (status == CL_SUCCESS) {
        struct event_list requantized;
        event_list_open(&requantized);
        status = prepare_images(guard, &snapshot, &requantized);
        if (status == CL_SUCCESS)
            status = enqueue(num_queues, queues, buffer->head.handle, guard->wait_count, guard->wait,
                             guard_event(guard, event));
        end_images(&snapshot);
        image_end_kernels(guard->call, guard->queue, &requantized, guard->wait_count, guard->wait, status);
        guard_end(guard, status, event);
    }
    drop_snapshot(&snapshot);
    return status;
}

static cl_int CL_API_CALL enqueue_buffer(cl_uint num_queues, cl_command_queue *queues, command_buffer_handle handle,
                                         cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                         cl_event *event)
{
    const char *call = command_buffer_names[BUFFER_ENQUEUE];
    struct command_buffer *buffer = command_buffer_get(call, handle);
    if (!buffer)
        return INVALID_COMMAND_BUFFER;
    struct guard guard = {num_queues && queues ? queues[0] : buffer->queue,
                          call,
                          ORDER_ALONE,
                          num_events_in_wait_list,
                          event_wait_list,
                          event != NULL,
                          false,
                          NULL,
                          NULL,
                          NULL};
    if (num_queues > 1 && os_readable_array(queues, num_queues, sizeof(*queues)))
        queues_note_several_threads(num_queues, queues);
    const cl_int status = enqueue_followed(buffer, num_queues, queues, &guard, event);
    record_release(buffer);
    return status;
}

/* ---- by name ---- */

static next_function ours(enum command_buffer_function function, bool properties)
{
    switch (function) {
    case BUFFER_CREATE: return (next_function)create_buffer;
    case BUFFER_RETAIN: return (next_function)retain_buffer;
    case BUFFER_RELEASE: return (next_function)release_buffer;
    case BUFFER_ENQUEUE: return (next_function)enqueue_buffer;
    case BUFFER_REMAP: return (next_function)remap_buffer;
    default: return command_record_function(function, properties);
    }
}

next_function command_buffer_function(cl_platform_id platform, const char *name, const void *address)
{
    int function = 0;
    while (function < COMMAND_BUFFER_FUNCTIONS && strcmp(command_buffer_names[function], name) != 0)
        function++;
    if (function == COMMAND_BUFFER_FUNCTIONS)
        return NULL;
    if (!platform)
        platform = command_buffer_platform(name, address);
    if (!platform)
        return NULL;
    const struct command_buffer_driver *driver = command_buffer_driver_get(platform);
    return driver && driver->followed ? ours((enum command_buffer_function)function, driver->properties) : NULL;
}
