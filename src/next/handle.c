#include "next/handle.h"

#include "os/os.h"

bool handle_plausible(const void *handle, size_t slot)
{
    return handle && (os_is_wine() || os_has_function(handle, slot));
}
