#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird run: options, what it says of each kind of program, what it puts in the place of TSan's runtime, how
# statuses and signals pass, the JSON object, the self-test.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(run)
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD RAILBIRD_CC RAILBIRD_CXX
lib=$(realpath "$(dirname "$RAILBIRD")/../lib")

# --- usage
run 0 -h
for word in -o --json --self-test sampler engine budget seed memory report log_path suppressions exitcode halt_on_error \
  atexit_sleep_ms stats record stack_depth watch unseen partial; do
  grep -q -- "$word" out || fail "-h does not name $word"
done
refused 'which program'
refused '--colour' --colour ./x
refused '-o needs a value' -o
refused "'sampel'.*did you mean 'sampler'" -o sampel=all true
refused "'exit_code'.*did you mean 'exitcode'" -o exit_code=1 true
refused 'expected one of: sampler' -o quixotic=1 true
refused 'expected KEY=VALUE' -o '' true
refused 'stats: expected key=value' -o stats true
refused 'exitcode=300: expected a whole number from 0 to 255' -o exitcode=300 true
refused 'engine=vector: expected one of:.* so' -o engine=vector true
refused 'sampler=random:7: expected one of: all' -o sampler=random:7 true
refused 'budget=5: expected a share' -o budget=5 true
refused 'report=xml: expected text' -o report=xml true
refused 'memory=1: expected a size' -o memory=1 true
refused 'nonexistent' ./nonexistent
refused 'Permission denied' /etc/passwd
refused 'self-test' --self-test true
touch here
chmod +x here
refused '\./' here

if [ ! -e "$lib/librailbird_rt.a" ]; then # built with sanitizers: there is no runtime
  # Without it `run` must say so, once, and what to do.
  run 1 -- sh -c true
  grep -q "$lib/librailbird_rt.so.*make" err || fail "a missing runtime: $(cat err)"
  finish "run, without a runtime"
  exit 0
fi

# --- what the program is given
cat >env.sh <<'SH'
#!/bin/sh
echo "options $RAILBIRD_OPTIONS"
echo "tool $RAILBIRD_TOOL"
echo "preload $LD_PRELOAD"
echo "arguments $*"
SH
chmod +x env.sh
RAILBIRD_OPTIONS=seed=1 LD_PRELOAD=libc.so.6 run 0 -o stats=0 -o sampler=rpt:0.1,0.1:exitcode=5 -- ./env.sh -o a --json
grep -qx 'options seed=1:stats=0:sampler=rpt:0.1,0.1:exitcode=5' out || fail "options: $(cat out)"
grep -qx "tool $(realpath "$RAILBIRD")" out || fail "the tool's name: $(cat out)"
grep -q "^preload $lib/librailbird_rt.so:.*libtsan.so.2:.*:libc.so.6\$" out || fail "preload: $(cat out)"
grep -qx 'arguments -o a --json' out || fail "arguments: $(cat out)"
run 0 ./env.sh --json # the first that is no option is the program
grep -qx 'arguments --json' out || fail "arguments behind the program: $(cat out)"
[ ! -s err ] || fail "something is said of a script: $(cat err)"

# --- statuses
run 7 sh -c 'exit 7'
expect "lines about a program without hooks" "$(grep -c 'is not instrumented.*no report does not mean no races' err)" 1
expect "lines in all" "$(wc -l <err)" 1
{
  run 143 sh -c 'kill -TERM $$'
  run 143 --json sh -c 'kill -TERM $$'
} 2>/dev/null # the shell's own words about it
expect "the status of one killed" "$(field exit) $(field signal)" "143 15"

# --- programs
cat >racy.c <<'C'
#include <pthread.h>
#include <stdio.h>
int shared;
static void *work(void *p) { shared++; return p; }
int main(int argc, char **argv) {
  pthread_t a, b;
  (void)argv;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  puts("on standard output");
  return argc > 1 ? 5 : 0;
}
C
sed 's/shared++/__atomic_fetch_add(\&shared, 1, __ATOMIC_RELAXED)/' racy.c >fine.c
reports() { grep -c 'WARNING: Railbird: data race' err || true; }
"$RAILBIRD" cc -g racy.c -o racy
"$RAILBIRD" cc -g fine.c -o fine
strip -o stripped racy
for program in racy stripped; do
  run 66 ./$program
  [ "$(reports)" -ge 1 ] || fail "$program: no report: $(head -c 300 err)"
  expect "$program: what it printed" "$(cat out)" "on standard output"
  run 5 -o exitcode=0 ./$program x
  run 3 -o exitcode=3 ./$program
  TSAN_OPTIONS=exitcode=4 run 4 ./$program
  TSAN_OPTIONS=exitcode=4 run 3 -o exitcode=3 ./$program
