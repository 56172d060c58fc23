/* cld3d's clSetEventCallback (emulate/event_callback.c), over a driver that is played, for events without a queue: user events are
 * cld3d's, since it sees clSetUserEventStatus, and those of OpenGL and EGL are the driver's. */
#include "emulate/emulate.h"
#include "tap.h"

#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <stdlib.h>
#include <string.h>

static char event_mark;
static cl_command_type type;
static unsigned handed_down;

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t size, void *value, size_t *size_ret)
{
    const cl_int submitted = CL_SUBMITTED;
    (void)event, (void)size_ret;
    memset(value, 0, size);
    if (name == CL_EVENT_COMMAND_TYPE)
        memcpy(value, &type, sizeof(type));
    else if (name == CL_EVENT_COMMAND_EXECUTION_STATUS)
        memcpy(value, &submitted, sizeof(submitted));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL reference(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL set_callback(cl_event event, cl_int status,
                                       void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    CHECK(event == (cl_event)&event_mark && status == CL_COMPLETE && notify && data == &type);
    handed_down++;
    return CL_SUCCESS;
}

static void CL_CALLBACK never(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
}

static void handed(cl_command_type of, unsigned expected)
{
    cl_icd_dispatch table = {0};
    underlying.clGetEventInfo = get_event_info;
    underlying.clRetainEvent = underlying.clReleaseEvent = reference;
    underlying.clSetEventCallback = set_callback;
    event_callback_install(&table);
    type = of;
    handed_down = 0;
    CHECK_INT(table.clSetEventCallback((cl_event)&event_mark, CL_COMPLETE, never, &type), CL_SUCCESS);
    CHECK_INT(handed_down, expected);
}

static void foreign(void)
{
    handed(CL_COMMAND_GL_FENCE_SYNC_OBJECT_KHR, 1);
    handed(CL_COMMAND_EGL_FENCE_SYNC_OBJECT_KHR, 1);
}

static void user(void)
{
    handed(CL_COMMAND_USER, 0);
}

static const struct tap_test tests[] = {
    {"callbacks of events of OpenGL and EGL", foreign},
    {"callbacks of user events", user},
};

TAP_MAIN(tests)
