/* Whether a Direct3D 10 or 11 leaves its staging copies where it mapped them first. No interface promises it, so two things
 * are asked for: that the Direct3D is one whose staging copies are known to keep their memory, and that those of the kind do
 * so in a trial on this device. Wine 8's wined3d keeps that of buffers and 2D textures, and frees that of 3D textures with
 * each copy. */
#include "d3d/d3d1x.h"
#include "d3d/dxgi.h"
#include "d3d/formats.h"

#include <stdlib.h>

/* Memory that is freed and taken again often lies where it did. Several copies, mapped in another order each time, would
 * have one another's. */
enum { COPIES = 3, ROUNDS = 5, EXTENT = 16, DEPTH = 4, BUFFER_BYTES = EXTENT * EXTENT * 4 };

struct stays_trial {
    const struct d3d1x_calls *calls;
    void *resource;
    struct surface copies[COPIES];
    struct mapped_surface places[COPIES];
};

static struct surface_desc trial_desc(enum surface_kind kind)
{
    if (kind == SURFACE_BUFFER)
        return (struct surface_desc){.kind = kind, .width = BUFFER_BYTES, .height = 1, .depth = 1};
    return (struct surface_desc){
        .kind = kind,
        .format = format_from_dxgi(DXGI_FORMAT_R8G8B8A8_UNORM, 0),
        .width = EXTENT,
        .height = EXTENT,
        .depth = kind == SURFACE_IMAGE_3D ? DEPTH : 1,
    };
}

/* An ordinary resource of the kind. */
static void *make_resource(const struct d3d1x_calls *calls, void *device, const struct surface_desc *desc)
{
    const bool buffer = desc->kind == SURFACE_BUFFER;
    const struct resource_facts facts = {.format = buffer ? DXGI_FORMAT_UNKNOWN : (DXGI_FORMAT)desc->format->code,
                                         .width = desc->width,
                                         .height = desc->height,
                                         .depth = desc->depth,
                                         .bind = buffer ? D3D11_BIND_VERTEX_BUFFER : D3D11_BIND_SHADER_RESOURCE};
    void *made = NULL;
    return SUCCEEDED(d3d1x_create(calls, device, desc->kind, &facts, &made)) ? made : NULL;
}

static bool open_trial(struct stays_trial *trial, void *device, enum surface_kind kind)
{
    const struct surface_desc desc = trial_desc(kind);
    trial->resource = make_resource(trial->calls, device, &desc);
    for (int i = 0; i < COPIES && trial->resource; i++) {
        trial->copies[i] = (struct surface){.device = device, .resource = trial->resource, .desc = desc};
        if (!d3d1x_stage(trial->calls, &trial->copies[i]))
            return false;
    }
    return trial->resource != NULL;
}

static void close_trial(const struct stays_trial *trial)
{
    for (int i = 0; i < COPIES; i++)
        com_release(trial->copies[i].staging);
    com_release(trial->resource);
}

/* One after the other, in the order of the round. Every other time they are released as if something had been written. */
static bool map_all(struct stays_trial *trial, int round)
{
    struct mapped_surface mapped;
    bool stay = true;
    for (int i = 0; i < COPIES; i++) {
        const int copy = (i + round) % COPIES;
        if (!d3d1x_map(trial->calls, &trial->copies[copy], false, &mapped))
            return false;
        if (round == 0)
            trial->places[copy] = mapped;
        stay = stay && mapped_alike(&mapped, &trial->places[copy]);
        if (round % 2 == 0)
            d3d1x_unmap(trial->calls, &trial->copies[copy]);
        else if (!d3d1x_store(trial->calls, &trial->copies[copy]))
            return false;
    }
    return stay;
}

/* Memory of a map's own, which is freed with it, comes again at the same place for each copy. */
static bool are_apart(const struct stays_trial *trial)
{
    bool apart = true;
    for (int i = 1; i < COPIES; i++)
        for (int before = 0; before < i; before++)
            apart = apart && trial->places[i].data != trial->places[before].data;
    return apart;
}

/* They are mapped first before anything was copied to them, as those of objects are. */
static bool run_trial(struct stays_trial *trial)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COPIES && round > 0; i++)
            if (!d3d1x_fetch(trial->calls, &trial->copies[i]))
                return false;
        if (!map_all(trial, round) || !are_apart(trial))
            return false;
    }
    return true;
}

bool d3d1x_stays(const struct d3d1x_calls *calls, void *device, enum surface_kind kind)
{
    struct stays_trial trial = {.calls = calls};
    if ((calls->creation_flags(device) & D3D11_CREATE_DEVICE_SINGLETHREADED) || !dxgi_staging_stays(device))
        return false;
    const bool stays = open_trial(&trial, device, kind) && run_trial(&trial);
    close_trial(&trial);
    return stays;
}
