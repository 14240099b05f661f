#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird trace: info, cat, import, export, check, gen.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(trace)
ok=$RB_TEST_DATA/traces/ok

# --- usage
run 0 -h
for word in info cat import export check gen --from --count --lenient --events --threads --locks --variables --sync \
  --race --nesting --functions --sharing --rich --seed; do
  grep -q -- "$word" out || fail "-h does not name $word"
done
for verb in info cat import export check gen; do
  run 0 $verb -h
  [ -s out ] || fail "$verb -h prints nothing"
done
refused 'expected info, cat'
refused 'found look' look
refused 'info: expected one trace' info
refused 'info: expected one trace' info a b
refused 'check: expected at least one' check
refused 'gen: expected no trace' gen a b -o c
refused '-o FILE' import "$ok/alias.std"
refused '-o FILE' gen
refused '-o needs a value' gen -o
refused '--wide' info "$ok/pages.rbt" --wide
refused '-z is' info "$ok/pages.rbt" -zo
refused '--from' cat "$ok/pages.rbt" --from x
refused '--count' cat "$ok/pages.rbt" --count -1
for bad in --events=0 --events=1e13 --events=x --threads=0 --threads=65536 --locks=0 --variables=0 --sync=1.1 --sync=x \
  --race=-1 --nesting=0 --functions=-1 --sharing=2 --rich=101% --seed=-1; do
  refused "${bad%=*}" gen -o x.rbt "$bad"
done
refused '--events' gen -o x.rbt --events 7 --threads 4096
[ ! -e x.rbt ] || fail "a refused gen left a file"

# --- info
run 0 info "$ok/all_kinds.rbt" --json
expect "lines of JSON" "$(wc -l <out)" 1
for pair in version=1 events=21 accesses=2 record_bytes=8 finished=true lenient=false locks_held=1 rmwrel=1 arrive=2; do
  expect "info, ${pair%=*}" "$(field "${pair%=*}")" "${pair#*=}"
done
grep -q '"tables":{"threads":2,"locks":5,"variables":1,"locations":12,"functions":1,"marks":1}' out || fail "tables: $(cat out)"
run 0 info "$ok/all_kinds_wide.rbt" --json
expect "wide" "$(field record_bytes)" 16
run 0 info "$ok/unfinished.rbt" --json
expect "unfinished" "$(field finished)" false
grep -q 'the writer did not finish; 1020 events recovered' err || fail "unfinished: $(cat err)"
run 0 info "$ok/pages.rbt"
grep -q ': 1100 events, 1100 of them accesses (format 1, 8-byte records)' out || fail "info: $(head -1 out)"

# --- cat
run 0 cat "$ok/names.rbt"
expect "cat" "$(head -2 out)" $'0\tmain\tfork(122)\t-5\n1\tT122\tr(a.b[3])\t17'
run 0 cat "$ok/pages.rbt" --from 509 --count 2
expect "cat over a page" "$(cat out)" $'509\tT2\tw(V16)\t3\n510\tT0\tr(V0)\t4'
run 0 cat "$ok/pages.rbt" --from 1099
expect "the last event" "$(cut -f1 out)" 1099
run 0 cat "$ok/pages.rbt" --from 1100
[ ! -s out ] || fail "an event behind the last"
run 0 cat "$ok/pages.rbt" --from 5 --count 0
[ ! -s out ] || fail "--count 0 printed"
run 0 cat "$ok/pages.rbt"
expect "cat of everything" "$(wc -l <out)" 1100
expect "cat into head" "$("$RAILBIRD" trace cat "$ok/pages.rbt" | head -1)" $'0\tT0\tr(V0)\t0'

