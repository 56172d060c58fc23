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

    def put_manifest(self, folder, library):
        self.put(self.root / folder / "vulkan/implicit_layer.d/cld3d_vulkan_layer.json", f'{{"layer": {{\n"library_path" : "{library}"}}}}')

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


def judge(machine, expected, texts=()):
    """What is wrong with what the doctor said; nothing if it is right. Texts must stand in it, but for those with a minus sign."""
    expected = sorted(filter(None, expected.split(", ")))
    before = snapshot(machine.folder)
    done = machine.look()
    text = done.stdout.decode(errors="replace") # what is shown is UTF-8, and all of it is visible
    found = sorted(f"{kind} {name}" for kind, name in FINDING.findall(text))
    count = SUMMARY.search(text)
    errors = sum(name.startswith("error") for name in found)
    if found != expected:
        yield f"found {found}, not {expected}"
    if not count or (int(count[1]), int(count[2])) != (errors, len(found) - errors):
        yield "the last line does not count the findings"
    if len(found) != len(re.findall(r"^(?:error|warning)\[", text, re.MULTILINE)):
        yield "a finding lacks its cause or remedy"
    if done.returncode != (1 if errors else 0):
        yield f"exit status {done.returncode}"
    if done.stderr:
        yield f"standard error: {done.stderr.decode(errors='replace')}"
    if "\ufffd" in text or (set(HIDDEN) - {"\n"}) & set(text):
        yield f"it is no plain UTF-8: {text!r}"
    for part in texts:
        wanted = part.removeprefix("-").format_map(vars(machine))
        if (wanted in text) == part.startswith("-"):
            yield f"it says, or does not say, {wanted!r}:\n{text}"
    if snapshot(machine.folder) != before:
        yield "something was changed"


# ---- the ways in which a machine breaks ----

