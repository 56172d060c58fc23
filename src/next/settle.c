#include "next/settle.h"

#include "os/os.h"

void settle_failed(void)
{
    for (int i = 0; i < SETTLE_MS; i++)
        os_sleep_shortly();
}
