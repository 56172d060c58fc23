#!/usr/bin/env python3
"""What `make package` makes: the zip works from any folder, the Debian package installs and goes without a trace, and so do the verb of
winetricks and Arch's package. Of Bottles and Lutris only the formats of their files are checked.

    test_package.py PACKAGE WHICH_OPENCL_EXE WINE_RUN PREFIX

PACKAGE is scripts/package, PREFIX is one to copy, which WINE_RUN makes if it is not there. Prints TAP.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml
from prefix import Prefix, Skip, in_and_out, need, run_cases

PACKAGE, PROGRAM, WINE_RUN, PREFIX = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
ROOT = PACKAGE.parent.parent
VERSION = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
NAME = f"cld3d-{VERSION}"
URL = "https://example.org/releases"
LINKS = {"wine/x86_64-unix/libcld3d.so": "../../linux/libcld3d.so", "wine/x86_64-windows/libcld3d.dll": "../../x64/libcld3d.dll",
         "wine/i386-windows/libcld3d.dll": "../../x32/libcld3d.dll"}
LIBRARIES = {*(f"{kind}/{name}" for kind in ("x64", "x32") for name in ("OpenCL.dll", "cld3d.dll", "libcld3d.dll", "cld3dinfo.exe")),
             "linux/libcld3d.so", "linux/cld3d_vulkan_layer.json", "cld3d-doctor", *LINKS}
PAGES = {"README.md", "CONTRIBUTING.md",
         *(str(path.relative_to(ROOT)) for pattern in ("docs/*.md", "docs/*.png", "examples/minimal-*.c", "examples/live-d3d11.c") for path in ROOT.glob(pattern))}
IMPLICIT = "usr/share/vulkan/implicit_layer.d/cld3d_vulkan_layer.json"
DEB = {IMPLICIT, "usr/bin/cld3d-setup", "usr/lib/cld3d/linux/cld3d.lay", "usr/share/man/man1/cld3d-setup.1.gz", "usr/share/man/man1/cld3dinfo.1.gz",
       *("usr/share/doc/cld3d/" + name for name in {"copyright", "changelog.gz", *PAGES}), *("usr/lib/cld3d/" + name for name in LIBRARIES)}

made = tempfile.TemporaryDirectory()
RELEASE = pathlib.Path(made.name)
ZIP, DEBIAN = RELEASE / f"{NAME}.zip", RELEASE / f"cld3d_{VERSION}_amd64.deb"


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    need(done.returncode == 0, f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def files(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if not path.is_dir()}


def unzip(folder):
    output("unzip", "-q", ZIP, "-d", folder)
    return folder / NAME


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def whole(folder):
    """Nothing missing, nothing more, no word of where it was built, and links that Wine takes for its own by their mark."""
    output("dpkg-deb", "-x", DEBIAN, folder / "deb")
    need(files(folder / "deb") == DEB, f"differ: {files(folder / 'deb') ^ DEB}")
    unzipped = unzip(folder)
    names = {"NEWS", "LICENSE", "cld3d-setup", *PAGES, *LIBRARIES}
    need(files(unzipped) == names, f"differ: {files(unzipped) ^ names}")
    for libraries in (unzipped, folder / "deb/usr/lib/cld3d"):
        found = {name: os.readlink(libraries / name) for name in files(libraries) if (libraries / name).is_symlink()}
        need(found == LINKS, found)
        need(all(name.endswith(".so") or (libraries / name).read_bytes()[64:81] == b"Wine builtin DLL\0" for name in LINKS), "Wine's mark is missing")
        for path in (libraries / name for name in LIBRARIES):
            need(str(ROOT).encode() not in path.read_bytes() and b"/src/entry/" not in path.read_bytes(), f"{path} holds paths of sources")
    missing = [name for name in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (unzipped / "README.md").read_text()) if not (unzipped / name).exists()]
    need(missing == [], f"README.md names {missing}")


def vulkan_layer(folder):
    """The manifests name the library where it lies, and what turns the layer on and off."""
    output("dpkg-deb", "-x", DEBIAN, folder)
    for manifest in (folder / IMPLICIT, folder / "usr/lib/cld3d/linux/cld3d_vulkan_layer.json"):
        layer = json.loads(manifest.read_text())["layer"]
        library = manifest.parent / layer["library_path"]
        need((folder / str(library).lstrip("/") if layer["library_path"][0] == "/" else library).is_file(), f"{manifest}: {library} is not there")
        need(layer["enable_environment"] and layer["disable_environment"], f"{manifest}: nothing turns it on or off")


def names_and_sums(folder):
    subprocess.run(["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"], cwd=RELEASE, check=True)
    named = {line.split()[1] for line in (RELEASE / "SHA256SUMS").read_text().splitlines()}
    need(named == {ZIP.name, DEBIAN.name, f"{NAME}.cdx.json", "cld3d.verb", "cld3d-bottles.yml", "cld3d-lutris.yml", "PKGBUILD"}, named)
    need(named | {"SHA256SUMS"} == files(RELEASE), files(RELEASE))
    need((ROOT / "NEWS").read_text().split()[:2] == ["cld3d", VERSION], "NEWS names another version")
    fields = output("dpkg-deb", "-f", DEBIAN, "Version", "Depends")
    need(f"Version: {VERSION}\n" in fields and "libc6 (>= 2.31), ocl-icd-libopencl1" in fields, fields)
    for name in ("cld3d.verb", "cld3d-bottles.yml", "cld3d-lutris.yml", "PKGBUILD"):
        text = (RELEASE / name).read_text()
        need(f"{URL}/{ZIP.name}" in text and sha256(ZIP) in text and not re.search("@[A-Z0-9]+@", text), f"{name} is not filled in")


def list_of_parts(folder):
    report = json.loads((RELEASE / f"{NAME}.cdx.json").read_text())
    need(report["bomFormat"] == "CycloneDX" and report["metadata"]["component"]["name"] == "cld3d", "no CycloneDX")
    unzipped = unzip(folder)
    listed = {each["name"]: each["hashes"][0]["content"] for each in report["components"] if each["type"] == "file"}
    need(listed == {f"{NAME}/{name}": sha256(unzipped / name) for name in files(unzipped) - LINKS.keys()}, "the files differ from the zip's")
    need(any("mingw" in each["name"] for each in report["components"]), "what is linked in is missing")


WINETRICKS = """
w_metadata() { for word; do case $word in installed_file1=*) echo "$word" ;; esac; done; }
w_die() { echo "died: $*" >&2; exit 1; }
w_try() { "$@" || w_die "$*"; }
w_download() { echo "$2  $W_CACHE/cld3d/${1##*/}" | sha256sum --quiet --strict -c || w_die sum; }
w_try_unzip() { w_try unzip -q "$2" -d "$1"; }
W_WINDIR_WIN='C:\\windows'
. "$VERB"
load_cld3d
"""


def verb_of_winetricks(folder):
    """With functions that do what those of winetricks do; scripts/try-package runs winetricks itself."""
    place = Prefix(folder, None, PROGRAM, PREFIX)
    (folder / "cache").mkdir()
    (folder / "cache/cld3d").symlink_to(RELEASE)
    said = output("sh", "-c", WINETRICKS, env={**place.env, "W_CACHE": folder / "cache", "VERB": RELEASE / "cld3d.verb"})
    place.script = place.prefix / NAME / "cld3d-setup"
    need("x64: installed" in place.setup("status"), "it is not installed")
    shown = re.search(r"installed_file1=C:(\S*)", said)[1].replace("\\", "/")
    need((place.prefix / "drive_c" / shown.lstrip("/")).is_file(), f"winetricks looks for {shown}, which is not there")


def package_of_arch(folder):
    """As makepkg calls it; scripts/try-package runs makepkg itself."""
    unzip(folder)
    output("bash", "-ec", f"pkgdir={folder}/package; . {RELEASE}/PKGBUILD; package", cwd=folder)
    need(output(folder / "package/usr/bin/cld3d-setup", "--version") == f"cld3d {VERSION}\n", "cld3d-setup does not find the libraries")


def installer_of_bottles(folder):
    """The keys and actions that Bottles reads, and its script on a folder that looks like a bottle, with what it downloads."""
    manifest = yaml.safe_load((RELEASE / "cld3d-bottles.yml").read_text())
    need({"Name", "Description", "Grade", "Arch", "Dependencies", "Parameters", "Executable", "Steps"} <= manifest.keys(), manifest.keys())
    need({"name", "file", "path", "icon"} <= manifest["Executable"].keys() and manifest["Arch"] == "win64", manifest["Executable"])
    step, = manifest["Steps"]
    script = step["script"].replace("!bottle_drive", "!bottle_path/drive_c")
    need(step["action"] == "run_script" and "'" not in script and "bottle.yml" not in script, "Bottles cannot run the script")
    place = Prefix(folder, None, PROGRAM, PREFIX)
    output("bash", "-c", script.replace("!bottle_path", str(place.prefix)).replace(URL, f"file://{RELEASE}"))
    for name in (*manifest["Checks"]["files"], manifest["Executable"]["path"]):
        need((place.prefix / "drive_c" / name).is_file(), f"{name} is not there")


def installer_of_lutris(folder):
    """The keys that Lutris requires, the commands that it knows, and the script's own command."""
    manifest = yaml.safe_load((RELEASE / "cld3d-lutris.yml").read_text())
    need({"name", "game_slug", "version", "slug", "runner", "script"} <= manifest.keys() and manifest["runner"] == "wine", manifest.keys())
    task, execute = manifest["script"]["installer"]
    need(task["task"]["name"] == "create_prefix" and execute.keys() == {"execute"}, "unknown commands")
    place = Prefix(folder, None, PROGRAM, PREFIX)
    output("bash", "-c", execute["execute"]["command"], env={**place.env, "GAMEDIR": place.prefix, "archive": ZIP})
    for value in (manifest["script"]["game"]["exe"], manifest["script"]["system"]["env"]["WINEDLLPATH"]):
        need(pathlib.Path(value.replace("$GAMEDIR", str(place.prefix))).exists(), f"{value} is not there")


