#!/usr/bin/env python3
"""Runs an example as a user would: the program, and cld3d's library beside it.

    test_example.py EXAMPLE_EXE WINE_RUN OPENCL_DLL

Its source must be short, and it must say what Direct3D has. A driver of the host may end it with another status after its work.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM, WINE_RUN, LIBRARY = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "examples" / f"{PROGRAM.stem}.c"


def main():
    lines = len(SOURCE.read_text().splitlines())
    if lines >= 200:
        sys.exit(f"{SOURCE.name} has {lines} lines; it is to be copied from")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as out:
        program = shutil.copy(PROGRAM, folder)
        shutil.copy(LIBRARY, pathlib.Path(folder) / "OpenCL.dll")
        done = subprocess.run([WINE_RUN, program], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        out.seek(0)
        text = out.read()
    if "has the negative" not in text:
        sys.exit(f"exit status {done.returncode}\n{text}")


main()
