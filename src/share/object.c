/* Shared objects: creation with the rules of the extensions, references, queries, and the children that other functions
 * make of them. */
#include "share/share.h"

#include "d3d/formats.h"
#include "log.h"
#include "share/passthrough.h"
#include "track/spare.h"

#include <stdio.h>
#include <stdlib.h>

atomic_uint object_count;

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

/* ---- claims: one object per subresource, function and context ---- */

static struct claim *claim_subresource(struct sharing_context *context, const void *identity, enum surface_kind kind,
                                       cl_uint index, bool *taken)
{
    struct claim *claim = malloc(sizeof(*claim));
    *taken = false;
    if (!claim)
        return NULL;
    *claim = (struct claim){identity, kind, index, NULL};
    os_lock(&registry_lock);
    for (const struct claim *c = context->claims; c; c = c->after)
        *taken = *taken || (c->identity == identity && c->kind == kind && c->index == index);
    if (!*taken) {
        claim->after = context->claims;
        context->claims = claim;
    }
    os_unlock(&registry_lock);
    if (!*taken)
        return claim;
    free(claim);
    return NULL;
}

static void give_up_claim(struct sharing_context *context, struct claim *claim)
{
    if (!claim)
        return;
    os_lock(&registry_lock);
    struct claim **place = &context->claims;
    while (*place && *place != claim)
        place = &(*place)->after;
    if (*place)
        *place = claim->after;
    os_unlock(&registry_lock);
    free(claim);
}

/* ---- records ---- */

/* Whether the end of an acquire is still to come whose bytes are on their way. It is waited for, unless what blocks its queue
 * may be the caller's to set, or the caller is in a callback. */
static bool awaits_upload(const struct object_record *object)
{
    const struct upload *upload = object->pending;
    if (!upload || event_status(upload->event) <= CL_COMPLETE)
        return false;
    if (event_blocked(upload->event) || callback_runs_here())
        return true;
    queue_flush_for(upload->event);
    below()->clWaitForEvents(1, &upload->event);
    return false;
}

static bool outlived(struct transfer *transfer)
{
    return transfer->transport->outlive && transfer->transport->outlive(transfer);
}

static void destroy_now(void *what)
{
    struct object_record *object = what;
    upload_put(object->pending);
    if (object->head.resting && !(object->transfer && outlived(object->transfer)))
        below()->clReleaseMemObject(object->head.handle);
    if (object->transfer) {
        const struct surface surface = object->transfer->surface;
        object->transfer->transport->destroy(object->transfer);
        surface.api->ops->release(surface.resource);
    }
    record_release(object->parent);
    give_up_claim(object->context, object->claim);
    record_release(object->context);
    free(object);
    atomic_fetch_sub_explicit(&object_count, 1, memory_order_relaxed);
}

static bool upload_over(void *what, struct reap *reap)
{
    const struct object_record *object = what;
    return reap->moment >= REAP_AND_WAIT ? !awaits_upload(object) : event_status(object->pending->event) <= CL_COMPLETE;
}

/* Nobody needs it any more, but its bytes are still on their way out of the staging copy. */
static const struct reap_class leaving = {REAP_OBJECT, upload_over, destroy_now};

static void destroy(struct record *record)
{
    struct object_record *object = (struct object_record *)record;
    registry_leave(record);
    if (awaits_upload(object))
        reap_later(&object->reaped, &leaving, object);
    else
        destroy_now(object);
}

static struct object_record *new_object(void)
{
    struct object_record *object = calloc(1, sizeof(*object));
    if (object) {
        object->head = (struct record){.kind = RECORD_OBJECT, .destroy = destroy};
        atomic_fetch_add_explicit(&object_count, 1, memory_order_relaxed);
    }
    return object;
}

struct object_record *object_root(struct object_record *object)
{
    while (object->parent)
        object = object->parent;
    return object;
}

/* ---- the bytes of an acquire ---- */

static struct spares uploads = SPARES_INIT(struct upload);

