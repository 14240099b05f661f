#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The samplers in running programs (tests/sampling): the share they take, the races they find, the same decisions for the
# same seed, and no report where everything is ordered. Shares and numbers of finds are judged within five standard
# deviations of what docs/explanation/samplers.md says.
# Programs run for so much CPU time, and those that must be found racing until they are: others may use the machine.
#   test_sampling.sh [SECONDS]   of CPU time in the last part, for each sampler and engine; default 0.4
set -euo pipefail
seconds=${1:-0.4}
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  exit 0
fi
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
sources=$RB_TEST_DATA/sampling
for program in rates race longjmp ordered; do
  "$RAILBIRD" cc -O1 -g "$sources/$program.c" -o $program || fail "cannot build $program"
done

# watched SAMPLER SEED PROGRAM ARGUMENTS...: sets status, seen and sampled
watched() {
  local sampler=$1 seed=$2 program=$3
  shift 3
  rm -f stats
  status=0
  RAILBIRD_OPTIONS="sampler=$sampler:seed=$seed:stats=json:stats:report=none:${options:-}" timeout 300 \
    ./"$program" "$@" >out 2>err || status=$?
  seen=$(stat_of accesses)
  sampled=$(stat_of sampled)
}
stat_of() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" stats; }

# within WHAT COUNT N SHARE: are COUNT successes of N plausible?
within() {
  awk -v k="$2" -v n="$3" -v p="$4" 'BEGIN { d = k - n * p; exit !(d * d <= 25 * n * p * (1 - p) + 1) }' ||
    fail "$1: $2 of $3, expected a share of $4"
}

# --- shares: a call is 8 accesses, decided together; what starts the program makes some hundreds more
rounds=40000
calls=$((4 * rounds))
watched all 1 rates $rounds
extra=$((seen - 8 * calls))
[ "$sampled" = "$seen" ] && [ "$extra" -lt 1000 ] || fail "all: $sampled of $seen"
watched none 1 rates $rounds
expect "none: sampled" "$sampled" 0
[ "$seen" -lt $((8 * calls / 100)) ] || fail "none: $seen calls of hooks that should sleep"
for p in 0.3 0.03 0.003; do
  watched random:$p 2 rates $rounds
  expect "random:$p: seen" "$seen" $((8 * calls + extra))
  within "random:$p" "$sampled" "$seen" $p
  watched pacer:$p,128 3 rates $rounds
  within "pacer:$p,128" $((sampled / 128)) $((seen / 128)) $p
