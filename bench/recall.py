#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The share of a real program's races that a sampler finds in one run, in ten and in thirty, and why it misses the others.

    bench/recall.py BUILD [--programs NAME...] [--rounds N] [--options TEXT] [-o FILE]

The programs and their loads are those of tests/field. N runs with the options take turns with some of every access. A race is a report's
id, which is a pair of code places. All that any run reports are counted, so a race that only the sampler met counts too. The share of k
runs is the expectation over all choices of k of the N: 1 - C(N - m, k) / C(N, k) for a race that m runs reported. The table is written to
FILE, by default bench/results/recall.md; the races that no sampled run reported are in a CSV file beside it.

Each miss, a race that a sampled run did not report, has a reason by counts of that run (stats=, looks=):
  side not run      a side of the race is no known call site of the run: its code was not executed while hooks were on
  not looked at     a side's call site is known, and none of its calls was looked at
  paused            both sides were looked at, and synchronisation was followed in more than one episode
  not together      both sides were looked at in one long episode, never while the history held the other
"""
import argparse
import collections
import csv
import glob
import json
import math
import os
import platform
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIELD = os.path.join(os.path.dirname(HERE), "tests", "field")
RUNS = (1, 10, 30)
REASONS = ("side not run", "not looked at", "paused", "not together")
SKIPPED = 77


def lines_of(path):
    with open(path if os.path.exists(path) else os.devnull, encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


class Run:
    """races: id -> the two places of a race, each a build-id and an offset; looks: place -> calls looked at."""

    def __init__(self, stem):
        self.races, self.looks, self.episodes = {}, {}, 0
        for line in lines_of(stem + ".reports"):
            record = json.loads(line)
            top = [a["stack"][0] for a in record["accesses"] if a["stack"]]
            self.races[record["id"]] = [(f.get("build_id", ""), int(f.get("offset", "0x0"), 16)) for f in top]
        for line in lines_of(stem + ".looks"):
            build, offset, taken = line.split("\t")
            place = (build, int(offset, 16))
            self.looks[place] = max(self.looks.get(place, 0), int(taken)) # of several processes
        for line in lines_of(stem + ".stats"):
            self.episodes = max(self.episodes, json.loads(line).get("episodes", 0))

    def reason(self, places):
        seen = [self.looks.get(p) for p in places]
        if None in seen:
            return REASONS[0]
        return REASONS[1] if 0 in seen else REASONS[2] if self.episodes > 1 else REASONS[3]


def runs_of(program, a):
    """The sampled runs, and those of every access; None where the source cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RAILBIRD": os.path.join(os.path.abspath(a.build), "bin", "railbird"), "FIELD_RECALL": folder,
                       "FIELD_ROUNDS": str(a.rounds), "FIELD_OPTIONS": a.options}
        status = subprocess.run([os.path.join(FIELD, program + ".sh")], env=environment, stdin=subprocess.DEVNULL, check=False).returncode
        if status == SKIPPED:
            return None
        if status:
            sys.exit(f"recall.py: tests/field/{program}.sh ended with {status}")
        return [[Run(path[:-6]) for path in glob.glob(os.path.join(folder, way + "-*.stats"))] for way in ("some", "every")]


def expected(races, some, k):
    """The races that k of the runs find together, in the mean; None if there are not so many runs."""
    n = len(some)
    if k > n:
        return None
    total = 0
    for race in races:
        m = sum(race in run.races for run in some)
        total += 1 - (math.comb(n - m, k) / math.comb(n, k) if n - m >= k else 0)
    return total


def share(part, whole):
    return "-" if part is None else f"{part:.2f}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("--programs", nargs="*", default=["memcached", "redis", "leveldb", "sqlite"])
    ask.add_argument("--rounds", type=int, default=30)
    ask.add_argument("--options", default="sampler=adaptive:budget=5%")
    ask.add_argument("-o", default=os.path.join(HERE, "results", "recall.md"))
    a = ask.parse_args()
    rows, causes, missed = [], [], []
    for program in a.programs:
        found = runs_of(program, a)
        if found is None:
            print(f"{program}: its source cannot be had here")
            continue
        some, every = found
        races = {race: places for run in some + every for race, places in run.races.items()}
        rows.append(f"| {program} | {len(races)} | {expected(races, every, 1):.2f} | "
                    f"{' | '.join(share(expected(races, some, k), len(races)) for k in RUNS)} |")
        print(rows[-1], flush=True)
        why = {race: collections.Counter(run.reason(places) for run in some if race not in run.races) for race, places in races.items()}
        total = sum(why.values(), collections.Counter())
        causes.append(f"| {program} | {total.total()} | {' | '.join(str(total[r]) for r in REASONS)} |")
        for race in sorted(races, key=lambda r: -sum(r in run.races for run in every)):
            if not any(race in run.races for run in some):
                missed.append([program, race, sum(race in run.races for run in every), len(every)] + [why[race][r] for r in REASONS])
    cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")),
               platform.machine())
    head = f"{' | '.join(REASONS)} |"
    with open(a.o, "w", encoding="utf-8") as out:
        out.write(f"""# Races of real programs that a sampler finds

Written by `bench/recall.py`; {a.rounds} runs with `{a.options}`; {cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.

| program | races of all runs | one run of every access | one run | 10 runs | 30 runs |
|---|---:|---:|---:|---:|---:|
""" + "\n".join(rows) + f"""

Misses, a race in a sampled run each, by reason (counted in that run; `bench/recall.py` defines them):

| program | misses | {head}
|---|---:|{"---:|" * len(REASONS)}
""" + "\n".join(causes) + "\n\nRaces that no sampled run reported are in `recall-missed.csv`, with the reasons.\n")
    with open(os.path.splitext(a.o)[0] + "-missed.csv", "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([["program", "race", "runs of every access that report it", "runs of every access", *REASONS], *missed])


main()
