#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# stress_watch.sh [SECONDS [THREADS [RUNS]]]: the stress program, built without us, under `railbird watch` at a rate that is
# far too high, in all modes. Every run must end with "done" and status 0, without a confirmed race: there is none.
set -euo pipefail
seconds=${1:-20} threads=${2:-64} runs=${3:-1}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -g -shared -fPIC "$here/../stress/plugin.c" -o "$work/plugin.so"
gcc -O2 -g "$here/../stress/stress.c" -o "$work/stress" -ldl -lpthread
export STRESS_PLUGIN=$work/plugin.so
unset RAILBIRD_OPTIONS RAILBIRD_WATCH TSAN_OPTIONS
failed=0
for ((i = 0; i < runs; i++)); do
  for mode in clock collide both; do
    status=0
    timeout $((seconds + 600)) "$RAILBIRD" watch --mode $mode --per-second 1000 --budget 50% -o stats=1 \
      -- "$work/stress" "$seconds" "$threads" >"$work/out" 2>"$work/err" || status=$?
    if [ $status = 0 ] && tail -n 1 "$work/out" | grep -qx "done"; then
      echo "ok   $mode: $(head -n 1 "$work/out"); $(grep '^Railbird: watch' "$work/err" | tail -n 1)"
    else
      failed=$((failed + 1))
      echo "FAIL $mode: status $status"
      head -n 40 "$work/err"
    fi
  done
done
[ $failed = 0 ]
