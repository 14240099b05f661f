#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Watchpoints (watch=1): races whose second access comes from code asleep are found; nothing ordered is reported; the
# program's signals, descriptors, children and end are its own; and where there are no breakpoints a line says why.
#   test_watch.sh [RUNS]   of each pair of programs/watch; default 5
set -euo pipefail
runs=${1:-5}
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  exit 0
fi
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS
gcc -O1 "$RB_TEST_DATA/watch/without.c" -o without || fail "cannot build without"
"$RAILBIRD" cc -O1 -g "$RB_TEST_DATA/watch/ways.c" -o ways || fail "cannot build ways"

# watched OPTIONS PROGRAM...: sets status; `stats` has the statistics
watched() {
  local options=$1
  shift
  rm -f stats
  status=0
  { RAILBIRD_OPTIONS="watch=1:stats=json:stats:report=none:$options" timeout 300 "$@" >out 2>err || status=$?; } 2>/dev/null
}
stat_of() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p;q" stats; }
missing() { sed -n 's/.*"watchpoints_missing":"\([^"]*\)".*/\1/p' stats | head -n 1; }

# --- without breakpoints
watched sampler=all ./ways none
expect "sampler=all: status" $status 0
expect "sampler=all" "$(missing)" "only with sampler=adaptive"
grep -q '^Railbird: watch=1: no hardware breakpoints .*: only with sampler=adaptive' err || fail "sampler=all: no line"
watched "" ./without ./ways none
expect "without: status" $status 0
expect "without: armed" "$(stat_of watch_armed)" 0
case $(missing) in
"not permitted"*) ;;
*) fail "without: '$(missing)'" ;;
esac
RAILBIRD_OPTIONS=watch=1:stats=1 ./without ./ways spawn >out 2>err || fail "without: status $?"
grep -q '^  watchpoints: not available: not permitted' err || fail "the statistics do not say that there are none"
expect "lines that say so" "$(grep -c '^Railbird: watch=1: no hardware breakpoints .*: not permitted' err)" 1
grep -qx "done" out || fail "without: did not come to its end"

watched "" ./ways none
if [ -n "$(missing)" ]; then
  [ "$failures" = 0 ] && echo "skipped: no hardware breakpoints here: $(missing)" && exit 0
  finish watch
fi

# --- the process's own
expect "none: status" $status 0
armed=0
for way in none block spawn threads close raw handler; do
  watched "" ./ways $way
  expect "$way: status" $status 0
  expect "$way: races" "$(stat_of races)" 0
  grep -qx "done" out || fail "$way: did not come to its end"
  armed=$((armed + $(stat_of watch_armed)))
done
[ $armed -gt 0 ] || fail "no watchpoint was set"
# Masks that nobody sees: watchpoints are given up at once, which is late where a hit comes without its cause (docs/explanation/runtime.md, 8).
watched "" ./ways bare
[ $status = 133 ] || expect "bare: status" $status 0
watched "" ./ways exec
expect "exec: status" $status 0
expect "exec" "$(tail -n 1 out)" executed
watched "" ./ways trap
expect "trap: status" $status 133 # SIGTRAP, as without us
watched "" bash -c 'ulimit -n 20; exec ./ways none'
expect "few descriptors: status" $status 0
expect "few descriptors" "$(missing)" "no descriptor is free"

# --- what was watched in an episode says nothing once all rests
"$RAILBIRD" cc -O1 -g "$RB_TEST_DATA/watch/rests.c" -o rests || fail "cannot build rests"
rested=0 judged=0
for ((i = 0; i < 12 && (rested == 0 || judged == 0); i++)); do # in so short a run there are few episodes, few watchpoints, and own hits
  watched "" ./rests 700
  expect "rests: status" $status 0
  [ "$(stat_of episodes)" -le 1 ] || rested=1
  [ "$(stat_of watch_judged)" = 0 ] || judged=1
done
expect "rests: all rested" $rested 1
expect "rests: something was judged" $judged 1
for seed in 1 2 3 4 5; do
  watched seed=$seed ./rests 250
  expect "rests, seed $seed: status" $status 0
done

# --- pairs
for source in "$RB_TEST_DATA"/programs/watch/*_race.c; do
  name=$(basename "$source" _race.c)
  found=0
  for twin in race norace; do
    "$RAILBIRD" cc -O1 -g "${source%_race.c}_$twin.c" -o ${name}_$twin || fail "cannot build ${name}_$twin"
    judged=0
    for ((seed = 1; seed <= runs; seed++)); do
      watched seed=$seed ./${name}_$twin
      case $twin:$status in
      norace:0 | race:0) ;;
      race:66) found=$((found + 1)) ;;
      *) fail "${name}_$twin, seed $seed: status $status: $(tail -n 1 out)" ;;
      esac
      grep -qx "done" out || fail "${name}_$twin, seed $seed: did not come to its end"
      judged=$((judged + $(stat_of watch_judged)))
    done
  done
  case $name in
  fork | reuse) ;; # another process's memory; what the allocator itself does to it comes first
  *) [ $judged -gt 0 ] || fail "${name}_norace: silent, for nothing was judged" ;;
  esac
  [ $found -ge $((runs * 3 / 4)) ] || fail "${name}_race: found in $found of $runs"
done
finish watch
