/* Formats that a device lacks, emulated by wider ones that it has: the choice, and the conversion on the device.
 *
 * An emulated image is an ordinary image of the driver in an RGBA format. Kernels read and write the values that the
 * declared format would give; the host (read, write, copy, fill, map, queries) sees only the declared format. Three
 * differences cannot be avoided: in a kernel get_image_channel_order() and get_image_channel_data_type() return the
 * order and the type of the storage format, and the border colour of CLK_ADDRESS_CLAMP has alpha 0 where an R or RG
 * image has 1. */
#ifndef CLD3D_FORMATS_STORAGE_H
#define CLD3D_FORMATS_STORAGE_H

#include "handles/handles.h"

/* Converts between two formats in one context. It lives as long as the context's record. */
struct converter {
    cl_image_format declared, stored;
    size_t narrow_texel, wide_texel; /* bytes */
    bool on_host;                    /* the host converts as well as the device does, whose memory it shares */
    cl_program program;
    _Atomic(cl_kernel) widen, narrow; /* kernels whose arguments no thread is setting, or NULL */
    struct converter *after;
};

/* Determines how images of `declared` and `type` are emulated in a context. False: they are not, because the device
 * supports the format or no format can store it; or it is unknown, because the driver failed: then *status says why. */
bool storage_choose(const struct context_record *context, cl_image_format declared, cl_mem_object_type type,
                    cl_image_format *stored, cl_int *status);

/* The formats that are emulated in a context for `type`, without those that the driver itself lists for `flags`: writes
 * at most `capacity`; *count gets the number of all. */
cl_int storage_list(const struct context_record *context, cl_mem_flags flags, cl_mem_object_type type, cl_uint capacity,
                    cl_image_format *formats, cl_uint *count);

/* The converter of a context for a pair of formats, created when it is first needed. NULL with *status set on
 * failure. */
struct converter *converter_get(struct context_record *context, cl_image_format declared, cl_image_format stored,
                                cl_int *status);

/* Enqueues the conversion of `texels` texels, from tightly packed `from` to tightly packed `to`. `*done` gets the
 * event, owned by the caller. An error is logged. */
cl_int converter_enqueue(struct converter *converter, bool widen, cl_command_queue queue, cl_mem from, cl_mem to,
                         size_t texels, cl_uint wait_count, const cl_event *wait, cl_event *done);

/* Frees the converters of a context. */
void converters_destroy(struct converter *first);

/* The bits of the alpha channel for a texel without alpha. */
uint64_t storage_alpha(cl_channel_type type);

/* The same conversion by the host (texels.c), for a converter that allows it. Wide texels are aligned. `stream`:
 * with non-temporal stores, if the processor has them. They are faster where the caches do not hold `to`, because they do
 * not read its old bytes. */
bool texels_convertible(const struct converter *converter);
void texels_widen(const struct converter *converter, void *to, const void *from, size_t texels, bool stream);
void texels_narrow(const struct converter *converter, void *to, const void *from, size_t texels, bool stream);
/* memcpy, in the same two ways. */
void texels_copy(void *to, const void *from, size_t bytes, bool stream);
/* Set by tests: the processor that these functions assume. */
extern enum texels_processor { TEXELS_OWN, TEXELS_ANY } texels_processor;

#endif
