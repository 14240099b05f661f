#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `railbird watch`: races of programs that were built without us are found, and none is confirmed in their twins; the
# program's signals, children, libraries and end are its own; what cannot be watched is refused in words.
#   test_watch_agent.sh [SECONDS]   of each program; default 0.4. Longer: tests/watch/watch_programs.sh, stress_watch.sh
set -euo pipefail
seconds=${1:-0.4}
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_watch.so" ]; then
  echo "skipped: there is no lib/librailbird_watch.so next to $(dirname "$RAILBIRD")"
  exit 0
fi
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS RAILBIRD_WATCH TSAN_OPTIONS
export XDG_CACHE_HOME=$work/cache
watch=$RB_TEST_DATA/watch
command=(watch)

# --- the command line
refused "which program" --mode both
refused "expected clock, collide or both" --mode often true
refused "expected a number from 1 to 100000" --per-second 0 true
refused "expected a share above 0" --rate 0 true
refused "expected a share above 0" --budget 200% true
refused "expected milliseconds" --window soon true
refused "expected a name or a path" --module '' true
refused "-o" -o nonsense=1 true
refused "No such file" ./nothing
run 0 -h
grep -q -- --candidates out || fail "-h does not mention --candidates"
gcc -O2 -static -DRACE=1 "$watch/programs/counter.c" -o static -lpthread && refused "linked statically" ./static
[ -e "$(dirname "$RAILBIRD")/../lib/railbird_rt.syms" ] &&
  "$RAILBIRD" cc -O2 -DRACE=1 "$watch/programs/counter.c" -o ours && refused "is instrumented" ./ours
if [ "$(id -u)" = 0 ]; then
  cp /bin/true owned && chown 65534 owned && chmod 4755 owned && refused "rights of its own" ./owned
fi

# --- without breakpoints, and with one thread: the program runs, and a line says so
gcc -O2 -g -DRACE=1 "$watch/programs/counter.c" -o counter -lpthread
gcc -O1 "$RB_TEST_DATA/watch/without.c" -o without
"$RAILBIRD" watch -- ./without ./counter 0.1 >out 2>err || fail "without: status $?"
expect "without" "$(cat out)" "done"
grep -q '^Railbird: watch: the program runs unwatched: not permitted' err || fail "without: no line: $(cat err)"
run 0 -o stats=1 true
grep -q '^Railbird: watch: 0 samples' err || fail "one thread: no summary"
# Nothing was looked at: said of the program named, not of what a script starts.
for how in "" --json; do
  run 0 $how true
  grep -q '^railbird watch: nothing of true was looked at' err || fail "$how one thread: no line: $(cat err)"
  expect "$how one thread: lines" "$(wc -l <err)" 1
done
printf '#!/bin/sh\ntrue\n' >script && chmod +x script
run 0 ./script
[ ! -s err ] || fail "a script: $(cat err)"
# It ends by the bare system call, as programs without libc do: the agent cannot say anything.
echo 'int main(void) { for (;;) __asm__ volatile("syscall" : : "a"(231L), "D"(0L) : "rcx", "r11", "memory"); }' >bare.c
gcc bare.c -o bare
run 0 ./bare
grep -q '^railbird watch: ./bare left no figures behind' err || fail "the bare system call: no line: $(cat err)"

"$RAILBIRD" watch -o stats=json:stats -o report=none ./counter 0.1 >out 2>err || true
why=$(sed -n 's/.*"missing":"\([^"]*\)".*/\1/p' stats)
if [ -n "$why" ]; then
  [ "$failures" = 0 ] && echo "skipped: no hardware breakpoints here: $why" && exit 0
  finish watch_agent
fi

# --- a report, in all its forms
quick=(--budget 50% --per-second 500)
found() { # ARGUMENTS: a run that confirms the counter's race; tried again, for it is a matter of chance
  local i
  for i in 1 2 3 4 5 6 7 8 9 10; do
    status=0
    timeout 300 "$RAILBIRD" watch "${quick[@]}" "$@" >out 2>err || status=$?
    [ $status = 66 ] && return 0
  done
  fail "watch $*: not confirmed in ten runs: status $status: $(tail -n 2 err)"
}
found ./counter 0.6
for text in 'WARNING: Railbird: data race' 'Write of size 8 .* by thread T' '#0 run .*counter.c:' 'Location is global .counter. of size 8' \
  'created by main thread at:' 'evidence: collision' '^Railbird: watch: .* 1 race confirmed'; do
  grep -q "$text" err || fail "the report has no '$text'"
