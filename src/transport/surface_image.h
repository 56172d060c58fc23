/* A surface as described to OpenCL's image functions. */
#ifndef CLD3D_TRANSPORT_SURFACE_IMAGE_H
#define CLD3D_TRANSPORT_SURFACE_IMAGE_H

#include "d3d/d3d.h"
#include "formats/image.h"

/* With the pitches of the image's memory, or 0; a 2D image has no slice pitch. */
cl_image_desc surface_image(const struct surface_desc *desc, size_t row_pitch, size_t slice_pitch);
/* Whether OpenCL can use rows of `row_bytes` at an address, with these pitches in bytes. */
bool surface_rows_fit(const struct surface_desc *desc, size_t row_bytes, uint64_t address, uint64_t row_pitch,
                      uint64_t slice_pitch);
/* How a context stores the surface's texels, as returned by image_storage_of; a buffer has no format. */
cl_int surface_storage(cl_context context, const struct surface_desc *desc, enum image_storage *storage,
                       const struct converter **converter);
/* The ordinary object of the OpenCL below that programs use if nothing lies in shared memory. NULL: `*status`. */
cl_mem surface_memory(cl_context context, cl_mem_flags flags, const struct surface_desc *desc, cl_int *status);

#endif
