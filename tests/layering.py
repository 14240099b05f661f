#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""layering.py SRC: prints each include that the rooms do not allow, each room that ROOMS lacks, and each file above 800 lines.

SRC/ROOMS says which folders a folder may include, SRC/run/ROOMS the order of the runtime's rooms."""
import os
import re
import sys

KINDS = (".c", ".h", ".S", ".cc", ".def")


def rows(path):
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            yield [part.strip() for part in line.split(":", 2)]


def main(src):
    may = {name: allowed.split() + [name] for name, allowed, _ in rows(f"{src}/ROOMS")}
    rank = {row[0]: number for number, row in enumerate(rows(f"{src}/run/ROOMS"))}
    for folder, _, files in sorted(os.walk(src)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            if not file.endswith(KINDS):
                continue
            parts = os.path.relpath(path, src).split(os.sep)
            room = parts[0]
            text = open(path, errors="replace").read()
            if room not in may:
                print(f"{path}: room '{room}' is not in ROOMS")
                continue
            if room == "run" and parts[1] not in rank and parts[1] != "shims":
                print(f"{path}: room '{parts[1]}' is not in run/ROOMS")
                continue
            for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
                other = name.split("/")
                if other[0] == "railbird" or (room == "plugin" and len(other) == 1):  # gcc's own headers
                    continue
                if other[0] not in may[room]:
                    print(f"{path}: {room} may not include {name}")
                elif room == other[0] == "run" and rank.get(other[1], len(rank)) > rank[parts[1]]:
                    print(f"{path}: run/{parts[1]} may not include {name}, which is higher")
            if text.count("\n") > 800:
                print(f"{path}: {text.count(chr(10))} lines; above 800 it is two files")


main(sys.argv[1])
