/* Pass-through: a driver with Direct3D sharing of its own is left alone, unless CLD3D_FORCE is set.
 *
 * Never partially: its strings, its contexts and its functions are all the driver's, or all cld3d's. The tokens of cl_nv_ and the
 * Khronos tokens have the same values, so a context of one cannot serve the objects of the other. */
#ifndef CLD3D_SHARE_PASSTHROUGH_H
#define CLD3D_SHARE_PASSTHROUGH_H

#include "share/share.h"

/* From now on every platform is passed through, whatever CLD3D_FORCE says. Call it before the first call of a
 * program. */
void passthrough_from_all(void);

/* Whether cld3d passes a platform through to its driver. */
bool passthrough_platform(cl_platform_id platform);
/* As passthrough_platform, for the platform of a device, a context or a queue; false for invalid handles. */
bool passthrough_device(cl_device_id device);
bool passthrough_context(cl_context context);
bool passthrough_queue(cl_command_queue queue);
/* The same for a memory object that cld3d does not know. */
bool passthrough_memory(cl_mem memory);
/* The same for the platform that a new context will have. */
bool passthrough_new_context(const cl_context_properties *properties, cl_uint device_count,
                             const cl_device_id *devices);

/* The driver's functions, called instead of cld3d's. If the driver lacks one, the code is CL_INVALID_OPERATION, and
 * nothing is created. */
cl_int passthrough_get_device_ids(const char *call, cl_platform_id platform, cl_uint source, void *object, cl_uint set,
                                  cl_uint capacity, cl_device_id *devices, cl_uint *found);
cl_int passthrough_get_media_device_ids(const char *call, cl_platform_id platform, cl_uint count, const cl_uint *types,
                                        void *const *adapters, cl_uint set, cl_uint capacity, cl_device_id *devices,
                                        cl_uint *found);
cl_mem passthrough_create(const struct object_request *request, cl_context context, cl_int *errcode_ret);
/* As clCreateFromDX9MediaSurfaceKHR: the driver may know kinds of adapters, and structures, that cld3d does not. */
cl_mem passthrough_create_media(const char *call, cl_context context, cl_mem_flags flags, cl_uint adapter_type,
                                void *surface_info, cl_uint plane, cl_int *errcode_ret);
cl_int passthrough_enqueue(const char *call, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                           cl_uint wait_count, const cl_event *wait, cl_event *event);

#endif
