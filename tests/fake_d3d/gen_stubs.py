#!/usr/bin/env python3
"""Writes the stubs of the fake Direct3D: one function for every slot of every vtable.

Usage: gen_stubs.py OUTDIR COMPILER [ARG...]

The compiler preprocesses the Direct3D headers, and the vtables are read from its output.
Three files appear in OUTDIR:

  fake_methods.h  enum fake_method, one value per method: what the call counters are kept by; their
                  names, and whether they have a result that can tell of a failure
  fake_stubs.h    per interface a macro FAKE_STUBS_<interface> that fills a whole vtable
  fake_stubs.c    the functions behind it

A vtable begins with the macro and then names the methods that the fake really has, which
replace the stubs.  A stub counts its call and answers E_NOTIMPL, or 0, or nothing.
"""

import pathlib
import re
import subprocess
import sys

HEADERS = ["d3d11_1.h", "d3d10_1.h", "d3d9.h", "dxgi1_2.h", "dxvahd.h"]

INTERFACES = [
    "IDXGIFactory1", "IDXGIAdapter1", "IDXGIDevice1", "IDXGIResource1", "IDXGIKeyedMutex",
    "ID3D11Device", "ID3D11Device1", "ID3D11DeviceContext", "ID3D11Buffer", "ID3D11Texture1D", "ID3D11Texture2D",
    "ID3D11Texture3D", "ID3D11Query",
    "ID3D10Device1", "ID3D10Multithread", "ID3D10Buffer", "ID3D10Texture1D", "ID3D10Texture2D",
    "ID3D10Texture3D", "ID3D10Query",
    "IDirect3D9Ex", "IDirect3DDevice9Ex", "IDirect3DSurface9", "IDirect3DTexture9",
    "IDirect3DQuery9", "IDXVAHD_Device",
]

# Methods that are the same for every class: "interface that introduces it::method" to the
# function that takes the object in place of This and, if True, the method's number as well.
SHARED = {
    "IUnknown::QueryInterface": ("fake_object_query", True),
    "IUnknown::AddRef": ("fake_object_add_ref", False),
    "IUnknown::Release": ("fake_object_release", False),
    "IDirect3DResource9::GetDevice": ("fake_child9_get_device", True),
    "IDirect3DQuery9::GetDevice": ("fake_child9_get_device", True),
}

# The same for the methods of Direct3D 10 and 11 (forwards.h): those of devices and objects, of what works, and what only one has.
FORWARDS = {
    "Device::CreateBuffer": "create_buffer", "Device::CreateTexture1D": "create_texture1d",
    "Device::CreateTexture2D": "create_texture2d", "Device::CreateTexture3D": "create_texture3d",
    "Device::CreateQuery": "create_query", "Device::CreatePredicate": "create_predicate",
    "Device::OpenSharedResource": "open_shared", "Device::CheckFormatSupport": "check_format_support",
    "Device::GetDeviceRemovedReason": "removed_reason",
    "DeviceChild::GetDevice": "child_get_device", "Buffer::GetDesc": "describe_buffer",
    "Texture2D::GetDesc": "describe_texture2d", "Texture3D::GetDesc": "describe_texture3d",
}
WORK = {
    "CopySubresourceRegion": "work_copy_region", "UpdateSubresource": "work_update",
    "Flush": "work_flush", "SetPredication": "work_set_predication", "GetPredication": "work_get_predication",
}
SHARED |= {f"ID3D{version}{method}": (f"fake_{function}", True)
           for version in (10, 11) for method, function in FORWARDS.items()}
SHARED |= {f"{interface}::{method}": (f"fake_{function}", True)
           for interface in ("ID3D10Device", "ID3D11DeviceContext") for method, function in WORK.items()}
SHARED |= {method: (f"fake_{function}", True) for method, function in {
    "ID3D10Device1::GetFeatureLevel": "feature_level", "ID3D11Device::GetFeatureLevel": "feature_level",
    "ID3D11Device::GetImmediateContext": "immediate_context", "ID3D11Device1::OpenSharedResource1": "open_shared1",
    "ID3D11DeviceContext::Map": "work_map", "ID3D11DeviceContext::Unmap": "work_unmap",
    "ID3D11DeviceContext::Begin": "work_begin", "ID3D11DeviceContext::End": "work_end",
    "ID3D11DeviceContext::GetData": "work_data",
    "ID3D10Buffer::Map": "map_buffer", "ID3D10Buffer::Unmap": "unmap_buffer",
    "ID3D10Texture2D::Map": "map_texture2d", "ID3D10Texture2D::Unmap": "unmap_texture",
    "ID3D10Texture3D::Map": "map_texture3d", "ID3D10Texture3D::Unmap": "unmap_texture",
    "ID3D10Asynchronous::Begin": "work_begin", "ID3D10Asynchronous::End": "work_end",
    "ID3D10Asynchronous::GetData": "work_data",
}.items()}

# Of these: those whose stub enters the device and leaves it. A query of Direct3D 10 passes itself.
ENTERED = {"fake_work_copy_region", "fake_work_update", "fake_work_flush", "fake_work_set_predication", "fake_work_begin",
           "fake_work_end", "fake_work_data"}

