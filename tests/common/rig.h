/* The rig of the sharing tests: one Direct3D device, one OpenCL device, and the functions that the tests need of both.
 *
 * Tests are written once, against neutral calls, and run over Direct3D 10 and 11, over Wine's Direct3D with each OpenCL
 * driver and natively over the fake Direct3D. Everything here is a user's code: the plain OpenCL and Direct3D APIs, the
 * extension's functions from clGetExtensionFunctionAddressForPlatform, no header of cld3d. */
#ifndef CLD3D_TESTS_RIG_H
#define CLD3D_TESTS_RIG_H

#include <windows.h>

#include <d3d9.h>
#include <d3d10.h>
#include <d3d10misc.h>
#include <d3d11.h>
#include <dxgi.h>

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Tokens and codes by their role; values from the extension's header. */
struct rig_api {
    int version;           /* 10 or 11 */
    const char *extension; /* "cl_khr_d3d11_sharing" */
    cl_int invalid_device, invalid_resource, already_acquired, not_acquired;
    cl_uint device_source, adapter_source, preferred_set, all_set;
    cl_context_properties context_device;
    cl_context_info prefer_shared;
    cl_mem_info mem_resource;
    cl_image_info image_subresource;
    cl_command_type command_acquire, command_release;
};

extern const struct rig_api rig_d3d10, rig_d3d11;

typedef cl_int(CL_API_CALL *rig_get_device_ids)(cl_platform_id, cl_uint, void *, cl_uint, cl_uint, cl_device_id *,
                                                cl_uint *);
typedef cl_mem(CL_API_CALL *rig_create_buffer)(cl_context, cl_mem_flags, void *, cl_int *);
typedef cl_mem(CL_API_CALL *rig_create_texture)(cl_context, cl_mem_flags, void *, UINT, cl_int *);
typedef cl_int(CL_API_CALL *rig_enqueue)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                         cl_event *);

struct rig {
    const struct rig_api *api;
    void *device; /* ID3D10Device or ID3D11Device; one reference. Other cases may have the same */
    cl_platform_id platform;
    cl_device_id cl_device;
    cl_context context;     /* with interop; owned */
    cl_command_queue queue; /* in order; owned */
    rig_get_device_ids get_device_ids;
    rig_create_buffer create_buffer;
    rig_create_texture create_2d, create_3d;
    rig_enqueue acquire, release;
};

enum { RIG_USER_SYNC = 1, RIG_PROFILING = 2, RIG_OUT_OF_ORDER = 4, RIG_NO_CONTEXT = 8, RIG_SINGLE_THREADED = 16 };

/* Opens all of it; on failure says why with a failed check and returns false (then nothing is owned). */
bool rig_open(struct rig *rig, const struct rig_api *api, unsigned flags);
void rig_close(struct rig *rig);

/* Fills in the platform and the OpenCL device: the first that has images, of another platform than `but`. Any OpenCL of the run will
 * do, the environment offers the wanted one alone. False if there is none. */
bool rig_find_device(struct rig *rig, cl_platform_id but);
/* Opens a rig of another platform than that of an open rig, on the same Direct3D device. False without a failed check where no
 * other platform has a device. */
bool rig_open_beside(struct rig *rig, const struct rig *first, unsigned flags);

/* The queue of an open context by `flags`. False and the case skipped: the device has no queues of that kind. */
bool rig_open_queue(struct rig *rig, unsigned flags);

/* The parts of rig_open that a rig of Direct3D 9 needs too. A function of the platform, with a failed check if there is none; a context
 * whose property names the device, and with rig_open_context its queue. */
bool rig_find_function(const struct rig *rig, const char *name, void *function);
cl_context rig_make_context_with(const struct rig *rig, cl_context_properties property, void *device, bool user_sync,
                                 cl_int *status);
bool rig_open_context(struct rig *rig, cl_context_properties property, void *device, unsigned flags);

/* Around a case. Over the fake Direct3D no rule of Direct3D may have been broken, and nothing may be left: at once, or with a device in a
 * while. */
unsigned rig_begin(void);
void rig_end(cl_device_id device, unsigned before);

/* Whether out-of-order queues of a device go on beside a command that is held. */
bool rig_in_any_order(cl_device_id device);

/* A second device of the same API (one reference), or NULL with a failed check. */
void *rig_another_device(const struct rig *rig);

/* What an object lies in lives for as long as the driver counts commands that used it, which may be a moment longer than they
 * run. Has cld3d look at that again, as it does with each context that goes. */
void rig_let_go(cl_device_id device);
/* A context with interop on `device`. */
cl_context rig_make_context(const struct rig *rig, void *device, bool user_sync, cl_int *status);

