#include "world.h"

#include <string.h>

enum { MOST_USES = 200 };

static struct base bases[FAMILIES][PLACES];

static const struct rig_api rig_dx9 = {
    .extension = "cl_khr_dx9_media_sharing",
    .invalid_device = CL_INVALID_DX9_MEDIA_ADAPTER_KHR,
    .invalid_resource = CL_INVALID_DX9_MEDIA_SURFACE_KHR,
    .already_acquired = CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR,
    .not_acquired = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR,
    .command_acquire = CL_COMMAND_ACQUIRE_DX9_MEDIA_SURFACES_KHR,
    .command_release = CL_COMMAND_RELEASE_DX9_MEDIA_SURFACES_KHR,
};

/* ---- closing ---- */

static void close_device(struct base *b)
{
    if (b->dx9 && !b->first) {
        dx9_close(&b->dx9_rig); /* checks that nothing holds the device */
        return;
    }
    CHECK_INT(clReleaseCommandQueue(b->rig.queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(b->rig.context), CL_SUCCESS);
    if (b->first)
        return;
    b->rig.queue = NULL;
    b->rig.context = NULL;
    CHECK_INT(rig_refs(b->rig.device), 1);
    rig_close(&b->rig);
}

static void close_one(struct base *b)
{
    if (!b->is_open)
        return;
    if (b->program)
        CHECK_INT(clReleaseProgram(b->program), CL_SUCCESS);
    if (b->plain_queue)
        CHECK_INT(clReleaseCommandQueue(b->plain_queue), CL_SUCCESS);
    if (b->plain)
        CHECK_INT(clReleaseContext(b->plain), CL_SUCCESS);
    close_device(b);
    memset(b, 0, sizeof(*b));
}

static void close(struct base *b)
{
    if (b == &bases[b->family][PLACE_FIRST])
        close_one(&bases[b->family][PLACE_SAME_DEVICE]);
    close_one(b);
}

/* ---- opening ---- */

static bool open_device(struct base *b)
{
    if (!b->dx9)
        return rig_open(&b->rig, b->family == FAMILY_D3D10 ? &rig_d3d10 : &rig_d3d11, RIG_NO_CONTEXT);
    const bool is_open = dx9_open(&b->dx9_rig, b->family == FAMILY_DX9EX, RIG_NO_CONTEXT);
    b->rig = b->dx9_rig.rig;
    return is_open;
}

static cl_context make_context(const struct base *b, cl_int *status)
{
    return b->dx9 ? dx9_make_context(&b->dx9_rig, b->dx9_rig.property, b->dx9_rig.device, status)
                  : rig_make_context(&b->rig, b->rig.device, false, status);
}

static bool open_context(struct base *b)
{
    cl_int status = 1;
    b->rig.context = TRY_MAKE(make_context(b, &status));
    if (fault_excuses(STEP_CONTEXT, status, b->api->invalid_device)) {
        CHECK(!b->rig.context);
        b->rig.context = make_context(b, &status);
    }
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    b->is_open = rig_open_queue(&b->rig, 0);
    b->dx9_rig.rig = b->rig;
    return b->is_open;
}

struct base *base_open(unsigned family, enum base_place place, bool fresh)
{
    struct base *b = &bases[family][place];
    if (fresh || b->uses >= MOST_USES)
        close(b);
    if (!b->is_open) {
        b->family = family;
        b->dx9 = family >= FAMILY_DX9;
        b->first = place == PLACE_SAME_DEVICE ? &bases[family][PLACE_FIRST] : NULL; /* open: the sequence's first */
        if (b->first) {
            b->rig = b->first->rig;
            b->dx9_rig = b->first->dx9_rig;
        } else if (!open_device(b)) {
            return NULL;
        }
        b->api = b->dx9 ? &rig_dx9 : b->rig.api;
        if (!open_context(b))
            return NULL;
    }
    b->uses++;
    return b;
}

void base_close_all(void)
{
    for (unsigned i = 0; i < FAMILIES; i++)
        for (unsigned place = PLACES; place-- > 0;)
            close(&bases[i][place]);
}

/* ---- without interop ---- */

cl_context base_plain(struct base *b)
{
    cl_int status = CL_SUCCESS;
    if (!b->plain) {
        b->plain = clCreateContext(NULL, 1, &b->rig.cl_device, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        b->plain_queue = clCreateCommandQueue(b->plain, b->rig.cl_device, 0, &status);
        CHECK_INT(status, CL_SUCCESS);
    }
    return b->plain;
}
