/* Makes a registry key below HKEY_LOCAL_MACHINE that everybody may read and nobody may write. For test_register.py. */
#include <windows.h>

#include <sddl.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    HKEY key;
    PSECURITY_DESCRIPTOR rules = NULL;
    LONG code =
        argc == 2 ? RegCreateKeyExA(HKEY_LOCAL_MACHINE, argv[1], 0, NULL, 0, KEY_ALL_ACCESS, NULL, &key, NULL) : 1;
    if (code == ERROR_SUCCESS &&
        !ConvertStringSecurityDescriptorToSecurityDescriptorA("D:P(A;;KR;;;WD)", SDDL_REVISION_1, &rules, NULL))
        code = (LONG)GetLastError();
    if (code == ERROR_SUCCESS)
        code = RegSetKeySecurity(key, DACL_SECURITY_INFORMATION, rules);
    printf("deny_key: Windows error %ld\n", code);
    return code != ERROR_SUCCESS;
}
