#!/usr/bin/env python3
"""cld3d-setup on real Wine prefixes: what it installs works, and what it uninstalls leaves no trace.

    test_setup.py CLD3D_SETUP OPENCL_DLL WHICH_OPENCL_EXE WINE_RUN PREFIX LIBCLD3D_SO CLD3D_DLL SMALL_LOADER_DLL

PREFIX is one to copy, which WINE_RUN makes if it is not there; libcld3d.dll is beside OPENCL_DLL; LIBCLD3D_SO may be missing. Prints TAP.
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
# Wine's own library as far as cld3d-setup looks at it.
WINES_OWN = b"MZ" + bytes(62) + b"Wine builtin DLL"
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
        self.library = self.put_libraries(kind_of(LIBRARY))
        shutil.copy(SETUP, self.out / "cld3d-setup")
        shutil.copy(SETUP.with_name("cld3d-doctor"), self.out / "cld3d-doctor")
        # Any file for this machine, since a shell loads no layers.
        self.layer = self.out / "linux" / "libcld3d.so"
        self.layer.parent.mkdir()
        shutil.copy("/bin/sh", self.layer)
        self.links = self.out / "wine" / "x86_64-unix"
        self.links.mkdir(parents=True)
        (self.links / "libcld3d.so").symlink_to("../../linux/libcld3d.so")
        super().__init__(folder, self.out / "cld3d-setup", PROGRAM, parts)
        self.windows = self.prefix / "drive_c" / "windows"
        self.system = self.windows / ("syswow64" if self.is_wow64 else "system32")
        self.dll = self.system / "opencl.dll"
        self.below = self.system / "cld3d"

    def use_whole(self):
        """All of PREFIX: for Wine, and for what holds of all files."""
        shutil.rmtree(self.prefix)
        self.copy(PREFIX, self.prefix)

    def put_libraries(self, kind):
        folder = self.out / kind
        folder.mkdir(parents=True)
        shutil.copy(LIBRARY.with_name("libcld3d.dll"), folder)
        return pathlib.Path(shutil.copy(LIBRARY, folder / "OpenCL.dll"))

    def call(self, *arguments, status=0, **settings):
        env = {name: value for name, value in os.environ.items() if name not in ("WINEDLLPATH", "WINEPREFIX", "VK_ADD_LAYER_PATH", "VK_INSTANCE_LAYERS")}
        done = subprocess.run([self.script, *arguments], env={**env, **settings}, capture_output=True, text=True)
        need(done.returncode == status, f"{arguments[0]}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start(self, *arguments, **settings):
        return self.call("run", *arguments, **settings)

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
    """The line that install writes may be the user's: it stays, also when a later version replaces what was installed."""
    put_section(place, '"abc"="native"', '"opencl"="native,builtin"')
    in_and_out(place)
    place.setup("install")
    with open(place.library, "ab") as library:
        library.write(b"a later version")
    need("another version" in place.setup("status"), "status of an old version")
    need(f"{place.kind}: installed" in place.setup("install"), "status after the second install")
    place.setup("uninstall")
    need('"opencl"="native,builtin"' in place.registry.read_text(errors="surrogateescape"), "it is gone")


def another_vendors_library(place):
    """It finds no driver under Wine. It is neither kept nor replaced, under any spelling of the name."""
    for name in ("OpenCL.dll", "opencl.dll", "cld3d/opencl.dll"):
        file = place.dll.parent / name
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        shutil.copy(LOADER, file)
        before = place.snapshot()
        got = place.setup("install", status=1)
        need(f"{file} is no opencl.dll" in got and "Nothing was changed" in got, got)
        place.setup("uninstall")
        need(differences(before, place.prefix) == [], f"{name}: {differences(before, place.prefix)}")
        shutil.rmtree(before)
        file.unlink()


