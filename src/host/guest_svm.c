/* clEnqueueSVMFree: its callback frees the memory itself, and is Windows code, which the host can't call. The host gets one
 * that does nothing; the application's is called when the command is over. */
#include "host/guest.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

typedef void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void *[], void *);

struct notice {
    free_function notify;
    void *data;
    cl_command_queue queue; /* one reference */
    cl_uint count;
    void *pointers[];
};

static uint64_t host_function, host_callback;

static void drop(struct notice *notice)
{
    next.clReleaseCommandQueue(notice->queue);
    free(notice);
}

static void CL_CALLBACK over(cl_event event, cl_int status, void *data)
{
    struct notice *notice = data;
    (void)event;
    if (status == CL_COMPLETE)
        notice->notify(notice->queue, notice->count, notice->pointers, notice->data);
    drop(notice);
}

static struct notice *prepare(cl_command_queue queue, cl_uint count, void *pointers[], free_function notify, void *data)
{
    struct notice *notice = malloc(sizeof(*notice) + count * sizeof(*pointers));
    if (!notice || next.clRetainCommandQueue(queue) != CL_SUCCESS) {
        free(notice);
        return NULL;
    }
    *notice = (struct notice){notify, data, queue, count};
    if (count && pointers)
        memcpy(notice->pointers, pointers, count * sizeof(*pointers));
    return notice;
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
    return guest_status(host_function, 8, arguments, 0);
}

static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue command_queue, cl_uint num_svm_pointers,
                                           void *svm_pointers[], free_function pfn_free_func, void *user_data,
                                           cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                           cl_event *event)
{
    if (!pfn_free_func)
        return enqueue(command_queue, num_svm_pointers, svm_pointers, 0, num_events_in_wait_list, event_wait_list,
                       event);
    cl_event done = NULL;
    struct notice *notice = prepare(command_queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data);
    if (!notice)
        return log_refuse("clEnqueueSVMFree", CL_OUT_OF_HOST_MEMORY, "no means to call the callback");
    cl_int status = enqueue(command_queue, num_svm_pointers, svm_pointers, host_callback, num_events_in_wait_list,
                            event_wait_list, &done);
    if (status != CL_SUCCESS) {
        drop(notice);
        return status;
    }
    status = next.clSetEventCallback(done, CL_COMPLETE, over, notice);
    if (status != CL_SUCCESS) {
        log_write(LOG_ERROR, "clEnqueueSVMFree: the callback will not be called, for want of memory");
        drop(notice);
    }
    if (event)
        *event = done;
    else
        next.clReleaseEvent(done);
    return CL_SUCCESS;
}

void guest_svm_install(cl_icd_dispatch *table)
{
    const uint64_t none = 0;
    host_function = guest_find("clEnqueueSVMFree");
    host_callback = guest_ask(CHANNEL_NOTHING, 0, 1, &none);
    if (host_function && host_callback)
        table->clEnqueueSVMFree = enqueue_svm_free;
}
