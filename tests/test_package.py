#!/usr/bin/env python3
"""What `make package` makes: the zip works from any folder, the Debian package installs and goes without a trace.

    test_package.py PACKAGE WHICH_OPENCL_EXE WINE_RUN PREFIX

PACKAGE is scripts/package, PREFIX is one to copy, which WINE_RUN makes if it is not there. Prints TAP.
"""

import hashlib
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import zipfile

from prefix import Prefix, Skip, in_and_out, need, run_cases

PACKAGE, PROGRAM, WINE_RUN, PREFIX = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
ROOT = PACKAGE.parent.parent
LINKS = {"wine/x86_64-unix/libcld3d.so": "../../linux/libcld3d.so", "wine/x86_64-windows/libcld3d.dll": "../../x64/libcld3d.dll",
         "wine/i386-windows/libcld3d.dll": "../../x32/libcld3d.dll"}
LIBRARIES = {"x64/OpenCL.dll", "x64/cld3d.dll", "x64/libcld3d.dll", "x64/cld3dinfo.exe", "x32/OpenCL.dll", "x32/cld3d.dll", "x32/libcld3d.dll",
             "x32/cld3dinfo.exe", "linux/libcld3d.so", "linux/cld3d_vulkan_layer.json", "cld3d-doctor", *LINKS}
IMPLICIT = "usr/share/vulkan/implicit_layer.d/cld3d_vulkan_layer.json"
DEB_MANIFEST = "cld3d_vulkan_layer.json"
PAGES = {"README.md", "CONTRIBUTING.md",
         *(str(path.relative_to(ROOT)) for pattern in ("docs/*.md", "docs/*.png", "examples/minimal-*.c", "examples/live-d3d11.c") for path in ROOT.glob(pattern))}
DEB = {IMPLICIT, "usr/bin/cld3d-setup", *("usr/share/doc/cld3d/" + name for name in PAGES), "usr/share/doc/cld3d/copyright", "usr/share/doc/cld3d/changelog.gz",
       "usr/share/man/man1/cld3d-setup.1.gz", "usr/share/man/man1/cld3dinfo.1.gz", "usr/lib/cld3d/linux/cld3d.lay",
       *("usr/lib/cld3d/" + name for name in LIBRARIES)}

made = tempfile.TemporaryDirectory()


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    need(done.returncode == 0, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def the_one(pattern):
    found = list(pathlib.Path(made.name).glob(pattern))
    need(len(found) == 1, f"{pattern}: {found}")
    return found[0]


def files(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if not path.is_dir()}


def unzip(folder):
    """As unzip does, which Python's own function does not: with the files' modes, and with links."""
    archive = zipfile.ZipFile(the_one("cld3d-*.zip"))
    archive.extractall(folder)
    for entry in archive.infolist():
        path, mode = folder / entry.filename, entry.external_attr >> 16
        if stat.S_ISLNK(mode):
            target = path.read_text()
            path.unlink()
            path.symlink_to(target)
        else:
            path.chmod(stat.S_IMODE(mode))
    return folder / the_one("cld3d-*.zip").stem


def unpack(folder):
    output("dpkg-deb", "-x", the_one("cld3d_*.deb"), folder)
    return folder


def check_tree(folder, names, libraries):
    """Nothing missing, nothing more, modes as they have to be, and no word of where it was built."""
    need(files(folder) == names, f"differ: {files(folder) ^ names}")
    check_links(libraries)
    for path in (path for path in folder.rglob("*") if not path.is_symlink()):
        executable = path.is_dir() or path.name in ("cld3d-setup", "cld3d-doctor")
        mode = stat.S_IMODE(path.lstat().st_mode)
        need(mode == (0o755 if executable else 0o644), f"{path}: mode {mode:o}")
        if path.is_file():
            need(str(ROOT).encode() not in path.read_bytes(), f"{path} holds the path {ROOT}")
            need(b"/src/entry/" not in path.read_bytes(), f"{path} holds paths of sources")


def check_links(libraries):
    """For Wine, which needs its mark in the libraries for Windows."""
    found = {str(path.relative_to(libraries)): os.readlink(path) for path in libraries.rglob("*") if path.is_symlink()}
    need(found == LINKS, found)
    for name in LINKS:
        need(name.endswith(".so") or (libraries / name).read_bytes()[64:81] == b"Wine builtin DLL\0", f"{name} has not Wine's mark")


def installed_by_meson(folder):
    """`meson install` has the same layout, of which README.md's pages are no part."""
    for build in ("linux", "x64", "x32"):
        need((ROOT / "build" / build / "build.ninja").exists(), f"there is no build/{build}")
        output("meson", "install", "-C", ROOT / "build" / build, "--no-rebuild", "--destdir", folder, "--tags", "runtime,man")
    wanted = {name.replace("usr/", "usr/local/", 1).removesuffix(".gz") for name in DEB if not name.startswith("usr/share/doc/")}
    wanted.add("usr/local/share/licenses/cld3d/LICENSE")
    need(files(folder) == wanted, f"differ: {files(folder) ^ wanted}")
    check_links(folder / "usr/local/lib/cld3d")
    manifest = json.loads((folder / IMPLICIT.replace("usr/", "usr/local/", 1)).read_text())
    need(manifest["layer"]["library_path"] == "/usr/local/lib/cld3d/linux/libcld3d.so", manifest)


def whole_zip(folder):
    unzipped = unzip(folder)
    check_tree(unzipped, {"NEWS", "LICENSE", "cld3d-setup", *PAGES, *LIBRARIES}, unzipped)
    text = (folder / the_one("cld3d-*.zip").stem / "README.md").read_text()
    missing = [name for name in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) if not (folder / the_one("cld3d-*.zip").stem / name).exists()]
    need(missing == [], f"README.md names {missing}")


