#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Order made in a library that nobody rebuilt (tests/unseen): no race is reported where it orders accesses, and those
# that it does not order are found. With unseen=ignore the orders are not followed: so the programs need them.
# Argument: runs of each program (20 without one).
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD LD_LIBRARY_PATH
export XDG_CACHE_HOME=$work/cache
tests=${RB_TEST_DATA:-$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")}
runs=${1:-20}

if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  finish "unseen, skipped: no runtime"
  exit 0
fi
g++ -O2 -g -I"$tests" -shared -fPIC "$tests/unseen/library.cpp" -o libquiet.so -pthread
g++ -O2 -g -I"$tests" -shared -fPIC -Dquiet_lock=copy_lock -Dquiet_unlock=copy_unlock "$tests/unseen/library.cpp" \
  -o libcopy.so -pthread
# shellcheck disable=SC2016 # for the loader
gcc -O2 -g -I"$tests" -shared -fPIC "$tests/unseen/relay_library.c" -o librelay.so -L. -lquiet -Wl,-rpath,'$ORIGIN'
# shellcheck disable=SC2016,SC2054 # commas are for the linker
link=(-L. -lrelay -lquiet -Wl,-rpath,'$ORIGIN' -pthread)

# build OUT SOURCE FLAGS...
build() {
  local out=$1 source=$2 compiler=cc
  shift 2
  [ "${source##*.}" = c ] || compiler=c++
  "$RAILBIRD" $compiler -g -O1 -I"$tests" "$tests/unseen/$source" -o "$out" "$@" "${link[@]}"
}

# once PROGRAM OPTIONS STATUS: the program ends with the status, and prints "done"
once() {
  local got=0
  RAILBIRD_OPTIONS=$2 timeout 100 "./$1" >out 2>err || got=$?
  [ "$got" = "$3" ] || fail "$1 with $2: status $got instead of $3: $(grep -A3 WARNING err | head -c 400)"
  grep -q '^done$' out || fail "$1 with $2 did not end as it should"
}

reports() { grep -c WARNING err || true; }
partial() { grep -c '^  order made in libquiet.so could not be followed$' err || true; }

# is_quiet PROGRAM OPTIONS: in all runs
is_quiet() {
  for _ in $(seq "$runs"); do
    once "$1" "$2" 0
    expect "$1 with $2: reports" "$(reports)" 0
  done
}

# counter KEY: of the last statistics
counter() { sed -n "\$s/^{.*\"$1\":\([0-9]*\).*/\1/p" counters; }

# --- atomic instructions of a library: the end of a job of the pool is one. The first run has the table made.
build pool_norace pool.c
once pool_norace sampler=all:unseen_hooks=1:stats=json:counters 0
expect "hooks without a table" "$(counter unseen_jumps) $(counter unseen_traps)" "0 0"
for _ in $(seq 300); do
  [ "$(find cache -name '*.rmw' 2>/dev/null | wc -l)" = 0 ] || break
  sleep 0.1
done
expect "tables made in the background" "$(find cache -name '*.rmw' | wc -l)" 1
"$RAILBIRD" code-table --rmw libquiet.so libcopy.so librelay.so >tables
once pool_norace sampler=all:unseen_hooks=1:stats=json:counters 0
[ $(($(counter unseen_jumps) + $(counter unseen_traps))) -gt 0 ] || fail "no hook in spite of the table: $(head -c 500 err)"
expect "hooks that were refused" "$(counter unseen_refused)" 0

# shellcheck disable=SC2016
"$RAILBIRD" cc -g -O1 -I"$tests" -shared -fPIC "$tests/unseen/plugin.c" -o plugin.so -L. -lquiet -lcopy -Wl,-rpath,'$ORIGIN'
for program in lock.c queue.c pool.c relay.c guard.cpp forks.c closes.c; do
  name=${program%.*}
  build "${name}_norace" "$program"
  build "${name}_race" "$program" -DRACE
  for hooks in 0 1; do
    [ "$name$hooks" != pool0 ] || continue # the end of a job is published by an atomic instruction
    is_quiet "${name}_norace" sampler=all:unseen_hooks=$hooks
    is_quiet "${name}_norace" sampler=adaptive:unseen_hooks=$hooks
  done
  once "${name}_norace" sampler=all:unseen=ignore 66
  once "${name}_race" sampler=all:partial=report 66
  [ "$name" = pool ] || expect "${name}_race: reports" "$(reports)" 1
done

# --- the ways a linker makes calls
for flags in -Wl,-z,now -Wl,-z,lazy -fno-plt "-fno-plt -Wl,-z,now" "-no-pie -fno-pie" "-no-pie -fno-pie -Wl,-z,now"; do
  # shellcheck disable=SC2086 # several
  build way lock.c $flags
  once way sampler=all:stats=1 0
  expect "$flags: reports" "$(reports)" 0
  expect "$flags: slots that could not be led to stubs" "$(grep -c ' 0 slots that could not be' err)" 1
  # shellcheck disable=SC2086
  build addresses_norace addresses.c $flags
  once addresses_norace sampler=all 0
  # shellcheck disable=SC2086
  build addresses_race addresses.c $flags -DRACE
  once addresses_race sampler=all 66
done

# --- recordings have the same order
for program in lock queue relay; do
  RAILBIRD_OPTIONS='' timeout 100 "$RAILBIRD" record -o $program.rbt "./${program}_norace" >out 2>err || fail "record: $(cat err)"
  command=(analyze)
  run 0 $program.rbt
done

# --- partial evidence: in text, JSON, SARIF and HTML, listed last, and in the status if that is asked for
once pool_race sampler=all:report=text,json:pool.json 0
[ "$(partial)" -ge 1 ] || fail "no sentence about partial evidence: $(cat err)"
once lock_race sampler=all:report=json:lock.json 66
grep -q '"evidence":"partial","unseen":\["libquiet.so"\]' pool.json || fail "no partial evidence in JSON: $(head -c 300 pool.json)"
once pool_race sampler=all:halt_on_error=1 0
command=(report)
run 0 pool.json
run 66 --partial report pool.json
run 66 pool.json lock.json
expect "evidence in the order of the report" "$(grep -o 'evidence: [a-z]*' out | uniq | tr '\n' ' ')" \
  "evidence: happens evidence: partial "
sed 's/"evidence":"partial","unseen":[^]]*]/"evidence":"hb"/' pool.json >full.json
run 66 pool.json full.json
expect "full evidence beside partial" "$(grep -c 'evidence: partial' out || true)" 0
refused '--partial maybe' --partial maybe pool.json
run 0 --format json pool.json
cp out named.json
grep -q '"unseen": *\["libquiet.so"\]' named.json || fail "the report has lost the library: $(head -c 300 named.json)"
run 0 --format sarif named.json
grep -q '"level": *"warning"' out || fail "SARIF takes partial evidence for an error"
grep -q '"libquiet.so"' out || fail "SARIF does not name the library"
run 0 --format html -o page.html named.json
grep -q 'evidence: partial.*order made in libquiet.so could not be followed' page.html || fail "the page has no sentence about it"
finish "unseen"
