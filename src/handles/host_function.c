/* Functions of the program that a driver calls when it runs a command: native kernels, and functions that free shared
 * virtual memory. Drivers call them on the threads that run their commands, and the command ends when they return. So
 * they must not wait for a command, as in a callback. They may still set a user event or release an object. */
#include "handles/handles.h"

#include "log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The functions below the replaced ones. */
static cl_int(CL_API_CALL *native_below)(cl_command_queue, void(CL_CALLBACK *)(void *), void *, size_t, cl_uint,
                                         const cl_mem *, const void **, cl_uint, const cl_event *, cl_event *);
static cl_int(CL_API_CALL *free_below)(cl_command_queue, cl_uint, void **,
                                       void(CL_CALLBACK *)(cl_command_queue, cl_uint, void **, void *), void *, cl_uint,
                                       const cl_event *, cl_event *);

/* ---- native kernels ---- */

/* The arguments that the driver copies: this, followed by the program's. */
union native {
    struct {
        void(CL_CALLBACK *function)(void *);
        bool has_arguments;
    } of;
    max_align_t alignment;
};

static void CL_CALLBACK run_native(void *arguments)
{
    union native *native = arguments;
    struct callback_entry entry;
    callback_enter_command(&entry);
    native->of.function(native->of.has_arguments ? native + 1 : NULL);
    callback_leave(&entry);
}

/* Translates the places of memory objects in the program's arguments to those in the extended ones. NULL: out of
 * memory. */
static const void **move_places(const void *from, const void *to, cl_uint count, const void *const *places)
{
    const void **moved = calloc((size_t)count + 1, sizeof(*moved));
    for (cl_uint i = 0; moved && i < count; i++)
        moved[i] = (const char *)to + ((uintptr_t)places[i] - (uintptr_t)from);
    return moved;
}

/* Whether the arguments follow the rules; others are left to the driver. */
static bool is_well_formed(void(CL_CALLBACK *function)(void *), const void *arguments, size_t size, cl_uint count,
                           const cl_mem *objects, const void *const *places)
{
    return function && !arguments == !size && size <= SIZE_MAX - sizeof(union native) &&
           (count ? objects && places && arguments : !objects && !places);
}

static cl_int CL_API_CALL enqueue_native_kernel(cl_command_queue command_queue, void(CL_CALLBACK *user_func)(void *),
                                                void *args, size_t cb_args, cl_uint num_mem_objects,
                                                const cl_mem *mem_list, const void **args_mem_loc,
                                                cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                                cl_event *event)
{
    if (!registry_hot() || !is_well_formed(user_func, args, cb_args, num_mem_objects, mem_list, args_mem_loc))
        return native_below(command_queue, user_func, args, cb_args, num_mem_objects, mem_list, args_mem_loc,
                            num_events_in_wait_list, event_wait_list, event);
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    union native *native = calloc(1, sizeof(*native) + cb_args);
    const void **places = native ? move_places(args, native + 1, num_mem_objects, args_mem_loc) : NULL;
    if (places) {
        native->of.function = user_func;
        native->of.has_arguments = cb_args != 0;
        if (cb_args)
            memcpy(native + 1, args, cb_args);
        status = native_below(command_queue, run_native, native, sizeof(*native) + cb_args, num_mem_objects, mem_list,
                              num_mem_objects ? places : NULL, num_events_in_wait_list, event_wait_list, event);
    } else {
        log_refuse("clEnqueueNativeKernel", status, "no memory to track the function");
    }
    free(places);
    free(native);
    return status;
}

/* ---- shared virtual memory ---- */

/* The program's function, until it has been called. */
struct notice {
    void(CL_CALLBACK *notify)(cl_command_queue, cl_uint, void **, void *);
    void *data;
};

static void CL_CALLBACK on_free(cl_command_queue queue, cl_uint count, void **pointers, void *data)
{
    struct notice *notice = data;
    struct callback_entry entry;
    callback_enter_command(&entry);
    notice->notify(queue, count, pointers, notice->data);
    callback_leave(&entry);
    free(notice);
}

static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue command_queue, cl_uint num_svm_pointers,
                                           void **svm_pointers,
                                           void(CL_CALLBACK *pfn_free_func)(cl_command_queue, cl_uint, void **, void *),
                                           void *user_data, cl_uint num_events_in_wait_list,
                                           const cl_event *event_wait_list, cl_event *event)
{
    if (!registry_hot() || !pfn_free_func)
        return free_below(command_queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data,
                          num_events_in_wait_list, event_wait_list, event);
    struct notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return log_refuse("clEnqueueSVMFree", CL_OUT_OF_HOST_MEMORY, "no memory to track the function");
    *notice = (struct notice){pfn_free_func, user_data};
    const cl_int status = free_below(command_queue, num_svm_pointers, svm_pointers, on_free, notice,
                                     num_events_in_wait_list, event_wait_list, event);
    if (status != CL_SUCCESS)
        free(notice);
    return status;
}

void host_function_install(cl_icd_dispatch *table)
{
    native_below = table->clEnqueueNativeKernel;
    free_below = table->clEnqueueSVMFree;
    table->clEnqueueNativeKernel = enqueue_native_kernel;
    table->clEnqueueSVMFree = enqueue_svm_free;
}
