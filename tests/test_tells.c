/* What platforms and devices tell of themselves, over drivers that are played: which have Direct3D sharing of their own, what their
 * extension strings become, and that a driver's failure is told as it is (share/passthrough.c, strings.c, device.c, match.c). */
#include "share/share.h"
#include "answer.h"
#include "tap.h"

#include "share/extensions.h"
#include "share/passthrough.h"

#include <CL/cl_ext.h>
#include <stdlib.h>

/* ---- the drivers ---- */

enum { PLATFORMS = 2, DEVICES = 3 };

struct device {
    bool images;
    cl_device_type type;
    cl_uint vendor;
    const char *name, *extensions;
    const char *uuid;    /* 16 characters, or NULL */
    const char *luid;    /* 8 characters, or NULL */
    cl_uint pci;         /* 0: the driver does not tell */
    const char *version; /* or NULL */
};

static struct {
    struct device devices[PLATFORMS][DEVICES];
    cl_uint device_counts[PLATFORMS], platform_count;
    cl_name_version versions[8];
    size_t version_count;
    /* The nth call with this name fails (1: the next one). */
    const void *failing;
    unsigned nth;
    cl_int code;
} world;

static char platform_marks[PLATFORMS], context_mark;
/* A handle begins with a pointer to its driver's functions. */
static struct {
    const cl_icd_dispatch *functions;
} device_marks[PLATFORMS * DEVICES];

static cl_platform_id platform(unsigned p)
{
    return (cl_platform_id)&platform_marks[p];
}

static cl_device_id device(unsigned p, unsigned d)
{
    device_marks[p * DEVICES + d].functions = &tier_formats_table;
    return (cl_device_id)&device_marks[p * DEVICES + d];
}

static const char get_platforms[] = "clGetPlatformIDs", get_devices[] = "clGetDeviceIDs",
                  platform_info[] = "clGetPlatformInfo", device_info[] = "clGetDeviceInfo",
                  context_info[] = "clGetContextInfo";

static cl_int failure(const char *call)
{
    return world.failing == call && world.nth > 0 && --world.nth == 0 ? world.code : CL_SUCCESS;
}

static void fail(const char *call, unsigned nth, cl_int code)
{
    world.failing = call;
    world.nth = nth;
    world.code = code;
}

static cl_int CL_API_CALL get_platform_ids(cl_uint capacity, cl_platform_id *platforms, cl_uint *count)
{
    const cl_int status = failure(get_platforms);
    for (cl_uint i = 0; i < world.platform_count && i < capacity && platforms; i++)
        platforms[i] = platform(i);
    if (count)
        *count = world.platform_count;
    return status;
}

