/* Whether this process has more rights than its user's other processes, on Windows.
 *
 * The pieces of os_is_elevated, apart so that tests can put in what no process of theirs has. Any thread may call them. */
#ifndef CLD3D_OS_RIGHTS_WIN32_H
#define CLD3D_OS_RIGHTS_WIN32_H

#include <stdbool.h>
#include <windows.h>

/* What the token of a process says. */
struct rights {
    bool known;      /* false: the token can't be read, and the rest is of no use */
    bool elevated;   /* User Account Control gave it an administrator's full rights */
    DWORD integrity; /* SECURITY_MANDATORY_..._RID */
};

/* Of this process. */
struct rights rights_of_process(void);

/* Whether a process with these rights must not be steered by its environment. */
bool rights_are_elevated(const struct rights *rights, bool wine);

#endif
