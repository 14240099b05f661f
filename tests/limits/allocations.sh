#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The runtime never uses the program's allocator: a program with a counting malloc of its own, and one with a counting malloc
# preloaded, count the same with the runtime and without it, with and without reports, in each way of linking.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../cli/lib.sh"
lib=$(realpath "$(dirname "$RAILBIRD")/../lib")
[ -e "$lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
gcc -O1 -g -fPIC -c "$here/counting.c" -o counting.o
gcc -shared counting.o -o counting.so
gcc -O1 -g -shared -fPIC "$here/../stress/plugin.c" -o plain_plugin.so
"$RAILBIRD" cc -O1 -g -shared -fPIC "$here/../stress/plugin.c" -o plugin.so
gcc -O1 -g "$here/allocations.c" -o plain -ldl
gcc -O1 -g -rdynamic "$here/allocations.c" counting.o -o plain_own -ldl
"$RAILBIRD" cc -O1 -g "$here/allocations.c" -o ours -ldl
"$RAILBIRD" cc -O1 -g -rdynamic "$here/allocations.c" counting.o -o ours_own -ldl
gcc -O1 -g -fsanitize=thread "$here/allocations.c" -o swapped -ldl # by `railbird run`: the runtime is a library
gcc -O1 -g -fsanitize=thread -shared -fPIC "$here/../stress/plugin.c" -o swapped_plugin.so

# counted WHAT STATUS COMMAND...: the line that the program printed is the one wanted
counted() {
  local what=$1 want=$2 got=0
  shift 2
  timeout 300 "$@" >out 2>err || got=$?
  expect "$what: status" "$got" "$want"
  expect "$what" "$(cat out)" "$wanted"
  echo "$what: $(cat out)"
}
wanted=$(./plain_own ./plain_plugin.so none)
[[ $wanted == malloc\ [1-9]* ]] || fail "the allocator counts nothing: $wanted"
counted "plain, preloaded" 0 env LD_PRELOAD=./counting.so ./plain ./plain_plugin.so none
for options in engine=so engine=st engine=fasttrack sampler=literace sampler=random:0.03; do
  export RAILBIRD_OPTIONS=$options
  for races in none races; do
    status=0
    [ $races = none ] || [[ $options != engine* ]] || status=66
    [[ $options != sampler* ]] || export RAILBIRD_OPTIONS=$options:exitcode=0
    counted "$options, $races, own" $status ./ours_own ./plugin.so $races
    counted "$options, $races, preloaded" $status env LD_PRELOAD=./counting.so ./ours ./plugin.so $races
  done
done
export RAILBIRD_OPTIONS=report=none
counted "report=none" 66 env LD_PRELOAD=./counting.so ./ours ./plugin.so races
unset RAILBIRD_OPTIONS
for races in none races; do
  status=$([ $races = none ] && echo 0 || echo 66)
  LD_PRELOAD=./counting.so counted "run, $races" $status "$RAILBIRD" run ./swapped ./swapped_plugin.so $races
done
finish allocations
