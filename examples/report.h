/* The messages of the demo while it runs, and how it ends when a call fails. */
#ifndef REPORT_H
#define REPORT_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <windows.h>

/* Sets where progress is printed from now on; by default stdout. */
void report_to(FILE *stream);

/* Prints one line of progress, without buffering even into a pipe. */
void step(const char *format, ...);

/* Draws a progress bar for `done` of `total` in place of the previous one; when all are done, it ends the line. */
void progress(unsigned done, unsigned total, double per_second);

/* Prints one line to stderr and ends the program with status 1. */
_Noreturn void fail(const char *format, ...);

/* End the program if a call failed: the line names the call, the code and what the user can do about it. */
void check_cl(cl_int code, const char *call, const char *advice);
void check_d3d(HRESULT result, const char *call, const char *advice);

/* A monotonic clock in milliseconds; only differences are meaningful. */
double clock_ms(void);

#endif
