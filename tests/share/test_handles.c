/* Resources that two Direct3D devices share by handles of both kinds, each with a context of its own, and keyed mutexes. */
#include "sharing.h"

#include <d3d11_1.h>
#include <dxgi1_2.h>

enum {
    SHARED = D3D11_RESOURCE_MISC_SHARED,
    KEYED = D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX,
    NT = D3D11_RESOURCE_MISC_SHARED_NTHANDLE,
};

/* One resource, as each of two devices has it. */
struct both {
    struct rig second;
    struct shared first, opened; /* `opened` has no resource where Direct3D gives no handle */
    IDXGIKeyedMutex *mutexes[2]; /* of both; NULL: none */
};

static const IID *iid_of(const struct rig *rig, enum kind kind)
{
    if (rig->api->version == 10)
        return kind == KIND_BUFFER ? &IID_ID3D10Buffer : &IID_ID3D10Texture2D;
    return kind == KIND_BUFFER ? &IID_ID3D11Buffer : &IID_ID3D11Texture2D;
}

static void *query(void *object, const IID *iid)
{
    void *found = NULL;
    IUnknown_QueryInterface((IUnknown *)object, iid, &found);
    return found;
}

static HANDLE handle_of(void *resource, bool nt)
{
    HANDLE handle = NULL;
    IDXGIResource *dxgi = query(resource, &IID_IDXGIResource);
    IDXGIResource1 *dxgi1 = query(resource, &IID_IDXGIResource1);
    if (dxgi && !nt)
        IDXGIResource_GetSharedHandle(dxgi, &handle);
    if (dxgi1 && nt)
        IDXGIResource1_CreateSharedHandle(dxgi1, NULL, DXGI_SHARED_RESOURCE_READ | DXGI_SHARED_RESOURCE_WRITE, NULL,
                                          &handle);
    rig_release(dxgi);
    rig_release(dxgi1);
    return handle;
}

static void *open_handle(const struct rig *rig, HANDLE handle, enum kind kind, bool nt)
{
    void *resource = NULL;
    ID3D11Device1 *device1 = nt ? query(rig->device, &IID_ID3D11Device1) : NULL;
    if (device1)
        CHECK_INT(ID3D11Device1_OpenSharedResource1(device1, handle, iid_of(rig, kind), &resource), S_OK);
    else if (rig->api->version == 10)
        CHECK_INT(ID3D10Device_OpenSharedResource((ID3D10Device *)rig->device, handle, iid_of(rig, kind), &resource),
                  S_OK);
    else
        CHECK_INT(ID3D11Device_OpenSharedResource((ID3D11Device *)rig->device, handle, iid_of(rig, kind), &resource),
                  S_OK);
    rig_release(device1);
#ifdef _WIN32
    if (nt)
        CloseHandle(handle);
#endif
    return resource;
}

/* False, with nothing open: this Direct3D does not make such a resource. */
static bool both_open(const struct rig *rig, enum kind kind, UINT misc, struct both *both)
{
    cl_int status = 1;
    struct rig_desc desc = kind_desc(kind);
    desc.misc = misc;
    desc.bind = D3D11_BIND_SHADER_RESOURCE | (kind == KIND_2D ? D3D11_BIND_RENDER_TARGET : 0);
    *both = (struct both){.second = rig_on(rig, rig_another_device(rig)),
                          .first = {kind, desc, rig_make(rig, rig->device, &desc, NULL), NULL}};
    HANDLE handle = both->first.resource ? handle_of(both->first.resource, misc & NT) : NULL;
    both->opened =
        (struct shared){kind, desc, handle ? open_handle(&both->second, handle, kind, misc & NT) : NULL, NULL};
    struct shared *sides[] = {&both->first, &both->opened};
    const struct rig *rigs[] = {rig, &both->second};
    for (int i = 0; i < 2 && sides[i]->resource; i++) {
        sides[i]->object = kind_create(rig, rigs[i]->context, CL_MEM_READ_WRITE, kind, sides[i]->resource, 0, &status);
        CHECK_INT(status, CL_SUCCESS);
        refused(rig, rigs[1 - i]->context, CL_MEM_READ_WRITE, kind, sides[i]->resource, 0, rig->api->invalid_resource);
        both->mutexes[i] = query(sides[i]->resource, &IID_IDXGIKeyedMutex);
    }
    return both->first.object != NULL;
}

