#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that cannot bear a library of ours in LD_PRELOAD run as without us below `run` and `watch`: alone with a line, and
# silently as somebody's child.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.so" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
cat >hello.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    printf("hello %d %s\n", argc, preload ? preload : "none");
    return 5;
}
C
gcc -O1 "$RB_TEST_DATA/start/execs.c" -o execs
programs=()
if command -v musl-gcc >/dev/null; then musl-gcc hello.c -o musl && programs+=(musl); fi
if gcc -fsanitize=address hello.c -o asan 2>/dev/null && ./asan >/dev/null 2>&1 || [ $? = 5 ]; then programs+=(asan); fi
if gcc -m32 hello.c -o other 2>/dev/null && { ./other >/dev/null 2>&1 || [ $? = 5 ]; }; then programs+=(other); fi
[ ${#programs[@]} -gt 0 ] || { echo "skipped: no musl-gcc and no AddressSanitizer"; exit 77; }
echo 'int nothing;' | gcc -shared -fPIC -xc - -o nothing.so

for program in "${programs[@]}"; do
  for command in run watch; do
    # the program itself: a line, and all that starts is the program's
    status=0
    timeout 30 "$RAILBIRD" $command -- "./$program" >out 2>err || status=$?
    if [ "$program" = other ] && [ $command = watch ]; then
      expect "watch $program: status" $status 2 # no program for x86-64: refused
    else
      expect "$command $program: status" $status 5
      expect "$command $program: output" "$(cat out)" "hello 1 none"
      expect "$command $program: lines" "$(wc -l <err)" 1
      grep -q "^railbird $command: ./$program " err || fail "$command $program: $(cat err)"
    fi
    # a child: nothing is to be seen
    printf '#!/bin/sh\n./%s a b\n' "$program" >script.sh
    chmod +x script.sh
    for shell in sh bash ./script.sh env; do
      words=("$shell" -c "./$program a b; exit \$?")
      [ "$shell" != ./script.sh ] || words=(./script.sh)
      [ "$shell" != env ] || words=(env "./$program" a b)
      status=0
      timeout 30 "$RAILBIRD" $command -- "${words[@]}" >out 2>err || status=$?
      expect "$command $shell $program: status" $status 5
      expect "$command $shell $program: output" "$(cat out)" "hello 3 none"
      ! grep -v '^railbird' err || fail "$command $shell $program: $(cat err)"
    done
    for how in execve execv execvp execvpe execl execlp execle vfork posix_spawn posix_spawnp; do
      status=0
      PATH=$PWD:$PATH timeout 30 "$RAILBIRD" $command -- ./execs $how "$PWD/$program" >out 2>err || status=$?
      expect "$command $how $program: status, $(head -c 200 err)" $status 5
      expect "$command $how $program: output" "$(cat out)" "hello 2 none"
    done
    # what others preload stays
    if [ "$program" = musl ]; then
      status=0
      LD_PRELOAD=$PWD/nothing.so timeout 30 "$RAILBIRD" $command -- sh -c "./$program; exit \$?" >out 2>err || status=$?
      expect "$command $program, a library of the user's: output" "$(cat out)" "hello 1 $PWD/nothing.so"
    fi
  done
done
# Others are brought the runtime by each of the functions.
gcc hello.c -o hello
for how in execve execv execvp execvpe execl execlp execle vfork posix_spawn posix_spawnp; do
  PATH=$PWD:$PATH timeout 30 "$RAILBIRD" run -- ./execs $how "$PWD/hello" >out 2>err || true
  grep -q '^hello 2 .*librailbird_rt.so' out || fail "$how: the runtime does not come along: $(cat out err)"
done
finish "preload (${programs[*]})"