void upload_put(struct upload *upload)
{
    if (!upload || atomic_fetch_sub_explicit(&upload->references, 1, memory_order_acq_rel) != 1)
        return;
    event_put_late(upload->event);
    spare_give(&uploads, upload);
}

struct upload *object_upload(struct object_record *object)
{
    os_lock(&registry_lock);
    struct upload *upload = object->pending;
    if (upload)
        atomic_fetch_add_explicit(&upload->references, 1, memory_order_relaxed);
    os_unlock(&registry_lock);
    return upload;
}

struct upload *upload_make(void)
{
    struct upload *upload = spare_take(&uploads);
    if (upload)
        atomic_store_explicit(&upload->references, 1, memory_order_relaxed);
    return upload;
}

void object_expect(struct object_record *object, struct upload *upload)
{
    atomic_fetch_add_explicit(&upload->references, 1, memory_order_relaxed);
    os_lock(&registry_lock);
    struct upload *before = object->pending;
    object->pending = upload;
    os_unlock(&registry_lock);
    upload_put(before);
}

/* The acquire has failed, and nothing uses the transfer. */
static void undo_acquire(struct object_record *object)
{
    const struct handover one = {object->transfer->surface.api, &object->transfer, 1};
    object->transfer->transport->undo(&one);
    log_write(LOG_WARN, "the acquire of object %p was undone: an event in its wait list failed",
              (void *)object->head.handle);
    os_lock(&registry_lock);
    object->opencl_owns = false;
    os_unlock(&registry_lock);
}

bool object_end_upload(struct object_record *object)
{
    struct upload *upload = object_upload(object);
    if (!upload)
        return false;
    const bool failed = !event_await(upload->event);
    os_lock(&registry_lock);
    const bool mine = object->pending == upload;
    if (mine)
        object->pending = NULL;
    os_unlock(&registry_lock);
    if (mine)
        upload_put(upload);
    upload_put(upload);
    if (mine && failed)
        undo_acquire(object);
    return mine && failed;
}

/* Whether the caller may end an upload that is over: nobody else is at work on the object. An object whose acquire is to be
 * undone is nobody's meanwhile. */
static bool claim_upload(struct object_record *object, const struct upload *upload, bool failed)
{
    os_lock(&registry_lock);
    const bool mine =
        object->pending == upload && (!failed || (object->state == OBJECT_ACQUIRED && !object->commands));
    if (mine && failed) {
        object->state = OBJECT_ACQUIRING;
        object->commands++;
    }
    os_unlock(&registry_lock);
    return mine;
}

void object_settle(struct object_record *object)
{
    struct upload *upload = object_upload(object);
    const cl_int status = upload ? event_status(upload->event) : CL_COMPLETE;
    if (upload && status <= CL_COMPLETE && claim_upload(object, upload, status < 0)) {
        object_end_upload(object);
        os_lock(&registry_lock);
        if (status < 0) {
            object->commands--;
            object->state = object->opencl_owns ? OBJECT_ACQUIRED : OBJECT_IDLE;
        }
        os_unlock(&registry_lock);
    }
    upload_put(upload);
}

/* ---- creation ---- */

struct creation {
    const struct object_request *asked;
    struct sharing_context *context; /* retained; NULL if the context has no record */
    void *device;                   /* the context's that the resource belongs to */
};

/* Whether an object may be of a device that the context got by the name of `adapter`. Direct3D 9 and 9Ex are one thing:
 * programs name plain devices as Ex ones. A DXVA adapter is another. Intel's functions don't ask for the kind. */
static bool fits_adapter(const struct d3d_api *asked, const struct d3d_api *adapter)
{
    return asked->family == adapter->family &&
           (asked->ops == adapter->ops || (asked->family == FAMILY_DX9 && !asked->adapter_type));
}

