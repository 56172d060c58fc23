/* Shared between the files of shared objects. */
#ifndef CLD3D_SHARE_OBJECT_H
#define CLD3D_SHARE_OBJECT_H

#include "share/share.h"

/* An empty record; NULL if out of memory. Its `destroy` releases what it has been given since, immediately or when its
 * transfer has ended. */
struct object_record *object_new(void);
void object_destroy(struct record *record);

/* object_create.c: frees the subresource for another object. NULL is allowed. */
void object_give_up_claim(struct sharing_context *context, struct claim *claim);

/* object_query.c: clGetMemObjectInfo and clGetImageInfo. */
void object_query_install(cl_icd_dispatch *table);

#endif
