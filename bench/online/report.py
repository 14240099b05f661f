# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/online/run.py measured, as a table, as JSON and as a page, and whether the promises hold.

A cell is a program under a variant: the median of its clean runs, with the best beside it. Three at a time, plain, dormant and one more, take short turns, one
running and the others stopped, so that all of them had the same machine; slow ones, small loads and tools run alone, after that. A ratio is
the median of the ratios within such groups, or within rounds for those that run alone. Wall seconds are of a variant's own turns. A ratio's interval is the one that has
the true median with 95 % (by order: no shape of the noise is assumed; with fewer than six rounds it is all there is, from least to
most). A ratio whose interval has 1 in it is marked ≈ and says nothing. Three more marks: ~ no run was left alone by the rest of the
machine, > the time was over (so at least that), and — not run or failed. A promise that rests on ~ is not judged."""
import html
import json
import math
import platform
import statistics
import time

FLOOR = 0.01  # of plain: an extra cost smaller than that is taken for that, or ratios of extras would be of noise
COLOURS = {"nop": "#8a8a8a", "dormant": "#1f77b4", "adaptive:1%": "#a6dba0", "adaptive:2%": "#5aae61", "adaptive:5%": "#1b7837",
           "adaptive:20%": "#00441b", "all": "#d95f02", "gcc-tsan": "#b2182b", "clang-tsan": "#e7298a", "helgrind": "#7570b3", "drd": "#54278f"}


class Cell:
    def __init__(self, runs):
        ended = [r for r in runs if "failed" not in r and "timeout" not in r]
        clean = [r for r in ended if not r["disturbed"]]
        late = [r for r in runs if "timeout" in r]
        self.late = bool(late and not ended)
        self.disturbed = not clean and any(r["disturbed"] for r in ended or late)
        self.runs = clean or sorted(ended, key=lambda r: r["cpu"])[:1] or late
        self.repeated = len(ended) - len(clean)
        self.ok = bool(self.runs)
        if not self.ok:
            return
        cpu = [r["cpu"] for r in self.runs]
        self.cpu, self.best = statistics.median(cpu), min(cpu)
        self.groups = {(r["round"], r["group"]): r["cpu"] for r in self.runs}
        self.wall = statistics.median(r["wall"] for r in self.runs)
        self.peak = max(r["peak_kib"] for r in self.runs)
        self.threads = max(r["threads"] for r in self.runs)
        self.races = max(r.get("races", 0) for r in self.runs)
        p99 = [r["latency"]["p99"] for r in self.runs if "latency" in r]
        self.p99 = statistics.median(p99) if p99 else None

    def mark(self):
        return ">" if self.late else "~" if self.disturbed else ""


class Ratio:
    """Of two cells' CPU time: of those that took turns with each other, else of those of a round."""

    def __init__(self, cell, base):
        both = [(cell.groups[g], base.groups[g]) for g in cell.groups if g in base.groups]
        if not both:
            rounds = {n: statistics.median(cpu for g, cpu in base.groups.items() if g[0] == n) for n, _ in base.groups}
            both = [(cpu, rounds[n]) for (n, _), cpu in cell.groups.items() if n in rounds]
        both = sorted(c / max(b, 1e-4) for c, b in both)
        both = both or [cell.cpu / max(base.cpu, 1e-4)]  # no round in which both were left alone
        self.value, self.each = statistics.median(both), both
        outside = self.outside(len(both))
        self.low, self.high = both[outside], both[-1 - outside]

    @staticmethod
    def outside(n):
        """How many of n, on each side, may lie outside the interval: a coin thrown n times shows heads that often or less with 2.5 %."""
        chance, k = 0.5**n, 0
        while chance <= 0.025 and n >= 6:
            k += 1
            chance += math.comb(n, k) * 0.5**n
        return max(0, k - 1) if n >= 6 else 0

    def says_nothing(self):
        return self.low <= 1 <= self.high

    def extra(self):
        """In per cent, with the interval."""
        return tuple((v - 1) * 100 for v in (self.value, self.low, self.high))


def mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


class Promise:
    def __init__(self, name, asked, measured, held, note=""):
        self.name, self.asked, self.measured, self.held, self.note = name, asked, measured, held, note

    def word(self):
        return {True: "held", False: "NOT HELD", None: "not judged"}[self.held]


class Result:
    def __init__(self, programs, variants, runs, left_out, wrong, args, seconds):
        self.programs, self.variants, self.runs, self.args, self.seconds = programs, variants, runs, args, seconds
        self.left_out, self.wrong = left_out, wrong
        self.cells = {key: Cell(value) for key, value in runs.items()}
        self.promises = list(self.judge())

    def cell(self, program, variant):
        c = self.cells.get((program.name, variant))
        return c if c and c.ok else None

    def base(self, program, variant):
        small = next((v.small for v in self.variants if v.name == variant), False)
        return self.cell(program, "plain-small" if small else "plain")

    def compared(self, program, variant):
        c, b = self.cell(program, variant), self.base(program, variant)
        return Ratio(c, b) if c and b else None

    def ratio(self, program, variant):
        r = self.compared(program, variant)
        return r.value if r else None

    # Promises

    def pairs(self, variant, over, kinds=("tool", "server", "sync")):
        """(program, cell, cell it is compared with). A cell whose time was over counts as what it had used by then."""
        for p in self.programs:
            c, b = self.cell(p, variant), self.cell(p, over)
            if p.kind in kinds and c and b and not b.late:
                yield p, c, b

    @staticmethod
    def verdict(kept, cells):
        """Nothing is judged by disturbed runs; runs that did not end can break a promise and not keep it."""
        if any(c.disturbed for c in cells):
            return None
        return None if kept and any(c.late for c in cells) else kept

    def limit(self, name, asked, pairs, most, value):
        """Every program's value is at most `most`."""
        if not pairs:
            return Promise(name, asked, "not measured", None)
        values = [(value(c, b), p.name) for p, c, b in pairs]
        worst = max(values)
        above = [f"{n} {v:.2f}" for v, n in sorted(values, reverse=True) if v > most]
        return Promise(name, asked, f"{worst[0]:.2f} ({worst[1]})", self.verdict(worst[0] <= most, [x for p in pairs for x in p[1:]]),
                       "above: " + ", ".join(above) if above else "")

    def judge(self):
        cpu = lambda c, b: Ratio(c, b).value
        dormant = list(self.pairs("dormant", "plain"))
        if dormant:
            g = mean([cpu(c, b) for _, c, b in dormant])
            others = [cpu(c, b) for p, c, b in dormant if p.kind != "sync"]
            yield Promise("dormant, geometric mean of CPU", "<= 1.20x", f"{g:.3f}x of {len(dormant)} programs",
                          self.verdict(g <= 1.20, [x for p in dormant for x in p[1:]]),
                          f"without the ones that only synchronise: {mean(others):.3f}x" if others else "")
        yield self.limit("dormant, each program but those that only synchronise", "<= 1.50x", list(self.pairs("dormant", "plain",
                         ("tool", "server"))), 1.5, cpu)
        yield self.limit("dormant, each server", "<= 1.05x", list(self.pairs("dormant", "plain", ("server",))), 1.05, cpu)
        yield self.limit("dormant, each that only synchronises", "<= 2.00x", list(self.pairs("dormant", "plain", ("sync",))), 2.0, cpu)
        for variant in ("dormant", "adaptive:5%"):
            above = lambda c, b: (c.peak - b.peak - 64 * b.threads) / 1024
            yield self.limit(f"{variant}, peak memory above plain and 64 KiB a thread, MiB", "<= 24", list(self.pairs(variant, "plain")), 24, above)
        for budget in (1, 2, 5, 20):
            yield from self.budget(budget)
        yield from self.beside_tsan()

    def budget(self, budget):
        """Above dormant, as a share of dormant, the start included."""
        pairs = list(self.pairs(f"adaptive:{budget}%", "dormant"))
        if not pairs:
            return
        over = sorted(((*Ratio(c, b).extra(), p.name) for p, c, b in pairs), reverse=True)
        within = [o for o in over if o[0] <= budget]
        need = math.ceil(0.8 * len(over))
        cost = [statistics.median((r.get("stats") or {}).get("cost_ppm", 0) for r in c.runs) / 1e4 for _, c, _ in pairs]
        told = [o for o in over if o[1] > budget]
        yield Promise(f"adaptive, budget {budget} %, above dormant", f"within it on {need} of {len(over)}",
                      f"{len(within)} of {len(over)}; median {statistics.median(o[0] for o in over):.1f} %",
                      self.verdict(len(within) >= need, [x for p in pairs for x in p[1:]]),
                      "; ".join(t for t in (
                          "above: " + ", ".join(f"{n} {v:.1f} % ({low:.0f} to {high:.0f})" for v, low, high, n in over if v > budget)
                          if len(within) < len(over) else "",
                          f"with the whole interval above it: {', '.join(o[3] for o in told) or 'none'}",
                          f"by its own count {statistics.median(cost):.1f} %") if t))

    def beside_tsan(self):
        rows = []
        for p in self.programs:
            ours, theirs, plain = self.cell(p, "adaptive:5%"), self.cell(p, "clang-tsan"), self.cell(p, "plain")
            if ours and theirs and plain and not ours.late and not plain.late:
                extra = lambda c: max(Ratio(c, plain).value - 1, FLOOR)
                rows.append((extra(theirs) / extra(ours), p.name, ours, theirs, plain))
        if not rows:
            return
        g = mean([r[0] for r in rows])
        kept = self.verdict(g >= 10, [r[2] for r in rows] + [r[4] for r in rows])  # TSan's own lateness only raises it
        kept = None if any(r[3].disturbed for r in rows) else kept
        late = [r[1] for r in rows if r[3].late]
        yield Promise("extra CPU, clang TSan's over ours (budget 5 %), geometric mean", ">= 10x", f"{g:.1f}x of {len(rows)} programs",
                      kept, "least: " + ", ".join(f"{n} {v:.1f}x" for v, n, *_ in sorted(rows, key=lambda r: r[0])[:3])
                      + (f"; TSan did not end in time, so at least that: {', '.join(late)}" if late else ""))

    def all_held(self):
        return not self.wrong and not any(p.held is False for p in self.promises)

    def twice(self):
        """How far apart two equal things are, in words: what no ratio of this run can be trusted below."""
        pairs = [(f"{p.name} {c.mark() or b.mark()}", Ratio(c, b)) for p, c, b in self.pairs("dormant-again", "dormant")]
        if not pairs:
            return []
        off = statistics.median(abs(each - 1) for _, r in pairs for each in r.each)
        return ["The same twice, dormant-again over dormant: " + ", ".join(f"{n}{r.value:.3f} ({r.low:.3f}–{r.high:.3f})" for n, r in pairs)
                + f". Median distance from 1: {100 * statistics.median(abs(r.value - 1) for _, r in pairs):.1f} % of the programs' ratios, "
                f"{100 * off:.1f} % of single rounds.", ""]

    # Table

    def ratio_text(self, program, variant):
        r = self.compared(program, variant)
        if r is None:
            return "—"
        mark = self.cell(program, variant).mark() or self.base(program, variant).mark()
        digits = 0 if r.value >= 100 else 1 if r.value >= 10 else 2
        return (mark or ("≈" if r.says_nothing() else "")) + f"{r.value:.{digits}f} ({r.low:.{digits}f}–{r.high:.{digits}f})"

    def table(self, title, value, variants, programs=None):
        names = [v.name for v in variants]
        out = [title, "", "| program | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
        for p in programs or self.programs:
            out.append(f"| {p.name} | " + " | ".join(value(p, n) for n in names) + " |")
        return out + [""]

    def markdown(self):
        shown = [v for v in self.variants if not v.name.startswith("plain")]
        field = lambda get: lambda p, n: (lambda c: c.mark() + get(c) if c else "—")(self.cell(p, n))
        out = ["# What it costs while programs run", "", f"{time.strftime('%Y-%m-%d', time.gmtime())}, Linux {platform.release()}, "
               f"{self.args.rounds} rounds, turns of {self.args.turn:g} ms, {self.seconds / 60:.0f} minutes. " + " ".join(__doc__.split("\n\n")[1].split()), "",
               "## Promises", "", "| promise | asked | measured | | |", "|---|---|---|---|---|"]
        out += [f"| {p.name} | {p.asked} | {p.measured} | {p.word()} | {p.note} |" for p in self.promises] + [""]
        out += ["## Measured", ""]
        rows = self.table("CPU time, times plain's (all, helgrind, drd: of a small load, plain's of the same)", self.ratio_text, shown)
        means = []
        for v in shown:
            values = [r for p in self.programs if (r := self.ratio(p, v.name))]
            means.append(f"{mean(values):.2f}" if values else "—")
        out += rows[:-1] + ["| **geometric mean** | " + " | ".join(means) + " |", ""]
        out += self.twice()
        out += self.table("CPU seconds, median (best)", field(lambda c: f"{c.cpu:.2f} ({c.best:.2f})"), self.variants)
        out += self.table("Wall seconds", field(lambda c: f"{c.wall:.2f}"), self.variants)
        servers = [p for p in self.programs if p.kind == "server"]
        if servers:
            out += self.table("Latency of servers, 99th of 100, microseconds", field(lambda c: f"{c.p99:.0f}" if c.p99 else "—"), self.variants, servers)
        out += self.table("Peak memory, MiB", field(lambda c: f"{c.peak / 1024:.1f}"), self.variants)
        out += self.table("Threads, at most", field(lambda c: str(c.threads)), self.variants)
        out += self.table("Races: distinct reports, the most of a run (TSan: distinct places; helgrind, drd: contexts)",
                          field(lambda c: str(c.races)), shown)
        again = sum(c.repeated for c in self.cells.values())
        out += [f"Runs that were disturbed and not counted where others were not: {again} of {sum(len(r) for r in self.runs.values())}."]
        out += [f"Sources: {', '.join(p.name + ' ' + p.versions for p in self.programs if p.versions)}.", ""]
        out += [f"Left out: {text}" for text in self.left_out] + [f"Wrong: {text}" for text in self.wrong]
        return "\n".join(out)

    # Page

    def plot(self):
        shown = [v.name for v in self.variants if not v.name.startswith("plain") and any(self.ratio(p, v.name) for p in self.programs)]
        most = max([r for p in self.programs for n in shown if (r := self.ratio(p, n))] + [2])
        left, width, step, top = 110, 760, 34, 30
        low, high = math.log(0.8), math.log(most * 1.15)
        x = lambda r: left + (math.log(max(r, 0.8)) - low) / (high - low) * width
        height = top + step * len(self.programs) + 30
        out = [f'<svg viewBox="0 0 {left + width + 20} {height}" role="img" aria-label="CPU time of each variant, as a multiple of plain">']
        for tick in (1, 1.05, 1.2, 1.5, 2, 5, 10, 20, 50, 100, 200, 500):
            if tick <= most * 1.15:
                out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top - 8}" y2="{height - 24}" class="{"one" if tick == 1 else "grid"}"/>')
                if tick != 1.05:
                    out.append(f'<text x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{tick:g}x</text>')
        for i, p in enumerate(self.programs):
            y = top + step * i + step / 2
            out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{html.escape(p.name)}</text>')
            for k, n in enumerate(shown):
                r = self.ratio(p, n)
                if r is None:
                    continue
                dy = (k / max(len(shown) - 1, 1) - 0.5) * step * 0.7
                c = self.cell(p, n)
                fill = "none" if c.mark() else COLOURS.get(n, "#b8860b")
                out.append(f'<circle cx="{x(r):.1f}" cy="{y + dy:.1f}" r="4" fill="{fill}" stroke="{COLOURS.get(n, "#b8860b")}" stroke-width="1.5">'
                           f"<title>{html.escape(p.name)}, {html.escape(n)}: {c.mark()}{r:.2f}x, {c.cpu:.2f} s</title></circle>")
        out.append("</svg><p>" + " ".join(f'<span class="key"><i style="background:{COLOURS.get(n, "#b8860b")}"></i>{html.escape(n)}</span>'
                                          for n in shown) + "</p>")
        return "\n".join(out)

    def page(self):
        rows = "".join(f'<tr class="{ {True: "yes", False: "no", None: "open"}[p.held] }"><td>{html.escape(p.name)}</td><td>{html.escape(p.asked)}</td>'
                       f"<td>{html.escape(p.measured)}</td><td>{p.word()}</td><td>{html.escape(p.note)}</td></tr>" for p in self.promises)
        return f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>What it costs while programs run</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
