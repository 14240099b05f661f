#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program starts with the runtime wherever it starts without: link orders, libraries that bring the runtime, limits.
# It ends as the plain program does, and a race is found, or a line says why nothing is looked at.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD RAILBIRD_CC RAILBIRD_CXX
lib=$(realpath "$(dirname "$RAILBIRD")/../lib")
[ -e "$lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 77; }
source=$RB_TEST_DATA/start
unset RAILBIRD_TOOL
rb="$RAILBIRD"

# starts WHAT STATUS PATTERN COMMAND...: the command ends so, has written all of its output, and standard error has the
# pattern. The wanted output is in `wanted`.
starts() {
  local what=$1 status=$2 pattern=$3 got=0
  shift 3
  timeout 300 "$@" >out 2>err </dev/null || got=$?
  expect "$what: status" $got "$status"
  cmp -s out wanted || fail "$what: output: $(head -c 300 out)"
  if [ "$pattern" = nothing ]; then
    [ ! -s err ] || fail "$what: said: $(head -c 300 err)"
  else
    grep -q -- "$pattern" err || fail "$what: no '$pattern' in: $(head -c 300 err)"
  fi
} 2>/dev/null # the shell's words about a signal
race='WARNING: Railbird: data race'
unwatched='Railbird: the program runs unwatched: libc is loaded before the runtime'

# --- the order of libraries
gcc -O1 -g -fsanitize=thread -c "$source/race.c" -o race.o
gcc race.o -o last -Wl,--no-as-needed -lc -L"$lib" -lrailbird_rt -Wl,-rpath,"$lib"
gcc race.o -o first -L"$lib" -lrailbird_rt -Wl,-rpath,"$lib"
gcc -O1 -g "$source/race.c" -o plain -pthread
./plain >wanted
RAILBIRD_OPTIONS=sampler=all starts "the runtime before libc" 66 "$race" ./first
RAILBIRD_OPTIONS=sampler=all starts "libc before the runtime" 0 "$unwatched" ./last
starts "libc before the runtime, by run" 66 "$race" "$rb" run -o sampler=all ./last
starts "libc before the runtime, with a library preloaded" 0 "$unwatched" env LD_PRELOAD=libc.so.6 ./first

# --- a library that brings the runtime into a program that has none
gcc -O1 -g -fPIC -fsanitize=thread -c "$source/library.c" -o library.o
gcc -shared library.o -o library.so -L"$lib" -lrailbird_rt -Wl,-rpath,"$lib"
gcc -O1 "$source/opens.c" -o opens
printf 'worked\ndone\n' >wanted
starts "a library opened by a plain program" 0 "$unwatched" ./opens ./library.so
starts "a library opened by a plain program, by run" 66 "$race" "$rb" run -o sampler=all ./opens ./library.so
starts "a library opened by Python" 0 "$unwatched" python3 -c '
import ctypes
ctypes.CDLL("./library.so").work()
print("done")'

# --- limits: the outcome is the plain program's; where the runtime has no room it is off, and holds nothing
"$RAILBIRD" cc -O1 -g "$source/race.c" -o ours -pthread
gcc -O1 -g -fsanitize=thread "$source/race.c" -o theirs -pthread
cat >limited <<'SH'
#!/bin/bash
# limited LIMIT COMMAND...
ulimit $1 && shift && exec "$@"
SH
chmod +x limited
./plain >wanted
export RAILBIRD_OPTIONS=sampler=all
for limit in "-s 20" "-s 32" "-s 64" "-v 500000" "-v 100000" "-v 60000" "-d 100000" "-n 8"; do
  ./limited "$limit" ./plain >/dev/null 2>&1 || continue # not even alone
  starts "ulimit $limit" 66 "$race" ./limited "$limit" ./ours
  starts "ulimit $limit, functions" 66 '#0 work .*race.c:' ./limited "$limit" ./ours
done
for limit in "-s 20" "-s 32" "-s 64"; do starts "ulimit $limit, by run" 66 "$race" ./limited "$limit" "$rb" run ./theirs; done
unwatched='Railbird: the program runs unwatched: there is not enough memory'
for limit in "-v 30000" "-d 30000"; do starts "ulimit $limit" 0 "$unwatched" ./limited "$limit" ./ours; done
cat >many.c <<'C'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p) { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); return p; }
int main(void) { /* how many threads there can be at once, up to 64 */
  pthread_t t[64];
  int n = 0;
  pthread_mutex_lock(&gate);
  while (n < 64 && pthread_create(&t[n], NULL, work, NULL) == 0) n++;
  pthread_mutex_unlock(&gate);
  printf("%d\n", n);
  while (n) pthread_join(t[--n], NULL);
  return 0;
}
C
gcc -O1 many.c -o many.plain -pthread
"$RAILBIRD" cc -O1 many.c -o many.ours -pthread
for limit in "-d 8000" "-d 4000" "-d 20000" "-v 40000" "-v 60000"; do
  alone=$(./limited "$limit" ./many.plain)
  with=$(./limited "$limit" ./many.ours 2>err) || fail "ulimit $limit, many threads: status $?"
  # One thread less for the runtime's code; a quarter of the rest where it runs.
  [ "${with:-0}" -ge $((alone * 3 / 4 - 1)) ] || fail "ulimit $limit: ${with:-no} threads instead of $alone"
