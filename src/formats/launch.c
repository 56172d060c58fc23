/* Kernels and emulated images.
 *
 * A kernel that writes to an emulated image may store values that the declared format cannot hold: a third and fourth
 * channel, or more precision. The host cannot see this, but the next kernel could. So such an image is requantized
 * (converted to declared texels and back) before a kernel reads it; images that kernels only write or only read cost
 * nothing. */
#include "formats/image.h"

#include "log.h"
#include "handles/blocker.h"
#include "handles/kernel.h"

void image_kernel_access(cl_kernel kernel, cl_uint index, bool *reads, bool *writes)
{
    cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_READ_WRITE;
    if (next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL) !=
        CL_SUCCESS)
        access = CL_KERNEL_ARG_ACCESS_READ_WRITE; /* the program was built without the option of build.c */
    *reads = access != CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
    *writes = access != CL_KERNEL_ARG_ACCESS_READ_ONLY;
}

static cl_int requantize(struct image_record *image, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                         cl_event *done)
{
    static const size_t origin[3] = {0, 0, 0};
    const struct image_part all = {image, origin, image->extent, queue, wait_count, wait};
    cl_int status;
    cl_event out;
    cl_mem narrow = image_narrow_buffer(image, image->extent, &status);
    if (!narrow)
        return status;
    status = image_to_narrow(&all, narrow, NULL, &out);
    if (status == CL_SUCCESS) {
        const struct image_part behind = image_part_behind(&all, &out);
        status = image_from_narrow(&behind, narrow, NULL, done);
        if (status == CL_SUCCESS)
            event_put(out);
        else
            image_give_up(&all, out);
    }
    next.clReleaseMemObject(narrow);
    return status;
}

struct arguments {
    struct image_record *images[KERNEL_ARGUMENTS];          /* retained */
    bool reads[KERNEL_ARGUMENTS], writes[KERNEL_ARGUMENTS]; /* what the kernel may do with each */
    cl_uint count;
    struct event_list requantized; /* what the kernel waits for in addition */
};

/* Takes the event of the last requantization, to be given back by image_keep_requantized or event_put. `written`: the
 * value that must be unchanged then. */
static bool take_requantized(struct image_record *image, cl_event *requantized, cl_command_queue *in, unsigned *written)
{
    os_lock(&registry_lock);
    const bool unquantized = image->unquantized;
    *requantized = image->requantized;
    *in = image->requantized_in;
    *written = image->written;
    image->requantized = NULL;
    os_unlock(&registry_lock);
    return unquantized;
}

/* Whether a command of `queue` may rely on the requantization: it has ended, or it comes earlier in this queue. One in
 * another queue must not be waited for, because nothing would flush that queue. */
static bool relies_on(cl_event requantized, cl_command_queue in, cl_command_queue queue)
{
    return requantized &&
           (event_status(requantized) == CL_COMPLETE || (in == queue && image_command_counts(requantized)));
}

static cl_int requantize_for(struct event_list *events, struct image_record *image, cl_command_queue queue,
                             cl_uint wait_count, const cl_event *wait)
{
    cl_event requantized;
    cl_command_queue in;
    unsigned written;
    cl_int status = CL_SUCCESS;
    if (!event_list_reserve(events, 1))
        return CL_OUT_OF_HOST_MEMORY;
    if (!take_requantized(image, &requantized, &in, &written)) {
        event_put(requantized);
        return CL_SUCCESS;
    }
    const bool relied = relies_on(requantized, in, queue);
    if (!relied) {
        event_put(requantized);
        in = queue;
        status = requantize(image, queue, wait_count, wait, &requantized);
    }
    if (status != CL_SUCCESS)
        return status; /* the next launch tries again */
    const bool over = event_status(requantized) == CL_COMPLETE;
    const bool counts = (relied && over) || image_command_may_count(requantized);
    const bool keep = counts && (over || next.clRetainEvent(requantized) == CL_SUCCESS);
    if (keep)
        image_keep_requantized(image, requantized, in, written, !over);
    if (!over)
        event_list_add(events, requantized);
    else if (!keep)
        event_put(requantized);
    return CL_SUCCESS;
}

/* Requantizes the images that the kernel reads, and marks those that it writes. */
static cl_int prepare(struct arguments *a, cl_command_queue queue, cl_uint wait_count, const cl_event *wait)
{
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < a->count && status == CL_SUCCESS; i++)
        if (a->reads[i])
            status = requantize_for(&a->requantized, a->images[i], queue, wait_count, wait);
    for (cl_uint i = 0; i < a->count && status == CL_SUCCESS; i++)
        if (a->writes[i])
            image_set_unquantized(a->images[i], true);
    return status;
}

/* Makes commands that are enqueued later run after the requantization. A user event that blocks the requantization also
 * blocks the queue: the barrier is tracked in place of the kernels, so that nothing waits for it. It waits only for its
 * list, because the thread of the kernel may have entered the queue. */
