#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts every function that the C library, the C++ library and the OpenMP libraries export into a class.

symbols.py RUNTIME            the libraries as installed against RUNTIME (librailbird_rt.so) and symbols.txt beside this
symbols.py --write FILE       writes the tables of symbols.txt into FILE, between its two marks
symbols.py --check FILE       fails if they are not what FILE has
symbols.py --self-test        shows that a planted symbol is found

A function is followed if the runtime exports its name. Else symbols.txt says why it need not be, or that it is not.
A name that may hand something over between threads (HANDOVER) must be there in full: a pattern does not do. So a new
function of a new library has no class until somebody has looked at it, and the status is 1.
"""
import fnmatch
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
MARKS = ("<!-- symbols.py -->", "<!-- end -->")
CLASSES = ("need not", "not followed")
HANDOVER = re.compile(
    r"(?<![cb])lock|mutex|mtx|cond(?!ition\b)|cnd_|sem_|barrier|once|wait|wake|notif|thread|thrd|tss_|_key|futex|aio_|gai_"
    r"|timer|mq_|atfork|exit|fork|event|queue|atomic(?!_(cmplx|fixed|float))|acquire|release|guard|suspend|join|detach"
    r"|cancel|signal|sigw|sigq|future|promise|exception_ptr|latch|pool|reduc|doacross|depend|task")

# Library: (names the compiler knows it by, are its symbols C++).
LIBRARIES = {
    "libc": (["libc.so.6"], False),
    "ld": (["ld-linux-x86-64.so.2"], False),
    "libpthread": (["libpthread.so.0", "libdl.so.2", "librt.so.1", "libanl.so.1", "libutil.so.1"], False),
    "libgomp": (["libgomp.so.1", "libgomp.so"], False),
    "libomp": (["libomp.so.5", "libomp.so"], False),
    "libstdc++": (["libstdc++.so.6"], True),
}


def find_library(names):
    for name in names:
        for compiler in ("gcc", "clang"):
            try:
                path = subprocess.run([compiler, "-print-file-name=" + name], capture_output=True, text=True).stdout.strip()
            except OSError:
                continue
            if os.path.isabs(path) and os.path.exists(path) and open(path, "rb").read(4) == b"\x7fELF":
                return path
    for folder, _, files in os.walk("/usr/lib"):
        if names[0] in files and "llvm" in folder:
            return os.path.join(folder, names[0])
    return None


def exported(path):
    """Returns {name: set of versions}; a version that new programs get begins with '@@'."""
    found = {}
    text = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        word = line.split()
        if len(word) < 8 or word[3] not in ("FUNC", "IFUNC", "NOTYPE") or word[4] == "LOCAL" or word[6] in ("UND", "ABS"):
            continue
        name, at, version = word[7].partition("@")
        found.setdefault(name, set()).add(at + version if at else "@@")
    return found


def base_names(names):
    """Returns {mangled: what it is called, without parameters and template arguments}."""
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    bases = {}
    for name, plain in zip(names, text.splitlines()):
        plain = re.sub(r"^(non-virtual|virtual) thunk to ", "", plain).replace("(anonymous namespace)", "anonymous")
        plain = re.sub(r"operator ?(<<=|>>=|<=>|->\*|<<|>>|<=|>=|->|<|>|\(\))", "operator", plain)
        while re.search(r"<[^<>]*>", plain):
            plain = re.sub(r"<[^<>]*>", "", plain)
        plain = re.sub(r"\[abi:\w+\]", "", plain).split("(")[0].rstrip()
        plain = re.sub(r"operator (?!new|delete).*", "operator", plain)
        bases[name] = plain if "operator " in plain else plain.split(" ")[-1]
    return bases


class Table:
    def __init__(self, path):
        self.sections = []  # (class, reason, {library: [patterns]})
        library = None
        for number, line in enumerate(open(path), 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("= "):
                kind, _, reason = line[2:].partition(": ")
                if kind not in CLASSES:
                    sys.exit("%s:%d: no such class: %s" % (path, number, kind))
                self.sections.append((kind, reason, {}))
                library = None
            elif line[0] != " ":
                library, _, rest = line.partition(": ")
                self.sections[-1][2].setdefault(library, []).extend(rest.split())
            else:
                self.sections[-1][2][library].extend(line.split())
        self.exact, self.patterns = {}, {}
        for kind, reason, by in self.sections:
            for libraries, patterns in by.items():
                for library in libraries.split(","):
                    for pattern in patterns:
                        if any(c in pattern for c in "*?["):
                            self.patterns.setdefault(library, []).append((pattern, (kind, reason)))
                        elif self.exact.setdefault(library, {}).setdefault(pattern, (kind, reason)) != (kind, reason):
                            sys.exit("%s: %s is in two classes" % (path, pattern))

    def look_up(self, library, name):
        found = self.exact.get(library, {}).get(name)
        if found or HANDOVER.search(name):
            return found
        for pattern, what in self.patterns.get(library, []):
            if fnmatch.fnmatchcase(name, pattern):
                return what
        return None


def classify(table, library, cxx, symbols, followed):
    """Returns {class: number} and the names that have none."""
    counts, unexplained = {}, []
    bases = base_names(sorted(symbols)) if cxx else {}
    for name in sorted(symbols):
        versions = symbols[name]
        if name in followed:
            kind = "followed"
        elif all("PRIVATE" in v for v in versions):
            kind = "private"
        elif not any(v.startswith("@@") for v in versions):
            kind = "old"
        else:
            what = table.look_up(library, bases.get(name, name))
            kind = what[0] if what else None
        if kind:
            counts[kind] = counts.get(kind, 0) + 1
        else:
            unexplained.append(bases.get(name, name) if cxx else name)
    return counts, sorted(set(unexplained))


def as_text(table):
    lines = []
    for kind in CLASSES:
        title = {"need not": "### Need not be followed", "not followed": "### Not followed"}[kind]
        lines += [title, "", "| functions | why |" if kind == "need not" else "| functions | what is missed |", "|---|---|"]
        for its, reason, by in table.sections:
            if its != kind:
                continue
            names = []
            for patterns in by.values():
                names += [p for p in patterns if p not in names]
            most = 12 if kind == "need not" or len(names) > 80 else 80
            shown = ", ".join("`%s`" % n for n in names[:most])
            shown += " and %d more" % (len(names) - most) if len(names) > most else ""
            lines.append("| %s | %s |" % (shown, reason))
        lines.append("")
    return "\n".join(lines)


def with_tables(path, table):
    text = open(path).read()
    before, _, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        sys.exit("%s: no place for the tables (%s ... %s)" % (path, *MARKS))
    return text, before + MARKS[0] + "\n" + as_text(table) + MARKS[1] + after


def self_test(table):
    planted = {"pthread_new_lock_np": {"@@GLIBC_9.9"}, "wholly_new": {"@@GLIBC_9.9"},
               "hidden_lock": {"@@GLIBC_PRIVATE"}, "gone_lock": {"@GLIBC_2.2"}, "read": {"@@GLIBC_2.2"}}
    _, unexplained = classify(table, "libc", False, planted, {"read"})
    if unexplained != ["pthread_new_lock_np", "wholly_new"]:
        sys.exit("self-test: unexplained are %s" % unexplained)
    _, unexplained = classify(table, "libstdc++", True, {"_ZNSt3newILi1EE4lockEv": {"@@GLIBCXX_9"}}, set())
    if unexplained != ["std::new::lock"] and unexplained != ["std::new<1>::lock"]:
        sys.exit("self-test: unexplained are %s" % unexplained)


def main(words):
    table = Table(os.path.join(HERE, "symbols.txt"))
    if words[:1] == ["--self-test"]:
        return self_test(table)
    if words[:1] in (["--write"], ["--check"]):
        text, new = with_tables(words[1], table)
        if words[0] == "--write":
            open(words[1], "w").write(new)
        elif text != new:
            sys.exit("%s is not what tests/handover/symbols.py --write makes of symbols.txt" % words[1])
        return None
    followed, bad = set(exported(words[0])), 0
    print("%-12s %9s %9s %13s %9s %6s  %s" % ("", "followed", "need not", "not followed", "private", "old", "unexplained"))
    for library, (names, cxx) in LIBRARIES.items():
        symbols, where = {}, None
        for name in [names] if library != "libpthread" else [[n] for n in names]:
            path = find_library(name)
            if path:
                where = path
                symbols.update(exported(path))
        if not where:
            print("%-12s is not installed" % library)
            continue
        counts, unexplained = classify(table, library, cxx, symbols, followed)
        print("%-12s %9d %9d %13d %9d %6d  %d" % (library, counts.get("followed", 0), counts.get("need not", 0),
                                                 counts.get("not followed", 0), counts.get("private", 0),
                                                 counts.get("old", 0), len(unexplained)))
        stale = [] if cxx else sorted(n for n in table.exact.get(library, {}) if n in followed and n in symbols)
        for name in unexplained:
            print("  %s: %s: in no class of tests/handover/symbols.txt" % (library, name))
        for name in stale:
            print("  %s: %s: followed, and symbols.txt says that it is not" % (library, name))
        bad += len(unexplained) + len(stale)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
