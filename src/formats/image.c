/* The records of emulated images. */
#include "formats/image.h"

#include <stdlib.h>

struct image_record *image_get(cl_mem image)
{
    return registry_get(RECORD_IMAGE, image);
}

const struct converter *image_host_converter(cl_mem handle)
{
    struct image_record *image = image_get(handle);
    const struct converter *converter = image && image->converter->on_host ? image->converter : NULL;
    record_release(image);
    return converter;
}

/* Returns the event that the record no longer keeps, for the caller to put. */
static cl_event set_unquantized_locked(struct image_record *image, bool unquantized)
{
    cl_event requantized = image->requantized;
    image->requantized = NULL;
    image->unquantized = unquantized;
    image->written++;
    return requantized;
}

void image_set_unquantized(struct image_record *image, bool unquantized)
{
    os_lock(&registry_lock);
    cl_event requantized = set_unquantized_locked(image, unquantized);
    os_unlock(&registry_lock);
    event_put(requantized);
}

bool image_is_unquantized(struct image_record *image)
{
    os_lock(&registry_lock);
    const bool unquantized = image->unquantized;
    os_unlock(&registry_lock);
    return unquantized;
}

unsigned image_written(struct image_record *image)
{
    os_lock(&registry_lock);
    const unsigned written = image->written;
    os_unlock(&registry_lock);
    return written;
}

void image_keep_requantized(struct image_record *image, cl_event requantized, cl_command_queue in, unsigned written,
                            bool pending)
{
    cl_event put = requantized;
    os_lock(&registry_lock);
    if (image->written == written && pending) {
        put = image->requantized;
        image->requantized = requantized;
        image->requantized_in = in;
    } else if (image->written == written) {
        image->unquantized = false;
    }
    os_unlock(&registry_lock);
    event_put(put);
}

static void set_quantized(struct image_record *image, unsigned written)
{
    os_lock(&registry_lock);
    cl_event requantized = image->written == written ? set_unquantized_locked(image, false) : NULL;
    os_unlock(&registry_lock);
    event_put(requantized);
}

void image_requantized_by(struct image_record *image, cl_event event, cl_command_queue in, unsigned written)
{
    if (image_command_counts(event))
        set_quantized(image, written);
    else if (image_is_unquantized(image) && image_command_may_count(event) && next.clRetainEvent(event) == CL_SUCCESS)
        image_keep_requantized(image, event, in, written, true);
}

bool image_command_may_count(cl_event event)
{
    return !blockers_possible() && event_status(event) >= CL_COMPLETE;
}

bool image_command_counts(cl_event event)
{
    if (blockers_possible())
        return false;
    const bool failed = atomic_load(&events_failed);
    const cl_int status = event_status(event);
    return failed ? status == CL_COMPLETE : status >= CL_COMPLETE;
}

void image_overwritten(cl_mem handle)
{
    struct image_record *image = blockers_possible() ? NULL : image_get(handle);
    if (image)
        image_set_unquantized(image, false);
    record_release(image);
}

void image_destroy(struct record *record)
{
    struct image_record *image = (struct image_record *)record;
    while (image->mappings) {
        struct image_mapping *mapping = image->mappings;
        image->mappings = mapping->after;
        event_put(mapping->collected);
        if (mapping->narrow)
            next.clReleaseMemObject(mapping->narrow);
        free(mapping);
    }
    event_put(image->requantized);
    record_release(image->context);
    free(image);
}

/* ---- lifetimes ---- */

static cl_int CL_API_CALL retain_mem_object(cl_mem memobj)
{
    const cl_int status = next.clRetainMemObject(memobj);
    if (status == CL_SUCCESS)
        registry_app_retain(RECORD_IMAGE, memobj);
    return status;
}

static cl_int CL_API_CALL release_mem_object(cl_mem memobj)
{
    registry_app_release(RECORD_IMAGE, memobj);
    return next.clReleaseMemObject(memobj);
}

void image_install(cl_icd_dispatch *table)
{
    table->clRetainMemObject = retain_mem_object;
    table->clReleaseMemObject = release_mem_object;
}
