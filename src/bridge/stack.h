/* The stack of a Wine process's main thread. Wine runs it on a stack of its own, and the C library does not know: it describes
 * the one that the kernel has made. AMD's ROCm looks at each thread's stack in its first call, and ends the process
 * if it is not on it. */
#ifndef CLD3D_BRIDGE_STACK_H
#define CLD3D_BRIDGE_STACK_H

/* Calls `call` with the C library's idea of the main thread's stack corrected meanwhile. For that thread alone. */
void stack_corrected(void (*call)(void));

#endif
