#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# stress/toggle.sh [SECONDS [THREADS [SAMPLER...]]]: the stress program while a thread switches all call sites off and on without a
# pause (toggle.c, for which the one function of the runtime that it needs is made visible again). As run.sh: it must end with "done",
# status 0 and without a report; and sites must have been switched at least a thousand times a second.
set -euo pipefail
seconds=${1:-600} threads=${2:-64}
shift $(($# < 2 ? $# : 2))
samplers=("$@")
[ ${#samplers[@]} -gt 0 ] || samplers=(adaptive)
here=$(dirname "$(realpath "$0")")
lib=$(dirname "$(realpath "$RAILBIRD")")/../lib
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$RAILBIRD" cc -O1 -g -shared -fPIC "$here/plugin.c" -o "$folder/plugin.so"
"$RAILBIRD" cc -O1 -g -c "$here/stress.c" -o "$folder/stress.o"
gcc -O1 -g -std=c17 -D_GNU_SOURCE -I"$here/../../src" -I"$here/../../include" -c "$here/toggle.c" -o "$folder/toggle.o"
(cd "$folder" && ar x "$lib/librailbird_rt.a")
objcopy --globalize-symbol=rb_sites_flip_all "$folder/railbird_rt.o"
gcc "$folder"/{stress,toggle,railbird_rt}.o "-Wl,--dynamic-list=$lib/railbird_rt.syms" -o "$folder/stress" -lpthread -ldl
export STRESS_PLUGIN=$folder/plugin.so
passed=0 failed=0
for sampler in "${samplers[@]}"; do
  status=0
  RAILBIRD_OPTIONS="sampler=$sampler:stats=json:$folder/stats" timeout $((seconds + 600)) \
    "$folder/stress" "$seconds" "$threads" >"$folder/out" 2>"$folder/err" || status=$?
  flips=$(tail -n 1 "$folder/stats" 2>/dev/null | sed -n 's/.*"flips": *\([0-9]*\).*/\1/p')
  if [ $status -eq 0 ] && tail -n 1 "$folder/out" | grep -qx "done" && ! grep -q WARNING "$folder/err" &&
    [ "${flips:-0}" -gt $((seconds * 1000)) ]; then
    passed=$((passed + 1))
    echo "ok   $sampler: $(head -n 1 "$folder/out"), $flips sites switched"
  else
    failed=$((failed + 1))
    echo "FAIL $sampler: status $status, ${flips:-no} sites switched"
    head -n 60 "$folder/err"
  fi
  rm -f "$folder/stats"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
