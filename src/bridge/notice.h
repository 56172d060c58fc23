/* The program's callbacks. The host's OpenCL calls on its own threads, where no Windows code can run: so the bridge gives it
 * functions of its own, which put a record in a list. The Windows side's thread takes the records (BRIDGE_NEXT), and
 * calls the program. Each callback is delivered once, in the order in which the host has called. An event that
 * fails is reported even if the host's driver does not. */
#ifndef CLD3D_BRIDGE_NOTICE_H
#define CLD3D_BRIDGE_NOTICE_H

#include "bridge/bridge.h"

#include <CL/cl.h>
#include <stdbool.h>

struct notice;

/* Makes a record for a function of the program; none, and success, if `function` is 0. `of`: the object whose function it is,
 * or NULL; an event or program is retained until the function has run. `number`: what the program has in place of a handle, or
 * NULL for the handle itself. */
cl_int notice_open(struct notice **notice, enum bridge_notice_kind kind, uint64_t function, uint64_t data, void *of,
                   uint32_t (*number)(const void *handle));
/* After the call to which the record was passed. `context`: what a call with NOTICE_CONTEXT has made. A driver that refuses
 * may have called back before. */
void notice_close(struct notice *notice, void *context, bool done);

/* What the host calls, with the record as data. */
void CL_CALLBACK notice_on_event(cl_event event, cl_int status, void *notice);
void CL_CALLBACK notice_on_program(cl_program program, void *notice);
void CL_CALLBACK notice_on_context(const char *text, const void *info, size_t size, void *notice);
void CL_CALLBACK notice_on_svm_free(cl_command_queue queue, cl_uint count, void **pointers, void *notice);
void CL_CALLBACK notice_on_memory(cl_mem memory, void *notice);
void CL_CALLBACK notice_on_context_end(cl_context context, void *notice);

/* Before the release of a queue or context: waits for its callbacks that are due, for 100 ms at most. Not on the thread that
 * delivers them. A program that ends in order releases these last, and expects its callbacks before. */
void notice_settle(const void *owner);

#endif
