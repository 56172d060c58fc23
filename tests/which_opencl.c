/* Says what OpenCL a program gets that only links it: the library, what is below it, the platforms. For test_setup.py. */
#include <windows.h>

#include <CL/cl.h>
#include <stdio.h>

int main(void)
{
    char path[MAX_PATH] = "";
    cl_uint count = 0;
    const cl_int status = clGetPlatformIDs(0, NULL, &count);
    HMODULE library = GetModuleHandleA("opencl.dll");
    GetModuleFileNameA(library, path, sizeof(path));
    typedef const char *(CL_API_CALL * report)(const char *);
    const report ask = (report)(void (*)(void))GetProcAddress(library, "cld3d_report");
    printf("library: %s\nnext: %s\nstatus: %d\nplatforms: %u\n", path, ask ? ask("next") : "not cld3d", status, count);
    return 0;
}
