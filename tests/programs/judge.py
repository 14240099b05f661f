#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides whether the test programs were reported as they should be.

    judge.py FOLDER       every job of FOLDER: a folder with `job` (program, compiler, level; a word a line),
                          `sources` (a path a line), `build` (what the compiler said, and its status last) and for
                          each run N out.N, err.N, status.N. Prints the failures and "N passed, N failed".
    judge.py --self-test  this file against planted outputs, right and wrong ones.

A program named *_race has lines marked RACE 1, RACE 2, ...: marker 2k-1 and marker 2k are a pair of accesses that
race. A marker on several lines stands for any of them: compilers differ. Every pair must be reported, by a report whose two accesses have their innermost frame of the program's own
sources on these lines, in either order, and no other report may appear. CALL n marks where the function of RACE n
is called from: the next frame out must be there. A program named *_norace must have no report at all. Both must
print "done" last.
"""
import itertools
import os
import re
import sys

RACE_STATUS = "66"
# ThreadSanitizer's own reports change errno, which it then reports of the handler that raced.
PASSED_OVER = "signal handler spoils errno"
HEAD = re.compile(r"WARNING: (?:Railbird|ThreadSanitizer): (.*?)(?: \(pid=\d+\))?$")
ACCESS = re.compile(r"^\s+(?:previous )?(?:atomic )?(?:read|write) of size \d+", re.IGNORECASE)
FRAME = re.compile(r"^\s+#\d+ ")
PLACE = re.compile(r"([^\s():]+):(\d+)(?::\d+)?(?=\s|$)")
MARKS = re.compile(r"/\* ((?:(?:RACE|CALL) \d+ ?)+)\*/")
MARK = re.compile(r"(RACE|CALL) (\d+)")


def markers(sources):
    """{"RACE": {n: {(file, line), ...}}, "CALL": ...} of the texts {file: text}."""
    found = {"RACE": {}, "CALL": {}}
    for name, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            for comment in MARKS.finditer(line):
                for kind, mark in MARK.findall(comment.group(1)):
                    found[kind].setdefault(int(mark), set()).add((name, number))
    return found


def reports(text, files):
    """[(title, [frames of an access, innermost first, as (file, line)])] of what a run wrote on stderr."""
    found = []
    stack = None
    for line in text.splitlines():
        head = HEAD.search(line)
        if head:
            found.append((head.group(1), []))
            stack = None
        elif found and ACCESS.match(line):
            stack = []
            found[-1][1].append(stack)
        elif FRAME.match(line):
            place = PLACE.search(line)
            if stack is not None and place and os.path.basename(place.group(1)) in files:
                stack.append((os.path.basename(place.group(1)), int(place.group(2))))
        elif stack is not None:
            stack = None
    return found


def shown(place):
    return "%s:%d" % place if place else "?"


def fits(stack, mark, marks):
    if not stack or stack[0] not in marks["RACE"][mark]:
        return False
    callers = marks["CALL"].get(mark)
    return callers is None or (len(stack) > 1 and stack[1] in callers)


def faults(is_race, sources, status, out, err):
    """What is wrong with one run, as short texts. The first of the sources is the program, others are its plugins."""
    wrong = []
    program = list(sources)[0]
    marks = markers(sources)
    seen = reports(err, sources)
    numbers = sorted(marks["RACE"])
    pairs = [(n, n + 1) for n in numbers if n % 2 and is_race]
    if is_race and (not pairs or numbers != list(range(1, 2 * len(pairs) + 1))):
        return ["markers do not come in pairs"]
    if not is_race and markers({program: sources[program]})["RACE"]:
        return ["a program without a race has markers"]

    if status == "124":
        return ["did not end"]
    if status != (RACE_STATUS if is_race else "0"):
        wrong.append("status %s" % status)
    if out.splitlines()[-1:] != ["done"]:
        wrong.append("last line is '%s'" % "".join(out.splitlines()[-1:])[:60])
    if not is_race and not seen and "WARNING" in err:
        wrong.append("WARNING in stderr")

    missing = set(pairs)
    for title, stacks in seen:
        tops = " and ".join(shown(stack[0] if stack else None) for stack in stacks[:2])
        if title == PASSED_OVER:
            continue
        if not title.startswith("data race"):
            wrong.append("report '%s' at %s" % (title, tops))
            continue
        if not is_race:
            wrong.append("reported %s" % tops)
            continue
        matched = [
            pair
            for pair in pairs
            if len(stacks) == 2
            and any(all(map(lambda s, m: fits(s, m, marks), stacks, order)) for order in itertools.permutations(pair))
        ]
        if not matched:
            callers = " called from " + " and ".join(shown(stack[1] if len(stack) > 1 else None) for stack in stacks[:2])
            wrong.append("reported %s%s" % (tops, callers if marks["CALL"] else ""))
        missing.difference_update(matched)
    for pair in sorted(missing):
        wrong.append("pair %d/%d not reported" % pair)
    return wrong


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def judge_job(folder):
    """[(what, how often)] of one job."""
    build = read(os.path.join(folder, "build")).splitlines()
    if build[-1:] != ["0"]:
        errors = [line for line in build if "error" in line or "undefined reference" in line] or build
        return [("does not build: %s" % errors[0].strip()[:200], 1)]
    program = read(os.path.join(folder, "job")).split()[0]
    is_race = os.path.splitext(program)[0].endswith("_race")
    sources = {os.path.basename(path): read(path) for path in read(os.path.join(folder, "sources")).split()}
    counts = {}
    runs = [name[len("status.") :] for name in os.listdir(folder) if name.startswith("status.")]
    if not runs:
        return [("was not run", 1)]
    for run in runs:
        parts = [read(os.path.join(folder, "%s.%s" % (name, run))) for name in ("status", "out", "err")]
        for fault in set(faults(is_race, sources, parts[0].strip(), parts[1], parts[2])):
            counts[fault] = counts.get(fault, 0) + 1
    return [("%s (%d of %d runs)" % (fault, count, len(runs)), count) for fault, count in sorted(counts.items())]


def judge(folder):
    passed, rows = 0, []
    for name in sorted(os.listdir(folder)):
        job = os.path.join(folder, name)
        if not os.path.exists(os.path.join(job, "job")):
            continue
        wrong = judge_job(job)
        if not wrong:
            passed += 1
            continue
        words = read(os.path.join(job, "job")).split()
        rows.append((words, [what for what, _ in wrong]))
    width = max([len(words[0]) for words, _ in rows], default=0)
    for words, wrong in rows:
        for what in wrong:
            print("FAIL %-*s %-8s %-3s %s" % (width, words[0], words[1], words[2], what))
    print("%d passed, %d failed" % (passed, len(rows)))
    return 1 if rows or not passed else 0


def self_test():
    source = {"p_race.c": "int x;\na(); /* CALL 1 */\nx = 1; /* RACE 1 */\nx = 2; /* RACE 2 */\n"}
    clean = {"p_norace.c": "int x;\n"}

    def report(first, caller, second, title="data race"):
        return (
            "==================\nWARNING: Railbird: %s (pid=7)\n  Write of size 4 at 0x10 by thread T2:\n"
            "    #0 memcpy <null> (x+0x1)\n    #1 g /s/p_race.c:%d (p+0x10)\n\n"
            "  Previous atomic write of size 4 at 0x10 by main thread:\n"
            "    #0 f /s/p_race.c:%d:7 (p+0x20)\n    #1 e /s/p_race.c:%d:1 (p+0x30)\n\n"
            "  Thread T2 created by main thread at:\n    #0 main /s/p_race.c:99 (p+0x40)\n" % (title, second, first, caller)
        )

    good = report(3, 2, 4)
    cases = [
        (True, source, "66", "done\n", good, 0),
        (True, source, "66", "done\n", good + good, 0),
        (True, source, "0", "done\n", good, 1),
        (True, source, "66", "nearly\n", good, 1),
        (True, source, "66", "", good, 1),
        (True, source, "66", "done\n", "", 1),
        (True, source, "66", "done\n", report(3, 9, 4), 2),
        (True, source, "66", "done\n", report(3, 2, 5), 2),
        (True, source, "66", "done\n", report(3, 2, 3), 2),
        (True, source, "66", "done\n", good + report(8, 2, 4), 1),
        (True, source, "66", "done\n", good + report(3, 2, 4, "lock-order-inversion"), 1),
        (True, source, "124", "done\n", good, 1),
        (True, clean, "66", "done\n", good, 1),
        (False, clean, "0", "done\n", "", 0),
        (False, clean, "0", "done\n", "some note\n", 0),
        (False, clean, "66", "done\n", "", 1),
        (False, clean, "0", "done\n", "WARNING: something else\n", 1),
        (False, clean, "0", "done\n", good, 1),
        (False, source, "0", "done\n", "", 1),
    ]
    bad = 0
    for number, (is_race, text, status, out, err, wanted) in enumerate(cases):
        got = faults(is_race, text, status, out, err)
        if len(got) != wanted:
            print("judge.py: case %d: %d faults instead of %d: %s" % (number, len(got), wanted, got))
            bad = 1
    return bad


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(self_test() if sys.argv[1] == "--self-test" else judge(sys.argv[1]))
