#!/usr/bin/env python3
"""Prints a raw report, as the runtime writes it, about a program that was just compiled.

usage: raw.py PROGRAM GLOBAL+OFFSET FRAMES FRAMES [KEY=JSON]...

FRAMES is the stack of an access, innermost first: labels of the program with commas between them. The offset in a
frame is that of the label + 1, because reports hold return addresses and are looked up one byte before. BIAS in the
environment is where the program was loaded.
"""
import json
import os
import re
import subprocess
import sys


def symbols(path):
    table = {}
    for line in subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.splitlines():
        parts = line.split()
        if len(parts) == 3:
            table[parts[2]] = int(parts[0], 16)
    return table


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return found.group(1) if found else None


def main():
    path, place, *stacks = sys.argv[1:5]
    table = symbols(os.environ.get("SYMBOLS", path))
    module = {"module": os.path.realpath(path)}
    if build_id(path):
        module["build_id"] = build_id(path)
    name, _, into = place.partition("+")
    offset = table[name] + int(into or 0)
    address = hex(offset + int(os.environ.get("BIAS", "0x550000000000"), 16))
    accesses = [
        {"op": op, "atomic": False, "size": 4, "address": address, "thread": thread,
         "stack": [{**module, "offset": hex(table[label] + 1)} for label in stack.split(",")]}
        for op, thread, stack in (("write", 2, stacks[0]), ("read", 0, stacks[1]))]
    record = {"evidence": "hb", "pid": 123, "host": "here", "time": 1763251200.123, "sampler": "all",
              "engine": "so", "program": os.path.realpath(path), "accesses": accesses,
              "location": {"kind": "global", **module, "offset": hex(offset)},
              "threads": [{"id": 2, "os_id": 4711, "name": "worker", "running": True, "created_by": 0,
                           "stack": [{**module, "offset": hex(table["main"] + 1)}]}] if "main" in table else []}
    for pair in sys.argv[5:]:
        key, _, value = pair.partition("=")
        if value:
            record[key] = json.loads(value)
        else:
            del record[key]
    print(json.dumps(record))


main()
