/* Contexts with interop: what the files about them share. */
#ifndef CLD3D_SHARE_CONTEXT_H
#define CLD3D_SHARE_CONTEXT_H

#include "share/share.h"

/* ---- properties (context_properties.c) ---- */

/* Whether the list has properties that cld3d handles. All others are left to the driver, including their errors. */
bool context_properties_ours(const cl_context_properties *properties);
/* Fills the record from its list, and writes the properties for the driver to `driver`, which has at least as many
 * entries. An error code if a property is invalid; the record has the devices that were opened before, and releases
 * them. */
cl_int context_properties_read(const char *call, struct sharing_context *context, cl_context_properties *driver);

/* ---- records (context.c) ---- */

/* The record of a context that is to be created with such a list; NULL if out of memory. */
struct sharing_context *context_record_make(enum record_kind kind, const cl_context_properties *properties);
/* Frees a record that nothing refers to. */
void context_record_free(struct sharing_context *context);
void context_create_install(cl_icd_dispatch *table);

#endif
