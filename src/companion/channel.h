/* The channel between the two sides of Wine: how cld3d's OpenCL.dll in a Windows process (the client) and libcld3d.so in
 * the host's OpenCL loader (the companion) communicate. Both are in one process and one address space.
 *
 * Wine's opencl.dll passes clGetDeviceInfo on with its arguments unchanged, including unknown queries, and the host's
 * loader lets its layers see the call before any driver. So a query of CHANNEL_QUERY whose result pointer is a request
 * reaches the companion; without a companion it is an unknown query of some device, and fails. The client asks, and the
 * companion answers in the same call and thread. The host cannot call Windows code. */
#ifndef CLD3D_COMPANION_CHANNEL_H
#define CLD3D_COMPANION_CHANNEL_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

/* Macros, because they are also part of a text (entry/entry.c). In 32 bits arguments are passed differently, so a
 * 32-bit and a 64-bit side refuse each other. */
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
    CHANNEL_ARGUMENTS = 16, /* more than any OpenCL function has */
};

enum channel_action {
    CHANNEL_HELLO,    /* result: the companion's CHANNEL_VERSION, whatever the client's is */
    CHANNEL_FIND,     /* arguments: name. result: address of a core OpenCL function, or 0 */
    CHANNEL_EXTEND,   /* arguments: platform or NULL, name. result: address of an extension function, or 0 */
    CHANNEL_CALL = 4, /* calls the function at `address`; result: its return value */
    CHANNEL_VULKAN, /* arguments: name. result: address of that function of struct vulkan_side, or for "version" VULKAN_SIDE_VERSION
                      * (vulkan_layer/vulkan.h); 0 if no Vulkan layer is active. Older companions refuse it */
};

/* The client owns the request and everything that it points to, for the duration of the call. Integers in arguments are
 * extended to 64 bits, pointers and handles are passed unchanged. But the arguments of CHANNEL_CALL in 32 bits are
 * words, as on the stack: one for each argument, two for a 64-bit one. */
struct channel_request {
    uint32_t version; /* CHANNEL_VERSION of the client */
    uint32_t action;
    uint64_t address;
    uint64_t arguments[CHANNEL_ARGUMENTS];
    uint64_t result;
};

/* Structures are passed unchanged, so both compilers must lay them out identically. */
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
