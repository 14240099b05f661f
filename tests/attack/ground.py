# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where attacks take place: programs in all their builds, and how a command is run and judged."""
import os
import re
import shlex
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RAILBIRD = os.environ["RAILBIRD"]
RACE = "WARNING: Railbird: data race"
UNWATCHED = "Railbird: the program runs unwatched"
SAMPLERS = ("adaptive", "all", "all:engine=fasttrack", "all:engine=st", "literace", "random:0.1", "none")
SECONDS = 600  # of the clock, for what hangs; CPU time is what cases bound


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return "status %s, %d bytes: %s" % (self.status, len(self.out), self.err[-300:].strip())


class Ground:
    def __init__(self, folder):
        self.folder = folder
        self.commands = []
        self.built = {}

    def begin(self):
        """A new case: an empty folder to work in."""
        self.commands = []
        shutil.rmtree(self.path("case"), ignore_errors=True)
        os.mkdir(self.path("case"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, words, options=None, env=None, cpu=120, memory=None, within="case", seconds=SECONDS):
        """Runs a command in the folder of the case. The statuses of bash: 128 and more is a signal; 124 did not end."""
        environment = dict(os.environ, **(env or {}))
        if options is not None:
            environment["RAILBIRD_OPTIONS"] = options
        limits = "ulimit -S -c 0 -t %d%s; exec \"$@\"" % (cpu, " -v %d" % memory if memory else "")
        self.commands.append("%s%s" % ("RAILBIRD_OPTIONS=%s " % shlex.quote(options) if options is not None else "",
                                       " ".join(map(shlex.quote, words))))
        process = subprocess.Popen(["/bin/bash", "-c", limits, "bash"] + list(words), cwd=self.path(within), env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            status = 124
        try:
            os.killpg(process.pid, 9)  # children that it left behind
        except ProcessLookupError:
            pass
        return Result(status if status >= 0 else 128 - status, out.decode(errors="replace"), err.decode(errors="replace"))

    def railbird(self, *words, **more):
        return self.run([RAILBIRD] + list(words), **more)

    def build(self, source, build):
        """The program of a source, plain or instrumented in one of several ways; None if that cannot be built here."""
        key = os.path.basename(source).rsplit(".", 1)[0] + "." + build
        if key in self.built:
            return self.built[key]
        path = self.path(re.sub(r"[^a-zA-Z0-9.]+", "_", key))  # `env` takes a word with "=" for a variable
        kind, _, flags = build.partition(" ")
        compiler = {"plain": ["gcc"], "ours": [RAILBIRD, "cc"], "clang": [RAILBIRD, "cc"], "tsan": ["gcc", "-fsanitize=thread"]}[kind]
        env = dict(os.environ, RAILBIRD_CC="clang" if kind == "clang" else "gcc")
        done = subprocess.run(compiler + ["-O1", "-g", "-w"] + flags.split() + [source, "-o", path, "-pthread", "-lrt"],
                              env=env, capture_output=True)
        self.built[key] = path if done.returncode == 0 else None
        if done.returncode and kind in ("plain", "ours"):
            print("cannot build %s: %s" % (key, done.stderr.decode()[-500:]), flush=True)
        return self.built[key]

    def compare(self, source, build, sampler, words=(), racy=False, wrapper=(), env=None):
        """The program in the surroundings that `wrapper` makes, and the plain build in the same. The race of a racy one must be
        found if everything is looked at, and nothing may be reported of another."""
        plain, ours = self.build(source, "plain"), self.build(source, build)
        if not plain or not ours:
            return None
        wrapper = list(wrapper) + (["/usr/bin/env"] + ["%s=%s" % pair for pair in env.items()] if env else [])
        wanted = self.run(wrapper + [plain] + list(words))
        if wanted.status:  # it cannot live there by itself
            return None
        run = [RAILBIRD, "run", "-o", "sampler=" + sampler] if build.startswith("tsan") else []
        got = self.run(wrapper + run + [ours] + list(words), options="sampler=" + sampler)
        if run and got.status == 2 and not got.out and len(got.err.splitlines()) == 1 and got.err.startswith("railbird run: "):
            return None  # refused, and why
        if got.out != wanted.out:
            return "output %r instead of %r, %s" % (got.out[:200], wanted.out[:200], got)
        unwatched = UNWATCHED in got.err
        statuses = (0, 66) if racy else (0,)
        if racy and sampler.startswith("all") and not unwatched:
            statuses = (66,)
        if got.status not in statuses:
            return "status %d instead of %s: %s" % (got.status, " or ".join(map(str, statuses)), got.err[-1500:])
        if not racy and RACE in got.err:
            return "reported: " + got.err[:3000]
        return None
