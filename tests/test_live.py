#!/usr/bin/env python3
"""Runs the example that draws live, looks at the screen, and compares what is there with what its kernel paints.

    test_live.py EXAMPLE_EXE WINDOW_EXE WINE_RUN OPENCL_DLL

The picture is a function of a phase, and there are 256 of them: one has to fit all of it, and another one has to follow. The
window's size changes; Escape, the close button and the end of its time each end the program. Nothing is judged by time.
"""

import atexit
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM, WINDOW, WINE_RUN, LIBRARY = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
ROOT = WINE_RUN.parent.parent
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "examples" / f"{PROGRAM.stem}.c"
STATE = "dxvk/wine" if os.environ.get("DIRECT3D") == "dxvk" else "wine"
PATIENCE = 120  # seconds until what has to come is held to be missing
TITLE = re.compile(r"\d+ frames per second, acquire \d+ us, release \d+ us$")


class Screen:
    """The display of the Wine session, through the X protocol."""

    def __init__(self, state):
        number = (state / "display").read_text().strip()
        cookie = (state / "xauthority").read_bytes()[-16:]
        name = b"MIT-MAGIC-COOKIE-1"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"/tmp/.X11-unix/X{number}")
        self.socket.sendall(struct.pack("<cxHHHHxx", b"l", 11, 0, len(name), len(cookie)) + name + bytes(2) + cookie)
        status, length = struct.unpack("<BxHHH", self.read(8))[0::3]
        reply = self.read(4 * length)
        if status != 1:
            sys.exit(f"the display refuses: {reply!r}")
        vendor, = struct.unpack_from("<H", reply, 16)
        formats = reply[21]
        self.root, = struct.unpack_from("<I", reply, 32 + (vendor + 3) // 4 * 4 + 8 * formats)

    def read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                sys.exit("the display has ended")
            data += part
        return data

    def picture(self, x, y, width, height):
        """What is to be seen there, four bytes a texel: blue, green, red and one of no use."""
        get_image, z_pixmap = 73, 2
        self.socket.sendall(struct.pack("<BBHIhhHHI", get_image, z_pixmap, 5, self.root, x, y, width, height, 0xFFFFFFFF))
        reply = self.read(32)
        kind, error, length = struct.unpack("<BBxxI24x", reply)
        if kind != 1:
            sys.exit(f"the display has no picture of {width} x {height} at {x}, {y}: error {error}")
        return self.read(4 * length)


WAVE = [min(abs(at - 256), 255) for at in range(512)]


def colour(x, y, phase):
    """As the example's kernel computes it."""
    middle = WAVE[phase * 2 & 511]
    distance = (x - middle) ** 2 + (y - middle) ** 2
    return y & 255, WAVE[x + y + phase * 6 & 511], WAVE[distance // 32 - phase * 8 & 511]


def fits(picture, width, phase, places):
    """An 8-bit texel may be rounded up or down."""
    for x, y in places:
        at = 4 * (y * width + x)
        if any(abs(a - b) > 1 for a, b in zip(picture[at:at + 3], colour(x, y, phase))):
            return False
    return True


def phase_of(picture, width, height):
    """The phase whose picture it is, or None."""
    some = [(x, y) for x in range(3, width, width // 4) for y in range(5, height, height // 4)]
    for phase in range(256):
        if fits(picture, width, phase, some) and fits(picture, width, phase, ((x, y) for y in range(height) for x in range(width))):
            return phase
    return None


def save(picture, width, height):
    """For who looks into a failure."""
    path = ROOT / "out/log/live.ppm"
    texels = bytes(picture[at + 2 - channel] for at in range(0, len(picture), 4) for channel in range(3))
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + texels)
    return path


class Live:
    """The example, running."""

    def __init__(self, folder, seconds):
        self.out = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([WINE_RUN, folder / PROGRAM.name, str(seconds)], stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)

    def window(self, *command):
        done = subprocess.run([WINE_RUN, WINDOW, "live-d3d11", *map(str, command)], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(f"{command} failed with {done.returncode}: {self.text()}")
        return done.stdout.strip()

    def text(self):
        self.out.seek(0)
        return self.out.read()

    def place(self):
        *place, title = self.window("show", PATIENCE).split(" ", 4)
        if not TITLE.match(title):
            sys.exit(f"the title is '{title}'")
        return [int(each) for each in place]

    def wait_for_picture(self, screen, other_than=None):
        """The X server is asked while the program draws, so one picture may have parts of two frames."""
        end = time.monotonic() + PATIENCE
        place = self.place()
        while True:
            picture = screen.picture(*place)
            phase = phase_of(picture, *place[2:])
            if phase is not None and phase != other_than:
                return phase, place[2:]
            if time.monotonic() > end:
                    sys.exit(f"the screen never had the kernel's picture; what it had last is in {save(picture, *place[2:])}")
            time.sleep(0.02)

    def ends(self):
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            sys.exit("the program does not end")
        text = self.text().strip()
        # A driver of the host may end it with another status after its work.
        if not text or not TITLE.match(text.splitlines()[-1]):
            sys.exit(f"it ended with {status} and said: {text}")


def main():
    lines = len(SOURCE.read_text().splitlines())
    if lines >= 200:
        sys.exit(f"{SOURCE.name} has {lines} lines; it is to be copied from")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(PROGRAM, folder)
        shutil.copy(LIBRARY, folder / "OpenCL.dll")
        live = Live(folder, 10 * PATIENCE)
        live.place()
        screen = Screen(ROOT / "build" / STATE)
        first, extent = live.wait_for_picture(screen)
        live.wait_for_picture(screen, first)
        live.window("size", 300, 200)
        _, smaller = live.wait_for_picture(screen)
        if smaller != [300, 200] or smaller == extent:
            sys.exit(f"of {extent} the window's picture came to {smaller}")
        live.window("escape")
        live.ends()
        live = Live(folder, 10 * PATIENCE)
        live.place()
        live.window("close")
        live.ends()
        live = Live(folder, 1)
        live.ends()


main()
