#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird compare: statuses and messages, rows, known answers for recall, the three forms of output.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(compare)

# rows of --json in out, one a line; row ENGINE SAMPLER
rows() { sed 's/{"engine":/\n&/g' out | grep '"speedup"'; }
row() { rows | grep "^{\"engine\":\"$1\",\"sampler\":\"$2\","; }
# mean METRIC: of the row on standard input
mean() { sed -n "s/.*\"$1\":{\"mean\":\([^,]*\),.*/\1/p"; }

# --- traces. Two static races: 10/20 on x, again and again, and 11/21 on y, once.
{
  echo 'T1|fork(T2)|1'
  for _ in $(seq 40); do
    echo 'T1|w(x)|10'
    echo 'T2|w(x)|20'
  done
  echo 'T1|w(y)|11'
  echo 'T2|w(y)|21'
} >race.std
{
  echo 'T1|fork(T2)|1'
  for _ in $(seq 20); do
    for t in 1 2; do
      echo "T$t|acq(l)|2"
      echo "T$t|w(x)|1$t"
      echo "T$t|rel(l)|3"
    done
  done
} >norace.std
echo 'T1|w(x)' >broken.std

# --- usage
run 0 -h
grep -q -- --samplers out || fail "-h does not name --samplers"
refused 'which trace'
refused '--engines' race.std --engines so,vector
refused '--engines' race.std --engines all
refused '--engines' race.std --engines ''
refused '--samplers' race.std --samplers all,randomly
refused '--samplers' race.std --samplers 0.5,all
refused '--samplers' race.std --samplers random:2
refused '--samplers' race.std --samplers all,
refused '--runs' race.std --runs 0
refused '--runs' race.std --runs many
refused '--seed' race.std --seed -1
refused '--colour' race.std --colour
refused 'missing.std' race.std missing.std
refused 'broken.std' broken.std
refused '--html' race.std --html /nonexistent/page.html
refused '--html' race.std --html "$work"
refused '--html' race.std --html /dev/null
[ -c /dev/null ] || fail "--html replaced /dev/null"

# --- text
run 66 race.std
grep -q '^race.std: 83 events (82 accesses), 2 threads' out || fail "the heading: $(head -1 out)"
expect "rows by default" "$(grep -cE '^[^ ]+ +(fasttrack|st|su|so) ' out)" 24
[ "$(wc -L <out)" -le 120 ] || fail "the table is $(wc -L <out) columns wide"
! grep -q ' $' out || fail "blanks at the ends of lines"
grep -q '±' out || fail "three runs and no spread"
expect "notes on regions" "$(grep -c 'no function events' err)" 1
run 66 race.std --runs 1
! grep -q '±' out || fail "spread of one run"
run 0 norace.std --samplers all,none --runs 2
grep -qE '^none +so +0 +0 +0 +- ' out || fail "recall of nothing is not '-'"

# --- known answers. ucp passes over the first ten executions of a location: it misses 11/21.
run 66 race.std --json --engines so,djit --samplers ucp,none,all --runs 2
expect "lines of JSON" "$(wc -l <out)" 1
expect "rows" "$(rows | wc -l)" 7
row fasttrack all | grep -q '"baseline":true' || fail "the baseline is missing"
for engine in fasttrack djit so; do
  expect "static races of $engine" "$(row $engine all | mean static_races)" 2
  expect "recall of $engine" "$(row $engine all | mean recall)" 1
  expect "variables of $engine" "$(row $engine all | mean racy_variables)" 2
  expect "rate of $engine" "$(row $engine all | mean esr)" 1
done
expect "recall of ucp" "$(row so ucp | mean recall)" 0.5
expect "recall of ucp, variables" "$(row so ucp | mean recall_variables)" 0.5
expect "recall of ucp, rare" "$(row so ucp | mean recall_rare)" null
expect "recall of none" "$(row so none | mean recall)" 0
expect "rate of none" "$(row so none | mean esr)" 0
row so ucp | grep -q '"nominal":null' || fail "ucp has no nominal rate"
grep -q '"baseline":{"engine":"fasttrack","sampler":"all","warnings":[0-9]*,"racy_variables":2,"static_races":2' out ||
  fail "the object of the baseline"
