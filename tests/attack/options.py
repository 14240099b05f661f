# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that are none, in the environment and on the command line: the program is as ever, and each is said in a line."""
import os
import re

from ground import HERE

VALUES = ["", "0", "1", "-1", "2", "1e9", "1e-9", "nan", "inf", "-0", "99999999999999999999", "0x10", "1M", "1G", "1T", "-1M", "5%", "500%", "-5%",
          "100%", "%", "%s%n", "yes", "no", "true", "all", "none", "adaptive", "random", "random:", "random:2", "random:-1", "random:nan",
          "pacer:", "pacer:0.1,", "rpt:1", "rpt:0,0", "static:", "crsampler:1", "so", "su", "djit", "fasttrack", "text", "json:",
          "json:/dev/full", "json:.", "json:no/where", "text,json:", "text,text", ".", "\\", "'", "\"", "\"x", "a b", "x" * 300,
          "x" * 20000, "\x01\x02", "\xff", "ü", "=", "==", ":", "::", ",", "\n", "\t", "a\nb", "*", "race:*", "~", "$HOME", "`id`", "../x"]
TSAN = ["halt_on_error=1", "exitcode=0", "history_size=7", "report_bugs=0", "suppressions=/nonexistent", "log_path=/nonexistent/x", "nonsense=1",
        "verbosity=2", "symbolize=0", "strip_path_prefix=/", "detect_deadlocks=1", "flush_memory_ms=10", "atexit_sleep_ms=0", "help=1"]
SEPARATORS = ":: \t\n,"


def cases(ground, rng):
    threads = os.path.join(HERE, "programs", "threads.c")
    keys = []
    while True:
        if not keys:
            ground.begin()
            keys = re.findall(r"^  ([a-z_]+) ", ground.railbird("run", "-h").out.split("Options of the runtime")[1], re.M)
            keys += ["sampel", "", "SAMPLER", "x" * 100]
        kind = rng.randrange(3)
        pairs = ["%s%s%s" % (rng.choice(keys), rng.choice(("=", "=", "=", "", "==", " = ")), rng.choice(VALUES))
                 for _ in range(1 if kind else rng.randrange(1, 8))]
        text = rng.choice(SEPARATORS).join(pairs).replace("\0", "")
        if kind == 2:
            yield "-o %r" % text, lambda: on_command_line(ground, threads, text)
        else:
            theirs = {"TSAN_OPTIONS": rng.choice(SEPARATORS).join(rng.sample(TSAN, rng.randrange(0, 4)))}
            yield "RAILBIRD_OPTIONS %r %r" % (text, theirs), lambda: in_environment(ground, threads, text, theirs)


def in_environment(ground, source, text, env):
    wanted = ground.run([ground.build(source, "plain"), "once"])
    got = ground.run([ground.build(source, "ours"), "once"], options=text, env=env)
    if "strict" in text and got.status == 2 and not got.out:
        return None
    if got.status != wanted.status or got.out != wanted.out:
        return "%s instead of %s" % (got, wanted)
    return "reported" if "WARNING: Railbird" in got.err else None


def on_command_line(ground, source, text):
    wanted = ground.run([ground.build(source, "plain"), "once"])
    got = ground.railbird("run", "-o", text, ground.build(source, "ours"), "once")
    if got.status == 2:
        return None if not got.out and len(got.err.splitlines()) == 1 else "refused in other than one line: %s" % got
    return None if got.status == wanted.status and got.out == wanted.out else "%s instead of %s" % (got, wanted)
