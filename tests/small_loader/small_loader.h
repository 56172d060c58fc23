/* A library that does what the Khronos loader does on Windows, as far as layers go: an OpenCL.dll for test_layer_windows.
 *
 * Its exports and the table before the first call are those of cld3d's drop-in (exports_generated.c). At the first call it
 * loads the library below (SMALL_LOADER_BELOW, else the system's opencl.dll) and puts over it, one upon the other, each
 * library that HKLM\SOFTWARE\Khronos\OpenCL\Layers enables. With "no driver" or "no platforms" as the library below it
 * is a loader that has found none, and answers so in one of the two ways that loaders have. With SMALL_LOADER_OWN_SHARING its
 * driver has Direct3D 11 sharing of its own. By name it gives the functions that it exports itself, as the real one does. */
#ifndef CLD3D_TESTS_SMALL_LOADER_H
#define CLD3D_TESTS_SMALL_LOADER_H

/* What small_loader_state returns. */
struct small_loader_state {
    int layers;         /* loaded */
    int new_way;        /* of these, with clInitLayerWithProperties */
    int early_calls;    /* calls down while a layer was initialised: the real loader would wait for itself */
    int empty_slots;    /* that a layer left NULL and the table below has */
    int blocked_calls;  /* calls of another thread, while platforms were looked for, that did not come back */
    int lost_calls;     /* calls of a driver that there is none of: the real loader would crash with a foreign handle */
    char last_name[64]; /* CL_LAYER_NAME of the last one */
};

/* How many devices that driver says it has for a Direct3D 11 device. */
enum { SMALL_LOADER_OWN_DEVICES = 77 };

typedef const struct small_loader_state *(*small_loader_state_fn)(void);

#endif
