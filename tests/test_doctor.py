#!/usr/bin/env python3
"""cld3d-setup doctor on a machine that is made of files, whole and broken in many ways.

    test_doctor.py CLD3D_SETUP LIBCLD3D_SO

cld3d-doctor lies beside CLD3D_SETUP. Prints TAP. Each case breaks one thing and names what must be found: these findings and no
others. Nothing may be changed by the look.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata

SETUP, LAYER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
FINDING = re.compile(r"^(error|warning)\[([a-z0-9-]+)\]: \S.*\n  cause:  \S.*\n  remedy: \S.*$", re.MULTILINE)
SUMMARY = re.compile(r"^cld3d-setup doctor for \d+-bit programs: (\d+) errors, (\d+) warnings\n\Z", re.MULTILINE)
# As the library has it, which is too long to be searched in each case.
MARK = re.search(rb"cld3d build: version [0-9A-Za-z.+~-]+, bridge (\d+)\0", LAYER.read_bytes())
OVERRIDES = "[Software\\\\Wine\\\\DllOverrides] 1700000000"
MACHINES = {64: 0x8664, 32: 0x14C}
HOST = pathlib.Path("/bin/sh").read_bytes()[:64]
OLD = b"cld3d build: version 0.0.1, bridge 0\0cld3d_report"


def windows_file(bits, text):
    """As much of one as tells its kind, with Wine's own mark or cld3d's."""
    head = b"MZ" + bytes(58) + struct.pack("<I", 128) + (text if text.startswith(b"Wine") else b"").ljust(64, b"\0")
    return head + b"PE\0\0" + struct.pack("<H", MACHINES[bits]) + bytes(16) + text + b"\0"


def other_bits(data):
    return data[:4] + bytes([3 - data[4]]) + data[5:18] + struct.pack("<H", 3) + data[20:]


class Machine:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.root = self.folder / "root"
        self.out = self.folder / "out"
        self.prefix = self.folder / "prefix"
        self.windows = self.prefix / "drive_c/windows"
        self.arguments = []
        self.says = []     # what must stand in its output
        self.hides = []    # what must not
        self.env = {"PATH": f"/usr/bin:{os.environ['PATH']}", "HOME": str(self.folder / "home"), "DISPLAY": ":0"}
        self.libraries = self.root / "usr/lib/x86_64-linux-gnu"
        self.put_host()
        self.put_installation()
        self.put_wine()
        self.put_prefix()

    @staticmethod
    def put(path, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def put_host(self):
        self.put(self.libraries / "libOpenCL.so.1", HOST)
        self.put(self.libraries / "libdriver.so.1", HOST)
        self.put(self.libraries / "libvulkan.so.1", HOST)
        self.icd = self.put(self.root / "etc/OpenCL/vendors/driver.icd", "libdriver.so.1\n")

    def put_installation(self):
        for name in ("cld3d-setup", "cld3d-doctor"):
            self.out.mkdir(exist_ok=True)
            shutil.copy(SETUP.parent / name, self.out / name)
        self.dll = {bits: windows_file(bits, MARK[0] + b"cld3d_report\0") for bits in (64, 32)}
        self.put(self.out / "x64/OpenCL.dll", self.dll[64])
        self.put(self.out / "x32/OpenCL.dll", self.dll[32])
        self.bridge = self.put(self.out / "linux/libcld3d.so", HOST + b"\0" + MARK[0])
        for kind in ("x64", "x32"):
            self.put(self.out / kind / "libcld3d.dll", windows_file({"x64": 64, "x32": 32}[kind], b"Wine builtin DLL"))
        self.link_halves(self.out / "wine")
        self.manifest = self.put(self.out / "linux/cld3d_vulkan_layer.json", '{"layer": {"library_path": "./libcld3d.so"}}')

    def link_halves(self, folder):
        for name, to in (("x86_64-unix/libcld3d.so", "linux"), ("x86_64-windows/libcld3d.dll", "x64"), ("i386-windows/libcld3d.dll", "x32")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(self.out / to / pathlib.Path(name).name)

    def put_wine(self):
        """With the new WoW64, and with the bridge in its folder."""
        self.put(self.root / "usr/bin/wine", "#!/bin/sh\n")
        self.wine = self.libraries / "wine"
        self.put(self.wine / "x86_64-unix/ntdll.so", HOST + b"\0wine-10.0 (made up)\0")
        self.put(self.wine / "i386-windows/ntdll.dll", windows_file(32, b"Wine builtin DLL"))
        self.link_halves(self.wine)

    def lose_bridge(self):
        for path in self.wine.glob("*/libcld3d.*"):
            path.unlink()

    def put_prefix(self):
        self.put(self.prefix / "system.reg", "WINE REGISTRY Version 2\n\n#arch=win64\n")
        self.override("native,builtin")
        for folder, bits in (("system32", 64), ("syswow64", 32)):
            self.put(self.windows / folder / "opencl.dll", self.dll[bits])
            self.put(self.windows / folder / "libcld3d.dll", windows_file(bits, b"Wine builtin DLL"))
            (self.windows / folder / "libcld3d.so").symlink_to(self.bridge)
            self.put(self.windows / folder / "cld3d/opencl.dll", windows_file(bits, b"Wine builtin DLL"))
            for name in ("d3d9", "d3d10core", "d3d11", "dxgi"):
                self.put(self.windows / folder / f"{name}.dll", windows_file(bits, b"Wine builtin DLL"))

    def override(self, value, more=""):
        line = f'"opencl"="{value}"\n' if value else ""
        self.registry = self.put(self.prefix / "user.reg", f"WINE REGISTRY Version 2\n\n{OVERRIDES}\n#time=1\n{line}\n{more}")

    def program(self, bits):
        path = self.put(self.folder / "program/game.exe", windows_file(bits, b""))
        self.arguments = ["--program", path]
        return path

    def put_beside(self, bits):
        self.put(self.program(bits).with_name("OpenCL.dll"), self.dll[bits])
        return self.put(self.folder / "program/libcld3d.dll", windows_file(bits, b"Wine builtin DLL"))

    def look(self):
        command = [self.out / "cld3d-setup", "doctor", "--root", self.root, "--prefix", self.prefix, *self.arguments]
        return subprocess.run(command, env=self.env, capture_output=True, timeout=240, check=False)


def snapshot(folder):
    """What is there; what a link leads to or a pipe would give is not looked at."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        about = path.lstat()
        small = path.is_file() and not path.is_symlink() and about.st_size < 1 << 24
        found[str(path)] = (about.st_mode, about.st_size, about.st_mtime_ns, path.read_bytes() if small else None)
    return found


