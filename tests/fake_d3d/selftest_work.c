/* Time, failures, loss, counters, threads. */
#include "selftest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <d3d10.h>

#define READ_WRITE (D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE)
#define AS_RESOURCE(object) ((ID3D11Resource *)(object))

static unsigned milliseconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (unsigned)(time.tv_sec * 1000 + time.tv_nsec / 1000000);
}

static void nap(unsigned length)
{
    struct timespec time = {length / 1000, (long)(length % 1000) * 1000000};

    nanosleep(&time, NULL);
}

/* A DEFAULT and a STAGING buffer of four bytes that hold "old.". */
struct pair {
    ID3D11Buffer *still, *staging;
};

static struct pair pair_create(struct rig11 *rig)
{
    struct pair pair = {
        buffer11(rig, 4, D3D11_USAGE_DEFAULT, 0),
        buffer11(rig, 4, D3D11_USAGE_STAGING, READ_WRITE),
    };

    ID3D11DeviceContext_UpdateSubresource(rig->context, AS_RESOURCE(pair.still), 0, NULL, "old.", 0, 0);
    ID3D11DeviceContext_CopyResource(rig->context, AS_RESOURCE(pair.staging), AS_RESOURCE(pair.still));
    return pair;
}

static void pair_destroy(struct pair *pair)
{
    ID3D11Buffer_Release(pair->still);
    ID3D11Buffer_Release(pair->staging);
}

static void expect_contents(ID3D11Buffer *buffer, const char *text, int line)
{
    char seen[4] = "";

    fake_d3d_peek(buffer, 0, seen, 4);
    tap_check_mem(seen, text, 4, "contents", __FILE__, line);
}
#define EXPECT_CONTENTS(buffer, text) expect_contents(buffer, text, __LINE__)

/* "new." on its way through both buffers. */
static void send_new(struct rig11 *rig, struct pair *pair)
{
    char bytes[4] = {'n', 'e', 'w', '.'};

    ID3D11DeviceContext_UpdateSubresource(rig->context, AS_RESOURCE(pair->still), 0, NULL, bytes, 0, 0);
    memset(bytes, 0, sizeof bytes);
    ID3D11DeviceContext_CopyResource(rig->context, AS_RESOURCE(pair->staging), AS_RESOURCE(pair->still));
}

void test_delay11(void)
{
    struct rig11 rig = rig11_create(0);
    struct pair pair = pair_create(&rig);
    D3D11_MAPPED_SUBRESOURCE mapped;
    unsigned start;

    EXPECT_CONTENTS(pair.staging, "old.");
    fake_d3d_delay(30);
    send_new(&rig, &pair);
    nap(50); /* nothing was flushed */
    EXPECT_CONTENTS(pair.still, "old.");
    EXPECT_CONTENTS(pair.staging, "old.");
    start = milliseconds();
    ID3D11DeviceContext_Flush(rig.context);
    fake_d3d_hold(true); /* however slow this machine is */
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ,
                                      D3D11_MAP_FLAG_DO_NOT_WAIT, &mapped),
              DXGI_ERROR_WAS_STILL_DRAWING);
    fake_d3d_hold(false);
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ, 0, &mapped), S_OK);
    CHECK(milliseconds() - start >= 30);
    CHECK_MEM(mapped.pData, "new.", 4);
    ID3D11DeviceContext_Unmap(rig.context, AS_RESOURCE(pair.staging), 0);
    EXPECT_CONTENTS(pair.still, "new.");

    /* Nobody waits for the reads of a reader. */
    fake_d3d_delay(10000);
    ID3D11DeviceContext_CopyResource(rig.context, AS_RESOURCE(pair.still), AS_RESOURCE(pair.staging));
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ, 0, &mapped), S_OK);
    ID3D11DeviceContext_Unmap(rig.context, AS_RESOURCE(pair.staging), 0);
    /* Resources and devices may go while work is pending. */
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

static void *let_go(void *unused)
{
    (void)unused;
    nap(20);
    fake_d3d_hold(false);
    return NULL;
}

