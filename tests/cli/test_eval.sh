#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird eval: known answers on traces made by hand, sums, the forms of output, bad input, and counterexamples that are
# verified and smaller.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(eval)

# --- traces by hand. `noise N` are events that have nothing to do with the race: a third thread, other locks, functions.
noise() {
  for i in $(seq "$1"); do
    printf 'T3|acq(m)|30\nT3|w(n%d)|31\nT3|r(n%d)|32\nT3|rel(m)|33\n' $((i % 5)) $((i % 5))
  done
}
forks() { printf 'T0|fork(T1)|1\nT0|fork(T2)|2\nT0|fork(T3)|3\n'; }
events() { local t=$1; shift; for e in "$@"; do echo "$t|$e|$((RANDOM % 7 + 40))"; done; }
RANDOM=5
mkdir data
# hidden: a lock between, with nothing in common inside. Happens-before orders the two; wcp and syncp do not.
{ forks; events T1 'w(x)' 'acq(l)' 'rel(l)'; noise 9; events T2 'acq(l)' 'rel(l)' 'w(x)'; } >data/hidden.a.std
# reversed: the first access inside its section. Only the other order of the sections shows it: wcp allows that.
{ forks; events T1 'acq(l)' 'w(x)' 'rel(l)'; noise 9; events T2 'acq(l)' 'rel(l)' 'r(x)'; } >data/reversed.a.std
# conflict: the same, and both sections write y, which orders them for wcp. No detector finds it, and it is real. (A
# read would do instead of the write before it, but then the two orders were no longer the same execution.)
{ forks; events T1 'acq(l)' 'w(x)' 'w(y)' 'r(y)' 'rel(l)'; noise 9; events T2 'acq(l)' 'w(y)' 'r(y)' 'rel(l)' 'w(x)'; } >data/conflict.a.std
# open: nothing between. Everybody finds it.
{ forks; events T1 'w(x)'; noise 9; events T2 'w(x)'; } >data/open.a.std
# their bases: the order in which the two are side by side, without them
base() { grep -v '(x)' "data/$1.a.std" >all; { grep '^T0' all; grep '^T2' all || true; grep '^T[13]' all; } >"$1.base.std"; }
label() { # NAME KIND
  local first second file=data/$1.a.std
  first=$(grep -n '(x)' "$file" | head -1 | cut -d: -f1) second=$(grep -n '(x)' "$file" | tail -1 | cut -d: -f1)
  printf '{"file":"%s.a.std","base":"../%s.base.std","program":"%s.a","point":1,"kind":"%s","events":[%d,%d],' \
    "$1" "$1" "$1" "$2" $((first - 1)) $((second - 1))
  printf '"threads":["T1","T2"],"variable":"x","distance":%d,"reversed_sections":1,"seed":1}' $((second - first - 1))
}
for name in hidden reversed conflict open; do base $name; done
labels() { printf '{"version":1,"tool":"by hand","traces":[%s,%s,%s,%s],"negatives":[%s]}\n' "$(label hidden ww)" "$(label reversed wr)" \
  "$(label conflict ww)" "$(label open ww)" "${1:-}"; }
labels >data/labels.json

# ask EXPRESSION: of the JSON in out, called j, with d(NAME) for a detector and p(NAME, PROGRAM) for its score there
ask() {
  python3 - "$1" <<'EOF'
import json, sys
j = json.load(open("out"))
def d(name): return next(x for x in j["detectors"] if x["detector"] == name)
def p(name, program): return next(x for x in d(name)["programs"] if x["program"] == program)
print(eval(sys.argv[1]))
EOF
}

