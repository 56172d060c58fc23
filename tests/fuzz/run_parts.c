/* Sub-buffers of shared buffers, and images of them. */
#include "run.h"

static cl_mem make_part(const struct target *t, struct child *child, size_t unit, const struct op *op)
{
    cl_int status = 1;
    const unsigned units = (unsigned)(t->extent[0] / unit);
    const cl_buffer_region region = {op->extra % units * unit,
                                     unit * (1 + op->extra / 16 % (units - op->extra % units))};
    cl_mem part = TRY_MAKE(clCreateSubBuffer(t->object, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    if (!succeeded("clCreateSubBuffer", STEP_COMMAND, status))
        return NULL;
    *child = (struct child){
        .object = part, .at = (unsigned)region.origin, .size = (unsigned)region.size, .shared = t->shared};
    return part;
}

/* Drivers need not have images of buffers. */
static cl_mem make_image(const struct run *run, const struct target *t, struct child *child)
{
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = t->extent[0] / 4, .mem_object = t->object};
    cl_int status = 1;
    cl_mem image = TRY_MAKE(clCreateImage(run->world.rig.context, 0, &format, &desc, NULL, &status));
    if (image)
        *child = (struct child){.object = image, .image = true, .size = t->extent[0], .shared = t->shared};
    return image;
}

static void drop_child(struct run *run, struct child *child)
{
    say(run, "    drops a part");
    TRIED(clReleaseMemObject(child->object));
    child->object = NULL;
}

static struct target *find_buffer(struct run *run)
{
    for (unsigned i = 0; i < TARGETS; i++)
        if (!run->world.targets[i].format)
            return &run->world.targets[i];
    return NULL;
}

void run_part(struct run *run, const struct op *op)
{
    struct target *t = find_buffer(run);
    cl_uint bits = 0;
    if (!t)
        return;
    struct child *child = &t->children[op->more % CHILDREN];
    if (child->object) {
        drop_child(run, child);
        return;
    }
    clGetDeviceInfo(run->world.rig.cl_device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL);
    if (!t->object || !bits || bits / 8 > t->extent[0])
        return;
    cl_mem made = op->data % 4 == 0 ? make_image(run, t, child) : make_part(t, child, bits / 8, op);
    say(run, "    makes %s: %s", op->data % 4 == 0 ? "an image of the buffer" : "a sub-buffer", made ? "done" : "none");
}

void children_end(struct run *run)
{
    struct target *t = find_buffer(run);
    for (unsigned i = 0; t && i < CHILDREN; i++)
        if (t->children[i].object)
            drop_child(run, &t->children[i]);
}
