/* Objects that are Direct3D's memory itself (transport/vulkan.c), over a Vulkan that the fake Direct3D plays: imported by an
 * OpenCL that imports file descriptors, or in memory that the host sees. For the programs that run once for each of the two
 * ways. */
#ifndef CLD3D_TESTS_DIRECT_H
#define CLD3D_TESTS_DIRECT_H

#include "common/dx9.h"
#include "lifetime.h"

static char direct_layers[1024]; /* as the program was given them: the loader cuts the variable into its parts */

static inline bool exports(void)
{
    return over_transport("export");
}

/* Nothing of what was made for objects is there any longer. */
static inline bool nothing_left(const struct rig *rig)
{
    for (int i = 0; i < 60000 && (fake_d3d_vulkan_imported() || fake_d3d_vulkan_held() || fake_d3d_vulkan_passed());
         i++) {
        rig_let_go(rig->cl_device);
        pause_ms(1);
    }
    return CHECK_INT(fake_d3d_vulkan_acquired(), 0) && CHECK_INT(fake_d3d_vulkan_files(), 0) &&
           CHECK_INT(fake_d3d_vulkan_held(), 0) && CHECK_INT(fake_d3d_vulkan_imported(), 0) &&
           CHECK_INT(fake_d3d_vulkan_passed(), 0);
}

/* Whether what OpenCL writes stands in the resource before any release. */
static inline bool writes_through(const struct rig *rig, const struct shared *shared, unsigned seed)
{
    unsigned char bytes[SHARED_BYTES], there[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), seed);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    queue_wait(rig->queue);
    CHECK_INT(fake_d3d_peek(shared->resource, 0, there, sizeof(there)), sizeof(there));
    const bool through = memcmp(bytes, there, sizeof(bytes)) == 0;
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
    CHECK(d3d_has(rig, shared, seed));
    return through;
}

/* The i-th one holds the pattern i. */
static inline bool open_many(const struct rig *rig, unsigned count, struct shared *all, cl_mem *objects)
{
    for (unsigned i = 0; i < count; i++) {
        if (!shared_open(rig, KIND_2D, i, &all[i]))
            return false;
        objects[i] = all[i].object;
    }
    return true;
}

/* Whether all objects go there and back, and nothing is left of them. */
static inline void all_go_on(const struct rig *rig, unsigned count, struct shared *all, const cl_mem *objects)
{
    CHECK_INT(rig->acquire(rig->queue, count, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(fake_d3d_vulkan_acquired(), count);
    CHECK_INT(rig->release(rig->queue, count, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(fake_d3d_vulkan_acquired(), 0);
    for (unsigned i = 0; i < count; i++) {
        CHECK(d3d_has(rig, &all[i], i));
        shared_close(&all[i]);
    }
    nothing_left(rig);
}

/* Runs a case again for both APIs, or both devices of Direct3D 9. The lines with the text. */
static inline unsigned told(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "direct-%d.log", (int)getpid());
    test_setenv("CLD3D_LOG", "info");
    test_setenv("CLD3D_LOG_FILE", path);
    CHECK_INT(run_again(name, "OPENCL_LAYERS", direct_layers), 2);
    test_setenv("CLD3D_LOG", NULL);
    test_setenv("CLD3D_LOG_FILE", NULL);
    const unsigned lines = lines_with(path, text);
    remove(path);
    return lines;
}

/* The program's main function. */
static inline int direct_main(int argc, char **argv, const struct tap_test *tests, size_t count)
{
    const char *given = getenv("OPENCL_LAYERS");
    snprintf(direct_layers, sizeof(direct_layers), "%s", given ? given : "");
    return tap_run(argc, argv, tests, count);
}

#endif
