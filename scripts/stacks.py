"""Where the threads of processes are: for the report on a program that hangs, on machines without a debugger.

It reads each thread's registers and the words of its stack that may be return addresses: of these some are left over from earlier
calls. x86-64 Linux; needs the right to trace the processes.
"""

import bisect
import ctypes
import os
import pathlib
import platform
import re
import struct

WORDS = 4096  # of a stack
MOST_FRAMES = 24

ATTACH, DETACH, GETREGS = 16, 17, 12
WALL = 0x40000000  # also for threads
RIP, RSP, REGISTERS = 16, 19, 27

BEGIN = re.compile(r"thread \d+ of \d+ ")  # the first line on a thread
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \S+ *(.*)")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Map:
    """The code of a process, by address."""

    def __init__(self, pid):
        rows = [MAPPING.match(line).groups() for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
        code = [(int(start, 16), int(end, 16), int(offset, 16), name) for start, end, rights, offset, name in rows if "x" in rights]
        self.code = sorted(code)
        self.starts = [start for start, *_ in self.code]

    def name(self, address):
        """The file and the place in it, or None if no code is there."""
        index = bisect.bisect_right(self.starts, address) - 1
        if index < 0:
            return None
        start, end, offset, name = self.code[index]
        if address >= end:
            return None
        return f"{os.path.basename(name)}+{address - start + offset:#x}" if name else f"{address:#x}"


def registers(thread):
    """Stops a thread for a moment."""
    values = (ctypes.c_ulong * REGISTERS)()
    if platform.machine() != "x86_64" or libc.ptrace(ATTACH, thread, None, None) != 0:
        return None
    os.waitpid(thread, WALL)
    got = libc.ptrace(GETREGS, thread, None, ctypes.addressof(values)) == 0
    libc.ptrace(DETACH, thread, None, None)
    return values if got else None


def frames(pid, thread, code):
    values = registers(thread)
    if not values:
        return
    yield code.name(values[RIP]) or f"{values[RIP]:#x}"
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(values[RSP] & ~7)
        stack = memory.read(8 * WORDS)
    names = map(code.name, struct.unpack(f"<{len(stack) // 8}Q", stack[:len(stack) // 8 * 8]))
    for name, _ in zip(filter(None, names), range(MOST_FRAMES)):
        yield name


def seconds_of(thread):
    """Its processor time, and whether it runs."""
    fields = (thread / "stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0]


def of_process(pid):
    code = Map(pid)
    for thread in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir(), key=lambda each: int(each.name)):
        try:
            seconds, state = seconds_of(thread)
            yield f"thread {thread.name} of {pid} ({(thread / 'comm').read_text().strip()}), state {state}, {seconds:.1f} s"
            yield "    " + " ".join(frames(pid, int(thread.name), code))
        except (OSError, ValueError) as error:  # it may have ended
            yield f"    {error}"


def group_of(pid):
    try:
        return os.getpgid(pid)
    except OSError:  # it has ended since it was listed, or nobody may ask
        return None


def of_group(group):
    """Lines on all threads of a process group."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        if group_of(pid) != group:
            continue
        try:
            yield from of_process(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
        except (OSError, ValueError) as error:
            yield f"process {pid}: {error}"