def works_from_zip(folder):
    place = Prefix(folder, unzip(folder) / "cld3d-setup", PROGRAM, PREFIX)
    in_and_out(place)
    place.setup("install")
    got = place.run()
    need(got["library"].lower() == "c:\\windows\\system32\\opencl.dll" and got["next"] != "not cld3d", got)
    need(got["status"] == "0" and int(got["platforms"]) >= 1, got)


def installed_and_removed(folder):
    """dpkg with a database and a root of its own; it changes nothing else. The doctor finds the installation's own parts."""
    if os.geteuid() != 0:
        raise Skip("only root may do that")
    root, database = folder / "root", folder / "database"
    root.mkdir()
    for name in ("info", "updates", "triggers"):
        (database / name).mkdir(parents=True)
    for name in ("status", "available"):
        (database / name).touch()
    dpkg = ["dpkg", "--admindir", database, "--instdir", root, "--log", folder / "log", "--force-depends"]
    output(*dpkg, "-i", DEBIAN)
    place = Prefix(folder, root / "usr/bin/cld3d-setup", PROGRAM, PREFIX)
    in_and_out(place)
    done = subprocess.run([place.script, "doctor", "--prefix", folder / "none"], capture_output=True, text=True)
    need("error[no-prefix]" in done.stdout and "ok: Vulkan layer: " in done.stdout, done.stdout)
    need("[incomplete]" not in done.stdout and "bridge-" not in done.stdout, done.stdout)
    output(*dpkg, "-r", "cld3d")
    need(list(root.iterdir()) == [], f"left: {list(root.rglob('*'))}")


CASES = [whole, vulkan_layer, names_and_sums, list_of_parts, verb_of_winetricks, package_of_arch, installer_of_bottles, installer_of_lutris,
         works_from_zip, installed_and_removed]


def main():
    subprocess.run([WINE_RUN], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([PACKAGE, made.name], env={**os.environ, "CLD3D_URL": URL}, check=True, stdout=subprocess.DEVNULL)
    return run_cases(CASES, pathlib.Path)


sys.exit(main())
