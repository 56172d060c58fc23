/* Contexts with interop, of each version of Direct3D: how they are made, and what they tell of themselves. */
#include "adapters.h"
#include "common/dx9.h"

#include <CL/cl_d3d11.h>
#include <CL/cl_gl.h>

/* ---- the sides ---- */

/* What a context is made for. */
struct side {
    const struct rig *rig;             /* platform and device of OpenCL */
    cl_context_properties name, other; /* the property, and another one of the same kind */
    void *device;
    cl_int invalid;
};

static void over_d3d1x(const struct rig *rig, void (*body)(const struct side *))
{
    body(&(struct side){rig, rig->api->context_device, other_api(rig)->context_device, rig->device,
                        rig->api->invalid_device});
}

/* By the names of the Khronos extension and of Intel's; devices of both kinds have either type. */
static void over_dx9(const struct dx9 *dx9, void (*body)(const struct side *))
{
    const cl_context_properties khronos[] = {CL_CONTEXT_ADAPTER_D3D9_KHR, CL_CONTEXT_ADAPTER_D3D9EX_KHR},
                                intel[] = {CL_CONTEXT_D3D9_DEVICE_INTEL, CL_CONTEXT_D3D9EX_DEVICE_INTEL};
    for (int i = 0; i < 2; i++) {
        body(&(struct side){&dx9->rig, khronos[i], khronos[!i], dx9->device, CL_INVALID_DX9_MEDIA_ADAPTER_KHR});
        body(&(struct side){&dx9->rig, intel[i], khronos[i], dx9->device, CL_INVALID_DX9_DEVICE_INTEL});
    }
}

