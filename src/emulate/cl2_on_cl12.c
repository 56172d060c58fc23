/* Functions of OpenCL 2.0 to 3.0 that can be emulated on OpenCL 1.2, for an OpenCL below that lacks them (Wine's
 * opencl.dll ends with 1.2); and queries about the other functions: a device must not report features whose functions
 * cannot be called. */
#include "emulate/emulate.h"
#include "log.h"
#include "next/handle.h"
#include "next/query.h"

#include <string.h>

/* ---- queues, samplers, buffers, images with properties ---- */

/* Only such a device may be queried: drivers crash in queries about anything else. */
static bool context_has_device(cl_context context, cl_device_id device)
{
    struct device_list devices;
    bool found = false;
    if (!handle_may_be(context, clGetContextInfo) || devices_of_context(&underlying, context, &devices) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < devices.count && !found; i++)
        found = devices.at[i] == device;
    return found;
}

/* Whether a property is a hint of an extension that the device lists: a hint may be ignored. */
static bool is_hint(cl_context context, cl_device_id device, cl_queue_properties name)
{
    const char *extension = name == CL_QUEUE_PRIORITY_KHR   ? "cl_khr_priority_hints"
                            : name == CL_QUEUE_THROTTLE_KHR ? "cl_khr_throttle_hints"
                                                            : NULL;
    char text[16384];
    return extension && context_has_device(context, device) &&
           next.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL) == CL_SUCCESS &&
           words_have(text, extension, strlen(extension));
}

static bool is_level(cl_queue_properties value)
{
    return value == CL_QUEUE_PRIORITY_HIGH_KHR || value == CL_QUEUE_PRIORITY_MED_KHR ||
           value == CL_QUEUE_PRIORITY_LOW_KHR;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 const cl_queue_properties *properties, cl_int *errcode_ret)
{
    static const char call[] = "clCreateCommandQueueWithProperties";
    const cl_command_queue_properties known = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
    cl_command_queue_properties bits = 0;
    cl_int status = CL_SUCCESS;
    for (const cl_queue_properties *p = properties; p && p[0] && status == CL_SUCCESS; p += 2)
        if (p[0] == CL_QUEUE_PROPERTIES && !(p[1] & ~known))
            bits = p[1];
        else if (p[0] == CL_QUEUE_PROPERTIES || p[0] == CL_QUEUE_SIZE)
            status = log_refuse(call, CL_INVALID_QUEUE_PROPERTIES,
                                "property 0x%llx is 0x%llx; the OpenCL below has no on-device queues",
                                (unsigned long long)p[0], (unsigned long long)p[1]);
        else if (!is_hint(context, device, p[0]) || !is_level(p[1]))
            status = log_refuse(call, CL_INVALID_VALUE, "unknown property 0x%llx, or value 0x%llx",
                                (unsigned long long)p[0], (unsigned long long)p[1]);
    if (status == CL_SUCCESS)
        return underlying.clCreateCommandQueue(context, device, bits, errcode_ret);
    give_code(errcode_ret, status);
    return NULL;
}

/* PoCL 3.1 ends the process if an on-device queue is requested. */
static bool wants_missing_device_queue(cl_context context, cl_device_id device, const cl_queue_properties *properties)
{
    cl_command_queue_properties can = 0;
    bool wants = false;
    for (const cl_queue_properties *p = properties; p && p[0]; p += 2)
        wants = wants || (p[0] == CL_QUEUE_PROPERTIES && (p[1] & (CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT)));
    return wants && context_has_device(context, device) &&
           underlying.clGetDeviceInfo(device, CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, sizeof(can), &can, NULL) ==
               CL_SUCCESS &&
           !can;
}

static cl_command_queue CL_API_CALL check_queue(cl_context context, cl_device_id device,
                                                const cl_queue_properties *properties, cl_int *errcode_ret)
{
    static const char call[] = "clCreateCommandQueueWithProperties";
    cl_int status = CL_OUT_OF_RESOURCES; /* a driver that crashes below Wine sets none */
    cl_command_queue queue = NULL;
    if (wants_missing_device_queue(context, device, properties))
        status = log_refuse(call, CL_INVALID_QUEUE_PROPERTIES, "the device has no on-device queues");
    else
        queue = underlying.clCreateCommandQueueWithProperties(context, device, properties, &status);
    if (status == CL_INVALID_PROPERTY) /* not allowed here by the specification, but rusticl 22.3 returns it */
        status = log_refuse(call, CL_INVALID_VALUE, "the driver does not know one of the properties");
    give_code(errcode_ret, status);
    return queue;
}

