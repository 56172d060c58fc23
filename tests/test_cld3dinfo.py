#!/usr/bin/env python3
"""What cld3dinfo says with the library beside it, as users run it.

    test_cld3dinfo.py CLD3DINFO_EXE WINE_RUN

Exit status 77: this Wine runs no programs of that kind (of 32 bits).
"""

import re
import subprocess
import sys

PROGRAM, WINE_RUN = sys.argv[1:3]


def check(holds, what, text):
    if not holds:
        sys.exit(f"{what}\n{text}")


def main():
    done = subprocess.run([WINE_RUN, PROGRAM, "--formats"], capture_output=True, text=True, errors="replace")
    text = done.stdout
    if not text and not done.stderr.strip():
        sys.exit(77)
    check(done.returncode == 0, f"exit status {done.returncode}", text + done.stderr)
    check(" is active and works: " in text.splitlines()[0], "the first line does not say that it works", text)
    for name in ("cl_khr_d3d11_sharing", "cl_khr_d3d10_sharing", "cl_khr_dx9_media_sharing"):
        check(f"{name}  on, by cld3d; works" in text or f"{name} on, by cld3d; works" in " ".join(text.split()),
              f"{name} does not work", text)
    check(text.count("37 of the 37 in the specification") >= 1, "not all 37 formats can be shared", text)
    check("its way: " in text, "it does not say which way the bytes go", text)
    for kind in ("texture", "level", "buffer", "plane", "surface", "render target"):
        check(re.search(rf"^ +{kind}: \S", text, re.MULTILINE), f"it does not say which way a {kind} goes", text)
    check("preferred: " in text, "it does not say why the device is preferred", text)


main()