def hidden_in(output):
    """What is shown is UTF-8 without control and format characters, and without what ends a line elsewhere."""
    try:
        text = output.decode()
    except UnicodeDecodeError as problem:
        yield f"not UTF-8: {problem}"
        return
    hidden = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}
    if hidden:
        yield f"not visible: {sorted(map(ord, hidden))}"


def judge(machine, expected):
    """What is wrong with what the doctor said; nothing if it is right."""
    before = snapshot(machine.folder)
    done = machine.look()
    text = done.stdout.decode(errors="replace")
    found = sorted(f"{kind} {name}" for kind, name in FINDING.findall(text))
    count = SUMMARY.search(text)
    errors = sum(name.startswith("error") for name in found)
    if found != sorted(expected):
        yield f"found {found}, not {sorted(expected)}"
    if not count or (int(count[1]), int(count[2])) != (errors, len(found) - errors):
        yield "the last line does not count the findings"
    if len(found) != len(re.findall(r"^(?:error|warning)\[", text, re.MULTILINE)):
        yield "a finding lacks its cause or remedy"
    if done.returncode != (1 if errors else 0):
        yield f"exit status {done.returncode}"
    if done.stderr:
        yield f"standard error: {done.stderr.decode(errors='replace')}"
    yield from hidden_in(done.stdout)
    yield from (f"it does not say {part!r}:\n{text}" for part in machine.says if part not in text)
    yield from (f"it says {part!r}" for part in machine.hides if part in text)
    if snapshot(machine.folder) != before:
        yield "something was changed"


# ---- the ways in which a machine breaks ----

CASES = []


def breaks(*expected):
    def add(function):
        CASES.append((function, expected))
        return function
    return add


@breaks()
def nothing_is_broken(machine):
    machine.says = [f"ok: 64-bit programs use the bridge: {machine.wine}/x86_64-unix/libcld3d.so\n"]


@breaks()
def nothing_is_broken_for_32_bits(machine):
    machine.program(32)
    machine.says = [f"ok: 32-bit programs use the bridge: {machine.wine}/x86_64-unix/libcld3d.so\n"]


