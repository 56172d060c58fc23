#include "ways.h"

#include <string.h>

/* As in touch.cl: a work item for STEP x STEP texels. */
enum { STEP = 16 };

static const size_t no_origin[3] = {0, 0, 0};

/* ---- users ---- */

static void set_argument(const struct user *user, cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    check_cl(user->cl->call.clSetKernelArg(kernel, index, size, value), "clSetKernelArg",
             "this OpenCL refuses a kernel's argument");
}

static void name_plane(const struct user *user, unsigned plane)
{
    set_argument(user, user->readers[plane], 0, sizeof(cl_mem), &user->planes[plane]);
    set_argument(user, user->writers[plane], 0, sizeof(cl_mem), &user->planes[plane]);
}

static void make_kernels(struct user *user, unsigned plane)
{
    const cl_uint pitch = (cl_uint)user->pitch[plane];
    const bool bytes = user->in_buffer[plane];
    user->readers[plane] = opencl_kernel(user->cl, bytes ? "read_bytes" : "read_image");
    user->writers[plane] = opencl_kernel(user->cl, bytes ? "write_bytes" : "write_image");
    name_plane(user, plane);
    set_argument(user, user->readers[plane], 1, sizeof(cl_mem), &user->result);
    if (bytes) {
        set_argument(user, user->readers[plane], 2, sizeof(pitch), &pitch);
        set_argument(user, user->writers[plane], 2, sizeof(pitch), &pitch);
    }
}

/* What an expert does: an image if the device has its format, else a buffer that holds the plane's rows. */
static void make_plane(struct user *user, const struct surface *surface, unsigned number)
{
    const struct plane *plane = &surface->planes[number];
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = plane->width, .image_height = plane->height};
    cl_int code;
    if (!surface->is_buffer)
        user->planes[number] =
            user->cl->call.clCreateImage(user->cl->context, CL_MEM_READ_WRITE, &plane->format, &desc, NULL, &code);
    user->in_buffer[number] = !user->planes[number];
    user->pitch[number] = plane->width * plane->texel;
    if (user->in_buffer[number])
        user->planes[number] = opencl_buffer(user->cl, user->pitch[number] * plane->height);
}

static void share_plane(struct user *user, struct surface *surface, const struct pattern *pattern, unsigned number)
{
    const cl_mem_flags flags = !pattern->writes  ? CL_MEM_READ_ONLY
                               : !pattern->reads ? CL_MEM_WRITE_ONLY
                                                 : CL_MEM_READ_WRITE;
    user->planes[number] = surface->ops->share(surface, user->cl, flags, number);
    user->in_buffer[number] = surface->is_buffer;
    user->pitch[number] = surface->planes[number].width * surface->planes[number].texel;
}

static void drop_planes(struct user *user)
{
    for (unsigned i = 0; i < MOST_PLANES; i++)
        if (user->planes[i])
            user->cl->call.clReleaseMemObject(user->planes[i]);
    memset(user->planes, 0, sizeof(user->planes));
}

struct user user_open(struct surface *surface, const struct opencl *cl, const struct pattern *shared)
{
    const struct plane *first = &surface->planes[0];
    struct user user = {.cl = cl};
    user.result = opencl_buffer(cl, (first->width / STEP + 1) * (first->height / STEP + 1) * sizeof(float));
    for (unsigned i = 0; i < surface->plane_count; i++) {
        if (shared)
            share_plane(&user, surface, shared, i);
        else
            make_plane(&user, surface, i);
        make_kernels(&user, i);
    }
    if (!shared)
        return user;
    if (shared->recreated)
        drop_planes(&user);
    const bool nine = surface->is_video;
    user.acquire = (clEnqueueAcquireD3D11ObjectsKHR_fn)opencl_function(cl, nine ? "clEnqueueAcquireDX9MediaSurfacesKHR"
                                                                                : "clEnqueueAcquireD3D11ObjectsKHR");
    user.release = (clEnqueueReleaseD3D11ObjectsKHR_fn)opencl_function(cl, nine ? "clEnqueueReleaseDX9MediaSurfacesKHR"
                                                                                : "clEnqueueReleaseD3D11ObjectsKHR");
    return user;
}

void user_close(struct user *user)
{
    for (unsigned i = 0; i < MOST_PLANES && user->readers[i]; i++) {
        user->cl->call.clReleaseKernel(user->readers[i]);
        user->cl->call.clReleaseKernel(user->writers[i]);
    }
    drop_planes(user);
    user->cl->call.clReleaseMemObject(user->result);
}

float user_result(const struct user *user)
{
    float result = -1;
    check_cl(user->cl->call.clEnqueueReadBuffer(user->cl->queue, user->result, CL_TRUE, 0, sizeof(result), &result, 0,
                                                NULL, NULL),
             "clEnqueueReadBuffer", "the kernels failed");
    return result;
}

/* ---- kernels ---- */

static void run(const struct surface *surface, const struct user *user, cl_kernel kernel, unsigned plane)
{
    const size_t size[2] = {surface->planes[plane].width * (surface->is_buffer ? surface->planes[plane].texel : 1) /
                                STEP,
                            surface->planes[plane].height / STEP};
    check_cl(user->cl->call.clEnqueueNDRangeKernel(user->cl->queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL),
             "clEnqueueNDRangeKernel", "the OpenCL device refuses the kernel");
}

