#!/usr/bin/env python3
"""What cld3dinfo says with the library beside it, as users run it, as text and as JSON.

    test_cld3dinfo.py CLD3DINFO_EXE WINE_RUN CRASHES_DLL

Exit status 77: this Wine runs no programs of that kind (of 32 bits).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, WINE_RUN, CRASHES = sys.argv[1:4]
ROOT = pathlib.Path(__file__).resolve().parent.parent
EXTENSIONS = ("cl_khr_d3d11_sharing", "cl_khr_d3d10_sharing", "cl_khr_dx9_media_sharing")
# Wine's own Direct3D has none of these, or does not keep their texels.
MISSING = {"NV12 plane 0", "NV12 plane 1", "P010 plane 0", "P010 plane 1", "P016 plane 0", "P016 plane 1"}


def check(holds, what, text):
    if not holds:
        sys.exit(f"{what}\n{text}")


def run(option, **settings):
    return subprocess.run([WINE_RUN, PROGRAM, option], capture_output=True, env={**os.environ, **settings})


def is_for_32_bits():
    data = pathlib.Path(PROGRAM).read_bytes()
    pe = int.from_bytes(data[0x3C:0x40], "little")
    return data[pe + 4:pe + 6] == b"\x4c\x01"


def check_text():
    done = run("--formats")
    text = done.stdout.decode(errors="replace").replace("\r\n", "\n")
    # Without wine32 nothing is said; if the kernel runs no such programs, Wine's start.exe says so.
    said = text + done.stderr.decode(errors="replace")
    if not said.strip() or (is_for_32_bits() and "Application could not be started" in said):
        sys.exit(77)
    check(done.returncode == 0, f"exit status {done.returncode}", said)
    check(" is active and works: " in text.splitlines()[0], "the first line does not say that it works", text)
    for name in EXTENSIONS:
        check(re.search(rf"^  {name} +on, by cld3d; works", text, re.MULTILINE), f"{name} does not work", text)
    for kind in ("texture", "level", "buffer", "plane", "surface", "render target"):
        check(re.search(rf"^ +{kind} +\S", text, re.MULTILINE), f"it does not say which way a {kind} goes", text)
    check(re.search(r"^ +For adapter 0 +preferred: \S", text, re.MULTILINE), "it does not say why the device is preferred", text)
    check(re.search(r"^ +R8G8B8A8_UNORM +direct$", text, re.MULTILINE), "it does not list the formats", text)


def parse(done):
    """Valid JSON in UTF-8 and nothing else."""
    text = done.stdout.decode("utf-8", errors="strict")
    try:
        return json.loads(text), text
    except ValueError as error:
        sys.exit(f"no JSON: {error}\n{text}")


def check_json():
    odd = "C:\\no \"such\" \\ place\\\u00fc.dll"
    done = run("--json", CLD3D_NO_SUCH_SETTING="1", CLD3D_VULKAN_LAYER="1", CLD3D_VULKAN_LAYER_OFF="1", CLD3D_LOG_FILE=odd)
    report, text = parse(done)
    check(done.returncode == 0, f"exit status {done.returncode}", text)
    check(report["format"] == 2 and report["verdict"]["active"] and report["verdict"]["works"], "the verdict", text)
    # Cld3d is only beside cld3dinfo here.
    check([each["name"] for each in report["findings"]] == ["only-here", *check_bridge(report, text)], "findings", text)
    check("install" in report["findings"][0]["remedy"], "the finding", text)
    version = report["program"]["version"].partition(",")[0]
    check(report["opencl"]["library"].endswith(f"OpenCL.dll (cld3d {version})"), "the library's version information", text)
    check(report["settings"]["unknown"] == ["CLD3D_NO_SUCH_SETTING"], "the unknown setting", text)
    log_file = report["settings"]["CLD3D_LOG_FILE"]
    check(log_file.startswith("C:\\no \"such\" \\ place\\") and log_file.endswith(".dll"), "the odd value", text)
    sharing = report["devices"][0]["sharing"]
    check(tuple(sharing) == EXTENSIONS, "the extensions", text)
    for name, each in sharing.items():
        check(each["result"]["works"] and all(each["ways"].values()), f"{name} does not work", text)
    formats = sharing[EXTENSIONS[0]]["formats"]
    check({name for name, how in formats.items() if how.startswith("no")} <= MISSING and len(formats) > 40, "formats", text)
    check_documented(report)


def check_bridge(report, text):
    """The finding if there is no bridge. Not each run has one."""
    bridge = report["opencl"]["bridge"]
    if bridge.startswith("connected: libcld3d.so "):
        return []
    check(bridge.startswith("none: "), "it does not say whether there is a bridge", text)
    found = [each for each in report["findings"] if each["name"] == "no-bridge"]
    check(len(found) == 1 and bridge.startswith("none: " + found[0]["cause"]) and found[0]["remedy"], "the bridge", text)
    return ["no-bridge"]


def keys(value, path=""):
    """The path of each value: "devices[].name"."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from keys(each, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for each in value:
            yield from keys(each, path + "[]")
    else:
        yield path