done
id=$(sed -n 's/^  id \([0-9a-f]*\),.*/\1/p' err | head -n 1)
found --json ./counter 0.6
grep -qF "\"id\":\"$id\"" out || fail "the object has another id than $id"
grep -q '"candidates":\[' out || fail "--json has no candidates"
grep -q '"samples":[1-9]' out || fail "--json has no samples"
found --mode collide ./counter 0.6
found -o halt_on_error=1 ./counter 60
[ ! -s out ] || fail "halt_on_error: the program went on"
echo "race:^run$" >suppressions
run 0 "${quick[@]}" -o suppressions=suppressions ./counter 0.5
run 0 "${quick[@]}" -o exitcode=0 ./counter 0.5
for length in 0.5 1 2 4 8; do # where others have the cores, half a second may not be enough
  run 0 "${quick[@]}" --mode clock --candidates ./counter $length
  ! grep -q '^CANDIDATE: Railbird: possible data race' err || break
done
grep -q '^CANDIDATE: Railbird: possible data race' err || fail "--candidates: nothing is listed"
grep -q 'WARNING' err && fail "a candidate is called a race"
run 0 "${quick[@]}" --module nothing -o stats=1 ./counter 0.2
grep -q '^Railbird: watch: 0 samples' err || fail "--module: sampled what was not asked for"
found --rate 100% ./counter 0.6

# --- the process's own
gcc -O2 -g "$watch/stress_ways.c" -o ways -lpthread || fail "cannot build ways"
for way in none fork vfork clone suspend masks own seccomp quick _exit main daemon altstack pthread_exit; do
  status=0
  timeout 300 "$RAILBIRD" watch --per-second 2000 --budget 80% ./ways $way 0.25 >out 2>err || status=$?
  [ $status = 0 ] && grep -qx "done" out || fail "ways $way: status $status: $(tail -n 1 out) $(tail -n 1 err)"
done
gcc -O2 -g "$RB_TEST_DATA/watch/ways.c" -o other_ways -lpthread
for way in close block raw spawn threads exec; do
  status=0
  timeout 300 "$RAILBIRD" watch --per-second 2000 --budget 80% ./other_ways $way >out 2>err || status=$?
  [ $status = 0 ] || fail "other ways $way: status $status: $(tail -n 1 err)"
done
status=0
{ timeout 300 "$RAILBIRD" watch ./other_ways trap >out 2>err || status=$?; } 2>/dev/null
expect "an int3 that nobody handles" $status 133
RAILBIRD=$RAILBIRD "$watch/stress_watch.sh" 1 24 >out 2>&1 || fail "stress: $(cat out)"

# --- pairs; builds take turns
builds=(gcc gcc-nopie gcc-pointer)
if command -v clang >/dev/null; then builds+=(clang clang-nopie clang-pointer); fi
turn=0 missed=0 count=0
for source in "$watch"/programs/*.c "$watch"/programs/*.cpp; do
  build=${builds[turn++ % ${#builds[@]}]}
  count=$((count + 1))
  for times in 1 3 10 30; do # where others have the cores, little is seen in a while
    until=$(awk -v s="$seconds" -v n=$times 'BEGIN { print n * s }')
    "$watch/watch_programs.sh" --seconds "$seconds" --until "$until" --modes both --builds "$build" --watch "${quick[*]}" \
      "$(basename "$source")" >out 2>&1 || fail "$(basename "$source"): $(cat out)"
    grep -q ' 0+0/1 ' out || break
  done
  if grep -q ' 0+0/1 ' out; then missed=$((missed + 1)); fi
done
[ $missed -le $((count / 4)) ] || fail "of $count races $missed were missed"
finish watch_agent