@breaks("error no-loader")
def no_loader(machine):
    (machine.libraries / "libOpenCL.so.1").unlink()


@breaks("error no-loader")
def loader_of_other_bits(machine):
    machine.put(machine.libraries / "libOpenCL.so.1", other_bits(HOST))


@breaks("error no-icd")
def no_icd(machine):
    machine.icd.unlink()
    machine.icd.parent.rmdir()


@breaks("error no-icd", "warning icd-broken")
def icd_whose_library_is_gone(machine):
    (machine.libraries / "libdriver.so.1").unlink()


@breaks("error no-icd", "warning icd-broken")
def icd_that_leads_nowhere(machine):
    machine.icd.unlink()
    machine.icd.symlink_to("nowhere")


@breaks("error no-icd", "warning icd-broken")
def icd_environment_names_nothing(machine):
    machine.env["OCL_ICD_VENDORS"] = str(machine.folder / "nowhere")
    machine.says = [f"{machine.folder}/nowhere names no library"]


@breaks("error incomplete")
def no_library_to_install(machine):
    (machine.out / "x64/OpenCL.dll").unlink()


# ---- the bridge ----

@breaks("error incomplete", "warning manifest", "warning bridge-unused")
def no_libcld3d_so(machine):
    machine.bridge.unlink()


@breaks("error bridge-version")
def bridge_of_other_bits(machine):
    machine.bridge.write_bytes(other_bits(machine.bridge.read_bytes()))


@breaks("error bridge-version")
def bridge_of_another_number(machine):
    machine.bridge.write_bytes(HOST + b"\0" + MARK[0][:-2] + b"7\0")


@breaks("warning bridge-version")
def bridge_of_another_version(machine):
    data = machine.bridge.read_bytes()
    machine.bridge.write_bytes(data.replace(MARK[0], re.sub(rb"version \d", b"version 9", MARK[0])))


@breaks("warning bridge-unused")
def wine_does_not_find_the_bridge(machine):
    machine.lose_bridge()
    machine.says = [f"remedy: start programs with '{machine.out}/cld3d-setup run'", f"{machine.out}/cld3d-setup install --wine\n"]


@breaks("error no-below")
def program_of_32_bits_without_the_bridge(machine):
    """Wine's own OpenCL has no part for 32-bit programs of the new WoW64."""
    machine.lose_bridge()
    machine.program(32)


@breaks("warning bridge-unused")
def no_libcld3d_dll(machine):
    (machine.windows / "system32/libcld3d.dll").unlink()
    machine.says = [f"remedy: run: {machine.out}/cld3d-setup install --prefix {machine.prefix}\n"]


@breaks()
def bridge_by_winedllpath(machine):
    machine.lose_bridge()
    machine.env["WINEDLLPATH"] = f"/nowhere:{machine.out}/wine"
    machine.says = [f"ok: 64-bit programs use the bridge: {machine.out}/wine/"]


@breaks()
def bridge_without_another_opencl(machine):
    """Also with an override that keeps Wine's own away."""
    machine.override("native")
    shutil.rmtree(machine.windows / "system32/cld3d")


@breaks()
def wine_that_takes_the_link(machine):
    machine.lose_bridge()
    machine.put(machine.wine / "x86_64-unix/ntdll.so", HOST + b"\0wine-11.10\0")
    machine.says = [f"ok: 64-bit programs use the bridge: {machine.windows}/system32/libcld3d.so\n"]


@breaks("error no-loader", "error no-icd", "warning icd-broken", "warning bridge-unused")
def host_without_a_driver_for_32_bits(machine):
    (machine.wine / "i386-unix").mkdir()
    machine.program(32)


@breaks("error program-bits")
def wine_without_32_bits(machine):
    shutil.rmtree(machine.wine / "i386-windows")
    machine.program(32)


@breaks("warning container", "warning bridge-unused")
def proton_and_an_installation_in_usr(machine):
    prefix_of_proton(machine)
    machine.override('native,builtin"\n"*opencl"="native,builtin')
    shutil.rmtree(machine.out / "wine")
    machine.out = machine.out.rename(machine.root / "usr/lib/cld3d")
    machine.link_halves(machine.out / "wine")


# ---- the Vulkan layer ----

@breaks("warning manifest")
def vulkan_manifest_without_its_library(machine):
    machine.put(machine.root / "usr/share/vulkan/implicit_layer.d/cld3d_vulkan_layer.json",
                '{"layer": {\n"library_path" : "/usr/lib/cld3d/linux/libcld3d.so"}}')