static unsigned platform_number(cl_platform_id id)
{
    return (unsigned)((char *)id - platform_marks);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id id, cl_device_type type, cl_uint capacity,
                                         cl_device_id *devices, cl_uint *count)
{
    const unsigned p = platform_number(id);
    const cl_int status = failure(get_devices);
    (void)type;
    for (cl_uint i = 0; i < world.device_counts[p] && i < capacity && devices; i++)
        devices[i] = device(p, i);
    if (count)
        *count = world.device_counts[p];
    return status != CL_SUCCESS ? status : world.device_counts[p] ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static unsigned device_number(cl_device_id id)
{
    return (unsigned)(((char *)id - (char *)device_marks) / sizeof(device_marks[0]));
}

static const struct device *facts(cl_device_id id)
{
    return &world.devices[device_number(id) / DEVICES][device_number(id) % DEVICES];
}

static cl_int give_versions(size_t capacity, void *to, size_t *size_ret)
{
    return give_answer(world.versions, world.version_count * sizeof(world.versions[0]), capacity, to, size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info name, size_t capacity, void *to,
                                          size_t *size_ret)
{
    const struct device *d = facts(id);
    const cl_bool images = d->images, has_luid = d->luid != NULL;
    const cl_platform_id of = platform(device_number(id) / DEVICES);
    const cl_int status = failure(device_info);
    if (status != CL_SUCCESS)
        return status;
    switch (name) {
    case CL_DEVICE_IMAGE_SUPPORT: return give_answer(&images, sizeof(images), capacity, to, size_ret);
    case CL_DEVICE_PLATFORM: return give_answer(&of, sizeof(of), capacity, to, size_ret);
    case CL_DEVICE_TYPE: return give_answer(&d->type, sizeof(d->type), capacity, to, size_ret);
    case CL_DEVICE_VENDOR_ID: return give_answer(&d->vendor, sizeof(d->vendor), capacity, to, size_ret);
    case CL_DEVICE_NAME: return give_answer(d->name, strlen(d->name) + 1, capacity, to, size_ret);
    case CL_DEVICE_EXTENSIONS: return give_answer(d->extensions, strlen(d->extensions) + 1, capacity, to, size_ret);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: return give_versions(capacity, to, size_ret);
    case CL_DEVICE_VERSION:
        return d->version ? give_answer(d->version, strlen(d->version) + 1, capacity, to, size_ret) : CL_INVALID_VALUE;
    case CL_DEVICE_UUID_KHR: return d->uuid ? give_answer(d->uuid, 16, capacity, to, size_ret) : CL_INVALID_VALUE;
    case CL_DEVICE_PCIE_ID_AMD:
        return d->pci ? give_answer(&d->pci, sizeof(d->pci), capacity, to, size_ret) : CL_INVALID_VALUE;
    case DEVICE_LUID_VALID: return give_answer(&has_luid, sizeof(has_luid), capacity, to, size_ret);
    case DEVICE_LUID: return d->luid ? give_answer(d->luid, 8, capacity, to, size_ret) : CL_INVALID_VALUE;
    default: return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id id, cl_platform_info name, size_t capacity, void *to,
                                            size_t *size_ret)
{
    const cl_int status = failure(platform_info);
    const char *text = world.devices[platform_number(id)][0].extensions;
    if (status != CL_SUCCESS)
        return status;
    if (name == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return give_versions(capacity, to, size_ret);
    return name == CL_PLATFORM_EXTENSIONS ? give_answer(text, strlen(text) + 1, capacity, to, size_ret)
                                          : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info name, size_t capacity, void *to,
                                           size_t *size_ret)
{
    const cl_device_id devices[] = {device(0, 0), device(0, 1)};
    const cl_int status = failure(context_info);
    (void)context, (void)name;
    return status == CL_SUCCESS ? give_answer(devices, sizeof(devices), capacity, to, size_ret) : status;
}

static cl_icd_dispatch table;

/* One platform with two devices that draw: a GPU and a CPU. */
static void set_world(const char *extensions)
{
    memset(&world, 0, sizeof(world));
    world.platform_count = 1;
    world.device_counts[0] = 2;
    world.devices[0][0] = (struct device){
        true, CL_DEVICE_TYPE_GPU, 0x8086, "Intel(R) Graphics [0x46a6]", extensions, NULL, NULL, 0, NULL};
    world.devices[0][1] =
        (struct device){true, CL_DEVICE_TYPE_CPU, 0x6c636f70, "a processor", extensions, NULL, NULL, 0, NULL};
    world.devices[1][0] = (struct device){
        true, CL_DEVICE_TYPE_GPU, 0x1002, "AMD Radeon RX 6800 (radeonsi, navi21)", "cl_khr_fp16", NULL, NULL, 0, NULL};
    world.devices[1][1] = world.devices[1][0];
    tier_formats_table.clGetPlatformIDs = get_platform_ids;
    tier_formats_table.clGetPlatformInfo = get_platform_info;
    tier_formats_table.clGetDeviceIDs = get_device_ids;
    tier_formats_table.clGetDeviceInfo = get_device_info;
    tier_formats_table.clGetContextInfo = get_context_info;
    strings_install(&table);
}

/* ---- sharing of the driver's own ---- */

static void own_sharing(void)
{
    static const struct {
        const char *extensions;
        bool own;
    } rows[] = {
        {"", false},
        {"cl_khr_icd cl_khr_gl_sharing", false},
        {"cl_khr_icd cl_khr_d3d11_sharing", true},
        {"cl_khr_dx9_media_sharing cl_khr_icd", true},
        {"cl_nv_d3d11_sharing", true},
        {"cl_intel_d3d11_nv12_media_sharing ", true},
        /* Intel's driver for Linux: what it shares is VA-API's. */
        {"cl_khr_icd cl_intel_va_api_media_sharing cl_intel_sharing_format_query cl_khr_pci_bus_info ", false},
        {"cl_khr_d3d11_sharing_of_another_kind", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_world(rows[i].extensions);
        if (!CHECK_INT(passthrough_device(device(0, 0)), rows[i].own))
            printf("# with '%s'\n", rows[i].extensions);
        CHECK_INT(passthrough_platform(platform(0)), rows[i].own);
    }
    /* One device of a platform is enough. */
    set_world("cl_khr_icd");
    world.devices[0][1].extensions = "cl_khr_d3d11_sharing";
    CHECK(passthrough_platform(platform(0)));
    CHECK(passthrough_device(device(0, 0)));
    CHECK(!passthrough_device(NULL));
}

/* A driver that does not answer has nothing of its own. */
static void unknown_sharing(void)
{
    for (unsigned nth = 1; nth <= 3; nth++) { /* the platform; the size; the text */
        set_world("cl_khr_d3d11_sharing");
        world.device_counts[0] = 1;
        fail(device_info, nth, CL_OUT_OF_RESOURCES);
        CHECK(!passthrough_device(device(0, 0)));
        CHECK(passthrough_device(device(0, 0)));
    }
    set_world("cl_khr_d3d11_sharing");
    fail(get_devices, 1, CL_OUT_OF_RESOURCES);
    CHECK(!passthrough_platform(platform(0)));
    world.device_counts[0] = 0;
    CHECK(!passthrough_platform(platform(0)));
}

/* Which driver makes a context, as far as its arguments tell. */
static void new_contexts(void)
{
    set_world("cl_khr_d3d11_sharing");
    world.platform_count = 2;
    world.device_counts[1] = 1;
    const cl_device_id theirs = device(0, 0), ours = device(1, 0);
    const cl_context_properties second[] = {CL_CONTEXT_INTEROP_USER_SYNC, 1, CL_CONTEXT_PLATFORM,
                                            (cl_context_properties)platform(1), 0};
    CHECK(passthrough_new_context(NULL, 1, &theirs));
    CHECK(!passthrough_new_context(NULL, 1, &ours));
    CHECK(passthrough_new_context(NULL, 0, NULL)); /* the first platform */
    CHECK(!passthrough_new_context(second, 0, NULL));
    CHECK(!passthrough_new_context(second, 0, &theirs));
    fail(get_platforms, 1, CL_OUT_OF_HOST_MEMORY);
    CHECK(!passthrough_new_context(NULL, 0, NULL));
    const cl_context_properties unknown[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)&context_mark, 0};
    CHECK(!passthrough_new_context(unknown, 0, NULL));
}

/* ---- extension strings ---- */

static void append_ours(char *text, const char *below)
{
    strcpy(text, below);
    for (unsigned i = 0; i < extension_count; i++)
        if (!strstr(below, extensions[i].name))
            strcat(strcat(text, text[0] ? " " : ""), extensions[i].name);
}

/* `expected`: what stands there of the driver's. NULL: the string stays as it is. */
static void check_string(cl_device_id of, const char *below, const char *expected)
{
    char found[4096], whole[4096];
    size_t size = 0;
    strcpy(whole, below);
    if (expected)
        append_ours(whole, expected);
    const cl_uint name = of ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS;
    memset(found, 'x', sizeof(found));
    CHECK_INT(of ? table.clGetDeviceInfo(of, name, 0, NULL, &size)
                 : table.clGetPlatformInfo(platform(0), name, 0, NULL, &size),
              CL_SUCCESS);
    CHECK_INT(size, strlen(whole) + 1);
    CHECK_INT(of ? table.clGetDeviceInfo(of, name, size, found, NULL)
                 : table.clGetPlatformInfo(platform(0), name, size, found, NULL),
              CL_SUCCESS);
    CHECK_STR(found, whole);
    CHECK_INT(found[size], 'x');
}

static void strings(void)
{
    static const struct {
        const char *below, *expected;
    } rows[] = {
        {"", ""},
        {"cl_khr_icd", "cl_khr_icd"},
        {"cl_khr_icd cl_khr_fp16   ", "cl_khr_icd cl_khr_fp16"},
        {"   ", ""},
        {"cl_intel_sharing_format_query cl_khr_icd", "cl_intel_sharing_format_query cl_khr_icd"},
        {"cl_khr_icd cl_khr_d3d11_sharing ", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_world(rows[i].below);
        check_string(device(0, 0), rows[i].below, rows[i].expected);
        check_string(NULL, rows[i].below, rows[i].expected);
    }
    /* A platform lists what all its devices have. */
    set_world("cl_khr_icd");
    world.devices[0][1].images = false;
    check_string(NULL, "cl_khr_icd", NULL);
    check_string(device(0, 0), "cl_khr_icd", "cl_khr_icd");
    check_string(device(0, 1), "cl_khr_icd", NULL);
    /* Except accelerators, which are not what programs look for there. */
    world.devices[0][1].type = CL_DEVICE_TYPE_ACCELERATOR;
    check_string(NULL, "cl_khr_icd", "cl_khr_icd");
    check_string(device(0, 1), "cl_khr_icd", NULL);
    world.devices[0][0].type = CL_DEVICE_TYPE_CUSTOM;
    check_string(NULL, "cl_khr_icd", "cl_khr_icd");
    world.devices[0][0].images = false;
    check_string(NULL, "cl_khr_icd", NULL);
    world.device_counts[0] = 0;
    check_string(NULL, "cl_khr_icd", NULL);
}

static bool has_version(const cl_name_version *list, size_t count, const char *name)
{
    unsigned times = 0;
    for (size_t i = 0; i < count; i++)
        times += strcmp(list[i].name, name) == 0;
    CHECK(times < 2);
    return times > 0;
}

static void check_versions(cl_device_id of, size_t expected)
{
    cl_name_version list[32];
    size_t size = 0;
    const cl_uint name = of ? CL_DEVICE_EXTENSIONS_WITH_VERSION : CL_PLATFORM_EXTENSIONS_WITH_VERSION;
    CHECK_INT(of ? table.clGetDeviceInfo(of, name, sizeof(list), list, &size)
                 : table.clGetPlatformInfo(platform(0), name, sizeof(list), list, &size),
              CL_SUCCESS);
    if (!CHECK_INT(size, expected * sizeof(list[0])))
        return;
    for (unsigned i = 0; i < extension_count; i++)
        CHECK(has_version(list, expected, extensions[i].name));
    for (size_t i = 0; i < world.version_count; i++)
        CHECK(has_version(list, expected, world.versions[i].name));
}

/* Those that the driver lists too are there once. */
static void versions(void)
{
    set_world("cl_khr_icd");
    check_versions(device(0, 0), extension_count);
    check_versions(NULL, extension_count);
    strcpy(world.versions[0].name, "cl_khr_icd");
    strcpy(world.versions[1].name, "cl_intel_sharing_format_query");
    world.version_count = 2;
    check_versions(device(0, 0), extension_count + 1);
    check_versions(NULL, extension_count + 1);
    world.devices[0][0].images = false;
    size_t size = 0;
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, 2 * sizeof(world.versions[0]));
}

/* What any call below answers is the answer, and nothing is written. */
static void failing_strings(void)
{
    static const cl_uint names[] = {CL_DEVICE_EXTENSIONS, CL_DEVICE_EXTENSIONS_WITH_VERSION};
    for (int i = 0; i < 2; i++) {
        unsigned failures = 0;
        for (unsigned nth = 1; nth < 12; nth++) {
            char text[1024];
            size_t size = 4711;
            set_world("cl_khr_icd");
            world.version_count = 1;
            fail(device_info, nth, CL_OUT_OF_RESOURCES);
            const cl_int status = table.clGetDeviceInfo(device(0, 0), names[i], sizeof(text), text, &size);
            if (status == CL_SUCCESS)
                continue;
            failures++;
            CHECK_INT(status, CL_OUT_OF_RESOURCES);
            CHECK_INT(size, 4711);
        }
        CHECK(failures >= 2); /* what is asked, and whether the device has images */
    }
    static const struct {
        const char *call;
        unsigned nth;
    } calls[] = {{platform_info, 1}, {get_devices, 2}, {device_info, 5}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        size_t size = 4711;
        set_world("cl_khr_icd");
        fail(calls[i].call, calls[i].nth, CL_OUT_OF_HOST_MEMORY);
        CHECK_INT(table.clGetPlatformInfo(platform(0), CL_PLATFORM_EXTENSIONS, 0, NULL, &size), CL_OUT_OF_HOST_MEMORY);
        CHECK_INT(size, 4711);
        CHECK_INT(table.clGetPlatformInfo(platform(0), CL_PLATFORM_EXTENSIONS, 0, NULL, &size), CL_SUCCESS);
    }
}

/* ---- platforms and devices ---- */

static void platforms(void)
{
    set_world("cl_khr_icd");
    CHECK_INT(platform_check(platform(0)), CL_SUCCESS);
    CHECK_INT(platform_check(platform(1)), CL_INVALID_PLATFORM);
    CHECK_INT(platform_check(NULL), CL_INVALID_PLATFORM);
    const struct {
        cl_int code, expected;
    } rows[] = {{CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY},
                {CL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES},
                {CL_PLATFORM_NOT_FOUND_KHR, CL_INVALID_PLATFORM}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned nth = 1; nth <= 2; nth++) {
            fail(get_platforms, nth, rows[i].code);
            CHECK_INT(platform_check(platform(0)), rows[i].expected);
        }
    world.platform_count = 0;
    CHECK_INT(platform_check(platform(0)), CL_INVALID_PLATFORM);
}

/* Functions of OpenCL 1.2 are needed. */
static void old_devices(void)
{
    static const struct {
        const char *version;
        bool shares;
    } rows[] = {{"OpenCL 1.0 old", false}, {"OpenCL 1.1 CUDA", false}, {"OpenCL 1.2 pocl", true}, {"OpenCL 2.0 ", true},
                {"OpenCL 3.0 PoCL", true}, {"OpenCL 0.9", false},      {"unknown", true},         {NULL, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool shares = !rows[i].shares;
        set_world("cl_khr_icd");
        world.devices[0][0].version = rows[i].version;
        CHECK_INT(device_sharing(device(0, 0), &shares), CL_SUCCESS);
        CHECK_INT(shares, rows[i].shares);
        check_string(device(0, 0), "cl_khr_icd", rows[i].shares ? "cl_khr_icd" : NULL);
        fail(device_info, 2, CL_OUT_OF_RESOURCES);
        CHECK_INT(device_sharing(device(0, 0), &shares), CL_OUT_OF_RESOURCES);
    }
}

static void devices_that_share(void)
{
    cl_uint count = 77;
    cl_int status = 1;
    set_world("cl_khr_icd");
    world.devices[0][0].images = false;
    cl_device_id *found = sharing_devices(platform(0), &count, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (CHECK_INT(count, 1))
        CHECK(found[0] == device(0, 1));
    free(found);
    static const struct {
        const char *call;
        unsigned nth;
    } calls[] = {{get_devices, 1}, {get_devices, 2}, {device_info, 1}, {device_info, 2}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        fail(calls[i].call, calls[i].nth, CL_OUT_OF_RESOURCES);
        CHECK(sharing_devices(platform(0), &count, &status) == NULL);
        CHECK_INT(status, CL_OUT_OF_RESOURCES);
        CHECK_INT(count, 0);
    }
    world.device_counts[0] = 0;
    CHECK(sharing_devices(platform(0), &count, &status) == NULL);
    CHECK_INT(status, CL_DEVICE_NOT_FOUND);
}

/* ---- which device is an adapter's ---- */

static cl_uint kept(const struct d3d_adapter *adapter, cl_device_id *first)
{
    cl_device_id devices[] = {device(0, 0), device(0, 1), device(1, 0)};
    const cl_uint count = match_keep(&d3d11_api, devices, 3, adapter);
    *first = count ? devices[0] : NULL;
    return count;
}

static void matches(void)
{
    cl_device_id first;
    struct d3d_adapter adapter = {.description = "AMD Radeon(TM) RX 6800", .vendor = 0x10de};
    set_world("cl_khr_icd");
    world.platform_count = 2;
    world.device_counts[1] = 1;
    /* DXVK may show another vendor's number: an equal name is enough. */
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(1, 0));
    CHECK_STR(match_reason(), "the name is the same");
    /* A part of the name, with the vendor. */
    strcpy(adapter.description, "Radeon RX 6800");
    adapter.vendor = 0x1002;
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK_STR(match_reason(), "the vendor is the same, and one name contains the other");
    strcpy(adapter.description, "AMD Radeon RX 6800 in a notebook");
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK_STR(match_reason(), "the vendor is the same, and one name contains the other");
    strcpy(adapter.description, "(R)(C)");
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(1, 0));
    CHECK(strncmp(match_reason(), "the vendor is the same", 22) == 0);
    /* Nothing: the CPU is nearest. */
    adapter.vendor = 0x5333;
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 1));
    world.devices[0][1].type = CL_DEVICE_TYPE_GPU;
    CHECK_INT(kept(&adapter, &first), 3);
    CHECK(strstr(match_reason(), "or a CPU") != NULL);
}

/* ROCm's names are those of instruction sets, which no adapter has. */
static void pci_matches(void)
{
    cl_device_id first;
    struct d3d_adapter adapter = {.description = "AMD Radeon RX 6800", .vendor = 0x1002, .device = 0x73bf};
    set_world("cl_khr_icd");
    world.devices[1][0].name = "of another platform, which is not there";
    world.devices[1][0].vendor = 0;
    for (int d = 0; d < 2; d++) {
        world.devices[0][d].type = CL_DEVICE_TYPE_GPU;
        world.devices[0][d].vendor = 0x1002;
        world.devices[0][d].name = d ? "gfx1036" : "gfx1030";
        world.devices[0][d].pci = d ? 0x164e : 0x73bf;
    }
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 0));
    CHECK_STR(match_reason(), "the vendor and the PCI device ID are the same");
    adapter.device = 0x164e;
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 1));
    adapter.device = 0x9999;
    CHECK_INT(kept(&adapter, &first), 2);
    /* Another vendor's number is another device's. */
    adapter.device = 0x73bf;
    world.devices[0][1].vendor = world.devices[0][0].vendor = 0x8086;
    CHECK_INT(kept(&adapter, &first), 3);
    /* An equal name is better than an equal number, and that is better than a part of a name. */
    world.devices[0][1].vendor = world.devices[0][0].vendor = 0x1002;
    world.devices[0][1].name = "AMD Radeon RX 6800";
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 1));
    world.devices[0][1].name = "AMD Radeon RX 6800 XT";
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 0));
    /* 0 is no number. */
    adapter.device = world.devices[0][0].pci = 0;
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 1));
}

