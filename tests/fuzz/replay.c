/* Runs a target of libFuzzer without libFuzzer: each file of a folder, and then inputs that are put together of these files' bytes,
 * from the same seed each time.
 *
 *     NAME FOLDER [NUMBER]     so many inputs of the second kind (100000) */
#include "../tap.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct tap_case tap_case;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_FILES = 512, MOST_BYTES = 1024 };

static struct {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} files[MOST_FILES];
static unsigned file_count;

static void load(const char *folder)
{
    char name[1024];
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && file_count < MOST_FILES && (entry = readdir(open));) {
        snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(name, "rb");
        if (!file)
            continue;
        files[file_count].size = fread(files[file_count].bytes, 1, MOST_BYTES, file);
        file_count++;
        fclose(file);
    }
    if (open)
        closedir(open);
}

static uint32_t random_below(uint32_t end)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % end;
}

/* A few pieces of files, one after the other, some of their bytes changed. */
static size_t put_together(uint8_t *input)
{
    size_t size = 0;
    for (uint32_t pieces = 1 + random_below(4); pieces > 0; pieces--) {
        const unsigned file = random_below(file_count);
        const size_t from = random_below((uint32_t)files[file].size + 1),
                     length = random_below((uint32_t)(files[file].size - from) + 1);
        const size_t taken = length < MOST_BYTES - size ? length : MOST_BYTES - size;
        memcpy(input + size, files[file].bytes + from, taken);
        size += taken;
    }
    for (uint32_t changes = random_below(3); changes > 0 && size; changes--)
        input[random_below((uint32_t)size)] = (uint8_t)random_below(256);
    return size;
}

/* In memory of just that size, so that a sanitizer sees what is read behind it. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    uint8_t input[MOST_BYTES];
    const unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 100000;
    tap_line("TAP version 13");
    load(argc > 1 ? argv[1] : ".");
    for (unsigned i = 0; i < file_count; i++)
        run(files[i].bytes, files[i].size);
    for (unsigned i = 0; i < number && file_count; i++)
        run(input, put_together(input));
    printf("# %u files and %u inputs\n%s 1 - no input gives a wrong answer\n1..1\n", file_count, number,
           file_count ? "ok" : "not ok");
    return file_count ? 0 : 1;
}