@breaks("warning manifest")
def vulkan_layer_of_another_version(machine):
    machine.put(machine.root / "opt/libcld3d.so", HOST + b"\0" + OLD)
    machine.put(machine.root / "etc/vulkan/implicit_layer.d/cld3d_vulkan_layer.json",
                '{"layer": {"library_path": "/opt/libcld3d.so"}}')


# ---- the prefix ----

@breaks("error no-prefix")
def prefix_that_is_none(machine):
    machine.registry.unlink()


@breaks("error no-prefix")
def folder_of_proton(machine):
    (machine.folder / "APP").mkdir()
    machine.prefix.rename(machine.folder / "APP/pfx")
    machine.prefix = machine.folder / "APP"
    machine.says = ["(Proton's is its folder pfx)\n"]


def uninstall(machine):
    for folder in ("system32", "syswow64"):
        (machine.windows / folder / "cld3d/opencl.dll").rename(machine.windows / folder / "opencl.dll")
    machine.override("")


@breaks("error not-installed")
def not_installed(machine):
    uninstall(machine)


@breaks("error other-opencl")
def opencl_of_another_vendor(machine):
    machine.put(machine.windows / "system32/opencl.dll", windows_file(64, b"Another Vendor's OpenCL"))


@breaks("error other-opencl")
def opencl_in_other_letters(machine):
    machine.put(machine.windows / "system32/OpenCL.dll", windows_file(64, b"Another Vendor's OpenCL"))


@breaks("error dll-bits")
def library_of_other_bits(machine):
    machine.put(machine.windows / "system32/opencl.dll", machine.dll[32])


@breaks("error bridge-version")
def another_version_is_installed(machine):
    machine.put(machine.windows / "system32/opencl.dll", windows_file(64, OLD))
    machine.hides = ["64-bit programs use the bridge"]


@breaks("error no-below")
def no_opencl_below(machine):
    machine.lose_bridge()
    (machine.windows / "system32/cld3d/opencl.dll").unlink()


# ---- a program ----

@breaks("error program-none")
def program_that_is_none(machine):
    machine.put(machine.program(64), "#!/bin/sh\n")


@breaks("warning beside-other")
def another_opencl_beside_the_program(machine):
    machine.put(machine.program(64).with_name("OPENCL.DLL"), windows_file(64, b"Another Vendor's OpenCL"))
    machine.says = [f"put OpenCL.dll and libcld3d.dll of {machine.out}/x64 over it, or remove it\n"]


@breaks("error not-registered")
def khronos_loader_beside_the_program(machine):
    machine.put(machine.program(64).with_name("OpenCL.dll"), windows_file(64, LOADER))
    machine.says = ["over the program's OpenCL.dll\n"]


@breaks("error beside-other")
def cld3d_of_other_bits_beside_the_program(machine):
    machine.put(machine.program(32).with_name("OpenCL.dll"), machine.dll[64])


@breaks()
def cld3d_beside_the_program_alone(machine):
    machine.put_beside(64)
    uninstall(machine)
    machine.override("native,builtin")


@breaks("warning bridge-unused")
def cld3d_beside_the_program_without_its_other_half(machine):
    machine.put_beside(64).unlink()
    machine.says = [f"remedy: copy {machine.out}/x64/libcld3d.dll there\n"]


LOADER = b"OPENCL_LAYERS\0SOFTWARE\\Khronos\\OpenCL\\Vendors"
LAYERS = "\n[Software\\\\%sKhronos\\\\OpenCL\\\\Layers] 1700000000\n#time=1\n"


def program_with_a_loader(machine, bits, registered=None):
    """Where is it, and whether cld3d is registered for such programs: with the number that enables it."""
    machine.put(machine.program(bits), windows_file(bits, LOADER))
    (machine.prefix / "dosdevices").mkdir()
    (machine.prefix / "dosdevices/z:").symlink_to("/")
    layer = machine.put(machine.out / f"x{bits}/cld3d.dll", machine.dll[bits])
    name = str(layer).replace("/", "\\\\")
    if registered is not None:
        section = LAYERS % ("Wow6432Node\\\\" if bits == 32 else "")
        with open(machine.prefix / "system.reg", "a", encoding="utf-8") as file:
            file.write(f'{section}"Z:{name}"=dword:0000000{registered}\n')
    return layer