#define SIDE_CASE(text, name)                        \
    static void name(const struct side *side);       \
    SHARING_CASE(text, name##_d3d1x, RIG_NO_CONTEXT) \
    {                                                \
        over_d3d1x(rig, name);                       \
    }                                                \
    DX9_CASE(text, name##_dx9, RIG_NO_CONTEXT)       \
    {                                                \
        over_dx9(dx9, name);                         \
    }                                                \
    static void name(const struct side *side)

/* ---- making contexts ---- */

enum { MOST_PROPERTIES = 16 };

static bool asks_for(const cl_context_properties *properties, size_t count, const void *device)
{
    for (size_t i = 1; i < count; i += 2)
        if (properties[i] == (cl_context_properties)device)
            return true;
    return false;
}

/* Creates a context in both ways and checks the code, the echo of the properties and the one reference on the device. */
static void try_context(const struct side *side, const cl_context_properties *properties, size_t count, cl_int expected)
{
    const ULONG refs = rig_refs(side->device);
    for (int by_type = 0; by_type < 2; by_type++) {
        cl_int status = 1;
        cl_context context = by_type ? clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                                     : clCreateContext(properties, 1, &side->rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, expected);
        if (!CHECK_INT(context != NULL, expected == CL_SUCCESS) || !context)
            continue;
        cl_context_properties echo[MOST_PROPERTIES + 1] = {0};
        size_t size = 0;
        CHECK_INT(rig_refs(side->device) - refs, asks_for(properties, count, side->device));
        CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(echo), echo, &size), CL_SUCCESS);
        CHECK_INT(size, count * sizeof(properties[0]));
        CHECK_MEM(echo, properties, count * sizeof(properties[0]));
        CHECK_INT(clRetainContext(context), CL_SUCCESS);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        CHECK_INT(rig_refs(side->device) - refs, asks_for(properties, count, side->device));
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
    CHECK_INT(rig_refs(side->device), refs);
}

#define TRY_CONTEXT(side, expected, ...)                                                            \
    do {                                                                                            \
        const cl_context_properties properties_[] = {__VA_ARGS__};                                  \
        try_context((side), properties_, sizeof(properties_) / sizeof(properties_[0]), (expected)); \
    } while (0)

static const cl_context_properties sync = CL_CONTEXT_INTEROP_USER_SYNC;

SIDE_CASE("properties come back as given", context_properties)
{
    const cl_context_properties platform = (cl_context_properties)side->rig->platform, name = side->name,
                                device = (cl_context_properties)side->device;
    TRY_CONTEXT(side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    TRY_CONTEXT(side, CL_SUCCESS, name, device, sync, CL_TRUE, CL_CONTEXT_PLATFORM, platform, 0);
    TRY_CONTEXT(side, CL_SUCCESS, sync, CL_FALSE, CL_CONTEXT_PLATFORM, platform, name, device, 0);
    TRY_CONTEXT(side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, sync, CL_TRUE, 0);
    /* NULL means that this interop is not asked for, also beside another. */
    TRY_CONTEXT(side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, 0, 0);
    TRY_CONTEXT(side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, name, device, side->other, 0, 0);
    TRY_CONTEXT(side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, side->other, 0, name, device, 0);
}

SIDE_CASE("no property twice, and no values that it can't have", bad_properties)
{
    const cl_context_properties platform = (cl_context_properties)side->rig->platform, name = side->name,
                                device = (cl_context_properties)side->device;
    static const cl_context_properties bad_sync[] = {2, -1, 0x10001};
    TRY_CONTEXT(side, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, name, device, 0);
    TRY_CONTEXT(side, CL_INVALID_PROPERTY, name, device, CL_CONTEXT_PLATFORM, platform, name, 0, 0);
    TRY_CONTEXT(side, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, CL_CONTEXT_PLATFORM, platform,
                0);
    TRY_CONTEXT(side, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, sync, CL_TRUE, name, device, sync, CL_TRUE,
                0);
    TRY_CONTEXT(side, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, sync, CL_FALSE, sync, CL_TRUE, 0);
    for (size_t i = 0; i < sizeof(bad_sync) / sizeof(bad_sync[0]); i++) {
        TRY_CONTEXT(side, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, name, device, sync, bad_sync[i], 0);
        TRY_CONTEXT(side, CL_INVALID_PROPERTY, CL_CONTEXT_PLATFORM, platform, sync, bad_sync[i], 0);
    }
}

/* Legal where one platform can be chosen: with one installed there is no doubt. */
SIDE_CASE("no platform named", context_without_platform)
{
    cl_uint platforms = 0;
    CHECK_INT(clGetPlatformIDs(0, NULL, &platforms), CL_SUCCESS);
    if (platforms != 1) {
        SKIP("there are several platforms");
        return;
    }
    TRY_CONTEXT(side, CL_SUCCESS, side->name, (cl_context_properties)side->device, sync, CL_TRUE, 0);
}

/* What the driver says about the other arguments is still said. */
SIDE_CASE("the driver's checks remain", context_other_arguments)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)side->rig->platform,
                                                side->name, (cl_context_properties)side->device, 0};
    const ULONG refs = rig_refs(side->device);
    cl_int status = 1;
    CHECK(clCreateContext(properties, 0, &side->rig->cl_device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContext(properties, 1, NULL, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContextFromType(properties, CL_DEVICE_TYPE_ACCELERATOR, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_DEVICE_NOT_FOUND);
    CHECK(clCreateContext(properties, 0, NULL, NULL, NULL, NULL) == NULL);
    CHECK_INT(rig_refs(side->device), refs);
}

static cl_int status_of(const struct rig *rig, const cl_context_properties *properties)
{
    cl_int status = 1;
    cl_context context = clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status;
}

/* Properties of other graphics APIs: a display alone asks for no interop, nor does NULL. Then what the driver says without
 * Direct3D counts. Of Direct3D 9 it always does, by the Khronos extension; else interop with two graphics APIs is what the text
 * forbids expressly. */
SIDE_CASE("other graphics APIs", context_two_apis)
{
    enum { DISPLAYS = 3, NAMES = 6 };
    static const cl_context_properties names[NAMES] = {CL_GL_CONTEXT_KHR,  CL_CGL_SHAREGROUP_KHR, 0x4097, /* VA-API's */
                                                       CL_EGL_DISPLAY_KHR, CL_GLX_DISPLAY_KHR,    CL_WGL_HDC_KHR};
    const cl_context_properties platform = (cl_context_properties)side->rig->platform, name = side->name,
                                device = (cl_context_properties)side->device;
    const bool khronos9 = name == CL_CONTEXT_ADAPTER_D3D9_KHR || name == CL_CONTEXT_ADAPTER_D3D9EX_KHR;
    const ULONG refs = rig_refs(side->device);
    for (int i = 0; i < NAMES; i++) {
        for (cl_context_properties value = 0; value <= 0x1234; value += 0x1234) {
            const cl_context_properties alone[] = {CL_CONTEXT_PLATFORM, platform, names[i], value, 0},
                                        before[] = {CL_CONTEXT_PLATFORM, platform, names[i], value, name, device, 0},
                                        behind[] = {name, device, CL_CONTEXT_PLATFORM, platform, names[i], value, 0};
            const bool forbidden = value && i < DISPLAYS && !khronos9;
            if (!value && names[i] == 0x4097)
                continue;
            const cl_int expected = forbidden ? CL_INVALID_OPERATION : status_of(side->rig, alone);
            CHECK_INT(status_of(side->rig, before), expected);
            if (!CHECK_INT(status_of(side->rig, behind), expected))
                printf("# with 0x%x\n", (unsigned)names[i]);
        }
    }
    for (int i = DISPLAYS; i < NAMES && !khronos9; i++)
        TRY_CONTEXT(side, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, name, device, names[i], 0x1234, names[0],
                    0x5678, 0);
    CHECK_INT(rig_refs(side->device), refs);
}

/* Two versions of Direct3D at once. */
SIDE_CASE("other versions of Direct3D", context_two_versions)
{
    struct rig other;
    if (!rig_open(&other, side->name == CL_CONTEXT_D3D11_DEVICE_KHR ? &rig_d3d10 : &rig_d3d11, RIG_NO_CONTEXT))
        return;
    const cl_context_properties platform = (cl_context_properties)side->rig->platform,
                                device = (cl_context_properties)side->device, second = other.api->context_device,
                                second_device = (cl_context_properties)other.device;
    const ULONG refs = rig_refs(other.device);
    TRY_CONTEXT(side, CL_INVALID_OPERATION, CL_CONTEXT_PLATFORM, platform, side->name, device, second, second_device,
                0);
    TRY_CONTEXT(side, CL_INVALID_OPERATION, second, second_device, CL_CONTEXT_PLATFORM, platform, side->name, device,
                0);
    CHECK_INT(rig_refs(other.device), refs);
    rig_close(&other);
}

/* ---- adapters of Direct3D 9 ---- */

DX9_CASE("what is no adapter", contexts_with_bad_adapters, RIG_NO_CONTEXT)
{
    static size_t number = 4711;
    struct dx9_surface s;
    struct rig d3d11;
    const struct side side = {.rig = &dx9->rig, .device = dx9->device};
    const cl_context_properties platform = (cl_context_properties)dx9->rig.platform;
    if (!CHECK(dx9_make(&s, dx9, &dx9_formats[0], DX9_PLAIN, 64, 48)) || !rig_open(&d3d11, &rig_d3d11, RIG_NO_CONTEXT))
        return;
    void *const bad[] = {&number, (void *)8, s.surface, dx9->d3d9, d3d11.device};
    static const struct {
        cl_context_properties name;
        cl_int code;
    } names[] = {
        {CL_CONTEXT_ADAPTER_DXVA_KHR, CL_INVALID_DX9_MEDIA_ADAPTER_KHR},
        {CL_CONTEXT_ADAPTER_D3D9_KHR, CL_INVALID_DX9_MEDIA_ADAPTER_KHR},
        {CL_CONTEXT_ADAPTER_D3D9EX_KHR, CL_INVALID_DX9_MEDIA_ADAPTER_KHR},
        {CL_CONTEXT_DXVA_DEVICE_INTEL, CL_INVALID_DX9_DEVICE_INTEL},
        {CL_CONTEXT_D3D9_DEVICE_INTEL, CL_INVALID_DX9_DEVICE_INTEL},
        {CL_CONTEXT_D3D9EX_DEVICE_INTEL, CL_INVALID_DX9_DEVICE_INTEL},
    };
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            TRY_CONTEXT(&side, names[n].code, CL_CONTEXT_PLATFORM, platform, names[n].name,
                        (cl_context_properties)bad[i], 0);
        if (n % 3 == 0)
            TRY_CONTEXT(&side, names[n].code, CL_CONTEXT_PLATFORM, platform, names[n].name,
                        (cl_context_properties)dx9->device, 0);
    }
    /* The good one before it is given back. */
    TRY_CONTEXT(&side, CL_INVALID_DX9_MEDIA_ADAPTER_KHR, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_ADAPTER_D3D9_KHR,
                (cl_context_properties)dx9->device, CL_CONTEXT_ADAPTER_DXVA_KHR, (cl_context_properties)&number, 0);
    rig_close(&d3d11);
    dx9_close_surface(&s);
}

static void check_device(cl_context context, cl_context_properties name, const void *expected)
{
    void *device = NULL;
    CHECK_INT(clGetContextInfo(context, (cl_context_info)name, sizeof(device), &device, NULL), CL_SUCCESS);
    CHECK(device == expected);
}

/* Two adapters side by side, here by names of both extensions: the context holds both and takes the surfaces of both. */
DX9_CASE("two adapters", contexts_of_two, RIG_NO_CONTEXT)
{
    cl_int status = 1;
    struct dx9_surface of_first, of_second;
    struct dx9 second;
    if (!dx9_open(&second, !dx9->extended, RIG_NO_CONTEXT))
        return;
    const cl_context_properties intel = second.extended ? CL_CONTEXT_D3D9EX_DEVICE_INTEL : CL_CONTEXT_D3D9_DEVICE_INTEL;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)dx9->rig.platform,
                                                dx9->property,
                                                (cl_context_properties)dx9->device,
                                                intel,
                                                (cl_context_properties)second.device,
                                                0};
    cl_context context = clCreateContext(properties, 1, &dx9->rig.cl_device, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        check_device(context, dx9->property, dx9->device);
        check_device(context, intel, second.device);
        CHECK(dx9_make(&of_first, dx9, &dx9_formats[0], DX9_PLAIN, 64, 48));
        CHECK(dx9_make(&of_second, &second, &dx9_formats[0], DX9_PLAIN, 64, 48));
        of_first.context = of_second.context = context;
        dx9_share(&of_first, CL_MEM_READ_WRITE);
        dx9_share(&of_second, CL_MEM_READ_WRITE);
        dx9_close_surface(&of_first);
        dx9_close_surface(&of_second);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
    dx9_close(&second);
}

