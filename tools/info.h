/* cld3dinfo's parts and what they find out.
 *
 * Each part adds what it finds to the report, and leaves what other parts need in the structures below. The counts are limited: a
 * driver that claims thousands of devices is no reason to end without an answer. */
#ifndef CLD3D_TOOLS_INFO_H
#define CLD3D_TOOLS_INFO_H

#include <windows.h>

#include <d3d9.h>
#include <d3d10.h>
#include <d3d11.h>
#include <dxgi.h>

#include <CL/cl_icd.h>
#include "d3d/formats.h"
#include "report.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLATFORMS_MAX = 16, DEVICES_MAX = 32, ADAPTERS_MAX = 8 };

enum { NAME_SIZE = 256, WHY_SIZE = 512 };

enum api_index { API_D3D11, API_D3D10, API_D3D9, API_COUNT };

/* ---- reasons (info_text.c) ---- */

/* Each writes to `why`, which has WHY_SIZE bytes: "CALL: NAME (CODE)", or what the format says. */
void why_cl(char *why, const char *call, cl_int code);
void why_d3d(char *why, const char *call, HRESULT code);
void why_say(char *why, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* UTF-16 to UTF-8. */
void text_from_wide(char *text, size_t size, const wchar_t *wide);

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
/* The path of a file in the folder of this program; false if it is not known. `path` has MAX_PATH characters. */
bool library_path_beside(wchar_t *path, const wchar_t *file);
/* Whether `library` is the OpenCL.dll beside this program, and `systems` another one, which programs in other folders load. */
bool library_only_here(const struct library *library, struct library *systems);
void library_report(struct fact *in, const char *key, const char *label, const struct library *library);

/* ---- layers in the registry (info_layers.c) ---- */

/* Registers and unregisters the cld3d.dll in this program's folder; prints what was done, or on standard error why
 * not. */
bool layer_register(void);
bool layer_unregister(void);
void layers_report(struct fact *in);

/* ---- Direct3D (info_d3d.c, info_d3d11.c, info_d3d10.c, info_d3d9.c) ---- */

/* A graphics adapter and the device that each Direct3D version has created on it. */
struct adapter {
    char name[NAME_SIZE];
    uint32_t vendor, device;
    LUID luid;
    IDXGIAdapter1 *dxgi; /* NULL: only Direct3D 9 knows the adapter */
    bool in_d3d9;
    UINT d3d9_ordinal;
    void *devices[API_COUNT];
};

struct direct3d {
    struct library dxgi, runtimes[API_COUNT];
    IDirect3D9Ex *d3d9;
    bool works; /* there is a device */
    char why[WHY_SIZE];
    unsigned adapter_count;
    struct adapter adapters[ADAPTERS_MAX];
};

/* Finds the adapters and creates all devices. They live until the program ends. */
void direct3d_find(struct direct3d *d3d, struct fact *report);

/* A kind of resource from which objects are created. */
struct kind {
    const char *name; /* NULL after the last one */
    uint32_t format;
    unsigned extent; /* of a square; of a buffer its bytes */
    unsigned levels;
    bool target, buffer;
    cl_uint index; /* the subresource or plane that is shared */
};

enum { KIND_EXTENT = 256, KIND_BYTES = 1 << 20, KINDS_MAX = 4 };

/* Textures that go to OpenCL and back. In memory of our own all planes lie after each other without gaps. */
enum { TRIAL_EXTENT = 16, TRIAL_BYTES_MAX = TRIAL_EXTENT * TRIAL_EXTENT * 16 };

/* The bytes of such a texture. */
struct texels {
    const struct format_row *first; /* the plane */
    unsigned pitch;                 /* bytes of its rows */
    uint8_t bytes[TRIAL_BYTES_MAX];
};

/* Where a plane is, in memory whose first plane has `pitch` bytes per row. */
struct plane_place {
    unsigned offset, pitch, rows;
};
struct plane_place plane_place(const struct format_row *row, unsigned pitch);
/* Copies all planes of such a texture between two memories whose first planes have these row pitches; one of them is `texels` itself. */
void planes_copy(const struct texels *texels, uint8_t *to, unsigned to_pitch, const uint8_t *from, unsigned from_pitch);

/* One Direct3D version with its extension: what differs between the three. A function that fails says why. */
struct api {
    const char *name; /* "Direct3D 11" */
    const char *dll;
    const char *extension;
    /* The names of its functions. */
    const char *get_devices, *create, *create_buffer, *acquire, *release;
    cl_context_properties context_property;
    cl_uint source, preferred, all; /* of the query for an adapter's devices */

    const struct format_row *formats;
    const unsigned *format_count;
    const struct format_row *(*find_format)(uint32_t code, unsigned plane);
    struct kind kinds[KINDS_MAX + 1];

    /* A device on the adapter, or NULL. `level` says what it can, or why there is none. */
    void *(*open)(const struct direct3d *d3d, const struct adapter *adapter, char *level);
    /* A resource, with these texels if it is for a trial; NULL if it fails. */
    IUnknown *(*make)(void *device, const struct kind *kind, const struct texels *texels, char *why);
    /* What Direct3D reads from it. */
    bool (*read)(void *device, IUnknown *texture, struct texels *texels, char *why);
};

extern const struct api d3d11_info, d3d10_info, d3d9_info;
extern const struct api *const apis[API_COUNT];

/* ---- OpenCL (info_opencl.c) ---- */

/* A function of the OpenCL.dll. */
#define CALL(cl, function) ((__typeof__(&function))library_function(&(cl)->library, #function))

struct device {
    unsigned number;
    cl_device_id id;
    cl_platform_id platform;
    bool images;
    bool lists[API_COUNT]; /* the extensions */
    bool own[API_COUNT];   /* so does the OpenCL below cld3d */
    bool works;            /* it can share with a Direct3D version */
    struct fact *report;
};

struct opencl {
    struct library library;
    char why[WHY_SIZE]; /* why there is no platform */

    struct library cld3d;                /* `library` itself, or a layer in it; without module if there is none */
    const char *version, *next, *bridge; /* what cld3d reports about itself; NULL if nothing */
    struct library below;                /* the OpenCL.dll that cld3d calls, if it is one */

    unsigned platform_count, device_count;
    struct device devices[DEVICES_MAX];
};

void opencl_find(struct opencl *cl, struct fact *report);
/* What cld3d reports about a topic (src/entry/entry.h); NULL if nothing. */
const char *opencl_ask_cld3d(const struct opencl *cl, const char *topic);

/* ---- all of it ---- */

struct info {
    struct opencl opencl;
    struct direct3d d3d;
};

/* Determines which devices belong to which adapters, and shares resources of each kind and textures of each format with each device
 * (info_share.c). The formats are in the text report only if `show_formats`. */
void sharing_try(struct info *info, bool show_formats, struct fact *findings);

/* The answer, and what is wrong and what to do about it (info_findings.c). */
void verdict_report(const struct info *info, struct fact *verdict);
void findings_report(const struct info *info, struct fact *findings);
void finding_add(struct fact *findings, bool error, const char *name, const char *what, const char *cause,
                 const char *remedy);
/* The number of devices that can share with at least one Direct3D version. */
unsigned info_sharing_devices(const struct info *info);

/* ---- steps that drivers may not survive (info_steps.c) ---- */

/* Announces the next step. False if that step has crashed or hung an earlier process: skip it; `why` says so. Each step
 * must have its own text. */
bool step(char *why, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* The skipped steps; NULL after the last one. */
const char *step_failed(unsigned index);

/* In the first process: has a second one do the work, with `options`, as often as it needs; gives its exit status. If it can't be done,
 * `give_up` is told the last step. */
int steps_run(const char *options, void (*give_up)(const char *step));
/* In the second process: `handle` is the value that the first one passed with --second. */
bool steps_join(const char *handle);
/* The steps are over, and what comes is printed: that may take as long as the reader likes, and is not repeated. */
void steps_print(void);
/* Ends the process that did the work; with status 1 if the output could not be written. */
_Noreturn void steps_finish(int status);

#endif
