#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The predictive engines from outside: the same words, counts and files as the others, known answers, and what they refuse.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(analyze)

# trace LINES...: t.std, of "THREAD OPERATION", at locations 1, 2, ...
trace() {
  local n=0 line
  for line; do
    n=$((n + 1))
    echo "${line%% *}|${line#* }|$n"
  done >t.std
}

# warnings ENGINE PAIRS...: the engine warns exactly of these pairs (index1,index2), in this order
warnings() {
  local engine=$1 status=0
  shift
  [ $# = 0 ] || status=66
  run $status t.std --engine "$engine" --races races.csv
  expect "$engine" "$(cut -d, -f1,2 races.csv | tr '\n' ' ')" "$(printf '%s ' "$@" | sed 's/^ $//')"
}

# --- usage
trace 'T1 w(x)' 'T2 w(x)'
run 0 -h
for engine in shb wcp syncp; do
  grep -qE "^ {19}$engine " out || fail "-h does not list $engine"
done
refused 'one of: djit fasttrack st su so shb wcp syncp' t.std --engine hb
for engine in shb wcp syncp; do
  refused 'needs the whole trace' t.std --engine $engine --sampler rpt:0.1,0.1
done
command=(run)
refused 'engine' -o engine=shb -- /bin/true
command=(compare)
refused 'needs the whole trace' t.std --engines so,wcp --samplers all,rpt:0.1,0.1
run 66 t.std --engines so,shb,wcp --runs 1 --json # by default there is rpt
expect "rows of rpt" "$(grep -o '"engine":"[a-z]*","sampler":"rpt[^"]*"' out | wc -l)" 1
expect "rows of wcp" "$(grep -o '"engine":"wcp"' out | wc -l)" 5
run 66 t.std --engines so,shb,wcp --samplers all --runs 2 --html page.html
grep -q '>wcp<' page.html || fail "the page does not name wcp"
command=(analyze)

# --- one line a warning, and the same keys as so
for engine in so shb wcp; do
  run 66 t.std --engine $engine --json --races races.csv
  grep -o '"[a-z_]*":' out >keys.$engine
  expect "the line of $engine" "$(cat races.csv)" "0,1,x,T1,T2,w,w,1,2"
  expect "engine" "$(field engine)" "\"$engine\""
  expect "warnings of $engine" "$(field warnings) $(field racy_variables) $(field static_races)" "1 1 1"
  expect "counts of $engine" "$(field accesses) $(field sampled) $(field events_read)" "2 2 2"
  cmp -s keys.so keys.$engine || fail "keys of $engine"
done
run 0 t.std --engine wcp --sampler none --json
expect "sampled" "$(field sampled)" 0

# --- what each sees
trace 'T1 w(x)' 'T1 acq(l)' 'T1 rel(l)' 'T2 acq(l)' 'T2 rel(l)' 'T2 w(x)'
warnings so
warnings shb
warnings wcp 0,5
trace 'T1 w(x)' 'T1 acq(l)' 'T1 w(y)' 'T1 rel(l)' 'T2 acq(l)' 'T2 r(y)' 'T2 rel(l)' 'T2 w(x)'
warnings wcp
trace 'T1 w(x)' 'T1 w(y)' 'T2 r(y)' 'T2 w(x)'
warnings so 1,2 0,3
warnings shb 1,2
run 66 t.std --engine shb --json
expect "acquires and releases" "$(field acquires) $(field releases)" "0 0"

# --- locks that are misused: refused as by the others, else nothing but order
trace 'T1 w(x)' 'T1 acq(l)' 'T1 rel(l)' 'T1 rel(l)' 'T2 acq(l)' 'T2 rel(l)' 'T2 w(x)'
command=(trace)
run 0 import t.std -o misuse.rbt --lenient
command=(analyze)
for engine in so shb wcp; do
  refused 'event 3' misuse.rbt --engine $engine
  run 0 misuse.rbt --engine $engine --lenient --json
  expect "misuse seen by $engine" "$(field lenient_releases)" 1
done

# --- larger: happens-before sees no race where it was generated without
command=(trace gen)
run 0 -o clean.rbt --events 200k --threads 16 --race 0 --rich 0.3
run 0 -o racy.rbt --events 200k --threads 16 --race 0.01 --rich 0.3
command=(analyze)
run 0 clean.rbt --engine shb
for engine in so shb wcp; do
  run 66 racy.rbt --engine $engine --json
  eval "$engine=$(field warnings)"
  for sampler in random:0.1 literace pacer:0.1 static:0.3; do
    run 66 racy.rbt --engine $engine --sampler $sampler --json
    field sampled >>sampled.$engine
  done
done
cmp -s sampled.so sampled.shb && cmp -s sampled.so sampled.wcp || fail "the same sampler takes other accesses"
[ "$shb" -le "$so" ] || fail "shb warns of $shb, so of $so"
[ "$wcp" -gt 0 ] || fail "wcp warns of nothing"
finish "predictive engines"
