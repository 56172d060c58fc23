/* A program's plugin, which gives a command queue back when it is unloaded: then the loader's lock is held. */
#include <CL/cl.h>

extern cl_command_queue queue_to_release;
extern unsigned times_to_release;
cl_command_queue queue_to_release;
unsigned times_to_release = 1;

__attribute__((destructor)) static void end(void)
{
    while (queue_to_release && times_to_release-- > 0)
        clReleaseCommandQueue(queue_to_release);
}