def wine_without_opencl(place):
    """The bridge needs none of Wine's."""
    place.dll.unlink()
    before = place.snapshot()
    need("without the bridge: no OpenCL" in place.setup("install"), "install")
    need(place.dll.read_bytes() == LIBRARY.read_bytes() and not (place.below / "opencl.dll").exists(), "what was installed")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")
    # A copy of cld3d is no OpenCL to forward calls to, and uninstall does not put it in Wine's place.
    place.below.mkdir()
    shutil.copy(LIBRARY, place.below / "opencl.dll")
    place.setup("install")
    need(not (place.below / "opencl.dll").exists(), "cld3d below cld3d")
    place.below.mkdir(exist_ok=True)
    shutil.copy(LIBRARY, place.below / "opencl.dll")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], "cld3d was put in Wine's place")


def wine_that_was_updated(place):
    """It has brought its own library again."""
    place.setup("install")
    for action in ("install", "uninstall"):
        place.dll.unlink()
        place.dll.write_bytes(WINES_OWN + b"newer")
        place.setup(action)
    need(place.dll.read_bytes() == WINES_OWN + b"newer" and not place.below.exists(), "it is not Wine's newer one alone")


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
        (place.windows / "syswow64" / "opencl.dll").write_bytes(WINES_OWN)
    before = place.snapshot()
    if both:
        place.put_libraries("x32")
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
    (place.below / "cld3d-new.aB3dE6").mkdir()
    (place.below / "cld3d-new.aB3dE6" / "opencl.dll").write_bytes(b"half")
    (place.below / "cld3d-new.bC4eF7").write_bytes(b"half")
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
    other = place.put_libraries("x32")
    (wow / "opencl.dll").unlink(missing_ok=True)
    before = place.snapshot()
    need("x64: installed\nx32: installed\n" in place.setup("install"), "both")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")
    (wow / "opencl.dll").write_bytes(WINES_OWN)
    place.setup("install")
    shutil.copy(place.below / "opencl.dll", place.dll)
    need("x64: not installed\nx32: installed\n" in place.setup("status", status=1), "only x32")
    for name in ("libcld3d.dll", "libcld3d.so"):
        place.setup("install")
        (place.dll.with_name(name)).unlink()
        need("x64: another version is installed, or only a part" in place.setup("status"), f"without {name}")
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
        need("waiting up to 20 s" in done.stderr.splitlines()[0], f"it waits without a word: {done.stderr}")
        need("waiting up to 20 s" in place.setup_with(pathlib.Path("/nowhere"), "install").stderr, "it waits for wineserver without a word")
        need(place.registry.read_bytes() == before and not place.below.exists(), "something was changed")
    finally:
        subprocess.run(["wineserver", "-k"], env=place.env, check=True)
    place.wait_for_wine()


def prefix_that_was_just_created(place):
    """Wine's server writes the registry some seconds after wineboot has ended."""
    place.use_whole()
    subprocess.run(["wineserver", "-p"], env=place.env, check=True)
    registry = place.prefix / "system.reg"
    registry.rename(place.folder / "written later")
    with subprocess.Popen(["sh", "-c", f"sleep 2; mv '{place.folder}/written later' {registry}; wineserver -k"], env=place.env):
        place.setup("install")


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
HOSTS = "the host's libopencl.so.1"


def need_libraries(got, library, below):
    need(got["library"].lower() == library.lower() and got["next"].lower() == below, got)
    need(got["status"] == "0" and int(got["platforms"]) >= 1, got)


def works(place):
    """Wine starts three times: before it is installed, while it is, and after it was uninstalled."""
    place.use_whole()
    layer = register_layer(place)
    if place.is_new_wow64:
        works_over_the_bridge(place, layer)
        return
    need(place.ask()["next"] == "not cld3d", "before")
    place.wait_for_wine()
    place.setup("install")
    need_libraries(place.ask(), INSTALLED, WINES)
    reaches_the_bridge(place, layer)
    with_the_overrides_of_proton(place, WINES)
    copy = beside_the_program_too(place, WINES)
    place.wait_for_wine()
    place.setup("uninstall")
    copy.unlink()
    need(place.ask()["next"] == "not cld3d", "after")


