"""What the scripts that measure have in common: samples of programs, tables, charts."""

import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT, PAGE = ROOT / "out", ROOT / "docs" / "performance.md"
DRIVERS = (os.environ["OPENCL"],) if os.environ.get("OPENCL") else ("pocl", "rusticl")


def run_program(driver, name, *arguments):
    """Runs a program of bench/ under Wine, shows its progress and gives its samples. The exit status says nothing: see
    scripts/results.py."""
    samples, finished = [], False
    with subprocess.Popen([ROOT / "scripts/wine-run", ROOT / "build/x64/bench" / name, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, env={"CLD3D_LOG": "error", **os.environ, "OPENCL": driver}, text=True,
                          errors="replace") as process:
        for line in map(str.strip, process.stdout):
            if line.startswith("sample,"):
                samples.append([driver, *line.split(",")[1:]])
            elif line and line != "# done":
                print(f"{driver}: {line.removeprefix('# ')}", flush=True)
            finished = finished or line == "# done"
    if not finished:
        sys.exit(f"{name} with {driver} did not complete")
    return samples


def group(samples):
    """{(driver, part, subject, kind): {way: [value of each round]}}, in the order of the samples."""
    groups = {}
    for driver, part, subject, kind, way, _round, value in samples:
        groups.setdefault((driver, part, subject, kind), {}).setdefault(way, []).append(float(value))
    return groups


def spread(values, digits):
    """The median of some figures, and the quartiles, as text."""
    values = list(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def table(head, rows):
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def chart(output, panels):
    """Bars beside each other: of each panel (title, unit, names of columns, [[row, number or "" for each column]])."""
    script = (f'set terminal pngcairo size 1100,{420 * len(panels)} font "sans,10"\nset output "{output}"\n'
              f"set multiplot layout {len(panels)},1\nset style data histogram\nset style histogram clustered gap 1\n"
              "set style fill solid 0.8\nset logscale y\nset grid ytics\nset xtics rotate by -15 nomirror\n"
              "set key outside top center horizontal\n")
    for number, (title, unit, names, rows) in enumerate(panels):
        data = "".join(f'"{name}" {" ".join(str(value) or "NaN" for value in values)}\n' for name, *values in rows)
        bars = ", ".join(f"$data{number} using {column}:xtic(1) title '{name}'" for column, name in enumerate(names, 2))
        script += f'$data{number} << END\n{data}END\nset title "{title}"\nset ylabel "{unit}"\nplot {bars}\n'
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def commit():
    found = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