static void certain_matches(void)
{
    cl_device_id first;
    struct d3d_adapter adapter = {.description = "AMD Radeon RX 6800", .vendor = 0x1002};
    set_world("cl_khr_icd");
    world.platform_count = 2;
    world.device_counts[1] = 1;
    memcpy(adapter.luid, "the luid", 8);
    world.devices[0][0].luid = "the luid";
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 0));
    CHECK_STR(match_reason(), "the LUID is the same");
    world.devices[0][0].luid = "another.";
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(1, 0)); /* by its name */
    memcpy(adapter.uuid, "the UUID of both", 16);
    world.devices[0][1].uuid = "the UUID of both";
    world.devices[0][0].uuid = "the UUID of none";
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 1));
    CHECK_STR(match_reason(), "the UUID of its Vulkan device is the same");
}

/* A driver with sharing of its own is preferred where it has the adapter's device, and counts only where it shares the
 * API. */
static void own_drivers(void)
{
    cl_device_id first;
    struct d3d_adapter adapter = {.description = "AMD Radeon RX 6800", .vendor = 0x1002, .device = 0x73bf};
    set_world("cl_khr_icd");
    world.platform_count = 2;
    world.device_counts[0] = world.device_counts[1] = 1;
    for (int p = 0; p < 2; p++) {
        world.devices[p][0].type = CL_DEVICE_TYPE_GPU;
        world.devices[p][0].vendor = 0x1002;
    }
    world.devices[0][0].name = "AMD Radeon RX 6800";
    world.devices[1][0].name = "gfx1030";
    world.devices[1][0].pci = 0x73bf;
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 0)); /* the name is nearer than the ID */
    world.devices[1][0].extensions = "cl_khr_d3d11_sharing";
    CHECK_INT(kept(&adapter, &first), 0); /* none of a driver without its own */
    CHECK_STR(match_reason(), "a driver with sharing of its own has the adapter's device");
    world.devices[1][0].extensions = "cl_nv_d3d11_sharing";
    CHECK_INT(kept(&adapter, &first), 0);
    /* The same vendor alone proves nothing. */
    world.devices[1][0].pci = 0x9999;
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 0));
    /* Sharing of another API is no sharing of this one. */
    world.devices[1][0].pci = 0x73bf;
    world.devices[1][0].extensions = "cl_khr_d3d10_sharing cl_nv_d3d10_sharing";
    CHECK_INT(kept(&adapter, &first), 1);
    CHECK(first == device(0, 0));
    world.devices[0][0].name = "another";
    world.devices[0][0].vendor = 0x10de;
    world.devices[1][0].name = "AMD Radeon RX 6800";
    CHECK_INT(kept(&adapter, &first), 3); /* neither a match nor a CPU */
}

