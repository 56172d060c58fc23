/* How OpenCL queries return values and fail, and the words of extension strings. */
#ifndef CLD3D_NEXT_QUERY_H
#define CLD3D_NEXT_QUERY_H

#include "gpu.h"
#include "next/next.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns a value of `size` bytes as all OpenCL queries do: `to`, which has room for `capacity` bytes, and `size_ret`
 * may be NULL. CL_INVALID_VALUE, logged for `call`, if the room is too small. */
cl_int answer(const char *call, const void *value, size_t size, size_t capacity, void *to, size_t *size_ret);

/* What a query is about: a platform or a device, whose queries have the same parameters. ask_subject calls the table's
 * function for it. */
struct subject {
    const char *call;
    cl_platform_id platform; /* NULL for a device whose platform does not matter */
    cl_device_id device;     /* NULL: the platform */
};
cl_int ask_subject(const cl_icd_dispatch *table, const struct subject *subject, cl_uint name, size_t capacity, void *to,
                   size_t *size_ret);

/* The platforms, and the devices of a context or of a platform: the first PLATFORMS_MOST, and the first DEVICES_MOST of a
 * platform; a context with more gives the driver's error. None after an error. */
enum { PLATFORMS_MOST = 64, DEVICES_MOST = 64 };
struct platform_list {
    cl_uint count;
    cl_platform_id at[PLATFORMS_MOST];
};
cl_int platforms_of(const cl_icd_dispatch *table, struct platform_list *platforms);
struct device_list {
    cl_uint count;
    cl_device_id at[DEVICES_MOST];
};
cl_int devices_of_context(const cl_icd_dispatch *table, cl_context context, struct device_list *devices);
cl_int devices_of_platform(const cl_icd_dispatch *table, cl_platform_id platform, struct device_list *devices);

/* What the driver reports of the device's place and UUID; what it does not know is left out. */
struct gpu gpu_of_device(const cl_icd_dispatch *table, cl_device_id device);

/* Whether a driver's error code means that it could not answer, whatever was asked. */
static inline bool driver_short(cl_int status)
{
    return status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY;
}

/* Whether a call failed for lack of memory, so that it may succeed later. */
static inline bool memory_short(cl_int status)
{
    return driver_short(status) || status == CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

/* Whether a text of words separated by blanks contains one. */
bool words_have(const char *text, const char *word, size_t length);
/* Removes from a text, in place, the words that `keep` rejects. One blank is left between two words. */
void words_filter(char *text, bool (*keep)(const char *word, size_t length, const void *data), const void *data);
/* The same for a list of names; returns the number of remaining ones. */
size_t names_filter(cl_name_version *list, size_t count,
                    bool (*keep)(const char *word, size_t length, const void *data), const void *data);

#endif
