#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many instructions a synchronisation operation takes, with 1 to 1,024 threads: counted by single steps, so the same on any
machine and on a busy one.

    bench/steps/run.py BUILD [--threads N,...] [--settings S,...]

BUILD is a build folder. A setting is `plain` (built without Railbird) or options of the runtime. The first thread uses objects that
all the other threads have used before and that have nothing new for it; with sampler=all atomics are sampled accesses, and so
is the one of the last row. An operation is a lock and its unlock, or one atomic. Writes a Markdown table; exit status 1 if with the first
setting of engine so an operation without anything new takes more instructions with many threads than with one.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["", "mutex", "write lock", "read lock", "acquire load", "release store", "read-modify-write", "mutex, an access between"]
ROUNDS = 16


def count(work, build, setting, threads):
    program = os.path.join(work, "plain" if setting == "plain" else "checked")
    env = dict(os.environ, RAILBIRD_OPTIONS="exitcode=0 report=json:/dev/null " + ("" if setting == "plain" else setting))
    done = subprocess.run([os.path.join(work, "steps"), program, str(threads)], env=env, timeout=300, check=True,
                          stdout=subprocess.PIPE, text=True)
    steps = dict(map(int, line.split()) for line in done.stdout.splitlines())
    return [(steps[k] - steps[0]) / ROUNDS for k in range(1, len(KINDS))]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build")
    ask.add_argument("--threads", default="1,64,1024")
    ask.add_argument("--settings", default="plain,sampler=none,engine=so sampler=random:0.000001")
    a = ask.parse_args()
    threads = [int(t) for t in a.threads.split(",")]
    grows = []
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(HERE, "sync.c")
        for line in (["cc", "-O2", os.path.join(HERE, "steps.c"), "-o", work + "/steps"],
                     ["cc", "-O2", source, "-o", work + "/plain", "-lpthread"],
                     [os.path.join(a.build, "bin", "railbird"), "cc", "-O2", source, "-o", work + "/checked", "-lpthread"]):
            subprocess.run(line, check=True)
        print("Instructions an operation; across: threads beside the first.\n")
        judged = False
        for setting in a.settings.split(","):
            table = [count(work, a.build, setting, t) for t in threads]
            print(f"| {setting} | " + " | ".join(f"{t:,}" for t in threads) + " |\n|---|" + "---:|" * len(threads))
            for k, kind in enumerate(KINDS[1:]):
                print(f"| {kind} | " + " | ".join(f"{row[k]:.1f}" for row in table) + " |")
                if "engine=so" in setting and not judged and k < len(KINDS) - 2 and table[-1][k] > table[0][k] + 1:
                    grows.append(kind)
            judged |= "engine=so" in setting
            print(flush=True)
    for kind in grows:
        print(f"NOT FLAT: {kind}", file=sys.stderr)
    return 1 if grows else 0


sys.exit(main())