static void both_close(struct both *both)
{
    for (int i = 0; i < 2; i++)
        rig_release(both->mutexes[i]);
    shared_close(&both->first);
    shared_close(&both->opened);
    rig_close(&both->second);
}

SHARING_CASE("objects of one resource in contexts of two devices", by_handle, 0)
{
    static const struct {
        enum kind kind;
        UINT misc;
    } made[] = {{KIND_2D, SHARED}, {KIND_BUFFER, SHARED}, {KIND_2D, SHARED | NT}};
    unsigned opened = 0;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        struct both both;
        if (rig->api->version == 10 && made[i].misc & NT)
            continue;
        if (both_open(rig, made[i].kind, made[i].misc, &both) && both.opened.object) {
            opened++;
            d3d_fill(rig, &both.first, 1);
            CHECK(round_trip(rig, &both.first, 1, 2));
            rig_flush(rig, rig->device);
            CHECK(round_trip(&both.second, &both.opened, 2, 3));
            rig_flush(rig, both.second.device);
            CHECK(round_trip(rig, &both.first, 3, 4));
        }
        both_close(&both);
    }
    if (!opened)
        SKIP("this Direct3D gives no shared handles");
}

SHARING_CASE("textures with a keyed mutex", keyed, 0)
{
    static const UINT miscs[] = {KEYED, KEYED | NT};
    for (UINT i = 0; i < (rig->api->version == 11 ? 2 : 1); i++) {
        struct both both;
        if (!both_open(rig, KIND_2D, miscs[i], &both) || !both.mutexes[0]) {
            SKIP("this Direct3D has no keyed mutexes");
            both_close(&both);
            return;
        }
        IDXGIKeyedMutex *first = both.mutexes[0], *second = both.mutexes[1];
        CHECK_INT(IDXGIKeyedMutex_AcquireSync(first, 0, 0), S_OK);
        d3d_fill(rig, &both.first, 1);
        CHECK(round_trip(rig, &both.first, 1, 2));
        CHECK_INT(IDXGIKeyedMutex_ReleaseSync(first, 1), S_OK);
        if (!second) {
            SKIP("this Direct3D gives no shared handles: one device has the mutex");
            both_close(&both);
            continue;
        }
        CHECK_INT(IDXGIKeyedMutex_AcquireSync(second, 1, 0), S_OK);
        CHECK(round_trip(&both.second, &both.opened, 2, 3));
        /* What OpenCL has there is not defined, but nothing waits. Where bytes move by Direct3D's copies, the other side's stay. */
        CHECK_INT(IDXGIKeyedMutex_AcquireSync(first, 2, 1), WAIT_TIMEOUT);
        CHECK_INT(acquire_one(rig, both.first.object), CL_SUCCESS);
        unsigned char bytes[SHARED_BYTES] = {9};
        CHECK_INT(cl_write(rig->queue, &both.first, bytes, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, both.first.object), CL_SUCCESS);
        CHECK(over_import() || over_transport("record") || d3d_has(&both.second, &both.opened, 3));
        d3d_fill(&both.second, &both.opened, 5);
        CHECK_INT(IDXGIKeyedMutex_ReleaseSync(second, 2), S_OK);
        CHECK_INT(IDXGIKeyedMutex_AcquireSync(first, 2, 1000), S_OK);
        CHECK(round_trip(rig, &both.first, 5, 6));
        CHECK_INT(IDXGIKeyedMutex_ReleaseSync(first, 0), S_OK);
        both_close(&both);
    }
}

TAP_MAIN
