#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes damaged traces for test_bad_input.sh: damage.py KIND ... (see the functions). All from a seed."""
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
golden = {"__file__": os.path.join(HERE, "..", "traces", "make_golden.py")}
with open(golden["__file__"]) as source:  # its functions, without the part that writes
    exec(source.read().split("# ---- good")[0], golden)
checksum, trace = golden["checksum"], golden["trace"]


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


def flips(source, folder, count, seed):
    """One bit of the file each, a third of them in the header and a third in the last 4 KiB (tables)."""
    data, rng = open(source, "rb").read(), random.Random(int(seed))
    for i in range(int(count)):
        low, high = ((0, 856), (0, len(data)), (max(0, len(data) - 4096), len(data)))[i % 3]
        at = rng.randrange(low, high)
        bad = bytearray(data)
        bad[at] ^= 1 << rng.randrange(8)
        write(f"{folder}/flip_{at}_{i}.rbt", bad)


def cuts(source, folder, count, seed):
    """The file cut off: at every seam, and anywhere."""
    data, rng = open(source, "rb").read(), random.Random(int(seed))
    seams = {8, 16, 855, 856, 4095, 4096, 4097, 4112, 8191, 8192, 8193, len(data) - 8, len(data) - 1}
    for at in seams | {rng.randrange(8, len(data)) for _ in range(int(count))}:
        if 8 <= at < len(data):
            write(f"{folder}/cut_{at}.rbt", data[:at])


def claims(folder):
    """Headers that claim too much or what cannot be, with the right checksum; records likewise."""
    events = [(i % 3, "rw"[i % 2], i % 17, i % 11) for i in range(1100)]
    huge = (1 << 16, 1 << 24, 1 << 32, 1 << 40, 1 << 63, (1 << 64) - 1)
    for field in range(7, 11):
        for value in huge + (0, 1):
            def change(fields, tables, aliases, events_of):
                fields[field] = value
            if (field, value) != (10, 0):  # which is true
                write(f"{folder}/field{field}_{value}.rbt", trace(events, change=change))
    for table in range(6):
        for part in range(4):
            for value in huge[2:]:
                def change(fields, tables, aliases, events_of):
                    tables[table][part] = value
                write(f"{folder}/table{table}_{part}_{value}.rbt", trace(events, change=change))
    for part in range(3):
        for value in huge + (1,):
            def change(fields, tables, aliases, events_of):
                aliases[part] = value
            write(f"{folder}/alias{part}_{value}.rbt", trace(events, change=change))
    for op in (0, 1, 2, 31, 32, 33, 44, 63):
        def change(fields, tables, aliases, events_of):
            events_of[op] = (1 << 64) - 1
        write(f"{folder}/kind{op}.rbt", trace(events, change=change))
    for index, value in ((0, 0), (0, 2), (0, 255), (1, 5), (1, 1 << 31), (2, 0), (2, 4), (2, 12), (2, 1 << 31),
                         (3, 57), (3, 255), (4, 33), (5, 33), (6, 1)):
        def change(fields, tables, aliases, events_of):
            fields[index] = value
        write(f"{folder}/shape{index}_{value}.rbt", trace(events, change=change))
    # a name table whose lengths lie
    for lie in (b"\x7f", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80" * 20):
        def change(fields, tables, aliases, events_of):
            tables[2][3] = checksum(lie, 0)
            tables[2][2] = len(lie)
        data = trace([(0, "r", 0, 0)], names={2: [b"x" * (len(lie) - 1)]}, change=change)
        write(f"{folder}/name_{len(lie)}.rbt", data.replace(bytes([len(lie) - 1]) + b"x" * (len(lie) - 1), lie))


def page(source, target, number, what):
    """Page `number` damaged: a flipped bit, or record 40 replaced and the checksum made right."""
    data, at = bytearray(open(source, "rb").read()), 4096 * (1 + int(number))
    if what == "flip":
        data[at + 1000] ^= 16
    else:
        word = {"code": 5 << 58, "target": 33 << 58 | (1 << 26) - 1}[what]
        data[at + 16 + 320:at + 16 + 328] = struct.pack("<Q", word)
        data[at + 8:at + 16] = struct.pack("<Q", checksum(bytes(data[at + 16:at + 4096]), int(number) + 1))
    write(target, data)


if __name__ == "__main__":
    {"flips": flips, "cuts": cuts, "claims": claims, "page": page}[sys.argv[1]](*sys.argv[2:])