def works_over_the_bridge(place, layer):
    """In the new WoW64 there is no other OpenCL, and a program that needs one does not even start."""
    need(place.ask() == {}, "before")
    place.wait_for_wine()
    place.setup("install")
    got = place.ask()
    need(got["library"].lower() == INSTALLED and got["next"].startswith("none: ") and got["status"] == "-1001", got)
    put_bridge(place)
    place.starter = [place.script, "run"]
    need_libraries(place.ask(), INSTALLED, HOSTS)
    goes_past_the_drop_in(place, layer)
    with_the_overrides_of_proton(place, HOSTS)
    copy = beside_the_program_too(place, HOSTS)
    place.wait_for_wine()
    place.setup("uninstall")
    copy.unlink()
    need(place.ask() == {}, "after")


def register_layer(place):
    """Only a loader in a program looks for it. Gives its name."""
    beside = place.program.parent
    shutil.copy(LOADER, beside / "small_loader.dll")
    shutil.copy(WINDOWS_LAYER, beside / "cld3d.dll")
    shutil.copy(LIBRARY.with_name("libcld3d.dll"), beside)
    name = ("Z:" + str(beside / "cld3d.dll")).replace("/", "\\")
    place.wine(place.reg, "add", "HKLM\\SOFTWARE\\Khronos\\OpenCL\\Layers", "/v", name, "/t", "REG_DWORD", "/d", "0")
    return name


def goes_past_the_drop_in(place, layer):
    """A registered layer, in a program whose loader finds no driver, has the host's OpenCL below."""
    place.env["SMALL_LOADER_BELOW"] = "no driver"
    need_libraries(place.ask("small_loader.dll", "cld3d.dll"), layer, HOSTS)
    del place.env["SMALL_LOADER_BELOW"]


def put_bridge(place):
    """What the package has for programs of the kind."""
    shutil.copy(LAYER, place.layer)
    door = place.links.with_name("x86_64-windows" if place.kind == "x64" else "i386-windows") / "libcld3d.dll"
    door.parent.mkdir()
    door.symlink_to(f"../../{place.kind}/libcld3d.dll")


def reaches_the_bridge(place, layer):
    """Here libcld3d.so has 64 bits."""
    if place.kind != "x64":
        return
    put_bridge(place)
    place.starter = [place.script, "run"]
    need_libraries(place.ask(), INSTALLED, HOSTS)
    goes_past_the_drop_in(place, layer)
    place.starter = []


def with_the_overrides_of_proton(place, below):
    """Its WINEDLLOVERRIDES has native alone, which the prefix's override for Wine's own below must not follow."""
    place.env["WINEDLLOVERRIDES"] = "opencl=n,d"
    need_libraries(place.ask(), INSTALLED, below)
    del place.env["WINEDLLOVERRIDES"]


def beside_the_program_too(place, below):
    """A copy of the library beside a program of a prefix in which it is installed, as cld3dinfo of the packages has one."""
    copy = shutil.copy(LIBRARY, place.program.parent / "OpenCL.dll")
    got = place.ask()
    need_libraries(got, got["library"], below)
    need(got["library"].lower().endswith("\\program\\opencl.dll"), got)
    return copy


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
    before = place.snapshot()
    for file in (place.layer, place.library.with_name("libcld3d.dll")):
        file.rename(place.folder / file.name)
        need("is missing" in place.setup("install", status=1), f"without {file.name}")
        (place.folder / file.name).rename(file)
    place.library.unlink()
    need("no library for this prefix" in place.setup("install", status=1), "without the library")
    need(differences(before, place.prefix) == [], "without the library something was changed")


def other_architecture(place):
    if place.is_wow64:
        raise Skip("a prefix of 64 bits is for both")
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
    for folder in (place.prefix, place.windows, place.system):
        os.chown(folder, nobody, nobody)
        for action in ("install", "uninstall"):
            need("belongs to another user" in place.setup(action, status=1), f"{action} with {folder}")
        need(differences(before, place.prefix) == [], f"something was changed in {folder}")
        os.chown(folder, 0, 0)


def links_to_files(place):
    """A prefix that somebody else has packed may hold links with the names that cld3d-setup uses."""
    victim = place.folder / "victim"
    victim.write_bytes(b"not to be touched")
    system = place.system
    for link in (system / "opencl.dll.new", system / "cld3d/override", system / "libcld3d.dll", system / "libcld3d.so", place.registry):
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