def whole_deb(folder):
    check_tree(unpack(folder), DEB, folder / "usr/lib/cld3d")
    owners = {line.split()[1] for line in output("dpkg-deb", "-c", the_one("cld3d_*.deb")).splitlines()}
    need(owners == {"root/root"}, owners)
    output("dpkg-deb", "--control", the_one("cld3d_*.deb"), folder / "control")
    subprocess.run(["md5sum", "--quiet", "-c", "control/md5sums"], cwd=folder, check=True)


def vulkan_layer(folder):
    """The manifests name the library where it lies, and what turns the layer on and off."""
    root, zipped = unpack(folder / "root"), unzip(folder / "zip")
    for manifest in (root / IMPLICIT, root / "usr/lib/cld3d/linux" / DEB_MANIFEST, zipped / "linux" / DEB_MANIFEST):
        layer = json.loads(manifest.read_text())["layer"]
        library = pathlib.PurePath(layer["library_path"])
        place = root / library.relative_to("/") if library.is_absolute() else manifest.parent / library
        need(place.is_file(), f"{manifest}: {library} is not there")
        need(layer["enable_environment"] and layer["disable_environment"], f"{manifest}: nothing turns it on or off")


def versions(folder):
    version = output("meson", "introspect", "--projectinfo", ROOT / "meson.build").split('"version": "')[1].split('"')[0]
    need(the_one("cld3d_*.deb").name == f"cld3d_{version}_amd64.deb", "the name of the Debian package")
    need(the_one("cld3d-*.zip").name == f"cld3d-{version}.zip", "the name of the zip")
    fields = output("dpkg-deb", "-f", the_one("cld3d_*.deb"), "Package", "Version", "Architecture", "Recommends")
    need(fields.split() == ["Package:", "cld3d", "Version:", version, "Architecture:", "amd64", "Recommends:", "wine"],
         fields)
    need("ocl-icd-libopencl1" in output("dpkg-deb", "-f", the_one("cld3d_*.deb"), "Depends"), "it depends on no OpenCL")


def sums(folder):
    subprocess.run(["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"], cwd=made.name, check=True)
    named = {line.split()[1] for line in the_one("SHA256SUMS").read_text().splitlines()}
    need(named | {"SHA256SUMS"} == files(made.name), named)


def list_of_parts(folder):
    report = json.loads(the_one("*.cdx.json").read_text())
    need(report["bomFormat"] == "CycloneDX" and report["metadata"]["component"]["name"] == "cld3d", "no CycloneDX")
    unzipped = unzip(folder)
    listed = {each["name"]: each["hashes"][0]["content"] for each in report["components"] if each["type"] == "file"}
    need(listed == {f"{unzipped.name}/{name}": hashlib.sha256((unzipped / name).read_bytes()).hexdigest() for name in files(unzipped) - LINKS.keys()},
         "the files differ from the zip's")
    need(any("mingw" in each["name"] for each in report["components"]), "what is linked in is missing")


