/* Checks objects passed by a program before calling them; keeps this library loaded. */
#include "os/os.h"

#include <stdatomic.h>

/* The pointer stored at `address`; NULL if there cannot be an aligned pointer. */
static const void *pointer_at(const void *address)
{
    if ((uintptr_t)address % sizeof(void *) || !os_readable(address, sizeof(void *)))
        return NULL;
    return *(const void *const *)address;
}

bool os_has_function(const void *object, size_t offset)
{
    const char *table = pointer_at(object);
    const void *function = table && (uintptr_t)table % sizeof(void *) == 0 ? pointer_at(table + offset) : NULL;
    return function && os_executable(function);
}

bool os_has_value(const void *object, size_t offset, uintptr_t value)
{
    const char *table = pointer_at(object);
    return table && (uintptr_t)table % sizeof(void *) == 0 && (uintptr_t)pointer_at(table + offset) == value;
}

void os_stay_loaded(void)
{
    static atomic_bool stays;
    if (!atomic_load(&stays))
        os_library_keep(os_stay_loaded);
    atomic_store(&stays, true);
}
