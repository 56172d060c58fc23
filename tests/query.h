/* The rules of one query: a query of the size alone tells the size of the real one, an answer takes its own bytes and no others, and
 * room for fewer is an error. */
#ifndef CLD3D_TESTS_QUERY_H
#define CLD3D_TESTS_QUERY_H

#include "tap.h"

#include <CL/cl.h>

enum { ROOM = 65536, NO_SIZE = 4711 };

/* Of a kind of object, which the test counts as it likes. */
typedef cl_int (*query_function)(int kind, cl_uint name, size_t room, void *to, size_t *size);

static inline bool untouched(const unsigned char *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (from[i] != 0xA5)
            return false;
    return true;
}

/* Gives the answer's size, and fills ROOM bytes with it; 0 if there is no such answer. */
static inline size_t check_query(query_function ask, int kind, cl_uint name, unsigned char *answer)
{
    static unsigned char other[ROOM];
    size_t size = NO_SIZE, again = NO_SIZE;
    memset(answer, 0xA5, ROOM);
    memset(other, 0xA5, ROOM);
    const bool has = ask(kind, name, 0, NULL, &size) == CL_SUCCESS;
    bool right = has ? CHECK(size <= ROOM / 2) : CHECK_INT(size, NO_SIZE);
    size = has && right ? size : 0;
    if (!has)
        right = CHECK(ask(kind, name, ROOM, other, NULL) < 0) && CHECK(untouched(other, ROOM)) && right;
    else if (right)
        right = CHECK_INT(ask(kind, name, size, size ? answer : NULL, &again), CL_SUCCESS) && CHECK_INT(again, size) &&
                CHECK(untouched(answer + size, ROOM - size));
    if (size) {
        right = CHECK_INT(ask(kind, name, size - 1, other, NULL), CL_INVALID_VALUE) && CHECK(untouched(other, ROOM)) &&
                right;
        right = CHECK_INT(ask(kind, name, ROOM, other, NULL), CL_SUCCESS) &&
                CHECK(untouched(other + size, ROOM - size)) && right;
        right = (name == CL_DEVICE_PROFILING_TIMER_RESOLUTION || CHECK_MEM(other, answer, size)) && right;
    }
    if (!right)
        printf("# kind %d, name 0x%x, %u bytes\n", kind, name, (unsigned)size);
    return size;
}

#endif
