/* cld3dinfo's parts and what they find out.
 *
 * Everything is found first and printed at the end, since the first line is the answer. The counts are limited: a driver
 * that claims thousands of devices is no reason to end without an answer. */
#ifndef CLD3D_TOOLS_INFO_H
#define CLD3D_TOOLS_INFO_H

#include <windows.h>

#include <d3d9.h>
#include <d3d10.h>
#include <d3d11.h>
#include <dxgi.h>

#include <CL/cl_icd.h>
#include "d3d/formats.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLATFORMS_MAX = 16, DEVICES_MAX = 32, ADAPTERS_MAX = 8, REASONS_MAX = 32 };

enum { NAME_SIZE = 256, WHY_SIZE = 256 };

enum api_index { API_D3D11, API_D3D10, API_D3D9, API_COUNT };

/* ---- a library that was loaded, or not (info_library.c) ---- */

struct library {
    HMODULE module;          /* NULL: `why` says why not */
    char path[3 * MAX_PATH]; /* UTF-8 */
    char product[NAME_SIZE]; /* the product name of its version resource; empty if it has none */
    bool wine;               /* Wine's own; `path` may then be a file that Wine has replaced by its own library */
    char why[WHY_SIZE];
};

void library_load(struct library *library, const char *name);
/* The same for a module that is already loaded; false if no module has this path. */
bool library_find(struct library *library, const char *path);
/* An exported function, or NULL. */
void (*library_function(const struct library *library, const char *name))(void);
/* Whether there is an OpenCL.dll in the folder of this program that is not `library`. */
bool library_beside_unused(const struct library *library);
/* Whether `library` is in the folder of this program and the system's library of this name has another product or version: then
 * programs in other folders load that one. `cause` says which it is. */
bool library_only_here(const struct library *library, const wchar_t *name, char *cause, size_t size);

/* ---- layers in the registry (info_layers.c) ---- */

/* Registers and unregisters the cld3d.dll in this program's folder; prints what was done, or on standard error why
 * not. */
bool layer_register(void);
bool layer_unregister(void);
/* The part of the report. */
void print_layers(void);
/* Each registered layer, with how loaders treat it; both texts are UTF-8 and live for the call. */
void layers_each(void (*call)(void *context, const char *path, const char *state), void *context);

/* ---- Direct3D (info_d3d.c, info_d3d11.c, info_d3d10.c, info_d3d9.c) ---- */

/* A graphics adapter and the device that each Direct3D version has created on it. */
struct adapter {
    char name[NAME_SIZE];
    uint32_t vendor, device;
    LUID luid;
    bool software;
    IDXGIAdapter1 *dxgi; /* NULL: only Direct3D 9 knows the adapter */
    bool in_d3d9;
    UINT d3d9_ordinal;
    struct {
        void *device;   /* NULL: `why` says why not */
        char level[32]; /* its feature level, as Direct3D names it */
        char why[WHY_SIZE];
    } d3d[API_COUNT];
};

struct direct3d {
    struct library dxgi, runtimes[API_COUNT];
    IDirect3D9Ex *d3d9;
    char d3d9_why[WHY_SIZE]; /* why there is no `d3d9` although its DLL exists */
    char dxgi_why[WHY_SIZE];
    unsigned adapter_count;
    struct adapter adapters[ADAPTERS_MAX];
};

/* Finds the adapters and creates all devices. They live until the program ends. */
void direct3d_find(struct direct3d *d3d);

/* Textures that go to OpenCL and back: squares of one level. In memory of our own all planes lie after each other without
 * gaps. */
enum { TRIAL_EXTENT = 16, TRIAL_BYTES_MAX = TRIAL_EXTENT * TRIAL_EXTENT * 16 };

struct texture_shape {
    const struct format_row *first; /* the plane */
    unsigned pitch;                 /* bytes of its rows */
};

/* Where a plane is, in memory whose first plane has `pitch` bytes per row. */
struct plane_place {
    unsigned offset, pitch, rows;
};
struct plane_place plane_place(const struct texture_shape *shape, unsigned plane, unsigned pitch);
/* Copies all planes between two locations with these row pitches. */
void planes_copy(const struct texture_shape *shape, uint8_t *to, unsigned to_pitch, const uint8_t *from,
                 unsigned from_pitch);

/* A kind of resource from which objects are created. */
enum { KIND_EXTENT = 256, KIND_BYTES = 1 << 20, KINDS_MAX = 4 };
struct kind {
    const char *name;                /* "texture"; NULL after the last one */
    const char *create;              /* the name of the function that creates objects from it */
    IUnknown *(*make)(void *device); /* NULL if Direct3D creates none */
    cl_mem (*share)(void (*function)(void), cl_context context, IUnknown *resource, cl_int *status);
};

