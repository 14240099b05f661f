# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kill -9 of a recorded program or of its recorder at any time: the trace opens, checks, and can be analyzed."""
import os
import signal
import subprocess
import time

from ground import HERE, RAILBIRD


def cases(ground, rng):
    program = ground.build(os.path.join(HERE, "programs", "threads.c"), "ours")
    while True:
        way = rng.choice(("succession", "barriers", "atomics", "detached", "nested"))
        yield "%s" % way, lambda: kill(ground, program, way, rng.random() < 0.5, rng.random() ** 2 * 2)


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                    if int(file.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(name))
            except OSError:
                pass
    return found


def kill(ground, program, way, recorder, after):
    words = [RAILBIRD, "record", "-o", "t.rbt", program, way]
    ground.commands.append("%s: kill -9 of the %s after %.3f s" % (" ".join(words), "recorder" if recorder else "program", after))
    process = subprocess.Popen(words, cwd=ground.path("case"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    raw = ground.path("case", "t.rbt.raw")
    while process.poll() is None and not (os.path.exists(raw) and os.path.getsize(raw)):
        time.sleep(0.001)
    time.sleep(after)
    programs = children(process.pid)
    for pid in [process.pid] if recorder else programs:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        err = process.communicate(timeout=300)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        return "the recorder does not end"
    end = time.monotonic() + 300
    while any(os.path.exists("/proc/%d" % pid) for pid in programs):
        if time.monotonic() > end:
            return "the program outlives its recorder"
        time.sleep(0.01)
    if recorder and process.returncode == -signal.SIGKILL:
        if os.path.exists(ground.path("case", "t.rbt")):
            os.unlink(ground.path("case", "t.rbt"))
        if not os.path.exists(raw):
            return None  # it was done
        merged = ground.railbird("record", "-o", "t.rbt", "--merge", "t.rbt.raw")
        if merged.status == 2 and "no process recorded anything" in str(merged):
            return None  # the kill came before the program claimed the recording
        if merged.status not in (0, 66):
            return "--merge: %s" % merged
    elif process.returncode == 2 and "before it left anything: there is no trace" in err:
        return None
    elif process.returncode not in (0, 137, -signal.SIGKILL, 66):
        return "status %s: %s" % (process.returncode, err[-500:])
    check = ground.railbird("trace", "check", "t.rbt")
    if check.status:
        return "check: %s" % check
    analyzed = ground.railbird("analyze", "t.rbt", "--engine", "djit")
    return None if analyzed.status == 0 else "analyze: %s" % analyzed