def links_to_folders(place):
    elsewhere = place.folder / "elsewhere"
    for folder in (place.below, place.system):
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
    dll = place.dll
    wines = place.folder / "wines.dll"
    dll.rename(wines)
    dll.symlink_to(wines)
    kept = wines.read_bytes()
    in_and_out(place)
    need(wines.read_bytes() == kept and dll.is_symlink(), "Wine's own library was changed")
    # A link that leads nowhere is no library to keep, and Wine does not replace it.
    place.setup("install")
    wines.unlink()
    need("led to a Wine that is gone" in place.setup("uninstall") and not dll.is_symlink(), "a link that leads nowhere")


def doctor(place):
    """On what Wine itself has made. tests/test_doctor.py breaks what is made up."""
    def findings(*starter):
        command = [*starter, place.script, "doctor", "--prefix", place.prefix, "--program", place.program]
        done = subprocess.run(command, env={**place.env, "DISPLAY": ":0"}, capture_output=True, text=True)
        found = set(re.findall(r"^(?:error|warning)\[([a-z0-9-]+)\]", done.stdout, re.MULTILINE))
        return found, done.returncode, done.stdout

    if not LAYER.exists():
        raise Skip("libcld3d.so is not built")
    place.use_whole()
    shutil.copy(LAYER, place.layer)
    before = place.snapshot()
    found, status, text = findings()
    need(found == {"not-installed"} and status == 1, text)
    need(differences(before, place.prefix) == [], "something was changed")
    place.setup("install")
    found, status, text = findings()
    if not place.is_new_wow64:
        need(found == {"bridge-unused"} and status == 0, text)
        return
    need(found == {"no-below"} and status == 1, text)
    put_bridge(place)
    found, status, text = findings(place.script, "run")
    need(found == set() and status == 0, text)


