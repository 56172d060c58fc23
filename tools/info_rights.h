/* Who may replace a library that the programs of all users will load. */
#ifndef CLD3D_TOOLS_INFO_RIGHTS_H
#define CLD3D_TOOLS_INFO_RIGHTS_H

#include <stdbool.h>
#include <windows.h>

enum { RIGHTS_NAME_SIZE = 128 };

/* Finds somebody whom the owner and the list of rights of a file or folder give one of the rights in `mask`, though an
 * administrator he is not. `name` gets his identifier (S-1-...), or a word for all where there is no list. Under Wine only
 * everybody counts: it does not tell which other user a file belongs to, and root is one.
 * Returns false if there is nobody. */
bool rights_find_ordinary(PSID owner, PACL list, DWORD mask, bool wine, wchar_t name[RIGHTS_NAME_SIZE]);

/* Whether only administrators may change the library `path`, or put another in its place. If not, `why` (UTF-8) says who
 * can where. */
bool rights_keep_library(const wchar_t *path, bool wine, char *why, size_t why_size);

#endif
