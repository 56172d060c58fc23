"""What scripts keep of a run for later ones and other checkouts, in ~/.cache/cld3d, as ccache keeps what gcc does."""

import contextlib
import os
import pathlib
import time

KEPT_S = 90 * 24 * 3600


def wanted():
    """CACHE=no does without."""
    return os.environ.get("CACHE") != "no"


def folder(name):
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "cld3d" / name


def forget_old(path):
    """Removes the files of a folder that are some months old. Nothing else removes those of older versions."""
    for each in path.rglob("*"):
        with contextlib.suppress(OSError):
            if each.is_file() and time.time() - each.stat().st_mtime > KEPT_S:
                each.unlink()
