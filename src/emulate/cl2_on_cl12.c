/* Functions of OpenCL 2.0 to 3.0 that OpenCL 1.2 can do, for an OpenCL below that lacks them (Wine's opencl.dll ends with
 * 1.2); and queries about the other functions: programs call what a device reports. */
#include "emulate/emulate.h"

#include "log.h"
#include "next/query.h"

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 const cl_queue_properties *properties, cl_int *errcode_ret)
{
    cl_command_queue_properties bits = 0;
    for (const cl_queue_properties *p = properties; p && p[0]; p += 2) {
        if (p[0] != CL_QUEUE_PROPERTIES || p[1] & CL_QUEUE_ON_DEVICE) {
            give_code(errcode_ret,
                      log_refuse("clCreateCommandQueueWithProperties",
                                 p[0] == CL_QUEUE_PROPERTIES ? CL_INVALID_QUEUE_PROPERTIES : CL_INVALID_VALUE,
                                 "the OpenCL below cannot have property 0x%llx with value 0x%llx",
                                 (unsigned long long)p[0], (unsigned long long)p[1]));
            return NULL;
        }
        bits = p[1];
    }
    return underlying.clCreateCommandQueue(context, device, bits, errcode_ret);
}

static cl_sampler CL_API_CALL create_sampler(cl_context context, const cl_sampler_properties *properties,
                                             cl_int *errcode_ret)
{
    cl_bool normalized = CL_TRUE;
    cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
    cl_filter_mode filter = CL_FILTER_NEAREST;
    for (const cl_sampler_properties *p = properties; p && p[0]; p += 2)
        switch (p[0]) {
        case CL_SAMPLER_NORMALIZED_COORDS: normalized = (cl_bool)p[1]; break;
        case CL_SAMPLER_ADDRESSING_MODE: addressing = (cl_addressing_mode)p[1]; break;
        case CL_SAMPLER_FILTER_MODE: filter = (cl_filter_mode)p[1]; break;
        default:
            give_code(errcode_ret, log_refuse("clCreateSamplerWithProperties", CL_INVALID_VALUE,
                                              "unknown property 0x%llx", (unsigned long long)p[0]));
            return NULL;
        }
    return underlying.clCreateSampler(context, normalized, addressing, filter, errcode_ret);
}

/* The specification has no properties that OpenCL 1.2 can express. */
static bool has_properties(const char *call, const cl_mem_properties *properties, cl_int *errcode_ret)
{
    if (!properties || !properties[0])
        return false;
    give_code(errcode_ret,
              log_refuse(call, CL_INVALID_PROPERTY, "unknown property 0x%llx", (unsigned long long)properties[0]));
    return true;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                        size_t size, void *host_ptr, cl_int *errcode_ret)
{
    return has_properties("clCreateBufferWithProperties", properties, errcode_ret)
               ? NULL
               : underlying.clCreateBuffer(context, flags, size, host_ptr, errcode_ret);
}

static cl_mem CL_API_CALL create_image(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                       const cl_image_format *image_format, const cl_image_desc *image_desc,
                                       void *host_ptr, cl_int *errcode_ret)
{
    return has_properties("clCreateImageWithProperties", properties, errcode_ret)
               ? NULL
               : underlying.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
}

/* Zeros for features whose functions are missing. */
static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    static const cl_ulong zero = 0;
    size_t size = 0;
    switch (param_name) {
    case CL_DEVICE_SVM_CAPABILITIES:
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES:
    case CL_DEVICE_PIPE_SUPPORT:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_MAX_NUM_SUB_GROUPS: break;
    default: return underlying.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
    }
    const cl_int status = underlying.clGetDeviceInfo(device, param_name, 0, NULL, &size);
    return status == CL_SUCCESS && size <= sizeof(zero)
               ? answer("clGetDeviceInfo", &zero, size, param_value_size, param_value, param_value_size_ret)
               : status;
}

void cl2_install(cl_icd_dispatch *table)
{
    if (next_is_missing(table, "clGetPlatformIDs"))
        return; /* there is no OpenCL at all */
    if (next_is_missing(table, "clCreateCommandQueueWithProperties"))
        table->clCreateCommandQueueWithProperties = create_queue;
    if (next_is_missing(table, "clCreateSamplerWithProperties"))
        table->clCreateSamplerWithProperties = create_sampler;
    if (next_is_missing(table, "clCreateBufferWithProperties"))
        table->clCreateBufferWithProperties = create_buffer;
    if (next_is_missing(table, "clCreateImageWithProperties"))
        table->clCreateImageWithProperties = create_image;
    if (next_is_missing(table, "clSVMAlloc"))
        table->clGetDeviceInfo = get_device_info;
}
