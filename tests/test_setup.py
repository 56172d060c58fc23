#!/usr/bin/env python3
"""cld3d-setup on real Wine prefixes: what it installs works, and what it uninstalls leaves no trace.

    test_setup.py CLD3D_SETUP OPENCL_DLL WHICH_OPENCL_EXE WINE_RUN PREFIX

PREFIX is one to copy, which WINE_RUN makes if it is not there. Prints TAP.
"""

import os
import pathlib
import shutil
import subprocess
import sys

from prefix import Prefix, differences, in_and_out, need, run_cases

SETUP, LIBRARY, PROGRAM, WINE_RUN, PREFIX = (pathlib.Path(argument).resolve() for argument in sys.argv[1:6])
SECTION = "[Software\\\\Wine\\\\DllOverrides]"


class Place(Prefix):
    """A prefix and an installation to install from."""

    def __init__(self, folder):
        self.out = pathlib.Path(folder) / "out"
        (self.out / "x64").mkdir(parents=True)
        shutil.copy(SETUP, self.out / "cld3d-setup")
        shutil.copy(LIBRARY, self.out / "x64" / "OpenCL.dll")
        super().__init__(folder, self.out / "cld3d-setup", PROGRAM, PREFIX)

    def edit_registry(self, change):
        self.registry.write_text(change(self.registry.read_text(errors="surrogateescape")), errors="surrogateescape")


def round_trip(place):
    in_and_out(place)


def without_section(place):
    def change(text):
        blocks = [block for block in text.split("\n\n") if not block.startswith(SECTION)]
        return "\n\n".join(blocks)
    place.edit_registry(change)
    need(SECTION not in place.registry.read_text(errors="surrogateescape"), "the section is still there")
    in_and_out(place)


def other_override(place):
    def change(text):
        blocks = text.split("\n\n")
        for i, block in enumerate(blocks):
            if block.startswith(SECTION):
                blocks[i] = block.rstrip("\n") + '\n"abc"="native"\n"opencl"="builtin"\n"xyz"="disabled"'
        return "\n\n".join(blocks)
    place.edit_registry(change)
    need('"opencl"="builtin"' in place.registry.read_text(errors="surrogateescape"), "the override is not there")
    before = place.registry.read_bytes()
    place.setup("install")
    text = place.registry.read_text(errors="surrogateescape")
    need('"opencl"="native,builtin"' in text and '"opencl"="builtin"' not in text, "the override was not changed")
    need('"abc"="native"' in text and '"xyz"="disabled"' in text, "other overrides are gone")
    place.setup("uninstall")
    need(sorted(place.registry.read_bytes().split(b"\n")) == sorted(before.split(b"\n")), "the override did not come back")


def works(place):
    need(place.run()["next"] == "not cld3d", "before")
    place.setup("install")
    got = place.run()
    need(got["library"].lower() == "c:\\windows\\system32\\opencl.dll", got)
    need(got["next"].lower() == "c:\\windows\\system32\\cld3d\\opencl.dll", got)
    need(got["status"] == "0" and int(got["platforms"]) >= 1, got)
    place.setup("uninstall")
    need(place.run()["next"] == "not cld3d", "after")


def up_to_date(place):
    place.setup("install")
    with open(place.out / "x64" / "OpenCL.dll", "ab") as library:
        library.write(b"a later version")
    need("another version" in place.setup("status"), "status of an old version")
    place.setup("install")
    need("x64: installed" in place.setup("status"), "status after the second install")
    place.setup("uninstall")


def bad_input(place):
    empty = place.folder / "empty"
    empty.mkdir()
    need("is no Wine prefix" in place.setup("install", prefix=empty, status=1), "an empty folder")
    need(os.listdir(empty) == [], "something was put into the empty folder")
    need("unknown argument" in place.setup("instal", status=1), "a misspelt action")
    (place.out / "x64" / "OpenCL.dll").unlink()
    before = place.snapshot()
    need("no library for this prefix" in place.setup("install", status=1), "without the library")
    need(differences(before, place.prefix) == [], "without the library something was changed")


def other_architecture(place):
    system = place.prefix / "system.reg"
    system.write_bytes(system.read_bytes().replace(b"#arch=win64", b"#arch=win32"))
    before = place.snapshot()
    need("wanted: system32:x32" in place.setup("install", status=1), "a prefix of 32 bits")
    need(differences(before, place.prefix) == [], "something was changed")


CASES = [round_trip, without_section, other_override, works, up_to_date, bad_input, other_architecture]


def main():
    subprocess.run([WINE_RUN], check=True, stdout=subprocess.DEVNULL)
    return run_cases(CASES, Place)


sys.exit(main())
