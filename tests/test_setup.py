#!/usr/bin/env python3
"""cld3d-setup on real Wine prefixes: what it installs works, and what it uninstalls leaves no trace.

    test_setup.py CLD3D_SETUP OPENCL_DLL WHICH_OPENCL_EXE WINE_RUN PREFIX LIBCLD3D_SO CLD3D_DLL SMALL_LOADER_DLL

PREFIX is one to copy, which WINE_RUN makes if it is not there; LIBCLD3D_SO may be missing. Prints TAP.
"""

import ctypes
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from prefix import Prefix, Skip, differences, in_and_out, kind_of, need, run_cases

SETUP, LIBRARY, PROGRAM, WINE_RUN, PREFIX, LAYER, WINDOWS_LAYER, LOADER = (
    pathlib.Path(argument).resolve() for argument in sys.argv[1:9])
MANIFEST = LAYER.parent / "cld3d_vulkan_layer.json"
SECTION = "[Software\\\\Wine\\\\DllOverrides]"

# Of PREFIX, what cld3d-setup or Wine's server reads or writes, and some files beside it. Other programs may run in PREFIX, so what Wine
# has there for moments is not copied.
PARTS = ("*.reg", ".update-timestamp", "wineserver", "dosdevices/*",
         *(f"drive_c/windows/{name}" for name in ("*.ini", "sys*", "sys*/op*", "system32/drivers/etc/*")))


def copy_parts(target):
    target.mkdir()
    for path in (path for pattern in PARTS for path in sorted(PREFIX.glob(pattern))):
        copy = target / path.relative_to(PREFIX)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            copy.mkdir(exist_ok=True)
        else:
            shutil.copy2(path, copy, follow_symlinks=False)


class Place(Prefix):
    """A prefix and an installation to install from. The prefix has only the parts, with which Wine can't start."""

    def __init__(self, folder, parts):
        self.out = pathlib.Path(folder) / "out"
        self.library = self.out / kind_of(LIBRARY) / "OpenCL.dll"
        self.library.parent.mkdir(parents=True)
        shutil.copy(SETUP, self.out / "cld3d-setup")
        shutil.copy(SETUP.with_name("cld3d-doctor"), self.out / "cld3d-doctor")
        shutil.copy(LIBRARY, self.library)
        super().__init__(folder, self.out / "cld3d-setup", PROGRAM, parts)
        self.windows = self.prefix / "drive_c" / "windows"
        self.dll = self.windows / "system32" / "opencl.dll"
        self.below = self.windows / "system32" / "cld3d"

    def use_whole(self):
        """All of PREFIX: for Wine, and for what holds of all files."""
        shutil.rmtree(self.prefix)
        self.copy(PREFIX, self.prefix)

    def put_layer(self, data=None):
        """The host's library: `data`, or any file for this machine, since a shell loads no layers."""
        layer = self.out / "linux" / "libcld3d.so"
        layer.parent.mkdir(exist_ok=True)
        layer.write_bytes(data or pathlib.Path("/bin/sh").read_bytes())
        return layer

    def start(self, *arguments, status=0, **settings):
        env = {name: value for name, value in os.environ.items() if name not in ("OPENCL_LAYERS", "WINEPREFIX", "VK_ADD_LAYER_PATH", "VK_INSTANCE_LAYERS")}
        done = subprocess.run([self.script, "run", *arguments], env={**env, **settings}, capture_output=True, text=True)
        need(done.returncode == status, f"run: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def tools(self, *without):
        """A folder for PATH with every program except these."""
        tools = self.folder / "bin"
        tools.mkdir()
        for folder in ("/bin", "/usr/bin"):
            for name in os.listdir(folder):
                if name not in without and not (tools / name).exists():
                    (tools / name).symlink_to(f"{folder}/{name}")
        return tools

    def setup_with(self, tools, action):
        """With the programs of this folder first, or alone if it has them all."""
        path = str(tools) if (tools / "sh").exists() else f"{tools}:{os.environ['PATH']}"
        command = [self.script, action, "--prefix", self.prefix]
        return subprocess.run(command, env={**self.env, "PATH": path}, capture_output=True, text=True)

    def edit_registry(self, change):
        self.registry.write_text(change(self.registry.read_text(errors="surrogateescape")), errors="surrogateescape")


def round_trip(place):
    place.use_whole()
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


def put_section(place, *lines, section=SECTION):
    def change(text):
        blocks = [block for block in text.split("\n\n") if not block.startswith(SECTION)]
        blocks.insert(-1, "\n".join([f"{section} 1700000000", "#time=1d000000000000", *lines]))
        return "\n\n".join(blocks)
    place.edit_registry(change)


def the_users_own_override(place):
    """The line that install writes may be the user's: it stays."""
    put_section(place, '"abc"="native"', '"opencl"="native,builtin"')
    in_and_out(place)
    place.setup("install")
    with open(place.library, "ab") as library:
        library.write(b"a later version")
    place.setup("install")
    place.setup("uninstall")
    need('"opencl"="native,builtin"' in place.registry.read_text(errors="surrogateescape"), "it is gone")


def another_vendors_library(place):
    """It finds no driver under Wine: cld3d needs Wine's own below."""
    wines = place.dll.read_bytes()
    shutil.copy(LOADER, place.dll.with_name("other.dll"))
    os.replace(place.dll.with_name("other.dll"), place.dll)
    before = place.snapshot()
    got = place.setup("install", status=1)
    need("neither Wine's nor cld3d's" in got and "wineboot -u" in got, got)
    need(differences(before, place.prefix) == [], "something was changed")
    place.dll.write_bytes(wines)
    place.setup("install")
    shutil.copy(LOADER, place.dll)
    got = place.setup("install")
    need("is kept as" in got, got)
    need((place.below / "opencl.dll").read_bytes() == wines, "Wine's own was lost")
    need(f"{place.kind}: installed" in place.setup("status"), "status")
    got = place.setup("uninstall")
    need("another vendor's again" in got and place.dll.read_bytes() == LOADER.read_bytes(), got)
    need(not place.below.exists(), "the folder cld3d is left")


def wine_without_opencl(place):
    place.dll.unlink()
    before = place.snapshot()
    got = place.setup("install", status=1)
    need("no opencl.dll of Wine's" in got and "wine-opencl" in got, got)
    need(differences(before, place.prefix) == [], "something was changed")
    # A copy of cld3d is no OpenCL to forward calls to, and uninstall does not put it in Wine's place.
    place.below.mkdir()
    shutil.copy(LIBRARY, place.below / "opencl.dll")
    need("no opencl.dll of Wine's" in place.setup("install", status=1), "cld3d below")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], "cld3d was put in Wine's place")


