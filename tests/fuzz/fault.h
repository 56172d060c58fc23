/* Faults as one more kind of step: the nth call from there on into Direct3D, into the OpenCL below or for memory fails, is slow, or
 * is a command that fails or begins late (faults/faults.h). Only what a program calls is struck (TRY), not what this one asks for
 * itself.
 *
 * A call that is struck succeeds, or gives an error that its function has for such a cause; then everything is as it was before,
 * and what it would have written holds either the old bytes or the new ones. */
#ifndef CLD3D_TESTS_FUZZ_FAULT_H
#define CLD3D_TESTS_FUZZ_FAULT_H

#include <CL/cl.h>
#include <stdbool.h>

struct run;
struct sequence;

/* A call of the program's that gives a code, or a handle. */
#define TRY(call) (fault_begin(), fault_end(call))
#define TRY_MAKE(call) (fault_begin(), fault_made(call))
void fault_begin(void);
cl_int fault_end(cl_int code);
void *fault_made(void *handle);

/* What the calls of an operation have met, as far as it may change what they do. */
enum fault { FAULT_NONE, FAULT_OF_DIRECT3D, FAULT_OF_IMPORT, FAULT_OF_OPENCL, FAULT_OF_EVENT };
enum fault fault_met(void);

/* What a call does, for the codes that it may have. */
enum step { STEP_COMMAND, STEP_OWNER, STEP_CONTEXT, STEP_OBJECT, STEP_MAP, STEP_DEVICES };
/* Whether the fault that was met explains an error. `by_direct3d`: what the function has for one of Direct3D's. */
bool fault_excuses(enum step step, cl_int code, cl_int by_direct3d);

/* Whether the layers of faults/ are there: then faults come often, and each sequence has contexts of its own. */
bool fault_layers(void);
/* After each operation: what was met is dealt with, and nothing has been from here on. False: Direct3D's device is lost. */
bool fault_over(struct run *run);
/* Arms a fault before there is a context; not that the device is lost. */
struct op;
void fault_arm_early(const struct op *op);
/* Nothing is armed any more. */
void fault_disarm(void);
/* Runs a sequence. With the layers its contexts go, and nothing may be left. */
void run_whole(const struct sequence *s, bool verbose);

#endif
