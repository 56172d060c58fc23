#include "transport/transports.h"

#include "log.h"
#include "os/os.h"
#include "settings.h"
#include "vulkan_layer/vulkan.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METHODS_MAX = 12 }; /* of all transports together; further ones are counted with the last */

struct transports {
    const char *_Atomic told; /* the method that was last logged */
    struct method_count methods[METHODS_MAX];
    unsigned count;
    struct opened {
        const struct transport *transport;
        void *state;
    } opened[]; /* in the order of the list */
};

/* ---- which may be used ---- */

/* Fills `used` with the transports that the setting names; if it names none, with all. Returns their number. */
static unsigned choose_used(const struct transport **used)
{
    const char *setting = setting_text(SETTING_TRANSPORT);
    unsigned count = 0;
    for (unsigned i = 0; i < transport_list_count; i++)
        if (setting_names(setting, transport_list[i]->name))
            used[count++] = transport_list[i];
    if (!count && setting[0])
        log_write(LOG_WARN, "%s: '%s' names no transport", setting_variable(SETTING_TRANSPORT), setting);
    for (unsigned i = 0; i < transport_list_count && !count; i++)
        used[i] = transport_list[i];
    return count ? count : transport_list_count;
}

const char *transports_report(void)
{
    static os_mutex lock = OS_MUTEX_INIT;
    static char text[256];
    const struct transport *used[TRANSPORTS_MAX];
    size_t length = 0;
    os_lock(&lock);
    const unsigned count = text[0] ? 0 : choose_used(used);
    for (unsigned i = 0; i < count && length < sizeof(text); i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i ? ", " : "", used[i]->title);
    os_unlock(&lock);
    return text;
}

/* ---- what a context keeps ---- */

struct transports *transports_open(cl_context context)
{
    const struct transport *used[TRANSPORTS_MAX];
    const unsigned count = choose_used(used);
    struct transports *transports = calloc(1, sizeof(*transports) + count * sizeof(transports->opened[0]));
    if (!transports)
        return NULL;
    for (; transports->count < count; transports->count++) {
        struct opened *opened = &transports->opened[transports->count];
        opened->transport = used[transports->count];
        opened->state = opened->transport->open(context);
        if (!opened->state) {
            transports_free(transports);
            return NULL;
        }
    }
    return transports;
}

void transports_close(struct transports *transports)
{
    for (unsigned i = 0; transports && i < transports->count; i++)
        if (transports->opened[i].transport->close)
            transports->opened[i].transport->close(transports->opened[i].state);
}

void transports_log_costs(struct transports *transports)
{
    for (unsigned i = 0; transports && i < METHODS_MAX && log_wants_statistics(); i++) {
        struct method_count *method = &transports->methods[i];
        const unsigned long long objects = atomic_exchange(&method->objects, 0),
                                 bytes = atomic_exchange(&method->bytes, 0);
        if (objects)
            log_statistics("%llu objects shared by: %s; the CPU moved %llu bytes", objects, method->method, bytes);
    }
}

void transports_free(struct transports *transports)
{
    transports_close(transports);
    for (unsigned i = 0; transports && i < transports->count; i++)
        free(transports->opened[i].state);
    free(transports);
}

/* ---- the choice ---- */

enum { REASONS = TRANSPORTS_MAX * (TRANSPORT_WHY + 32) };
static _Thread_local char last_method[REASONS + 2 * TRANSPORT_WHY];

const char *transports_last_method(void)
{
    return last_method;
}

/* Counts an object, and logs the method of the first one and each change: programs that create objects for each frame
 * would otherwise fill the log. Each method is named by a single string constant. */
static void note_method(struct transports *transports, const char *call, struct transfer *made, const char *why,
                        const char *reasons)
{
    const struct transport *chosen = made->transport;
    const char *method = made->method ? made->method : chosen->name, *there = NULL;
    const char *before = atomic_exchange_explicit(&transports->told, method, memory_order_relaxed);
    made->count = transports->methods;
    while (made->count < &transports->methods[METHODS_MAX - 1] &&
           !atomic_compare_exchange_strong(&made->count->method, &there, method) && there != method) {
        made->count++;
        there = NULL;
    }
    atomic_store(&made->count->method, method);
    atomic_fetch_add_explicit(&made->count->objects, 1, memory_order_relaxed);
    snprintf(last_method, sizeof(last_method), "%s%s%s%s%s%s", chosen->title, made->method ? ": " : "",
             made->method ? made->method : "", why[0] ? "; no better method: " : "", why, reasons);
    log_write(before == method ? LOG_DEBUG : LOG_INFO, "%s: the object's transport: %s", call, last_method);
}

cl_int transport_refuse(char *why, cl_int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, VULKAN_WHY, format, arguments);
    va_end(arguments);
    return status;
}

cl_int transports_create(struct transports *transports, const struct transfer_request *request, struct transfer **made)
{
    struct transfer_request own = *request;
    char why[TRANSPORT_WHY] = "", reasons[REASONS] = "";
    cl_int status = CL_INVALID_OPERATION;
    size_t length = 0;
    for (unsigned i = 0; i < transports->count; i++) {
        const struct transport *transport = transports->opened[i].transport;
        own.state = transports->opened[i].state;
        why[0] = '\0';
        status = transport->create(&own, made, why);
        if (status == CL_SUCCESS) {
            note_method(transports, request->call, *made, why, reasons);
            return CL_SUCCESS;
        }
        length += (size_t)snprintf(reasons + length, sizeof(reasons) - length, "; not %s: %s", transport->name, why);
    }
    return log_refuse(request->call, status, "%s", why);
}
