#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a lock, an atomic, a malloc costs with nobody else at it: plain, with everything at rest (sampler=none), under the
default sampler, with synchronisation followed all the time (and no access taken), and with the compilers' own TSan.

    bench/operations.py BUILD [--rounds N]

Nanoseconds of CPU time, the best of all rounds, which are interleaved.
"""
import argparse
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "operations.c")


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("--rounds", type=int, default=5)
    a = ask.parse_args()
    best = {}
    with tempfile.TemporaryDirectory() as out:
        def build(name, *words):
            path = os.path.join(out, name)
            subprocess.run([*words, "-O2", "-g", SOURCE, "-o", path, "-lpthread"], check=True)
            return path
        ours = build("rt", os.path.join(a.build, "bin", "railbird"), "cc")
        columns = [("plain", build("plain", "gcc"), ""), ("at rest", ours, "sampler=none"), ("default", ours, ""),
                   ("followed", ours, "sampler=random:0.000001"), ("gcc TSan", build("gcc-tsan", "gcc", "-fsanitize=thread"), ""),
                   ("clang TSan", build("clang-tsan", "clang", "-fsanitize=thread"), "")]
        for _ in range(a.rounds):
            for name, path, options in columns:
                said = subprocess.run([path], env={**os.environ, "RAILBIRD_OPTIONS": options}, check=True, capture_output=True, text=True)
                for line in said.stdout.splitlines():
                    operation, ns = line.split("\t")
                    row = best.setdefault(operation, {})
                    row[name] = min(row.get(name, 1e9), float(ns))
    print("| ns | " + " | ".join(name for name, _, _ in columns) + " |\n|---" + "|---:" * len(columns) + "|")
    for operation, row in best.items():
        print(f"| {operation} | " + " | ".join(f"{row[name]:.1f}" for name, _, _ in columns) + " |")


main()
