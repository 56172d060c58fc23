/* The OpenCL below: one dispatch table without empty slots.
 *
 * An entry point fills it once, before anything else runs; after that it is constant. For functions that the OpenCL
 * below lacks, `missing_` functions log this and fail with CL_INVALID_OPERATION (the specification has no code for it;
 * the Khronos loader returns the same for an empty slot). */
#ifndef CLD3D_NEXT_NEXT_H
#define CLD3D_NEXT_NEXT_H

#ifdef _WIN32
#include <d3d9.h>
#endif
#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef void (*next_function)(void);

/* OpenCL gives functions as `void *`, which ISO C does not convert; every system that OpenCL runs on does. */
static inline next_function next_function_at(const void *address)
{
    next_function function;
    memcpy(&function, &address, sizeof(function));
    return function;
}

static inline void *next_address_of(next_function function)
{
    void *address;
    memcpy(&address, &function, sizeof(address));
    return address;
}

/* A function of the dispatch table: its name, its offset and the replacement if the OpenCL below lacks it. */
struct next_slot {
    const char *name;
    size_t offset;
    next_function missing;
};

extern const struct next_slot next_slots[];
extern const size_t next_slot_count;

extern cl_icd_dispatch next;

/* Whether the OpenCL below has 64 bits and this library 32: in the new WoW64. Set by whoever sets `next`. */
extern bool next_is_wider;

/* Sets `next` from the first `entries` functions of a table, each of which may be NULL. All others are missing. */
void next_set(const cl_icd_dispatch *table, size_t entries);

/* Sets `next` from the functions that a library exports. NULL: there is no library, and all are missing. */
void next_load(void *library);

/* The function in a slot of a table. */
next_function next_slot_get(const cl_icd_dispatch *table, const struct next_slot *slot);
/* The slot of a name, or NULL. */
const struct next_slot *next_slot_find(const char *name);
/* Makes a function of `next` missing. */
void next_remove(const char *name);
/* What a table gives by the name of an extension's function, or NULL. */
next_function next_by_name(const cl_icd_dispatch *table, cl_platform_id platform, const char *name);

/* Stores an error code; `errcode_ret` may be NULL. */
static inline void give_code(cl_int *errcode_ret, cl_int code)
{
    if (errcode_ret)
        *errcode_ret = code;
}

/* Logs that there is no function below, which was added in the OpenCL version or extension `since`, and returns
 * CL_INVALID_OPERATION. For the generated replacements. */
cl_int next_lacks(const char *function, const char *since);
/* The cause, and what the user can do. */
extern const char *next_remedy;

#endif
