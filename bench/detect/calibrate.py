#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is what silence means true? (docs/explanation/sampling.md) Runs meet.c, whose races meet 4, 8, … 8,192 times in a run, again and
again; each run says from how many meetings on a race is seen with probability 95 % (`seen_at_95`), and whether each was.

    bench/detect/calibrate.py [--runs N] [--budget P] [--rounds N]

RAILBIRD names the tool (default build/bin/railbird). What is promised is a lower bound: bursts see races that windows do not.
Status 1 if races that met often enough were seen in fewer than 95 % of the cases, by more than three standard deviations, or
if no run said anything.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RACES = 12
BINS = ((0, 0.03), (0.03, 0.1), (0.1, 0.33), (0.33, 1), (1, math.inf))  # meetings, as a share of seen_at_95


def once(program, folder, a, seed):
    """seen_at_95, and the races found."""
    stats, log = os.path.join(folder, "stats"), os.path.join(folder, "log")
    for path in (stats, log):
        if os.path.exists(path):
            os.remove(path)
    options = f"sampler=adaptive:budget={a.budget}:seed={seed}:stats=json:{stats}:exitcode=0"
    with open(log, "w", encoding="utf-8") as out:
        subprocess.run([program, str(a.rounds)], env={**os.environ, "RAILBIRD_OPTIONS": options}, stderr=out, check=True, timeout=300)
    with open(stats, encoding="utf-8") as f:
        said = json.load(f)
    with open(log, encoding="utf-8") as f:
        found = {int(j) for j in re.findall(r"#0 touch_(\d+) ", f.read())}
    return said, found


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--runs", type=int, default=30)
    ask.add_argument("--budget", default="5%")
    ask.add_argument("--rounds", type=int, default=30000000)
    a = ask.parse_args()
    tool = os.environ.get("RAILBIRD", os.path.join(TOP, "build", "bin", "railbird"))
    tried, seen, expected = [0] * len(BINS), [0] * len(BINS), [0.0] * len(BINS)
    silent, promised = 0, []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "meet")
        subprocess.run([tool, "cc", "-O2", "-g", os.path.join(HERE, "meet.c"), "-o", program], check=True)
        for run in range(a.runs):
            said, found = once(program, folder, a, run + 1)
            least = said["seen_at_95"]
            if not least:
                silent += 1
                continue
            promised.append(least)
            for j in range(RACES):
                times = 4 << j
                k = next(i for i, (low, high) in enumerate(BINS) if low <= times / least < high)
                tried[k] += 1
                seen[k] += j in found
                expected[k] += 1 - math.exp(-3 * times / least)
            if sys.stderr.isatty():
                print(f"\r{run + 1} of {a.runs}: seen_at_95 {least}, found {len(found)} of {RACES}  ", end="", file=sys.stderr)
    if not promised:
        sys.exit("no run said from how many meetings on a race is seen: more --rounds?")
    promised.sort()
    print(f"{a.runs} runs, budget {a.budget}; {silent} said nothing; seen_at_95: median {promised[len(promised) // 2]}, "
          f"{promised[0]} to {promised[-1]}\n")
    print("| meetings, as a share of seen_at_95 | races | promised | seen |\n|---|---:|---:|---:|")
    for (low, high), n, s, e in zip(BINS, tried, seen, expected):
        if n:
            name = f"{low} to {high}" if high < math.inf else f"{low} and more"
            print(f"| {name} | {n} | {100 * e / n:.1f} % | {100 * s / n:.1f} % |")
    n, s = tried[-1], seen[-1]
    if not n or s < 0.95 * n - 3 * math.sqrt(0.05 * 0.95 * n):
        sys.exit("races that met often enough were seen too seldom" if n else "none met often enough: more --rounds?")


main()
