#!/usr/bin/env python3
"""scripts/stacks.py on a program with a thread that sleeps, one that works and one that waits for the second. Prints TAP."""

import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import stacks
from prefix import Skip, need, run_cases

PROGRAM = """
import threading, time
def work():
    while True: pass
threading.Thread(target=time.sleep, args=[1000]).start()
worker = threading.Thread(target=work)
worker.start()
print("ready", flush=True)
worker.join()
"""


class Hanging:
    def __init__(self, _):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.process.stdout.readline()
        while hanging_seconds(self) < 0.2:
            time.sleep(0.05)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def threads(hanging):
    """Each thread is named with its time, and with places in files."""
    lines = list(stacks.of_group(hanging.process.pid))
    text = "\n".join(lines)
    begins = [line for line in lines if stacks.BEGIN.match(line)]
    need(len(begins) == 3, text)
    if "not permitted" in text or not re.search(r"\+0x[0-9a-f]", text):
        raise Skip("threads can't be traced here")
    places = [lines[lines.index(line) + 1] for line in begins]
    need(all(re.search(r"libc\S*\+0x|python\S*\+0x", each) for each in places), text)
    need(max(float(re.search(r"([\d.]+) s$", line)[1]) for line in begins) > 0, text)


def goes_on(hanging):
    """The threads run again afterwards."""
    list(stacks.of_group(hanging.process.pid))
    before, end = hanging_seconds(hanging), time.monotonic() + 60
    while hanging_seconds(hanging) <= before:
        need(time.monotonic() < end, "the working thread has stopped")
        time.sleep(0.05)


def hanging_seconds(hanging):
    return sum(stacks.seconds_of(thread)[0] for thread in pathlib.Path(f"/proc/{hanging.process.pid}/task").iterdir())


def ended(hanging):
    """Nothing is said of a program that is gone."""
    group = hanging.process.pid
    hanging.end()
    need(stacks.group_of(group) is None, "the group of a program that has ended")  # others end while they are listed
    need(not list(stacks.of_group(group)), "lines on a program that has ended")


def with_end(case):
    def run(hanging):
        try:
            case(hanging)
        finally:
            if hanging.process.poll() is None:
                hanging.end()
    run.__name__ = case.__name__
    return run


if __name__ == "__main__":
    sys.exit(run_cases([with_end(case) for case in (threads, goes_on, ended)], Hanging))
