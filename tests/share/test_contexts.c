/* Contexts with interop: how they are made, and what they tell of themselves. */
#include "adapters.h"

#include "lifetime.h"

/* ---- making contexts ---- */

enum { MOST_PROPERTIES = 16 };

/* Creates a context in both ways and checks the code, the echo of the properties and the reference on the device. */
static void try_context(const struct rig *rig, const cl_context_properties *properties, size_t count, cl_int expected)
{
    const ULONG refs = rig_refs(rig->device);
    for (int by_type = 0; by_type < 2; by_type++) {
        cl_int status = 1;
        cl_context context = by_type ? clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                                     : clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, expected);
        if (expected != CL_SUCCESS) {
            CHECK(context == NULL);
            CHECK_INT(rig_refs(rig->device), refs);
        }
        if (!context)
            continue;
        cl_context_properties echo[MOST_PROPERTIES + 1] = {0};
        size_t size = 0;
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, 0, NULL, &size), CL_SUCCESS);
        CHECK_INT(size, count * sizeof(properties[0]));
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(echo), echo, &size), CL_SUCCESS);
        CHECK_INT(size, count * sizeof(properties[0]));
        CHECK_MEM(echo, properties, count * sizeof(properties[0]));
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, size - 1, echo, NULL), CL_INVALID_VALUE);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        CHECK_INT(rig_refs(rig->device), refs);
    }
}

#define TRY_CONTEXT(rig, expected, ...)                                                            \
    do {                                                                                           \
        const cl_context_properties properties_[] = {__VA_ARGS__};                                 \
        try_context((rig), properties_, sizeof(properties_) / sizeof(properties_[0]), (expected)); \
    } while (0)

SHARING_CASE("contexts: the properties come back as given", context_properties, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, name, device, CL_CONTEXT_PLATFORM, platform, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, name, device, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, CL_CONTEXT_PLATFORM, platform, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE, CL_CONTEXT_PLATFORM, platform, name, device,
                0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE, 0);
    /* NULL means that this interop is not asked for, also beside another. */
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, 0, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, device, other_api(rig)->context_device, 0, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, other_api(rig)->context_device, 0, name, device, 0);
}

/* Legal where one platform can be chosen: with one installed there is no doubt. */
SHARING_CASE("contexts: no platform named", context_without_platform, RIG_NO_CONTEXT)
{
    cl_uint platforms = 0;
    CHECK_INT(clGetPlatformIDs(0, NULL, &platforms), CL_SUCCESS);
    if (platforms != 1) {
        SKIP("there are several platforms");
        return;
    }
    TRY_CONTEXT(rig, CL_SUCCESS, rig->api->context_device, (cl_context_properties)rig->device, 0);
    TRY_CONTEXT(rig, CL_SUCCESS, rig->api->context_device, (cl_context_properties)rig->device,
                CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
}

SHARING_CASE("contexts: one reference on the device", context_device_counts, RIG_NO_CONTEXT)
{
    cl_int status = 1;
    const ULONG refs = rig_refs(rig->device);
    cl_context context = rig_make_context(rig, rig->device, true, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    CHECK_INT(rig_refs(rig->device), refs + 1);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK_INT(rig_refs(rig->device), refs);
    context = rig_make_context(rig, NULL, true, &status);
    CHECK_INT(rig_refs(rig->device), refs);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

SHARING_CASE("contexts: no property twice", context_properties_twice, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, name, device, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, name, device, CL_CONTEXT_PLATFORM, platform, name, 0, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, CL_CONTEXT_PLATFORM, platform,
                0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, name,
                device, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
    TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE,
                CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0);
}

SHARING_CASE("contexts: values that properties can't have", context_property_values, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    static const cl_context_properties bad_sync[] = {2, -1, 0x10001};
    for (size_t i = 0; i < sizeof(bad_sync) / sizeof(bad_sync[0]); i++) {
        TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, CL_CONTEXT_INTEROP_USER_SYNC,
                    bad_sync[i], 0);
        TRY_CONTEXT(rig, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, bad_sync[i],
                    0);
    }
}

/* Interop with two graphics APIs at once is the one thing that the text forbids expressly. */
SHARING_CASE("contexts: no two graphics APIs at once", context_two_apis, RIG_NO_CONTEXT)
{
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    static const cl_context_properties graphics[] = {0x2008, 0x200C, 0x4097}; /* CL_GL_CONTEXT_KHR, Apple's, VA-API's */
    struct rig other;
    if (rig_open(&other, other_api(rig), RIG_NO_CONTEXT)) {
        const ULONG refs = rig_refs(other.device);
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, name, device, other.api->context_device,
                    (cl_context_properties)other.device, 0);
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, other.api->context_device, (cl_context_properties)other.device,
                    CL_CONTEXT_PLATFORM, platform, name, device, 0);
        CHECK_INT(rig_refs(other.device), refs);
        rig_close(&other);
    }
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++) {
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, name, device, graphics[i], 0x1234, 0);
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, graphics[i], 0x1234, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    }
    for (cl_context_properties display = 0x2009; display <= 0x200B; display++) /* CL_EGL_DISPLAY_KHR... */
        TRY_CONTEXT(rig, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, name, device, display, 0x1234, 0x2008,
                    0x5678, 0);
}

