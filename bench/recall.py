#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The share of a real program's races that a sampler finds in one run, in ten and in thirty.

    bench/recall.py BUILD [--programs NAME...] [--rounds N] [--options TEXT] [-o FILE]

The programs and their loads are those of tests/field. N runs with the options take turns with some of every access. A race is a report's
id, which is a pair of code places. All that any run reports are counted, so a race that only the sampler met counts too. The share of k
runs is the expectation over all choices of k of the N: 1 - C(N - m, k) / C(N, k) for a race that m runs reported. The table is written to
FILE, by default bench/results/recall.md, with the races that no sampled run reported and the number of runs of every access that did.
"""
import argparse
import math
import os
import platform
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIELD = os.path.join(os.path.dirname(HERE), "tests", "field")
RUNS = (1, 10, 30)
SKIPPED = 77


def runs_of(program, a):
    """Two lists of sets of ids: of the sampled runs, and of those of every access; None where the source cannot be had."""
    with tempfile.NamedTemporaryFile("r") as file:
        environment = {**os.environ, "RAILBIRD": os.path.join(os.path.abspath(a.build), "bin", "railbird"), "FIELD_RECALL": file.name,
                       "FIELD_ROUNDS": str(a.rounds), "FIELD_OPTIONS": a.options}
        status = subprocess.run([os.path.join(FIELD, program + ".sh")], env=environment, stdin=subprocess.DEVNULL, check=False).returncode
        if status == SKIPPED:
            return None
        if status:
            sys.exit(f"recall.py: tests/field/{program}.sh ended with {status}")
        runs = {"some": [], "every": []}
        for line in file:
            way, _, ids = line.rstrip("\n").partition("\t")
            runs[way].append(set(ids.split()))
        return runs["some"], runs["every"]


def expected(races, some, k):
    """The races that k of the runs find together, in the mean; None if there are not so many runs."""
    n = len(some)
    if k > n:
        return None
    total = 0
    for race in races:
        m = sum(race in run for run in some)
        total += 1 - (math.comb(n - m, k) / math.comb(n, k) if n - m >= k else 0)
    return total


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("--programs", nargs="*", default=["memcached", "redis", "leveldb", "sqlite"])
    ask.add_argument("--rounds", type=int, default=30)
    ask.add_argument("--options", default="sampler=adaptive:budget=5%")
    ask.add_argument("-o", default=os.path.join(HERE, "results", "recall.md"))
    a = ask.parse_args()
    rows, missed = [], []
    for program in a.programs:
        found = runs_of(program, a)
        if found is None:
            print(f"{program}: its source cannot be had here")
            continue
        some, every = found
        races = set().union(*some, *every)
        cells = []
        for k in RUNS:
            e = expected(races, some, k)
            cells.append("-" if e is None else f"{e:.2f}" + (f" ({100 * e / len(races):.0f} %)" if races else ""))
        rows.append(f"| {program} | {len(races)} | {expected(races, every, 1):.2f} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
        never = races - set().union(*some)
        for race in sorted(never, key=lambda r: -sum(r in run for run in every)):
            missed.append(f"| {program} | `{race}` | {sum(race in run for run in every)} of {len(every)} |")
    cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    with open(a.o, "w") as out:
        out.write(f"""# Races of real programs that a sampler finds

Written by `bench/recall.py`; {a.rounds} runs with `{a.options}`; {cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.

| program | races of all runs | one run of every access | one run | 10 runs | 30 runs |
|---|---:|---:|---:|---:|---:|
""" + "\n".join(rows) + """

Races that no sampled run reported, and how many runs of every access did:

| program | race | runs |
|---|---|---:|
""" + "\n".join(missed) + "\n")


main()
