#include "os/rights_win32.h"

#include "os/os.h"

static bool read_elevation(HANDLE token, struct rights *rights)
{
    TOKEN_ELEVATION elevation;
    DWORD size;
    if (!GetTokenInformation(token, TokenElevation, &elevation, sizeof(elevation), &size))
        return false;
    rights->elevated = elevation.TokenIsElevated != 0;
    return true;
}

static bool read_integrity(HANDLE token, struct rights *rights)
{
    union {
        TOKEN_MANDATORY_LABEL label;
        BYTE bytes[sizeof(TOKEN_MANDATORY_LABEL) + SECURITY_MAX_SID_SIZE];
    } data;
    DWORD size;
    if (!GetTokenInformation(token, TokenIntegrityLevel, &data, sizeof(data), &size))
        return false;
    rights->integrity = *GetSidSubAuthority(data.label.Label.Sid, 0);
    return true;
}

struct rights rights_of_process(void)
{
    struct rights rights = {0};
    HANDLE token;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return rights;
    rights.known = read_elevation(token, &rights) && read_integrity(token, &rights);
    CloseHandle(token);
    return rights;
}

bool rights_are_elevated(const struct rights *rights, bool wine)
{
    /* Under Wine all processes of a user have the same rights, and Wine reports them all as elevated. */
    if (wine)
        return false;
    return !rights->known || rights->elevated || rights->integrity > SECURITY_MANDATORY_MEDIUM_RID;
}

bool os_is_elevated(void)
{
    const struct rights rights = rights_of_process();
    return rights_are_elevated(&rights, os_is_wine());
}