/* Plane 0 last, so that its first texel stays in the result. */
static void run_kernels(const struct surface *surface, const struct user *user, const struct pattern *pattern,
                        float value)
{
    for (unsigned i = surface->plane_count; i-- > 0;) {
        if (pattern->reads)
            run(surface, user, user->readers[i], i);
        if (pattern->writes) {
            set_argument(user, user->writers[i], 1, sizeof(value), &value);
            run(surface, user, user->writers[i], i);
        }
    }
}

/* ---- the ways ---- */

static void frame_with_new_object(struct surface *surface, struct user *user, const struct pattern *pattern,
                                  float value)
{
    struct pattern kept = *pattern;
    kept.recreated = false;
    for (unsigned i = 0; i < surface->plane_count; i++) {
        share_plane(user, surface, pattern, i);
        name_plane(user, i);
    }
    frame_cld3d(surface, user, &kept, value);
    drop_planes(user);
}

void frame_cld3d(struct surface *surface, struct user *user, const struct pattern *pattern, float value)
{
    if (pattern->recreated) {
        frame_with_new_object(surface, user, pattern, value);
        return;
    }
    double parts[3];
    frame_parts(surface, user, pattern, value, parts);
}

void frame_parts(struct surface *surface, struct user *user, const struct pattern *pattern, float value,
                 double parts[3])
{
    const double start = clock_ms();
    check_cl(user->acquire(user->cl->queue, surface->plane_count, user->planes, 0, NULL, NULL),
             "clEnqueueAcquire...KHR", "Direct3D could not hand over the surface");
    const double acquired = clock_ms();
    run_kernels(surface, user, pattern, value);
    check_cl(user->release(user->cl->queue, surface->plane_count, user->planes, 0, NULL, NULL),
             "clEnqueueRelease...KHR", "Direct3D could not take the surface back");
    const double released = clock_ms();
    opencl_wait(user->cl);
    surface->ops->wait(surface);
    parts[0] = acquired - start;
    parts[1] = released - acquired;
    parts[2] = clock_ms() - released;
}

/* Enqueues the way of one plane between mapped rows and OpenCL's memory. */
static void move(const struct surface *surface, const struct user *user, unsigned number, bool over,
                 const struct rows *rows)
{
    const struct plane *plane = &surface->planes[number];
    const cl_icd_dispatch *cl = &user->cl->call;
    const size_t texels[3] = {plane->width, plane->height, 1}, bytes[3] = {user->pitch[number], plane->height, 1};
    cl_command_queue queue = user->cl->queue;
    cl_mem memory = user->planes[number];
    cl_int code;
    if (surface->is_buffer)
        code = over ? cl->clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, surface->bytes, rows->data, 0, NULL, NULL)
                    : cl->clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, surface->bytes, rows->data, 0, NULL, NULL);
    else if (user->in_buffer[number])
        code = over ? cl->clEnqueueWriteBufferRect(queue, memory, CL_FALSE, no_origin, no_origin, bytes,
                                                   user->pitch[number], 0, rows->pitch, 0, rows->data, 0, NULL, NULL)
                    : cl->clEnqueueReadBufferRect(queue, memory, CL_FALSE, no_origin, no_origin, bytes,
                                                  user->pitch[number], 0, rows->pitch, 0, rows->data, 0, NULL, NULL);
    else
        code = over ? cl->clEnqueueWriteImage(queue, memory, CL_FALSE, no_origin, texels, rows->pitch, 0, rows->data, 0,
                                              NULL, NULL)
                    : cl->clEnqueueReadImage(queue, memory, CL_FALSE, no_origin, texels, rows->pitch, 0, rows->data, 0,
                                             NULL, NULL);
    check_cl(code, "clEnqueueWrite... or clEnqueueRead...", "this OpenCL device is not usable now");
}

void frame_by_hand(struct surface *surface, const struct user *user, const struct pattern *pattern, bool over,
                   bool back, float value)
{
    struct rows rows[MOST_PLANES];
    if (over) {
        surface->ops->map(surface, true, back, rows);
        for (unsigned i = 0; i < surface->plane_count; i++)
            move(surface, user, i, true, &rows[i]);
    }
    run_kernels(surface, user, pattern, value);
    if (back) {
        if (!over)
            surface->ops->map(surface, false, true, rows);
        for (unsigned i = 0; i < surface->plane_count; i++)
            move(surface, user, i, false, &rows[i]);
    }
    opencl_wait(user->cl);
    surface->ops->unmap(surface, back);
    surface->ops->wait(surface);
}

void frame_direct3d(struct surface *surface, const struct pattern *pattern)
{
    struct rows rows[MOST_PLANES];
    surface->ops->map(surface, pattern->reads, pattern->writes, rows);
    surface->ops->unmap(surface, pattern->writes);
    surface->ops->wait(surface);
}

void frame_kernels(const struct surface *surface, const struct user *user, const struct pattern *pattern, float value)
{
    run_kernels(surface, user, pattern, value);
    opencl_wait(user->cl);
}

void frame_memcpy(const struct surface *surface, const struct pattern *pattern, void *to, const void *from)
{
    if (pattern->reads)
        memcpy(to, from, surface->bytes);
    if (pattern->writes)
        memcpy(to, from, surface->bytes);
}
