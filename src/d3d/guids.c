/* The one place where the interface identifiers are defined and not only declared. */
#define INITGUID
#include "d3d/d3d_types.h"
