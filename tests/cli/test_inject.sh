#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird inject: statuses and messages; that the verifier refuses every way to be wrong, in words; labels; that runs can
# be repeated, added to, limited and interrupted.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(inject)
python=python3

# --- a base: two threads under one lock, others with a read-write lock, a semaphore and an atomic
cat >base.std <<'END'
T0|w(a)|1
T0|fork(T1)|2
T0|fork(T2)|3
T1|r(a)|10
T1|acq(l)|11
T1|w(x)|12
T1|rel(l)|13
T2|acq(l)|21
T2|r(x)|22
T2|rel(l)|23
T1|racq(m)|14
T1|r(b)|15
T1|rrel(m)|16
T2|acq(m)|24
T2|w(b)|25
T2|rel(m)|26
T1|store(s)|17
T2|load(s)|27
T1|acq(k)|30
T1|w(e)|31
T1|rel(k)|32
T2|acq(k)|33
T2|w(f)|34
T2|rel(k)|35
T1|w(c)|18
T2|w(d)|28
T0|join(T1)|4
T0|r(c)|5
T0|join(T2)|6
T0|r(d)|7
END

# --- usage
run 0 -h
grep -q -- --distance out || fail "-h does not name --distance"
refused 'which BASE' -n 1 -o d
refused 'one BASE' base.std base.std -n 1 -o d
refused '-n: how many' base.std -o d
refused '-o: into which' base.std -n 1
refused '-n 0' base.std -n 0 -o d
refused '--kind rr: expected ww, rw or wr' base.std -n 1 -o d --kind rr
refused '--encoding' base.std -n 1 -o d --encoding z3
refused '--format' base.std -n 1 -o d --format csv
refused '--window 5' base.std -n 1 -o d --window 5
refused '--jobs' base.std -n 1 -o d --jobs 0
refused '--time-limit' base.std -n 1 -o d --time-limit soon
refused '--distance' base.std -n 1 -o d --distance far
refused '--negatives 65' base.std -n 1 -o d --negatives 65
refused '--colour' base.std -n 1 -o d --colour
refused 'missing.std' missing.std -n 1 -o d
refused 'two traces' --verify base.std
[ ! -e d ] || fail "a refused run made its folder"
printf 'T0|w(x)|1\nT0|w(x)|2\n' >alone.std
refused 'alone.std: the running thread never changes' alone.std -n 1 -o d
refused "/dev/null/x" base.std -n 1 -o /dev/null/x
touch plain
refused 'plain' base.std -n 1 -o plain

# --- the verifier. right: what is on standard input is a correct trace; wrong PATTERN: it is refused with these words
right() { cat >t.std && run 0 --verify base.std t.std; }
wrong() {
  cat >t.std
  refused "$1" --verify base.std t.std
}
pair='/^T1|store/i T1|w(z)|90
/^T2|load/i T2|w(z)|91'
good=$(sed "$pair" base.std)
right <<<"$good"
grep -q 'events 16 and 18, 1 events apart; it has no label' out || fail "what is right about it: $(cat out)"
run 0 --verify base.std t.std --json
expect "correct" "$(field correct)" true
expect "distance" "$(field distance)" 1
expect "kind" "$(field kind)" '"ww"'

