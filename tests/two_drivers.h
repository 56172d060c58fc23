/* Two OpenCL drivers in one process, for the tests of that: both have contexts with interop on the same Direct3D device, and their
 * objects live and are used at the same time.
 *
 * The environment offers both drivers; the first two platforms that have a device with images count. A case is
 * written once and runs over Direct3D 11 and 10:
 *
 *     BOTH_CASE("each has a queue", acquires, 0)
 *     {
 *         CHECK(sides[FIRST].queue != sides[SECOND].queue);
 *     }
 */
#ifndef CLD3D_TESTS_TWO_DRIVERS_H
#define CLD3D_TESTS_TWO_DRIVERS_H

#include "adapters.h"

enum { FIRST, SECOND, SIDES };

/* ---- the two sides ---- */

/* Without both there is nothing to see; the suites offer both. */
static inline void with_both(const struct rig *rig, unsigned flags, void (*body)(struct rig *sides))
{
    struct rig sides[SIDES] = {*rig};
    if (rig_open_beside(&sides[SECOND], rig, flags)) {
        body(sides);
        rig_close(&sides[SECOND]);
        return;
    }
    if (getenv("OCL_ICD_VENDORS") && !getenv("MACHINE")) /* a machine's own drivers may be one */
        CHECK(!"a second OpenCL driver");
    SKIP("there is one OpenCL driver alone");
}

#define BOTH_CASE(text, name, flags)           \
    static void name(struct rig *sides);       \
    SHARING_CASE(text, name##_beside, (flags)) \
    {                                          \
        with_both(rig, (flags), name);         \
    }                                          \
    static void name(struct rig *sides)

/* ---- objects ---- */

static inline bool open_both(const struct rig *sides, enum kind kind, unsigned seed, struct shared shared[SIDES])
{
    if (!shared_open(&sides[FIRST], kind, seed, &shared[FIRST]))
        return false;
    if (shared_open(&sides[SECOND], kind, seed + 1, &shared[SECOND]))
        return true;
    shared_close(&shared[FIRST]);
    return false;
}

static inline void close_both(struct shared shared[SIDES])
{
    shared_close(&shared[FIRST]);
    shared_close(&shared[SECOND]);
}

/* An object of the second context over the resource of the first's. */
static inline bool join(const struct rig *second, const struct shared *first, struct shared *shared)
{
    cl_int status = 1;
    *shared = *first;
    shared->object = kind_create(second, second->context, CL_MEM_READ_WRITE, first->kind, first->resource, 0, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !CHECK(shared->object != NULL))
        return false;
    IUnknown_AddRef((IUnknown *)shared->resource);
    return true;
}

#endif
