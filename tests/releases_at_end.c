/* A program's plugin, which gives a command queue back when it is unloaded: then the loader's lock is held. */
#include <CL/cl.h>

extern cl_command_queue queue_to_release;
cl_command_queue queue_to_release;

__attribute__((destructor)) static void end(void)
{
    if (queue_to_release)
        clReleaseCommandQueue(queue_to_release);
}