done
for row in rnd10:0.1 rnd25:0.25; do
  watched ${row%:*} 4 rates $rounds
  expect "${row%:*}: seen" "$seen" $((8 * calls + extra))
  within "${row%:*}" $((sampled / 8)) $calls ${row#*:}
done
# counted, not drawn: exact, for four functions called alike, and what is outside of them
exactly() { # SAMPLER TAKEN-OF-EACH
  watched "$1" 5 rates $rounds
  [ "$sampled" -ge $((32 * $2)) ] && [ "$sampled" -le $((32 * $2 + extra)) ] ||
    fail "$1: $sampled sampled, expected 32 times $2"
}
exactly tl-fx $((rounds / 20))
exactly g-fx $((rounds / 10))
exactly ucp $((rounds - 10))
exactly literace 60 # calls 0-9, 100-109, 1100-1109, 11100-11109, 21100-, 31100-
exactly g-ad 120    # at 0, 20, 60, 140, 300, 620, 1260, 2540, 5100, 10220, 20220, 30220
watched literace 1 rates 100
high=$((1000 * sampled / seen))
watched literace 1 rates 10000
[ $((1000 * sampled / seen)) -lt $((high / 10)) ] || fail "literace: $sampled of $seen after 10000 calls"
watched static:0.5 1 rates 10
few=$sampled
watched static:0.5 1 rates 1000
[ $((sampled % 4)) = $((few % 4)) ] || fail "static: $few, then $sampled"
[ "$sampled" -gt 0 ] || fail "static:0.5 takes nothing"

# --- rpt: the work grows with the logarithm of the length: 11 windows of 96 events and a few batches a doubling
for rounds in 20000 320000; do
  watched rpt:0.5,0.5 1 rates $rounds
  [ "$sampled" -gt 1000 ] && [ "$sampled" -lt $((18 * 2 * 11 * 224)) ] || fail "rpt: $sampled of $seen"
done

# --- seeds
for sampler in random:0.01 rnd10 pacer:0.1 static:0.3 rpt:0.2,0.2 literace; do
  watched $sampler 11 rates 5000
  once=$sampled
  watched $sampler 11 rates 5000
  expect "$sampler: the same seed" "$sampled" "$once"
done
watched random:0.01 12 rates 5000
other=$sampled
watched random:0.01 13 rates 5000
[ "$sampled" != "$other" ] || fail "random: two seeds, one choice"

# --- calls left by longjmp: three for each that returns, and leaf is taken as often as it should be
watched g-fx 1 longjmp 20000
expect "longjmp: crowded" "$(stat_of crowded)" 0
within "longjmp" $((sampled / 8)) $((20000 * 8 / 8)) 0.1

# --- races: one pair of accesses. found SAMPLER SHARE RUNS MODE
found() {
  local runs=$3 hits=0 seed
  for ((seed = 1; seed <= runs; seed++)); do
    watched "$1" $seed race "$4"
    case $status in
    0 | 66) hits=$((hits + ($(stat_of races) > 0))) ;;
    *) fail "race $4 under $1: status $status" ;;
    esac
  done
  if [ "$2" = most ]; then
    [ $hits -ge $((runs * 9 / 10)) ] || fail "race $4 under $1: found in $hits of $runs"
  else
    within "race $4 under $1" $hits $runs "$2"
  fi
}
found all 1 2 once
found none 0 2 once
found literace 1 4 once # cold code
found ucp 0 4 once
found random:0.5 0.25 60 once
found rnd25 0.0625 60 once
found static:0.5 0.25 60 once
found pacer:0.3,256 0.3 100 once # PACER's promise
found pacer:0.3,7 0.3 60 once
found rpt:0.2,0.1 most 10 often

# --- looks=: a line a call site; both sides of a race that was found are among those looked at
for go in {1..8}; do # on a busy machine it may escape
  rm -f looks reports
  RAILBIRD_OPTIONS="looks=looks report=json:reports exitcode=0" RAILBIRD_TOOL=/nonexistent/tool timeout 60 ./race once >out 2>err
  [ ! -s reports ] || break
done
python3 - <<'PYTHON' || fail "looks: $(head -5 looks)"
import json
looks = {}
for line in open("looks"):
    build, offset, taken = line.rstrip("\n").split("\t")
    looks[build, offset] = int(taken)
sides = [a["stack"][0] for line in open("reports") for a in json.loads(line)["accesses"]]
assert len(sides) > 1 and all(looks[s["build_id"], s["offset"]] > 0 for s in sides)
assert any(taken == 0 for taken in looks.values())
PYTHON

# --- everything ordered: no sampler may report
for engine in so st; do
  for sampler in all none random:0.03 literace tl-fx g-ad g-fx rnd10 rnd25 ucp pacer:0.1 pacer:0.3,5 rpt:0.1,0.1 \
    rpt:0.5,0.01 static:0.5 adaptive; do
    options=engine=$engine
    watched $sampler 1 ordered "$seconds"
    expect "ordered under $sampler, $engine: status" "$status" 0
    expect "ordered under $sampler, $engine: races" "$(stat_of races)" 0
    [ $sampler = none ] || [ "$sampled" -gt 1000 ] || fail "$sampler: only $sampled of $seen"
  done
done

# --- read-write locks, with much that is remembered of them and much that is not
"$RAILBIRD" cc -O1 -g "$sources/rwlocks.c" -o rwlocks || fail "cannot build rwlocks"
for engine in so st; do
  for locks in 2 20 200; do
    for sampler in all random:0.03 adaptive; do
      options=engine=$engine
      watched $sampler 1 rwlocks "$seconds" $locks
      expect "$locks rwlocks under $sampler, $engine: status" "$status" 0
    done
  done
  options=engine=$engine:halt_on_error=1
  watched all 1 rwlocks 60 2 race
  expect "rwlocks that readers write under, $engine: status" "$status" 66
done

