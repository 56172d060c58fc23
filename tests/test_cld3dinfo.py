#!/usr/bin/env python3
"""What cld3dinfo says with the library beside it, as users run it, as text and as JSON.

    test_cld3dinfo.py CLD3DINFO_EXE WINE_RUN

Exit status 77: this Wine runs no programs of that kind (of 32 bits).
"""

import json
import os
import pathlib
import re
import subprocess
import sys

PROGRAM, WINE_RUN = sys.argv[1:3]
ROOT = pathlib.Path(__file__).resolve().parent.parent
EXTENSIONS = ("cl_khr_d3d11_sharing", "cl_khr_d3d10_sharing", "cl_khr_dx9_media_sharing")


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
    check(done.returncode == 0, f"exit status {done.returncode}", text + done.stderr.decode(errors="replace"))
    check(" is active and works: " in text.splitlines()[0], "the first line does not say that it works", text)
    for name in EXTENSIONS:
        check(f"{name}  on, by cld3d; works" in text or f"{name} on, by cld3d; works" in " ".join(text.split()),
              f"{name} does not work", text)
    check(text.count("37 of the 37 in the specification") >= 1, "not all 37 formats can be shared", text)
    check("transport: " in text, "it does not name the transport", text)
    for kind in ("texture", "level", "buffer", "plane", "surface", "render target"):
        check(re.search(rf"^ +{kind}: \S", text, re.MULTILINE), f"it does not say which way a {kind} goes", text)
    check("preferred: " in text, "it does not say why the device is preferred", text)


def keys(value, path=""):
    """The path of each key: "devices[].name". What stands for kinds of resources is named by `*`."""
    if isinstance(value, dict):
        for name, each in value.items():
            here = f"{path}.{'*' if path.endswith('.ways') else name}".lstrip(".")
            yield here
            yield from keys(each, here)
    elif isinstance(value, list):
        for each in value:
            yield from keys(each, path + "[]")


def parse(done):
    """Valid JSON in UTF-8 and nothing else."""
    text = done.stdout.decode("utf-8", errors="strict")
    try:
        return json.loads(text), text
    except ValueError as error:
        sys.exit(f"no JSON: {error}\n{text}")


def check_json():
    odd = "C:\\no \"such\" \\ place\\\t\u00fc.dll"
    done = run("--json", CLD3D_NO_SUCH_SETTING="1", CLD3D_VULKAN_LAYER="1", CLD3D_VULKAN_LAYER_OFF="1", CLD3D_LOG_FILE=odd)
    report, text = parse(done)
    check(done.returncode == 0, f"exit status {done.returncode}", text)
    check(report["format"] == 1 and report["verdict"]["active"] and report["verdict"]["works"], "the verdict", text)
    # Cld3d is only beside cld3dinfo here.
    check([each["name"] for each in report["findings"]] == ["only-here", *check_bridge(report, text)], "findings", text)
    check("Wine's own" in report["findings"][0]["cause"] and "install" in report["findings"][0]["remedy"], "the finding", text)
    check(report["unknown_settings"] == ["CLD3D_NO_SUCH_SETTING"], "the unknown setting", text)
    log_file = next(each for each in report["settings"] if each["name"] == "CLD3D_LOG_FILE")
    check(log_file["value"].startswith("C:\\no \"such\" \\ place\\\t") and log_file["value"].endswith(".dll"), "the odd value", text)
    sharing = report["devices"][0]["sharing"]
    check([each["extension"] for each in sharing] == list(EXTENSIONS), "the extensions", text)
    for each in sharing:
        check(each["works"] and not each["drivers_own"] and each["way"], f"{each['extension']} does not work", text)
    check(sum(each["way"] in ("direct", "wider") and not each["beyond"] for each in sharing[0]["formats"]) == 37,
          "not all 37 formats can be shared", text)
    check_documented(report)


def check_bridge(report, text):
    """The finding if there is no bridge. Not each run has one."""
    bridge = report["opencl"]["cld3d"]["bridge"]
    if bridge.startswith("connected: libcld3d.so "):
        return []
    check(bridge.startswith("none: "), "it does not say whether there is a bridge", text)
    found = [each for each in report["findings"] if each["name"] == "no-bridge"]
    check(len(found) == 1 and bridge.startswith("none: " + found[0]["cause"]) and found[0]["remedy"], "the bridge", text)
    return ["no-bridge"]


def check_documented(report):
    """docs/cld3dinfo-json.md has all keys. A finding's may be missing from the report."""
    page = (ROOT / "docs/cld3dinfo-json.md").read_text()
    listed = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
    found = set(keys(report))
    optional = {name for name in listed if name.startswith("findings[]")} | {name for name in listed if name.startswith("opencl.layers[]")}
    optional |= {f"devices[].sharing[].formats[].{name}" for name in ("reason", "stored_order", "stored_type")}
    check(found - listed == set(), f"not documented: {sorted(found - listed)}", "")
    check(listed - found <= optional, f"only documented: {sorted(listed - found - optional)}", "")


def check_broken():
    """Without an OpenCL below there is a finding with a cause and a remedy, and the exit status is 1."""
    done = run("--json", CLD3D_NEXT="C:\\nowhere\\opencl.dll")
    report, text = parse(done)
    check(done.returncode == 1 and not report["verdict"]["works"], f"exit status {done.returncode}", text)
    findings = {each["name"]: each for each in report["findings"]}
    check(findings.keys() == {"only-here", "no-below"}, f"findings: {list(findings)}", text)
    check("nowhere" in findings["no-below"]["cause"] and "CLD3D_NEXT" in findings["no-below"]["remedy"], "cause and remedy", text)
    check(findings["no-below"]["severity"] == "error", "the severity", text)


def check_full():
    """A report that cannot be written is not taken for one."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([WINE_RUN, PROGRAM, "--json"], stdout=full, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors="replace")
    check(done.returncode == 1, f"exit status {done.returncode}", said)
    check("the report cannot be written" in said, "it does not say so", said)


def check_not_loaded():
    done = run("--json", WINEDLLOVERRIDES="opencl=b")
    report, text = parse(done)
    check(done.returncode == 1 and not report["verdict"]["active"], f"exit status {done.returncode}", text)
    # In the new WoW64 Wine's own cannot be initialized.
    lacks_own = is_for_32_bits() and "Windows error 1114" in (report["opencl"]["library"]["error"] or "")
    check([each["name"] for each in report["findings"]] == ["no-opencl"] * lacks_own + ["beside-unused"], "the findings", text)
    check("WINEDLLOVERRIDES=opencl=n,b" in report["findings"][-1]["remedy"], "the remedy", text)


def main():
    check_text()
    check_json()
    check_broken()
    check_full()
    check_not_loaded()


main()
