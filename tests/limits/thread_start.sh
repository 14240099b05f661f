#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A new thread uses little more CPU time before its own work than without the runtime: at its first statement, and when it
# allows asynchronous cancellation, which libomp does in each of its threads. CPU time, so that others may use the machine.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../cli/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
gcc -O1 -g "$here/thread_start.c" -o plain -pthread
"$RAILBIRD" cc -O1 -g "$here/thread_start.c" -o ours -pthread
runs=15 most_ns=100000 # more than the plain thread's

# medians PROGRAM: `begun` and `allowed`, in nanoseconds
medians() {
  local i
  for ((i = 0; i < runs; i++)); do "$1"; done >times
  begun=$(cut -d ' ' -f 1 times | sort -n | sed -n $((runs / 2 + 1))p)
  allowed=$(cut -d ' ' -f 2 times | sort -n | sed -n $((runs / 2 + 1))p)
}

medians ./plain
plain_begun=$begun plain_allowed=$allowed
for options in "" sampler=all sampler=none; do
  export RAILBIRD_OPTIONS=$options
  medians ./ours
  [ "$begun" -le $((plain_begun + most_ns)) ] || fail "${options:-default}: $begun ns at the first statement, plain $plain_begun"
  [ "$allowed" -le $((plain_allowed + most_ns)) ] ||
    fail "${options:-default}: $allowed ns when cancellation is allowed, plain $plain_allowed"
done
finish "the start of threads"
