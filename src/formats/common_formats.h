/* The image formats that a context's devices have. A driver lists those that at least one device of the context has (PoCL
 * does), and has no list for a single device of it. An image in such a format can be created, but commands in the queue of
 * another device fail. So formats that not all devices have are emulated. */
#ifndef CLD3D_FORMATS_COMMON_FORMATS_H
#define CLD3D_FORMATS_COMMON_FORMATS_H

#include "handles/handles.h"

enum { FORMATS_MOST = 256 }; /* more are not seen */
struct format_list {
    cl_image_format formats[FORMATS_MOST];
    cl_uint count;
};

bool format_list_has(const struct format_list *list, cl_image_format format);

/* The driver's own formats in a context. An image type that it does not know has none; if the driver runs out of
 * resources, they are unknown: its error code. */
cl_int format_list_ask(cl_context context, cl_mem_flags flags, cl_mem_object_type type, struct format_list *list);

/* For read-write images: those that all devices of the context have. */
cl_int common_formats_ask(const struct context_record *context, cl_mem_object_type type, struct format_list *list);

/* To be called once when the context has been created: if its devices differ, asks each in a context of its own, and
 * keeps what they have in common. False: out of memory. */
bool common_formats_find(struct context_record *context);
/* Frees that. */
void common_formats_drop(struct context_record *context);

#endif
