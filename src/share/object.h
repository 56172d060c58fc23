/* Shared between the files of shared objects. */
#ifndef CLD3D_SHARE_OBJECT_H
#define CLD3D_SHARE_OBJECT_H

#include "share/share.h"

/* An empty record; NULL if out of memory. Its `destroy` releases what it has been given since, immediately or when nothing
 * uses it any longer (leaving.h). */
struct object_record *object_new(void);
void object_destroy(struct record *record);
/* For leaving.c: frees the record and its transfer, which nothing uses. The driver's object has been released. */
void object_free(struct object_record *object);

/* object_create.c: frees the subresource for another object. NULL is allowed. */
void object_give_up_claim(struct claim *claim);

/* object_query.c: clGetMemObjectInfo and clGetImageInfo. */
void object_query_install(cl_icd_dispatch *table);

#endif
