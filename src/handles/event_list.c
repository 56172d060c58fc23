#include "handles/event_list.h"

#include "handles/handles.h"

#include <stdlib.h>
#include <string.h>

void event_list_open(struct event_list *list)
{
    list->events = list->inline_storage;
    list->count = 0;
    list->capacity = EVENT_LIST_INLINE;
}

bool event_list_reserve(struct event_list *list, cl_uint more)
{
    if (more <= list->capacity - list->count)
        return true;
    const cl_uint needed = list->count + more;
    const cl_uint capacity = needed > list->capacity * 2 ? needed : list->capacity * 2;
    const bool is_inline = list->events == list->inline_storage;
    cl_event *grown = realloc(is_inline ? NULL : list->events, capacity * sizeof(*grown));
    if (!grown)
        return false;
    if (is_inline)
        memcpy(grown, list->inline_storage, list->count * sizeof(*grown));
    list->events = grown;
    list->capacity = capacity;
    return true;
}

void event_list_add(struct event_list *list, cl_event event)
{
    if (event)
        list->events[list->count++] = event;
}

bool event_list_retain(struct event_list *list, cl_event event)
{
    if (!event_list_reserve(list, 1) || below()->clRetainEvent(event) != CL_SUCCESS)
        return false;
    event_list_add(list, event);
    return true;
}

bool event_list_join(struct event_list *list, cl_uint *wait_count, const cl_event **wait)
{
    if (!list->count || !*wait_count != !*wait)
        return true;
    if (!event_list_reserve(list, *wait_count))
        return false;
    if (*wait_count)
        memcpy(&list->events[list->count], *wait, *wait_count * sizeof(**wait));
    *wait = list->events;
    *wait_count += list->count;
    return true;
}

bool event_list_await(const struct event_list *list)
{
    bool all = true;
    for (cl_uint i = 0; i < list->count; i++)
        all = event_await(list->events[i]) && all;
    return all;
}

void event_list_close(struct event_list *list)
{
    for (cl_uint i = 0; i < list->count; i++)
        event_put(list->events[i]);
    if (list->events != list->inline_storage)
        free(list->events);
    event_list_open(list);
}
