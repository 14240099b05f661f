# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spent.py FILE COMMAND...: runs COMMAND, writes the seconds of CPU time that it and all it started have used to FILE, ends with
its status. Servers that were left behind by who started them are waited for and counted too, which the shell's `time` does
not do: they become children of this process (PR_SET_CHILD_SUBREAPER). Who is still there after 20 seconds is ended."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    status = subprocess.run(sys.argv[2:], check=False).returncode
    end = time.monotonic() + 20
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == 0:
            time.sleep(0.05)
            if time.monotonic() > end:
                with open("/proc/self/task/%d/children" % os.getpid(), encoding="ascii") as children:
                    for child in children.read().split():
                        os.kill(int(child), signal.SIGKILL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(sys.argv[1], "w", encoding="ascii") as file:
        print("%.2f" % (used.ru_utime + used.ru_stime), file=file)
    sys.exit(status if status >= 0 else 128 - status)


main()
