#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a table: what `railbird inject` makes of bases of different sizes, beside the same with the
encoding of the paper, and beside the paper's own table.

The paper's encoding makes a few traces only (--paper-traces), within a time limit for each base (--paper-seconds): a trace that the
limit cuts off is written with the distance it has and counts as made, so the speed-up is then a lower bound, marked >=.
"""
import argparse
import json
import os
import subprocess
import tempfile

# base: (events, threads, locks, variables, traces). Sizes of the paper's table 1, with generated bases.
GENERATED = {
    "list": (677, 27, 30, 60, 207),
    "tree": (756, 22, 24, 60, 130),
    "linked": (14937, 64, 70, 400, 200),
    "stack": (11372, 64, 66, 300, 200),
    "server": (97110, 78, 90, 2000, 50),
}
# what table 1 has: injection points, traces in one hour (the last: ten), average and largest distance
PAPER = [
    ("ArrayList", 677, 27, 207, 207, "128 ± 111", 558),
    ("TreeSet", 756, 22, 130, 130, "122 ± 115", 526),
    ("LinkedList", 14937, 451, 1767, 160, "112 ± 124", 851),
    ("Stack", 11372, 451, 2036, 100, "87 ± 74", 458),
    ("Jigsaw", 97110, 78, 3394, 467, "693 ± 777", 7396),
]


def inject(railbird, base, out, traces, *more):
    command = [railbird, "inject", base, "-n", str(traces), "-o", out, "--json", "--negatives", "0", *more]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def spread(result):
    d = result["distance"]
    return f"{d['mean']:.0f} ± {d['sd']:.0f}", d["max"]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("railbird")
    ask.add_argument("bases", nargs="*", help="bases of its own when none are given")
    ask.add_argument("--paper-seconds", type=float, default=60)
    ask.add_argument("--paper-traces", type=int, default=4)
    a = ask.parse_args()
    railbird, bases = os.path.realpath(a.railbird), a.bases
    with tempfile.TemporaryDirectory() as work:
        jobs = []
        for name, (events, threads, locks, variables, traces) in {} if bases else GENERATED.items():
            path = f"{work}/{name}.rbt"
            subprocess.run([railbird, "trace", "gen", "-o", path, "--events", str(events), "--threads", str(threads),
                            "--locks", str(locks), "--variables", str(variables), "--race", "0", "--sharing", "0.5",
                            "--functions", "0"], check=True)
            jobs.append((name, path, traces))
        jobs += [(os.path.basename(b), b, 200) for b in bases]

        row("base", "events", "threads", "points", "traces", "distance", "largest", "seconds", "traces/s",
            "sections reversed", "solver calls", "unknown", "paper's encoding: traces", "distance", "largest",
            "unknown", "speed-up")
        row(*["---"] * 17)
        for name, path, traces in jobs:
            ours = inject(railbird, path, f"{work}/ours", traces)
            theirs = inject(railbird, path, f"{work}/theirs", a.paper_traces, "--encoding", "paper", "--time-limit",
                            f"{a.paper_seconds:.1f}")
            cut = ">= " if theirs["seconds"] >= a.paper_seconds else ""
            rate = ours["made"] / ours["seconds"]
            rate_theirs = theirs["made"] / theirs["seconds"]
            mean, most = spread(ours)
            mean_theirs, most_theirs = spread(theirs)
            row(name, ours["events"], ours["threads"], ours["points"], ours["made"], mean, most,
                f"{ours['seconds']:.2f}", f"{rate:.0f}", ours["with_reversed_sections"], ours["solver"]["calls"],
                ours["solver"]["unknown"], f"{theirs['made']} in {theirs['seconds']:.0f} s", mean_theirs, most_theirs,
                theirs["solver"]["unknown"], f"{cut}{rate / rate_theirs:.0f}x" if rate_theirs else "-")
    if not bases:
        print("\nThe paper's table 1 (one hour each, ten for Jigsaw; other machine, other bases of the same sizes):\n")
        row("program", "events", "threads", "points", "traces", "distance", "largest")
        row(*["---"] * 7)
        for line in PAPER:
            row(*line)


main()
