/* What a driver of version 0.9.5 of cl_khr_command_buffer takes with each command (newer_buffers.c): these properties. */
#ifndef CLD3D_TESTS_NEWER_BUFFERS_H
#define CLD3D_TESTS_NEWER_BUFFERS_H

#include <CL/cl.h>

#define NEWER_PROPERTY 0x7E70
#define NEWER_INSIDE 0x7E71 /* the address of a function that is called while the command is being recorded */
#define NEWER_LATER 0x7E72  /* the same, while the next command buffer is being enqueued */

static inline const cl_ulong *newer_properties(void)
{
    static const cl_ulong list[] = {NEWER_PROPERTY, 7, 0};
    return list;
}

#endif
