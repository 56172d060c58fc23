#include "world.h"

#include <pthread.h>
#include <string.h>

enum { MOST_USES = 200 };

static struct base bases[FAMILIES][PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool shared;

/* ---- closing ---- */

static void close_device(struct base *b)
{
    if (b->first) {
        CHECK_INT(clReleaseCommandQueue(b->rig.queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(b->rig.context), CL_SUCCESS);
    } else if (b->dx9) {
        dx9_close(&b->dx9_rig); /* checks that nothing holds the device */
    } else {
        CHECK_INT(clReleaseCommandQueue(b->rig.queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(b->rig.context), CL_SUCCESS);
        b->rig.queue = NULL;
        b->rig.context = NULL;
        CHECK_INT(rig_refs(b->rig.device), 1);
        rig_close(&b->rig);
    }
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

/* Direct3D 10 does so by itself, and 9 by a flag. */
static void protect(struct base *b)
{
    static const GUID multithread = {0x9b7e4e00, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}};
    ID3D10Multithread *found = NULL;
    if (b->dx9 || b->rig.api->version != 11)
        return;
    ID3D11Device_QueryInterface((ID3D11Device *)b->rig.device, &multithread, (void **)&found);
    if (!CHECK(found != NULL))
        return;
    ID3D10Multithread_SetMultithreadProtected(found, TRUE);
    ID3D10Multithread_Release(found);
}

static bool open_device(struct base *b)
{
    bool is_open;
    if (b->dx9) {
        const unsigned flags = RIG_NO_CONTEXT | (shared ? DX9_MULTITHREADED : 0);
        is_open = dx9_open(&b->dx9_rig, b->family == FAMILY_DX9EX, flags);
        b->rig = b->dx9_rig.rig;
    } else {
        is_open = rig_open(&b->rig, b->family == FAMILY_D3D10 ? &rig_d3d10 : &rig_d3d11, RIG_NO_CONTEXT);
    }
    if (is_open && shared)
        protect(b);
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
    if (fault_excuses(STEP_CONTEXT, status, b->dx9 ? CL_INVALID_DX9_MEDIA_ADAPTER_KHR : b->rig.api->invalid_device)) {
        CHECK(!b->rig.context);
        b->rig.context = make_context(b, &status);
    }
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    b->is_open = rig_open_queue(&b->rig, 0);
    b->dx9_rig.rig = b->rig;
    return b->is_open;
}

static struct base *open_one(unsigned family, enum base_place place, bool fresh)
{
    struct base *b = &bases[family][place];
    if ((fresh || b->uses >= MOST_USES) && !shared)
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
        if (!open_context(b))
            return NULL;
    }
    b->uses++;
    return b;
}

struct base *base_open(unsigned family, enum base_place place, bool fresh)
{
    pthread_mutex_lock(&lock);
    struct base *b = open_one(family, place, fresh);
    pthread_mutex_unlock(&lock);
    return b;
}

void base_share(void)
{
    shared = true;
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
    pthread_mutex_lock(&lock);
    if (!b->plain) {
        b->plain = clCreateContext(NULL, 1, &b->rig.cl_device, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        b->plain_queue = clCreateCommandQueue(b->plain, b->rig.cl_device, 0, &status);
        CHECK_INT(status, CL_SUCCESS);
    }
    pthread_mutex_unlock(&lock);
    return b->plain;
}