/* One Direct3D version with its extension: what differs between the three. A function that fails says why. */
struct api {
    const char *name;       /* "Direct3D 11" */
    const char *number;     /* "11" */
    const char *short_name; /* "D3D11" */
    const char *dll;
    const char *extension;
    const char *get_devices, *create, *acquire, *release; /* the names of its functions */
    cl_context_properties context_property;

    const struct format_row *formats;
    const unsigned *format_count;
    uint32_t plain_format; /* one that every device supports */

    /* Fills adapter->d3d[] of this API. */
    void (*open)(const struct direct3d *d3d, struct adapter *adapter);
    /* A texture or surface with these texels; NULL if it fails. */
    IUnknown *(*make_texture)(void *device, const struct texture_shape *shape, const uint8_t *texels, char *why);
    /* What Direct3D reads from it. */
    bool (*read_texture)(void *device, const struct texture_shape *shape, IUnknown *texture, uint8_t *texels,
                         char *why);
    /* clGetDeviceIDsFrom...KHR for the adapter. */
    cl_int (*devices_of)(void (*function)(void), cl_platform_id platform, const struct adapter *adapter, bool preferred,
                         cl_uint room, cl_device_id *devices, cl_uint *count);
    /* clCreateFrom...KHR for a two-dimensional resource. */
    cl_mem (*share)(void (*function)(void), cl_context context, IUnknown *resource, cl_uint plane, cl_int *status);
    struct kind kinds[KINDS_MAX + 1];
};

extern const struct api d3d11_info, d3d10_info, d3d9_info;
extern const struct api *const apis[API_COUNT];

/* ---- OpenCL (info_opencl.c) ---- */

#define CL_CALLS(X)                             \
    X(clGetPlatformIDs)                         \
    X(clGetPlatformInfo)                        \
    X(clGetDeviceIDs)                           \
    X(clGetDeviceInfo)                          \
    X(clGetExtensionFunctionAddressForPlatform) \
    X(clCreateContext)                          \
    X(clReleaseContext)                         \
    X(clCreateCommandQueue)                     \
    X(clReleaseCommandQueue)                    \
    X(clGetSupportedImageFormats)               \
    X(clEnqueueReadImage)                       \
    X(clEnqueueWriteImage)                      \
    X(clReleaseMemObject)                       \
    X(clFinish)

struct cl_calls {
#define X(function) cl_api_##function function;
    CL_CALLS(X)
#undef X
};

struct platform {
    cl_platform_id id;
    char name[NAME_SIZE], version[NAME_SIZE];
    bool lists[API_COUNT]; /* the extensions */
    unsigned device_count;
    char why[WHY_SIZE]; /* why it has no devices */
};

/* Whether a device is in the sets that clGetDeviceIDsFrom...KHR returns for an adapter. */
struct belonging {
    bool asked, preferred, possible;
    const char *reason; /* why it is preferred; NULL if cld3d does not report it */
    cl_int code;        /* of the call that failed, otherwise CL_SUCCESS */
};

enum way {
    WAY_UNTRIED,
    WAY_DIRECT, /* OpenCL's image has the format of the texture */
    WAY_WIDER,  /* the driver lacks that format: the image has another one, invisible to the program */
    WAY_REFUSED
};

struct format_result {
    enum way way;
    uint8_t reason;         /* of WAY_REFUSED: index into info.reasons */
    cl_image_format stored; /* of WAY_WIDER: the image's actual format; zeros if unknown */
};

/* The sharing of a device with one Direct3D version. */
struct sharing {
    bool listed; /* the device lists the extension */
    bool own;    /* so does the OpenCL below cld3d */
    bool tried, works;
    char why[WHY_SIZE];             /* why it doesn't work */
    char way[WHY_SIZE];             /* the transport of the texture's bytes */
    char ways[KINDS_MAX][WHY_SIZE]; /* and that of objects of each kind; empty if unknown */
    struct belonging adapters[ADAPTERS_MAX];
    const struct adapter *adapter; /* the one it was tried with */
    struct format_result *formats; /* one for each row of the API's table; NULL: not tried */
};

struct device {
    cl_device_id id;
    const struct platform *platform;
    char name[NAME_SIZE], version[NAME_SIZE], driver[NAME_SIZE];
    cl_device_type type;
    cl_uint vendor;
    bool images, has_luid;
    LUID luid;
    struct sharing sharing[API_COUNT];
};

