/* The files of shared objects for one another. */
#ifndef CLD3D_SHARE_OBJECT_H
#define CLD3D_SHARE_OBJECT_H

#include "share/share.h"

/* An empty record; NULL if memory is short. Its `destroy` gives back what it was given meanwhile, now or when its bytes are
 * through. */
struct object_record *object_new(void);
void object_destroy(struct record *record);

/* object_create.c: the subresource is free for another object. NULL is allowed. */
void object_give_up_claim(struct sharing_context *context, struct claim *claim);

/* object_query.c: clGetMemObjectInfo and clGetImageInfo. */
void object_query_install(cl_icd_dispatch *table);

#endif
