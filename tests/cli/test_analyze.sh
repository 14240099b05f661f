#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird analyze: statuses and messages, the JSON object, the CSV, known answers for every kind of event, text
# and .rbt alike.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(analyze)
engines="djit fasttrack st su so"

# warnings TRACE WANTED...: every engine warns exactly of these pairs (index1,index2), in this order. FastTrack
# may forget: those in parentheses only the others must find.
warnings() {
  local trace=$1 engine status=0 w all="" fast=""
  shift
  for w in "$@"; do
    case $w in
    \(*) all+="${w:1:-1} " ;;
    *) all+="$w " fast+="$w " ;;
    esac
    status=66
  done
  for engine in $engines; do
    run $status "$trace" --engine "$engine" --races races.csv
    if [ "$engine" = fasttrack ]; then
      expect "$trace, $engine" "$(cut -d, -f1,2 races.csv | tr '\n' ' ')" "$fast"
    else
      expect "$trace, $engine" "$(cut -d, -f1,2 races.csv | tr '\n' ' ')" "$all"
    fi
  done
}

# trace LINES...: t.std, of "THREAD OPERATION", at locations 1, 2, ...
trace() {
  local n=0 line
  for line; do
    n=$((n + 1))
    echo "${line%% *}|${line#* }|$n"
  done >t.std
}

# --- usage
trace 'T1 w(x)' 'T2 w(x)'
run 0 -h
for word in --engine --sampler --seed --races --lenient --json $engines literace pacer rpt; do
  grep -q -- "$word" out || fail "-h does not name $word"
done
[ ! -s err ] || fail "-h wrote on stderr"
run 0 --help
refused 'which trace'
refused 'one trace' t.std other.std
refused '--engine' t.std --engine vector
refused '--engine' t.std --engine ''
refused '--engine' t.std --engine $'so\nso'
refused '--engine needs a value' t.std --engine
for sampler in foo '' random random: random:x random:1.5 random:-0.1 random:nan random:0.1,0.2 all:1 rpt rpt:0.1 \
  rpt:0,0.1 rpt:0.1,0 rpt:0.1,1 rpt:1.1,0.1 rpt:0.1,0.1,0.1 pacer:0.5,0 pacer:0.5,1.5 pacer:2 static:7 adaptive \
  random:0.1000000000000000000000000000000000000000000001; do
  refused '--sampler' t.std --sampler "$sampler"
done
for seed in -1 x '' 1.5 9223372036854775808 1e30; do
  refused '--seed' t.std --seed "$seed"
done
refused '--colour' t.std --colour
refused '-x is not an option' t.std -xh
refused '--json=yes' t.std --json=yes
refused '--races - and --json' t.std --races - --json
refused 'no/such' t.std --races no/such/file
refused "$work" t.std --races "$work"
refused 'trace itself' t.std --races t.std
expect "the trace after that" "$(wc -l <t.std)" 2
command=()
run 2
refused "'analyse' is not a command" analyse t.std
run 0 -h
run 0 --version
command=(analyze)

# --- JSON: the names and their order; more may follow
run 66 t.std --json --seed 9223372036854775807
expect "lines of JSON" "$(wc -l <out)" 1
keys=$(grep -o '"[a-z_]*":' out | tr -d '":' | tr '\n' ' ')
case "$keys" in
"trace events threads locks variables engine sampler seed accesses sampled esr events_read acquires \
acquires_skipped releases releases_processed deep_copies entries_traversed entries_total warnings racy_variables \
static_races seconds "*) ;;
*) fail "keys: $keys" ;;
esac
expect seed "$(field seed)" 9223372036854775807
expect engine "$(field engine)" '"so"'
expect sampler "$(field sampler)" '"all"'
expect trace "$(field trace)" '"t.std"'
cp t.std $'a"\xff.std'
run 66 $'a"\xff.std' --json
python3 -c 'import json, sys; json.load(sys.stdin)' <out || fail "a name that is not UTF-8 makes bad JSON"
run 66 t.std
grep -q '^races .* 1 warnings, 1 racy variables, 1 static races$' out || fail "text: $(grep races out)"
run 66 t.std --races -
expect "--races -" "$(cat out)" '0,1,x,T1,T2,w,w,1,2'
run 66 t.std --sampler rpt:0.1,0.1 --json --seed 1e3
expect "seed of 1e3" "$(field seed)" 1000