# A later interface stands for the earlier one too; the counters go by the earlier name, as
# programs do, except for what the later one adds.
EARLIER = {
    "IDXGIFactory1": "IDXGIFactory", "IDXGIAdapter1": "IDXGIAdapter", "IDXGIDevice1": "IDXGIDevice",
    "IDXGIResource1": "IDXGIResource", "ID3D11Device1": "ID3D11Device",
    "ID3D10Device1": "ID3D10Device", "IDirect3D9Ex": "IDirect3D9",
    "IDirect3DDevice9Ex": "IDirect3DDevice9",
}

ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)")
METHOD = re.compile(r"([\w\s*]+?)\(\s*\*\s*(\w+)\s*\)\s*\(([^()]*)\)\s*;")
ORIGIN = re.compile(r"/\*+ (I\w+)(?: methods)? \*+/")


def read_headers(compiler):
    source = "".join(f"#include <{name}>\n" for name in HEADERS)
    done = subprocess.run([*compiler, "-E", "-C", "-P", "-x", "c", "-"], input=source,
                          capture_output=True, text=True, check=True)
    return done.stdout


def methods_of(text, interface):
    """The methods of one vtable: (origin interface, name, return type, parameters)."""
    found = re.search(r"struct " + interface + r"Vtbl\s*\{(.*?)\n\}", text, re.S)
    if not found:
        sys.exit(f"gen_stubs.py: no vtable of {interface} in the headers")
    body = ATTRIBUTE.sub("", found.group(1))
    origin = None
    methods = []
    for part in re.split(r"(/\*+ I\w+(?: methods)? \*+/)", body):
        mark = ORIGIN.match(part)
        if mark:
            origin = mark.group(1)
            continue
        for kind, name, parameters in METHOD.findall(part):
            methods.append((origin, name, " ".join(kind.split()), " ".join(parameters.split())))
    return methods


def parameter_names(parameters):
    return [re.search(r"(\w+)\s*(?:\[\w*\])?$", one).group(1) for one in parameters.split(",")]


def stub_body(interface, origin, name, kind, parameters):
    number = f"FAKE_{interface}_{name}"
    shared = SHARED.get(f"{origin}::{name}")
    if shared and shared[0] in ENTERED:
        itself = ["This"] if interface == "ID3D10Query" else []
        arguments = ["call.device", number] + itself + parameter_names(parameters)[1:]
        call = f"{shared[0]}({', '.join(arguments)});"
        return (f"struct fake_call call;\n    HRESULT hr = fake_enter1x(&call, fake_object_of(This), {number});\n\n"
                f"    if (SUCCEEDED(hr))\n        {'' if kind == 'void' else 'hr = '}{call}\n"
                f"    fake_leave(&call);" + ("" if kind == "void" else "\n    return hr;"))
    if shared:
        function, numbered = shared
        arguments = ["fake_object_of(This)"] + ([number] if numbered else [])
        arguments += parameter_names(parameters)[1:]
        call = f"{function}({', '.join(arguments)});"
        return call if kind == "void" else f"return {call}"
    if kind == "void":
        return f"fake_stub({number});"
    if kind == "HRESULT":
        return f"return fake_stub({number});"
    return f"fake_stub({number});\n    return 0;"


def main():
    out = pathlib.Path(sys.argv[1])
    text = read_headers(sys.argv[2:])
    note = "/* Written by gen_stubs.py from the Direct3D headers. */\n"
    numbers, names, macros, prototypes, functions = [], [], [], [], []
    for interface in INTERFACES:
        slots = []
        for origin, name, kind, parameters in methods_of(text, interface):
            head = f"{kind} STDMETHODCALLTYPE fake_stub_{interface}_{name}({parameters})"
            body = stub_body(interface, origin, name, kind, parameters)
            numbers.append(f"    FAKE_{interface}_{name},\n")
            shown = interface if origin == interface else EARLIER.get(interface, interface)
            can_fail = int(kind == "HRESULT")
            names.append(f'    X("{shown}::{name}", {can_fail}) \\\n')
            slots.append(f"    .{name} = fake_stub_{interface}_{name}")
            prototypes.append(f"{head};\n")
            functions.append(f"{head}\n{{\n    {body}\n}}\n")
        macros.append(f"#define FAKE_STUBS_{interface} \\\n" + ", \\\n".join(slots) + "\n")
    out.joinpath("fake_methods.h").write_text(
        note + "#ifndef FAKE_METHODS_H\n#define FAKE_METHODS_H\n\nenum fake_method {\n"
        + "".join(numbers) + "    FAKE_METHOD_COUNT\n};\n\n#define FAKE_METHOD_NAMES(X) \\\n"
        + "".join(names) + "\n#endif\n")
    out.joinpath("fake_stubs.h").write_text(
        note + "#ifndef FAKE_STUBS_H\n#define FAKE_STUBS_H\n\n"
        '#include "fake_internal.h"\n#include "forwards.h"\n\n' + "\n".join(macros) + "\n"
        + "".join(prototypes) + "\n#endif\n")
    out.joinpath("fake_stubs.c").write_text(
        note + '#include "fake_stubs.h"\n\n'
        '#pragma GCC diagnostic ignored "-Wunused-parameter"\n\n' + "\n".join(functions))


if __name__ == "__main__":
    main()
