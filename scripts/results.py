"""What the output of the tests tells."""

import collections
import re
import signal

# How a program may end under Wine after all its work is done: Wine's server kills a process that takes more than half a second to end.
# And without the bridge Wine ends threads with SIGQUIT, for which PoCL's compiler has a handler of its own.
WINE_ENDINGS, WITHOUT_BRIDGE = {-signal.SIGKILL, 128 + signal.SIGKILL}, {-signal.SIGQUIT, 128 + signal.SIGQUIT}
# gcc 12's leak checker crashes now and then when a thread of a driver ends while it looks. Then nothing has been checked.
LEAK_CHECK_DIED = "LeakSanitizer has encountered a fatal error"


def judge(entry, out, err):
    """What became of a program, by its entry in Meson's log."""
    cases = [(bool(bad), bool(skip)) for bad, skip in re.findall(r"(?mi)^(not )?ok\b[^#\n]*(#\s*skip)?", out)]
    plan, status = re.search(r"(?m)^1\.\.(\d+)", out), entry["returncode"]
    failed, skipped = sum(bad for bad, _ in cases), cases.count((False, True))
    passed, reason = len(cases) - failed - skipped, ""
    if entry["result"] in ("TIMEOUT", "INTERRUPT"):
        reason = f"ran for {entry['duration']:.0f} s and was ended"
    elif not plan and not cases and (entry["result"], status) in (("OK", 0), ("SKIP", 77)):
        passed, skipped = int(status == 0), int(status == 77)  # it prints no TAP: its exit status is the result of one case
    elif not plan or int(plan[1]) != len(cases) or re.search(r"(?m)^Bail out!", out):
        reason = f"ended with status {status} before all its cases were through"
    elif status != 0 and not failed and not (any(word.endswith(".exe") for word in entry["command"]) and status in
                                             WINE_ENDINGS | (WITHOUT_BRIDGE if entry["env"].get("BRIDGE") == "no" else set())):
        reason = f"ended with status {status} though no case failed"
    details = "".join(re.findall(r"(?m)^(?:#.*\n)*not ok.*\n?", out)).splitlines() + [reason] * bool(reason)
    if reason or failed and "Sanitizer" in err:
        report = re.search(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|Unhandled exception", err)
        details += (err[report.start():].splitlines()[:25] if report else (out + err).splitlines()[-15:])
    return {"passed": passed, "failed": failed + bool(reason), "skipped": skipped, "details": details}


# ---- How objects went between Direct3D and OpenCL, as programs log it with CLD3D_LOG=info,stats and the Vulkan layer ----

STATISTICS = re.compile(r"cld3d: stats: (\d+) objects shared by: (.*); the CPU moved (\d+) bytes")
FALLEN_BACK = r"transport: (?:host|in place).*?; not %s: (.*?)(?:; not [a-z-]+: |$)"
DIRECT = re.compile(r"direct|a copy |rows in ")

# Why an object may go through the host even so.
HOSTS = re.compile("Direct3D does not report the addresses of its buffers|a device of the context lacks the format|"
                   "the CPU may map the resource|a dynamic texture's contents|Direct3D 9 stores video surfaces|"
                   "the object is created in a callback|another plane of the image goes through the|"
                   "buffers are not copied|the processor converts texels|the context has several OpenCL devices|"
                   "the surface is a buffer of a swap chain|the texture is a buffer of a swap chain")
# And on a GPU alone, where memory is exported: all that the log says of it (docs/vulkan-layer.md, docs/behaviour.md).
EXPORT_HOSTS = {"the OpenCL device does not allow a buffer at this offset; the memory is not host-visible",
                # Constant buffers of DXVK's: in memory of the GPU that the CPU writes to.
                "its memory can't be exported and is not host-visible, or there is none",
                "the layer exports no sampled textures of several levels"}


def ways_of(text):
    """[(way, objects, bytes that the CPU moved)] of a program's log."""
    return [(way, int(objects), int(moved)) for objects, way, moved in STATISTICS.findall(text)]


def wrong_ways(text, transport, gpu):
    """What is direct moves no bytes, and what is not has a reason that is known. `transport`: which one is meant, vulkan or rows."""
    found = [f"{way}: the CPU moved {moved} bytes" for way, _, moved in ways_of(text) if DIRECT.match(way) and moved]
    reasons = set(re.findall(FALLEN_BACK % transport, text, re.MULTILINE))
    return found + [f"an object went through the host: {why}" for why in sorted(reasons)
                    if not HOSTS.search(why) and not (gpu and why in EXPORT_HOSTS)]


def show_ways(outcomes):
    """The line of the summary. Tells whether there are objects as they should be."""
    objects, moved = collections.Counter(), collections.Counter()
    for way, count, size in (way for each in outcomes for way in each["ways"]):
        objects[way] += count
        moved[way] += size
    direct = sum(count for way, count in objects.items() if DIRECT.match(way))
    print("objects: " + ", ".join(f"{count} {way} ({moved[way]} bytes by the CPU)" for way, count in sorted(objects.items())))
    print(f"direct objects: {direct}")
    return direct > 0


def of(entry, setup, gpu):
    """What became of a program, and its output. `gpu`: whether the Vulkan driver has one."""
    out, err = (entry.get(each, "").replace("\r\n", "\n") for each in ("stdout", "stderr"))
    outcome = {"seconds": entry["duration"], "ways": [], **judge(entry, out, err)}
    if setup in ("direct", "rows"):
        wrong = wrong_ways(err, "rows" if setup == "rows" else "vulkan", gpu)
        outcome |= {"ways": ways_of(err), "failed": outcome["failed"] + bool(wrong), "details": outcome["details"] + wrong}
    return outcome, out + (f"---- standard error ----\n{err}" if err else "")
