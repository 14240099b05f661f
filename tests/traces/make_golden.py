#!/usr/bin/env python3
"""Writes the golden trace files of ok/ and bad/, from docs/reference/trace-format.md alone.

It shares no code with the C writer on purpose: that these files open shows that the document is enough.
Run it only when the format changes; the files are committed.
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
CODES = {"r": 0, "w": 1, "acq": 32, "rel": 33, "racq": 34, "rrel": 35, "load": 36, "store": 37, "rmw": 38,
         "rmwrel": 39, "post": 40, "wait": 41, "arrive": 42, "leave": 43, "fork": 44, "join": 45, "enter": 48,
         "exit": 49, "mark": 50}
THREADS, LOCKS, VARIABLES, LOCATIONS, FUNCTIONS, MARKS = range(6)
SPACE = {**dict.fromkeys(("r", "w"), VARIABLES), **dict.fromkeys(("fork", "join"), THREADS),
         **dict.fromkeys(("enter", "exit"), FUNCTIONS), "mark": MARKS}


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def checksum(data, seed):
    data += b"\0" * (-len(data) % 8)
    words = struct.unpack("<%dQ" % (len(data) // 8), data)
    a = [seed, seed ^ 0x5851F42D4C957F2D, ~seed & MASK, seed + 0x9E3779B97F4A7C15 & MASK]
    b = [0] * 4
    for i, word in enumerate(words):
        a[i % 4] = a[i % 4] + word & MASK
        b[i % 4] = b[i % 4] + a[i % 4] & MASK
    total = len(words)
    for k in range(4):
        total = mix(total + mix(a[k]) + b[k] & MASK)
    return total


def leb128(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def header(fields, tables, aliases, events_of, extra=b""):
    body = b"RAILBIRD" + struct.pack("<IIIBBBBQQQQ", *fields)
    for table in tables:
        body += struct.pack("<QQQQ", *table)
    body += struct.pack("<QQQ", *aliases) + struct.pack("<64Q", *events_of) + b"\0" * 64
    assert len(body) == 848
    body += struct.pack("<Q", checksum(body, 0))
    return (body + extra).ljust(4096, b"\0")


def trace(events, names=None, wide=False, finished=True, counts=None, aliases=(), change=None, record=None,
          flags=1, version=1, partial=True):
    """events: (thread, op, target, location) by number. `change` edits header fields, `record` a record."""
    names = names or {}
    need = [0] * 6
    events_of = [0] * 64
    records = []
    widths = (0, 0, 0) if wide else (26, 13, 19)
    held = most_held = 0
    for thread, op, target, location in events:
        need[THREADS] = max(need[THREADS], thread + 1)
        need[LOCATIONS] = max(need[LOCATIONS], location + 1)
        table = SPACE.get(op, LOCKS)
        need[table] = max(need[table], target + 1)
        events_of[CODES[op]] += 1
        held += {"acq": 1, "racq": 1, "rel": -1, "rrel": -1}.get(op, 0)
        most_held = max(most_held, held)
        code = CODES[op] << 58
        if wide:
            records.append(struct.pack("<QQ", code | thread << 32 | location, target))
        else:
            records.append(struct.pack("<Q", code | location << 39 | thread << 26 | target))
    if record:
        records[record[0]] = struct.pack("<Q", record[1])
    size = 16 if wide else 8
    per_page = 4080 // size
    pages = b""
    for i in range(0, len(records), per_page):
        part = records[i:i + per_page]
        if not finished and not partial and len(part) < per_page:
            break
        area = b"".join(part).ljust(4080, b"\0")
        pages += struct.pack("<IIQ", 0x50544252, len(part), checksum(area, i // per_page + 1)) + area
    tail = b""
    tables = []
    for t in range(6):
        if finished and t in names:
            packed = b"".join(leb128(len(n)) + n for n in names[t])
            tables.append([len(names[t]), 4096 + len(pages) + len(tail), len(packed), checksum(packed, 0)])
            tail += packed + b"\0" * (-len(packed) % 8)
        else:
            tables.append([(counts or {}).get(t, need[t]) if finished else 0, 0, 0, 0])
    alias_bytes = b"".join(struct.pack("<II", *a) for a in aliases)
    alias_head = [4096 + len(pages) + len(tail) if aliases else 0, len(aliases),
                  checksum(alias_bytes, 0) if aliases else 0]
    run = len({e[0] for e in events} | {e[2] for e in events if e[1] == "fork"} - {a[0] for a in aliases})
    fields = [version, flags if finished else 0, size, *widths, 0, len(events), events_of[0] + events_of[1], run,
              most_held]
    if not finished:
        fields[7:] = [0, 0, 0, 0]
        events_of = [0] * 64
    if change:
        change(fields, tables, alias_head, events_of)
    return header(fields, tables, alias_head, events_of) + pages + tail + alias_bytes


def write(name, data, beside=None, text=None):
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(data)
    if beside:
        with open(os.path.join(HERE, name + beside), "wb") as f:
            f.write(text)


ALL = [(0, "fork", 1, 0), (1, "acq", 0, 1), (1, "w", 0, 2), (1, "rel", 0, 3), (0, "racq", 1, 4), (0, "r", 0, 5),
       (0, "rrel", 1, 6), (0, "store", 2, 7), (1, "load", 2, 7), (1, "rmw", 2, 7), (1, "rmwrel", 2, 7),
       (0, "post", 3, 8), (1, "wait", 3, 8), (0, "arrive", 4, 9), (1, "arrive", 4, 9), (0, "leave", 4, 9),
       (1, "leave", 4, 9), (1, "enter", 0, 10), (1, "mark", 0, 10), (1, "exit", 0, 10), (0, "join", 1, 11)]
ALL_TEXT = "".join(f"T{t}|{'mark' if o == 'mark' else o}({'' if o == 'mark' else 'VLTF'[[2, 1, 0, 4].index(SPACE.get(o, LOCKS))]}{x})|{l}\n"
                   for t, o, x, l in ALL).encode()
MANY = [(i % 3, "rw"[i % 2], i % 17, i % 11) for i in range(1100)]
MANY_TEXT = "".join(f"T{t}|{o}(V{x})|{l}\n" for t, o, x, l in MANY)


def many_text(n):
    return "".join(MANY_TEXT.splitlines(True)[:n]).encode()


# ---- good
write("ok/all_kinds.std", ALL_TEXT)
write("ok/all_kinds.rbt", trace(ALL), ".text", ALL_TEXT)
write("ok/all_kinds_wide.rbt", trace(ALL, wide=True), ".text", ALL_TEXT)
write("ok/pages.rbt", trace(MANY), ".text", many_text(1100))
write("ok/unfinished.rbt", trace(MANY, finished=False, partial=False), ".text", many_text(1020))
write("ok/unfinished_partial.rbt", trace(MANY, finished=False) + b"half a page", ".text", many_text(1100))
write("ok/names.rbt", trace([(0, "fork", 1, 0), (2, "r", 0, 1), (0, "r", 1, 1)],
                            names={THREADS: [b"main", b"122", b"T122"], VARIABLES: [b"a.b[3]", b"x" * 200],
                                   LOCATIONS: [b"-5", b"17"]}, aliases=[(1, 2)]),
      ".text", b"main|fork(122)|-5\nT122|r(a.b[3])|17\nmain|r(" + b"x" * 200 + b")|17\n")
write("ok/alias.std", b"T1|fork(122)|1\nT122|r(x)|2\nT1|join(122)|3\nT1|w(x)|4\n")
write("ok/reentrant.std", b"T1|acq(l)|1\nT1|acq(l)|2\nT1|w(x)|3\nT1|rel(l)|4\nT1|rel(l)|5\nT2|acq(l)|1\n")
write("ok/crlf.std", b"T1|w(x)|1\r\nT2|w(x)|2", ".text", b"T1|w(x)|1\nT2|w(x)|2\n")
write("ok/comments.std", b"\xef\xbb\xbf# by hand\n\n// |||\nT1|w(x)|1\n  \nT2|w(x)|2\n", ".text",
      b"T1|w(x)|1\nT2|w(x)|2\n")
write("ok/marks.std", b"T1|begin|1\nT1|begin(tx 1)|2\nT1|branch|3\nT1|req(L)|4\nT1|end|5\nT1|r(x)|6\n")


# ---- bad
def bad(name, data, expect):
    write("bad/" + name, data, ".expect", expect.encode() + b"\n")


def setter(part, index, value, inner=None):
    def change(*parts):
        if inner is None:
            parts[part][index] = value
        else:
            parts[part][index][inner] = value
    return change


good = trace(MANY)
bad("empty.rbt", b"", "is empty")
bad("text.rbt", b"T1|w(x)|1\n", "not a Railbird trace")
bad("short_header.rbt", good[:3000], "truncated: 3000 bytes")
bad("truncated.rbt", good[:8192], "truncated: 8192 bytes, 1100 events need 16384")
bad("trailing.rbt", good + b"!", "1 bytes too many")
bad("header_bit.rbt", good[:40] + bytes([good[40] ^ 1]) + good[41:], "header: checksum does not match")
bad("page_bit.rbt", good[:9000] + bytes([good[9000] ^ 1]) + good[9001:],
    "page 1 (offset 0x2000, events from 510): checksum does not match")
bad("pages_swapped.rbt", good[:4096] + good[8192:12288] + good[4096:8192] + good[12288:],
    "page 0 (offset 0x1000, events from 0): checksum")
bad("version.rbt", trace(MANY, version=2), "version 2")
bad("thread.rbt", trace(MANY, record=(1000, 9 << 26)),
    "event 1000 (offset 0x2f60): thread 9 does not exist, the trace has 3 threads")
bad("code.rbt", trace(MANY, record=(1000, 5 << 58)), "event 1000 (offset 0x2f60): code 5 is no kind of event")
bad("variable.rbt", trace(MANY, counts={VARIABLES: 16}), "variable 16 does not exist, the trace has 16 variables")
bad("huge_events.rbt", trace(MANY, change=setter(0, 7, 1 << 60)), "the number of events")
bad("huge_table.rbt", trace(MANY, change=setter(1, VARIABLES, 1 << 60, 0)), "table of variables")
bad("unfinished_empty.rbt", trace([], finished=False), "before it wrote any events")
bad("alias_chain.rbt", trace([(0, "fork", 1, 0), (2, "r", 0, 0)], aliases=[(1, 2), (2, 0)]), "alias of an alias")
bad("name_length.rbt", trace([(0, "r", 0, 0)], names={VARIABLES: [b"abc"]}).replace(b"\x03abc", b"\x04abc"),
    "table of variables")
bad("empty.std", b"", "no events in 0 lines")
bad("fields.std", b"T1|w(x)|1\nT1|w(x)\n", ":2: \"T1|w(x)\" has 2 of 3 fields")
bad("operation.std", b"T1|write(x)|1\n", ":1: unknown operation \"write\"; did you mean w?")
bad("location.std", b"T1|w(x)|0x2\n", ":1: location \"0x2\"")
bad("release.std", b"T1|w(x)|1\nT1|rel(l)|2\n", ":2: rel by T1 of lock l, but no thread holds it")
bad("overlap.std", b"T1|acq(l)|1\nT2|acq(l)|2\n", ":2: acq by T2 of lock l, but T1 holds it")
bad("nul.std", b"T1|w(a\0b)|1\n", ":1: a name contains a NUL byte")
bad("binary.std", good[:4096], "Railbird trace already")