static cl_int check_context(struct creation *c, cl_context handle)
{
    const struct d3d_api *api = c->asked->api;
    const cl_int status = context_get(c->asked->call, handle, &c->context);
    if (status != CL_SUCCESS)
        return status;
    for (unsigned i = 0; c->context && i < c->context->interop_count; i++)
        if (fits_adapter(api, c->context->interop[i].api))
            return CL_SUCCESS;
    return log_refuse(c->asked->call, api->no_interop,
                      "context %p was not made with a %s device; give one in its properties", (void *)handle, api->name);
}

static cl_int check_flags(const struct creation *c)
{
    switch (c->asked->flags) {
    case 0: /* as everywhere in OpenCL: read-write */
    case CL_MEM_READ_WRITE:
    case CL_MEM_READ_ONLY:
    case CL_MEM_WRITE_ONLY:
        return CL_SUCCESS;
    default:
        return log_refuse(c->asked->call, CL_INVALID_VALUE,
                          "flags 0x%lx; one of CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE can be given",
                          (unsigned long)c->asked->flags);
    }
}

static cl_int describe(struct creation *c, struct surface_desc *desc)
{
    const struct object_request *asked = c->asked;
    enum describe_status status = DESCRIBE_OTHER_DEVICE;
    char why[256] = "the resource is of none of the context's devices";
    /* A context may have several media adapters: the resource belongs to one of them. */
    for (unsigned i = 0; i < c->context->interop_count && status == DESCRIBE_OTHER_DEVICE; i++) {
        if (!fits_adapter(asked->api, c->context->interop[i].api))
            continue;
        c->device = context_device(c->context, i, asked->resource);
        if (!c->device)
            continue;
        status = asked->api->ops->describe(c->device, asked->resource, asked->kind, asked->index, desc, why, sizeof(why));
    }
    switch (status) {
    case DESCRIBED:
        return CL_SUCCESS;
    case DESCRIBE_BAD_SUBRESOURCE:
        return log_refuse(asked->call, CL_INVALID_VALUE, "%s", why);
    case DESCRIBE_BAD_FORMAT:
        return log_refuse(asked->call, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "%s", why);
    default:
        return log_refuse(asked->call, asked->api->invalid_resource, "%s", why);
    }
}

static cl_int check_handle(const struct creation *c)
{
    const struct object_request *asked = c->asked;
    if (!asked->shared_handle || os_valid_handle(asked->shared_handle) ||
        asked->api->ops->opens_handle(asked->resource, asked->shared_handle))
        return CL_SUCCESS;
    return log_refuse(asked->call, asked->api->invalid_resource, "shared_handle %p is no handle of such a surface; NULL is "
                      "allowed", asked->shared_handle);
}

