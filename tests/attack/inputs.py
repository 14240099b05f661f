# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged traces (.rbt, with checksums wrong and made right again, and STD text) and raw recordings, through every command that reads
them: refused or read, within bounds of time and memory."""
import glob
import os
import struct

from ground import HERE
from mutations import mutate

PAGE = 4096
HEADER = 848
GOLDEN = os.path.join(HERE, "..", "traces", "make_golden.py")


def checksum_of_golden():
    names = {"__file__": GOLDEN}
    with open(GOLDEN, encoding="utf-8") as source:
        exec(source.read().split("# ---- good")[0], names)
    return names["checksum"]


def repair(data, checksum, rng):
    """Makes the checksums of the header and of the pages right, as a forger would."""
    data = bytearray(data)
    if len(data) >= HEADER + 8:
        data[HEADER:HEADER + 8] = struct.pack("<Q", checksum(bytes(data[:HEADER]), 0))
    for page in range(1, len(data) // PAGE):
        at = page * PAGE
        if rng.random() < 0.9:
            data[at + 8:at + 16] = struct.pack("<Q", checksum(bytes(data[at + 16:at + PAGE]), page))
    return bytes(data)


def make_sources(ground, rng):
    """Traces to start from: as {name: bytes}."""
    sources = {}
    for i in range(4):
        path = ground.path("source%d.rbt" % i)
        made = ground.railbird("trace", "gen", "-o", path, "--events", str(rng.choice((50, 2000, 6000))), "--threads", str(rng.choice((2, 5, 40))),
                        "--locks", str(rng.choice((1, 20))), "--variables", str(rng.choice((3, 500))), "--rich", "0.5", "--race", "0.05",
                        "--seed", str(rng.randrange(1000)))
        if made.status:  # forty threads have no room in fifty events
            continue
        ground.railbird("trace", "export", path, "-o", path + ".std")
        for name in (path, path + ".std"):
            with open(name, "rb") as file:
                sources[name[-8:]] = file.read()
    for path in glob.glob(os.path.join(HERE, "..", "traces", "ok", "*")) + glob.glob(os.path.join(HERE, "..", "fuzz", "corpus", "std", "*")):
        with open(path, "rb") as file:
            sources[os.path.basename(path)] = file.read()
    return sources


def commands(name, rng):
    engine = rng.choice(("so", "su", "st", "fasttrack", "djit", "shb", "wcp", "syncp"))
    sampler = rng.choice(("all", "random:0.3", "literace", "pacer:0.3", "rpt:0.1,0.1", "static:0.5", "none", "g-ad", "ucp"))
    return [["trace", "info", name], ["trace", "check", name], ["trace", "cat", name], ["trace", "export", name, "-o", "out.std"],
            ["analyze", name, "--engine", engine, "--sampler", sampler], ["analyze", name, "--json", "--races", "races.csv"],
            ["compare", name, "--runs", "1"], ["inject", name, "-n", "2", "-o", "injected", "--time-limit", "1", "--jobs", "1"]]


def cases(ground, rng):
    checksum = checksum_of_golden()
    ground.begin()
    sources = make_sources(ground, rng)
    raw = make_raw(ground)
    while True:
        if raw and rng.random() < 0.15:
            data, name = mutate(raw, rng), "damaged.raw"
            todo = [["record", "-o", "merged.rbt", "--merge", name]]
        else:
            source = rng.choice(sorted(sources))
            is_text = source.endswith(".std")
            data, name = mutate(sources[source], rng), "damaged" + source[-4:]
            if not is_text and rng.random() < 0.7:
                data = repair(data, checksum, rng)
            todo = rng.sample(commands(name, rng), 3)
            if is_text:
                todo.append(["trace", "import", name, "-o", "imported.rbt"] + ["--lenient"] * rng.randrange(2))
        yield name, lambda: read(ground, name, data, todo)


def make_raw(ground):
    """A raw recording, of a program that was killed together with its recorder."""
    program = ground.build(os.path.join(HERE, "programs", "threads.c"), "ours")
    ground.run([program, "once"], options="sampler=all:record=%s" % ground.path("source.raw"))
    path = ground.path("source.raw")
    if not os.path.exists(path) or os.path.getsize(path) > 4 << 20:
        return None
    with open(path, "rb") as file:
        return file.read()


def read(ground, name, data, todo):
    with open(ground.path("case", name), "wb") as file:
        file.write(data)
    for words in todo:
        got = ground.railbird(*words, cpu=60, memory=4 << 20)
        if got.status == 1 and "memory" in got.err and len(got.err.splitlines()) <= 2:
            continue
        if got.status not in (0, 2, 66):
            kept = os.path.join("/tmp", "railbird-attack-%d-%s" % (os.getpid(), name))
            with open(kept, "wb") as file:
                file.write(data)
            return "%s: %s; kept as %s" % (" ".join(words), got, kept)
    return None
