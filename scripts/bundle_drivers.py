"""Selects the OpenCL and Vulkan drivers of the machine on which the suites of the bundle run.

`run` (scripts/bundle-run) has copied everything that the machine names into the root: /etc/OpenCL/vendors/*.icd, /driver/vulkan/*.json,
and those whose library is missing into /driver/left-out. Each is queried for its devices (scripts/bundle-look). Drivers with a device
are used; software drivers are excluded if there is a hardware device.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

SCRIPTS = pathlib.Path(sys.argv[0]).absolute().parent  # not where a link leads, which is the checkout
ROOT = SCRIPTS.parent.parent

# The first look at several GPUs may start each of them.
LOOK_SECONDS = 120


@dataclasses.dataclass
class Driver:
    kind: str             # "OpenCL" or "Vulkan"
    file: str             # the name of its .icd or JSON file
    library: str = ""     # on the machine
    devices: list = dataclasses.field(default_factory=list)
    taken: bool = False
    why: str = ""         # why it was left out

    @property
    def is_hardware(self):
        return any(not device["software"] for device in self.devices)


@contextlib.contextmanager
def display():
    """The number of a display. NVIDIA's Vulkan driver shows its device only to a program that has one."""
    reader, writer = os.pipe()
    try:
        server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-nolisten", "tcp"], pass_fds=[writer],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        server = None
    os.close(writer)
    with open(reader, "rb") as numbers:
        number = numbers.readline().decode().strip()
    try:
        yield f":{number}" if number else ""
    finally:
        if server:
            server.terminate()
            server.wait()


def look(driver, path):
    """Sets the driver's devices, or why there are none."""
    command = [sys.executable, SCRIPTS / "bundle-look", driver.kind.lower(), path]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LOOK_SECONDS, check=False)
        answer = json.loads(done.stdout.decode(errors="replace").splitlines()[-1])
        driver.devices, driver.why = answer["devices"], answer["why"]
    except subprocess.TimeoutExpired:
        driver.why = f"it did not report its devices within {LOOK_SECONDS} s"
    except (ValueError, LookupError, TypeError):
        driver.why = f"it ended the program that queried its devices: {ending(done.returncode)}"


def ending(status):
    return f"status {status}" if status >= 0 else signal.Signals(-status).name


def library_in(path):
    """The library that a file names, as the machine knows it."""
    text = path.read_text(errors="replace")
    named = re.search(r'"library_path" *: *"([^"]*)"', text) if path.suffix == ".json" else re.match(r"(.*)", text)
    return named[1].removeprefix("/host") if named else ""


def candidates():
    """Each driver with the path of its file, which is None where there is nothing to ask."""
    for kind, folder, ending_of_name in (("OpenCL", "etc/OpenCL/vendors", "icd"), ("Vulkan", "driver/vulkan", "json")):
        for path in sorted((ROOT / folder).glob(f"*.{ending_of_name}")):
            yield Driver(kind, path.name, library_in(path)), path
    left_out = ROOT / "driver/left-out"
    for line in left_out.read_text(errors="replace").splitlines() if left_out.exists() else []:
        kind, file, why = (line.split("\t", 2) + ["", ""])[:3]
        yield Driver(kind, file, why=why), None


def choose(drivers):
    """Sets what is taken among drivers of one kind."""
    hardware = [driver.file for driver in drivers if driver.is_hardware]
    for driver in drivers:
        driver.taken = bool(driver.devices) and (driver.is_hardware or not hardware)
        if driver.devices and not driver.taken:
            driver.why = f"it is software, and {', '.join(hardware)} has a device"


def find():
    """All drivers. The files of those OpenCL drivers that are left out are removed, so that the loader does not find them."""
    found = list(candidates())
    with display() as name:
        os.environ["DISPLAY"] = name
        for driver, path in found:
            if path:
                look(driver, path)
    del os.environ["DISPLAY"]
    for kind in ("OpenCL", "Vulkan"):
        choose([driver for driver, _ in found if driver.kind == kind])
    for driver, path in found:
        if path and driver.kind == "OpenCL" and not driver.taken:
            path.unlink()
    return [driver for driver, _ in found]


def taken(drivers, kind):
    return [driver for driver in drivers if driver.taken and driver.kind == kind]


def vulkan_files(drivers):
    """For VK_DRIVER_FILES."""
    return ":".join(str(ROOT / "driver/vulkan" / driver.file) for driver in taken(drivers, "Vulkan"))


def text_of(driver):
    """The line of the report."""
    name = f"{driver.kind} driver {driver.file}" + (f" ({driver.library})" if driver.library else "")
    if not driver.taken:
        return f"{name}: left out: {driver.why}"
    return f"{name}: taken{'' if driver.is_hardware else '; it is software, and no hardware has a device'}"