def limited(place, action, blocks):
    """With a limit for the size of files, in blocks of 512 bytes, as a disk has one."""
    command = ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", place.script, action, "--prefix", place.prefix]
    return subprocess.run(command, capture_output=True, text=True)


def disk_that_is_full(place):
    """Everything is written before anything is replaced."""
    blocks = place.library.stat().st_size // 512 + 16
    other = place.out / "x32" / "OpenCL.dll"
    both = place.kind == "x64" and (place.windows / "syswow64").is_dir()
    if both:
        shutil.copy(place.dll, place.windows / "syswow64")
    before = place.snapshot()
    if both:
        other.parent.mkdir()
        other.write_bytes(bytes(1024 * blocks))
    else:
        blocks //= 2
    done = limited(place, "install", blocks)
    need(done.returncode == 1 and "Nothing was changed" in done.stderr, f"{done.returncode} {done.stderr}")
    need(differences(before, place.prefix) == [], f"changed: {differences(before, place.prefix)}")
    if both:
        shutil.rmtree(other.parent)
    place.setup("install")
    done = limited(place, "uninstall", 8)
    need(done.returncode == 1 and "cannot restore" in done.stderr, f"{done.returncode} {done.stderr}")
    need(b"cld3d_report" not in place.dll.read_bytes(), "the library is still there")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")


def run_that_was_killed(place):
    """What it left: Wine's library kept, ours not yet in its place, and files half written."""
    before = place.snapshot()
    place.below.mkdir()
    place.dll.rename(place.below / "opencl.dll")
    for name in ("cld3d-new.aB3dE6", "override.aB3dE6"):
        (place.below / name).write_bytes(b"half")
    place.registry.with_name("user.reg.cld3d-new.aB3dE6").write_bytes(b"half")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")


