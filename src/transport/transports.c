#include "transport/transports.h"

#include "log.h"
#include "os/os.h"
#include "settings.h"
#include "transport/statistics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transports {
    const char *_Atomic told; /* the method that was last logged */
    struct statistics statistics;
    unsigned count;
    struct opened {
        const struct transport *transport;
        void *state; /* NULL if the transport keeps nothing */
    } opened[];      /* in the order of the list */
};

/* ---- which may be used ---- */

/* Logs once the names in the setting that do not name a transport. Returns whether any name does. */
static bool setting_names_any(const char *list)
{
    static atomic_bool said;
    const bool again = atomic_exchange_explicit(&said, true, memory_order_relaxed);
    const char *name;
    size_t length;
    bool any = false;
    for (list = setting_next_name(list, &name, &length); length; list = setting_next_name(list, &name, &length)) {
        bool known = false;
        for (unsigned i = 0; i < transport_list_count; i++)
            known = known || setting_name_is(name, length, transport_list[i]->name);
        if (!known && !again)
            log_write(LOG_WARN, "%s: there is no transport '%.*s'", setting_variable(SETTING_TRANSPORT), (int)length,
                      name);
        any = any || known;
    }
    return any;
}

/* Fills `used` with the transports that the setting names; if it names none, with all that need not be named. Returns
 * their number. */
static unsigned choose_used(const struct transport **used)
{
    const char *list = setting_text(SETTING_TRANSPORT);
    const bool all = !setting_names_any(list);
    unsigned count = 0;
    for (unsigned i = 0; i < transport_list_count; i++)
        if (all ? !transport_list[i]->by_name : setting_names(list, transport_list[i]->name))
            used[count++] = transport_list[i];
    return count;
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
        opened->state = opened->transport->open ? opened->transport->open(context) : NULL;
        if (opened->transport->open && !opened->state) {
            transports_free(transports);
            return NULL;
        }
    }
    return transports;
}

void transports_close(struct transports *transports)
{
    for (unsigned i = 0; transports && i < transports->count; i++)
        if (transports->opened[i].state && transports->opened[i].transport->close)
            transports->opened[i].transport->close(transports->opened[i].state);
}

void transports_log_costs(struct transports *transports)
{
    if (transports)
        statistics_log(&transports->statistics);
}

void transports_free(struct transports *transports)
{
    transports_close(transports);
    for (unsigned i = 0; transports && i < transports->count; i++)
        if (transports->opened[i].state)
            transports->opened[i].transport->free_state(transports->opened[i].state);
    free(transports);
}

bool transports_prefer_shared(const struct transports *transports, const struct d3d_api *api)
{
    bool prefer = false;
    for (unsigned i = 0; i < transports->count && !prefer; i++) {
        const struct opened *opened = &transports->opened[i];
        prefer = opened->transport->prefers_shared && opened->transport->prefers_shared(opened->state, api);
    }
    return prefer;
}

/* ---- the choice ---- */

enum { REASONS = TRANSPORTS_MAX * (TRANSPORT_WHY + 32) };
static _Thread_local char last_method[REASONS + 2 * TRANSPORT_WHY];

const char *transports_last_method(void)
{
    return last_method;
}

/* Logs the method of the first object, and each change: programs that create objects for each frame would otherwise fill
 * the log. */
static void tell_method(struct transports *transports, const struct transfer_request *request,
                        const struct transport *chosen, const struct transfer *made, const char *why,
                        const char *reasons)
{
    const char *method = made->method ? made->method : chosen->title;
    const char *before = atomic_exchange_explicit(&transports->told, method, memory_order_relaxed);
    snprintf(last_method, sizeof(last_method), "%s%s%s%s%s%s", chosen->title, made->method ? ": " : "",
             made->method ? made->method : "", why[0] ? "; no better method: " : "", why, reasons);
    log_write(before == method ? LOG_DEBUG : LOG_INFO, "%s: the object's transport: %s", request->call, last_method);
}

cl_int transports_create(struct transports *transports, const struct transfer_request *request, struct transfer **made)
{
    struct transfer_request own = *request;
    char why[TRANSPORT_WHY] = "", reasons[REASONS] = "";
    cl_int status = CL_INVALID_OPERATION;
    size_t length = 0;
    for (unsigned i = 0; i < transports->count; i++) {
        const struct opened *opened = &transports->opened[i];
        own.state = opened->state;
        why[0] = '\0';
        status = opened->transport->create(&own, made, why);
        if (status == CL_SUCCESS) {
            statistics_object(&transports->statistics, opened->transport, *made);
            tell_method(transports, request, opened->transport, *made, why, reasons);
            return CL_SUCCESS;
        }
        length +=
            (size_t)snprintf(reasons + length, sizeof(reasons) - length, "; not %s: %s", opened->transport->name, why);
    }
    return log_refuse(request->call, status, "%s", why);
}
