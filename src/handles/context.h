/* The records of contexts. Created and destroyed by share/context.c. */
#ifndef CLD3D_HANDLES_CONTEXT_H
#define CLD3D_HANDLES_CONTEXT_H

#include "handles/quirks.h"
#include "handles/registry.h"

struct common_formats;
struct converter;

/* A context with properties that the driver need not know. */
struct context_record {
    struct record head;
    bool interop;     /* with Direct3D */
    bool video;       /* with Direct3D 9, whose video formats are images there */
    unsigned quirks;  /* that are active in it, one bit each (quirks.h) */
    atomic_bool lost; /* commands of a lost device were abandoned: what they use stays with the driver forever */
    struct common_formats
        *common_formats;          /* of formats/common_formats.c; constant, owned. NULL: what the driver lists */
    struct converter *converters; /* of formats/storage.c; guarded by registry_lock */
};

static inline bool context_has(const struct context_record *context, enum quirk quirk)
{
    return (context->quirks >> quirk & 1) != 0;
}

#endif
