/* Kernels and emulated images.
 *
 * A kernel that writes to an emulated image may store values that the declared format cannot hold: a third and fourth
 * channel, or more precision. The host cannot see this, but the next kernel could. So such an image is requantized
 * (converted to declared texels and back) before a kernel reads it; images that kernels only write or only read cost
 * nothing. */
#include "formats/image.h"

#include "log.h"
#include "handles/kernel.h"

/* How a kernel may use the image that its argument names. */
static void kernel_access(cl_kernel kernel, cl_uint index, bool *reads, bool *writes)
{
    cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_READ_WRITE;
    if (next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL) !=
        CL_SUCCESS)
        access = CL_KERNEL_ARG_ACCESS_READ_WRITE; /* the program was built without the option of build.c */
    *reads = access != CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
    *writes = access != CL_KERNEL_ARG_ACCESS_READ_ONLY;
}

/* Requantizes an image that needs it, behind the wait list of a kernel that reads it, and adds to `list` what the kernel
 * must wait for. The image stays unquantized: another queue's kernel must not rely on this one's conversion. */
static cl_int requantize(struct image_record *image, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                         struct event_list *list)
{
    static const size_t origin[3] = {0, 0, 0};
    cl_event done = NULL;
    os_lock(&registry_lock);
    const bool unquantized = image->unquantized;
    os_unlock(&registry_lock);
    if (!unquantized)
        return CL_SUCCESS;
    if (!event_list_reserve(list, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const struct image_part all = {image, origin, image->extent, queue, wait_count, wait};
    const cl_int status = image_copy(&all, &all, NULL, &done);
    event_list_add(list, done);
    return status;
}

/* The emulated images that a kernel uses. */
struct arguments {
    struct image_record *images[KERNEL_ARGUMENTS]; /* retained */
    bool writes[KERNEL_ARGUMENTS];
    cl_uint count;
    struct event_list requantized; /* what the kernel waits for in addition */
};

/* end_launch must follow in any case. */
static cl_int before_launch(struct arguments *a, const char *call, cl_command_queue queue, cl_kernel kernel,
                            cl_uint *wait_count, const cl_event **wait)
{
    a->count = 0;
    event_list_open(&a->requantized);
    if (!kernel) /* some drivers crash */
        return log_refuse(call, CL_INVALID_KERNEL, "the kernel is NULL");
    if (!registry_hot())
        return CL_SUCCESS;
    cl_uint indexes[KERNEL_ARGUMENTS] = {0};
    bool reads[KERNEL_ARGUMENTS] = {false};
    cl_int status = CL_SUCCESS;
    a->count = kernel_records(kernel, RECORD_IMAGE, (struct record **)a->images, indexes, KERNEL_ARGUMENTS);
    for (cl_uint i = 0; i < a->count; i++)
        kernel_access(kernel, indexes[i], &reads[i], &a->writes[i]);
    for (cl_uint i = 0; i < a->count && status == CL_SUCCESS; i++)
        if (reads[i])
            status = requantize(a->images[i], queue, *wait_count, *wait, &a->requantized);
    for (cl_uint i = 0; i < a->count && status == CL_SUCCESS; i++)
        if (a->writes[i])
            image_set_unquantized(a->images[i], true);
    if (status == CL_SUCCESS && !event_list_join(&a->requantized, wait_count, wait))
        status = CL_OUT_OF_HOST_MEMORY;
    return log_next(call, "the conversion of an image argument", status);
}

/* Called when the driver has accepted or refused the kernel: later commands run after the conversions even then. */
static void end_launch(struct arguments *a, cl_command_queue queue, cl_int status)
{
    for (cl_uint i = 0; i < a->count; i++)
        record_release(a->images[i]);
    if (status != CL_SUCCESS && a->requantized.count && !event_list_failed(a->requantized.count, a->requantized.events))
        next.clEnqueueBarrierWithWaitList(queue, a->requantized.count, a->requantized.events, NULL);
    event_list_close(&a->requantized);
}

static cl_int CL_API_CALL enqueue_nd_range_kernel(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
                                                  const size_t *global_work_offset, const size_t *global_work_size,
                                                  const size_t *local_work_size, cl_uint num_events_in_wait_list,
                                                  const cl_event *event_wait_list, cl_event *event)
{
    struct arguments arguments;
    cl_int status = before_launch(&arguments, "clEnqueueNDRangeKernel", command_queue, kernel, &num_events_in_wait_list,
                                  &event_wait_list);
    if (status == CL_SUCCESS)
        status = next.clEnqueueNDRangeKernel(command_queue, kernel, work_dim, global_work_offset, global_work_size,
                                             local_work_size, num_events_in_wait_list, event_wait_list, event);
    end_launch(&arguments, command_queue, status);
    return status;
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue command_queue, cl_kernel kernel,
                                       cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                       cl_event *event)
{
    struct arguments arguments;
    cl_int status =
        before_launch(&arguments, "clEnqueueTask", command_queue, kernel, &num_events_in_wait_list, &event_wait_list);
    if (status == CL_SUCCESS)
        status = next.clEnqueueTask(command_queue, kernel, num_events_in_wait_list, event_wait_list, event);
    end_launch(&arguments, command_queue, status);
    return status;
}

void launch_install(cl_icd_dispatch *table)
{
    table->clEnqueueNDRangeKernel = enqueue_nd_range_kernel;
    table->clEnqueueTask = enqueue_task;
}
