/* Whether Wine's own OpenCL can be loaded. */
#ifndef CLD3D_TEST_WINES_OPENCL_H
#define CLD3D_TEST_WINES_OPENCL_H

#include "tap.h"

#include <windows.h>

/* False, with a skip, where a 32-bit program runs in the new WoW64: there Wine has a library that does not load. In 64 bits it
 * must load. */
static inline bool has_wines_opencl(void)
{
    char path[MAX_PATH + 32] = "";
    GetSystemDirectoryA(path, MAX_PATH);
    strcat(path, "\\opencl.dll");
    HMODULE library = LoadLibraryA(path);
    if (library)
        FreeLibrary(library);
    else if (sizeof(void *) == 4)
        SKIP("Wine's own opencl.dll does not load: in the new WoW64 it has none for 32-bit programs");
    else
        CHECK(!"Wine's own opencl.dll loads");
    return library != NULL;
}

#endif
