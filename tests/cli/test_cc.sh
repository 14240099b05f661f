#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird cc and c++: what reaches the compiler, word for word, with a compiler that only shows it; then gcc and
# clang themselves, as far as they are installed.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(cc)
built=$RAILBIRD

# --- an installation of our own, with a runtime that has nothing in it, and compilers that show their arguments
mkdir -p prefix/bin prefix/lib/railbird tools
cp "$built" prefix/bin/railbird
ln -s railbird prefix/bin/railbird-cc
ln -s railbird prefix/bin/railbird-c++
RAILBIRD=$work/prefix/bin/railbird
lib=$work/prefix/lib
touch "$lib"/librailbird_rt{,_static}.a "$lib"/railbird_rt.{syms,wrap,cxx} "$lib/railbird/gcc.specs"
cat >tools/show <<'SHOW'
#!/bin/sh
[ "$1" = --version ] && [ -n "$FAMILY" ] && { echo "$FAMILY"; exit 0; }
printf '%s\n' "${0##*/}" "$@"
exit "${STATUS:-0}"
SHOW
chmod +x tools/show
for name in fake-gcc fake-g++ fake-clang fake-clang++ mystery; do ln -s show "tools/$name"; done
cp tools/show tools/real-clang
ln -s real-clang tools/quiet # a link's name says nothing, what it leads to does
export PATH=$work/tools:$PATH

gcc_compile='-fsanitize=thread -fno-optimize-sibling-calls -fno-omit-frame-pointer -fno-builtin-memcpy -fno-builtin-memset -fno-builtin-memmove -fno-tree-loop-im'
clang_asleep='-fno-optimize-sibling-calls -fno-omit-frame-pointer -mllvm -disable-licm-promotion'
runtime="-Xlinker --whole-archive -Xlinker $lib/librailbird_rt.a -Xlinker --no-whole-archive -Xlinker --dynamic-list=$lib/railbird_rt.syms -lpthread -ldl"
runtime_static="-Xlinker --whole-archive -Xlinker $lib/librailbird_rt_static.a -Xlinker --no-whole-archive -Xlinker --eh-frame-hdr -Wl,@$lib/railbird_rt.wrap -lpthread -ldl"
specs="-specs=$lib/railbird/gcc.specs"
clang_both="-fsanitize=thread -fno-sanitize-link-runtime $clang_asleep"

# shows WANTED ARGUMENTS...: the words the compiler gets behind its own name
shows() {
  local wanted=$1
  shift
  run 0 "$@"
  expect "cc $*" "$(tail -n +2 out | tr '\n' ' ' | sed 's/ $//')" "$wanted"
}
touch a.c b.cc a.o b.S a.f90 header.h

export RAILBIRD_CC=fake-gcc RAILBIRD_CXX=fake-g++
# nothing to do: nothing added
for words in --version -v -dumpversion -dumpmachine '-print-file-name=libc.a' '-print-search-dirs' '--help' '-###' \
  '-E' '-dM -E' '-Wl,--version' '--version a.c' '-print-libgcc-file-name a.c -o x'; do
  shows "$words" $words
done
# compiling
for words in '-c a.c' '-S a.c -o -' '-E a.c' '-M a.c' '-MM a.c' '-fsyntax-only a.c' '-c -x c -' '-x c -E -' '-E -' \
  '-c -xc++ - -o x.o' '-c a.o a.c' 'header.h' '-x c-header header -o h.gch' '-c -MD -MF a.c.d -MT x.o a.c' \
  '-c a.c -fsanitize=thread' '-c a.c -fsanitize=undefined,thread' '-c x.ii' '-c x.cxx' '-c x.mm' '-c x.C'; do
  shows "$gcc_compile $words" $words
done
# Fortran: the same without the options that its compiler does not know
for words in '-c a.f90' '-c -x f95 a.c' '-c x.F' '-fopenmp -c x.f08 -o x.o'; do
  shows "${gcc_compile/-fno-builtin-memcpy -fno-builtin-memset -fno-builtin-memmove /} $words" $words
