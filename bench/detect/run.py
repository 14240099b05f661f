#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What samplers find: the racy programs of programs.tsv under sampler=all, which says what there is to find, and then
again and again under each sampler.

    bench/detect/run.py [--runs N] [--only GLOB] [--configs C,...] [--size N] [--json FILE] [--work DIR]

--size is how much the programs do, in per cent: 100 is a third of a second of CPU time, 400, the default, well above one.

RAILBIRD names the tool (default build/bin/railbird). A configuration is a sampler with its options, as adaptive,
adaptive:budget=10%, literace, pacer:0.03, random:0.01. `pacer` and `random` without a number get the rate whose CPU time
on a few of the programs is nearest to that of the first configuration.

A static race is a pair of functions. `x++` against `x++` is three pairs of instructions, and a test with its action two
lines; the runtime reports one of them for each pair of threads and word, whichever comes first, so the `id`s of one race differ
from run to run, under sampler=all as well. Fields that a program always touches together (routes, bank) are one race by
this count. Totals by `id` are printed beside it, for the same binaries. What counts as there is what the one run of sampler=all found, kept in the
work folder under a hash of the program's text and definitions.

A report is false if sampler=all never makes it in three runs and a line of it does not say `racy_`: every object of
the programs that is raced for is called so (programs/detect.h). False reports are listed, and the exit status is 1.

Runs are interleaved: every program under every configuration, then all again; interrupted, it prints what the whole turns
so far say. CPU time is user + system of the
program; reports are put names to afterwards, so that this is not in it. Ratios are of medians, against sampler=none.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
KINDS = ("hot/hot", "hot/cold", "cold/cold")
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
CALIBRATE = ("hash-1", "filter-e6-far", "refs-1", "routes-e10-far", "list-e10")
TIMEOUT = 120  # seconds of a run, and of the tool


class Program:
    def __init__(self, row):
        self.name, self.template, self.defines, self.kind, self.frequency, self.distance = row
        self.source = os.path.join(HERE, "programs", self.template)
        self.path = self.digest = self.binary = None
        self.truth = None  # of sampler=all: races, ids, accesses, cpu
        self.named = {}  # raw pair of places -> what the tool says of it
        self.runs = {}  # configuration -> [run]


class Failure(Exception):
    pass


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text[:100]:100}", end="", file=sys.stderr, flush=True)