done 2>/dev/null
unset RAILBIRD_OPTIONS

# --- no /proc
cat >without <<'SH'
#!/bin/sh
umount -l /proc && exec "$@"
SH
chmod +x without
./plain >wanted
if unshare -m ./without true 2>/dev/null; then
  export RAILBIRD_OPTIONS=sampler=all
  starts "no /proc" 66 '#0 work .*race.c:' unshare -m ./without ./ours
  starts "no /proc, by run" 66 '#0 work .*race.c:' unshare -m ./without "$rb" run ./theirs
  starts "no /proc, by run, found in PATH" 66 "$race" \
    env PATH="$(dirname "$rb"):$PATH" unshare -m ./without railbird run ./theirs
  unset RAILBIRD_OPTIONS
  starts "no /proc, watch" 0 nothing unshare -m ./without "$rb" watch -o stats=0 ./plain
fi

# --- environments
"$RAILBIRD" cc -O1 -g -static "$source/race.c" -o ours.static -pthread 2>/dev/null || true
"$RAILBIRD" cc -O1 -g -static-pie "$source/race.c" -o ours.static-pie -pthread 2>/dev/null || true
"$RAILBIRD" cc -O1 -g -no-pie "$source/race.c" -o ours.no-pie -pthread
"$RAILBIRD" cc -O1 -g "$source/race.c" -o ours.now -pthread -Wl,-z,now,-z,relro
cat >closed <<'SH'
#!/bin/bash
# closed DESCRIPTORS COMMAND...
for fd in $1; do eval "exec $fd>&-"; done
shift
exec "$@"
SH
chmod +x closed
export RAILBIRD_OPTIONS=sampler=all
for program in ours ours.static ours.static-pie ours.no-pie ours.now; do
  [ -x $program ] || continue
  starts "$program" 66 "$race" ./$program
  starts "$program, no environment" 66 "$race" env -i RAILBIRD_OPTIONS=sampler=all ./$program
  starts "$program, no standard input" 66 "$race" ./closed 0 ./$program
  starts "$program, no standard error" 66 nothing ./closed 2 ./$program
  if setarch -R true 2>/dev/null; then starts "$program, no ASLR" 66 "$race" setarch -R ./$program; fi
  if setarch -L true 2>/dev/null; then starts "$program, old layout" 66 "$race" setarch -L ./$program; fi
  starts "$program, bound at the start" 66 "$race" env LD_BIND_NOW=1 ./$program
  timeout 300 ./closed "0 1 2" ./$program && status=0 || status=$?
  expect "$program, no standard descriptors: status" $status 66
done
unset RAILBIRD_OPTIONS
finish "start"
