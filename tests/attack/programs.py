# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads, children and ways to hand data over, as programs/*.c have them, in several builds under several samplers."""
import glob
import os
import subprocess

from ground import HERE, SAMPLERS

BUILDS = ("ours", "ours", "clang", "ours -O2", "ours -static", "tsan", "ours -no-pie")


def cases(ground, rng):
    ways = []
    for source in sorted(glob.glob(os.path.join(HERE, "programs", "*.c"))):
        plain = ground.build(source, "plain")
        ways += [(source, way) for way in subprocess.run([plain, "-l"], capture_output=True, text=True).stdout.split()]
    while True:
        rng.shuffle(ways)
        for source, way in ways:
            build, sampler, racy = rng.choice(BUILDS), rng.choice(SAMPLERS), rng.random() < 0.3
            yield ("%s %s, %s, %s%s" % (os.path.basename(source), way, build, sampler, ", race" if racy else ""),
                   lambda: ground.compare(source, build, sampler, [way] + ["race"] * racy, racy))
