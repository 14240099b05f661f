#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How soon a new thread runs, and on how many threads a first parallel region runs: plain, ours, and the compilers' TSan.

    bench/thread_start.py BUILD [--rounds N] [--omp N] [-o FILE]

Runs of the builds are interleaved. A table cell is the median of all samples with the 95 % interval of the median (by ranks); the
samples of "first" are one a process, those of "pool" and "later" several. For OpenMP a cell is a number of runs, with the 95 %
Wilson interval. The table is written to FILE, by default bench/results/thread-start.md.
"""
import argparse
import math
import os
import platform
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = [("first", "first thread of a process, from the return of `pthread_create`"), ("pool", "eight threads that stay, the same"),
        ("later", "threads one after the other, the same"), ("rate", "creating and joining a thread, all in all")]


def median(samples):
    """The median and its 95 % interval, in microseconds."""
    s = sorted(samples)
    n, half = len(s), 0.98 * math.sqrt(len(s))
    low, high = max(0, math.floor(n / 2 - half)), min(n - 1, math.ceil(n / 2 + half))
    return f"{s[n // 2] / 1e3:.1f} [{s[low] / 1e3:.1f}, {s[high] / 1e3:.1f}]"


def share(k, n):
    """k of n, with the Wilson interval."""
    z, p = 1.96, k / n
    middle, spread = p + z * z / 2 / n, z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return f"{k} of {n} [{100 * (middle - spread) / (1 + z * z / n):.0f} %, {100 * (middle + spread) / (1 + z * z / n):.0f} %]"


def compile_all(out, build, source, flags, compilers):
    """The executables by column: path and options."""
    rb = os.path.join(build, "bin", "railbird")
    columns = {}
    for cc in compilers:
        def make(name, *words, env=None):
            path = os.path.join(out, f"{os.path.basename(source)}.{cc}.{name}")
            subprocess.run([*words, "-O2", "-g", source, *flags, "-o", path], check=True, env={**os.environ, **(env or {})})
            return path
        suffix = f", {cc}" if len(compilers) > 1 else ""
        ours = make("ours", rb, "cc", env={"RAILBIRD_CC": cc})
        columns["plain" + suffix] = (make("plain", cc), "")
        columns["default" + suffix] = (ours, "exitcode=0")
        columns["`sampler=all`" + suffix] = (ours, "sampler=all:exitcode=0")
        if len(compilers) == 1:
            columns["libtsan"] = (make("tsan", cc, "-fsanitize=thread"), "")
    return columns


def run(path, options):
    return subprocess.run(["setarch", "-R", path], env={**os.environ, "RAILBIRD_OPTIONS": options}, capture_output=True, text=True)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("--rounds", type=int, default=60)
    ask.add_argument("--omp", type=int, default=200)
    ask.add_argument("-o", default=os.path.join(HERE, "results", "thread-start.md"))
    a = ask.parse_args()
    with tempfile.TemporaryDirectory() as out:
        columns = compile_all(out, a.build, os.path.join(HERE, "thread_start.c"), ["-pthread"], ["gcc"])
        samples = {}
        for _ in range(a.rounds):
            for name, how in columns.items():
                for line in run(*how).stdout.splitlines():
                    row, ns = line.split("\t")
                    samples.setdefault(row, {}).setdefault(name, []).append(float(ns))
        tasks = compile_all(out, a.build, os.path.join(HERE, "two_tasks.c"), ["-fopenmp"], ["gcc", "clang"])
        apart = dict.fromkeys(tasks, 0)
        for _ in range(a.omp):
            for name, how in tasks.items():
                apart[name] += run(*how).returncode == 1
    cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    with open(a.o, "w") as f:
        print(f"# How soon a new thread runs\n\nWritten by `bench/thread_start.py`; {a.rounds} processes of each build, interleaved; {cpu}, "
              f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.\nMicroseconds: median and its 95 % interval.\n", file=f)
        print("| | " + " | ".join(columns) + " |\n|---" + "|---:" * len(columns) + "|", file=f)
        for row, text in ROWS:
            print(f"| {text} | " + " | ".join(median(samples[row][name]) for name in columns) + " |", file=f)
        print("\nA negative time: the thread ran before its creator did again.\n\n"
              "Runs in which the two tasks of a program's first parallel region (`bench/two_tasks.c`) ran on two threads:\n", file=f)
        print("| | " + " | ".join(n.split(", ")[0] for n in tasks if n.endswith(", gcc")) + " |\n|---|---:|---:|---:|", file=f)
        for cc, library in (("gcc", "libgomp"), ("clang", "libomp")):
            print(f"| {library} | " + " | ".join(share(apart[n], a.omp) for n in tasks if n.endswith(f", {cc}")) + " |", file=f)
    print(open(a.o).read())


main()
