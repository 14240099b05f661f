# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""signals.py RAILBIRD PROGRAM: how often PROGRAM, below `railbird run --json`, gets SIGTERM or SIGINT that is sent to its
terminal, to its group, to railbird alone, and so on; a line each. PROGRAM makes a file `ready` when it is, and writes
what it got into `counts` when there is a file `enough`."""
import os
import signal
import sys
import time

APART = 0.4  # seconds: not one signal to the process and its group, but two


def wait_for(path):
    end = time.time() + 300
    while not os.path.exists(path) or not os.path.getsize(path):
        if time.time() > end:
            sys.exit("no " + path)
        time.sleep(0.01)


def run(send):
    """The tool in a terminal and a session of its own."""
    for path in ("ready", "enough", "counts"):
        if os.path.exists(path):
            os.unlink(path)
    master, slave = os.openpty()
    tool = os.fork()
    if tool == 0:
        os.setsid()
        terminal = os.open(os.ttyname(slave), os.O_RDWR)  # the first one of a session is its controlling terminal
        for fd in range(3):
            os.dup2(terminal, fd)
        os.execvp(sys.argv[1], [sys.argv[1], "run", "--json", sys.argv[2]])
    os.close(slave)
    wait_for("ready")
    for step in send:
        step(tool, master)
    time.sleep(APART)
    open("enough", "w").close()
    wait_for("counts")
    os.waitpid(tool, 0)
    os.close(master)
    return open("counts").read().strip()


def terminal(tool, master):
    os.write(master, b"\x03")


def group(tool, master):
    os.killpg(tool, signal.SIGTERM)


def alone(tool, master):
    os.kill(tool, signal.SIGTERM)


def pause(tool, master):
    time.sleep(APART)


for name, steps, wanted in (
    ("terminal", [terminal], "INT 1 TERM 0"),
    ("group", [group], "INT 0 TERM 1"),
    ("group twice", [group, pause, group], "INT 0 TERM 2"),
    ("alone", [alone], "INT 0 TERM 1"),
    ("alone twice", [alone, pause, alone], "INT 0 TERM 2"),
    ("alone and group", [alone, group], "INT 0 TERM 1"),  # as timeout(1) does
    ("group, then alone", [group, pause, alone], "INT 0 TERM 2"),
):
    for attempt in range(3):  # a busy machine may keep the second of two steps that are to come at once
        got = run(steps)
        if got == wanted:
            break
    print(f"{name}: {got}", flush=True)