run 0 norace.std --json --samplers all --engines so
expect "recall without races" "$(row so all | mean recall)" null

# --- lists: numbers belong to the sampler before them; what stands there twice is measured once
run 66 race.std --json --engines so,so --samplers random:0.5,rpt:0.01,0.1,pacer:0.5,16,pacer:0.5,16 --runs 1
grep -qF '"engines":["so"],"samplers":["random:0.5","rpt:0.01,0.1","pacer:0.5,16"]' out || fail "lists: $(head -c 200 out)"
expect "rows with the baseline" "$(rows | wc -l)" 4
row so random:0.5 | grep -q '"warnings":{"mean":[0-9]*,"sd":null}' || fail "spread of one run is not null"

# --- same seeds, same counts; the exact engines agree on them
counts() { rows | sed 's/"seconds":.*//'; }
run 66 race.std --json --samplers random:0.3 --runs 4 --seed 9
counts >first
run 66 race.std --json --samplers random:0.3 --runs 4 --seed 9
counts | cmp -s - first || fail "the same seeds gave other counts"
expect "st and su" "$(row st random:0.3 | mean warnings)" "$(row su random:0.3 | mean warnings)"
expect "st and so" "$(row st random:0.3 | mean warnings)" "$(row so random:0.3 | mean warnings)"
run 66 race.std --json --samplers random:0.3 --runs 4 --seed 10
! counts | cmp -s - first || fail "other seeds gave the same counts"

# --- rare and frequent: what one can see once in 400 000 accesses is rare
awk 'BEGIN {
  print "T1|fork(T2)|1"; print "T1|w(y)|11"; print "T2|w(y)|21"
  for (i = 0; i < 400; i++) { print "T1|w(x)|10"; print "T2|w(x)|20"; for (k = 0; k < 1000; k++) print "T1|r(z)|12" }
}' >long.std
run 66 long.std --json --engines so --samplers ucp --runs 1
grep -q '"static_races":2,"rare":1,"frequent":1' out || fail "rare and frequent: $(grep -o '"rare":[^s]*' out)"
expect "recall of what is rare" "$(row so ucp | mean recall_rare)" 0
expect "recall of what is frequent" "$(row so ucp | mean recall_frequent)" 1

# --- the page
awkward='a<b>&"c'\''.std'
cp race.std "$awkward"
cp norace.std $'bad\xff.std'
mkdir page
run 66 "$awkward" norace.std long.std --html page/p.html --runs 2 --samplers all,none,random:0.5
grep -qF 'a&lt;b&gt;&amp;&quot;c&#39;.std' page/p.html || fail "the name of the trace is not escaped"
! grep -qF 'a<b>' page/p.html || fail "the name of the trace is in the page as it is"
! grep -qiE '<script|<link|@import|url\(|src=|href="[^#]|onload' page/p.html || fail "the page reaches out"
grep -q 'prefers-color-scheme:dark' page/p.html || fail "no dark colours"
expect "the end of the page" "$(tail -1 page/p.html)" '</html>'
expect "tables" "$(grep -c '^<table>' page/p.html)" 3
plots=$(grep -c '<svg class="plot"' page/p.html)
expect "titles of plots" "$(grep -c '^<title id=' page/p.html)" "$plots"
expect "plots" "$plots" 14 # 3 panels of time over length; 4 for each trace, less one recall without races
! grep -qE '[" ]-?(nan|inf)|width="-' page/p.html || fail "a number of a plot is none"
for tag in svg figure table section figcaption tbody tr td th li desc; do
  expect "<$tag> closed" "$(grep -oE "</$tag>" page/p.html | wc -l)" "$(grep -oE "<${tag}[ >]" page/p.html | wc -l)"
done
expect "other files" "$(find page -mindepth 1 | wc -l)" 1
cp page/p.html before.html
run 2 race.std broken.std --html page/p.html --runs 1
cmp -s page/p.html before.html || fail "a failed run changed the page"
expect "other files after a failure" "$(find page -mindepth 1 | wc -l)" 1
run 0 $'bad\xff.std' --json --html page/p.html --runs 1
grep -q $'"trace":"bad\xef\xbf\xbd.std"' out || fail "a name that is not UTF-8: $(grep -o '"trace":"[^"]*"' out)"

finish compare
