/* Refuses invalid contexts that the OpenCL below would create. */
#include "emulate/emulate.h"
#include "emulate/known_devices.h"
#include "log.h"
#include "os/os.h"

typedef void(CL_CALLBACK *notify_function)(const char *, const void *, size_t, void *);

/* Checks a notify function and its data, which Wine's opencl.dll does not pass on. */
static cl_int check(const char *call, notify_function notify, const void *user_data)
{
    return notify || !user_data || !os_is_wine()
               ? CL_SUCCESS
               : log_refuse(call, CL_INVALID_VALUE,
                            "user_data is %p, but pfn_notify is NULL; pass a function or NULL for both", user_data);
}

/* Under Wine the host reads the first handle, even if it is not a device. */
static cl_int check_devices(const char *call, cl_uint count, const cl_device_id *devices)
{
    for (cl_uint i = 0; devices && i < count && os_is_wine(); i++)
        if (!known_may_be_device(devices[i]))
            return log_refuse(call, CL_INVALID_DEVICE, "device %u of the list, %p, is not a device", i,
                              (void *)devices[i]);
    return CL_SUCCESS;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint num_devices,
                                             const cl_device_id *devices, notify_function pfn_notify, void *user_data,
                                             cl_int *errcode_ret)
{
    cl_int status = check("clCreateContext", pfn_notify, user_data);
    if (status == CL_SUCCESS)
        status = check_devices("clCreateContext", num_devices, devices);
    if (status == CL_SUCCESS)
        return underlying.clCreateContext(properties, num_devices, devices, pfn_notify, user_data, errcode_ret);
    give_code(errcode_ret, status);
    return NULL;
}

/* For a type without devices PoCL returns a context and an error, and programs that check neither continue. PoCL may
 * end the process when such a context is released. */
static cl_context CL_API_CALL create_context_from_type(const cl_context_properties *properties,
                                                       cl_device_type device_type, notify_function pfn_notify,
                                                       void *user_data, cl_int *errcode_ret)
{
    cl_int status = check("clCreateContextFromType", pfn_notify, user_data);
    cl_context context = NULL;
    if (status == CL_SUCCESS) {
        status = CL_OUT_OF_RESOURCES; /* a driver that crashes below Wine sets none */
        context = underlying.clCreateContextFromType(properties, device_type, pfn_notify, user_data, &status);
    }
    give_code(errcode_ret, status);
    return status == CL_SUCCESS ? context : NULL;
}

void contexts_install(cl_icd_dispatch *table)
{
    table->clCreateContext = create_context;
    table->clCreateContextFromType = create_context_from_type;
}