void test_hold11(void)
{
    struct rig11 rig = rig11_create(0);
    struct pair pair = pair_create(&rig);
    ID3D11Buffer *dynamic = buffer11(&rig, 4, D3D11_USAGE_DYNAMIC, D3D11_CPU_ACCESS_WRITE);
    D3D11_MAPPED_SUBRESOURCE mapped;
    pthread_t thread;

    fake_d3d_hold(true);
    send_new(&rig, &pair);
    ID3D11DeviceContext_Flush(rig.context);
    nap(5);
    EXPECT_CONTENTS(pair.still, "old.");
    pthread_create(&thread, NULL, let_go, NULL);
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ, 0, &mapped), S_OK);
    CHECK_MEM(mapped.pData, "new.", 4);
    ID3D11DeviceContext_Unmap(rig.context, AS_RESOURCE(pair.staging), 0);
    pthread_join(thread, NULL);

    /* A discarding map does not change what pending work reads. */
    ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(dynamic), 0, D3D11_MAP_WRITE_DISCARD, 0, &mapped);
    memcpy(mapped.pData, "1st.", 4);
    ID3D11DeviceContext_Unmap(rig.context, AS_RESOURCE(dynamic), 0);
    fake_d3d_hold(true);
    ID3D11DeviceContext_CopyResource(rig.context, AS_RESOURCE(pair.still), AS_RESOURCE(dynamic));
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(dynamic), 0, D3D11_MAP_WRITE_DISCARD, 0, &mapped), S_OK);
    memcpy(mapped.pData, "2nd.", 4);
    ID3D11DeviceContext_Unmap(rig.context, AS_RESOURCE(dynamic), 0);
    fake_d3d_hold(false);
    ID3D11DeviceContext_Flush(rig.context);
    EXPECT_CONTENTS(pair.still, "1st.");
    ID3D11Buffer_Release(dynamic);
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

static HRESULT poll(struct rig11 *rig, ID3D11Query *query, UINT flags, BOOL *data)
{
    return ID3D11DeviceContext_GetData(rig->context, (ID3D11Asynchronous *)query, data, data ? sizeof *data : 0, flags);
}

