/* The functions of cl_khr_d3d10_sharing. */
#include "entry/cl_d3d.h"

#define VERSION 10
#include "entry/cl_d3d1x.inc"
