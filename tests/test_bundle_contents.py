#!/usr/bin/env python3
"""Whether the bundle holds what the scripts in it start: programs and Python's modules.

    test_bundle_contents.py BUNDLE

Prints TAP. BUNDLE is scripts/bundle, which is loaded for its lists. Programs are found without a run, so that those count that
are started on other machines alone. Of a shell script the words where a command stands are taken: at the beginning, after an
operator or a reserved word, after assignments and redirections, in $(...) wherever it stands, and behind programs that start others.
What is neither a function, nor built in, nor in the root is missing. Of a Python script it is each list or call that begins
with the name of a program. Modules are found by a run of each script in a Python that has no others than the bundle's.
"""

import ast
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUNDLE = pathlib.Path(sys.argv[1]).resolve()
SCRIPTS = BUNDLE.parent

RESERVED = {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!"}
BUILT_IN = set(". : [ alias break cd command continue eval exec exit export false getopts printf pwd read readonly return set shift "
               "test times trap true type ulimit umask unset wait kill echo local".split())
OPERATORS = ("&&", "||", ";;", "<<-", "<<", ">>", ">&", "<&", ">|", "<>", ";", "&", "|", "(", ")", "<", ">", "\n")
REDIRECTIONS = {"<<-", "<<", ">>", ">&", "<&", ">|", "<>", "<", ">"}

# Programs that start the first of their arguments that is no option, assignment or number.
STARTERS = {"exec", "command", "env", "setarch", "nice", "timeout", "xargs", "nohup"}

# Of scripts/check: for suites that the bundle has not.
NOT_IN_BUNDLE = {"valgrind"}


# ---- a shell script's commands ----

def skip_quoted(text, at):
    """Where a part between double quotes ends, and the commands in it."""
    found = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 2
        elif text.startswith("$(", at) and not text.startswith("$((", at):
            at, inner = parse(text, at + 2)
            found += inner
        elif text.startswith("${", at):
            at, inner = skip_parameter(text, at + 2)
            found += inner
        else:
            at += 1
    return at + 1, found


def skip_parameter(text, at):
    """The same of ${...}."""
    found = []
    while text[at] != "}":
        at, inner, _ = next_part(text, at, "}")
        found += inner
    return at + 1, found


def skip_arithmetic(text, at):
    depth = 2
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def next_part(text, at, end=""):
    """A piece of a word: where it ends, the commands in it, and its text if that is fixed."""
    if text[at] == "\\":
        return at + 2, [], "" if text[at + 1] == "\n" else text[at + 1]
    if text[at] == "'" and not end:
        close = text.index("'", at + 1)
        return close + 1, [], text[at + 1:close]
    if text[at] == '"':
        start = at + 1
        at, inner = skip_quoted(text, start)
        return at, inner, text[start:at - 1]
    if text.startswith("$((", at):
        return skip_arithmetic(text, at + 3), [], "$"
    if text.startswith("$(", at):
        at, inner = parse(text, at + 2)
        return at, inner, "$"
    if text.startswith("${", at):
        at, inner = skip_parameter(text, at + 2)
        return at, inner, "$"
    return at + 1, [], text[at]


def operator_at(text, at):
    return next((each for each in OPERATORS if text.startswith(each, at)), "")


def next_word(text, at):
    word, found = "", []
    while at < len(text) and text[at] not in " \t" and not operator_at(text, at):
        at, inner, part = next_part(text, at)
        word += part
        found += inner
    return at, word, found


class Reader:
    """Tells which words are commands, as they come."""

    def __init__(self):
        self.found = []
        self.cases = []      # for each `case`: whether a pattern is next
        self.new_command()

    def new_command(self):
        self.expects, self.starter, self.argument, self.in_case, self.first = True, "", False, False, ""

    def word(self, word):
        if self.argument:    # of a redirection, or after `for`
            self.argument = False
        elif self.cases and self.cases[-1] and word == "esac":
            self.cases.pop()
        elif self.cases and self.cases[-1]:
            pass             # a pattern
        elif self.in_case:
            if word == "in":
                self.cases.append(True)
                self.in_case = False
        elif self.expects:
            self.command(word)
        elif self.starter:
            self.started(word)

    def command(self, word):
        if word in RESERVED or re.match(r"[A-Za-z_]\w*=", word):
            return
        if word == "esac" and self.cases:
            self.cases.pop()
            return
        self.expects = False
        self.in_case = word == "case"
        if word not in ("case", "for"):
            self.found.append(word)
            self.starter = word if word in STARTERS else ""

    def started(self, word):
        if not re.match(r"-|[A-Za-z_]\w*=|\d", word):
            self.found.append(word)
            self.starter = word if word in STARTERS else ""

    def operator(self, operator):
        if operator in REDIRECTIONS:
            self.argument = True
        elif self.cases and self.cases[-1] and operator == ")":
            self.cases[-1] = False
            self.new_command()
        elif operator == ";;" and self.cases:
            self.cases[-1] = True
            self.new_command()
        elif not (operator == "\n" and self.in_case):
            self.new_command()


def parse(text, at=0):
    """Where the part ends that a bracket closes, or the text, and its commands."""
    reader, found, depth, ends = Reader(), [], 0, []
    while at < len(text):
        operator = operator_at(text, at)
        if operator == ")" and not depth and not (reader.cases and reader.cases[-1]):
            return at + 1, found + reader.found
        if operator:
            depth += 0 if reader.cases and reader.cases[-1] else {"(": 1, ")": -1}.get(operator, 0)
            reader.operator(operator)
            at += len(operator)
            for end in ends if operator == "\n" else []: # texts that stand in the script
                at = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(text, at).end()
            ends = [] if operator == "\n" else ends
            if operator in ("<<", "<<-"):
                ends.append(re.compile(r"[ \t]*['\"]?(\w+)").match(text, at)[1])
        elif text[at] in " \t":
            at += 1
        elif text[at] == "#":
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        else:
            at, word, inner = next_word(text, at)
            found += inner
            if not (word.isdigit() and operator_at(text, at) in REDIRECTIONS):
                reader.word(word)
    return at, found + reader.found


def functions_of(text):
    return set(re.findall(r"^ *(\w+)\(\)", text, re.MULTILINE))


def shell_programs(text, functions):
    """Names of programs: neither functions nor paths nor what is told when it runs."""
    _, found = parse(text)
    return {name for name in found if re.fullmatch(r"[A-Za-z_][\w.+-]*", name)} - functions - BUILT_IN


# ---- a Python script's ----

def python_programs(text):
    """First words of lists and tuples of a command: what is handed to a function that starts it, or has options behind."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            words = [each.value if isinstance(each, ast.Constant) else None for each in node.elts]
            has_options = any(isinstance(word, str) and word.startswith("-") for word in words[1:])
            if has_options and isinstance(words[0], str) and not words[0].startswith("-"):
                found.add(words[0])
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("run", "Popen", "start", "call", "check_call", "check_output"):
            first = node.args[0] if node.args else None
            first = first.elts[0] if isinstance(first, (ast.List, ast.Tuple)) and first.elts else first
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


# ---- the lists of scripts/bundle ----

def load_bundle():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("bundle", str(BUNDLE))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bundle", loader))
    loader.exec_module(module)
    return module


def in_root(bundle):
    """What is packed as a program: PROGRAMS, and what add_wine and add_programs place by their names."""
    return {name.partition("=")[0] for name in bundle.PROGRAMS} | {"wine", "wineserver", "python3"}


def programs_of(path):
    text = path.read_text()
    if text.startswith("#!/usr/bin/env python3") or path.suffix == ".py":
        return python_programs(text)
    # wine.sh and dxvk.sh are read by the others.
    return shell_programs(text, set().union(*(functions_of((SCRIPTS / name).read_text()) for name in [path.name, "wine.sh", "dxvk.sh"])))


def missing(bundle):
    has = in_root(bundle) | NOT_IN_BUNDLE
    return [f"{name}: {each}" for name in bundle.SCRIPTS for each in sorted(programs_of(SCRIPTS / name) - has)]


# ---- cases ----

SAMPLES = {
    "a1 x; b1 y && c1 || d1 | e1 & f1": "a1 b1 c1 d1 e1 f1",
    "if a1; then b1; elif ! c1; then d1; else e1; fi": "a1 b1 c1 d1 e1",
    "while a1; do b1; done <b2 >\"$c2\" 2>&1 | c1": "a1 b1 c1",
    "for x in a b; do a1 \"$x\"; done": "a1",
    "x=$(a1 \"$(b1 y)\" | c1) y=\"z ${w:-$(d1)}\" e1 f": "a1 b1 c1 d1 e1",
    "case $(a1 x) in\na | b) b1 c;;\n(d)\n c1\n ;;\n*) d1 ;; esac\ne1": "a1 b1 c1 d1 e1",
    "f() {\n a1 # b\n}\nf; { b1; }; (c1; d1) 9>&-": "a1 b1 c1 d1",
    "exec setarch -R a1 b; command -v b1 >/dev/null; env -i X=1 c1 d": "setarch a1 b1 env c1",
    "x=$((a + (b) * 2)); a1 'b; c1' \"d; e\" f\\;g \\\n  h\nb1": "a1 b1",
    "a1 <<EOF\nb1 $c\nEOF\nc1": "a1 c1",
    "a1 ${x##*) } ${y%\"$z\"}; <x >y b1": "a1 b1",
    "X=1 Y='a b' a1; until b1; do :; done; echo case in esac; c1": "a1 b1 c1",
}


def samples():
    for text, expected in SAMPLES.items():
        found = shell_programs(text, functions_of(text))
        if found != set(expected.split()):
            yield f"{text!r}: {sorted(found)}"
    found = python_programs('subprocess.run(["a1"]); x = ["b1", "-x"]; subprocess.Popen("c1"); y = ["no", "list"]; self.start([*z, "-"])')
    if found != {"a1", "b1", "c1"}:
        yield f"of Python: {sorted(found)}"


def programs_are_packed():
    yield from missing(load_bundle())


def all_scripts_start_something():
    """The look itself works on the real scripts: it finds programs of which is known that they are started there."""
    known = {"wine.sh": {"getconf", "wine", "wineserver", "setarch", "flock", "mkdir", "sleep", "grep", "readlink", "python3", "tail", "cat", "rm"},
             "wine-run": {"wine", "dirname", "rm"}, "wine-stop": {"wineserver", "sleep", "rm", "dirname"},
             "wine-keeper": {"Xvfb", "wine", "wineserver", "head", "mv", "sleep", "flock"}, "dxvk.sh": {"cp", "tr"},
             "check": {"setarch", "valgrind"}}
    for name, expected in known.items():
        if not expected <= programs_of(SCRIPTS / name):
            yield f"{name}: {sorted(expected - programs_of(SCRIPTS / name))} are not found"


def a_program_left_out_is_seen():
    bundle = load_bundle()
    bundle.PROGRAMS = [name for name in bundle.PROGRAMS if name not in ("getconf", "flock", "setarch")]
    found = missing(bundle)
    for expected in ("wine.sh: getconf", "wine.sh: flock", "check: setarch"):
        if expected not in found:
            yield f"{expected} is not seen, but {found}"


def sourced_scripts_are_packed():
    bundle = load_bundle()
    for name in bundle.SCRIPTS:
        text = (SCRIPTS / name).read_text()
        for each in set(re.findall(r'\$root/scripts/([\w.-]+)|"scripts" / "([\w.-]+)"|scripts/([\w.-]+)"|SCRIPTS / "([\w.-]+)"', text)):
            other = next(filter(None, each)).rstrip(".")
            if other not in bundle.SCRIPTS and other not in NOT_STARTED:
                yield f"{name}: scripts/{other}"


# `check` makes builds with it, but not with --machine.
NOT_STARTED = {"build"}

# Refuses what the bundle has not. As sitecustomize, so that it is there before the script.
REFUSER = """
import importlib.machinery, json, os, pathlib, sys
import re
LIBRARY = pathlib.Path(os.__file__).parent
LEAVES_OUT, MODULES = re.compile(os.environ["LEAVES_OUT"]), os.environ["MODULES"].split()
class Refuser:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        place = pathlib.Path(spec.origin) if spec and spec.origin else None
        if not place or LIBRARY not in place.parents:
            return None
        parts = place.relative_to(LIBRARY).parts
        has = parts[1].split(".")[0] in MODULES if parts[0] == "lib-dynload" else not any(LEAVES_OUT.match(part) for part in parts)
        if not has:
            raise ModuleNotFoundError(f"the bundle has no {name}")
        return None
sys.meta_path.insert(0, Refuser)
"""
RUNS = {"check": ["--machine", "--software", "--suite", "native", "--workers", "1"], "bundle-look": ["opencl", "/nowhere"],
        "bundle-suites": ["--suite", "native"]}


def put_checkout(folder, bundle):
    """With scripts as in the bundle, and one program to run."""
    for name in bundle.SCRIPTS:
        path = folder / "cld3d/scripts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((SCRIPTS / name).read_bytes())
        path.chmod(0o755)
    meson = folder / "cld3d/build/linux/meson-info/intro-tests.json"
    meson.parent.mkdir(parents=True)
    meson.write_text(json.dumps([{"name": "one", "suite": ["cld3d:native"], "cmd": ["/bin/echo", "1..1\nok 1 - one"], "env": {},
                                  "workdir": None, "timeout": 60, "is_parallel": True, "priority": 0}]))
    (folder / "cld3d/about.json").write_text('{"version": "1", "commit": "1"}\n')
    (folder / "etc/OpenCL/vendors").mkdir(parents=True)
    (folder / "etc/OpenCL/vendors/a.icd").write_text("/nowhere\n")
    (folder / "site").mkdir()
    (folder / "site/sitecustomize.py").write_text(REFUSER)


def run_restricted(bundle, name, modules):
    with tempfile.TemporaryDirectory(prefix="cld3d-bundle-test-") as folder:
        folder = pathlib.Path(folder)
        put_checkout(folder, bundle)
        env = {**os.environ, "PYTHONPATH": str(folder / "site"), "PYTHONDONTWRITEBYTECODE": "1", "MODULES": " ".join(modules),
               "LEAVES_OUT": bundle.PYTHON_LEAVES_OUT.pattern}
        return subprocess.run([bundle.PYTHON, folder / "cld3d/scripts" / name, *RUNS[name]], env=env, capture_output=True, text=True,
                              timeout=200, check=False)


def python_modules_are_packed():
    bundle = load_bundle()
    for name, status in (("check", 0), ("bundle-look", 0), ("bundle-suites", 5)):
        done = run_restricted(bundle, name, bundle.PYTHON_MODULES)
        if done.returncode != status or "Traceback" in done.stderr:
            yield from [f"{name}: status {done.returncode}", *done.stderr.splitlines()[-3:], *done.stdout.splitlines()[-3:]]


# The others are faster ways of what Python has without them.
NEEDED_MODULES = ("_ctypes", "resource")


def a_module_left_out_is_seen():
    bundle = load_bundle()
    for module in NEEDED_MODULES:
        modules = [each for each in bundle.PYTHON_MODULES if each != module]
        if not any(f"no {module}" in run_restricted(bundle, name, modules).stderr for name in ("check", "bundle-look")):
            yield f"{module}: nothing tells that it is missing"


CASES = [samples, programs_are_packed, all_scripts_start_something, a_program_left_out_is_seen, sourced_scripts_are_packed,
         python_modules_are_packed, a_module_left_out_is_seen]


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, function in enumerate(CASES, 1):
        wrong = list(function())
        failed += bool(wrong)
        print(*(f"# {line}" for line in wrong), sep="\n", end="\n" if wrong else "")
        print(f"{'not ' if wrong else ''}ok {number} - {function.__name__.replace('_', ' ')}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