def files_of_the_user(place):
    before = place.snapshot()
    place.setup("install")
    note = place.below / "readme.txt"
    note.write_text("the user's")
    got = place.setup("uninstall")
    need("readme.txt" in got and note.read_text() == "the user's", got)
    place.setup("install")
    place.setup("uninstall")
    shutil.rmtree(place.below)
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")


def only_a_part_is_installed(place):
    wow = place.windows / "syswow64"
    if place.kind != "x64" or not wow.is_dir():
        raise Skip("a prefix of 32 bits has one part")
    other = place.out / "x32" / "OpenCL.dll"
    other.parent.mkdir()
    shutil.copy(LIBRARY, other)
    wines = place.dll.read_bytes()
    (wow / "opencl.dll").unlink(missing_ok=True)
    before = place.snapshot()
    got = place.setup("install")
    need("x64: installed\nx32: not installed; there is no" in got and "32-bit programs get no OpenCL" in got, got)
    need(not (wow / "opencl.dll").exists() and not (wow / "cld3d").exists(), "installed where Wine has no OpenCL")
    need("x32: not installed" in place.setup("status"), "status without Wine's")
    # An earlier version has installed it there.
    shutil.copy(LIBRARY, wow / "opencl.dll")
    place.setup("install")
    need(not (wow / "opencl.dll").exists(), "the copy for 32-bit programs is left")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")
    (wow / "opencl.dll").write_bytes(wines)
    need("x32: installed\n" in place.setup("install"), "both")
    place.dll.unlink()
    place.dll.write_bytes(wines)
    need("x64: not installed\nx32: installed\n" in place.setup("status", status=1), "only x32")
    place.setup("install")
    other.unlink()
    need("x32: installed by another installation; this one has no x32/OpenCL.dll\n" in place.setup("status"), "no library of 32 bits")


def programs_are_running(place):
    """Also where no wineserver is in the PATH, as with the Wine of a launcher."""
    place.use_whole()
    tools = place.tools("wineserver")
    subprocess.run(["wineserver", "-p"], env=place.env, check=True)
    try:
        before = place.registry.read_bytes()
        done = place.setup_with(tools, "install")
        need(done.returncode == 1 and "programs are running" in done.stderr, f"{done.returncode} {done.stdout}{done.stderr}")
        need(place.registry.read_bytes() == before and not place.below.exists(), "something was changed")
    finally:
        subprocess.run(["wineserver", "-k"], env=place.env, check=True)
    place.wait_for_wine()