def bridge_in_wine(place):
    """Of a Wine whose folder has only what cld3d-setup looks for."""
    top = place.folder / "opt"
    wine = top / "lib64" / "wine"
    for name in ("bin/wine", "lib64/wine/x86_64-unix/ntdll.so", "lib64/wine/x86_64-windows/ntdll.dll", "lib64/wine/i386-windows/ntdll.dll"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch(0o755)
    before = shutil.copytree(top, place.folder / "wine-before")
    in_path = {"PATH": f"{top}/bin:{os.environ['PATH']}"}
    wanted = {"x86_64-unix/libcld3d.so": place.layer}
    for kind, folder in (("x64", "x86_64-windows"), ("x32", "i386-windows")):
        if not (place.out / kind).exists():
            place.put_libraries(kind)
        wanted[f"{folder}/libcld3d.dll"] = place.out / kind / "libcld3d.dll"

    def status():
        return place.call("status", "--prefix", place.prefix, **in_path)

    place.setup("install")
    need("bridge: with 'cld3d-setup run', or" in status(), status())
    got = place.start(place.script, "status", "--prefix", place.prefix, **in_path)
    need("bridge: by WINEDLLPATH" in got, got)
    for settings, folder in ((in_path, []), ({}, [top]), ({}, [wine])):
        for _ in range(2):
            got = place.call("install", "--wine", *folder, **settings)
            need(got == f"bridge: in {wine}\n", got)
        found = {str(path.relative_to(wine)): path.resolve() for path in wine.rglob("*") if path.is_symlink()}
        need(found == wanted, found)
        need(f"bridge: in {wine}, for each program" in status(), status())
        place.call("uninstall", "--wine", *folder, **settings)
        need(differences(before, top) == [], differences(before, top))
    link = wine / "x86_64-unix" / "libcld3d.so"
    link.symlink_to("/bin/sh")
    need("bridge: another installation's" in status(), status())
    link.unlink()
    link.write_text("another package's")
    for action in ("install", "uninstall"):
        need("is no link" in place.call(action, "--wine", wine, status=1) and link.is_file(), action)
    link.unlink()
    need("exclude each other" in place.setup("install", "--wine", status=1, prefix=place.prefix), "with a prefix")
    need("name Wine's folder" in place.call("install", "--wine", f"{place.folder}/program", status=1), "a folder without Wine")
    need("unknown argument" in place.call("status", "--wine", status=1), "status")
    need(differences(before, top) == [], differences(before, top))
    if os.geteuid() == 0:
        os.chown(place.layer, 65534, 65534)
        need("belongs to another user" in place.call("install", "--wine", wine, status=1), "libraries of another user")
        need(differences(before, top) == [], differences(before, top))


SHOW = 'echo "$WINEDLLPATH|${WINEPREFIX-none}|$#|${OPENCL_LAYERS-none}"; exit 7'


def run_sets_the_bridge(place):
    bridge = place.out / "wine"
    got = place.start("sh", "-c", SHOW, "sh", "--prefix", "install", status=7)
    need(got == f"{bridge}|none|2|none\n", got)
    got = place.start("--prefix", place.prefix, "--", "sh", "-c", SHOW, status=7, WINEDLLPATH="/other:/third", OPENCL_LAYERS="/mine.so")
    need(got == f"{bridge}:/other:/third|{place.prefix}|0|/mine.so\n", got)
    got = place.start("sh", "-c", SHOW, status=7, WINEDLLPATH="", WINEPREFIX="/mine")
    need(got == f"{bridge}|/mine|0|none\n", got)


def need_vulkan_layer():
    if not MANIFEST.exists():
        raise Skip("libcld3d.so has no Vulkan layer, or is not built")


VULKAN = 'echo "${VK_ADD_LAYER_PATH-none}|${VK_INSTANCE_LAYERS-none}"'


def run_sets_the_vulkan_layer(place):
    name, off = "VK_LAYER_CLD3D_share", {"VK_ADD_LAYER_PATH": "/mine", "VK_INSTANCE_LAYERS": "VK_LAYER_a:VK_LAYER_b"}
    show = ["sh", "-c", VULKAN]
    need(place.start(*show) == "none|none\n", "set without a manifest")
    need_vulkan_layer()
    shutil.copy(MANIFEST, place.layer.parent)
    need(place.start(*show) == f"{place.layer.parent}|{name}\n", place.start(*show))
    got = place.start(*show, **off)
    need(got == f"{place.layer.parent}:/mine|{name}:VK_LAYER_a:VK_LAYER_b\n", got)
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
    shutil.copy(LAYER, place.layer)
    shutil.copy(MANIFEST, place.layer.parent)
    got = place.start("python3", "-c", INSTANCE, str(place.layer))
    if got == "no driver\n":
        raise Skip("there is no Vulkan driver")
    need(got == "True\n", got)


def run_refuses(place):
    started = place.folder / "started"
    command = ["sh", "-c", f"touch {started}"]

    def refused(what, *arguments):
        got = place.start(*arguments, status=1)
        need(what in got and got.count("\n") == 1, got)
        need(not started.exists(), f"started though {what}")

    link = place.links / "libcld3d.so"
    link.unlink()
    refused("lacks its links", *command)
    link.write_text("../../linux/libcld3d.so") # as what unpacks no links
    refused("lacks its links", *command)
    link.unlink()
    link.symlink_to("../../linux/libcld3d.so")
    place.layer.rename(place.folder / "elsewhere")
    refused("is missing", *command)
    (place.folder / "elsewhere").rename(place.layer)
    refused("needs a command")
    refused("is not a Wine prefix", "--prefix", place.folder / "nowhere", *command)
    refused("unknown argument", "--prefx", "x")
    place.start("nonesuch-program", status=127)
    place.start("install", "--version")


CASES = [round_trip, other_override, the_users_own_override, another_vendors_library, wine_without_opencl, wine_that_was_updated,
         disk_that_is_full, run_that_was_killed, files_of_the_user, only_a_part_is_installed, programs_are_running,
         prefix_that_was_just_created, two_at_a_time, works, bad_input, other_architecture, owner_of_another, links_to_files, links_to_folders, wine_is_a_link, doctor,
         bridge_in_wine, run_sets_the_bridge, run_sets_the_vulkan_layer, run_loads_the_vulkan_layer, run_refuses]


def main():
    subprocess.run([WINE_RUN], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as shared:
        parts = pathlib.Path(shared) / "parts"
        copy_parts(parts)
        return run_cases(CASES, lambda folder: Place(folder, parts))


sys.exit(main())