# --- import and export
for file in "$ok"/*.rbt "$ok"/*.std; do
  want=$file.text
  [ -e "$want" ] || want=$file
  run 0 export "$file"
  cmp -s out "$want" || fail "export of $(basename "$file")"
  cp out first.std
  run 0 import first.std -o second.rbt
  run 0 check second.rbt
  run 0 export second.rbt second.std
  cmp -s first.std second.std || fail "$(basename "$file") through text and back"
  run 0 import second.std third.rbt
  cmp -s second.rbt third.rbt || fail "$(basename "$file"): imports differ"
done
run 0 export "$ok/all_kinds.rbt"
grep -q 'kinds that RAPID does not read' err || fail "nothing said of foreign events"
run 0 import "$ok/alias.std" -o alias.rbt
expect "aliases said" "$(grep -c 'fork/join targets name no thread' err)" 1
run 0 export alias.rbt
cmp -s out "$ok/alias.std" || fail "aliases are lost"
[ ! -s err ] || fail "said of an alias in .rbt: $(cat err)"
printf 'T1|w(%060000d)|1\nT2|r(x)|2\n' 7 >long.std
printf 'T%030000d|w(%030000d)|1\nT2|fork(T%030000d)|2\n' 7 8 9 >longer.std
for file in long longer; do
  run 0 import $file.std -o long.rbt
  run 0 export long.rbt
  cmp -s out $file.std || fail "long names of $file.std do not come back"
done
printf 'T%040000d|w(x)|1\nT1|w(%040000d)|2\n' 7 8 >cut.std
run 0 export cut.std -o cut.out
grep -q '2 names' err || fail "names too long for one line: $(cat err)"
run 0 import cut.out -o cut.rbt
cp "$ok/pages.rbt" same.rbt
refused 'same file' export same.rbt -o same.rbt
ln -s same.rbt link.rbt
refused 'same file' export link.rbt -o same.rbt
cmp -s same.rbt "$ok/pages.rbt" || fail "the input was destroyed"
cp "$ok/alias.std" same.std
refused 'same file' import same.std -o same.std
cmp -s same.std "$ok/alias.std" || fail "the input was destroyed"
for zero in 1 2; do # an old output is replaced, however long it was
  run 0 import "$ok/alias.std" -o same.rbt
done
cmp -s same.rbt alias.rbt || fail "an old output shows through"

# --- lenient
printf 'T1|rel(l)|1\nT1|acq(l)|2\nT2|acq(l)|3\nT1|rel(l)|4\nT3|rrel(l)|5\n' >misuse.std
refused 'misuse.std:1: ' import misuse.std -o misuse.rbt
[ ! -e misuse.rbt ] || fail "a refused import left a file"
run 0 import misuse.std -o misuse.rbt --lenient
grep -q ': 3 releases without a matching acquire' err || fail "lenient: $(cat err)"
grep -q ': 1 acquires of a lock held elsewhere' err || fail "lenient: $(cat err)"
run 0 info misuse.rbt --json
expect "lenient" "$(field lenient)" true
refused 'misuse.rbt: event 0: ' check misuse.rbt
run 0 check misuse.rbt --lenient
grep -q 'note: 3 releases of locks not held' out || fail "check: $(cat out)"
grep -q 'note: 1 acquires of locks held elsewhere' out || fail "check: $(cat out)"

# --- check
printf 'T2|w(x)|1\nT1|fork(T2)|1\nT1|fork(T2)|1\nT1|join(T2)|1\nT2|exit(f)|1\nT2|acq(l)|1\n' >odd.std
run 0 check odd.std
expect "check" "$(sed 's/.*: //' out)" "ok, 6 events
1 locks still held at the end
1 function exits without an entry
1 threads that run before they are forked
1 forks of a thread forked before
2 events of threads already joined"
run 0 check "$ok"/*.rbt
expect "traces checked" "$(grep -c ': ok, ' out)" "$(find "$ok" -name '*.rbt' | wc -l)"
# --- gen
run 0 gen -o a.rbt --events 20k --threads 7 --rich 0.2 --seed 3
[ ! -s out ] && [ ! -s err ] || fail "gen is not silent"
run 0 gen b.rbt --events 2e4 --threads 7 --rich 20% --seed 3
cmp -s a.rbt b.rbt || fail "gen: the same seed gave another trace"
run 0 gen -o b.rbt --events 20000 --threads 7 --rich 0.2 --seed 4
! cmp -s a.rbt b.rbt || fail "gen: another seed gave the same trace"
run 0 check a.rbt b.rbt
run 0 info a.rbt --json
expect "gen: events" "$(field events)" 20000
expect "gen: threads" "$(grep -o '"threads":7' out | head -1)" '"threads":7'
for n in 509 510 511 1020 1021 130559 130560 130561 261121; do # around the ends of pages and of batches
  run 0 gen -o c.rbt --events $n --threads 3 --race 0 --rich 0.2
  run 0 check c.rbt
  grep -q ": ok, $n events" out || fail "gen of $n: $(cat out)"
  command=()
  run 0 analyze c.rbt --json # nothing left unprotected: no race
  expect "events read of $n" "$(field events_read)" $n
  command=(trace)
done
finish trace
