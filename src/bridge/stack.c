#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "bridge/stack.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The end of the mapping that holds an address, or 0. */
static uintptr_t mapping_end(uintptr_t address)
{
    char line[512];
    uintptr_t found = 0;
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= address && address < to)
            found = to;
    if (maps)
        fclose(maps);
    return found;
}

/* The page is read-only after the start of a process. */
static bool set_rights(void *address, int rights)
{
    const long page = sysconf(_SC_PAGESIZE);
    return mprotect((void *)((uintptr_t)address & ~(uintptr_t)(page - 1)), (size_t)page, rights) == 0;
}

/* The C library reads the mapping in which its variable lies, and takes its end for the stack's. */
void stack_corrected(void (*call)(void))
{
    enum { INSIDE = 64 };
    void **end = dlsym(RTLD_DEFAULT, "__libc_stack_end"), *before = NULL;
    const uintptr_t real = mapping_end((uintptr_t)&before);
    const bool set = end && real && set_rights(end, PROT_READ | PROT_WRITE);
    if (set) {
        before = *end;
        *end = (void *)(real - INSIDE);
    }
    call();
    if (set) {
        *end = before;
        set_rights(end, PROT_READ);
    }
}