DX9EX_CASE("DXVA-HD", dxva_contexts, RIG_NO_CONTEXT)
{
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva)
        return;
    const struct side side = {.rig = &dx9->rig, .device = dxva};
    const cl_context_properties platform = (cl_context_properties)dx9->rig.platform,
                                device = (cl_context_properties)dxva;
    TRY_CONTEXT(&side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_ADAPTER_DXVA_KHR, device, sync, CL_TRUE,
                0);
    TRY_CONTEXT(&side, CL_SUCCESS, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_ADAPTER_D3D9EX_KHR,
                (cl_context_properties)dx9->device, CL_CONTEXT_ADAPTER_DXVA_KHR, device, CL_CONTEXT_ADAPTER_D3D9_KHR,
                (cl_context_properties)dx9->device, 0);
    TRY_CONTEXT(&side, CL_INVALID_DX9_MEDIA_ADAPTER_KHR, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_ADAPTER_D3D9_KHR,
                device, 0);
    TRY_CONTEXT(&side, CL_INVALID_DX9_MEDIA_ADAPTER_KHR, CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_ADAPTER_D3D9EX_KHR,
                device, 0);
    rig_release(dxva);
}

/* ---- asking contexts ---- */

SHARING_CASE("queries of the extension", context_info, 0)
{
    const ULONG refs = rig_refs(rig->device);
    cl_context plain = plain_context(rig);
    /* A context without that Direct3D answers too: nothing is faster there. */
    const struct {
        cl_context context;
        cl_context_info name;
    } asked[] = {{rig->context, rig->api->prefer_shared},
                 {rig->context, other_api(rig)->prefer_shared},
                 {plain, rig->api->prefer_shared}};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        cl_bool prefer = 7;
        size_t size = 0;
        CHECK_INT(clGetContextInfo(asked[i].context, asked[i].name, sizeof(prefer), &prefer, &size), CL_SUCCESS);
        CHECK_INT(prefer, CL_FALSE);
        CHECK_INT(size, sizeof(prefer));
    }
    check_device(rig->context, rig->api->context_device, rig->device);
    CHECK_INT(rig_refs(rig->device), refs);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

TAP_MAIN
