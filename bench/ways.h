/* The ways in which a kernel can get at a surface, to be compared. All do the same work: what Direct3D has drawn last is
 * there for the kernels, and what they write is there for Direct3D, both when the call returns. */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include "surface.h"

/* What the kernels do, and so which of the two ways the bytes have to go. */
struct pattern {
    const char *name;
    bool reads, writes;
    bool recreated; /* programs that keep nothing: each frame makes its shared objects and releases them */
};

/* One side that runs kernels: the memory of the planes, and kernels whose arguments are set. */
struct user {
    const struct opencl *cl;
    cl_mem planes[MOST_PLANES];
    bool in_buffer[MOST_PLANES]; /* the plane lies in a buffer, with rows of `pitch` bytes */
    size_t pitch[MOST_PLANES];
    cl_kernel readers[MOST_PLANES], writers[MOST_PLANES];
    cl_mem result;                                       /* floats; the first is the first texel that was read */
    clEnqueueAcquireD3D11ObjectsKHR_fn acquire, release; /* of Direct3D 9 they have the same type; NULL: not shared */
};

/* Shared objects of cld3d, of the kind that a pattern needs; or for NULL memory of one's own, an image where the device has
 * the format and else a buffer. */
struct user user_open(struct surface *surface, const struct opencl *cl, const struct pattern *shared);
void user_close(struct user *user);
/* What the kernels have read. */
float user_result(const struct user *user);

/* A frame through cld3d: acquire, kernels, release, and the wait of a program that needs the result. */
void frame_cld3d(struct surface *surface, struct user *user, const struct pattern *pattern, float value);
/* The same of objects that are kept, with the milliseconds of its parts: the acquire, the release after the kernels are
 * enqueued, and the wait for both sides. */
void frame_parts(struct surface *surface, struct user *user, const struct pattern *pattern, float value,
                 double parts[3]);
/* By hand: between the rows that Direct3D has mapped and OpenCL's memory without any copy between. `over` and `back` say
 * which of the two ways the program takes. */
void frame_by_hand(struct surface *surface, const struct user *user, const struct pattern *pattern, bool over,
                   bool back, float value);
/* The parts: Direct3D's copies alone, the kernels alone, a memcpy of the bytes from `from` to `to`, once for each way. */
void frame_direct3d(struct surface *surface, const struct pattern *pattern);
void frame_kernels(const struct surface *surface, const struct user *user, const struct pattern *pattern, float value);
void frame_memcpy(const struct surface *surface, const struct pattern *pattern, void *to, const void *from);

#endif
