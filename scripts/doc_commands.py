"""How `scripts/check-commands --run` handles each command of the pages. Each command must match a row; the first match counts.

A row has a pattern for the whole command, and then one of

    Run(...)    it is run, or if it is slow only when named; see its fields
    Not(text)   it is only checked, and the text says why
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Run:
    short: tuple = ()     # (text, other): what is shorter than it stands, (a number of seconds)
    needs: tuple = ()     # programs; without one of them it is not run
    statuses: tuple = (0,)
    long: str = ""        # how long it takes: it is run only if its name is given
    minutes: int = 15     # until it is held to hang
    before: str = ""      # a command of the page that has to have been run, since another has undone it
    says: str = ""        # what stands in its output when it has worked


@dataclasses.dataclass(frozen=True)
class Not:
    why: str


NAME = Not("only names a file or a program")
MINUTES = Run(long="some minutes, up to half an hour", minutes=90)
MACHINE = Not("needs another machine")
SHARED = "Direct3D 11 has the negative"  # the example says so that stands for the user's program

# A program without the bridge may be ended by PoCL after its work (scripts/check); as a shell tells that.
BESIDE = Run(statuses=(0, 131), says=SHARED, before="cp out/x64/OpenCL.dll out/x64/libcld3d.dll /path/to/your/program/")
INSTALL = "out/cld3d-setup install --prefix ~/.wine"
INSTALLED = Run(statuses=(0, 131), says=SHARED, before=INSTALL)

RULES = [
    # What only names something.
    (r"(out|build)/\S*(, (out|build)/\S*)*|scripts/|wine reg|cld3d-setup( run| install| doctor| status)?|cld3dinfo(\.exe)?", NAME),
    (r"scripts/(check|doc_commands\.py|coverage|bundle-look|check --suite SUITE NAME|generate\.py)", NAME),
    (r"cld3dinfo --(register|json)|out/x64/cld3dinfo.exe", Not("covered by the commands of cld3dinfo.exe")),
    # Building and packing.
    (r"make build", Run(minutes=30)),
    (r"make package", Run(minutes=30)),
    (r"make package CLD3D_URL=.*|makepkg -si|lutris -i .*", Not("for a published release")),
    (r"unzip out/cld3d-.*", Not("scripts/try-package does it")),
    (r"scripts/build x64", Run(minutes=30)),
    (r"scripts/build linux && scripts/check --suite native .*", Run(minutes=30, says=", 0 failed")),
    (r"scripts/check-reproducible", MINUTES),
    (r"scripts/try-package", Run(needs=("mmdebstrap",), long="some minutes, as root", minutes=90)),
    (r"apt install .*", Not("changes the system; scripts/try-package does it in a separate Debian")),
    # Demos and examples.
    (r"make demo", Run(minutes=30)),
    (r"make demo IMAGE=any\.png OPENCL=rusticl", Run(short=(("any.png", "docs/bench.png"),))),
    (r"make demo-video", Run(needs=("ffmpeg",))),
    (r"scripts/wine-run out/x64/live-d3d11\.exe 5", Run(statuses=(0, 131), says="frames per second")),
    # What users install.
    (r"cp out/x64/OpenCL\.dll out/x64/libcld3d\.dll /path/to/your/program/", Run()),
    (r"WINEDLLOVERRIDES=\S+ CLD3D_LOG=info out/cld3d-setup run wine program\.exe", BESIDE),
    (r"wine program\.exe", INSTALLED),
    (r"(out/)?cld3d-setup run wine program\.exe", INSTALLED),
    (r"VK_ADD_LAYER_PATH=\S+ VK_INSTANCE_LAYERS=\S+ wine program\.exe", INSTALLED),
    (r"(sudo )?(out/)?cld3d-setup (install|uninstall) --wine.*", Not("changes the system's Wine")),
    (r"(out/)?cld3d-setup (install|uninstall) .*", Run()),
    (r"(out/)?cld3d-setup status .*", Run(statuses=(0, 1), says="override: ")),
    (r"(out/)?cld3d-setup doctor .*", Run(statuses=(0, 1))),
    (r"cld3d-setup run env", Run(says="WINEDLLPATH=")),
    (r"(wine )?cld3dinfo\.exe --register", Run(statuses=(0, 131))),
    (r"cld3dinfo\.exe --json", Run(statuses=(0, 131), says="{", before=INSTALL)),
    (r"(scripts/wine-run out/x64/)?cld3dinfo\.exe --formats", Run(statuses=(0, 131), says="NV12")),
    (r"(DIRECT3D=dxvk )?.*bench/calls\.exe textures", Not("needs DXVK, and is a measurement; docs/vulkan-layer.md has the results")),
    (r"wine ffmpeg\.exe .*", Not("no package has FFmpeg for Windows; scripts/try-ffmpeg builds one and runs these")),
    (r"scripts/try-ffmpeg", MINUTES),
    (r"ffmpeg -h .*", Run(needs=("ffmpeg",))),
    (r"flatpak run .*", Not("needs Bottles' Flatpak; docs/use.md says that it was not run")),
    # Tests.
    (r"make check|make check-dxvk", MINUTES),
    (r"make check-world .*|scripts/check-world all .*", MINUTES),
    (r"make coverage", MINUTES),
    (r"make (check-quick|bench|bench-direct|bench-scale|bench OPENCL=pocl|bundle)", MINUTES),
    (r"make profile", Run(needs=("perf",), long="some minutes")),
    (r"scripts/check-commands.*", Not("runs the other commands")),
    (r"scripts/(pocl-remote|dxvk-fetch)|bench/(frames\.exe|(scale|bridge_calls)\.c)", NAME),
    (r"scripts/pocl-remote (build|run .*)|pocld .*|export .*", Not("needs PoCL 6.0; make check-world WORLD=remote runs scripts/pocl-remote in Debian 13")),
    (r"scripts/check-world --help", Run(says="WORLD")),
    (r"scripts/check-world --shell .*|.* scripts/wine-run build/x32-tests/.*", Not("a shell in a world, which takes minutes to make, and what is typed there")),
    (r"scripts/check-(dependencies|troubleshooting)", Run()),
    (r"scripts/check-format( --fix)?", Run(needs=("clang-format",))),
    (r"scripts/check-static build/linux acquire", Run(needs=("clang-tidy", "cppcheck"))),
    (r"scripts/check-static", Run(needs=("clang-tidy", "cppcheck"), long="half an hour", minutes=120)),
    (r"scripts/check --suite native --suite native-import transports two_transports", Run(minutes=30, says=", 0 failed")),
    (r"meson configure build/linux .*|(scripts/build linux && )?scripts/check --suite native-dxvk.*", Not("needs DXVK's native build")),
    (r"OPENCL_LAYERS=\S+ (VK_ADD_LAYER_PATH=\S+ VK_INSTANCE_LAYERS=\S+ )?program", Not("stands for the user's own program")),
    (r"scripts/check --suite valgrind (--timeout 1500 )?acquire( texels)?", Run(needs=("valgrind",), minutes=30, says=", 0 failed")),
    (r"scripts/check bad_input", MINUTES),
    (r"scripts/check --suite native", MINUTES),
    (r"scripts/check --suite (tsan|asan)", MINUTES),
    (r"CLD3D_TEST_VULKAN_BELOW=\S+ scripts/check --suite native vulkan_", Not("needs the Vulkan validation layer")),
    (r"make fuzz SECONDS=3600", Run(short=(("3600", "5"),), minutes=30)),
    (r"OPENCL=pocl make fuzz SEED=7", Run(short=(("SEED=7", "SEED=7 SECONDS=5"),), minutes=30)),
    (r"make soak SECONDS=3600 OPENCL=pocl", Run(short=(("3600", "10"),), minutes=30)),
    (r"(MERGE=yes )?make fuzz-coverage.*", Run(short=(("SECONDS=3600", "SECONDS=5"), ("make fuzz-coverage", "SECONDS=5 make fuzz-coverage")),
        needs=("clang",), long="some minutes, since it builds with clang", minutes=60)),
    (r"OPENCL_LAYERS=\S+ build/linux/tests/fuzz/fuzz_api --seconds 60", Run(says="nothing is wrong")),
    (r"OPENCL_LAYERS=\S+ build/linux/tests/fuzz/fuzz_api --bytes FILE", Run(says="nothing is wrong",
        short=(("FILE", "$(ls -d tests/fuzz/corpus/api/* | head -n 1)"),))),
    (r"tar -xJf cld3d-gpu-check\.tar\.xz && .*|cld3d-gpu-check/run .*", MACHINE),
    (r"git tag .*", Not("only for whoever makes the release")),
    (r"git status", Run()),
]


def rule_of(command):
    """The row's second half, or None. Settings before a command need no row of their own."""
    plain = re.sub(r"^([A-Z0-9_]+=\S+ )+", "", command)
    return next((rule for text in (command, plain) for pattern, rule in RULES if re.fullmatch(pattern, text)), None)
