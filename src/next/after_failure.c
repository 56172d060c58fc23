#include "next/after_failure.h"

#include "os/os.h"

void wait_after_failure(void)
{
    for (int i = 0; i < AFTER_FAILURE_MS; i++)
        os_sleep_shortly();
}
