"""For the tests of what users install: a Wine prefix of its own for each case, and cases that report in TAP."""

import filecmp
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

# Debian's Wine after 10.0~repack-11 has its server in no folder of PATH.
if not shutil.which("wineserver"):
    os.environ["PATH"] += f":/usr/lib/{os.uname().machine}-linux-gnu/wine"


class Failure(Exception):
    pass


class Skip(Exception):
    """What the case needs is not here; the text says what."""


def need(condition, what):
    if not condition:
        raise Failure(what)


LINKED = 64 << 10  # bytes


def link_or_copy(source, target):
    """Wine's own libraries, most of a prefix's 700 MB, are links. Nobody may write into them, which `differences` sees; the
    registry's files are copies, since Wine writes into those that have several names. Gives False if there can be no links."""
    if subprocess.run(["cp", "-alT", source, target], capture_output=True, check=False).returncode:
        return False
    for folder, _, names in os.walk(source):
        for path in (f"{folder}/{name}" for name in names):
            about = os.lstat(path)
            if stat.S_ISREG(about.st_mode) and (path.endswith(".reg") or about.st_size < LINKED):
                copy = target / os.path.relpath(path, source)
                copy.unlink()
                shutil.copy2(path, copy)
    return True


def kind_of(program):
    """The word for programs of its kind: x64 or x32."""
    data = program.read_bytes()
    header = int.from_bytes(data[0x3C:0x40], "little")
    return "x32" if data[header + 4:header + 6] == b"\x4c\x01" else "x64"


# Where a Wine has its 32-bit libraries of the host.
UNIX_32 = [path for pattern in ("usr/lib/*/wine/i386-unix", "usr/lib*/wine/i386-unix", "opt/*/lib*/wine/i386-unix")
           for path in pathlib.Path("/").glob(pattern)]


class Prefix:
    """A copy of a prefix, and a folder with a program alone, to be used with the cld3d-setup of an installation."""

    def __init__(self, folder, setup, program, original):
        self.folder = pathlib.Path(folder)
        self.script = setup
        self.prefix = self.folder / "prefix"
        self.program = self.folder / "program" / program.name
        self.program.parent.mkdir()
        self.kind = kind_of(program)
        self.starter = []  # what starts Wine
        shutil.copy(program, self.program)
        self.copy(original, self.prefix)
        self.registry = self.prefix / "user.reg"
        self.env = dict(os.environ, WINEPREFIX=self.prefix, WINEDEBUG="-all",
                        OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd")
        self.env.pop("WINEDLLOVERRIDES", None)
        self.env.pop("DISPLAY", None)
        self.env.pop("TMPDIR", None)  # with which Wine 10 aborts
        # Where Wine runs programs of 32 bits and of 64, each kind has its own Khronos key and its own system folder.
        self.is_wow64 = self.kind == "x32" and (self.prefix / "drive_c/windows/syswow64").is_dir()
        # In the new WoW64 they are programs of the host's 64 bits, and Wine has no OpenCL of its own for them.
        self.is_new_wow64 = self.is_wow64 and not any(UNIX_32)
        self.reg = "C:\\windows\\syswow64\\reg.exe" if self.is_wow64 else "reg"

    def setup(self, action, *more, prefix=None, status=0):
        command = [self.script, action, "--prefix", prefix or self.prefix, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        need(done.returncode == status, f"{action}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def wine(self, *arguments):
        """A program that begins while Wine's server ends does not run: it gives 1 and says nothing. On a slow machine that may
        happen several times."""
        for _ in range(5):
            done = self.wine_once(*arguments)
            if done.returncode == 0 or done.stdout or done.stderr:
                break
        return done

    def wine_once(self, *arguments):
        """Files, not pipes: processes that Wine leaves behind for seconds would keep them open."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run([*self.starter, "wine", *arguments], env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, out.read(), err.read())

    def wait_for_wine(self):
        """Then the registry's files are written, and nobody is left who uses the folder."""
        subprocess.run(["wineserver", "-w"], env=self.env, check=False)

    def ask(self, *arguments):
        """What the program says. Wine's server stays for some seconds, for the next program."""
        done = self.wine(self.program, *arguments)
        return dict(line.strip().split(": ", 1) for line in done.stdout.splitlines() if ": " in line)

    def run(self, *arguments):
        answer = self.ask(*arguments)
        self.wait_for_wine()
        return answer

    def copy(self, source, target):
        """Where the two are on one file system, and else by a copy."""
        if not link_or_copy(source, target):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, symlinks=True)

    def snapshot(self):
        copy = self.folder / "before"
        self.copy(self.prefix, copy)
        return copy


def same_file(one, other, since):
    """A link to the same bytes proves nothing: they must be as old as the snapshot at least."""
    a, b = one.stat(), other.stat()
    if a.st_ino == b.st_ino and a.st_dev == b.st_dev:
        return a.st_mtime_ns <= since
    return a.st_mode == b.st_mode and filecmp.cmp(one, other, shallow=False)


def differences(one, other, since=None):
    """What is not the same in both folders."""
    since = since or os.stat(one).st_ctime_ns
    left, right = ({entry.name: entry for entry in os.scandir(folder)} for folder in (one, other))
    found = [os.path.join(other, name) for name in left.keys() ^ right.keys()]
    for name in left.keys() & right.keys():
        a, b = left[name], right[name]
        if a.is_symlink() or b.is_symlink():
            if not (a.is_symlink() and b.is_symlink() and os.readlink(a) == os.readlink(b)):
                found.append(b.path)
        elif a.is_dir():
            found += differences(a, b, since)
        elif not same_file(a, b, since):
            found.append(b.path)
    return sorted(found)


def in_and_out(place):
    before = place.snapshot()
    need(f"{place.kind}: not installed" in place.setup("status", status=1), "status of a fresh prefix")
    place.setup("install")
    need(differences(before, place.prefix), "install changed nothing")
    once = place.registry.read_bytes()
    place.setup("install")
    need(place.registry.read_bytes() == once, "a second install changed the registry")
    need(f"{place.kind}: installed" in place.setup("status"), "status after install")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], f"left: {differences(before, place.prefix)}")
    place.setup("uninstall")
    need(differences(before, place.prefix) == [], "a second uninstall changed something")


def run_cases(cases, make):
    """Runs each case on what `make` makes of a folder. Gives the exit status."""
    failed = 0
    for number, case in enumerate(cases, 1):
        name = case.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            place = make(folder)
            try:
                case(place)
                print(f"ok {number} - {name}", flush=True)
            except Skip as reason:
                print(f"ok {number} - {name} # SKIP {reason}", flush=True)
            except (Failure, KeyError) as problem:
                failed += 1
                print("# " + str(problem).replace("\n", "\n# "))
                print(f"not ok {number} - {name}", flush=True)
            finally:
                if isinstance(place, Prefix):
                    place.wait_for_wine()
    print(f"1..{len(cases)}")
    return 1 if failed else 0
