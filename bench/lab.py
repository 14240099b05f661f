#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The laboratory's benchmark: the tables and the plot of docs/explanation/performance.md.

    bench/lab.py build/bin/railbird [--only NAME,...] [--scale X] [--work DIR]

Runs are interleaved (every configuration once, then all again), so that a slow moment of the machine hits all
of them; the best counts, with the spread beside it, and ratios are medians over the rounds or of the bests. Writes
bench/out/lab.md, bench/out/lab.json and bench/out/rpt.svg. --scale 0.01 makes a quick run of the same shape.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LITERACE = ["literace", "tl-fx", "g-ad", "g-fx", "rnd10", "rnd25", "ucp"]
PAPER_LITERACE = {  # LiteRace, table 3 (weighted average rate) and section 5.3 (share of static races found)
    "literace": ("1.8 %", "70 %"), "tl-fx": ("5.2 %", "72 %"), "g-ad": ("1.3 %", "22.7 %"), "g-fx": ("10.0 %", "48 %"),
    "rnd10": ("9.9 %", "24 %"), "rnd25": ("24.8 %", "-"), "ucp": ("98.9 %", "32 %"),
}


class Bench:
    def __init__(self, args):
        self.railbird = os.path.abspath(args.railbird)
        self.scale = args.scale
        self.work = args.work
        self.markdown = []
        self.data = {}

    def say(self, text=""):
        print(text, flush=True)
        self.markdown.append(text)

    def run(self, *args):
        done = subprocess.run([self.railbird, *args], capture_output=True, text=True)
        if done.returncode not in (0, 66):
            sys.exit(f"railbird {' '.join(args)}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def trace(self, events, **options):
        """A generated trace, made once; sizes scale with --scale."""
        events = max(20000, int(events * self.scale))
        words = [f"--{k}={v}" for k, v in sorted(options.items())]
        path = os.path.join(self.work, "-".join([f"{events:.0e}", *[w[2:] for w in words]]).replace("=", "") + ".rbt")
        if not os.path.exists(path):
            self.run("trace", "gen", "-o", path + ".part", f"--events={events}", *words)
            os.rename(path + ".part", path)
        return path

    def analyze(self, path, engine, sampler, seed=1):
        return json.loads(self.run("analyze", path, "--engine", engine, "--sampler", sampler, "--seed", str(seed),
                                   "--json"))

    def measure(self, cases, runs):
        """{case: [results]}, interleaved; a case is (path, engine, sampler). Each runs once before, uncounted: the
        cache is warm with what the case itself reads."""
        results = {case: [] for case in cases}
        for case in cases:
            self.analyze(*case)
        for _ in range(runs):
            for case in cases:
                results[case].append(self.analyze(*case))
        return results


def best(results, key="seconds"):
    return min(r[key] for r in results)


def spread(results, key="seconds"):
    """Middle of the runs over the best of them."""
    ordered = sorted(r[key] for r in results)
    return ordered[len(ordered) // 2] / ordered[0]


def table(bench, head, rows):
    bench.say("| " + " | ".join(head) + " |")
    bench.say("|" + "---|" * len(head))
    for row in rows:
        bench.say("| " + " | ".join(str(x) for x in row) + " |")
    bench.say()


def rates(bench):
    """Event rates: what sampling buys when synchronisation is nearly free."""
    path = bench.trace(1e8, threads=64, sync=0.15)
    cases = [(path, "fasttrack", "all"), (path, "djit", "all"), (path, "so", "all"), (path, "st", "random:0.03"),
             (path, "su", "random:0.03"), (path, "so", "random:0.03"), (path, "so", "random:0.003"), (path, "so", "none")]
    got = bench.measure(cases, 11)

    def ratio(above, below):
        """Median over the rounds of the ratio within a round."""
        ratios = sorted(a["seconds"] / b["seconds"] for a, b in zip(got[above], got[below]))
        return ratios[len(ratios) // 2]

    bench.say("### Event rates (64 threads, 15 % synchronisation)\n")
    rows = []
    for case in cases:
        r = got[case]
        s = best(r)
        rows.append([case[1], case[2], f"{s:.2f}", f"{best(r, 'cpu_seconds'):.2f}", f"{spread(r):.2f}",
                     f"{r[0]['events'] / s / 1e6:.0f}", f"{ratio(cases[0], case):.2f}x", f"{ratio(case, cases[-1]):.2f}x"])
    table(bench, ["engine", "sampler", "seconds (best)", "CPU s", "median / best", "million events/s", "over fasttrack all",
                  "time over `none`"], rows)
    bench.data["rates"] = {f"{c[1]} {c[2]}": best(got[c]) for c in cases}


def uniform(bench):
    """The worst case for so: every thread takes every lock, and every acquire has something to tell."""
    path = bench.trace(3e7, threads=64, sharing=1)
    cases = [(path, e, "random:0.03") for e in ("st", "su", "so")] + [(path, "fasttrack", "all")]
    got = bench.measure(cases, 5)
    bench.say("### All locks shared by all (64 threads, sharing=1)\n")
    rows = [[c[1], c[2], f"{best(got[c]):.2f}", f"{spread(got[c]):.2f}",
             f"{100 * got[c][0]['acquires_skipped'] / got[c][0]['acquires']:.0f}"] for c in cases]
    table(bench, ["engine", "sampler", "seconds (best)", "median / best", "acquires skipped %"], rows)
    bench.data["uniform"] = rows


def threads(bench):
    """Time against the number of threads, same events, same rate."""
    counts = [16, 64, 256, 1024]
    paths = {n: bench.trace(2e7, threads=n, locks=1024) for n in counts}
    bench.say("### Time against threads (same number of events)\n")
    rows = []
    for sampler in ("random:0.03", "random:0.003"):
        cases = [(paths[n], e, sampler) for e in ("st", "su", "so") for n in counts]
        got = bench.measure(cases, 5)
        for engine in ("st", "su", "so"):
            times = [best(got[(paths[n], engine, sampler)], "cpu_seconds") for n in counts]
            rows.append([engine, sampler] + [f"{t:.2f} ({t / times[0]:.2f}x)" for t in times])
            bench.data[f"threads {engine} {sampler}"] = times
    table(bench, ["engine", "sampler"] + [f"{n} threads, CPU s" for n in counts], rows)


def rpt(bench):
    """RPT: events read and time against the length of the trace."""
    sizes = [1e6, 1e7, 1e8, 1e9]
    sampler = "rpt:0.05,0.1"
    paths = [bench.trace(n, threads=8, locks=32, nesting=1) for n in sizes]
    cases = [(p, "fasttrack", sampler) for p in paths]
    got = bench.measure(cases, 9)
    full = bench.analyze(paths[1], "fasttrack", "all")["seconds"]
    bench.say("### RPT: time does not depend on the length (8 threads, `rpt:0.05,0.1`, fasttrack)\n")
    rows = []
    for size, case in zip(sizes, cases):
        r = got[case]
        rows.append([f"{r[0]['events']:.0e}", f"{r[0]['events_read']:,}", f"{r[0]['bytes_read']:,}",
                     f"{best(r) * 1e3:.2f}", f"{spread(r):.2f}", r[0]["warnings"], r[0]["racy_variables"]])
    table(bench, ["events n", "events read", "bytes read", "ms (best)", "median / best", "warnings", "racy variables"], rows)
    bench.say(f"For scale: fasttrack on all accesses of the {sizes[1]:.0e} trace takes {full * 1e3:.0f} ms.\n")
    bench.data["rpt"] = [[got[c][0]["events"], got[c][0]["events_read"], best(got[c])] for c in cases]
    per_event = full / got[cases[1]][0]["events"]
    plot_rpt(os.path.join(HERE, "out", "rpt.svg"), bench.data["rpt"], per_event)


def plot_rpt(path, points, per_event):
    """Log-log: RPT's time measured, fasttrack+all's extrapolated from one measured rate."""
    left, right, top, bottom, width, height = 70, 20, 20, 50, 640, 360
    xs = [math.log10(p[0]) for p in points]
    full = [p[0] * per_event for p in points]
    ys = [math.log10(p[2]) for p in points] + [math.log10(t) for t in full]
    low, high = math.floor(min(ys)), math.ceil(max(ys))

    def at(n, seconds):
        x = left + (math.log10(n) - xs[0]) / max(1e-9, xs[-1] - xs[0]) * (width - left - right)
        y = top + (high - math.log10(seconds)) / (high - low) * (height - top - bottom)
        return f"{x:.1f},{y:.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           "<title>RPT: analysis time against trace length</title>", f'<rect width="{width}" height="{height}" fill="white"/>']
    for power in range(low, high + 1):
        x, y = at(points[0][0], 10 ** power).split(",")
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{float(y) + 4}" text-anchor="end">{10 ** power:g} s</text>')
    for n, _, _ in points:
        x = at(n, 10 ** low).split(",")[0]
        out.append(f'<text x="{x}" y="{height - bottom + 20}" text-anchor="middle">{n:.0e}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">events in the trace</text>')
    for colour, label, series in (("#0072b2", "RPT (measured)", [(p[0], p[2]) for p in points]),
                                  ("#d55e00", "fasttrack on all accesses (rate measured at 1e7)",
                                   [(p[0], t) for p, t in zip(points, full)])):
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(at(*p) for p in series)}"/>')
        out += [f'<circle cx="{at(*p).split(",")[0]}" cy="{at(*p).split(",")[1]}" r="4" fill="{colour}"/>' for p in series]
        x, y = at(*series[1]).split(",")
        out.append(f'<text x="{float(x) + 8}" y="{float(y) - 10}" fill="{colour}">{label}</text>')
    out.append("</svg>")
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def work_set(bench):
    """Traces of different programs: threads, sharing, locks, share of synchronisation."""
    made = []
    for n, sharing, locks, sync in [(4, 0.1, 16, 0.15), (4, 1, 2, 0.3), (8, 0.02, 64, 0.1), (8, 0.1, 64, 0.15),
                                    (8, 0.5, 16, 0.2), (8, 1, 1, 0.3), (16, 0.05, 128, 0.05), (16, 0.1, 256, 0.15),
                                    (16, 0.3, 64, 0.25), (16, 1, 8, 0.15), (32, 0.02, 256, 0.1), (32, 0.1, 256, 0.15),
                                    (32, 0.5, 64, 0.2), (64, 0.02, 512, 0.15), (64, 0.1, 256, 0.15), (64, 0.3, 256, 0.3),
                                    (64, 1, 64, 0.15), (128, 0.1, 512, 0.15), (128, 0.5, 256, 0.1), (256, 0.1, 1024, 0.15)]:
        made.append((f"T={n} sharing={sharing} locks={locks} sync={sync}",
                     bench.trace(2e6, threads=n, sharing=sharing, locks=locks, sync=sync)))
    for n in (8, 64):
        made.append((f"T={n} rich=0.5", bench.trace(2e6, threads=n, rich=0.5)))
    return made


def clocks(bench):
    """Figures 7, 8 and 9 of Efficient Timestamping on our traces."""
    bench.say("### Work at synchronisation: acquires skipped, releases processed or deep copies, entries saved\n")
    rows, at_least = [], {}
    for name, path in work_set(bench):
        row = [name]
        for sampler in ("random:0.03", "all"):
            su, so = bench.analyze(path, "su", sampler), bench.analyze(path, "so", sampler)
            for label, r in (("su", su), ("so", so)):
                share = r["acquires_skipped"] / max(1, r["acquires"])
                at_least.setdefault((label, sampler), []).append(share)
                row.append(f"{100 * share:.0f}")
            row.append(f"{100 * su['releases_processed'] / max(1, su['releases']):.0f}")
            row.append(f"{100 * so['deep_copies'] / max(1, so['releases']):.0f}")
            row.append(f"{100 * (1 - so['entries_traversed'] / so['entries_total']):.0f}" if so["entries_total"] else "-")
        rows.append(row)
    head = ["trace"]
    for label in ("3 %", "100 %"):
        head += [f"{label}: su skips %", "so skips %", "su releases %", "so copies %", "so entries saved %"]
    table(bench, head, rows)
    for (engine, sampler), shares in at_least.items():
        bench.say(f"- {engine} at {sampler}: more than 50 % of acquires skipped on {sum(s > 0.5 for s in shares)} of "
                  f"{len(shares)} traces, more than 80 % on {sum(s > 0.8 for s in shares)}")
    bench.say()
    bench.data["clocks"] = rows


def several_sources(bench):
    """Joining releases: one source a thread (so) against whole vectors (su falls back to them, st always has them)."""
    bench.say("### Releases with several sources, against the fall-back to whole vectors\n")
    rows = []
    for n in (16, 64, 256):
        path = bench.trace(1e7, threads=n, rich=1, sync=0.3)
        cases = [(path, e, "random:0.03") for e in ("st", "su", "so")]
        got = bench.measure(cases, 5)
        st = best(got[cases[0]], "cpu_seconds")
        for case in cases:
            r = got[case]
            s = best(r, "cpu_seconds")
            rows.append([n, case[1], f"{s:.2f}", f"{s / st:.2f}x", f"{100 * r[0]['acquires_skipped'] / r[0]['acquires']:.0f}",
                         f"{r[0]['entries_traversed'] / r[0]['acquires']:.1f}"])
    table(bench, ["threads", "engine", "CPU s", "over st", "acquires skipped %", "entries looked at an acquire"], rows)
    bench.data["several sources"] = rows


def recall(bench):
    """LiteRace's table 3 and figure 5: recall of static races against effective rate, rare and frequent apart."""
    samplers = LITERACE + ["random:0.003", "random:0.03", "random:0.1", "pacer:0.03", "pacer:0.1", "rpt:0.01,0.1",
                           "rpt:0.05,0.1"]
    paths = [bench.trace(1e7, threads=n, race=race, functions=f, seed=s)
             for n, race, f, s in [(4, 0.0003, 200, 1), (8, 0.001, 200, 2), (16, 0.001, 400, 3), (16, 0.0003, 1000, 4),
                                   (32, 0.001, 200, 5), (64, 0.001, 400, 6)]]
    sums = {}
    for path in paths:
        out = json.loads(bench.run("compare", path, "--engines", "so", "--samplers", ",".join(samplers), "--runs", "3",
                                   "--json"))
        for row in out["traces"][0]["rows"]:
            if row["engine"] != "so":
                continue
            entry = sums.setdefault(row["sampler"], {k: [] for k in ("esr", "recall", "recall_rare", "recall_frequent",
                                                                     "warnings")})
            for key, values in entry.items():
                mean = row[key]["mean"]
                if mean is not None:
                    values.append(mean)
    bench.say("### Recall against effective sampling rate (6 traces, mean; engine so)\n")
    rows = []
    for sampler in samplers:
        mean = {k: sum(v) / len(v) if v else float("nan") for k, v in sums[sampler].items()}
        paper = PAPER_LITERACE.get(sampler, ("", ""))
        found = sum(w > 0 for w in sums[sampler]["warnings"]) / len(paths)
        rows.append([sampler, f"{100 * mean['esr']:.2f}", f"{100 * mean['recall']:.1f}", f"{100 * mean['recall_rare']:.1f}",
                     f"{100 * mean['recall_frequent']:.1f}", f"{100 * found:.0f}", *paper])
    table(bench, ["sampler", "effective rate %", "static races found %", "rare %", "frequent %", "traces with any %",
                  "paper: rate", "paper: found"], rows)
    bench.data["recall"] = rows


def success(bench):
    """RPT and PACER: how often is at least one race found, against raciness (warnings / events)?"""
    bench.say("### RPT and PACER: share of runs that find a race, by raciness\n")
    rows = []
    for race in (1e-5, 1e-4, 1e-3, 1e-2):
        path = bench.trace(1e7, threads=8, race=race, locks=32, nesting=1)
        base = bench.analyze(path, "fasttrack", "all")
        row = [f"{base['warnings'] / base['events']:.1e}"]
        for sampler in ("rpt:0.01,0.1", "rpt:0.05,0.1", "pacer:0.03"):
            hits = sum(bench.analyze(path, "so", sampler, seed)["warnings"] > 0 for seed in range(20))
            row.append(f"{100 * hits / 20:.0f}")
        rows.append(row)
    table(bench, ["raciness", "rpt:0.01,0.1 %", "rpt:0.05,0.1 %", "pacer:0.03 %"], rows)
    bench.data["success"] = rows


def text(bench):
    """Reading STD text."""
    path = bench.trace(1e7, threads=16)
    std, back = path + ".std", path + ".back.rbt"
    if not os.path.exists(std):
        bench.run("trace", "export", path, "-o", std)
    seconds = []
    for _ in range(5):
        start = time.monotonic()
        bench.run("trace", "import", std, "-o", back)
        seconds.append(time.monotonic() - start)
    events = bench.analyze(path, "so", "none")["events"]
    os.remove(back)
    bench.say("### STD text\n")
    table(bench, ["bytes of text", "seconds (best)", "million events/s"],
          [[f"{os.path.getsize(std):,}", f"{min(seconds):.2f}", f"{events / min(seconds) / 1e6:.1f}"]])
    bench.data["std"] = events / min(seconds)


PARTS = {f.__name__: f for f in (rates, uniform, threads, rpt, clocks, several_sources, recall, success, text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("railbird")
    parser.add_argument("--only", help="comma-separated: " + " ".join(PARTS))
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--work", help="folder for the traces (about 12 GB at scale 1); default: a temporary one")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else list(PARTS)
    unknown = [n for n in names if n not in PARTS]
    if unknown:
        parser.error(f"--only: {unknown[0]} is not one of {' '.join(PARTS)}")
    os.makedirs(os.path.join(HERE, "out"), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="railbird-bench-") as folder:
        args.work = args.work or folder
        os.makedirs(args.work, exist_ok=True)
        bench = Bench(args)
        for name in names:
            PARTS[name](bench)
        with open(os.path.join(HERE, "out", "lab.md"), "w") as f:
            f.write("\n".join(bench.markdown) + "\n")
        with open(os.path.join(HERE, "out", "lab.json"), "w") as f:
            json.dump(bench.data, f, indent=1)


if __name__ == "__main__":
    main()
