/* 32-bit programs in a 64-bit Wine (the new WoW64): the host's handles, addresses and sizes have 64 bits, the program's 32.
 *
 * A program's handle is a number that stands for the host's handle; numbers that stand for none never reach a driver. The
 * addresses that it passes are below 4 GiB, and valid on both sides. Mapped memory above that is copied to memory of the
 * program: in the map, and back in the unmap (shadow.c).
 *
 * What a call converts lies in a `scratch` until it returns. Functions that get an address of the program return NULL for 0. */
#ifndef CLD3D_BRIDGE_WOW64_H
#define CLD3D_BRIDGE_WOW64_H

#include "bridge/host.h"
#include "bridge/wow64_generated.h"

/* The number of a handle, which stays the same as long as the process; 0 for NULL, or without memory. And back; NULL for a
 * wrong number. */
uint32_t wow64_id(const void *handle);
void *wow64_handle(uint32_t id);

/* The number of a handle that the program does not have yet. `type`: what clGetEventInfo says of a marker's event, which may be
 * another command's for the program. */
uint32_t wow64_new_id(const void *handle, cl_command_type type);

struct scratch {
    size_t used;
    struct block *blocks; /* what did not fit */
    bool failed;          /* the call must not be made, and gives `code` */
    cl_int code;
    _Alignas(8) char inside[512];
};

static inline void scratch_begin(struct scratch *scratch)
{
    scratch->used = 0;
    scratch->blocks = NULL;
    scratch->failed = false;
    scratch->code = CL_OUT_OF_HOST_MEMORY;
}

/* A number that is not 0 and stands for no handle. */
static inline void handle_check(struct scratch *scratch, uint32_t id, cl_int code)
{
    if (!id || wow64_handle(id))
        return;
    scratch->code = scratch->failed ? scratch->code : code;
    scratch->failed = true;
}

void scratch_end(struct scratch *scratch);

/* Arrays of `count` elements that the program passes. */
void *const *handles_in(struct scratch *scratch, uint32_t address, uint32_t count);
void *const *pointers_in(struct scratch *scratch, uint32_t address, uint32_t count);
const size_t *sizes_in(struct scratch *scratch, uint32_t address, uint32_t count);
/* A list of words that ends with 0: `of_context`, names and values. */
const intptr_t *words_in(struct scratch *scratch, uint32_t address, bool of_context);
const cl_image_desc *desc_in(cl_image_desc *desc, uint32_t address);
const cl_buffer_region *region_in(cl_buffer_region *region, uint32_t address);

/* Arrays that the program gets, and what is stored in them if the call is `done`. */
void **handles_out(struct scratch *scratch, uint32_t address, uint32_t count);
void handles_back(uint32_t address, void *const *handles, uint32_t count, bool done);
void size_back(uint32_t address, size_t size, bool done);

/* A query: what the host is asked with, and the conversion of its answer. */
struct info {
    unsigned kind;
    cl_uint name;
    size_t size, size_ret;
    void *value;
};
struct info info_begin(struct scratch *scratch, cl_uint name, uint32_t size, uint32_t address);
void info_end(const struct info *info, uint32_t address, uint32_t size_ret, bool done);

/* BRIDGE_START of such a program. */
int host_start_wow64(void *arguments);

#endif