# behind A B: the lines that match A, in their order, behind the line that matches B
behind() { awk -v a="$1" -v b="$2" '$0 ~ a { held = held $0 "\n"; next } { print } $0 ~ b { printf "%s", held }' <<<"$good"; }
# R1
wrong 'event 11 (T1|rrel(m)|16): event 5 of its thread is T1|r(b)|15 in base.std: thread order (R1)' < <(behind '^T1.r.b' '^T1.rrel')
wrong 'thread T1 has .* events are lost (R1)' < <(grep -v 'r(b)' <<<"$good")
wrong 'thread T2 has .* events are added (R1)' < <(sed '/^T2|load/a T2|w(d)|28' <<<"$good")
wrong 'thread order (R1)' < <(sed 's/^T1|r(b)|15/T1|r(b)|99/' <<<"$good")
wrong 'thread order (R1)' < <(sed 's/^T2|w(d)/T2|w(c)/' <<<"$good")
# the pair
wrong 'neither writes' < <(sed 's/^T1|w(z)/T1|r(z)/; s/^T2|w(z)/T2|r(z)/' <<<"$good")
wrong 'are of one thread' < <(sed 's/^T2|w(z)/T1|w(z)/' <<<"$good")
wrong '0 accesses to variables that base.std does not have' <base.std
wrong '3 accesses' < <(sed '/^T2|w(z)/a T2|w(z)|92' <<<"$good")
wrong 'access two variables' < <(sed 's/^T2|w(z)/T2|w(zz)/' <<<"$good")
wrong 'no point of base.std has both threads' < <(sed '/^T1|r(a)|10/i T1|w(z)|90
/^T2|w(d)/a T2|w(z)|91' base.std)
wrong 'no point of base.std has both threads' < <(sed '/^T0|fork(T1)/i T1|w(z)|90
/^T0|fork(T1)/i T0|w(z)|91' base.std)
wrong 'no point of base.std has both threads' < <(sed '/^T0|join(T1)/a T1|w(z)|90
/^T0|join(T1)/a T0|w(z)|91' base.std)
# R2: a read that sees no write any more, and one that sees one it did not
wrong 'T2|r(x)|22): the read sees no write, in base.std it sees T1|w(x)|12 (R2)' \
  < <(behind '^T1.(r.a|acq.l|w.x|rel.l)' '^T2.rel.l')
wrong 'the read sees the write T2|w(b)|25, in base.std it sees no' < <(behind '^T1.(racq|r.b|rrel)' '^T2.rel.m')
# R3, with both kinds of locks
wrong 'T2|acq(l)|21): the thread takes a lock that another thread holds: critical sections overlap (R3)' \
  < <(behind '^T1.rel.l' '^T2.acq.l')
wrong 'takes a lock to write that another thread holds to read: critical sections overlap (R3)' \
  < <(behind '^T1.rrel.m' '^T2.acq.m')
# R4
wrong 'T0|fork(T2)|3): 1 events of that thread.* in base.std 0 (R4)' < <(behind '^T0.fork.T2' '^T2.acq.l')
wrong 'T0|join(T2)|6): .*(R4)' < <(behind '^T2.w.d' '^T0.join.T2')
# R5
wrong 'T2|load(s)|27): its place among the events of its object is not the one in base.std (R5)' \
  < <(behind '^T1.store' '^T2.load')
# sections that change places are right
right < <(behind '^T1.(acq.k|w.e|rel.k)' '^T2.rel.k')

# --- making traces
run 0 base.std -n 40 -o d
grep -q '^40 of 40 traces in d, all verified' out || fail "what it says: $(cat out)"
expect "files" "$(ls d | wc -l)" 41
expect "hidden files" "$(find d -name '.*' -type f | wc -l)" 0
for f in d/*.rbt; do
  run 0 --verify base.std "$f"
  grep -q 'its label says so' out || fail "$f has no label"
done
"$RAILBIRD" trace check d/*.rbt >/dev/null || fail "trace check refuses what was made"
$python - <<'END' || fail "labels.json"
import json
labels = json.load(open("d/labels.json"))
assert labels["version"] == 1 and labels["tool"] == "railbird inject"
traces = labels["traces"]
assert len(traces) == 40 and len({t["file"] for t in traces}) == 40
for t in traces:
    assert t["base"] == "base.std" and t["program"] == "base" and t["kind"] == "ww" and t["seed"] == 1
    i, j = t["events"]
    assert j - i - 1 == t["distance"] and len(set(t["threads"])) == 2 and t["variable"] == "railbird.injected"
    for key in "point reversed_sections solver_calls solver_unknown scheduler_moves seconds".split():
        assert key in t, key
points = [t["point"] for t in sorted(traces, key=lambda t: t["file"])]
first = len(set(points))
assert first == len(set(points[:first])), "a point was taken twice before all were taken"
assert max(t["distance"] for t in traces) > 5
assert any(t["reversed_sections"] for t in traces), "no sections changed their order"
files = {t["file"] for t in traces}
for n in labels["negatives"]:
    assert n["file"] in files and n["proof"] in ("trace", "window", "hb") and n["events"][0] < n["events"][1]
    assert n["window"][0] <= n["events"][0] and n["events"][1] < n["window"][1]
counts = labels["counts"]
assert counts["traces"] == 40 and counts["negatives"] == len(labels["negatives"]) > 0
assert sum(counts["negatives_by_proof"].values()) == counts["negatives"]
END

# --- a label that is wrong
file=$(basename "$(ls d/*.rbt | head -1)")
damage() { # KEY VALUE: in the label of $file
  $python - "$file" "$1" "$2" <<'END'
import json, sys
labels = json.load(open("d/labels.json"))
for t in labels["traces"]:
    if t["file"] == sys.argv[1]:
        t[sys.argv[2]] = eval(sys.argv[3], {"old": t[sys.argv[2]]})
json.dump(labels, open("d/labels.json", "w"))
END
}
cp d/labels.json kept.json
for case in 'events|[old[0]+1,old[1]]' 'distance|old+1' 'threads|old[::-1]' 'kind|"wr"' 'variable|"x"'; do
  damage "${case%%|*}" "${case#*|}"
  refused "labels.json: \"${case%%|*}\" of $file is" --verify base.std "d/$file"
  cp kept.json d/labels.json
done
echo '{' >d/labels.json
refused 'labels.json: line' base.std -n 1 -o d
cp kept.json d/labels.json

# --- the same again, whatever the number of workers; other seeds and bases are added
sums() { (cd "$1" && sha256sum ./*.rbt); }
sums d >first
run 0 base.std -n 40 -o d --jobs 1
sums d | cmp -s - first || fail "the same seed gave other traces"
run 0 base.std -n 10 -o d
expect "files of a shorter run over it" "$(ls d/*.rbt | wc -l)" 10
run 0 base.std -n 10 -o d --seed 2
run 0 ./base.std -n 5 -o d
expect "files of three runs" "$(ls d/*.rbt | wc -l)" 25
expect "labels of three runs" "$(grep -c '"point"' d/labels.json)" 25
sums d | awk '{ print $1 }' | sort | uniq -d | grep -q . && [ "$(sums d | awk '{ print $1 }' | sort -u | wc -l)" -lt 12 ] &&
  fail "other seeds gave the same traces"

# --- kinds and forms
for kind in ww rw wr; do
  run 0 base.std -n 6 -o "$kind" --kind $kind --format std
  for f in "$kind"/*.std; do
    run 0 --verify base.std "$f" --json
    expect "kind of $f" "$(field kind)" "\"$kind\""
    expect "label of $f" "$(field labelled)" true
  done
done
"$RAILBIRD" trace import base.std -o base.rbt
run 0 base.rbt -n 4 -o text --format std
for f in text/*.std; do
  run 0 --verify base.rbt "$f"
done

# --- a base that misuses a lock: said, and all events of the lock keep their order
{
  cat base.std
  echo 'T0|rel(q)|8'
} >odd.std
run 0 odd.std -n 5 -o odd
grep -q '1 releases without a matching acquire' err || fail "misuse is not said: $(cat err)"
for f in odd/*.rbt; do
  run 0 --verify odd.std "$f"
done

# --- distance: at least so far where it can be had, and the solver alone gets there too
"$RAILBIRD" trace gen -o gen.rbt --events 2000 --threads 6 --locks 12 --variables 60 --race 0 --sharing 0.5 --rich 0.2
run 0 gen.rbt -n 20 -o far --distance 50 --json
expect "made" "$(field made)" 20
[ "$(field short_of_distance)" -le 4 ] || fail "--distance 50: $(field short_of_distance) of 20 are nearer"
for f in far/*.rbt; do
  run 0 --verify gen.rbt "$f"
done
run 0 gen.rbt -n 2 -o paper --encoding paper --distance 10 --negatives 0 --json
expect "made by the solver alone" "$(field made)" 2
expect "moves without the scheduler" "$(field scheduler_moves)" 0
for f in paper/*.rbt; do
  run 0 --verify gen.rbt "$f"
done

# --- limits: what was made is complete and labelled
complete() { # DIR
  expect "labels and files in $1" "$(grep -c '"point"' "$1"/labels.json)" "$(ls "$1"/*.rbt | wc -l)"
  expect "parts left in $1" "$(find "$1" -name '.*' -type f | wc -l)" 0
  for f in $(ls "$1"/*.rbt | head -3); do
    run 0 --verify gen.rbt "$f"
  done
}
for limit in 1 3 9 27; do # until a trace is made, also where others have the cores
  run 0 gen.rbt -n 100000 -o limited --time-limit $limit --json
  [ -z "$(find limited -name '*.rbt')" ] || break
done
expect "how it ended" "$(field ended)" '"time limit"'
complete limited
# begun DIR: waits until a trace in it is labelled
begun() {
  local i
  for ((i = 0; i < 6000; i++)); do
    grep -qs '"point"' "$1/labels.json" && return
    sleep 0.05
  done
  fail "no labels in $1"
}
for signal in INT TERM; do
  status=0
  # In a process of its own that has not SIGINT ignored, as the shell's background processes have.
  python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$RAILBIRD" inject gen.rbt -n 100000 -o killed$signal >out 2>err &
  begun killed$signal
  kill -$signal $!
  wait $! || status=$?
  [ "$status" -gt 128 ] || fail "SIG$signal: status $status"
  complete killed$signal
done
"$RAILBIRD" inject gen.rbt -n 100000 -o killed >out 2>err &
begun killed
kill -KILL $!
wait $! 2>/dev/null || true
for f in $(grep -o '"file": "[^"]*"' killed/labels.json | sort -u | cut -d'"' -f4 | tail -5); do
  run 0 --verify gen.rbt "killed/$f"
done

# --- memory goes by the locks that events name, not by how many the header claims
python3 - "$RB_TEST_DATA/cli/damage.py" claims.rbt <<'PY'
import runpy, sys
helper = runpy.run_path(sys.argv[1], run_name="helper")
events = [(0, "fork", 1, 0), (0, "fork", 2, 1)]
for i in range(20):
    t = 1 + i % 2
    events += [(t, "acq", 0, 2), (t, "w", 0, 3 + t), (t, "rel", 0, 6), (t, "w", t, 7)]
def change(fields, tables, aliases, events_of):
    tables[1][0] = (1 << 24) + 80
open(sys.argv[2], "wb").write(helper["trace"](events, change=change))
PY
"$RAILBIRD" trace check claims.rbt >/dev/null || fail "the trace that claims many locks is refused"
got=0
grep -q __asan_init "$RAILBIRD" || { (ulimit -v 500000 && "$RAILBIRD" inject claims.rbt -n 2 -o claimed >out 2>err) || got=$?; }
expect "inject of a trace that claims 2^24 locks" "$got" 0
finish inject
