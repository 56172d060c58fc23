#!/usr/bin/env python3
"""scripts/check-world in a checkout of a few files, where programs stand in for all that makes and enters a userland: which worlds
run and what is said where one can't be had.

    test_check_world.py CHECK_WORLD

Prints TAP.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(sys.argv[1]).resolve()

# They take the arguments that check-world gives. mmdebstrap's last three are release, folder and mirror.
PROGRAMS = {
    "sudo": '[ "$1" = -v ] || exec "$@"',
    "unshare": 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"',
    "mount": "exit 0",
    "setarch": 'shift; exec "$@"',
    "chroot": 'shift 2; exec "$@"',
    "arch-test": 'case " $WITHOUT " in *" $1 "*) exit 1 ;; esac',
    "mmdebstrap": """while [ $# -gt 3 ]; do shift; done
echo "$1" >>"$CALLS"
[ "$1 $3" != "$NONE" ] || { echo "E: nobody has $1"; exit 25; }
mkdir -p "$2/usr/share/vulkan/icd.d" && echo "$3" >"$2/of" && echo {} >"$2/usr/share/vulkan/icd.d/lvp_icd.json" """,
}
BUILD = "#!/bin/sh\n"
CHECK = """#!/usr/bin/env python3
import json, os, pathlib, sys
file = pathlib.Path("out/log") / os.environ["CHECK_WORLD"] / pathlib.Path(sys.argv[sys.argv.index("--record") + 1]).relative_to(pathlib.Path("out/log").resolve())
details = ["not ok 2 - Direct3D 11: one of two user events fails"]
for suite in [name for before, name in zip(sys.argv, sys.argv[1:]) if before == "--suite"]:
    failed = int(suite == "native-rusticl" or os.path.exists("fails") or os.path.exists("fails-once"))
    pathlib.Path("fails-once").unlink(missing_ok=True)
    with open(file, "a") as results:
        results.write(json.dumps({"suite": suite, "program": "holds", "passed": 2, "failed": failed, "skipped": 1, "details": details * failed}) + "\\n")
"""


class Checkout:
    def __init__(self, folder):
        self.root, self.calls = folder, folder / "calls"
        for name in ("scripts", "programs"):
            (folder / name).mkdir()
        shutil.copy2(SCRIPT, folder / "scripts")
        (folder / "scripts/pocl-remote").write_text('#!/bin/sh\nshift\nexec "$@"\n')
        (folder / "scripts/build").write_text(BUILD)
        (folder / "scripts/check").write_text(CHECK)
        for name, text in PROGRAMS.items():
            (folder / "programs" / name).write_text(f"#!/bin/sh\n{text}\n")
        for file in (*folder.glob("scripts/*"), *folder.glob("programs/*")):
            file.chmod(0o755)

    def run(self, *arguments, **variables):
        """Gives the exit status, what was printed, and the messages."""
        self.calls.write_text("")
        environment = {**os.environ, "PATH": f"{self.root}/programs:{os.environ['PATH']}", "CALLS": str(self.calls),
                       "DEBIAN_MIRROR": "here", "WITHOUT": "", "NONE": "", **variables}
        ran = subprocess.run([self.root / "scripts/check-world", *arguments], capture_output=True, text=True, env=environment, check=False)
        return ran.returncode, ran.stdout, ran.stderr.splitlines()

    def made(self):
        return self.calls.read_text().split()

    def mirror_of(self, world):
        file = self.root / "build/worlds" / world / "root/of"
        return file.read_text().strip() if file.exists() else ""


def all_worlds(checkout):
    status, out, messages = checkout.run("all", "--suite", "native", "holds")
    yield f"status {status} {messages}", status == 0
    yield "all were made", checkout.made() == ["trixie", "bookworm", "trixie"]
    yield "the sum", out.endswith("\n6 passed, 0 failed, 3 skipped\n")
    status, _, _ = checkout.run("all", "--suite", "native", "holds")
    yield "made once", status == 0 and checkout.made() == []


def known(checkout):
    status, out, _ = checkout.run("trixie", "--suite", "native-rusticl", "holds")
    yield "no failure", status == 0 and out.endswith("\n2 passed, 0 failed, 1 known to fail, 1 skipped\n")
    yield "named", "\nknown: trixie wine native-rusticl holds: Direct3D 11: one of two user events fails: " in out
    status, out, _ = checkout.run("i386", "--suite", "native-rusticl", "holds")
    yield "elsewhere one", status == 1 and out.endswith("\n2 passed, 1 failed, 1 skipped\n")


def unsteady(checkout):
    (checkout.root / "fails-once").touch()
    status, out, _ = checkout.run("remote", "--suite", "native", "holds")
    yield f"status {status}", status == 0
    yield "said", "\ncheck-world: native holds failed and runs once more: PoCL" in out
    yield "the second time counts", out.endswith("\n2 passed, 0 failed, 1 skipped\n")
    (checkout.root / "fails-once").touch()
    status, out, _ = checkout.run("trixie", "--suite", "native", "holds")
    yield "elsewhere the first time counts", status == 1 and "once more" not in out
    (checkout.root / "fails").touch()
    status, out, _ = checkout.run("remote", "--suite", "native", "holds")
    yield "a second failure", status == 1 and out.endswith("\n2 passed, 1 failed, 1 skipped\n")


def no_packages(checkout):
    status, out, messages = checkout.run("all", "--suite", "native", "holds", NONE="bookworm here")
    yield f"status {status}", status == 3
    yield f"one line {messages}", len(messages) == 1 and "i386: the packages of bookworm for i386 can't be had from here: E: nobody has bookworm;" in messages[0]
    yield "the others ran", out.endswith("\n4 passed, 0 failed, 2 skipped\n")
    yield "nothing is left", not list((checkout.root / "build/worlds/i386").glob("*"))
    status, _, _ = checkout.run("i386", "--suite", "native", "holds")
    yield "had later", status == 0 and checkout.made() == ["bookworm"]


def no_longer(checkout):
    checkout.run("trixie", "--suite", "native", "holds")
    status, _, messages = checkout.run("trixie", "--suite", "native", "holds", DEBIAN_MIRROR="there", NONE="trixie there")
    yield f"status {status} {messages}", status == 3 and len(messages) == 1
    yield "the world that was there stays", checkout.mirror_of("trixie") == "here"
    status, _, _ = checkout.run("trixie", "--suite", "native", "holds")
    yield "and serves", status == 0 and checkout.made() == []
    checkout.run("trixie", "--suite", "native", "holds", DEBIAN_MIRROR="there")
    yield "a new one takes its place", checkout.mirror_of("trixie") == "there"


def other_kernel(checkout):
    status, out, messages = checkout.run("all", "--suite", "native", "holds", WITHOUT="i386")
    yield f"status {status}", status == 4
    yield f"one line {messages}", messages == ["check-world: i386: this machine's kernel runs no programs for i386"]
    yield "the others ran", out.endswith("\n4 passed, 0 failed, 2 skipped\n")
    yield "no packages were asked for", "bookworm" not in checkout.made()


def main():
    cases = [("all worlds", all_worlds), ("cases that are known to fail", known), ("a driver that fails now and then", unsteady),
             ("packages that can't be had", no_packages),
             ("packages that can't be had any longer", no_longer), ("a kernel of 64 bits alone", other_kernel)]
    print(f"1..{len(cases)}")
    for number, (title, case) in enumerate(cases, 1):
        with tempfile.TemporaryDirectory(prefix="cld3d-world-") as folder:
            wrong = [text for text, held in case(Checkout(pathlib.Path(folder).resolve())) if not held]
        print(*(f"# does not hold: {text}" for text in wrong), f"{'not ' if wrong else ''}ok {number} - {title}", sep="\n", flush=True)


if __name__ == "__main__":
    main()
