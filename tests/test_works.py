#!/usr/bin/env python3
"""scripts/works in a checkout of a few files: what it records of the bundle's report and of logs, and what the table says then.

    test_works.py WORKS

Prints TAP.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(sys.argv[1]).resolve().parent
ROW = {"key": "pocl", "title": "One", "command": "make check", "commit": "1234567", "date": "2026-01-01", "programs": 1, "failures": [],
       "results": {"all": {"passed": 5, "failed": 0, "known": 0, "skipped": 1}}, "covers": ["Direct3D 11"]}
PROGRAM = {"program": "acquire", "passed": 3, "failed": 1, "skipped": 0, "remarks": [], "details": ["not ok 2 - Direct3D 11: a case"],
           "apis": {"Direct3D 11": [1, 1, 0], "Direct3D 10": [2, 0, 0]}}
REPORT = {"version": "0", "commit": "89abcde", "devices": [{"device": "Card", "driver": "5"}],
          "suites": [{"name": "dxvk", "whole": True, "programs": [PROGRAM, {**PROGRAM, "program": "dx9_data", "apis": {"Direct3D 9": [3, 0, 0]}, "failed": 0, "details": []}]}]}
LOG = "ok 1 - Direct3D 9Ex: a # SKIP why\nok 2 - Direct3D 10: b\nok 3 - DXVA-HD: c\n1..3\n---- standard error ----\nnot ok 1\n"


class Checkout:
    def __init__(self, folder):
        self.root = folder
        for name in ("scripts", "docs", "out/log/pocl"):
            (folder / name).mkdir(parents=True)
        for name in ("works", "check", "check-world", "stacks.py", "user_cache.py"):
            shutil.copy2(SCRIPTS / name, folder / "scripts")
        self.write([ROW, {"key": "windows", "title": "Windows"}])
        for page in ("README.md", "docs/results.md"):
            (folder / page).write_text("before\n<!-- scripts/works writes this table -->\n<!-- to here -->\nbehind\n")
        subprocess.run("git init -q && git add -A && git -c user.name=a -c user.email=b commit -qm a", shell=True, cwd=folder, check=True)

    def write(self, rows):
        (self.root / "docs/runs.json").write_text(json.dumps(rows))

    def works(self, *arguments):
        return subprocess.run([self.root / "scripts/works", *arguments], capture_output=True, text=True, cwd=self.root, check=False)

    def results(self):
        return (self.root / "docs/results.md").read_text()

    def readme(self):
        return (self.root / "README.md").read_text()


def writes(checkout):
    yield "not written yet", checkout.works("--check").returncode == 1
    yield "is written", checkout.works().returncode == 0
    yield "fits", checkout.works("--check").returncode == 0
    yield "row", "| One | yes | not run | not run | 5 passed, 0 failed, 1 skipped (`make check`, 1234567) | |" in checkout.results()
    yield "windows", "| Windows | not run | not run | not run | | |" in checkout.results()
    yield "the rest stays", checkout.results().startswith("before\n") and checkout.results().endswith("\nbehind\n")
    (checkout.root / "docs/results.md").write_text(checkout.results().replace("5 passed", "6 passed"))
    yield "changed by hand", checkout.works("--check").returncode == 1
    checkout.write([{**ROW, "main": True}, {"key": "windows", "title": "Windows"}])
    yield "written again", checkout.works().returncode == 0
    yield "main row", "| One | yes | not run | not run | |\n\n" in checkout.readme()
    yield "both fit", checkout.works("--check").returncode == 0
    (checkout.root / "README.md").write_text(checkout.readme().replace("yes", "no"))
    yield "README.md changed by hand", checkout.works("--check").returncode == 1


def refuses(checkout):
    checkout.works()
    for name, value in (("commit", ""), ("command", ""), ("results", {"all": {"passed": 1}}),
                        ("results", {"all": ROW["results"]["all"], "Direct3D 11": {**ROW["results"]["all"], "passed": 6}})):
        checkout.write([{**ROW, name: value}])
        yield f"{name} {value}", checkout.works("--check").returncode == 1
    checkout.write([ROW, ROW])
    yield "twice", checkout.works("--check").returncode == 1


def report(checkout):
    (checkout.root / "report.json").write_text(json.dumps(REPORT))
    yield "added", checkout.works("--add", "report.json").returncode == 0
    yield "row", ("| Wine 8 with DXVK 2.6 and Card, driver 5 | 1 of 2 cases | yes, 2 cases | yes, 3 cases | "
                  "6 passed, 1 failed (`cld3d-gpu-check/run --suite dxvk`, 89abcde) | |\n| Windows") in checkout.results()
    without = [{name: value for name, value in program.items() if name != "apis"} for program in REPORT["suites"][0]["programs"]]
    (checkout.root / "report.json").write_text(json.dumps({**REPORT, "suites": [{**REPORT["suites"][0], "programs": without}]}))
    yield "without APIs", checkout.works("--add", "report.json").returncode == 0
    yield "row without APIs", "| not in all cases | not in all cases | yes, 3 cases |" in checkout.results()
    yield "failures", '"acquire: Direct3D 11: a case"' in (checkout.root / "docs/runs.json").read_text()
    yield "fits", checkout.works("--check").returncode == 0
    (checkout.root / "report.json").write_text(json.dumps({**REPORT, "suites": [{**REPORT["suites"][0], "programs": [PROGRAM]}]}))
    yield "fewer", checkout.works("--add", "report.json").returncode == 1 and "6 passed" in checkout.results()
    yield "fewer, wanted", checkout.works("--add", "report.json", "--partial").returncode == 0 and "3 passed, 1" in checkout.results()
    (checkout.root / "report.json").write_text(json.dumps({**REPORT, "devices": [], "suites": [], "problem": "nothing"}))
    yield "nothing ran", checkout.works("--add", "report.json").returncode == 1 and "3 passed, 1" in checkout.results()


def logs(checkout):
    log = checkout.root / "out/log/pocl/create.log"
    log.write_text(LOG)
    yield "added", checkout.works("--add", "out/log").returncode == 0
    yield "row", "| One | not run | yes, 1 case | yes, 1 case | 2 passed, 0 failed, 1 skipped (`make check`, " in checkout.results()
    log.write_text(LOG.replace("1..3", "1..4"))
    checkout.works("--add", "out/log")
    yield "cut short", "2 passed, 1 failed, 1 skipped" in checkout.results()
    yield "cells of a program that is cut short", checkout.results().count("1 of 1 case, and a program failed") == 2
    yield "its end is a failure", '"create: its end"' in (checkout.root / "docs/runs.json").read_text()
    yield "another suite", checkout.works("--add", "out/log", "--only", "rusticl").returncode == 1


def main():
    cases = [("the table is that of the record", writes), ("records without a shape", refuses), ("the bundle's report", report), ("logs", logs)]
    print(f"1..{len(cases)}")
    for number, (title, case) in enumerate(cases, 1):
        with tempfile.TemporaryDirectory(prefix="cld3d-works-") as folder:
            wrong = [text for text, held in case(Checkout(pathlib.Path(folder))) if not held]
        print(*(f"# does not hold: {text}" for text in wrong), f"{'not ' if wrong else ''}ok {number} - {title}", sep="\n", flush=True)


if __name__ == "__main__":
    main()