/* How well a device matches an adapter: a CPU that is merely the nearest does not. */
static void strengths(void)
{
    struct d3d_adapter adapter = {.description = "AMD Radeon RX 6800", .vendor = 0x1002};
    set_world("cl_khr_icd");
    world.devices[0][0].name = "AMD Radeon RX 6800";
    world.devices[0][0].vendor = 0x1002;
    const int by_name = match_strength(device(0, 0), &adapter);
    CHECK(by_name > 0);
    CHECK_INT(match_strength(device(0, 1), &adapter), 0);
    /* The other adapter of that vendor. */
    strcpy(adapter.description, "AMD Radeon Graphics");
    const int by_vendor = match_strength(device(0, 0), &adapter);
    CHECK(by_vendor > 0 && by_vendor < by_name);
    strcpy(adapter.description, "of nobody");
    adapter.vendor = 0x5333;
    CHECK_INT(match_strength(device(0, 0), &adapter), 0);
    CHECK_INT(match_strength(device(0, 1), &adapter), 0);
}

/* From the OpenCL device to the adapter: the driver's answer, and where no adapter is known none. */
static void luids(void)
{
    cl_bool valid = CL_TRUE;
    char luid[8];
    set_world("cl_khr_icd");
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_LUID_VALID, sizeof(valid), &valid, NULL), CL_SUCCESS);
    CHECK_INT(valid, CL_FALSE);
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_LUID, sizeof(luid), luid, NULL), CL_SUCCESS);
    CHECK_MEM(luid, "\0\0\0\0\0\0\0", 8);
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_NODE_MASK, sizeof(valid), &valid, NULL), CL_SUCCESS);
    CHECK_INT(valid, 0);
    world.devices[0][0].luid = "the luid";
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_LUID_VALID, sizeof(valid), &valid, NULL), CL_SUCCESS);
    CHECK_INT(valid, CL_TRUE);
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_LUID, sizeof(luid), luid, NULL), CL_SUCCESS);
    CHECK_MEM(luid, "the luid", 8);
    world.devices[0][0].luid = NULL;
    world.devices[0][0].images = false;
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_LUID_VALID, sizeof(valid), &valid, NULL), CL_SUCCESS);
    CHECK_INT(valid, CL_FALSE);
    set_world("cl_khr_d3d11_sharing");
    CHECK_INT(table.clGetDeviceInfo(device(0, 0), DEVICE_LUID, sizeof(luid), luid, NULL), CL_INVALID_VALUE);
}