def check_documented(report):
    """docs/cld3dinfo-json.md has all keys, and no others but those of findings and of what is not here."""
    page = (ROOT / "docs/cld3dinfo-json.md").read_text()
    listed = {name for row in re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}
    patterns = {name: re.compile(re.escape(name).replace(r"\*", r"[^.\[]+") + "$") for name in listed}
    found = set(keys(report))
    unknown = {path for path in found if not any(pattern.match(path) for pattern in patterns.values())}
    absent = {name for name, pattern in patterns.items() if not any(pattern.match(path) for path in found)}
    check(not unknown, f"not documented: {sorted(unknown)}", "")
    check(absent <= {"devices[].sharing.*", "opencl.layer", "opencl.layers[]", "settings.ignored"}, f"only documented: {sorted(absent)}", "")


def check_broken():
    """Where it does not work the exit status is 1, and a finding has a cause and a remedy."""
    for settings, verdict, expected in (
            ({"CLD3D_NEXT": "C:\\nowhere\\opencl.dll"}, "works", {"only-here": ("", ""), "no-below": ("nowhere", "CLD3D_NEXT")}),
            ({"WINEDLLOVERRIDES": "opencl=b"}, "active", {"not-active": ("", "WINEDLLOVERRIDES=opencl=n,b")})):
        done = run("--json", **settings)
        report, text = parse(done)
        check(done.returncode == 1 and not report["verdict"][verdict], f"exit status {done.returncode}", text)
        findings = {each["name"]: each for each in report["findings"]}
        check(findings.keys() == expected.keys(), f"findings: {list(findings)}", text)
        for name, (cause, remedy) in expected.items():
            check(cause in findings[name]["cause"] and remedy in findings[name]["remedy"], f"cause and remedy of {name}", text)
            check(findings[name]["severity"] == ("warning" if name == "only-here" else "error"), f"the severity of {name}", text)


def check_full():
    """A report that cannot be written is not taken for one."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([WINE_RUN, PROGRAM, "--json"], stdout=full, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors="replace")
    check(done.returncode == 1, f"exit status {done.returncode}", said)
    check("the report cannot be written" in said, "it does not say so", said)


def check_crash():
    """A driver that crashes is left out, and the report names the step; Wine's debugger writes nothing into it."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "cld3dinfo.exe"
        shutil.copy(CRASHES, program.with_name("OpenCL.dll"))
        shutil.copy(PROGRAM, program)
        done = subprocess.run([WINE_RUN, program, "--json"], capture_output=True, env={**os.environ, "WINEDLLOVERRIDES": "opencl=n"})
    report, text = parse(done)
    check(done.returncode == 1, f"exit status {done.returncode}", text)
    causes = {each["name"]: each["cause"] for each in report["findings"]}
    check(causes["driver-crash"] == "querying the devices of OpenCL platform 0", "it does not name the step", text)
    check("no device: the driver crashed" in report["opencl"]["platforms"][0], "the platform", text)


def check_dxvk():
    """Each of its DLLs makes up a LUID for a software renderer: that is one adapter all the same."""
    report, text = parse(run("--json", DIRECT3D="dxvk", VULKAN=""))
    adapters = report["direct3d"]["adapters"]
    check(len(adapters) == 1, f"{len(adapters)} adapters", text)
    check("does not know" not in adapters[0]["Direct3D 9Ex"], "its devices", text)


def main():
    check_text()
    check_json()
    check_broken()
    check_full()
    check_crash()
    if (ROOT / "build/dxvk/files").exists() and not is_for_32_bits():
        check_dxvk()


main()
