/* A Direct3D subresource with the OpenCL object made of it, as the data tests use them, and helpers for their cases.
 *
 * Every function checks what it calls, so callers go on whatever happens; what must exist for that is tested by the
 * functions with a bool. Contents come from rig_pattern_for with a seed; seeds that differ by less than 100 give contents
 * that differ in their first byte at least. */
#ifndef CLD3D_TESTS_SHARED_H
#define CLD3D_TESTS_SHARED_H

#include "formats.h"
#include "tap.h"

struct shared {
    const struct rig *rig;
    cl_context context;
    cl_command_queue queue;
    struct rig_desc desc;
    void *resource; /* one reference */
    UINT subresource;
    cl_mem memory;     /* owned */
    size_t extent[3];  /* of the subresource, in texels; a buffer: bytes, 1, 1 */
    size_t row, bytes; /* tightly packed */
};

/* Makes the resource and the object; false, and nothing is owned, with a failed check. */
bool shared_open(struct shared *s, const struct rig *rig, const struct rig_desc *desc, UINT subresource,
                 cl_mem_flags flags);
/* Makes only the object, in the rig's context or in another. */
bool shared_join(struct shared *s, const struct rig *rig, cl_context context, cl_command_queue queue, void *resource,
                 const struct rig_desc *desc, UINT subresource, cl_mem_flags flags);
void shared_close(struct shared *s);
bool shared_is_buffer(const struct shared *s);

/* Memory of the subresource's size with the pattern of a seed. To be freed. */
void *shared_pattern(const struct shared *s, unsigned seed);

void shared_acquire(struct shared *s);
void shared_release(struct shared *s);
/* Acquires or releases a list in one call, in the queue of the first. */
void shared_acquire_all(struct shared *s, cl_uint count);
void shared_release_all(struct shared *s, cl_uint count);

/* Whole transfers of the acquired object that end in the call. */
void shared_cl_write(struct shared *s, const void *data);
void shared_cl_read(struct shared *s, void *data);

/* The pattern of a seed: Direct3D writes it; Direct3D or the acquired object must hold it. */
void shared_d3d_write(struct shared *s, unsigned seed);
void shared_d3d_expect(struct shared *s, unsigned seed);
void shared_cl_expect(struct shared *s, unsigned seed);
/* The bytes that Direct3D must find. */
void shared_d3d_expect_bytes(struct shared *s, const void *expected);

/* Gives Direct3D the content of `seed`, and the OpenCL object, and all that lies between the two, another one. What is
 * found in OpenCL after the next acquire is right only if that acquire brought it. Goes both ways once for that, and
 * checks both, so that no case can pass with either copy left out. */
void shared_prepare(struct shared *s, unsigned seed);
/* Both directions, none of which can do without its copy: uses the seeds from `seed` to `seed` + 3, and leaves the last
 * in Direct3D. */
void shared_round_trip(struct shared *s, unsigned seed);

/* ---- cases ---- */

/* Says, if checks have failed since `before`, what they were about. */
int failures(void);
void remark_failures(int before, const char *text, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Runs a test with a rig of its own. */
void with_rig(const struct rig_api *api, unsigned flags, void (*test)(const struct rig *));

/* Runs a test with a rig that all such tests of the program have in common, until its end. For tests of all formats: what a
 * context builds for each of them takes longer than the tests. */
void with_common_rig(const struct rig_api *api, void (*test)(const struct rig *));

/* A case for Direct3D 11 and one for 10, with a rig of their own. */
#define DATA_CASE(text, name, flags)                       \
    static void name(const struct rig *rig);               \
    FOR_EACH_API(text, name, with_rig(api, (flags), name)) \
    static void name(const struct rig *rig)

/* Four cases of a test of all formats, with 2D and 3D images. They run where `can(rig)` holds. */
#define FORMAT_CASES(text, name, can)                                     \
    static void name##_2d(const struct rig *rig)                          \
    {                                                                     \
        each_format(rig, false, name);                                    \
    }                                                                     \
    FOR_EACH_API(text ", 2D", name##_2d, with_common_rig(api, name##_2d)) \
    static void name##_3d(const struct rig *rig)                          \
    {                                                                     \
        if (can)                                                          \
            each_format(rig, true, name);                                 \
    }                                                                     \
    FOR_EACH_API(text ", 3D", name##_3d, with_common_rig(api, name##_3d))

/* Runs a test for each format with a fresh object, 2D or 3D, of an odd size. */
void each_format(const struct rig *rig, bool deep, void (*test)(struct shared *, const struct format *));
/* A description of the texture that each_format makes. */
struct rig_desc format_desc(const struct format *format, bool deep);

#endif
