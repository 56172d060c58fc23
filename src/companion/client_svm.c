/* clEnqueueSVMFree: its callback frees the memory itself, and is Windows code, which the host cannot call. The host
 * gets two commands, each with a callback that does nothing. A thread waits for the first command and calls the
 * application's callback. The second is the application's command. It ends after the callback returns, so that no wait
 * for it or for the queue returns earlier. */
#include "companion/client.h"

#include "log.h"
#include "next/after_failure.h"
#include "next/query.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

typedef void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void *[], void *);

struct notice {
    free_function notify;
    void *data;
    cl_command_queue queue; /* one reference */
    cl_event begun;         /* one reference; of the first command */
    cl_event called;        /* one reference; a user event, for which the second command waits */
    cl_event done;          /* one reference; of the second command. PoCL accesses it when `called` is set */
    cl_uint count;
    void *pointers[];
};

static uint64_t host_function, host_callback;

static void drop(struct notice *notice)
{
    if (notice->begun)
        next.clReleaseEvent(notice->begun);
    if (notice->called)
        next.clReleaseEvent(notice->called);
    if (notice->done)
        next.clReleaseEvent(notice->done);
    next.clReleaseCommandQueue(notice->queue);
    free(notice);
}

/* Runs on its own thread. The thread for callbacks may be in one that waits for this queue, or for a lock whose owner
 * waits for the queue. */
static void over(void *data)
{
    struct notice *notice = data;
    cl_int status;
    await_end(&next, notice->begun, &status);
    if (status > CL_COMPLETE)
        status = CL_OUT_OF_RESOURCES;
    if (status == CL_COMPLETE)
        notice->notify(notice->queue, notice->count, notice->pointers, notice->data);
    next.clSetUserEventStatus(notice->called, status);
    if (status < 0)
        wait_after_failure();
    drop(notice);
}

/* The list may be in host memory, like SVM and mapped memory: Windows does not know such addresses. */
static bool read_list(void *from[], cl_uint count, void *to[])
{
    if (!os_readable_array(from, count, sizeof(*from)))
        return os_read(from, to, count * sizeof(*from));
    memcpy(to, from, count * sizeof(*from));
    return true;
}

/* Whether the whole list can exist, checked before memory for a copy is allocated: it must fit in the address space,
 * and its last element must be readable. */
static bool has_end(void *list[], cl_uint count)
{
    void *last;
    return !count ||
           (list && count <= (UINTPTR_MAX - (uintptr_t)list) / sizeof(*list) && read_list(&list[count - 1], 1, &last));
}

static struct notice *prepare(cl_command_queue queue, cl_uint count, void *pointers[], free_function notify, void *data,
                              cl_int *status)
{
    struct notice *notice = malloc(sizeof(*notice) + count * sizeof(*pointers));
    cl_context context = NULL;
    *status = notice ? next.clRetainCommandQueue(queue) : CL_OUT_OF_HOST_MEMORY;
    if (*status != CL_SUCCESS) {
        free(notice);
        return NULL;
    }
    *notice = (struct notice){notify, data, queue, NULL, NULL, NULL, count};
    if (count && !read_list(pointers, count, notice->pointers))
        *status = CL_INVALID_VALUE;
    if (*status == CL_SUCCESS)
        *status = next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    if (*status == CL_SUCCESS)
        notice->called = next.clCreateUserEvent(context, status);
    if (*status == CL_SUCCESS)
        return notice;
    drop(notice);
    return NULL;
}

static cl_int enqueue(cl_command_queue queue, cl_uint count, void *pointers[], uint64_t callback, cl_uint wait_count,
                      const cl_event *wait, cl_event *event)
{
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)queue,
                                  count,
                                  (uint64_t)(uintptr_t)pointers,
                                  callback,
                                  0,
                                  wait_count,
                                  (uint64_t)(uintptr_t)wait,
                                  (uint64_t)(uintptr_t)event};
    return client_status(host_function, 8, arguments, 0);
}

/* Starts the thread, which then owns the notice. */
static cl_int follow(struct notice *notice, cl_event begun, cl_event done)
{
    cl_int status = next.clRetainEvent(done);
    if (status != CL_SUCCESS)
        return status;
    notice->done = done;
    status = next.clRetainEvent(begun);
    if (status != CL_SUCCESS)
        return status;
    notice->begun = begun;
    os_stay_loaded();
    return os_thread_start(over, notice) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue command_queue, cl_uint num_svm_pointers,
                                           void *svm_pointers[], free_function pfn_free_func, void *user_data,
                                           cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                           cl_event *event)
{
    if (!pfn_free_func)
        return enqueue(command_queue, num_svm_pointers, svm_pointers, 0, num_events_in_wait_list, event_wait_list,
                       event);
    if (!has_end(svm_pointers, num_svm_pointers))
        return log_refuse("clEnqueueSVMFree", CL_INVALID_VALUE, "%u pointers cannot be read at %p", num_svm_pointers,
                          (void *)svm_pointers);
    cl_event begun = NULL, done = NULL;
    cl_int status;
    struct notice *notice = prepare(command_queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data, &status);
    if (!notice)
        return log_refuse("clEnqueueSVMFree", status,
                          "the pointers cannot be read, or there is no memory for the callback");
    status = enqueue(command_queue, num_svm_pointers, svm_pointers, host_callback, num_events_in_wait_list,
                     event_wait_list, &begun);
    if (status == CL_SUCCESS)
        status = enqueue(command_queue, num_svm_pointers, svm_pointers, host_callback, 1, &notice->called, &done);
    if (status == CL_SUCCESS)
        status = follow(notice, begun, done);
    if (status != CL_SUCCESS) { /* the enqueued commands have no effect */
        next.clSetUserEventStatus(notice->called, CL_COMPLETE);
        drop(notice);
    }
    if (begun)
        next.clReleaseEvent(begun);
    if (done && (status != CL_SUCCESS || !event))
        next.clReleaseEvent(done);
    else if (done)
        *event = done;
    return status;
}

void client_svm_install(cl_icd_dispatch *table)
{
    const uint64_t none = 0;
    host_function = client_find(CHANNEL_FIND, "clEnqueueSVMFree");
    host_callback = client_ask(CHANNEL_NOTHING, 1, &none);
    if (host_function && host_callback)
        table->clEnqueueSVMFree = enqueue_svm_free;
}
