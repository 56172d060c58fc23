/* The creation of shared objects, with the rules of the extensions. */
#include "share/object.h"

#include "d3d/formats.h"
#include "log.h"
#include "share/passthrough.h"

#include <stdlib.h>

/* ---- claims: one object per subresource and context ---- */

struct claim {
    const struct sharing_context *context;
    const void *identity; /* the resource's IUnknown; compared only */
    cl_uint index;
    struct claim *after;
};

/* Of all contexts, by hash: a program may share tens of thousands. Guarded by registry_lock. */
enum { CLAIM_LISTS = 4096 };
static struct claim *claims[CLAIM_LISTS];

static struct claim **claims_like(const struct claim *claim)
{
    const uint64_t key = ((uintptr_t)claim->identity ^ (uintptr_t)claim->context) / 16 + claim->index;
    return &claims[key * 0x9E3779B97F4A7C15u >> 52];
}

static struct claim *claim_subresource(const struct sharing_context *context, const void *identity, cl_uint index,
                                       bool *taken)
{
    struct claim *claim = malloc(sizeof(*claim));
    *taken = false;
    if (!claim)
        return NULL;
    *claim = (struct claim){context, identity, index, NULL};
    struct claim **list = claims_like(claim);
    os_lock(&registry_lock);
    for (const struct claim *c = *list; c; c = c->after)
        *taken = *taken || (c->context == context && c->identity == identity && c->index == index);
    if (!*taken) {
        claim->after = *list;
        *list = claim;
    }
    os_unlock(&registry_lock);
    if (!*taken)
        return claim;
    free(claim);
    return NULL;
}

void object_give_up_claim(struct claim *claim)
{
    if (!claim)
        return;
    os_lock(&registry_lock);
    struct claim **place = claims_like(claim);
    while (*place != claim)
        place = &(*place)->after;
    *place = claim->after;
    os_unlock(&registry_lock);
    free(claim);
}

/* ---- creation ---- */

struct creation {
    const struct object_request *asked;
    struct sharing_context *context; /* retained; NULL if the context has no record */
    void *device;                    /* the device of the context to which the resource belongs */
};

/* Whether an object may belong to a device with which the context was created as `adapter`. Direct3D 9 and 9Ex are
 * equivalent, because programs pass plain devices as Ex devices. A DXVA adapter is different. Intel's functions do not
 * ask for the kind. */
static bool fits_adapter(const struct d3d_api *asked, const struct d3d_api *adapter)
{
    return asked->family == adapter->family && (asked->ops == adapter->ops || !asked->adapter_type);
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
                      "context %p was not created with a %s device; pass one in its properties", (void *)handle,
                      api->name);
}

static cl_int check_flags(const struct creation *c)
{
    switch (c->asked->flags) {
    case 0: /* as everywhere in OpenCL: read-write */
    case CL_MEM_READ_WRITE:
    case CL_MEM_READ_ONLY:
    case CL_MEM_WRITE_ONLY: return CL_SUCCESS;
    default:
        return log_refuse(
            c->asked->call, CL_INVALID_VALUE,
            "the flags are 0x%lx; only CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY or CL_MEM_READ_WRITE is allowed",
            (unsigned long)c->asked->flags);
    }
}

static cl_int describe(struct creation *c, struct surface_desc *desc)
{
    const struct object_request *asked = c->asked;
    enum describe_status status = DESCRIBE_OTHER_DEVICE;
    char why[256] = "the resource belongs to none of the context's devices";
    if (!d3d_is_object(asked->resource))
        return log_refuse(asked->call, asked->api->invalid_resource, "resource %p is not a COM object",
                          asked->resource);
    /* A context may have several media adapters: the resource belongs to one of them. */
    for (unsigned i = 0; i < c->context->interop_count && status == DESCRIBE_OTHER_DEVICE; i++) {
        if (!fits_adapter(asked->api, c->context->interop[i].api))
            continue;
        c->device = context_device(c->context, i, asked->resource);
        if (!c->device)
            continue;
        status =
            asked->api->ops->describe(c->device, asked->resource, asked->kind, asked->index, desc, why, sizeof(why));
    }
    switch (status) {
    case DESCRIBED: return CL_SUCCESS;
    case DESCRIBE_BAD_SUBRESOURCE: return log_refuse(asked->call, CL_INVALID_VALUE, "%s", why);
    case DESCRIBE_BAD_FORMAT: return log_refuse(asked->call, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "%s", why);
    default: return log_refuse(asked->call, asked->api->invalid_resource, "%s", why);
    }
}

static cl_int check_handle(const struct creation *c)
{
    const struct object_request *asked = c->asked;
    if (!asked->shared_handle || asked->api->ops->has_handles(asked->resource))
        return CL_SUCCESS;
    return log_refuse(asked->call, asked->api->invalid_resource,
                      "shared_handle %p is not a handle of such a surface; pass NULL or the surface's handle",
                      asked->shared_handle);
}

static cl_int make_transfer(struct object_record *object, const struct creation *c, const struct surface_desc *desc)
{
    const struct object_request *asked = c->asked;
    const struct transfer_request request = {
        .call = asked->call,
        .context = c->context->base.head.handle,
        .flags = asked->flags,
        .surface = {.api = asked->api, .device = c->device, .resource = asked->resource, .desc = *desc}};
    const cl_int status = transports_create(c->context->transports, &request, &object->transfer);
    if (status != CL_SUCCESS)
        return status;
    com_add_ref(asked->resource);
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
    const void *identity = com_identity(asked->resource);
    if (!identity)
        return log_refuse(asked->call, asked->api->invalid_resource,
                          "resource %p does not return its IUnknown interface", asked->resource);
    object->claim = claim_subresource(c->context, identity, asked->index, &taken);
    if (object->claim)
        return CL_SUCCESS;
    if (!taken)
        return log_refuse(asked->call, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
    return log_refuse(asked->call, asked->api->invalid_resource,
                      "subresource %u of resource %p already has an object in this context; use or release that one",
                      asked->index, asked->resource);
}

static cl_int create_object(const struct creation *c, const struct surface_desc *desc, struct object_record **made)
{
    const struct object_request *asked = c->asked;
    struct object_record *object = object_new();
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
        object_destroy(&object->head);
    return status;
}

cl_mem object_create(const struct object_request *asked, cl_context context, cl_int *errcode_ret)
{
    struct creation c = {.asked = asked};
    struct surface_desc desc = {0};
    struct object_record *object = NULL;
    cl_mem memory = NULL;
    leaving_run();
    if (!registry_has(RECORD_CONTEXT, context) && passthrough_context(context))
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
    give_code(errcode_ret, extension_code(status));
    return memory;
}
