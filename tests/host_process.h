/* What the process of a test takes on the host, which under Wine its own numbers do not tell: memory and file descriptors. */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dirent.h>
#endif

/* Entries of a folder. */
static inline double count_entries(const char *path)
{
    double count = 0;
#ifdef _WIN32
    char pattern[128];
    WIN32_FIND_DATAA entry;
    snprintf(pattern, sizeof(pattern), "%s\\*", path);
    HANDLE search = FindFirstFileA(pattern, &entry);
    if (search == INVALID_HANDLE_VALUE)
        return 0;
    do
        count++;
    while (FindNextFileA(search, &entry));
    FindClose(search);
#else
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
#endif
    return count;
}

static inline double resident(const char *path)
{
    unsigned long all = 0, pages = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &all, &pages) != 2)
        pages = 0;
    fclose(file);
    return pages * 4096.0;
}

#ifdef _WIN32
#define HOST_PROC "Z:\\proc"
#else
#define HOST_PROC "/proc"
#endif

/* The process as the host has it: what the drivers take there counts too. */
static char host_process[32] = "self";

static inline double process_memory(const char *process)
{
    char path[64];
    snprintf(path, sizeof(path), HOST_PROC "/%s/statm", process);
    return resident(path);
}

#ifdef _WIN32
/* Whether a process of the host runs this program, or starts it: its command line ends with the name, and some zeros where
 * Wine has written it again. */
static inline bool runs_this(const char *process, const char *name)
{
    const size_t wanted = strlen(name);
    char path[64], line[1200];
    snprintf(path, sizeof(path), HOST_PROC "\\%s\\cmdline", process);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(line, 1, sizeof(line), file) : 0;
    if (file)
        fclose(file);
    while (length > 0 && line[length - 1] == '\0')
        length--;
    return length >= wanted && memcmp(line + length - wanted, name, wanted) == 0;
}

/* Wine does not tell the host's number of a process: looks for that which runs this program. Scripts that started it are smaller. */
static inline void find_host_process(const char *name)
{
    WIN32_FIND_DATAA entry;
    HANDLE search = FindFirstFileA(HOST_PROC "\\*", &entry);
    double most = 0;
    while (search != INVALID_HANDLE_VALUE && FindNextFileA(search, &entry)) {
        const double memory =
            atoi(entry.cFileName) && runs_this(entry.cFileName, name) ? process_memory(entry.cFileName) : 0;
        if (memory <= most)
            continue;
        most = memory;
        snprintf(host_process, sizeof(host_process), "%.20s", entry.cFileName);
    }
    if (search != INVALID_HANDLE_VALUE)
        FindClose(search);
}

#else
static inline void find_host_process(const char *name)
{
    (void)name;
}
#endif

static inline double count_files(void)
{
    char path[64];
    snprintf(path, sizeof(path), HOST_PROC "/%s/fd", host_process);
    return count_entries(path);
}

#endif
