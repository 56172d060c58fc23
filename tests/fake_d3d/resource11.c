/* The resources and queries of Direct3D 11. */
#include "device11.h"

#include "fake_stubs.h"

#define NAME(before, after) before##11##after
#define AS_TEXT(name) "ID3D11" name
#define MISC(flags) (flags)
#define LARGEST 16384
#define MAPS(kind)
#define MORE_OF_BUFFER .StructureByteStride = desc->stride,
#define MORE_OF_QUERY
#include "resource1x.inc"
