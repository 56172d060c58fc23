/* Says what OpenCL a program gets: the library, what is below it, the platforms. For test_setup.py.
 *
 *     which_opencl                 a program that only links it
 *     which_opencl LOADER LAYER    one that uses a loader of its own, which loads a layer */
#include <windows.h>

#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdio.h>

static void (*function_of(HMODULE library, const char *name))(void)
{
    return (void (*)(void))GetProcAddress(library, name);
}

int main(int argc, char **argv)
{
    typedef const char *(CL_API_CALL * report)(const char *);
    char path[MAX_PATH] = "";
    cl_uint count = 0;
    cl_int status = clGetPlatformIDs(0, NULL, &count);
    HMODULE library = GetModuleHandleA("opencl.dll");
    if (argc > 2) {
        const HMODULE loader = LoadLibraryA(argv[1]);
        status = ((__typeof__(&clGetPlatformIDs))function_of(loader, "clGetPlatformIDs"))(0, NULL, &count);
        library = GetModuleHandleA(argv[2]);
    }
    GetModuleFileNameA(library, path, sizeof(path));
    const report ask = (report)function_of(library, "cld3d_report");
    printf("library: %s\nnext: %s\nstatus: %d\nplatforms: %u\n", path, ask ? ask("next") : "not cld3d", status, count);
    return 0;
}
