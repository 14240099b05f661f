#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Signals of a program come as without the runtime: output and status of each program of this folder are those of its plain
# build, with every sampler.
#   run.sh [RUNS [COUNT]]    runs of each program and sampler (1); signals sent in each run (the program's own number)
# RB_PROGRAMS and RB_SAMPLERS choose among them.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../../cli/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
runs=${1:-1}
count=${2:-}
read -ra samplers <<<"${RB_SAMPLERS:-adaptive all none random:0.01 literace all:memory=1M}"
[ -n "${RB_PROGRAMS:-}" ] || RB_PROGRAMS=$(cd "$here" && ls ./*.c)

for source in $RB_PROGRAMS; do
  name=$(basename "$source" .c)
  flags=(-O1 -g -pthread -w)
  [ "$name" != system_v ] || flags+=(-std=c11)
  gcc "${flags[@]}" "$here/$name.c" -o "$name.plain"
  "$RAILBIRD" cc "${flags[@]}" "$here/$name.c" -o "$name.ours"
  timeout 300 "./$name.plain" $count >wanted 2>wanted.err || fail "$name: the plain build ends with $?"
  for sampler in "${samplers[@]}"; do
    for ((i = 0; i < runs; i++)); do
      status=0
      RAILBIRD_OPTIONS=sampler=$sampler timeout 300 "./$name.ours" $count >out 2>err || status=$?
      if [ $status != 0 ] || ! cmp -s wanted out || [ -s err ]; then
        fail "$name, $sampler, run $i: status $status: $(diff wanted out | head -n 5) $(head -c 300 err)"
      fi
    done
  done 2>/dev/null # the shell's words about a signal
  [ "$runs" = 1 ] || echo "$name: $runs runs with each of ${samplers[*]}"
done
finish signals
