/* Contexts that are to be refused, and that somebody below makes all the same. */
#include "emulate/emulate.h"
#include "emulate/listed.h"
#include "log.h"
#include "os/os.h"

typedef void(CL_CALLBACK *notify_function)(const char *, const void *, size_t, void *);

/* Wine's opencl.dll keeps both to itself. */
static cl_int check(const char *call, notify_function notify, const void *user_data)
{
    return notify || !user_data || !os_is_wine()
               ? CL_SUCCESS
               : log_refuse(call, CL_INVALID_VALUE,
                            "user_data is %p, but pfn_notify is NULL; pass a function or NULL for both", user_data);
}

/* The host looks into the first, whatever it is. */
static cl_int check_devices(const char *call, cl_uint count, const cl_device_id *devices)
{
    for (cl_uint i = 0; devices && i < count && os_is_wine(); i++)
        if (!listed_may_be_device(devices[i]))
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

/* PoCL gives a context and an error for a type without devices, so that programs which look at neither go on. It may end the process
 * where such a context is released. */
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