static cl_int make_transfer(struct object_record *object, const struct creation *c, const struct surface_desc *desc)
{
    const struct object_request *asked = c->asked;
    const struct transfer_request request = {
        .call = asked->call, .context = c->context->base.head.handle, .flags = asked->flags,
        .surface = {.api = asked->api, .device = c->device, .resource = asked->resource, .desc = *desc}};
    const cl_int status = transports_create(c->context->transports, &request, &object->transfer);
    if (status != CL_SUCCESS)
        return status;
    asked->api->ops->add_ref(asked->resource);
    object->head.handle = object->transfer->memory;
    if (registry_add(&object->head))
        return CL_SUCCESS;
    below()->clReleaseMemObject(object->head.handle);
    return log_refuse(asked->call, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
}

static cl_int claim(struct object_record *object, const struct creation *c)
{
    const struct object_request *asked = c->asked;
    bool taken;
    if (!asked->api->no_duplicates)
        return CL_SUCCESS;
    const void *identity = asked->api->ops->identity(asked->resource);
    if (!identity)
        return log_refuse(asked->call, asked->api->invalid_resource, "resource %p does not tell its identity",
                          asked->resource);
    object->claim = claim_subresource(c->context, identity, asked->kind, asked->index, &taken);
    if (object->claim)
        return CL_SUCCESS;
    if (!taken)
        return log_refuse(asked->call, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
    return log_refuse(asked->call, asked->api->invalid_resource,
                      "subresource %u of resource %p has an object in this context already; use it or release it first",
                      asked->index, asked->resource);
}

static cl_int create_object(const struct creation *c, const struct surface_desc *desc, struct object_record **made)
{
    const struct object_request *asked = c->asked;
    struct object_record *object = new_object();
    if (!object)
        return log_refuse(asked->call, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
    record_retain(c->context);
    object->context = c->context;
    object->flags = asked->flags ? asked->flags : CL_MEM_READ_WRITE;
    object->index = asked->index;
    object->given[0] = asked->resource;
    object->given[1] = asked->shared_handle;
    cl_int status = claim(object, c);
    if (status == CL_SUCCESS)
        status = make_transfer(object, c, desc);
    if (status == CL_SUCCESS)
        *made = object;
    else
        destroy(&object->head);
    return status;
}

static bool context_known(cl_context handle)
{
    struct sharing_context *context = registry_get(RECORD_CONTEXT, handle);
    record_release(context);
    return context != NULL;
}

cl_mem object_create(const struct object_request *asked, cl_context context, cl_int *errcode_ret)
{
    struct creation c = {.asked = asked};
    struct surface_desc desc = {0};
    struct object_record *object = NULL;
    cl_mem memory = NULL;
    reap(REAP_AT_RELEASE, NULL);
    if (!context_known(context) && passthrough_context(context))
        return passthrough_create(asked, context, errcode_ret);
    cl_int status = check_context(&c, context);
    if (status == CL_SUCCESS)
        status = check_flags(&c);
    if (status == CL_SUCCESS)
        status = describe(&c, &desc);
    if (status == CL_SUCCESS)
        status = check_handle(&c);
    if (status == CL_SUCCESS)
        status = create_object(&c, &desc, &object);
    if (object) {
        memory = object->head.handle;
        log_write(LOG_DEBUG, "%s: object %p is subresource %u of %p, %ux%ux%u %s, transport: %s", asked->call,
                  (void *)memory, asked->index, asked->resource, desc.width, desc.height, desc.depth,
                  desc.format ? desc.format->name : "bytes", object->transfer->transport->name);
    }
    record_release(c.context);
    if (errcode_ret)
        *errcode_ret = status;
    return memory;
}

/* ---- references ---- */

static cl_int CL_API_CALL retain_mem_object(cl_mem memobj)
{
    if (registry_revive(RECORD_OBJECT, memobj))
        return CL_SUCCESS; /* the driver's reference that was ours to release is the application's again */
    const cl_int status = below()->clRetainMemObject(memobj);
    if (status == CL_SUCCESS)
        registry_app_retain(RECORD_OBJECT, memobj);
    return status;
}

static cl_int CL_API_CALL release_mem_object(cl_mem memobj)
{
    struct object_record *object = registry_get(RECORD_OBJECT, memobj);
    if (!object || !registry_app_rest(RECORD_OBJECT, memobj)) {
        record_release(object);
        return below()->clReleaseMemObject(memobj);
    }
    /* The subresource is free for a new object now, whatever still holds this one. */
    os_lock(&registry_lock);
    struct claim *claim = object->claim;
    object->claim = NULL;
    os_unlock(&registry_lock);
    give_up_claim(object->context, claim);
    /* The driver's goes with the record: a deferred command may still need it. */
    record_release(object);
    reap(REAP_AT_RELEASE, NULL);
    return CL_SUCCESS;
}

/* ---- children ---- */

/* A sub-buffer or an image of a shared buffer: usable while its parent is acquired. */
static void adopt(cl_mem child, cl_mem parent)
{
    struct object_record *of = parent ? registry_get(RECORD_OBJECT, parent) : NULL;
    if (!child || !of) {
        record_release(of);
        return;
    }
    struct object_record *object = new_object();
    if (object) {
        object->head.handle = child;
        object->parent = of;
        record_retain(of->context);
        object->context = of->context;
        if (registry_add(&object->head))
            return;
        destroy(&object->head);
        return;
    }
    log_write(LOG_ERROR, "no memory to follow a sub-buffer: its use is not checked");
    writes_hidden("a sub-buffer is not known");
    record_release(of);
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type buffer_create_type,
                                            const void *buffer_create_info, cl_int *errcode_ret)
{
    struct object_record *object = registry_get(RECORD_OBJECT, buffer);
    const struct transfer *transfer = object ? object->transfer : NULL;
    cl_int status = CL_SUCCESS;
    cl_mem child = transfer && transfer->transport->create_part
                       ? transfer->transport->create_part(transfer, flags, buffer_create_type, buffer_create_info, &status)
                       : below()->clCreateSubBuffer(buffer, flags, buffer_create_type, buffer_create_info, &status);
    adopt(child, buffer);
    record_release(object);
    if (errcode_ret)
        *errcode_ret = status;
    return child;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                       const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    cl_mem image = below()->clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
    if (image)
        adopt(image, image_desc->mem_object);
    return image;
}

static cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties *properties,
                                                       cl_mem_flags flags, const cl_image_format *image_format,
                                                       const cl_image_desc *image_desc, void *host_ptr,
                                                       cl_int *errcode_ret)
{
    cl_mem image = below()->clCreateImageWithProperties(context, properties, flags, image_format, image_desc, host_ptr,
                                                        errcode_ret);
    if (image)
        adopt(image, image_desc->mem_object);
    return image;
}

/* ---- queries ---- */

/* The API of the family that a query belongs to, or NULL: the first one speaks for its family. */
static const struct d3d_api *asked_api(const struct object_record *object, cl_uint name, bool image)
{
    const struct d3d_api *found = NULL;
    for (unsigned i = 0; i < d3d_api_count && name; i++) {
        const struct d3d_api *api = d3d_apis[i];
        const bool asked = image ? name == api->image_subresource
                                 : name == api->mem_resource || name == api->mem_adapter_type ||
                                       name == api->mem_shared_handle;
        if (asked && (!found || (object && object->transfer && object->transfer->surface.api == api)))
            found = api;
    }
    return found;
}

static cl_int foreign(const char *call, const struct d3d_api *api)
{
    return log_refuse(call, api->invalid_resource, "the object was not made of a resource of %s", api->extension);
}

static bool made_by(const struct object_record *object, const struct d3d_api *api)
{
    return object && !object->parent && object->transfer->surface.api == api;
}

/* The flags of a part of an object: the driver's, but for what it has from the transport's way to make the object. */
static cl_int query_part_flags(const struct object_record *object, size_t capacity, void *to, size_t *size_ret)
{
    cl_mem_flags flags;
    const cl_int status = below()->clGetMemObjectInfo(object->head.handle, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
    if (status != CL_SUCCESS)
        return status;
    flags &= ~(cl_mem_flags)CL_MEM_USE_HOST_PTR;
    return answer("clGetMemObjectInfo", &flags, sizeof(flags), capacity, to, size_ret);
}

static size_t driver_offset(const struct object_record *object)
{
    size_t offset = 0;
    below()->clGetMemObjectInfo(object->head.handle, CL_MEM_OFFSET, sizeof(offset), &offset, NULL);
    return offset;
}

/* What the driver has a part made of may be another object than the application has. */
static cl_int query_part(const struct object_record *object, cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    const struct object_record *root = object->parent;
    while (root->parent)
        root = root->parent;
    const size_t own = name == CL_MEM_OFFSET ? driver_offset(object) : 0;
    const size_t base = own ? driver_offset(root) : 0, offset = own >= base ? own - base : own;
    switch (name) {
    case CL_MEM_FLAGS:
        return query_part_flags(object, capacity, to, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return answer("clGetMemObjectInfo", &object->parent->head.handle, sizeof(cl_mem), capacity, to, size_ret);
    case CL_MEM_OFFSET:
        return answer("clGetMemObjectInfo", &offset, sizeof(offset), capacity, to, size_ret);
    default:
        return CL_INVALID_OPERATION;
    }
}

/* Answers that are ours for a shared object; CL_INVALID_OPERATION: the driver's is right. A transport may have made the object
 * over memory of its own, which is no business of the application. */
static cl_int query_mem(struct object_record *object, cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    static const void *const no_memory = NULL;
    if (name == CL_MEM_HOST_PTR)
        return answer("clGetMemObjectInfo", &no_memory, sizeof(no_memory), capacity, to, size_ret);
    if (object->parent)
        return query_part(object, name, capacity, to, size_ret);
    os_lock(&registry_lock);
    const cl_uint refs = object->head.app_refs;
    os_unlock(&registry_lock);
    const struct surface_desc *desc = &object->transfer->surface.desc;
    const size_t bytes = (size_t)desc->width * desc->height * desc->depth * (desc->format ? desc->format->texel_bytes : 1);
    const void *const no_pointer = NULL;
    const size_t no_offset = 0;
    switch (name) {
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return answer("clGetMemObjectInfo", &no_pointer, sizeof(no_pointer), capacity, to, size_ret);
    case CL_MEM_OFFSET:
        return answer("clGetMemObjectInfo", &no_offset, sizeof(no_offset), capacity, to, size_ret);
    case CL_MEM_PROPERTIES: /* it was made without any, as far as the application knows */
        return answer("clGetMemObjectInfo", &no_pointer, 0, capacity, to, size_ret);
    case CL_MEM_REFERENCE_COUNT:
        return answer("clGetMemObjectInfo", &refs, sizeof(refs), capacity, to, size_ret);
    case CL_MEM_FLAGS:
        return answer("clGetMemObjectInfo", &object->flags, sizeof(object->flags), capacity, to, size_ret);
    case CL_MEM_HOST_PTR:
        return answer("clGetMemObjectInfo", &no_pointer, sizeof(no_pointer), capacity, to, size_ret);
    case CL_MEM_SIZE:
        return answer("clGetMemObjectInfo", &bytes, sizeof(bytes), capacity, to, size_ret);
    default:
        return CL_INVALID_OPERATION;
    }
}

/* What the driver says of a child of an object with memory of ours. */
static cl_int query_child(cl_mem child, cl_mem_info name, size_t capacity, void *to, size_t *size_ret)
{
    const void *const no_pointer = NULL;
    cl_mem_flags flags;
    if (name == CL_MEM_HOST_PTR)
        return answer("clGetMemObjectInfo", &no_pointer, sizeof(no_pointer), capacity, to, size_ret);
    if (name != CL_MEM_FLAGS || below()->clGetMemObjectInfo(child, name, sizeof(flags), &flags, NULL) != CL_SUCCESS)
        return CL_INVALID_OPERATION;
    flags &= ~(cl_mem_flags)CL_MEM_USE_HOST_PTR;
    return answer("clGetMemObjectInfo", &flags, sizeof(flags), capacity, to, size_ret);
}

static cl_int query_extension(const struct object_record *object, const struct d3d_api *api, cl_mem_info name, size_t capacity,
                              void *to, size_t *size_ret)
{
    if (!made_by(object, api))
        return foreign("clGetMemObjectInfo", api);
    if (name == api->mem_adapter_type)
        return answer("clGetMemObjectInfo", &api->adapter_type, sizeof(api->adapter_type), capacity, to, size_ret);
    if (name == api->mem_shared_handle)
        return answer("clGetMemObjectInfo", &object->given[1], sizeof(object->given[1]), capacity, to, size_ret);
    return answer("clGetMemObjectInfo", object->given, api->mem_resource_size, capacity, to, size_ret);
}

/* A query of the core, while nothing is shared: the most frequent by far. */
static bool concerns_nothing(cl_uint name)
{
    return (name & ~0xFFu) == (CL_MEM_TYPE & ~0xFFu) && !atomic_load_explicit(&object_count, memory_order_relaxed);
}

static cl_int CL_API_CALL get_mem_object_info(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
                                              void *param_value, size_t *param_value_size_ret)
{
    if (concerns_nothing(param_name))
        return below()->clGetMemObjectInfo(memobj, param_name, param_value_size, param_value, param_value_size_ret);
    struct object_record *object = registry_get(RECORD_OBJECT, memobj);
    const struct d3d_api *api = asked_api(object, param_name, false);
    cl_int status = CL_INVALID_OPERATION;
    if (api && !memobj)
        status = log_refuse("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, "the object is NULL");
    else if (api)
        status = query_extension(object, api, param_name, param_value_size, param_value, param_value_size_ret);
    else if (object)
        status = query_mem(object, param_name, param_value_size, param_value, param_value_size_ret);
    else if (object)
        status = query_child(memobj, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(object);
    if (status != CL_INVALID_OPERATION)
        return status;
    return below()->clGetMemObjectInfo(memobj, param_name, param_value_size, param_value, param_value_size_ret);
}

/* The sizes in an image's answers: a size_t for each, and drivers disagree about those that do not apply. */
static bool image_number(const struct object_record *object, cl_image_info name, size_t *number)
{
    const struct surface_desc *desc = &object->transfer->surface.desc;
    const bool deep = desc->kind == SURFACE_IMAGE_3D;
    const size_t texel = desc->format->texel_bytes, row = desc->width * texel;
    switch (name) {
    case CL_IMAGE_ELEMENT_SIZE: *number = texel; return true;
    case CL_IMAGE_ROW_PITCH: *number = row; return true;
    case CL_IMAGE_SLICE_PITCH: *number = deep ? row * desc->height : 0; return true;
    case CL_IMAGE_WIDTH: *number = desc->width; return true;
    case CL_IMAGE_HEIGHT: *number = desc->height; return true;
    case CL_IMAGE_DEPTH: *number = deep ? desc->depth : 0; return true;
    case CL_IMAGE_ARRAY_SIZE: *number = 0; return true;
    default: return false;
    }
}

static cl_int query_image(const struct object_record *object, cl_image_info name, size_t capacity, void *to,
                          size_t *size_ret)
{
    const struct surface_desc *desc = &object->transfer->surface.desc;
    size_t number;
    if (name == CL_IMAGE_FORMAT)
        return answer("clGetImageInfo", &desc->format->cl, sizeof(desc->format->cl), capacity, to, size_ret);
    if (image_number(object, name, &number))
        return answer("clGetImageInfo", &number, sizeof(number), capacity, to, size_ret);
    return CL_INVALID_OPERATION; /* the driver's answer is right */
}

static cl_int CL_API_CALL get_image_info(cl_mem image, cl_image_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    struct object_record *object = registry_get(RECORD_OBJECT, image);
    const struct d3d_api *api = asked_api(object, param_name, true);
    const bool is_image = object && !object->parent && object->transfer->surface.desc.format;
    cl_int status = CL_INVALID_OPERATION;
    if (api && !image)
        status = log_refuse("clGetImageInfo", CL_INVALID_MEM_OBJECT, "the object is NULL");
    else if (api && (!is_image || !made_by(object, api)))
        status = foreign("clGetImageInfo", api);
    else if (api)
        status = answer("clGetImageInfo", &object->index, sizeof(object->index), param_value_size, param_value,
                        param_value_size_ret);
    else if (is_image)
        status = query_image(object, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(object);
    if (status != CL_INVALID_OPERATION)
        return status;
    return below()->clGetImageInfo(image, param_name, param_value_size, param_value, param_value_size_ret);
}

void object_install(cl_icd_dispatch *table)
{
    table->clRetainMemObject = retain_mem_object;
    table->clReleaseMemObject = release_mem_object;
    table->clCreateSubBuffer = create_sub_buffer;
    table->clCreateImage = create_image;
    table->clCreateImageWithProperties = create_image_with_properties;
    table->clGetMemObjectInfo = get_mem_object_info;
    table->clGetImageInfo = get_image_info;
}