done
# nothing to instrument, or not wanted
for words in '-c b.S' '-c -x assembler - -o x' '-c -x ada a.c' '-c a.c -fno-sanitize=thread' 'a.c -fno-sanitize=all' \
  'a.c -o a -fsanitize=address -fno-sanitize=thread' 'a.o -o a -fno-sanitize=undefined,thread'; do
  shows "$words" $words
done
# the user's last word on it counts
shows "$gcc_compile -c a.c -fno-sanitize=thread -fsanitize=thread" -c a.c -fno-sanitize=thread -fsanitize=thread
# linking: also -flto's lto1 wants the specs, and the driver must not see -fsanitize=thread
for words in 'a.o -o a' 'a.c' 'a.c b.cc -o a -lm' '-lfoo' '-x c -' 'a.o -rdynamic -Wl,-z,defs' '-o -c a.o' '-Xlinker -c a.o' \
  '-MF -E a.c' '-static-libgcc a.o' '-c.x a.o' 'a.c -o a -fno-sanitize=undefined' 'a.c -pie' 'a.c -- ' '-xc a -xnone a.o' \
  '-l foo'; do
  shows "$specs $runtime ${words% }" $words
done
shows "$specs $runtime a.o -o a" a.o -fsanitize=thread -o a
shows "$specs $runtime a.o -fsanitize=undefined,bounds -o a" a.o -fsanitize=undefined,thread,bounds -o a
shows "$specs $runtime a.o" a.o -static-libtsan
shows "$specs $runtime_static a.c -static" a.c -static
shows "$specs ${runtime/-lpthread/"-Wl,@$lib/railbird_rt.cxx -lpthread"} a.o -static-libstdc++" a.o -static-libstdc++
shows "$specs $runtime_static a.o -static-pie" a.o -static-pie
# no runtime: shared libraries, partial links, -nostdlib
for words in 'a.o -shared' 'a.o -r -o b.o' 'a.o -nostdlib' 'a.o -Wl,-shared' 'a.o -Xlinker -r' 'a.o -Wl,-O1,--relocatable' \
  'a.o -shared -static' 'a.o --shared'; do
  shows "$specs $words" $words
done
# nor a second one
shows "$specs a.o -Wl,--whole-archive,/x/librailbird_rt.a" a.o -Wl,--whole-archive,/x/librailbird_rt.a
shows "$specs a.o -L. -lrailbird_rt" a.o -L. -lrailbird_rt
# and for shared libraries the hooks stay undefined, whatever the user demands
shows "$specs a.o -shared" a.o -shared -Wl,-z,defs
shows "$specs a.o -shared -Wl,-z,now,-z,relro" a.o -shared -Wl,-z,now,-z,defs,-z,relro
shows "$specs a.o -shared -Wl,-soname,x" a.o -shared -Wl,--no-undefined,-soname,x
shows "$specs a.o -shared" a.o -shared -Wl,-no-undefined -Wl,--no-undefined -z defs -Xlinker -z -Xlinker defs -Xlinker --no-undefined
shows "$specs a.o -shared -Wl,-z -Wl,now" a.o -shared -Wl,-z -Wl,defs -Wl,-z -Wl,now
shows "$specs a.o -shared -z now -Xlinker -z -Xlinker now -o defs" a.o -shared -z now -Xlinker -z -Xlinker now -o defs

# clang: no specs; one command that does both leaves TSan's runtime out in another way
export RAILBIRD_CC=fake-clang RAILBIRD_CXX=fake-clang++
shows "-fsanitize=thread $clang_asleep -c a.c" -c a.c
shows "$clang_both $runtime a.c -o a" a.c -o a
shows "$runtime a.o -o a" a.o -fsanitize=thread -shared-libsan -o a
shows "$clang_both a.c -shared" a.c -shared -Wl,-z,defs
shows "-Xclang -fsanitize=thread $clang_asleep $runtime a.c -fsanitize=undefined" a.c -fsanitize=undefined
shows "$runtime a.o -fsanitize=undefined -shared-libsan" a.o -fsanitize=undefined,thread -shared-libsan
shows "$clang_both $runtime_static a.c -static" a.c -static