# --- counts by hand
trace 'T1 fork(T2)' 'T1 acq(l)' 'T1 w(x)' 'T1 rel(l)' 'T2 acq(l)' 'T2 r(x)' 'T2 rel(l)' 'T2 w(y)' 'T1 r(y)' \
  'T1 join(T2)' 'T1 begin'
for engine in $engines; do
  run 66 t.std --engine "$engine" --json
  for pair in events=11 threads=2 locks=1 variables=2 accesses=4 sampled=4 esr=1.0 events_read=11 acquires=2 \
    releases=2 warnings=1 racy_variables=1 static_races=1; do
    expect "$engine, ${pair%=*}" "$(field "${pair%=*}")" "${pair#*=}"
  done
  run 0 t.std --engine "$engine" --sampler none --json
  expect "$engine, none: sampled" "$(field sampled)" 0
  expect "$engine, none: esr" "$(field esr)" 0.0
done

# --- CSV: columns, quotes, agreement with the counts
printf '%s\n' 'A,B|w(a,"b")|-7' 'T2|r(a,"b")|+8' >t.std
run 66 t.std --races races.csv
expect "CSV" "$(cat races.csv)" '0,1,"a,""b""","A,B",T2,w,r,-7,8'
"$RAILBIRD" trace gen -o gen.rbt --events 40000 --threads 6 --locks 20 --variables 300 --race 0.05 --rich 0.3 --seed 4
for engine in $engines; do
  for sampler in all random:0.2 literace pacer:0.3,64 rpt:0.3,0.3 static:0.5; do
    run 66 gen.rbt --engine "$engine" --sampler "$sampler" --races races.csv --json
    expect "$engine $sampler: warnings" "$(wc -l <races.csv)" "$(field warnings)"
    expect "$engine $sampler: variables" "$(cut -d, -f3 races.csv | sort -u | wc -l)" "$(field racy_variables)"
    expect "$engine $sampler: static races" \
      "$(awk -F, '{ print $8 < $9 ? $8 "," $9 : $9 "," $8 }' races.csv | sort -u | wc -l)" "$(field static_races)"
    ! grep -vqE '^[0-9]+,[0-9]+,[^,]+,T[0-9]+,T[0-9]+,[rw],[rw],[0-9]+,[0-9]+$' races.csv ||
      fail "$engine $sampler: CSV: $(head -1 races.csv)"
    awk -F, '$1 >= $2 || $4 == $5 || ($6 == "r" && $7 == "r") { exit 1 }' races.csv ||
      fail "$engine $sampler: a pair that cannot race"
    expect "$engine $sampler: indices ascend" "$(cut -d, -f2 races.csv | sort -nc 2>&1)" ""
    case $engine in
    st) cut -d, -f2 races.csv >"second.$sampler" ;;
    su | so) cut -d, -f2 races.csv | cmp -s - "second.$sampler" || fail "$engine and st differ with $sampler" ;;
    esac
  done
done

# --- the same seed, the same warnings; p = 1 is all; p = 0 is none
run 66 gen.rbt --sampler random:0.1 --seed 5 --races first.csv
run 66 gen.rbt --sampler random:0.1 --seed 5 --races second.csv
cmp -s first.csv second.csv || fail "the same seed gave other warnings"
run 66 gen.rbt --sampler random:0.1 --seed 6 --races second.csv
! cmp -s first.csv second.csv || fail "another seed gave the same warnings"
run 66 gen.rbt --races first.csv
for sampler in random:1 pacer:1 pacer:1,1 static:1; do
  run 66 gen.rbt --sampler "$sampler" --races second.csv
  cmp -s first.csv second.csv || fail "$sampler is not all"
done
for sampler in none random:0 pacer:0 static:0; do
  run 0 gen.rbt --sampler "$sampler" --json
  expect "$sampler: sampled" "$(field sampled)" 0
done
for sampler in random:1e-9 pacer:1e-9 random:1e-300 rpt:1e-9,0.5 rpt:1,1e-300 rpt:1e-300,1e-300 rpt:1,0.999999; do
  timeout 300 "$RAILBIRD" analyze gen.rbt --sampler "$sampler" >out 2>err || [ $? = 66 ] || fail "$sampler: $(cat err)"
done

