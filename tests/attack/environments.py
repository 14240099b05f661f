# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs in surroundings that few have: limits, descriptors that are closed, no environment, layouts, users, signals."""
import os

from ground import HERE, SAMPLERS

BUILDS = ("ours", "ours", "clang", "ours -static", "ours -static-pie", "ours -no-pie", "tsan", "ours -Wl,-z,now,-z,relro", "ours -O3",
          "ours -fstack-protector-all -D_FORTIFY_SOURCE=2 -O2", "ours -Wl,--hash-style=sysv", "ours -flto", "ours -s")
LIMITS = ["v 500000", "v 200000", "v 100000", "v 60000", "s 64", "s 32", "s unlimited", "n 16", "n 8", "n 4", "f 0", "f 1", "c 0", "l 0",
          "i 0", "i 10", "t 30", "u 200", "d 100000", "d 20000", "d 8000", "q 0", "e 0", "x 0"]
ROOT = os.geteuid() == 0


def bash(script):
    return ["/bin/bash", "-c", script + '; exec "$@"', "bash"]


def surroundings(rng):
    """Words before the program, and variables."""
    env = {}
    some = [
        lambda: bash("ulimit -S -" + rng.choice(LIMITS)),
        lambda: bash("ulimit -" + rng.choice(LIMITS)),
        lambda: bash("exec " + " ".join("%d%s&-" % (fd, "<" if fd == 0 else ">") for fd in range(2) if rng.random() < 0.6) + " 2>&2"),
        lambda: bash("exec 2>&-"),
        lambda: bash("exec 2>/dev/full"),
        lambda: bash("for fd in $(seq 3 %d); do eval \"exec $fd</dev/null\"; done" % rng.randrange(4, 200)),
        lambda: ["env", "-i", "RAILBIRD_OPTIONS=sampler=all"],
        lambda: ["setarch"] + rng.sample(["-R", "-L", "-3", "-X", "-Z"], rng.randrange(1, 3)),
        lambda: ["nice", "-n", "19"],
        lambda: ["taskset", "1"],
        lambda: ["chrt", "-i", "0"],
        lambda: ["setsid", "-w"],
        lambda: ["env", "-C", "/proc/self"],
        lambda: bash("umask 777"),
        lambda: bash("trap '' " + " ".join(rng.sample(["PIPE", "CHLD", "TERM", "INT", "USR1", "TRAP", "ALRM", "SEGV"], 3))),
        lambda: bash("mkdir gone && cd gone && rmdir ../gone"),
        lambda: env.update(LD_BIND_NOW="1") or [],
        lambda: env.update(MALLOC_PERTURB_=str(rng.randrange(256)), MALLOC_ARENA_MAX="1") or [],
        lambda: env.update(GLIBC_TUNABLES="glibc.malloc.tcache_count=0:glibc.pthread.mutex_spin_count=%d" % rng.randrange(1000)) or [],
        lambda: env.update(GLIBC_TUNABLES="glibc.pthread.rseq=0") or [],
        lambda: env.update(LC_ALL=rng.choice(["", "C", "tr_TR.UTF-8", "x" * 3000]), TZ=":" + "x" * rng.randrange(100)) or [],
        lambda: env.update(PATH="", HOME="", TMPDIR="/nonexistent") or [],
        lambda: env.update({"X%d" % i: "y" * rng.randrange(2000) for i in range(rng.randrange(300))}) or [],
        lambda: env.update(TSAN_OPTIONS="atexit_sleep_ms=0:history_size=7:nonsense") or [],
    ]
    if ROOT:
        some += [
            lambda: ["setpriv", "--no-new-privs"],
            lambda: ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"],
            lambda: ["unshare", "-n"],
            lambda: ["unshare", "-i", "-u"],
            lambda: ["unshare", "--fork", "--pid"],
            lambda: ["unshare", "--fork", "--pid", "--mount-proc"],
            lambda: ["unshare", "-m"] + bash("mount -t tmpfs -o ro none /tmp/../dev/shm"),
            lambda: ["unshare", "-m"] + bash("umount -l /proc"),
            lambda: ["unshare", "-m"] + bash("mount -t tmpfs -o ro none /proc"),
        ]
    words = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        words = rng.choice(some)() + words
    return words, env


def cases(ground, rng):
    race = os.path.join(HERE, "..", "start", "race.c")
    threads = os.path.join(HERE, "programs", "threads.c")
    while True:
        wrapper, env = surroundings(rng)
        build, sampler = rng.choice(BUILDS), rng.choice(SAMPLERS)
        if any(word.startswith("RAILBIRD_OPTIONS=") for word in wrapper):
            sampler = "all"
        source, words, racy = rng.choice(((race, (), True), (threads, ("barriers",), False), (threads, ("once", "race"), True),
                                          (threads, ("keys",), False)))
        yield ("%s %s, %s, %s: %s %s" % (os.path.basename(source), " ".join(words), build, sampler, " ".join(wrapper), env),
               lambda: ground.compare(source, build, sampler, words, racy, wrapper, env))
