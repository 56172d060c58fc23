#!/usr/bin/env python3
"""The bundle's `run` on machines that are made of files: without drivers, without devices, of another kind.

    test_bundle.py BUNDLE_RUN

scripts/bundle-suites lies beside BUNDLE_RUN. Prints TAP. The root holds that script and no programs, and the machine's own root is this
one's. In place of what is different on each machine stand programs of the same names, first on the PATH: uname, ldconfig, and unshare,
which runs what it is given without another root and with a folder first on the PATH: its Xvfb only tells a number, and its clinfo and
vulkaninfo answer as the name of the driver's library says. scripts/check is one that reports a case passed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(sys.argv[1]).resolve().parent
PROGRAMS = {
    "uname": 'for option; do case $option in -s) echo "$SYSTEM";; -r) echo "$KERNEL";; -m) echo "$PROCESSOR";; esac; done | paste -sd " "',
    "ldconfig": "exit 0",
    # unshare OPTIONS sh -c SCRIPT sh ROOT ENVIRONMENT... PROGRAM ARGUMENT...
    "unshare": 'way=$1; root=$6; shift 6\n[ -z "$NO_WAY" ] || exit 1\nfor each; do shift; case $each in /cld3d/*) each=$root$each;; '
               'PATH=*) each=PATH=${FAKES:+$FAKES:}${each#PATH=};; esac; '
               'set -- "$@" "$each"; done\nexec /usr/bin/env -i "$@"',
}
# Xvfb -displayfd NUMBER
XVFB = "echo 99 >/proc/self/fd/$2; exec sleep 100"
CHECK = """import json, os, pathlib, sys
to = pathlib.Path(sys.argv[sys.argv.index("--results") + 1])
to.write_text(json.dumps({"program": "acquire", "passed": 1, "failed": 0, "skipped": 0, "details": sys.argv[1:],
                          "icds": sorted(path.read_text() for path in pathlib.Path(os.environ["OCL_ICD_VENDORS"]).glob("*.icd")),
                          "vulkan": [pathlib.Path(path).read_text() for path in os.environ["VK_DRIVER_FILES"].split(":") if path]}))
"""
LOOK = """import os, pathlib, re, signal, sys, time
opencl = sys.argv[0].endswith("clinfo")
assert os.environ["DISPLAY"] == ":99"
text = pathlib.Path(os.environ["OCL_ICD_VENDORS" if opencl else "VK_DRIVER_FILES"]).read_text()
answer = re.search(r"/driver-\\w+-(\\w+)\\.so", text)[1]
if answer == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if answer == "hang":
    time.sleep(100)
if answer in ("none", "broken"):
    sys.exit("broken" if answer == "broken" else 0)
kind, version = "GPU" if answer != "software" else "CPU", "1.2.198" if answer == "old" else "1.3.239"
if opencl:
    print(f"[P/*]    CL_PLATFORM_NAME  P\\n[P/0]    CL_DEVICE_NAME  D\\n[P/0]    CL_DEVICE_VERSION  OpenCL 3.0\\n[P/0]    CL_DRIVER_VERSION  1"
          f"\\n[P/0]    CL_DEVICE_TYPE  CL_DEVICE_TYPE_{kind}")
else:
    print(f"Devices:\\nGPU0:\\n\\tapiVersion = {version}\\n\\tvendorID = 0x1\\n\\tdeviceID = 0x2\\n\\tdeviceName = D"
          f"\\n\\tdeviceType = PHYSICAL_DEVICE_TYPE_{kind}")