void test_queries11(void)
{
    struct rig11 rig = rig11_create(0);
    D3D11_QUERY_DESC desc = {D3D11_QUERY_EVENT, 0};
    struct pair pair = pair_create(&rig);
    ID3D11Query *query = NULL;
    BOOL data = FALSE;

    CHECK_INT(ID3D11Device_CreateQuery(rig.device, &desc, &query), S_OK);
    CHECK_INT(ID3D11Query_GetDataSize(query), sizeof(BOOL));
    CHECK_INT(poll(&rig, query, 0, &data), DXGI_ERROR_INVALID_CALL);
    ID3D11DeviceContext_Begin(rig.context, (ID3D11Asynchronous *)query);
    EXPECT_VIOLATION("no beginning");
    ID3D11DeviceContext_End(rig.context, (ID3D11Asynchronous *)query);
    CHECK_INT(poll(&rig, query, 0, &data), S_OK);
    CHECK_INT(data, TRUE);

    fake_d3d_hold(true);
    send_new(&rig, &pair);
    ID3D11DeviceContext_End(rig.context, (ID3D11Asynchronous *)query);
    CHECK_INT(poll(&rig, query, 0, NULL), S_FALSE);
    fake_d3d_hold(false);
    CHECK_INT(poll(&rig, query, 0, &data), S_OK);
    EXPECT_CONTENTS(pair.staging, "new.");

    /* One that may not flush waits forever. */
    fake_d3d_delay(1);
    ID3D11DeviceContext_End(rig.context, (ID3D11Asynchronous *)query);
    nap(3);
    CHECK_INT(poll(&rig, query, D3D11_ASYNC_GETDATA_DONOTFLUSH, &data), S_FALSE);
    nap(3);
    CHECK_INT(poll(&rig, query, D3D11_ASYNC_GETDATA_DONOTFLUSH, &data), S_FALSE);
    fake_d3d_hold(true);
    CHECK_INT(poll(&rig, query, 0, &data), S_FALSE);
    fake_d3d_hold(false);
    nap(3);
    CHECK_INT(poll(&rig, query, D3D11_ASYNC_GETDATA_DONOTFLUSH, &data), S_OK);
    CHECK_INT(ID3D11Query_Release(query), 0);
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

void test_predicates11(void)
{
    struct rig11 rig = rig11_create(0);
    D3D11_QUERY_DESC desc = {D3D11_QUERY_OCCLUSION_PREDICATE, 0};
    struct pair pair = pair_create(&rig);
    ID3D11Predicate *predicate = NULL, *found = NULL;
    BOOL value = TRUE;

    CHECK_INT(ID3D11Device_CreatePredicate(rig.device, &desc, &predicate), S_OK);
    ID3D11DeviceContext_Begin(rig.context, (ID3D11Asynchronous *)predicate);
    ID3D11DeviceContext_End(rig.context, (ID3D11Asynchronous *)predicate);
    ID3D11DeviceContext_SetPredication(rig.context, predicate, FALSE);
    send_new(&rig, &pair);
    ID3D11DeviceContext_GetPredication(rig.context, &found, &value);
    CHECK(found == predicate && !value);
    CHECK_INT(ID3D11Predicate_Release(found), 1);
    ID3D11DeviceContext_SetPredication(rig.context, NULL, FALSE);
    EXPECT_CONTENTS(pair.still, "old.");
    EXPECT_CONTENTS(pair.staging, "old.");
    ID3D11DeviceContext_SetPredication(rig.context, predicate, TRUE);
    send_new(&rig, &pair);
    EXPECT_CONTENTS(pair.staging, "new.");
    ID3D11DeviceContext_SetPredication(rig.context, NULL, FALSE);
    ID3D11DeviceContext_GetPredication(rig.context, &found, &value);
    CHECK(found == NULL);
    CHECK_INT(ID3D11Predicate_Release(predicate), 0);
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

void test_failures11(void)
{
    struct rig11 rig = rig11_create(0);
    struct pair pair = pair_create(&rig);
    D3D11_MAPPED_SUBRESOURCE mapped;
    ID3D11Buffer *buffer;
    void *out = NULL;

    CHECK_INT(fake_d3d_fail("ID3D11Device::CreateBuffer", 2, E_OUTOFMEMORY), 1);
    buffer = buffer11(&rig, 4, D3D11_USAGE_DEFAULT, 0);
    CHECK(buffer != NULL);
    CHECK(!buffer11(&rig, 4, D3D11_USAGE_DEFAULT, 0));
    CHECK_INT(ID3D11Buffer_Release(buffer), 0);
    buffer = buffer11(&rig, 4, D3D11_USAGE_DEFAULT, 0);
    CHECK_INT(ID3D11Buffer_Release(buffer), 0);

    CHECK(fake_d3d_fail("Map", 1, E_FAIL) > 1);
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ, 0, &mapped), E_FAIL);
    CHECK(mapped.pData == NULL);
    fake_d3d_fail("ID3D11DeviceContext::UpdateSubresource", 1, E_FAIL);
    send_new(&rig, &pair);
    EXPECT_CONTENTS(pair.staging, "old.");
    fake_d3d_fail("ID3D11Device::QueryInterface", 1, E_NOINTERFACE);
    CHECK_INT(ID3D11Device_QueryInterface(rig.device, &IID_IDXGIDevice, &out), E_NOINTERFACE);
    CHECK_INT(fake_d3d_fail("ID3D11Device::CreateBufer", 1, E_FAIL), 0);
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

static void *remove_later(void *device)
{
    nap(20);
    fake_d3d_remove(device, DXGI_ERROR_DEVICE_HUNG);
    return NULL;
}

void test_removal11(void)
{
    struct rig11 rig = rig11_create(0);
    struct pair pair = pair_create(&rig);
    D3D11_MAPPED_SUBRESOURCE mapped;
    pthread_t thread;

    fake_d3d_remove_after(rig.device, 2, DXGI_ERROR_DEVICE_RESET);
    send_new(&rig, &pair); /* the update still works, the copy does not */
    EXPECT_CONTENTS(pair.still, "new.");
    EXPECT_CONTENTS(pair.staging, "old.");
    CHECK_INT(ID3D11Device_GetDeviceRemovedReason(rig.device), DXGI_ERROR_DEVICE_RESET);
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ, 0, &mapped),
              DXGI_ERROR_DEVICE_REMOVED);
    CHECK(!buffer11(&rig, 4, D3D11_USAGE_DEFAULT, 0));
    pair_destroy(&pair);
    rig11_destroy(&rig);

    /* Who waits for a lost device wakes up. */
    rig = rig11_create(0);
    pair = pair_create(&rig);
    fake_d3d_hold(true);
    send_new(&rig, &pair);
    pthread_create(&thread, NULL, remove_later, rig.device);
    CHECK_INT(ID3D11DeviceContext_Map(rig.context, AS_RESOURCE(pair.staging), 0, D3D11_MAP_READ, 0, &mapped),
              DXGI_ERROR_DEVICE_REMOVED);
    pthread_join(thread, NULL);
    CHECK_INT(ID3D11Device_GetDeviceRemovedReason(rig.device), DXGI_ERROR_DEVICE_HUNG);
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

