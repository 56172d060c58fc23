/* Command buffers (cl_khr_command_buffer): cld3d knows what their commands use, so enqueuing a command buffer is
 * checked and tracked like any other command.
 *
 * Programs obtain the extension's functions by name. cld3d replaces those that create, remap, retain, release and
 * enqueue a command buffer, and those that record commands on memory objects (command_record.c). All others are the
 * driver's. */
#ifndef CLD3D_SHARE_COMMAND_BUFFER_H
#define CLD3D_SHARE_COMMAND_BUFFER_H

#include "share/share.h"

/* Definitions that headers contain since different versions, under other names here: they were added and changed with
 * the extension, which is provisional. */
typedef struct command_buffer_handle *command_buffer_handle;
enum { INVALID_COMMAND_BUFFER = -1138 }; /* CL_INVALID_COMMAND_BUFFER_KHR */

enum command_buffer_function {
    BUFFER_CREATE,
    BUFFER_RETAIN,
    BUFFER_RELEASE,
    BUFFER_ENQUEUE,
    BUFFER_REMAP, /* of cl_khr_command_buffer_multi_device: creates another one with the same commands */
    RECORD_COPY_BUFFER,
    RECORD_COPY_BUFFER_RECT,
    RECORD_COPY_BUFFER_TO_IMAGE,
    RECORD_COPY_IMAGE,
    RECORD_COPY_IMAGE_TO_BUFFER,
    RECORD_FILL_BUFFER,
    RECORD_FILL_IMAGE,
    /* These have the same parameters in all versions. */
    RECORD_ND_RANGE_KERNEL,
    RECORD_READ_BUFFER, /* from here on of cl_pocl_command_buffer_host_buffer */
    RECORD_READ_BUFFER_RECT,
    RECORD_READ_IMAGE,
    RECORD_WRITE_BUFFER,
    RECORD_WRITE_BUFFER_RECT,
    RECORD_WRITE_IMAGE,
    COMMAND_BUFFER_FUNCTIONS
};

extern const char *const command_buffer_names[COMMAND_BUFFER_FUNCTIONS];

/* The functions of one platform. Constant once a program has obtained one of them. */
struct command_buffer_driver {
    cl_platform_id platform;
    bool followed;   /* cld3d's functions replace them; otherwise the program gets all of the driver's */
    bool properties; /* commands have a properties parameter after the queue: version 0.9.5 and later */
    next_function functions[COMMAND_BUFFER_FUNCTIONS]; /* NULL: the platform lacks it */
};

/* The functions of a platform; NULL: there are too many platforms (command_buffer_driver.c). */
const struct command_buffer_driver *command_buffer_driver_get(cl_platform_id platform);
/* Those of the queue's platform, or NULL. If programs have obtained functions of one platform only, these for any
 * queue. */
const struct command_buffer_driver *command_buffer_driver_of(cl_command_queue queue);
/* The platform whose function of that name is at `address`, or NULL. */
cl_platform_id command_buffer_platform(const char *name, const void *address);

/* How commands use an object. The last two apply to kernels and emulated images. */
enum { USE_CHANGES = 1, USE_READS_IMAGE = 2, USE_WRITES_IMAGE = 4 };

struct object_use {
    cl_mem object;
    unsigned how;
};

/* A command buffer, tracked while the application has it. */
struct command_buffer {
    struct record head;
    const struct command_buffer_driver *driver; /* constant */
    cl_command_queue queue;    /* constant: the first one that it was created for, retained by the driver's buffer */
    struct queue_record *kept; /* retained; constant: that queue. NULL: its context has no interop */

    bool is_mutable; /* constant: the program may change the arguments of its kernels, unseen */

    /* Guarded by registry_lock: the shared objects and emulated images that its commands use, each once. The handles
     * are not retained, just like those of a kernel's arguments. A sub-object stands for its whole parent: the
     * application may release it before the command buffer runs. */
    struct object_use *uses;
    cl_uint count, capacity;
    bool incomplete; /* out of memory for one that a command uses */
};

/* The record of a command buffer, retained; NULL: the handle is invalid, which is logged as INVALID_COMMAND_BUFFER. */
struct command_buffer *command_buffer_get(const char *call, command_buffer_handle handle);

/* Reserves space for `count` more uses. False: out of memory. */
bool command_buffer_reserve(struct command_buffer *buffer, cl_uint count);
/* Notes that recorded commands use an object. Space is reserved, unless another thread has used it up; if there is no
 * memory then, the command buffer can no longer be enqueued. */
void command_buffer_use(struct command_buffer *buffer, cl_mem object, unsigned how);
/* How the commands recorded so far use it. */
unsigned command_buffer_uses(struct command_buffer *buffer, cl_mem object);

/* Our replacement for the driver's function at `address`, by its name; NULL for others, and if the driver does not
 * report the version of the extension, on which the parameters depend. */
next_function command_buffer_function(cl_platform_id platform, const char *name, const void *address);
/* The same for the recording functions; NULL for others. */
next_function command_record_function(enum command_buffer_function function, bool properties);

#endif
