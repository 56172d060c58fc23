#!/usr/bin/env python3
"""cld3d-setup on real Wine prefixes: what it installs works, and what it uninstalls leaves no trace.

    test_setup.py CLD3D_SETUP OPENCL_DLL WHICH_OPENCL_EXE WINE_RUN PREFIX

PREFIX is one to copy, which WINE_RUN makes if it is not there. Prints TAP.
"""

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SETUP, LIBRARY, PROGRAM, WINE_RUN, PREFIX = (pathlib.Path(argument).resolve() for argument in sys.argv[1:6])
SECTION = "[Software\\\\Wine\\\\DllOverrides]"


class Failure(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Failure(what)


class Place:
    """A prefix of its own, an installation to install from and a folder with the program alone."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.prefix = self.folder / "prefix"
        self.out = self.folder / "out"
        (self.out / "x64").mkdir(parents=True)
        shutil.copy(SETUP, self.out / "cld3d-setup")
        shutil.copy(LIBRARY, self.out / "x64" / "OpenCL.dll")
        (self.folder / "program").mkdir()
        shutil.copy(PROGRAM, self.folder / "program")
        shutil.copytree(PREFIX, self.prefix, symlinks=True)
        self.registry = self.prefix / "user.reg"

    def setup(self, action, *more, prefix=None, status=0):
        command = [self.out / "cld3d-setup", action, "--prefix", prefix or self.prefix, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        need(done.returncode == status, f"{action}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def run(self):
        env = dict(os.environ, WINEPREFIX=self.prefix, WINEDEBUG="-all", OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd")
        env.pop("WINEDLLOVERRIDES", None)
        env.pop("DISPLAY", None)
        done = subprocess.run(["wine", self.folder / "program" / PROGRAM.name], env=env, capture_output=True, text=True)
        subprocess.run(["wineserver", "-w"], env=env, check=False)
        return dict(line.strip().split(": ", 1) for line in done.stdout.splitlines() if ": " in line)

    def edit_registry(self, change):
        self.registry.write_text(change(self.registry.read_text(errors="surrogateescape")), errors="surrogateescape")

    def snapshot(self):
        copy = self.folder / "before"
        shutil.copytree(self.prefix, copy, symlinks=True)
        return copy


def differences(one, other):
    found = []
    for name in sorted(set(os.listdir(one)) | set(os.listdir(other))):
        a, b = one / name, other / name
        if not os.path.lexists(a) or not os.path.lexists(b):
            found.append(str(b))
        elif a.is_symlink() or b.is_symlink():
            if not (a.is_symlink() and b.is_symlink() and os.readlink(a) == os.readlink(b)):
                found.append(str(b))
        elif a.is_dir():
            found += differences(a, b)
        elif not filecmp.cmp(a, b, shallow=False) or a.stat().st_mode != b.stat().st_mode:
            found.append(str(b))
    return found


def in_and_out(place):
    before = place.snapshot()
    need("x64: not installed" in place.setup("status", status=1), "status of a fresh prefix")
    place.setup("install")
    need(differences(before, place.prefix), "install changed nothing")
    once = place.registry.read_bytes()
    place.setup("install")
    need(place.registry.read_bytes() == once, "a second install changed the registry")
    need("x64: installed" in place.setup("status"), "status after install")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], "a second uninstall changed something")


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
    failed = 0
    for number, case in enumerate(CASES, 1):
        name = case.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Place(folder))
                print(f"ok {number} - {name}", flush=True)
            except (Failure, KeyError) as problem:
                failed += 1
                print(f"# {problem}\nnot ok {number} - {name}", flush=True)
    print(f"1..{len(CASES)}")
    return 1 if failed else 0


sys.exit(main())