# --- usage
run 0 -h
for word in --engines --samplers --counterexamples 66; do grep -q -- "$word" out || fail "-h does not name $word"; done
refused 'which folder'
refused 'one folder' data data
refused '--engines' data --engines so,vector
refused '--engines' data --engines so,
refused '--samplers' data --samplers random:2
refused '--samplers' data --samplers all,
refused 'both are empty' data --samplers '' --engines ''
refused '--runs' data --runs 0
refused '--jobs' data --jobs 0
refused '--seed' data --seed -1
refused '--limit' data --limit none
refused '--shrink-seconds' data --shrink-seconds soon
refused '--colour' data --colour
refused '--html' data --html /nonexistent/page.html
refused '--csv' data --csv /nonexistent/lines.csv

# --- known answers
run 0 data --json --samplers all,none,random:0.5 --engines djit,fasttrack,so,shb,wcp,syncp --runs 20
expect "lines of JSON" "$(wc -l <out)" 1
for key in dir traces events programs runs seed negatives detectors missed_by_all theory violations; do
  expect "key $key" "$(ask "'$key' in j")" True
done
for engine in djit fasttrack so shb; do
  expect "$engine" "$(ask "[p('$engine', x)['found'] for x in ('hidden', 'reversed', 'conflict', 'open')]")" '[0, 0, 0, 1]'
done
expect wcp "$(ask "[p('wcp', x)['found'] for x in ('hidden', 'reversed', 'conflict', 'open')]")" '[1, 1, 0, 1]'
expect syncp "$(ask "[p('syncp', x)['found'] for x in ('hidden', 'reversed', 'conflict', 'open')]")" '[1, 0, 0, 1]'
expect none "$(ask "d('none')['total']['found'], d('none')['total']['rate']")" '(0, 0)'
expect "half of the accesses: some of the open ones" "$(ask "0 < p('random:0.5', 'open')['found'] < 1")" True
expect "and none of the others" "$(ask "d('random:0.5')['total']['found'] == p('random:0.5', 'open')['found']")" True
expect "all is so: no detector of its own" "$(ask "len(j['detectors'])")" 8
expect "missed by all" "$(ask "j['missed_by_all']")" "['conflict.a.std']"
expect "sums" "$(ask "all(abs(x['found'] + x['missed'] - x['traces']) < 1e-6 for y in j['detectors'] for x in [y['total']] + y['programs'])")" True
expect "total" "$(ask "all(y['total']['traces'] == sum(x['traces'] for x in y['programs']) == 4 for y in j['detectors'])")" True
expect "bins" "$(ask "all(sum(b['traces'] for b in y['distance']) == 4 and all(b['low'] <= b['high'] for b in y['distance']) for y in j['detectors'])")" True
expect "bin of 36 events" "$(ask "[(b['low'], b['high'], b['traces']) for b in d('so')['distance']]")" '[(32, 63, 4)]'
expect "violations" "$(ask "j['violations'], [x['violations'] for x in j['theory']]")" '(0, [0, 0, 0, 0, 0, 0, 0])'
expect "traces the claims speak of" "$(ask "[x['traces'] for x in j['theory']]")" '[4, 4, 4, 4, 4, 4, 0]'
expect "rate of an engine" "$(ask "d('so')['total']['rate']")" 1

