#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `run` costs: every program of bench/programs plain, with empty hooks, with each engine and sampler, and with the
compilers' own ThreadSanitizer. Rounds are interleaved; a figure is the median of ratios within a round, of CPU
time (user + system), because wall time on a shared machine says little. Peak memory is the largest of all rounds. A round
takes about four minutes.

  bench/run.py BUILD [--rounds N] [--only PROGRAM,…] [--quick]
"""
import argparse, json, os, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RATES = [("0.3", "random:0.003"), ("3", "random:0.03"), ("10", "random:0.1"), ("100", "all")]


def build(folder, out):
    """name -> {variant: path}"""
    cc, rb = "gcc", os.path.join(folder, "bin", "railbird")
    nop = os.path.join(folder, "lib", "librailbird_nop.a")
    made = {}
    subprocess.run([cc, "-O2", os.path.join(HERE, "online", "measure.c"), "-o", os.path.join(out, "measure")], check=True)
    for source in sorted(os.listdir(os.path.join(HERE, "programs"))):
        name, path = source[:-2], os.path.join(HERE, "programs", source)
        to = lambda v: os.path.join(out, f"{name}.{v}")
        run = lambda *a, **k: subprocess.run(a, check=True, **k)
        run(cc, "-O2", "-g", path, "-o", to("plain"), "-lpthread")
        run(cc, "-O2", "-g", "-fsanitize=thread", "-c", path, "-o", to("o"))
        run(cc, to("o"), nop, "-o", to("nop"), "-lpthread")
        run(rb, "cc", "-O2", "-g", path, "-o", to("rt"), env={**os.environ, "RAILBIRD_CC": cc})
        run(cc, "-O2", "-g", "-fsanitize=thread", path, "-o", to("gcc-tsan"))
        run("clang", "-O2", "-g", "-fsanitize=thread", path, "-o", to("clang-tsan"))
        made[name] = {v: to(v) for v in ("plain", "nop", "rt", "gcc-tsan", "clang-tsan")}
    return made


def measure(out, path, options=""):
    """CPU seconds and peak MiB, by bench/online's small launcher: a child's peak begins with its parent's."""
    env = {**os.environ, "RAILBIRD_OPTIONS": options, "TSAN_OPTIONS": "exitcode=0"}
    subprocess.run([os.path.join(out, "measure"), "600", "25", out, path], env=env, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(os.path.join(out, "result")) as f:
        used = json.load(f)
    if used["status"] or used["late"]:
        sys.exit(f"{path} {options}: status {used['status']}{', killed after ten minutes' * used['late']}")
    return used["cpu"], used["peak_kib"] / 1024


def variants(quick):
    yield "plain", "plain", ""
    yield "empty hooks", "nop", ""
    engines = ("so",) if quick else ("st", "su", "so")
    yield "none", "rt", "sampler=none:exitcode=0"
    yield "adaptive, 5 % so", "rt", "engine=so:sampler=adaptive:budget=5%:exitcode=0"
    for engine in engines:
        for label, sampler in RATES:
            yield f"{label} % {engine}", "rt", f"engine={engine}:sampler={sampler}:exitcode=0:seed=1"
    yield "100 % fasttrack", "rt", "engine=fasttrack:sampler=all:exitcode=0"
    for sampler in ("literace", "pacer:0.03", "static:0.03", "rpt:0.1,0.1"):
        yield f"{sampler} so", "rt", f"engine=so:sampler={sampler}:exitcode=0:seed=1"
    yield "gcc TSan", "gcc-tsan", ""
    yield "clang TSan", "clang-tsan", ""


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--only", default="")
    ask.add_argument("--quick", action="store_true")
    a = ask.parse_args()
    with tempfile.TemporaryDirectory() as out:
        programs = build(a.build, out)
        names = [n for n in programs if not a.only or n in a.only.split(",")]
        rows = list(variants(a.quick))
        cpu = {n: {r[0]: [] for r in rows} for n in names}
        memory = {n: {r[0]: 0 for r in rows} for n in names}
        for turn in range(a.rounds):
            for n in names:
                for label, kind, options in rows:
                    seconds, peak = measure(out, programs[n][kind], options)
                    cpu[n][label].append(seconds)
                    memory[n][label] = max(memory[n][label], peak)
                    if sys.stderr.isatty():
                        print(f"\rround {turn + 1}: {n} {label}      ", end="", file=sys.stderr)
        ratio = lambda n, label, base: statistics.median(
            x / max(b, 1e-3) for x, b in zip(cpu[n][label], cpu[n][base]))
        print("CPU time, as a multiple of plain (median of ratios within a round) and peak memory in MiB\n")
        print("| | " + " | ".join(f"{n} | MiB" for n in names) + " |")
        print("|---|" + "---:|---:|" * len(names))
        for label, _, _ in rows:
            print(f"| {label} | " + " | ".join(
                f"{ratio(n, label, 'plain'):.2f} | {memory[n][label]:.0f}" for n in names) + " |")
        print("\nplain CPU seconds: " + ", ".join(f"{n} {statistics.median(cpu[n]['plain']):.2f}" for n in names))
        if a.quick:
            return
        print("\nAbove empty hooks: what ST costs, and what SU and SO take off it (per cent of ST's; the paper: 37 at 0.3 %, "
              "17 (SU) and 19 (SO) at 3 %)\n")
        print("| program | rate | ST above empty, x plain | SU takes off | SO takes off |\n|---|---:|---:|---:|---:|")
        for n in names:
            for label, _ in RATES[:3]:
                above = {e: ratio(n, f"{label} % {e}", "plain") - ratio(n, "empty hooks", "plain") for e in ("st", "su", "so")}
                off = lambda e: f"{100 * (1 - above[e] / above['st']):.0f} %" if above["st"] > 0.02 else "too small"
                print(f"| {n} | {label} % | {above['st']:.2f} | {off('su')} | {off('so')} |")


main()
