#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""parts.py SRC: prints what a child of fork would miss: a reset that no row of run/life/parts.def and no other function calls, a
row that makes a table, does not restart it and gives no reason ("stays"), and a fork handler outside of life."""
import os
import re
import sys

ROW = re.compile(r"^RB_PART(?:_ALWAYS)?\((\w+), (.*), ([^,]*), ([^,]*)\)$")


def files(src):
    for folder, _, names in sorted(os.walk(f"{src}/run")):
        for name in sorted(names):
            if name.endswith((".c", ".def")):
                path = os.path.join(folder, name)
                yield path, open(path).read()


def main(src):
    texts = dict(files(src))
    for path, text in texts.items():
        if "pthread_atfork(" in text and "/run/life/" not in path:
            print(f"{path}: a fork handler outside of life; add a row to parts.def")
        for name in re.findall(r"^void (rb_\w+_after_fork)\(void\)", text, re.M):
            calls = sum(len(re.findall(rf"(?<!^void ){name}\(\)", other, re.M)) for other in texts.values())
            if calls == 0:
                print(f"{path}: nothing calls {name}; add a row to parts.def")
    comment, rows = "", 0
    for line in open(f"{src}/run/life/parts.def"):
        row = ROW.match(line.split("//")[0].strip())
        if row:
            rows += 1
            if re.search(r"rb_\w+_init\(", row[2]) and row[3] == "0" and "stays" not in comment:
                print(f"parts.def: {row[1]} is made and not restarted; the comment does not say why it stays")
        elif line.startswith("RB_PART"):
            print(f"parts.def: a row in another form: {line.strip()}")
        comment = comment + line if line.startswith("//") else ""
    if rows == 0:
        print("parts.def: no row")


main(sys.argv[1])
