#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the CPU time of bench/online's programs goes: how much of it is the runtime's own, counted from outside by `perf`.

    bench/online/where.py BUILD [--only GLOB] [--options OPTIONS] [--runs N] [--top N]

run.py compares whole runs, and two runs of the same thing differ by a per cent or more even in turns. Here a program is stopped 5,000
times a second of its CPU time and asked where it is: in a function of the runtime, in the kernel on the runtime's behalf (page faults of its
functions, mprotect, its thread), or in its own code. What the runtime takes from the program's caches is not in it, nor is waiting for
locks that others hold longer; so this is a lower bound, and a steady one. A function whose name both the runtime and the plain program have is
counted apart; atomic operations are done in the runtime's hooks, so programs that do little else say nothing here. Needs perf (linux-perf). The base is the same with sampler=none.
"""
import argparse
import collections
import fnmatch
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import run  # pylint: disable=wrong-import-position

HERTZ = 5000
KINDS = ("looking", "kernel", "ticker", "unclear")


def names_in(path):
    out = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=False).stdout
    return {line.split()[2] for line in out.splitlines() if len(line.split()) == 3 and line.split()[1] in "tTwWiI"}


def kind_of(thread, frames, ours, theirs):
    """frames: (address, symbol, file), innermost first. None: the program itself."""
    if thread == "railbird":
        return "ticker"
    user = [f for f in frames if not f[0] >> 47]
    inner = user[0] if user else (0, "", "")
    name = inner[1].split(".")[0]
    mine = name in ours and "libc.so" not in inner[2]
    if frames[0][0] >> 47:
        if any(f[1] == "__x64_sys_mprotect" for f in frames):
            return "kernel"
        return "kernel" if mine and name not in theirs and any("page_fault" in f[1] for f in frames) else None
    return ("unclear" if name in theirs else "looking") if mine else None


def samples(data):
    out = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym,dso"], capture_output=True, text=True, check=False).stdout
    for block in out.split("\n\n"):
        lines = block.strip("\n").splitlines()
        frames = []
        for line in lines[1:]:
            words = line.split(None, 1)
            symbol, _, file = words[1].rpartition(" (") if len(words) == 2 else ("", "", "")
            frames.append((int(words[0], 16), symbol.split("+")[0], file.rstrip(")")))
        if frames:
            yield lines[0].strip(), frames


class Where(run.Bench):
    def profile(self, program, options, ours, theirs):
        """Milliseconds by kind, and by function for the runtime's."""
        kinds, functions = collections.Counter(), collections.Counter()
        with tempfile.TemporaryDirectory(prefix="railbird-where-") as top:
            job = self.job(program, run.Variant("where", "railbird", options), f"{top}/job", *run.ports(1))
            run.shell("perf", "record", "-q", "-g", "-e", "cpu-clock", "-F", str(HERTZ), "-o", f"{top}/perf", os.path.join(self.own, "measure"), "120",
                      "25", *job)
            for thread, frames in samples(f"{top}/perf"):
                if thread in ("measure", "env", "load"):
                    continue
                kind = kind_of(thread, frames, ours, theirs)
                kinds[kind or "program"] += 1000 / HERTZ
                if kind and kind != "unclear":
                    functions[next((f[1] for f in frames if not f[0] >> 47), frames[-1][1])] += 1000 / HERTZ
        return kinds, functions


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build", help="a folder railbird was built in")
    ask.add_argument("--only", default="*", metavar="GLOB", help="programs; several with commas")
    ask.add_argument("--options", default="sampler=adaptive budget=5%", help="RAILBIRD_OPTIONS that are looked at (adaptive, 5 %%)")
    ask.add_argument("--runs", type=int, default=3)
    ask.add_argument("--top", type=int, default=0, metavar="N", help="also the N functions with most of it")
    args = ask.parse_args()
    bench = Where(args)
    bench.helpers()
    ours = names_in(glob.glob(os.path.join(os.path.dirname(bench.railbird), "..", "lib", "librailbird_rt.a"))[0])
    print(f"{args.options}: per cent of the CPU time of the same programs under sampler=none, mean of {args.runs} runs\n")
    print("| program | all | " + " | ".join(KINDS) + " |\n|---|---|" + "---|" * len(KINDS))
    for program in run.PROGRAMS:
        if not any(fnmatch.fnmatch(program.name, w) for w in args.only.split(",")):
            continue
        if not all(bench.build(program, v, "") for v in ("plain", "railbird")):
            print(f"| {program.name} | {program.missing or bench.wrong[-1]} |")
            continue
        theirs = names_in(program.built["plain"])
        parts = {o: [bench.profile(program, o, ours, theirs) for _ in range(args.runs)] for o in ("sampler=none", args.options)}
        base = sum(sum(k.values()) for k, _ in parts["sampler=none"])
        extra = {kind: sum(k[kind] for k, _ in parts[args.options]) - sum(k[kind] for k, _ in parts["sampler=none"]) for kind in KINDS}
        print(f"| {program.name} | {100 * sum(extra.values()) / base:.1f} | " + " | ".join(f"{100 * extra[k] / base:.1f}" for k in KINDS) + " |", flush=True)
        for name, ms in sum((f for _, f in parts[args.options]), collections.Counter()).most_common(args.top):
            print(f"    {ms / args.runs:8.2f} ms  {name}")


if __name__ == "__main__":
    main()
