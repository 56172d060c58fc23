#include "emulate/emulate.h"

#include "emulate/fence.h"
#include "emulate/known_devices.h"

#include "os/os.h"
#include "settings.h"

cl_icd_dispatch underlying;

bool emulate_calls_back(void)
{
    /* Wine 8's opencl.dll accepts callbacks and never calls them, or refuses them. */
    return os_is_wine() || setting_on(SETTING_CALLBACKS);
}

void emulate_install(void)
{
    /* First, so that no other part gets the wrong answers. */
    if (os_is_wine()) {
        wine_calls_install(&next);
        wine_queries_install(&next);
    }
    underlying = next;
    known_devices_install(&next);
    cl2_install(&next);
    if (emulate_calls_back()) {
        event_callback_install(&next);
        program_notify_install(&next);
        destructor_install(&next);
    }
    fence_install(&next);
}