# --- text and .rbt of one trace give the same
"$RAILBIRD" trace export gen.rbt -o gen.std 2>err
"$RAILBIRD" trace import gen.std -o again.rbt
for engine in $engines; do
  for sampler in all random:0.2 literace rnd25 pacer:0.3,64 rpt:0.3,0.3 static:0.5; do
    run 66 gen.std --engine "$engine" --sampler "$sampler" --races first.csv --json
    sed 's/.*"engine"/"engine"/; s/"seconds.*//' out >first.json
    run 66 again.rbt --engine "$engine" --sampler "$sampler" --races second.csv --json
    sed 's/.*"engine"/"engine"/; s/"seconds.*//' out | cmp -s - first.json || fail "$engine $sampler: JSON of text and .rbt"
    cmp -s first.csv second.csv || fail "$engine $sampler: warnings of text and .rbt"
  done
done

# --- known races
trace 'T1 w(x)' 'T2 w(x)'
warnings t.std 0,1
trace 'T1 w(x)' 'T2 r(x)'
warnings t.std 0,1
trace 'T1 r(x)' 'T2 w(x)'
warnings t.std 0,1
trace 'T1 r(x)' 'T2 r(x)'
warnings t.std
trace 'T1 w(x)' 'T1 r(x)' 'T1 w(x)' 'T2 w(y)'
warnings t.std
trace 'T1 acq(l)' 'T1 w(x)' 'T1 rel(l)' 'T2 acq(l)' 'T2 w(x)' 'T2 rel(l)'
warnings t.std
trace 'T1 acq(l)' 'T1 w(x)' 'T1 rel(l)' 'T2 acq(m)' 'T2 w(x)' 'T2 rel(m)' # another lock
warnings t.std 1,4
trace 'T1 acq(l)' 'T1 rel(l)' 'T1 w(x)' 'T2 acq(l)' 'T2 w(x)' 'T2 rel(l)' # behind the release
warnings t.std 2,4
trace 'T1 acq(l)' 'T1 acq(l)' 'T1 w(x)' 'T1 rel(l)' 'T1 rel(l)' 'T2 acq(l)' 'T2 w(x)' # re-entrant
warnings t.std

trace 'T1 w(x)' 'T1 fork(T2)' 'T2 w(x)' 'T1 join(T2)' 'T1 w(x)'
warnings t.std
trace 'T1 fork(T2)' 'T1 w(x)' 'T2 w(x)'
warnings t.std 1,2
trace 'T1 fork(T2)' 'T2 w(x)' 'T1 w(x)' 'T1 join(T2)'
warnings t.std 1,2
trace 'T1 fork(T2)' 'T1 join(T2)' 'T2 w(x)' 'T1 w(x)' # events after the join
warnings t.std 2,3
trace 'T1 w(x)' 'T1 fork(T1)' 'T1 join(T1)' 'T1 w(x)' # of oneself
warnings t.std
trace 'T1 fork(T2)' 'T1 w(x)' 'T1 fork(T2)' 'T2 w(x)' # twice
warnings t.std

# read-write locks: a reader is ordered after writers, a writer after both, a reader not after readers
trace 'T1 racq(l)' 'T1 w(x)' 'T1 rrel(l)' 'T2 racq(l)' 'T2 w(x)' 'T2 rrel(l)'
warnings t.std 1,4
trace 'T1 racq(l)' 'T1 r(x)' 'T1 rrel(l)' 'T2 acq(l)' 'T2 w(x)' 'T2 rel(l)' 'T3 racq(l)' 'T3 r(x)' 'T3 rrel(l)'
warnings t.std
trace 'T1 racq(l)' 'T1 r(x)' 'T2 w(x)' 'T1 rrel(l)'
warnings t.std 1,2

# atomics: a release sequence goes on through read-modify-writes and ends with a plain store
trace 'T1 w(x)' 'T1 store(a)' 'T2 load(a)' 'T2 w(x)'
warnings t.std
trace 'T1 w(x)' 'T1 store(a)' 'T2 rmw(a)' 'T3 load(a)' 'T3 w(x)'
warnings t.std
trace 'T1 w(x)' 'T1 store(a)' 'T2 rmwrel(a)' 'T3 load(a)' 'T3 w(x)'
warnings t.std
trace 'T1 w(x)' 'T1 store(a)' 'T2 rmwrel(a)' 'T2 w(x)' # does not acquire
warnings t.std 0,3
trace 'T1 w(x)' 'T1 store(a)' 'T2 store(a)' 'T3 load(a)' 'T3 w(x)'
warnings t.std 0,4
trace 'T1 w(x)' 'T2 load(a)' 'T1 store(a)' 'T2 w(x)' # too early
warnings t.std 0,3

