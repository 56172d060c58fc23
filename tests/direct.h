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

/* Nothing of what was made for objects is there any longer, but rows that the context keeps for the next ones. */
static inline bool nothing_left(const struct rig *rig)
{
    for (int i = 0; i < 60000 && (fake_d3d_vulkan_imported() > fake_d3d_vulkan_rows() || fake_d3d_vulkan_held() ||
                                  fake_d3d_vulkan_passed());
         i++) {
        rig_let_go(rig->cl_device);
        pause_ms(1);
    }
    return CHECK_INT(fake_d3d_vulkan_acquired(), 0) && CHECK_INT(fake_d3d_vulkan_files(), 0) &&
           CHECK_INT(fake_d3d_vulkan_held(), 0) && CHECK_INT(fake_d3d_vulkan_passed(), 0) &&
           CHECK(fake_d3d_vulkan_rows() <= 4 && fake_d3d_vulkan_imported() <= fake_d3d_vulkan_rows());
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

/* What the application sees of an object is nothing of how it was made. */
static inline void looks_plain(cl_mem object)
{
    cl_mem_flags flags = 0;
    cl_mem of = object;
    size_t offset = 1, size = 1;
    void *host = &flags;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), CL_SUCCESS);
    CHECK_INT(flags, CL_MEM_READ_WRITE);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_HOST_PTR, sizeof(host), &host, NULL), CL_SUCCESS);
    CHECK(host == NULL);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(of), &of, NULL), CL_SUCCESS);
    CHECK(of == NULL);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_OFFSET, sizeof(offset), &offset, NULL), CL_SUCCESS);
    CHECK_INT(offset, 0);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_PROPERTIES, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, 0);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
    CHECK_INT(size, SHARED_BYTES);
    CHECK(clGetImageInfo(object, CL_IMAGE_BUFFER, sizeof(of), &of, NULL) != CL_SUCCESS || of == NULL);
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

/* Lines of the log have the text so often, of both APIs, or of both devices of Direct3D 9. */
struct line {
    const char *text;
    unsigned count;
};

/* Runs a case again for both, with a setting and a fault in the environment, and looks at its log. */
static inline void part(const char *name, enum fake_d3d_vulkan_fault fault, int number, const char *kinds,
                        const struct line *lines, size_t count)
{
    char path[64], value[32];
    snprintf(path, sizeof(path), "direct-%d.log", (int)getpid());
    snprintf(value, sizeof(value), "%d:%d", fault, number);
    test_setenv("OPENCL_LAYERS", direct_layers);
    test_setenv("CLD3D_LOG", "info,stats");
    test_setenv("CLD3D_LOG_FILE", path);
    test_setenv("CLD3D_ROWS", kinds);
    const struct child_lines child = run_child(name, "CLD3D_TEST_FAULT", value);
    CHECK_INT(child.status, 0);
    CHECK_INT(child.passed, 2);
    CHECK_INT(child.failed, 0);
    test_setenv("CLD3D_LOG", NULL);
    test_setenv("CLD3D_LOG_FILE", NULL);
    test_setenv("CLD3D_ROWS", NULL);
    for (size_t i = 0; i < count; i++)
        if (!CHECK_INT(lines_with(path, lines[i].text), lines[i].count))
            printf("# of \"%s\", kinds \"%s\", fault %s\n", lines[i].text, kinds ? kinds : "", value);
    remove(path);
}

#define PART(name, fault, number, kinds, ...)                            \
    part(name, fault, number, kinds, (const struct line[]){__VA_ARGS__}, \
         sizeof((const struct line[]){__VA_ARGS__}) / sizeof(struct line))

/* The program's main function. */
static inline int direct_main(int argc, char **argv)
{
    const char *given = getenv("OPENCL_LAYERS");
    snprintf(direct_layers, sizeof(direct_layers), "%s", given ? given : "");
    return tap_run(argc, argv);
}

#endif