done
run 0 ./fine
[ ! -s err ] || fail "something is said of a program without a race: $(cat err)"
run 5 ./fine x
printf '#!/bin/sh\nexec ./racy\n' >script
chmod +x script
run 66 ./script # started by another, with the runtime in it and preloaded: one of them must do
[ "$(reports)" -ge 1 ] || fail "script: no report"
gcc racy.c -o plain 2>/dev/null || clang racy.c -o plain
run 5 ./plain x
grep -q 'plain is not instrumented' err || fail "nothing said of a program without hooks: $(cat err)"
if [ -e "$lib/librailbird_rt_static.a" ]; then
  "$RAILBIRD" cc -g -static racy.c -o racy_static
  strip racy_static
  run 66 ./racy_static
  [ "$(reports)" -ge 1 ] || fail "static: no report"
fi

# --- TSan's builds: ours comes in its place, the real one is not even looked for
swapped() { # PROGRAM
  got=0
  LD_DEBUG=libs timeout 300 "$RAILBIRD" run "./$1" >out 2>err || got=$?
  expect "$1: status" "$got" 66
  [ "$(reports)" -ge 1 ] || fail "$1: no report"
  ! grep -E 'find library=|trying file=' err | grep -E 'libtsan|libclang_rt' | grep -qv "$lib/railbird/shims" ||
    fail "$1: $(grep -E 'trying file=.*(libtsan|libclang_rt)' err | head -1)"
  grep -q "calling init.*$lib/railbird/shims" err || fail "$1: the check of the libraries sees nothing"
}
if gcc -g -fsanitize=thread racy.c -o by_gcc 2>/dev/null; then
  swapped by_gcc
  gcc -g -fsanitize=thread racy.c -o by_gcc -Wl,-rpath,"$(dirname "$(realpath "$(gcc -print-file-name=libtsan.so)")")"
  swapped by_gcc
fi
for clang in clang clang-14 clang-19; do
  folder=$($clang -print-resource-dir 2>/dev/null)/lib/linux || continue
  if $clang -g -fsanitize=thread -shared-libsan -Wl,-rpath,"$folder" racy.c -o by_$clang 2>/dev/null; then
    swapped by_$clang
  fi
  if $clang -g -fsanitize=thread racy.c -o inside 2>/dev/null; then
    refused 'inside has TSan.s runtime linked into it.*-shared-libsan' ./inside
    strip inside
    refused 'inside has TSan.s runtime linked into it' ./inside
  fi
done

# --- one object
run 66 --json ./racy
python3 - out <<'PY' || fail "the JSON object: $(head -c 400 out)"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1
o = json.loads(lines[0])
assert o["program"] == "./racy" and o["exit"] == 66 and o["instrumented"] is True
assert o["races"] and o["stats"]["accesses"] >= o["stats"]["sampled"] > 0
race = o["races"][0]
assert len(race["accesses"]) == 2 and race["id"] and race["evidence"] == "hb"
top = race["accesses"][0]["stack"][0]
assert top["function"] == "work" and top["file"].endswith("racy.c") and top["line"] == 4, top
assert race["location"].get("name") == "shared", race["location"]
PY
grep -q 'on standard output' err || fail "the program's output did not go to standard error"
expect "reports as text besides" "$(reports)" 0
run 66 --json -o report=text ./racy
[ "$(reports)" -ge 1 ] || fail "--json with report=text: no text"
echo '{"evidence":"other"}' >mine.json # the user's own file is added to, and only what this run added is shown
run 66 --json -o report=json:"$work/mine.json" ./racy
[ "$(wc -l <mine.json)" -ge 2 ] || fail "report=json: nothing added"
! grep -q '"other"' out || fail "--json shows another run's report"
run 5 --json ./fine x
expect "races of a program without" "$(sed 's/.*"races":\(\[[^]]*\]\).*/\1/' out)" '[]'
run 1 --json false
expect "instrumented" "$(field instrumented)" false
refused 'nonexistent' --json ./nonexistent
mkdir -p 'tmp with "quotes" and: x=y'
TMPDIR="$work/tmp with \"quotes\" and: x=y" run 66 --json ./racy
expect "temporary files left" "$(find 'tmp with "quotes" and: x=y' -mindepth 1 | wc -l)" 0
TMPDIR=/nonexistent refused 'TMPDIR' --json ./racy

