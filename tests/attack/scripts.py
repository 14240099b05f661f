# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders beside this that have a run.sh of their own: once each."""
import glob
import os

from ground import HERE


def cases(ground, rng):
    for script in sorted(glob.glob(os.path.join(HERE, "*", "run.sh"))):
        def case():
            done = ground.run(["bash", script], cpu=3600, seconds=3600)
            return None if done.status in (0, 77) else "%s\n%s" % (done, done.out[-3000:])
        yield os.path.basename(os.path.dirname(script)), case
