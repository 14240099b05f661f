#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time cost: CPU time, memory and size of objects, plain, ThreadSanitizer, ours.

    bench/compile_cost.py BUILD [--rounds N] [-o FILE] [-- SOURCE...]

Compiles each source (by default the C files of the tool itself) with -O2 -g, by gcc and by clang, the builds interleaved. A
cell is the sum over the files of each file's median, as a ratio to the plain build. The table is written to FILE, by default
bench/results/compile-cost.md.
"""
import argparse
import glob
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ROOMS = ["cmd", "report", "lab", "trace", "engine"]


def compile_one(words, source, out, extra):
    """CPU seconds, the compiler's largest resident memory in KiB, and the bytes of text."""
    command = [*words, "-O2", "-g", "-D_GNU_SOURCE", "-DRB_VERSION=\"0\"", f"-I{ROOT}/src", f"-I{ROOT}/include", "-I/usr/include/libiberty", "-c", source, "-o", out]
    child = subprocess.Popen(command, env={**os.environ, **extra}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words_said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}: status {child.returncode}: {words_said.decode()[-300:]}")
    text = subprocess.run(["size", out], capture_output=True, text=True, check=True).stdout.split("\n")[1].split()[0]
    return used.ru_utime + used.ru_stime, used.ru_maxrss, int(text)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("sources", nargs="*")
    ask.add_argument("--rounds", type=int, default=3)
    ask.add_argument("-o", default=os.path.join(HERE, "results", "compile-cost.md"))
    a = ask.parse_args()
    rb = os.path.join(a.build, "bin", "railbird")
    sources = a.sources or sorted(f for room in ROOMS for f in glob.glob(f"{ROOT}/src/{room}/**/*.c", recursive=True))
    rows = [("ThreadSanitizer", lambda cc: [cc, "-fsanitize=thread"], {}), ("`railbird cc`", lambda cc: [rb, "cc"], {}),
            ("`railbird cc`, `RAILBIRD_BODIES=one`", lambda cc: [rb, "cc"], {"RAILBIRD_BODIES": "one"})]
    with tempfile.TemporaryDirectory() as folder, open(a.o, "w") as f:
        lines = sum(len(open(s, encoding="utf-8", errors="replace").readlines()) for s in sources)
        print(f"# Compile-time cost\n\nWritten by `bench/compile_cost.py`: {len(sources)} files, {lines} lines, -O2 -g, {a.rounds} rounds interleaved; "
              f"plain = 1.0.\n\n| compiler | build | CPU time | memory, largest of a file | text |\n|---|---|---:|---:|---:|", file=f)
        for cc in ("gcc", "clang"):
            builds = {"plain": ([cc], {})} | {name: (words(cc), {"RAILBIRD_CC": cc, **extra}) for name, words, extra in rows}
            if cc == "clang":  # second bodies come from a plugin for gcc
                del builds[rows[2][0]]
            found = {name: [[] for _ in sources] for name in builds}
            for _ in range(a.rounds):
                for i, source in enumerate(sources):
                    for name, (words, extra) in builds.items():
                        found[name][i].append(compile_one(words, source, os.path.join(folder, "out.o"), extra))
            cost = {name: [sum(statistics.median(run[k] for run in runs) for runs in of) for k in (0, 2)]
                    + [max(run[1] for runs in of for run in runs)] for name, of in found.items()}
            for name in list(builds)[1:]:
                cpu, text, memory = (cost[name][k] / cost["plain"][k] for k in range(3))
                print(f"| {cc} | {name} | {cpu:.2f} | {memory:.2f} | {text:.2f} |", file=f)
    print(open(a.o).read())


if __name__ == "__main__":
    main()
