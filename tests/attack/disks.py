# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Disks that are full for a moment, or for good, while reports, traces and pages are written. Only root can make them."""
import json
import os

from ground import HERE, RAILBIRD

SCRIPT = r"""
mkdir disk && mount -t tmpfs -o size="$size"k none disk || exit 77
cd disk
dd if=/dev/zero of=fill bs=1024 count="$fill" status=none
for i in 1 2 3 4 5; do RAILBIRD_OPTIONS="sampler=all:report=json:r.jsonl" "$program" >>../out 2>>../err; echo "$?" >>../status; done
"$railbird" record -o t.rbt "$program" >../record.out 2>../record.err; echo "$?" >../record.status
rm -f fill t.rbt*
for i in 1 2 3; do RAILBIRD_OPTIONS="sampler=all:report=json:r.jsonl" "$program" >>../out 2>>../err; echo "$?" >>../status; done
cp r.jsonl ../r.jsonl
dd if=/dev/zero of=fill bs=1024 status=none 2>/dev/null
"$railbird" report ../r.jsonl --format html -o page.html >../page.out 2>../page.err; echo "$?" >../page.status
exit 0
"""


def cases(ground, rng):
    program = ground.build(os.path.join(HERE, "..", "start", "race.c"), "ours")
    ground.begin()
    if os.geteuid() or ground.run(["unshare", "-m", "true"]).status:
        return
    while True:
        size = rng.choice((16, 32, 64, 128, 512))
        fill = max(0, size - rng.randrange(0, 24))
        yield "%d KiB, %d of them full" % (size, fill), lambda: full(ground, program, size, fill)


def full(ground, program, size, fill):
    def text(name):
        with open(ground.path("case", name), encoding="utf-8", errors="replace") as file:
            return file.read()

    got = ground.run(["unshare", "-m", "bash", "-c", SCRIPT],
                     env={"size": str(size), "fill": str(fill), "program": program, "railbird": RAILBIRD})
    if got.status == 77:
        return None
    if got.status:
        return str(got)
    if text("status").split() != ["66"] * 8:
        return "statuses of the program: %s" % text("status").split()
    if text("out") != "user 0 0\ndone\n" * 8:
        return "output of the program: %r" % text("out")[:300]
    if text("record.status").strip() not in ("66", "1", "2"):
        return "record: status %s: %s" % (text("record.status"), text("record.err"))
    good = 0
    for line in text("r.jsonl").splitlines():
        try:
            good += "accesses" in json.loads(line)
        except ValueError:
            pass
    if good < 3:
        return "%d whole lines, after three runs with room" % good
    report = ground.railbird("report", "r.jsonl")
    if report.status != 66:
        return "report: %s" % report
    if text("page.status").strip() not in ("1", "2", "66"):
        return "the page: status %s" % text("page.status")
    return None
