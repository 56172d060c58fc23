/* What the layer of own_sharing.c answers, so that a test sees whose answer it got. */
#ifndef CLD3D_TESTS_OWN_SHARING_H
#define CLD3D_TESTS_OWN_SHARING_H

#include <CL/cl.h>

enum {
    OWN_DEVICE_COUNT = 4711,
    OWN_BUFFER_BYTES = 4096,  /* an object of subresource or plane i has i bytes more */
    OWN_ACQUIRE_CODE = -5000, /* less the number of objects */
    OWN_RELEASE_CODE = -6000,
    OWN_RESOURCE = 0x7E51, /* what an object answers for its resource and subresource */
    OWN_SUBRESOURCE = 0x7E52,
    OWN_ADAPTER_TYPE = 0x7E53,     /* of surfaces whose structure is an int, by which the object has more bytes */
    OWN_CONTEXT_PROPERTY = 0x401D, /* CL_CONTEXT_D3D11_DEVICE_KHR */

    /* An object of a surface has besides these times what the resource and the shared handle point to, ints of the test. */
    OWN_RESOURCE_BYTES = 16,
    OWN_HANDLE_BYTES = 256,
};

/* A variable of the environment that gets the value of the context property, in hexadecimal. */
#define OWN_SEEN_VARIABLE "CLD3D_TEST_OWN_SHARING_SAW"

#endif
