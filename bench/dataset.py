#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dataset of labelled traces in one command: docs/how-to/dataset.md.

    bench/dataset.py OUTDIR [--railbird build/bin/railbird] [--traces 1000] [--seed 1] [--jobs N]

Builds the eight programs of examples/structures with `railbird cc`, records each with several numbers of threads and
seeds, injects races, verifies every trace, splits by program and writes one JSON object a line. OUTDIR must be new or
empty. What is in it afterwards:

    programs/            the programs, built
    bases/               recordings without races: PROGRAM.tTHREADS.sSEED.rbt
    traces/              labelled traces and labels.json
    split.json           which programs are for training and which for testing
    dataset.jsonl        everything again, for those who do not read .rbt
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "examples", "structures")
# operations of each thread when there are 4: about 2000 to 6000 events
PROGRAMS = {"list": 12, "stack": 50, "queue": 60, "hash_map": 50, "tree_set": 40, "thread_pool": 80, "pipeline": 40,
            "readers_writers": 40}
THREADS = [3, 4, 6]
SEEDS = [1, 2, 3]
KINDS = ["ww", "rw", "wr"]  # by turns
TESTING = 2  # programs
FEWEST, MOST = 600, 15000  # events of a recording


def fail(text):
    sys.exit(f"dataset.py: {text}")


