/* A transport that imports: OpenCL works in the memory of the fake Direct3D itself, as a driver does that shares memory with
 * Direct3D's. It needs an OpenCL that works in place (CL_MEM_USE_HOST_PTR with any row pitch), as PoCL does.
 *
 * What differs from the way through the host: there is no staging copy, so each side sees at once what the other writes, and
 * an acquire that fails late or an undone one has nothing to throw away. One command serves a list. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "d3d/formats.h"
#include "fake_d3d.h"
#include "formats/image.h"
#include "transport/commands.h"
#include "transport/transport.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct import_transfer {
    struct transfer base;
    void *memory; /* of fake_d3d_imports.open; the memory object's destructor closes it */
};

static struct import_transfer *import(struct transfer *transfer)
{
    return (struct import_transfer *)transfer;
}

static const struct fake_d3d_imports *imports(void)
{
    return dlsym(RTLD_DEFAULT, "fake_d3d_imports");
}

/* ---- creation ---- */

static cl_mem create_memory(const struct transfer_request *request, const struct fake_d3d_memory *at, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    const cl_mem_flags flags = request->flags | CL_MEM_USE_HOST_PTR;
    const bool deep = desc->kind == SURFACE_IMAGE_3D;
    if (desc->kind == SURFACE_BUFFER)
        return below()->clCreateBuffer(request->context, flags, desc->width, at->bytes, status);
    const cl_image_desc image = {
        .image_type = deep ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
        .image_width = desc->width,
        .image_height = desc->height,
        .image_depth = deep ? desc->depth : 0,
        .image_row_pitch = at->row_pitch,
        .image_slice_pitch = deep ? at->slice_pitch : 0,
    };
    return below()->clCreateImage(request->context, flags, &desc->format->cl, &image, at->bytes, status);
}

static void CL_CALLBACK memory_gone(cl_mem memory, void *data)
{
    (void)memory;
    imports()->close(data);
}

static bool is_emulated(cl_mem memory)
{
    struct image_record *image = image_get(memory);
    record_release(image);
    return image != NULL;
}

/* A memory object over Direct3D's memory. From then on that is the object's to close: commands that still run use it when
 * the transfer is gone. */
static cl_int import_memory(struct import_transfer *transfer, const struct transfer_request *request, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const unsigned plane = desc->format ? desc->format->plane : 0;
    struct fake_d3d_memory at;
    cl_int status = CL_INVALID_OPERATION;
    transfer->memory = imports() ? imports()->open(request->surface.resource, desc->subresource, plane, &at) : NULL;
    if (!transfer->memory) {
        snprintf(why, TRANSPORT_WHY, "the memory of the resource can't be had");
        return status;
    }
    cl_mem memory = create_memory(request, &at, &status);
    if (!memory) {
        snprintf(why, TRANSPORT_WHY, "no memory object over it: error %d", status);
    } else if (is_emulated(memory)) {
        snprintf(why, TRANSPORT_WHY, "the format is emulated");
        status = CL_IMAGE_FORMAT_NOT_SUPPORTED;
    } else {
        status = below()->clSetMemObjectDestructorCallback(memory, memory_gone, transfer->memory);
        snprintf(why, TRANSPORT_WHY, "no destructor callback: error %d", status);
    }
    if (status != CL_SUCCESS) {
        if (memory)
            below()->clReleaseMemObject(memory);
        imports()->close(transfer->memory);
        return status;
    }
    transfer->base.memory = memory;
    return CL_SUCCESS;
}

extern const struct transport import_transport;

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    struct import_transfer *transfer = calloc(1, sizeof(*transfer));
    if (!transfer) {
        snprintf(why, TRANSPORT_WHY, "no memory for the object's record");
        return CL_OUT_OF_HOST_MEMORY;
    }
    transfer->base = (struct transfer){.transport = &import_transport, .surface = request->surface};
    const cl_int status = import_memory(transfer, request, why);
    if (status == CL_SUCCESS)
        *made = &transfer->base;
    else
        free(transfer);
    return status;
}

static void destroy(struct transfer *transfer)
{
    free(import(transfer));
}

/* ---- the four steps ---- */

static bool d3d_give(const struct handover *handover)
{
    bool given = true;
    for (cl_uint i = 0; i < handover->count && given; i++)
        given = imports()->give(import(handover->transfers[i])->memory, handover->transfers[i]->surface.resource);
    return given;
}

static bool d3d_take(const struct handover *handover)
{
    bool taken = true;
    for (cl_uint i = 0; i < handover->count; i++)
        taken =
            imports()->take(import(handover->transfers[i])->memory, handover->transfers[i]->surface.resource) && taken;
    return taken;
}

static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    (void)handover;
    return commands_placeholder(to);
}

static cl_int cl_give(const struct handover *handover, const struct enqueueing *to)
{
    (void)handover;
    return commands_marker(to);
}

static void undo(const struct handover *handover)
{
    (void)handover; /* nothing was moved */
}

const struct transport import_transport = {
    .name = "import",
    .title = "import (Direct3D's own memory)",
    .create = create,
    .destroy = destroy,
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .d3d_take = d3d_take,
    .undo = undo,
};