struct opencl {
    struct library library;
    bool complete; /* it has all required functions */
    struct cl_calls call;
    char why[WHY_SIZE]; /* why there is no platform */

    struct library cld3d; /* `library` itself, or a layer in it; without module if there is none */
    const char *version, *build, *next, *transport, *bridge,
        *passes;          /* what cld3d reports about itself; NULL if nothing */
    struct library below; /* the OpenCL.dll that cld3d calls, if it is one */
    bool beside_unused;
    char only_here[4 * MAX_PATH]; /* what programs in other folders load instead of `library`; empty if the same */

    unsigned platform_count, device_count;
    struct platform platforms[PLATFORMS_MAX];
    struct device devices[DEVICES_MAX];
};

void opencl_find(struct opencl *cl);
/* Why cld3d preferred the devices of the last query for an adapter; NULL if it does not report it. */
const char *opencl_match_reason(const struct opencl *cl);
/* The transport of the shared object created last, and why; NULL if cld3d does not report it. */
const char *opencl_last_way(const struct opencl *cl);

/* ---- all of it ---- */

struct info {
    struct opencl opencl;
    struct direct3d d3d;
    unsigned reason_count;
    char reasons[REASONS_MAX][WHY_SIZE]; /* why formats can't be shared, each text once */
};

/* Determines which devices belong to which adapters, and transfers a texture to every device and back
 * (info_share.c). */
void sharing_try(struct info *info);
/* Creates an object of each kind of resource on every device (info_ways.c). */
void ways_try(struct info *info);
/* Tries every format of the tables on every device (info_formats.c). */
void formats_try(struct info *info);

/* Whether any adapter has a device of any Direct3D version. */
bool info_has_direct3d(const struct info *info);
/* The number of devices that can share with at least one Direct3D version, and whether there is one for `api`. */
unsigned info_sharing_devices(const struct info *info);
bool info_works(const struct info *info, enum api_index api);
/* Whether cld3d has found no OpenCL below. Instead of a path it then says why. */
bool info_no_next(const struct opencl *cl);
/* Under Wine: why cld3d has no bridge to the host's OpenCL; NULL if it has one, or needs none: CLD3D_NEXT names what is below, or cld3d
 * is a layer over a loader with drivers. */
const char *info_no_bridge(const struct opencl *cl);

/* The report (info_print.c) and its parts: the first lines (info_verdict.c) and formats (info_print_formats.c). */
void print_report(const struct info *info, bool all_formats);
void print_verdict(const struct info *info);
void verdict_text(const struct info *info, char *text, size_t size);
void print_advice(const struct info *info);
void print_format_summary(const struct info *info, const struct device *device, enum api_index api);
void print_format_table(const struct info *info, enum api_index api);
void print_format_key(const struct info *info);

/* The same as JSON, with all formats; and the output if there is no result (info_json.c). */
void print_json(const struct info *info);
void print_json_failure(const char *text);
/* Of the report, for both kinds of it (info_print.c). */
void system_name(char *text, size_t size);
const char *device_type_name(cl_device_type type);
extern const struct setting_row {
    const char *standard, *meaning;
} setting_rows[]; /* by enum setting */
void settings_unknown(void (*call)(void *context, const char *name), void *context);

/* ---- what is wrong, and what to do (info_findings.c) ---- */

enum { FINDINGS_MAX = 32 };

struct finding {
    bool error;       /* otherwise a warning: others may share */
    const char *name; /* the same in each version of cld3dinfo */
    char what[WHY_SIZE], cause[4 * MAX_PATH], remedy[WHY_SIZE];
};

/* The list is overwritten by the next call. */
const struct finding *info_findings(const struct info *info, unsigned *found);

/* ---- steps that drivers may not survive (info_steps.c) ---- */

/* Announces the next step. False if that step has crashed or hung an earlier process: skip it; `why` says so. Each step
 * must have its own text. */
bool step(char *why, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* The skipped steps. */
unsigned step_failures(void);
const char *step_failed(unsigned index);
const char *step_failed_how(unsigned index);

/* In the first process: has a second one do the work, with `options`, as often as it needs; gives its exit status. False
 * if no process can be started: then the work can be done here. If it can't be done, `give_up` says so. */
bool steps_run(const char *options, int *status, void (*give_up)(const char *text));
/* In the second process: `handle` is the value that the first one passed with --second. */
bool steps_join(const char *handle);
/* The steps are over, and what comes is printed: that may take as long as the reader likes, and is not repeated. */
void steps_print(void);
/* Ends the process that did the work; with status 1 if the output could not be written. */
_Noreturn void steps_finish(int status);

#endif
