# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pairs.py FOLDER: the races that Railbird and ThreadSanitizer reported on the same load, as pairs of source lines.

FOLDER has railbird/reports (an object a line) and tsan/tsan.PID (text), as lib.sh leaves them. A pair is the two innermost
places that have a source line, in either order; stacks, processes and addresses do not tell pairs apart. The first line has
the counts: in both, in Railbird's only, in TSan's only, and TSan's reports that are no data races. The pairs follow."""

import glob
import json
import os
import re
import sys

ACCESS = re.compile(r"^  (?:Previous )?(?:atomic )?(?:read|write) of size .*\n((?:    #.*\n)*)", re.M | re.I)
FRAME = re.compile(r"\s+#\d+ (\S+).*? (\S+?):(\d+)")


def place(function, file, line):
    return "%s %s:%s" % (function, os.path.basename(file), line)


def railbird(folder):
    pairs = set()
    path = os.path.join(folder, "railbird", "reports")
    for text in open(path) if os.path.exists(path) else ():
        sides = []
        for access in json.loads(text)["accesses"]:
            frames = [f for f in access["stack"] if f.get("function") and f.get("file")]
            sides.append(place(frames[0]["function"], frames[0]["file"], frames[0]["line"]) if frames else "?")
        pairs.add(tuple(sorted(sides)))
    return pairs


def tsan(folder):
    pairs, others = set(), 0
    for path in glob.glob(os.path.join(folder, "tsan", "tsan.*")):
        for report in open(path, errors="replace").read().split("WARNING: ThreadSanitizer: ")[1:]:
            if not report.startswith("data race"):
                others += 1
                continue
            sides = []
            for stack in ACCESS.findall(report)[:2]:
                frames = [FRAME.match(f) for f in stack.splitlines() if "sanitizer_common" not in f and "/tsan/" not in f]
                frames = [f for f in frames if f]
                sides.append(place(*frames[0].groups()) if frames else "?")
            pairs.add(tuple(sorted(sides)))
    return pairs, others


def main():
    ours = railbird(sys.argv[1])
    theirs, others = tsan(sys.argv[1])
    print(len(ours & theirs), len(ours - theirs), len(theirs - ours), others)
    for name, pairs in (("both", ours & theirs), ("railbird", ours - theirs), ("tsan", theirs - ours)):
        for pair in sorted(pairs):
            print(name, " | ".join(pair), sep="\t")


main()
