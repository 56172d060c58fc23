/* Emulated images: their records, and functions shared by the files of the formats tier. */
#ifndef CLD3D_FORMATS_IMAGE_H
#define CLD3D_FORMATS_IMAGE_H

#include "d3d/staging.h"
#include "formats/storage.h"

/* A mapping that the application holds. */
struct image_mapping {
    void *pointer; /* the application's pointer */
    cl_mem narrow; /* owned; the mapped buffer, whose texels are in the declared format */
    bool writes;
    size_t origin[3], region[3];
    struct image_mapping *after;
};

struct image_record {
    struct record head;
    struct context_record *context; /* retained */
    struct converter *converter;    /* the context's */
    bool deep;                      /* a 3D image; otherwise 2D */
    size_t extent[3];               /* in texels; a 2D image has one slice */

    /* Guarded by registry_lock. */
    struct image_mapping *mappings;
    /* The image may have values that the declared format cannot hold: more channels, more precision. */
    bool unquantized;
};

/* The record of an emulated image, retained, or NULL. */
struct image_record *image_get(cl_mem image);

/* The converter of an emulated image whose texels the host may convert, or NULL. It lives as long as the image's
 * context. */
const struct converter *image_host_converter(cl_mem image);

/* How the images of a context store the texels of a format. */
enum image_storage {
    STORED_AS_DECLARED,  /* the device supports the format */
    STORED_BY_CONVERTER, /* the format is emulated, and the host may convert its texels */
    STORED_OTHERWISE     /* the format is emulated, and the device converts */
};

/* Determines the storage of an image: for STORED_BY_CONVERTER *converter is set, which lives as long as the context.
 * Not CL_SUCCESS: the driver does not report it. */
cl_int image_storage_of(cl_context context, const cl_image_format *format, cl_mem_object_type type,
                        enum image_storage *storage, const struct converter **converter);
/* Creates an image whose texels the driver keeps in the caller's `memory`, in its storage format, for as long as it has
 * the image. For the application it is an image without host memory. The pitches in `desc` are those of the memory; for
 * an emulated image they are 0. */
cl_mem image_create_over(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                         const cl_image_desc *desc, void *memory, cl_int *status);

/* Notes whether the image is unquantized from a command on, which the driver gets next. */
void image_set_unquantized(struct image_record *image, bool unquantized);
/* A command overwrites the whole image in its declared format: nothing that a kernel wrote remains. While a user event
 * is pending this is not relied on: the command may fail, or belong to a deferred acquire, behind which kernels have
 * been enqueued before it. */
void image_overwritten(cl_mem image);

/* A region of an emulated image, and where commands on it are enqueued. */
struct image_part {
    struct image_record *image;
    const size_t *origin, *region;
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event *wait;
};

/* The same part, for a command behind only one event. */
static inline struct image_part image_part_behind(const struct image_part *part, const cl_event *event)
{
    return (struct image_part){part->image, part->origin, part->region, part->queue, 1, event};
}

/* Bytes of a region in the declared format, tightly packed; SIZE_MAX if a size_t cannot hold them. */
size_t image_region_bytes(const struct image_record *image, const size_t *region);
/* Refuses a part that is empty or not inside the image; origin and region may be NULL. Packed YUV is addressed in pairs
 * of texels. */
cl_int image_check_part(const char *call, const struct image_part *part);

/* Waits for the wait list of a blocking command, which is empty then. PoCL 3.1 ends processes in which several commands
 * are behind an event that another thread makes fail, and a program has enqueued one only. */
cl_int image_part_await(const char *call, struct image_part *part);

/* Both enqueue copies: the first puts the texels of a region, in the declared format and tightly packed, into `narrow`;
 * the second puts them from there into the image. `first` (may be NULL) and `done` get events, owned by the caller; on
 * failure no event is returned. */
cl_int image_to_narrow(const struct image_part *part, cl_mem narrow, cl_event *first, cl_event *done);
cl_int image_from_narrow(const struct image_part *part, cl_mem narrow, cl_event *done);
/* Both, from one region to another, through a buffer of its own. After a failure `first` may have an event. */
cl_int image_copy(const struct image_part *from, const struct image_part *to, cl_event *first, cl_event *done);

/* Enqueues the write of a region of an image from host rows, or its read into them, without blocking. The rows are in
 * the declared format, or with `stored` in the format of the driver's image. The list gets the events of all commands
 * that use the rows; after a failure those of commands that still do. */
cl_int image_move(cl_mem image, bool stored, bool write, const size_t *origin, const size_t *region,
                  const struct mapped_surface *rows, const struct enqueueing *to);

/* Creates a buffer in the image's context, for the caller to release, for the texels of a region in the declared format.
 * NULL on failure, with `*status` set and logged. */
cl_mem image_narrow_buffer(const struct image_record *image, cl_mem_flags flags, const size_t *region, cl_int *status);

/* Ends a composite command that is enqueued, or of which a part was refused with `status`, the result then. If it is
 * blocking, waits for it. Passes its event to the application: `done` reports `type` and starts with `first`. Both are
 * taken over, whether the application wants an event or not. */
cl_int image_publish(const struct image_part *part, cl_int status, bool blocking, cl_command_type type, cl_event first,
                     cl_event done, cl_event *event);

/* The parts of the tier. */
void image_install(cl_icd_dispatch *table);
void transfer_install(cl_icd_dispatch *table);
void map_install(cl_icd_dispatch *table);
void launch_install(cl_icd_dispatch *table);
void build_install(cl_icd_dispatch *table);

#endif
