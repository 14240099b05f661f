# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged reports (JSON, a race a line) through `railbird report` in all formats: what is written always parses."""
import copy
import json
import os

from ground import HERE
from mutations import NUMBERS, mutate

STRINGS = ["", "x", "x" * 5000, "<script>alert(1)</script>", "\"'><b>", "a\nb\tc", "\x01\x1b[31m", "\u202e", "/etc/passwd", "../../../etc/passwd", "/dev/zero",
           "/dev/stdin", "/proc/kcore", "%s%n", "_Z1f1AIiiE1BIS0_S0_E1CIS2_S2_E1DIS4_S4_E", "_Z" + "1" * 500, "N" * 3000]


def change(value, rng, depth=0):
    """One value somewhere in a JSON value replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            del value[key]
        elif rng.random() < 0.05:
            value[rng.choice(STRINGS)] = value[key]
        else:
            value[key] = change(value[key], rng, depth + 1)
        return value
    if isinstance(value, list) and value and rng.random() < 0.9:
        if rng.random() < 0.1:
            return value * rng.choice((0, 2, 50))
        at = rng.randrange(len(value))
        value[at] = change(value[at], rng, depth + 1)
        return value
    return rng.choice([None, True, [], {}, rng.choice(NUMBERS), -rng.choice(NUMBERS), 1e300, rng.choice(STRINGS), rng.choice(STRINGS)])


def cases(ground, rng):
    lines = make_reports(ground)
    while True:
        some = []
        for _ in range(rng.choice((1, 1, 3, 20))):
            line = copy.deepcopy(rng.choice(lines))
            for _ in range(rng.randrange(0, 4)):
                line = change(line, rng)
            some.append(json.dumps(line, ensure_ascii=rng.random() < 0.5))
        data = ("\n".join(some) + "\n").encode(errors="replace")
        if rng.random() < 0.4:
            data = mutate(data, rng)
        if rng.random() < 0.02:
            data = b"[" * 100000
        yield "reports.jsonl", lambda: read(ground, data)


def make_reports(ground):
    ground.begin()
    program = ground.build(os.path.join(HERE, "..", "start", "race.c"), "ours")
    path = ground.path("reports.jsonl")
    ground.run([program], options="sampler=all:report=json:" + path)
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read(ground, data):
    with open(ground.path("case", "r.jsonl"), "wb") as file:
        file.write(data)
    for words in (["--format", "json"], ["--format", "sarif"], ["--format", "html"], ["--format", "text", "--verbose"], ["--json"],
                  ["--baseline", "r.jsonl"]):
        got = ground.railbird("report", "r.jsonl", *words, cpu=30, memory=2 << 20)
        if got.status not in (0, 2, 66):
            return keep(data, words, got)
        if got.status == 2:
            continue
        try:
            if words[-1] in ("sarif", "--json"):
                json.loads(got.out)
            elif words[-1] == "json":
                for line in got.out.splitlines():
                    json.loads(line)
        except ValueError as error:
            return keep(data, words, "does not parse: %s" % error)
        if words[-1] == "html" and ("<script>alert" in got.out or "root:x:0" in got.out):
            return keep(data, words, "the page has what it must not have")
        if words[-1] == "--verbose" and any(c in got.out for c in "\x01\x1b"):
            return keep(data, words, "control characters in the text")
    return None


def keep(data, words, what):
    kept = "/tmp/railbird-attack-%d.jsonl" % os.getpid()
    with open(kept, "wb") as file:
        file.write(data)
    return "report %s: %s; kept as %s" % (" ".join(words), what, kept)
