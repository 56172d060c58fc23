#include "companion/client.h"

#include "log.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>

/* The function before it is replaced: every request is sent through it, as a query of some device. A loader may use the
 * device before any layer does. */
static cl_api_clGetDeviceInfo ask;
static cl_device_id asked;
static bool joined;
static char report[160] = "none";

bool client_joined(void)
{
    return joined;
}

const char *client_report(void)
{
    return report;
}

/* If the host crashes, Wine ends the call with a code of its own; the result is then `otherwise`. */
static uint64_t ask_or(uint64_t otherwise, enum channel_action action, uint64_t address, unsigned count,
                       const uint64_t *arguments)
{
    struct channel_request request = {.version = CHANNEL_VERSION, .action = action, .address = address};
    memcpy(request.arguments, arguments, count * sizeof(*arguments));
    const cl_int status = ask(asked, CHANNEL_QUERY, sizeof(request), &request, NULL);
    return status == CL_SUCCESS ? request.result : otherwise;
}

uint64_t client_ask(enum channel_action action, unsigned count, const uint64_t *arguments)
{
    return ask_or(0, action, 0, count, arguments);
}

static uint64_t call_or(uint64_t otherwise, uint64_t address, unsigned count, const uint64_t *arguments, unsigned wide)
{
    uint32_t words[2 * CHANNEL_ARGUMENTS] = {0};
    if (sizeof(void *) == sizeof(uint64_t))
        return ask_or(otherwise, CHANNEL_CALL, address, count, arguments);
    for (unsigned i = 0, word = 0; i < count; i++) {
        words[word++] = (uint32_t)arguments[i];
        if (wide >> i & 1)
            words[word++] = (uint32_t)(arguments[i] >> 32);
    }
    uint64_t packed[CHANNEL_ARGUMENTS];
    memcpy(packed, words, sizeof(packed));
    return ask_or(otherwise, CHANNEL_CALL, address, CHANNEL_ARGUMENTS, packed);
}

uint64_t client_call(uint64_t address, unsigned count, const uint64_t *arguments, unsigned wide)
{
    return call_or(0, address, count, arguments, wide);
}

cl_int client_status(uint64_t address, unsigned count, const uint64_t *arguments, unsigned wide)
{
    return (cl_int)call_or((uint64_t)CL_OUT_OF_RESOURCES, address, count, arguments, wide);
}

uint64_t client_find(enum channel_action action, const char *name)
{
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)name};
    return client_ask(action, 1, arguments);
}

static void fill_slots(void)
{
    for (size_t i = 0; i < client_function_count; i++) {
        const struct client_function *f = &client_functions[i];
        if (!f->always && !next_is_missing(&next, f->name))
            continue;
        client_addresses[i] = client_find(CHANNEL_FIND, f->name);
        if (client_addresses[i])
            memcpy((char *)&next + f->offset, &f->function, sizeof(f->function));
    }
}

static bool find_device(void)
{
    enum { MOST = 16 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0;
    if (next.clGetPlatformIDs(MOST, platforms, &count) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < count && i < MOST && !asked; i++)
        if (next.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &asked, NULL) != CL_SUCCESS)
            asked = NULL;
    return asked != NULL;
}

void client_join(void)
{
    const uint64_t none = 0;
    ask = next.clGetDeviceInfo;
    if (!os_is_wine() || !find_device())
        return;
    const uint64_t version = client_ask(CHANNEL_HELLO, 1, &none);
    if (version && version != CHANNEL_VERSION) {
        snprintf(report, sizeof(report), "refused: its channel version is %u, that of this OpenCL.dll is %u",
                 (unsigned)version, (unsigned)CHANNEL_VERSION);
        log_write(LOG_ERROR,
                  "the companion libcld3d.so was refused: its channel version is %u, that of this OpenCL.dll is %u; "
                  "use both from the same release",
                  (unsigned)version, (unsigned)CHANNEL_VERSION);
    }
    if (version != CHANNEL_VERSION)
        return;
    joined = true;
    snprintf(report, sizeof(report), "connected, version %u of the channel", (unsigned)version);
    log_write(LOG_INFO, "the companion is connected");
    fill_slots();
#ifdef _WIN64
    client_strings_install(&next);
    client_extensions_install(&next);
#endif
}