# --- which compiler: by name, by what a link leads to, by asking
RAILBIRD_CC=quiet shows "-fsanitize=thread $clang_asleep -c a.c" -c a.c
RAILBIRD_CC=mystery FAMILY='Strange clang version 20' shows "-fsanitize=thread $clang_asleep -c a.c" -c a.c
RAILBIRD_CC=mystery FAMILY='mystery (Free Software Foundation)' shows "$gcc_compile -c a.c" -c a.c
RAILBIRD_CC='show  "two words" fake-gcc -m64' shows "two words fake-gcc -m64 $gcc_compile -c a.c" -c a.c
RAILBIRD_CC=' ' run 0 --version # blank is the default
RAILBIRD_CC=fake-gcc
RAILBIRD_CXX=fake-g++ command=(c++)
run 0 -c a.c
expect "c++ runs" "$(head -1 out)" fake-g++
command=(cc)
run 0 -c a.c
expect "cc runs" "$(head -1 out)" fake-gcc
# one word for CMake
expect "railbird-cc runs" "$(prefix/bin/railbird-cc -c a.c | head -1)" fake-gcc
expect "railbird-c++ runs" "$(prefix/bin/railbird-c++ -c a.c | head -1)" fake-g++
STATUS=7 run 7 -c a.c # the compiler's own status

# --- response files: looked into, and handed on as they are where nothing is to be taken out
printf '%s\n' '-c' '"a.c"' -DX=\'a\ b\' >in.rsp
shows "$gcc_compile @in.rsp" @in.rsp
printf '%s' '-shared -Wl,-z,defs @more.rsp' >link.rsp
printf '%s' 'a.o "b c.o" d\ e.o' >more.rsp
shows "$specs -shared a.o b c.o d e.o" @link.rsp
expect "words with blanks" "$(grep -c '^b c.o$\|^d e.o$' out)" 2
echo '@loop.rsp a.o' >loop.rsp
run 0 @loop.rsp # ends
shows "$specs $runtime @missing.rsp" @missing.rsp
seq -f 'object number %g.o' 60000 | sed 's/.*/"&"/' >many.rsp # more than a command line holds
cat >tools/count-gcc <<'COUNT'
#!/bin/sh
for last; do :; done
case $last in @*) tail -n 1 "${last#@}" ;; *) echo "no response file" ;; esac
COUNT
chmod +x tools/count-gcc
RAILBIRD_CC=count-gcc run 0 @many.rsp
expect "the last of many" "$(cat out)" 'object\ number\ 60000.o'

# --- refused
refused 'fsanitize=address' -c a.c -fsanitize=address
refused 'fsanitize=memory' a.o -fsanitize=memory,undefined
refused 'fsanitize=leak' a.c -fsanitize=undefined,leak
run 0 -fsanitize=address --version
RAILBIRD_CC=railbird-nonexistent refused 'RAILBIRD_CC' -c a.c
RAILBIRD_CC=$RAILBIRD refused 'railbird itself' -c a.c
RAILBIRD_CC="env $work/prefix/bin/railbird-cc" refused 'railbird itself' -c a.c
run 0 -h
grep -q 'RAILBIRD_CC' out || fail "-h does not name RAILBIRD_CC"
for missing in librailbird_rt.a railbird_rt.syms railbird/gcc.specs; do
  mv "$lib/$missing" gone
  run 1 a.o -o a
  grep -q "$lib/$missing.*make" err || fail "a missing $missing: $(cat err)"
  expect "lines about $missing" "$(wc -l <err)" 1
  run 0 -c a.c # does not need it
  mv gone "$lib/$missing"
done

