/* What the scenarios of faults are made of: a Direct3D device, a context, queues and shared objects, each with a model of
 * what both sides may hold and whose it is, which every step keeps and world_end checks.
 *
 * A step that an armed fault makes fail is taken note of; a step that fails without one, or with a code that its function
 * does not have, fails the case. Steps return whether the scenario can go on as if nothing had happened. */
#ifndef CLD3D_TESTS_FAULTS_WORLD_H
#define CLD3D_TESTS_FAULTS_WORLD_H

#include "common/dx9.h"
#include "common/rig.h"
#include "faults.h"

enum family { D3D11, D3D10, D3D9, D3D9EX };

/* Kinds of shared objects. Of planar ones there is an object for each plane. */
enum shape {
    SHAPE_BUFFER,
    SHAPE_FLAT,
    SHAPE_LEVEL,
    SHAPE_DEEP,
    SHAPE_EMULATED,
    SHAPE_EMULATED_DEEP,
    SHAPE_DYNAMIC,
    SHAPE_NV12,
    SHAPE_PACKED,
    SHAPES
};

/* Contents are named by a seed. What Direct3D writes first, what scenarios write, what is written at the end. */
enum { SEED_FIRST = 1, SEED_SECOND, SEED_THIRD, SEED_END, SEEDS };

struct surface {
    enum shape shape;
    struct rig_desc desc;    /* Direct3D 10 and 11 */
    struct dx9_surface nine; /* Direct3D 9 */
    void *resource;          /* one reference */
    cl_uint subresource;
    size_t bytes;
    unsigned planes;
};

struct object {
    const struct surface *surface;
    cl_uint index; /* the plane */
    cl_mem memory; /* owned; NULL: it could not be made */
    DXGI_FORMAT format;
    size_t extent[3];           /* a buffer: its bytes, 1, 1 */
    size_t offset, bytes;       /* in the surface */
    unsigned in_d3d, in_opencl; /* seeds that a side may hold, as bits; of OpenCL's while it is acquired */
    bool acquired, doubtful;    /* doubtful: either side may have it */
};

enum { MOST_OBJECTS = 12, MOST_BYTES = 4096 };

struct world {
    enum family family;
    struct rig rig; /* platform, device, functions; its context and queue are the world's */
    struct dx9 nine;
    cl_context context;
    cl_command_queue queue, second;
    struct surface surfaces[MOST_OBJECTS];
    struct object objects[MOST_OBJECTS];
    unsigned surface_count, object_count;
    enum fault_kind kind; /* what is armed, if anything is */
    bool armed;
};

/* ---- making; false: the fault struck ---- */

/* The Direct3D device, and with it what the test itself needs: faults don't strike here. False: a check has failed. */
bool world_open(struct world *w, enum family family);
bool world_context(struct world *w);
bool world_queues(struct world *w, cl_command_queue_properties properties);
bool world_share(struct world *w, enum shape shape);
/* Checks what everything holds, uses it once more, and gives all back. */
void world_end(struct world *w);

/* ---- steps ---- */

/* What a step is, for the codes that it may have. */
enum step { STEP_ANY, STEP_OWNER, STEP_CONTEXT, STEP_OBJECT, STEP_MAP, STEP_BUILD, STEP_DEVICES, STEP_EVENT };
/* CL_SUCCESS, or a code that the armed fault explains. Tells whether it is CL_SUCCESS. */
bool went(const struct world *w, enum step step, cl_int status, const char *what);

/* How an event ended; releases it. */
cl_int end_of(const struct world *w, cl_event event);

enum { WITH_EVENT = 1, IN_SECOND = 2 };
/* All objects in one call, behind `wait` if that is not NULL. */
bool acquire(struct world *w, unsigned how, cl_event wait);
bool release(struct world *w, unsigned how, cl_event wait);

/* The same, whose end is not awaited: *event gets the event, and the model what may come. */
bool acquire_later(struct world *w, cl_event wait, cl_event *event);
bool release_later(struct world *w, cl_event wait, cl_event *event);
/* Afterwards: what became of them. A release that failed and an acquire behind it leave either side. */
void ended(struct world *w, cl_event event);

/* Writes and reads all acquired objects from OpenCL. */
bool write_all(struct world *w, unsigned seed);
bool read_all(struct world *w);
cl_int write_object(const struct object *object, cl_command_queue queue, cl_bool blocking, const void *bytes,
                    cl_event *event);
void wrote(struct object *object, unsigned seed, bool done);
/* Checks that bytes are one of the contents that `seeds` allows. */
bool among(const struct object *object, const void *bytes, unsigned seeds, const char *side);
void pattern(const struct object *object, unsigned seed, void *bytes);

#endif