# --- the same with any number of jobs, but for times
counts() { python3 -c 'import json,sys
def strip(x): return {k: strip(v) for k, v in x.items() if k != "seconds"} if isinstance(x, dict) else [strip(y) for y in x] if isinstance(x, list) else x
print(json.dumps(strip(json.load(open("out")))))'; }
run 0 data --json --jobs 1
counts >one
run 0 data --json --jobs 7
counts >seven
cmp -s one seven || fail "the number of jobs changes what is counted"
run 0 data --json --jobs 7 --seed 99
counts >other
! cmp -s one other || fail "another seed counts the same"

# --- negatives: a false alarm is a warning about exactly that pair
first=$(grep -n '(x)' data/open.a.std | head -1 | cut -d: -f1) last=$(wc -l <data/open.a.std)
for proof in trace window hb; do
  labels "{\"file\":\"open.a.std\",\"events\":[$((first - 1)),$((last - 1))],\"proof\":\"$proof\",\"window\":[0,9]},
    {\"file\":\"open.a.std\",\"events\":[5,6],\"proof\":\"$proof\",\"window\":[0,9]}" >data/labels.json
  run 0 data --json --samplers '' --engines so,wcp
  expect "negatives by $proof" "$(ask "j['negatives']['$proof']")" 2
  expect "false alarms by $proof" "$(ask "d('so')['total']['false_alarms'].get('$proof', 0)")" "$([ $proof = hb ] && echo 0 || echo 1)"
done
# A real race labelled impossible: the labels lie, and eval says that a sound engine contradicts them.
labels "{\"file\":\"open.a.std\",\"events\":[$((first - 1)),$((last - 1))],\"proof\":\"trace\",\"window\":[0,9]}" >data/labels.json
run 0 data --json --samplers ''
expect "violations" "$(ask "j['violations'], j['theory'][-1]['first']['file']")" "(1, 'open.a.std')"
grep -q 'contradict' err || fail "a violation is not said on stderr"
labels >data/labels.json

# --- text, CSV, page
run 0 data --csv lines.csv --html page.html --runs 3
[ "$(wc -L <out)" -le 120 ] || fail "the table is $(wc -L <out) columns wide"
! grep -q ' $' out || fail "blanks at the ends of lines"
grep -q '^total  *so  *1  *3  *25.0 ' out || fail "the total of so: $(grep '^total' out)"
grep -q '1 missed by all' out || fail "the traces missed by all are not in the table"
grep -q 'violations: 0' out || fail "the claims are not in the table"
expect "lines of the CSV" "$(wc -l <lines.csv)" $((1 + 4 * 10))
expect "columns of the CSV" "$(awk -F, 'NR == 1 {n = NF} NF < n {bad++} END {print n, bad + 0}' lines.csv)" "14 0"
expect "tables of the page" "$(grep -c '^<table>' page.html)" 3
expect "plots of the page" "$(grep -c '<svg class="plot"' page.html)" 3
! grep -qiE '<script|<link|@import|url\(|src=|href="[^#]|onload' page.html || fail "the page reaches out"
! grep -qE '[" ]-?(nan|inf)|width="-' page.html || fail "a number of a plot is none"
for tag in svg figure table section figcaption tbody tr td th li desc; do
  expect "<$tag> closed" "$(grep -oE "</$tag>" page.html | wc -l)" "$(grep -oE "<${tag}[ >]" page.html | wc -l)"
done

# --- counterexamples: missed, verified, as small as by hand
run 0 data --json --samplers '' --counterexamples missed
expect "what was written" "$(ask "[(c['detector'], c['written'], c['minimal'], c['unproven']) for c in j['counterexamples']]")" \
  "[('so', 3, 3, 0), ('shb', 3, 3, 0), ('wcp', 1, 1, 0), ('syncp', 2, 2, 0)]"
size() { "$RAILBIRD" trace info --json "missed/$1.rbt" | sed 's/.*"events":\([0-9]*\).*/\1/'; }
for case in so/hidden.a:8 so/reversed.a:8 shb/hidden.a:8 wcp/conflict.a:10 syncp/reversed.a:8 syncp/conflict.a:8; do
  expect "events of ${case%:*}" "$(size "${case%:*}")" "${case#*:}"
done
sed 's/|[0-9]*$//' missed/wcp/conflict.a.std >got
printf '%s\n' 'T0|fork(T1)' 'T0|fork(T2)' 'T1|acq(l)' 'T1|w(x)' 'T1|w(y)' 'T1|rel(l)' 'T2|acq(l)' 'T2|w(y)' 'T2|rel(l)' 'T2|w(x)' | cmp -s - got ||
  fail "the counterexample of wcp: $(cat got)"
verify_all() { # FOLDER: every counterexample's race is real, and its engine misses it
  local file engine
  for file in "$1"/*/*.rbt; do
    case $file in *.base.rbt) continue ;; esac
    "$RAILBIRD" inject --verify "${file%.rbt}.base.rbt" "$file" >log 2>&1 || fail "$file: $(cat log)"
    "$RAILBIRD" trace check "$file" "${file%.rbt}.base.rbt" >log 2>&1 || fail "$file: $(cat log)"
  done
  for engine in "$1"/*/; do
    engine=$(basename "$engine")
    ls "$1/$engine"/*.rbt >/dev/null 2>&1 || continue
    run 0 "$1/$engine" --json --samplers ''
    expect "$1: races that $engine finds in its own counterexamples" "$(ask "d('$engine')['total']['found']")" 0
    expect "$1: contradictions in the counterexamples of $engine" "$(ask "j['violations']")" 0
  done
}
verify_all missed
python3 - <<'EOF' || fail "index.json: $(cat missed/index.json)"
import json, os
index = json.load(open("missed/index.json"))
assert len(index["counterexamples"]) == 9 and not index["unproven"]
for c in index["counterexamples"]:
    assert c["events_after"] < c["events_before"] and c["minimal"] and c["tests"] > 0, c
    assert all(os.path.exists("missed/" + c[k]) for k in ("file", "text", "base")), c
EOF
run 0 data --json --samplers '' --counterexamples few --limit 1 --shrink-seconds 0
expect "with a limit and no time" "$(ask "[(c['written'], c['minimal'], c['events_before'] == c['events_after']) for c in j['counterexamples']]")" \
  "[(1, 0, True), (1, 0, True), (1, 0, True), (1, 0, True)]"
verify_all few

# --- bad input: one line each that names the place
bad() { # PATTERN CODE: labels.json changed by this code (j: all, t: its traces) is refused with these words
  python3 -c 'import json, sys
j = json.load(open("data/labels.json")); t = j["traces"]
exec(sys.argv[1])
json.dump(j, open("bad/labels.json", "w"))' "$2"
  refused "$1" bad --samplers ''
}
mkdir bad
cp data/*.std bad
bad 'version' 'j["version"] = 2'
bad '"traces"' 'del j["traces"]'
bad '"traces"' 'j["traces"] = []'
bad 'traces\[2\]: expected an object' 't[2] = 5'
bad 'traces\[0\]: "file"' 'del t[0]["file"]'
bad 'missing.std' 't[0]["file"] = "missing.std"'
bad 'labelled twice' 't[0]["file"] = "open.a.std"'
bad 'traces\[1\]: "events"' 't[1]["events"] = [4]'
bad 'traces\[1\]: "events"' 't[1]["events"] = ["4", "5"]'
bad 'the earlier event first' 't[1]["events"].reverse()'
bad 'traces\[0\]: "distance"' 't[0]["distance"] = 7'
bad 'hidden.a.std.*access to x, its label says y' 't[0]["variable"] = "y"'
bad 'reversed.a.std.*kind wr, its label says ww' 't[1]["kind"] = "ww"'
bad 'of thread T1, its label says T9' 't[0]["threads"][0] = "T9"'
bad 'names event 999, the trace has' 't[0].update(events=[3, 999], distance=995)'
bad "which is 'fork' and no access" 't[0].update(events=[0, 4], distance=3)'
bad 'of one thread' 't[0].update(events=[7, 8], distance=0, variable="n1", kind="wr"); del t[0]["threads"]'
bad '"negatives"' 'j["negatives"] = {}'
bad 'negatives\[0\]: "proof"' 'j["negatives"] = [{"file": "open.a.std", "events": [1, 2], "proof": "faith"}]'
bad 'negatives\[0\]: "file"' 'j["negatives"] = [{"file": "other.std", "events": [1, 2], "proof": "hb"}]'
bad 'open.a.std: a negative names event 888' 'j["negatives"] = [{"file": "open.a.std", "events": [1, 888], "proof": "hb"}]'
echo '{"version":1,' >bad/labels.json
refused 'labels.json: line' bad
cp data/labels.json bad
sed -i '5s/T1/T2/' bad/hidden.a.std
refused 'hidden.a.std' bad
cp data/hidden.a.std bad
echo 'T3|r(x)|50' >>bad/hidden.a.std
refused 'access to x as well' bad
echo 'T1|w(x)' >bad/open.a.std
cp data/hidden.a.std bad
refused 'open.a.std' bad
rm bad/labels.json
refused 'bad/labels.json: cannot open' bad
refused 'nowhere/labels.json' nowhere
cp data/*.std bad
sed 's/"base":"[^"]*"/"base":"lost.std"/' data/labels.json >bad/labels.json
run 0 bad --samplers ''
refused 'lost.std' bad --samplers '' --counterexamples lost
sed 's/"base":"[^"]*",//' data/labels.json >bad/labels.json
refused 'does not name its base' bad --samplers '' --counterexamples lost
refused '--counterexamples' data --samplers '' --counterexamples /dev/null
sed 's/"base":"[^"]*hidden.base.std"/"base":"open.base.std"/' data/labels.json >bad/labels.json # of another trace
refused 'its base' bad --samplers '' --counterexamples lost

# --- traces of railbird inject
command=()
run 0 trace gen -o gen.rbt --events 1500 --threads 5 --locks 3 --variables 40 --race 0 --sync 0.4 --functions 5 --seed 3
run 0 inject gen.rbt -n 30 --seed 2 -o injected
command=(eval)
run 0 injected --json --runs 2 --counterexamples smaller --limit 2 --shrink-seconds 1
expect "injected traces" "$(ask "j['traces']")" 30
expect "sums of injected traces" "$(ask "all(abs(x['found'] + x['missed'] - 30) < 1e-6 for y in j['detectors'] for x in y['programs'])")" True
expect "contradictions" "$(ask "j['violations']")" 0
expect "counterexamples that are not smaller" "$(ask "[c for c in j['counterexamples'] if c['unproven'] or c['written'] and c['events_after'] >= c['events_before']]")" '[]'
verify_all smaller

# --- the base programs are right and have no race, and the recipe makes a dataset of them
cp -r "$RB_TEST_DATA/../examples/structures" structures
programs="list stack queue hash_map tree_set thread_pool pipeline readers_writers"
make -s -C structures clean
timeout 300 make -s -C structures CC=cc check >log 2>&1 || fail "the base programs: $(tail -3 log)"
if [ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then # not when built with sanitizers
  unset RAILBIRD_OPTIONS TSAN_OPTIONS RAILBIRD_CC
  make -s -C structures clean
  timeout 300 make -s -C structures CC="$RAILBIRD cc" >log 2>&1 || fail "the base programs with railbird cc: $(tail -3 log)"
  for program in $programs; do
    got=0
    timeout 300 "$RAILBIRD" run -o sampler=all structures/$program >log 2>&1 || got=$?
    expect "status of $program" "$got" 0
  done
  timeout 300 python3 "$RB_TEST_DATA/../bench/dataset.py" made --railbird "$RAILBIRD" --programs stack,tree_set --threads 3 \
    --seeds 1 --traces 6 >log 2>&1 || fail "bench/dataset.py: $(tail -3 log)"
  run 0 made/traces --json --samplers ''
  expect "traces of the dataset" "$(ask "j['traces'], sorted(j['programs'])")" "(6, ['stack', 'tree_set'])"
  python3 - <<'EOF' || fail "the export of the dataset"
import json
lines = [json.loads(line) for line in open("made/dataset.jsonl")]
split = json.load(open("made/split.json"))
assert len(lines) == 6 and len(split["files"]) == 6
assert sorted(split["train"] + split["test"]) == ["stack", "tree_set"] and len(split["test"]) == 1
for j in lines:
    assert j["split"] == split["files"][j["file"]] == ("test" if j["program"] in split["test"] else "train")
    first, second = (j["events"][i] for i in j["race"])
    assert first[0] != second[0] and first[2] == second[2] and first[1] + second[1] == j["kind"]
    assert j["race"][1] - j["race"][0] - 1 == j["distance"]
EOF
fi

finish eval
