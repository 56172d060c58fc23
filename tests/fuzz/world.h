/* What a sequence works with: a Direct3D device, a context with interop, queues, surfaces of each kind with a place for an
 * object of each, and plain objects of the same shapes. */
#ifndef CLD3D_TESTS_FUZZ_WORLD_H
#define CLD3D_TESTS_FUZZ_WORLD_H

#include "../common/dx9.h"
#include "../common/shared.h"
#include "model.h"
#include "ops.h"
#include "quirks.h"

enum { TARGETS = 8, QUEUES = 3, CHILDREN = 2 };

/* A sub-buffer of a shared buffer, or an image of one. It keeps what it was made of. */
struct child {
    cl_mem object;     /* NULL: there is none now */
    bool image;        /* of RGBA texels of four bytes */
    unsigned at, size; /* in the buffer, in bytes */
    int shared;        /* of the model: what it was made of */
};

/* A surface, or a plane of one, and the object that is made of it. */
struct target {
    struct rig_desc desc;        /* of Direct3D 10 and 11 */
    struct dx9_surface surface;  /* of Direct3D 9 */
    void *resource;              /* one reference; of the first plane only */
    unsigned plane, planes;      /* which of how many that Direct3D writes and reads together */
    UINT index, subresource;     /* OpenCL's number of it, and Direct3D's */
    const struct format *format; /* of a texel; NULL: a buffer */
    unsigned extent[3], texel;
    int d3d;     /* memories of the model */
    bool direct; /* an object is Direct3D's memory itself */

    cl_mem object; /* NULL: there is none now */
    unsigned refs;
    cl_mem_flags flags;
    int shared;                      /* of the model */
    struct child children[CHILDREN]; /* of a buffer */
    cl_mem twin;                     /* plain; NULL: not made yet */
    int twin_memory;
};

/* A device of a family and a context with interop: made once for many sequences, since contexts are slow to make (converters
 * for emulated formats are built again in each). */
struct base {
    bool is_open, dx9;
    unsigned family;
    struct base *first;        /* whose device this one's context is on; NULL: it has its own */
    struct rig rig;            /* of Direct3D 9 too: platform, device, context */
    const struct rig_api *api; /* the codes of Direct3D 9 too */
    struct dx9 dx9_rig;
    cl_program program; /* NULL: not built yet */
    cl_context plain;   /* without interop; NULL: not made yet */
    cl_command_queue plain_queue;
    unsigned uses; /* sequences that ran in it */
};

struct world {
    struct base *base;
    unsigned quirks; /* of the OpenCL below */
    bool dx9;
    struct rig rig;            /* the base's */
    const struct rig_api *api; /* the base's */
    rig_enqueue acquire, release;
    cl_command_queue queues[QUEUES];
    struct target targets[TARGETS];
};

/* Makes it all; false with a failed check. `beside`: a world that is open already (SECOND_...), or NULL. */
bool world_open(struct world *w, struct model *m, const struct setting *setting, const struct world *beside);
/* Gives all back but the objects, which are NULL by now, and the base, which later sequences use. */
void world_close(struct world *w);

enum { FAMILY_D3D11, FAMILY_D3D10, FAMILY_DX9, FAMILY_DX9EX, FAMILIES };
/* The first of a family; one on its device; one on a device of its own. */
enum base_place { PLACE_FIRST, PLACE_SAME_DEVICE, PLACE_OTHER_DEVICE, PLACES };

/* A fresh one if `fresh` is set, or if it has served long enough. NULL with a failed check. */
struct base *base_open(unsigned family, enum base_place place, bool fresh);
/* A failed check if something still holds a device. */
void base_close_all(void);
/* A context of the base's device without interop, with a queue; NULL with a failed check. */
cl_context base_plain(struct base *base);

cl_mem world_create(struct world *w, const struct target *t, cl_mem_flags flags, cl_int *status);
/* In any context, of any resource. */
cl_mem world_create_of(struct world *w, const struct target *t, cl_context context, cl_mem_flags flags, void *resource,
                       UINT index, cl_int *status);
/* All bytes to or from an object of the target's shape that nothing uses. False: the driver does not move them. */
bool world_move(struct world *w, const struct target *t, cl_mem object, void *bytes, bool in);
/* The twin, made at its first use; NULL: no room in the model. */
cl_mem world_twin(struct world *w, struct model *m, struct target *t);
/* A kernel that computes from one object into another of the same format, or NULL: there is none for such objects. */
cl_kernel world_kernel(struct world *w, const struct target *t);

/* The first of the planes that belong together. */
struct target *world_first(struct target *t);
/* All planes of a target's surface, through Direct3D. */
void world_d3d_write(struct world *w, struct target *first, const unsigned char *bytes);
void world_d3d_read(struct world *w, struct target *first, unsigned char *bytes);
size_t world_bytes(const struct target *first);

#endif
