/* Linked into a copy of cld3d's library with --wrap: its allocations can be counted and can fail, in builds with
 * sanitizers too. */
#include "layer.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static void *given(void *memory)
{
    if (memory)
        fault_count(LIVE_BLOCKS, 1);
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return fault_allocation("malloc", __builtin_return_address(0)) ? NULL : given(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fault_allocation("calloc", __builtin_return_address(0)) ? NULL : given(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fault_allocation("realloc", __builtin_return_address(0)))
        return NULL;
    void *larger = __real_realloc(memory, size);
    return memory ? larger : given(larger);
}

void __wrap_free(void *memory)
{
    if (memory)
        fault_count(LIVE_BLOCKS, -1);
    __real_free(memory);
}
