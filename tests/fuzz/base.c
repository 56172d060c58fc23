#include "world.h"

#include <string.h>

enum { MOST_USES = 200 };

static struct base bases[FAMILIES];

static void close(struct base *b)
{
    if (!b->is_open)
        return;
    if (b->program)
        CHECK_INT(clReleaseProgram(b->program), CL_SUCCESS);
    if (b->dx9) {
        dx9_close(&b->dx9_rig); /* checks that nothing holds the device */
    } else {
        CHECK_INT(clReleaseCommandQueue(b->rig.queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(b->rig.context), CL_SUCCESS);
        b->rig.queue = NULL;
        b->rig.context = NULL;
        CHECK_INT(rig_refs(b->rig.device), 1);
        rig_close(&b->rig);
    }
    memset(b, 0, sizeof(*b));
}

static bool open(struct base *b, unsigned family)
{
    b->dx9 = family >= FAMILY_DX9;
    if (!b->dx9)
        return b->is_open = rig_open(&b->rig, family == FAMILY_D3D10 ? &rig_d3d10 : &rig_d3d11, 0);
    b->is_open = dx9_open(&b->dx9_rig, family == FAMILY_DX9EX, 0);
    b->rig = b->dx9_rig.rig;
    return b->is_open;
}

struct base *base_open(unsigned family, bool fresh)
{
    struct base *b = &bases[family];
    if (fresh || b->uses == MOST_USES)
        close(b);
    if (!b->is_open && !open(b, family))
        return NULL;
    b->uses++;
    return b;
}

void base_close_all(void)
{
    for (unsigned i = 0; i < FAMILIES; i++)
        close(&bases[i]);
}
