#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a program sees of itself is the same with the runtime and without it: descriptors, errno, signals, EINTR, children,
# environment, names, limits, timers; how it ends; and it lives on when it has confined itself so that nothing can be reported.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../cli/lib.sh"
lib=$(dirname "$RAILBIRD")/../lib
[ -e "$lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
# Builds under one name each: a program may see that.
mkdir plain ours shared static
gcc -O1 -g "$here"/*.c -o plain/harm -pthread
"$RAILBIRD" cc -O1 -g "$here"/*.c -o ours/harm -pthread
builds=(ours)
if "$RAILBIRD" cc -O1 -g -static "$here"/*.c -o static/harm -pthread 2>/dev/null; then builds+=(static); fi

# as BUILD ARGUMENTS...: out, err and status hold what came of it. In the same folder, so that PWD is the same. The reporter of a
# program that was killed writes after its end, so standard error is read to its own end.
as() {
  cp "$1/harm" harm
  shift
  { timeout 300 ./harm "$@" >out </dev/null && echo 0 >ended || echo $? >ended; } 2>&1 | cat >err
  status=$(cat ended)
} 2>/dev/null # the shell's words about a signal

# races BUILD ARGUMENTS...: the same, with a race that is to be found. Chance may let one escape; then once more, with all looked at.
escaped=0
races() {
  as "$@"
  { [ $status = 66 ] || grep -q 'WARNING: Railbird' err; } && return
  escaped=$((escaped + 1))
  RAILBIRD_OPTIONS=sampler=all as "$@"
}

# --- what it sees
as plain see
expect "plain: status" $status 0
cp out wanted
[ "$(wc -l <wanted)" -gt 200 ] || fail "the program sees only $(wc -l <wanted) things"
for build in "${builds[@]}"; do
  races $build see
  expect "$build: status" $status 66
  [ "$(grep -c 'WARNING: Railbird' err)" -ge 1 ] || fail "$build: the race was not reported"
  diff wanted out >difference || fail "$build sees something else: $(head -c 2000 difference)"
done

# --- how it ends
for how in return exit zero _exit _Exit quick_exit abort segv kill term syscall thread main-thread; do
  for races in none races; do
    [ $races = none ] && argument=() || argument=(races)
    [ $races = none ] && way=as || way=races
    as plain end $how "${argument[@]}"
    own=$status
    cp out wanted
    for build in "${builds[@]}"; do
      want=$own
      # 66 where the runtime has a say: not for signals, nor where the program ends the process behind its back.
      [[ $races = none || $how =~ ^(abort|segv|kill|term|syscall)$ ]] || want=66
      $way $build end $how "${argument[@]}"
      expect "$build: status after $how, $races" $status $want
      cmp -s wanted out || fail "$build: output before $how, $races: $(diff wanted out)"
      expect "$build: reports before $how, $races" "$(grep -c 'WARNING: Railbird' err)" "$([ $races = none ] && echo 0 || echo 1)"
      RAILBIRD_OPTIONS=exitcode=0 as $build end $how "${argument[@]}"
      expect "$build: status after $how, $races, exitcode=0" $status $own
    done
  done
done
for where in main thread; do
  g++ -O1 -g "$here/thrown.cpp" -o thrown -pthread
  { timeout 300 ./thrown $where >wanted 2>wanted.err && own=0 || own=$?; } 2>/dev/null
  "$RAILBIRD" c++ -O1 -g "$here/thrown.cpp" -o thrown -pthread
  { timeout 300 ./thrown $where >out 2>err && status=0 || status=$?; } 2>/dev/null
  expect "status after an exception in $where" "$status" "$own"
  diff <(cat wanted wanted.err) <(cat out err) || fail "what is said of an exception in $where"
done

# --- a core with the right signal, that ends in the right function
if command -v gdb >/dev/null && [ "$(cat /proc/sys/kernel/core_pattern)" = core ]; then
  cp ours/harm harm
  (ulimit -c unlimited && ./harm end segv races) >out 2>err || true
  core=$(find . -maxdepth 1 -name 'core*' | head -n 1)
  if [ -n "$core" ]; then
    gdb -q -batch -ex bt harm "$core" >frames 2>&1 || true
    grep -q 'SIGSEGV' frames || fail "the core's signal: $(tail -n 8 frames)"
    grep -q '^#0 .*crash_here' frames || fail "the core's innermost frame: $(grep '^#0' frames)"
    rm -f "$core"
  fi
else
  echo "skipped: cores, for gdb is not installed or cores are not kept as files"
fi 2>/dev/null

# --- confined
for how in chroot setuid close_range no-descriptors no-files no-stderr no-standard full-stderr closed-pipe no-environment \
  unreachable-children seccomp; do
  for build in "${builds[@]}"; do
    as plain confined $how
    [ $status != 77 ] || continue # not allowed here
    expect "plain: $how" $status 0
    cp out wanted
    start=$SECONDS
    [ $how = seccomp ] && way=as || way=races
    $way $build confined $how
    # The runtime waits for half a minute where it waits too long.
    [ $((SECONDS - start)) -lt 25 ] || fail "$build: $how took $((SECONDS - start)) s"
    expect "$build: status, $how" $status "$([ $how = seccomp ] && echo 0 || echo 66)"
    cmp -s wanted out || fail "$build: output, $how: $(cat out)"
    count=$(grep -c 'WARNING: Railbird' err || true)
    case $how in
    chroot | setuid | close_range | no-descriptors | no-environment | unreachable-children)
      expect "$build: reports, $how" "$count" 1 ;;
    esac
    rm -rf empty
  done
done

# --- the stack of a thread: what the runtime adds is stated (docs/explanation/runtime.md, section 11)
number() { sed -n "s/^$1 //p" out; }
as plain stack
plain=$(number stack_KiB)
as ours stack
grep -q 'smallest done' out || fail "PTHREAD_STACK_MIN is not enough: status $status"
echo "stack of a thread: $plain KiB alone, $(number stack_KiB) with the runtime, $(number stack_race_KiB) with a report"
[ "$(number stack_KiB)" -le $((plain + 4)) ] || fail "a thread uses $(number stack_KiB) KiB of stack, $plain without the runtime"
[ "$(number stack_race_KiB)" -le $((plain + 10)) ] || fail "a report uses $(number stack_race_KiB) KiB of stack"
[ $escaped -le 2 ] || fail "$escaped races of new code escaped"
finish harm
