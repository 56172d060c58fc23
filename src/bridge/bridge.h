/* The bridge: cld3d's own way from Windows code under Wine to the host's OpenCL. It is a unixlib, Wine's way from a DLL to a
 * library of the host: Wine loads the host library of the same base name as libcld3d.dll, a DLL that has Wine's mark, and
 * calls the functions in its tables `__wine_unix_call_funcs` and, for 32-bit programs in a 64-bit Wine,
 * `__wine_unix_call_wow64_funcs`. So both sides are in one process, and a call costs a switch of stacks.
 *
 * The Windows side (client.c) is in OpenCL.dll and cld3d.dll; the host side (host.c) in libcld3d.so. A call passes a number
 * (enum bridge_code) and a structure of arguments, which the caller owns. It returns the code of an OpenCL function that has
 * one, otherwise 0; or the code of the exception if the host's code crashed (BRIDGE_CRASHED). Wine ends the call then, so no
 * lock may be held during a call of the driver.
 *
 * Structures of this header have the same layout in 32 and 64 bits: addresses and handles are 64-bit numbers. Those of
 * calls_generated.h are as their compiler lays them out; the host side has 32-bit twins of them (wow64_generated.c). */
#ifndef CLD3D_BRIDGE_BRIDGE_H
#define CLD3D_BRIDGE_BRIDGE_H

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <assert.h>
#include <stdint.h>

/* Of these structures and of the numbers of calls. A macro, because it is also part of a text (entry/entry.c). */
#define BRIDGE_VERSION 1
#define BRIDGE_TEXT(value) #value
#define BRIDGE_TEXT_OF(macro) BRIDGE_TEXT(macro)
#define BRIDGE_VERSION_TEXT BRIDGE_TEXT_OF(BRIDGE_VERSION)

enum {
    BRIDGE_WHY = 256,      /* bytes for a reason */
    BRIDGE_ARGUMENTS = 16, /* more than any OpenCL function has */
    BRIDGE_NOTE = 1024,    /* bytes of the texts that a context's notify function gets */
};

/* Exceptions have codes from 0xc0000000 on, and Wine's other refusals too. */
#define BRIDGE_CRASHED(result) ((result) < -0x10000000)

/* BRIDGE_START: before any other call. Any number of times. */
struct bridge_start {
    uint32_t version;     /* the caller's BRIDGE_VERSION */
    uint32_t ready;       /* out: 1: there is an OpenCL, and calls may follow */
    uint32_t checks;      /* out: 1: handles are numbers, of which the host side knows the valid ones */
    char why[BRIDGE_WHY]; /* out: the reason if not ready */
    char release[32];     /* out: the version of libcld3d.so */
};

/* BRIDGE_NEXT: waits for the next callback of the program. Only the thread that delivers them calls it. */
enum bridge_notice_kind {
    NOTICE_EVENT,
    NOTICE_PROGRAM, /* built, or released */
    NOTICE_MEMORY,
    NOTICE_CONTEXT,
    NOTICE_CONTEXT_END,
    NOTICE_SVM_FREE,
};
struct bridge_notice {
    uint64_t previous;       /* in: the one that has been delivered, or 0; out: this one */
    uint64_t function, data; /* the program's */
    uint64_t object;         /* the handle for it; of NOTICE_SVM_FREE the queue */
    uint64_t pointers;       /* NOTICE_SVM_FREE: the address of `count` pointers */
    uint32_t kind, count;    /* of NOTICE_CONTEXT: the bytes of `info` */
    int32_t status, unused;
    char text[BRIDGE_NOTE], info[BRIDGE_NOTE];
};

/* BRIDGE_FIND: an extension's function by name. Not for 32-bit programs in a 64-bit Wine. */
struct bridge_find {
    uint64_t platform; /* or 0 */
    uint64_t name;     /* the address of the text */
    uint64_t found;    /* out: the host's function, or 0 */
};

/* BRIDGE_CALL: calls a function of the host. Integers are extended to 64 bits, pointers and handles as they are; a function
 * reads no more arguments than it has. */
struct bridge_call {
    uint64_t function;
    uint64_t arguments[BRIDGE_ARGUMENTS];
    uint64_t result;
};

/* BRIDGE_VULKAN: calls a function of the Vulkan side (vulkan_layer/vulkan.h), by its place in VULKAN_SIDE_FUNCTIONS. */
struct bridge_vulkan {
    uint32_t version; /* the caller's VULKAN_SIDE_VERSION */
    uint32_t place;   /* or BRIDGE_VULKAN_ANY: asks whether there is one */
    uint64_t arguments[8];
    uint64_t result;
    char why[BRIDGE_WHY]; /* out: why there is no Vulkan side, or an empty text */
};
#define BRIDGE_VULKAN_ANY UINT32_MAX

/* BRIDGE_SHADOW: gives a map its memory in the program (see `shadow` in the structures of maps). */
struct bridge_shadow {
    uint64_t map;     /* as the map gave it */
    uint64_t address; /* of the program's memory, or 0: it has none, and the map fails */
    uint32_t wants_event;
    uint32_t event; /* out: the handle of the map's event, if it is wanted */
    int32_t status, unused;
};

/* What the calls of maps have besides the function's parameters: if the mapped memory is out of the program's reach, the
 * program needs `need` bytes in which it sees a copy, and BRIDGE_SHADOW for `map`. */
struct bridge_map {
    uint64_t map, need;
};

static_assert(sizeof(struct bridge_start) == 12 + BRIDGE_WHY + 32, "the same on both sides");
static_assert(sizeof(struct bridge_notice) == 56 + 2 * BRIDGE_NOTE, "the same on both sides");
static_assert(sizeof(struct bridge_vulkan) == 80 + BRIDGE_WHY, "the same on both sides");
static_assert(sizeof(struct bridge_shadow) == 32 && sizeof(struct bridge_map) == 16, "the same on both sides");
static_assert(sizeof(size_t) == sizeof(void *) && sizeof(cl_mem_flags) == 8, "integers are the same on both sides");

#endif
