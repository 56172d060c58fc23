#include "d3d/d3d.h"

const struct d3d_api *const d3d_apis[] = {&d3d11_api, &d3d10_api,      &d3d9_api,         &d3d9ex_api,
                                          &dxva_api,  &d3d9_intel_api, &d3d9ex_intel_api, &dxva_intel_api};
const unsigned d3d_api_count = sizeof(d3d_apis) / sizeof(d3d_apis[0]);
