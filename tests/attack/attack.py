# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attack.py FOLDER [--minutes N] [--seed S] [ROOM...]: see run.sh. A room is a module beside this one, with a function `cases(ground,
rng)` that yields (name, function) without end; the function returns None, or says what is different."""
import argparse
import importlib
import os
import random
import sys
import time
import traceback

from ground import Ground

ROOMS = ("environments", "programs", "inputs", "reports", "modules", "kills", "disks", "options", "scripts")


def main():
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("folder")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("rooms", nargs="*", metavar="ROOM")
    words = parser.parse_intermixed_args()
    for room in words.rooms:
        if room not in ROOMS:
            parser.error("no room " + room)
    ground = Ground(words.folder)
    end = time.monotonic() + words.minutes * 60
    rooms = {name: importlib.import_module(name).cases(ground, random.Random("%d %s" % (words.seed, name)))
             for name in words.rooms or ROOMS}
    done, spent = dict.fromkeys(rooms, 0), dict.fromkeys(rooms, 0.0)
    different = 0
    print("seed %d" % words.seed, flush=True)
    while rooms and time.monotonic() < end:
        room = min(rooms, key=lambda name: spent[name])  # the same time for each
        begin = time.monotonic()
        try:
            name, case = next(rooms[room])
        except StopIteration:
            del rooms[room]
            continue
        ground.begin()
        try:
            difference = case()
        except Exception:  # a bug of ours, or what it was not made for
            difference = traceback.format_exc()
        spent[room] += time.monotonic() - begin
        done[room] += 1
        if difference:
            different += 1
            print("DIFFERENT %s, case %d of seed %d: %s: %s\n  %s" %
                  (room, done[room], words.seed, name[:300], difference, "\n  ".join(text[:3000] for text in ground.commands[-6:])),
                  flush=True)
    print(", ".join("%s %d" % (name, count) for name, count in done.items()))
    print("%d cases, %d different" % (sum(done.values()), different))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    os.environ.pop("RAILBIRD_OPTIONS", None)
    os.environ.pop("TSAN_OPTIONS", None)
    main()