void test_counters11(void)
{
    struct rig11 rig = rig11_create(0);
    struct pair pair = pair_create(&rig);

    CHECK_INT(fake_d3d_calls("ID3D11DeviceContext::CopyResource"), 1);
    CHECK_INT(fake_d3d_calls("CreateBuffer"), 2);
    ID3D11DeviceContext_Flush(rig.context);
    CHECK_INT(fake_d3d_calls("Flush"), 1);
    fake_d3d_reset();
    CHECK_INT(fake_d3d_calls("Flush"), 0);
    CHECK_INT(fake_d3d_live_of("ID3D11Buffer"), 2);
    pair_destroy(&pair);
    rig11_destroy(&rig);
}

static void *flush_often(void *context)
{
    int i;

    for (i = 0; i < 4; i++)
        ID3D11DeviceContext_Flush((ID3D11DeviceContext *)context);
    return NULL;
}

/* Two threads flush, up to so many times; returns whether the fake saw them meet. */
static bool threads_meet(struct rig11 *rig, int rounds)
{
    pthread_t thread;

    fake_d3d_slow_calls(5000);
    while (rounds-- && !fake_d3d_violations()) {
        pthread_create(&thread, NULL, flush_often, rig->context);
        flush_often(rig->context);
        pthread_join(thread, NULL);
    }
    fake_d3d_slow_calls(0);
    return fake_d3d_violations() > 0;
}

void test_threads11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D10Multithread *multithread;
    pthread_t thread;

    CHECK(threads_meet(&rig, 50));
    CHECK(strstr(fake_d3d_last_violation(), "unprotected") != NULL);
    fake_d3d_forget_violations();
    /* Enter does nothing as long as protection is off. */
    ID3D11Device_QueryInterface(rig.device, &IID_ID3D10Multithread, (void **)&multithread);
    ID3D10Multithread_Enter(multithread);
    ID3D10Multithread_Leave(multithread);
    ID3D10Multithread_Release(multithread);
    /* One after the other is fine. */
    pthread_create(&thread, NULL, flush_often, rig.context);
    pthread_join(thread, NULL);
    flush_often(rig.context);
    rig11_destroy(&rig);
}

/* Steps only between Enter and Leave, so that a thread that breaks in would be seen. */
static int steps;

static void *step(void *argument)
{
    ID3D10Multithread *multithread = argument;
    int i;

    for (i = 0; i < 100; i++) {
        ID3D10Multithread_Enter(multithread);
        steps++;
        ID3D10Multithread_Leave(multithread);
    }
    return NULL;
}

void test_protected11(void)
{
    struct rig11 rig = rig11_create(0);
    ID3D10Multithread *multithread;
    pthread_t thread;

    ID3D11Device_QueryInterface(rig.device, &IID_ID3D10Multithread, (void **)&multithread);
    CHECK_INT(ID3D10Multithread_GetMultithreadProtected(multithread), FALSE);
    CHECK_INT(ID3D10Multithread_SetMultithreadProtected(multithread, TRUE), FALSE);
    CHECK_INT(ID3D10Multithread_GetMultithreadProtected(multithread), TRUE);
    CHECK(!threads_meet(&rig, 1));
    steps = 0;
    pthread_create(&thread, NULL, step, multithread);
    step(multithread);
    pthread_join(thread, NULL);
    CHECK_INT(steps, 200);
    /* The lock that Enter takes is the one that calls take, and may be taken again. */
    ID3D10Multithread_Enter(multithread);
    ID3D11DeviceContext_Flush(rig.context);
    ID3D10Multithread_Leave(multithread);
    ID3D10Multithread_Release(multithread);
    rig11_destroy(&rig);
}

static void *make_buffer(void *argument)
{
    struct rig11 *rig = argument;
    ID3D11Buffer *buffer = buffer11(rig, 4, D3D11_USAGE_DEFAULT, 0);

    ID3D11Buffer_Release(buffer);
    return NULL;
}

void test_single_threaded11(void)
{
    struct rig11 rig = rig11_create(D3D11_CREATE_DEVICE_SINGLETHREADED);
    struct rig11 free_threaded;
    pthread_t thread;

    make_buffer(&rig);
    CHECK_INT(fake_d3d_violations(), 0);
    pthread_create(&thread, NULL, make_buffer, &rig);
    pthread_join(thread, NULL);
    CHECK_INT(fake_d3d_violations(), 2); /* the creation and the release */
    fake_d3d_forget_violations();
    fake_d3d_check_single_threaded(false);
    pthread_create(&thread, NULL, make_buffer, &rig);
    pthread_join(thread, NULL);
    rig11_destroy(&rig);

    free_threaded = rig11_create(0);
    pthread_create(&thread, NULL, make_buffer, &free_threaded);
    make_buffer(&free_threaded);
    pthread_join(thread, NULL);
    rig11_destroy(&free_threaded);
}
