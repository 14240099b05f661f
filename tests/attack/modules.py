# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports whose module is no program, or a damaged one: names are left out, nothing else."""
import json
import os
import shutil

from ground import HERE
from mutations import mutate
from reports import make_reports

ODD = ("missing", "empty", "folder", "/dev/zero", "/dev/stdin", "/dev/full", "/proc/kcore", "/proc/self/mem", "loop", "sparse", "fifo")


def cases(ground, rng):
    line = make_reports(ground)[0]
    with open(ground.build(os.path.join(HERE, "..", "start", "race.c"), "ours"), "rb") as file:
        whole = file.read()
    sections = int.from_bytes(whole[40:48], "little")  # e_shoff
    # Headers and tables are where it matters: the segments' at the beginning, the sections' at the end, debugging information between.
    while True:
        if rng.random() < 0.1:
            yield "odd", lambda: odd(ground, line, rng.choice(ODD))
            continue
        low, high = rng.choice(((0, 1024), (sections, len(whole)), (len(whole) // 2, len(whole)), (0, len(whole))))
        data = whole[:low] + mutate(whole[low:high], rng) + whole[high:]
        yield "damaged", lambda: damaged(ground, line, data)


def read(ground, line, module):
    text = json.dumps(line)
    for access in json.loads(text)["accesses"]:
        for frame in access["stack"]:
            if frame.get("module", "").endswith("race.ours"):
                text = text.replace(json.dumps(frame["module"]), json.dumps(module))
                break
    with open(ground.path("case", "r.jsonl"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    got = ground.railbird("report", "r.jsonl", cpu=30, memory=4 << 20, seconds=300)
    return None if got.status == 66 else str(got)


def damaged(ground, line, data):
    with open(ground.path("case", "module"), "wb") as file:
        file.write(data)
    difference = read(ground, line, ground.path("case", "module"))
    if difference:
        kept = "/tmp/railbird-attack-%d.elf" % os.getpid()
        shutil.copy(ground.path("case", "module"), kept)
        return "%s; kept as %s" % (difference, kept)
    return None


def odd(ground, line, kind):
    path = ground.path("case", "module")
    if kind == "empty":
        open(path, "wb").close()
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "loop":
        os.symlink("module", path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "sparse":
        with open(path, "wb") as file:
            file.truncate(100 << 30)
    elif kind.startswith("/"):
        path = kind
    return read(ground, line, path)
