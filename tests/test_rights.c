/* Settings of elevated processes, and whom folders let write, by lists of rights. */
#include "info_rights.h"
#include "os/os.h"
#include "tap.h"

#include <sddl.h>
#include <stdlib.h>

/* ---- elevated processes ---- */

static void settings_work(void)
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

/* ---- lists of rights ---- */

enum { CHANGE = FILE_WRITE_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER };

#define INSTALLER "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

/* Who may change what has these rules, in Windows' notation: "" for nobody. */
static const char *who(const char *rules, bool wine)
{
    static char text[RIGHTS_NAME_SIZE];
    wchar_t name[RIGHTS_NAME_SIZE];
    PSECURITY_DESCRIPTOR descriptor;
    BOOL present = FALSE, defaulted;
    PSID owner = NULL;
    PACL list = NULL;
    if (!CHECK(ConvertStringSecurityDescriptorToSecurityDescriptorA(rules, SDDL_REVISION_1, &descriptor, NULL)))
        return "rules that can't be read";
    GetSecurityDescriptorOwner(descriptor, &owner, &defaulted);
    GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted);
    const bool found = rights_find_ordinary(owner, present ? list : NULL, CHANGE, wine, name);
    LocalFree(descriptor);
    text[0] = '\0';
    if (found)
        wcstombs(text, name, sizeof(text));
    return text;
}

static void folders_of_administrators(void)
{
    /* As of C:\Program Files, and of what an administrator makes in it. */
    CHECK_STR(who("O:" INSTALLER "D:(A;;FA;;;" INSTALLER ")(A;;0x1301bf;;;SY)(A;OICIIO;FA;;;SY)(A;;0x1301bf;;;BA)"
                  "(A;;0x1200a9;;;BU)(A;OICIIO;0xa0000000;;;BU)(A;OICIIO;FA;;;CO)",
                  false),
              "");
    CHECK_STR(who("O:BAD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;BU)", false), "");
    CHECK_STR(who("O:SYD:(A;;FA;;;SY)", false), "");
}

static void folders_of_others(void)
{
    /* As of a folder that was made in C:\, of one in a user's profile, and of one on a drive without rights. */
    CHECK_STR(who("O:BAD:(A;;FA;;;BA)(A;;0x1301bf;;;AU)(A;;0x1200a9;;;BU)", false), "S-1-5-11");
    CHECK_STR(who("O:S-1-5-21-1-2-3-1001D:(A;;FA;;;SY)(A;;FA;;;BA)", false), "S-1-5-21-1-2-3-1001");
    CHECK_STR(who("O:BAD:(A;;FA;;;BA)(A;;FA;;;S-1-5-21-1-2-3-1001)", false), "S-1-5-21-1-2-3-1001");
    CHECK_STR(who("O:BA", false), "everybody");
}

static void each_right_counts(void)
{
    static const char *const rights[] = {"0x2", "0x40", "SD", "WD", "WO", "GA", "GW", "FA", "FW"};
    char rules[64];
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        snprintf(rules, sizeof(rules), "O:BAD:(A;;%s;;;BU)", rights[i]);
        CHECK_STR(who(rules, false), "S-1-5-32-545");
        snprintf(rules, sizeof(rules), "O:BAD:(A;OICIIO;%s;;;BU)", rights[i]);
        CHECK_STR(who(rules, false), "");
        snprintf(rules, sizeof(rules), "O:BAD:(D;;%s;;;BU)(A;;FR;;;BU)", rights[i]);
        CHECK_STR(who(rules, false), "");
    }
    CHECK_STR(who("O:BAD:(A;;GR;;;BU)(A;;GX;;;BU)(A;;FR;;;WD)", false), "");
}

static void wine_tells_of_everybody_alone(void)
{
    CHECK_STR(who("O:S-1-5-7D:(A;;FA;;;S-1-5-7)(A;;0x1200a9;;;WD)", true), "");
    CHECK_STR(who("O:S-1-5-21-0-0-0-1000D:(A;;FA;;;S-1-5-21-0-0-0-1000)(A;;FA;;;S-1-5-21-0-0-0-513)", true), "");
    CHECK_STR(who("O:S-1-5-21-0-0-0-1000D:(A;;FA;;;S-1-5-21-0-0-0-1000)(A;;FA;;;WD)", true), "S-1-1-0");
}

/* ---- the way from a library up ---- */

static void every_folder_is_looked_at(void)
{
    wchar_t path[MAX_PATH];
    char why[1024] = "";
    /* Nobody may change the system's own libraries, but on Windows alone. */
    GetSystemDirectoryW(path, MAX_PATH);
    wcscat(path, L"\\kernel32.dll");
    const bool kept = rights_keep_library(path, false, why, sizeof(why));
    if (!os_is_wine()) {
        CHECK(kept);
        return;
    }
    CHECK(!kept);
    CHECK(strstr(why, "kernel32.dll") != NULL); /* it belongs to the user himself */
    CHECK(rights_keep_library(path, true, why, sizeof(why)));
    CHECK(!rights_keep_library(L"C:\\nowhere.dll", true, why, sizeof(why)));
    CHECK(strstr(why, "cannot be determined") != NULL);
}

static const struct tap_test tests[] = {
    {"settings work where the process is not elevated", settings_work},
    {"folders that administrators alone may change", folders_of_administrators},
    {"folders that others may change", folders_of_others},
    {"each right that changes something counts", each_right_counts},
    {"under Wine only everybody's rights count", wine_tells_of_everybody_alone},
    {"a library is looked at with its folders", every_folder_is_looked_at},
};

TAP_MAIN(tests)
