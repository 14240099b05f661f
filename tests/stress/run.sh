#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# stress/run.sh [SECONDS [THREADS [ENGINE...]]]: the stress program under each engine and a few samplers. Every run must end
# with "done", status 0 and without a report: whatever is reported of it is false. STRESS_SAMPLERS: these instead, with further
# options perhaps ("adaptive:watch=1").
set -euo pipefail
seconds=${1:-120} threads=${2:-64}
shift $(($# < 2 ? $# : 2))
engines=("$@")
[ ${#engines[@]} -gt 0 ] || engines=(so su st fasttrack djit)
here=$(dirname "$(realpath "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$RAILBIRD" cc -O1 -g -shared -fPIC "$here/plugin.c" -o "$folder/plugin.so"
"$RAILBIRD" cc -O1 -g "$here/stress.c" -o "$folder/stress" -ldl
export STRESS_PLUGIN=$folder/plugin.so
passed=0 failed=0
for engine in "${engines[@]}"; do
  for sampler in ${STRESS_SAMPLERS:-all random:0.03 adaptive}; do
    status=0
    RAILBIRD_OPTIONS="engine=$engine:sampler=$sampler" timeout $((seconds + 600)) \
      "$folder/stress" "$seconds" "$threads" >"$folder/out" 2>"$folder/err" || status=$?
    if [ $status -eq 0 ] && tail -n 1 "$folder/out" | grep -qx "done" && ! grep -q WARNING "$folder/err"; then
      passed=$((passed + 1))
      echo "ok   $engine $sampler: $(head -n 1 "$folder/out")"
    else
      failed=$((failed + 1))
      echo "FAIL $engine $sampler: status $status"
      head -n 60 "$folder/err"
    fi
  done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
