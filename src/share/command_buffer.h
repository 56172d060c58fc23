/* Command buffers (cl_khr_command_buffer): what their commands use is known, so that an enqueue of one is checked and followed as
 * every other command is.
 *
 * Programs get the extension's functions by name. Ours stand in the place of those that make, retain, release and enqueue a command
 * buffer, and of those that record commands on memory objects (command_record.c). All others are the driver's. */
#ifndef CLD3D_SHARE_COMMAND_BUFFER_H
#define CLD3D_SHARE_COMMAND_BUFFER_H

#include "share/share.h"

/* What the headers have had since different versions, by other names: they came and changed with the extension, which is
 * provisional. */
typedef struct command_buffer_handle *command_buffer_handle;
enum { INVALID_COMMAND_BUFFER = -1138 }; /* CL_INVALID_COMMAND_BUFFER_KHR */

enum command_buffer_function {
    BUFFER_CREATE,
    BUFFER_RETAIN,
    BUFFER_RELEASE,
    BUFFER_ENQUEUE,
    BUFFER_REMAP, /* of cl_khr_command_buffer_multi_device: makes another one with the same commands */
    RECORD_COPY_BUFFER,
    RECORD_COPY_BUFFER_RECT,
    RECORD_COPY_BUFFER_TO_IMAGE,
    RECORD_COPY_IMAGE,
    RECORD_COPY_IMAGE_TO_BUFFER,
    RECORD_FILL_BUFFER,
    RECORD_FILL_IMAGE,
    RECORD_ND_RANGE_KERNEL,
    COMMAND_BUFFER_FUNCTIONS
};

extern const char *const command_buffer_names[COMMAND_BUFFER_FUNCTIONS];

/* The functions of one platform. Constant once a program has asked for one of them. */
struct command_buffer_driver {
    cl_platform_id platform;
    bool followed;   /* ours stand in their place; else the program has the driver's, all of them */
    bool properties; /* each command takes properties behind the queue: version 0.9.5 and later */
    void *functions[COMMAND_BUFFER_FUNCTIONS]; /* NULL: the platform lacks it */
};

/* How commands use an object. The last two are of kernels and tell of emulated images. */
enum { USE_CHANGES = 1, USE_READS_IMAGE = 2, USE_WRITES_IMAGE = 4 };

struct object_use {
    cl_mem object;
    unsigned how;
};

/* A command buffer, followed while the application has it. */
struct command_buffer {
    struct record head;
    const struct command_buffer_driver *driver; /* constant */
    cl_command_queue queue;    /* constant: the first one that it was made for, retained by the driver's buffer */
    struct queue_record *kept; /* retained; constant: that queue. NULL: its context is none with interop */

    bool is_mutable; /* constant: the program may give its kernels other arguments, which nobody sees */

    /* Guarded by registry_lock: the shared objects and emulated images that its commands use, each once. The handles are not
     * retained, as those of a kernel's arguments are not. A part of an object stands for all of it: the application may give it back
     * before the command buffer runs. */
    struct object_use *uses;
    cl_uint count, capacity;
    bool incomplete; /* memory was short for one that a command uses */
};

/* The record of a command buffer, retained; NULL: it is none, and *status says so. */
struct command_buffer *command_buffer_get(const char *call, command_buffer_handle handle, cl_int *status);

/* Makes room for `count` uses more. */
bool command_buffer_reserve(struct command_buffer *buffer, cl_uint count);
/* Notes that recorded commands use an object. There is room, unless another thread has taken it; if there is no memory then, the
 * command buffer can't be enqueued any longer. */
void command_buffer_use(struct command_buffer *buffer, cl_mem object, unsigned how);
/* How those recorded so far use it. */
unsigned command_buffer_uses(struct command_buffer *buffer, cl_mem object);

/* Our function in the place of the driver's at `address`, by its name; NULL for others, and where the driver does not tell the
 * version of the extension, on which the parameters depend. */
next_function command_buffer_function(cl_platform_id platform, const char *name, const void *address);
/* The same for the functions that record; NULL for others. */
next_function command_record_function(enum command_buffer_function function, bool properties);

#endif