@breaks("error not-registered")
def program_with_a_loader_and_cld3d_not_registered(machine):
    """Though it is installed."""
    program_with_a_loader(machine, 64)
    machine.says = [f"remedy: run: WINEPREFIX={machine.prefix} wine {machine.out}/x64/cld3dinfo.exe --register; or put OpenCL.dll "]


@breaks("error not-registered")
def program_that_is_large(machine):
    machine.put(machine.program(64), windows_file(64, bytes(100 << 20) + LOADER))


@breaks("error not-registered")
def library_with_a_loader(machine):
    machine.put(machine.program(64).with_name("avutil-60.dll"), windows_file(64, LOADER))


@breaks("error not-registered")
def program_with_a_loader_and_cld3d_disabled(machine):
    program_with_a_loader(machine, 64, registered=1)


@breaks()
def program_with_a_loader_in_a_prefix_without_cld3d(machine):
    """Where it is registered alone, it needs neither opencl.dll nor an override."""
    program_with_a_loader(machine, 64, registered=0)
    uninstall(machine)
    machine.says = ["ok: 64-bit programs use the bridge"]


@breaks()
def program_of_32_bits_with_a_loader(machine):
    program_with_a_loader(machine, 32, registered=0)
    uninstall(machine)


@breaks("warning not-installed")
def registered_alone_and_no_program_named(machine):
    program_with_a_loader(machine, 64, registered=0)
    uninstall(machine)
    machine.arguments = []


# ---- overrides ----

@breaks("error override-missing")
def no_override(machine):
    machine.override("")


@breaks("error override-wrong")
def wrong_override_in_the_environment(machine):
    machine.env["WINEDLLOVERRIDES"] = "dxgi=n;mscoree,opencl=b,n"
    machine.says = ["for this environment, in WINEDLLOVERRIDES"]


@breaks()
def override_in_the_environment_alone(machine):
    machine.override("")
    machine.env["WINEDLLOVERRIDES"] = "dxgi=n;opencl=n,b"


OF_THE_PROGRAM = "[Software\\\\Wine\\\\AppDefaults\\\\Game.exe\\\\DllOverrides] 1\n"


@breaks("error override-wrong")
def wrong_override_of_the_program(machine):
    machine.program(64)
    machine.override("native,builtin", OF_THE_PROGRAM + '"OpenCL"="builtin"\n')
    machine.says = ["for this program, in WINEDLLOVERRIDES or winecfg"]


@breaks()
def override_of_the_program_alone(machine):
    machine.program(64)
    machine.override("", OF_THE_PROGRAM + '"opencl"="native,builtin"\n')


@breaks("error override-wrong", "warning bridge-unused")
def override_without_builtin(machine):
    machine.lose_bridge()
    machine.override("native")


def prefix_of_proton(machine):
    machine.put(machine.folder / "APP/version", "9.0-203")
    machine.prefix.rename(machine.folder / "APP/pfx")
    machine.prefix = machine.folder / "APP/pfx"
    machine.windows = machine.prefix / "drive_c/windows"


@breaks("error override-wrong", "warning bridge-unused")
def override_for_proton_of_an_earlier_version(machine):
    prefix_of_proton(machine)


@breaks("warning bridge-unused")
def override_for_proton(machine):
    machine.says = ["cld3d-setup run %command%"]
    machine.override('native,builtin"\n"*opencl"="native,builtin')
    prefix_of_proton(machine)


@breaks("error no-direct3d")
def no_direct3d(machine):
    (machine.windows / "system32/d3d11.dll").unlink()


@breaks("warning no-display")
def no_display(machine):
    del machine.env["DISPLAY"]


# ---- prefixes that somebody packed to do harm ----

@breaks("error no-prefix")
def registry_that_is_a_pipe(machine):
    machine.registry.unlink()
    os.mkfifo(machine.registry)


@breaks("error override-wrong")
def registry_with_control_characters(machine):
    machine.override("\x1b]0;owned\x07\x1b[2Jbuiltin\r$(touch owned)`touch owned`%s%n\u202e\u00f6" + 400 * "x")
    machine.says = ["xxx...'"]
    machine.hides = ["\u00f6", 301 * "x"]


@breaks("error other-opencl")
def libraries_that_are_pipes(machine):
    (machine.windows / "system32/opencl.dll").unlink()
    os.mkfifo(machine.windows / "system32/opencl.dll")


