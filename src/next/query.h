/* How queries of OpenCL answer, and the words of extension strings. */
#ifndef CLD3D_NEXT_QUERY_H
#define CLD3D_NEXT_QUERY_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

/* Answers a query in the way of all OpenCL queries: CL_INVALID_VALUE, which is logged for `call`, if the room is too small. */
cl_int answer(const char *call, const void *value, size_t size, size_t capacity, void *to, size_t *size_ret);

/* Whether a text of words with blanks between them has one. */
bool words_have(const char *text, const char *word, size_t length);
/* Takes the words out of a text, in place, that `keep` does not want. One blank is left between two words. */
void words_filter(char *text, bool (*keep)(const char *word, size_t length, const void *data), const void *data);
/* The same for a list of names; returns how many are left. */
size_t names_filter(cl_name_version *list, size_t count,
                    bool (*keep)(const char *word, size_t length, const void *data), const void *data);

#endif
