#!/usr/bin/env bash
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
  timeout 60 "$@" >out 2>err </dev/null || got=$?
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
finish "start"