static cl_int context_status(const struct rig *rig, const cl_context_properties *properties)
{
    cl_int status = 1;
    cl_context context = clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status;
}

/* OpenGL's properties without a value ask for no interop, nor does a display without a context: what the driver says about them
 * counts. */
SHARING_CASE("contexts: OpenGL without a value", context_null_opengl, RIG_NO_CONTEXT)
{
    static const cl_context_properties graphics[] = {0x2008, 0x2009, 0x200A, 0x200B, 0x200C}; /* CL_GL_CONTEXT_KHR... */
    const cl_context_properties platform = (cl_context_properties)rig->platform, name = rig->api->context_device,
                                device = (cl_context_properties)rig->device;
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++) {
        const cl_context_properties alone[] = {CL_CONTEXT_PLATFORM, platform, graphics[i], 0, 0},
                                    beside[] = {CL_CONTEXT_PLATFORM, platform, graphics[i], 0, name, device, 0};
        CHECK_INT(context_status(rig, beside), context_status(rig, alone));
    }
    for (cl_context_properties display = 0x2009; display <= 0x200B; display++) {
        const cl_context_properties alone[] = {CL_CONTEXT_PLATFORM, platform, display, 0x1234, 0},
                                    beside[] = {CL_CONTEXT_PLATFORM, platform, display, 0x1234, name, device, 0},
                                    null[] = {CL_CONTEXT_PLATFORM, platform, display, 0x1234, 0x2008, 0, 0},
                                    beside_null[] = {
                                        CL_CONTEXT_PLATFORM, platform, display, 0x1234, 0x2008, 0, name, device, 0};
        CHECK_INT(context_status(rig, beside), context_status(rig, alone));
        CHECK_INT(context_status(rig, beside_null), context_status(rig, null));
    }
}

/* What the driver says about the other arguments is still said. */
SHARING_CASE("contexts: the driver's checks remain", context_other_arguments, RIG_NO_CONTEXT)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                                rig->api->context_device, (cl_context_properties)rig->device, 0};
    const ULONG refs = rig_refs(rig->device);
    cl_int status = 1;
    CHECK(clCreateContext(properties, 0, &rig->cl_device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContext(properties, 1, NULL, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContextFromType(properties, CL_DEVICE_TYPE_ACCELERATOR, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_DEVICE_NOT_FOUND);
    CHECK(clCreateContext(properties, 0, NULL, NULL, NULL, NULL) == NULL);
    CHECK_INT(rig_refs(rig->device), refs);
}

/* ---- asking contexts ---- */

SHARING_CASE("contexts: queries of the extension", context_info, 0)
{
    struct {
        cl_bool value;
        cl_uint behind;
    } prefer = {77, 4711};
    size_t size = 0;
    void *device = NULL;
    CHECK_INT(clGetContextInfo(rig->context, rig->api->prefer_shared, sizeof(prefer), &prefer, &size), CL_SUCCESS);
    CHECK_INT(prefer.value, CL_FALSE);
    CHECK_INT(prefer.behind, 4711);
    CHECK_INT(size, sizeof(cl_bool));
    size = 0;
    CHECK_INT(clGetContextInfo(rig->context, rig->api->prefer_shared, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(cl_bool));
    CHECK_INT(clGetContextInfo(rig->context, rig->api->prefer_shared, sizeof(cl_bool) - 1, &prefer, NULL),
              CL_INVALID_VALUE);

    const ULONG refs = rig_refs(rig->device);
    CHECK_INT(clGetContextInfo(rig->context, (cl_context_info)rig->api->context_device, sizeof(device), &device, &size),
              CL_SUCCESS);
    CHECK(device == rig->device);
    CHECK_INT(size, sizeof(void *));
    CHECK_INT(
        clGetContextInfo(rig->context, (cl_context_info)rig->api->context_device, sizeof(device) - 1, &device, NULL),
        CL_INVALID_VALUE);
    CHECK_INT(rig_refs(rig->device), refs);
}

/* A context without that Direct3D answers too: nothing is faster there. */
SHARING_CASE("contexts: queries of the extension to others", context_prefers_of_others, 0)
{
    const struct rig_api *other = rig->api == &rig_d3d11 ? &rig_d3d10 : &rig_d3d11;
    cl_context plain = plain_context(rig);
    const struct {
        cl_context context;
        cl_context_info name;
    } asked[] = {{plain, rig->api->prefer_shared}, {plain, other->prefer_shared}, {rig->context, other->prefer_shared}};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        cl_bool prefer = 7;
        size_t size = 0;
        CHECK_INT(clGetContextInfo(asked[i].context, asked[i].name, sizeof(prefer), &prefer, &size), CL_SUCCESS);
        CHECK_INT(prefer, CL_FALSE);
        CHECK_INT(size, sizeof(prefer));
        CHECK_INT(clGetContextInfo(asked[i].context, asked[i].name, sizeof(prefer) - 1, &prefer, NULL),
                  CL_INVALID_VALUE);
    }
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    CHECK_INT(clGetContextInfo(NULL, rig->api->prefer_shared, 0, NULL, NULL), CL_INVALID_CONTEXT);
}

TAP_MAIN