WINETRICKS = """
w_metadata() { for word; do case $word in installed_file1=*) echo "$word" ;; esac; done; }
w_die() { echo "died: $*" >&2; exit 1; }
w_try() { "$@" || w_die "$*"; }
w_verify_sha256sum() { echo "$1  $2" | sha256sum --quiet --strict -c || w_die sum; }
w_try_unzip() { python3 -c 'import shutil, sys; shutil.unpack_archive(*sys.argv[1:], "zip")' "$2" "$1" && chmod -x "$1"/*/cld3d-*; }
W_WINDIR_WIN='C:\\windows'
W_SYSTEM32_DLLS_WIN='C:\\windows\\syswow64' # in a prefix of 64 bits
. "$VERB"
load_cld3d
"""


def verb_of_winetricks(folder):
    """With functions that do what those of winetricks do: winetricks itself is not run. Not every unzip keeps modes."""
    place = Prefix(folder, unzip(folder / "zip") / "cld3d-setup", PROGRAM, PREFIX)
    (folder / "cache/cld3d").mkdir(parents=True)
    env = {**place.env, "W_CACHE": folder / "cache", "VERB": the_one("cld3d.verb")}
    done = subprocess.run(["sh", "-c", WINETRICKS], env=env, capture_output=True, text=True)
    need(done.returncode == 1 and "died: Put cld3d-" in done.stderr, done.stderr)
    archive = folder / "cache/cld3d" / the_one("cld3d-*.zip").name
    archive.write_bytes(the_one("cld3d-*.zip").read_bytes() + b"x")
    done = subprocess.run(["sh", "-c", WINETRICKS], env=env, capture_output=True, text=True)
    need(done.returncode == 1 and "died: sum" in done.stderr, done.stderr)
    archive.write_bytes(the_one("cld3d-*.zip").read_bytes())
    done = subprocess.run(["sh", "-c", WINETRICKS], env=env, capture_output=True, text=True)
    need(done.returncode == 0, done.stderr)
    place.script = place.prefix / the_one("cld3d-*.zip").stem / "cld3d-setup"
    place.script.chmod(0o755)
    need("x64: installed" in place.setup("status"), "it is not installed")
    shown = re.search(r"installed_file1=C:(\S*)", done.stdout)[1].replace("\\", "/")
    need((place.prefix / "drive_c" / shown.lstrip("/")).is_file(), f"winetricks looks for {shown}, which is not there")


def doctor_from_deb(folder):
    """It finds the installation's own parts."""
    setup = unpack(folder / "root") / "usr/bin/cld3d-setup"
    done = subprocess.run([setup, "doctor", "--prefix", folder / "none"], capture_output=True, text=True)
    need("error[no-prefix]" in done.stdout and "ok: Vulkan layer: " in done.stdout, done.stdout)
    need("[incomplete]" not in done.stdout and "bridge-" not in done.stdout, done.stdout)


def works_from_zip(folder):
    place = Prefix(folder, unzip(folder) / "cld3d-setup", PROGRAM, PREFIX)
    in_and_out(place)
    place.setup("install")
    got = place.run()
    need(got["library"].lower() == "c:\\windows\\system32\\opencl.dll" and got["next"] != "not cld3d", got)
    need(got["status"] == "0" and int(got["platforms"]) >= 1, got)


def works_from_deb(folder):
    in_and_out(Prefix(folder, unpack(folder / "root") / "usr/bin/cld3d-setup", PROGRAM, PREFIX))


def installed_and_removed(folder):
    """dpkg with a database and a root of its own; it changes nothing else."""
    if os.geteuid() != 0:
        raise Skip("only root may do that")
    root, database = folder / "root", folder / "database"
    root.mkdir()
    for name in ("info", "updates", "triggers"):
        (database / name).mkdir(parents=True)
    for name in ("status", "available"):
        (database / name).touch()
    dpkg = ["dpkg", "--admindir", database, "--instdir", root, "--log", folder / "log", "--force-depends"]
    output(*dpkg, "-i", the_one("cld3d_*.deb"))
    need(files(root) == DEB, f"installed: {files(root) ^ DEB}")
    output(*dpkg, "-r", "cld3d")
    need(list(root.iterdir()) == [], f"left: {list(root.rglob('*'))}")


CASES = [whole_zip, whole_deb, installed_by_meson, vulkan_layer, versions, sums, list_of_parts, verb_of_winetricks, doctor_from_deb,
         works_from_zip, works_from_deb, installed_and_removed]


def main():
    subprocess.run([WINE_RUN], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([PACKAGE, made.name], check=True, stdout=subprocess.DEVNULL)
    return run_cases(CASES, pathlib.Path)


sys.exit(main())