OF_THE_PROGRAM = "[Software\\\\Wine\\\\AppDefaults\\\\Game.exe\\\\DllOverrides] 1\n"
ANOTHER = b"Another Vendor's OpenCL"
LOADER = b"OPENCL_LAYERS\0SOFTWARE\\Khronos\\OpenCL\\Vendors"
LAYERS = "\n[Software\\\\%sKhronos\\\\OpenCL\\\\Layers] 1700000000\n#time=1\n"
BOTH_OVERRIDES = 'native,builtin"\n"*opencl"="native,builtin'
# Which end no line and show nothing, or something else.
HIDDEN = "".join(chr(code) for code in range(1, 0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp"))


def uninstall(machine):
    for folder in ("system32", "syswow64"):
        (machine.windows / folder / "cld3d/opencl.dll").rename(machine.windows / folder / "opencl.dll")
    machine.override("")


def move_prefix(machine, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    machine.prefix.rename(to)
    machine.prefix = to
    machine.windows = to / "drive_c/windows"


def prefix_of_proton(machine):
    machine.put(machine.folder / "APP/version", "9.0-203")
    move_prefix(machine, machine.folder / "APP/pfx")


def folder_of_proton(machine):
    move_prefix(machine, machine.folder / "APP/pfx")
    machine.prefix = machine.folder / "APP"


def proton_and_an_installation_in_usr(machine):
    prefix_of_proton(machine)
    machine.override(BOTH_OVERRIDES)
    shutil.rmtree(machine.out / "wine")
    machine.out = machine.out.rename(machine.root / "usr/lib/cld3d")
    machine.link_halves(machine.out / "wine")


def program_with_a_loader(machine, bits=64, registered=None):
    """Whether cld3d is registered for such programs: with the number that enables it."""
    machine.put(machine.program(bits), windows_file(bits, LOADER))
    (machine.prefix / "dosdevices").mkdir()
    (machine.prefix / "dosdevices/z:").symlink_to("/")
    layer = str(machine.put(machine.out / f"x{bits}/cld3d.dll", machine.dll[bits])).replace("/", "\\\\")
    if registered is not None:
        section = LAYERS % ("Wow6432Node\\\\" if bits == 32 else "")
        with open(machine.prefix / "system.reg", "a", encoding="utf-8") as file:
            file.write(f'{section}"Z:{layer}"=dword:0000000{registered}\n')


def registered_alone(machine, bits=64):
    program_with_a_loader(machine, bits, registered=0)
    uninstall(machine)


def beside(machine, name, bits, text):
    machine.put(machine.program(bits).with_name(name), windows_file(bits, text))


def pipe(path):
    path.unlink()
    os.mkfifo(path)


# What the doctor finds; the case; what is done to the machine; what must stand in the output, with its paths.
CASES = [
    ("", "nothing is broken", lambda m: None, "ok: 64-bit programs use the bridge: {wine}/x86_64-unix/libcld3d.so\n"),
    ("", "nothing is broken for 32 bits", lambda m: m.program(32), "ok: 32-bit programs use the bridge: {wine}/x86_64-unix/libcld3d.so\n"),
    ("error no-loader", "no loader", lambda m: (m.libraries / "libOpenCL.so.1").unlink()),
    ("error no-loader", "loader of other bits", lambda m: m.put(m.libraries / "libOpenCL.so.1", other_bits(HOST))),
    ("error no-icd", "no ICD", lambda m: shutil.rmtree(m.icd.parent)),
    ("error no-icd, warning icd-broken", "ICD whose library is gone", lambda m: (m.libraries / "libdriver.so.1").unlink()),
    ("error no-icd, warning icd-broken", "ICD that leads nowhere", lambda m: (m.icd.unlink(), m.icd.symlink_to("nowhere"))),
    ("error no-icd, warning icd-broken", "the environment names no ICD", lambda m: m.env.update(OCL_ICD_VENDORS=f"{m.folder}/nowhere"),
     "{folder}/nowhere names no library"),
    ("error incomplete", "no library to install", lambda m: (m.out / "x64/OpenCL.dll").unlink()),

    # The bridge
    ("error incomplete, warning manifest, warning bridge-unused", "no libcld3d.so", lambda m: m.bridge.unlink()),
    ("error bridge-version", "bridge of other bits", lambda m: m.bridge.write_bytes(other_bits(m.bridge.read_bytes()))),
    ("error bridge-version", "bridge of another number", lambda m: m.bridge.write_bytes(HOST + b"\0" + MARK[0][:-2] + b"7\0")),
    ("warning bridge-version", "bridge of another version",
     lambda m: m.bridge.write_bytes(m.bridge.read_bytes().replace(MARK[0], re.sub(rb"version \d", b"version 9", MARK[0])))),
    ("warning bridge-unused", "Wine does not find the bridge", lambda m: m.lose_bridge(),
     "remedy: start programs with '{out}/cld3d-setup run'", "{out}/cld3d-setup install --wine\n"),
    # Wine's own OpenCL has no part for 32-bit programs of the new WoW64.
    ("error no-below", "program of 32 bits without the bridge", lambda m: (m.lose_bridge(), m.program(32))),
    ("warning bridge-unused", "no libcld3d.dll", lambda m: (m.windows / "system32/libcld3d.dll").unlink(),
     "remedy: run: {out}/cld3d-setup install --prefix {prefix}\n"),
    ("", "bridge by WINEDLLPATH", lambda m: (m.lose_bridge(), m.env.update(WINEDLLPATH=f"/nowhere:{m.out}/wine")),
     "ok: 64-bit programs use the bridge: {out}/wine/"),
    # Also with an override that keeps Wine's own away.
    ("", "bridge without another OpenCL", lambda m: (m.override("native"), shutil.rmtree(m.windows / "system32/cld3d"))),
    ("", "Wine that takes the link",
     lambda m: (m.lose_bridge(), m.put(m.wine / "x86_64-unix/ntdll.so", HOST + b"\0wine-11.10\0")),
     "ok: 64-bit programs use the bridge: {windows}/system32/libcld3d.so\n"),
    ("error no-loader, error no-icd, warning icd-broken, warning bridge-unused", "host without a driver for 32 bits",
     lambda m: ((m.wine / "i386-unix").mkdir(), m.program(32))),
    ("error program-bits", "Wine without 32 bits", lambda m: (shutil.rmtree(m.wine / "i386-windows"), m.program(32))),
    ("warning container, warning bridge-unused", "Proton and an installation in /usr", proton_and_an_installation_in_usr),

    # The Vulkan layer
    ("warning manifest", "Vulkan manifest without its library",
     lambda m: m.put_manifest("usr/share", "/usr/lib/cld3d/linux/libcld3d.so")),
    ("warning manifest", "Vulkan layer of another version",
     lambda m: (m.put(m.root / "opt/libcld3d.so", HOST + b"\0" + OLD), m.put_manifest("etc", "/opt/libcld3d.so"))),

    # The prefix
    ("error no-prefix", "prefix that is none", lambda m: m.registry.unlink()),
    ("error no-prefix", "folder of Proton", folder_of_proton, "(Proton's is its folder pfx)\n"),
    ("error not-installed", "not installed", uninstall),
    ("error other-opencl", "OpenCL of another vendor", lambda m: m.put(m.windows / "system32/opencl.dll", windows_file(64, ANOTHER))),
    ("error other-opencl", "OpenCL in other letters", lambda m: m.put(m.windows / "system32/OpenCL.dll", windows_file(64, ANOTHER))),
    ("error dll-bits", "library of other bits", lambda m: m.put(m.windows / "system32/opencl.dll", m.dll[32])),
    ("error bridge-version", "another version is installed", lambda m: m.put(m.windows / "system32/opencl.dll", windows_file(64, OLD)),
     "-64-bit programs use the bridge"),
    ("error no-below", "no OpenCL below", lambda m: (m.lose_bridge(), (m.windows / "system32/cld3d/opencl.dll").unlink())),

    # A program
    ("error program-none", "program that is none", lambda m: m.put(m.program(64), "#!/bin/sh\n")),
    ("warning beside-other", "another OpenCL beside the program", lambda m: beside(m, "OPENCL.DLL", 64, ANOTHER),
     "put OpenCL.dll and libcld3d.dll of {out}/x64 over it, or remove it\n"),
    ("error not-registered", "Khronos loader beside the program", lambda m: beside(m, "OpenCL.dll", 64, LOADER),
     "over the program's OpenCL.dll\n"),
    ("error beside-other", "cld3d of other bits beside the program",
     lambda m: m.put(m.program(32).with_name("OpenCL.dll"), m.dll[64])),
    ("", "cld3d beside the program alone", lambda m: (m.put_beside(64), uninstall(m), m.override("native,builtin"))),
    ("warning bridge-unused", "cld3d beside the program without its other half", lambda m: m.put_beside(64).unlink(),
     "remedy: copy {out}/x64/libcld3d.dll there\n"),
    # Though it is installed
    ("error not-registered", "program with a loader and cld3d not registered", program_with_a_loader,
     "remedy: run: WINEPREFIX={prefix} wine {out}/x64/cld3dinfo.exe --register; or put OpenCL.dll "),
    ("error not-registered", "program that is large", lambda m: m.put(m.program(64), windows_file(64, bytes(100 << 20) + LOADER))),
    ("error not-registered", "library with a loader", lambda m: beside(m, "avutil-60.dll", 64, LOADER)),
    ("error not-registered", "program with a loader and cld3d disabled", lambda m: program_with_a_loader(m, registered=1)),
    # Where it is registered alone, it needs neither opencl.dll nor an override.
    ("", "program with a loader in a prefix without cld3d", registered_alone, "ok: 64-bit programs use the bridge"),
    ("", "program of 32 bits with a loader", lambda m: registered_alone(m, 32)),
    ("warning not-installed", "registered alone and no program named", lambda m: (registered_alone(m), m.arguments.clear())),

    # Overrides
    ("error override-missing", "no override", lambda m: m.override("")),
    ("error override-wrong", "wrong override in the environment", lambda m: m.env.update(WINEDLLOVERRIDES="dxgi=n;mscoree,opencl=b,n"),
     "for this environment, in WINEDLLOVERRIDES"),
    ("", "override in the environment alone", lambda m: (m.override(""), m.env.update(WINEDLLOVERRIDES="dxgi=n;opencl=n,b"))),
    ("error override-wrong", "wrong override of the program",
     lambda m: (m.program(64), m.override("native,builtin", OF_THE_PROGRAM + '"OpenCL"="builtin"\n')),
     "for this program, in WINEDLLOVERRIDES or winecfg"),
    ("", "override of the program alone",
     lambda m: (m.program(64), m.override("", OF_THE_PROGRAM + '"opencl"="native,builtin"\n'))),
    ("error override-wrong, warning bridge-unused", "override without builtin", lambda m: (m.lose_bridge(), m.override("native"))),
    ("error override-wrong, warning bridge-unused", "override for Proton of an earlier version", prefix_of_proton),
    ("warning bridge-unused", "override for Proton", lambda m: (m.override(BOTH_OVERRIDES), prefix_of_proton(m)),
     "cld3d-setup run %command%"),
    ("error no-direct3d", "no Direct3D", lambda m: (m.windows / "system32/d3d11.dll").unlink()),
    ("warning no-display", "no display", lambda m: m.env.pop("DISPLAY")),

    # Prefixes that somebody packed to do harm
    ("error no-prefix", "registry that is a pipe", lambda m: pipe(m.registry)),
    ("error override-wrong", "registry with control characters",
     lambda m: m.override("\x1b]0;owned\x07\x1b[2Jbuiltin\r$(touch owned)`touch owned`%s%n\u202e\u00f6" + 400 * "x"),
     "xxx...'", "-\u00f6", "-" + 301 * "x"),
    ("error other-opencl", "libraries that are pipes", lambda m: pipe(m.windows / "system32/opencl.dll")),
    ("warning bridge-unused", "library that is a device",
     lambda m: ((m.windows / "system32/libcld3d.dll").unlink(), (m.windows / "system32/libcld3d.dll").symlink_to("/dev/zero"))),
    ("error override-wrong", "environment with format characters",
     lambda m: m.env.update(WINEDLLOVERRIDES=f"opencl=b\u00f6{HIDDEN}\udcff\udcc3x"), "is 'b\u00f6"),
    ("error override-missing", "registry without an end", lambda m: (os.truncate(m.registry, 0), os.truncate(m.registry, 1 << 40))),
    ("error not-installed", "prefix with an odd name",
     lambda m: (move_prefix(m, m.folder / "it's; touch owned `touch owned` $(touch owned) \x1b[2J*"),
                (m.windows / "system32/opencl.dll").unlink())),
]


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
    spoils = {name: spoil for _, name, spoil, *_ in CASES}
    for name in ("OpenCL of another vendor", "not installed", "no libcld3d.dll", "library of other bits", "override without builtin"):
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder)
            spoils[name](machine)
            problems = list(run_remedies(machine))
            problems += judge(machine, "warning bridge-unused" if name == "override without builtin" else "")
            yield from (f"{name}: {problem}" for problem in problems)


def main():
    failed = 0
    results = [("wrong arguments", list(wrong_arguments())), ("prefix of a flatpak", list(prefix_of_a_flatpak())),
               ("remedies that work", list(remedies_that_work()))]
    for expected, name, spoil, *texts in CASES:
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder)
            spoil(machine)
            results.append((name, list(judge(machine, expected, texts))))
    for number, (name, problems) in enumerate(results, 1):
        failed += bool(problems)
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
    print(f"1..{len(results)}")
    return 1 if failed else 0


sys.exit(main())
