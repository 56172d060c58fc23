/* The channel through Wine's wall: what cld3d's OpenCL.dll in a Windows process (the guest) and libcld3d.so in the host's
 * OpenCL loader (the companion) say to each other. Both live in one process and one address space.
 *
 * Wine's opencl.dll passes clGetDeviceInfo on with its arguments unchanged, an unknown query too, and the host's loader
 * lets its layers see the call before any driver. So a query of CHANNEL_QUERY with a request as the place for its answer
 * reaches the companion; without one it is an unknown query of some device, and fails. The guest asks, the companion
 * answers in the same call and thread. There is no way for the host to call Windows code. */
#ifndef CLD3D_HOST_CHANNEL_H
#define CLD3D_HOST_CHANNEL_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

/* Macros, since they are part of a text too (entry/entry.c). In 32 bits arguments go through otherwise, so a side of 32 bits and one
 * of 64 refuse each other. */
#if UINTPTR_MAX == UINT64_MAX
#define CHANNEL_VERSION 1
#else
#define CHANNEL_VERSION 101
#endif
#define CHANNEL_TEXT(value) #value
#define CHANNEL_TEXT_OF(macro) CHANNEL_TEXT(macro)
#define CHANNEL_VERSION_TEXT CHANNEL_TEXT_OF(CHANNEL_VERSION)

enum {
    CHANNEL_QUERY = 0x4c643364,
    CHANNEL_ARGUMENTS = 16, /* more than any function of OpenCL has */
};

enum channel_action {
    CHANNEL_HELLO,  /* result: CHANNEL_VERSION of the companion, whatever the guest's is */
    CHANNEL_FIND,   /* arguments: name. result: address of a function of OpenCL itself, or 0 */
    CHANNEL_EXTEND, /* arguments: platform or NULL, name. result: address of a function of an extension, or 0 */
    CHANNEL_NOTHING, /* result: address of a function of the host that does nothing: a callback where there must be one */
    CHANNEL_CALL,    /* calls the function at `address`; result: what it returns */
    CHANNEL_VULKAN, /* arguments: name. result: address of that function of struct vulkan_side, or for "version" VULKAN_SIDE_VERSION
                      * (host/vulkan.h); 0 where no Vulkan layer is active. Older companions refuse it */
};

/* The guest owns it and all that it points to, for the time of the call. Integers in arguments are extended to 64 bits,
 * pointers and handles are as they are. But those of CHANNEL_CALL in 32 bits are words, as they lie on the stack: one for each
 * argument, two for one of 64 bits. */
struct channel_request {
    uint32_t version; /* CHANNEL_VERSION of the guest */
    uint32_t action;
    uint64_t address;
    uint64_t arguments[CHANNEL_ARGUMENTS];
    uint64_t result;
};

/* Structures go through as they are, so both compilers must lay them out alike. */
_Static_assert(sizeof(struct channel_request) == 24 + 8 * CHANNEL_ARGUMENTS, "the request is the same on both sides");
_Static_assert(offsetof(struct channel_request, arguments) == 16, "the request is the same on both sides");
_Static_assert(sizeof(cl_bool) == 4 && sizeof(cl_int) == 4, "integers are the same on both sides");
_Static_assert(sizeof(size_t) == sizeof(void *) && sizeof(cl_mem_flags) == 8, "integers are the same on both sides");
_Static_assert(sizeof(cl_queue_properties) == 8 && sizeof(cl_mem_properties) == 8,
               "properties are the same on both sides");
_Static_assert(sizeof(cl_name_version) == 4 + CL_NAME_VERSION_MAX_NAME_SIZE,
               "names with versions are the same on both sides");
_Static_assert(sizeof(cl_image_format) == 8, "formats are the same on both sides");
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(cl_image_desc) == 72 && offsetof(cl_image_desc, mem_object) == 64,
               "descriptions of images are the same on both sides");
_Static_assert(sizeof(cl_buffer_region) == 16, "regions are the same on both sides");
#else
_Static_assert(sizeof(cl_image_desc) == 40 && offsetof(cl_image_desc, mem_object) == 36,
               "descriptions of images are the same on both sides");
#endif

#endif
