#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mmap.sh [long]: any mmap may fail, of the loader, of libc, of the runtime or of the program: the NTH alone, or all from the NTH
# on. The program ends as it does when that happens to it without the runtime, by itself and in words: never by a signal, never
# not at all, and never with a report of a race that is not there.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../cli/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
ulimit -c 0
gcc -O1 -g "$here/fail_mmap.c" -o fail_mmap
gcc -O1 -g "$here/many.c" -o plain -pthread
"$RAILBIRD" cc -O1 -g -shared -fPIC "$here/../stress/plugin.c" -o plugin.so
"$RAILBIRD" cc -O1 -g "$here/allocations.c" -o allocations -ldl -pthread
"$RAILBIRD" cc -O1 -g "$here/many.c" -o many -pthread
stride=15 policies=(engine=so)
[ "${1:-}" != long ] || stride=1 policies=(engine=so engine=su:memory=8M sampler=literace)

fails_alone() { # NTH HOW STATUS: so does a program without the runtime
  local status=0
  { timeout 300 ./fail_mmap "$1" "$2" ./plain live 2 >/dev/null 2>&1 || status=$?; } 2>/dev/null
  [ $status = "$3" ]
}

# tries STATUSES COMMAND...: how often which came; outcomes that are not among STATUSES are failures
tries() {
  local allowed=$1 status count n how
  shift
  status=0
  timeout 300 ./fail_mmap 1 count "$@" >out 2>err || status=$?
  if [ $status = 77 ]; then
    echo "skipped: $(tail -n 1 err)"
    exit 0
  fi
  count=$(sed -n 's/^mmaps //p' out)
  declare -A came=()
  for how in once on; do
    for ((n = 1 + RANDOM % stride; n <= count; n += stride)); do
      status=0
      timeout 300 ./fail_mmap "$n" $how "$@" >out 2>err || status=$?
      came[$status]=$((${came[$status]:-0} + 1))
      # The loader's first ones come before anything of ours, and it does not check all of them.
      [[ " $allowed " == *" $status "* ]] || fails_alone "$n" $how $status || fail "mmap $n of $count fails ($how): status $status of $*: $(head -c 300 err)"
    done
  done
  echo "$* (${RAILBIRD_OPTIONS:-}): $count mmaps;$(for s in "${!came[@]}"; do echo -n " status $s: ${came[$s]}"; done)"
}
# 127: the loader's own; 2 to 4: allocations says that it got no thread or no library.
for options in "${policies[@]}"; do
  export RAILBIRD_OPTIONS=$options:stats=json:stats
  tries "0 2 3 4 127" ./allocations ./plugin.so none
  tries "0 2 3 4 66 127" ./allocations ./plugin.so races
  tries "0 127" ./many live 60
done
finish mmap