# --- the real thing
RAILBIRD=$built
unset RAILBIRD_CC RAILBIRD_CXX
cat >hello.c <<'C'
#include <stdio.h>
#include <string.h>
char from[24], to[24];
__attribute__((noinline)) void copy(char *a, const char *b) { memcpy(a, b, 24); memset(a + 3, 0, 12); }
int main(void) { copy(to, from); puts(to[0] ? "no" : "yes"); return 0; }
C
sed 's/from\[24\]/from_cc[24]/; s/from)/from_cc)/' hello.c >hello.cc
cat >user.c <<'C'
int twice(int *);
int main(void) { int x = 21; return twice(&x) != 42; }
C
echo 'int twice(int *x) { return *x += *x; }' >twice.c
printf '%s\n' 'integer x' 'common /c/ x' 'x = 1' 'print *, x' end >hello.f90
hooks() { nm "$1" | grep -cE " $2 __(tsan|railbird)_" || true; }
has() { grep -E -- "$1" >/dev/null; } # reads to the end, unlike grep -q, whose early end pipefail takes for a failure
real() { # COMPILER C++COMPILER
  export RAILBIRD_CC=$1 RAILBIRD_CXX=$2
  local what strict
  for what in '' -O2 -g '-O2 -flto' -fPIE -no-pie; do
    strict="-Wall -Wextra -Werror"
    [ "$what" != -no-pie ] || strict= # clang warns of it where nothing is linked
    run 0 $strict $what hello.c -o both
    run 0 $strict $what -c hello.c -o hello.o
    [ "$what" = "-O2 -flto" ] || [ "$(hooks hello.o U)" -gt 0 ] || fail "$1 $what: no hooks in the object"
    run 0 $strict $what hello.o -o apart
    for program in both apart; do
      [ "$(nm "$program" | grep -c __railbird_runtime)" = 1 ] || fail "$1 $what, $program: not with our runtime"
      ! readelf -d "$program" | has 'NEEDED.*tsan' || fail "$1 $what, $program: with TSan's runtime"
      nm -D "$program" | has ' T __tsan_func_entry' || fail "$1 $what, $program: hooks not for libraries"
      objdump -d "$program" | sed -nE "/<(copy|main)[.a-z0-9]*>:/,/^$/p" | has 'call.*__(tsan|railbird)_func_entry' || fail "$1 $what: $program not instrumented"
      expect "$1 $what, $program" "$("./$program")" yes
    done
  done
  # small constant copies are seen: calls, or hooks of the compiler's
  run 0 -O2 -S hello.c -o hello.s
  expect "$1: copies" "$(sed -n '/^copy:/,/size.*copy/p' hello.s | grep -cE '(call|jmp)q?[[:space:]]+(__tsan_)?mem(cpy|set)')" 2
  command=(c++)
  run 0 -O2 -S hello.cc -o hello.s
  expect "$2: copies" "$(sed -n '/^_Z4copy/,/size.*copy/p' hello.s | grep -cE '(call|jmp)q?[[:space:]]+(__tsan_)?mem(cpy|set)')" 2
  run 0 hello.cc -o both
  expect "$2" "$(./both)" yes
  command=(cc)
  # a library with hooks, demanding the impossible; an executable that uses it
  run 0 -g -shared -fPIC -Wl,-z,defs -Wl,--no-undefined twice.c -o libtwice.so
  [ "$(nm -D libtwice.so | grep -cE 'U __(tsan|railbird)_')" -gt 0 ] || fail "$1: no hooks in the library"
  ! nm -D libtwice.so | has '__railbird_runtime' || fail "$1: the runtime is in the library"
  run 0 user.c -o user -L. -ltwice -Wl,-rpath,"$work"
  ./user || fail "$1: a program with an instrumented library: $?"
  # with another sanitizer, where the compiler has its library
  if "$1" -fsanitize=undefined hello.c -o both 2>/dev/null; then
    run 0 -fsanitize=undefined,thread hello.c -o both
    expect "$1 with undefined" "$(./both)" yes
  fi
  # dependencies and preprocessing as ever
  run 0 -MD -MF deps -c hello.c -o hello.o
  grep -q '^hello.o: hello.c' deps || fail "$1: dependencies: $(cat deps)"
  printf '%s\n' '#ifdef __has_feature' '#if __has_feature(thread_sanitizer)' 'int instrumented;' '#endif' '#endif' \
    '#ifdef __SANITIZE_THREAD__' 'int instrumented;' '#endif' >macro.c
  "$RAILBIRD" cc -E macro.c | has 'int instrumented' || fail "$1: -E does not see what a compilation sees"
  expect "$1 from a pipe" "$(echo 'int main(void) { return 0; }' | "$RAILBIRD" cc -x c - -o piped && ./piped && echo fine)" fine
  expect "$1 --version" "$("$RAILBIRD" cc --version)" "$("$1" --version)"
}
tested=0
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || finish "cc, without a runtime (as sanitizers build it)"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || exit 0
seen=
for pair in gcc:g++ clang:clang++ clang-14:clang++-14 clang-19:clang++-19; do
  if command -v "${pair%:*}" >/dev/null && command -v "${pair#*:}" >/dev/null; then
    path=$(realpath "$(command -v "${pair%:*}")")
    case " $seen " in *" $path "*) continue ;; esac # clang is one of those with a number
    seen+=" $path"
    real "${pair%:*}" "${pair#*:}"
    tested=$((tested + 1))
  fi
