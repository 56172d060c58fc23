/* Whether it is known which commands may write to objects. */
#include "handles/handles.h"

#include "log.h"
#include "settings.h"

static atomic_bool writes_unknown;

void writes_hidden(const char *why)
{
    if (!atomic_exchange_explicit(&writes_unknown, true, memory_order_relaxed))
        log_write(LOG_DEBUG, "writes to shared objects cannot be tracked: %s; every release copies all bytes back",
                  why);
}

bool writes_known(void)
{
    return setting_on(SETTING_STRICT) && !setting_on(SETTING_COPY_BACK) &&
           !atomic_load_explicit(&writes_unknown, memory_order_relaxed);
}
