#!/usr/bin/env python3
"""cld3dinfo --register and --unregister on real Wine prefixes: what is in the registry before, between and after.

    test_register.py CLD3DINFO_EXE CLD3D_DLL DENY_KEY_EXE WINE_RUN PREFIX

PREFIX is one to copy, which WINE_RUN makes if it is not there. Prints TAP.
"""

import pathlib
import shutil
import subprocess
import sys

from prefix import Prefix, need, run_cases

PROGRAM, LAYER, DENY_KEY, WINE_RUN, PREFIX = (pathlib.Path(argument).resolve() for argument in sys.argv[1:6])
DISPLAY_IDS = "{233a9ef3-afc4-4abd-b564-c32f21f1535b}"  # DEVPROPKEY_GPU_LUID and DEVPROPKEY_MONITOR_OUTPUT_ID
KEY = "HKLM\\SOFTWARE\\Khronos\\OpenCL\\Layers"


class Place(Prefix):
    """A prefix, and a folder with cld3dinfo.exe and cld3d.dll."""

    def __init__(self, folder):
        super().__init__(folder, None, PROGRAM, PREFIX)
        self.layer = self.program.parent / "cld3d.dll"
        shutil.copy(LAYER, self.layer)
        self.name = ("Z:" + str(self.layer)).replace("/", "\\")
        # A copied prefix is set right at its first start. Other tests may have registered layers in the original.
        self.wine(self.reg, "delete", KEY.rpartition("\\")[0], "/f")

    def info(self, option, status=0):
        done = self.wine(self.program, option)
        need(done.returncode == status, f"{option}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        need((done.stdout + done.stderr).count("\n") == 1, f"{option} said: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def machine(self):
        """The registry's half that all users share, as Wine keeps it: each key, and each value with its key."""
        self.wait_for_wine()
        found, key = set(), ""
        for line in (self.prefix / "system.reg").read_text(errors="surrogateescape").splitlines():
            if line.startswith("["):
                key = line.rsplit("]", 1)[0]
                found.add(key)
            elif line and not line.startswith(("#", '"DriverDateData"')) and DISPLAY_IDS not in key:  # which Wine writes at each start
                found.add(f"{key} {line}")
        return found

    def khronos(self):
        """The part that it is about, while Wine runs."""
        file = self.folder / "export.reg"
        self.wine(self.reg, "export", "HKLM\\Software\\Khronos", file, "/y")
        return file.read_text(encoding="utf-16")

    def layers(self):
        text = self.wine(self.reg, "query", KEY).stdout
        return dict(line.strip().split("    REG_DWORD    ") for line in text.splitlines() if "REG_DWORD" in line)

    def report(self):
        return " ".join(self.wine(self.program).stdout.split())


def in_and_out(place):
    before = place.machine()
    need("registered" in place.info("--register"), "what --register says")
    need(place.layers() == {place.name: "0x0"}, place.layers())
    once = place.khronos()
    need("already" in place.info("--register"), "what a second --register says")
    need(place.khronos() == once, "a second --register changed something")
    need("unregistered" in place.info("--unregister"), "what --unregister says")
    need("is not registered" in place.info("--unregister"), "what a second --unregister says")
    need(place.machine() == before, f"left: {place.machine() ^ before}")


def others_stay(place):
    place.wine(place.reg, "add", KEY, "/v", "C:\\other.dll", "/t", "REG_DWORD", "/d", "0")
    place.wine(place.reg, "add", KEY, "/v", place.name, "/t", "REG_DWORD", "/d", "1")
    need("registered" in place.info("--register"), "of a disabled one")
    need(place.layers() == {"C:\\other.dll": "0x0", place.name: "0x0"}, place.layers())
    place.info("--unregister")
    need(place.layers() == {"C:\\other.dll": "0x0"}, place.layers())


def without_library(place):
    before = place.khronos()
    place.info("--register")
    place.layer.unlink()
    need("there is no cld3d.dll in the folder" in place.info("--register", status=1), "--register without the library")
    need("unregistered" in place.info("--unregister"), "--unregister without the library")
    need(place.khronos() == before, "something was left")


def without_rights(place):
    # Wine forgets the rights of keys when its server ends, which it does when it has had nothing to do for some seconds.
    place.wait_for_wine()
    subprocess.run(["wineserver", "--persistent=600"], env=place.env, check=True)
    try:
        place.wine(DENY_KEY, KEY.partition("\\")[2])
        before = place.khronos()
        for option in ("--register", "--unregister"):
            need("insufficient rights" in place.info(option, status=1), option)
        need(place.khronos() == before, "something was changed")
    finally:
        subprocess.run(["wineserver", "--kill"], env=place.env, check=False)


def others_may_write(place):
    before = place.khronos()
    for path, rights in ((place.layer.parent, 0o777), (place.layer, 0o666)):
        kept = path.stat().st_mode & 0o777
        path.chmod(rights)
        got = place.info("--register", status=1)
        need("not registered" in got and "all users may change" in got and path.name in got, got)
        need("is not registered" in place.info("--unregister"), "--unregister of what was refused")
        path.chmod(kept)
    need(place.khronos() == before, "something was changed")
    place.info("--register")
    place.layer.parent.chmod(0o777)
    need("unregistered" in place.info("--unregister"), "--unregister where others may write")


CASES = [in_and_out, others_stay, without_library, without_rights, others_may_write]


def main():
    subprocess.run([WINE_RUN], check=True, stdout=subprocess.DEVNULL)
    return run_cases(CASES, Place)


sys.exit(main())
