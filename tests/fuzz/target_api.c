/* The target of libFuzzer: any bytes are a sequence of calls, run beside the model. What is wrong ends the process. The
 * devices and contexts stay from one sequence to the next, as in fuzz_api. */
#include "run.h"

#include "../tap.h"

#include <stdarg.h>
#include <stdlib.h>

struct tap_case tap_case;

void fuzz_fail(const char *what, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "fuzz: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (%s)\n", what);
    va_end(arguments);
    abort();
}

void fuzz_alive(unsigned op)
{
    (void)op;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct sequence s;
    static bool open;
    if (!open)
        atexit(run_close);
    open = true;
    sequence_from_bytes(&s, bytes, size);
    run_whole(&s, false);
    return 0;
}
