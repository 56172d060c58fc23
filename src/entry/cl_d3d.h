/* What the files with the extensions' functions include: the Direct3D types of their signatures and the core. */
#ifndef CLD3D_ENTRY_CL_D3D_H
#define CLD3D_ENTRY_CL_D3D_H

#include "d3d/d3d_types.h"
#include "entry/entry.h"
#include "share/share.h"

#include <CL/cl_d3d10.h>
#include <CL/cl_d3d11.h>

/* An extension's acquire or release, which is one call into the core. */
#define COMMAND(name, share_command, api, objects_type)                                                \
    CL_API_ENTRY cl_int CL_API_CALL name(cl_command_queue command_queue, cl_uint num_objects,          \
                                         objects_type mem_objects, cl_uint num_events_in_wait_list,    \
                                         const cl_event *event_wait_list, cl_event *event)             \
    {                                                                                                  \
        entry_open();                                                                                  \
        return share_command(&(api), command_queue, num_objects, mem_objects, num_events_in_wait_list, \
                             event_wait_list, event);                                                  \
    }

#endif
