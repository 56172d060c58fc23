/* The headers of the system that most files include, which the compiler reads once for all files of a target. Only the build
 * system names it: each file includes what it uses, and the native build does without. */
#include "../d3d/d3d_types.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