"""


def put(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


class Machine:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tree = self.folder / "a tree"
        self.inside = self.tree / "root/cld3d"
        self.vendors, self.vulkan = self.folder / "vendors", []
        self.vendors.mkdir()
        put(self.tree / "run", (SCRIPTS / "bundle-run").read_text(), 0o755)
        put(self.inside / "scripts/bundle-suites", (SCRIPTS / "bundle-suites").read_text(), 0o755)
        for name, text in (("check", CHECK), ("wine-stop", "")):
            put(self.inside / "scripts" / name, f"#!/usr/bin/env python3\n{text}", 0o755)
        (self.tree / "root/host").symlink_to("/")
        self.opengl = put(self.tree / "root/usr/lib/x86_64-linux-gnu/libGLX_mesa.so.0", "")
        put(self.inside / "about.json", '{"version": "1.2.3", "commit": "abc"}\n')
        for name, text in PROGRAMS.items():
            put(self.folder / "bin" / name, f"#!/bin/sh\n{text}\n", 0o755)
        put(self.folder / "fakes/Xvfb", f"#!/bin/sh\n{XVFB}\n", 0o755)
        for name in ("clinfo", "vulkaninfo"):
            put(self.folder / "fakes" / name, f"#!/usr/bin/env python3\n{LOOK}", 0o755)
        self.env = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "SYSTEM": "Linux",
                    "KERNEL": "6.1.0-9-amd64", "PROCESSOR": "x86_64", "NO_WAY": "",
                    "FAKES": str(self.folder / "fakes"), "OCL_ICD_VENDORS": str(self.vendors)}

    def driver(self, name, answer):
        """Any library that can be loaded."""
        path = put(self.folder / "lib" / f"driver-{name}-{answer}.so", "")
        return shutil.copy("/lib/x86_64-linux-gnu/libm.so.6", path)

    def opencl(self, name, answer):
        put(self.vendors / f"{name}.icd", f"{self.driver(name, answer)}\n")

    def add_vulkan(self, name, answer):
        self.vulkan.append(put(self.folder / f"{name}.json", json.dumps({"ICD": {"library_path": str(self.driver(name, answer))}})))

    def run(self, *arguments):
        # Those of the machine that the test runs on have no effect.
        self.env["VK_DRIVER_FILES"] = ":".join(map(str, self.vulkan)) or str(self.folder / "none.json")
        self.done = subprocess.run([self.tree / "run", *arguments], env=self.env, capture_output=True, text=True, timeout=200,
                                   check=False)
        path = self.tree / "report.json"
        self.report = json.loads(path.read_text()) if path.is_file() else {}
        path = self.tree / "report.txt"
        self.text = path.read_text() if path.is_file() else ""
        return self.done.returncode


def is_refused(machine, status, words, *arguments):
    """Whether it ends with a status, a line that says why, and a report of both kinds that says the same."""
    assert machine.run(*arguments) == status, f"status {machine.done.returncode}: {machine.done.stderr}"
    assert words in machine.done.stderr, machine.done.stderr
    assert words in machine.text, machine.text
    assert machine.report["status"] == status and words in machine.report["problem"], machine.report
    assert machine.report["version"] == "1.2.3" and machine.report["system"], machine.report
    help_text = subprocess.run([machine.tree / "run", "--help"], capture_output=True, text=True, check=True).stdout
    assert f"\n  {status}  " in help_text, f"--help does not tell status {status}"


def taken(machine, kind):
    return sorted(each["file"] for each in machine.report["drivers"] if each["kind"] == kind and each["taken"])


def why(machine, file):
    return next(each["why"] for each in machine.report["drivers"] if each["file"] == file)


CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def all_suites_run_on_hardware(machine):
    machine.opencl("gpu", "hardware")
    machine.add_vulkan("gpu", "hardware")
    assert machine.run() == 0, machine.done.stderr
    assert [suite["passed"] for suite in machine.report["suites"]] == [1] * 5, machine.report
    assert machine.report["status"] == 0 and machine.report["problem"] == "" and machine.report["left_out"] == []
    assert not any("--software" in suite["programs"][0]["details"] for suite in machine.report["suites"]), machine.report
    assert machine.text.endswith("\n5 passed, 0 failed, 0 skipped\n"), machine.text
    program = machine.report["suites"][2]["programs"][0]
    assert len(program["icds"]) == len(program["vulkan"]) == 1 and "/host/" in program["icds"][0] and "/host/" in program["vulkan"][0], program
    assert "OpenCL driver gpu.icd (" in machine.text and "gpu.json" in machine.text, machine.text


@case
def a_driver_that_two_folders_link_is_taken_once(machine):
    machine.opencl("gpu", "hardware")
    machine.add_vulkan("gpu", "hardware")
    link = machine.folder / "another/gpu.json"
    link.parent.mkdir()
    link.symlink_to(machine.vulkan[0])
    machine.vulkan.append(link)
    assert machine.run() == 0, machine.done.stderr
    assert taken(machine, "Vulkan") == ["gpu.json"], machine.report


@case
def software_is_left_out_where_hardware_has_a_device(machine):
    machine.opencl("apocl", "software")
    machine.opencl("gpu", "hardware")
    machine.add_vulkan("alvp", "software")
    machine.add_vulkan("gpu", "hardware")
    assert machine.run("--suite", "dxvk") == 0, machine.done.stderr
    assert taken(machine, "OpenCL") == ["gpu.icd"] and taken(machine, "Vulkan") == ["gpu.json"], machine.report
    assert why(machine, "apocl.icd") == "it is software, and gpu.icd has a device", machine.report
    assert why(machine, "alvp.json") == "it is software, and gpu.json has a device", machine.report


@case
def drivers_that_crash_do_not_end_it(machine):
    for name, answer in (("a", "crash"), ("b", "broken"), ("c", "software")):
        machine.opencl(name, answer)
        machine.add_vulkan(name, answer)
    put(machine.vendors / "d.icd", put(machine.folder / "lib/text.so", "no library").as_posix())
    assert machine.run("--suite", "dxvk") == 0, machine.done.stderr
    assert taken(machine, "OpenCL") == ["c.icd"] and taken(machine, "Vulkan") == ["c.json"], machine.report
    assert why(machine, "a.json").endswith("SIGSEGV") and why(machine, "b.icd").endswith("status 1; broken"), machine.report
    assert "text.so: file too short" in why(machine, "d.icd") or "invalid ELF header" in why(machine, "d.icd"), machine.report


@case
def a_driver_that_hangs_is_left_out(machine):
    path = machine.inside / "scripts/bundle-suites"
    text = path.read_text()
    path.write_text(text.replace("LOOK_SECONDS = 120", "LOOK_SECONDS = 2"))
    assert path.read_text() != text
    machine.opencl("a", "hang")
    is_refused(machine, 5, "have no device")
    assert why(machine, "a.icd") == "it did not report its devices within 2 s", machine.report


@case
def without_vulkan_the_rest_runs(machine):
    machine.opencl("gpu", "hardware")
    machine.add_vulkan("intel", "old")
    assert machine.run() == 0, machine.done.stderr
    assert why(machine, "intel.json") == "its device D has Vulkan 1.2.198, and DXVK needs 1.3", machine.report
    assert [each["name"] for each in machine.report["suites"]] == ["native", "wined3d"], machine.report
    assert [each["name"] for each in machine.report["left_out"]] == ["dxvk", "dxvk-direct", "dxvk-rows"], machine.report
    assert machine.text.count("left out: no Vulkan driver here has a device that DXVK can use") == 3, machine.text
    is_refused(machine, 6, "all requested suites run over DXVK", "--suite", "dxvk", "--suite", "dxvk-rows")


@case
def without_opengl_the_rest_runs(machine):
    machine.opencl("gpu", "hardware")
    machine.opengl.unlink()
    assert machine.run("--suite", "wined3d", "--suite", "native") == 0, machine.done.stderr
    assert "wined3d            left out: this bundle has no OpenGL" in machine.text, machine.text
    assert machine.run("--suite", "wined3d") == 1 and machine.report["suites"] == [], machine.report


@case
def no_opencl_driver(machine):
    put(machine.vendors / "gone.icd", "/opt/libgone.so\n")
    is_refused(machine, 3, "there is no OpenCL driver here")
    assert why(machine, "gone.icd") == "its library /opt/libgone.so is in no usual folder", machine.report


@case
def no_device(machine):
    machine.opencl("mesa", "none")
    is_refused(machine, 5, "the OpenCL drivers of this machine have no device")
    assert why(machine, "mesa.icd") == "clinfo lists no device: status 0", machine.report
    assert "mesa.icd" in machine.done.stderr, machine.done.stderr


@case
def other_machines(machine):
    machine.opencl("gpu", "hardware")
    for machine.env["SYSTEM"], machine.env["PROCESSOR"] in (("Linux", "aarch64"), ("Linux", "i686"), ("FreeBSD", "x86_64")):
        is_refused(machine, 8, f"this is {machine.env['SYSTEM']} {machine.env['PROCESSOR']}")


@case
def no_way_into_the_root(machine):
    machine.opencl("gpu", "hardware")
    machine.env["NO_WAY"] = "yes"
    is_refused(machine, 4, "cannot be entered")


@case
def a_folder_that_can_not_be_written(machine):
    shutil.rmtree(machine.tree / "root/driver", ignore_errors=True)
    (machine.tree / "root/written").mkdir() # as root writes to every folder
    is_refused(machine, 9, "nothing can be written in ")


@case
def wrong_arguments(machine):
    machine.opencl("gpu", "hardware")
    for arguments in (("--suite", "none"), ("--nothing",), ("--workers", "x")):
        assert machine.run(*arguments) == 2, (arguments, machine.done.stderr)
    assert machine.run("--suite", "wined3d") == 0
    machine.run("--suite", "none")
    assert machine.report["suites"], "an earlier report is gone"


def outcome(function):
    """The line of TAP without its number."""
    name = function.__name__.replace("_", " ")
    with tempfile.TemporaryDirectory(prefix="cld3d-bundle-test-") as folder:
        try:
            skipped = function(Machine(folder))
        except (AssertionError, subprocess.TimeoutExpired, KeyError, StopIteration, ValueError) as error:
            lines = f"{type(error).__name__}: {error}".splitlines()
            return "\n".join(f"# {line}" for line in lines) + "\n", f"not ok %d - {name}"
    return "", f"ok %d - {name}" + (f" # SKIP {skipped}" if skipped else "")


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, function in enumerate(CASES, 1):
        remarks, line = outcome(function)
        failed += line.startswith("not")
        print(remarks + line % number, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