done
[ "$tested" -gt 0 ] || fail "no compiler to test with"

# --- linkers lay symbol tables out differently, and the runtime reads them before main
echo 'int twice(int x) { return 2 * x; }' >twice.c
cat >linked.c <<'END'
#include <pthread.h>
int twice(int x);
int shared;
static void *add(void *unused) { shared++; return unused; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    shared++;
    pthread_join(thread, NULL);
    return twice(0);
}
END
for linker in bfd gold lld; do
  command -v "ld.$linker" >/dev/null || continue
  for hash in gnu sysv both; do
    for with in gcc "$RAILBIRD cc"; do
      $with -g -fPIC -shared -fuse-ld=$linker -Wl,--hash-style=$hash twice.c -o libtwice.so
      "$RAILBIRD" cc -g -fuse-ld=$linker -Wl,--hash-style=$hash linked.c -o linked -L. -ltwice -Wl,-rpath,"$work" -pthread
      status=0
      RAILBIRD_OPTIONS=sampler=all ./linked >/dev/null 2>linked.err || status=$?
      expect "status with ld.$linker, $hash, library by ${with##*/}" $status 66
      expect "reports with ld.$linker, $hash, library by ${with##*/}" "$(grep -c 'WARNING: Railbird' linked.err)" 1
    done
  done
done
# --- code that tells a fuzzer what it covers as well
for cover in gcc:trace-pc,trace-cmp clang:trace-pc-guard,trace-cmp,trace-div,trace-gep,pc-table clang:inline-8bit-counters \
  clang:inline-bool-flag clang:func,trace-loads,trace-stores; do
  command -v "${cover%:*}" >/dev/null || continue
  RAILBIRD_CC=${cover%:*} "$RAILBIRD" cc -g "-fsanitize-coverage=${cover#*:}" linked.c twice.c -o covered -pthread 2>err ||
    fail "cannot build with coverage, $cover: $(head -3 err)"
  status=0
  RAILBIRD_OPTIONS=sampler=all:report=none ./covered || status=$?
  expect "status with coverage, $cover" $status 66
done
# --- Fortran, compiled apart and at once, without a word
if command -v gfortran >/dev/null; then
  for what in '-c hello.f90 -o hello.o' 'hello.f90 -o both'; do
    RAILBIRD_CC=gfortran "$RAILBIRD" cc -Werror -g $what 2>err || fail "gfortran $what: $(head -3 err)"
    expect "gfortran $what: words" "$(cat err)" ""
  done
  [ "$(hooks hello.o U)" -gt 0 ] || fail "gfortran: no hooks in the object"
  RAILBIRD_CC=gfortran "$RAILBIRD" cc hello.o -o apart
  for program in both apart; do
    expect "gfortran, $program" "$(./$program | tr -d ' ')" 1
    nm "$program" | has ' __railbird_runtime' || fail "gfortran, $program: without our runtime"
  done
fi
finish "cc, with $tested compilers"
