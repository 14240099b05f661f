#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sampler=crsampler and sampler=datacollider: what races is found, with its evidence; what is ordered, by locks or by
# atomics alone, is not; every clock race is a happens-before race of the same run, and every collision a clock race; and
# without breakpoints a line says so and the program runs.
#   test_crsampler.sh [RUNS]   of each way that is ordered; default 1
set -euo pipefail
runs=${1:-1}
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  exit 0
fi
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS
"$RAILBIRD" cc -O1 -g "$RB_TEST_DATA/watch/collide.c" -o collide -lpthread || fail "cannot build collide"
gcc -O1 "$RB_TEST_DATA/watch/without.c" -o without || fail "cannot build without"

# collide SAMPLER WAY [MS]: sets status; `stats` has the statistics, races.json the reports
collide() {
  local sampler=$1
  shift
  rm -f stats races.json
  touch races.json
  status=0
  RAILBIRD_OPTIONS="sampler=$sampler:stats=json:stats:report=json:races.json" timeout 300 ./collide "$@" >out 2>err || status=$?
  grep -qx "done" out || fail "$sampler, $1: did not come to its end: $(head -c 300 err)"
}
stat_of() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p;q" stats; }
missing() { sed -n 's/.*"watchpoints_missing":"\([^"]*\)".*/\1/p' stats | head -n 1; }
evidence() { sed -n 's/.*"evidence":"\([a-z]*\)".*/\1/p' races.json | sort -u; }

# --- names and parameters
command=(analyze)
echo 'T0|w(x)|0' >t.std
refused "'crsampler' needs hardware breakpoints and works in a running program only" t.std --sampler crsampler:0.5
refused "'datacollider' needs hardware breakpoints" t.std --sampler datacollider:1,30
command=(run)
refused "expected one of: all .* crsampler:P\[,MS\] datacollider:P\[,MS\]" -o sampler=crsampler ./collide read_only
command=(record)
for bad in crsampler crsampler:2 crsampler:0.1,0 datacollider:0.1,1.5 datacollider:nan crsampler:0.5,20000; do
  refused "sampler '$bad': expected" -o t.rbt --sampler $bad ./collide read_only
done

# --- without breakpoints
for sampler in crsampler:1 datacollider:1; do
  status=0
  RAILBIRD_OPTIONS=sampler=$sampler:stats=1 ./without ./collide write_write 20 >out 2>err || status=$?
  expect "$sampler without: status" $status 0
  expect "$sampler without: lines" "$(grep -c "^Railbird: sampler=$sampler: no hardware breakpoints: not permitted" err)" 1
  grep -q '^  watchpoints: not available: not permitted' err || fail "$sampler: the statistics do not say that there are none"
  grep -qx "done" out || fail "$sampler without: did not come to its end"
done
collide crsampler:1 read_only
if [ -n "$(missing)" ]; then
  [ "$failures" = 0 ] && echo "skipped: no hardware breakpoints here: $(missing)" && exit 0
  finish crsampler
fi

# --- what races
for sampler in crsampler:1 datacollider:1,5; do
  for way in $(./collide -l race); do
    collide $sampler $way
    for ms in 500 2000 8000; do # where others have the cores, less is met
      [ $status != 66 ] || break
      collide $sampler $way $ms
    done
    expect "$sampler, $way: status" $status 66
    case $sampler in
    crsampler*) expect "$sampler, $way: evidence" "$(evidence)" clock ;;
    *) expect "$sampler, $way: evidence" "$(evidence)" collision ;;
    esac
    expect "$sampler, $way: collisions that are no clock races" "$(stat_of collisions_not_clock)" 0
    [ "$(stat_of watch_judged)" -gt 0 ] || fail "$sampler, $way: nothing was judged"
  done
done

# --- what is ordered
for sampler in crsampler:1 datacollider:1,5; do
  met=0
  for way in $(./collide -l ordered) $(./collide -l silent); do
    for ((i = 0; i < runs; i++)); do
      for ms in 120 500 2000 8000; do
        collide $sampler $way $ms
        [ "$(stat_of watch_armed)" = 0 ] || break
      done
      expect "$sampler, $way: status" "$status$(cat races.json)" 0
      expect "$sampler, $way: judged" "$(stat_of watch_judged)" 0
      [ "$(stat_of watch_armed)" -gt 0 ] || fail "$sampler, $way: no breakpoint was set"
      [ $way = signals ] || expect "$sampler, $way: collisions that are no clock races" "$(stat_of collisions_not_clock)" 0
      met=$((met + $(stat_of watch_ordered)))
    done
  done
  for ms in 500 2000 8000; do
    [ $sampler = crsampler:1 ] && [ $met -le 100 ] || break
    for way in $(./collide -l ordered); do
      collide $sampler $way $ms
      met=$((met + $(stat_of watch_ordered)))
    done
  done
  [ $sampler != crsampler:1 ] || [ $met -gt 100 ] || fail "$sampler: silent, for other threads were met $met times only"
done

# --- P is a share of the code: none, or the same with the same seed
collide crsampler:0 write_write
expect "crsampler:0: status" $status 0
expect "crsampler:0: breakpoints" "$(stat_of watch_armed)" 0
for seed in 1 2 3 4 5 6; do
  for ms in 240 1000 4000; do
    collide crsampler:0.5,5:seed=$seed mixed $ms
    [ $status != 66 ] || break
  done
  expect "seed $seed: status" $status 66
  grep -o '"function":"[pg][ue]t_[0-9]*"' races.json | sort -u >>some
done
[ "$(sort -u some | wc -l)" -ge 8 ] || fail "six seeds have reached $(sort -u some | wc -l) places only"

# --- every clock race is a happens-before race of the same run: the trace that was recorded of it has the pair
pairs() { # offline|online: "module+offset module+offset thread thread"
  python3 - "$1" <<'EOF'
import csv, json, os, re, sys
if sys.argv[1] == "offline":
    rows = ([(re.search(r"\((.*)\)$", r[7]).group(1), r[3]), (re.search(r"\((.*)\)$", r[8]).group(1), r[4])]
            for r in csv.reader(open("races.csv")))
else:
    rows = ([(os.path.basename(a["stack"][0]["module"]) + "+" + a["stack"][0]["offset"], "T%d" % a["thread"])
             for a in json.loads(line)["accesses"]] for line in open("races.json"))
for row in rows:
    print(*(word for pair in sorted(row) for word in pair))
EOF
}
found=0
compared() { # WAY
  local way=$1 ms
  for ms in 240 1000 4000; do
    rm -f races.json races.csv t.rbt
    touch races.json
    status=0
    RAILBIRD_OPTIONS=report=json:races.json timeout 300 "$RAILBIRD" record --sampler crsampler:1 -o t.rbt ./collide $way $ms >out 2>err ||
      status=$?
    [ $status != 66 ] || break
  done
  expect "$way, recorded: status" $status 66
  "$RAILBIRD" trace check t.rbt >out 2>&1 || fail "$way, recorded: $(cat out)"
  "$RAILBIRD" analyze t.rbt --engine djit --races races.csv >out || true
  pairs online | sort -u >online
  pairs offline | sort -u >offline
  expect "$way: clock races that are no happens-before races" "$(comm -23 online offline)" ""
  found=$((found + $(wc -l <online)))
}
for way in $(./collide -l race); do compared $way; done
for _ in 1 2 3 4 5 6; do
  compared mixed
  [ $found -lt 8 ] || break
done
[ $found -ge 8 ] || fail "only $found clock races were there to be compared"
finish crsampler