svg {{ width: 100%; height: auto; }} svg text {{ font-size: 12px; fill: currentColor; }}
.grid {{ stroke: currentColor; opacity: .15; }} .one {{ stroke: currentColor; opacity: .7; }}
table {{ border-collapse: collapse; width: 100%; font-size: 14px; }}
td, th {{ text-align: left; padding: .25em .5em; border-top: 1px solid #8884; vertical-align: top; }}
.yes td:nth-child(4) {{ color: #1a7f37; }} .no td:nth-child(4) {{ color: #cf222e; font-weight: 600; }}
.key {{ display: inline-block; margin-right: 1em; }} .key i {{ display: inline-block; width: .8em; height: .8em; margin-right: .3em; border-radius: 50%; }}
</style>
<h1>What it costs while programs run</h1>
<p>CPU time as a multiple of the plain program's, on a logarithmic scale; {self.args.rounds} rounds, Linux {html.escape(platform.release())},
{time.strftime("%Y-%m-%d", time.gmtime())}. A hollow mark: disturbed, or ended by the time limit. Point at a mark for its figures.</p>
{self.plot()}
<h2>Promises</h2>
<table><tr><th>promise</th><th>asked</th><th>measured</th><th></th><th></th></tr>{rows}</table>
<p>{html.escape("; ".join(self.left_out + self.wrong))}</p>
</html>
"""

    def write(self, json_path, markdown_path, page_path):
        cells = {}
        for (program, variant), c in self.cells.items():
            entry = {"all_runs": self.runs[(program, variant)]}
            if c.ok:
                entry |= {"cpu_median": c.cpu, "cpu_best": c.best, "wall": c.wall, "p99_us": c.p99, "peak_kib": c.peak,
                          "threads": c.threads, "races": c.races, "disturbed": c.disturbed, "timeout": c.late}
                if r := self.compared(next(p for p in self.programs if p.name == program), variant):
                    entry |= {"ratio": r.value, "ratio_low": r.low, "ratio_high": r.high}
            cells.setdefault(program, {})[variant] = entry
        with open(json_path, "w", encoding="utf-8") as out:
            json.dump({"rounds": self.args.rounds, "turn_ms": self.args.turn, "kernel": platform.release(), "programs": cells, "left_out": self.left_out, "wrong": self.wrong,
                       "promises": [vars(p) for p in self.promises]}, out, indent=1)
        with open(markdown_path, "w", encoding="utf-8") as out:
            out.write(self.markdown() + "\n")
        with open(page_path, "w", encoding="utf-8") as out:
            out.write(self.page())
