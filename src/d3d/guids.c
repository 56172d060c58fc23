/* The only file in which the interface identifiers are defined; elsewhere they are declared. */
#define INITGUID
#include "d3d/d3d_types.h"