@breaks("warning bridge-unused")
def library_that_is_a_device(machine):
    (machine.windows / "system32/libcld3d.dll").unlink()
    (machine.windows / "system32/libcld3d.dll").symlink_to("/dev/zero")


@breaks("error override-wrong")
def environment_with_format_characters(machine):
    every = "".join(map(chr, (code for code in range(1, 0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp"))))
    machine.env["WINEDLLOVERRIDES"] = f"opencl=b\u00f6{every}\udcff\udcc3x"
    machine.says = ["is 'b\u00f6"]


@breaks("error override-missing")
def registry_without_an_end(machine):
    with open(machine.registry, "wb") as file:
        file.truncate(1 << 40)


@breaks("error not-installed")
def prefix_with_an_odd_name(machine):
    odd = machine.folder / "it's; touch owned `touch owned` $(touch owned) \x1b[2J*"
    machine.prefix.rename(odd)
    machine.prefix = odd
    (odd / "drive_c/windows/system32/opencl.dll").unlink()


def wrong_arguments():
    """Exit status 2, and nothing on the standard output."""
    for arguments in (["--prefx", "x"], ["--prefix"], ["--prefix", ""], ["--program", ""], ["--root", "/nowhere/at/all"], ["more"]):
        done = subprocess.run([SETUP, "doctor", *arguments], capture_output=True, check=False)
        if done.returncode != 2 or done.stdout or not done.stderr:
            yield f"{arguments}: exit status {done.returncode}"


def prefix_of_a_flatpak():
    """Without --root, so that there are findings of this machine too."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder)
        inside = machine.folder / "home/.var/app/com.usebottles.bottles/prefix"
        inside.parent.mkdir(parents=True)
        machine.prefix.rename(inside)
        for root, expected in (([], {"warning container"}), (["--root", machine.root], set())):
            done = subprocess.run([machine.out / "cld3d-setup", "doctor", "--prefix", inside, *root], env=machine.env, capture_output=True,
                                  text=True, check=False)
            found = [f"{kind} {name}" for kind, name in FINDING.findall(done.stdout)]
            if {"warning container"} & set(found) != expected:
                yield f"{root}: {found}"


WINEBOOT = """#!/bin/sh
for folder in system32 syswow64; do
    [ -e "$WINEPREFIX/drive_c/windows/$folder/opencl.dll" ] || cp "$WINES/$folder" "$WINEPREFIX/drive_c/windows/$folder/opencl.dll"
done
"""


def run_remedies(machine):
    """Each as it stands behind "run: ", up to an alternative. wineboot creates Wine's library where there is none, as Wine's own does."""
    tools = machine.folder / "tools"
    machine.put(tools / "wineboot", WINEBOOT).chmod(0o755)
    machine.put(tools / "wineserver", "#!/bin/sh\n").chmod(0o755)
    (tools / "cld3d-setup").symlink_to(machine.out / "cld3d-setup")
    for folder, bits in (("system32", 64), ("syswow64", 32)):
        machine.put(machine.folder / "wines" / folder, windows_file(bits, b"Wine builtin DLL"))
    env = {**machine.env, "PATH": f"{tools}:{machine.env['PATH']}", "WINES": str(machine.folder / "wines")}
    for remedy in re.findall(r"^  remedy: .*\brun: (.*?)(?:; or .*)?$", machine.look().stdout.decode(), re.MULTILINE):
        done = subprocess.run(["sh", "-c", remedy], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"{remedy}: {done.stdout}{done.stderr}"


def remedies_that_work():
    """After them nothing is found but that the bridge is not in use, where it is not."""
    for case, left in ((opencl_of_another_vendor, ()), (not_installed, ()), (no_libcld3d_dll, ()), (library_of_other_bits, ()),
                       (override_without_builtin, ("warning bridge-unused",))):
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder)
            case(machine)
            problems = list(run_remedies(machine))
            machine.says = []
            problems += judge(machine, left)
            yield from (f"{case.__name__}: {problem}" for problem in problems)


def main():
    failed = 0
    results = [("wrong arguments", list(wrong_arguments())), ("prefix of a flatpak", list(prefix_of_a_flatpak())),
               ("remedies that work", list(remedies_that_work()))]
    for function, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder)
            function(machine)
            results.append((function.__name__.replace("_", " "), list(judge(machine, expected))))
    for number, (name, problems) in enumerate(results, 1):
        failed += bool(problems)
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
    print(f"1..{len(results)}")
    return 1 if failed else 0


sys.exit(main())
