/* Settings of elevated processes. */
#include "os/os.h"
#include "tap.h"

#include <windows.h>

CASE("settings work where the process is not elevated", settings_work)
{
    char value[32];
    SetEnvironmentVariableA("CLD3D_TEST_SETTING", "a value");
    CHECK(!os_is_wine() || !os_is_elevated()); /* though Wine says so of all */
    if (os_is_elevated()) {
        CHECK(!os_setting("CLD3D_TEST_SETTING", value, sizeof(value)));
        CHECK_STR(value, "");
        return;
    }
    CHECK(os_setting("CLD3D_TEST_SETTING", value, sizeof(value)));
    CHECK_STR(value, "a value");
}

TAP_MAIN