enum rig_usage { RIG_DEFAULT, RIG_IMMUTABLE, RIG_DYNAMIC, RIG_STAGING };

/* A texture or buffer to make; zeros mean: 1 level, 1 slice, 1 sample, usage DEFAULT, no bind or misc flags. */
struct rig_desc {
    DXGI_FORMAT format;
    UINT width, height, depth; /* depth > 0: a 3D texture. A buffer: width bytes, height 0 */
    UINT levels, slices, samples;
    enum rig_usage usage;
    UINT bind,
        misc; /* D3D11_BIND_... and D3D11_RESOURCE_MISC_...; mapped for Direct3D 10 (same values where it has them) */
    const void *initial; /* tightly packed rows of subresource 0; needed for IMMUTABLE */
};

/* False where Direct3D ends the program at a texture with the flag for sharing among devices (scripts/dxvk.sh): rig_make makes none
 * then. */
bool rig_shares_textures(void);
/* Makes a resource on `device`, or returns NULL and leaves the HRESULT in *result (may be NULL). */
void *rig_make(const struct rig *rig, void *device, const struct rig_desc *desc, HRESULT *result);

/* The extents of a subresource's level. */
void rig_level(const struct rig_desc *desc, UINT subresource, UINT *width, UINT *height, UINT *depth);
/* Bytes of a texel, for every format of the tests; 0 if unknown. */
UINT rig_texel_bytes(DXGI_FORMAT format);

/* Writes a subresource from tightly packed rows (UpdateSubresource; Map for DYNAMIC and STAGING ones). */
/* Whether Direct3D maps such a dynamic resource at an address that exists. In the new WoW64 Wine's OpenGL cuts off that of
 * a dynamic buffer with less than 4 bytes. */
bool rig_can_map(const struct rig *rig, const struct rig_desc *desc);
void rig_write(const struct rig *rig, void *resource, const struct rig_desc *desc, UINT subresource, const void *data);
/* Reads a subresource to tightly packed rows through a staging copy. No Flush before: Direct3D must be right as it is. */
void rig_read(const struct rig *rig, void *resource, const struct rig_desc *desc, UINT subresource, void *data);
/* Queues a copy of a subresource to one of another resource, or to subresource 0. */
void rig_copy_to(const struct rig *rig, void *to, UINT to_subresource, void *from, UINT subresource);
void rig_copy(const struct rig *rig, void *to, void *from, UINT subresource);
/* The size of a subresource as tightly packed rows (a planar format: with its chroma), and how many subresources. */
size_t rig_bytes(const struct rig_desc *desc, UINT subresource);
UINT rig_subresources(const struct rig_desc *desc);

/* Flush of the device, and a wait until an event query behind all its work is reached. */
void rig_flush(const struct rig *rig, void *device);
bool rig_finish(const struct rig *rig, void *device);

/* The public reference count of a COM object. */
ULONG rig_refs(void *object);
void rig_release(void *object);

/* Fills bytes with a pattern that differs for each seed and has no short period; formats with NaN get safe bytes from
 * rig_pattern_for. */
void rig_pattern(void *data, size_t size, unsigned seed);
void rig_pattern_for(DXGI_FORMAT format, void *data, size_t size, unsigned seed);

/* A program built from source, or a kernel of one; NULL with the build log as a failed check. */
cl_program rig_program(const struct rig *rig, const char *source);
cl_kernel rig_kernel(const struct rig *rig, const char *source, const char *name);

/* The execution status and the command type of an event. */
cl_int rig_event_status(cl_event event);
cl_uint rig_event_type(cl_event event);

/* Whether the OpenCL device makes 2D (or 3D) images of a format. */
bool rig_has_format(const struct rig *rig, cl_image_format format, cl_mem_object_type type);

#ifdef _WIN32
static inline void pause_ms(unsigned milliseconds)
{
    Sleep(milliseconds);
}
#else
static inline void pause_ms(unsigned milliseconds)
{
    const struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}
#endif

/* Makes a case for each API of a statement about `api`. */
#define FOR_EACH_API(text, name, statement)           \
    static void name##_d3d11(void)                    \
    {                                                 \
        const struct rig_api *const api = &rig_d3d11; \
        statement;                                    \
    }                                                 \
    TAP_LIST("Direct3D 11: " text, name##_d3d11, 0)   \
    static void name##_d3d10(void)                    \
    {                                                 \
        const struct rig_api *const api = &rig_d3d10; \
        statement;                                    \
    }                                                 \
    TAP_LIST("Direct3D 10: " text, name##_d3d10, 1)

#endif