def two_at_a_time(place):
    before = place.snapshot()
    folder = os.open(place.prefix, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    need("another cld3d-setup" in place.setup("install", status=1), "install")
    need("another cld3d-setup" in place.setup("uninstall", status=1), "uninstall")
    os.close(folder)
    need(differences(before, place.prefix) == [], "something was changed")


INSTALLED = "c:\\windows\\system32\\opencl.dll"
WINES = "c:\\windows\\system32\\cld3d\\opencl.dll"


def need_libraries(got, library, below):
    need(got["library"].lower() == library.lower() and got["next"].lower() == below, got)
    need(got["status"] == "0" and int(got["platforms"]) >= 1, got)


def works(place):
    """Wine starts three times: before it is installed, while it is, and after it was uninstalled."""
    place.use_whole()
    layer = register_layer(place)
    need(place.ask()["next"] == "not cld3d", "before")
    goes_past_the_drop_in(place, layer, INSTALLED)
    place.wait_for_wine()
    place.setup("install")
    need_libraries(place.ask(), INSTALLED, WINES)
    goes_past_the_drop_in(place, layer, WINES)
    with_the_overrides_of_proton(place)
    copy = beside_the_program_too(place)
    place.wait_for_wine()
    place.setup("uninstall")
    copy.unlink()
    need(place.ask()["next"] == "not cld3d", "after")
    goes_past_the_drop_in(place, layer, INSTALLED)


def register_layer(place):
    """Only a loader in a program looks for it. Gives its name."""
    beside = place.program.parent
    shutil.copy(LOADER, beside / "small_loader.dll")
    shutil.copy(WINDOWS_LAYER, beside / "cld3d.dll")
    name = ("Z:" + str(beside / "cld3d.dll")).replace("/", "\\")
    place.wine("reg", "add", "HKLM\\SOFTWARE\\Khronos\\OpenCL\\Layers", "/v", name, "/t", "REG_DWORD", "/d", "0")
    return name


def goes_past_the_drop_in(place, layer, below):
    """A registered layer, in a program whose loader finds no driver, has Wine's OpenCL below, wherever that is."""
    place.env["SMALL_LOADER_BELOW"] = "no driver"
    need_libraries(place.ask("small_loader.dll", "cld3d.dll"), layer, below)
    del place.env["SMALL_LOADER_BELOW"]


def with_the_overrides_of_proton(place):
    """Its WINEDLLOVERRIDES has native alone, which the prefix's override for Wine's own below must not follow."""
    place.env["WINEDLLOVERRIDES"] = "opencl=n,d"
    need_libraries(place.ask(), INSTALLED, WINES)
    del place.env["WINEDLLOVERRIDES"]


def beside_the_program_too(place):
    """A copy of the library beside a program of a prefix in which it is installed, as cld3dinfo of the packages has one."""
    copy = shutil.copy(LIBRARY, place.program.parent / "OpenCL.dll")
    got = place.ask()
    need_libraries(got, got["library"], WINES)
    need(got["library"].lower().endswith("\\program\\opencl.dll"), got)
    return copy


def up_to_date(place):
    place.setup("install")
    with open(place.library, "ab") as library:
        library.write(b"a later version")
    need("another version" in place.setup("status"), "status of an old version")
    place.setup("install")
    need(f"{place.kind}: installed" in place.setup("status"), "status after the second install")
    place.setup("uninstall")


def bad_input(place):
    empty = place.folder / "empty"
    empty.mkdir()
    need("is not a Wine prefix" in place.setup("install", prefix=empty, status=1), "an empty folder")
    need(os.listdir(empty) == [], "something was put into the empty folder")
    need("unknown argument" in place.setup("instal", status=1), "a misspelt action")
    for arguments in (["uninstall", "--prefix", ""], ["run", "--prefix", "", "true"]):
        done = subprocess.run([place.script, *arguments], capture_output=True, text=True)
        need(done.returncode == 1 and "--prefix needs a folder" in done.stderr, f"{arguments}: {done.stderr}")
    done = subprocess.run(["env", "-u", "HOME", "-u", "WINEPREFIX", place.script, "status"], capture_output=True, text=True)
    need(done.returncode == 1 and "neither WINEPREFIX nor HOME is set" in done.stderr, done.stderr)
    system = place.prefix / "system.reg"
    data = system.read_bytes()
    system.unlink()
    need("is not a Wine prefix" in place.setup("install", status=1), "a prefix without system.reg")
    system.write_bytes(data)
    place.below.write_text("")
    need("is not a folder" in place.setup("install", status=1), "a file where the folder would be")
    place.below.unlink()
    place.library.unlink()
    before = place.snapshot()
    need("no library for this prefix" in place.setup("install", status=1), "without the library")
    need(differences(before, place.prefix) == [], "without the library something was changed")


def other_architecture(place):
    system = place.prefix / "system.reg"
    own, other, wanted = (b"win64", b"win32", "x32") if place.kind == "x64" else (b"win32", b"win64", "x64")
    system.write_bytes(system.read_bytes().replace(b"#arch=" + own, b"#arch=" + other))
    before = place.snapshot()
    need(f"wanted: system32:{wanted}" in place.setup("install", status=1), "a prefix of the other kind")
    need(differences(before, place.prefix) == [], "something was changed")


def owner_of_another(place):
    """Root, whom no rights stop, must not write where another user may have laid something ready for it."""
    if os.geteuid() != 0:
        raise Skip("only root can give a folder to another user")
    nobody = 65534
    before = place.snapshot()
    for folder in (place.prefix, place.windows, place.windows / "system32"):
        os.chown(folder, nobody, nobody)
        for action in ("install", "uninstall"):
            need("belongs to another user" in place.setup(action, status=1), f"{action} with {folder}")
        need(differences(before, place.prefix) == [], f"something was changed in {folder}")
        os.chown(folder, 0, 0)


def links_to_files(place):
    """A prefix that somebody else has packed may hold links with the names that cld3d-setup uses."""
    victim = place.folder / "victim"
    victim.write_bytes(b"not to be touched")
    system = place.windows / "system32"
    names = [system / "opencl.dll.new", system / "cld3d" / "override", place.prefix / "user.reg.new", place.registry]

    def try_with(link):
        kept = link.read_bytes() if link.exists() else None
        link.unlink(missing_ok=True)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(victim)
        for action in ("install", "uninstall"):
            done = subprocess.run([place.script, action, "--prefix", place.prefix], capture_output=True, text=True)
            need(done.returncode == 0 or "is a link" in done.stderr, f"{link.name}: {done.stdout}{done.stderr}")
            need(victim.read_bytes() == b"not to be touched", f"{action} wrote through the link {link.name}")
        link.unlink(missing_ok=True)
        if kept is not None:
            link.write_bytes(kept)

    for name in names:
        try_with(name)


def links_to_folders(place):
    elsewhere = place.folder / "elsewhere"
    for folder in (place.windows / "system32" / "cld3d", place.windows / "system32"):
        elsewhere.mkdir()
        moved = folder.with_name("moved")
        if folder.exists():
            folder.rename(moved)
        folder.symlink_to(moved if moved.exists() else elsewhere)
        before = place.snapshot()
        for action in ("install", "uninstall"):
            need("is a link" in place.setup(action, status=1), f"{action}, {folder.name} is a link")
        need(differences(before, place.prefix) == [], f"something was changed beside {folder.name}")
        need(os.listdir(elsewhere) == [], f"something was put into what {folder.name} leads to")
        shutil.rmtree(before)
        folder.unlink()
        if moved.exists():
            moved.rename(folder)
        elsewhere.rmdir()


def wine_is_a_link(place):
    """Some ways to run Wine fill a prefix with links to their own libraries: such a link moves as it is."""
    dll = place.windows / "system32" / "opencl.dll"
    wines = place.folder / "wines.dll"
    dll.rename(wines)
    dll.symlink_to(wines)
    kept = wines.read_bytes()
    in_and_out(place)
    need(wines.read_bytes() == kept and dll.is_symlink(), "Wine's own library was changed")


def doctor(place):
    """On what Wine itself has made. tests/test_doctor.py breaks what is made up."""
    def findings():
        command = [place.script, "doctor", "--prefix", place.prefix, "--program", place.program]
        done = subprocess.run(command, env={**place.env, "DISPLAY": ":0"}, capture_output=True, text=True)
        found = set(re.findall(r"^(?:error|warning)\[([a-z0-9-]+)\]", done.stdout, re.MULTILINE))
        return found, done.returncode, done.stdout

    place.use_whole()
    if LAYER.exists():
        place.put_layer(LAYER.read_bytes())
    before = place.snapshot()
    always = ({"no-32-bit"} if kind_of(LIBRARY) == "x64" else set()) | (set() if LAYER.exists() else {"no-companion"})
    found, status, text = findings()
    need(found == always | {"not-installed", "override-missing", "program-bits"} and status == 1, text)
    need(differences(before, place.prefix) == [], "something was changed")
    place.setup("install")
    found, status, text = findings()
    need(found == always and status == 0, text)


SHOW = 'echo "$OPENCL_LAYERS|${WINEPREFIX-none}|$#"; exit 7'


def run_sets_the_layer(place):
    layer = place.put_layer()
    got = place.start("sh", "-c", SHOW, "sh", "--prefix", "install", status=7)
    need(got == f"{layer}|none|2\n", got)
    got = place.start("--prefix", place.prefix, "--", "sh", "-c", SHOW, status=7, OPENCL_LAYERS="/other.so:/third.so")
    need(got == f"{layer}:/other.so:/third.so|{place.prefix}|0\n", got)
    got = place.start("sh", "-c", SHOW, status=7, OPENCL_LAYERS="", WINEPREFIX="/mine")
    need(got == f"{layer}|/mine|0\n", got)


def need_vulkan_layer():
    if not MANIFEST.exists():
        raise Skip("libcld3d.so has no Vulkan layer, or is not built")


VULKAN = 'echo "${VK_ADD_LAYER_PATH-none}|${VK_INSTANCE_LAYERS-none}"'


def run_sets_the_vulkan_layer(place):
    layer = place.put_layer()
    name, off = "VK_LAYER_CLD3D_share", {"VK_ADD_LAYER_PATH": "/mine", "VK_INSTANCE_LAYERS": "VK_LAYER_a:VK_LAYER_b"}
    show = ["sh", "-c", VULKAN]
    need(place.start(*show) == "none|none\n", "set without a manifest")
    need_vulkan_layer()
    shutil.copy(MANIFEST, layer.parent)
    need(place.start(*show) == f"{layer.parent}|{name}\n", place.start(*show))
    got = place.start(*show, **off)
    need(got == f"{layer.parent}:/mine|{name}:VK_LAYER_a:VK_LAYER_b\n", got)
    got = place.start(*show, **off, CLD3D_VULKAN_LAYER_OFF="1")
    need(got == "/mine|VK_LAYER_a:VK_LAYER_b\n", got)


# Of VkInstanceCreateInfo only its type, 1, is set.
INSTANCE = """
import ctypes, sys
info = (ctypes.c_uint64 * 8)(1)
status = ctypes.CDLL("libvulkan.so.1").vkCreateInstance(info, None, ctypes.byref(ctypes.c_void_p()))
print("no driver" if status == -9 else sys.argv[1] in open("/proc/self/maps").read())
"""


def run_loads_the_vulkan_layer(place):
    try:
        ctypes.CDLL("libvulkan.so.1")
    except OSError:
        raise Skip("there is no Vulkan loader")
    if not LAYER.exists():
        raise Skip("libcld3d.so is not built")
    need_vulkan_layer()
    layer = place.put_layer(LAYER.read_bytes())
    shutil.copy(MANIFEST, layer.parent)
    got = place.start("python3", "-c", INSTANCE, str(layer))
    if got == "no driver\n":
        raise Skip("there is no Vulkan driver")
    need(got == "True\n", got)


LOAD = """
import ctypes, sys
ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint()))
maps = open("/proc/self/maps").read()
print(all(name in maps for name in sys.argv[1:]))
"""


def run_loads_the_layer(place):
    if not LAYER.exists():
        raise Skip("libcld3d.so is not built")
    layer = place.put_layer(LAYER.read_bytes())
    other = shutil.copy(layer, place.folder / "other.so")
    vendors = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd"}
    need(place.start("python3", "-c", LOAD, str(layer), **vendors) == "True\n", "the loader took no layer")
    need(place.start("python3", "-c", LOAD, str(layer), str(other), OPENCL_LAYERS=str(other), **vendors) == "True\n",
         "the loader did not take both layers")


def run_refuses(place):
    started = place.folder / "started"
    command = ["sh", "-c", f"touch {started}"]

    def refused(what, *arguments):
        got = place.start(*arguments, status=1)
        need(what in got and got.count("\n") == 1, got)
        need(not started.exists(), f"started though {what}")

    refused("is missing", *command)
    layer = place.put_layer()
    data = bytearray(layer.read_bytes())
    data[18] ^= 0xff
    place.put_layer(data)
    refused("is not for this machine", *command)
    place.put_layer(b"no library")
    refused("is not for this machine", *command)
    place.put_layer()
    refused("needs a command")
    refused("is not a Wine prefix", "--prefix", place.folder / "nowhere", *command)
    refused("unknown argument", "--prefx", "x")
    place.start("nonesuch-program", status=127)
    place.start("install", "--version")


CASES = [round_trip, other_override, the_users_own_override, another_vendors_library, wine_without_opencl, disk_that_is_full,
         run_that_was_killed, files_of_the_user, only_a_part_is_installed, programs_are_running, two_at_a_time,
         works, up_to_date, bad_input, other_architecture, owner_of_another, links_to_files, links_to_folders, wine_is_a_link, doctor,
         run_sets_the_layer, run_loads_the_layer, run_sets_the_vulkan_layer, run_loads_the_vulkan_layer, run_refuses]


def main():
    subprocess.run([WINE_RUN], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as shared:
        parts = pathlib.Path(shared) / "parts"
        copy_parts(parts)
        return run_cases(CASES, lambda folder: Place(folder, parts))


sys.exit(main())
