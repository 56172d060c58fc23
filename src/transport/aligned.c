#include "transport/aligned.h"

#include <stdint.h>
#include <stdlib.h>

struct aligned_memory aligned_memory_make(size_t size, size_t alignment)
{
    struct aligned_memory memory = {NULL, NULL, free};
    if (size > SIZE_MAX - alignment)
        return memory;
    memory.allocation = malloc(size + alignment);
    if (memory.allocation)
        memory.bytes = (void *)(((uintptr_t)memory.allocation + alignment - 1) / alignment * alignment);
    return memory;
}

void aligned_memory_free(struct aligned_memory *memory)
{
    if (memory->allocation)
        memory->give_back(memory->allocation);
    *memory = (struct aligned_memory){NULL, NULL, NULL};
}