# semaphores and barriers
trace 'T1 w(x)' 'T1 post(s)' 'T2 wait(s)' 'T2 w(x)'
warnings t.std
trace 'T1 post(s)' 'T1 w(x)' 'T2 wait(s)' 'T2 w(x)'
warnings t.std 1,3
trace 'T1 w(x)' 'T2 w(y)' 'T1 arrive(b)' 'T2 arrive(b)' 'T1 leave(b)' 'T2 leave(b)' 'T1 w(y)' 'T2 w(x)' \
  'T1 arrive(c)' 'T2 arrive(c)' 'T1 leave(c)' 'T2 leave(c)' 'T1 w(x)' 'T2 w(y)'
warnings t.std
trace 'T1 arrive(b)' 'T2 arrive(b)' 'T1 leave(b)' 'T2 leave(b)' 'T1 w(x)' 'T2 w(x)' # the same round
warnings t.std 4,5

# three in a row, and what FastTrack forgets: a read that raced is not recorded
trace 'T1 w(x)' 'T2 w(x)' 'T3 w(x)'
warnings t.std 0,1 1,2
for engine in st su so djit; do
  trace 'T1 w(x)' 'T2 r(x)' 'T3 r(x)' 'T4 w(x)'
  run 66 t.std --engine "$engine" --races races.csv
  expect "$engine: racy accesses" "$(cut -d, -f2 races.csv | tr '\n' ' ')" "1 2 3 "
done

# --- fork targets without their T: said once
trace 'T1 w(x)' 'T1 fork(122)' 'T122 w(x)' 'T1 join(122)' 'T1 w(x)'
warnings t.std
expect "lines about aliases" "$(grep -c 'fork/join targets name no thread' err)" 1
expect "lines in all" "$(wc -l <err)" 1
trace 'T1 w(x)' 'T1 fork(122)' 'T122 w(x)' '122 w(y)' # the name is a thread's own
warnings t.std 0,2
[ ! -s err ] || fail "an alias where none is: $(cat err)"

# --- lock misuse: refused with its place, or counted
trace 'T1 w(x)' 'T1 rel(l)' 'T2 acq(l)' 'T2 w(x)'
refused 't.std:2: ' t.std
run 0 t.std --lenient --json
expect "releases passed over" "$(field lenient_releases)" 1
expect "acquires passed over" "$(field lenient_acquires)" 0
grep -q '1 releases without a matching acquire' err || fail "nothing said of the release: $(cat err)"
"$RAILBIRD" trace import t.std -o t.rbt --lenient 2>err
refused 't.rbt: event 1: ' t.rbt
run 0 t.rbt --lenient
trace 'T1 acq(l)' 'T2 acq(l)' 'T2 rel(l)' 'T1 rel(l)'
refused 't.std:2: ' t.std
run 0 t.std --lenient --json
expect "acquires passed over" "$(field lenient_acquires)" 1
expect "releases passed over" "$(field lenient_releases)" 1
trace 'T1 acq(l)' 'T2 rel(l)'
refused 't.std:2: .*T1 holds it' t.std
trace 'T1 racq(l)' 'T2 rrel(l)'
refused 't.std:2: ' t.std
"$RAILBIRD" trace import t.std -o t.rbt --lenient 2>err
refused 't.rbt: .*--lenient' t.rbt
refused 't.rbt: .*--lenient' t.rbt --sampler rpt:0.5,0.5
run 0 t.rbt --lenient
# what many threads may need is said before it is taken
for ((i = 1; i <= 12000; i++)); do echo "T$i|r(x)|$i"; done >many.std
run 0 many.std --sampler none
expect "lines about memory" "$(grep -c 'many.std: the clocks of 12000 threads need up to 1098 MiB' err) $(wc -l <err)" "1 1"
run 0 t.std --lenient
! grep -q MiB err || fail "memory of a small trace: $(cat err)"
finish analyze