/* ---- waits ---- */

/* What the nth wait for an event returns, and what the event's state is then or the code of the query. */
struct step {
    cl_int waited, asked, state;
};
static const struct step *steps;
static unsigned waits;

static cl_int CL_API_CALL wait_for_event(cl_uint count, const cl_event *events)
{
    (void)count, (void)events;
    return steps[waits++].waited;
}

static cl_int CL_API_CALL event_state(cl_event event, cl_event_info name, size_t capacity, void *to, size_t *size_ret)
{
    const struct step *step = &steps[waits - 1];
    (void)event, (void)name;
    return step->asked == CL_SUCCESS ? give_answer(&step->state, sizeof(step->state), capacity, to, size_ret)
                                     : step->asked;
}

/* A driver that cannot wait is asked again as long as the command may run. */
static void short_waits(void)
{
    static const struct {
        struct step steps[4];
        unsigned waits;
        cl_int status, ended;
    } rows[] = {
        {{{CL_SUCCESS, CL_SUCCESS, CL_COMPLETE}}, 1, CL_SUCCESS, CL_COMPLETE},
        {{{CL_OUT_OF_RESOURCES, CL_SUCCESS, CL_RUNNING}, {CL_SUCCESS, CL_SUCCESS, CL_COMPLETE}},
         2,
         CL_SUCCESS,
         CL_COMPLETE},
        {{{CL_OUT_OF_RESOURCES, CL_SUCCESS, CL_COMPLETE}}, 1, CL_OUT_OF_RESOURCES, CL_COMPLETE},
        {{{CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, 0},
          {CL_SUCCESS, CL_OUT_OF_HOST_MEMORY, 0},
          {CL_OUT_OF_RESOURCES, CL_SUCCESS, CL_QUEUED},
          {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_SUCCESS, -5}},
         4,
         CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
         -5},
        {{{CL_INVALID_EVENT, CL_INVALID_EVENT, 0}}, 1, CL_INVALID_EVENT, CL_QUEUED},
    };
    const cl_icd_dispatch driver = {.clWaitForEvents = wait_for_event, .clGetEventInfo = event_state};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cl_int ended = 1;
        steps = rows[i].steps;
        waits = 0;
        CHECK_INT(await_end(&driver, NULL, &ended), rows[i].status);
        CHECK_INT(ended, rows[i].ended);
        CHECK_INT(waits, rows[i].waits);
    }
}

static const struct tap_test tests[] = {
    {"drivers with Direct3D sharing of their own", own_sharing},
    {"drivers that do not tell", unknown_sharing},
    {"which driver makes a context", new_contexts},
    {"extension strings", strings},
    {"extension lists with versions", versions},
    {"drivers that fail at a string", failing_strings},
    {"platforms", platforms},
    {"devices that share", devices_that_share},
    {"devices that are too old", old_devices},
    {"devices by name and vendor", matches},
    {"devices by their PCI device ID", pci_matches},
    {"devices by LUID and UUID", certain_matches},
    {"drivers of their own, and which of them are preferred", own_drivers},
    {"how well a device matches", strengths},
    {"a device's LUID", luids},
    {"waits of a driver that is short of something", short_waits},
};

TAP_MAIN(tests)
