/* Whether this process runs with more rights than its user normally has, on Windows.
 *
 * The parts of os_is_elevated, separate so that tests can pass in rights that none of their processes has. Any thread
 * may call them. */
#ifndef CLD3D_OS_RIGHTS_WIN32_H
#define CLD3D_OS_RIGHTS_WIN32_H

#include <stdbool.h>
#include <windows.h>

/* The contents of a process token. */
struct rights {
    bool known;      /* false: the token cannot be read, and the rest is invalid */
    bool elevated;   /* User Account Control gave it an administrator's full rights */
    DWORD integrity; /* SECURITY_MANDATORY_..._RID */
};

/* Of this process. */
struct rights rights_of_process(void);

/* Whether a process with these rights must not be controlled by its environment. */
bool rights_are_elevated(const struct rights *rights, bool wine);

#endif