static void pass_requantized(const char *call, cl_command_queue queue, const struct event_list *requantized,
                             cl_uint wait_count, const cl_event *wait)
{
    struct blocker *blocker = NULL;
    cl_event passed = NULL;
    blocker_begin(call, queue, ORDER_BEFORE_ALL | ORDER_ENTERED, wait_count, wait, false, &blocker);
    /* With PoCL, a command enqueued behind a failed one never ends; the failure may be recent. */
    const cl_int status =
        event_list_failed(requantized->count, requantized->events)
            ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
            : next.clEnqueueBarrierWithWaitList(queue, requantized->count, requantized->events, &passed);
    blocker_end(blocker, status, passed);
    event_put(passed);
}

void image_give_up(const struct image_part *p, cl_event last)
{
    struct event_list left;
    event_list_open(&left);
    if (last)
        event_list_add(&left, last);
    if (last && blockers_possible() && event_status(last) > CL_COMPLETE)
        pass_requantized("a command on an image in an emulated format", p->queue, &left, p->wait_count, p->wait);
    event_list_close(&left);
}

void image_end_kernels(const char *call, cl_command_queue queue, struct event_list *requantized, cl_uint wait_count,
                       const cl_event *wait, cl_int status)
{
    if (status != CL_SUCCESS && requantized->count)
        pass_requantized(call, queue, requantized, wait_count, wait);
    event_list_close(requantized);
}

/* Called when the driver has accepted or refused the kernels. Releases the images. */
static void end_launch(struct arguments *a, const char *call, cl_command_queue queue, cl_uint wait_count,
                       const cl_event *wait, cl_int status)
{
    for (cl_uint i = 0; i < a->count; i++) {
        if (a->writes[i])
            image_set_unquantized(a->images[i], true);
        record_release(a->images[i]);
    }
    image_end_kernels(call, queue, &a->requantized, wait_count, wait, status);
}

static cl_int collect(struct arguments *a, const char *call, cl_command_queue queue, cl_kernel kernel,
                      cl_uint *wait_count, const cl_event **wait)
{
    cl_uint indexes[KERNEL_ARGUMENTS];
    a->count = kernel_records(kernel, RECORD_IMAGE, (struct record **)a->images, indexes, KERNEL_ARGUMENTS);
    for (cl_uint i = 0; i < a->count; i++)
        image_kernel_access(kernel, indexes[i], &a->reads[i], &a->writes[i]);
    cl_int status = prepare(a, queue, *wait_count, *wait);
    if (status == CL_SUCCESS && !event_list_join(&a->requantized, wait_count, wait))
        status = CL_OUT_OF_HOST_MEMORY;
    return log_next(call, "the conversion of an image argument", status);
}

cl_int image_before_kernels(const char *call, cl_command_queue queue, cl_mem handle, bool reads, bool writes,
                            cl_uint wait_count, const cl_event *wait, struct event_list *requantized)
{
    struct image_record *image = image_get(handle);
    const cl_int status = image && reads ? requantize_for(requantized, image, queue, wait_count, wait) : CL_SUCCESS;
    if (image && writes && status == CL_SUCCESS)
        image_set_unquantized(image, true);
    record_release(image);
    return log_next(call, "the conversion of an image argument", status);
}

void image_after_kernels(cl_mem handle, bool writes)
{
    struct image_record *image = writes ? image_get(handle) : NULL;
    if (image)
        image_set_unquantized(image, true);
    record_release(image);
}

/* PoCL 3.1 crashes if the kernel is NULL. end_launch must follow in any case. */
static cl_int before_launch(struct arguments *a, const char *call, cl_command_queue queue, cl_kernel kernel,
                            cl_uint *wait_count, const cl_event **wait)
{
    a->count = 0;
    event_list_open(&a->requantized);
    if (!kernel)
        return log_refuse(call, CL_INVALID_KERNEL, "the kernel is NULL");
    return registry_hot() ? collect(a, call, queue, kernel, wait_count, wait) : CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_nd_range_kernel(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
                                                  const size_t *global_work_offset, const size_t *global_work_size,
                                                  const size_t *local_work_size, cl_uint num_events_in_wait_list,
                                                  const cl_event *event_wait_list, cl_event *event)
{
    static const char call[] = "clEnqueueNDRangeKernel";
    struct arguments arguments;
    cl_int status = before_launch(&arguments, call, command_queue, kernel, &num_events_in_wait_list, &event_wait_list);
    if (status == CL_SUCCESS)
        status = next.clEnqueueNDRangeKernel(command_queue, kernel, work_dim, global_work_offset, global_work_size,
                                             local_work_size, num_events_in_wait_list, event_wait_list, event);
    end_launch(&arguments, call, command_queue, num_events_in_wait_list, event_wait_list, status);
    return status;
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue command_queue, cl_kernel kernel,
                                       cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                       cl_event *event)
{
    static const char call[] = "clEnqueueTask";
    struct arguments arguments;
    cl_int status = before_launch(&arguments, call, command_queue, kernel, &num_events_in_wait_list, &event_wait_list);
    if (status == CL_SUCCESS)
        status = next.clEnqueueTask(command_queue, kernel, num_events_in_wait_list, event_wait_list, event);
    end_launch(&arguments, call, command_queue, num_events_in_wait_list, event_wait_list, status);
    return status;
}

void launch_install(cl_icd_dispatch *table)
{
    table->clEnqueueNDRangeKernel = enqueue_nd_range_kernel;
    table->clEnqueueTask = enqueue_task;
}