class Maker:
    def __init__(self, args):
        self.railbird = os.path.abspath(args.railbird)
        self.out = os.path.abspath(args.outdir)
        self.args = args
        self.environment = {k: v for k, v in os.environ.items() if k not in ("RAILBIRD_OPTIONS", "TSAN_OPTIONS")}

    def path(self, *parts):
        return os.path.join(self.out, *parts)

    def run(self, *words, cwd=None):
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=cwd, env=self.environment)
        if done.returncode != 0:
            fail(f"{' '.join(words)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout

    def in_parallel(self, work, items):
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            return list(pool.map(work, items))

    def build(self):
        shutil.copytree(SOURCES, self.path("programs"))
        self.run("make", "-s", "-C", self.path("programs"), "clean")
        self.run("make", "-s", "-C", self.path("programs"), f"-j{self.args.jobs}", f"CC={self.railbird} cc")

    def record(self, what):
        program, threads, seed = what
        operations = max(1, PROGRAMS[program] * 4 // threads)
        base = f"{program}.t{threads}.s{seed}.rbt"
        # A race in a program would be exit status 66, a wrong result 1.
        self.run(self.railbird, "record", "-o", self.path("bases", base), "--", self.path("programs", program),
                 str(threads), str(operations), str(seed))
        info = json.loads(self.run(self.railbird, "trace", "info", "--json", self.path("bases", base)))
        if not FEWEST <= info["events"] <= MOST:
            print(f"note: {base} has {info['events']} events, outside of {FEWEST} to {MOST}", flush=True)
        return base, info["events"]

    def inject(self, base, count, seed, kind):
        self.run(self.railbird, "inject", os.path.join("..", "bases", base), "-n", str(count), "--seed", str(seed),
                 "--kind", kind, "--jobs", str(self.args.jobs), "-o", ".", cwd=self.path("traces"))

    def labels(self):
        with open(self.path("traces", "labels.json"), encoding="utf-8") as file:
            return json.load(file)

    def verify(self, label):
        self.run(self.railbird, "inject", "--verify", label["base"], label["file"], cwd=self.path("traces"))

    def events(self, label):
        """Numbers for names, and the events in numbers: [thread, op, target, location]."""
        names = {}  # kind: {name: number}
        events = []
        kinds = {"r": "variables", "w": "variables", "fork": "threads", "join": "threads", "enter": "functions",
                 "exit": "functions"}

        def number(kind, name):
            return names.setdefault(kind, {}).setdefault(name, len(names[kind]))

        text = self.run(self.railbird, "trace", "cat", self.path("traces", label["file"]))
        for line in text.splitlines():
            _, thread, what, location = line.split("\t")
            op, _, target = what.partition("(")
            kind = kinds.get(op, "locks") if target else "marks"
            events.append([number("threads", thread), op, number(kind, target[:-1] if target else what),
                           number("locations", location)])
        return {kind: list(numbers) for kind, numbers in names.items()}, events

    def line(self, label, negatives, testing):
        """The trace as a JSON object."""
        names, events = self.events(label)
        program = program_of(label)
        sides = [events[i] for i in label["events"]]
        if any(e[1] not in "rw" or names["variables"][e[2]] != label["variable"] for e in sides):
            fail(f"{label['file']}: the events of its label are not accesses to {label['variable']}")
        return json.dumps({"file": label["file"], "program": program, "recording": label["program"],
                           "split": "test" if program in testing else "train", "names": names, "events": events,
                           "race": label["events"], "kind": label["kind"], "distance": label["distance"],
                           "reversed_sections": label["reversed_sections"], "negatives": negatives},
                          separators=(",", ":"))

    def export(self, labels, split):
        negatives = {t["file"]: [] for t in labels["traces"]}
        for negative in labels["negatives"]:
            negatives[negative["file"]].append({k: v for k, v in negative.items() if k != "file"})
        temporary = self.path("dataset.jsonl.part")
        with open(temporary, "w", encoding="utf-8") as out, \
                concurrent.futures.ProcessPoolExecutor(self.args.jobs) as pool:
            traces = labels["traces"]
            for line in pool.map(self.line, traces, [negatives[t["file"]] for t in traces],
                                 [split["test"]] * len(traces), chunksize=8):
                out.write(line + "\n")
        os.rename(temporary, self.path("dataset.jsonl"))


def program_of(label):
    return label["program"].split(".")[0]


def stage(text, started):
    print(f"{time.monotonic() - started:6.1f} s  {text}", flush=True)


def table(labels, split, recordings):
    print(f"\n{'program':16} {'split':5} {'recordings':>10} {'events':>13} {'traces':>6} {'reversed':>8} "
          f"{'distance: mean':>14} {'most':>6} {'negatives':>9}")
    proofs = {}
    for negative in labels["negatives"]:
        proofs[negative["proof"]] = proofs.get(negative["proof"], 0) + 1
    for program in PROGRAMS:
        own = [t for t in labels["traces"] if program_of(t) == program]
        files = {t["file"] for t in own}
        sizes = [n for base, n in recordings if base.split(".")[0] == program]
        distances = [t["distance"] for t in own] or [0]
        print(f"{program:16} {'test' if program in split['test'] else 'train':5} {len(sizes):10} "
              f"{f'{min(sizes)}-{max(sizes)}':>13} {len(own):6} {sum(t['reversed_sections'] > 0 for t in own):8} "
              f"{sum(distances) / len(distances):14.0f} {max(distances):6} "
              f"{sum(n['file'] in files for n in labels['negatives']):9}")
    print(f"{'total':22} {len(recordings):10} {'':13} {len(labels['traces']):6} "
          f"{sum(t['reversed_sections'] > 0 for t in labels['traces']):8} {'':14} "
          f"{max(t['distance'] for t in labels['traces']):6} {len(labels['negatives']):9}  "
          + ", ".join(f"{n} by {proof}" for proof, n in sorted(proofs.items())))


def main():
    parser = argparse.ArgumentParser(description="Makes a dataset of labelled traces: docs/how-to/dataset.md.")
    parser.add_argument("outdir")
    parser.add_argument("--railbird", default=os.path.join(HERE, "..", "build", "bin", "railbird"))
    parser.add_argument("--traces", type=int, default=1000, help="at least so many (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of injection and of the split")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="some of them: for a quick look")
    parser.add_argument("--threads", default=",".join(map(str, THREADS)))
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="of the recordings")
    args = parser.parse_args()
    chosen = args.programs.split(",")
    for program in list(PROGRAMS):
        if program not in chosen:
            del PROGRAMS[program]
    if len(PROGRAMS) != len(set(chosen)):
        fail(f"--programs {args.programs}: not all of them are in examples/structures")
    if os.path.exists(args.outdir) and os.listdir(args.outdir):
        fail(f"{args.outdir} is not empty")
    if not os.access(args.railbird, os.X_OK):
        fail(f"{args.railbird} is not there; build first, or name it with --railbird")
    maker = Maker(args)
    started = time.monotonic()
    for folder in ("bases", "traces"):
        os.makedirs(maker.path(folder))
    maker.build()
    stage(f"{len(PROGRAMS)} programs built", started)
    wanted = [(p, int(t), int(s)) for p in PROGRAMS for t in args.threads.split(",") for s in args.seeds.split(",")]
    recordings = maker.in_parallel(maker.record, wanted)
    stage(f"{len(recordings)} recordings", started)
    made = 0
    for again in range(5):  # a base may have fewer points than asked for; then the next seed
        if made >= args.traces:
            break
        each = math.ceil((args.traces - made) / len(recordings))
        for i, (base, _) in enumerate(recordings):
            maker.inject(base, each, args.seed + again, KINDS[i % len(KINDS)])
        labels = maker.labels()
        made = len(labels["traces"])
    stage(f"{made} labelled traces", started)
    maker.in_parallel(maker.verify, labels["traces"])
    stage("all verified", started)
    testing = random.Random(args.seed).sample(sorted(PROGRAMS), min(TESTING, len(PROGRAMS) - 1))
    split = {"by": "program", "seed": args.seed, "train": [p for p in PROGRAMS if p not in testing], "test": testing}
    split["files"] = {t["file"]: "test" if program_of(t) in testing else "train" for t in labels["traces"]}
    with open(maker.path("split.json"), "w", encoding="utf-8") as file:
        json.dump(split, file, indent=1)
        file.write("\n")
    maker.export(labels, split)
    stage("dataset.jsonl written", started)
    table(labels, split, recordings)
    if made < args.traces:
        fail(f"only {made} of {args.traces} traces could be made")


if __name__ == "__main__":
    main()
