#!/usr/bin/env python3
"""Turns a text file into a C header: `embed.py kuwahara.cl kuwahara.cl.h` defines the string kuwahara_cl."""

import pathlib
import re
import sys

source, header = map(pathlib.Path, sys.argv[1:])
name = re.sub(r"\W", "_", source.name)
text = source.read_bytes() + b"\0"
rows = [", ".join(map(str, text[i : i + 20])) for i in range(0, len(text), 20)]
header.write_text(f"static const char {name}[] = {{\n    " + ",\n    ".join(rows) + ",\n};\n")