def read_table(only):
    with open(os.path.join(HERE, "programs.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip()][1:]
    return [Program(r) for r in rows if any(fnmatch.fnmatch(r[0], w) for w in only.split(","))]


def build(p, railbird, work, size):
    p.path = os.path.join(work, p.name)
    tool = "c++" if p.template.endswith(".cc") else "cc"
    options = ["-O2", "-g", *("-D" + d for d in p.defines.split()), f"-DSIZE={size}"]
    subprocess.run([railbird, tool, *options, p.source, "-o", p.path], check=True, timeout=TIMEOUT)
    digest = hashlib.sha256(" ".join(options).encode())
    for file in (p.source, os.path.join(HERE, "programs", "detect.h")):
        with open(file, "rb") as f:
            digest.update(f.read())
    p.digest = digest.hexdigest()[:32]
    with open(p.path, "rb") as f:
        p.binary = hashlib.sha256(f.read()).hexdigest()[:32]


# ---- one run -------------------------------------------------------------------------------------------------


def options_of(config, files):
    """adaptive:budget=10% is a sampler and an option, pacer:0.03 a sampler alone."""
    words = config.split(":")
    sampler = ":".join(w for w in words if "=" not in w)
    more = [w for w in words if "=" in w]
    if sampler == "adaptive" and not any(w.startswith("budget=") for w in more):
        more.append("budget=5%")
    return ":".join(["engine=so", f"sampler={sampler}", "exitcode=0", *files, *more])


def execute(p, config, work):
    report, stats = (os.path.join(work, f"{what}.{os.getpid()}.json") for what in ("report", "stats"))
    for f in (report, stats):
        if os.path.exists(f):
            os.unlink(f)
    # A tool that is not there makes the runtime keep the bare records: no time goes into names.
    env = {**os.environ, "RAILBIRD_TOOL": "/nonexistent", "TSAN_OPTIONS": "",
           "RAILBIRD_OPTIONS": options_of(config, [f"report=json:{report}", f"stats=json:{stats}"])}
    child = subprocess.Popen([p.path], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    watch = threading.Timer(TIMEOUT, lambda: os.kill(child.pid, signal.SIGKILL))
    watch.start()
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    watch.cancel()
    child.returncode = status
    child.stderr.close()
    if status != 0:
        raise Failure(f"{p.name} {config}: status {status}: {said[-300:].decode(errors='replace')}")
    with open(stats) as f:
        counts = json.loads(f.read().splitlines()[0])
    os.unlink(stats)
    return {"cpu": usage.ru_utime + usage.ru_stime, "accesses": counts["accesses"], "sampled": counts["sampled"],
            "cost_ppm": counts.get("cost_ppm", 0), "found": name_reports(p, report)}


def raw_place(access):
    return tuple(f.get("offset", f.get("address", "")) for f in access["stack"][:2])


def name_reports(p, report):
    """What the reports of a run are about; the tool is asked only for pairs of places it has not named yet."""
    if not os.path.exists(report):
        return []
    with open(report) as f:
        raw = [json.loads(line) for line in f if line.strip()]
    os.unlink(report)
    keys = {tuple(sorted(raw_place(a) for a in r["accesses"])): r for r in raw}
    for key, record in keys.items():
        if key in p.named:
            continue
        done = subprocess.run([RAILBIRD, "report", "--format", "json", "-"], input=json.dumps(record) + "\n",
                              capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode not in (0, 66):
            raise Failure(f"railbird report: {done.stderr[-300:]}")
        p.named[key] = describe(json.loads(done.stdout.splitlines()[0]))
    return [p.named[k] for k in keys]


def describe(record):
    """id, pair of functions, and whether both lines say racy_."""
    places, racy = [], True
    for access in record["accesses"]:
        frame = next((f for f in access["stack"] if HERE in f.get("file", "")), {})
        line = frame.get("line", 0)
        places.append(frame.get("function", "?"))
        racy = racy and "racy_" in source_line(frame.get("file"), line)
    return {"id": record["id"], "places": " / ".join(sorted(places)), "racy": racy,
            "object": record.get("location", {}).get("name", record.get("location", {}).get("kind", ""))}


def source_line(file, number, kept={}):
    if file is None:
        return ""
    if file not in kept:
        with open(file) as f:
            kept[file] = f.read().splitlines()
    return kept[file][number - 1] if 0 < number <= len(kept[file]) else ""


# ---- what there is to find -----------------------------------------------------------------------------------


def reference(p, work, again=False):
    """The run of sampler=all, from the cache if the program is the same; `again`: two more, for doubtful reports."""
    cache = os.path.join(work, "all", f"{p.name}.{p.digest}.json")
    if os.path.exists(cache):
        with open(cache) as f:
            kept = json.load(f)
    else:
        kept = []
    while len(kept) < (3 if again else 1):
        kept.append({**execute(p, "all", work), "binary": p.binary})
        os.makedirs(os.path.dirname(cache), exist_ok=True)
        with open(cache, "w") as f:
            json.dump(kept, f)
    return kept


def judge(p, config, run, work, bad):
    """Puts to `bad` what is false; anything else is either of the truth or a race the one run of all did not meet."""
    for r in run["found"]:
        if r["places"] in p.truth["places"] or r["racy"]:
            continue
        if r["id"] not in {k["id"] for kept in reference(p, work, again=True) for k in kept["found"]}:
            bad.add((p.name, config, r["id"], r["places"], r["object"]))


# ---- rates of the same cost ----------------------------------------------------------------------------------


def calibrate(programs, work, first, samplers):
    """The rate of each sampler whose CPU time, all in all, is nearest to the first configuration's."""
    few = [p for p in programs if p.name in CALIBRATE] or programs[:5]
    tried = [first] + [f"{s}:{r}" for s in samplers for r in RATES]
    cpu = {c: [] for c in tried}
    for turn in range(3):
        for p in few:
            for c in tried:
                progress(f"calibration {turn + 1}/3: {p.name} {c}")
                cpu[c].append((p.name, execute(p, c, work)["cpu"]))
    total = {c: sum(statistics.median(s for n, s in cpu[c] if n == p.name) for p in few) for c in tried}
    best = {s: min((f"{s}:{r}" for r in RATES), key=lambda c: abs(total[c] - total[first])) for s in samplers}
    return best, {c: total[c] / total[first] for c in tried}


# ---- tables --------------------------------------------------------------------------------------------------


def figures(programs, config, key, none="none"):
    """Races there are, found in one run (mean), found in any, rate, CPU ratio: of some programs together."""
    races = once = ever = sampled = accesses = 0
    cpu, base = 0, 0
    for p in programs:
        truth, runs = p.truth[key], p.runs[config]
        found = [{r[key_of(key)] for r in run["found"]} & truth for run in runs]
        races += len(truth)
        once += statistics.mean(len(f) for f in found)
        ever += len(set.union(*found))
        sampled += statistics.mean(run["sampled"] for run in runs)
        accesses += p.truth["accesses"]
        cpu += statistics.median(run["cpu"] for run in runs)
        base += statistics.median(run["cpu"] for run in p.runs[none])
    return {"races": races, "once": once, "ever": ever, "rate": sampled / accesses if accesses else 0,
            "cpu": cpu / base if base else 0}


def key_of(key):
    return {"places": "places", "ids": "id"}[key]


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def print_tables(programs, configs, runs):
    print("| program | kind | every | distance | races | " +
          " | ".join(f"{c}: one run, {runs} runs, rate, CPU" for c in configs) + " |")
    print("|---|---|---|---|---|" + "---|" * len(configs))
    for p in programs:
        cells = []
        for c in configs:
            f = figures([p], c, "places")
            cells.append(f"{f['once']:.1f}, {f['ever']}, {100 * f['rate']:.2f} %, {f['cpu']:.2f}")
        print(f"| {p.name} | {p.kind} | {p.frequency} | {p.distance} | {len(p.truth['places'])} | " +
              " | ".join(cells) + " |")
    print()
    print(f"| | configuration | races | found in one run | within {runs} | sampled | CPU |")
    print("|---|---|---|---|---|---|---|")
    groups = [(k, [p for p in programs if p.kind == k], "places") for k in KINDS]
    groups += [(d, [p for p in programs if p.distance == d], "places") for d in ("near", "far")]
    groups += [("all, by function", programs, "places"), ("all, by id", programs, "ids")]
    for label, some, key in groups:
        for c in configs if some else ():
            f = figures(some, c, key)
            print(f"| {label} | {c} | {f['races']} | {share(f['once'], f['races'])} | {share(f['ever'], f['races'])} | "
                  f"{100 * f['rate']:.2f} % | {f['cpu']:.3f} |")


def say_turn(programs, configs, turn, turns):
    """So far, for those who wait; what is printed last is the result."""
    for c in configs:
        f = figures(programs, c, "places")
        progress("")
        print(f"run {turn} of {turns}: {c}: {share(f['once'], f['races'])} in one run, {share(f['ever'], f['races'])} "
              f"within {turn}", file=sys.stderr, flush=True)


def as_json(programs, configs, turns, a, calibration, bad):
    return {"runs": turns, "size": a.size, "configs": configs, "calibration": calibration,
            "programs": [{"name": p.name, "kind": p.kind, "frequency": p.frequency, "distance": p.distance,
                          "accesses": p.truth["accesses"], "races": sorted(p.truth["places"]),
                          "ids": sorted(p.truth["ids"]), "all_cpu": p.truth["cpu"], "runs": p.runs,
                          "figures": {c: figures([p], c, "places") for c in configs}} for p in programs],
            "totals": {key: {c: figures(programs, c, key) for c in configs} for key in ("places", "ids")},
            "false_reports": sorted(bad)}


# ---- all of it -----------------------------------------------------------------------------------------------


def prepare(programs, work, jobs, size):
    os.makedirs(work, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for n, _ in enumerate(pool.map(lambda p: build(p, RAILBIRD, work, size), programs), 1):
            progress(f"built {n}/{len(programs)}")
    for n, p in enumerate(programs, 1):
        progress(f"sampler=all {n}/{len(programs)}: {p.name}")
        run = reference(p, work)[0]
        same = run.get("binary") == p.binary  # ids have the binary's own in them
        p.truth = {"places": {r["places"] for r in run["found"]}, "ids": {r["id"] for r in run["found"] if same},
                   "accesses": run["accesses"], "cpu": run["cpu"], "found": run["found"]}


def main():
    global RAILBIRD
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--runs", type=int, default=10)
    ask.add_argument("--only", default="*", help="programs, as GLOB; several with commas")
    ask.add_argument("--configs", default="adaptive,literace,pacer,random")
    ask.add_argument("--size", type=int, default=400, help="of the programs' work, in per cent (400)")
    ask.add_argument("--json", metavar="FILE")
    ask.add_argument("--work", default=os.path.join(TOP, "bench", "out", "detect"))
    ask.add_argument("--jobs", type=int, default=2, help="compilers at once")
    a = ask.parse_args()
    RAILBIRD = os.path.abspath(os.environ.get("RAILBIRD", os.path.join(TOP, "build", "bin", "railbird")))
    programs = read_table(a.only)
    if not programs:
        ask.error(f"no program is called {a.only}")
    prepare(programs, a.work, a.jobs, a.size)

    configs, calibration = a.configs.split(","), {}
    loose = [c for c in configs if c in ("pacer", "random")]
    if loose:
        best, calibration = calibrate(programs, a.work, configs[0], loose)
        configs = [best.get(c, c) for c in configs]
    order, bad = ["none"] + configs, set()
    for p in programs:
        p.runs = {c: [] for c in order}
    shuffle = random.Random(1)
    turns = 0
    try:
        for turns in range(1, a.runs + 1):
            for p in programs:
                for c in shuffle.sample(order, len(order)):
                    progress(f"run {turns}/{a.runs}: {p.name} {c}")
                    run = execute(p, c, a.work)
                    judge(p, c, run, a.work, bad)
                    p.runs[c].append(run)
            say_turn(programs, configs, turns, a.runs)
    except KeyboardInterrupt:
        turns -= 1
        if not turns:
            raise
        print(f"cut off in run {turns + 1} of {a.runs}: what follows is of {turns}\n")
        for p in programs:
            p.runs = {c: runs[:turns] for c, runs in p.runs.items()}
    progress("")
    print_tables(programs, configs, turns)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(as_json(programs, configs, turns, a, calibration, bad), f, indent=1, default=list)
    for row in sorted(bad):
        print("FALSE REPORT: {}, {}: id {}, {}, {}".format(*row))
    return 1 if bad else 0


RAILBIRD = ""
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except (Failure, subprocess.SubprocessError) as e:
        sys.exit(f"\n{e}")
    except KeyboardInterrupt:
        sys.exit(130)
