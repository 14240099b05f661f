#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What looking for races costs while programs run: programs people use and four small ones, plain, with every sampler, and
under other tools; and whether what is promised about it holds.

    bench/online/run.py BUILD [--quick] [--only GLOB] [--variants LIST] [--rounds N] [--turn MS] [--json FILE] [--retries N] [--limit SHARE]

Programs come from Debian source packages, fetched and built by the functions of tests/field (FIELD_CACHE is where), and from
programs/*.c; one whose source cannot be had is left out, in words. In a round each variant of a program takes turns with the plain and the
dormant one, --turn milliseconds each: one goes on, the others are stopped (measure.c). So the three share what the machine does meanwhile, and it may change from
second to second; no more than three, as whoever goes on finds the caches empty and its clocks ahead of its work. Slow ones, those with a small load and tools run alone, one after the other. `--variants 'dormant dormant-again'` runs the same
thing twice, which says how far apart two equal things are. CPU time is user and system time of the program, servers included, the
load generator not; wall time is of its own turns. A group that was disturbed (the rest of the machine used, or the host took, more than --limit
of the processors' time) is repeated, up to --retries times, and never counted beside others; where no run was left alone, the best of the
disturbed stands in, marked ~, and no promise is judged by it. Writes bench/out/online.md, .json and .html (with --quick: online-quick.*), and the
reports of races themselves, each once, to online-reports.jsonl, for `railbird report`.
"""
import argparse
import contextlib
import fnmatch
import getpass
import glob
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source's folder stays as it is
import report  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FIELD = os.path.join(TOP, "tests", "field")
SKIPPED = 77
CONNECTIONS = 32


class Program:
    """name; where it comes from (a script of tests/field, or a file of programs/); kind: tool, server or sync; the file to run in what was
    built; arguments for the whole load and for the small one of the slowest tools. noisy: threads that wait by spinning, or for each other all the time, whose
    CPU time is another by 10 to 30 % each time; what is measured often is measured three times as often there."""

    def __init__(self, name, source, kind, binary, load, small, text=None, noisy=False):
        self.name, self.source, self.kind, self.binary = name, source, kind, binary
        self.load, self.small, self.text, self.noisy = load, small, text, noisy
        self.versions, self.missing, self.built = "", "", {}


def redis(work, port):
    return ["--port", str(port), "--bind", "127.0.0.1", "--io-threads", "2", "--io-threads-do-reads", "yes", "--save", "", "--appendonly",
            "no", "--loglevel", "warning", "--logfile", "log", "--dir", work]


def memcached(_, port):
    return ["-u", getpass.getuser(), "-p", str(port), "-U", "0", "-l", "127.0.0.1", "-t", "4", "-m", "64", "-c", "256"]


# The whole load: one to three seconds of CPU time, plain. Coders get tables that fit a core's own cache: with larger ones what is measured on a
# shared machine is its neighbours (xz -2 took between 0.12 and 0.27 s for the same 8 MB, a loop in registers the same within a hundredth).
ZSTD = "-q -f -T4 --zstd=wlog=16,clog=14,hlog=14,slog=4,strat=4 -B512KiB -c in".split()
XZ = "-T4 --lzma2=preset=0,dict=64KiB --block-size=256KiB -k -c in".split()
PROGRAMS = [
    Program("pigz", "pigz", "tool", "pigz", "-n -p4 -b64 -k -c in".split(), "-n -p4 -b64 -k -c in".split(), (64, 2)),
    Program("zstd", "zstd", "tool", "programs/zstd", ZSTD, ZSTD, (64, 2)),
    Program("lbzip2", "lbzip2", "tool", "src/lbzip2", "-n4 -9 -k -c in".split(), "-n4 -9 -k -c in".split(), (16, 1)),
    Program("xz", "xz", "tool", "src/xz/xz", XZ, XZ, (16, 1)),
    Program("memcached", "memcached", "server", "memcached", (memcached, 100000), (memcached, 2000)),
    Program("redis", "redis", "server", "src/redis-server", (redis, 60000), (redis, 2000), noisy=True),
    Program("sqlite", "sqlite", "tool", "online", ["db", "50000"], ["db", "500"]),
    Program("pingpong-8", "pingpong.c", "sync", "", ["8", "50000000"], ["8", "200000"], noisy=True),
    Program("pingpong-64", "pingpong.c", "sync", "", ["64", "50000000"], ["64", "200000"], noisy=True),
    Program("array", "array.c", "tool", "", ["800000"], ["4000"]),
    Program("atomics", "atomics.c", "sync", "", ["10000000"], ["200000"], noisy=True),
]


class Variant:
    """What is run how. SOME or ONE of the rounds for the slow ones. often: how many times a round, for what is promised to the per cent and what is
    there for comparison. watch: under `railbird watch`, with these words; the program is the plain one. asked_for: it only runs when it is named."""

    def __init__(self, name, build, options="", tool="", slow=None, small=False, watch="", asked_for=False, often=1):
        self.name, self.build, self.options, self.tool, self.slow, self.small = name, build, options, tool, slow, small
        self.watch, self.asked_for, self.often = watch, asked_for or bool(watch), often

    def takes_part(self, number, rounds):
        return number < {None: max(1, rounds * min(self.often, 1)), SOME: max(1, rounds * 2 // 5), ONE: 1}[self.slow]

    def takes_turns(self):
        return not (self.slow or self.small or self.tool)


SOME, ONE = "some", "one"
VARIANTS = [
    Variant("plain", "plain"),
    Variant("nop", "nop", often=0.6),
    Variant("dormant", "railbird", "sampler=none"),
    Variant("dormant-again", "railbird", "sampler=none", asked_for=True),
    Variant("one-body", "one", "sampler=none", often=0.6),  # dormant, without the plugin
    *[Variant(f"adaptive:{b}%", "railbird", f"sampler=adaptive budget={b}%", often=3 if b == 5 else 1) for b in (1, 2, 5, 20)],
    *[Variant(s, "railbird", f"sampler={s}", slow=ONE) for s in ("random:0.03", "literace", "pacer:0.03", "rpt:0.1,0.1", "static:0.03")],
    Variant("all", "railbird", "sampler=all", slow=ONE, small=True),
    Variant("gcc-tsan", "gcc-tsan", slow=ONE),
    Variant("clang-tsan", "clang-tsan", slow=SOME),
    Variant("plain-small", "plain", small=True),
    Variant("helgrind", "plain", tool="helgrind", slow=ONE, small=True),
    Variant("drd", "plain", tool="drd", slow=ONE, small=True),
    Variant("watch", "plain", watch="--mode both"),
    *[Variant(f"watch-{m}:{n}", "plain", watch=f"--mode {m} --per-second {n} --budget 100%")
      for m in ("clock", "collide") for n in (10, 100, 1000)],
    *[Variant(f"watch-{m}:{r}%,{w}ms", "plain", watch=f"--mode {m} --rate {float(r) / 100:g} --window {w} --budget 100%")
      for m in ("clock", "collide") for r in ("0.1", "1") for w in (15, 30)],
]
QUICK = ["plain", "nop", "dormant", "adaptive:5%", "clang-tsan"]


def ports(number):
    """That many, all different: each is kept until all are found."""
    with contextlib.ExitStack() as kept:
        sockets = [kept.enter_context(socket.socket()) for _ in range(number)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


def shell(*words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)


class Bench:
    def __init__(self, args):
        self.args = args
        self.railbird = os.path.join(os.path.abspath(args.build), "bin", "railbird")
        home = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
        self.cache = os.path.abspath(os.environ.get("FIELD_CACHE", os.path.join(home, "railbird-field")))
        self.own = os.path.join(self.cache, "online")
        self.tty = sys.stderr.isatty()
        self.runs = {}  # (program, variant) -> results, clean and disturbed
        self.wrong = []  # what failed, in words
        self.reports = {}  # (program, id) -> a line of JSON: each race that was reported, once
        os.makedirs(self.own, exist_ok=True)

    def progress(self, text):
        if self.tty:
            print(f"\r{text:.100}\033[K", end="", file=sys.stderr, flush=True)

    # Building

    def nop_installation(self):
        """The same compiler driver with empty hooks where the runtime is: a folder that looks like an installation."""
        lib, to = os.path.join(os.path.dirname(os.path.dirname(self.railbird)), "lib"), os.path.join(self.own, "nop")
        shutil.rmtree(to, ignore_errors=True)
        os.makedirs(os.path.join(to, "bin"))
        os.makedirs(os.path.join(to, "lib"))
        shutil.copy2(self.railbird, os.path.join(to, "bin"))
        for name in os.listdir(lib):
            os.symlink(os.path.join(lib, name), os.path.join(to, "lib", name))
        runtime = os.path.join(to, "lib", "librailbird_rt.a")
        os.remove(runtime)
        os.symlink(os.path.join(lib, "librailbird_nop.a"), runtime)
        return os.path.join(to, "bin", "railbird")

    def build(self, program, variant, nop):
        """Whether there is something to run; if not, it is said why."""
        railbird = nop if variant == "nop" else self.railbird
        env = {**os.environ, "RAILBIRD": railbird, "FIELD_CACHE": self.cache, "RAILBIRD_CC": "gcc", "LC_ALL": "C.UTF-8"}
        if variant in ("nop", "one"):  # code as gcc makes it, without our plugin
            env["RAILBIRD_BODIES"] = "one"
        self.progress(f"building {program.name} ({variant})")
        if program.source.endswith(".c"):
            to = os.path.join(self.own, f"{program.source[:-2]}.{variant}")
            cc = {"plain": ["gcc"], "nop": [railbird, "cc"], "railbird": [railbird, "cc"], "one": [railbird, "cc"], "gcc-tsan": ["gcc", "-fsanitize=thread"],
                  "clang-tsan": ["clang", "-fsanitize=thread"]}[variant]
            done = shell(*cc, "-O2", "-g", os.path.join(HERE, "programs", program.source), "-o", to, "-lpthread", env=env)
            if done.returncode:
                self.wrong.append(f"{program.name} ({variant}) does not build: {done.stderr.strip()[-300:]}")
                return False
            program.built[variant] = to
            return True
        try:
            done = shell(os.path.join(HERE, "build.sh"), program.source, variant, env=env, timeout=1800)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"{program.name} ({variant}): not built within half an hour")
            return False
        lines = done.stdout.strip().splitlines() or [""]
        if done.returncode == SKIPPED:
            program.missing = lines[-1]
            return False
        if done.returncode:
            self.wrong.append(f"{program.name} ({variant}) does not build: {lines[-1]} {done.stderr.strip()[-300:]}")
            return False
        program.versions, tree = lines[-1].split(" ", 1)
        program.built[variant] = os.path.join(tree, program.binary)
        return True

    def helpers(self):
        for name in ("measure", "load"):
            subprocess.run(["gcc", "-O2", "-Wall", os.path.join(HERE, name + ".c"), "-o", os.path.join(self.own, name)], check=True)

    def text(self, megabytes):
        """Text that compresses as text does: the field's, repeated beyond 32 MB (no coder here looks back that far)."""
        path = os.path.join(self.own, f"text-{megabytes}")
        if not os.path.exists(path):
            each = min(megabytes, 32)
            env = {**os.environ, "FIELD_CACHE": self.cache, "RAILBIRD": self.railbird}
            made = subprocess.run(["bash", "-c", 'source "$0"; text "$1"', os.path.join(FIELD, "lib.sh"), str(each)], env=env, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.strip()
            with open(path + ".new", "wb") as out:
                for _ in range(megabytes // each):
                    with open(made, "rb") as part:
                        shutil.copyfileobj(part, out)
            os.rename(path + ".new", path)
        return path

    # Running

    def job(self, program, variant, work, port):
        """Words for measure.c; `work` is the folder it runs in."""
        os.mkdir(work)
        arguments, load = program.small if variant.small else program.load, []
        command = [program.built[variant.build]]
        if program.text:
            os.symlink(self.text(program.text[variant.small]), os.path.join(work, "in"))
        if program.kind == "server":
            command += arguments[0](work, port)
            load = ["--load", os.path.join(self.own, "load"), program.name, str(port), str(arguments[1]), str(CONNECTIONS)]
        else:
            command += arguments
        if variant.watch:
            command = [self.railbird, "watch", *variant.watch.split(), "--", *command]
        if variant.tool:
            command = ["valgrind", f"--tool={variant.tool}", "--fair-sched=yes", f"--log-file={work}/valgrind", *command]
        return [work, "env", f"RAILBIRD_OPTIONS={variant.options} exitcode=0 report=json:{work}/reports stats=json:{work}/stats",
                f"TSAN_OPTIONS=exitcode=0 log_path={work}/tsan", *command, *load]

    def together(self, program, variants):
        """Each once, in turns; a result for each."""
        limit = self.args.timeout * (3 if any(v.slow for v in variants) else 1)
        with tempfile.TemporaryDirectory(prefix="railbird-online-") as top:
            works = [os.path.join(top, str(i)) for i in range(len(variants))]
            words = []
            for variant, work, port in zip(variants, works, ports(len(variants))):
                words += ["--next", *self.job(program, variant, work, port)]
            try:
                done = shell(os.path.join(self.own, "measure"), str(limit), str(self.args.turn), *words[1:], timeout=(limit + 60) * len(variants))
            except subprocess.TimeoutExpired:
                return [{"failed": "the measuring program did not end"} for _ in variants]
            if done.returncode:
                return [{"failed": "nothing was measured: " + done.stderr[-200:]} for _ in variants]
            return [self.collect(program, w) for w in works]

    def collect(self, program, work):
        def lines(name):
            path = os.path.join(work, name)
            with open(path, encoding="utf-8", errors="replace") if os.path.exists(path) else open(os.devnull, encoding="utf-8") as file:
                return file.read().splitlines()

        r = json.loads(lines("result")[0])
        if r["late"]:
            r["timeout"] = True
        elif r["status"] or r["load_status"]:
            return {"failed": f"status {r['status']}, load {r['load_status']}: " + " ".join(lines("err"))[-200:]}
        if program.kind == "server" and not r["late"]:
            r["latency"] = json.loads(lines("out")[-1])
        elif not r["late"]:
            with open(os.path.join(work, "out"), "rb") as out:
                r["output"] = hashlib.sha256(out.read()).hexdigest()
        reports = {json.loads(line)["id"]: line for line in lines("reports")}
        for name, line in reports.items():
            self.reports.setdefault((program.name, name), line)
        races = set(reports)
        for path in glob.glob(os.path.join(work, "tsan.*")):
            races |= {line for line in lines(os.path.basename(path)) if line.startswith("SUMMARY: ThreadSanitizer: data race")}
        r["races"] = len(races)
        for line in lines("valgrind"):
            if found := re.search(r"ERROR SUMMARY: .* from (\d+) contexts", line):
                r["races"] = int(found.group(1))
        stats = [json.loads(line) for line in lines("stats")]
        if stats:
            r["stats"] = {k: v for k, v in stats[0].items() if isinstance(v, (int, float))}
        r["disturbed"] = r["other"] + r["steal"] > self.args.limit * r["group_wall"] * os.cpu_count() + 0.03
        r["load1"] = os.getloadavg()[0]
        return r

    def fails(self, program, variant):
        """It did, so it would again."""
        return any("failed" in r or "timeout" in r for r in self.runs.get((program.name, variant.name), []))

    def undisturbed(self, program, variants, number, turn):
        """Repeated as a whole, without those that failed: what is compared is what took turns."""
        group = "+".join(sorted(v.name for v in variants)) + f", {turn + 1}"
        for attempt in range(self.args.retries + 1):
            self.progress(f"round {number + 1} of {self.args.rounds}: {program.name}, {', '.join(v.name for v in variants)}"
                          + (f" (again, disturbed: {attempt})" if attempt else ""))
            results = self.together(program, variants)
            for variant, r in zip(variants, results):
                self.runs.setdefault((program.name, variant.name), []).append(r | {"round": number, "group": group})
                if "failed" in r:
                    self.wrong.append(f"{program.name}, {variant.name}: {r['failed']}")
            variants = [v for v in variants if not self.fails(program, v)]
            if not variants or not any(r.get("disturbed") for r in results):
                return
            time.sleep(0.5)

    def groups(self, program, variants, number):
        """Plain, dormant and one more at a time take turns, every round another one first; then the others, each alone."""
        part = [v for v in variants if v.build in program.built and v.takes_part(number, self.args.rounds) and not self.fails(program, v)]
        bases = [v for v in part if v.name in ("plain", "dormant")]
        third = [v for v in part if v.takes_turns() and v not in bases]
        often = lambda v: 1 if v.often <= 1 else v.often * (3 if program.noisy else 1)
        groups = [bases + [v] for v in third for _ in range(often(v))] or [bases]
        first = [number % max(len(g), 1) for g in groups]
        return [g[f:] + g[:f] for g, f in zip(groups, first) if g] + [[v] for v in part if not v.takes_turns()]

    def measure(self, programs, variants):
        for number in range(self.args.rounds):
            for program in programs:
                for turn, group in enumerate(self.groups(program, variants, number)):
                    self.undisturbed(program, group, number, turn)
                yield number

    def keep_reports(self, path):
        """For `railbird report`: a number in a table says nothing of whether it is a race."""
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in self.reports.values())

    def outputs(self, programs, variants):
        """Programs must print the same whoever watches them."""
        for program in programs:
            for small in (False, True):
                seen = {}
                for v in variants:
                    for r in self.runs.get((program.name, v.name), []):
                        if v.small == small and "output" in r:
                            seen.setdefault(r["output"], v.name)
                if len(seen) > 1:
                    self.wrong.append(f"{program.name} prints something else under {list(seen.values())[1]} than under {list(seen.values())[0]}")


def arguments():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("build", help="a folder railbird was built in")
    ask.add_argument("--quick", action="store_true", help="one round, few variants")
    ask.add_argument("--only", default="*", metavar="GLOB", help="programs, as pigz or 'ping*'; several with commas")
    ask.add_argument("--variants", default="", metavar="LIST", help="names or globs with blanks between, as 'dormant adaptive*'; plain is always run")
    ask.add_argument("--rounds", type=int, default=0, help="default 5; slow tools get two fifths of them, or one; 5 %% is measured three times in each, nine times where much is noise")
    ask.add_argument("--turn", type=float, default=25, metavar="MS", help="how long a variant goes on while the others are stopped (25)")
    ask.add_argument("--json", default="", metavar="FILE", help="another place for the JSON")
    ask.add_argument("--out", default=os.path.join(TOP, "bench", "out"), help="where the table and the page go")
    ask.add_argument("--retries", type=int, default=-1, help="of a group that was disturbed (default 3; quick 1)")
    ask.add_argument("--limit", type=float, default=0.04, help="share of all processors' time that may have gone elsewhere (0.04)")
    ask.add_argument("--timeout", type=float, default=120, help="seconds for a run, of its own turns (120; slow tools three times that)")
    a = ask.parse_args()
    if a.turn <= 0:
        ask.error("--turn: more than 0")
    a.rounds = a.rounds or (1 if a.quick else 5)
    a.retries = a.retries if a.retries >= 0 else (1 if a.quick else 3)
    return a


def chosen(args):
    words = args.variants.split() or (QUICK if args.quick else ["*"])
    variants = [v for v in VARIANTS if v.name == "plain" or any(fnmatch.fnmatch(v.name, w) and not (v.asked_for and w == "*") for w in words)]
    if any(v.small for v in variants) and not any(v.name == "plain-small" for v in variants):
        variants.append(next(v for v in VARIANTS if v.name == "plain-small"))
    if shutil.which("valgrind") is None:
        variants = [v for v in variants if not v.tool]
    programs = [p for p in PROGRAMS if any(fnmatch.fnmatch(p.name, w) for w in args.only.split(","))]
    return programs, variants


def main():
    args = arguments()
    bench = Bench(args)
    programs, variants = chosen(args)
    if not programs:
        sys.exit(f"no program is called {args.only}; there are {', '.join(p.name for p in PROGRAMS)}")
    bench.helpers()
    nop = bench.nop_installation()
    for program in programs:
        for build in dict.fromkeys(v.build for v in variants):
            if not program.missing:
                bench.build(program, build, nop)
    left_out = [p.missing for p in programs if p.missing] + [f"{p.name}: no plain build" for p in programs
                                                               if not p.missing and "plain" not in p.built]
    programs = [p for p in programs if "plain" in p.built]
    if not programs:
        sys.exit("nothing to run:\n" + "\n".join(left_out + bench.wrong))
    os.makedirs(args.out, exist_ok=True)
    base = os.path.join(args.out, "online-quick" if args.quick else "online")
    result = None
    started = time.time()
    for _ in bench.measure(programs, variants):  # written after each program: what was measured is not lost
        wrong = list(bench.wrong)
        bench.outputs(programs, variants)
        result = report.Result(programs, variants, bench.runs, left_out, list(dict.fromkeys(bench.wrong)), args, time.time() - started)
        bench.wrong = wrong
        result.write(args.json or base + ".json", base + ".md", base + ".html")
        bench.keep_reports(base + "-reports.jsonl")
    bench.progress("")
    print(result.markdown())
    print(f"\n{base}.md, {base}.html, {args.json or base + '.json'}; reports of races: {base}-reports.jsonl")
    sys.exit(0 if result.all_held() else 1)


if __name__ == "__main__":
    main()
