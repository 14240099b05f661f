#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mechanism of the default sampler's earlier form was worth: each one switched off alone, beside the whole.

    bench/ablation/run.py [--runs N] [--size N] [--only GLOB] [--cost-runs N] [--detect JSON] [-o FILE]

The commit BASE has all of them; switches.patch gives its runtime an option `without=`, a bit for each. Both are put together in
bench/out/ablation, built there, and measured: recall by bench/detect/run.py, all settings in turns, with its interval; cost as CPU time over
sampler=none on small programs that synchronise, each program at its full load. The table goes to FILE, by default
bench/results/ablation.md. Eight runs take an hour and a half on two quiet cores; --detect takes recall from the JSON of an earlier run.
"""
import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BASE = "4fd262e"
TIMEOUT = 3600 * 8
# Number of the switch, mechanism, and what became of it.
MECHANISMS = (
    (0, "start stage", "kept"),
    (1, "address filter in the start stage", "kept"),
    (2, "address filter in every second window", "kept"),
    (3, "windows", "kept"),
    (4, "a slow burst is followed by another", "dropped"),
    (5, "a second thread prolongs a burst", "dropped"),
    (6, "new code wakes all sites", "kept"),
    (7, "a new thread wakes all sites", "kept"),
    (8, "credit for new code with an empty allowance", "dropped"),
    (9, "new code begins a brief episode while paused", "simplified"),
    (10, "sites of new code stay awake while paused", "simplified"),
    (11, "patched sites wake less often than gates", "dropped"),
    (12, "256 random sites wake where all are too many", "kept"),
    (13, "bursts follow the budget", "kept"),
    (14, "short turns while synchronisation is dear", "dropped"),
    (15, "the ticker sleeps until the next wake-up is earned", "dropped"),
    (16, "threads that wait for delayed ones are charged", "dropped"),
    (17, "a paced gap at atomics and memcpy", "simplified"),
    (18, "a gate with little to look at closes early", "dropped"),
    (19, "sleeping hooks behind a gate are estimated from counts", "replaced"),
    (20, "a limit of debt for new code", "kept"),
    (21, "the start allowance is paid back", "dropped"),
    (22, "gates get longer bursts than sites", "dropped"),
    (23, "sites behind a gate outlast their bursts", "dropped"),
    (24, "no window in the first 50 ms", "dropped"),
    (25, "threads end an exhausted episode themselves", "kept"),
    (26, "a wake-up waits for the last one's cost", "dropped"),
    (27, "a first burst of at least 16 calls", "simplified"),
    (28, "episodes", "kept"),
    (29, "larger pieces of long ranges in the start stage", "dropped"),
)
COST = (("pingpong", ["8", "40000000"]), ("array", ["800000"]), ("atomics", ["10000000"]))


def run(*words, **more):
    return subprocess.run(words, check=True, timeout=TIMEOUT, **more)


def build(work):
    """Returns the tool of the switched build."""
    tree, binary = os.path.join(work, "tree"), os.path.join(work, "build", "bin", "railbird")
    if not os.path.exists(tree):
        run("git", "-C", TOP, "worktree", "add", "--detach", tree, BASE)
        run("git", "-C", tree, "apply", os.path.join(HERE, "switches.patch"))
    run("cmake", "-S", tree, "-B", os.path.join(work, "build"), stdout=subprocess.DEVNULL)
    run("cmake", "--build", os.path.join(work, "build"), "-j", str(os.cpu_count()), stdout=subprocess.DEVNULL)
    return binary


def settings():
    return [0] + [1 << number for number, _, _ in MECHANISMS]


def recall(tool, work, a):
    """Returns for each setting the share of races that each run found."""
    out = a.detect or os.path.join(work, "detect.json")
    configs = ",".join("adaptive" if not s else f"adaptive:without={s}" for s in settings())
    if not a.detect:
        run(sys.executable, os.path.join(TOP, "bench", "detect", "run.py"), "--runs", str(a.runs), "--size", str(a.size), "--only", a.only,
            "--configs", configs, "--work", os.path.join(work, "detect"), "--json", out, stdout=subprocess.DEVNULL, env={**os.environ, "RAILBIRD": tool})
    with open(out, encoding="utf-8") as f:
        data = json.load(f)
    if data["false_reports"]:
        sys.exit(f"false reports: {data['false_reports']}")
    shares = {}
    for s in settings():
        config = f"adaptive:without={s}" if s else "adaptive"
        turns = []
        for turn in range(data["runs"]):
            found = sum(len({r["places"] for r in p["runs"][config][turn]["found"]} & set(p["races"])) for p in data["programs"])
            turns.append(found / sum(len(p["races"]) for p in data["programs"]))
        shares[s] = turns
    return shares


def cpu_of(command, options):
    child = subprocess.Popen(command, env={**os.environ, "RAILBIRD_OPTIONS": options + " exitcode=0 report=json:/dev/null"},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"{command}: status {status}")
    return used.ru_utime + used.ru_stime


def cost(tool, work, runs):
    """Returns for each program and setting the CPU time of each run over the median of sampler=none."""
    over = {}
    for name, arguments in COST:
        program = os.path.join(work, name)
        run(tool, "cc", "-O2", "-g", os.path.join(TOP, "bench", "online", "programs", name + ".c"), "-o", program, "-lpthread")
        times = {s: [] for s in ["none"] + settings()}
        for _ in range(runs):
            for s in random.sample(list(times), len(times)):
                times[s].append(cpu_of([program, *arguments], "sampler=none" if s == "none" else f"sampler=adaptive budget=5% without={s}"))
        base = statistics.median(times.pop("none"))
        over[name] = {s: [t / base - 1 for t in each] for s, each in times.items()}
    return over


def interval(values):
    """Mean and half of the 95 % interval, in per cent."""
    half = 1.96 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{100 * statistics.mean(values):.1f}±{100 * half:.1f}"


def middle(values):
    return f"{100 * statistics.median(values):.0f} ({100 * min(values):.0f}..{100 * max(values):.0f})"


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--runs", type=int, default=8)
    ask.add_argument("--size", type=int, default=100)
    ask.add_argument("--only", default="*")
    ask.add_argument("--cost-runs", type=int, default=5)
    ask.add_argument("--detect", metavar="JSON", help="recall of an earlier run, instead of a new one")
    ask.add_argument("-o", default=os.path.join(TOP, "bench", "results", "ablation.md"))
    a = ask.parse_args()
    work = os.path.join(TOP, "bench", "out", "ablation")
    os.makedirs(work, exist_ok=True)
    tool = build(work)
    shares, over = recall(tool, work, a), cost(tool, work, a.cost_runs)
    cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), platform.machine())
    with open(a.o, "w", encoding="utf-8") as out:
        out.write(f"""# The default sampler, mechanism by mechanism

Written by `bench/ablation/run.py`: commit {BASE}, each mechanism switched off alone; {len(shares[0])} runs of `bench/detect` at size {a.size};
{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end. Recall is the share of the races in one run, per cent, with its
95 % interval. Cost is CPU time over `sampler=none`, per cent: median (least to most) of {a.cost_runs} runs at a budget of 5 %.

| without | recall | {" | ".join(name for name, _ in COST)} | decision |
|---|---:|{"---:|" * len(COST)}---|
""")
        rows = [(0, "(nothing: the whole sampler)", "")] + [(1 << n, text, fate) for n, text, fate in MECHANISMS]
        for s, text, fate in rows:
            out.write(f"| {text} | {interval(shares[s])} | {' | '.join(middle(over[name][s]) for name, _ in COST)} | {fate} |\n")
    print(a.o)


main()