# --- nothing sampled is said, and only then
run 0 -o sampler=none ./racy
grep -q 'nothing was sampled: [1-9][0-9]* accesses' err || fail "sampler=none: $(cat err)"
expect "lines" "$(wc -l <err)" 1
run 66 -o sampler=random:1 ./racy
! grep -q 'nothing was sampled' err || fail "sampler=random:1: $(cat err)"

# --- signals pass to the program, and it answers
cat >waits.sh <<'SH'
#!/bin/sh
trap 'echo got it; exit 9' TERM USR1
echo $$ >pid
while :; do sleep 0.05; done
SH
chmod +x waits.sh
for signal in TERM USR1; do
  rm -f pid
  "$RAILBIRD" run --json ./waits.sh >out 2>err &
  runner=$!
  for _ in $(seq 2000); do [ -s pid ] && break; sleep 0.05; done
  kill -$signal $runner
  got=0
  wait $runner || got=$?
  expect "status after $signal" "$got" 9
  expect "exit in the object after $signal" "$(field exit)" 9
  grep -q 'got it' err || fail "$signal did not reach the program"
done
# SIGCHLD is ignored by those who start us: no matter to us, and left so to the program
printf '#!/bin/sh\ngrep SigIgn /proc/$$/status\nexit 9\n' >ignores.sh
chmod +x ignores.sh
(trap '' CHLD && ./ignores.sh >wanted) || true
(trap '' CHLD && "$RAILBIRD" run ./ignores.sh >out 2>err) && got=0 || got=$?
expect "status where SIGCHLD is ignored" $got 9
expect "signals that are ignored" "$(grep -o '[0-9a-f]*$' out)" "$(grep -o '[0-9a-f]*$' wanted)"
# killed outright, it takes the program along
rm -f pid
"$RAILBIRD" run --json ./waits.sh >out 2>err &
runner=$!
for _ in $(seq 2000); do [ -s pid ] && break; sleep 0.05; done
kill -KILL $runner
wait $runner 2>/dev/null || true
for _ in $(seq 2000); do kill -0 "$(cat pid)" 2>/dev/null || break; sleep 0.05; done
! kill -0 "$(cat pid)" 2>/dev/null || fail "the program outlives a killed run"

# --- memory that is too small for what it should remember is told, once
cat >many.c <<'C'
static volatile char many[1 << 20];
int main(void)
{
    for (int i = 0; i < 1 << 20; i++)
        many[i] = 1;
    return 0;
}
C
"$RAILBIRD" cc many.c -o many
run 0 -o sampler=all -o memory=1M ./many
expect "lines about memory=1M" "$(wc -l <err)" 1
grep -Eqx 'Railbird: [1-9][0-9]* entries, for [0-9]+ sampled accesses, were dropped .*\(memory=1M\): races may be missed' err ||
  fail "what was dropped: $(cat err)"
run 0 -o sampler=all ./many
expect "lines about memory that suffices" "$(cat err)" ''

# --- the self-test; and it fails where a program does not behave
run 0 --self-test
expect "lines of the self-test" "$(grep -c '^ok .*5 of 5 runs$' out)" 2
RAILBIRD_OPTIONS=sampler=none run 0 --self-test # its own options
mkdir -p copy/bin copy/lib copy/libexec/railbird
cp "$RAILBIRD" copy/bin/railbird
cp "$(dirname "$RAILBIRD")/../libexec/railbird/locked" copy/libexec/railbird/unlocked # never races
printf '#!/bin/sh\nexit 66\n' >copy/libexec/railbird/locked
chmod +x copy/libexec/railbird/locked
built=$RAILBIRD RAILBIRD=$work/copy/bin/railbird
run 1 --self-test
expect "failures of a broken self-test" "$(grep -c '^FAIL .*5 of 5 runs$' out)" 2
rm copy/libexec/railbird/unlocked
run 1 --self-test
grep -q 'libexec/railbird/unlocked' err || fail "a missing program of the self-test: $(cat err)"
# --- a runtime that is not there
run 1 ./by_gcc
grep -q 'copy/lib/librailbird_rt.so.*make' err || fail "a missing runtime: $(cat err)"
expect "lines about it" "$(wc -l <err)" 1
finish run
