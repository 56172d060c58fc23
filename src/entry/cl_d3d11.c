/* The functions of cl_khr_d3d11_sharing. */
#include "entry/cl_d3d.h"

#define VERSION 11
#include "entry/cl_d3d1x.inc"