# --- where blocks were made is kept in a table without a lock, and not while all rests
"$RAILBIRD" cc -O1 -g -w "$sources/blocks.c" -o blocks || fail "cannot build blocks"
for sampler in all adaptive; do
  options=memory=4M:budget=20%
  watched $sampler 1 blocks "$seconds"
  expect "blocks under $sampler: status" "$status" 0
  [ "$(cat out)" -gt 0 ] || fail "blocks under $sampler: none was ever known"
done
options=

# --- fibers alone: what the program uses is earned from, as with threads
"$RAILBIRD" cc -O1 -g -w "$sources/fibers.c" -o fibers || fail "cannot build fibers"
watched adaptive 1 fibers 0.5
early=$sampled
for long in 4 8 16 32; do # where others have the cores little is earned
  watched adaptive 1 fibers $long
  [ "$status" != 66 ] || [ "$sampled" -le $((2 * early)) ] || break
done
expect "fibers: status" "$status" 66
[ "$sampled" -gt $((2 * early)) ] || fail "fibers: $early accesses sampled in half a second, $sampled in $long"

# --- nothing but synchronisation: following it fits no budget, so it is followed in episodes
"$RAILBIRD" cc -O1 -g -w "$sources/episodes.c" -o episodes || fail "cannot build episodes"
long=$(awk -v s="$seconds" 'BEGIN { print 4 * s + 2 }')
for engine in so st; do
  options=engine=$engine:budget=5%
  for ways in every locks race; do
    # the race is met by chance, on a busy machine in half of the runs: one in ten must find it, none without it may
    for seed in $([ $ways = race ] && seq 10 || echo 1); do
      for times in 1 2 4; do # where others have the cores little is earned
        watched adaptive $seed episodes "$(awk -v s="$long" -v n=$times 'BEGIN { print n * s }')" $ways
        [ "$status" = 0 ] && [ "$(stat_of episodes)" -le 1 ] || break
      done
      [ "$(stat_of episodes)" -gt 1 ] || fail "episodes $ways, $engine: there were $(stat_of episodes)"
      [ "$sampled" -gt 1000 ] || fail "episodes $ways, $engine: only $sampled accesses sampled"
      [ "$status" = 0 ] || break
    done
    expect "episodes $ways, $engine: status" "$status" "$([ $ways = race ] && echo 66 || echo 0)"
  done
done
options=

# --- both sides hot and thousands of accesses apart: found by thinning, in the hooks of the plugin and in those of others.
# Every eighth sweep has strips that are too long, or none of them has.
tiles=$RB_TEST_DATA/../bench/detect/programs/tiles.c
for bodies in two one; do
  for every in 8 1000000000; do
    RAILBIRD_BODIES=$bodies "$RAILBIRD" cc -O2 -g -DTHREADS=4 -DEVERY=$every "$tiles" -o tiles || fail "cannot build tiles"
    for seed in $([ $every = 8 ] && seq 12 || seq 3); do
      watched adaptive $seed tiles
      [ "$status" = 0 ] || break
    done
    expect "tiles, every $every, $bodies: status" "$status" "$([ $every = 8 ] && echo 66 || echo 0)"
  done
done

# --- what comes after a loop is looked at, however long the loop has gone round without hooks
"$RAILBIRD" cc -O1 -g "$sources/after_loop.c" -o after_loop || fail "cannot build after_loop"
for loop in calls whole; do
  for go in {1..16}; do # on a busy machine it may escape every other time: all of them once in 65,536 tests
    watched adaptive $go after_loop $loop
    [ "$status" = 0 ] || break
  done
  expect "after_loop $loop: status" "$status" 66
done

# --- threads that yield are not taken for ones that wait because others were detained: new code is looked at meanwhile
"$RAILBIRD" cc -O1 -g "$sources/yields.c" -o yields || fail "cannot build yields"
for go in {1..16}; do # on a busy machine they are woken later
  escaped=0
  for ms in 35 40 45 50 55; do # of which none was seen, and those below were
    watched adaptive $go yields $ms
    [ "$status" = 66 ] || escaped=$((escaped + 1))
  done
  [ "$escaped" -gt 3 ] || break
done
[ "$escaped" -le 3 ] || fail "yields: $escaped of 5 races escaped"
finish sampling
