#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Attacks on the runtime and the tool: programs in hostile surroundings, threads and children in numbers, ways to hand data over,
# damaged input, full disks, kill -9, options that are none. Each is compared with the plain build, or with what is promised.
#   run.sh [--minutes N] [--seed S] [ROOM...]     N: how long (default 2)   S: of all that is drawn (default: the time)
#   ROOM: some of environments programs inputs reports modules kills disks options scripts; default all
# Prints `N cases, N different`, each difference with what repeats it, and ends with 1 if there is any. Programs of one folder each
# (signals, sandbox...) have a run.sh of their own; they are the room `scripts`.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export LC_ALL=C.UTF-8
RAILBIRD=$(realpath "${RAILBIRD:-$here/../../build/bin/railbird}")
export RAILBIRD
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/attack.py" "$work" "$@"