static cl_sampler CL_API_CALL create_sampler(cl_context context, const cl_sampler_properties *properties,
                                             cl_int *errcode_ret)
{
    static const cl_sampler_properties names[3] = {CL_SAMPLER_NORMALIZED_COORDS, CL_SAMPLER_ADDRESSING_MODE,
                                                   CL_SAMPLER_FILTER_MODE};
    cl_sampler_properties values[3] = {CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST};
    bool given[3] = {false};
    for (const cl_sampler_properties *p = properties; p && p[0]; p += 2) {
        int i = 0;
        while (i < 3 && names[i] != p[0])
            i++;
        if (i == 3 || given[i]) {
            const cl_int status = log_refuse("clCreateSamplerWithProperties", CL_INVALID_VALUE,
                                             "property 0x%llx is unknown or given twice", (unsigned long long)p[0]);
            give_code(errcode_ret, status);
            return NULL;
        }
        given[i] = true;
        values[i] = p[1];
    }
    return underlying.clCreateSampler(context, (cl_bool)values[0], (cl_addressing_mode)values[1],
                                      (cl_filter_mode)values[2], errcode_ret);
}

/* PoCL 3.1 and NVIDIA's driver refuse to create a sampler without a list of properties. */
static cl_sampler CL_API_CALL check_sampler(cl_context context, const cl_sampler_properties *properties,
                                            cl_int *errcode_ret)
{
    cl_int status = CL_OUT_OF_RESOURCES;
    cl_sampler sampler = underlying.clCreateSamplerWithProperties(context, properties, &status);
    if (!sampler && (!properties || !properties[0]))
        return create_sampler(context, NULL, errcode_ret);
    give_code(errcode_ret, status);
    return sampler;
}

/* Refuses all properties: the specification has none that OpenCL 1.2 can express. */
static bool has_properties(const char *call, const cl_mem_properties *properties, cl_int *errcode_ret)
{
    if (!properties || !properties[0])
        return false;
    const cl_int status =
        log_refuse(call, CL_INVALID_PROPERTY, "unknown property 0x%llx", (unsigned long long)properties[0]);
    give_code(errcode_ret, status);
    return true;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                        size_t size, void *host_ptr, cl_int *errcode_ret)
{
    if (has_properties("clCreateBufferWithProperties", properties, errcode_ret))
        return NULL;
    return underlying.clCreateBuffer(context, flags, size, host_ptr, errcode_ret);
}

static cl_mem CL_API_CALL create_image(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                       const cl_image_format *image_format, const cl_image_desc *image_desc,
                                       void *host_ptr, cl_int *errcode_ret)
{
    if (has_properties("clCreateImageWithProperties", properties, errcode_ret))
        return NULL;
    return underlying.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
}

/* ---- queries ---- */

/* Queries about features whose functions are missing: they are answered with zeros. */
static bool promises_too_much(cl_device_info name)
{
    switch (name) {
    case CL_DEVICE_SVM_CAPABILITIES:
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS:
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES:
    case CL_DEVICE_PIPE_SUPPORT:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
    case CL_DEVICE_MAX_NUM_SUB_GROUPS:
    case CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS: return true;
    default: return false;
    }
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    static const cl_ulong zero = 0;
    const bool text = param_name == CL_DEVICE_IL_VERSION, list = param_name == CL_DEVICE_ILS_WITH_VERSION;
    size_t size = 0;
    if (!text && !list && !promises_too_much(param_name))
        return underlying.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_int status = underlying.clGetDeviceInfo(device, param_name, 0, NULL, &size);
    if (status != CL_SUCCESS)
        return status;
    size = text ? 1 : list ? 0 : size < sizeof(zero) ? size : sizeof(zero);
    return answer("clGetDeviceInfo", &zero, size, param_value_size, param_value, param_value_size_ret);
}

/* ---- installation ---- */

void cl2_install(cl_icd_dispatch *table)
{
    if (next_is_missing(table, "clGetPlatformIDs"))
        return; /* there is no OpenCL at all */
    if (next_is_missing(table, "clCreateCommandQueueWithProperties"))
        table->clCreateCommandQueueWithProperties = create_queue;
    else
        table->clCreateCommandQueueWithProperties = check_queue;
    table->clCreateSamplerWithProperties =
        next_is_missing(table, "clCreateSamplerWithProperties") ? create_sampler : check_sampler;
    if (next_is_missing(table, "clCreateBufferWithProperties"))
        table->clCreateBufferWithProperties = create_buffer;
    if (next_is_missing(table, "clCreateImageWithProperties"))
        table->clCreateImageWithProperties = create_image;
    if (next_is_missing(table, "clCloneKernel"))
        clone_kernel_install(table);
    if (next_is_missing(table, "clSVMAlloc"))
        table->clGetDeviceInfo = get_device_info;
    timers_install(table, !next_is_missing(table, "clGetHostTimer"));
}
